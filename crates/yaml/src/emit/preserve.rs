//! The form it was written in.

use crate::document::Document;
use crate::node::Node;

/// The text of a document after edits: see [`Document::text`].
pub fn document(doc: &Document) -> String {
    let _ = doc;
    todo!()
}

/// Writes a tree that has no text of its own, with its comments and styles, keys in their order.
pub fn fresh(node: &Node) -> String {
    let _ = node;
    todo!()
}
