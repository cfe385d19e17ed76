//! Bytes to tree.

use std::sync::Arc;

use crate::diag::Result;
use crate::document::Document;
use crate::source::Source;

/// Reads every document of a source.
pub fn parse(source: &Arc<Source>) -> Result<Vec<Document>> {
    let _ = source;
    todo!()
}

/// Reads every document of a text that has no file. For tests and small jobs.
pub fn parse_str(text: &str) -> Result<Vec<Document>> {
    parse(&Source::detached("<text>", text))
}
