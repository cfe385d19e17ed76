//! Block scalars: `|` and `>`.

use super::cursor::Parser;
use crate::diag::Result;
use crate::node::{Style, Tag};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomp {
    /// One line break at the end, if there is any.
    Clip,
    /// `-`: none.
    Strip,
    /// `+`: all.
    Keep,
}

impl Parser<'_> {
    /// Reads the block scalar that begins here. Stops at the beginning of the text after it.
    pub(crate) fn block_scalar(&mut self) -> Result<()> {
        let start = self.pos;
        let folded = self.here() == b'>';
        self.pos += 1;
        let (chomp, indicator) = self.block_header()?;
        let header_end = self.pos;
        self.skip_blanks();
        if self.here() == b'#' {
            self.line_comment(start);
        }
        match self.break_len(self.pos) {
            0 if self.at_end() => {}
            0 => return Err(self.text_after_block_header(self.pos)),
            len => self.pos += len,
        }
        self.line_start = self.pos;

        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        let end = self.block_lines(folded, chomp, indicator, header_end, &mut text)?;
        let style = if folded { Style::Folded } else { Style::Literal };
        self.push_scalar(&text, Tag::Str, style, start, end);
        self.scratch = text;
        self.key_allowed = true;
        Ok(())
    }

    /// Reads the signs after `|` or `>`.
    fn block_header(&mut self) -> Result<(Chomp, i32)> {
        let (mut chomp, mut indicator) = (Chomp::Clip, 0);
        for _ in 0..2 {
            match self.here() {
                b'-' if chomp == Chomp::Clip => chomp = Chomp::Strip,
                b'+' if chomp == Chomp::Clip => chomp = Chomp::Keep,
                digit @ b'1'..=b'9' if indicator == 0 => indicator = i32::from(digit - b'0'),
                b'0' if indicator == 0 => return Err(self.zero_indentation(self.pos)),
                _ => break,
            }
            self.pos += 1;
        }
        Ok((chomp, indicator))
    }

    /// Reads the lines, and gives where the scalar ends: after its last line that is part of the value, without that
    /// line's break.
    fn block_lines(
        &mut self,
        folded: bool,
        chomp: Chomp,
        indicator: i32,
        header_end: usize,
        text: &mut String,
    ) -> Result<usize> {
        let mut indent = if indicator > 0 { self.indent.max(0) + indicator } else { 0 };
        let mut end = header_end;
        // The breaks of empty lines that wait for a next line, or the end, to be written.
        let mut empty = self.pos..self.pos;
        let deepest = self.empty_lines(indent, &mut empty)?;
        if indent == 0 {
            indent = deepest.max(self.indent + 1).max(1);
        }
        // The break of the line before, which waits too.
        let mut before: Option<(usize, usize)> = None;
        let mut was_blank = false;
        while self.column() == indent && !self.at_end() {
            let is_blank = matches!(self.here(), b' ' | b'\t');
            match before {
                Some((at, len)) if !folded || was_blank || is_blank || len == 3 => {
                    text.push_str(self.break_text(at, len));
                }
                Some(_) if empty.is_empty() => text.push(' '),
                _ => {}
            }
            self.empty_into(text, empty);
            was_blank = is_blank;
            let from = self.pos;
            self.pos = self.line_end(from);
            text.push_str(&self.text[from..self.pos]);
            end = self.pos;
            let len = self.break_len(self.pos);
            before = (len > 0).then_some((self.pos, len));
            self.pos += len;
            if len > 0 {
                self.line_start = self.pos;
            }
            empty = self.pos..self.pos;
            self.empty_lines(indent, &mut empty)?;
        }
        if let (Some((at, len)), Chomp::Clip | Chomp::Keep) = (before, chomp) {
            text.push_str(self.break_text(at, len));
        }
        if chomp == Chomp::Keep {
            // The last break stays outside, so that what follows begins on a line of its own.
            if let Some(last) = self.last_break(&empty) {
                end = last;
            }
            self.empty_into(text, empty);
        }
        Ok(end)
    }

    /// Goes over empty lines, and the indentation of the next that is not. `indent` of 0 is not known yet. Extends
    /// `empty` over the empty lines; gives the largest indentation seen.
    fn empty_lines(&mut self, indent: i32, empty: &mut std::ops::Range<usize>) -> Result<i32> {
        let mut deepest = 0;
        loop {
            while (indent == 0 || self.column() < indent) && self.here() == b' ' {
                self.pos += 1;
            }
            deepest = deepest.max(self.column());
            if self.here() == b'\t' && (indent == 0 || self.column() < indent) {
                return Err(self.tab_in_indentation(self.pos));
            }
            match self.break_len(self.pos) {
                0 => return Ok(deepest),
                len => {
                    self.pos += len;
                    self.line_start = self.pos;
                    empty.end = self.pos;
                }
            }
        }
    }

    /// Writes the breaks of empty lines.
    fn empty_into(&self, text: &mut String, empty: std::ops::Range<usize>) {
        let mut at = empty.start;
        while at < empty.end {
            match self.break_len(at) {
                0 => at += 1,
                len => {
                    text.push_str(self.break_text(at, len));
                    at += len;
                }
            }
        }
    }

    /// Where the last break of some empty lines begins.
    fn last_break(&self, empty: &std::ops::Range<usize>) -> Option<usize> {
        let mut at = empty.start;
        let mut last = None;
        while at < empty.end {
            match self.break_len(at) {
                0 => at += 1,
                len => {
                    last = Some(at);
                    at += len;
                }
            }
        }
        last
    }
}
