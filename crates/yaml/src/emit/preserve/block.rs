//! Edits in block collections: entries and items that were added, removed or moved, each with its lines.

use super::Layout;
use super::align::{self, Piece};
use super::editor::{Editor, Line, Slot};
use super::ending::Ending;
use super::fresh::Role;
use super::lines::{LineKind, comment_lines};
use super::scalar::is_break;
use crate::map::{Entry, Map};
use crate::node::{Node, Seq, Style, Value};

/// The lines of one child of a block collection.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Where the comments above it begin, or it itself if it has none.
    head: usize,
    /// Its first character: of the key, or the `-`.
    begin: usize,
    /// After its last character.
    end: usize,
    /// The beginning of the line below it and the comments that belong to it.
    tail: usize,
}

/// A child: an entry of a map, or an item of a sequence.
#[derive(Clone, Copy)]
enum Child<'n> {
    Entry(&'n Entry),
    Item(&'n Node),
}

impl<'n> Child<'n> {
    /// The node that has the comments above and below.
    fn bearer(self) -> &'n Node {
        match self {
            Child::Entry(entry) => &entry.key,
            Child::Item(item) => item,
        }
    }

    fn value(self) -> &'n Node {
        match self {
            Child::Entry(entry) => &entry.value,
            Child::Item(item) => item,
        }
    }

    /// The comment after it: on the value, or on the key if the value is a block.
    fn line(self) -> &'n str {
        match self {
            Child::Entry(entry) if entry.value.trivia().line.is_empty() => &entry.key.trivia().line,
            _ => &self.value().trivia().line,
        }
    }
}

impl Editor<'_> {
    pub(crate) fn block_map(&mut self, old: &Node, a: &Map, b: &Map, slot: Slot<'_>) {
        let pieces = align::entries(a, b);
        let olds: Vec<Child<'_>> = a.iter().map(Child::Entry).collect();
        let news: Vec<Child<'_>> = b.iter().map(Child::Entry).collect();
        self.block(old, &olds, &news, &pieces, slot);
    }

    pub(crate) fn block_seq(&mut self, old: &Node, a: &Seq, b: &Seq, slot: Slot<'_>) {
        let pieces = align::items(a, b);
        let olds: Vec<Child<'_>> = a.iter().map(Child::Item).collect();
        let news: Vec<Child<'_>> = b.iter().map(Child::Item).collect();
        self.block(old, &olds, &news, &pieces, slot);
    }

    fn block(
        &mut self,
        old: &Node,
        olds: &[Child<'_>],
        news: &[Child<'_>],
        pieces: &[Piece],
        slot: Slot<'_>,
    ) {
        let start = old.span().start as usize;
        let (column, own_line) = self.lines.column(start);
        let frame = Frame { node: old, start, column, own_line, slot };
        if align::is_identity(pieces, olds.len()) {
            let mut end = start;
            for (at, (old, piece)) in olds.iter().zip(pieces).enumerate() {
                let new = news[piece.new];
                if !self.is_same_child(*old, new) {
                    let part = self.part(olds, at, end, frame);
                    self.child(*old, new, part, frame);
                    if at + 1 < olds.len() && tail_lines(new) > tail_lines(*old) {
                        self.part_new_comment(frame.column);
                    }
                }
                end = old.value().span().end as usize;
            }
            return;
        }
        let mut parts = Vec::with_capacity(olds.len());
        let mut end = start;
        for at in 0..olds.len() {
            let part = self.part(olds, at, end, frame);
            end = part.end;
            parts.push(part);
        }
        // What lies between the comments below one child and above the next is blank, and parts them.
        for at in 1..parts.len() {
            parts[at - 1].tail = self.last_text_line(parts[at - 1].end, parts[at].head);
        }
        self.rearrange(olds, news, pieces, &parts, frame);
    }

    fn is_same_child(&self, old: Child<'_>, new: Child<'_>) -> bool {
        self.is_same(old.value(), new.value()) && self.is_same(old.bearer(), new.bearer())
    }

    /// Finds the lines of a child, given where the one before it ends.
    fn part(&self, children: &[Child<'_>], at: usize, before: usize, frame: Frame<'_>) -> Part {
        let child = children[at];
        let begin = if at == 0 { frame.start } else { self.lines.skip_to_token(before) };
        let colon = match child {
            Child::Entry(entry) => self.after_colon(entry),
            Child::Item(_) => begin + 1,
        };
        let end = (child.value().span().end as usize).max(colon);
        let head = if at == 0 && !frame.own_line {
            begin
        } else {
            let line = self.lines.line_start(begin);
            let floor = match at.checked_sub(1) {
                None => frame.floor(self),
                Some(at) => {
                    self.lines.comments_below(self.lines.next_line(before), tail_lines(children[at]), line)
                }
            };
            self.lines.comments_above(line, comment_lines(&child.bearer().trivia().head), floor.min(line))
        };
        let below = self.lines.next_line(end);
        let tail = self.lines.comments_below(below, tail_lines(child), self.end);
        Part { head, begin, end, tail }
    }

    /// Right after the `:` of an entry; after its key if it has none.
    fn after_colon(&self, entry: &Entry) -> usize {
        let key = entry.key.span();
        let end = self.lines.skip_to_token(key.end as usize);
        let value = entry.value.span();
        let is_there = self.lines.text.as_bytes().get(end) == Some(&b':');
        let is_its = value.is_empty() && value.start as usize == end + 1 || value.start as usize > end;
        if is_there && is_its { end + 1 } else { key.end as usize }
    }

    /// The beginning of the line below the last text before `next`, from the line of `end` on.
    fn last_text_line(&self, end: usize, next: usize) -> usize {
        let mut pos = self.lines.next_line(end);
        let mut last = pos;
        while pos < next {
            let below = self.lines.next_line(pos);
            if self.lines.kind(pos) != LineKind::Blank {
                last = below;
            }
            pos = below;
        }
        last.min(next)
    }

    /// Edits a child in its place: the comment above, the key, the value, the comments after and below.
    fn child(&mut self, old: Child<'_>, new: Child<'_>, part: Part, frame: Frame<'_>) {
        let (was, is) = (old.bearer().trivia(), new.bearer().trivia());
        if let Line::Becomes(head) = self.change(&was.head, &is.head) {
            self.copy_to(part.head);
            if self.out.is_empty() || self.out.ends_with(is_break) {
                self.put_comment(head, frame.column);
                self.skip_to(self.lines.line_start(part.begin));
            } else {
                self.put_comment_from_column(head, frame.column);
                self.skip_to(part.begin);
            }
        }
        let line = self.change(old.line(), new.line());
        let slot = |after| Slot {
            role: if matches!(old, Child::Entry(_)) { Role::Value } else { Role::Item },
            after,
            column: frame.column as isize,
            line,
            parent: Some(frame.node),
            json: false,
        };
        match (old, new) {
            (Child::Entry(old), Child::Entry(new)) => {
                let after = self.after_colon(old);
                let (from, to) = (old.key.span().start as usize, old.key.span().end as usize);
                if self.key_differs(&old.key, &new.key) {
                    let text = self.key_text(&old.key, &new.key);
                    self.copy_to(from);
                    self.put(&text);
                    self.skip_to(to);
                }
                let has_colon = after > to;
                if !has_colon && !(old.value == new.value) {
                    self.copy_to(to);
                    self.start_line();
                    self.put(&" ".repeat(frame.column));
                    self.put(":");
                }
                if has_colon || !(old.value == new.value) {
                    self.node(&old.value, &new.value, slot(after));
                }
            }
            (Child::Item(old), Child::Item(new)) => self.node(old, new, slot(part.begin + 1)),
            _ => {}
        }
        if let Line::Becomes(foot) = self.change(&was.foot, &is.foot) {
            let body = self.lines.comments_below(
                self.lines.next_line(part.end),
                tail_lines(old) - comment_lines(&was.foot),
                self.end,
            );
            self.copy_to(body);
            self.take_back_indentation();
            if !foot.is_empty() {
                self.start_line();
                self.put_comment(foot, frame.column);
            }
            self.skip_to(part.tail);
            if foot.is_empty() && self.ending(Some(old.value())) == Ending::KeptBreaks {
                self.skip_blank_lines();
            }
        }
    }

    /// Whether a key must be rewritten: it is another one, or its alias stands for another one now.
    pub(crate) fn key_differs(&mut self, old: &Node, new: &Node) -> bool {
        if let Some(anchor) = &old.trivia().anchor {
            self.anchors.insert(anchor.clone(), new.clone());
        }
        match &old.trivia().alias {
            Some(name) => self.anchors.get(name).is_none_or(|named| named != new),
            None if old.is_scalar() => old.text() != new.text(),
            None => old != new,
        }
    }

    /// A new key, in the quotes of the old one if they will do.
    fn key_text(&mut self, old: &Node, new: &Node) -> String {
        let style = if new.style() == Style::Any { old.style() } else { new.style() };
        let key = new.clone().with_style(style);
        let mut bare = key.clone();
        bare.clear_trivia();
        self.fresh(Layout::COMPACT, |writer| writer.inline(&bare, Role::Key, 0, None))
    }

    /// Writes a comment on lines of its own, from the start of a line.
    pub(crate) fn put_comment(&mut self, comment: &str, column: usize) {
        comment.lines().for_each(|line| self.put_whole_line(line, column));
    }

    /// The same if the first line has its indentation, as it does after a `- `: so has the line after the comment.
    fn put_comment_from_column(&mut self, comment: &str, column: usize) {
        let mut lines = comment.lines();
        let Some(first) = lines.next() else { return };
        self.put_whole_line(first, 0);
        lines.for_each(|line| self.put_whole_line(line, column));
        self.put(&" ".repeat(column));
    }

    fn put_whole_line(&mut self, comment: &str, column: usize) {
        let comment = comment.trim_start();
        if !comment.is_empty() {
            self.put(&" ".repeat(column));
            if !comment.starts_with('#') {
                self.put("# ");
            }
            self.put(comment);
        }
        self.put(self.newline);
    }

    /// Writes the pieces one after the other.
    fn rearrange(
        &mut self,
        olds: &[Child<'_>],
        news: &[Child<'_>],
        pieces: &[Piece],
        parts: &[Part],
        frame: Frame<'_>,
    ) {
        let last = parts.len() - 1;
        // Where all others are parted by blank lines, new ones are too.
        let enough = if matches!(olds[0], Child::Entry(_)) { 2 } else { 1 };
        let airy = last >= enough && (0..last).all(|at| parts[at].tail < parts[at + 1].head);
        self.copy_to(parts[0].head);
        // Where the lines go on after the last piece of the original that was written.
        let mut gap_of = None;
        let (mut ending, mut anew) = (Ending::Other, false);
        for (at, piece) in pieces.iter().enumerate() {
            let new = news[piece.new];
            let inline = at == 0 && !frame.own_line;
            if at > 0 {
                self.start_line();
                anew = self.wrote_last();
                ending = self.ending(pieces[at - 1].old.map(|old| olds[old].value()));
                if ending != Ending::KeptBreaks {
                    self.separate(gap_of, piece.old, airy, parts);
                    self.part_comment(news[pieces[at - 1].new]);
                }
            }
            match piece.old {
                Some(old) => {
                    self.cursor = parts[old].head;
                    if inline && old > 0 {
                        self.cursor = self.lines.skip_blanks(self.cursor);
                    } else if !inline && old == 0 && !frame.own_line {
                        self.put(&" ".repeat(frame.column));
                    }
                    let moved = at > 0 && pieces[at - 1].old.map(|before| before + 1) != Some(old);
                    if (moved || anew) && ending.is_block_scalar() {
                        self.outdent_comments(frame.column);
                    }
                    // What follows in the text follows here only after the last.
                    let end = self.end;
                    if old != last || at + 1 < pieces.len() {
                        self.end = parts[old].tail;
                    }
                    self.child(olds[old], new, parts[old], frame);
                    self.end = end;
                    self.copy_to(parts[old].tail);
                    gap_of = Some(old);
                }
                None => {
                    let text = self.fresh_child(new, frame);
                    self.put(if inline { text.trim_start_matches(' ') } else { &text });
                    self.ends_in(Ending::of(new.value()));
                }
            }
        }
        let Some(piece) = pieces.last() else { return };
        if piece.old == Some(last) {
            self.skip_to(parts[last].tail);
        } else {
            self.cursor = parts[last].tail;
        }
        let ending = self.ending(piece.old.map(|old| olds[old].value()));
        self.ends_in(ending);
        if ending == Ending::KeptBreaks {
            self.skip_blank_lines();
        }
        if piece.old != Some(last) {
            if ending.is_block_scalar() {
                self.outdent_comments(frame.column);
            }
            self.clear_tabs();
        }
    }

    /// Writes the blank lines between two pieces: those that were after the one or before the other.
    fn separate(&mut self, before: Option<usize>, after: Option<usize>, airy: bool, parts: &[Part]) {
        let text = self.lines.text;
        let gap = |at: usize| match parts.get(at + 1) {
            Some(next) => &text[parts[at].tail..next.head],
            None => "",
        };
        let Some(after) = after else {
            if airy {
                self.put(self.newline);
            }
            return;
        };
        let trailing = before.map_or("", gap);
        let above = after.checked_sub(1).map_or("", gap);
        let gap = if above.len() > trailing.len() { above } else { trailing };
        if gap.contains(['\t', ' ']) {
            return gap.lines().for_each(|_| self.put(self.newline));
        }
        self.put(if gap.is_empty() && airy { self.newline } else { gap });
    }

    /// Puts a blank line after a comment that is below a child, without which it would be above the next.
    fn part_comment(&mut self, before: Child<'_>) {
        let blank = self.out.ends_with("\n\n") || self.out.ends_with("\n\r\n");
        if tail_lines(before) > 0 && !blank {
            self.put(self.newline);
        }
    }

    /// Puts a blank line after a comment that was just written below a child, which would otherwise be above the next.
    fn part_new_comment(&mut self, column: usize) {
        let below = match self.lines.line_start(self.cursor) == self.cursor {
            true => self.cursor,
            false => self.lines.next_line(self.cursor),
        };
        let last = self.out.trim_end().rsplit(is_break).next().unwrap_or_default();
        let text = last.trim_start_matches(' ');
        let is_level = text.starts_with('#') && last.len() - text.len() <= column;
        if is_level && below < self.end && self.lines.kind(below) != LineKind::Blank {
            self.put(self.newline);
        }
    }

    /// Writes a child that has no text yet.
    fn fresh_child(&mut self, new: Child<'_>, frame: Frame<'_>) -> String {
        let layout = self.layout_in(Some(frame.node));
        match new {
            Child::Entry(entry) => {
                let (key, value) = (entry.key.clone(), entry.value.clone());
                self.fresh(layout, |writer| writer.entries([(&key, &value)], frame.column))
            }
            Child::Item(item) => {
                let item = item.clone();
                self.fresh(layout, |writer| writer.items([&item], frame.column))
            }
        }
    }
}

/// A block collection in the text.
#[derive(Clone, Copy)]
struct Frame<'n> {
    node: &'n Node,
    /// Its first character.
    start: usize,
    column: usize,
    /// Whether it begins on a line of its own.
    own_line: bool,
    slot: Slot<'n>,
}

impl Frame<'_> {
    /// The first line that a comment above the first child may be on.
    fn floor(self, editor: &Editor<'_>) -> usize {
        let after = self.slot.after;
        let whole_line = self.slot.role == Role::Root && editor.lines.line_start(after) == after;
        if whole_line { after } else { editor.lines.next_line(after) }
    }
}

/// How many lines of comments are below a child that are its own or of something in it.
fn tail_lines(child: Child<'_>) -> usize {
    let own = comment_lines(&child.bearer().trivia().foot);
    match child {
        Child::Entry(entry) => own + comment_lines(&entry.value.trivia().foot) + own_tail_lines(&entry.value),
        Child::Item(item) => own + own_tail_lines(item),
    }
}

/// How many lines of comments are below a node that are of something in it.
pub(super) fn own_tail_lines(node: &Node) -> usize {
    if node.style() == Style::Flow || node.trivia().alias.is_some() {
        return 0;
    }
    match node.value() {
        Value::Scalar(_) => 0,
        Value::Seq(items) => items.last().map_or(0, |item| tail_lines(Child::Item(item))),
        Value::Map(map) => map.entries().last().map_or(0, |entry| tail_lines(Child::Entry(entry))),
    }
}
