//! What one run, or one server, shares: files, bases, and what each build depended on.

mod emit;
mod outline;
mod root;
mod side_by_side;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use krm_yaml::{Diagnostic, Result, Source, Sources, Span};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::composition;
use crate::files::dependencies::Dependencies;
use crate::files::folder::{Folder, Reach};
use crate::files::texts::Files;
use crate::files::world::World;
use crate::kustomization::{Inherited, Kustomization, Plan, Planning, Reuse};
use crate::pipeline::{Base, Pipeline, Trace, bases, run_on_nothing, run_traced};
use crate::resource::list::Resources;
use crate::runtime::Runtime;
use crate::runtime::policy::Policy;
use crate::schema::{Kubernetes, Schema};

pub use emit::emit;
pub use outline::Outlined;
pub use root::KUSTOMIZE_VERSION;
use side_by_side::side_by_side;

/// Builds targets, and remembers what it read and built.
///
/// A session can be asked any number of times. What it builds it keeps, with everything the result depended on; after files
/// changed, [`affected_by`](Self::affected_by) says what is out of date, [`invalidate`](Self::invalidate) forgets it, and
/// the next [`build`](Self::build) runs no more than that.
///
/// ```
/// use std::sync::Arc;
/// use krm_engine::{BuildOptions, MemoryWorld, Session, Sources, emit};
/// let world = Arc::new(MemoryWorld::new([
///     ("app/kustomization.yaml", "namePrefix: a-\nresources: [settings.yaml]\n"),
///     ("app/settings.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"),
/// ]));
/// let session = Session::new(world.clone(), Sources::new(), BuildOptions::default());
/// let built = session.build(&["app".into()]).into_result()?;
/// assert_eq!(emit(&built)?.concat(), "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a-settings\n");
///
/// world.write("app/kustomization.yaml", "namePrefix: b-\nresources: [settings.yaml]\n");
/// let affected = session.invalidate(&["/app/kustomization.yaml".into()]);
/// assert_eq!(affected.targets, ["app"]);
/// let built = session.build(&["app".into()]).into_result()?;
/// assert!(emit(&built)?.concat().contains("name: b-settings"));
/// # Ok::<(), krm_engine::Diagnostic>(())
/// ```
pub struct Session {
    planning: Planning,
    options: BuildOptions,
    targets: Mutex<FxHashMap<String, Arc<PlannedTarget>>>,
}

/// How to build.
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    /// Which programs may run, and how.
    pub policy: Policy,
    /// Files outside a kustomization's folder may be read.
    pub unrestricted: bool,
    /// Resources come out as they were read if the kustomization does not say otherwise.
    pub keep_order: bool,
    /// Every resource is labelled, whatever the kustomization says.
    pub managed_by_label: bool,
    /// The version of Kubernetes whose types patches are merged by.
    pub kubernetes: Kubernetes,
    /// Files of catalogs in which transformers that name no program are looked up.
    pub trusted_catalogs: Vec<String>,
}

/// The result of building some targets.
pub struct Built {
    /// In the order the targets were given.
    pub targets: Vec<Result<Resources>>,
    /// In the order of the locations they are about.
    pub warnings: Vec<Diagnostic>,
}

impl Built {
    /// The resources of all targets, or everything that went wrong.
    pub fn into_result(self) -> Result<Vec<Resources>> {
        let (good, bad): (Vec<_>, Vec<_>) = self.targets.into_iter().partition(Result::is_ok);
        match Diagnostic::join(bad.into_iter().filter_map(Result::err)) {
            Some(error) => Err(error),
            None => Ok(good.into_iter().filter_map(Result::ok).collect()),
        }
    }
}

/// The result of building one target.
#[non_exhaustive]
pub struct BuiltTarget {
    /// Its resources, or everything that went wrong.
    pub result: Result<Resources>,
    /// Everything it looked at.
    pub dependencies: Arc<Dependencies>,
    /// In the order of the locations they are about.
    pub warnings: Vec<Diagnostic>,
}

/// What is out of date after files changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Affected {
    /// Targets, as they were named, in alphabetical order.
    pub targets: Vec<String>,
    /// The folders of bases, in alphabetical order.
    pub bases: Vec<PathBuf>,
}

/// A target: what runs for it, what it depends on, and its result.
struct PlannedTarget {
    pipeline: Result<Pipeline>,
    dependencies: Arc<Dependencies>,
    built: OnceLock<Result<Resources>>,
}

const HELD: &str = "no one panics while holding the targets";

impl Session {
    /// A session that has read nothing yet. Programs run on this machine, if the policy of the options allows them.
    pub fn new(world: Arc<dyn World>, sources: Sources, options: BuildOptions) -> Self {
        let runtime = Arc::new(Runtime::new(options.policy.clone()));
        Self::with_runtime(world, sources, options, runtime)
    }

    /// The same with programs run by another [`Runner`](crate::runtime::Runner) than this machine: its policy counts, not
    /// that of the options.
    pub fn with_runtime(
        world: Arc<dyn World>,
        sources: Sources,
        options: BuildOptions,
        runtime: Arc<Runtime>,
    ) -> Self {
        let files = Files::new(world, sources);
        let planning = Planning::new(files, runtime, options.trusted_catalogs.clone());
        Self { planning, options, targets: Mutex::default() }
    }

    /// Builds every target, in parallel; what they have in common is built once. What was built before, and is up to date, is
    /// not built again.
    pub fn build(&self, targets: &[String]) -> Built {
        let schema = Arc::new(Schema::of(self.options.kubernetes));
        let planned: Vec<Arc<PlannedTarget>> =
            targets.par_iter().map(|target| self.target(target, &schema)).collect();
        let open: Vec<&Arc<PlannedTarget>> =
            planned.iter().filter(|target| target.built.get().is_none()).collect();
        let all = bases(open.iter().filter_map(|target| target.pipeline.as_ref().ok()));
        self.build_ahead(all.into_iter().map(|(base, _)| base).collect(), &schema);
        side_by_side(open, self.planning.runtime.at_once(), |target| {
            let built = match &target.pipeline {
                Ok(pipeline) => self.run(pipeline.clone(), &target.dependencies, &schema),
                Err(error) => Err(error.clone()),
            };
            // A target that was named twice is built twice, with the same result.
            let _ = target.built.set(built);
        });
        let results = planned.iter().map(|target| target.built.get().expect("it was just built").clone());
        let warnings = self.warnings(planned.iter().map(|target| &target.dependencies));
        self.located(results.collect(), warnings)
    }

    /// Builds every target once: nothing is kept for later, so nothing has to be copied.
    pub fn build_once(mut self, targets: &[String]) -> Built {
        let ran = self.run_once(targets);
        let warnings = self.warnings(ran.iter().map(|(_, dependencies)| dependencies));
        self.located(ran.into_iter().map(|(result, _)| result).collect(), warnings)
    }

    /// The same, with what each target depended on.
    pub fn build_each(mut self, targets: &[String]) -> Vec<BuiltTarget> {
        let sources = self.planning.files.sources.clone();
        let ran = self.run_once(targets).into_iter();
        let each = ran.map(|(result, dependencies)| {
            let warnings =
                self.warnings([&dependencies]).into_iter().map(|warning| warning.located(&sources));
            let warnings = warnings.collect();
            BuiltTarget { result: result.map_err(|error| error.located(&sources)), dependencies, warnings }
        });
        each.collect()
    }

    fn run_once(&mut self, targets: &[String]) -> Vec<(Result<Resources>, Arc<Dependencies>)> {
        self.planning.reuse = Reuse::Never;
        let schema = Arc::new(Schema::of(self.options.kubernetes));
        let planned: Vec<PlannedTarget> =
            targets.par_iter().map(|target| self.plan(target, &schema)).collect();
        // From here on bases belong to the steps that use them, and the last of these may have what a base gives.
        self.planning.release();
        let shared = bases(planned.iter().filter_map(|target| target.pipeline.as_ref().ok()));
        let shared = shared.into_iter().filter(|(_, uses)| *uses > 1).map(|(base, _)| base).collect();
        self.build_ahead(shared, &schema);
        side_by_side(
            planned,
            self.planning.runtime.at_once(),
            |PlannedTarget { pipeline, dependencies, .. }| {
                (pipeline.and_then(|pipeline| self.run(pipeline, &dependencies, &schema)), dependencies)
            },
        )
    }

    /// Resolves positions, so that a diagnostic can be shown without the texts it is about.
    fn located(&self, targets: Vec<Result<Resources>>, warnings: Vec<Diagnostic>) -> Built {
        let sources = &self.planning.files.sources;
        let targets = targets.into_iter().map(|target| target.map_err(|error| error.located(sources)));
        let warnings = warnings.into_iter().map(|warning| warning.located(sources));
        Built { targets: targets.collect(), warnings: warnings.collect() }
    }

    /// Builds bases before what uses them, lowest first.
    fn build_ahead(&self, bases: Vec<Arc<Base>>, schema: &Schema) {
        let deepest = bases.iter().map(|base| base.level).max().unwrap_or_default();
        for level in 0..=deepest {
            let bases = bases.iter().filter(|base| base.level == level).collect();
            side_by_side(bases, self.planning.runtime.at_once(), |base: &Arc<Base>| {
                base.build_ahead(&self.planning.context(schema, &base.dependencies));
            });
        }
    }

    fn run(&self, pipeline: Pipeline, dependencies: &Dependencies, schema: &Schema) -> Result<Resources> {
        run_on_nothing(pipeline, dependencies, &self.planning.context(schema, dependencies))
    }

    /// Builds a target once more, and returns what each step changed. The result is that of [`build`](Self::build); if the
    /// build fails, the trace ends at the step that failed.
    pub fn trace(&self, target: &str) -> (Result<Resources>, Arc<Trace>) {
        let schema = Arc::new(Schema::of(self.options.kubernetes));
        let target = self.target(target, &schema);
        match &target.pipeline {
            Err(error) => (Err(error.clone()), Arc::default()),
            Ok(pipeline) => {
                let cx = self.planning.context(&schema, &target.dependencies);
                run_traced(pipeline.clone(), &target.dependencies, &cx)
            }
        }
    }

    /// What would have to be built again if these files or folders came, went or changed: absolute paths, links resolved
    /// as far as the files are there.
    pub fn affected_by(&self, changed: &[PathBuf]) -> Affected {
        let mut known = FxHashMap::default();
        let targets = self.targets.lock().expect(HELD);
        let affected =
            targets.iter().filter(|(_, target)| target.dependencies.affected_by(changed, &mut known));
        let mut affected =
            Affected { targets: affected.map(|(name, _)| name.clone()).collect(), bases: Vec::new() };
        let bases = self.planning.bases().into_iter();
        let bases = bases.filter(|base| base.dependencies.affected_by(changed, &mut known));
        affected.bases = bases.map(|base| base.dependencies.folder().to_owned()).collect();
        affected.targets.sort();
        affected.bases.sort();
        affected.bases.dedup();
        affected
    }

    /// Forgets all that depended on these files or folders, so that the next build reads and runs it again; says what.
    pub fn invalidate(&self, changed: &[PathBuf]) -> Affected {
        let affected = self.affected_by(changed);
        let mut known = FxHashMap::default();
        let mut is_affected =
            |dependencies: &Arc<Dependencies>| dependencies.affected_by(changed, &mut known);
        self.targets.lock().expect(HELD).retain(|_, target| !is_affected(&target.dependencies));
        self.planning.forget(changed, &mut is_affected);
        affected
    }

    /// The text of a file that was read for a target, by its real path.
    pub(crate) fn text_of(&self, path: &Path) -> Option<Arc<Source>> {
        self.planning.files.text_of(path)
    }

    /// Everything a target that was built depended on, and which bases it was made of.
    pub fn dependencies(&self, target: &str) -> Option<Arc<Dependencies>> {
        self.targets.lock().expect(HELD).get(target).map(|target| target.dependencies.clone())
    }

    /// The warnings about a target that was planned, built or traced.
    pub fn warnings_of(&self, target: &str) -> Vec<Diagnostic> {
        let found = self.warnings(self.dependencies(target).iter());
        found.into_iter().map(|warning| warning.located(&self.planning.files.sources)).collect()
    }

    /// What runs for a target, planned now if it was not; nothing runs.
    pub fn pipeline(&self, target: &str) -> Result<Pipeline> {
        let schema = Arc::new(Schema::of(self.options.kubernetes));
        self.target(target, &schema).pipeline.clone()
    }

    /// What runs for a target, without running it: the consolidated list of a Composition, or the fields of a
    /// kustomization in the order in which they act; and warnings.
    pub fn outline(&self, target: &str) -> Result<(Vec<Outlined>, Vec<Diagnostic>)> {
        let schema = Arc::new(Schema::of(self.options.kubernetes));
        let dependencies = Arc::new(Dependencies::default());
        let folder = self.open(target, &dependencies)?;
        let plan = Plan::new(&self.planning, schema, &dependencies);
        let outlined = match composition::find(&folder, Span::NONE)? {
            Some(name) => {
                let entries = composition::consolidate(&folder, name, Span::NONE, &plan)?;
                entries.iter().map(|entry| Outlined::new(entry, &folder)).collect()
            }
            None => Outlined::of_kustomization(&Kustomization::load_root(&folder)?),
        };
        Ok((outlined, self.warnings([&dependencies])))
    }

    fn open(&self, target: &str, dependencies: &Arc<Dependencies>) -> Result<Arc<Folder>> {
        let reach = if self.options.unrestricted { Reach::Anywhere } else { Reach::WithinRoot };
        Folder::open(&self.planning.files, target, reach, dependencies)
    }

    /// A target, planned now or before.
    fn target(&self, target: &str, schema: &Arc<Schema>) -> Arc<PlannedTarget> {
        if let Some(known) = self.targets.lock().expect(HELD).get(target) {
            return known.clone();
        }
        let planned = Arc::new(self.plan(target, schema));
        self.targets.lock().expect(HELD).entry(target.to_owned()).or_insert(planned).clone()
    }

    fn plan(&self, target: &str, schema: &Arc<Schema>) -> PlannedTarget {
        let dependencies = Arc::new(Dependencies::default());
        let pipeline = self.steps(target, schema, &dependencies);
        PlannedTarget { pipeline, dependencies, built: OnceLock::new() }
    }

    /// The steps of a target, and those that only come at the root.
    fn steps(
        &self,
        target: &str,
        schema: &Arc<Schema>,
        dependencies: &Arc<Dependencies>,
    ) -> Result<Pipeline> {
        let folder = self.open(target, dependencies)?;
        let mut plan = Plan::sharing(&self.planning, schema.clone(), dependencies);
        match composition::find(&folder, Span::NONE)? {
            Some(name) => plan.compose(&folder, name, &Inherited::default(), Span::NONE)?,
            None => plan.add_target(&folder)?,
        }
        let mut steps = plan.steps;
        steps.extend(root::steps(plan.wishes, plan.config, plan.vars, &self.options)?);
        Ok(Pipeline { steps, schema: plan.schema })
    }

    /// All warnings of some targets and of what they are made of, in the order of the locations they are about: threads find
    /// them in any order.
    fn warnings<'d>(&self, of: impl IntoIterator<Item = &'d Arc<Dependencies>>) -> Vec<Diagnostic> {
        let mut seen = FxHashMap::default();
        let mut warnings = Vec::new();
        for part in of.into_iter().flat_map(Dependencies::all) {
            if seen.insert(Arc::as_ptr(&part), ()).is_none() {
                warnings.extend(part.warnings.lock().expect("no one panics while holding warnings").clone());
            }
        }
        warnings.sort_by_cached_key(|warning: &Diagnostic| {
            let place = warning.place();
            let file = self.planning.files.sources.get(place.file).map(|source| source.name().to_owned());
            (file, place.start, warning.message().to_owned())
        });
        // Two threads that planned the same base at the same time both found them.
        warnings.dedup_by(|a, b| a.place() == b.place() && a.message() == b.message());
        warnings
    }
}
