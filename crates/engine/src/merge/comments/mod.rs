//! Comments: carried from one tree to another, and read for the schemas some of them hold.

pub(in crate::merge) mod above_and_below;
pub(in crate::merge) mod between_nodes;

use krm_function::elements::by_value;
use krm_yaml::{Entry, Map, Node, Tag, Text, Trivia};

use crate::schema::{CommentSchema, Schema};

/// The schema a value's comment gives: `# {"x-kubernetes-patch-merge-key":"name", ...}` after or above it.
pub(in crate::merge) fn schema(schema: &Schema, node: &Node) -> Option<CommentSchema> {
    if !node.has_trivia() {
        return None;
    }
    // The first comment there is decides.
    let trivia = node.trivia();
    let comment = [&trivia.line, &trivia.head].into_iter().find(|comment| !comment.is_empty())?;
    schema.in_comment(comment)
}

/// The same of a field: on its value, or on its key.
pub(in crate::merge) fn schema_of_field(of: &Schema, entry: &Entry) -> Option<CommentSchema> {
    schema(of, &entry.value).or_else(|| schema(of, &entry.key))
}

/// Whether the comment of a key is such a schema.
pub(in crate::merge) fn is_schema(key: &Node) -> bool {
    key.has_trivia() && schema(&Schema::builtin(), key).is_some()
}

fn comments(node: &Node) -> [&Text; 3] {
    let Trivia { head, line, foot, .. } = node.trivia();
    [head, line, foot]
}

/// Whether a node carries no comment.
pub(in crate::merge) fn has_none(node: &Node) -> bool {
    !node.has_trivia() || comments(node).iter().all(|comment| comment.is_empty())
}

/// Whether both carry the same comments.
pub(in crate::merge) fn same(a: &Node, b: &Node) -> bool {
    (!a.has_trivia() && !b.has_trivia()) || comments(a) == comments(b)
}

/// The destination with the comments the source has in place of its own; `None` if that changes nothing.
pub(in crate::merge) fn overridden(dest: &Node, source: &Node) -> Option<Node> {
    combined(dest, source, |dest, source| if source.is_empty() { dest } else { source })
}

/// As [`overridden`], but for the comment on its line: a block has none, its key does.
pub(in crate::merge) fn overridden_around(dest: &Node, source: &Node) -> Option<Node> {
    let line = dest.trivia().line.clone();
    let mut node = overridden(dest, source)?;
    node.trivia_mut().line = line;
    (!same(&node, dest)).then_some(node)
}

/// The destination with comments of the source where it has none; `None` if that changes nothing.
pub(in crate::merge) fn joined(dest: &Node, source: &Node) -> Option<Node> {
    combined(dest, source, |dest, source| if dest.is_empty() { source } else { dest })
}

/// The destination with the comments of the source and none of its own; `None` if that changes nothing.
pub(in crate::merge) fn replaced(dest: &Node, source: &Node) -> Option<Node> {
    combined(dest, source, |_, source| source)
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

/// Whether their comment is taken over one that the destination changed as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::merge) enum Theirs {
    Win,
    GiveWay,
}

impl Theirs {
    pub(crate) fn win_if(condition: bool) -> Self {
        if condition { Theirs::Win } else { Theirs::GiveWay }
    }
}

/// The destination with the comment after it on its line that a merge gives it: theirs where they changed it, else its own. Where both
/// changed it, `wins` says whether theirs is taken, and one they removed stays. `None` if that changes nothing.
pub(in crate::merge) fn with_line_comment(
    dest: &Node,
    before: Option<&Node>,
    theirs: &Node,
    wins: Theirs,
) -> Option<Node> {
    let none = Text::new();
    let (ours, theirs) = (&dest.trivia().line, &theirs.trivia().line);
    let before = before.map_or(&none, |before| &before.trivia().line);
    let taken =
        theirs != ours && theirs != before && (ours == before || (wins == Theirs::Win && !theirs.is_empty()));
    taken.then(|| with_line(dest, theirs.clone()))
}

/// The same for everything that is within, of a destination that holds the [same values](same_values).
pub(in crate::merge) fn with_line_comments(
    dest: &Node,
    before: Option<&Node>,
    theirs: &Node,
    wins: Theirs,
) -> Option<Node> {
    throughout(dest, before, theirs, &mut |dest, before, theirs| {
        with_line_comment(dest, before, theirs, wins)
    })
}

/// Gives comments to everything that is within a destination, paired with a tree that holds the [same values](same_values) and,
/// where it does too, with the one before that; `None` if nothing changes.
pub(in crate::merge) fn throughout(
    dest: &Node,
    before: Option<&Node>,
    theirs: &Node,
    each: &mut impl FnMut(&Node, Option<&Node>, &Node) -> Option<Node>,
) -> Option<Node> {
    let mut node = each(dest, before, theirs);
    let same = before.filter(|before| same_values(before, theirs));
    let befores = match (same, before) {
        (Some(same), _) => same.items().iter().map(Some).collect(),
        (None, Some(before)) => equals(theirs.items(), before.items()),
        (None, None) => Vec::new(),
    };
    if let (Some(map), Some(theirs)) = (dest.as_map(), theirs.as_map()) {
        let before = same.and_then(Node::as_map).map(Map::entries);
        for (at, (ours, theirs)) in map.iter().zip(theirs.iter()).enumerate() {
            let before = before.map(|entries| &entries[at]);
            let value = throughout(&ours.value, before.map(|entry| &entry.value), &theirs.value, each);
            let key = each(&ours.key, before.map(|entry| &entry.key), &theirs.key);
            if key.is_none() && value.is_none() {
                continue;
            }
            let map = node.get_or_insert_with(|| dest.clone()).as_map_mut().expect("a map as before");
            key.into_iter().for_each(|key| *map.key_at_mut(at) = key);
            value.into_iter().for_each(|value| *map.value_at_mut(at) = value);
        }
    }
    for (at, (ours, theirs)) in dest.items().iter().zip(theirs.items()).enumerate() {
        if let Some(item) = throughout(ours, befores.get(at).copied().flatten(), theirs, each) {
            node.get_or_insert_with(|| dest.clone()).as_seq_mut().expect("a list as before")[at] = item;
        }
    }
    node
}

/// A list that takes the place of another, with the items of that one where they are equal: their comments spoke of what
/// is still there.
pub(in crate::merge) fn with_equal_items_of(mut list: Node, dest: &Node) -> Node {
    let equals = equals(list.items(), dest.items());
    if equals.iter().any(Option::is_some) {
        let items = list.as_seq_mut().expect("it has items");
        items
            .iter_mut()
            .zip(equals)
            .for_each(|(item, equal)| equal.into_iter().for_each(|e| *item = e.clone()));
    }
    list
}

/// For each item the first equal one among others that is not taken.
pub(in crate::merge) fn equals<'n>(items: &[Node], others: &'n [Node]) -> Vec<Option<&'n Node>> {
    let found = by_value(others, items).into_iter().map(|at| at.map(|at| &others[at]));
    found.zip(items).map(|(equal, item)| equal.filter(|equal| same_values(equal, item))).collect()
}

fn with_line(node: &Node, line: Text) -> Node {
    let mut node = node.clone();
    node.trivia_mut().line = line;
    node
}

/// The key of a field with the comment after its value: where that is if the value is a block. `None` if there is no such
/// comment.
pub(in crate::merge) fn key_with_line_comment(entry: &Entry) -> Option<Node> {
    let line = &entry.value.trivia().line;
    (!line.is_empty()).then(|| with_line(&entry.key, line.clone()))
}

/// The key without the comment after it; `None` if it has none.
pub(in crate::merge) fn without_line(key: &Node) -> Option<Node> {
    (!key.trivia().line.is_empty()).then(|| with_line(key, Text::new()))
}

/// Whether two trees hold the same values under the same comments.
pub(in crate::merge) fn same_throughout(a: &Node, b: &Node) -> bool {
    alike(a, b, &same)
}

/// Whether two trees hold the same values, whatever comments are around them.
pub(in crate::merge) fn same_values(a: &Node, b: &Node) -> bool {
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
        // In order: if only the order differs, the newer one is taken.
        let mut pairs = a.iter().zip(b.iter());
        return a.len() == b.len()
            && pairs.all(|(a, b)| alike(&a.key, &b.key, also) && alike(&a.value, &b.value, also));
    }
    match (a.as_seq(), b.as_seq()) {
        (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| alike(a, b, also)),
        _ => a.same(b),
    }
}
