//! `same-in-all-overlays`: a patch or a label that every overlay of a base repeats, and that the base could have.

use std::path::{Path, PathBuf};

use krm_yaml::{Diagnostic, Node, Span};
use rustc_hash::FxHashMap;

use super::Check;
use super::roots::Root;
use crate::files::world::clean;
use crate::workspace::{Layer, LayerKind, ReferenceTarget};

/// Two overlays may agree by chance.
const FEWEST: usize = 3;
/// How many of the others are shown.
const SHOWN: usize = 3;

pub(super) fn findings(cx: &Check, roots: &[Root]) -> Vec<Diagnostic> {
    let workspace = cx.lint.workspace;
    let mut overlays: FxHashMap<&Path, Vec<&Layer>> = FxHashMap::default();
    for layer in workspace.layers() {
        for (_, folder) in layer.layers_named() {
            overlays.entry(folder).or_default().push(layer);
        }
    }
    let mut found = Vec::new();
    let mut bases: Vec<_> = overlays.into_iter().collect();
    bases.sort_by_key(|(folder, _)| *folder);
    for (folder, users) in bases {
        let is_base = workspace.layer(folder).is_some_and(|layer| layer.kind == LayerKind::Kustomization);
        // What is deployed as it is would change.
        let is_root = roots.iter().any(|root| root.layer.folder == folder);
        if users.len() < FEWEST || !is_base || is_root || !users.iter().all(|user| is_made_of_one(user)) {
            continue;
        }
        let (first, others) = users.split_first().expect("there are some");
        let of_others: Vec<Vec<Repeated>> = others.iter().map(|layer| entries(cx, layer)).collect();
        for entry in entries(cx, first) {
            let same = |theirs: &Vec<Repeated>| {
                theirs.iter().find(|other| other.is(&entry)).map(|other| other.place)
            };
            let Some(places) = of_others.iter().map(same).collect::<Option<Vec<Span>>>() else { continue };
            if !cx.is_wanted(&first.file) {
                continue;
            }
            let shown = workspace.layer(folder).map(|layer| layer.shown.clone()).unwrap_or_default();
            let message = format!("all {} overlays of `{shown}` repeat this", users.len());
            let mut finding = Diagnostic::warning("same-in-all-overlays", message).at(entry.place);
            for place in places.into_iter().take(SHOWN) {
                finding = finding.note("it is repeated here", place);
            }
            found.push(finding.help(format!("move it to `{shown}`")));
        }
    }
    found
}

/// Whether a layer takes resources from one other alone.
fn is_made_of_one(layer: &Layer) -> bool {
    let from = layer
        .references
        .iter()
        .filter(|reference| reference.field.starts_with("resources") || reference.field.starts_with("bases"));
    let others = from.filter(|reference| !matches!(reference.target, ReferenceTarget::File(_)));
    layer.kind == LayerKind::Kustomization && others.count() == 1
}

struct Repeated {
    field: &'static str,
    value: Node,
    place: Span,
}

impl Repeated {
    fn is(&self, other: &Repeated) -> bool {
        self.field == other.field && self.value == other.value
    }
}

/// Patches, those in files by their text, and labels.
fn entries(cx: &Check, layer: &Layer) -> Vec<Repeated> {
    let mut found = Vec::new();
    let Some(root) = &layer.root else { return found };
    for field in ["patches", "patchesStrategicMerge", "patchesJson6902", "labels"] {
        for item in root.get(field).map(Node::items).unwrap_or_default() {
            let mut value = item.clone();
            let file = match (field, item.as_str()) {
                ("patchesStrategicMerge", Some(path)) if !path.contains('\n') => Some(path.to_owned()),
                _ => item.get("path").and_then(Node::as_str).map(str::to_owned),
            };
            if let Some(file) = file {
                let path: PathBuf = clean(&layer.folder.join(file));
                let Ok(bytes) = cx.lint.world.read(&path) else { continue };
                let text = Node::from(String::from_utf8_lossy(&bytes).into_owned());
                match value.is_map() {
                    true => value.set("path", text),
                    false => value = text,
                }
            }
            found.push(Repeated { field, value, place: item.span() });
        }
    }
    found
}
