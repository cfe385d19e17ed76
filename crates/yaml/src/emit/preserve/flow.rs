//! Edits within brackets and braces.
//!
//! What is between two children stays as it is, unless a child was moved or a comment there was changed. A comment
//! ends its line, so the child after it begins one.

use super::align::{self, Piece};
use super::editor::{Editor, Line, Slot, is_equal};
use super::fresh::Role;
use super::notes::{Note, Notes, Rows, fits, without_notes};
use super::scalar;
use super::value::anchor_after;
use crate::map::{Entry, Map};
use crate::node::{Node, Seq, Style, Tag, Value};

/// A child in the text: from its first character to right after its last.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub begin: usize,
    pub end: usize,
}

/// What is before a child, by where it ends.
#[derive(Clone, Copy)]
enum Before {
    Bracket(usize),
    Item(usize),
    Key(usize),
}

impl Editor<'_> {
    pub(crate) fn flow_map(&mut self, old: &Node, a: &Map, new: &Node, b: &Map, json: bool) {
        let json = json || is_json(old);
        if !self.has_brackets(old) && (b.len() != 1 || a.entries()[0].key != b.entries()[0].key) {
            return self.replace_flow(old, new, json);
        }
        let pieces = align::entries(a, b);
        let parts = |editor: &Self| {
            let spans = a.iter().map(|e| (e.key.span().end as usize).max(e.value.span().end as usize));
            editor.flow_parts(old, spans)
        };
        let notes = self.notes(&pieces, a.iter().map(Note::of_entry), |at| Note::of_entry(&b.entries()[at]));
        let child = |editor: &mut Self, piece: Piece| {
            let entry = &b.entries()[piece.new];
            let Some(at) = piece.old else {
                let layout = editor.layout();
                let (key, value) = (entry.key.clone(), entry.value.clone());
                let (value, column) = editor.for_brackets(value);
                let text = editor.fresh(layout, |writer| writer.flow_entry(&key, &value, column, json));
                return editor.put(&text);
            };
            let was = &a.entries()[at];
            let before = Before::Key(was.key.span().end as usize);
            // A key on several lines is one only as long as no `:` follows.
            let long = editor.lines.text[was.key.span().range()].contains(['\n', '\r']);
            let gets_colon = long && editor.after_indicator(before).is_none() && was.value != entry.value;
            if editor.key_differs(&was.key, &entry.key) || gets_colon {
                editor.copy_to(was.key.span().start as usize);
                let layout = editor.layout();
                // After quotes a `:` may lack its space.
                let json = json || matches!(was.key.style(), Style::SingleQuoted | Style::DoubleQuoted);
                let text = editor.fresh(layout, |writer| writer.flow_node(&entry.key, Role::Key, 0, json));
                editor.put(&text);
                editor.skip_to(was.key.span().end as usize);
            }
            editor.flow_child(&was.value, &entry.value, before, json);
        };
        self.flow(old, &notes, &pieces, parts, child);
    }

    pub(crate) fn flow_seq(&mut self, old: &Node, a: &Seq, b: &Seq, json: bool) {
        let json = json || is_json(old);
        let pieces = align::items(a, b);
        let parts = |editor: &Self| editor.flow_parts(old, a.iter().map(|item| item.span().end as usize));
        let notes = self.notes(&pieces, a.iter().map(Note::of_item), |at| Note::of_item(&b[at]));
        let child = |editor: &mut Self, piece: Piece| {
            let item = &b[piece.new];
            match piece.old {
                Some(0) => {
                    editor.flow_child(&a[0], item, Before::Bracket(old.span().start as usize + 1), json)
                }
                Some(at) => {
                    editor.flow_child(&a[at], item, Before::Item(a[at - 1].span().end as usize), json)
                }
                None => {
                    let text = editor.flow_text(item, Role::Item, json);
                    editor.put(&text);
                }
            }
        };
        self.flow(old, &notes, &pieces, parts, child);
    }

    /// A node as it is within brackets, without the comments around it.
    fn flow_text(&mut self, node: &Node, role: Role, json: bool) -> String {
        let (node, column) = self.for_brackets(node.clone());
        let layout = self.layout();
        self.fresh(layout, |writer| writer.flow_node(&node, role, column, json))
    }

    /// Whether a collection has brackets of its own; `[a: b]` holds a map that has none.
    fn has_brackets(&self, old: &Node) -> bool {
        let start = old.span().start;
        let first = old.as_map().and_then(|map| map.entries().first());
        let bracket = matches!(self.lines.text.as_bytes().get(start as usize), Some(b'{' | b'['));
        bracket && first.is_none_or(|first| first.key.span().start > start)
    }

    /// Finds the children, given where each ends.
    fn flow_parts(&self, old: &Node, ends: impl Iterator<Item = usize>) -> Vec<Part> {
        let mut pos = old.span().start as usize + usize::from(self.has_brackets(old));
        let mut parts = Vec::new();
        for end in ends {
            let mut begin = self.lines.skip_to_token(pos);
            if !parts.is_empty() && self.lines.text.as_bytes().get(begin) == Some(&b',') {
                begin = self.lines.skip_to_token(begin + 1);
            }
            let end = end.max(begin);
            parts.push(Part { begin, end });
            pos = end;
        }
        parts
    }

    fn flow(
        &mut self,
        old: &Node,
        notes: &Notes<'_>,
        pieces: &[Piece],
        parts: impl FnOnce(&Self) -> Vec<Part>,
        mut child: impl FnMut(&mut Self, Piece),
    ) {
        let (start, end) = (old.span().start as usize, old.span().end as usize);
        let Notes { olds, news } = notes;
        if align::is_identity(pieces, olds.len()) && (olds == news || !self.has_brackets(old)) {
            pieces.iter().for_each(|piece| child(self, *piece));
            return;
        }
        if pieces.is_empty() {
            self.copy_to(start);
            self.put(if old.is_map() { "{}" } else { "[]" });
            return self.skip_to(end);
        }
        let parts = parts(self);
        self.copy_to(start);
        let rows = if notes.any() { self.rows(start, &parts, end - 1) } else { Rows::default() };
        let separator = self.flow_separator(start, &parts);
        if news[0].head == olds[0].head {
            self.copy_to(parts[0].begin);
        } else {
            self.open_with_comment(start + 1, news[0].head, rows);
        }
        for (at, piece) in pieces.iter().enumerate() {
            if at > 0 {
                let (above, below) = (news[at - 1], news[at]);
                match (pieces[at - 1].old, piece.old) {
                    (Some(a), Some(b)) if a + 1 == b && fits(above, below, olds[a], olds[b]) => {
                        self.copy_to(parts[b].begin)
                    }
                    _ if below.head.is_empty() && !above.follow() => self.put(&separator),
                    (a, b) => {
                        let neighbours = a.zip(b).filter(|(a, b)| a + 1 == *b);
                        let gap = neighbours.map(|(a, b)| (parts[a].end, parts[b].begin));
                        self.put(",");
                        self.part_with_comments(above, a.map(|a| parts[a].end), below, gap, rows);
                    }
                }
            }
            if let Some(old) = piece.old {
                self.cursor = parts[old].begin;
            }
            child(self, *piece);
            if let Some(old) = piece.old {
                self.copy_to(parts[old].end);
            }
        }
        let (was, is) = (olds[olds.len() - 1], news[news.len() - 1]);
        self.cursor = parts[parts.len() - 1].end;
        if (was.line, was.foot) != (is.line, is.foot) {
            let last = pieces.last().and_then(|piece| piece.old);
            self.close_with_comments(is, last.map(|last| parts[last].end), rows, end - 1);
        }
        self.copy_to(end);
    }

    /// What parts two children: as between the first two, or what is before the only one.
    fn flow_separator(&self, start: usize, parts: &[Part]) -> String {
        let text = self.lines.text;
        let (gap, next) = match parts {
            [first, second, ..] => (&text[first.end..second.begin], second.begin),
            [only] => (&text[start + 1..only.begin], only.begin),
            [] => ("", start),
        };
        if gap.contains(['\n', '\r']) {
            let line = self.lines.line_start(next);
            return format!(",{}{}", self.newline, " ".repeat(next - line));
        }
        let tight = parts.len() > 1 && gap.trim_start().len() == 1;
        if tight { ",".into() } else { ", ".into() }
    }

    /// Edits a value or an item within brackets.
    fn flow_child(&mut self, old: &Node, new: &Node, before: Before, json: bool) {
        if self.is_same(old, new) {
            return;
        }
        let role = if matches!(before, Before::Key(_)) { Role::Value } else { Role::Item };
        let alias = old.trivia().alias.is_some() || new.trivia().alias.is_some() && old != new;
        let structured = match (old.value(), new.value()) {
            (Value::Map(a), Value::Map(b)) => !a.is_empty() && !b.is_empty(),
            (Value::Seq(a), Value::Seq(b)) => !a.is_empty() && !b.is_empty(),
            _ => false,
        };
        if structured && !alias {
            let after = self.after_indicator(before).unwrap_or(old.span().start as usize);
            let slot = Slot { role, after, column: 0, line: Line::Stays, parent: None, json };
            return self.node(old, new, slot);
        }
        let stays = match &old.trivia().alias {
            Some(name) => self.anchors.get(name).is_some_and(|named| named == new),
            None => is_equal(old, new),
        };
        if !stays {
            self.replace_flow_child(old, new, before, role, json);
        } else if let Some(name) = old.trivia().anchor.as_ref() {
            self.anchors.insert(name.clone(), new.clone());
        }
    }

    fn replace_flow_child(&mut self, old: &Node, new: &Node, before: Before, role: Role, json: bool) {
        let mut new = new.clone();
        if new.style() == Style::Any && old.is_scalar() && new.is_scalar() && old.trivia().alias.is_none() {
            new.set_style(old.style());
        }
        if old.is_scalar() {
            scalar::unquote_only_if_safe(&mut new);
        }
        if let Some(anchor) = anchor_after(old, &new).filter(|_| new.trivia().anchor.is_none()).cloned() {
            new.trivia_mut().anchor = Some(anchor);
        }
        let text = self.flow_text(&new, role, json);
        let (start, end) = (old.span().start as usize, old.span().end as usize);
        let has_properties = old.trivia().anchor.is_some() || old.trivia().tag.is_some();
        let after = self.after_indicator(before);
        if start == end && !has_properties {
            // Nothing was there: `{a}`, `{a:}` or `{a: }`.
            self.copy_to(start);
            self.put(if after.is_some() { " " } else { ": " });
            return self.put(&text);
        }
        let from = after
            .filter(|_| has_properties)
            .map_or(start, |after| self.lines.skip_to_token(after).min(start));
        self.copy_to(from);
        self.put(&text);
        self.skip_to(end);
        self.part_from_comment();
    }

    /// Right after what is between a child and what is before it; `None` if a key has no `:`.
    fn after_indicator(&self, before: Before) -> Option<usize> {
        match before {
            Before::Bracket(pos) => Some(pos),
            Before::Item(end) => Some(self.lines.skip_to_token(end) + 1),
            Before::Key(end) => {
                let colon = self.lines.skip_to_token(end);
                (self.lines.text.as_bytes().get(colon) == Some(&b':')).then_some(colon + 1)
            }
        }
    }

    /// Gives brackets to a map that had none. The comments around its entry are outside of them.
    fn replace_flow(&mut self, old: &Node, new: &Node, json: bool) {
        self.copy_to(old.span().start as usize);
        let mut new = new.clone();
        for Entry { key, value } in new.as_map_mut().into_iter().flat_map(Map::entries_mut) {
            (*key, *value) = (without_notes(key.take()), without_notes(value.take()));
        }
        let text = self.flow_text(&new, Role::Item, json);
        self.put(&text);
        self.skip_to(old.span().end as usize);
    }
}

/// Whether a flow collection is written as JSON: by its first key or string.
fn is_json(node: &Node) -> bool {
    fn first_style(node: &Node) -> Option<Style> {
        match node.value() {
            Value::Scalar(_) => (node.tag() == Tag::Str).then(|| node.style()),
            Value::Seq(items) => items.iter().find_map(first_style),
            Value::Map(map) => map.entries().first().map(|entry| entry.key.style()),
        }
    }
    first_style(node) == Some(Style::DoubleQuoted)
}
