//! The canonical form.

use crate::node::Node;

/// Writes a tree in canonical form, with a line break at the end.
pub fn canonical(node: &Node) -> String {
    let mut out = String::new();
    canonical_into(node, &mut out);
    out
}

/// The same, appended to a text.
pub fn canonical_into(node: &Node, out: &mut String) {
    let _ = (node, out);
    todo!()
}
