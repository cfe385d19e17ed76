//! Where a value comes from: the history of a field, put into words that text, JSON, page and editor share.
//!
//! A [`Trace`](crate::pipeline::Trace) knows what each step changed. Here a resource and a field are found in it by the names
//! people use, and each event gets its place in the source, the entry that asked for it, and its cause.

mod answer;
mod find;
mod hidden;
mod history;
pub mod json;
mod labels;
pub mod lines;
mod misses;
mod near;
mod patched;
mod references;
mod removed;
mod sites;
pub mod text;

pub(crate) use answer::Moment;
pub use answer::{Because, ChangingStep, Explanation, HistoryEntry, Move, Moves, Opaque, State};
pub use find::{
    FieldPath, FoundResource, ResourceName, Where, all_resources, each_scalar, locate, near_fields,
    resources, shown as shown_path,
};
pub use hidden::{Hidden, HiddenLines, difference_without_secrets, replaced, secrets_in};
pub(crate) use hidden::{hidden_as, is_secret_value};
pub use history::{HistoryOptions, changes_value, configured_at, explain, left_alone, read_from};
pub use labels::Labels;
pub use misses::{Miss, misses};
pub use near::{Near, near_entries};
pub use removed::removed_fields;
pub use sites::{Part, Site, Sites};

/// The JSON Schema of what [`json`] makes.
pub const JSON_SCHEMA: &str = include_str!("../../data/explain.schema.json");
