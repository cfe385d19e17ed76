//! A step: what it is called, who asked for it, what it does, and what becomes of its result.

use std::fmt;
use std::sync::Arc;

use krm_yaml::{Result, Span};

use super::{Base, Context, Each, Pipeline, Scope, StepField, Trace, Tracer, Transformer};
use crate::resource::list::Resources;
use crate::resource::{Origin, Resource};

/// The purpose of a step: how it is run, and what happens to its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// Gives resources as they were written or built elsewhere: runs on an empty list, whose content is appended.
    Load,
    /// Gives the resources of a package: the same, but two may have the same name, since each is in a file.
    Include,
    /// Makes resources: runs on an empty list, whose content is absorbed under the create, merge and replace rules.
    Generate,
    /// Changes resources in place.
    Transform,
    /// Looks at a copy, and may not change it.
    Validate,
    /// Looks at a copy, which is thrown away.
    Inspect,
}

impl Role {
    /// Whether it adds what it gives to the list, whatever the list holds.
    pub fn loads(self) -> bool {
        matches!(self, Role::Load | Role::Include)
    }

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Role::Load => "load",
            Role::Include => "include",
            Role::Generate => "generate",
            Role::Transform => "transform",
            Role::Validate => "validate",
            Role::Inspect => "inspect",
        }
    }
}

/// What a step does.
#[derive(Clone, Default)]
pub(crate) enum Work {
    /// Nothing, or nothing any more: what it held was moved out.
    #[default]
    Nothing,
    /// A built-in, a function, a Composition.
    Transform(Arc<dyn Transformer>),
    /// Resources as they are written in a file.
    Read(Arc<Vec<Resource>>),
    /// What another kustomization gives.
    Base(Arc<Base>),
}

impl Work {
    pub(crate) fn new(transformer: impl Transformer + 'static) -> Self {
        Work::Transform(Arc::new(transformer))
    }
}

/// What a step is called: the folder of the file that asked for it, and the field: `overlays/production#images[0]`.
///
/// Names are stable: they change only when someone moves the entry. Steps that no field asks for, at the end of every
/// build, have a name without a folder: `#hash`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepName {
    /// As the user would write it; empty for steps that nothing asks for.
    pub folder: Arc<str>,
    /// What asks for it: a field of a kustomization, or something with a name.
    pub field: StepField,
    /// Which entry of the field, if it has entries.
    pub index: Option<u32>,
}

impl StepName {
    pub(crate) fn new(folder: &Arc<str>, field: StepField, index: Option<usize>) -> Self {
        Self { folder: folder.clone(), field, index: index.map(|index| index as u32) }
    }

    /// The name of a step that comes at the end of every build.
    pub(crate) fn of_root(field: StepField) -> Self {
        Self::new(&Arc::default(), field, None)
    }

    /// The entry without its folder: `patches[0]`.
    pub(crate) fn entry(&self) -> String {
        match self.index {
            Some(index) => format!("{}[{index}]", self.field),
            None => self.field.to_string(),
        }
    }
}

impl fmt::Display for StepName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folder = if &*self.folder == "." { "" } else { &*self.folder };
        write!(f, "{folder}#{}", self.field)?;
        match self.index {
            Some(index) => write!(f, "[{index}]"),
            None => Ok(()),
        }
    }
}

/// Something to do, its role, and the entry that asked for it. Cheap to clone.
#[derive(Clone)]
pub struct Step {
    /// What it is called: `overlays/production#images[0]`.
    pub name: StepName,
    /// The entry or field that asked for it: the place of errors that have no better one.
    pub place: Span,
    /// How it is run, and what becomes of its result.
    pub role: Role,
    /// Which resources it sees.
    pub scope: Scope,
    pub(crate) work: Work,
    /// The entries it represents, if all entries of a field are one step: a value with a span within one of them was
    /// set by it.
    pub entries: Arc<[Span]>,
    /// Noted on the resources it saw or made; `None` if that was not asked for.
    pub(crate) origin: Option<Arc<Origin>>,
    /// How many steps kustomize has in its place: its origin is noted that many times.
    pub(crate) counts_as: usize,
}

impl Step {
    pub(crate) fn new(name: StepName, place: Span, role: Role, work: Work) -> Self {
        let (scope, entries) = (Scope::Everything, Arc::default());
        Self { name, place, role, scope, work, entries, origin: None, counts_as: 1 }
    }

    /// The steps it is made of, if it is another pipeline: a base, a Composition, a package.
    pub fn inner(&self) -> Option<&Pipeline> {
        match &self.work {
            Work::Base(base) => Some(&base.pipeline),
            Work::Transform(transformer) => transformer.pipeline(),
            Work::Read(_) | Work::Nothing => None,
        }
    }

    /// The name of the entry that wrote a value, given where the value was written.
    pub fn name_of(&self, written: Span) -> StepName {
        let index = entry_of(&self.entries, written);
        StepName { index: index.map(|index| index as u32).or(self.name.index), ..self.name.clone() }
    }

    /// What it does to each resource, if that is all.
    pub(super) fn each(&self) -> Option<&dyn Each> {
        match &self.work {
            Work::Transform(transformer) if self.role == Role::Transform && self.is_plain() => {
                transformer.each()
            }
            _ => None,
        }
    }

    /// Whether it sees everything and leaves no note.
    fn is_plain(&self) -> bool {
        matches!(self.scope, Scope::Everything) && self.origin.is_none()
    }

    /// Changes or looks at the resources in its scope; the rest stays.
    pub(super) fn apply(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        match &self.work {
            Work::Transform(transformer) => transformer.transform_in(&self.scope, items, cx),
            _ => Ok(()),
        }
    }

    /// Whether a program does the work: see [`Transformer::is_program`].
    pub(super) fn is_program(&self) -> bool {
        matches!(&self.work, Work::Transform(transformer) if transformer.is_program())
    }

    /// What the step makes of an empty list. What it alone holds is moved, not copied: to run it again, run a clone.
    pub(super) fn produce(&mut self, cx: &Context) -> Made {
        let (made, within) = match std::mem::take(&mut self.work) {
            Work::Nothing => (Ok(Resources::new()), None),
            Work::Read(resources) => {
                let made = Resources::from_vec(Arc::unwrap_or_clone(resources));
                match self.role {
                    Role::Include => (Ok(made), None),
                    _ => (made.refuse_duplicates().map(|()| made), None),
                }
            }
            Work::Base(base) => {
                let (given, within) = Base::give(base, cx);
                (given.map_err(|d| d.included(self.place)), within)
            }
            Work::Transform(transformer) => match (cx.trace, transformer.pipeline()) {
                // Steps within work on another list than those around them.
                (Some(_), Some(_)) => traced(cx, |items, cx| transformer.transform(items, cx)),
                _ => {
                    let mut made = Resources::new();
                    (transformer.transform(&mut made, cx).map(|()| made), None)
                }
            },
        };
        let made = made.map_err(|d| d.at(self.place)).map(|mut made| {
            if let Some(origin) = &self.origin {
                made.stamp_origin(origin);
            }
            made
        });
        (made, within)
    }
}

/// What a step made of an empty list and, if that is traced, how.
pub(super) type Made = (Result<Resources>, Option<Arc<Trace>>);

/// Runs something on an empty list, with a separate trace.
pub(super) fn traced(cx: &Context, run: impl FnOnce(&mut Resources, &Context) -> Result<()>) -> Made {
    let tracer = Tracer::default();
    let mut items = Resources::new();
    let ran = run(&mut items, &Context { trace: Some(&tracer), ..*cx });
    let trace = match ran {
        Ok(()) => tracer.finish(&items),
        Err(_) => tracer.finish_failed(),
    };
    (ran.map(|()| items), Some(Arc::new(trace)))
}

/// Which of some entries a value was written in.
pub(super) fn entry_of(entries: &[Span], written: Span) -> Option<usize> {
    entries.iter().position(|entry| !written.is_none() && entry.holds(written))
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.role.name(), self.name)
    }
}
