//! Blank lines between entries, which a formatted text keeps.

use std::collections::BTreeSet;

use krm_yaml::emit::preserve::{Layout, fresh_document};
use krm_yaml::{Document, Node, Style};

/// The text of a formatted document with a blank line above every field and list element that has one in the document as
/// it was read, unless it comes first now. `root` is the formatted tree and `text` what was written of it.
pub fn kept(document: &Document, root: &Node, text: String) -> String {
    let before = document.source().text();
    if !before.contains("\n\n") && !before.contains("\n\r\n") && !before.contains("\n ") {
        return text;
    }
    let Some(written) = single(&text) else { return text };
    let mut above = BTreeSet::new();
    visit(root, &written.root, &mut |old, new| {
        if is_parted(before, old.span().start as usize) {
            above.insert(written.source().position(new.span().start as usize).line - 1);
        }
    });
    if above.is_empty() {
        return text;
    }
    let spaced = with_blank_lines(&text, &above);
    // A comment that would belong to something else then is worth more than a blank line.
    let same = single(&spaced).is_some_and(|again| {
        fresh_document(again.head(), &again.root, again.foot(), Layout::COMPACT) == text
    });
    if same { spaced } else { text }
}

fn single(text: &str) -> Option<Document> {
    let mut documents = krm_yaml::parse_str(text).ok()?;
    (documents.len() == 1).then(|| documents.remove(0))
}

/// Visits the entries and elements of two trees that hold the same, but for the first of each.
fn visit(old: &Node, new: &Node, each: &mut dyn FnMut(&Node, &Node)) {
    if old.trivia().alias.is_some() || new.style() == Style::Flow {
        return;
    }
    if let (Some(old), Some(new)) = (old.as_map(), new.as_map()) {
        // What is above the one that came first belongs to the whole.
        let first = old.iter().map(|entry| entry.key.span().start).min();
        for (at, (old, new)) in old.iter().zip(new.iter()).enumerate() {
            if at > 0 && Some(old.key.span().start) != first {
                each(&old.key, &new.key);
            }
            visit(&old.value, &new.value, each);
        }
    }
    for (at, (old, new)) in old.items().iter().zip(new.items()).enumerate() {
        if at > 0 {
            each(old, new);
        }
        visit(old, new, each);
    }
}

/// Whether a blank line is above a place in a text, or above the comments right above it.
fn is_parted(text: &str, offset: usize) -> bool {
    let start = text[..offset].rfind('\n').map_or(0, |end| end + 1);
    let mut above = text[..start].lines().rev();
    above.find(|line| !is_comment(line)).is_some_and(|line| line.trim().is_empty())
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// A text with a blank line above each of some lines, or above the comments that belong to it.
fn with_blank_lines(text: &str, above: &BTreeSet<usize>) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let places = above.iter().map(|line| {
        let is_own = |at: &usize| is_comment(lines[*at]) && indent(lines[*at]) == indent(lines[*line]);
        line - (0..*line).rev().take_while(is_own).count()
    });
    let is_free = |at: &usize| *at > 0 && !lines[at - 1].trim().is_empty();
    let places: BTreeSet<usize> = places.filter(is_free).collect();
    let mut out = String::with_capacity(text.len() + places.len());
    for (at, line) in lines.iter().enumerate() {
        if places.contains(&at) {
            out.push('\n');
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}
