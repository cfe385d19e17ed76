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

use crate::diag::Result;
use crate::document::Document;
use crate::source::Source;

pub use chars::{BadEncoding, decode, decode_lossy, encode_like};
pub use options::{DuplicateKeys, ParseOptions};
pub use stream::{Documents, documents};

/// Reads every document of a source. Long streams are read on several cores.
///
/// ```
/// let source = krm_yaml::Source::detached("pod.yaml", "kind: Pod\n---\nkind: Service\n");
/// let documents = krm_yaml::parse(&source)?;
/// assert_eq!(documents[1].root.get("kind").and_then(|kind| kind.as_str()), Some("Service"));
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
