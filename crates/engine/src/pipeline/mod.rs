//! What runs: the one trait, and what it may ask for.

pub mod policy;

use std::path::Path;
use std::sync::{Arc, Mutex};

use krm_yaml::{Diagnostic, Result, Sources, Span};
use rayon::prelude::*;

use crate::files::world::{World, clean};
use crate::resource::list::Resources;
use crate::resource::{Origin, Resource};
use crate::runtime::Runtime;
use crate::schema::Schema;

pub use policy::{Helm, Policy};

/// A program that generates, changes or checks resources: built-ins, functions and whole pipelines alike.
///
/// The trait does not tell these apart; the caller does. A generator runs on an empty list and the result is absorbed,
/// a transformer runs in place, a validator runs on a copy.
pub trait Transformer: Send + Sync {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()>;

    /// What it does to each resource, where that is all it does and no other resource matters. Neighbours that say so run
    /// together: a resource is fetched from memory once for all of them, and that is most of what they cost.
    fn each(&self) -> Option<&dyn Each> {
        None
    }
}

/// A change to one resource that depends on no other.
pub trait Each: Send + Sync {
    fn edit(&self, r: &mut Resource, cx: &Context) -> Result<()>;
}

/// One after the other, as one step.
impl<T: Transformer> Transformer for Vec<T> {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        self.iter().try_for_each(|transformer| transformer.transform(items, cx))
    }
}

/// What a step may ask for.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub world: &'a dyn World,
    pub schema: &'a Schema,
    pub sources: &'a Sources,
    /// What runs programs, within what the user allows.
    pub runtime: &'a Runtime,
    /// Warnings so far; an error under `--strict`.
    pub warnings: &'a Mutex<Vec<Diagnostic>>,
}

impl Context<'_> {
    /// Notes something the user should know though the run goes on.
    pub fn warn(&self, warning: Diagnostic) {
        self.warnings.lock().expect("no one panics while holding the warnings").push(warning);
    }
}

/// What a step is there for: how it is run, and what becomes of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Gives resources as they were written or built elsewhere: runs on an empty list, whose content is appended.
    Load,
    /// Makes resources: runs on an empty list, whose content is absorbed under the create, merge and replace rules.
    Generate,
    /// Changes resources in place.
    Transform,
    /// Looks at a copy, and may not change it.
    Validate,
}

/// A transformer, what it is there for, and who asked for it.
pub struct Step {
    pub role: Role,
    pub transformer: Box<dyn Transformer>,
    /// Noted on the resources it saw or made; `None` where nobody asked for that.
    pub origin: Option<Origin>,
    /// Where it was asked for: the place of mistakes that have no better one.
    pub place: Span,
}

impl Step {
    pub fn new(role: Role, transformer: impl Transformer + 'static) -> Self {
        Self { role, transformer: Box::new(transformer), origin: None, place: Span::NONE }
    }

    /// A step that gives what the path at this place leads to.
    pub fn load(transformer: impl Transformer + 'static, place: Span) -> Self {
        Self { place, ..Self::new(Role::Load, transformer) }
    }

    /// What it does to each resource, if that is all.
    fn each(&self) -> Option<&dyn Each> {
        self.transformer.each().filter(|_| self.role == Role::Transform && self.origin.is_none())
    }

    /// What the step makes of nothing.
    fn produce(&self, cx: &Context) -> Result<Resources> {
        let mut made = Resources::new();
        self.transformer.transform(&mut made, cx).map_err(|d| d.at(self.place))?;
        if let Some(origin) = &self.origin {
            made.stamp_origin(origin);
        }
        Ok(made)
    }
}

/// Steps in order. A base is a pipeline run on nothing, a component the same run on what is there.
pub struct Pipeline {
    pub steps: Vec<Step>,
    /// What is known of types while these steps run.
    pub schema: Arc<Schema>,
}

impl Transformer for Pipeline {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        let cx = &Context { schema: &self.schema, ..*cx };
        // Neighbouring loads know nothing of each other, so they run side by side.
        let both_load = |a: &Step, b: &Step| a.role == Role::Load && b.role == Role::Load;
        let both_each = |a: &Step, b: &Step| a.each().is_some() && b.each().is_some();
        for group in self.steps.chunk_by(|a, b| both_load(a, b) || both_each(a, b)) {
            let step = &group[0];
            match step.role {
                Role::Transform if group.len() > 1 => items.edit_apart(|r| {
                    let edits = group.iter().filter_map(|step| Some((step.each()?, step.place)));
                    edits.into_iter().try_for_each(|(each, place)| each.edit(r, cx).map_err(|d| d.at(place)))
                })?,
                Role::Load => {
                    let loaded: Vec<_> = group.par_iter().map(|step| step.produce(cx)).collect();
                    append_each(items, group, loaded, cx)?;
                }
                Role::Generate => {
                    let made = step.produce(cx)?;
                    items.absorb(made, cx.schema).map_err(|d| d.at(step.place))?;
                }
                Role::Transform => {
                    step.transformer.transform(items, cx).map_err(|d| d.at(step.place))?;
                    if let Some(origin) = &step.origin {
                        items.stamp_transformation(origin, cx.schema);
                    }
                }
                Role::Validate => {
                    validate(&*step.transformer, items, cx).map_err(|d| d.at(step.place))?;
                }
            }
        }
        Ok(())
    }
}

/// Appends what each of these steps gives. Two may give the very same resource: what is wrong is then not where that is
/// written but where they are.
fn append_each(
    items: &mut Resources,
    steps: &[Step],
    loaded: Vec<Result<Resources>>,
    cx: &Context,
) -> Result<()> {
    let mut starts = Vec::with_capacity(steps.len());
    for (step, loaded) in steps.iter().zip(loaded) {
        starts.push(items.len());
        let Err(error) = items.append(loaded?) else { continue };
        let written = error.place();
        let is_same = !written.is_none() && error.notes().iter().any(|note| note.place == written);
        let first = (starts[0]..items.len()).find(|at| is_same && items.as_slice()[*at].span() == written);
        return Err(match first {
            None => error,
            Some(at) => {
                let giver = &steps[starts.partition_point(|start| *start <= at) - 1];
                included_twice(&items.as_slice()[at], [giver.place, step.place], cx)
            }
        });
    }
    Ok(())
}

fn included_twice(r: &Resource, places: [Span; 2], cx: &Context) -> Diagnostic {
    let paths = places.map(|place| {
        let source = cx.sources.get(place.file)?;
        Some(clean(Path::new(source.slice(place))))
    });
    let error = Diagnostic::error("included-twice", format!("{} is included twice", r.id()))
        .at(places[1])
        .note("first here", places[0])
        .note("it is written here", r.span());
    match paths[0] == paths[1] {
        true => error.help("remove one of the two entries"),
        false => error.help(
            "let only one of the two include it, or tell the copies apart by `namePrefix`, `nameSuffix` or `namespace`",
        ),
    }
}

/// Runs a validator, and refuses it where it changed anything but the label `validated-by`.
fn validate(validator: &dyn Transformer, items: &mut Resources, cx: &Context) -> Result<()> {
    const MARK: &str = "validated-by";
    let before = items.clone();
    validator.transform(items, cx)?;
    let changed = before.len() != items.len()
        || before.iter().any(|old| {
            let [at] = items.find(old.id()) else { return true };
            let mut new = items.as_slice()[*at as usize].node().clone();
            if new.at(["metadata", "labels", MARK]).is_some()
                && let Some(meta) = new.get_mut("metadata")
                && let Some(labels) = meta.get_mut("labels")
            {
                labels.remove(MARK);
                if labels.is_empty() {
                    meta.remove("labels");
                }
            }
            new != *old.node()
        });
    match changed {
        false => Ok(()),
        true => Err(Diagnostic::error("validator-changes", "a validator changed the resources")
            .help("list it under `transformers:` if it is meant to change them")),
    }
}
