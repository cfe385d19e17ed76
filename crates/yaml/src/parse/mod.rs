//! Bytes to tree.
//!
//! A recursive-descent parser that goes over the bytes once and builds nodes as it goes: no tokens, no events. It accepts
//! what go-yaml accepts, which is neither quite YAML 1.1 nor quite 1.2; the list of differences is in the
//! [crate's documentation](crate#which-yaml).
//!
//! The files follow the text: `cursor` moves over white space and comments, `block` and `flow` read collections,
//! `plain`, `quoted` and `literal` read scalars, `property` what is in front of them, `keys` looks for keys
//! given twice, `comment` and `pending_comments` decide which node a comment belongs to, `fault` says what is wrong, `tree`
//! builds, `stream` puts documents together, and `split` reads many at once. What is JSON as a whole, `json` reads.

mod block;
mod chars;
mod comment;
mod cursor;
mod fault;
mod flow;
mod json;
mod keys;
mod literal;
mod odd_space;
mod options;
mod pending_comments;
mod plain;
mod property;
mod quoted;
#[cfg(feature = "parallel")]
mod split;
mod stream;
mod tree;
mod words;

use std::sync::Arc;

use crate::diag::{Diagnostic, Result};
use crate::document::Document;
use crate::node::Node;
use crate::source::Source;

pub use crate::encoding::{BadEncoding, decode, decode_lossy, encode_like};
pub use odd_space::{odd_spaces, odd_spaces_in};
pub use options::{DuplicateKeys, ParseOptions};
pub use stream::{Documents, documents};

/// Reads every document of a source. Long streams are read on several cores.
///
/// ```
/// let source = krm_yaml::Source::detached("pages.yaml", "title: Home\n---\ntitle: About\n");
/// let documents = krm_yaml::parse(&source)?;
/// assert_eq!(documents[1].root.get("title").and_then(|title| title.as_str()), Some("About"));
/// # Ok::<(), krm_yaml::Diagnostic>(())
/// ```
///
/// A source with nothing but comments is one document: null, with an empty span. An empty source has no document.
pub fn parse(source: &Arc<Source>) -> Result<Vec<Document>> {
    parse_with(source, ParseOptions::default())
}

/// Reads every document of a source as [`parse`] does, but the way the options say.
pub fn parse_with(source: &Arc<Source>, options: ParseOptions) -> Result<Vec<Document>> {
    #[cfg(feature = "parallel")]
    return split::parse(source, options.duplicate_keys);
    #[cfg(not(feature = "parallel"))]
    Documents::of(source, options.duplicate_keys).collect()
}

/// Reads every document of a text that has no file. For tests and small jobs.
pub fn parse_str(text: &str) -> Result<Vec<Document>> {
    parse(&Source::detached("<text>", text))
}

/// Reads a text that holds one document, or nothing, which is null.
///
/// ```
/// let node: krm_yaml::Node = "{a: 1, b: [x]}".parse()?;
/// assert_eq!(node.get("a").and_then(|a| a.as_i64()), Some(1));
/// assert_eq!(node.to_string(), "{a: 1, b: [x]}\n");
/// # Ok::<(), krm_yaml::Diagnostic>(())
/// ```
impl std::str::FromStr for Node {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self> {
        let mut documents = parse_str(text)?;
        match documents.len() {
            0 => Ok(Node::null()),
            1 => Ok(documents.remove(0).root),
            _ => Err(Diagnostic::error("yaml-many-documents", "expected one document, found more")
                .at(documents[1].span())
                .help("read all of them with `parse_str`")),
        }
    }
}
