//! Why a file is part of a target, and who uses it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use krm_yaml::Span;

use crate::workspace::{Layer, Reference, ReferenceTarget, Workspace};

/// A place that names the next one on a way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The entry.
    pub place: Span,
}

/// More ways than anyone reads.
const MOST_WAYS: usize = 100;

/// Every way from a layer to a file or folder, shortest first: the entries that name one another, the last of which names the
/// file. A layer whose own file it is has a way of no hops.
pub fn ways(workspace: &Workspace, from: &Layer, to: &Path) -> Vec<Vec<Hop>> {
    let mut found: Vec<Vec<Hop>> = Vec::new();
    // Breadth first, so that the shortest come first; a way never visits a layer twice.
    let mut open: Vec<(Vec<&Layer>, Vec<Hop>)> = vec![(vec![from], Vec::new())];
    let leads: BTreeSet<&Path> = leading_to(workspace, from, to);
    while !open.is_empty() && found.len() < MOST_WAYS {
        let mut next = Vec::new();
        for (layers, hops) in open {
            let layer = layers[layers.len() - 1];
            if layer.folder == to || layer.file == to {
                found.push(hops.clone());
            }
            for reference in &layer.references {
                match &reference.target {
                    ReferenceTarget::Layer(folder) => {
                        let is_new = layers.iter().all(|known| known.folder != *folder);
                        let below = workspace.layer(folder).filter(|_| is_new && leads.contains(&**folder));
                        let Some(below) = below else { continue };
                        let layers = layers.iter().copied().chain([below]).collect();
                        next.push((layers, with_hop(&hops, layer, reference)));
                    }
                    ReferenceTarget::Remote(_) => {}
                    target if names(target, to) => found.push(with_hop(&hops, layer, reference)),
                    _ => {}
                }
            }
        }
        next.truncate(10 * MOST_WAYS);
        open = next;
    }
    found.truncate(MOST_WAYS);
    found
}

/// Whether a path that is named is, or holds, a file.
fn names(target: &ReferenceTarget, to: &Path) -> bool {
    match target {
        ReferenceTarget::Folder(folder) => to.starts_with(folder),
        target => target.path() == Some(to),
    }
}

fn with_hop(hops: &[Hop], layer: &Layer, reference: &Reference) -> Vec<Hop> {
    let mut hops = hops.to_vec();
    // A path in a configuration of its own file: first the entry that names that file.
    let own = layer.source.as_ref().map(|source| source.id());
    if own != Some(reference.span.file)
        && let Some(entry) =
            layer.references.iter().find(|entry| entry.named_source == Some(reference.span.file))
    {
        hops.push(Hop { place: entry.span });
    }
    hops.push(Hop { place: reference.span });
    hops
}

/// The layers below one that lead to a file.
fn leading_to<'w>(workspace: &'w Workspace, from: &'w Layer, to: &Path) -> BTreeSet<&'w Path> {
    let below = workspace.closure(from);
    let ends = |layer: &&&Layer| {
        let named = layer.references.iter().any(|reference| names(&reference.target, to));
        named || layer.folder == to || layer.file == to
    };
    let mut leads: BTreeSet<&Path> = below.iter().filter(ends).map(|layer| &*layer.folder).collect();
    loop {
        let before = leads.len();
        let uses = |layer: &&&Layer| layer.layers_named().any(|(_, folder)| leads.contains(folder));
        let more: Vec<&Path> = below.iter().filter(uses).map(|layer| &*layer.folder).collect();
        leads.extend(more);
        if leads.len() == before {
            return leads;
        }
    }
}

/// Who uses a file, a folder or a layer, and who uses these.
#[derive(Debug)]
#[non_exhaustive]
pub struct Users<'w> {
    /// Who uses it.
    pub layer: &'w Layer,
    /// The entry that names it.
    pub place: Span,
    /// Who uses this layer; empty if they are shown elsewhere.
    pub users: Vec<Users<'w>>,
    /// Its users were given before.
    pub repeated: bool,
}

impl<'w> Users<'w> {
    /// All users of a path, which is a real one, in the order of their folders.
    pub fn of(workspace: &'w Workspace, path: &Path) -> Vec<Self> {
        // The file of a kustomization is used by anyone who uses its folder.
        let own = workspace.layers().find(|layer| layer.file == path);
        let path = own.map_or(path, |layer| &layer.folder).to_owned();
        Self::level(workspace, &path, &mut BTreeSet::new(), 0)
    }

    fn level(
        workspace: &'w Workspace,
        path: &Path,
        known: &mut BTreeSet<PathBuf>,
        depth: usize,
    ) -> Vec<Self> {
        let mut users = Vec::new();
        for layer in workspace.layers() {
            let uses = |reference: &&Reference| match &reference.target {
                ReferenceTarget::Layer(folder) => folder == path,
                target => names(target, path),
            };
            let Some(reference) = layer.references.iter().find(uses) else { continue };
            let repeated = !known.insert(layer.folder.clone());
            // As deep as no build goes.
            let below = match repeated || depth >= 500 {
                true => Vec::new(),
                false => Self::level(workspace, &layer.folder, known, depth + 1),
            };
            let repeated = repeated && workspace.users(&layer.folder).next().is_some();
            users.push(Self { layer, place: reference.span, users: below, repeated });
        }
        users
    }
}
