//! All the engine knows of files: the outside as a trait, folders within the load restrictions, repositories, and what a
//! build looked at.

pub mod dependencies;
pub mod folder;
pub mod memory_world;
pub mod repository;
pub mod world;

/// The names a kustomization file may have.
pub const KUSTOMIZATION_FILES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
