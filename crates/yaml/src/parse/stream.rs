//! Documents, one after the other.

use std::sync::Arc;

use super::block::Dashes;
use super::comment::After;
use super::cursor::Parser;
use super::json;
use super::odd_space;
use super::options::DuplicateKeys;
use crate::diag::{Diagnostic, Result};
use crate::document::Document;
use crate::node::Node;
use crate::source::Source;
use crate::text::Text;

/// Reads the documents of a source one by one, on demand: what comes before an error is available.
pub fn documents(source: &Arc<Source>) -> Documents<'_> {
    Documents::of(source, DuplicateKeys::Refuse)
}

/// The documents of a source; see [`documents`].
pub struct Documents<'s> {
    source: &'s Arc<Source>,
    state: State<'s>,
    /// Where the next document's stretch of the text begins.
    start: usize,
}

enum State<'s> {
    Failed(Diagnostic),
    /// The one document of a source that is JSON.
    Json(Box<Document>),
    /// The parser, and whether it has read a document yet.
    Reading(Box<Parser<'s>>, bool),
    Done,
}

impl<'s> Documents<'s> {
    /// The documents of a text that may be JSON.
    pub fn of(source: &'s Arc<Source>, duplicate_keys: DuplicateKeys) -> Self {
        match json::read(source, duplicate_keys) {
            Some(document) => Self { source, state: State::Json(Box::new(document)), start: 0 },
            None => Self::of_yaml(source, duplicate_keys),
        }
    }

    /// The documents of a text that is YAML.
    pub fn of_yaml(source: &'s Arc<Source>, duplicate_keys: DuplicateKeys) -> Self {
        let range = 0..source.text().len();
        let state = match Parser::new(source, range, duplicate_keys) {
            Ok(parser) => State::Reading(Box::new(parser), false),
            Err(error) => State::Failed(error),
        };
        Self { source, state, start: 0 }
    }
}

impl Iterator for Documents<'_> {
    type Item = Result<Document>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut parser, had_one) = match std::mem::replace(&mut self.state, State::Done) {
            State::Failed(error) => return Some(Err(error)),
            State::Json(document) => return Some(Ok(*document)),
            State::Reading(parser, had_one) => (parser, had_one),
            State::Done => return None,
        };
        let start = self.start;
        let read = parser.document(self.source, start, had_one)?;
        if let Ok(document) = &read {
            self.start = document.span().end as usize;
            self.state = State::Reading(parser, true);
        }
        Some(read)
    }
}

impl Parser<'_> {
    /// Reads the next document, whose stretch of the text begins at `start`. Only the first may lack its `---`.
    pub(crate) fn document(
        &mut self,
        source: &Arc<Source>,
        start: usize,
        had_one: bool,
    ) -> Option<Result<Document>> {
        self.anchors.clear();
        self.handles.clear();
        (self.expanded, self.has_references) = (0, false);
        let mut head = Text::new();
        let root = self.document_root(start, had_one, &mut head).transpose()?;
        let document = root.and_then(|root| {
            let marker = self.pos;
            let span = source.span(start, self.document_end()?);
            let foot = self.document_foot(marker);
            let document = Document::new(root, source.clone(), span).with_references(self.has_references);
            Ok(if head.is_empty() && foot.is_empty() { document } else { document.with_comments(head, foot) })
        });
        Some(document.map_err(|error| match self.in_conflict(start) {
            Some(conflict) => conflict,
            None => odd_space::explain(error, source),
        }))
    }

    fn document_root(&mut self, start: usize, had_one: bool, head: &mut Text) -> Result<Option<Node>> {
        if !had_one {
            self.first_line_end = self.line_end(self.pos);
            self.skip(After::lead(self.pos))?;
            if self.at_end() {
                // Nothing but comments, which are to be kept.
                return Ok((self.pos > start).then(|| self.nothing(self.pos)));
            }
            let explicit =
                self.pos == self.line_start && self.here() == b'%' || self.at_marker() && self.here() == b'-';
            if self.at_marker() && !explicit {
                return Err(self.not_a_document(self.pos));
            }
            if !explicit {
                *head = self.document_head();
                return self.root().map(Some);
            }
        }
        if self.at_end() {
            return Ok(None);
        }
        self.directives()?;
        if !self.at_marker() || self.here() != b'-' {
            return Err(self.not_a_document(self.pos));
        }
        let marker = self.pos;
        self.pos += 3;
        self.key_allowed = false;
        // quirk(comment-below-the-first-marker): A stream is cut at every `---` below another line, and each piece is
        // read by itself. A comment below a `---` is thus about the document, but one below a `---` that begins a file
        // is about the first field. (kyaml `splitDocuments`)
        let is_cut = marker > 0 && self.bytes[marker - 1] == b'\n';
        if is_cut {
            let line_end = self.line_end(marker);
            self.first_line_end = self.line_end(line_end + self.break_len(line_end));
        }
        self.skip(After::lead(marker))?;
        if self.at_document_end() {
            return Ok(Some(self.nothing(marker + 3)));
        }
        if is_cut {
            *head = self.document_head();
        }
        self.root().map(Some)
    }

    fn root(&mut self) -> Result<Node> {
        self.block_node(Dashes::Indented)?;
        Ok(self.nodes.pop().expect("a node was read"))
    }

    /// Goes over `...` after a document. Gives where the document's stretch of the text ends.
    fn document_end(&mut self) -> Result<usize> {
        let mut end = self.pos;
        while self.at_marker() && self.here() == b'.' {
            let marker = self.pos;
            self.pos += 3;
            self.key_allowed = false;
            let line_end = self.line_end(self.pos);
            end = line_end + self.break_len(line_end);
            self.skip(After::lead(marker))?;
        }
        Ok(if self.at_end() { self.bytes.len() } else { end })
    }
}
