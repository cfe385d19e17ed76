//! A kustomization that others are built on.

use std::sync::{Arc, OnceLock};

use krm_yaml::Result;
use rustc_hash::FxHashMap;

use super::step::{Made, traced};
use super::{Context, Pipeline, Step, Trace, Work};
use crate::files::dependencies::{Dependencies, Watched};
use crate::resource::list::Resources;

/// A pipeline that starts from an empty list: planned once, and built once, however many use it.
pub(crate) struct Base {
    pub pipeline: Pipeline,
    /// Higher than that of every base it uses.
    pub level: usize,
    pub dependencies: Arc<Dependencies>,
    built: OnceLock<Result<Resources>>,
    /// The same with a trace, if one was asked for.
    traced: OnceLock<Made>,
}

impl Base {
    pub(crate) fn new(pipeline: Pipeline, level: usize, dependencies: Arc<Dependencies>) -> Arc<Self> {
        Arc::new(Self { pipeline, level, dependencies, built: OnceLock::new(), traced: OnceLock::new() })
    }

    /// Builds it ahead of its users, unless that was done. Done level by level: a thread that waits for a base while it
    /// holds another might wait for itself.
    pub(crate) fn build_ahead(&self, cx: &Context) {
        if self.built.get().is_none() {
            // If another thread was faster, its result is used.
            let _ = self.built.set(run(self.pipeline.clone(), &self.dependencies, cx));
        }
    }

    /// What it gives. Its last user gets the resources themselves: nobody will look at them again, so that editing them
    /// need not copy.
    pub(super) fn give(base: Arc<Self>, cx: &Context) -> Made {
        if cx.trace.is_some() {
            let Base { pipeline, dependencies, traced: known, .. } = &*base;
            if known.get().is_none() {
                // Not while holding the lock: a thread that waits for others may be given work that needs this base.
                let made = traced(cx, |items, cx| run_in(pipeline.clone(), dependencies, items, cx));
                let _ = known.set(made);
            }
            return known.get().expect("it was just set, by this thread or another").clone();
        }
        let given = match Arc::try_unwrap(base) {
            Ok(Base { pipeline, dependencies, built, .. }) => {
                built.into_inner().unwrap_or_else(|| run(pipeline, &dependencies, cx))
            }
            Err(base) => match base.built.get() {
                Some(built) => built.clone(),
                None => run(base.pipeline.clone(), &base.dependencies, cx),
            },
        };
        (given, None)
    }
}

/// Runs a pipeline on an empty list; its look-ups and warnings are noted in `dependencies`.
pub(crate) fn run(pipeline: Pipeline, dependencies: &Dependencies, cx: &Context) -> Result<Resources> {
    let mut items = Resources::new();
    run_in(pipeline, dependencies, &mut items, cx)?;
    Ok(items)
}

fn run_in(
    pipeline: Pipeline,
    dependencies: &Dependencies,
    items: &mut Resources,
    cx: &Context,
) -> Result<()> {
    let world = Watched { world: cx.world, dependencies };
    let ran = pipeline.run(items, &Context { world: &world, warnings: &dependencies.warnings, ..*cx });
    if cx.trace.is_some() {
        // It has usually run without a trace before.
        dependencies.drop_repeated_warnings();
    }
    ran
}

/// Runs a pipeline on an empty list, and returns what each step changed, even if the run fails.
pub(crate) fn run_traced(
    pipeline: Pipeline,
    dependencies: &Dependencies,
    cx: &Context,
) -> (Result<Resources>, Arc<Trace>) {
    let (ran, trace) = traced(cx, |items, cx| run_in(pipeline, dependencies, items, cx));
    (ran, trace.expect("it was asked for"))
}

/// Every base that pipelines use, and how many steps use it.
pub(crate) fn bases<'p>(pipelines: impl IntoIterator<Item = &'p Pipeline>) -> Vec<(Arc<Base>, usize)> {
    let mut found: Vec<(Arc<Base>, usize)> = Vec::new();
    let mut known: FxHashMap<*const Base, usize> = FxHashMap::default();
    let used = |step: &Step| match &step.work {
        Work::Base(base) => Some(base.clone()),
        _ => None,
    };
    let mut open: Vec<Arc<Base>> =
        pipelines.into_iter().flat_map(|pipeline| pipeline.steps.iter().filter_map(used)).collect();
    while let Some(base) = open.pop() {
        match known.get(&Arc::as_ptr(&base)) {
            Some(at) => found[*at].1 += 1,
            None => {
                known.insert(Arc::as_ptr(&base), found.len());
                open.extend(base.pipeline.steps.iter().filter_map(used));
                found.push((base, 1));
            }
        }
    }
    found
}
