//! Trees as JSON.

use crate::node::Node;

/// Writes a tree as JSON the way Go's `encoding/json` does: keys sorted, no spaces, `<`, `>` and `&` escaped.
pub fn compact(node: &Node) -> String {
    let _ = node;
    todo!()
}

/// Writes a tree as indented JSON, keys in their order.
pub fn pretty(node: &Node) -> String {
    let _ = node;
    todo!()
}
