//! Comments that were read, on their way to nodes. The rules are in [`super::comment`].

use std::collections::VecDeque;

use super::comment::{Noted, Role};
use super::cursor::Parser;
use crate::node::Style;
use crate::text::Text;

/// Comments on their way to a node.
#[derive(Default)]
pub(crate) struct Comments {
    /// Whether there are any.
    pub active: bool,
    pub noted: Vec<(Noted, Text)>,
    /// How many of those have been readied already.
    passed: usize,
    /// What was noted for a token that has been looked at, and waits for a node.
    head: Text,
    line: Text,
    foot: Text,
    /// Room to put the lines of a comment together.
    pub lines: String,
    /// How much of the head was there in front of a `-`: it goes to the collection that is the item, not its first key.
    pub stem: usize,
    /// Where the blocks end that end here, inner ones first.
    block_ends: VecDeque<usize>,
}

impl Parser<'_> {
    /// The start of the token that ends the node on top: of a flow collection its bracket, else the whole.
    pub(crate) fn last_token(&mut self) -> usize {
        let node = self.top();
        let span = node.span();
        let is_flow = node.style() == Style::Flow && node.trivia().alias.is_none();
        if is_flow { span.end as usize - 1 } else { span.start as usize }
    }

    /// Gives the node on top its comments, if it is a scalar, an alias or a flow collection. To be called when what
    /// is after it was skipped.
    #[inline]
    pub(crate) fn comment_on(&mut self) {
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
        comments.look_at(token, Token::Other);
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

    /// Gives the node on top what is above it.
    #[inline]
    pub(crate) fn give_head(&mut self, head: Text) {
        if !head.is_empty() {
            self.top().trivia_mut().head = head;
        }
    }

    /// The head of a flow collection whose bracket is at `start`. To be called when what is after it was skipped.
    pub(crate) fn flow_head(&mut self, start: usize) -> Text {
        if !self.comments.active {
            return Text::new();
        }
        self.comments.look_at(start, Token::Other);
        self.comments.take().0
    }

    /// The head of a block collection that is an item of a sequence and whose first token is at `start`.
    #[inline]
    pub(crate) fn stem(&mut self, start: usize) -> Text {
        if self.comments.stem == 0 { Text::new() } else { self.take_stem(start) }
    }

    #[cold]
    fn take_stem(&mut self, start: usize) -> Text {
        let stem = std::mem::take(&mut self.comments.stem);
        self.comments.look_at(start, Token::Other);
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
    pub(crate) fn begin_item(&mut self, dash: usize) {
        if self.comments.active {
            self.comments.look_at(dash, Token::Other);
            self.comments.stem = self.comments.head.len();
        }
    }

    /// At the end of a block map, whose keys and values are on top: its last key takes what belongs to the end.
    #[inline]
    pub(crate) fn end_map(&mut self) {
        if self.comments.active {
            self.end_map_with_comments();
        }
    }

    #[cold]
    fn end_map_with_comments(&mut self) {
        let end = self.comments.block_ends.pop_front().unwrap_or(self.pos);
        self.comments.look_at(end, Token::BlockEnd);
        let (_, foot) = self.comments.take();
        let key = self.nodes.len() - 2;
        if !foot.is_empty() {
            self.nodes[key].trivia_mut().foot = foot;
        }
    }

    /// At the end of a block sequence that has a block of its own.
    #[inline]
    pub(crate) fn end_seq(&mut self) {
        if self.comments.active {
            let end = self.comments.block_ends.pop_front().unwrap_or(self.pos);
            self.comments.look_at(end, Token::BlockEnd);
        }
    }

    /// A key was read, and is on top: a foot that it took is that of the entry before.
    #[inline]
    pub(crate) fn settle_key(&mut self, first: usize) {
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
    pub(crate) fn settle_value(&mut self) {
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
    pub(crate) fn document_head(&mut self) -> Text {
        if !self.comments.active {
            return Text::new();
        }
        self.comments.look_at(self.pos, Token::Other);
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
    pub(crate) fn document_foot(&mut self, end: usize) -> Text {
        if !self.comments.active {
            return Text::new();
        }
        self.comments.look_at(end, Token::Other);
        let (head, foot) = self.comments.take();
        if foot.is_empty() { head } else { foot }
    }

    /// Finds where the blocks end that end at the token here. White space began at `from`.
    pub(crate) fn find_block_ends(&mut self, from: usize) {
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

/// What comments are looked up for.
#[derive(Clone, Copy, PartialEq)]
enum Token {
    BlockEnd,
    Other,
}

impl Comments {
    /// Whether anything is ready, or noted for the token at `token` or an earlier one.
    fn has_for(&self, token: usize) -> bool {
        self.noted.get(self.passed).is_some_and(|(comment, _)| comment.token <= token)
            || !(self.head.is_empty() && self.line.is_empty() && self.foot.is_empty())
    }

    /// Readies what was noted for the token at `start` and earlier ones. The end of a block has no head.
    fn look_at(&mut self, start: usize, token: Token) {
        while let Some((comment, text)) = self.noted.get_mut(self.passed).filter(|(c, _)| c.token <= start) {
            let into = match comment.role {
                Role::Head if token == Token::BlockEnd => break,
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

    /// The end of a block at a column: before a comment at that column, if nothing but comments follow it.
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
