//! Running the pipelines of a package and of its subpackages.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use krm_function::annotations::{BREADTH_FIRST, SAVE_ON_FAILURE};
use krm_yaml::{Diagnostic, Result};
use rayon::ThreadPoolBuilder;

use super::call::{Asked, Evaluation};
use super::image::{Images, Tags};
use super::plan::{self, Plan};
use super::progress::Recorder;
use super::tree::Tree;
use crate::package::Surroundings;
use crate::pipeline::{Called, Context, Pipeline, Transformer};
use crate::resource::Resource;
use crate::resource::list::Resources;
use crate::runtime::Runtime;

/// What functions run by, and where images come from.
#[derive(Clone)]
pub struct Settings {
    /// Its policy says what functions may do.
    pub runtime: Arc<Runtime>,
    /// Where programs run, and what their paths are relative to.
    pub dir: PathBuf,
    /// Functions may leave no resource, or none of those they were given.
    pub allow_empty: bool,
    /// How short names of images are completed.
    pub images: Images,
    /// Lists the tags of an image, for ranges of versions.
    pub tags: Arc<Tags>,
}

/// What is left when all have run, or one failed.
#[derive(Debug)]
pub struct Outcome {
    /// The resources; as they were when a function failed, unless they are to be saved.
    pub resources: Vec<Resource>,
    /// The calls, also one that was refused, in the order of the packages' turns.
    pub calls: Vec<Called>,
    /// How many packages had their turn.
    pub packages: usize,
    /// What ended it early, if anything did.
    pub failure: Option<Diagnostic>,
    /// What was done before the failure is to be kept.
    pub saves: bool,
}

/// The pipelines of a tree: planned once, run any number of times.
pub struct Render {
    plan: Arc<Plan>,
    pipeline: Pipeline,
    by_level: bool,
}

impl Render {
    /// Plans the functions of a tree; what is wrong with a Kptfile comes out when its turn comes.
    pub fn plan(tree: &Arc<Tree>, settings: Settings) -> Self {
        let root = tree.members[0].kptfile.as_ref();
        let asks = |annotation| root.is_some_and(|kptfile| kptfile.asks(annotation));
        let (saves, by_level) = (asks(SAVE_ON_FAILURE), asks(BREADTH_FIRST));
        let turns = if by_level { plan::turns_by_level(tree) } else { plan::turns_children_first(tree) };
        let plan = Arc::new(Plan { tree: tree.clone(), settings, turns, saves });
        let pipeline = if by_level { plan::level_by_level(&plan) } else { plan::children_first(&plan) };
        Self { plan, pipeline, by_level }
    }

    /// Runs the pipelines, with the runtime they were planned for. The observer hears of programs while they run, and of one
    /// package after the other.
    pub fn run(&self, with: Surroundings<'_>) -> Outcome {
        let Plan { tree, saves, .. } = &*self.plan;
        let recorder = Recorder::new(&self.plan, with.observer);
        let with = Surroundings { observer: Some(&recorder), runtime: &self.plan.settings.runtime, ..with };
        let mut items = Resources::new();
        let failure = run_on(&self.pipeline, &mut items, with, tree.members.len()).err();
        let resources = match (failure.is_some(), saves, self.by_level) {
            (true, false, _) => tree.resources(),
            (true, true, false) => recorder.saved(),
            (_, _, true) => {
                let mut all = items.into_vec();
                all.sort_by_key(|r| tree.member_of(r));
                all
            }
            (false, _, false) => items.into_vec(),
        };
        let (calls, packages) = recorder.finish();
        Outcome { resources, calls, packages, failure, saves: *saves }
    }
}

/// Runs one function on resources of a tree.
pub fn evaluate(
    tree: &Arc<Tree>,
    evaluation: Evaluation,
    resources: Vec<Resource>,
    settings: &Settings,
    with: Surroundings<'_>,
) -> (Result<Vec<Resource>>, Called) {
    let nothing_ran = Called::of(&evaluation.shown, evaluation.is_exec);
    let (tree, settings, turns) = (tree.clone(), settings.clone(), vec![0; tree.members.len()]);
    let plan = Arc::new(Plan { tree, settings, turns, saves: false });
    let pipeline = plan::one(&plan, Asked::ByHand(Box::new(evaluation)));
    let recorder = Recorder::new(&plan, with.observer);
    let mut items = Resources::from_vec(resources);
    let with = Surroundings { observer: Some(&recorder), runtime: &plan.settings.runtime, ..with };
    let ran = run_on(&pipeline, &mut items, with, 1);
    let called = recorder.finish().0.pop().unwrap_or(nothing_ran);
    (ran.map(|()| items.into_vec()), called)
}

/// Runs a pipeline that makes at most `most` calls at a time.
fn run_on(pipeline: &Pipeline, items: &mut Resources, with: Surroundings<'_>, most: usize) -> Result<()> {
    let warnings = Mutex::default();
    let cx = Context {
        world: with.world,
        schema: &pipeline.schema,
        sources: with.sources,
        runtime: with.runtime,
        warnings: &warnings,
        trace: with.trace,
        observer: with.observer,
    };
    // A function that runs elsewhere only makes a thread wait: how many do depends on the server, not on the cores here.
    let threads = with.runtime.at_once().min(most);
    if threads > rayon::current_num_threads()
        && let Ok(pool) = ThreadPoolBuilder::new().num_threads(threads).build()
    {
        return pool.install(|| pipeline.transform(items, &cx));
    }
    pipeline.transform(items, &cx)
}
