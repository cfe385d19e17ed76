//! The line being written, and the comments on their way to one.

use super::Writer;

/// What is between an indicator and the text before it.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Gap {
    None,
    Space,
}

/// Comments.
impl<'w> Writer<'_, 'w> {
    pub(super) fn head_comment(&mut self) {
        let tail = std::mem::take(&mut self.pending.tail);
        if !tail.is_empty() {
            self.write_indent();
            self.write_comment(tail);
            self.foot_indent = self.indent.max(0);
        }
        let head = std::mem::take(&mut self.pending.head);
        if !head.is_empty() {
            self.write_indent();
            self.write_comment(head);
        }
    }

    pub(super) fn line_comment(&mut self) {
        let line = std::mem::take(&mut self.pending.line);
        if line.is_empty() {
            return;
        }
        if !self.whitespace {
            self.put(" ");
        }
        self.write_comment(line);
    }

    pub(super) fn foot_comment(&mut self) {
        let foot = std::mem::take(&mut self.pending.foot);
        if foot.is_empty() {
            return;
        }
        self.write_indent();
        self.write_comment(foot);
        self.foot_indent = self.indent.max(0);
    }

    pub(super) fn write_comment(&mut self, comment: &str) {
        for (at, line) in comment.split('\n').enumerate() {
            if at > 0 {
                self.put_break();
                if !line.is_empty() {
                    self.write_indent();
                }
            }
            if !line.is_empty() {
                if !line.starts_with('#') {
                    self.put("# ");
                }
                self.put(line);
                self.indention = false;
            }
        }
        if self.column() > 0 {
            self.put_break();
        }
        self.whitespace = true;
    }
}

/// The line being written.
impl Writer<'_, '_> {
    pub(super) fn column(&self) -> usize {
        self.out.len() - self.line_start
    }

    pub(super) fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    pub(super) fn put_break(&mut self) {
        self.out.push_str(self.newline);
        self.line_start = self.out.len();
        self.indention = true;
    }

    pub(super) fn put_odd_break(&mut self, c: char) {
        self.out.push(c);
        self.line_start = self.out.len();
        self.indention = true;
    }

    /// Goes to the indentation, on a new line if this one has more than that.
    pub(super) fn write_indent(&mut self) {
        let indent = self.indent.max(0) as usize;
        if !self.indention || self.column() > indent || (self.column() == indent && !self.whitespace) {
            self.put_break();
        }
        if self.foot_indent == indent as isize {
            self.put_break();
        }
        crate::emit::text::indent(indent.saturating_sub(self.column()), self.out);
        self.whitespace = true;
        self.foot_indent = -1;
    }

    pub(super) fn indicator(&mut self, indicator: &str, before: Gap) {
        if before == Gap::Space && !self.whitespace {
            self.put(" ");
        }
        self.put(indicator);
        self.whitespace = false;
        self.indention = false;
    }

    pub(super) fn indicator_after_indent(&mut self, indicator: &str) {
        let indention = self.indention;
        self.indicator(indicator, Gap::Space);
        self.indention = indention;
    }

    pub(super) fn space(&mut self) {
        if !self.whitespace {
            self.put(" ");
        }
    }

    pub(super) fn word(&mut self, text: &str) {
        self.put(text);
        self.wrote_text();
    }

    pub(super) fn wrote_text(&mut self) {
        self.whitespace = false;
        self.indention = false;
    }
}
