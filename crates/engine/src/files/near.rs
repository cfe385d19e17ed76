//! Paths that do not exist, and those that were perhaps meant.

use std::collections::VecDeque;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use krm_yaml::nearest;

use super::world::{EntryKind, World};

/// The most folders to search for what was probably meant: someone may have named the root of a disk.
const MOST_LISTED: usize = 1000;

/// The path that was perhaps meant by one that does not exist.
pub fn near_path(world: &dyn World, path: &str) -> Option<String> {
    match path.strip_prefix('/') {
        Some(below) => near_path_in(world, Path::new("/"), below).map(|near| format!("/{near}")),
        None => near_path_in(world, Path::new("."), path),
    }
}

/// The same in a folder: the first name that does not exist, replaced by one that does.
pub(crate) fn near_path_in(world: &dyn World, dir: &Path, path: &str) -> Option<String> {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    let there = |count: usize| dir.join(names[..count].join("/"));
    let missing = (1..=names.len()).find(|count| world.real_path(&there(*count)).is_err())?;
    let entries = world.list(&there(missing - 1)).ok()?;
    let near = nearest(names[missing - 1], entries.iter().filter_map(|entry| entry.name.to_str()))?;
    let (before, after) = (&names[..missing - 1], &names[missing..]);
    Some([before, &[near], after].concat().join("/"))
}

/// The first folders below one that have one of these files, at any depth, as seen from there.
pub(crate) fn folders_below_with(world: &dyn World, root: &Path, names: &[&str], most: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = VecDeque::from([PathBuf::new()]);
    for _ in 0..MOST_LISTED {
        let Some(below) = open.pop_front().filter(|_| found.len() < most) else { break };
        let entries = world.list(&root.join(&below)).unwrap_or_default();
        let folders = entries.iter().filter(|entry| entry.kind == EntryKind::Folder && entry.name != ".git");
        for folder in folders.map(|entry| below.join(&entry.name)) {
            match names.iter().any(|name| world.is_file(&root.join(&folder).join(name))) {
                true => found.push(folder.display().to_string()),
                false => open.push_back(folder),
            }
        }
    }
    found.truncate(most);
    found
}

/// Why a path cannot be read, without the numbers of the system.
pub fn unreadable_because(error: &Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        _ => error.to_string(),
    }
}
