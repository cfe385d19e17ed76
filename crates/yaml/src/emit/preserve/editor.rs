//! Walks the original and the edited tree together, and copies the text as long as they agree.
//!
//! The editor has a cursor in the original text. Everything before it has been dealt with: copied to the output, or
//! left out. Edits move the cursor forward, copying what they do not change; only a block that moves makes it jump.

use super::Layout;
use super::ending::{Ending, last_scalar};
use super::fresh::{Anchors, Role, Writer};
use super::lines::{Lines, line_break};
use super::scalar::is_break;
use super::value::anchor_after;
use crate::document::Document;
use crate::node::{Node, Style, Tag, Value};

pub(super) struct Editor<'d> {
    pub lines: Lines<'d>,
    pub out: String,
    pub cursor: usize,
    /// Where the document ends.
    pub end: usize,
    pub newline: &'static str,
    pub anchors: Anchors,
    /// Whether there are aliases, which an edit elsewhere may have made wrong.
    references: bool,
    original: &'d Node,
    layout: Option<Layout>,
    /// How what was rewritten last ends, and where that is in the output.
    written: Option<(usize, Ending)>,
    /// Where, in the output, a comment was changed last.
    commented: Option<usize>,
}

/// Where a node is in the original text.
#[derive(Clone, Copy)]
pub(super) struct Slot<'n> {
    pub role: Role,
    /// Right after the `:` or the `-` that the node follows.
    pub after: usize,
    /// The column of the collection that holds it; -1 of the root.
    pub column: isize,
    /// What the comment after it becomes.
    pub line: Line<'n>,
    /// The collection that holds it, in the original.
    pub parent: Option<&'n Node>,
    /// Within brackets that are written as JSON.
    pub json: bool,
}

/// What becomes of a comment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Line<'n> {
    Stays,
    Becomes(&'n str),
}

impl<'d> Editor<'d> {
    pub(crate) fn new(doc: &'d Document) -> Self {
        let text = doc.source().text();
        let range = doc.span().range();
        let newline = line_break(&text[range.clone()]);
        Self {
            lines: Lines { text },
            out: String::with_capacity(range.len() + 256),
            cursor: range.start,
            end: range.end,
            newline,
            anchors: Anchors::default(),
            references: doc.has_references(),
            original: doc.original(),
            layout: None,
            written: None,
            commented: None,
        }
    }

    /// Copies the text up to a position.
    pub(crate) fn copy_to(&mut self, pos: usize) {
        if pos > self.cursor {
            self.out.push_str(&self.lines.text[self.cursor..pos]);
            self.cursor = pos;
        }
    }

    /// Leaves out the text up to a position.
    pub(crate) fn skip_to(&mut self, pos: usize) {
        self.cursor = self.cursor.max(pos);
    }

    pub(crate) fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Goes to a new line, unless at the start of one.
    pub(crate) fn start_line(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with(is_break) {
            self.strip_last_block();
            self.put(self.newline);
        }
    }

    /// A block scalar that ended with the text, without a line break, must not get one now that a line follows.
    fn strip_last_block(&mut self) {
        let is_block = |last: &&Node| {
            matches!(last.style(), Style::Literal | Style::Folded) && last.trivia().alias.is_none()
        };
        let last = last_scalar(self.original).filter(is_block);
        let Some(last) = last else { return };
        let written = &self.lines.text[last.span().range()];
        let header = 1 + written[1..].bytes().take_while(|b| b"0123456789+-".contains(b)).count();
        let ends_text = last.span().end as usize == self.lines.text.len();
        let bare = last.text().is_some_and(|text| !text.ends_with('\n'));
        if !ends_text || !bare || written[..header].contains('-') {
            return;
        }
        if let Some(after) = self.header_end(written, header) {
            if written[..header].contains('+') {
                self.out.replace_range(after - header..after, &written[..header].replace('+', "-"));
            } else {
                self.out.insert(after, '-');
            }
        }
    }

    /// Where the header of a block scalar ends in the output, if that ends in the scalar: as it was written, or with another
    /// comment after its header.
    fn header_end(&self, written: &str, header: usize) -> Option<usize> {
        if self.out.ends_with(written) {
            return Some(self.out.len() - written.len() + header);
        }
        let body = &written[written.find(is_break)?..];
        let line = self.out.strip_suffix(body)?;
        let after = self.commented?;
        let comment = line.get(after..)?;
        (line[..after].ends_with(&written[..header]) && !comment.contains(is_break)).then_some(after)
    }

    /// Records how the text ends that was just rewritten.
    pub(crate) fn ends_in(&mut self, ending: Ending) {
        self.written = Some((self.text_end(), ending));
    }

    /// How the text written so far ends, given the node of the original that was there.
    pub(crate) fn ending(&self, old: Option<&Node>) -> Ending {
        match (self.written, old) {
            (Some((_, ending)), _) if self.wrote_last() => ending,
            (_, Some(old)) => Ending::in_text(old, self.lines.text),
            (_, None) => Ending::Other,
        }
    }

    /// Whether the last text was rewritten.
    pub(crate) fn wrote_last(&self) -> bool {
        self.written.is_some_and(|(at, _)| at == self.text_end())
    }

    fn text_end(&self) -> usize {
        self.out.trim_end_matches(is_break).len()
    }

    /// What becomes of a comment that was `old` and is `new` in the edited tree.
    pub(crate) fn change<'n>(&self, old: &str, new: &'n str) -> Line<'n> {
        if old == new { Line::Stays } else { Line::Becomes(new) }
    }

    /// Writes the rest of a line, from a position after its text, with the comment it is to have.
    pub(crate) fn rest_of_line(&mut self, pos: usize, line: Line<'_>) {
        match line {
            Line::Stays => {
                self.skip_to(pos);
                self.part_from_comment();
                self.copy_to(self.lines.line_end(pos));
            }
            Line::Becomes(comment) => {
                let end = self.lines.line_end(pos);
                if !comment.is_empty() {
                    // What was between text and comment is there still.
                    let text = self.lines.text;
                    let gap = &text[pos..self.lines.skip_blanks(pos)];
                    let commented = pos + gap.len() < end && !gap.is_empty();
                    self.out.push_str(if commented { gap } else { " " });
                    self.put_comment_line(comment);
                }
                self.skip_to(end);
            }
        }
    }

    /// Puts a space in front of a `#` that is next: only after quotes is it a comment without.
    pub(crate) fn part_from_comment(&mut self) {
        if self.lines.text.as_bytes().get(self.cursor) == Some(&b'#') {
            self.put(" ");
        }
    }

    /// Writes a comment after a text: on one line, whatever it was.
    pub(crate) fn put_comment_line(&mut self, comment: &str) {
        let mut lines = comment.lines().filter(|line| !line.trim().is_empty());
        let first = lines.next().unwrap_or("#");
        if !first.trim_start().starts_with('#') {
            self.put("# ");
        }
        self.put(first.trim_start());
        for line in lines {
            self.put(" ");
            self.put(line.trim_start());
        }
    }

    /// Edits the text of a node. The cursor ends up at or before the end of its text if nothing changed, else right
    /// after it.
    pub(crate) fn node(&mut self, old: &Node, new: &Node, slot: Slot<'_>) {
        if self.is_same(old, new) && slot.line == Line::Stays {
            return;
        }
        if old.trivia().alias.is_some() || new.trivia().alias.is_some() && old != new {
            self.aliased(old, new, slot);
        } else {
            self.unaliased(old, new, slot);
        }
    }

    /// Whether nothing was changed in a tree; a quick answer that may be no.
    pub(crate) fn is_same(&self, old: &Node, new: &Node) -> bool {
        !self.references && old.same(new) && self.has_same_trivia(old, new)
    }

    fn has_same_trivia(&self, old: &Node, new: &Node) -> bool {
        !old.has_trivia() && !new.has_trivia() || old.trivia() == new.trivia()
    }

    fn aliased(&mut self, old: &Node, new: &Node, slot: Slot<'_>) {
        let stays = old.trivia().alias.as_ref().is_some_and(|name| {
            let named = self.anchors.get(name);
            named.is_some_and(|named| named == new)
        });
        if stays { self.line_comment(old, slot) } else { self.replace(old, new, slot) }
    }

    fn unaliased(&mut self, old: &Node, new: &Node, slot: Slot<'_>) {
        let in_flow = old.style() == Style::Flow && !self.leaves_brackets(new, slot);
        match (old.value(), new.value()) {
            (Value::Scalar(_), Value::Scalar(_)) if is_equal(old, new) => self.line_comment(old, slot),
            (Value::Map(a), Value::Map(b)) if a.is_empty() && b.is_empty() => self.line_comment(old, slot),
            (Value::Seq(a), Value::Seq(b)) if a.is_empty() && b.is_empty() => self.line_comment(old, slot),
            (Value::Map(a), Value::Map(b)) if in_flow && !a.is_empty() => {
                self.properties(old, new, slot);
                self.flow_map(old, a, new, b, slot.json);
                self.line_comment(old, slot);
            }
            (Value::Seq(a), Value::Seq(b)) if in_flow && !a.is_empty() => {
                self.properties(old, new, slot);
                self.flow_seq(old, a, b, slot.json);
                self.line_comment(old, slot);
            }
            _ if old.style() == Style::Flow => return self.replace(old, new, slot),
            (Value::Map(a), Value::Map(b)) if !a.is_empty() && !b.is_empty() => {
                self.properties(old, new, slot);
                self.comment_above_block(old, slot);
                self.block_map(old, a, b, slot);
            }
            (Value::Seq(a), Value::Seq(b)) if !a.is_empty() && !b.is_empty() => {
                self.properties(old, new, slot);
                self.comment_above_block(old, slot);
                self.block_seq(old, a, b, slot);
            }
            _ => return self.replace(old, new, slot),
        }
        if let Some(name) = anchor_after(old, new).filter(|_| self.references) {
            self.anchors.insert(name.clone(), new.clone());
        }
    }

    /// Whether a collection that was in brackets is to be a block: only who says so gets one, where there is room.
    fn leaves_brackets(&self, new: &Node, slot: Slot<'_>) -> bool {
        let wants = new.style() == Style::Block;
        wants && !new.is_empty() && !slot.json && (slot.parent.is_some() || slot.role == Role::Root)
    }

    /// Changes the comment after a text that stays.
    fn line_comment(&mut self, old: &Node, slot: Slot<'_>) {
        if slot.line == Line::Stays {
            return;
        }
        let after = self.after_first_line(old, slot);
        self.copy_to(after);
        self.commented = Some(self.out.len());
        self.rest_of_line(after, slot.line);
    }

    /// Changes the comment after a key or a `-`, above its block. One that begins after the `-` makes room.
    fn comment_above_block(&mut self, old: &Node, slot: Slot<'_>) {
        let Line::Becomes(comment) = slot.line else { return };
        let start = old.span().start as usize;
        let after = self.after_properties(old, slot);
        if self.lines.line_end(after) < start {
            self.copy_to(after);
            self.rest_of_line(after, slot.line);
        } else if slot.role == Role::Item && !comment.is_empty() {
            self.copy_to(after);
            self.put(" ");
            self.put_comment_line(comment);
            self.put(self.newline);
            self.put(&" ".repeat(self.lines.column(start).0));
            self.skip_to(start);
        }
    }

    /// Where the text of a node ends on the line that a comment after it is on.
    pub(crate) fn after_first_line(&self, old: &Node, slot: Slot<'_>) -> usize {
        let (start, end) = (old.span().start as usize, old.span().end as usize);
        match old.style() {
            Style::Literal | Style::Folded if old.trivia().alias.is_none() => {
                let signs = self.lines.text[start + 1..end]
                    .bytes()
                    .take_while(|b| matches!(b, b'0'..=b'9' | b'+' | b'-'));
                start + 1 + signs.count()
            }
            _ => end.max(slot.after),
        }
    }

    /// Where the anchor and the tag end that are in front of a node, on the line that its `:` or `-` is on.
    pub(crate) fn after_properties(&self, old: &Node, slot: Slot<'_>) -> usize {
        let start = (old.span().start as usize).max(slot.after);
        let line_end = self.lines.line_end(slot.after).min(start);
        let mut after = slot.after;
        for (from, to) in self.property_words(old, slot) {
            if from < line_end {
                after = to;
            }
        }
        after
    }

    /// The places of the anchor and the tag in front of a node.
    fn property_words(&self, old: &Node, slot: Slot<'_>) -> Vec<(usize, usize)> {
        let mut words = Vec::new();
        let count = usize::from(old.trivia().anchor.is_some()) + usize::from(old.trivia().tag.is_some());
        let mut pos = slot.after;
        while words.len() < count {
            pos = self.lines.skip_to_token(pos);
            let bytes = self.lines.text[pos..].bytes();
            let len =
                bytes.take_while(|b| !matches!(b, b' ' | b'\t' | b'\n' | b'\r' | b',' | b']' | b'}')).count();
            if len == 0 || !matches!(self.lines.text.as_bytes()[pos], b'&' | b'!') {
                break;
            }
            words.push((pos, pos + len));
            pos += len;
        }
        words
    }

    /// Changes the anchor and the tag in front of a collection whose text stays. A missing anchor stays: something may
    /// refer to it.
    fn properties(&mut self, old: &Node, new: &Node, slot: Slot<'_>) {
        let (was, is) = (old.trivia(), new.trivia());
        let anchor = anchor_after(old, new);
        if anchor == was.anchor.as_ref() && was.tag == is.tag {
            return;
        }
        let words = self.property_words(old, slot);
        let text = [anchor.map(|a| format!("&{a}")), is.tag.as_ref().map(|t| t.to_string())];
        let text = text.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let Some((start, _)) = words.first() else {
            return self.add_properties(old, &text, slot);
        };
        self.copy_to(*start);
        self.put(&text);
        for (from, to) in &words {
            // The second may be on a line of its own.
            if self.lines.line_end(self.cursor) < *from {
                self.copy_to(*from);
            }
            self.skip_to(*to);
        }
        if text.is_empty() {
            self.skip_to(self.lines.skip_blanks(self.cursor));
        }
    }

    /// Adds an anchor and a tag to a collection that had none.
    fn add_properties(&mut self, old: &Node, text: &str, slot: Slot<'_>) {
        let start = old.span().start as usize;
        if old.style() == Style::Flow {
            self.copy_to(start);
            self.put(text);
            self.put(" ");
            return;
        }
        let inline = self.lines.line_end(slot.after) > start;
        self.copy_to(if slot.role == Role::Root { start } else { slot.after });
        if slot.role != Role::Root {
            self.put(" ");
        }
        self.put(text);
        if slot.role == Role::Root || inline {
            self.put(self.newline);
            self.put(&" ".repeat(self.lines.column(start).0));
            self.skip_to(start);
        }
    }

    /// How blocks are indented in the document.
    pub(crate) fn layout(&mut self) -> Layout {
        if let Some(layout) = self.layout {
            return layout;
        }
        let (mut step, mut seq) = (None, None);
        self.find_layout(self.original, &mut step, &mut seq);
        let layout =
            Layout { step: step.unwrap_or(Layout::COMPACT.step), seq: seq.unwrap_or(Layout::COMPACT.seq) };
        self.layout = Some(layout);
        layout
    }

    fn find_layout(&self, node: &Node, step: &mut Option<usize>, seq: &mut Option<usize>) {
        if node.style() == Style::Flow || node.trivia().alias.is_some() || step.is_some() && seq.is_some() {
            return;
        }
        match node.value() {
            Value::Scalar(_) => {}
            Value::Seq(items) => items.iter().for_each(|item| self.find_layout(item, step, seq)),
            Value::Map(map) => {
                let column = self.lines.column(node.span().start as usize).0;
                for entry in map.iter() {
                    let offset = self.block_offset(&entry.value, column);
                    match entry.value.value() {
                        Value::Map(_) if step.is_none() => *step = offset.filter(|offset| *offset > 0),
                        Value::Seq(_) if seq.is_none() => *seq = offset,
                        _ => {}
                    }
                    self.find_layout(&entry.value, step, seq);
                }
            }
        }
    }

    /// How blocks are indented in a map: as its other blocks are, else as in all the document.
    pub(crate) fn layout_in(&mut self, parent: Option<&Node>) -> Layout {
        const ENOUGH: usize = 64;
        let mut layout = self.layout();
        let Some((node, map)) = parent.and_then(|node| Some((node, node.as_map()?))) else { return layout };
        if node.style() == Style::Flow {
            return layout;
        }
        let column = self.lines.column(node.span().start as usize).0;
        for entry in map.entries().iter().take(ENOUGH).rev() {
            match (entry.value.value(), self.block_offset(&entry.value, column)) {
                (Value::Seq(_), Some(offset)) => layout.seq = offset,
                (Value::Map(_), Some(offset)) if offset > 0 => layout.step = offset,
                _ => {}
            }
        }
        layout
    }

    /// How much deeper than a column a block is; `None` if it is not a block.
    pub(crate) fn block_offset(&self, node: &Node, column: usize) -> Option<usize> {
        if node.is_scalar() || node.is_empty() || node.style() == Style::Flow || node.trivia().alias.is_some()
        {
            return None;
        }
        self.lines.column(node.span().start as usize).0.checked_sub(column)
    }

    /// Writes something that has no text yet.
    pub(crate) fn fresh<'n>(&mut self, layout: Layout, write: impl FnOnce(&mut Writer<'_, 'n>)) -> String {
        let mut text = String::new();
        write(&mut Writer::new(&mut text, &mut self.anchors, layout, self.newline));
        text
    }
}

/// Equal scalars, whose text need not change.
pub(super) fn is_equal(old: &Node, new: &Node) -> bool {
    if old.tag() == Tag::Other {
        return new.tag() == Tag::Other && old.text() == new.text() && old.trivia().tag == new.trivia().tag;
    }
    old == new
}
