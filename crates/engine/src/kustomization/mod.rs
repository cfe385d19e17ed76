//! The kustomization file: what the user wrote, typed, with places.

mod advice;
mod below;
mod compose;
mod external;
mod fix;
mod odd_values;
mod origin;
mod plan;
mod planning;
mod spellings;

use std::collections::BTreeMap;
use std::sync::Arc;

use krm_yaml::{
    Diagnostic, DuplicateKeys, Failure, Node, ParseOptions, Result, Source, Span, Spanned, Text, nearest,
};
use serde::Deserialize;

use crate::files::folder::Folder;
use crate::files::world::Loader;
use crate::resource::lenient;
use crate::transformers::helm_chart::{Chart, Globals, OldChart};
use crate::transformers::patch;
use crate::transformers::replacement::Replacement;
use crate::transformers::vars::Var;
use crate::transformers::{GeneratorArgs, GeneratorOptions, Image, Label, Pairs, Replica, SortOptions};

pub(crate) use crate::files::KUSTOMIZATION_FILES as FILE_NAMES;
pub(crate) use plan::{Inherited, Plan, Wishes};
pub(crate) use planning::{Planning, Reuse};

/// The JSON Schema of a kustomization, for editors.
pub const JSON_SCHEMA: &str = include_str!("../../data/kustomization.schema.json");

/// A Kustomization or a Component.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Kustomization {
    /// `kustomize.config.k8s.io/v1beta1`, or `v1alpha1` for a Component; may be left out.
    pub api_version: Spanned<Text>,
    /// `Kustomization`, or `Component` for one that acts on what others have; may be left out.
    pub kind: Spanned<Text>,
    /// What the kustomization says about itself; it has no effect on the output.
    pub metadata: Option<Metadata>,
    /// The types that say how lists of custom resources are patched: a file, or a built-in version.
    pub openapi: BTreeMap<Text, Spanned<Text>>,

    /// Files, folders and addresses of what to start from.
    pub resources: Vec<Spanned<Text>>,
    /// Deprecated: use `resources`.
    // Part of `resources` once read.
    pub bases: Vec<Spanned<Text>>,
    /// Folders of components, which act on what is there.
    pub components: Vec<Spanned<Text>>,
    /// Files of OpenAPI definitions that say which fields of custom resources refer to others.
    pub crds: Vec<Spanned<Text>>,
    /// Files that teach the built-ins further fields.
    pub configurations: Vec<Spanned<Text>>,

    /// ConfigMaps to make from literals and files.
    pub config_map_generator: Vec<Spanned<GeneratorArgs>>,
    /// Secrets to make from literals and files.
    pub secret_generator: Vec<Spanned<GeneratorArgs>>,
    /// Options for all generators of this kustomization.
    pub generator_options: GeneratorOptions,
    /// Where charts and the configuration of helm are, for all charts.
    pub helm_globals: Option<Globals>,
    /// Charts to inflate, by the `helm` program; needs `--enable-helm`.
    pub helm_charts: Vec<Spanned<Chart>>,
    /// Deprecated: use `helmCharts`.
    // Part of `helmCharts` once read.
    pub helm_chart_inflation_generator: Vec<Spanned<OldChart>>,
    /// Configurations of generators: paths, folders, or the objects themselves.
    pub generators: Vec<Node>,

    /// Deprecated: use `patches`.
    // Not the same as `patches`: these go first.
    pub patches_strategic_merge: Vec<Node>,
    /// Changes to resources: strategic merge patches and JSON patches, as files or inline.
    pub patches: Vec<Spanned<patch::PatchSpec>>,
    /// The namespace of all resources.
    pub namespace: Spanned<Text>,
    /// A text in front of all names; whatever refers to a name follows.
    pub name_prefix: Spanned<Text>,
    /// A text after all names; whatever refers to a name follows.
    pub name_suffix: Spanned<Text>,
    /// Labels for all resources and, if asked for, their selectors and templates.
    pub labels: Vec<Spanned<Label>>,
    /// Deprecated: use `labels`.
    // Not the same as `labels`: these go last.
    pub common_labels: Pairs,
    /// Annotations for all resources and their templates.
    pub common_annotations: Pairs,
    /// Deprecated: use `patches`.
    // Not the same as `patches`: these go after labels and annotations.
    #[serde(rename = "patchesJson6902")]
    pub patches_json6902: Vec<Spanned<patch::PatchSpec>>,
    /// How many copies workloads run.
    pub replicas: Vec<Replica>,
    /// Other names, tags and digests for images.
    pub images: Vec<Spanned<Image>>,
    /// Deprecated: use `images`.
    // Part of `images` once read.
    pub image_tags: Vec<Spanned<Image>>,
    /// Values to copy from one field to others.
    pub replacements: Vec<Spanned<Replacement>>,
    /// Configurations of transformers to run: paths, folders, or the objects themselves.
    pub transformers: Vec<Node>,
    /// Configurations of validators: paths, folders, or the objects themselves.
    pub validators: Vec<Node>,
    /// Deprecated: use `replacements`.
    pub vars: Vec<Var>,

    /// The order of the output.
    pub sort_options: Option<Spanned<SortOptions>>,
    /// What to note on each resource: `originAnnotations`, `transformerAnnotations`, `managedByLabel`.
    pub build_metadata: Vec<Spanned<Text>>,
}

/// What a kustomization says of itself. Nothing comes of it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Metadata {
    pub name: Text,
    pub namespace: Text,
    pub labels: BTreeMap<Text, Text>,
    pub annotations: BTreeMap<Text, Text>,
}

/// What `buildMetadata` may ask for.
pub(crate) const BUILD_METADATA: [&str; 3] =
    ["originAnnotations", "transformerAnnotations", "managedByLabel"];

impl Kustomization {
    /// The fields in the order in which they act, whatever their order in the file; beside each, those that only say how.
    pub(crate) const ACTING_ORDER: [(&[&str], &[&str]); 21] = [
        (&["resources", "bases", "configurations", "crds", "openapi", "buildMetadata"], &[]),
        (&["configMapGenerator"], &["generatorOptions"]),
        (&["secretGenerator"], &["generatorOptions"]),
        (&["helmCharts", "helmChartInflationGenerator"], &["helmGlobals"]),
        (&["generators"], &[]),
        (&["components"], &[]),
        (&["patchesStrategicMerge"], &[]),
        (&["patches"], &[]),
        (&["namespace"], &[]),
        (&["namePrefix"], &[]),
        (&["nameSuffix"], &[]),
        (&["labels", "commonLabels"], &[]),
        (&["commonAnnotations"], &[]),
        (&["patchesJson6902"], &[]),
        (&["replicas"], &[]),
        (&["images", "imageTags"], &[]),
        (&["replacements"], &[]),
        (&["transformers"], &[]),
        (&["validators"], &[]),
        (&["vars"], &[]),
        (&["sortOptions"], &[]),
    ];

    /// Reads the kustomization of a folder; gives the warnings it deserves, too.
    pub(crate) fn load(folder: &Folder, place: Span) -> Result<(Self, Arc<Source>, Vec<Diagnostic>)> {
        let source = find(folder, place)?;
        let (kustomization, warnings) = Self::parse(&source)?;
        Ok((kustomization, source, warnings))
    }

    /// Reads a kustomization, and makes of its deprecated fields what replaced them.
    pub(crate) fn parse(source: &Arc<Source>) -> Result<(Self, Vec<Diagnostic>)> {
        let (root, twice) = root(source)?;
        let (kustomization, mut warnings) = Self::from_root(&root)?;
        warnings.extend(twice);
        warnings.extend(further_document(source));
        warnings.extend(krm_yaml::odd_spaces(source));
        Ok((kustomization, warnings))
    }

    /// The tree of a folder's kustomization, known to be a right one.
    pub(crate) fn load_root(folder: &Folder) -> Result<Node> {
        let (root, _) = root(&find(folder, Span::NONE)?)?;
        Self::from_root(&root)?;
        Ok(root)
    }

    /// Reads a kustomization from a tree: a file's, or an object within a Composition.
    pub(crate) fn from_root(root: &Node) -> Result<(Self, Vec<Diagnostic>)> {
        if let Some(version) = root.get("apiVersion").filter(|v| v.text().is_some_and(is_of_flux)) {
            return Err(Diagnostic::error("kustomization-of-flux", "this is a Kustomization of Flux")
                .at(version.span())
                .help(
                    "give the file another name, and list it in the `resources:` of a kustomization.yaml",
                ));
        }
        let joined = spellings::joined(root);
        let root = joined.as_ref().unwrap_or(root);
        let (read, noticed) =
            krm_yaml::de::noticing(|| krm_yaml::from_node_with_all_errors(root, lenient::KUSTOMIZATION));
        let mut kustomization: Self = read.map_err(|error| advice::add_all(error, root))?;
        kustomization.check_type()?;
        let mut warnings = fix::deprecated(root);
        warnings.extend(odd_values::field_case(noticed));
        kustomization.fix();
        warnings.extend(odd_values::warnings(&kustomization, root));
        Ok((kustomization, warnings))
    }

    pub(crate) fn is_component(&self) -> bool {
        *self.kind == "Component"
    }

    fn check_type(&self) -> Result<()> {
        let kind = match self.kind.as_str() {
            "" => "Kustomization",
            kind @ ("Kustomization" | "Component") => kind,
            other => {
                let message = format!("the kind of a kustomization cannot be `{other}`");
                return Err(Diagnostic::error("kustomization-kind", message)
                    .at(self.kind.span())
                    .help("it is `Kustomization` or `Component`"));
            }
        };
        let version = match kind {
            "Component" => "kustomize.config.k8s.io/v1alpha1",
            _ => "kustomize.config.k8s.io/v1beta1",
        };
        if !self.api_version.is_empty() && *self.api_version != version {
            let message = format!("the apiVersion of a {kind} cannot be `{}`", self.api_version);
            return Err(Diagnostic::error("kustomization-version", message)
                .at(self.api_version.span())
                .help(format!("it is `{version}`")));
        }
        Ok(())
    }
}

fn is_of_flux(api_version: &str) -> bool {
    api_version.starts_with("kustomize.toolkit.fluxcd.io/")
}

/// The tree of a kustomization file, and a warning if a key is given twice: the last one counts. Documents after the
/// first are ignored, as in the reference.
// quirk(kustomization-first-document): Of a kustomization file the first document counts, and the others are ignored.
// (`types.Kustomization.Unmarshal`)
fn root(source: &Arc<Source>) -> Result<(Node, Option<Diagnostic>)> {
    let (document, twice) = match krm_yaml::documents(source).next().transpose() {
        Ok(document) => (document, None),
        Err(error) if error.failure() == Some(Failure::DuplicateKey) => {
            let warning = Diagnostic::warning("kustomization-key-twice", error.message()).at(error.place());
            let warning = error.notes().iter().fold(warning, |w, note| w.note(&note.message, note.place));
            let warning = warning.help("the last one counts; remove the others");
            let options = ParseOptions::default().duplicate_keys(DuplicateKeys::LastWins);
            (krm_yaml::parse_with(source, options)?.into_iter().next(), Some(warning))
        }
        Err(error) => return Err(error),
    };
    let root = document.map(|document| document.root);
    let Some(mut root) = root.filter(|root| !root.is_null()) else { return Err(empty(source)) };
    krm_yaml::merge_keys::resolve(&mut root)?;
    if root.is_map() && says_nothing(&root) {
        return Err(empty(source));
    }
    Ok((root, twice))
}

/// A warning if a second document follows: nobody reads it.
fn further_document(source: &Arc<Source>) -> Option<Diagnostic> {
    // Few files have one, so few are read any further. Nor do most begin with a space or a bracket, which is how a
    // document may end in the middle of a file.
    let text = source.text();
    let first = text.lines().find(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    let may_end_early = first.is_some_and(|line| line.starts_with([' ', '{']));
    if !may_end_early && !text.contains("\n---") {
        return None;
    }
    let unread = |place, advice: &str| {
        let message = "only the first document of a kustomization counts";
        Some(Diagnostic::warning("kustomization-documents", message).at(place).help(advice))
    };
    let mut documents = krm_yaml::documents(source).filter(|document| match document {
        Ok(document) => !document.root.is_null(),
        Err(_) => true,
    });
    match documents.nth(1)? {
        Ok(second) => unread(
            second.root.span(),
            "put these fields into the first document, or into a file of their own",
        ),
        Err(error) => unread(error.place(), "begin these lines in the column of the first field"),
    }
}

/// Finds the one kustomization file of a folder.
pub(crate) fn find(folder: &Folder, place: Span) -> Result<Arc<Source>> {
    let found: Vec<&str> = FILE_NAMES.into_iter().filter(|name| folder.has_file(name)).collect();
    let shown = folder.shown().display();
    match found[..] {
        [name] => folder.load(name, place),
        [] => {
            let message = format!("there is neither a kustomization nor a Composition in `{shown}`");
            let diagnostic = Diagnostic::error("kustomization-not-found", message).at(place);
            let entries = folder.entries();
            let names = || entries.iter().filter_map(|entry| entry.name.to_str());
            let near = names().find(|name| nearest(name, FILE_NAMES).is_some());
            // `kustomize.yaml` is further from the right name than a slip of the hand.
            let near = near.or_else(|| {
                names().find(|name| {
                    name.starts_with("kustomiz") && (name.ends_with(".yaml") || name.ends_with(".yml"))
                })
            });
            let below = if near.is_none() { below::advice(folder, place) } else { None };
            let other_tool = names().find(|name| crate::composition::FILE_NAMES.contains(name));
            Err(match near {
                None if let Some(advice) = below => diagnostic.help(advice),
                None if let Some(name) = other_tool => {
                    diagnostic.help(format!("`{name}` in it is a Composition of another tool"))
                }
                Some(near) => diagnostic.help(format!("rename `{near}` to `{}`", FILE_NAMES[0])),
                None if folder.has_file("Kptfile") => diagnostic
                    .help(format!(
                        "it is a package: beside its Kptfile put a `{}` that lists its files",
                        FILE_NAMES[0]
                    ))
                    .help("a build does not run the functions of a Kptfile; `krm fn render` does"),
                None => {
                    let names = format!("`{}` or `composition.yaml`", FILE_NAMES[0]);
                    diagnostic.help(format!("it needs a file called {names}"))
                }
            })
        }
        [first, second, ..] => {
            let message = format!("there are several kustomizations in `{shown}`: `{first}` and `{second}`");
            Err(Diagnostic::error("kustomization-ambiguous", message).at(place).help("keep one of them"))
        }
    }
}

fn empty(source: &Source) -> Diagnostic {
    Diagnostic::error("kustomization-empty", format!("`{}` is empty", source.name()))
        .at(source.span(0, 0))
        .help("list what it is made of under `resources:`")
}

/// Whether nothing but the type is written, or nothing with a value.
fn says_nothing(root: &Node) -> bool {
    let is_type = |key: &str| key.eq_ignore_ascii_case("apiVersion") || key.eq_ignore_ascii_case("kind");
    root.as_map().into_iter().flatten().all(|entry| {
        let value = &entry.value;
        value.is_null() || value.as_str() == Some("") || entry.key.text().is_some_and(is_type)
    })
}
