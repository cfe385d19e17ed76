//! Scalars in quotes.

use super::cursor::Parser;
use crate::diag::Result;
use crate::node::{Style, Tag};

impl Parser<'_> {
    /// Reads the quoted scalar that begins here.
    pub(crate) fn quoted(&mut self) -> Result<()> {
        let start = self.pos;
        let quote = self.here();
        let style = if quote == b'"' { Style::DoubleQuoted } else { Style::SingleQuoted };
        self.pos += 1;
        self.go_to_special(quote);
        // Most are on one line and have no escapes: the text is as written.
        if self.here() == quote && (quote == b'"' || self.at(self.pos + 1) != b'\'') {
            let text = &self.text[start + 1..self.pos];
            self.pos += 1;
            self.push_scalar(text, Tag::Str, style, start, self.pos);
            return Ok(());
        }
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        let read = self.quoted_rest(quote, start, &mut text);
        self.push_scalar(&text, Tag::Str, style, start, self.pos);
        self.scratch = text;
        read
    }

    /// Goes to the next quote, escape or line break.
    #[inline]
    fn go_to_special(&mut self, quote: u8) {
        let escape = if quote == b'"' { b'\\' } else { quote };
        while let Some(byte) = self.bytes.get(self.pos) {
            match *byte {
                b'\n' | b'\r' => return,
                0xC2 | 0xE2 if self.break_len(self.pos) > 0 => return,
                byte if byte == quote || byte == escape => return,
                _ => self.pos += 1,
            }
        }
    }

    /// Reads a quoted scalar that has escapes or line breaks, to right after its closing quote.
    fn quoted_rest(&mut self, quote: u8, start: usize, text: &mut String) -> Result<()> {
        let mut from = start + 1;
        loop {
            match self.here() {
                b'\'' if quote == b'\'' && self.at(self.pos + 1) == b'\'' => {
                    self.pos += 1;
                    text.push_str(&self.text[from..self.pos]);
                    self.pos += 1;
                }
                byte if byte == quote => {
                    text.push_str(&self.text[from..self.pos]);
                    self.pos += 1;
                    return Ok(());
                }
                b'\\' if quote == b'"' => {
                    text.push_str(&self.text[from..self.pos]);
                    match self.break_len(self.pos + 1) {
                        0 => self.escape(text)?,
                        len => {
                            self.pos += 1 + len;
                            self.line_start = self.pos;
                            let rest = self.pos;
                            self.go_over_lines(start)?;
                            self.breaks_into(text, rest, self.pos);
                        }
                    }
                }
                _ => {
                    let line = self.text[from..self.pos].trim_end_matches([' ', '\t']);
                    text.push_str(line);
                    let line_end = self.pos;
                    self.go_over_lines(start)?;
                    self.fold_into(text, line_end, self.pos);
                }
            }
            from = self.pos;
            self.go_to_special(quote);
        }
    }

    /// Goes over white space and line breaks within quotes.
    fn go_over_lines(&mut self, start: usize) -> Result<()> {
        loop {
            self.skip_blanks();
            match self.break_len(self.pos) {
                0 => break,
                len => {
                    self.pos += len;
                    self.line_start = self.pos;
                }
            }
        }
        if self.at_end() || self.at_marker() { Err(self.unclosed_quote(start)) } else { Ok(()) }
    }

    /// Writes the line breaks after an escaped one, all of them.
    fn breaks_into(&self, text: &mut String, from: usize, to: usize) {
        let mut at = from;
        while at < to {
            match self.break_len(at) {
                0 => at += 1,
                len => {
                    text.push_str(self.break_text(at, len));
                    at += len;
                }
            }
        }
    }

    /// Reads the escape that begins here.
    fn escape(&mut self, text: &mut String) -> Result<()> {
        let start = self.pos;
        let digits = match self.at(start + 1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            byte => {
                let Some(c) = escaped(byte) else { return Err(self.unknown_escape(start)) };
                text.push(c);
                self.pos += 2;
                return Ok(());
            }
        };
        let end = start + 2 + digits;
        // JSON writes a character beyond U+FFFF as two escapes.
        if digits == 4 {
            return self.code_unit_escape(text).ok_or_else(|| self.bad_code(start, digits));
        }
        let Some(c) = self.hex(start + 2, digits).and_then(char::from_u32) else {
            return Err(self.bad_code(start, digits));
        };
        text.push(c);
        self.pos = end;
        Ok(())
    }
}

/// What a backslash and this byte stand for.
fn escaped(byte: u8) -> Option<char> {
    Some(match byte {
        b'0' => '\0',
        b'a' => '\u{7}',
        b'b' => '\u{8}',
        b't' | b'\t' => '\t',
        b'n' => '\n',
        b'v' => '\u{b}',
        b'f' => '\u{c}',
        b'r' => '\r',
        b'e' => '\u{1b}',
        b' ' | b'"' | b'\'' | b'\\' | b'/' => byte as char,
        b'N' => '\u{85}',
        b'_' => '\u{a0}',
        b'L' => '\u{2028}',
        b'P' => '\u{2029}',
        _ => return None,
    })
}
