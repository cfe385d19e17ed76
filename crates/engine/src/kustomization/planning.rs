//! What all plans share: files, bases that are planned, programs, and catalogs.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use krm_yaml::{Node, Result};
use rustc_hash::FxHashMap;

use super::plan::Inherited;
use crate::catalog::{self, Catalog};
use crate::files::dependencies::{Dependencies, Watched};
use crate::files::texts::Files;
use crate::pipeline::{Base, Context};
use crate::resource::Gvk;
use crate::runtime::Runtime;
use crate::schema::Schema;
use crate::transformers::TransformerConfig;
use crate::transformers::vars::VarSet;

/// What all plans of a session share.
pub(crate) struct Planning {
    pub files: Arc<Files>,
    pub runtime: Arc<Runtime>,
    /// Files of catalogs in which transformers that name no program are looked up.
    pub trusted_catalogs: Vec<String>,
    pub reuse: Reuse,
    bases: Mutex<Bases>,
    /// The catalogs the user trusts, read when one is first asked.
    catalogs: Mutex<Option<Catalogs>>,
}

/// Whether what was read and planned will be used again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// It is kept, and runs work on copies.
    #[default]
    Again,
    /// The next run is the only one: what it edits need not be copied first.
    Never,
}

/// Bases by folder and by what they inherit.
type Bases = FxHashMap<(PathBuf, Inherited), Arc<Planned>>;

#[derive(Clone)]
struct Catalogs {
    read: Result<Arc<Vec<Catalog>>>,
    dependencies: Arc<Dependencies>,
}

/// A base as those who use it see it: what it gives, and the rules it hands up.
pub(crate) struct Planned {
    pub base: Arc<Base>,
    pub config: TransformerConfig,
    pub vars: VarSet,
    /// The schema it decided on for all those that come after it.
    pub schema_chosen: Option<Arc<Schema>>,
    /// It has resources whose kind the built-in schema does not know.
    pub strangers: bool,
    /// Every folder it is made of, to find cycles when it is used again.
    pub folders: Vec<PathBuf>,
    /// A helm chart in it takes the namespace of the kustomization that includes it.
    pub by_namespace: bool,
}

const HELD: &str = "no one panics while holding what plans share";

impl Planning {
    pub(crate) fn new(files: Arc<Files>, runtime: Arc<Runtime>, trusted_catalogs: Vec<String>) -> Self {
        let (bases, catalogs) = (Mutex::default(), Mutex::default());
        Self { files, runtime, trusted_catalogs, reuse: Reuse::default(), bases, catalogs }
    }

    /// The first of these bases that is planned and matches.
    pub(super) fn known(
        &self,
        keys: &[(PathBuf, Inherited)],
        fits: impl Fn(&Planned, &Inherited) -> bool,
    ) -> Option<Arc<Planned>> {
        let bases = self.bases.lock().expect(HELD);
        keys.iter().find_map(|key| bases.get(key).filter(|base| fits(base, &key.1)).cloned())
    }

    /// Keeps a base for others to use. If another thread planned it meanwhile, its plan counts.
    pub(super) fn keep(&self, key: (PathBuf, Inherited), planned: Arc<Planned>) -> Arc<Planned> {
        self.bases.lock().expect(HELD).entry(key).or_insert(planned).clone()
    }

    /// Every base that is planned.
    pub(crate) fn bases(&self) -> Vec<Arc<Base>> {
        self.bases.lock().expect(HELD).values().map(|planned| planned.base.clone()).collect()
    }

    /// Forgets bases, and whatever else was made of files that changed.
    pub(crate) fn forget(
        &self,
        changed: &[PathBuf],
        is_affected: &mut dyn FnMut(&Arc<Dependencies>) -> bool,
    ) {
        self.bases.lock().expect(HELD).retain(|_, planned| !is_affected(&planned.base.dependencies));
        let mut catalogs = self.catalogs.lock().expect(HELD);
        if catalogs.as_ref().is_some_and(|catalogs| is_affected(&catalogs.dependencies)) {
            *catalogs = None;
        }
        self.files.forget(changed);
    }

    /// Lets go of all bases: from here on they belong to the steps that use them.
    pub(crate) fn release(&self) {
        self.bases.lock().expect(HELD).clear();
    }

    /// The program a catalog the user trusts names for a kind, as `runtime:` would name it.
    pub(super) fn cataloged(&self, gvk: &Gvk, dependencies: &Dependencies) -> Result<Option<Node>> {
        if self.trusted_catalogs.is_empty() {
            return Ok(None);
        }
        let Catalogs { read, dependencies: theirs } = self.catalogs();
        dependencies.add(theirs);
        catalog::find(&read?, gvk, &Watched { world: &*self.files.world, dependencies })
    }

    fn catalogs(&self) -> Catalogs {
        let mut known = self.catalogs.lock().expect(HELD);
        let load = || {
            let dependencies = Arc::new(Dependencies::default());
            let world = Watched { world: &*self.files.world, dependencies: &dependencies };
            let paths = self.trusted_catalogs.iter();
            let read = paths.map(|path| Catalog::load(path, &world, &self.files.sources));
            Catalogs { read: read.collect::<Result<Vec<_>>>().map(Arc::new), dependencies }
        };
        known.get_or_insert_with(load).clone()
    }

    /// What steps may ask for.
    pub(crate) fn context<'a>(&'a self, schema: &'a Schema, dependencies: &'a Dependencies) -> Context<'a> {
        Context {
            world: &*self.files.world,
            schema,
            sources: &self.files.sources,
            runtime: &self.runtime,
            warnings: &dependencies.warnings,
            trace: None,
            observer: None,
        }
    }
}
