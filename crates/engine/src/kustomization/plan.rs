//! From kustomization to pipeline: what runs, and in what order.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use krm_yaml::{Diagnostic, Node, Result, Source, Span, Spanned, Text};
use rayon::prelude::*;

use super::base::{Base, Use};
use super::build::Session;
use super::compose::Discarded;
use super::{BUILD_METADATA, Kustomization};
use crate::call::Function;
use crate::composition;
use crate::loader::{Entry, Folder};
use crate::objects;
use crate::pipeline::{Context, Pipeline, Role, Step, Transformer};
use crate::remote::Repository;
use crate::resource::{Origin, Resource, ResourceRef};
use crate::resources::Resources;
use crate::schema::Schema;
use crate::transformers::replacement::Replacements;
use crate::transformers::vars::{MarkVars, VarSet};
use crate::transformers::{
    self, Annotations, ConfigMapGenerator, HelmCharts, ImageTag, Labels, Namespace, Patch, PatchJson6902,
    PatchStrategicMerge, Prefix, ReplicaCount, SecretGenerator, Setup, Suffix, TransformerConfig,
};
use crate::world::{Loader, clean};

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

/// What is gathered: steps, and the rules and variables that are handed up.
pub struct Plan<'s> {
    pub(super) session: &'s Session,
    /// Bases go into the session's memory, for others to use.
    shares: bool,
    pub steps: Vec<Step>,
    pub config: TransformerConfig,
    pub vars: VarSet,
    pub schema: Arc<Schema>,
    /// A kustomization has said which schema to use: the first one that does decides.
    schema_chosen: bool,
    pub(super) folders: Vec<PathBuf>,
    level: usize,
    /// The steps end with an order of their own choosing.
    pub arranged: bool,
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
            folders: Vec::new(),
            level: 0,
            arranged: false,
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
        let mut config = TransformerConfig::builtin();
        config.merge(&TransformerConfig::load(&**folder, &k.configurations)?)?;
        config.merge(&TransformerConfig::from_crds(&**folder, &k.crds)?)?;
        self.config.merge(&config)?;
        self.generate(&here)?;
        for component in &k.components {
            self.component(&here, component)?;
        }
        self.transform(&here)?;
        let validators = self.external(&here, &k.validators, Role::Validate)?;
        self.push_external(Role::Validate, validators);
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
                Arc::new(Schema::from_openapi(&document).map_err(|d| d.at(path.span()))?)
            }
        };
        if !self.schema_chosen {
            self.schema_chosen = true;
            self.schema = schema;
        }
        Ok(())
    }

    /// `resources:`, each a file or a base.
    pub(super) fn load(
        &mut self,
        folder: &Arc<Folder>,
        paths: &[Spanned<Text>],
        scope: &Scope,
    ) -> Result<()> {
        let schema = self.schema.clone();
        // Side by side: reading and parsing take time, and fetching takes more.
        let look = |path: &Spanned<Text>| {
            let folder = folder.elsewhere(path.span()).unwrap_or(folder);
            folder.look(path, || read_resources(&**folder, path, &schema))
        };
        let found: Vec<_> = paths.par_iter().map(look).collect();
        let mut errors = Vec::new();
        for (path, found) in paths.iter().zip(found) {
            let step = match found {
                Ok(Entry::File(mut resources)) => {
                    if let Some(origin) = &scope.origin {
                        let origin = append(origin, path);
                        resources.iter_mut().for_each(|r| r.origin = Some(Box::new(origin.clone())));
                    }
                    Ok(Step::new(Role::Load, Written(Mutex::new(resources))))
                }
                Ok(Entry::Folder) => self.base(folder, path, scope).map(|base| Step::new(Role::Load, base)),
                Err(error) => Err(error.at(path.span())),
            };
            match step {
                Ok(step) => self.steps.push(step),
                Err(error) => errors.push(error),
            }
        }
        Diagnostic::join(errors).map_or(Ok(()), Err)
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
                bases.get(*key).is_some_and(|base| !base.by_namespace || key.1 == scope)
            };
            keys.iter().find(fits).map(|key| bases[key].clone())
        };
        // What a schema changes cannot be shared with those that have another.
        let shares = self.shares && !self.schema_chosen;
        let base = match shares.then(known).flatten() {
            Some(base) => {
                base.folders.iter().try_for_each(|inside| folder.refuse_cycle_above(inside, place))?;
                base
            }
            None => {
                let base = self.plan_base(&folder, &scope, place).map_err(|d| d.included(place))?;
                match shares {
                    // Where another thread planned it meanwhile, its plan counts.
                    true => {
                        let [any, exact] = keys;
                        let key = if base.by_namespace { exact } else { any };
                        self.session.bases().entry(key).or_insert(base).clone()
                    }
                    false => base,
                }
            }
        };
        if let Some(schema) = base.schema_chosen.as_ref().filter(|_| !self.schema_chosen) {
            self.schema_chosen = true;
            self.schema = schema.clone();
        }
        self.level = self.level.max(base.level + 1);
        self.by_namespace |= base.by_namespace;
        self.folders.extend(base.folders.iter().cloned());
        self.config.merge(&base.config)?;
        self.vars.merge(base.vars.clone())?;

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
        plan.add(folder, &file, scope)?;
        let schema_chosen = (plan.schema_chosen && !self.schema_chosen).then(|| plan.schema.clone());
        Ok(plan.into_base(schema_chosen))
    }

    fn into_base(self, schema_chosen: Option<Arc<Schema>>) -> Arc<Base> {
        let pipeline = Pipeline { steps: self.steps, schema: self.schema };
        let mut base = Base::new(pipeline, self.config, self.vars, schema_chosen, self.folders, self.level);
        base.by_namespace = self.by_namespace;
        Arc::new(base)
    }

    /// `components:`, each a folder whose steps join ours.
    fn component(&mut self, here: &Here, path: &Spanned<Text>) -> Result<()> {
        let place = path.span();
        let folder = here.folder.base(path, place)?;
        let file = LoadedFile::read(self.session, &folder, place).map_err(|d| d.included(place))?;
        if !file.kustomization.is_component() {
            let message = format!("`{}` is a kustomization, not a component", folder.shown().display());
            return Err(Diagnostic::error("resource-as-component", message)
                .at(place)
                .help("list it under `resources:`, or give it `kind: Component`"));
        }
        let scope = here.scope_below(path);
        self.add(&folder, &file, &scope).map_err(|d| d.included(place))?;
        self.steps.push(Step::new(Role::Transform, Unique));
        Ok(())
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
            let charts = HelmCharts::new(charts, globals, loader.clone(), here.file.source.span(0, 0))?;
            self.builtin(here, Role::Generate, "HelmChartInflationGenerator", charts);
        }
        let external = self.external(here, &k.generators, Role::Generate)?;
        self.push_external(Role::Generate, external);
        Ok(())
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
            self.builtins(here, "PatchTransformer", patches, k.patches.len());
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
            self.builtins(here, "PatchJson6902Transformer", patches, k.patches_json6902.len());
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
        let external = self.external(here, &k.transformers, Role::Transform)?;
        self.push_external(Role::Transform, external);
        Ok(())
    }

    /// A built-in that a field of the kustomization asks for.
    fn builtin(&mut self, here: &Here, role: Role, kind: &str, transformer: impl Transformer + 'static) {
        let origin = here.by_builtin(kind);
        self.steps.push(Step { role, transformer: Box::new(transformer), origin });
    }

    /// A built-in that stands for several of the reference's, which shows in transformer annotations.
    fn builtins(&mut self, here: &Here, kind: &str, transformer: impl Transformer + 'static, count: usize) {
        self.builtin(here, Role::Transform, kind, transformer);
        if here.scope.origin.is_some() {
            (1..count).for_each(|_| self.builtin(here, Role::Transform, kind, Nothing));
        }
    }

    fn push_external(&mut self, role: Role, external: Vec<(Box<dyn Transformer>, Option<Origin>)>) {
        self.steps.extend(external.into_iter().map(|(transformer, origin)| Step {
            role,
            transformer,
            origin,
        }));
    }

    /// What `generators:`, `transformers:` or `validators:` list: inline objects first, then files and folders.
    fn external(
        &self,
        here: &Here,
        entries: &[Node],
        role: Role,
    ) -> Result<Vec<(Box<dyn Transformer>, Option<Origin>)>> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let mut configs = Resources::new();
        let mut paths = Vec::new();
        for entry in entries {
            match self.inline(here, entry)? {
                Inline::Objects(objects) => configs.append(Resources::from_vec(objects))?,
                Inline::Path(path) => paths.push(path),
            }
        }
        let mut external = Vec::new();
        let mut compositions = Vec::new();
        // A run of paths up to a Composition, which is itself run and gives no configurations.
        for path in paths {
            match self.composition_at(here.folder, &path)? {
                None => self.build_configs(here.folder, &[path], here.scope, &mut configs)?,
                Some(composition) => compositions.push((configs.len(), composition)),
            }
        }
        let mut compositions = compositions.into_iter().peekable();
        for at in 0..=configs.len() {
            while let Some((_, (folder, name, place))) = compositions.next_if(|(position, _)| *position == at)
            {
                let composed = self.composed(&folder, &name, here.scope, place)?;
                let composed: Box<dyn Transformer> = match role {
                    Role::Validate => Box::new(Discarded(Box::new(composed), place)),
                    _ => Box::new(composed),
                };
                external.push((composed, None));
            }
            if let Some(config) = configs.get(at) {
                external.push((self.make(config, here.folder, None)?, by_config(config)));
            }
        }
        Ok(external)
    }

    /// What a file or a folder named among transformers gives: the one place where a build runs within planning.
    pub(super) fn build_configs(
        &self,
        folder: &Arc<Folder>,
        paths: &[Spanned<Text>],
        scope: &Scope,
        configs: &mut Resources,
    ) -> Result<()> {
        let mut plan = Plan::new(self.session, false, self.schema.clone());
        plan.load(folder, paths, scope)?;
        let pipeline = Pipeline { steps: plan.steps, schema: plan.schema };
        pipeline.transform(configs, &self.session.context(&self.schema))
    }

    /// Makes a step of its configuration.
    pub(super) fn make(
        &self,
        config: &Resource,
        folder: &Arc<Folder>,
        defaults: Option<&TransformerConfig>,
    ) -> Result<Box<dyn Transformer>> {
        let gvk = config.gvk();
        let place = config.node().get("kind").map_or(config.span(), Node::span);
        if gvk.group.is_empty() && gvk.version == "builtin" {
            let Some(make) = transformers::builtin(&gvk.kind) else {
                let message = format!("there is no built-in `{}`", gvk.kind);
                let diagnostic = Diagnostic::error("unknown-builtin", message).at(place);
                return Err(match krm_yaml::nearest(&gvk.kind, transformers::kinds()) {
                    Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                    None => diagnostic,
                });
            };
            let loader: Arc<dyn Loader> = folder.clone();
            return make(config.node(), &Setup { loader: &loader, defaults });
        }
        // A program is looked for, and runs, where it was named.
        let runtime_at = config.node().get("runtime").map_or(config.span(), innermost);
        let dir = folder.elsewhere(runtime_at).unwrap_or(folder).root();
        match Function::from_config(config.node(), dir, Some(folder.root()), self.session.runtime())? {
            Some(function) => Ok(Box::new(function)),
            None => {
                let message = format!("{} is neither a built-in nor a function", config.id());
                Err(Diagnostic::error("plugin-unknown", message)
                    .at(place)
                    .help("a built-in has `apiVersion: builtin`")
                    .help("a function has the annotation `config.kubernetes.io/function` or a field `runtime` that names its program"))
            }
        }
    }

    fn inline(&self, here: &Here, entry: &Node) -> Result<Inline> {
        let documents = match entry.as_str() {
            None if entry.is_map() => Ok(vec![entry.clone()]),
            None => {
                let message = format!("expected a path or an object, found {}", entry.kind_name());
                return Err(Diagnostic::error("wrong-type", message).at(entry.span()));
            }
            Some(text) if !text.contains(['\n', ':', '{']) => Err(None),
            Some(text) => {
                let source = self.session.sources().add(here.file.source.name(), text);
                match objects::read(&source, &self.schema) {
                    Ok(objects) => Ok(objects.into_iter().map(Resource::into_node).collect()),
                    Err(error) => Err(Some(error)),
                }
            }
        };
        match documents {
            Ok(objects) => {
                let mut objects: Vec<Resource> =
                    objects.into_iter().map(|node| Resource::new(node, &self.schema)).collect();
                let origin = here.scope.origin.as_ref().map(|origin| append(origin, here.file.name()));
                objects.iter_mut().for_each(|r| r.origin = origin.clone().map(Box::new));
                Ok(Inline::Objects(objects))
            }
            // Several lines are no path: then it is the object that has the fault.
            Err(Some(error)) if entry.text().is_some_and(|text| text.trim_end().contains('\n')) => Err(error),
            Err(_) => {
                let path = Text::from(entry.text().unwrap_or_default());
                Ok(Inline::Path(Spanned::new(path, entry.span())))
            }
        }
    }
}

enum Inline {
    Objects(Vec<Resource>),
    Path(Spanned<Text>),
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
        check_build_metadata(&kustomization)?;
        Ok(Self { kustomization, source })
    }

    /// A kustomization that stands within a Composition.
    pub fn within(kustomization: Kustomization, folder: &Folder, place: Span) -> Self {
        let source = folder.files().sources.get(place.file);
        Self { kustomization, source: source.unwrap_or_else(|| Source::detached("composition.yaml", "")) }
    }

    /// The file's name, without its folder.
    fn name(&self) -> &str {
        self.source.name().rsplit('/').next().unwrap_or_default()
    }
}

fn check_build_metadata(k: &Kustomization) -> Result<()> {
    match k.build_metadata.iter().find(|option| !BUILD_METADATA.contains(&option.as_str())) {
        None => Ok(()),
        Some(option) => {
            let message = format!("unknown value `{option}` in `buildMetadata`");
            let help = format!("possible values are `{}`", BUILD_METADATA.join("`, `"));
            Err(Diagnostic::error("unknown-value", message).at(option.span()).help(help))
        }
    }
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
struct Here<'a> {
    folder: &'a Arc<Folder>,
    file: &'a LoadedFile,
    scope: &'a Scope,
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

    /// What a built-in of this kustomization leaves on the resources it sees.
    fn by_builtin(&self, kind: &str) -> Option<Origin> {
        let origin = self.scope.origin.as_ref()?;
        let by = ResourceRef { api_version: "builtin".into(), kind: kind.into(), ..ResourceRef::default() };
        Some(Origin {
            repo: origin.repo.clone(),
            reference: origin.reference.clone(),
            configured_in: append(origin, self.file.name()).path,
            configured_by: Some(by),
            ..Origin::default()
        })
    }
}

/// What a configured step leaves on the resources it sees.
fn by_config(config: &Resource) -> Option<Origin> {
    let origin = config.origin.as_ref()?;
    Some(Origin {
        path: Text::new(),
        configured_in: origin.path.clone(),
        configured_by: Some(ResourceRef {
            api_version: config.gvk().api_version().into(),
            kind: config.kind().into(),
            name: config.name().into(),
            namespace: config.namespace().into(),
        }),
        ..(**origin).clone()
    })
}

/// An origin one step further.
fn append(origin: &Origin, path: &str) -> Origin {
    if let Some(repository) = Repository::parse(path) {
        // The reference shows the root of a repository under this name.
        let path = if repository.path.is_empty() { "notCloned" } else { &repository.path };
        let path = clean(std::path::Path::new(path)).display().to_string().into();
        return Origin {
            path,
            repo: repository.url.into(),
            reference: repository.reference.into(),
            ..origin.clone()
        };
    }
    let path = clean(&std::path::Path::new(origin.path.as_str()).join(path));
    Origin { path: path.display().to_string().into(), ..origin.clone() }
}

/// Where the program itself is named: an override may have changed it alone.
fn innermost(runtime: &Node) -> Span {
    let program = ["container", "exec", "wasm"].into_iter().find_map(|kind| runtime.get(kind));
    let name = program.and_then(|program| program.get("path").or_else(|| program.get("image")));
    name.or(program).unwrap_or(runtime).span()
}

/// Reads a file of resources.
pub fn read_resources(loader: &dyn Loader, path: &Spanned<Text>, schema: &Schema) -> Result<Vec<Resource>> {
    let place = path.span();
    let source = loader.load(path, place)?;
    let named_here = |d: Diagnostic| d.included(place);
    objects::read(&source, schema).map_err(named_here)
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
