//! What `krm plan` shows: the consolidated list, as a Composition that builds to the same resources.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Entry, Node, Span};

use crate::composition::{Entry as Listed, default_name};
use crate::files::folder::Folder;
use crate::files::world::{Loader, clean};
use crate::kustomization::Kustomization;

/// An entry of the list, made to stand in the target's folder.
pub struct Outlined {
    /// The transformer, its relative paths rewritten to start from the target's folder.
    pub config: Node,
    /// Where it was written.
    pub place: Span,
    /// Where it was changed, innermost first.
    pub overrides: Vec<Span>,
}

/// Where transformers name files: a kind, and the way to the field; `*` is every item.
///
/// Fields of an inline kustomization count too. What a function's own configuration means by a path is its own affair.
const PATHS: &[(&str, &[&str])] = &[
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

impl Outlined {
    /// Makes an entry stand in the target's folder.
    pub fn new(entry: &Listed, target: &Folder) -> Self {
        let mut config = entry.config.clone();
        let kind = match entry.identity.kind.as_str() {
            "Component" => "Kustomization",
            kind => kind,
        };
        for (_, path) in PATHS.iter().filter(|(of, _)| of.is_empty() || *of == kind) {
            rewrite(&mut config, path, entry, target);
        }
        let overrides = entry.overrides.iter().map(|change| change.place).collect();
        Self { config, place: entry.place, overrides }
    }

    /// The fields of a kustomization, in the order in which they act: each an inline kustomization of its own.
    pub fn of_kustomization(root: &Node) -> Vec<Self> {
        let mut outlined = Vec::new();
        for (fields, manner) in Kustomization::ACTING_ORDER {
            let is_in = |entry: &&Entry, names: &[&str]| {
                entry.key.text().is_some_and(|key| names.iter().any(|name| name.eq_ignore_ascii_case(key)))
            };
            let written = || root.as_map().into_iter().flatten().filter(|entry| !entry.value.is_empty());
            let Some(first) = written().find(|entry| is_in(entry, fields)) else { continue };
            let acting = written().filter(|entry| is_in(entry, fields) || is_in(entry, manner));
            let mut config = kustomization(&default_name(first.key.text().unwrap_or_default()));
            if let Some(map) = config.as_map_mut() {
                acting.for_each(|entry| map.push(entry.key.clone(), entry.value.clone()));
            }
            outlined.push(Self { config, place: first.key.span(), overrides: Vec::new() });
        }
        if outlined.is_empty() {
            // Nothing acts, and nothing comes of it: that is a build too.
            outlined.push(Self { config: kustomization("empty"), place: root.span(), overrides: Vec::new() });
        }
        outlined
    }
}

fn kustomization(name: &str) -> Node {
    let mut config = Node::map();
    config.set("apiVersion", "kustomize.config.k8s.io/v1beta1");
    config.set("kind", "Kustomization");
    config.set("metadata", [("name", name)].into_iter().collect::<Node>());
    config
}

fn rewrite(node: &mut Node, path: &[&str], entry: &Listed, target: &Folder) {
    match path.split_first() {
        None => {
            let Some(text) = node.as_str() else { return };
            let written_in = folder_of(entry, node.span());
            if let Some(moved) = moved(text, written_in, target) {
                node.assign(Node::from(moved));
            }
        }
        Some((&"*", rest)) => {
            if let Some(items) = node.as_seq_mut() {
                items.iter_mut().for_each(|item| rewrite(item, rest, entry, target));
            }
        }
        Some((field, rest)) => {
            if let Some(child) = node.get_mut(field) {
                rewrite(child, rest, entry, target);
            }
        }
    }
}

/// The folder a scalar's relative path starts from: that of the file the scalar was written in.
fn folder_of(entry: &Listed, place: Span) -> &Arc<Folder> {
    let change = entry.overrides.iter().find(|change| change.place.file == place.file);
    change.filter(|_| place.file != entry.place.file).map_or(&entry.folder, |change| &change.folder)
}

/// A path of one folder as seen from another; `None` where it stays as it is.
fn moved(text: &str, from: &Folder, to: &Folder) -> Option<String> {
    // `key=path` in generators; objects written inline; addresses; programs found by name alone.
    let (key, path) = match text.split_once('=') {
        Some((key, path)) if !key.contains('/') => (Some(key), path),
        _ => (None, text),
    };
    let is_path = !path.contains(['\n', '{']) && !path.contains("://") && !path.contains("@");
    if from.root() == to.root() || !is_path || Path::new(path).is_absolute() {
        return None;
    }
    let moved = relative(&clean(&from.root().join(path)), to.root());
    // A program with a slash is a path, one without is looked for: keep it a path.
    let moved = if moved.contains('/') { moved } else { format!("./{moved}") };
    Some(match key {
        Some(key) => format!("{key}={moved}"),
        None => moved,
    })
}

/// The way from a folder to a path, both absolute.
fn relative(path: &Path, folder: &Path) -> String {
    let shared = path.components().zip(folder.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(path.components().skip(shared)).collect();
    way.to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_between_folders() {
        for (path, folder, way) in [
            ("/a/b/c", "/a/b", "c"),
            ("/a/b/c", "/a/d", "../b/c"),
            ("/x", "/a/b", "../../x"),
            ("/a/b", "/a/b", ""),
        ] {
            assert_eq!(relative(Path::new(path), Path::new(folder)), way);
        }
    }
}
