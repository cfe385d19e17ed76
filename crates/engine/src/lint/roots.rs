//! Every root, built; and what it means that a finding holds in all of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Diagnostic, Failure, Result};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Check;
use super::stated::{self, By, Stated};
use crate::files::dependencies::Dependencies;
use crate::resource::list::Resources;
use crate::workspace::{Layer, LayerKind};

/// A folder that is built for its own sake: no other includes it, or Flux or Argo CD deploy it.
pub(super) struct Root<'a> {
    pub layer: &'a Layer,
    pub built: Result<Resources>,
    /// Its own, and those of whatever it is made of.
    pub warnings: Vec<Diagnostic>,
    /// Everything it read.
    files: FxHashSet<PathBuf>,
}

/// Whether an error says nothing about the files: what a root needs is not available.
fn is_of_the_machine(error: &Diagnostic) -> bool {
    error.failure().is_some_and(Failure::is_of_the_machine)
}

impl Root<'_> {
    /// Why it cannot be built here, if the files are not to blame.
    pub(crate) fn unbuilt(&self) -> Option<(String, Diagnostic)> {
        let error = self.built.as_ref().err()?;
        let mut all = std::iter::once(error).chain(error.others());
        let missing = all.find(|error| is_of_the_machine(error))?;
        Some((self.layer.shown.clone(), missing.clone()))
    }

    pub(crate) fn is_unbuilt(&self) -> bool {
        self.built.is_err()
    }

    /// Whether a file is part of it.
    pub(crate) fn uses(&self, path: &Path) -> bool {
        self.files.contains(path)
    }
}

/// What is wrong in the files of a root that cannot be built.
pub(super) fn errors_of(root: &Root) -> Vec<Diagnostic> {
    fn flatten(error: &Diagnostic, all: &mut Vec<Diagnostic>) {
        all.push(error.alone());
        error.others().iter().for_each(|other| flatten(other, all));
    }
    let mut all = Vec::new();
    if let Err(error) = &root.built {
        flatten(error, &mut all);
    }
    all.retain(|error| !is_of_the_machine(error));
    all
}

/// Builds every root that anything is wanted of. What is built may state further roots.
pub(super) fn build<'a>(cx: &Check<'a>) -> Vec<Root<'a>> {
    let first = build_layers(cx, layers(cx, &deployed(cx, &[])));
    let more = layers(cx, &deployed(cx, &first));
    let is_new = |layer: &&Layer| !first.iter().any(|root| root.layer.folder == layer.folder);
    let more: Vec<&Layer> = more.into_iter().filter(is_new).collect();
    let mut all = first;
    if !more.is_empty() {
        all.extend(build_layers(cx, more));
        all.sort_by(|a, b| a.layer.folder.cmp(&b.layer.folder));
    }
    all
}

fn build_layers<'a>(cx: &Check<'a>, layers: Vec<&'a Layer>) -> Vec<Root<'a>> {
    let targets: Vec<String> = layers.iter().map(|layer| layer.shown.clone()).collect();
    let session = cx.lint.session;
    let results = session.build(&targets).targets;
    let roots = layers.into_par_iter().zip(results).map(|(layer, built)| {
        let target = layer.shown.clone();
        // It is built already: this only asks for what belongs to it.
        let warnings = session.build(std::slice::from_ref(&target)).warnings;
        let dependencies = session.dependencies(&target);
        let all = dependencies.iter().flat_map(Dependencies::all);
        let paths = all.flat_map(|part: Arc<Dependencies>| part.paths());
        // A file that was asked whether it is a folder counts as not found, so what was found does not matter.
        let files = paths.map(|(path, _)| path).collect();
        Root { layer, built, warnings, files }
    });
    roots.collect()
}

/// Folders whose kustomizations are deployed by convention, also where others include them.
const DEPLOYED: [&str; 5] = ["overlays", "overlay", "clusters", "environments", "envs"];
/// Folders of which something is made before it is built.
const TEMPLATES: [&str; 3] = ["template", "templates", "testdata"];

fn layers<'a>(cx: &Check<'a>, stated: &[(PathBuf, By)]) -> Vec<&'a Layer> {
    let workspace = cx.lint.workspace;
    let is_below = |layer: &Layer, names: &[&str]| {
        let below = layer.folder.strip_prefix(&cx.lint.tree.root).unwrap_or(&layer.folder);
        below.iter().any(|part| names.iter().any(|name| part == *name))
    };
    let mut all: Vec<&Layer> = workspace.roots();
    all.retain(|layer| !is_below(layer, &TEMPLATES));
    all.extend(workspace.layers().filter(|layer| is_below(layer, &DEPLOYED) && !is_below(layer, &TEMPLATES)));
    all.extend(stated.iter().filter_map(|(folder, _)| workspace.layer(folder)));
    all.retain(|layer| layer.kind != LayerKind::Component);
    all.sort_by(|a, b| a.folder.cmp(&b.folder));
    all.dedup_by(|a, b| a.folder == b.folder);
    let of_layer = |layer: &Layer| {
        let mut paths = layer.references.iter().filter_map(|reference| reference.target.path());
        cx.is_wanted(&layer.file) || paths.any(|path| cx.is_wanted(path))
    };
    let is_wanted = |layer: &&Layer| {
        cx.options.only.is_empty() || workspace.closure(layer).iter().any(|layer| of_layer(layer))
    };
    all.retain(is_wanted);
    all
}

/// The folders and files that Flux and Argo CD deploy, by the files of the tree and by what roots build to.
pub(super) fn deployed(cx: &Check, roots: &[Root]) -> Vec<(PathBuf, By)> {
    let tree = cx.lint.tree;
    let built = roots.iter().flat_map(|root| &root.built).flat_map(|built| built.iter());
    let mut stated: Vec<Stated> = built.flat_map(|r| stated::in_resource(r.node())).collect();
    stated.extend(tree.stated().cloned());
    stated.sort();
    stated.dedup();
    let of = |stated: &Stated| {
        let found = stated.found(&**cx.lint.world, &tree.root);
        found.into_iter().map(|path| (path, stated.by)).collect::<Vec<_>>()
    };
    let mut all: Vec<(PathBuf, By)> = stated.iter().flat_map(of).collect();
    all.sort();
    all.dedup();
    all
}

/// Where a finding is: texts may have been read more than once.
type Key = (String, u32, u32, &'static str);

pub(super) fn key(cx: &Check, finding: &Diagnostic) -> Key {
    let place = finding.place();
    let name = cx.lint.sources.get(place.file).map(|source| source.name().to_owned());
    (name.unwrap_or_default(), place.start, place.end, finding.code())
}

/// What a root that cannot be built says about a finding of others which use the same file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unbuilt {
    /// It may turn out not to have it.
    HasNone,
    /// Nothing.
    DoesNotCount,
}

/// The findings that each root has which uses the file.
pub(super) fn in_all(
    cx: &Check,
    roots: &[Root],
    found: Vec<Vec<Diagnostic>>,
    unbuilt: Unbuilt,
) -> Vec<Diagnostic> {
    let mut by_key: FxHashMap<Key, (Diagnostic, FxHashSet<usize>)> = FxHashMap::default();
    for (at, findings) in found.into_iter().enumerate() {
        for finding in findings {
            by_key.entry(key(cx, &finding)).or_insert((finding, FxHashSet::default())).1.insert(at);
        }
    }
    let mut using: FxHashMap<String, Vec<usize>> = FxHashMap::default();
    let mut users = |name: &str, finding: &Diagnostic| {
        let find = || {
            let Some(path) = cx.path_of(finding.place()) else { return Vec::new() };
            let uses = |(_, root): &(usize, &Root)| {
                root.uses(&path) && (unbuilt == Unbuilt::HasNone || root.built.is_ok())
            };
            roots.iter().enumerate().filter(uses).map(|(at, _)| at).collect()
        };
        using.entry(name.to_owned()).or_insert_with(find).clone()
    };
    let all = by_key
        .into_iter()
        .filter(|(key, (finding, have))| users(&key.0, finding).iter().all(|user| have.contains(user)));
    all.map(|(_, (finding, _))| finding).collect()
}
