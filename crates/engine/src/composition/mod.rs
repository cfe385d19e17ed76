//! Composition (KEP-2299): lists of transformers that import, override and reorder each other.
//!
//! A Composition is a list of transformers, built-ins and functions side by side, run one after the other on what the one
//! before left. It may import the lists of others, change fields of what it imported, and put the whole into another order;
//! however deep that goes, [`consolidate`] makes one list of it before anything runs.

mod consolidate;
mod directives;
mod identity;

use std::sync::Arc;

use krm_yaml::{Diagnostic, Node, Result, Source, Span, Spanned, Text};
use serde::Deserialize;

use crate::files::folder::Folder;
use crate::files::is_kustomize;
use crate::files::world::Loader;

pub(crate) use consolidate::{Listed, Planner, consolidate};
pub(crate) use identity::default_name;

/// The names a Composition may have in its folder.
pub const FILE_NAMES: [&str; 2] = ["composition.yaml", "composition.yml"];

/// The JSON Schema of a Composition, for editors.
pub const JSON_SCHEMA: &str = include_str!("../../data/composition.schema.json");

/// The version krm writes.
pub const API_VERSION: &str = "kustomize.config.k8s.io/v1alpha1";

/// The versions there are. They do not differ.
const API_VERSIONS: [&str; 2] = [API_VERSION, "kustomize.config.k8s.io/v1beta1"];

/// A Composition as it was written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Composition {
    api_version: Spanned<Text>,
    kind: Spanned<Text>,
    pub transformers_from: Vec<Import>,
    pub transformer_overrides: Vec<Node>,
    /// Objects, or paths of files that hold some.
    pub transformers: Vec<Node>,
    pub transformer_order: Vec<Spanned<Ordered>>,
}

/// An entry of `transformersFrom`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Import {
    pub path: Spanned<Text>,
    import_mode: Spanned<Text>,
}

/// Where imported transformers go: before one's own, or after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImportMode {
    Prepend,
    Append,
}

impl Import {
    pub(crate) fn mode(&self) -> Result<ImportMode> {
        match self.import_mode.as_str() {
            "" | "prepend" => Ok(ImportMode::Prepend),
            "append" => Ok(ImportMode::Append),
            other => Err(Diagnostic::error("import-mode", format!("there is no import mode `{other}`"))
                .at(self.import_mode.span())
                .help("it is `prepend`, which is the default, or `append`")),
        }
    }
}

/// An entry of `transformerOrder`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Ordered {
    pub name: Text,
    pub kind: Text,
    pub api_version: Text,
}

/// What the fields were called in drafts of the proposal.
const OLD_FIELDS: [(&str, &str); 4] = [
    ("modules", "transformers"),
    ("modulesFrom", "transformersFrom"),
    ("moduleOverrides", "transformerOverrides"),
    ("moduleOrder", "transformerOrder"),
];

/// The file of the Composition a folder must have.
pub(crate) fn find_in(folder: &Folder, place: Span) -> Result<&'static str> {
    find(folder, place)?.ok_or_else(|| {
        let message = format!("there is no Composition in `{}`", folder.shown().display());
        Diagnostic::error("composition-not-found", message)
            .at(place)
            .help("it needs a file called `composition.yaml`")
    })
}

/// The file of a folder's Composition, if it has one. Beside a kustomization, or twice, it is an error. Other tools have
/// Compositions too, and kustomizations list them as resources: those do not count.
pub(crate) fn find(folder: &Folder, place: Span) -> Result<Option<&'static str>> {
    if !FILE_NAMES.into_iter().any(|name| folder.has_file(name)) {
        return Ok(None);
    }
    let kustomization = crate::files::KUSTOMIZATION_FILES.into_iter().find(|name| folder.has_file(name));
    let mut found = FILE_NAMES
        .into_iter()
        .filter(|name| folder.has_file(name) && counts(folder, name, place, kustomization.is_some()));
    let (Some(name), second) = (found.next(), found.next()) else { return Ok(None) };
    let other = second.or(kustomization);
    match other {
        None => Ok(Some(name)),
        Some(other) => {
            let message = format!("`{}` holds both `{name}` and `{other}`", folder.shown().display());
            Err(Diagnostic::error("composition-ambiguous", message)
                .at(place)
                .help("a folder can have only one of them; move the other to another folder"))
        }
    }
}

/// Whether what a file holds is one of our Compositions, whatever the file is called.
pub(crate) fn is_composition(root: &Node) -> bool {
    let text = |key: &str| root.get(key).and_then(Node::text);
    text("kind") == Some("Composition") && text("apiVersion").is_none_or(is_kustomize)
}

/// Whether a file among resources holds a Composition and nothing else.
pub(crate) fn is_in(source: &Arc<Source>) -> bool {
    // Few files have the word in them, and only those are parsed for it.
    memchr::memmem::find(source.text().as_bytes(), b"Composition").is_some()
        && krm_yaml::parse(source).is_ok_and(|documents| match &documents[..] {
            [document] => is_composition(&document.root) && document.root.at(["metadata", "name"]).is_none(),
            _ => false,
        })
}

/// Whether a file that is called like a Composition is meant as one. Where there is a kustomization it must say so; where
/// there is none, only the type of another tool says otherwise, and mistakes are left to the reading.
fn counts(folder: &Folder, name: &str, place: Span, beside_kustomization: bool) -> bool {
    let read = folder.load(name, place).and_then(|source| krm_yaml::parse(&source));
    let Ok(documents) = read else { return !beside_kustomization };
    let text = |key: &str| documents.first()?.root.get(key)?.text();
    match (text("apiVersion"), text("kind")) {
        (Some(version), _) if is_kustomize(version) => true,
        (None, Some("Composition")) => true,
        (Some(_), Some("Composition")) => false,
        _ => !beside_kustomization,
    }
}

impl Composition {
    /// Reads the Composition in a file of the folder.
    pub(crate) fn load(
        folder: &Folder,
        file: &str,
        place: Span,
    ) -> Result<(Self, Arc<Source>, Vec<Diagnostic>)> {
        let source = folder.load(file, place)?;
        let (composition, warnings) = Self::parse(&source)?;
        Ok((composition, source, warnings))
    }

    fn parse(source: &Arc<Source>) -> Result<(Self, Vec<Diagnostic>)> {
        let mut documents = krm_yaml::parse(source)?.into_iter().map(|document| document.root);
        let Some(mut root) = documents.next().filter(|root| !root.is_null()) else {
            return Ok((Self::default(), Vec::new()));
        };
        if let Some(second) = documents.find(|root| !root.is_null()) {
            return Err(Diagnostic::error("composition-documents", "a Composition is one document")
                .at(second.span())
                .help("list its transformers under `transformers:`"));
        }
        krm_yaml::merge_keys::resolve(&mut root)?;
        refuse_old_fields(&root)?;
        refuse_fields_of_kustomizations(&root)?;
        let composition: Self = krm_yaml::from_node(&root)?;
        let mut warnings = Vec::new();
        composition.check_type(&root, &mut warnings)?;
        Ok((composition, warnings))
    }

    fn check_type(&self, root: &Node, warnings: &mut Vec<Diagnostic>) -> Result<()> {
        if *self.kind != "Composition" {
            let message = match self.kind.as_str() {
                "" => "a Composition needs `kind: Composition`".to_owned(),
                other => format!("expected `kind: Composition`, found `{other}`"),
            };
            let place = if self.kind.span().is_none() { first_line(root) } else { self.kind.span() };
            return Err(Diagnostic::error("composition-kind", message)
                .at(place)
                .help("write `kind: Composition`"));
        }
        match self.api_version.as_str() {
            version if API_VERSIONS.contains(&version) => Ok(()),
            "" => {
                let warning =
                    Diagnostic::warning("composition-no-version", "a Composition needs an apiVersion");
                warnings
                    .push(warning.at(first_line(root)).help(format!("write `apiVersion: {API_VERSION}`")));
                Ok(())
            }
            other => {
                let message = format!("the apiVersion of a Composition cannot be `{other}`");
                Err(Diagnostic::error("composition-version", message)
                    .at(self.api_version.span())
                    .help(format!("it is `{}`", API_VERSIONS.join("` or `"))))
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.transformers_from.is_empty() && self.transformers.is_empty()
    }
}

fn first_line(root: &Node) -> Span {
    root.as_map().and_then(|map| map.entries().first()).map_or(root.span(), |entry| entry.key.span())
}

/// Fields of kustomizations that people write by habit, and the built-ins that do the same.
const OF_KUSTOMIZATIONS: [(&str, &str); 15] = [
    ("bases", "ResourceAccumulator"),
    ("commonAnnotations", "AnnotationsTransformer"),
    ("commonLabels", "LabelTransformer"),
    ("configMapGenerator", "ConfigMapGenerator"),
    ("helmCharts", "HelmChartInflationGenerator"),
    ("images", "ImageTagTransformer"),
    ("labels", "LabelTransformer"),
    ("namePrefix", "PrefixTransformer"),
    ("nameSuffix", "SuffixTransformer"),
    ("namespace", "NamespaceTransformer"),
    ("patches", "PatchTransformer"),
    ("replacements", "ReplacementTransformer"),
    ("replicas", "ReplicaCountTransformer"),
    ("resources", "ResourceAccumulator"),
    ("secretGenerator", "SecretGenerator"),
];

fn refuse_fields_of_kustomizations(root: &Node) -> Result<()> {
    let errors = root.as_map().into_iter().flatten().filter_map(|entry| {
        let key = entry.key.text()?;
        let help = match OF_KUSTOMIZATIONS.iter().find(|(field, _)| *field == key) {
            Some((_, kind)) => format!("add `{{apiVersion: builtin, kind: {kind}}}` to `transformers`"),
            None if matches!(key, "generators" | "validators") => "list them in `transformers`".to_owned(),
            None => return None,
        };
        let message = format!("`{key}` is a field of kustomizations, not of Compositions");
        Some(Diagnostic::error("unknown-field", message).at(entry.key.span()).help(help))
    });
    Diagnostic::join(errors).map_or(Ok(()), Err)
}

fn refuse_old_fields(root: &Node) -> Result<()> {
    let errors = root.as_map().into_iter().flatten().filter_map(|entry| {
        let key = entry.key.text()?;
        let (old, new) = OLD_FIELDS.iter().find(|(old, _)| *old == key)?;
        let message = format!("`{old}` is from an early draft of the format");
        Some(
            Diagnostic::error("composition-old-field", message)
                .at(entry.key.span())
                .help(format!("write `{new}`")),
        )
    });
    let providers =
        root.as_map().into_iter().flatten().flat_map(|entry| entry.value.items()).filter_map(|item| {
            let entry = item.as_map()?.entry("provider").filter(|_| item.get("runtime").is_none())?;
            Some(
                Diagnostic::error("composition-old-field", "`provider` is from an early draft of the format")
                    .at(entry.key.span())
                    .help("write `runtime`"),
            )
        });
    Diagnostic::join(errors.chain(providers)).map_or(Ok(()), Err)
}
