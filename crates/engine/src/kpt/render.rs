//! Running the pipelines of a package and of its subpackages.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use krm_yaml::{Diagnostic, Result, Sources};
use rayon::ThreadPoolBuilder;

use super::call::{Asked, Evaluation};
use super::image::{Images, Tags};
use super::plan;
use super::progress::{CallListener, Called, Event, Recorder};
use super::tree::Tree;
use crate::files::world::World;
use crate::pipeline::{Context, Pipeline, Tracer};
use crate::resource::Resource;
use crate::resource::list::Resources;
use crate::runtime::Runtime;

/// Parents before children, level by level.
const BREADTH_FIRST: &str = "kpt.dev/bfs-rendering";
/// Keep what was done before a failure.
const SAVE_ON_FAILURE: &str = "kpt.dev/save-on-render-failure";

/// What a render needs.
pub struct Options<'a> {
    /// Where files are read.
    pub world: &'a dyn World,
    /// The texts that spans point into; outputs of functions are added to them.
    pub sources: &'a Sources,
    /// How functions run.
    pub settings: Settings,
    /// Takes note of what each function changes, if anyone wants to know.
    pub trace: Option<&'a Tracer>,
}

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
    /// Those that were made, in the order of the packages' turns.
    pub calls: Vec<Called>,
    /// How many packages had their turn.
    pub packages: usize,
    /// What ended it early, if anything did.
    pub failure: Option<Diagnostic>,
    /// What was done before the failure is to be kept.
    pub saves: bool,
}

/// Runs the pipelines of a tree.
pub fn render(tree: &Arc<Tree>, options: &Options<'_>, listener: Box<dyn CallListener>) -> Outcome {
    let root = tree.members[0].kptfile.as_ref();
    let asks = |annotation| root.is_some_and(|kptfile| kptfile.asks(annotation));
    let (saves, by_level) = (asks(SAVE_ON_FAILURE), asks(BREADTH_FIRST));
    let turns = if by_level { turns_by_level(tree) } else { turns_children_first(tree) };
    let run = Arc::new(Run::new(tree, options, listener, turns, saves));
    let pipeline = if by_level { plan::level_by_level(&run) } else { plan::children_first(&run) };
    let mut items = Resources::new();
    let failure = run_on(pipeline, &mut items, options, tree.members.len()).err();
    let resources = match (failure.is_some(), saves, by_level) {
        (true, false, _) => tree.resources(),
        (true, true, false) => run.saved(),
        (_, _, true) => {
            let mut all = items.into_vec();
            all.sort_by_key(|r| tree.member_of(r));
            all
        }
        (false, _, false) => items.into_vec(),
    };
    let (calls, packages) = run.recorder.finish();
    Outcome { resources, calls, packages, failure, saves }
}

/// Runs one function on resources of a tree.
pub fn evaluate(
    tree: &Arc<Tree>,
    evaluation: Evaluation,
    resources: Vec<Resource>,
    options: &Options<'_>,
    listener: Box<dyn CallListener>,
) -> (Result<Vec<Resource>>, Called) {
    let nothing_ran = Called::of(&evaluation.shown, evaluation.is_exec);
    let run = Arc::new(Run::new(tree, options, listener, vec![0; tree.members.len()], false));
    let pipeline = plan::one(&run, Asked::ByHand(Box::new(evaluation)));
    let mut items = Resources::from_vec(resources);
    let ran = run_on(pipeline, &mut items, options, 1);
    let called = run.recorder.finish().0.pop().unwrap_or(nothing_ran);
    (ran.map(|()| items.into_vec()), called)
}

/// Runs a pipeline that makes at most `most` calls at a time.
fn run_on(pipeline: Pipeline, items: &mut Resources, options: &Options<'_>, most: usize) -> Result<()> {
    let (schema, warnings) = (pipeline.schema.clone(), Mutex::default());
    let cx = Context {
        world: options.world,
        schema: &schema,
        sources: options.sources,
        runtime: &options.settings.runtime,
        warnings: &warnings,
        trace: options.trace,
        observer: None,
    };
    // A function that runs elsewhere only makes a thread wait: how many do depends on the server, not on the cores here.
    let threads = options.settings.runtime.at_once().min(most);
    if threads > rayon::current_num_threads()
        && let Ok(pool) = ThreadPoolBuilder::new().num_threads(threads).build()
    {
        return pool.install(|| pipeline.run(items, &cx));
    }
    pipeline.run(items, &cx)
}

/// What the steps of a run share.
pub(super) struct Run {
    pub tree: Arc<Tree>,
    pub settings: Settings,
    recorder: Recorder,
    /// When the turn of each package comes.
    turns: Vec<usize>,
    /// What each package was after the last of its mutators that ran, if that may be wanted.
    latest: Option<Mutex<Vec<Option<Vec<Resource>>>>>,
}

impl Run {
    fn new(
        tree: &Arc<Tree>,
        options: &Options<'_>,
        listener: Box<dyn CallListener>,
        turns: Vec<usize>,
        saves: bool,
    ) -> Self {
        let members = tree.members.len();
        Self {
            tree: tree.clone(),
            settings: options.settings.clone(),
            recorder: Recorder::new(listener),
            turns,
            latest: saves.then(|| Mutex::new(vec![None; members])),
        }
    }

    /// Says something about a package when its turn comes.
    pub(crate) fn say(&self, member: usize, event: Event) {
        self.recorder.say(self.turns[member], event);
    }

    /// The functions of a package have all run.
    pub(crate) fn finished(&self, member: usize) {
        self.recorder.finished(self.turns[member]);
    }

    /// Remembers what a package is now, in case a later function fails.
    pub(crate) fn keep(&self, member: usize, items: &Resources) {
        if let Some(latest) = &self.latest {
            let mut latest = latest.lock().expect("no one panics while keeping resources");
            latest[member] = Some(items.as_slice().to_vec());
        }
    }

    /// The packages as the functions before the one that failed left them. Those whose turn would have come later are as
    /// they were read, even if they ran at the same time.
    fn saved(&self) -> Vec<Resource> {
        let mut own: Vec<Vec<Resource>> = vec![Vec::new(); self.tree.members.len()];
        self.tree.resources().into_iter().for_each(|r| own[self.tree.member_of(&r)].push(r));
        let latest =
            self.latest.as_ref().map(|latest| latest.lock().expect("no one panics while keeping resources"));
        let latest = latest.as_deref().map_or(&[][..], |latest| latest);
        let mut all = Vec::new();
        self.saved_of(0, self.recorder.turn(), &own, latest, &mut all);
        all
    }

    fn saved_of(
        &self,
        member: usize,
        failed: usize,
        own: &[Vec<Resource>],
        latest: &[Option<Vec<Resource>>],
        all: &mut Vec<Resource>,
    ) {
        if let (true, Some(Some(kept))) = (self.turns[member] <= failed, latest.get(member)) {
            all.extend(kept.iter().cloned());
            return;
        }
        all.extend(own[member].iter().cloned());
        for child in &self.tree.members[member].children {
            self.saved_of(*child, failed, own, latest, all);
        }
    }
}

/// The turn of each package when children come before their parents.
fn turns_children_first(tree: &Tree) -> Vec<usize> {
    fn visit(tree: &Tree, member: usize, next: &mut usize, turns: &mut [usize]) {
        tree.members[member].children.iter().for_each(|child| visit(tree, *child, next, turns));
        turns[member] = *next;
        *next += 1;
    }
    let mut turns = vec![0; tree.members.len()];
    visit(tree, 0, &mut 0, &mut turns);
    turns
}

/// The turn of each package when parents come before their children, level by level.
fn turns_by_level(tree: &Tree) -> Vec<usize> {
    let mut order: Vec<usize> = (0..tree.members.len()).collect();
    order.sort_by_key(|member| tree.members[*member].depth);
    let mut turns = vec![0; order.len()];
    order.into_iter().enumerate().for_each(|(turn, member)| turns[member] = turn);
    turns
}

impl Run {
    /// The packages in the order of their turns.
    pub(crate) fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.turns.len()).collect();
        order.sort_by_key(|member| self.turns[*member]);
        order
    }
}
