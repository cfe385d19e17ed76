//! Fields and lists of a kustomization's tree, found as the build finds them, and changed as a careful person would.

use krm_yaml::{Map, Node, Style};

/// Where a field is. Its letters may be of either case; of equal ones the last counts, as in a build.
pub(crate) fn position(map: &Map, name: &str) -> Option<usize> {
    map.iter().rposition(|entry| entry.key.text().is_some_and(|key| key.eq_ignore_ascii_case(name)))
}

/// A field that has a value.
pub(crate) fn get<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    let map = node.as_map()?;
    Some(&map.entries()[position(map, name)?].value).filter(|value| !value.is_null())
}

pub(crate) fn get_mut<'n>(node: &'n mut Node, name: &str) -> Option<&'n mut Node> {
    let at = position(node.as_map()?, name)?;
    Some(node.as_map_mut()?.value_at_mut(at))
}

/// The text of a field; empty when there is none.
pub(crate) fn text<'n>(node: &'n Node, name: &str) -> &'n str {
    get(node, name).and_then(Node::text).unwrap_or_default()
}

/// The items of a list; none when there is no list.
pub(crate) fn items<'n>(node: &'n Node, name: &str) -> &'n [Node] {
    get(node, name).map_or(&[], Node::items)
}

pub(crate) fn set(node: &mut Node, name: &str, value: Node) {
    let Some(map) = node.make_map() else { return };
    match position(map, name) {
        Some(at) => map.value_at_mut(at).assign(value),
        None => map.push(Node::from(name), value),
    }
}

/// Sets a text, or removes the field if the text is empty: it then says nothing.
pub(crate) fn set_text(node: &mut Node, name: &str, value: &str) {
    match (value.is_empty(), get(node, name)) {
        (true, _) => drop(remove(node, name)),
        // Untouched, so that it stays the same to the last byte.
        (false, Some(there)) if there.as_str() == Some(value) => {}
        (false, _) => set(node, name, Node::from(value)),
    }
}

pub(crate) fn remove(node: &mut Node, name: &str) -> Option<Node> {
    let at = position(node.as_map()?, name)?;
    Some(node.as_map_mut()?.remove_at(at).value)
}

/// The list or map of a field, made from `empty` where there is none. `None` when something else is there.
pub(crate) fn make<'n>(node: &'n mut Node, name: &str, empty: Node) -> Option<&'n mut Node> {
    let map = node.make_map()?;
    let at = match position(map, name) {
        Some(at) => at,
        None => {
            map.push(Node::from(name), empty.clone());
            map.len() - 1
        }
    };
    let value = map.value_at_mut(at);
    if value.is_null() {
        value.assign(empty.clone());
    }
    (value.is_seq() == empty.is_seq() && value.is_map() == empty.is_map()).then_some(value)
}

/// Adds an item to the end of a list of a node.
pub(crate) fn push(node: &mut Node, name: &str, item: Node) {
    let end = items(node, name).len();
    insert(node, name, end, item);
}

/// Adds an item that has a `name` to a list. `kustomize edit` sorts such lists, so one that is sorted
/// stays so; any other is in an order somebody chose, and gets the item at its end.
pub(crate) fn push_by_name(node: &mut Node, name: &str, item: Node) {
    let list = items(node, name);
    let at = match list.is_sorted_by_key(|item| text(item, "name")) {
        true => list.partition_point(|other| text(other, "name") <= text(&item, "name")),
        false => list.len(),
    };
    insert(node, name, at, item);
}

/// Adds an item to a list of a node. It looks like its neighbours: quoted if they are, in braces if they are.
fn insert(node: &mut Node, name: &str, at: usize, mut item: Node) {
    let Some(list) = make(node, name, Node::seq()).and_then(Node::as_seq_mut) else { return };
    if let Some(neighbour) = list.last().filter(|last| last.is_scalar() == item.is_scalar()) {
        let style = neighbour.style();
        if matches!(style, Style::SingleQuoted | Style::DoubleQuoted | Style::Flow) {
            item.set_style(style);
        }
    }
    list.insert(at, item);
}

/// Keeps the items of a list that pass; a list that has none left goes, and its field with it. Gives those removed.
pub(crate) fn retain(node: &mut Node, name: &str, keep: impl Fn(&Node) -> bool) -> usize {
    let before = items(node, name).len();
    if items(node, name).iter().all(&keep) {
        return 0;
    }
    let Some(list) = get_mut(node, name).and_then(Node::as_seq_mut) else { return 0 };
    list.retain(keep);
    let left = list.len();
    if left == 0 {
        remove(node, name);
    }
    before - left
}
