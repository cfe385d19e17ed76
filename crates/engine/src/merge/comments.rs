//! Comments: carried from one tree to another, and read for the schemas some of them hold.

use krm_yaml::{Entry, Node, Tag, Text, Trivia};

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
    combined(dest, source, |dest, source| if says(dest, source) { dest } else { source })
}

/// As [`overridden`], but for the comment behind: a block has none, its key does.
pub(super) fn overridden_around(dest: &Node, source: &Node) -> Option<Node> {
    let line = dest.trivia().line.clone();
    let mut node = overridden(dest, source)?;
    node.trivia_mut().line = line;
    (!same(&node, dest)).then_some(node)
}

/// Whether a comment holds all lines of another: where two stand one below the other they are read as one.
fn says(comment: &Text, other: &Text) -> bool {
    if other.is_empty() || comment == other {
        return true;
    }
    let (lines, others): (Vec<&str>, Vec<&str>) = (comment.lines().collect(), other.lines().collect());
    lines.windows(others.len()).any(|window| window == others)
}

/// The destination with comments of the source where it has none of its own; `None` where that changes nothing.
pub(super) fn joined(dest: &Node, source: &Node) -> Option<Node> {
    combined(dest, source, |dest, source| if dest.is_empty() { source } else { dest })
}

/// The destination with the comments of the source and none of its own; `None` where that changes nothing.
pub(super) fn replaced(dest: &Node, source: &Node) -> Option<Node> {
    combined(dest, source, |_, source| source)
}

/// Takes back a comment that joined below a field or an element where the destination has it already: at the end of what
/// is within, or above what is next. Which of these a comment between two blocks belongs to depends on what follows it.
pub(super) fn said_once(bearer: Node, was: &Node, within: &Node, next: Option<&Node>) -> Option<Node> {
    let foot = &bearer.trivia().foot;
    if foot.is_empty() || !was.trivia().foot.is_empty() {
        return Some(bearer);
    }
    let is_above_next = next.is_some_and(|next| next.trivia().head == *foot);
    if !is_above_next && !ends_with_foot(within, foot) {
        return Some(bearer);
    }
    let mut bearer = bearer;
    bearer.trivia_mut().foot = Text::new();
    (!same(&bearer, was) || !bearer.same(was)).then_some(bearer)
}

/// Whether a tree ends with a comment that stands below its last part.
fn ends_with_foot(node: &Node, foot: &Text) -> bool {
    let ends = |node: &Node| node.trivia().foot == *foot || ends_with_foot(node, foot);
    match (node.as_map().and_then(|map| map.entries().last()), node.items().last()) {
        (Some(entry), _) => entry.key.trivia().foot == *foot || ends(&entry.value),
        (None, Some(item)) => ends(item),
        (None, None) => false,
    }
}

/// The key of a field with the comment behind its value: where that stands if the value is a block. `None` where there is
/// no such comment.
pub(super) fn behind_key(entry: &Entry) -> Option<Node> {
    let line = &entry.value.trivia().line;
    if line.is_empty() {
        return None;
    }
    let mut key = entry.key.clone();
    key.trivia_mut().line = line.clone();
    Some(key)
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

/// A value with the comments a merge of three gives it: those the update changed, else the destination's. Where both
/// changed one, `update_wins` says whose is taken, and an update that has none leaves the destination its own.
pub(super) fn merged(
    node: Node,
    dest: &Node,
    origin: Option<&Node>,
    updated: &Node,
    update_wins: bool,
) -> Node {
    let none = Text::new();
    let (ours, theirs) = (comments(dest), comments(updated));
    let before = origin.map_or([&none; 3], comments);
    let [head, line, foot] = [0, 1, 2].map(|i| match theirs[i] != before[i] {
        true if ours[i] == before[i] || (update_wins && !says(ours[i], theirs[i])) => theirs[i],
        _ => ours[i],
    });
    if [head, line, foot] == comments(&node) {
        return node;
    }
    let mut node = node;
    let trivia = node.trivia_mut();
    (trivia.head, trivia.line, trivia.foot) = (head.clone(), line.clone(), foot.clone());
    node
}

/// The same for all that is within, of a destination and an update that hold the [same values](same_values).
pub(super) fn merged_throughout(
    dest: &Node,
    origin: Option<&Node>,
    updated: &Node,
    update_wins: bool,
) -> Node {
    let mut node = merged(dest.clone(), dest, origin, updated, update_wins);
    let origin = origin.filter(|origin| same_values(origin, updated));
    for (at, (ours, theirs)) in dest.items().iter().zip(updated.items()).enumerate() {
        if !same_throughout(ours, theirs) {
            let before = origin.map(|origin| &origin.items()[at]);
            let element = merged_throughout(ours, before, theirs, update_wins);
            let list = node.as_seq_mut().expect("a list as the destination's");
            let next = dest.items().get(at + 1);
            said_once(element, ours, ours, next).into_iter().for_each(|element| list[at] = element);
        }
    }
    let (Some(ours), Some(theirs)) = (dest.as_map(), updated.as_map()) else { return node };
    for (at, (ours, theirs)) in ours.iter().zip(theirs.iter()).enumerate() {
        let before = origin.and_then(Node::as_map).and_then(|map| map.iter().nth(at));
        let map = node.as_map_mut().expect("a map as the destination's");
        if !same(&ours.key, &theirs.key) {
            let before = before.map(|entry| &entry.key);
            let key = merged(ours.key.clone(), &ours.key, before, &theirs.key, update_wins);
            let next = dest.as_map().and_then(|map| map.entries().get(at + 1)).map(|next| &next.key);
            let key = said_once(key, &ours.key, &ours.value, next);
            key.into_iter().for_each(|key| *map.key_at_mut(at) = key);
        }
        if !same_throughout(&ours.value, &theirs.value) {
            let before = before.map(|entry| &entry.value);
            *map.value_at_mut(at) = merged_throughout(&ours.value, before, &theirs.value, update_wins);
        }
    }
    node
}

/// The destination with the comments the source has in place of its own, throughout; `None` where that changes nothing.
/// For trees that hold the [same values](same_values).
pub(super) fn overridden_throughout(dest: &Node, source: &Node) -> Option<Node> {
    let mut node = overridden(dest, source);
    if let (Some(map), Some(theirs)) = (dest.as_map(), source.as_map()) {
        for (at, (ours, theirs)) in map.iter().zip(theirs.iter()).enumerate() {
            let (key, value) =
                (overridden(&ours.key, &theirs.key), overridden_throughout(&ours.value, &theirs.value));
            let next = map.entries().get(at + 1).map(|next| &next.key);
            let key = key.and_then(|key| said_once(key, &ours.key, &ours.value, next));
            if key.is_none() && value.is_none() {
                continue;
            }
            let map =
                node.get_or_insert_with(|| dest.clone()).as_map_mut().expect("the destination is a map");
            key.into_iter().for_each(|key| *map.key_at_mut(at) = key);
            value.into_iter().for_each(|value| *map.value_at_mut(at) = value);
        }
    }
    for (at, (ours, theirs)) in dest.items().iter().zip(source.items()).enumerate() {
        let element = overridden_throughout(ours, theirs);
        let next = dest.items().get(at + 1);
        if let Some(element) = element.and_then(|element| said_once(element, ours, ours, next)) {
            let list =
                node.get_or_insert_with(|| dest.clone()).as_seq_mut().expect("the destination is a list");
            list[at] = element;
        }
    }
    node
}

/// Whether two trees hold the same values under the same comments.
pub(super) fn same_throughout(a: &Node, b: &Node) -> bool {
    alike(a, b, &same)
}

/// Whether two trees hold the same values, whatever comments are around them.
pub(super) fn same_values(a: &Node, b: &Node) -> bool {
    alike(a, b, &|_, _| true)
}

fn alike(a: &Node, b: &Node, also: &impl Fn(&Node, &Node) -> bool) -> bool {
    if std::ptr::eq(a, b) {
        return true;
    }
    if !also(a, b) || a.tag() != b.tag() || (a.tag() == Tag::Other && a.trivia().tag != b.trivia().tag) {
        return false;
    }
    if let (Some(a), Some(b)) = (a.as_map(), b.as_map()) {
        // In order: where only the order differs, the newer one is taken.
        let mut pairs = a.iter().zip(b.iter());
        return a.len() == b.len()
            && pairs.all(|(a, b)| alike(&a.key, &b.key, also) && alike(&a.value, &b.value, also));
    }
    match (a.as_seq(), b.as_seq()) {
        (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| alike(a, b, also)),
        _ => a.same(b),
    }
}
