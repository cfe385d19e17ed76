//! Which node a comment belongs to.

use super::cursor::Parser;

/// The token that white space and comments follow.
#[derive(Clone, Copy)]
#[allow(dead_code)]
pub struct After {
    pub kind: Kind,
    pub start: usize,
}

/// What kind of token, as far as comments care.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `-`
    Entry,
    /// `:`
    Value,
    /// `---`, `...` and the beginning of the text.
    Marker,
    Other,
}

#[derive(Default)]
pub struct Comments {}

impl Parser<'_> {
    /// Reads the comments from here on, up to the next token.
    pub fn read_comments(&mut self, _from: usize, _after: After) {
        self.pos = self.line_end(self.pos);
    }
}

impl Parser<'_> {
    /// Reads a comment on the line of the token it follows.
    pub fn line_comment(&mut self, _of: After) {
        self.pos = self.line_end(self.pos);
    }
}
