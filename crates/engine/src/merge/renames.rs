//! Files that an update renamed.

use rustc_hash::{FxHashMap, FxHashSet};

use super::File;
use super::identity::{Key, Keyed, Paths};

/// Renames files of the destination as the update renamed them, and returns the original with the same names, so that
/// what is in them is found by its path as well; and the names, old and new, of those that have to stay since the
/// destination has another file of the new name.
///
/// A file was renamed if its path is gone from the update and every resource of it that is still there is now in one file
/// that the original does not have.
pub(super) fn follow(
    original: &[File],
    updated: &[File],
    dest: &mut [File],
) -> (Vec<File>, Vec<(String, String)>) {
    let (mut moved, mut taken) = (original.to_vec(), Vec::new());
    let paths = |files: &[File]| files.iter().map(|file| file.path.clone()).collect::<FxHashSet<_>>();
    let (before, after, mut ours) = (paths(original), paths(updated), paths(dest));
    if before.is_subset(&after) {
        return (moved, taken);
    }
    let updates = Keyed::new(updated, Paths::Matter);
    let mut now: FxHashMap<&Key, FxHashSet<usize>> = FxHashMap::default();
    for known in updates.resources.iter().filter(|known| known.key.is_named()) {
        now.entry(&known.key).or_default().insert(known.place.file);
    }
    let originals = Keyed::new(original, Paths::Matter);
    let mut targets: FxHashMap<usize, FxHashSet<usize>> = FxHashMap::default();
    for known in &originals.resources {
        if let Some(files) = now.get(&known.key).filter(|_| !after.contains(&original[known.place.file].path))
        {
            targets.entry(known.place.file).or_default().extend(files);
        }
    }
    for (at, file) in original.iter().enumerate() {
        let Some(target) = targets.get(&at).filter(|targets| targets.len() == 1) else { continue };
        let path = &updated[*target.iter().next().expect("there is one")].path;
        if before.contains(path) {
            continue;
        }
        if ours.contains(path) {
            if ours.contains(&file.path) {
                taken.push((file.path.clone(), path.clone()));
            }
            continue;
        }
        if let Some(own) = dest.iter_mut().find(|own| own.path == file.path) {
            own.renamed_from = Some(std::mem::replace(&mut own.path, path.clone()));
            ours.insert(path.clone());
            moved[at].path.clone_from(path);
        }
    }
    (moved, taken)
}
