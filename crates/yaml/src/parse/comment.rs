//! Which node a comment belongs to.
//!
//! go-yaml decides this while it turns text into tokens and tokens into events, and the result depends on both: a
//! comment is noted with the token it is to go to, waits until the parser looks at that token, and lands on whichever
//! event is made next. Its rules are kept here exactly, with the pieces of text that stand in for its tokens:
//!
//! 1. White space is read behind every token. A comment on the token's line is noted as *line* comment of the token;
//!    other comments as *foot* of the token, or as *head* of what follows ([`Parser::read_comments`]).
//! 2. When a node is complete, and what follows it has been skipped, it takes all comments that were noted for its
//!    token or an earlier one ([`Parser::comment_on`]).
//! 3. The end of a block is a token, too; it may lie in front of comments that belong to the parent
//!    ([`Parser::find_block_ends`]).

use std::collections::VecDeque;
use std::ops::Range;

use super::cursor::Parser;
use super::words;
use crate::node::{Style, Text};

/// The token that white space and comments follow.
#[derive(Clone, Copy)]
pub struct After {
    pub kind: Kind,
    /// Where the token begins that comments below may be the foot of.
    pub start: usize,
    /// Where the token begins that a comment on the line goes to.
    pub line: usize,
}

/// What kind of token, as far as comments care.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `-`, `---`, `...` and the beginning of the text: what follows on the line belongs to the next node.
    Lead,
    /// `:`
    Value,
    Other,
}

impl After {
    pub fn lead(start: usize) -> Self {
        Self { kind: Kind::Lead, start, line: start }
    }

    pub fn value(start: usize, key: usize) -> Self {
        Self { kind: Kind::Value, start, line: key }
    }

    pub fn other(start: usize) -> Self {
        Self { kind: Kind::Other, start, line: start }
    }
}

/// Comments on their way to a node.
#[derive(Default)]
pub struct Comments {
    /// Whether there are any.
    pub active: bool,
    noted: Vec<(Noted, Text)>,
    /// How many of those have been readied already.
    passed: usize,
    /// What was noted for a token that has been looked at, and waits for a node.
    head: Text,
    line: Text,
    foot: Text,
    /// Room to put the lines of a comment together.
    lines: String,
    /// How much of the head was there in front of a `-`: it goes to the collection that is the item, not its first key.
    pub stem: usize,
    /// Where the blocks end that end here, inner ones first.
    block_ends: VecDeque<usize>,
}

struct Noted {
    role: Role,
    /// Where the token begins that it is for.
    token: usize,
    /// Where the white space that it is in begins.
    scan: usize,
    start: usize,
    end: usize,
    column: i32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Head,
    Line,
    Foot,
}

/// Reading comments.
impl Parser<'_> {
    /// Reads the comment that begins here, on the line of the token at `token`.
    pub fn line_comment(&mut self, token: usize) {
        let start = self.pos;
        self.pos = self.line_end(start);
        let text = self.text[start..self.pos].into();
        let comment = Noted { role: Role::Line, token, scan: 0, start, end: 0, column: 0 };
        self.comments.active = true;
        self.comments.noted.push((comment, text));
    }

    /// Reads the comment on the line of a token, where there is one. White space began at `from`.
    pub fn comment_on_line(&mut self, from: usize, after: After) -> bool {
        if after.kind == Kind::Lead || self.pos != from {
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
    pub fn read_comments(&mut self, from: usize, after: After) {
        let breaks = self.breaks_before(self.pos, from);
        let mut token = after.start;
        let mut scan = from;
        let outer_indent = self.indent.max(0);
        // Lines are counted from this one. A comment on the first line below the token is its foot, if an empty line
        // follows; behind the first line of a document nothing is.
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
                    let below_token = Some(start_line) == foot_line && after.kind != Kind::Value;
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
                0x85 if self.odd_breaks && self.break_len(at - 2) == 2 => {
                    breaks += 1;
                    at -= 2;
                }
                0xA8 | 0xA9 if self.odd_breaks && self.break_len(at - 3) == 3 => {
                    breaks += 1;
                    at -= 3;
                }
                _ => break,
            }
        }
        breaks
    }
}

/// Handing comments out.
impl Parser<'_> {
    /// The start of the token that ends the node on top: of a flow collection its bracket, else the whole.
    pub fn last_token(&mut self) -> usize {
        let node = self.top();
        let span = node.span();
        let is_flow = node.style() == Style::Flow && node.trivia().alias.is_none();
        if is_flow { span.end as usize - 1 } else { span.start as usize }
    }

    /// Gives the node on top its comments, where it is a scalar, an alias or a flow collection. To be called when what
    /// is behind it was skipped.
    #[inline]
    pub fn comment_on(&mut self) {
        if self.comments.active {
            self.comment_on_top();
        }
    }

    #[cold]
    fn comment_on_top(&mut self) {
        let token = self.last_token();
        if !self.comments.has_for(token) {
            return;
        }
        let node = self.nodes.last_mut().expect("a node was read");
        if node.span().is_empty() {
            return;
        }
        let is_alias = node.trivia().alias.is_some();
        if node.style() == Style::Block && !is_alias {
            return;
        }
        let comments = &mut self.comments;
        comments.look_at(token, false);
        let [mut head, line, foot] =
            [&mut comments.head, &mut comments.line, &mut comments.foot].map(std::mem::take);
        if node.style() == Style::Flow && !is_alias {
            // Its head was given at the opening bracket.
            head = node.trivia().head.clone();
        }
        if !(head.is_empty() && line.is_empty() && foot.is_empty()) {
            node.set_comments(head, line, foot);
        }
        comments.taken();
    }

    /// Gives the node on top what stands above it.
    #[inline]
    pub fn give_head(&mut self, head: Text) {
        if !head.is_empty() {
            self.top().trivia_mut().head = head;
        }
    }

    /// The head of a flow collection whose bracket is at `start`. To be called when what is behind it was skipped.
    pub fn flow_head(&mut self, start: usize) -> Text {
        if !self.comments.active {
            return Text::new();
        }
        self.comments.look_at(start, false);
        self.comments.take().0
    }

    /// The head of a block collection that is an item of a sequence and whose first token is at `start`.
    #[inline]
    pub fn stem(&mut self, start: usize) -> Text {
        if self.comments.stem == 0 { Text::new() } else { self.take_stem(start) }
    }

    #[cold]
    fn take_stem(&mut self, start: usize) -> Text {
        let stem = std::mem::take(&mut self.comments.stem);
        self.comments.look_at(start, false);
        let head = std::mem::take(&mut self.comments.head);
        match head.get(stem + 1..) {
            None => head,
            Some(rest) => {
                self.comments.head = rest.into();
                head[..stem].into()
            }
        }
    }

    /// Notes how much of a head is in front of the `-` at `dash`.
    #[inline]
    pub fn begin_item(&mut self, dash: usize) {
        if self.comments.active {
            self.comments.look_at(dash, false);
            self.comments.stem = self.comments.head.len();
        }
    }

    /// At the end of a block map, whose keys and values are on top: its last key takes what belongs to the end.
    #[inline]
    pub fn end_map(&mut self) {
        if self.comments.active {
            self.end_map_with_comments();
        }
    }

    #[cold]
    fn end_map_with_comments(&mut self) {
        let end = self.comments.block_ends.pop_front().unwrap_or(self.pos);
        self.comments.look_at(end, true);
        let (_, foot) = self.comments.take();
        let key = self.nodes.len() - 2;
        if !foot.is_empty() {
            self.nodes[key].trivia_mut().foot = foot;
        }
    }

    /// At the end of a block sequence that has a block of its own.
    #[inline]
    pub fn end_seq(&mut self) {
        if self.comments.active {
            let end = self.comments.block_ends.pop_front().unwrap_or(self.pos);
            self.comments.look_at(end, true);
        }
    }

    /// A key was read, and is on top: a foot that it took is that of the entry before.
    #[inline]
    pub fn settle_key(&mut self, first: usize) {
        if self.top().has_trivia() {
            self.settle_key_with_trivia(first);
        }
    }

    #[cold]
    fn settle_key_with_trivia(&mut self, first: usize) {
        let key = self.nodes.len() - 1;
        if key > first && !self.nodes[key].trivia().foot.is_empty() {
            let foot = std::mem::take(&mut self.nodes[key].trivia_mut().foot);
            self.nodes[key - 2].trivia_mut().foot = foot;
        }
    }

    /// A key and its value were read, and are on top: the foot goes to the key.
    #[inline]
    pub fn settle_value(&mut self) {
        if self.top().has_trivia() {
            self.settle_value_with_trivia();
        }
    }

    #[cold]
    fn settle_value_with_trivia(&mut self) {
        let value = self.nodes.len() - 1;
        if !self.nodes[value].trivia().foot.is_empty() && self.nodes[value - 1].trivia().foot.is_empty() {
            let foot = std::mem::take(&mut self.nodes[value].trivia_mut().foot);
            self.nodes[value - 1].trivia_mut().foot = foot;
        }
    }

    /// In front of the first token of a document: what is above the last empty line is of the document.
    pub fn document_head(&mut self) -> Text {
        if !self.comments.active {
            return Text::new();
        }
        self.comments.look_at(self.pos, false);
        let head = &self.comments.head;
        let Some(gap) = head
            .strip_suffix('\n')
            .map(|h| (h.len(), head.len()))
            .or_else(|| head.rfind("\n\n").filter(|gap| *gap > 0).map(|gap| (gap, gap + 2)))
        else {
            return Text::new();
        };
        let (above, below) = (head[..gap.0].into(), head[gap.1..].into());
        self.comments.head = below;
        above
    }

    /// At the end of a document, whose last token is at `end`.
    pub fn document_foot(&mut self, end: usize) -> Text {
        if !self.comments.active {
            return Text::new();
        }
        self.comments.look_at(end, false);
        let (head, foot) = self.comments.take();
        if foot.is_empty() { head } else { foot }
    }

    /// Finds where the blocks end that end at the token here. White space began at `from`.
    pub fn find_block_ends(&mut self, from: usize) {
        self.comments.block_ends.clear();
        let column = self.column();
        let is_end = self.at_document_end();
        if self.indent <= column && !is_end {
            return;
        }
        let mut indents = self.indents.iter().rev();
        let mut indent = self.indent;
        let mut end = from.saturating_sub(1);
        while indent > column {
            end = self.comments.block_end(indent, end);
            indent = *indents.next().expect("the outermost is -1");
        }
        if !is_end {
            return;
        }
        end = self.pos.saturating_sub(1);
        while indent > -1 {
            end = self.comments.block_end(indent, end);
            indent = *indents.next().expect("the outermost is -1");
        }
    }
}

impl Comments {
    /// Whether anything is ready, or noted for the token at `token` or an earlier one.
    fn has_for(&self, token: usize) -> bool {
        self.noted.get(self.passed).is_some_and(|(comment, _)| comment.token <= token)
            || !(self.head.is_empty() && self.line.is_empty() && self.foot.is_empty())
    }

    /// Readies what was noted for the token at `token` and earlier ones. The end of a block has no head.
    fn look_at(&mut self, token: usize, is_block_end: bool) {
        while let Some((comment, text)) = self.noted.get_mut(self.passed).filter(|(c, _)| c.token <= token) {
            let into = match comment.role {
                Role::Head if is_block_end => break,
                Role::Head => &mut self.head,
                Role::Line => &mut self.line,
                Role::Foot => &mut self.foot,
            };
            self.passed += 1;
            if into.is_empty() {
                *into = std::mem::take(text);
            } else {
                into.push('\n');
                into.push_str(text);
            }
        }
        if self.passed == self.noted.len() {
            self.noted.clear();
            self.passed = 0;
        }
    }

    /// Takes head and foot; a comment on the line of what takes neither is dropped.
    fn take(&mut self) -> (Text, Text) {
        let taken = (std::mem::take(&mut self.head), std::mem::take(&mut self.foot));
        self.line = Text::new();
        self.taken();
        taken
    }

    /// After what is ready was taken.
    fn taken(&mut self) {
        self.stem = 0;
        self.active = !self.noted.is_empty();
    }

    /// The end of a block at a column: before a comment at that column, where nothing but comments follow it.
    fn block_end(&mut self, column: i32, mut end: usize) -> usize {
        let mut stop = end;
        for (comment, _) in self.noted[self.passed..].iter().rev() {
            if comment.role == Role::Line || comment.end < stop {
                break;
            }
            if comment.column == column {
                end = comment.start;
            }
            stop = comment.scan;
        }
        self.block_ends.push_back(end);
        end
    }
}
