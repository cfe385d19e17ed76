//! Packages with a `Kptfile`, as kpt has them: a folder, its subpackages, a pipeline of functions for each, and where it
//! came from.
//!
//! [`Kptfile`] is the file as a type; [`Tree`] a package with its subpackages, read once; [`Render`]
//! its pipelines, planned once and run any number of times.
//! Nothing is written here: [`Tree::changes`] says what is to be written.

mod call;
pub mod files;
mod image;
mod keyed;
mod kptfile;
mod krm;
mod merge_comments;
mod package_context;
mod plan;
mod progress;
mod render;
mod select;
mod status;
mod tree;
mod update;
mod upstream;

/// The JSON Schema of a Kptfile, for editors.
pub const JSON_SCHEMA: &str = include_str!("../../data/kptfile.schema.json");

pub use call::{Evaluation, program_of};
pub use image::{Images, Tags, is_reference};
pub use kptfile::{
    API_VERSION, FILE, Function, Git, GitLock, Kptfile, Locator, Metadata, Pipeline, Strategy, UpstreamLock,
    add_function, parse_strategy,
};
pub use krm::{check_all as check, check_type};
pub use package_context::{CONTEXT_FILE, package_context};
pub use render::{Outcome, Render, Settings, evaluate};
pub use select::{Selector, selects};
pub use status::{record, results_file};
pub use tree::{
    Before, SEQ_INDENT, Tree, holds_resources, kptfile_source, new_path, path, root_kptfile, stated,
};
pub use update::{Clash, Did, Files, Kept, States, Updated, added_twice, noted, shown, update};
pub use upstream::{Source, merge_kptfile, set_upstream};
