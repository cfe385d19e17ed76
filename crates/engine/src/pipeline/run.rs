//! The executor: the one loop over steps.

use std::path::Path;
use std::sync::Arc;

use krm_yaml::{Diagnostic, Result, Span};
use rayon::prelude::*;

use super::{Context, Role, Step, Transformer};
use crate::files::world::clean;
use crate::resource::Resource;
use crate::resource::list::Resources;
use crate::schema::Schema;

/// Steps in order. A base is a pipeline that runs on an empty list, a Composition may be one that runs on what is there.
/// Cheap to clone.
#[derive(Clone)]
pub struct Pipeline {
    /// In the order in which they run.
    pub steps: Vec<Step>,
    /// What is known about types while these steps run.
    pub(crate) schema: Arc<Schema>,
}

impl Pipeline {
    /// Runs its steps. They move out what they hold; to run them again, run a clone.
    pub(crate) fn run(self, items: &mut Resources, cx: &Context) -> Result<()> {
        let Pipeline { mut steps, schema } = self;
        let cx = &Context { schema: &schema, ..*cx };
        if let Some(tracer) = cx.trace {
            tracer.knows(&schema);
        }
        let mut rest = &mut steps[..];
        while !rest.is_empty() {
            let length = if cx.trace.is_some() { loads(rest).max(1) } else { group(rest) };
            let (group, after) = std::mem::take(&mut rest).split_at_mut(length);
            rest = after;
            let given = items.len();
            if let Some(observer) = cx.observer {
                group.iter().for_each(|step| observer.step(step, given));
            }
            run_group(group, items, cx)?;
            if let Some(tracer) = cx.trace.filter(|_| !group[0].role.loads()) {
                tracer.ended(&group[0], given, items);
            }
        }
        Ok(())
    }
}

/// How many of the first steps run together.
fn group(steps: &[Step]) -> usize {
    // Neighbouring loads are independent, so they run in parallel.
    let both_load = |a: &Step, b: &Step| a.role == b.role && a.role.loads();
    let both_each = |a: &Step, b: &Step| a.each().is_some() && b.each().is_some();
    steps.chunk_by(|a, b| both_load(a, b) || both_each(a, b)).next().map_or(0, <[Step]>::len)
}

/// How many of the first steps load.
fn loads(steps: &[Step]) -> usize {
    let first = steps.first().map(|step| step.role);
    steps.iter().take_while(|step| Some(step.role) == first && step.role.loads()).count()
}

fn run_group(group: &mut [Step], items: &mut Resources, cx: &Context) -> Result<()> {
    let place = group[0].place;
    match group[0].role {
        role @ (Role::Load | Role::Include) => {
            let mut made: Vec<_> = group.par_iter_mut().map(|step| step.produce(cx)).collect();
            if let Some(tracer) = cx.trace {
                group.iter().zip(&mut made).for_each(|(step, made)| tracer.loaded(step, made));
            }
            let loaded = made.into_iter().map(|(loaded, _)| loaded);
            match role {
                Role::Include => {
                    let all = items.as_vec_mut();
                    loaded
                        .into_iter()
                        .try_for_each(|loaded| loaded.map(|loaded| all.extend(loaded.into_vec())))
                }
                _ => append_each(items, group, loaded.collect(), cx),
            }
        }
        Role::Generate => {
            let (made, within) = group[0].produce(cx);
            let mut made = made?;
            if let Some(tracer) = cx.trace {
                tracer.made(&mut made, within);
            }
            items.absorb(made, cx.schema).map_err(|d| d.at(place))
        }
        Role::Transform if group.len() > 1 => items.edit_apart(|r| {
            let mut edits = group.iter().filter_map(|step| Some((step.each()?, step.place)));
            edits.try_for_each(|(each, place)| each.edit(r, cx).map_err(|d| d.at(place)))
        }),
        Role::Transform => {
            group[0].apply(items, cx).map_err(|d| d.at(place))?;
            if let Some(origin) = &group[0].origin {
                (0..group[0].counts_as).for_each(|_| items.stamp_transformation(origin, cx.schema));
            }
            Ok(())
        }
        // Nothing comes of what these two do to the resources.
        Role::Validate => {
            validate(&group[0], items, &Context { trace: None, ..*cx }).map_err(|d| d.at(place))
        }
        Role::Inspect => {
            let cx = &Context { trace: None, ..*cx };
            group[0].apply(&mut items.clone(), cx).map_err(|d| d.at(place))
        }
    }
}

impl Transformer for Pipeline {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        self.clone().run(items, cx)
    }

    fn pipeline(&self) -> Option<&Pipeline> {
        Some(self)
    }
}

/// Appends what each of these steps gives. Two may give the very same resource: the error is then not where that is
/// written but at their entries.
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
            "let only one of the two include it, or distinguish the copies with `namePrefix`, `nameSuffix` or `namespace`",
        ),
    }
}

/// Runs a validator, and refuses it if it changed anything but the label `validated-by`.
///
/// Like the reference, what is compared are the resources that still have their id. What a program leaves out, adds or
/// renames is not kept, and a warning says so.
// quirk(validators-are-not-followed): Of what a validator returns, only the resources that keep their id are compared;
// what it adds, renames or leaves out is ignored. (`KustTarget.runValidators`)
fn validate(validator: &Step, items: &mut Resources, cx: &Context) -> Result<()> {
    const MARK: &str = "validated-by";
    let before = items.clone();
    validator.apply(items, cx)?;
    let is_program = validator.is_program();
    let mut other_list = before.len() != items.len();
    let changed = before.iter().any(|old| {
        let [at] = items.find(old.id()) else {
            other_list = true;
            return !is_program;
        };
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
    if changed || (other_list && !is_program) {
        return Err(Diagnostic::error("validator-changes", "a validator changed the resources")
            .help("list it under `transformers:` if it is meant to change them"));
    }
    if other_list {
        cx.warn(output_discarded("a validator returned other resources than it was given", validator.place));
        let kept = before.iter().map(|old| match items.find(old.id()) {
            [at] => items.as_slice()[*at as usize].clone(),
            _ => old.clone(),
        });
        *items = Resources::from_vec(kept.collect());
    }
    Ok(())
}

/// The warning for a validator whose output is ignored.
pub(crate) fn output_discarded(what: &str, place: Span) -> Diagnostic {
    Diagnostic::warning("validator-output-discarded", format!("{what}; its changes are not kept"))
        .at(place)
        .help("list it under `transformers:` if they are wanted")
}
