//! What targets are built from, without building them: which files decide the result, and which targets a change reaches.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Diagnostic, Failure, Sources};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::files::dependencies::{Dependencies, Found};
use crate::files::world::{Offline, World};
use crate::runtime::Runtime;
use crate::runtime::policy::Policy;
use crate::session::{BuildOptions, Session};
use crate::workspace::{Layer, ReferenceTarget, Workspace};

/// What some targets are built from.
///
/// Everything that planning a build looks at counts, found or not, and everything that the files of its layers name. Nothing
/// is built, started or fetched, so a function, a chart or a remote base is known by the entry that names it; a base of
/// which a copy is kept, by its files too.
pub struct Inputs<'w> {
    workspace: &'w Workspace,
    targets: Vec<Planned<'w>>,
}

struct Planned<'w> {
    name: String,
    layer: Option<&'w Layer>,
    dependencies: Option<Arc<Dependencies>>,
    failure: Option<Diagnostic>,
}

/// How inputs are found.
#[derive(Clone, Debug, Default)]
pub struct InputsOptions {
    /// Files of catalogs in which transformers that name no program are looked up.
    pub trusted_catalogs: Vec<String>,
}

/// A target that a change reaches.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reached {
    /// The folder, as it was given.
    pub target: String,
    /// The changed files it is built from; empty if it counts only because it cannot be planned.
    pub files: Vec<PathBuf>,
    /// Why its inputs are not fully known: it counts as reached by any change.
    pub failure: Option<Diagnostic>,
}

impl<'w> Inputs<'w> {
    /// Plans targets: folders, as a build would be given them.
    pub fn of(
        world: Arc<dyn World>,
        sources: &Sources,
        workspace: &'w Workspace,
        targets: &[String],
        options: InputsOptions,
    ) -> Self {
        let (runtime, _) = Runtime::skipping(Policy::default());
        let build = BuildOptions {
            // What a build would refuse still counts.
            unrestricted: true,
            trusted_catalogs: options.trusted_catalogs,
            ..BuildOptions::default()
        };
        let folder = |target: &String| world.real_path(Path::new(target)).ok();
        let folders: Vec<Option<PathBuf>> = targets.iter().map(folder).collect();
        let offline = Arc::new(Offline(world.clone()));
        let session = Session::with_runtime(offline, sources.clone(), build, Arc::new(runtime));
        let plan = |(name, folder): (&String, &Option<PathBuf>)| {
            let planned = session.pipeline(name);
            let layer = folder.as_ref().and_then(|folder| workspace.layer(folder));
            let failure = planned.err().filter(|error| !is_only_remote(error));
            let failure = failure.map(|error| error.located(sources));
            Planned { name: name.clone(), layer, dependencies: session.dependencies(name), failure }
        };
        let targets = targets.par_iter().zip(&folders).map(plan).collect();
        Self { workspace, targets }
    }

    /// The targets that a change to these files reaches, in the order they were given. Paths are real ones as far as the
    /// files are there.
    pub fn reached(&self, changed: &[PathBuf]) -> Vec<Reached> {
        let by_name = self.workspace.reached_from(changed);
        let locked = changed.iter().any(|path| is_lock(path));
        let mut known = FxHashMap::default();
        let mut reached = Vec::new();
        for target in &self.targets {
            let named = target.layer.is_some_and(|layer| by_name.contains(&*layer.folder));
            let planned = target.dependencies.as_ref();
            let is_reached = named || planned.is_some_and(|planned| planned.affected_by(changed, &mut known));
            // A change to nothing reaches nothing, not even what is broken.
            let fails = target.failure.is_some() && !changed.is_empty();
            if is_reached || fails || (locked && self.has_remotes(target)) {
                let (name, failure) = (target.name.clone(), target.failure.clone());
                reached.push(Reached { target: name, files: Vec::new(), failure });
            }
        }
        reached
    }

    /// The same, with the files that reach each target.
    pub fn reached_by(&self, changed: &[PathBuf]) -> Vec<Reached> {
        let mut reached = self.reached(changed);
        for file in changed {
            let one = std::slice::from_ref(file);
            let by_name = self.workspace.reached_from(one);
            let mut known = FxHashMap::default();
            for reached in &mut reached {
                let Some(target) = self.targets.iter().find(|target| target.name == reached.target) else {
                    continue;
                };
                let named = target.layer.is_some_and(|layer| by_name.contains(&*layer.folder));
                let planned = target.dependencies.as_ref();
                let locked = is_lock(file) && self.has_remotes(target);
                if named || locked || planned.is_some_and(|planned| planned.affected_by(one, &mut known)) {
                    reached.files.push(file.clone());
                }
            }
        }
        reached
    }

    /// Whether any of it is fetched: then the lock file decides what.
    fn has_remotes(&self, target: &Planned) -> bool {
        let layers = target.layer.iter().flat_map(|layer| self.workspace.closure(layer));
        let mut named = layers.flat_map(|layer| &layer.references);
        named.any(|reference| matches!(reference.target, ReferenceTarget::Remote(_)))
    }

    /// Why a target cannot be planned.
    pub fn failure(&self, at: usize) -> Option<&Diagnostic> {
        self.targets.get(at)?.failure.as_ref()
    }

    /// Every file a target is built from and every folder it uses as a whole, by their real paths.
    pub fn files(&self, at: usize, world: &dyn World) -> BTreeSet<PathBuf> {
        let Some(target) = self.targets.get(at) else { return BTreeSet::new() };
        let mut files = BTreeSet::new();
        for layer in target.layer.iter().flat_map(|layer| self.workspace.closure(layer)) {
            files.insert(layer.file.clone());
            files.extend(layer.references.iter().filter_map(|reference| match &reference.target {
                ReferenceTarget::File(path) | ReferenceTarget::Folder(path) => Some(path.clone()),
                _ => None,
            }));
        }
        for part in target.dependencies.iter().flat_map(|planned| planned.all()) {
            let found = part.paths().into_iter().filter(|(_, found)| *found == Found::Something);
            files
                .extend(found.map(|(path, _)| path).filter(|path| path.is_absolute() && world.is_file(path)));
        }
        // A link and what it leads to are two names of one file; the real one is what version control sees change, and the
        // link as well.
        files
    }

    /// The folders of the layers a target is built from.
    pub fn folders(&self, at: usize) -> BTreeSet<PathBuf> {
        let layer = self.targets.get(at).and_then(|target| target.layer);
        layer
            .iter()
            .flat_map(|layer| self.workspace.closure(layer))
            .map(|layer| layer.folder.clone())
            .collect()
    }
}

/// Whether a file says which commit of a remote base is taken.
fn is_lock(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "krm.lock")
}

/// Whether planning stopped only because nothing is fetched here: everything that the files name is known even so.
fn is_only_remote(error: &Diagnostic) -> bool {
    let is_remote = matches!(error.failure(), Some(Failure::Offline | Failure::NoVariable));
    is_remote && error.others().iter().all(is_only_remote)
}
