//! Documents, one after the other or many at once.

use std::ops::Range;
use std::sync::Arc;

use memchr::memmem;
use rayon::prelude::*;

use super::comment::After;
use super::cursor::{Parser, Twice};
use crate::diag::{Diagnostic, Result};
use crate::document::Document;
use crate::node::{Node, Text};
use crate::source::Source;

/// Streams shorter than this are not worth waking another core for.
const PARALLEL_FROM: usize = 128 << 10;

/// About how much text goes to a core at once.
const BATCH: usize = 64 << 10;

pub fn parse(source: &Arc<Source>, twice: Twice) -> Result<Vec<Document>> {
    let len = source.text().len();
    let batches = if len < PARALLEL_FROM { Vec::new() } else { batches(source.text()) };
    if batches.len() < 2 {
        return Documents::of(source, 0..len, twice).collect();
    }
    let read: Vec<Result<Vec<Document>>> =
        batches.into_par_iter().map(|range| Documents::of(source, range, twice).collect()).collect();
    // In order, so that the first error of the text is the one reported.
    let mut all = Vec::with_capacity(read.iter().flatten().map(Vec::len).sum());
    for documents in read {
        all.append(&mut documents?);
    }
    Ok(all)
}

/// Reads the documents of a source one by one, on demand: what comes before an error is to be had.
pub fn documents(source: &Arc<Source>) -> Documents<'_> {
    Documents::of(source, 0..source.text().len(), Twice::Refused)
}

/// Cuts a stream in front of lines `---`, into pieces that can be read by themselves: at the beginning of a line
/// nothing but a document begins so. Gives nothing where the documents depend on more than that.
fn batches(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let starts_odd = matches!(bytes.first(), Some(b'%' | b'.'));
    if starts_odd || memmem::find(bytes, b"\n%").is_some() || memmem::find(bytes, b"\n...").is_some() {
        return Vec::new();
    }
    let mut batches = Vec::with_capacity(bytes.len() / BATCH + 1);
    let mut start = 0;
    for newline in memmem::find_iter(bytes, b"\n---") {
        let cut = newline + 1;
        let is_marker = matches!(bytes.get(cut + 3), None | Some(b' ' | b'\t' | b'\n' | b'\r'));
        if is_marker && cut - start >= BATCH {
            batches.push(start..cut);
            start = cut;
        }
    }
    batches.push(start..bytes.len());
    batches
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
    /// The parser, and whether it has read a document yet.
    Reading(Box<Parser<'s>>, bool),
    Done,
}

impl<'s> Documents<'s> {
    fn of(source: &'s Arc<Source>, range: Range<usize>, twice: Twice) -> Self {
        let start = range.start;
        let state = if u32::try_from(source.text().len()).is_err() {
            let too_long =
                Diagnostic::error("yaml-too-long", format!("{} has more than 4 GiB", source.name()));
            State::Failed(too_long.help("split it"))
        } else {
            Parser::new(source, range, twice)
                .map_or_else(State::Failed, |parser| State::Reading(Box::new(parser), false))
        };
        Self { source, state, start }
    }
}

impl Iterator for Documents<'_> {
    type Item = Result<Document>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut parser, had_one) = match std::mem::replace(&mut self.state, State::Done) {
            State::Failed(error) => return Some(Err(error)),
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
    fn document(&mut self, source: &Arc<Source>, start: usize, had_one: bool) -> Option<Result<Document>> {
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
            Ok(document.with_comments(head, foot))
        });
        Some(document)
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
        if start > 0 {
            let line_end = self.line_end(marker);
            self.first_line_end = self.line_end(line_end + self.break_len(line_end));
        }
        self.skip(After::lead(marker))?;
        if self.at_document_end() {
            return Ok(Some(self.nothing(marker + 3)));
        }
        if start > 0 {
            // The reference cuts a stream at `---` and reads each piece by itself.
            *head = self.document_head();
        }
        self.root().map(Some)
    }

    fn root(&mut self) -> Result<Node> {
        self.block_node(false)?;
        Ok(self.nodes.pop().expect("a node was read"))
    }

    /// Goes over `...` behind a document. Gives where the document's stretch of the text ends.
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
