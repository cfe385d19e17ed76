//! Maps of strings, such as labels, annotations and data: whatever was written is taken as text. See
//! quirk(annotations-become-strings).

use krm_yaml::{Entry, Map, Node, Style, Tag, Text, Value};

/// The map under a key with every value made a string and keys sorted; the last of equal keys wins. Collections have no
/// text, and become empty strings. `None` if there is no entry at all.
pub(crate) fn string_map(parent: &Node, key: &str) -> Option<Map> {
    let mut entries: Vec<Entry> = parent.get(key)?.as_map()?.iter().map(as_strings).collect();
    entries.sort_by(|a, b| a.key.text().cmp(&b.key.text()));
    // Stable sorting keeps equal keys in their order.
    let mut unique: Vec<Entry> = Vec::with_capacity(entries.len());
    for entry in entries {
        match unique.last_mut() {
            Some(last) if last.key.text() == entry.key.text() => *last = entry,
            _ => unique.push(entry),
        }
    }
    (!unique.is_empty()).then(|| Map::from_entries(unique))
}

/// The same for a map of data.
// quirk(null-data-is-empty-text): A null in `data` counts as an empty text once a generator merges with it. (kyaml
// `RNode.GetDataMap`)
pub(crate) fn data_map(parent: &Node, key: &str) -> Option<Map> {
    let nulls: Vec<Text> = parent
        .get(key)?
        .as_map()?
        .iter()
        .filter(|entry| entry.value.is_null())
        .filter_map(|entry| entry.key.text().map(Text::from))
        .collect();
    let mut map = string_map(parent, key)?;
    nulls.iter().for_each(|key| map.set(key, Node::from("")));
    Some(map)
}

/// Whether all values of the map under a key are strings, as are those of no map.
pub(crate) fn are_strings(parent: &Node, key: &str) -> bool {
    let map = parent.get(key).and_then(Node::as_map);
    map.is_none_or(|map| map.iter().all(|entry| entry.value.tag() == Tag::Str))
}

fn as_strings(entry: &Entry) -> Entry {
    Entry { key: as_string(&entry.key), value: as_string(&entry.value) }
}

fn as_string(node: &Node) -> Node {
    match node.value() {
        // Texts that are set again are no longer folded, which would show in the canonical form.
        Value::Scalar(_) if node.tag() == Tag::Str && node.style() != Style::Folded => node.clone(),
        Value::Scalar(text) => Node::string(text.clone()).with_span(node.span()),
        _ => Node::string("").with_span(node.span()),
    }
}

/// Puts a map under a key, or removes the key if there is none.
pub(crate) fn set_strings(parent: &mut Node, key: &str, map: Option<Map>) {
    match map {
        Some(map) => parent.set(key, Node::from(map)),
        None => {
            parent.remove(key);
        }
    }
}

/// All entries of both; those of `over` win.
pub(crate) fn merged(under: Option<Map>, over: Option<Map>) -> Option<Map> {
    let (mut map, over) = match (under, over) {
        (Some(under), Some(over)) => (under, over),
        (under, over) => return under.or(over),
    };
    for Entry { key, value } in over.into_entries() {
        match key.text().and_then(|text| map.position(text)) {
            Some(at) => *map.value_at_mut(at) = value,
            None => map.push(key, value),
        }
    }
    map.entries_mut().sort_by(|a, b| a.key.text().cmp(&b.key.text()));
    Some(map)
}
