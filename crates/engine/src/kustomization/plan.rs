//! From kustomization to pipeline: what runs, and in what order.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

use krm_yaml::{Diagnostic, Failure, Node, Result, Source, Span, Spanned, Text};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::origin::{append, by_builtin};
use super::planning::{Planned, Planning, Reuse};
use super::{BUILD_METADATA, Kustomization};
use crate::composition;
use crate::files::Repository;
use crate::files::dependencies::Dependencies;
use crate::files::folder::{
    DEEPEST, Folder, Resolved, folder_of_kustomization, more_than_anyone_reads, too_deep,
};
use crate::files::world::Loader;
use crate::pipeline::{Base, Context, Pipeline, Role, Step, StepField, StepName, Transformer, Work};
use crate::resource::list::Resources;
use crate::resource::read;
use crate::resource::{Gvk, Origin, Resource};
use crate::schema::Schema;
use crate::transformers::replacement::Replacements;
use crate::transformers::vars::{MarkVars, VarSet};
use crate::transformers::{
    Annotations, ConfigMapGenerator, HelmCharts, ImageTag, Labels, Namespace, Pairs, Patch, PatchJson6902,
    PatchStrategicMerge, Prefix, ReplicaCount, SecretGenerator, SortOptions, Suffix, TransformerConfig,
};

/// The OpenAPI schema that is built in.
const BUILTIN_SCHEMA: &str = "v1.21.2";

/// What a kustomization inherits from those that lead to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Inherited {
    /// Where we are, as the root sees it; `None` if `buildMetadata` asks for nothing.
    pub origin: Option<Origin>,
    /// The namespace helm charts get if they name none.
    pub helm_namespace: Text,
}

/// What is done once for the whole target, at its end.
#[derive(Default)]
pub(crate) struct Wishes {
    pub sort_options: Option<Spanned<SortOptions>>,
    pub build_metadata: Vec<Spanned<Text>>,
    /// A step has sorted the resources; they are to stay in that order.
    pub is_in_order: bool,
}

impl Wishes {
    /// Notes what a kustomization asks for.
    pub(crate) fn take(&mut self, kustomization: &Kustomization) {
        if kustomization.sort_options.is_some() {
            self.sort_options = kustomization.sort_options.clone();
        }
        self.build_metadata.extend(kustomization.build_metadata.iter().cloned());
    }
}

/// How many bases and components a kustomization may have, each counted as often as it is used.
const MOST_FOLDERS: usize = 100_000;

/// What is collected: steps, and the rules and variables that are passed up.
pub(crate) struct Plan<'s> {
    pub(super) planning: &'s Planning,
    /// What planning, and later running, depends on; and the warnings.
    pub(super) dependencies: Arc<Dependencies>,
    /// Bases are kept for others to use.
    shares: bool,
    pub steps: Vec<Step>,
    pub config: TransformerConfig,
    pub vars: VarSet,
    pub schema: Arc<Schema>,
    /// A kustomization has said which schema to use: the first one that does decides.
    schema_chosen: bool,
    /// There was a resource whose kind the built-in schema does not know.
    strangers: bool,
    pub(super) folders: Vec<PathBuf>,
    level: usize,
    pub wishes: Wishes,
    /// A helm chart takes the namespace of the kustomization that includes it.
    by_namespace: bool,
}

impl<'s> Plan<'s> {
    /// A plan whose bases are its own.
    pub(crate) fn new(planning: &'s Planning, schema: Arc<Schema>, dependencies: &Arc<Dependencies>) -> Self {
        Self {
            planning,
            dependencies: dependencies.clone(),
            shares: false,
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

    /// A plan whose bases others may use too.
    pub(crate) fn sharing(
        planning: &'s Planning,
        schema: Arc<Schema>,
        dependencies: &Arc<Dependencies>,
    ) -> Self {
        Self { shares: true, ..Self::new(planning, schema, dependencies) }
    }

    /// Adds the kustomization of a target, and what it asks for at the end.
    pub(crate) fn add_target(&mut self, folder: &Arc<Folder>) -> Result<()> {
        let file = LoadedFile::read(folder, Span::NONE)?;
        let origin = (!file.kustomization.build_metadata.is_empty()).then(Origin::default);
        self.add(folder, &file, &Inherited { origin, ..Inherited::default() })?;
        self.wishes.take(&file.kustomization);
        Ok(())
    }

    pub(super) fn warn(&self, warnings: impl IntoIterator<Item = Diagnostic>) {
        self.dependencies.warn(warnings);
    }

    /// Adds all steps of a kustomization, or of a component, whose steps simply join those of its parent.
    pub(crate) fn add(&mut self, folder: &Arc<Folder>, file: &LoadedFile, scope: &Inherited) -> Result<()> {
        self.folders.push(folder.root().to_owned());
        let k = &file.kustomization;
        self.choose_schema(folder, k)?;
        let here = Here::new(folder, file, scope);
        let below = Inherited { helm_namespace: here.helm_namespace(), ..scope.clone() };
        self.load(folder, StepField::Resources, &k.resources, &below)?;
        // In this order, and not all at once: a spec for every kind is dropped if some kinds already have one.
        let mut config = TransformerConfig::builtin();
        config.merge(&TransformerConfig::load(&**folder, &k.configurations)?)?;
        self.config.merge(&config)?;
        self.config.merge(&TransformerConfig::from_crds(&**folder, &k.crds)?)?;
        self.generate(&here)?;
        for (at, component) in k.components.iter().enumerate() {
            self.component(&here, component, at)?;
        }
        self.transform(&here)?;
        self.external(&here, Role::Validate, StepField::Validators, &k.validators)?;
        if !k.vars.is_empty() {
            self.vars.extend(k.vars.clone())?;
            let name = here.name(StepField::Vars, None);
            let place = k.vars.first().map_or(Span::NONE, |var| var.name.span);
            self.steps.push(Step::new(name, place, Role::Transform, Work::new(MarkVars(k.vars.clone()))));
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
                // quirk(openapi-beside-the-built-in): A file in `openapi:` replaces the built-in schema, unless a kind
                // the built-in one does not know was read before: then both count. (kyaml `openapi.SetSchema`,
                // `openapi.IsNamespaceScoped`)
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
    pub(crate) fn load(
        &mut self,
        folder: &Arc<Folder>,
        field: StepField,
        paths: &[Spanned<Text>],
        scope: &Inherited,
    ) -> Result<()> {
        let schema = self.schema.clone();
        let shown = shown(folder);
        paths.iter().for_each(|path| self.warn_of_prefix(path));
        // In parallel: reading and parsing take time, and fetching takes more.
        let look = |path: &Spanned<Text>| {
            if path.trim().is_empty() {
                return Err(Diagnostic::error(
                    "resource-entry-empty",
                    "this entry of a list of resources is empty",
                )
                .help("name a file or a folder here, or remove the entry"));
            }
            let folder = folder.elsewhere(path.span()).unwrap_or(folder);
            match folder.resolve(path)? {
                Resolved::Folder => Ok(Entry::Base),
                Resolved::File => self.read(folder, path),
                Resolved::FileOrRepository(repository) => self.read(folder, path).or_else(|no_file| {
                    folder.fetch_instead(path, &repository, no_file).map(|()| Entry::Base)
                }),
            }
        };
        let found: Vec<_> = paths.par_iter().map(look).collect();
        let mut errors = Vec::new();
        for (at, (path, found)) in paths.iter().zip(found).enumerate() {
            let work = match found {
                Ok(Entry::Base) => self.base(folder, path, scope).map(Work::Base),
                Ok(Entry::Resources(mut resources)) => {
                    let kinds: FxHashSet<&Gvk> = resources.iter().map(Resource::gvk).collect();
                    self.strangers |= kinds.into_iter().any(|gvk| schema.scope(gvk).is_none());
                    if let Some(origin) = &scope.origin {
                        let origin = append(origin, path);
                        resources.iter_mut().for_each(|r| r.origin = Some(Box::new(origin.clone())));
                    }
                    Ok(Work::Read(Arc::new(resources)))
                }
                Err(error) => Err(error.at(path.span())),
            };
            let name = StepName::new(&shown, field.clone(), Some(at));
            let step = work.map(|work| Step::new(name, path.span(), Role::Load, work));
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

    /// `git::` is the syntax of other tools, and means nothing here.
    fn warn_of_prefix(&self, path: &Spanned<Text>) {
        if path.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("git::")) {
            let warning =
                Diagnostic::warning("git-prefix", "the prefix `git::` means nothing, and is ignored");
            self.warn([warning.at(path.span()).help(format!("write `{}`", &path[5..]))]);
        }
    }

    /// A file of resources, or one that holds a Composition.
    fn read(&self, folder: &Arc<Folder>, path: &Spanned<Text>) -> Result<Entry> {
        let place = path.span();
        let source = match folder.load(path, place) {
            Ok(source) => source,
            // A Composition may be outside the folder, as a base may: whether its folder is named or its file.
            Err(_) if Repository::parse(path).is_none() && self.composition_at(folder, path)?.is_some() => {
                return Ok(Entry::Base);
            }
            Err(error) => return Err(error),
        };
        if composition::is_in(&source) {
            return Ok(Entry::Base);
        }
        let read = match self.planning.reuse {
            Reuse::Never => read::read(&source, &self.schema),
            Reuse::Again => folder
                .files()
                .trees(&source, || read::trees(&source))
                .and_then(|trees| read::of_trees(trees.to_vec(), &self.schema)),
        };
        match read {
            Ok(resources) => {
                self.warn(krm_yaml::odd_spaces(&source));
                Ok(Entry::Resources(resources))
            }
            Err(error) if error.failure() == Some(Failure::NotAResource) => {
                let error = error.included(place);
                Err(match folder_of_kustomization(path) {
                    Some(folder) => error.without_help().help(format!("name the folder: `{folder}`")),
                    None => error,
                })
            }
            Err(error) => Err(error.included(place)),
        }
    }

    /// A base: the one already planned, or a new plan.
    fn base(&mut self, folder: &Arc<Folder>, path: &Spanned<Text>, scope: &Inherited) -> Result<Arc<Base>> {
        let place = path.span();
        let (folder, composition) = folder.base_or_composition(path, place)?;
        if let Some(file) = &composition
            && !composition::is_in(&folder.load(file, place)?)
        {
            let message = format!("`{path}` is a file; a folder or a Composition is expected");
            return Err(Diagnostic::error("base-not-a-folder", message).at(place));
        }
        let scope =
            Inherited { origin: scope.origin.as_ref().map(|origin| append(origin, path)), ..scope.clone() };
        // If no chart asks for the namespace of the kustomization that includes it, all may share.
        let any = Inherited { helm_namespace: Text::new(), ..scope.clone() };
        let keys = [any, scope.clone()].map(|scope| (folder.root().to_owned(), scope));
        let fits = |base: &Planned, key: &Inherited| !base.by_namespace || *key == scope;
        // What depends on a schema cannot be shared with those that have another.
        let shares = self.shares && !self.schema_chosen && composition.is_none();
        let planned = match shares.then(|| self.planning.known(&keys, fits)).flatten() {
            Some(planned) => {
                planned.folders.iter().try_for_each(|inside| folder.refuse_cycle_above(inside, place))?;
                planned
            }
            None => {
                let dependencies = Dependencies::new(folder.root());
                let planned =
                    self.plan_base(&folder.recorded(&dependencies), composition.as_deref(), &scope, place);
                let planned = planned.map_err(|d| {
                    self.dependencies.add(dependencies);
                    d.included(place)
                })?;
                match shares {
                    true => {
                        let [any, exact] = keys;
                        let key = if planned.by_namespace { exact } else { any };
                        self.planning.keep(key, planned)
                    }
                    false => planned,
                }
            }
        };
        let base = planned.base.clone();
        self.dependencies.add(base.dependencies.clone());
        self.strangers |= planned.strangers;
        if let Some(schema) = planned.schema_chosen.as_ref().filter(|_| !self.schema_chosen) {
            self.schema_chosen = true;
            self.schema = schema.clone();
        }
        self.level = self.level.max(base.level + 1);
        // One that was planned before was reached by another, shorter path.
        if self.level > DEEPEST {
            return Err(too_deep(place));
        }
        self.by_namespace |= planned.by_namespace;
        self.folders.extend(planned.folders.iter().cloned());
        self.refuse_too_many(place)?;
        self.config.merge(&planned.config)?;
        self.vars.merge(planned.vars.clone())?;
        Ok(base)
    }

    fn plan_base(
        &self,
        folder: &Arc<Folder>,
        composition: Option<&str>,
        scope: &Inherited,
        place: Span,
    ) -> Result<Arc<Planned>> {
        let mut plan = Plan::new(self.planning, self.schema.clone(), folder.dependencies());
        plan.shares = self.shares;
        let composition = match composition {
            Some(file) => Some(file),
            None => composition::find(folder, place)?,
        };
        if let Some(name) = composition {
            plan.compose(folder, name, scope, place)?;
            return Ok(plan.into_base(None));
        }
        let file = LoadedFile::read(folder, place)?;
        if file.kustomization.is_component() {
            let message = format!("`{}` is a component, not a base", folder.shown().display());
            return Err(Diagnostic::error("component-as-resource", message)
                .at(place)
                .help("list it under `components:`"));
        }
        plan.schema_chosen = self.schema_chosen;
        plan.strangers = self.strangers;
        plan.add(folder, &file, scope)?;
        let schema_chosen = (plan.schema_chosen && !self.schema_chosen).then(|| plan.schema.clone());
        Ok(plan.into_base(schema_chosen))
    }

    fn into_base(self, schema_chosen: Option<Arc<Schema>>) -> Arc<Planned> {
        let pipeline = Pipeline { steps: self.steps, schema: self.schema };
        Arc::new(Planned {
            base: Base::new(pipeline, self.level, self.dependencies),
            config: self.config,
            vars: self.vars,
            schema_chosen,
            strangers: self.strangers,
            folders: self.folders,
            by_namespace: self.by_namespace,
        })
    }

    /// `components:`, each a folder whose steps join ours, before a step of its own that ends them.
    // They are not a pipeline within that step: all run under the schema that the last of them may choose, what both read
    // is put together at once, so that a file that both name is found, and a trace follows a resource through one list.
    fn component(&mut self, here: &Here, path: &Spanned<Text>, at: usize) -> Result<()> {
        let place = path.span();
        self.warn_of_prefix(path);
        let not_a_component = |shown: &dyn Display| {
            let message = format!("`{shown}` is a Composition, not a component");
            Diagnostic::error("composition-as-component", message).at(place).help(
                "list it under `transformers:` to run it on the resources, or under `resources:` to add what it makes",
            )
        };
        let folder =
            here.folder.base(path, place).map_err(|error| match self.composition_at(here.folder, path) {
                Ok(Some(_)) => not_a_component(path),
                _ => error,
            })?;
        if composition::find(&folder, place)?.is_some() {
            return Err(not_a_component(&folder.shown().display()));
        }
        let file = LoadedFile::read(&folder, place).map_err(|d| d.included(place))?;
        if !file.kustomization.is_component() {
            let message = format!("`{}` is a kustomization, not a component", folder.shown().display());
            return Err(Diagnostic::error("resource-as-component", message)
                .at(place)
                .help("list it under `resources:`, or give it `kind: Component`"));
        }
        self.refuse_too_many(place)?;
        let scope = here.scope_below(path);
        self.add(&folder, &file, &scope).map_err(|d| d.included(place))?;
        let name = here.name(StepField::Components, Some(at));
        self.steps.push(Step::new(name, place, Role::Transform, Work::new(Unique)));
        // quirk(component-drops-fields-of-every-kind): After a component all field specs are merged again, into none.
        // One for every kind that comes after one for a certain kind with the same path is then taken for the same, and
        // dropped. (`ResAccumulator.MergeAccumulator`, `types.FsSlice.MergeOne`)
        let config = std::mem::take(&mut self.config);
        self.config.merge(&config)
    }

    /// Bases that share bases that share bases add up exponentially.
    fn refuse_too_many(&self, place: Span) -> Result<()> {
        if self.folders.len() <= MOST_FOLDERS {
            return Ok(());
        }
        let message = format!("bases and components come to more than {MOST_FOLDERS} here");
        Err(Diagnostic::error("bases-too-many", message)
            .failing(Failure::TooMuch)
            .at(place)
            .help("a folder that is reached in several ways counts as often: name it once"))
    }

    /// The generators, built-in ones first, in a fixed order, which shows in the output.
    fn generate(&mut self, here: &Here) -> Result<()> {
        let k = &here.file.kustomization;
        let loader: Arc<dyn Loader> = here.folder.clone();
        for (at, args) in k.config_map_generator.iter().enumerate() {
            let generator =
                ConfigMapGenerator::new(args.value.clone(), &k.generator_options, loader.clone())?;
            let asked = here.asked(StepField::ConfigMapGenerator, at, args.span);
            self.builtin(here, asked, Role::Generate, "ConfigMapGenerator", generator);
        }
        for (at, args) in k.secret_generator.iter().enumerate() {
            let generator = SecretGenerator::new(args.value.clone(), &k.generator_options, loader.clone());
            let asked = here.asked(StepField::SecretGenerator, at, args.span);
            self.builtin(here, asked, Role::Generate, "SecretGenerator", generator);
        }
        if !k.helm_charts.is_empty() {
            let entries: Arc<[Span]> = k.helm_charts.iter().map(|chart| chart.span).collect();
            let mut charts = k.helm_charts.clone();
            for chart in charts.iter_mut().filter(|chart| chart.namespace.is_empty()) {
                chart.namespace = here.helm_namespace();
                self.by_namespace |= k.namespace.is_empty();
            }
            let globals = k.helm_globals.clone().unwrap_or_default();
            let charts = HelmCharts::new(charts, globals, loader.clone())?;
            let asked = here.asked_by_all(StepField::HelmCharts, entries);
            self.builtin(here, asked, Role::Generate, "HelmChartInflationGenerator", charts);
        }
        self.external(here, Role::Generate, StepField::Generators, &k.generators)
    }

    /// The transformers, built-in ones first, in a fixed order: that of the fields in the file does not matter.
    fn transform(&mut self, here: &Here) -> Result<()> {
        let k = &here.file.kustomization;
        let config = self.config.clone();
        if !k.patches_strategic_merge.is_empty() {
            let patches = PatchStrategicMerge::new(&k.patches_strategic_merge, &**here.folder)?;
            let entries = k.patches_strategic_merge.iter().map(Node::span).collect();
            let asked = here.asked_by_all(StepField::PatchesStrategicMerge, entries);
            self.builtin(here, asked, Role::Transform, "PatchStrategicMergeTransformer", patches);
        }
        if !k.patches.is_empty() {
            let read = |entry: &Spanned<_>| Patch::new(&entry.value, entry.span, &**here.folder);
            let patches: Vec<Patch> = all(k.patches.par_iter().map(read).collect())?;
            for (at, (patch, entry)) in patches.into_iter().zip(&k.patches).enumerate() {
                let asked = here.asked(StepField::Patches, at, entry.span);
                self.builtin(here, asked, Role::Transform, "PatchTransformer", patch);
            }
        }
        if !k.namespace.is_empty() {
            let namespace = Namespace::new(k.namespace.clone(), config.namespace.clone());
            let asked = here.asked_by(StepField::Namespace, k.namespace.span);
            self.builtin(here, asked, Role::Transform, "NamespaceTransformer", namespace);
        }
        if !k.name_prefix.is_empty() {
            let prefix = Prefix::new(k.name_prefix.clone(), config.name_prefix.clone());
            let asked = here.asked_by(StepField::NamePrefix, k.name_prefix.span);
            self.builtin(here, asked, Role::Transform, "PrefixTransformer", prefix);
        }
        if !k.name_suffix.is_empty() {
            let suffix = Suffix::new(k.name_suffix.clone(), config.name_suffix.clone());
            let asked = here.asked_by(StepField::NameSuffix, k.name_suffix.span);
            self.builtin(here, asked, Role::Transform, "SuffixTransformer", suffix);
        }
        for (at, label) in k.labels.iter().enumerate() {
            let asked = here.asked(StepField::Labels, at, label.span);
            let labels = Labels::of(label.value.clone(), &config)?;
            self.builtin(here, asked, Role::Transform, "LabelTransformer", labels);
        }
        if !k.common_labels.is_empty() {
            let asked = here.asked_by(StepField::CommonLabels, first(&k.common_labels));
            let labels = Labels::new(k.common_labels.clone(), config.common_labels.clone());
            self.builtin(here, asked, Role::Transform, "LabelTransformer", labels);
        } else if !k.labels.is_empty() {
            // Kustomize has a step for `commonLabels` all the same, which does nothing.
            self.counts_as(2);
        }
        if !k.common_annotations.is_empty() {
            let annotations =
                Annotations::new(k.common_annotations.clone(), config.common_annotations.clone());
            let asked = here.asked_by(StepField::CommonAnnotations, first(&k.common_annotations));
            self.builtin(here, asked, Role::Transform, "AnnotationsTransformer", annotations);
        }
        if !k.patches_json6902.is_empty() {
            let read = |entry: &Spanned<_>| PatchJson6902::new(&entry.value, entry.span, &**here.folder);
            let patches: Vec<PatchJson6902> = all(k.patches_json6902.iter().map(read).collect())?;
            for (at, (patch, entry)) in patches.into_iter().zip(&k.patches_json6902).enumerate() {
                let asked = here.asked(StepField::PatchesJson6902, at, entry.span);
                self.builtin(here, asked, Role::Transform, "PatchJson6902Transformer", patch);
            }
        }
        if !k.replicas.is_empty() {
            let replicas = ReplicaCount::new(k.replicas.clone(), config.replicas.clone());
            let entries = k.replicas.iter().map(|replica| replica.name.span.to(replica.count.span)).collect();
            self.builtins(
                here,
                here.asked_by_all(StepField::Replicas, entries),
                "ReplicaCountTransformer",
                replicas,
            );
        }
        if !k.images.is_empty() {
            let images = ImageTag::new(k.images.clone(), config.images.clone());
            let entries = k.images.iter().map(|image| image.span).collect();
            self.builtins(here, here.asked_by_all(StepField::Images, entries), "ImageTagTransformer", images);
        }
        if !k.replacements.is_empty() {
            let replacements = Replacements::new(k.replacements.clone(), &**here.folder)?;
            let entries = k.replacements.iter().map(|entry| entry.span).collect();
            let asked = here.asked_by_all(StepField::Replacements, entries);
            self.builtin(here, asked, Role::Transform, "ReplacementTransformer", replacements);
        }
        self.external(here, Role::Transform, StepField::Transformers, &k.transformers)
    }

    /// A built-in that a field of the kustomization asks for.
    fn builtin(
        &mut self,
        here: &Here,
        asked: Asked,
        role: Role,
        kind: &str,
        transformer: impl Transformer + 'static,
    ) {
        let origin = here.scope.origin.as_ref();
        let origin = origin.map(|origin| Arc::new(by_builtin(origin, here.file.name(), kind)));
        let Asked { name, place, entries } = asked;
        self.steps.push(Step { origin, entries, ..Step::new(name, place, role, Work::new(transformer)) });
    }

    /// A built-in that does the work of several of kustomize's.
    fn builtins(&mut self, here: &Here, asked: Asked, kind: &str, transformer: impl Transformer + 'static) {
        let entries = asked.entries.len();
        self.builtin(here, asked, Role::Transform, kind, transformer);
        self.counts_as(entries);
    }

    /// Says how many steps kustomize has in place of the last one, which shows in transformer annotations.
    fn counts_as(&mut self, steps: usize) {
        self.steps.last_mut().expect("one was just added").counts_as = steps;
    }
}

/// The file and field that ask for a step.
pub(super) struct Asked {
    pub name: StepName,
    pub place: Span,
    pub entries: Arc<[Span]>,
}

/// Where the first of some pairs is written.
fn first(pairs: &Pairs) -> Span {
    pairs.values().map(|value| value.span).min_by_key(|span| span.start).unwrap_or(Span::NONE)
}

/// A folder as steps name it.
pub(super) fn shown(folder: &Folder) -> Arc<str> {
    folder.shown().to_string_lossy().into()
}

/// What an entry of a list of resources names.
enum Entry {
    /// A file of resources.
    Resources(Vec<Resource>),
    /// A folder, or a file that holds a Composition.
    Base,
}

/// A kustomization and the file it is in.
pub(crate) struct LoadedFile {
    pub kustomization: Kustomization,
    pub source: Arc<Source>,
}

impl LoadedFile {
    pub(crate) fn read(folder: &Folder, place: Span) -> Result<Self> {
        let (kustomization, source, warnings) = Kustomization::load(folder, place)?;
        folder.dependencies().warn(warnings);
        folder.dependencies().warn(unknown_build_metadata(&kustomization));
        Ok(Self { kustomization, source })
    }

    /// A kustomization that is part of a Composition.
    pub(crate) fn within(kustomization: Kustomization, folder: &Folder, place: Span) -> Self {
        let source = folder.files().sources.get(place.file);
        Self { kustomization, source: source.unwrap_or_else(|| Source::detached("composition.yaml", "")) }
    }

    /// The file's name, without its folder.
    pub(crate) fn name(&self) -> &str {
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

/// All of them, or everything that is wrong with them.
fn all<T>(results: Vec<Result<T>>) -> Result<Vec<T>> {
    let (good, errors): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    match Diagnostic::join(errors.into_iter().filter_map(Result::err)) {
        None => Ok(good.into_iter().filter_map(Result::ok).collect()),
        Some(errors) => Err(errors),
    }
}

/// The kustomization a step comes from.
pub(crate) struct Here<'a> {
    pub folder: &'a Arc<Folder>,
    pub file: &'a LoadedFile,
    pub scope: &'a Inherited,
    /// The folder as steps name it.
    shown: Arc<str>,
}

impl<'a> Here<'a> {
    pub(crate) fn new(folder: &'a Arc<Folder>, file: &'a LoadedFile, scope: &'a Inherited) -> Self {
        Self { folder, file, scope, shown: shown(folder) }
    }

    pub(crate) fn name(&self, field: StepField, index: Option<usize>) -> StepName {
        StepName::new(&self.shown, field, index)
    }

    /// A field.
    fn asked_by(&self, field: StepField, place: Span) -> Asked {
        Asked { name: self.name(field, None), place, entries: Arc::default() }
    }

    /// An entry of a field.
    fn asked(&self, field: StepField, index: usize, place: Span) -> Asked {
        Asked { name: self.name(field, Some(index)), place, entries: Arc::default() }
    }

    /// All entries of a field; if there is only one, that one.
    fn asked_by_all(&self, field: StepField, entries: Arc<[Span]>) -> Asked {
        let (index, place) = match entries[..] {
            [one] => (Some(0), one),
            _ => (None, entries.iter().copied().reduce(Span::to).unwrap_or(Span::NONE)),
        };
        Asked { name: self.name(field, index), place, entries }
    }

    fn scope_below(&self, path: &str) -> Inherited {
        Inherited {
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

/// Refuses two resources of one id, which a component may have made.
struct Unique;

impl Transformer for Unique {
    fn transform(&self, items: &mut Resources, _cx: &Context) -> Result<()> {
        items.refuse_duplicates()
    }
}
