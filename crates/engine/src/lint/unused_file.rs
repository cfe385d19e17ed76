//! `unused-file`: a resource beside a kustomization that nothing names.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use krm_yaml::{Diagnostic, Failure, Fix, Node, Span, decode, decode_lossy};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::Check;
use super::removal::edited;
use super::roots::{Root, deployed};
use super::stated::By;
use super::tree::is_yaml;
use crate::composition;
use crate::edit::lists::Paths;
use crate::files::world::clean;
use crate::files::{KUSTOMIZATION_FILES, relative};
use crate::workspace::{Layer, ReferenceTarget};

/// The most to report one by one if nothing states what is deployed; more are only counted.
const MOST: usize = 20;

pub(super) fn findings(cx: &Check, roots: &[Root]) -> Vec<Diagnostic> {
    let mut candidates = candidates(cx);
    if candidates.is_empty() {
        return Vec::new();
    }
    let named = named(cx, roots);
    candidates.retain(|(path, _)| !named.names(path) && !roots.iter().any(|root| root.uses(path)));
    drop_mentioned(cx, &mut candidates);
    candidates.retain(|(path, _)| cx.is_wanted(path));
    let states_nothing = cx.lint.tree.stated().next().is_none();
    if states_nothing && candidates.len() > MOST {
        let folders: BTreeSet<_> = candidates.iter().map(|(path, _)| path.parent()).collect();
        let message = format!(
            "{} resources in {} folders with a kustomization are named by nothing",
            candidates.len(),
            folders.len()
        );
        let first = relative(&candidates[0].0, &cx.here);
        return vec![
            Diagnostic::warning("unused-files", message)
                .failing(Failure::Unnecessary)
                .note(format!("the first is `{first}`"), Span::NONE)
                .help("to see all of them, name a folder with fewer, as `krm lint DIR`"),
        ];
    }
    candidates.into_iter().filter_map(|(path, layer)| finding(cx, &path, layer)).collect()
}

/// Resources in the folders of kustomizations, and the kustomization.
fn candidates<'a>(cx: &Check<'a>) -> Vec<(PathBuf, &'a Layer)> {
    let mut found = Vec::new();
    for (path, facts) in &cx.lint.tree.files {
        let Some(api_version) =
            facts.api_version.as_deref().filter(|_| is_yaml(path) && !facts.is_local_config)
        else {
            continue;
        };
        let Some(layer) = path.parent().and_then(|folder| cx.lint.workspace.layer(folder)) else { continue };
        let is_own =
            |name: &OsStr| KUSTOMIZATION_FILES.iter().chain(&composition::FILE_NAMES).any(|own| name == *own);
        let is_own = path.file_name().is_some_and(is_own);
        // A kustomization that cannot be read may name anything.
        if !is_own && !is_for_a_tool(api_version) && !is_set_aside(path) && layer.root.is_some() {
            found.push((path.clone(), layer));
        }
    }
    found.retain(|(path, _)| !is_in_a_package(cx, path));
    found
}

/// Files that other programs read, and no cluster.
fn is_for_a_tool(api_version: &str) -> bool {
    const GROUPS: [&str; 22] = [
        "audit.k8s.io/",
        "backstage.io/",
        "builtin",
        "client.authentication.k8s.io/",
        "clusterctl.cluster.x-k8s.io/",
        "config.kubernetes.io/",
        "config.openshift.io/v1beta",
        "controller-runtime.sigs.k8s.io/",
        "ctlptl.dev/",
        "dev.nephio.org/",
        "eksctl.io/",
        "fn.kpt.dev/",
        "k3d.io/",
        "kind.x-k8s.io/",
        "kpt.dev/",
        "kubeadm.k8s.io/",
        "kubelet.config.k8s.io/",
        "kustomize.config.k8s.io/",
        "kuttl.dev/",
        "chainsaw.kyverno.io/",
        "skaffold/",
        "viaduct.ai/",
    ];
    GROUPS.iter().any(|group| api_version.starts_with(group))
}

/// Whether its name says that it is not meant to be used.
fn is_set_aside(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    name.starts_with(['.', '_'])
        || ["example", "sample", "template", "disabled"].iter().any(|word| name.contains(word))
}

/// Whether something takes the folder as a whole: a chart, or a package of functions.
fn is_in_a_package(cx: &Check, path: &Path) -> bool {
    let within = |folder: &&Path| folder.starts_with(&cx.lint.tree.root);
    let mut above = path.ancestors().skip(1).take_while(within);
    let world = &cx.lint.world;
    above.any(|folder| {
        ["Chart.yaml", "Kptfile", "fleet.yaml"].iter().any(|name| world.is_file(&folder.join(name)))
    })
}

/// Everything that something names.
#[derive(Default)]
struct Named {
    files: FxHashSet<PathBuf>,
    /// Taken with everything that is in them.
    folders: Vec<PathBuf>,
}

impl Named {
    fn names(&self, path: &Path) -> bool {
        self.files.contains(path) || self.folders.iter().any(|folder| path.starts_with(folder))
    }
}

fn named(cx: &Check, roots: &[Root]) -> Named {
    let mut named = Named::default();
    for layer in cx.lint.workspace.layers() {
        for reference in &layer.references {
            match &reference.target {
                ReferenceTarget::File(path) => {
                    named.files.insert(path.clone());
                }
                ReferenceTarget::Folder(path) => named.folders.push(path.clone()),
                _ => {}
            }
        }
        in_configurations(cx, layer, &mut named);
    }
    for (path, by) in deployed(cx, roots) {
        let is_layer = cx.lint.workspace.layer(&path).is_some();
        if cx.lint.world.is_file(&path) {
            named.files.insert(path);
        } else if by == By::ArgoCd && !is_layer {
            // Flux makes kustomizations for folders that have none, and uses those that are there.
            named.folders.push(path);
        }
    }
    named
}

/// Whatever is a path in the configuration of a generator or transformer counts: only the program knows what it means.
fn in_configurations(cx: &Check, layer: &Layer, named: &mut Named) {
    let Some(root) = &layer.root else { return };
    let mut open: Vec<(PathBuf, Node)> = Vec::new();
    for field in ["generators", "transformers", "validators"] {
        for entry in root.get(field).map(Node::items).unwrap_or_default() {
            match entry.as_str() {
                Some(path) if !path.contains('\n') => {
                    let file = clean(&layer.folder.join(path));
                    for document in documents(cx, &file) {
                        let folder = file.parent().unwrap_or(&layer.folder).to_owned();
                        open.push((folder, document.clone()));
                        open.push((layer.folder.clone(), document));
                    }
                }
                Some(text) => {
                    let documents = krm_yaml::parse_str(text).unwrap_or_default();
                    open.extend(documents.into_iter().map(|document| (layer.folder.clone(), document.root)));
                }
                None => open.push((layer.folder.clone(), entry.clone())),
            }
        }
    }
    for (folder, config) in open {
        texts(&config, &mut |text| {
            let path = text.rsplit_once('=').map_or(text, |(_, path)| path);
            if path.contains('.') && !path.contains('\n') && path.len() < 1000 {
                named.files.insert(clean(&folder.join(path)));
            }
        });
    }
}

fn documents(cx: &Check, file: &Path) -> Vec<Node> {
    let Some(text) = cx.lint.world.read(file).ok().and_then(|bytes| decode(bytes).ok()) else {
        return Vec::new();
    };
    krm_yaml::parse_str(&text).unwrap_or_default().into_iter().map(|document| document.root).collect()
}

fn texts(node: &Node, each: &mut dyn FnMut(&str)) {
    if let Some(text) = node.as_str() {
        each(text);
    }
    node.items().iter().for_each(|item| texts(item, each));
    node.as_map().into_iter().flatten().for_each(|entry| texts(&entry.value, each));
}

/// Leaves out what a script, a document or any other file of the tree mentions: by the path from there, or by its name and
/// that of its folder.
fn drop_mentioned(cx: &Check, candidates: &mut Vec<(PathBuf, &Layer)>) {
    if candidates.is_empty() {
        return;
    }
    let tree = cx.lint.tree;
    let wanted: FxHashSet<String> = candidates.iter().filter_map(|(path, _)| last_two(path)).collect();
    let names: FxHashSet<&OsStr> = candidates.iter().filter_map(|(path, _)| path.file_name()).collect();
    let files =
        tree.texts.par_iter().chain(tree.files.par_iter().map(|(path, _)| path).filter(|path| is_yaml(path)));
    let mentioned = files.map(|file| {
        let Ok(bytes) = cx.lint.world.read(file) else { return Vec::new() };
        let text = decode_lossy(bytes);
        let mut found = Vec::new();
        for (at, ending) in text.match_indices(".y").filter(|_| text.len() < LONGEST) {
            let Some(end) = ["aml", "ml"].iter().find(|rest| text[at + ending.len()..].starts_with(**rest))
            else {
                continue;
            };
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
            let start = text[..at]
                .rfind(|c| !is_part(c))
                .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
            let token = Path::new(&text[start..at + ending.len() + end.len()]);
            if token.file_name().is_some_and(|name| names.contains(name)) {
                let from_here = clean(&file.parent().unwrap_or(Path::new("")).join(token));
                found.push((from_here, last_two(token).filter(|two| wanted.contains(two))));
            }
        }
        found
    });
    let mentioned: Vec<(PathBuf, Option<String>)> = mentioned.flatten().collect();
    let paths: FxHashSet<&Path> = mentioned.iter().map(|(path, _)| &**path).collect();
    let pairs: FxHashSet<&str> = mentioned.iter().filter_map(|(_, two)| two.as_deref()).collect();
    candidates.retain(|(path, _)| {
        !paths.contains(&**path) && !last_two(path).is_some_and(|two| pairs.contains(two.as_str()))
    });
}

/// Longer files hold data.
const LONGEST: usize = 1 << 20;

/// The name of a file with that of its folder.
fn last_two(path: &Path) -> Option<String> {
    let folder = path.parent()?.file_name()?.to_str()?;
    Some(format!("{folder}/{}", path.file_name()?.to_str()?))
}

fn finding(cx: &Check, path: &Path, layer: &Layer) -> Option<Diagnostic> {
    let source = cx.lint.sources.add_bytes(relative(path, &cx.here), cx.lint.world.read(path).ok()?).ok()?;
    let document = krm_yaml::documents(&source).next()?.ok()?;
    let key = document.root.as_map()?.iter().next()?.key.span();
    let name = path.file_name()?.to_string_lossy();
    let message = format!("nothing names `{name}`, so it is part of no build");
    let shown = relative(&layer.file, &cx.here);
    let finding = Diagnostic::warning("unused-file", message)
        .failing(Failure::Unnecessary)
        .at(key)
        .help(format!("list it in `{shown}`, or remove it"));
    Some(match listed(cx, layer, &name) {
        Some(fix) => finding.fix(fix),
        None => finding,
    })
}

/// The fix that lists it.
fn listed(cx: &Check, layer: &Layer, name: &str) -> Option<Fix> {
    edited(cx, layer, |file| {
        file.add_paths_unverified(Paths::Resources, &[name.to_owned()]);
        Some(Fix::needs_review("list it under `resources`"))
    })
}
