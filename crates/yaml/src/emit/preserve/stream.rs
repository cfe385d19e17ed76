//! Whole documents, and streams of them.

use super::editor::{Editor, Line, Slot};
use super::fresh::Role;
use super::lines::{self, comment_lines, line_break};
use super::scalar::is_break;
use super::{Layout, fresh_document};
use crate::document::Document;
use crate::node::Node;
use crate::parse::{DuplicateKeys, ParseOptions};
use crate::source::Source;

pub(super) fn stream(docs: &[Document]) -> String {
    let mut out = String::with_capacity(docs.iter().map(|doc| doc.span().len() + 1).sum());
    let newline = docs.first().map_or("\n", |doc| line_break(&doc.source().text()[doc.span().range()]));
    let mut previous: Option<&Document> = None;
    for doc in docs {
        end_line(&mut out);
        if previous.is_some_and(|previous| !follows(previous, doc)) {
            let mut text = String::new();
            document_into(doc, &mut text);
            if !begins_with_marker(&text) {
                out.push_str("---");
                out.push_str(newline);
            }
            out.push_str(&with_line_breaks(text, newline));
        } else {
            document_into(doc, &mut out);
        }
        previous = Some(doc);
    }
    out
}

/// Converts text from another file to the line breaks of this one. They carry no meaning.
fn with_line_breaks(text: String, newline: &str) -> String {
    match (newline, text.contains("\r\n")) {
        ("\n", false) => text,
        (newline, _) => text.replace("\r\n", "\n").replace('\n', newline),
    }
}

/// Whether a document comes right after another in the same text.
fn follows(previous: &Document, doc: &Document) -> bool {
    std::sync::Arc::ptr_eq(previous.source(), doc.source()) && previous.span().end == doc.span().start
}

/// Whether the content of a document is introduced by `---`.
fn begins_with_marker(text: &str) -> bool {
    let content = |line: &&str| !matches!(line.trim_start().as_bytes().first(), None | Some(b'#' | b'%'));
    let first = text.trim_start_matches('\u{feff}').lines().find(content);
    first
        .and_then(|line| line.strip_prefix("---"))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

fn end_line(out: &mut String) {
    if !out.is_empty() && !out.ends_with(is_break) {
        out.push('\n');
    }
}

/// Appends the text of a document.
pub(super) fn document_into(doc: &Document, out: &mut String) {
    let new = &doc.root;
    let text = &doc.source().text()[doc.span().range()];
    if doc.is_as_written() {
        out.push_str(text);
        return;
    }
    let edited = edited(doc);
    if edited == text || reads_back(&edited, doc) {
        out.push_str(&edited);
        return;
    }
    // An edit we did not get right in its place must not spoil the document: it is rewritten.
    let marker = if begins_with_marker(text) { "---\n" } else { "" };
    let anew = format!("{marker}{}", fresh_document(doc.head(), new, doc.foot(), Layout::COMPACT));
    // Trees with tags of their own are equal to none: what can be read at all is better than what cannot.
    let is_better = reads_back(&anew, doc) || crate::parse::parse_str(&edited).is_err();
    out.push_str(if is_better { &anew } else { &edited });
}

/// Whether a text means what the edited tree means.
fn reads_back(text: &str, doc: &Document) -> bool {
    let source = Source::detached(doc.source().name(), text);
    // Of equal keys the last one may have been chosen when the document was read.
    let options = ParseOptions::default().duplicate_keys(DuplicateKeys::LastWins);
    crate::parse::parse_with(&source, options).is_ok_and(|docs| match docs.as_slice() {
        [again] => again.root == doc.root,
        [] => doc.root.is_null(),
        _ => false,
    })
}

/// The text of a document after edits, not yet read again.
pub(super) fn edited(doc: &Document) -> String {
    let old = doc.original();
    let mut editor = Editor::new(doc);
    if old.span().is_empty() && old.is_null() && old.trivia().anchor.is_none() && old.trivia().tag.is_none() {
        editor.fill(doc);
    } else {
        editor.root(doc);
    }
    let end = editor.end;
    editor.copy_to(end);
    editor.out
}

impl Editor<'_> {
    /// Edits the root of a document.
    fn root(&mut self, doc: &Document) {
        let (old, new) = (doc.original(), &doc.root);
        let after = self.content_start(doc);
        self.head(doc, after);
        let line =
            if old.is_scalar() { self.change(&old.trivia().line, &new.trivia().line) } else { Line::Stays };
        self.drop_tabs_before(old, new);
        let slot = Slot { role: Role::Root, after, column: -1, line, parent: None, json: false };
        self.node(old, new, slot);
    }

    /// A root like `{}` may be indented by tabs; what takes its place may not.
    fn drop_tabs_before(&mut self, old: &Node, new: &Node) {
        let root = old.span().start as usize;
        let start = self.lines.line_start(root);
        let indent = &self.lines.text[start..root];
        if indent.contains('\t') && indent.trim().is_empty() && old != new {
            self.copy_to(start);
            self.skip_to(root);
        }
    }

    /// Edits the comments above a document, whose content may begin at a position.
    fn head(&mut self, doc: &Document, content: usize) {
        let Line::Becomes(head) = self.change(doc.written_head(), doc.head()) else { return };
        let lines = self.lines;
        let root = doc.original().span().start as usize;
        let was = comment_lines(doc.written_head());
        let mut from = match lines.text[..content].ends_with("---") {
            true => lines.next_line(content),
            false => content,
        };
        if was > 0 {
            // They may be above a `---`, too.
            from = doc.span().start as usize;
            while from < root && lines.kind(from) != lines::LineKind::Comment {
                from = lines.next_line(from);
            }
        }
        self.copy_to(from);
        self.put_comment(head, 0);
        self.skip_to(lines.comments_below(from, was, root));
        match (head.is_empty(), was) {
            (true, _) => self.skip_blank_lines(),
            (false, 0) => self.put(self.newline),
            (false, _) => {}
        }
    }

    /// Where the content of a document may begin: after its `---`, or at its first line.
    fn content_start(&self, doc: &Document) -> usize {
        let bytes = self.lines.text.as_bytes();
        let mut start = doc.span().start as usize;
        if bytes[start..].starts_with("\u{feff}".as_bytes()) {
            start += "\u{feff}".len();
        }
        let mut pos = start;
        loop {
            pos = self.lines.skip_to_token(pos);
            let begins_line = self.lines.line_start(pos) == pos || pos == start;
            if begins_line && bytes.get(pos) == Some(&b'%') {
                pos = self.lines.line_end(pos);
            } else if begins_line
                && bytes[pos..].starts_with(b"---")
                && pos < doc.original().span().start as usize
            {
                return pos + 3;
            } else {
                return start;
            }
        }
    }

    /// Writes a root where there was none.
    fn fill(&mut self, doc: &Document) {
        let layout = self.layout();
        let text = self.fresh(layout, |writer| writer.document("", &doc.root, ""));
        let end = self.end;
        let lines = self.lines;
        // In front of a `...`, if there is one.
        let mut line = doc.span().start as usize;
        let mut place = end;
        while line < end {
            if lines.text[line..].starts_with("...") {
                place = line;
                break;
            }
            line = lines.next_line(line);
        }
        self.copy_to(place);
        self.start_line();
        self.put(&text);
    }
}
