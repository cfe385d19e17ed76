//! All the engine knows of files: the outside as a trait, folders within the load restrictions, repositories, and what a
//! build looked at.

pub mod dependencies;
pub mod folder;
pub mod memory_world;
pub mod paths;
pub mod repository;
pub mod world;

use std::path::{Component, Path, PathBuf};

/// The names a kustomization file may have.
pub const KUSTOMIZATION_FILES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The way from a folder to a path, both absolute.
pub fn relative(path: &Path, folder: &Path) -> String {
    let shared = path.components().zip(folder.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(path.components().skip(shared)).collect();
    way.to_string_lossy().replace('\\', "/")
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
        ] {
            assert_eq!(relative(Path::new(path), Path::new(folder)), way);
        }
    }
}
