//! The form it was written in.
//!
//! ```
//! for mut doc in krm_yaml::parse_str("# the one\nname: 'web'   # short\nreplicas: 2\n")? {
//!     doc.root.set("name", "api");
//!     doc.root.set("paused", true);
//!     assert_eq!(doc.text(), "# the one\nname: 'api'   # short\nreplicas: 2\npaused: true\n");
//! }
//! # Ok::<(), krm_yaml::Diagnostic>(())
//! ```
//!
//! [`document`] walks the original and the edited tree together and copies the text wherever they agree; the same
//! allocation is known to agree without a look. Where they differ,
//!
//! - a scalar is replaced in its place, in its own style where that can hold the new value, its comment after it;
//! - entries and items are added after their predecessors, indented as what is around them, and removed with the
//!   comments above, beside and below them; blank lines go on parting what they parted;
//! - where the order has changed, whole blocks of lines move, comments included;
//! - flow collections stay so, and JSON stays JSON; but brackets around nothing give way to a block;
//! - an alias is written out if it no longer says what the edited tree says, and anchors stay;
//! - comments follow the edited tree: one that was removed there is removed from the text.
//!
//! Trees are compared by value. A tree that went through another program and came back equal leaves the text as it is,
//! whatever became of its styles.
//!
//! Every edited text is read again before it is given out. Should it ever not mean what the tree means, the document is
//! rewritten.
//!
//! [`fresh`] writes a tree that has no text, the way go-yaml does, except where that would not
//! read back as it was: nulls without a text within brackets, folded scalars with lines that begin with blanks, block
//! scalars read from a text that begin with a tab.
//!
//! | file | holds |
//! | --- | --- |
//! | `stream` | whole documents, and streams of them |
//! | `editor` | the walk, and what stays |
//! | `align` | which child was which |
//! | `block`, `flow` | children added, removed, moved |
//! | `notes` | comments within brackets |
//! | `value` | values in the place of others |
//! | `ending` | how a text ends, and so what may be below it |
//! | `lines` | finding lines and comments in the text |
//! | `fresh`, `scalar` | what has no text |

mod align;
mod block;
mod editor;
mod ending;
mod flow;
mod fresh;
mod lines;
mod notes;
mod scalar;
mod stream;
mod value;

use crate::document::Document;
use crate::node::Node;

impl Document {
    /// The document as text: every byte as it was written, except for the lines an edit had to change.
    pub fn text(&self) -> String {
        document(self)
    }
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
    /// Sequences as deep as their key: what kyaml and most tools around it write.
    pub const COMPACT: Layout = Layout { step: 2, seq: 0 };
    /// Sequences deeper than their key.
    pub const WIDE: Layout = Layout { step: 2, seq: 2 };
}

/// The text of a document after edits: see [`Document::text`].
pub fn document(doc: &Document) -> String {
    let mut out = String::new();
    stream::document_into(doc, &mut out);
    out
}

/// As [`document`], but without the reading back that guards it: for tests of what it guards against.
#[doc(hidden)]
pub fn document_unguarded(doc: &Document) -> String {
    stream::edited(doc)
}

/// The text of a stream of documents after edits. Documents may have been added, removed or moved; a `---` is put where
/// one is needed.
pub fn stream(docs: &[Document]) -> String {
    stream::stream(docs)
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
