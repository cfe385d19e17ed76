//! `same-in-all-overlays`: a patch or a label that every overlay of a base repeats, and that the base could have.

use std::path::{Path, PathBuf};

use krm_yaml::{Diagnostic, Node, Span, decode_lossy};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Check;
use super::roots::Root;
use crate::files::world::clean;
use crate::resource::Track;
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
        if !cx.is_wanted(&users[0].file) {
            continue;
        }
        let shown = workspace.layer(folder).map(|layer| layer.shown.clone()).unwrap_or_default();
        for places in repeated(cx, &users) {
            let message = format!("all {} overlays of `{shown}` repeat this", users.len());
            let mut finding = Diagnostic::warning("same-in-all-overlays", message).at(places[0]);
            for place in places.into_iter().skip(1).take(SHOWN) {
                finding = finding.note("it is repeated here", place);
            }
            found.push(finding.help(format!("move it to `{shown}`")));
        }
    }
    found
}

/// The entries that all overlays of a base have, and that the base could have: where each of them is in each overlay.
fn repeated(cx: &Check, overlays: &[&Layer]) -> Vec<Vec<Span>> {
    let of_each: Vec<Vec<Repeated>> = overlays.iter().map(|layer| entries(cx, layer)).collect();
    let in_all = |entry: &Repeated| {
        let same =
            |theirs: &Vec<Repeated>| theirs.iter().find(|other| other.is(entry)).map(|other| other.place);
        of_each.iter().map(same).collect::<Option<Vec<Span>>>()
    };
    let mut found: Vec<Vec<Span>> = of_each[0].iter().filter_map(in_all).collect();
    for (at, overlay) in overlays.iter().enumerate() {
        if !found.is_empty() {
            let entries = found.iter().map(|places| places[at]).collect::<Vec<_>>();
            let mut keeps = changing_only_the_base(cx, overlay, &entries).into_iter();
            found.retain(|_| keeps.next() == Some(true));
        }
    }
    found
}

/// Whether a layer takes resources from one other alone, apart from files.
fn is_made_of_one(layer: &Layer) -> bool {
    let from = layer.references.iter().filter(|reference| reference.is_resource);
    let others = from.filter(|reference| !matches!(reference.target, ReferenceTarget::File(_)));
    layer.kind == LayerKind::Kustomization && others.count() == 1
}

/// Which entries of an overlay change what comes from its base, and nothing else: a file or a generator of the overlay is
/// out of reach for the base.
fn changing_only_the_base(cx: &Check, overlay: &Layer, entries: &[Span]) -> Vec<bool> {
    let (result, trace) = cx.lint.session.trace(&overlay.shown);
    let from_base = trace.steps.iter().filter(|step| step.within.is_some());
    let from_base: FxHashSet<Track> =
        from_base.flat_map(|step| &step.changes).map(|change| change.resource).collect();
    let name = |span: Span| cx.lint.sources.get(span.file).map(|source| source.name().to_owned());
    let changes_it = |entry: &Span| {
        let file = name(*entry);
        let is_entry = |span: &Span| (entry.start..entry.end).contains(&span.start) && name(*span) == file;
        let steps = trace.steps.iter().filter(|step| step.entries.iter().chain([&step.place]).any(is_entry));
        let mut changed = steps.flat_map(|step| &step.changes).map(|change| change.resource).peekable();
        result.is_ok() && changed.peek().is_some() && changed.all(|resource| from_base.contains(&resource))
    };
    entries.iter().map(changes_it).collect()
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
                let text = Node::from(decode_lossy(bytes));
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
