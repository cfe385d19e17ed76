//! Typed reading: serde from a node, with the place of every value and of every mistake.

use serde::de::DeserializeOwned;

use crate::diag::Result;
use crate::node::Node;
use crate::source::Span;

/// A value and where it was written.
#[derive(Debug, Clone, Default)]
pub struct Spanned<T> {
    pub value: T,
    pub span: Span,
}

/// Reads a typed value from a tree. Unknown fields are refused where the type says `deny_unknown_fields`.
pub fn from_node<T: DeserializeOwned>(node: &Node) -> Result<T> {
    let _ = node;
    todo!()
}
