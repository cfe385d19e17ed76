//! Positions as the protocol counts them, and bytes.

use serde::{Deserialize, Serialize};

/// A line and a character in it, both from 0. What a character is has been agreed upon: see [`Encoding`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    pub line: u32,
    pub character: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Range {
    pub start: Position,
    pub end: Position,
}

/// What characters of a line are counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// What every client understands.
    #[default]
    Utf16,
    /// Code points.
    Utf32,
}

impl Encoding {
    /// The one to use with a client that names these.
    pub fn negotiate<'n>(offered: impl IntoIterator<Item = &'n str>) -> Self {
        let offered: Vec<&str> = offered.into_iter().collect();
        let all = [Self::Utf8, Self::Utf16, Self::Utf32];
        all.into_iter().find(|encoding| offered.contains(&encoding.name())).unwrap_or_default()
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16 => "utf-16",
            Self::Utf32 => "utf-32",
        }
    }

    fn width(self, c: char) -> usize {
        match self {
            Self::Utf8 => c.len_utf8(),
            Self::Utf16 => c.len_utf16(),
            Self::Utf32 => 1,
        }
    }
}

/// A text whose lines are known. They end as the protocol says: in LF, CRLF or CR.
pub struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
    encoding: Encoding,
}

impl<'t> Lines<'t> {
    pub fn new(text: &'t str, encoding: Encoding) -> Self {
        let bytes = text.as_bytes();
        let ends = |at: &usize| match bytes[*at] {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        let starts = std::iter::once(0).chain((0..bytes.len()).filter(ends).map(|at| at + 1)).collect();
        Self { text, starts, encoding }
    }

    /// A line without what ends it.
    fn line(&self, line: usize) -> &'t str {
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        self.text[self.starts[line]..end].trim_end_matches(['\n', '\r'])
    }

    /// The byte at a position. One beyond the end of its line is its end, as the protocol has it; one within a character is
    /// where that begins.
    pub fn offset(&self, position: Position) -> usize {
        let Some(start) = self.starts.get(position.line as usize) else { return self.text.len() };
        let mut rest = position.character as usize;
        let line = self.line(position.line as usize);
        for (at, c) in line.char_indices() {
            let width = self.encoding.width(c);
            if rest < width {
                return start + at;
            }
            rest -= width;
        }
        start + line.len()
    }

    pub fn position(&self, offset: usize) -> Position {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let before = self.text.get(self.starts[line]..offset).unwrap_or_default();
        let character = before.chars().map(|c| self.encoding.width(c)).sum::<usize>();
        Position { line: line as u32, character: character as u32 }
    }

    pub fn range(&self, bytes: std::ops::Range<usize>) -> Range {
        Range { start: self.position(bytes.start), end: self.position(bytes.end) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_beyond_the_basic_plane_and_all_line_ends() {
        let text = "a: 😀é # x\r\nb: 2\rc\n";
        let utf16 = Lines::new(text, Encoding::Utf16);
        let utf8 = Lines::new(text, Encoding::Utf8);
        let utf32 = Lines::new(text, Encoding::Utf32);
        let hash = text.find('#').unwrap();
        assert_eq!(utf16.position(hash), Position { line: 0, character: 7 });
        assert_eq!(utf8.position(hash), Position { line: 0, character: 10 });
        assert_eq!(utf32.position(hash), Position { line: 0, character: 6 });
        for lines in [&utf16, &utf8, &utf32] {
            for (at, _) in text.char_indices().filter(|(_, c)| !matches!(c, '\r' | '\n')) {
                assert_eq!(lines.offset(lines.position(at)), at);
            }
            assert_eq!(lines.position(text.find('c').unwrap()), Position { line: 2, character: 0 });
            assert_eq!(lines.offset(Position { line: 0, character: 99 }), text.find('\r').unwrap());
            assert_eq!(lines.offset(Position { line: 9, character: 0 }), text.len());
        }
        // Within a surrogate pair.
        assert_eq!(utf16.offset(Position { line: 0, character: 4 }), 3);
    }

    #[test]
    fn bytes_are_preferred_and_utf16_is_what_all_understand() {
        assert_eq!(Encoding::negotiate(["utf-16", "utf-8"]), Encoding::Utf8);
        assert_eq!(Encoding::negotiate(["utf-32"]), Encoding::Utf32);
        assert_eq!(Encoding::negotiate([]), Encoding::Utf16);
    }
}
