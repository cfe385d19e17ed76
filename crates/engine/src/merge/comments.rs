//! Comments: carried from one tree to another, and read for the schemas some of them hold.

use krm_yaml::{Entry, Node, Text, Trivia};

use crate::schema::{CommentSchema, Schema};

/// The schema a value's comment gives: `# {"x-kubernetes-patch-merge-key":"name", ...}` behind or above it.
pub(super) fn schema(schema: &Schema, node: &Node) -> Option<CommentSchema> {
    if !node.has_trivia() {
        return None;
    }
    // The first comment there is decides.
    let trivia = node.trivia();
    let comment = [&trivia.line, &trivia.head].into_iter().find(|comment| !comment.is_empty())?;
    schema.in_comment(comment)
}

/// The same of a field: on its value, or on its key.
pub(super) fn schema_of_field(of: &Schema, entry: &Entry) -> Option<CommentSchema> {
    schema(of, &entry.value).or_else(|| schema(of, &entry.key))
}

/// Whether the comment of a key is such a schema.
pub(super) fn is_schema(key: &Node) -> bool {
    key.has_trivia() && schema(&Schema::builtin(), key).is_some()
}

fn comments(node: &Node) -> [&Text; 3] {
    let Trivia { head, line, foot, .. } = node.trivia();
    [head, line, foot]
}

/// Whether a node carries no comment.
pub(super) fn has_none(node: &Node) -> bool {
    !node.has_trivia() || comments(node).iter().all(|comment| comment.is_empty())
}

/// Whether both carry the same comments.
pub(super) fn same(a: &Node, b: &Node) -> bool {
    (!a.has_trivia() && !b.has_trivia()) || comments(a) == comments(b)
}

/// The destination with the comments the source has in place of its own; `None` where that changes nothing.
pub(super) fn overridden(dest: &Node, source: &Node) -> Option<Node> {
    combined(dest, source, |dest, source| if source.is_empty() { dest } else { source })
}

/// The destination with comments of the source where it has none of its own; `None` where that changes nothing.
pub(super) fn joined(dest: &Node, source: &Node) -> Option<Node> {
    combined(dest, source, |dest, source| if dest.is_empty() { source } else { dest })
}

/// The destination with the comments of the source and none of its own; `None` where that changes nothing.
pub(super) fn replaced(dest: &Node, source: &Node) -> Option<Node> {
    combined(dest, source, |_, source| source)
}

/// The key without the comment behind it; `None` where it has none.
pub(super) fn without_line(key: &Node) -> Option<Node> {
    if key.trivia().line.is_empty() {
        return None;
    }
    let mut key = key.clone();
    key.trivia_mut().line = Text::new();
    Some(key)
}

fn combined(
    dest: &Node,
    source: &Node,
    choose: impl for<'t> Fn(&'t Text, &'t Text) -> &'t Text,
) -> Option<Node> {
    if same(dest, source) {
        return None;
    }
    let (ours, theirs) = (comments(dest), comments(source));
    let [head, line, foot] = [0, 1, 2].map(|i| choose(ours[i], theirs[i]));
    if [head, line, foot] == ours {
        return None;
    }
    let mut node = dest.clone();
    let trivia = node.trivia_mut();
    (trivia.head, trivia.line, trivia.foot) = (head.clone(), line.clone(), foot.clone());
    Some(node)
}

/// Whether two trees hold the same values under the same comments.
pub(super) fn same_throughout(a: &Node, b: &Node) -> bool {
    if std::ptr::eq(a, b) {
        return true;
    }
    if !same(a, b) || a.tag() != b.tag() {
        return false;
    }
    if let (Some(a), Some(b)) = (a.as_map(), b.as_map()) {
        // In order: where only the order differs, the newer one is taken.
        let mut pairs = a.iter().zip(b.iter());
        return a.len() == b.len()
            && pairs.all(|(a, b)| same_throughout(&a.key, &b.key) && same_throughout(&a.value, &b.value));
    }
    match (a.as_seq(), b.as_seq()) {
        (Some(a), Some(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same_throughout(a, b))
        }
        _ => a.same(b),
    }
}
