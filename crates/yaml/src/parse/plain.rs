//! Plain scalars: text without quotes.

use super::cursor::Parser;
use super::words;
use crate::diag::Result;
use crate::node::Style;

/// Bytes at which reading a plain scalar has to look closer.
const LOOK: u8 = 1;
/// The same, within `[]` and `{}` only.
const LOOK_IN_FLOW: u8 = 2;

static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut i = 0;
    let look = b"\0 \t\n\r:\xC2\xE2";
    while i < look.len() {
        classes[look[i] as usize] = LOOK;
        i += 1;
    }
    let flow = b",?[]{}";
    i = 0;
    while i < flow.len() {
        classes[flow[i] as usize] = LOOK_IN_FLOW;
        i += 1;
    }
    i = 0;
    while i < 256 {
        if (i as u8).is_ascii_alphanumeric() || i == b'/' as usize || i == b'.' as usize {
            classes[i] |= WORD;
        }
        i += 1;
    }
    classes
};

/// Bytes that can begin nothing but a plain scalar.
const WORD: u8 = 4;

/// What ended a line of a plain scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A `:` that makes it a key.
    Colon,
    /// A comment, or an indicator of flow collections.
    Indicator,
    /// The end of the line, or of the text.
    LineEnd,
}

impl Parser<'_> {
    /// Whether a byte is here that can begin nothing but a plain scalar. Says no if that is not plain to see.
    #[inline]
    pub(crate) fn is_word(&self) -> bool {
        CLASSES[self.here() as usize] & WORD != 0
    }

    /// Whether a plain scalar may begin here.
    pub(crate) fn starts_plain(&self) -> bool {
        match self.here() {
            b' ' | b'\t' | b'\n' | b'\r' | 0 => false,
            b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"'
            | b'%' | b'@' | b'`' => false,
            b'-' => !matches!(self.at(self.pos + 1), b' ' | b'\t'),
            b'?' | b':' => self.flow_level == 0 && !self.is_blank_or_end(self.pos + 1),
            _ => true,
        }
    }

    /// Reads a plain scalar, which may go on over several lines. Stops in front of what ends it: where that is on a
    /// later line, all white space up to there is read. Says whether it is a `:` on this line.
    #[inline]
    pub(crate) fn plain(&mut self) -> Result<bool> {
        let start = self.pos;
        let (end, stop) = self.plain_line();
        if stop != Stop::LineEnd || !self.plain_goes_on()? {
            self.push_plain(start, end);
            return Ok(stop == Stop::Colon);
        }
        self.plain_lines(start, end)
    }

    /// Reads a plain scalar that must end on its line, as keys do. Gives where it ends, and whether at a `:`.
    #[inline]
    pub(crate) fn plain_key(&mut self) -> (usize, bool) {
        let start = self.pos;
        let (end, stop) = self.plain_line();
        self.push_plain(start, end);
        (end, stop == Stop::Colon)
    }

    #[inline]
    fn push_plain(&mut self, start: usize, end: usize) {
        let text = &self.text[start..end];
        self.push_scalar(text, crate::scalar::resolve::plain(text), Style::Plain, start, end);
    }

    /// Goes over the part of a plain scalar that is on this line, and the blanks after it. Gives where the text ends
    /// and why.
    #[inline]
    fn plain_line(&mut self) -> (usize, Stop) {
        let mut pos = self.pos;
        let mut end;
        let stop = loop {
            pos = if self.flow_level == 0 {
                words::plain_end(self.bytes, pos)
            } else {
                self.flow_plain_end(pos)
            };
            end = pos;
            match self.at(pos) {
                b':' if self.is_blank_or_end(pos + 1) => break Stop::Colon,
                b'\n' | b'\r' => break Stop::LineEnd,
                b' ' | b'\t' => {
                    while matches!(self.at(pos), b' ' | b'\t') {
                        pos += 1;
                    }
                    match self.at(pos) {
                        b'#' => break Stop::Indicator,
                        b':' if self.is_blank_or_end(pos + 1) => break Stop::Colon,
                        b',' | b'?' | b'[' | b']' | b'{' | b'}' if self.flow_level > 0 => {
                            break Stop::Indicator;
                        }
                        0 => break Stop::LineEnd,
                        _ if self.break_len(pos) > 0 => break Stop::LineEnd,
                        _ => pos += 1,
                    }
                }
                b',' | b'?' | b'[' | b']' | b'{' | b'}' => break Stop::Indicator,
                0 => break Stop::LineEnd,
                _ if self.break_len(pos) > 0 => break Stop::LineEnd,
                _ => pos += 1,
            }
        };
        self.pos = pos;
        (end, stop)
    }

    /// The first place from `pos` on at which a plain scalar in brackets may end.
    fn flow_plain_end(&self, pos: usize) -> usize {
        let rest = self.bytes[pos..].iter();
        pos + rest.take_while(|b| CLASSES[**b as usize] & (LOOK | LOOK_IN_FLOW) == 0).count()
    }

    /// At the end of a line of a plain scalar: goes over white space to the next text, and says whether that is more of
    /// the scalar.
    fn plain_goes_on(&mut self) -> Result<bool> {
        if self.at_end() {
            return Ok(false);
        }
        let indent = self.indent + 1;
        loop {
            match self.here() {
                b' ' => self.pos = words::spaces_end(self.bytes, self.pos),
                b'\t' if self.column() < indent => return Err(self.tab_in_indentation(self.pos)),
                b'\t' => self.pos += 1,
                _ => match self.break_len(self.pos) {
                    0 => break,
                    len => {
                        self.pos += len;
                        self.line_start = self.pos;
                    }
                },
            }
        }
        self.key_allowed = true;
        if (self.flow_level == 0 && self.column() < indent) || self.at_end() || self.at_marker() {
            return Ok(false);
        }
        Ok(match self.here() {
            b'#' => false,
            b':' => !self.is_blank_or_end(self.pos + 1),
            b',' | b'?' | b'[' | b']' | b'{' | b'}' => self.flow_level == 0,
            _ => true,
        })
    }

    /// The rest of a plain scalar of several lines; `end` is where the text of the first one ends.
    #[cold]
    fn plain_lines(&mut self, start: usize, mut end: usize) -> Result<bool> {
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        text.push_str(&self.text[start..end]);
        let stop = loop {
            self.fold_into(&mut text, end, self.pos);
            self.key_allowed = false;
            let from = self.pos;
            let stop;
            (end, stop) = self.plain_line();
            text.push_str(&self.text[from..end]);
            if stop != Stop::LineEnd || !self.plain_goes_on()? {
                break stop;
            }
        };
        self.push_scalar(&text, crate::scalar::resolve::plain(&text), Style::Plain, start, end);
        self.scratch = text;
        Ok(stop == Stop::Colon)
    }

    /// Writes what the white space between two lines of a scalar means: a space for one line break, one fewer for
    /// several.
    pub(crate) fn fold_into(&self, text: &mut String, from: usize, to: usize) {
        let mut at = from;
        let mut first: Option<&str> = None;
        let mut further = false;
        while at < to {
            let len = self.break_len(at);
            if len == 0 {
                at += 1;
                continue;
            }
            let written = self.break_text(at, len);
            match first {
                None => first = Some(written),
                Some(first_break) => {
                    if !further && first_break != "\n" {
                        text.push_str(first_break);
                    }
                    text.push_str(written);
                    further = true;
                }
            }
            at += len;
        }
        match first {
            Some("\n") if !further => text.push(' '),
            Some(kept) if !further => text.push_str(kept),
            _ => {}
        }
    }

    /// What a line break becomes in a value: a line feed, except for U+2028 and U+2029, which stay.
    pub(crate) fn break_text(&self, at: usize, len: usize) -> &str {
        if len == 3 { &self.text[at..at + len] } else { "\n" }
    }
}
