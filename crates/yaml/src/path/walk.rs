//! Following a path.

use std::ops::{ControlFlow, Range};

use regex::Regex;

use super::{Path, Segment};
use crate::diag::{Diagnostic, Result};
use crate::emit::preserve::fresh;
use crate::node::{Node, Style, Value};

impl Path {
    /// The first node the path leads to.
    pub fn get<'n>(&self, root: &'n Node) -> Option<&'n Node> {
        let mut found = None;
        let _ = visit(&self.0, root, &mut |node| {
            found = Some(node);
            ControlFlow::Break(())
        });
        found
    }

    /// All nodes the path leads to, in the order they stand.
    pub fn get_all<'n>(&self, root: &'n Node) -> Vec<&'n Node> {
        let mut found = Vec::new();
        let _ = visit(&self.0, root, &mut |node| {
            found.push(node);
            ControlFlow::Continue(())
        });
        found
    }
}

/// Whether the path leads anywhere from here: asked before an edit copies what it goes through.
pub(super) fn leads_somewhere(path: &[Segment], node: &Node) -> bool {
    visit(path, node, &mut |_| ControlFlow::Break(())).is_break()
}

fn visit<'n>(
    path: &[Segment],
    node: &'n Node,
    found: &mut impl FnMut(&'n Node) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let Some((segment, rest)) = path.split_first() else { return found(node) };
    let rest = if enters_items(segment, node) { path } else { rest };
    match children(segment, node) {
        Children::None => ControlFlow::Continue(()),
        Children::One(at) => visit(rest, child(node, at), found),
        Children::All(all) => {
            for at in all {
                visit(rest, child(node, at), found)?;
            }
            ControlFlow::Continue(())
        }
        Children::Some(some) => {
            for at in some {
                visit(rest, child(node, at), found)?;
            }
            ControlFlow::Continue(())
        }
    }
}

/// Whether the segment stays in force for the items of this sequence: the names of a field spec look through lists.
pub(super) fn enters_items(segment: &Segment, node: &Node) -> bool {
    matches!(segment, Segment::Field(_)) && node.is_seq()
}

/// Where a segment leads from a node.
pub(super) enum Children {
    None,
    One(usize),
    All(Range<usize>),
    Some(Vec<usize>),
}

/// The positions, among the entries or items of a node, that a segment leads to.
pub(super) fn children(segment: &Segment, node: &Node) -> Children {
    let one = |at: Option<usize>| at.map_or(Children::None, Children::One);
    match (segment, node.value()) {
        (Segment::Key(name) | Segment::Field(name), Value::Map(map)) => one(map.position(name)),
        (Segment::Key(name), Value::Seq(items)) => one(index(name).filter(|at| *at < items.len())),
        (Segment::Field(_) | Segment::Each | Segment::Any, Value::Seq(items)) => {
            Children::All(0..items.len())
        }
        (Segment::Any, Value::Map(map)) => Children::All(0..map.len()),
        (Segment::Append, Value::Seq(items)) => one(items.len().checked_sub(1)),
        (Segment::Match { key, value }, Value::Seq(items)) => {
            some(items, key, |node| node.text() == Some(value.as_str()))
        }
        (Segment::Pattern { key, pattern }, Value::Seq(items)) => {
            let pattern = Pattern::new(pattern);
            some(items, key, |node| pattern.matches(node))
        }
        _ => Children::None,
    }
}

/// The items whose field `key`, or which themselves where `key` is empty, pass a test.
fn some(items: &[Node], key: &str, test: impl Fn(&Node) -> bool) -> Children {
    let subject = |item| if key.is_empty() { Some(item) } else { Node::get(item, key) };
    let fits = |at: &usize| subject(&items[*at]).is_some_and(&test);
    Children::Some((0..items.len()).filter(fits).collect())
}

/// The child at a position given by [`children`].
pub(super) fn child(node: &Node, at: usize) -> &Node {
    match node.value() {
        Value::Map(map) => &map.entries()[at].value,
        Value::Seq(items) => &items[at],
        Value::Scalar(_) => node,
    }
}

/// The number of an item, where a key is one.
pub(super) fn index(name: &str) -> Option<usize> {
    if name.starts_with('+') { None } else { name.parse().ok() }
}

/// What `[k=pattern]` looks for. Most patterns are plain names, where a search for the text is the same and quicker.
enum Pattern<'p> {
    Text(&'p str),
    Regex(Regex),
    Never,
}

impl<'p> Pattern<'p> {
    fn new(pattern: &'p str) -> Self {
        if regex_syntax_free(pattern) {
            return Pattern::Text(pattern);
        }
        Regex::new(pattern).map_or(Pattern::Never, Pattern::Regex)
    }

    /// The reference matches against the value as it would print it, quotes and comment included.
    fn matches(&self, node: &Node) -> bool {
        let printed;
        let text = match node.text() {
            Some(text) if !node.has_trivia() && node.style() == Style::Plain => text,
            _ => {
                printed = fresh(node);
                printed.trim()
            }
        };
        match self {
            Pattern::Text(part) => text.contains(part),
            Pattern::Regex(regex) => regex.is_match(text),
            Pattern::Never => false,
        }
    }
}

fn regex_syntax_free(pattern: &str) -> bool {
    pattern.bytes().all(|b| !br"\.+*?()|[]{}^$".contains(&b))
}

/// Refuses a pattern that is no regular expression.
pub(super) fn check_pattern(pattern: &str, path: &str) -> Result<()> {
    if regex_syntax_free(pattern) {
        return Ok(());
    }
    Regex::new(pattern).map(|_| ()).map_err(|_| {
        Diagnostic::error("path-bad-pattern", format!("`{pattern}` in the path `{path}` is not a regular expression"))
            .help("the value in `[field=value]` is a regular expression here: put a backslash before `(`, `[`, `*` and the like")
    })
}
