//! Values written from scratch, in place of others.

use super::block::own_tail_lines;
use super::editor::{Editor, Line, Slot};
use super::ending::{Ending, last_scalar};
use super::fresh::Role;
use super::lines::LineKind;
use super::scalar::{self, is_break};
use crate::node::{Node, Style, Trivia};
use crate::text::Text;

impl Editor<'_> {
    /// Writes a node in the place of another. What follows it on its line stays.
    pub(crate) fn replace(&mut self, old: &Node, new: &Node, slot: Slot<'_>) {
        let new = &self.dressed(old, new, slot);
        if self.becomes_block(old, new) {
            return self.replace_by_block(old, new, slot);
        }
        let layout = self.layout_in(slot.parent);
        let inner = self.inner_indent(old, slot);
        let text = self.fresh(layout, |writer| writer.inline(new, slot.role, slot.column, inner));
        let is_block_scalar = is_block_scalar(old);
        // A block scalar has its comment after its first line.
        let sign = text.split(' ').find(|word| !word.starts_with(['&', '!']));
        let (first, further) = match text.find(self.newline) {
            Some(at) if sign.is_some_and(|sign| sign.starts_with(['|', '>'])) => (&text[..at], &text[at..]),
            _ => (text.as_str(), ""),
        };
        let (start, end) = (old.span().start as usize, old.span().end as usize);
        if is_block(old) && slot.role == Role::Root {
            self.copy_to(self.start_with_properties(old, slot));
            self.put(first);
            self.skip_to(self.last_line_end(old, slot));
        } else if is_block(old) {
            self.copy_to(slot.after);
            self.put_after(first, slot);
            if self.lines.line_end(slot.after) < start {
                self.rest_of_line(self.after_properties(old, slot), slot.line);
            } else if let Line::Becomes(comment) = slot.line {
                self.put_comment_after(comment);
            }
            self.skip_to(self.last_line_end(old, slot));
        } else {
            let from = self.start_with_properties(old, slot);
            self.copy_to(from.max(slot.after));
            if from <= slot.after {
                self.put_after(first, slot)
            } else {
                self.put(first)
            }
            self.rest_of_line(self.after_first_line(old, slot), slot.line);
            if is_block_scalar {
                self.skip_to(end);
            }
        }
        self.put_further_lines(new, further, slot);
        self.clear_tabs();
    }

    /// Empties the blank lines that follow of tabs: after some values they would be taken for bad indentation.
    pub(crate) fn clear_tabs(&mut self) {
        let here = self.cursor;
        let mut line = if self.lines.line_start(here) == here { here } else { self.lines.next_line(here) };
        while line < self.end && self.lines.kind(line) == LineKind::Blank {
            let end = self.lines.line_end(line);
            if self.lines.text[line..end].contains('\t') {
                self.copy_to(line);
                self.skip_to(end);
            }
            line = self.lines.next_line(end);
        }
    }

    /// Ends what was written with the further lines of a block scalar. The break after the last is that of the text.
    fn put_further_lines(&mut self, new: &Node, further: &str, slot: Slot<'_>) {
        if further.is_empty() {
            return self.ends_in(Ending::Other);
        }
        let ended = new.text().is_some_and(|text| text.ends_with('\n'));
        let body = if ended { further.strip_suffix(self.newline).unwrap_or(further) } else { further };
        self.put(body);
        self.end_block(new, ended, slot);
    }

    /// Takes care of the line breaks after a block that was rewritten: there must be one at the end where the block
    /// ends in a line break, and neither those of blank lines nor comments may become part of it.
    fn end_block(&mut self, new: &Node, ended: bool, slot: Slot<'_>) {
        let ending = Ending::of(new);
        self.ends_in(ending);
        if self.lines.break_len(self.cursor) == 0 {
            if ended {
                self.put(self.newline);
            }
            return;
        }
        if ending == Ending::KeptBreaks {
            self.put(self.newline);
            self.skip_to(self.lines.next_line(self.cursor));
            self.skip_blank_lines();
        }
        if ending.is_block_scalar() {
            if ending != Ending::KeptBreaks {
                self.copy_to(self.lines.next_line(self.cursor));
            }
            self.outdent_comments(slot.column.max(0) as usize);
        }
    }

    /// Moves the comments that follow, from the beginning of a line on, out of the indentation of a block scalar, where
    /// they would be text; and empties blank lines of spaces that might be text, too.
    pub(crate) fn outdent_comments(&mut self, column: usize) {
        let mut line = self.cursor;
        while line < self.end {
            let text = self.lines.skip_blanks(line);
            match self.lines.kind(line) {
                LineKind::Comment if text - line > column => {
                    self.copy_to(line);
                    self.put(&" ".repeat(column));
                    self.skip_to(text);
                }
                LineKind::Blank if text > line => {
                    self.copy_to(line);
                    self.skip_to(text);
                }
                LineKind::Comment | LineKind::Blank => {}
                LineKind::Other => break,
            }
            line = self.lines.next_line(line);
        }
    }

    /// Takes back the indentation of a comment that was to be moved out, and goes instead.
    pub(crate) fn take_back_indentation(&mut self) {
        let kept = self.out.trim_end_matches(' ').len();
        if self.out[..kept].ends_with(is_break) {
            self.out.truncate(kept);
        }
    }

    /// Leaves out blank lines, from the beginning of a line on.
    pub(crate) fn skip_blank_lines(&mut self) {
        while self.cursor < self.end && self.lines.kind(self.cursor) == LineKind::Blank {
            self.cursor = self.lines.next_line(self.cursor);
        }
    }

    /// Writes a text after a `:` or a `-`.
    fn put_after(&mut self, text: &str, slot: Slot<'_>) {
        if !text.is_empty() && slot.role != Role::Root {
            self.put(" ");
        }
        self.put(text);
    }

    fn put_comment_after(&mut self, comment: &str) {
        if !comment.is_empty() {
            self.put(" ");
            self.put_comment_line(comment);
        }
    }

    /// The new node, with what it takes over from the one it replaces: the anchor, the style if it has none of its
    /// own; without the comments, which are looked after elsewhere.
    fn dressed(&self, old: &Node, new: &Node, slot: Slot<'_>) -> Node {
        let mut dressed = new.clone();
        let was = old.trivia();
        let is = new.trivia();
        let trivia = Trivia {
            anchor: anchor_after(old, new).cloned(),
            tag: is.tag.clone(),
            alias: is.alias.clone(),
            ..Trivia::default()
        };
        if trivia == Trivia::default() {
            dressed.clear_trivia();
        } else {
            *dressed.trivia_mut() = trivia;
        }
        let was_alias = was.alias.is_some();
        if old.is_scalar() && new.is_scalar() && !was_alias {
            let style = if dressed.style() == Style::Any { old.style() } else { dressed.style() };
            dressed.set_style(style);
        }
        scalar::unquote_only_if_safe(&mut dressed);
        // Brackets that were there because nothing was in them give way to a block.
        let was_empty = old.style() == Style::Flow && old.is_empty() && old.span() == new.span();
        if new.style() == Style::Flow && was_empty && slot.role != Role::Key {
            dressed.set_style(Style::Any);
        }
        dressed
    }

    fn becomes_block(&self, _old: &Node, new: &Node) -> bool {
        let alias = new.trivia().alias.as_ref();
        let referred = alias.is_some_and(|name| self.anchors.get(name).is_some_and(|named| named == new));
        !new.is_scalar() && !new.is_empty() && new.style() != Style::Flow && !referred
    }

    fn replace_by_block(&mut self, old: &Node, new: &Node, slot: Slot<'_>) {
        let layout = self.layout_in(slot.parent);
        let column = match slot.role {
            Role::Root => 0,
            Role::Item => slot.column as usize + 2,
            _ if new.is_seq() => slot.column.max(0) as usize + layout.seq,
            _ => slot.column.max(0) as usize + layout.step,
        };
        let trivia = new.trivia();
        // What is written out in place of an alias does not name things a second time.
        let copies = trivia.alias.is_some();
        let text = self.fresh(layout, |writer| writer.contents(new, column, copies));
        let text = text.strip_suffix(self.newline).unwrap_or(&text).to_string();
        let names =
            [trivia.anchor.as_ref().map(|a| format!("&{a}")), trivia.tag.as_ref().map(|t| t.to_string())];
        let names = names.into_iter().flatten().collect::<Vec<_>>().join(" ");

        let start = old.span().start as usize;
        let from = self.start_with_properties(old, slot);
        let (rest, last) = if is_block(old) {
            let after = self.after_properties(old, slot);
            let begins_below = self.lines.line_end(slot.after) < start;
            (begins_below.then_some(after), self.last_line_end(old, slot))
        } else {
            let after = self.after_first_line(old, slot);
            let end = (old.span().end as usize).max(slot.after);
            (Some(after), self.lines.line_end(end))
        };
        if slot.role == Role::Root {
            self.copy_to(from.max(slot.after));
            if names.is_empty() {
                self.trim_blanks(0);
            }
            self.put(&names);
        } else {
            self.copy_to(slot.after);
            self.put_after(&names, slot);
        }
        let before = self.out.len();
        match (rest, slot.line) {
            (Some(rest), line) => {
                self.rest_of_line(rest, line);
                self.trim_blanks(before);
            }
            (None, Line::Becomes(comment)) => self.put_comment_after(comment),
            (None, Line::Stays) => {}
        }
        let bare = self.out.len() == before && names.is_empty();
        if slot.role == Role::Item && bare {
            self.put(" ");
            self.put(text.trim_start_matches(' '));
        } else {
            self.start_line();
            self.put(&text);
        }
        self.skip_to(last);
        if let Some(name) = &trivia.anchor {
            self.anchors.insert(name.clone(), new.clone());
        }
        let ended = last_scalar(new).and_then(Node::text).is_some_and(|text| text.ends_with('\n'));
        self.end_block(new, ended, slot);
        self.clear_tabs();
    }

    /// Takes back blanks at the end of a line, written from a position of the output on.
    fn trim_blanks(&mut self, from: usize) {
        let kept = from + self.out[from..].trim_end_matches([' ', '\t']).len();
        self.out.truncate(kept);
    }

    /// Where a node begins, its anchor and tag included.
    fn start_with_properties(&self, old: &Node, slot: Slot<'_>) -> usize {
        let start = old.span().start as usize;
        let trivia = old.trivia();
        if trivia.anchor.is_none() && trivia.tag.is_none() {
            return start;
        }
        self.lines.skip_to_token(slot.after).min(start)
    }

    /// Where the last line of a block ends, the comments below it that belong to it included.
    fn last_line_end(&self, old: &Node, slot: Slot<'_>) -> usize {
        let end = (old.span().end as usize).max(slot.after);
        let below = self.lines.next_line(end);
        let tail = self.lines.comments_below(below, own_tail_lines(old), self.end);
        if tail <= below {
            return self.lines.line_end(end);
        }
        // After the text of the line above.
        let mut line = below;
        while self.lines.next_line(line) < tail {
            line = self.lines.next_line(line);
        }
        self.lines.line_end(line)
    }

    /// The indentation of the lines of a block scalar that is to stay one.
    fn inner_indent(&self, old: &Node, slot: Slot<'_>) -> Option<isize> {
        if !is_block_scalar(old) {
            return None;
        }
        let start = old.span().start as usize;
        let header = &self.lines.text[start + 1..self.after_first_line(old, slot)];
        if let Some(digit) = header.chars().find_map(|c| c.to_digit(10)) {
            return Some(slot.column.max(0) + digit as isize);
        }
        let mut line = self.lines.next_line(start);
        while line < old.span().end as usize {
            let text = line + self.lines.text[line..].bytes().take_while(|b| *b == b' ').count();
            if self.lines.break_len(text) == 0 {
                return Some((text - line) as isize);
            }
            line = self.lines.next_line(line);
        }
        None
    }
}

/// A block scalar in the original text.
fn is_block_scalar(old: &Node) -> bool {
    matches!(old.style(), Style::Literal | Style::Folded) && old.trivia().alias.is_none()
}

/// A block collection in the original text.
fn is_block(old: &Node) -> bool {
    !old.is_scalar() && !old.is_empty() && old.style() != Style::Flow && old.trivia().alias.is_none()
}

/// The anchor of a node that takes the place of another: its own, or that of the other, to which something may refer. The
/// other may have moved into the new node, and its anchor with it.
pub(super) fn anchor_after<'n>(old: &'n Node, new: &'n Node) -> Option<&'n Text> {
    let taken_over = || old.trivia().anchor.as_ref().filter(|name| !is_anchored_within(new, name));
    new.trivia().anchor.as_ref().or_else(taken_over)
}

fn is_anchored_within(node: &Node, name: &Text) -> bool {
    let is_anchored =
        |node: &Node| node.trivia().anchor.as_ref() == Some(name) || is_anchored_within(node, name);
    node.items().iter().any(is_anchored)
        || node
            .as_map()
            .into_iter()
            .flatten()
            .any(|entry| is_anchored(&entry.key) || is_anchored(&entry.value))
}
