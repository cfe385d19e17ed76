//! Comments within brackets and braces.

use super::Layout;
use super::align::Piece;
use super::editor::{Editor, Line};
use super::flow::Part;
use super::lines::LineKind;
use super::scalar::is_break;
use crate::map::Entry;
use crate::node::{Node, Value};

/// The comments of one child.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Note<'n> {
    pub head: &'n str,
    pub line: &'n str,
    pub foot: &'n str,
}

impl<'n> Note<'n> {
    pub(crate) fn of_item(item: &'n Node) -> Self {
        let trivia = item.trivia();
        Self { head: &trivia.head, line: &trivia.line, foot: &trivia.foot }
    }

    pub(crate) fn of_entry(entry: &'n Entry) -> Self {
        let (key, value) = (entry.key.trivia(), entry.value.trivia());
        let either = |a: &'n str, b: &'n str| if a.is_empty() { b } else { a };
        Self { head: &key.head, line: either(&value.line, &key.line), foot: either(&key.foot, &value.foot) }
    }

    /// Whether there are any after or below the child.
    pub(crate) fn follow(self) -> bool {
        !self.line.is_empty() || !self.foot.is_empty()
    }
}

/// The comments of all children of the original, and of all pieces.
pub(super) struct Notes<'n> {
    pub olds: Vec<Note<'n>>,
    pub news: Vec<Note<'n>>,
}

impl Notes<'_> {
    pub(crate) fn any(&self) -> bool {
        self.olds.iter().chain(&self.news).any(|note| *note != Note::default())
    }
}

/// Whether what is between two neighbours of the original has the comments it is to have.
pub(super) fn fits(above: Note<'_>, below: Note<'_>, was_above: Note<'_>, was_below: Note<'_>) -> bool {
    (above.line, above.foot, below.head) == (was_above.line, was_above.foot, was_below.head)
}

/// Where lines begin within a pair of brackets, and where the closing one is on a line of its own.
#[derive(Clone, Copy, Default)]
pub(super) struct Rows {
    column: usize,
    bracket: usize,
}

impl<'d> Editor<'d> {
    /// The comments that children had, and are to have.
    pub(crate) fn notes<'n>(
        &self,
        pieces: &[Piece],
        olds: impl Iterator<Item = Note<'n>>,
        new: impl Fn(usize) -> Note<'n>,
    ) -> Notes<'n> {
        let olds: Vec<Note<'n>> = olds.collect();
        let becomes = |was: &'n str, is: &'n str| match self.change(was, is) {
            Line::Stays => was,
            Line::Becomes(comment) => comment,
        };
        let news = pieces.iter().map(|piece| {
            let is = new(piece.new);
            let Some(was) = piece.old.map(|old| olds[old]) else { return is };
            let (head, line) = (becomes(was.head, is.head), becomes(was.line, is.line));
            Note { head, line, foot: becomes(was.foot, is.foot) }
        });
        let news = news.collect();
        Notes { olds, news }
    }

    /// Where lines begin within the brackets that are written next: as in the text, or else a step deeper than the line.
    pub(crate) fn rows(&self, start: usize, parts: &[Part], bracket: usize) -> Rows {
        let outer = self.line_indent();
        let begins_line = |end: usize, next: usize| {
            self.is_broken(end, next)
                .then(|| self.lines.column(next))
                .filter(|(_, own_line)| *own_line)
                .map(|(column, _)| column)
        };
        let ends = std::iter::once(start).chain(parts.iter().map(|part| part.end));
        let column = ends.zip(parts).find_map(|(end, next)| begins_line(end, next.begin));
        let bracket = parts.last().and_then(|last| begins_line(last.end, bracket));
        Rows { column: column.unwrap_or(outer + Layout::COMPACT.step), bracket: bracket.unwrap_or(outer) }
    }

    /// The column of the text on the line being written, after any `- `.
    fn line_indent(&self) -> usize {
        let line = self.out.rsplit(is_break).next().unwrap_or_default();
        let mut text = line;
        while let Some(rest) = [" ", "- ", "? ", ": "].iter().find_map(|lead| text.strip_prefix(lead)) {
            text = rest;
        }
        line.len() - text.len()
    }

    /// A node without the comments around it, which are outside of its text; and the column that lines within it have
    /// to be deeper than.
    pub(crate) fn for_brackets(&self, node: Node) -> (Node, usize) {
        let node = without_notes(node);
        // A long line is looked over only if one will be broken.
        let column = if has_comments(&node) { self.line_indent() } else { 0 };
        (node, column)
    }

    /// Opens a bracket with a comment above the first child. A comment after the bracket, which is nobody's, stays.
    pub(crate) fn open_with_comment(&mut self, after: usize, head: &str, rows: Rows) {
        let is_commented = self.lines.text.as_bytes().get(self.lines.skip_blanks(after)) == Some(&b'#');
        self.copy_to(if is_commented { self.lines.line_end(after) } else { after });
        self.put(self.newline);
        self.put_comment(head, rows.column);
        self.put(&" ".repeat(rows.column));
    }

    /// Writes what is between two children, after the comma. `end` is where the first of them ends in the text, `gap`
    /// what lies between them there if they were neighbours.
    pub(crate) fn part_with_comments(
        &mut self,
        above: Note<'_>,
        end: Option<usize>,
        below: Note<'_>,
        gap: Option<(usize, usize)>,
        rows: Rows,
    ) {
        self.put_comments_after(above, end, rows.column);
        // Without a blank line between them the comment below the one would be above the other.
        if !above.foot.is_empty() || gap.is_some_and(|(from, to)| self.has_blank_line(from, to)) {
            self.put(self.newline);
        }
        self.put_comment(below.head, rows.column);
        self.put(&" ".repeat(rows.column));
    }

    /// Writes what is between the last child and the bracket. `end` is where that child ends in the text; the cursor
    /// is where the last one does.
    pub(crate) fn close_with_comments(
        &mut self,
        last: Note<'_>,
        end: Option<usize>,
        rows: Rows,
        bracket: usize,
    ) {
        let comma = self.lines.text.as_bytes().get(self.lines.skip_to_token(self.cursor)) == Some(&b',');
        self.put(if comma { "," } else { "" });
        let broken = self.is_broken(self.cursor, bracket);
        if last.follow() {
            self.put_comments_after(last, end, rows.column);
        } else if broken {
            self.put(self.newline);
        }
        if last.follow() || broken {
            self.put(&" ".repeat(rows.bracket));
        }
        self.cursor = bracket;
    }

    /// Writes the comments after and below a child, as far from it as one was in the text, and ends the line.
    fn put_comments_after(&mut self, note: Note<'_>, end: Option<usize>, column: usize) {
        if !note.line.is_empty() {
            let gap = end.map_or("", |end| self.gap_before_comment(end));
            self.put(if gap.is_empty() { " " } else { gap });
            self.put_comment_line(note.line);
        }
        self.put(self.newline);
        self.put_comment(note.foot, column);
    }

    /// The blanks in front of the comment after a child, and after its comma.
    fn gap_before_comment(&self, end: usize) -> &'d str {
        let text = self.lines.text;
        let at = |pos: usize| text.as_bytes().get(pos);
        let comma = self.lines.skip_blanks(end);
        let after = if at(comma) == Some(&b',') { comma + 1 } else { end };
        let comment = self.lines.skip_blanks(after);
        if at(comment) == Some(&b'#') { &text[after..comment] } else { "" }
    }

    /// Whether a line ends between two positions, without a look at what comes after: lines can be long.
    fn is_broken(&self, from: usize, to: usize) -> bool {
        self.lines.text[from..to].contains(is_break)
    }

    fn has_blank_line(&self, from: usize, to: usize) -> bool {
        if !self.is_broken(from, to) {
            return false;
        }
        let mut line = self.lines.next_line(from);
        while line < to && self.lines.kind(line) != LineKind::Blank {
            line = self.lines.next_line(line);
        }
        line < to
    }
}

/// A node without the comments around it; those within stay.
pub(super) fn without_notes(mut node: Node) -> Node {
    if node.has_trivia() {
        let trivia = node.trivia_mut();
        (trivia.head, trivia.line, trivia.foot) = Default::default();
    }
    node
}

fn has_comments(node: &Node) -> bool {
    let commented = |node: &Node| Note::of_item(node) != Note::default() || has_comments(node);
    match node.value() {
        Value::Scalar(_) => false,
        Value::Seq(items) => items.iter().any(commented),
        Value::Map(map) => map.iter().any(|entry| commented(&entry.key) || commented(&entry.value)),
    }
}
