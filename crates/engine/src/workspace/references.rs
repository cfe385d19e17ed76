//! The files, folders and addresses that a kustomization or a Composition names.

use std::path::{Path, PathBuf};

use krm_function::annotations::{FUNCTION, LEGACY_FUNCTION};
use krm_yaml::{FileId, Node, Sources, Span, Text};

use crate::composition;
use crate::files::repository::{Repository, is_http};
use crate::files::world::{World, clean};
use crate::files::{KUSTOMIZATION_FILES, relative};
use crate::transformers::home_of_chart;

/// A file, folder or address that is named somewhere.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reference {
    /// The field that names it: `resources[0]`, `configMapGenerator[1].files[0]`.
    pub field: String,
    /// As it is written; of `key=path` the path alone.
    pub text: Text,
    /// Where it is written.
    pub span: Span,
    /// What is there.
    pub target: ReferenceTarget,
    /// What is there becomes part of the build: a resource or a base.
    pub is_resource: bool,
    /// Of a configuration that may name files itself: the text it was read from.
    pub named_source: Option<FileId>,
}

impl Reference {
    /// The field of the kustomization that names it: `configMapGenerator` of `configMapGenerator[1].files[0]`.
    pub(crate) fn top_field(&self) -> &str {
        self.field.split(['[', '.']).next().unwrap_or_default()
    }

    /// A base is a folder with a kustomization: nothing is taken from any other, not even from the files below it.
    fn refuse_plain_folder(&mut self) {
        if let ReferenceTarget::Folder(path) = &mut self.target {
            self.target = ReferenceTarget::Missing(std::mem::take(path));
        }
    }
}

/// What a name leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReferenceTarget {
    /// A file.
    File(PathBuf),
    /// A folder with a kustomization or a Composition.
    Layer(PathBuf),
    /// Another folder, taken as a whole.
    Folder(PathBuf),
    /// A repository or a file that has to be fetched.
    Remote(String),
    /// Nothing is there that could be used.
    Missing(PathBuf),
}

impl ReferenceTarget {
    /// Where it is on this machine.
    pub fn path(&self) -> Option<&Path> {
        match self {
            ReferenceTarget::File(path)
            | ReferenceTarget::Layer(path)
            | ReferenceTarget::Folder(path)
            | ReferenceTarget::Missing(path) => Some(path),
            ReferenceTarget::Remote(_) => None,
        }
    }

    /// Whether it is a folder with a kustomization or a Composition.
    pub fn is_layer(&self) -> bool {
        matches!(self, ReferenceTarget::Layer(_))
    }
}

/// Where transformers name files: a kind, and the way to the field; `*` is every item.
///
/// Fields of an inline kustomization count too. What a path in a function's own configuration means is up to the function.
pub(crate) const PATH_FIELDS: &[(&str, &[&str])] = &[
    ("ResourceAccumulator", &["paths", "*"]),
    ("ResourceAccumulator", &["files", "*"]),
    ("ResourceAccumulator", &["resources", "*"]),
    ("ResourceGenerator", &["paths", "*"]),
    ("ResourceGenerator", &["files", "*"]),
    ("ResourceGenerator", &["resources", "*"]),
    ("PatchTransformer", &["path"]),
    ("PatchJson6902Transformer", &["path"]),
    ("PatchStrategicMergeTransformer", &["paths", "*"]),
    ("ReplacementTransformer", &["replacements", "*", "path"]),
    ("ConfigMapGenerator", &["files", "*"]),
    ("ConfigMapGenerator", &["envs", "*"]),
    ("ConfigMapGenerator", &["env"]),
    ("SecretGenerator", &["files", "*"]),
    ("SecretGenerator", &["envs", "*"]),
    ("SecretGenerator", &["env"]),
    ("HelmChartInflationGenerator", &["valuesFile"]),
    ("HelmChartInflationGenerator", &["additionalValuesFiles", "*"]),
    ("HelmChartInflationGenerator", &["chartHome"]),
    ("HelmChartInflationGenerator", &["configHome"]),
    ("Kustomization", &["resources", "*"]),
    ("Kustomization", &["bases", "*"]),
    ("Kustomization", &["components", "*"]),
    ("Kustomization", &["crds", "*"]),
    ("Kustomization", &["configurations", "*"]),
    ("Kustomization", &["openapi", "path"]),
    ("Kustomization", &["generators", "*"]),
    ("Kustomization", &["transformers", "*"]),
    ("Kustomization", &["validators", "*"]),
    ("Kustomization", &["patches", "*", "path"]),
    ("Kustomization", &["patchesStrategicMerge", "*"]),
    ("Kustomization", &["patchesJson6902", "*", "path"]),
    ("Kustomization", &["replacements", "*", "path"]),
    ("Kustomization", &["configMapGenerator", "*", "files", "*"]),
    ("Kustomization", &["configMapGenerator", "*", "envs", "*"]),
    ("Kustomization", &["configMapGenerator", "*", "env"]),
    ("Kustomization", &["secretGenerator", "*", "files", "*"]),
    ("Kustomization", &["secretGenerator", "*", "envs", "*"]),
    ("Kustomization", &["secretGenerator", "*", "env"]),
    ("Kustomization", &["helmGlobals", "chartHome"]),
    ("Kustomization", &["helmGlobals", "configHome"]),
    ("Kustomization", &["helmCharts", "*", "valuesFile"]),
    ("Kustomization", &["helmCharts", "*", "additionalValuesFiles", "*"]),
    ("", &["runtime", "exec", "path"]),
    ("", &["runtime", "wasm", "path"]),
    ("", &["runtime", "container", "mounts", "*", "src"]),
];

/// Every file, folder and address that the file of a layer names, in the order of the file.
///
/// Beside them come the configurations of its generators, transformers and validators, wherever they are written.
pub(super) fn of(
    world: &dyn World,
    sources: &Sources,
    here: &Path,
    folder: &Path,
    root: &Node,
) -> (Vec<Reference>, Vec<Node>) {
    let mut finder = Finder { world, sources, here, folder, found: Vec::new(), configurations: Vec::new() };
    let kind = match root.get("kind").and_then(Node::as_str) {
        Some("Composition") => "Composition",
        _ => "Kustomization",
    };
    finder.object(kind, root, 0);
    // Configurations in files of their own come after the file that names them.
    let own = root.span().file;
    finder.found.sort_by_key(|reference| (reference.span.file != own, reference.span.start));
    finder.found.dedup_by(|a, b| a.span == b.span && a.text == b.text);
    (finder.found, finder.configurations)
}

struct Finder<'w> {
    world: &'w dyn World,
    sources: &'w Sources,
    /// The current folder.
    here: &'w Path,
    folder: &'w Path,
    found: Vec<Reference>,
    configurations: Vec<Node>,
}

/// Fields whose files are configurations that may name further files.
const CONFIGURATIONS: [&str; 4] = ["generators", "transformers", "validators", "transformerOverrides"];
/// Configurations within configurations: deeper than this nobody writes them.
const DEEPEST: usize = 4;

impl Finder<'_> {
    fn object(&mut self, kind: &str, root: &Node, depth: usize) {
        for (of, path) in PATH_FIELDS.iter().filter(|(of, _)| of.is_empty() || *of == kind) {
            let before = self.found.len();
            self.field(root, path, String::new());
            let takes_resources = matches!(*of, "ResourceAccumulator" | "ResourceGenerator")
                || matches!((*of, path[0]), ("Kustomization", "resources" | "bases"));
            self.found[before..].iter_mut().for_each(|reference| reference.is_resource = takes_resources);
            if matches!((*of, path[0]), ("Kustomization", "resources" | "bases" | "components")) {
                self.found[before..].iter_mut().for_each(Reference::refuse_plain_folder);
            }
        }
        match kind {
            "Kustomization" => self.charts(root),
            "Composition" => self.field(root, &["transformersFrom", "*", "path"], String::new()),
            _ => {}
        }
        self.function(root);
        if depth == DEEPEST {
            return;
        }
        for field in CONFIGURATIONS {
            for entry in root.get(field).map(Node::items).unwrap_or_default() {
                match entry.as_str() {
                    None => self.nested(entry, depth),
                    Some(text) if text.contains('\n') => {
                        let documents = krm_yaml::parse_str(text).unwrap_or_default();
                        documents.iter().for_each(|document| self.nested(&document.root, depth));
                    }
                    Some(path) => self.configuration(&clean(&self.folder.join(path)), entry.span(), depth),
                }
            }
        }
    }

    /// A configuration in a file of its own. Its paths begin at the folder of the kustomization, as in a build.
    fn configuration(&mut self, file: &Path, entry: Span, depth: usize) {
        let Ok(bytes) = self.world.read(file) else { return };
        let Ok(source) = self.sources.add_bytes(relative(file, self.here), bytes) else { return };
        if let Some(named) = self.found.iter_mut().find(|named| named.span == entry) {
            named.named_source = Some(source.id());
        }
        for document in krm_yaml::parse(&source).unwrap_or_default() {
            self.nested(&document.root, depth);
        }
    }

    fn nested(&mut self, config: &Node, depth: usize) {
        if let Some(kind) = config.get("kind").and_then(Node::as_str) {
            self.configurations.push(config.clone());
            self.object(kind, config, depth + 1);
        }
    }

    /// Charts that are kept in the tree: the chart home, and the name of the chart in it.
    fn charts(&mut self, root: &Node) {
        let text = |node: Option<&Node>| node.and_then(Node::as_str).unwrap_or_default().to_owned();
        let home = text(root.at(["helmGlobals", "chartHome"]));
        for (at, chart) in root.get("helmCharts").map(Node::items).unwrap_or_default().iter().enumerate() {
            let Some(name) = chart.get("name").filter(|name| name.as_str().is_some()) else { continue };
            let (version, repo) = (text(chart.get("version")), text(chart.get("repo")));
            let as_text = name.as_str().unwrap_or_default();
            let folder = home_of_chart(self.folder, &home, as_text, &version, &repo).join(as_text);
            if self.world.is_dir(&folder) {
                let (field, text) =
                    (format!("helmCharts[{at}].name"), name.text().unwrap_or_default().into());
                let target = ReferenceTarget::Folder(folder);
                self.found.push(Reference {
                    field,
                    text,
                    span: name.span(),
                    target,
                    is_resource: false,
                    named_source: None,
                });
            }
        }
    }

    /// The program that an annotation names.
    fn function(&mut self, config: &Node) {
        let Some(annotations) = config.at(["metadata", "annotations"]).and_then(Node::as_map) else { return };
        for entry in annotations.iter() {
            let is_function = matches!(entry.key.text(), Some(FUNCTION | LEGACY_FUNCTION));
            let Some(text) = entry.value.as_str().filter(|_| is_function) else { continue };
            let documents = krm_yaml::parse_str(text).unwrap_or_default();
            let Some(spec) = documents.first().map(|document| &document.root) else { continue };
            for program in ["exec", "wasm"] {
                if let Some(path) =
                    spec.at([program, "path"]).and_then(Node::as_str).filter(|p| p.contains('/'))
                {
                    self.add(path, entry.value.span(), format!("function.{program}.path"));
                }
            }
        }
    }

    fn field(&mut self, node: &Node, path: &[&str], way: String) {
        let Some((first, rest)) = path.split_first() else {
            if let Some(text) = node.as_str() {
                self.add(text, node.span(), way);
            }
            return;
        };
        if *first == "*" {
            let items = node.items().iter().enumerate();
            items.for_each(|(at, item)| self.field(item, rest, format!("{way}[{at}]")));
        } else if let Some(child) = child(node, first) {
            let way = if way.is_empty() { (*first).to_owned() } else { format!("{way}.{first}") };
            self.field(child, rest, way);
        }
    }

    fn add(&mut self, text: &str, span: Span, field: String) {
        // `key=path` in generators; objects written inline.
        let path = match text.split_once('=') {
            Some((_, path)) if field.contains(".files[") => path,
            _ => text,
        };
        if path.is_empty() {
            return;
        }
        let place = clean(&self.folder.join(path));
        let is_inline = path.contains(['\n', '{']) || path.contains(": ");
        let target = match self.local(&place) {
            // A file may be called so.
            Some(target) => target,
            None if is_inline => return,
            None if is_http(path) || Repository::parse(path).is_some() => {
                ReferenceTarget::Remote(path.to_owned())
            }
            None => ReferenceTarget::Missing(place),
        };
        self.found.push(Reference {
            field,
            text: path.into(),
            span,
            target,
            is_resource: false,
            named_source: None,
        });
    }

    /// What is there, by the real path.
    fn local(&self, place: &Path) -> Option<ReferenceTarget> {
        let real = self.world.real_path(place).ok()?;
        if self.world.is_file(&real) {
            return Some(ReferenceTarget::File(real));
        }
        let mut names = KUSTOMIZATION_FILES.iter().chain(&composition::FILE_NAMES);
        let is_layer = names.any(|name| self.world.is_file(&real.join(name)));
        Some(if is_layer { ReferenceTarget::Layer(real) } else { ReferenceTarget::Folder(real) })
    }
}

/// A field, whatever the case of its letters: a build reads it so. See quirk(maps-in-several-spellings-are-joined).
fn child<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    node.get(name).or_else(|| {
        let mut fields = node.as_map()?.iter();
        let same = |key: &Node| key.text().is_some_and(|key| key.eq_ignore_ascii_case(name));
        fields.find(|entry| same(&entry.key)).map(|entry| &entry.value)
    })
}
