//! A Composition's place in a build: its list of transformers as steps.

use std::sync::Arc;

use krm_yaml::{Diagnostic, FileId, Node, Result, Span, Spanned, Text};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Kustomization;
use super::plan::{Inherited, LoadedFile, Plan, shown};
use crate::composition::{self, Listed, Planner, consolidate};
use crate::files::folder::Folder;
use crate::files::is_kustomize;
use crate::files::repository::Repository;
use crate::files::world::Loader;
use crate::pipeline::{
    Context, Pipeline, Role, Step, StepField, StepName, Transformer, Work, output_discarded,
};
use crate::resource::list::Resources;
use crate::resource::{Origin, Resource};
use crate::schema::Schema;
use crate::transformers::{SortOptions, SortOrder, TransformerConfig};

/// `ResourceAccumulator`: adds what `resources:` of a kustomization would add.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct ResourceAccumulator {
    #[serde(alias = "files", alias = "resources")]
    paths: Vec<Spanned<Text>>,
}

/// `SortOrderTransformer`: puts resources in order, and leaves the order to what follows.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Sort {
    sort_options: SortOptions,
}

impl Plan<'_> {
    /// Adds the steps of a Composition, all it imports included.
    pub(crate) fn compose(
        &mut self,
        folder: &Arc<Folder>,
        file: &str,
        scope: &Inherited,
        place: Span,
    ) -> Result<()> {
        self.folders.push(folder.root().to_owned());
        let entries = consolidate(folder, file, place, &*self)?;
        let defaults = TransformerConfig::builtin();
        // Origins are noted from the first step on, or not at all.
        let tells_origins = |entry: &Listed| entry.config.get("buildMetadata").is_some_and(|b| !b.is_empty());
        let origin = entries.iter().any(tells_origins).then(Origin::default);
        let scope = &Inherited { origin: scope.origin.clone().or(origin), ..scope.clone() };
        let steps = entries.iter().map(|entry| {
            let added = self.entry(entry, &defaults, scope);
            added.map_err(|d| {
                d.at(entry.place).note(format!("in the transformer {}", entry.identity), entry.place)
            })
        });
        let errors: Vec<Diagnostic> = steps.filter_map(Result::err).collect();
        Diagnostic::join(errors).map_or(Ok(()), Err)?;
        // Last: what an inline kustomization configures counts before the defaults, as in a kustomization.
        self.config.merge(&defaults)
    }

    /// The steps of an accumulator, which adds what `resources:` of a kustomization would add. Says whether it is one.
    pub(super) fn accumulate(
        &mut self,
        config: &Node,
        folder: &Arc<Folder>,
        scope: &Inherited,
    ) -> Result<bool> {
        let is_one = is_accumulator(config);
        if is_one {
            let accumulator: ResourceAccumulator = settings(config)?;
            self.load(folder, StepField::named("paths"), &accumulator.paths, scope)?;
        }
        Ok(is_one)
    }

    fn entry(&mut self, entry: &Listed, defaults: &TransformerConfig, scope: &Inherited) -> Result<()> {
        let folder = &entry.folder.with(written_elsewhere(entry));
        match (entry.identity.api_version.as_str(), entry.identity.kind.as_str()) {
            ("builtin", "ResourceAccumulator" | "ResourceGenerator") => {
                self.accumulate(&entry.config, folder, scope).map(drop)
            }
            ("builtin", "SortOrderTransformer") => {
                let sort: Sort = settings(&entry.config)?;
                let work = Work::new(SortOrder::new(sort.sort_options)?);
                self.steps.push(Step::new(step_name(entry), entry.place, Role::Transform, work));
                self.wishes.is_in_order = true;
                Ok(())
            }
            (version, "Kustomization" | "Component") if is_kustomize(version) => {
                self.inline_kustomization(entry, folder, scope)
            }
            (_, kind) => {
                let config = Resource::new(entry.config.clone(), &self.schema);
                let transformer = self.make(&config, Role::Transform, folder, Some(defaults))?;
                let is_generator = entry.identity.api_version == "builtin" && kind.ends_with("Generator");
                let role = if is_generator { Role::Generate } else { Role::Transform };
                let work = Work::Transform(transformer.into());
                self.steps.push(Step::new(step_name(entry), entry.place, role, work));
                Ok(())
            }
        }
    }

    /// A kustomization in the list works on what came before it, as if that stood first among its resources.
    fn inline_kustomization(
        &mut self,
        entry: &Listed,
        folder: &Arc<Folder>,
        scope: &Inherited,
    ) -> Result<()> {
        let (kustomization, warnings) = Kustomization::from_root(&entry.config)?;
        self.warn(warnings);
        self.wishes.take(&kustomization);
        self.add(folder, &LoadedFile::within(kustomization, folder, entry.place), scope)
    }

    /// The Composition a path under `generators:`, `transformers:` or `validators:` leads to, if it does.
    pub(super) fn composition_at(
        &self,
        folder: &Arc<Folder>,
        path: &Spanned<Text>,
    ) -> Result<Option<(Arc<Folder>, String, Span)>> {
        let place = path.span();
        if folder.is_dir(path) {
            let folder = folder.base(path, place)?;
            return Ok(composition::find(&folder, place)?.map(|name| (folder, name.to_owned(), place)));
        }
        // A file, here or elsewhere. What is wrong with one that cannot be read is found by those who load it.
        let is_address = Repository::parse(path).is_some_and(|repository| repository.names_yaml());
        if !is_address && folder.load(path, place).is_ok_and(|source| !composition::is_in(&source)) {
            return Ok(None);
        }
        let Ok((folder, Some(file))) = folder.composition(path, place) else { return Ok(None) };
        let is_one = folder.load(&file, place).is_ok_and(|source| composition::is_in(&source));
        Ok(is_one.then_some((folder, file, place)))
    }

    /// A Composition as one transformer.
    pub(super) fn composed(
        &self,
        folder: &Arc<Folder>,
        file: &str,
        scope: &Inherited,
        place: Span,
    ) -> Result<Composed> {
        let mut plan = Plan::new(self.planning, self.schema.clone(), &self.dependencies);
        plan.compose(folder, file, scope, place).map_err(|d| d.note("included here", place))?;
        Ok(Composed { pipeline: Pipeline { steps: plan.steps, schema: plan.schema }, place })
    }
}

pub(super) fn is_accumulator(config: &Node) -> bool {
    let text = |key: &str| config.get(key).and_then(Node::text);
    text("apiVersion") == Some("builtin")
        && matches!(text("kind"), Some("ResourceAccumulator" | "ResourceGenerator"))
}

/// What the step of a transformer is called: its folder, kind and name.
fn step_name(entry: &Listed) -> StepName {
    let field = format!("{}/{}", entry.identity.kind, entry.identity.name);
    StepName { folder: shown(&entry.folder), field: StepField::Named(field.into()), index: None }
}

/// The settings of a built-in: its configuration without what names it.
fn settings<T: DeserializeOwned>(config: &Node) -> Result<T> {
    let mut fields = config.clone();
    ["apiVersion", "kind", "metadata"].into_iter().for_each(|key| drop(fields.remove(key)));
    krm_yaml::from_node(&fields)
}

/// The files other than its own that parts of a transformer were written in, and the folders paths in them start from.
fn written_elsewhere(entry: &Listed) -> Vec<(FileId, Arc<Folder>)> {
    let overrides = entry.overrides.iter().map(|change| (change.place.file, change.folder.clone()));
    overrides.filter(|(file, _)| *file != entry.place.file).collect()
}

/// A Composition that a kustomization runs.
pub(super) struct Composed {
    pipeline: Pipeline,
    place: Span,
}

impl Transformer for Composed {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        self.pipeline.transform(items, cx).map_err(|d| d.note("included here", self.place))
    }

    fn pipeline(&self) -> Option<&Pipeline> {
        Some(&self.pipeline)
    }
}

/// A Composition that is asked for its opinion alone: what it makes of the resources is thrown away.
pub(super) struct Discarded(pub Composed, pub Span);

impl Transformer for Discarded {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        let mut copy = items.clone();
        // What becomes of a copy is part of no history.
        self.0.transform(&mut copy, &Context { trace: None, ..*cx })?;
        let same =
            copy.len() == items.len() && copy.iter().zip(items.iter()).all(|(a, b)| a.node() == b.node());
        if !same {
            cx.warn(output_discarded("a Composition under `validators:` changed the resources", self.1));
        }
        Ok(())
    }

    fn pipeline(&self) -> Option<&Pipeline> {
        self.0.pipeline()
    }
}

impl Planner for Plan<'_> {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn named(&self, folder: &Arc<Folder>, path: &Node) -> Result<Vec<Node>> {
        let Some(text) = path.as_str() else {
            let message = format!("expected a transformer or the path of one, found {}", path.kind_name());
            return Err(Diagnostic::error("wrong-type", message).at(path.span()));
        };
        let path = Spanned::new(Text::from(text), path.span());
        // Objects in a file are taken as they are: names may be left to the default here, unlike in resources.
        if !folder.is_dir(&path) {
            let source = folder.load(&path, path.span())?;
            let documents = krm_yaml::parse(&source).map_err(|d| d.note("named here", path.span()))?;
            let roots = documents.into_iter().map(|document| document.root).filter(|root| !root.is_null());
            return roots.map(|mut root| krm_yaml::merge_keys::resolve(&mut root).map(|()| root)).collect();
        }
        let mut configs = Resources::new();
        self.build_configs(folder, &[path], &Inherited::default(), &mut configs)?;
        Ok(configs.into_vec().into_iter().map(Resource::into_node).collect())
    }

    fn warn(&self, warning: Diagnostic) {
        self.warn([warning]);
    }
}
