//! The parser's state, and how it gets from one token to the next.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::chars;
use super::comment::After;
use super::options::DuplicateKeys;
use super::pending_comments::Comments;
use super::property::Handle;
use super::words;
use crate::diag::{Diagnostic, Result};
use crate::node::Node;
use crate::source::{FileId, Source, Span};
use crate::text::Text;

/// How deep collections may nest. Everything that walks a tree recurses, so this keeps a hostile document from
/// overflowing a small stack; what people write stays far below.
pub(crate) const MAX_DEPTH: usize = 500;

/// A simple key must have its `:` within this many characters.
const MAX_KEY: usize = 1024;

pub(crate) struct Parser<'s> {
    pub duplicate_keys: DuplicateKeys,
    pub source: &'s Arc<Source>,
    file: FileId,
    /// The text up to where this parser may read.
    pub text: &'s str,
    pub bytes: &'s [u8],
    pub pos: usize,
    /// Where the current line begins.
    pub line_start: usize,
    /// Where the first line of the document ends.
    pub first_line_end: usize,
    /// The column of the innermost block collection; -1 outside of any.
    pub indent: i32,
    /// The columns of the block collections around it, -1 first.
    pub indents: Vec<i32>,
    /// How many flow collections are open.
    pub flow_level: usize,
    /// Whether a simple key, or `-` or `?`, may be here: at the beginning of a line, and after `-` and `?`.
    pub key_allowed: bool,
    /// Whether U+0085, U+2028 or U+2029, which break lines too, occur in the text.
    pub odd_breaks: bool,
    /// Whether CR does.
    has_returns: bool,
    pub depth: usize,
    /// What was read and is not yet part of a collection; see [`super::tree`].
    pub nodes: Vec<Node>,
    /// A hash for each key among them.
    pub hashes: Vec<u32>,
    pub scratch: String,
    pub comments: Comments,
    pub anchors: FxHashMap<Text, Anchored>,
    pub handles: Vec<Handle>,
    /// How much text the aliases of this document stand for.
    pub expanded: usize,
    /// Whether this document has anchors, aliases or merge keys.
    pub has_references: bool,
}

/// What an anchor names; no node while it is still being read.
pub(crate) struct Anchored {
    pub node: Option<Node>,
    /// How much text it is, aliases written out.
    pub weight: usize,
    pub place: Span,
}

impl<'s> Parser<'s> {
    /// A parser for `range` of the source.
    pub(crate) fn new(
        source: &'s Arc<Source>,
        range: Range<usize>,
        duplicate_keys: DuplicateKeys,
    ) -> Result<Self> {
        if u32::try_from(source.text().len()).is_err() {
            let message = format!("{} has more than 4 GiB", source.name());
            return Err(Diagnostic::error("yaml-too-long", message).help("split it"));
        }
        let mut parser = Self {
            duplicate_keys,
            source,
            file: source.id(),
            text: "",
            bytes: b"",
            pos: 0,
            line_start: 0,
            first_line_end: 0,
            indent: -1,
            indents: Vec::new(),
            flow_level: 0,
            key_allowed: true,
            odd_breaks: false,
            has_returns: false,
            depth: 0,
            nodes: Vec::new(),
            hashes: Vec::new(),
            scratch: String::new(),
            comments: Comments::default(),
            anchors: FxHashMap::default(),
            handles: Vec::new(),
            expanded: 0,
            has_references: false,
        };
        parser.restart(range)?;
        Ok(parser)
    }

    /// A parser for a source that may be JSON: whatever characters it has.
    pub(crate) fn of_json(source: &'s Arc<Source>, duplicate_keys: DuplicateKeys) -> Option<Self> {
        let mut parser = Self::new(source, 0..0, duplicate_keys).ok()?;
        parser.text = source.text();
        parser.bytes = parser.text.as_bytes();
        if parser.text.starts_with('\u{feff}') {
            parser.pos = '\u{feff}'.len_utf8();
        }
        Some(parser)
    }

    /// Starts again with another range of the source.
    pub(crate) fn restart(&mut self, range: Range<usize>) -> Result<()> {
        self.odd_breaks = chars::check(self.source, range.clone())?;
        self.has_returns = memchr::memchr(b'\r', &self.source.text().as_bytes()[range.clone()]).is_some();
        self.text = &self.source.text()[..range.end];
        self.bytes = self.text.as_bytes();
        self.pos = range.start;
        if range.start == 0 && self.text.starts_with('\u{feff}') {
            self.pos = '\u{feff}'.len_utf8();
        }
        self.line_start = self.pos;
        // After an error, the rest may be in any state.
        (self.indent, self.flow_level, self.depth) = (-1, 0, 0);
        self.key_allowed = true;
        self.indents.clear();
        self.nodes.clear();
        self.hashes.clear();
        if self.comments.active {
            self.comments = Comments::default();
        }
        Ok(())
    }

    /// The byte at an offset; 0 after the end, which no text contains.
    #[inline]
    pub(crate) fn at(&self, pos: usize) -> u8 {
        match self.bytes.get(pos) {
            Some(byte) => *byte,
            None => 0,
        }
    }

    #[inline]
    pub(crate) fn here(&self) -> u8 {
        self.at(self.pos)
    }

    #[inline]
    pub(crate) fn at_end(&self) -> bool {
        self.pos >= self.bytes.len()
    }

    #[inline]
    pub(crate) fn column(&self) -> i32 {
        (self.pos - self.line_start) as i32
    }

    #[inline]
    pub(crate) fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.file, start, end)
    }

    /// How many bytes the line break at `pos` has; 0 if there is none.
    #[inline]
    pub(crate) fn break_len(&self, pos: usize) -> usize {
        match self.at(pos) {
            b'\n' => 1,
            b'\r' => 1 + usize::from(self.at(pos + 1) == b'\n'),
            0xC2 | 0xE2 if self.odd_breaks => chars::odd_break(&self.bytes[pos..]),
            _ => 0,
        }
    }

    /// Whether a space, a tab, a line break or the end is at `pos`.
    #[inline]
    pub(crate) fn is_blank_or_end(&self, pos: usize) -> bool {
        match self.at(pos) {
            b' ' | b'\t' | b'\n' | b'\r' | 0 => true,
            0xC2 | 0xE2 if self.odd_breaks => self.break_len(pos) > 0,
            _ => false,
        }
    }

    /// Where the line that `pos` is in ends, before its line break.
    pub(crate) fn line_end(&self, pos: usize) -> usize {
        if self.odd_breaks {
            return (pos..self.bytes.len()).find(|p| self.break_len(*p) > 0).unwrap_or(self.bytes.len());
        }
        let rest = &self.bytes[pos..];
        let found =
            if self.has_returns { memchr::memchr2(b'\n', b'\r', rest) } else { memchr::memchr(b'\n', rest) };
        found.map_or(self.bytes.len(), |n| pos + n)
    }

    /// Whether an indicator (`-`, `?`, `:`) is here by itself.
    #[inline]
    pub(crate) fn is_indicator(&self, byte: u8) -> bool {
        self.here() == byte && self.is_blank_or_end(self.pos + 1)
    }

    /// Whether `---` or `...` is here, at the beginning of a line.
    #[inline]
    pub(crate) fn at_marker(&self) -> bool {
        self.pos == self.line_start
            && matches!(self.here(), b'-' | b'.')
            && matches!(self.bytes.get(self.pos..self.pos + 3), Some(b"---" | b"..."))
            && self.is_blank_or_end(self.pos + 3)
    }

    /// Whether `---` is at the beginning of the line at `pos`.
    pub(crate) fn is_document_start(&self, pos: usize) -> bool {
        self.bytes[pos..].starts_with(b"---") && self.is_blank_or_end(pos + 3)
    }

    /// Whether the document ends here: at the end of the text, a document marker, or a directive.
    #[inline]
    pub(crate) fn at_document_end(&self) -> bool {
        if self.pos != self.line_start {
            return self.at_end();
        }
        self.at_end() || self.here() == b'%' || self.at_marker()
    }

    /// Goes over spaces, comments and line breaks to the next token. `after` is the token they follow.
    #[inline]
    pub(crate) fn skip(&mut self, after: After) -> Result<()> {
        // Nearly always there is just a space, or a line break and indentation.
        let from = self.pos;
        match self.here() {
            b'\n' if self.flow_level == 0 => {
                self.key_allowed = true;
                self.pos += 1;
                self.line_start = self.pos;
                self.pos = words::spaces_end(self.bytes, self.pos);
            }
            b' ' => self.pos += 1,
            _ => {}
        }
        if is_skipped(self.here()) || self.comments.active {
            return self.skip_all(from, after);
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn skip_all(&mut self, mut from: usize, after: After) -> Result<()> {
        if self.line_start <= from {
            self.pos = from;
        }
        if self.comment_on_line(from, after) {
            from = self.pos;
        }
        loop {
            match self.here() {
                b' ' => self.pos = words::spaces_end(self.bytes, self.pos),
                b'\t' if self.flow_level > 0 || !self.key_allowed => self.pos += 1,
                b'\t' => return Err(self.tab_in_indentation(self.pos)),
                b'#' => self.read_comments(from, after),
                _ => {
                    let len = self.break_len(self.pos);
                    if len == 0 {
                        break;
                    }
                    self.pos += len;
                    self.line_start = self.pos;
                    if self.flow_level == 0 {
                        self.key_allowed = true;
                    }
                }
            }
        }
        if self.comments.active && self.flow_level == 0 {
            self.find_block_ends(from);
        }
        Ok(())
    }

    /// Goes over spaces and tabs.
    #[inline]
    pub(crate) fn skip_blanks(&mut self) {
        while matches!(self.here(), b' ' | b'\t') {
            self.pos += 1;
        }
    }

    /// Whether what began at `start` may be a simple key for a `:` that is here: on one line, and not too long.
    pub(crate) fn is_key_length(&self, start: usize) -> bool {
        start >= self.line_start
            && (self.pos - start <= MAX_KEY || self.text[start..self.pos].chars().count() <= MAX_KEY)
    }

    /// Goes one level down; an error if that is too deep.
    #[inline]
    pub(crate) fn descend(&mut self, at: usize) -> Result<()> {
        self.depth += 1;
        if self.depth <= MAX_DEPTH {
            return Ok(());
        }
        Err(self.too_deep(at))
    }
}

/// Whether there may be more to skip at this byte.
#[inline]
fn is_skipped(byte: u8) -> bool {
    // Most are letters and digits.
    byte <= b'#' && byte != b'"' || byte >= 0xC2
}
