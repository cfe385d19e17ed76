//! The form it was written in.

mod align;
mod block;
mod editor;
mod flow;
mod fresh;
mod lines;
mod scalar;
mod stream;
mod value;

use crate::document::Document;
use crate::node::Node;

/// What becomes of comments that the edited tree does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comments {
    /// The edited tree decides: a comment removed there is removed from the text. The same holds for the order of keys.
    Honour,
    /// Comments stay with the lines they stand on, and keys in their order: for trees that come from a program that
    /// knows nothing of either.
    Keep,
}

/// How blocks are indented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// How many spaces deeper a block is than its key.
    pub step: usize,
    /// How many spaces deeper the `-` of a sequence is than its key.
    pub seq: usize,
}

impl Layout {
    /// Sequences as deep as their key: what kustomize and most tools around it write.
    pub const COMPACT: Layout = Layout { step: 2, seq: 0 };
    /// Sequences deeper than their key.
    pub const WIDE: Layout = Layout { step: 2, seq: 2 };
}

/// The text of a document after edits: see [`Document::text`].
pub fn document(doc: &Document) -> String {
    document_with(doc, Comments::Honour)
}

/// As [`document`], with a say in what becomes of comments that the edited tree lacks.
pub fn document_with(doc: &Document, comments: Comments) -> String {
    let mut out = String::new();
    stream::document_into(doc, comments, &mut out);
    out
}

/// The text of a stream of documents after edits. Documents may have been added, removed or moved; a `---` is put where
/// one is needed.
pub fn stream(docs: &[Document]) -> String {
    stream_with(docs, Comments::Honour)
}

/// As [`stream`], with a say in what becomes of comments that the edited trees lack.
pub fn stream_with(docs: &[Document], comments: Comments) -> String {
    stream::stream(docs, comments)
}

/// Writes a tree that has no text of its own, with its comments and styles, keys in their order.
pub fn fresh(node: &Node) -> String {
    fresh_with(node, Layout::COMPACT)
}

/// As [`fresh`], with a choice of indentation.
pub fn fresh_with(node: &Node, layout: Layout) -> String {
    fresh_document("", node, "", layout)
}

/// As [`fresh`], with comments above and below the document ([`Document::head`], [`Document::foot`]).
pub fn fresh_document(head: &str, root: &Node, foot: &str, layout: Layout) -> String {
    let mut out = String::new();
    let mut anchors = fresh::Anchors::default();
    fresh::Writer::new(&mut out, &mut anchors, layout, "\n").document(head, root, foot);
    out
}
