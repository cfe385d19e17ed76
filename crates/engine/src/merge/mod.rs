//! Merging trees: two ways (a source or a patch into a destination) and three ways (what an update changed).
//!
//! One walker (`walk.rs`) goes down all trees side by side, pairs fields by name and list elements by key, and asks a
//! visitor what becomes of each: [`two_way`] and [`three_way`] decide on values, then a third on the comments
//! around them (`comments`). A merge changes no tree it is given; the result shares with the destination everything that did not
//! change.

mod alignment;
mod comments;
mod files;
mod identity;
mod keyless;
mod kustomization_lists;
mod kustomize;
mod lists;
mod renames;
pub(crate) mod three_way;
pub(crate) mod two_way;
mod walk;

pub use files::{Destination, File, News, Outcome, ResourceConflict, What, merge_files, merge3_files};
pub use three_way::{Conflict, Side, three_way};
pub use two_way::two_way;

pub use alignment::Alignment;
pub(crate) use alignment::Meant;
pub(crate) use keyless::{KeyedList, each_element};
pub(crate) use two_way::two_way_aligned;

use krm_yaml::Node;

/// How lists are merged, and how closely kustomize is followed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Merge lists that no schema describes if every element has one of the [keys](krm_function::elements::ASSOCIATIVE_KEYS).
    pub infer: bool,
    /// Put elements that are new to the destination first, not last.
    pub prepend: bool,
    /// Follow kustomize also where it does not do what its documents say: how patches of a build are applied. Refuse
    /// to merge a map with a list or a scalar, where otherwise the newer value wins.
    pub as_reference: bool,
}

impl Options {
    /// What the patches of a build do.
    pub const PATCH: Options = Options { infer: false, prepend: true, as_reference: true };
}

/// What became of a destination.
#[derive(Clone, Debug)]
pub enum Merged {
    /// Nothing changed.
    Same,
    /// It is now this.
    Changed(Node),
    /// The source says that it is to go.
    Deleted,
}
