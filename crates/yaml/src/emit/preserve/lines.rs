//! Finding one's way in a text by lines.

/// A text whose lines end in any of the breaks YAML knows.
#[derive(Clone, Copy)]
pub(super) struct Lines<'s> {
    pub text: &'s str,
}

impl Lines<'_> {
    fn at(self, pos: usize) -> u8 {
        self.text.as_bytes().get(pos).copied().unwrap_or(0)
    }

    /// How long the line break at a position is; 0 if there is none.
    pub(crate) fn break_len(self, pos: usize) -> usize {
        match &self.text.as_bytes()[pos.min(self.text.len())..] {
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            [b'\r', ..] => 1,
            [0xC2, 0x85, ..] => 2,
            [0xE2, 0x80, 0xA8 | 0xA9, ..] => 3,
            _ => 0,
        }
    }

    /// Where the line of a position begins.
    pub(crate) fn line_start(self, pos: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut start = pos;
        while start > 0 {
            match bytes[..start] {
                [.., b'\n' | b'\r'] | [.., 0xC2, 0x85] | [.., 0xE2, 0x80, 0xA8 | 0xA9] => break,
                _ => start -= 1,
            }
        }
        start
    }

    /// Where the line of a position ends, before its break.
    pub(crate) fn line_end(self, pos: usize) -> usize {
        let mut end = pos;
        while end < self.text.len() && self.break_len(end) == 0 {
            end += 1;
        }
        end
    }

    /// Where the line below that of a position begins; the end of the text if there is none.
    pub(crate) fn next_line(self, pos: usize) -> usize {
        let end = self.line_end(pos);
        end + self.break_len(end)
    }

    /// Goes over spaces and tabs.
    pub(crate) fn skip_blanks(self, mut pos: usize) -> usize {
        while matches!(self.at(pos), b' ' | b'\t') {
            pos += 1;
        }
        pos
    }

    /// Goes over white space, line breaks and comments, to the next token. Must not begin within a scalar.
    pub(crate) fn skip_to_token(self, mut pos: usize) -> usize {
        loop {
            pos = self.skip_blanks(pos);
            match self.break_len(pos) {
                0 if self.at(pos) == b'#' => pos = self.line_end(pos),
                0 => return pos,
                len => pos += len,
            }
        }
    }

    /// What a line is, given by its beginning.
    pub(crate) fn kind(self, start: usize) -> LineKind {
        let pos = self.skip_blanks(start);
        if self.at(pos) == b'#' {
            LineKind::Comment
        } else if self.break_len(pos) > 0 || pos >= self.text.len() {
            LineKind::Blank
        } else {
            LineKind::Other
        }
    }

    /// The column of a position, and whether only spaces are before it on its line.
    pub(crate) fn column(self, pos: usize) -> (usize, bool) {
        let start = self.line_start(pos);
        let before = &self.text[start..pos];
        // A byte order mark has no width.
        let before = before.strip_prefix('\u{feff}').unwrap_or(before);
        (before.len(), before.bytes().all(|b| b == b' '))
    }

    /// Goes up from the beginning of a line over `count` lines of comments, and the blank ones between them, and over
    /// further ones that no blank line parts from these. Gives the beginning of the uppermost, but nothing above `floor`.
    pub(crate) fn comments_above(self, line: usize, count: usize, floor: usize) -> usize {
        let (mut found, mut top) = (line, line);
        let mut left = count;
        while top > floor {
            let above = self.line_start(top - self.break_before(top));
            if above < floor {
                break;
            }
            match self.kind(above) {
                LineKind::Comment => {
                    left = left.saturating_sub(1);
                    found = above;
                }
                LineKind::Blank if left > 0 => {}
                LineKind::Blank | LineKind::Other => break,
            }
            top = above;
        }
        found
    }

    /// Goes down from the beginning of a line over `count` lines of comments, and the blank ones between them. Gives the
    /// beginning of the line below the last.
    pub(crate) fn comments_below(self, line: usize, count: usize, ceiling: usize) -> usize {
        let (mut found, mut pos) = (line, line);
        let mut left = count;
        while left > 0 && pos < ceiling {
            let below = self.next_line(pos);
            match self.kind(pos) {
                LineKind::Comment => {
                    left -= 1;
                    found = below;
                }
                LineKind::Blank => {}
                LineKind::Other => break,
            }
            if below == pos {
                break;
            }
            pos = below;
        }
        found
    }

    /// How long the break before the beginning of a line is.
    fn break_before(self, line: usize) -> usize {
        match self.text.as_bytes()[..line] {
            [.., b'\r', b'\n'] | [.., 0xC2, 0x85] => 2,
            [.., b'\n' | b'\r'] => 1,
            [.., 0xE2, 0x80, 0xA8 | 0xA9] => 3,
            _ => 0,
        }
    }
}

/// What a line holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    Blank,
    Comment,
    Other,
}

/// How many lines a comment has, blank ones apart.
pub(super) fn comment_lines(comment: &str) -> usize {
    comment.lines().filter(|line| !line.trim().is_empty()).count()
}

/// How the lines of a text end: as its first one does.
pub(super) fn line_break(text: &str) -> &'static str {
    match text.split_once('\n') {
        Some((line, _)) if line.ends_with('\r') => "\r\n",
        _ => "\n",
    }
}
