//! From kustomization to pipeline: what runs, and in what order.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use krm_yaml::{Diagnostic, Node, Result, Source, Span, Spanned, Text};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::base::{Base, Planned, Use};
use super::build::Session;
use super::origin::{append, by_builtin};
use super::{BUILD_METADATA, Kustomization};
use crate::composition;
use crate::files::folder::{DEEPEST, Entry, Folder, more_than_anyone_reads, too_deep};
use crate::files::world::Loader;
use crate::pipeline::{Context, Pipeline, Role, Step, Transformer};
use crate::resource::list::Resources;
use crate::resource::read;
use crate::resource::{Gvk, Origin, Resource};
use crate::schema::Schema;
use crate::transformers::replacement::Replacements;
use crate::transformers::vars::{MarkVars, VarSet};
use crate::transformers::{
    Annotations, ConfigMapGenerator, HelmCharts, ImageTag, Labels, Namespace, Patch, PatchJson6902,
    PatchStrategicMerge, Prefix, ReplicaCount, SecretGenerator, SortOptions, Suffix, TransformerConfig,
};

/// The OpenAPI schema that is built in.
const BUILTIN_SCHEMA: &str = "v1.21.2";

/// What is known on the way down: what a kustomization inherits from those that lead to it.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Scope {
    /// Where we are, as the root sees it; `None` where `buildMetadata` asks for nothing.
    pub origin: Option<Origin>,
    /// The namespace helm charts get where they name none.
    pub helm_namespace: Text,
}

/// What is done once for the whole target, at its end.
#[derive(Default)]
pub struct Wishes {
    pub sort_options: Option<SortOptions>,
    pub build_metadata: Vec<Spanned<Text>>,
    /// A step has put the resources in order; they are to stay so.
    pub is_in_order: bool,
}

impl Wishes {
    /// Notes what a kustomization wishes.
    pub fn take(&mut self, kustomization: &Kustomization) {
        if kustomization.sort_options.is_some() {
            self.sort_options = kustomization.sort_options.clone();
        }
        self.build_metadata.extend(kustomization.build_metadata.iter().cloned());
    }
}

/// How many bases and components a kustomization may be made of, each counted as often as it is used.
const MOST_FOLDERS: usize = 100_000;

/// What is gathered: steps, and the rules and variables that are handed up.
pub struct Plan<'s> {
    pub session: &'s Session,
    /// Bases go into the session's memory, for others to use.
    shares: bool,
    pub steps: Vec<Step>,
    pub config: TransformerConfig,
    pub vars: VarSet,
    pub schema: Arc<Schema>,
    /// A kustomization has said which schema to use: the first one that does decides.
    schema_chosen: bool,
    /// A resource came by whose kind the built-in schema does not know.
    strangers: bool,
    pub(super) folders: Vec<PathBuf>,
    level: usize,
    pub wishes: Wishes,
    /// A helm chart takes the namespace of whoever includes it.
    by_namespace: bool,
}

impl<'s> Plan<'s> {
    pub fn new(session: &'s Session, shares: bool, schema: Arc<Schema>) -> Self {
        Self {
            session,
            shares,
            steps: Vec::new(),
            config: TransformerConfig::default(),
            vars: VarSet::default(),
            schema,
            schema_chosen: false,
            strangers: false,
            folders: Vec::new(),
            level: 0,
            wishes: Wishes::default(),
            by_namespace: false,
        }
    }

    /// Adds all steps of a kustomization. Of a component too: its directives simply join those of its parent.
    pub fn add(&mut self, folder: &Arc<Folder>, file: &LoadedFile, scope: &Scope) -> Result<()> {
        self.folders.push(folder.root().to_owned());
        let k = &file.kustomization;
        self.choose_schema(folder, k)?;
        let here = Here { folder, file, scope };
        let below = Scope { helm_namespace: here.helm_namespace(), ..scope.clone() };
        self.load(folder, &k.resources, &below)?;
        // In this order, and not all into one: a spec for every kind gives way to those for some that are there before it.
        let mut config = TransformerConfig::builtin();
        config.merge(&TransformerConfig::load(&**folder, &k.configurations)?)?;
        self.config.merge(&config)?;
        self.config.merge(&TransformerConfig::from_crds(&**folder, &k.crds)?)?;
        self.generate(&here)?;
        for component in &k.components {
            self.component(&here, component)?;
        }
        self.transform(&here)?;
        self.external(&here, Role::Validate, &k.validators)?;
        if !k.vars.is_empty() {
            self.vars.extend(k.vars.clone())?;
            self.steps.push(Step::new(Role::Transform, MarkVars(k.vars.clone())));
        }
        Ok(())
    }

    /// `openapi:`, a file or the version that is built in.
    fn choose_schema(&mut self, folder: &Folder, k: &Kustomization) -> Result<()> {
        let schema = match (k.openapi.get("path"), k.openapi.get("version")) {
            (None, None) => return Ok(()),
            (Some(_), Some(version)) => {
                let message = "`openapi` can have a `path` or a `version`, not both";
                return Err(Diagnostic::error("openapi-both", message).at(version.span()));
            }
            (None, Some(version)) if *version.value != *BUILTIN_SCHEMA => {
                let message = format!("there is no OpenAPI schema `{version}`");
                return Err(Diagnostic::error("openapi-version", message).at(version.span()).help(format!(
                    "the one that is built in is `{BUILTIN_SCHEMA}`; any other can be given as `path:`"
                )));
            }
            (None, Some(_)) => self.schema.clone(),
            (Some(path), None) => {
                let source = folder.load(path, path.span())?;
                let document = krm_yaml::parse(&source)?.into_iter().next();
                let document = document.map_or_else(Node::null, |document| document.root);
                // Where the reference already had to look for a kind it does not know, it later has both schemas.
                let read = match self.strangers {
                    true => Schema::from_openapi_beside_builtin,
                    false => Schema::from_openapi,
                };
                Arc::new(read(&document).map_err(|d| d.at(path.span()))?)
            }
        };
        if !self.schema_chosen {
            self.schema_chosen = true;
            self.schema = schema;
        }
        Ok(())
    }

    /// `resources:`, each a file or a base.
    pub fn load(&mut self, folder: &Arc<Folder>, paths: &[Spanned<Text>], scope: &Scope) -> Result<()> {
        let schema = self.schema.clone();
        paths.iter().for_each(|path| self.warn_of_prefix(path));
        // Side by side: reading and parsing take time, and fetching takes more.
        let look = |path: &Spanned<Text>| {
            if path.trim().is_empty() {
                return Err(Diagnostic::error(
                    "resource-entry-empty",
                    "this entry of a list of resources is empty",
                )
                .help("name a file or a folder here, or remove the entry"));
            }
            let folder = folder.elsewhere(path.span()).unwrap_or(folder);
            folder.look(path, || read_resources(&**folder, path, &schema))
        };
        let found: Vec<_> = paths.par_iter().map(look).collect();
        let mut errors = Vec::new();
        for (path, found) in paths.iter().zip(found) {
            let step = match found {
                Ok(Entry::File(mut resources)) => {
                    let kinds: FxHashSet<&Gvk> = resources.iter().map(Resource::gvk).collect();
                    self.strangers |= kinds.into_iter().any(|gvk| schema.scope(gvk).is_none());
                    if let Some(origin) = &scope.origin {
                        let origin = append(origin, path);
                        resources.iter_mut().for_each(|r| r.origin = Some(Box::new(origin.clone())));
                    }
                    Ok(Step::load(Written(Mutex::new(resources)), path.span()))
                }
                Ok(Entry::Folder) => self.base(folder, path, scope).map(|base| Step::load(base, path.span())),
                Err(error) => Err(error.at(path.span())),
            };
            match step {
                Ok(step) => self.steps.push(step),
                Err(error) => errors.push(error),
            }
            if more_than_anyone_reads(&errors) {
                break;
            }
        }
        Diagnostic::join(errors).map_or(Ok(()), Err)
    }

    /// `git::` is a habit from elsewhere, and means nothing here.
    fn warn_of_prefix(&self, path: &Spanned<Text>) {
        if path.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("git::")) {
            let warning =
                Diagnostic::warning("git-prefix", "the prefix `git::` means nothing, and is passed over");
            self.session.warn(vec![warning.at(path.span()).help(format!("write `{}`", &path[5..]))]);
        }
    }

    /// A base: planned anew, or taken from memory.
    fn base(&mut self, folder: &Arc<Folder>, path: &Spanned<Text>, scope: &Scope) -> Result<Use> {
        let place = path.span();
        let folder = folder.base(path, place)?;
        let scope =
            Scope { origin: scope.origin.as_ref().map(|origin| append(origin, path)), ..scope.clone() };
        // Where no chart asks for the namespace of whoever includes it, all may share.
        let any = Scope { helm_namespace: Text::new(), ..scope.clone() };
        let keys = [any, scope.clone()].map(|scope| (folder.root().to_owned(), scope));
        let known = || {
            let bases = self.session.bases();
            let fits = |key: &&(PathBuf, Scope)| {
                bases.get(*key).is_some_and(|base| !base.planned.by_namespace || key.1 == scope)
            };
            keys.iter().find(fits).map(|key| bases[key].clone())
        };
        // What a schema changes cannot be shared with those that have another.
        let shares = self.shares && !self.schema_chosen;
        let base = match shares.then(known).flatten() {
            Some(base) => {
                base.planned
                    .folders
                    .iter()
                    .try_for_each(|inside| folder.refuse_cycle_above(inside, place))?;
                base
            }
            None => {
                let base = self.plan_base(&folder, &scope, place).map_err(|d| d.included(place))?;
                match shares {
                    // Where another thread planned it meanwhile, its plan counts.
                    true => {
                        let [any, exact] = keys;
                        let key = if base.planned.by_namespace { exact } else { any };
                        self.session.bases().entry(key).or_insert(base).clone()
                    }
                    false => base,
                }
            }
        };
        self.strangers |= base.planned.strangers;
        if let Some(schema) = base.planned.schema_chosen.as_ref().filter(|_| !self.schema_chosen) {
            self.schema_chosen = true;
            self.schema = schema.clone();
        }
        self.level = self.level.max(base.planned.level + 1);
        // One that was planned before was reached by another, shorter way.
        if self.level > DEEPEST {
            return Err(too_deep(place));
        }
        self.by_namespace |= base.planned.by_namespace;
        self.folders.extend(base.planned.folders.iter().cloned());
        self.refuse_too_many(place)?;
        self.config.merge(&base.planned.config)?;
        self.vars.merge(base.planned.vars.clone())?;

        Ok(Use::new(base, place))
    }

    fn plan_base(&self, folder: &Arc<Folder>, scope: &Scope, place: Span) -> Result<Arc<Base>> {
        if let Some(name) = composition::find(folder, place)? {
            let mut plan = Plan::new(self.session, self.shares, self.schema.clone());
            plan.compose(folder, name, scope, place)?;
            return Ok(plan.into_base(None));
        }
        let file = LoadedFile::read(self.session, folder, place)?;
        if file.kustomization.is_component() {
            let message = format!("`{}` is a component, not a base", folder.shown().display());
            return Err(Diagnostic::error("component-as-resource", message)
                .at(place)
                .help("list it under `components:`"));
        }
        let mut plan = Plan::new(self.session, self.shares, self.schema.clone());
        plan.schema_chosen = self.schema_chosen;
        plan.strangers = self.strangers;
        plan.add(folder, &file, scope)?;
        let schema_chosen = (plan.schema_chosen && !self.schema_chosen).then(|| plan.schema.clone());
        Ok(plan.into_base(schema_chosen))
    }

    fn into_base(self, schema_chosen: Option<Arc<Schema>>) -> Arc<Base> {
        Base::new(Planned {
            pipeline: Pipeline { steps: self.steps, schema: self.schema },
            config: self.config,
            vars: self.vars,
            schema_chosen,
            strangers: self.strangers,
            folders: self.folders,
            level: self.level,
            by_namespace: self.by_namespace,
        })
    }

    /// `components:`, each a folder whose steps join ours.
    fn component(&mut self, here: &Here, path: &Spanned<Text>) -> Result<()> {
        let place = path.span();
        self.warn_of_prefix(path);
        let folder = here.folder.base(path, place)?;
        let file = LoadedFile::read(self.session, &folder, place).map_err(|d| d.included(place))?;
        if !file.kustomization.is_component() {
            let message = format!("`{}` is a kustomization, not a component", folder.shown().display());
            return Err(Diagnostic::error("resource-as-component", message)
                .at(place)
                .help("list it under `resources:`, or give it `kind: Component`"));
        }
        self.refuse_too_many(place)?;
        let scope = here.scope_below(path);
        self.add(&folder, &file, &scope).map_err(|d| d.included(place))?;
        self.steps.push(Step::new(Role::Transform, Unique));
        // The reference takes all rules over anew after a component, and a spec for every kind may get lost by that.
        let config = std::mem::take(&mut self.config);
        self.config.merge(&config)
    }

    /// Bases that share bases that share bases may come to more than there are atoms.
    fn refuse_too_many(&self, place: Span) -> Result<()> {
        if self.folders.len() <= MOST_FOLDERS {
            return Ok(());
        }
        let message = format!("bases and components come to more than {MOST_FOLDERS} here");
        Err(Diagnostic::error("bases-too-many", message)
            .at(place)
            .help("a folder that is reached in several ways counts as often: name it once"))
    }

    /// The generators, built-in ones first, in the reference's order.
    fn generate(&mut self, here: &Here) -> Result<()> {
        let k = &here.file.kustomization;
        let loader: Arc<dyn Loader> = here.folder.clone();
        for args in &k.config_map_generator {
            let generator = ConfigMapGenerator::new(args.clone(), &k.generator_options, loader.clone())?;
            self.builtin(here, Role::Generate, "ConfigMapGenerator", generator);
        }
        for args in &k.secret_generator {
            let generator = SecretGenerator::new(args.clone(), &k.generator_options, loader.clone());
            self.builtin(here, Role::Generate, "SecretGenerator", generator);
        }
        if !k.helm_charts.is_empty() {
            let mut charts = k.helm_charts.clone();
            for chart in charts.iter_mut().filter(|chart| chart.namespace.is_empty()) {
                chart.namespace = here.helm_namespace();
                self.by_namespace |= k.namespace.is_empty();
            }
            let globals = k.helm_globals.clone().unwrap_or_default();
            let charts = HelmCharts::new(charts, globals, loader.clone())?;
            self.builtin(here, Role::Generate, "HelmChartInflationGenerator", charts);
        }
        self.external(here, Role::Generate, &k.generators)
    }

    /// The transformers, built-in ones first, in the reference's order: that of the fields in the file does not matter.
    fn transform(&mut self, here: &Here) -> Result<()> {
        let k = &here.file.kustomization;
        let config = self.config.clone();
        if !k.patches_strategic_merge.is_empty() {
            let patches = PatchStrategicMerge::new(&k.patches_strategic_merge, &**here.folder)?;
            self.builtin(here, Role::Transform, "PatchStrategicMergeTransformer", patches);
        }
        if !k.patches.is_empty() {
            let read = |entry: &Spanned<_>| Patch::new(&entry.value, entry.span, &**here.folder);
            let patches: Vec<Patch> = all(k.patches.par_iter().map(read).collect())?;
            match here.scope.origin {
                None => self.builtin(here, Role::Transform, "PatchTransformer", patches),
                // What each of them leaves on the resources, the next one finds there.
                Some(_) => patches
                    .into_iter()
                    .for_each(|patch| self.builtin(here, Role::Transform, "PatchTransformer", patch)),
            }
        }
        if !k.namespace.is_empty() {
            let namespace = Namespace::new(k.namespace.clone(), config.namespace.clone());
            self.builtin(here, Role::Transform, "NamespaceTransformer", namespace);
        }
        if !k.name_prefix.is_empty() {
            let prefix = Prefix::new(k.name_prefix.clone(), config.name_prefix.clone());
            self.builtin(here, Role::Transform, "PrefixTransformer", prefix);
        }
        if !k.name_suffix.is_empty() {
            let suffix = Suffix::new(k.name_suffix.clone(), config.name_suffix.clone());
            self.builtin(here, Role::Transform, "SuffixTransformer", suffix);
        }
        for labels in Labels::plan(k.labels.clone(), k.common_labels.clone(), &config)? {
            self.builtin(here, Role::Transform, "LabelTransformer", labels);
        }
        if !k.common_annotations.is_empty() {
            let annotations =
                Annotations::new(k.common_annotations.clone(), config.common_annotations.clone());
            self.builtin(here, Role::Transform, "AnnotationsTransformer", annotations);
        }
        if !k.patches_json6902.is_empty() {
            let read = |entry: &Spanned<_>| PatchJson6902::new(&entry.value, entry.span, &**here.folder);
            let patches: Vec<PatchJson6902> = all(k.patches_json6902.iter().map(read).collect())?;
            for patch in patches {
                self.builtin(here, Role::Transform, "PatchJson6902Transformer", patch);
            }
        }
        if !k.replicas.is_empty() {
            let replicas = ReplicaCount::new(k.replicas.clone(), config.replicas.clone());
            self.builtins(here, "ReplicaCountTransformer", replicas, k.replicas.len());
        }
        if !k.images.is_empty() {
            let images = ImageTag::new(k.images.clone(), config.images.clone());
            self.builtins(here, "ImageTagTransformer", images, k.images.len());
        }
        if !k.replacements.is_empty() {
            let replacements = Replacements::new(k.replacements.clone(), &**here.folder)?;
            self.builtin(here, Role::Transform, "ReplacementTransformer", replacements);
        }
        self.external(here, Role::Transform, &k.transformers)
    }

    /// A built-in that a field of the kustomization asks for.
    fn builtin(&mut self, here: &Here, role: Role, kind: &str, transformer: impl Transformer + 'static) {
        let origin = here.scope.origin.as_ref().map(|origin| by_builtin(origin, here.file.name(), kind));
        self.steps.push(Step { origin, ..Step::new(role, transformer) });
    }

    /// A built-in that stands for several of the reference's, which shows in transformer annotations.
    fn builtins(&mut self, here: &Here, kind: &str, transformer: impl Transformer + 'static, count: usize) {
        self.builtin(here, Role::Transform, kind, transformer);
        if here.scope.origin.is_some() {
            (1..count).for_each(|_| self.builtin(here, Role::Transform, kind, Nothing));
        }
    }
}

/// A kustomization and the file it stands in.
pub struct LoadedFile {
    pub kustomization: Kustomization,
    pub source: Arc<Source>,
}

impl LoadedFile {
    pub fn read(session: &Session, folder: &Folder, place: Span) -> Result<Self> {
        let (kustomization, source, warnings) = Kustomization::load(folder, place)?;
        session.warn(warnings);
        session.warn(unknown_build_metadata(&kustomization));
        Ok(Self { kustomization, source })
    }

    /// A kustomization that stands within a Composition.
    pub fn within(kustomization: Kustomization, folder: &Folder, place: Span) -> Self {
        let source = folder.files().sources.get(place.file);
        Self { kustomization, source: source.unwrap_or_else(|| Source::detached("composition.yaml", "")) }
    }

    /// The file's name, without its folder.
    pub fn name(&self) -> &str {
        self.source.name().rsplit('/').next().unwrap_or_default()
    }
}

fn unknown_build_metadata(k: &Kustomization) -> Vec<Diagnostic> {
    let unknown = k.build_metadata.iter().filter(|option| !BUILD_METADATA.contains(&option.as_str()));
    let warning = |option: &Spanned<Text>| {
        let message = format!("unknown value `{option}` in `buildMetadata`");
        let help = format!("possible values are `{}`", BUILD_METADATA.join("`, `"));
        Diagnostic::warning("build-metadata-unknown", message).at(option.span()).help(help)
    };
    unknown.map(warning).collect()
}

/// All of them, or all that is wrong with them.
fn all<T>(results: Vec<Result<T>>) -> Result<Vec<T>> {
    let (good, errors): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    match Diagnostic::join(errors.into_iter().filter_map(Result::err)) {
        None => Ok(good.into_iter().filter_map(Result::ok).collect()),
        Some(errors) => Err(errors),
    }
}

/// The kustomization a step comes from.
pub struct Here<'a> {
    pub folder: &'a Arc<Folder>,
    pub file: &'a LoadedFile,
    pub scope: &'a Scope,
}

impl Here<'_> {
    fn scope_below(&self, path: &str) -> Scope {
        Scope {
            origin: self.scope.origin.as_ref().map(|origin| append(origin, path)),
            helm_namespace: self.helm_namespace(),
        }
    }

    /// The namespace of helm charts that name none, here and below.
    fn helm_namespace(&self) -> Text {
        let namespace = &self.file.kustomization.namespace;
        if namespace.is_empty() { self.scope.helm_namespace.clone() } else { namespace.value.clone() }
    }
}

/// Reads a file of resources.
pub fn read_resources(loader: &dyn Loader, path: &Spanned<Text>, schema: &Schema) -> Result<Vec<Resource>> {
    let place = path.span();
    let source = loader.load(path, place)?;
    let named_here = |d: Diagnostic| d.included(place);
    read::read(&source, schema).map_err(named_here)
}

/// Resources as they stood in a file. They are given away, not copied: a plan runs once.
struct Written(Mutex<Vec<Resource>>);

impl Transformer for Written {
    fn transform(&self, items: &mut Resources, _cx: &Context) -> Result<()> {
        let resources = std::mem::take(&mut *self.0.lock().expect("no one panics while holding resources"));
        items.append(Resources::from_vec(resources))
    }
}

/// Does nothing, but was there.
struct Nothing;

impl Transformer for Nothing {
    fn transform(&self, _items: &mut Resources, _cx: &Context) -> Result<()> {
        Ok(())
    }
}

/// Refuses two resources of one id, which a component may have made.
struct Unique;

impl Transformer for Unique {
    fn transform(&self, items: &mut Resources, _cx: &Context) -> Result<()> {
        items.refuse_twins()
    }
}
