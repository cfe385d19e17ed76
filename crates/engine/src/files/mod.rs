//! All the engine knows of files: the outside as a trait, folders within the load restrictions, and repositories.

pub mod folder;
pub mod repository;
pub mod world;
