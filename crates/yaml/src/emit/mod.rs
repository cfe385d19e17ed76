//! Tree to bytes.
//!
//! [`canonical`] writes one look for everything: sorted keys, no comments, the habits of go-yaml's emitter.
//! [`preserve`] writes what was read, except where the tree was edited.

mod canonical;
mod folded;
mod order;
pub mod preserve;
mod text;
mod unicode;

use crate::node::Node;

pub use canonical::{canonical, canonical_into, try_canonical_into, try_canonical_whole_into};
pub use folded::distorted;

/// The tree as a document, in the styles it asks for and with its comments.
impl std::fmt::Display for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&preserve::fresh(self))
    }
}
