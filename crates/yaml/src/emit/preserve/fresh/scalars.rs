//! Scalars in the style they ask for, or the next that keeps them whole.

use super::super::scalar::{self, Place, Traits, is_break};
use super::pen::Gap;
use super::{Role, Writer};
use crate::node::{Node, Style, Tag};

impl<'w> Writer<'_, 'w> {
    pub(super) fn scalar(&mut self, node: &'w Node, role: Role) {
        let text = node.text().unwrap_or("");
        let place = Place { flow: self.flow_level > 0, key: role == Role::Key };
        // Nothing at all is null only if a block says so.
        let text = if text.is_empty() && node.is_null() && (place.flow || place.key) { "null" } else { text };
        let traits = Traits::of(text);
        let json_string = self.json && (node.tag() == Tag::Str || role == Role::Key);
        let wanted = if json_string { Style::DoubleQuoted } else { node.style() };
        match scalar::style(node, text, wanted, traits, place) {
            Style::SingleQuoted => self.single_quoted(text, role),
            Style::DoubleQuoted => {
                self.space();
                match self.json {
                    true => scalar::json_quoted(text, self.out),
                    false => scalar::double_quoted(text, self.out),
                }
                self.wrote_text();
            }
            Style::Literal => self.literal(text, role),
            Style::Folded => self.folded(text, role),
            _ if text.is_empty() => self.indention = false,
            _ => {
                self.space();
                self.word(text);
            }
        }
    }

    pub(super) fn single_quoted(&mut self, text: &str, role: Role) {
        let inner = self.scalar_indent(role);
        let outer = std::mem::replace(&mut self.indent, inner);
        self.indicator("'", Gap::Space);
        let mut breaks = false;
        for c in text.chars() {
            if is_break(c) {
                if c == '\n' {
                    if !breaks {
                        self.put_break();
                    }
                    self.put_break();
                } else {
                    self.put_odd_break(c);
                }
                breaks = true;
                continue;
            }
            if breaks && c != ' ' {
                self.write_indent();
            }
            if c == '\'' {
                self.out.push('\'');
            }
            self.out.push(c);
            self.indention = false;
            breaks = breaks && c == ' ';
        }
        self.out.push('\'');
        self.wrote_text();
        self.indent = outer;
    }

    /// The column of the further lines of a scalar, or of a flow collection.
    pub(super) fn scalar_indent(&self, role: Role) -> isize {
        match role {
            _ if self.indent < 0 => self.layout.step as isize,
            Role::Item => self.indent + 2,
            _ => self.indent + self.layout.step as isize,
        }
    }

    pub(super) fn block_header(&mut self, indicator: &'static str, text: &str, role: Role) -> isize {
        let inner = self.inner.take().unwrap_or_else(|| self.scalar_indent(role));
        let hints = scalar::block_hints(text, (inner - self.indent.max(0)) as usize);
        self.indicator(indicator, Gap::Space);
        self.put(&hints);
        if self.pending.line.is_empty() || matches!(role, Role::Key | Role::LongKey) {
            self.put_break();
        } else {
            // A second line would be taken for text.
            let comment = std::mem::take(&mut self.pending.line).replace('\n', " ");
            self.put(" ");
            self.write_comment(&comment);
        }
        self.whitespace = true;
        std::mem::replace(&mut self.indent, inner)
    }

    pub(super) fn literal(&mut self, text: &str, role: Role) {
        let outer = self.block_header("|", text, role);
        for line in text.split_inclusive(is_break) {
            let content = line.trim_end_matches(is_break);
            if !content.is_empty() {
                self.write_indent();
                self.put(content);
                self.indention = false;
            }
            self.block_line_end(&line[content.len()..]);
        }
        self.indent = outer;
    }

    pub(super) fn folded(&mut self, text: &str, role: Role) {
        let outer = self.block_header(">", text, role);
        let lines: Vec<&str> = text.split_inclusive(is_break).collect();
        for (at, line) in lines.iter().enumerate() {
            let content = line.trim_end_matches(is_break);
            if !content.is_empty() {
                self.write_indent();
                self.put(content);
                self.indention = false;
                // A break between two lines that would be folded needs another one to stay; next to a line that begins
                // with a blank, or at the end, it stays as it is.
                let next = lines[at + 1..]
                    .iter()
                    .map(|line| line.trim_end_matches(is_break))
                    .find(|l| !l.is_empty());
                let folds = |line: &str| !line.starts_with([' ', '\t']);
                let needs_another = match next {
                    Some(next) => folds(next),
                    None => self.whole && ends_once(text) && folds(text.trim_start_matches(is_break)),
                };
                if line.ends_with('\n') && folds(content) && needs_another {
                    self.put_break();
                }
            }
            self.block_line_end(&line[content.len()..]);
        }
        self.indent = outer;
    }

    pub(super) fn block_line_end(&mut self, line_break: &str) {
        match line_break.chars().next() {
            Some('\n') => self.put_break(),
            Some(c) => self.put_odd_break(c),
            None => {}
        }
    }
}

/// Whether a text ends in one line break.
// quirk(empty-line-after-folded-text): A folded (`>`) text that ends in one line break gets an empty line after it.
// (go-yaml `yaml_emitter_write_folded_scalar`)
fn ends_once(text: &str) -> bool {
    text.strip_suffix('\n').is_some_and(|rest| !rest.ends_with(is_break))
}
