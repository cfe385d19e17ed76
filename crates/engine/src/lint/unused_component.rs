//! `unused-component`: a component that no kustomization lists.
//!
//! One that is listed and matches nothing anywhere is reported entry by entry, by the warnings of builds; and one that
//! matches in some roots is a rule for all of them.

use std::ffi::OsStr;

use krm_yaml::{Diagnostic, Failure, decode_lossy};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::Check;
use super::tree::is_yaml;
use crate::workspace::{Layer, LayerKind};

/// Components that nobody lists, in a tree that states what is deployed, and lists most of its components: others are
/// libraries, and their components are for users elsewhere.
pub(super) fn findings(cx: &Check) -> Vec<Diagnostic> {
    let workspace = cx.lint.workspace;
    let named: FxHashSet<_> = workspace
        .layers()
        .flat_map(|layer| layer.layers_named().map(move |(_, folder)| (layer, folder)))
        .filter(|(layer, folder)| layer.folder != *folder)
        .map(|(_, folder)| folder.to_owned())
        .collect();
    let (used, unused): (Vec<&Layer>, Vec<&Layer>) = workspace
        .layers()
        .filter(|layer| layer.kind == LayerKind::Component && cx.is_wanted(&layer.file))
        .partition(|layer| named.contains(&layer.folder));
    let is_library =
        cx.lint.tree.stated().next().is_none() || (unused.len() > FEW && unused.len() * 10 > used.len());
    if is_library || unused.is_empty() {
        return Vec::new();
    }
    let is_example = |layer: &&Layer| {
        let below = layer.folder.strip_prefix(&cx.lint.tree.root).unwrap_or(&layer.folder);
        let word = |part: &OsStr| {
            let part = part.to_string_lossy().to_lowercase();
            ["example", "sample", "template", "testdata", "disabled"].iter().any(|word| part.contains(word))
        };
        below.iter().any(word)
    };
    let unused: Vec<&Layer> = unused.into_iter().filter(|layer| !is_example(layer)).collect();
    let mentioned = mentioned(cx, &unused);
    let finding = |layer: &&Layer| {
        let root = layer.root.as_ref()?;
        let place = root.as_map()?.iter().next()?.key.span();
        let message = format!("no kustomization lists the component `{}`", layer.shown);
        Some(
            Diagnostic::warning("unused-component", message)
                .failing(Failure::Unnecessary)
                .at(place)
                .help("list it under `components`, or remove it"),
        )
    };
    unused.iter().filter(|layer| !mentioned.contains(&layer.folder)).filter_map(finding).collect()
}

/// Those that a script, a document, a template or any other file of the tree mentions by name and folder.
fn mentioned(cx: &Check, unused: &[&Layer]) -> FxHashSet<std::path::PathBuf> {
    let tail = |layer: &Layer| {
        let name = layer.folder.file_name()?.to_str()?;
        Some(format!("{}/{name}", layer.folder.parent()?.file_name()?.to_str()?))
    };
    let wanted: Vec<(&Layer, String)> =
        unused.iter().filter_map(|layer| Some((*layer, tail(layer)?))).collect();
    let tree = cx.lint.tree;
    let files =
        tree.texts.par_iter().chain(tree.files.par_iter().map(|(path, _)| path).filter(|path| is_yaml(path)));
    let found = files.map(|file| {
        let Ok(bytes) = cx.lint.world.read(file) else { return Vec::new() };
        let text = decode_lossy(bytes);
        let of = |(layer, tail): &&(&Layer, String)| {
            !file.starts_with(&layer.folder) && text.contains(tail.as_str())
        };
        wanted.iter().filter(of).map(|(layer, _)| layer.folder.clone()).collect()
    });
    found.flatten().collect()
}

/// So few may be left over anywhere.
const FEW: usize = 3;
