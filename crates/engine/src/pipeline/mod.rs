//! What runs: the one trait, what it may ask for, and the steps that an executor runs in order.

mod base;
mod field;
mod observer;
mod run;
mod scope;
mod step;
pub(crate) mod trace;

use std::sync::Mutex;

use krm_yaml::{Diagnostic, Node, Result, Sources, Span};

use crate::files::world::World;
use crate::resource::list::Resources;
use crate::resource::{Resource, ResourceId, Track};
use crate::runtime::Runtime;
use crate::schema::Schema;

use self::trace::{Cause, Note};

pub(crate) use base::{Base, bases, run as run_on_nothing, run_traced};
pub use field::StepField;
pub use observer::{Call, Called, Observer, PackageEvent, Ran};
pub use run::Pipeline;
pub(crate) use run::output_discarded;
pub use scope::Scope;
pub(crate) use step::Work;
pub use step::{Role, Step, StepName};
pub use trace::Trace;
pub(crate) use trace::Tracer;

/// A program that generates, changes or checks resources: built-ins, functions and whole pipelines alike.
///
/// The trait does not distinguish these; the caller does. A generator runs on an empty list and the result is absorbed,
/// a transformer runs in place, a validator runs on a copy.
pub(crate) trait Transformer: Send + Sync {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()>;

    /// Does the same to the resources in a scope. Whatever happens, the others stay; one that has to look at them too, or
    /// to check what it leaves, does so here.
    fn transform_in(&self, scope: &Scope, items: &mut Resources, cx: &Context) -> Result<()> {
        let outside = scope.split(items);
        // Steps within see only a part; the rest has not been removed.
        let tracer = cx.trace.filter(|_| self.pipeline().is_some());
        if let Some(tracer) = tracer {
            tracer.aside(outside.others());
        }
        let ran = self.transform(items, cx);
        if let Some(tracer) = tracer {
            tracer.aside(std::iter::empty());
        }
        scope.join(items, outside);
        ran
    }

    /// What it does to each resource, if that is all it does and no other resource matters. Neighbours that say so run
    /// together: a resource is fetched from memory once for all of them, and that is most of what they cost.
    fn each(&self) -> Option<&dyn Each> {
        None
    }

    /// Its steps, if it is a pipeline.
    fn pipeline(&self) -> Option<&Pipeline> {
        None
    }

    /// Whether it is a program, which answers with a new list instead of editing the one it was given.
    fn is_program(&self) -> bool {
        false
    }
}

/// A change to one resource that depends on no other.
pub(crate) trait Each: Send + Sync {
    fn edit(&self, r: &mut Resource, cx: &Context) -> Result<()>;
}

/// What a step may ask for.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub world: &'a dyn World,
    pub schema: &'a Schema,
    pub sources: &'a Sources,
    /// What runs programs, within what the user allows.
    pub runtime: &'a Runtime,
    /// Warnings so far; an error under `--strict`.
    pub warnings: &'a Mutex<Vec<Diagnostic>>,
    /// Records what happens, if that is asked for.
    pub trace: Option<&'a Tracer>,
    /// Is informed of what happens while it happens.
    pub observer: Option<&'a dyn Observer>,
}

impl Context<'_> {
    /// Says why a value of a resource became what it is, if that is asked for. `written` is the span the value has now;
    /// with `NONE` it is the cause of all that this step does to the resource, and without a resource, to any.
    pub(crate) fn note(&self, resource: Track, written: Span, cause: impl FnOnce() -> Cause) {
        if let Some(tracer) = self.trace {
            tracer.note(Note { resource, written, cause: cause() });
        }
    }

    /// Says that one of several entries of a step is done with a resource, so that what each of them did is known.
    pub(crate) fn part(&self, entry: usize, r: &Resource) {
        if let Some(tracer) = self.trace {
            tracer.part(entry, r.track, r.node(), r.id());
        }
    }

    /// The same while the resource is being changed.
    pub(crate) fn part_of(&self, entry: usize, resource: Track, node: &Node, id: &ResourceId) {
        if let Some(tracer) = self.trace {
            tracer.part(entry, resource, node, id);
        }
    }

    /// Notes something the user should know though the run goes on.
    pub(crate) fn warn(&self, warning: Diagnostic) {
        self.warnings.lock().expect("no one panics while holding the warnings").push(warning);
    }
}
