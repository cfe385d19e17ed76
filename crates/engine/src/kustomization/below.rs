//! The kustomizations below a folder that has none.

use std::path::{Path, PathBuf};

use krm_yaml::{Node, Sources, Span};
use rustc_hash::FxHashSet;

use super::FILE_NAMES;
use crate::files::folder::Folder;
use crate::files::world::{Loader, clean};

/// The most to name.
const MOST_NAMED: usize = 5;
/// The most to look at: someone may have named the root of a disk.
const MOST_READ: usize = 200;

/// Names the kustomizations below a folder, first those that no other includes. Someone who named the folder on a command
/// line, at no place in a file, can name those instead: then they are written as seen from the current folder.
pub(super) fn advice(folder: &Folder, place: Span) -> Option<String> {
    let all = in_order(folder);
    let shown = |below: &String| match place.is_none() {
        true => format!("`{}`", folder.shown().join(below).display()),
        false => format!("`{below}`"),
    };
    let named: Vec<String> = all.iter().take(MOST_NAMED).map(shown).collect();
    let more = match all.len() - named.len() {
        0 => String::new(),
        _ if all.len() == MOST_READ => " and many more".to_owned(),
        more => format!(" and {more} more"),
    };
    (!named.is_empty()).then(|| format!("there are kustomizations below it: {}{more}", named.join(", ")))
}

/// The folders with a kustomization, components left out, and those that another includes last.
fn in_order(folder: &Folder) -> Vec<String> {
    let mut included: FxHashSet<PathBuf> = FxHashSet::default();
    let mut found = Vec::new();
    for below in folder.folders_below_with(&FILE_NAMES, MOST_READ) {
        let root = read(folder, Path::new(&below)).unwrap_or_else(Node::null);
        let lists = ["resources", "bases", "components"].into_iter().filter_map(|list| root.get(list));
        let entries = lists.flat_map(Node::items).filter_map(Node::text);
        included.extend(entries.map(|entry| clean(&Path::new(&below).join(entry))));
        if root.get("kind").and_then(Node::text) != Some("Component") {
            found.push(below);
        }
    }
    found.sort_by_key(|below| included.contains(Path::new(below)));
    found
}

fn read(folder: &Folder, below: &Path) -> Option<Node> {
    let files = FILE_NAMES.into_iter().map(|name| folder.root().join(below).join(name));
    let world = &folder.files().world;
    let bytes = files.into_iter().find_map(|file| world.read(&file).ok())?;
    let source = Sources::new().add_bytes("", bytes).ok()?;
    let document = krm_yaml::documents(&source).next()?.ok()?;
    Some(document.root)
}
