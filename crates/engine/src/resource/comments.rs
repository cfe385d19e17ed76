//! The comments of a tree.

use std::borrow::Cow;
use std::sync::Arc;

use krm_yaml::{Document, Node, Trivia};

/// Takes all comments out of a tree.
pub fn strip_comments(node: &mut Node) {
    if node.has_trivia() {
        let Trivia { anchor, alias, tag, .. } = node.trivia().clone();
        match (&anchor, &alias, &tag) {
            (None, None, None) => node.clear_trivia(),
            _ => *node.trivia_mut() = Trivia { anchor, alias, tag, ..Trivia::default() },
        }
    }
    if !has_comments(node) {
        return;
    }
    if let Some(map) = node.as_map_mut() {
        for entry in map.entries_mut() {
            strip_comments(&mut entry.key);
            strip_comments(&mut entry.value);
        }
    } else if let Some(items) = node.as_seq_mut() {
        items.iter_mut().for_each(strip_comments);
    }
}

/// Whether there is a comment anywhere in a tree.
pub(crate) fn has_comments(node: &Node) -> bool {
    let trivia = node.trivia();
    !(trivia.head.is_empty() && trivia.line.is_empty() && trivia.foot.is_empty())
        || node.items().iter().any(has_comments)
        || node.as_map().into_iter().flatten().any(|e| has_comments(&e.key) || has_comments(&e.value))
}

/// Keeps what is above the first document of a file if that document goes: it is about the file, as a licence is.
pub(crate) fn keep_head(before: &[Document], after: &mut [Document]) {
    let Some(first) = before.first().filter(|first| !first.head().is_empty()) else { return };
    if after.iter().any(|document| is_same(document, first)) {
        return;
    }
    if let Some(next) = after.first_mut().filter(|next| !next.head().starts_with(first.head())) {
        let head = match next.head() {
            "" => first.head().to_owned(),
            own => format!("{}\n\n{own}", first.head()),
        };
        next.set_head(head);
    }
}

/// Whether two documents are one that was read, edited or not.
pub(crate) fn is_same(one: &Document, other: &Document) -> bool {
    Arc::ptr_eq(one.source(), other.source()) && one.span().start == other.span().start
}

/// A resource as it can be written to a file: JSON has no comments.
pub(crate) fn for_file<'n>(node: &'n Node, path: &str) -> Cow<'n, Node> {
    if !path.ends_with(".json") || !has_comments(node) {
        return Cow::Borrowed(node);
    }
    let mut bare = node.clone();
    strip_comments(&mut bare);
    Cow::Owned(bare)
}
