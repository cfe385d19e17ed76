//! `crds:` declares which fields of custom resources hold labels, annotations and names.

use krm_yaml::{Diagnostic, Node, Result, Span, Spanned, Text};

use super::config::{NameReference, TransformerConfig};
use crate::files::world::Loader;
use crate::resource::fields::{FieldPath, FieldSpec, FieldSpecs};

impl TransformerConfig {
    /// Reads the files of a kustomization's `crds:`: OpenAPI definitions by name, whose properties say with
    /// `x-kubernetes-annotation`, `-label-selector`, `-identity` and `-object-ref-kind` what they hold.
    pub(crate) fn from_crds(loader: &dyn Loader, paths: &[Spanned<Text>]) -> Result<Self> {
        let mut config = Self::default();
        for path in paths {
            let source = loader.load(&path.value, path.span)?;
            if let Some(document) = krm_yaml::parse(&source)?.into_iter().next() {
                config.merge(&from_definitions(&document.root)?).map_err(|d| d.at(path.span))?;
            }
        }
        Ok(config)
    }
}

fn from_definitions(definitions: &Node) -> Result<TransformerConfig> {
    let Some(map) = definitions.as_map() else { return Err(not_definitions(definitions.span())) };
    let mut config = TransformerConfig::default();
    for entry in map {
        if !entry.value.is_map() && !entry.value.is_null() {
            return Err(not_definitions(entry.key.span()));
        }
        let name = entry.key.text().unwrap_or_default();
        let is_resource =
            |p: &Node| ["kind", "apiVersion", "metadata"].iter().all(|key| p.get(key).is_some());
        if properties(definitions, name).is_some_and(is_resource) {
            let kind = name.rsplit('.').next().unwrap_or_default();
            let mut reader =
                Reader { definitions, kind: kind.into(), config: &mut config, within: Vec::new() };
            reader.read(name, &[])?;
        }
    }
    Ok(config)
}

/// The properties of a definition: under `Schema`, in whatever case, as Go's JSON has it.
fn properties<'n>(definitions: &'n Node, name: &str) -> Option<&'n Node> {
    let definition = definitions.get(name)?.as_map()?;
    let is_schema = |key: &Node| key.text().is_some_and(|key| key.eq_ignore_ascii_case("schema"));
    definition.iter().rfind(|entry| is_schema(&entry.key))?.value.get("properties")
}

/// Goes through the properties of one kind.
struct Reader<'r> {
    definitions: &'r Node,
    kind: Text,
    config: &'r mut TransformerConfig,
    /// The definitions we are in, so that one that holds itself ends.
    within: Vec<Text>,
}

impl Reader<'_> {
    fn read(&mut self, name: &str, path: &[&str]) -> Result<()> {
        let definitions = self.definitions;
        let Some(properties) = properties(definitions, name).and_then(Node::as_map) else { return Ok(()) };
        if self.within.iter().any(|outer| outer == name) {
            return Ok(());
        }
        self.within.push(name.into());
        for entry in properties {
            let path: Vec<&str> = path.iter().copied().chain(entry.key.text()).collect();
            self.property(entry.key.span(), &entry.value, &path)?;
            if let Some(reference) = entry.value.get("$ref").and_then(Node::as_str) {
                self.read(reference, &path)?;
            }
        }
        self.within.pop();
        Ok(())
    }

    fn property(&mut self, place: Span, property: &Node, path: &[&str]) -> Result<()> {
        let says = |what: &str| {
            let says = |entry: &&krm_yaml::Entry| {
                entry.key.text().is_some_and(|key| {
                    key.len() == "x-kubernetes-".len() + what.len()
                        && key.to_ascii_lowercase().strip_prefix("x-kubernetes-") == Some(what)
                })
            };
            property.as_map()?.iter().find(says)?.value.as_str()
        };
        let spec = |path: &[&str]| {
            let spec = FieldSpec {
                kind: self.kind.clone(),
                path: FieldPath::new(path.join("/")).with_span(place),
                ..Default::default()
            };
            FieldSpecs::from_iter([spec])
        };
        let mut more = TransformerConfig::default();
        if says("annotation").is_some() {
            more.common_annotations = spec(path);
        }
        if says("label-selector").is_some() {
            more.common_labels = spec(path);
        }
        if says("identity").is_some() {
            more.name_prefix = spec(path);
        }
        if let (Some(version), Some(kind)) = (says("object-ref-api-version"), says("object-ref-kind")) {
            let key = says("object-ref-name-key").unwrap_or("name");
            let path: Vec<&str> = path.iter().copied().chain([key]).collect();
            let reference = NameReference {
                group: Text::new(),
                version: version.into(),
                kind: kind.into(),
                referrers: spec(&path),
            };
            more.name_reference = vec![reference].into();
        }
        self.config.merge(&more)
    }
}

fn not_definitions(place: Span) -> Diagnostic {
    Diagnostic::error("crds-not-definitions", "expected OpenAPI definitions by name")
        .at(place)
        .help("`crds:` takes files like `{\"com.example.v1.Kind\": {\"Schema\": {\"properties\": ...}}}`; list CustomResourceDefinitions under `resources:`")
}
