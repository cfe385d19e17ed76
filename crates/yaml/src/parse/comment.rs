//! Which node a comment belongs to.
//!
//! go-yaml decides this while it turns text into tokens and tokens into events, and the result depends on both: a
//! comment is noted with the token it is to go to, waits until the parser looks at that token, and lands on whichever
//! event is made next. Its rules are kept here exactly, with the pieces of text that stand in for its tokens:
//!
//! 1. White space is read after every token. A comment on the token's line is noted as *line* comment of the token;
//!    other comments as *foot* of the token, or as *head* of what follows ([`Parser::read_comments`]).
//! 2. When a node is complete, and what follows it has been skipped, it takes all comments that were noted for its
//!    token or an earlier one ([`super::handout`]).
//! 3. The end of a block is a token, too; it may lie in front of comments that belong to the parent
//!    ([`Parser::find_block_ends`]).

use std::ops::Range;

use super::cursor::Parser;
use super::words;
use crate::text::Text;

/// The token that white space and comments follow.
#[derive(Clone, Copy)]
pub(crate) struct After {
    pub kind: CommentKind,
    /// Where the token begins that comments below may be the foot of.
    pub start: usize,
    /// Where the token begins that a comment on the line goes to.
    pub line: usize,
}

/// What kind of token, as far as comments care.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommentKind {
    /// `-`, `---`, `...` and the beginning of the text: what follows on the line belongs to the next node.
    Lead,
    /// `:`
    Value,
    Other,
}

impl After {
    pub(crate) fn lead(start: usize) -> Self {
        Self { kind: CommentKind::Lead, start, line: start }
    }

    pub(crate) fn value(start: usize, key: usize) -> Self {
        Self { kind: CommentKind::Value, start, line: key }
    }

    pub(crate) fn other(start: usize) -> Self {
        Self { kind: CommentKind::Other, start, line: start }
    }
}

/// A comment that was read, and for which token.
pub(crate) struct Noted {
    pub role: Role,
    /// Where the token begins that it is for.
    pub token: usize,
    /// Where the white space that it is in begins.
    pub scan: usize,
    pub start: usize,
    pub end: usize,
    pub column: i32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Head,
    Line,
    Foot,
}

/// Reading comments.
impl Parser<'_> {
    /// Reads the comment that begins here, on the line of the token at `token`.
    pub(crate) fn line_comment(&mut self, token: usize) {
        let start = self.pos;
        self.pos = self.line_end(start);
        let text = self.text[start..self.pos].into();
        let comment = Noted { role: Role::Line, token, scan: 0, start, end: 0, column: 0 };
        self.comments.active = true;
        self.comments.noted.push((comment, text));
    }

    /// Reads the comment on the line of a token, if there is one. White space began at `from`.
    pub(crate) fn comment_on_line(&mut self, from: usize, after: After) -> bool {
        if after.kind == CommentKind::Lead || self.pos != from {
            return false;
        }
        let blanks = self.bytes[from..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        if self.at(from + blanks) != b'#' || self.breaks_before(from, from) > 0 {
            return false;
        }
        self.pos += blanks;
        self.line_comment(after.line);
        true
    }

    /// Reads the comments from here on, up to the last line before the next token. White space began at `from`.
    pub(crate) fn read_comments(&mut self, from: usize, after: After) {
        let breaks = self.breaks_before(self.pos, from);
        let mut token = after.start;
        let mut scan = from;
        let outer_indent = self.indent.max(0);
        // Lines are counted from this one. A comment on the first line below the token is its foot, if an empty line
        // follows; after the first line of a document nothing is.
        let foot_line = if from <= self.first_line_end {
            None
        } else if breaks == 0 && self.column() > 1 {
            Some(2)
        } else {
            Some(1 - breaks as i32)
        };
        let mut first_gap = breaks <= 1;
        let mut in_gap = false;
        // What was read and not yet noted: most often one line, else put together in `lines`.
        let mut text = 0..0;
        self.comments.lines.clear();
        // Where the text began: offset, line as counted, column.
        let (mut start, mut start_line, mut start_column) = (0, 0, 0);
        // go-yaml does not count the end of a comment's line until the next comment; see `line = lines` below.
        let (mut line, mut lines) = (0, 0);
        let mut has_tabs = false;
        let mut pos = self.pos;
        let mut line_start = self.line_start;
        loop {
            pos = words::spaces_end(self.bytes, pos);
            while matches!(self.at(pos), b' ' | b'\t') {
                has_tabs = true;
                pos += 1;
            }
            let column = (pos - line_start) as i32;
            let byte = self.at(pos);
            let len = self.break_len(pos);
            let closes = self.flow_level > 0 && matches!(byte, b']' | b'}');
            let ends = pos >= self.bytes.len() || pos == line_start && self.is_document_start(pos);
            let dedented = start_column < outer_indent;
            if closes || len > 0 || ends {
                if closes || !in_gap {
                    let below_token = Some(start_line) == foot_line && after.kind != CommentKind::Value;
                    if closes || first_gap && (below_token || dedented) {
                        if !text.is_empty() {
                            if dedented {
                                token = start;
                            }
                            let (end, column) = (pos, start_column);
                            self.note(&mut text, Noted { role: Role::Foot, token, scan, start, end, column });
                            (scan, token) = (pos, pos);
                        }
                    } else if !text.is_empty() && len > 0 {
                        self.add_line(&text, 0..0);
                    }
                }
                if len == 0 {
                    break;
                }
                (first_gap, in_gap) = (false, true);
                pos += len;
                line_start = pos;
                line += 1;
                lines += 1;
                continue;
            }
            if !text.is_empty() && column < outer_indent && column != start_column {
                let (end, column) = (pos, start_column);
                self.note(&mut text, Noted { role: Role::Foot, token, scan, start, end, column });
                (scan, token) = (pos, pos);
            }
            if byte != b'#' {
                break;
            }
            in_gap = false;
            self.line_start = line_start;
            self.pos = self.line_end(pos);
            if text.is_empty() {
                (start, start_line, start_column) = (pos, line, column);
                text = pos..self.pos;
            } else {
                self.add_line(&text, pos..self.pos);
            }
            line = lines;
            pos = self.pos + self.break_len(self.pos);
            if pos == self.pos {
                // The end of the text counts as a character here.
                pos += 1;
            } else {
                line_start = pos;
                lines += 1;
            }
        }
        if !text.is_empty() {
            let (end, column) = (pos - 1, start_column);
            self.note(&mut text, Noted { role: Role::Head, token: start, scan, start, end, column });
        }
        if lines > 0 && !has_tabs {
            // What is between the last comment and here needs no second look.
            (self.pos, self.line_start) = (pos.min(self.bytes.len()), line_start);
            self.key_allowed |= self.flow_level == 0;
        }
    }

    /// Adds a line to a comment that began with `first`.
    fn add_line(&mut self, first: &Range<usize>, line: Range<usize>) {
        let lines = &mut self.comments.lines;
        if lines.is_empty() {
            lines.push_str(&self.text[first.clone()]);
        }
        lines.push('\n');
        lines.push_str(&self.text[line]);
    }

    /// Notes a comment, and takes its text.
    fn note(&mut self, first: &mut Range<usize>, comment: Noted) {
        let first = std::mem::take(first);
        let lines = &mut self.comments.lines;
        let text = if lines.is_empty() { &self.text[first] } else { lines.as_str() };
        let text = Text::from(text);
        lines.clear();
        self.comments.active = true;
        self.comments.noted.push((comment, text));
    }

    /// How many line breaks are between `pos` and the text before it. White space began at `from`.
    fn breaks_before(&self, pos: usize, from: usize) -> usize {
        // Most often this line has but its indentation.
        let is_indentation = from < self.line_start || words::spaces_end(self.bytes, self.line_start) == pos;
        let mut at = if is_indentation { self.line_start } else { pos };
        let mut breaks = 0;
        while at > 0 {
            match self.bytes[at - 1] {
                b' ' | b'\t' => at -= 1,
                b'\n' => {
                    breaks += 1;
                    at -= if at > 1 && self.bytes[at - 2] == b'\r' { 2 } else { 1 };
                }
                b'\r' => {
                    breaks += 1;
                    at -= 1;
                }
                0x85 if self.odd_breaks && at >= 2 && self.break_len(at - 2) == 2 => {
                    breaks += 1;
                    at -= 2;
                }
                0xA8 | 0xA9 if self.odd_breaks && at >= 3 && self.break_len(at - 3) == 3 => {
                    breaks += 1;
                    at -= 3;
                }
                _ => break,
            }
        }
        breaks
    }
}
