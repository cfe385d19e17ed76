//! One run: targets in, finished resources out.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use krm_yaml::{Diagnostic, Node, Result, Sources, Span, Text};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::Kustomization;
use super::base::Base;
use super::plan::{LoadedFile, Plan, Scope};
use crate::catalog::{self, Catalog};
use crate::composition::{self, Outlined};
use crate::files::folder::{Files, Folder};
use crate::files::world::World;
use crate::pipeline::{Context, Pipeline, Policy, Role, Step, Transformer};
use crate::resource::Resource;
use crate::resource::list::Resources;
use crate::resource::{Gvk, Origin};
use crate::runtime::Runtime;
use crate::schema::{Kubernetes, Schema};
use crate::select::fields::{FieldSpec, FieldSpecs};
use crate::transformers::build_metadata::BuildMetadata;
use crate::transformers::local_config::LocalConfig;
use crate::transformers::name_reference::NameReference;
use crate::transformers::vars::Vars;
use crate::transformers::{Hash, Labels, SortOrder};

/// The label `managedByLabel` asks for.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// What it says: the release of kustomize whose output this is, byte for byte.
const MANAGER: &str = "kustomize-v5.8.0";

/// What all targets of one command share: files, bases, warnings, and what the user allows.
pub struct Session {
    files: Arc<Files>,
    options: Options,
    runtime: Arc<Runtime>,
    bases: Mutex<Bases>,
    warnings: Mutex<Vec<Diagnostic>>,
    /// The catalogs the user trusts, read when one is first asked.
    catalogs: OnceLock<Result<Vec<Catalog>>>,
}

/// Bases by folder and by what they inherit.
type Bases = FxHashMap<(PathBuf, Scope), Arc<Base>>;

/// How to build.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub policy: Policy,
    /// Files outside a kustomization's folder may be read.
    pub unrestricted: bool,
    /// Resources come out as they were read where the kustomization does not say otherwise.
    pub keep_order: bool,
    /// Every resource is labelled, whatever the kustomization says.
    pub managed_by_label: bool,
    /// The version of Kubernetes whose types patches are merged by.
    pub kubernetes: Kubernetes,
    /// Files of catalogs in which transformers that name no program are looked up.
    pub trusted_catalogs: Vec<String>,
}

impl Session {
    pub fn new(world: Arc<dyn World>, sources: Sources, options: Options) -> Self {
        let files = Files::new(world, sources);
        let runtime = Arc::new(Runtime::new(options.policy.clone()));
        let (bases, warnings, catalogs) = (Mutex::default(), Mutex::default(), OnceLock::new());
        Self { files, options, runtime, bases, warnings, catalogs }
    }

    /// The program a catalog the user trusts names for a kind, as `runtime:` would name it.
    pub(super) fn cataloged(&self, gvk: &Gvk) -> Result<Option<Node>> {
        let (world, sources) = (&*self.files.world, &self.files.sources);
        let load = || {
            let paths = self.options.trusted_catalogs.iter();
            paths.map(|path| Catalog::load(path, world, sources)).collect::<Result<Vec<_>>>()
        };
        let catalogs = self.catalogs.get_or_init(load).as_ref().map_err(Clone::clone)?;
        catalog::find(catalogs, gvk, world)
    }

    /// What runs functions.
    pub(super) fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    /// Builds every target, side by side; what they have in common is built once.
    pub fn build(&self, targets: &[String]) -> Vec<Result<Resources>> {
        let schema = Arc::new(Schema::of(self.options.kubernetes));
        let plans: Vec<Result<Pipeline>> =
            targets.par_iter().map(|target| self.plan(target, &schema)).collect();
        let cx = self.context(&schema);
        let shared: Vec<Arc<Base>> =
            self.bases().drain().map(|(_, base)| base).filter(|b| b.is_shared()).collect();
        let deepest = shared.iter().map(|base| base.planned.level).max().unwrap_or_default();
        for level in 0..=deepest {
            shared
                .par_iter()
                .filter(|base| base.planned.level == level)
                .for_each(|base| base.build_ahead(&cx));
        }
        drop(shared);
        plans
            .into_par_iter()
            .map(|plan| {
                let mut items = Resources::new();
                plan?.transform(&mut items, &cx)?;
                Ok(items)
            })
            .collect()
    }

    /// What runs for a target, without running it: the consolidated list of a Composition, or the fields of a
    /// kustomization in the order in which they act.
    pub fn outline(&self, target: &str) -> Result<Vec<Outlined>> {
        let schema = Arc::new(Schema::of(self.options.kubernetes));
        let folder = Folder::open(&self.files, target, !self.options.unrestricted)?;
        let plan = Plan::new(self, false, schema);
        match composition::find(&folder, Span::NONE)? {
            Some(name) => {
                let entries = composition::consolidate(&folder, name, Span::NONE, &plan)?;
                Ok(entries.iter().map(|entry| Outlined::new(entry, &folder)).collect())
            }
            None => Ok(Outlined::of_kustomization(&Kustomization::load_root(&folder)?)),
        }
    }

    /// The steps of a target, and those that only come at the root.
    fn plan(&self, target: &str, schema: &Arc<Schema>) -> Result<Pipeline> {
        let folder = Folder::open(&self.files, target, !self.options.unrestricted)?;
        let mut plan = Plan::new(self, true, schema.clone());
        match composition::find(&folder, Span::NONE)? {
            Some(name) => plan.compose(&folder, name, &Scope::default(), Span::NONE)?,
            None => self.plan_kustomization(&folder, &mut plan)?,
        }
        let wishes = plan.wishes;
        let asks = |option: &str| wishes.build_metadata.iter().any(|wanted| *wanted.value == *option);
        let mut steps = plan.steps;
        let mut last = |transformer: Box<dyn Transformer>| {
            steps.push(Step { role: Role::Transform, transformer, origin: None, place: Span::NONE });
        };
        last(Box::new(Hash));
        last(Box::new(NameReference::new(plan.config.name_reference)));
        if !plan.vars.is_empty() {
            last(Box::new(Vars::new(plan.vars, plan.config.var_reference)));
        }
        last(Box::new(LocalConfig));
        match wishes.sort_options {
            Some(options) => last(Box::new(SortOrder::new(options)?)),
            None if self.options.keep_order || wishes.is_in_order => {}
            None => last(Box::new(SortOrder::legacy())),
        }
        if self.options.managed_by_label || asks("managedByLabel") {
            let label = [(MANAGED_BY.into(), Text::from(MANAGER).into())].into_iter().collect();
            let fields = FieldSpecs::from_iter([FieldSpec::created("metadata/labels")]);
            last(Box::new(Labels::new(label, fields)));
        }
        last(Box::new(BuildMetadata {
            origin: asks("originAnnotations"),
            transformations: asks("transformerAnnotations"),
        }));
        Ok(Pipeline { steps, schema: plan.schema })
    }

    fn plan_kustomization(&self, folder: &Arc<Folder>, plan: &mut Plan) -> Result<()> {
        let file = LoadedFile::read(self, folder, Span::NONE)?;
        let origin = (!file.kustomization.build_metadata.is_empty()).then(Origin::default);
        plan.add(folder, &file, &Scope { origin, ..Scope::default() })?;
        plan.wishes.take(&file.kustomization);
        Ok(())
    }

    pub(super) fn context<'a>(&'a self, schema: &'a Schema) -> Context<'a> {
        Context {
            world: &*self.files.world,
            schema,
            sources: &self.files.sources,
            runtime: &self.runtime,
            warnings: &self.warnings,
        }
    }

    pub(super) fn bases(&self) -> MutexGuard<'_, Bases> {
        self.bases.lock().expect("no one panics while holding the bases")
    }

    pub(super) fn warn(&self, warnings: Vec<Diagnostic>) {
        self.warnings.lock().expect("no one panics while holding the warnings").extend(warnings);
    }

    /// The warnings so far, in the order of the places they speak of: threads find them in any order.
    pub fn take_warnings(&self) -> Vec<Diagnostic> {
        let mut warnings =
            std::mem::take(&mut *self.warnings.lock().expect("no one panics while holding the warnings"));
        warnings.sort_by_cached_key(|warning| {
            let place = warning.place();
            let file = self.files.sources.get(place.file).map(|source| source.name().to_owned());
            (file, place.start, warning.message().to_owned())
        });
        // Two threads that planned the same base at the same time both found them.
        warnings.dedup_by(|a, b| a.place() == b.place() && a.message() == b.message());
        warnings
    }
}

/// Finished resources as text, one document each: the pieces of it, to be written one after the other. What JSON cannot
/// say, such as an infinity, is an error.
pub fn emit<'r>(built: impl IntoIterator<Item = &'r Resources>) -> Result<Vec<String>> {
    // Long enough that handing out the work costs nothing, short enough that all threads get some.
    const CHUNK: usize = 64;
    let all: Vec<&Resource> = built.into_iter().flatten().collect();
    let pieces = |(number, chunk): (usize, &[&Resource])| {
        let mut pieces = vec![String::with_capacity(PIECE)];
        for (at, r) in chunk.iter().enumerate() {
            let text = pieces.last_mut().expect("there is one from the beginning");
            if number + at > 0 {
                text.push_str("---\n");
            }
            krm_yaml::try_canonical_into(r.node(), text)?;
            if text.len() > PIECE - PIECE / 8 {
                pieces.push(String::with_capacity(PIECE));
            }
        }
        Ok(pieces)
    };
    let pieces: Vec<Vec<String>> = all.par_chunks(CHUNK).enumerate().map(pieces).collect::<Result<_>>()?;
    Ok(pieces.into_iter().flatten().collect())
}

/// About so long a piece of the output may get: one that grows further is copied over and over.
const PIECE: usize = 32 << 10;
