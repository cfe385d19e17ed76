//! `<<: *defaults`: merge keys, written out.

use std::sync::Arc;

use crate::diag::{Diagnostic, Result};
use crate::document::Document;
use crate::map::{Entry, Map};
use crate::node::{Node, Tag, Trivia, Value};

impl Document {
    /// Replaces merge keys by the fields they merge in, and makes every alias a value of its own: from here on, nothing
    /// in the tree refers to anchors. Costs nothing if the document has none.
    ///
    /// ```
    /// let text = "base: &base {a: 1, b: 2}\nmore: {<<: *base, b: 3}\n";
    /// for mut document in krm_yaml::parse_str(text)? {
    ///     document.resolve_references()?;
    ///     let more = document.root.get("more").map(krm_yaml::json::compact);
    ///     assert_eq!(more.as_deref(), Some(r#"{"a":1,"b":3}"#));
    /// }
    /// # Ok::<(), krm_yaml::Diagnostic>(())
    /// ```
    pub fn resolve_references(&mut self) -> Result<()> {
        if self.has_references() { resolve(&mut self.root) } else { Ok(()) }
    }
}

/// Does for a tree what [`Document::resolve_references`] does for a document.
///
/// A map keeps its own fields, in their order and with their values; those merged in follow. Of several maps to merge,
/// an earlier one wins over a later; what they merge themselves comes last of all.
pub fn resolve(node: &mut Node) -> Result<()> {
    if let Some(resolved) = resolved(node)? {
        *node = resolved;
    }
    Ok(())
}

/// The node without references; `None` if it has none, so that what needs no change stays shared.
fn resolved(node: &Node) -> Result<Option<Node>> {
    let value = match node.value() {
        Value::Scalar(_) => None,
        Value::Seq(items) => {
            let mut changed: Option<Vec<Node>> = None;
            for (at, item) in items.iter().enumerate() {
                if let Some(item) = resolved(item)? {
                    changed.get_or_insert_with(|| items.to_vec())[at] = item;
                }
            }
            changed.map(|items| Value::Seq(Arc::new(items)))
        }
        Value::Map(map) => resolved_map(map)?.map(|map| Value::Map(Arc::new(map))),
    };
    let trivia = node.trivia();
    if value.is_none() && trivia.anchor.is_none() && trivia.alias.is_none() {
        return Ok(None);
    }
    let mut node = node.clone();
    if let Some(value) = value {
        *node.value_mut() = value;
    }
    let trivia = node.trivia_mut();
    (trivia.anchor, trivia.alias) = (None, None);
    if *trivia == Trivia::default() {
        node.clear_trivia();
    }
    Ok(Some(node))
}

fn resolved_map(map: &Map) -> Result<Option<Map>> {
    let merge = map.iter().find(|entry| entry.key.tag() == Tag::Merge);
    let mut changed: Option<Vec<Entry>> = None;
    for (at, entry) in map.iter().enumerate().filter(|(_, entry)| entry.key.tag() != Tag::Merge) {
        if let Some(entry) = resolved_entry(entry)? {
            changed.get_or_insert_with(|| map.entries().to_vec())[at] = entry;
        }
    }
    let Some(merge) = merge else { return Ok(changed.map(Map::from_entries)) };
    let mut merged = Map::from_entries(changed.unwrap_or_else(|| map.entries().to_vec()));
    merged.retain(|entry| entry.key.tag() != Tag::Merge);
    let own = merged.len();
    let sources = sources(&merge.value)?;
    // Sources are taken from the last to the first, each overwriting the fields of those before it, but none of the
    // map's own.
    for source in sources.iter().rev() {
        for field in source.iter().filter(|field| field.key.tag() != Tag::Merge) {
            let field = resolved_entry(field)?.unwrap_or_else(|| field.clone());
            match position(&merged, &field.key) {
                Some(at) if at < own => {}
                Some(at) => (*merged.key_at_mut(at), *merged.value_at_mut(at)) = (field.key, field.value),
                None => merged.push(field.key, field.value),
            }
        }
    }
    // quirk(nested-merge-keys-count-once): If what a `<<` names has a `<<` of its own, that is followed after all else
    // has its place. Of several, only that of the first is. (kyaml `mergeAll`)
    let mut fields = sources.iter().copied().flatten();
    if let Some(nested) = fields.find(|field| field.key.tag() == Tag::Merge) {
        let nested = resolved_map(&Map::from_entries(vec![nested.clone()]))?;
        for field in nested.into_iter().flat_map(Map::into_entries) {
            if position(&merged, &field.key).is_none() {
                merged.push(field.key, field.value);
            }
        }
    }
    Ok(Some(merged))
}

fn resolved_entry(entry: &Entry) -> Result<Option<Entry>> {
    Ok(match (resolved(&entry.key)?, resolved(&entry.value)?) {
        (None, None) => None,
        (key, value) => Some(Entry {
            key: key.unwrap_or_else(|| entry.key.clone()),
            value: value.unwrap_or_else(|| entry.value.clone()),
        }),
    })
}

fn position(map: &Map, key: &Node) -> Option<usize> {
    match key.text() {
        Some(text) => map.position(text),
        None => map.iter().position(|entry| entry.key == *key),
    }
}

/// The maps a merge key names.
fn sources(value: &Node) -> Result<Vec<&Map>> {
    let fault = |node: &Node| {
        Diagnostic::error("yaml-merge-value", format!("expected a map to merge, not {}", node.kind_name()))
            .at(node.span())
            .help("`<<` takes a map, an alias of one, or a list of them; put the key in quotes to mean the text")
    };
    match value.value() {
        Value::Map(map) => Ok(vec![map]),
        Value::Seq(items) if value.trivia().alias.is_none() => {
            items.iter().map(|item| item.as_map().ok_or_else(|| fault(item))).collect()
        }
        _ => Err(fault(value)),
    }
}

#[cfg(test)]
mod tests {
    use crate::parse::parse_str;

    fn resolved(text: &str) -> Result<String, String> {
        let mut document = parse_str(text).expect("the text is fine").remove(0);
        document.resolve_references().map_err(|e| format!("{} at {}", e.code(), e.place().start))?;
        let keys: Vec<&str> = document
            .root
            .get("x")
            .and_then(|x| x.as_map())
            .map_or(Vec::new(), |map| map.iter().filter_map(|e| e.key.text()).collect());
        Ok(format!(
            "{} {}",
            keys.join(","),
            crate::json::compact(document.root.get("x").expect("it has an x"))
        ))
    }

    #[test]
    fn merged_fields_come_after_own_ones() {
        for (text, expected) in [
            ("b: &b {p: 1, q: 2}\nx: {<<: *b, r: 3}", r#"r,p,q {"p":1,"q":2,"r":3}"#),
            ("b: &b {p: 1, q: 2}\nx: {q: 3, <<: *b}", r#"q,p {"p":1,"q":3}"#),
            ("a: &a {p: 1, q: 1}\nb: &b {q: 2, r: 2}\nx: {<<: [*a, *b]}", r#"q,r,p {"p":1,"q":1,"r":2}"#),
            ("x: {<<: {p: 1}, q: 2}", r#"q,p {"p":1,"q":2}"#),
            ("a: &a {p: 1}\nb: &b {<<: *a, q: 2}\nx: {<<: *b}", r#"q,p {"p":1,"q":2}"#),
            ("b: &b {p: {s: &s t}}\nx: {<<: *b, u: *s}", r#"u,p {"p":{"s":"t"},"u":"t"}"#),
            // What a source merges itself comes last, and only that of the first.
            ("a: &a {p: 1, q: 1}\nb: &b {<<: *a, q: 2}\nx: {<<: [*b, {p: 3}]}", r#"p,q {"p":3,"q":2}"#),
            (
                "a: &a {p: 1}\nb: &b {q: 1}\nc: &c {<<: *a, r: 1}\nd: &d {<<: *b, s: 1}\nx: {<<: [*c, *d]}",
                r#"s,r,p {"p":1,"r":1,"s":1}"#,
            ),
            ("x: {\"<<\": 1}", r#"<< {"\u003c\u003c":1}"#),
        ] {
            assert_eq!(resolved(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn only_maps_can_be_merged() {
        for (text, expected) in [
            ("x: {<<: 1}", "yaml-merge-value at 8"),
            ("x: {<<: [1]}", "yaml-merge-value at 9"),
            ("x: {<<: [[{a: 1}]]}", "yaml-merge-value at 9"),
            ("l: &l [{a: 1}]\nx: {<<: *l}", "yaml-merge-value at 23"),
        ] {
            assert_eq!(resolved(text).unwrap_err(), expected, "{text}");
        }
    }

    #[test]
    fn what_needs_no_change_stays_shared() {
        let mut document = parse_str("a: &a 1\nb: *a\nc: {d: [e]}\n").unwrap().remove(0);
        document.resolve_references().unwrap();
        assert!(document.root.get("c").unwrap().same(document.original().get("c").unwrap()));
        assert!(document.root.get("b").unwrap().trivia().alias.is_none());
        assert!(document.original().get("b").unwrap().trivia().alias.is_some());
    }
}
