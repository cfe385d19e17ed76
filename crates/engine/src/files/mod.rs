//! All the engine knows of files: the outside as a trait, folders within the load restrictions, repositories, and what a
//! build looked at.

pub(crate) mod dependencies;
pub(crate) mod folder;
pub(crate) mod memory_world;
pub(crate) mod near;
pub(crate) mod paths;
pub(crate) mod repository;
pub(crate) mod texts;
pub(crate) mod world;

use std::path::{Component, Path, PathBuf};

pub use dependencies::{Dependencies, Found, Programs};
pub use folder::target_folder;
pub use memory_world::MemoryWorld;
pub use near::{near_path, unreadable_because};
pub use repository::{Repository, is_lfs_pointer, without_secrets};
pub use texts::Files;
pub use world::{
    AddressKind, ChartAddress, DirEntry, Download, EntryKind, Fetched, Offline, World, clean, hex,
};

/// The names a kustomization file may have.
pub const KUSTOMIZATION_FILES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The group of kustomizations, components and Compositions.
pub(crate) const KUSTOMIZE_GROUP: &str = "kustomize.config.k8s.io";

/// Whether an apiVersion is of that group.
pub(crate) fn is_kustomize(api_version: &str) -> bool {
    api_version.split_once('/').is_some_and(|(group, _)| group == KUSTOMIZE_GROUP)
}

/// The way from a folder to a path, both absolute.
pub fn relative(path: &Path, folder: &Path) -> String {
    let shared = path.components().zip(folder.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(path.components().skip(shared)).collect();
    let way = way.to_string_lossy();
    // Elsewhere it is a character like any other.
    if cfg!(windows) { way.replace('\\', "/") } else { way.into_owned() }
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
            #[cfg(not(windows))]
            ("/a/b\\c", "/a", "b\\c"),
        ] {
            assert_eq!(relative(Path::new(path), Path::new(folder)), way);
        }
    }
}
