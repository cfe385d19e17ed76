//! From documents to resources: lists taken apart, anchors resolved, and what is no resource refused.

use std::collections::VecDeque;

use krm_yaml::{Diagnostic, Document, Entry, Map, Node, Result, Tag};
use rustc_hash::FxHashSet;

use crate::resource::Resource;
use crate::schema::Schema;

/// Makes resources of the documents of a source.
pub fn resources(documents: Vec<Document>, schema: &Schema) -> Result<Vec<Resource>> {
    let Some(source) = documents.first().map(|document| document.source().clone()) else {
        return Ok(Vec::new());
    };
    // Looking at the text once is cheaper than looking at every key.
    let may_merge = source.text().contains("<<");
    let only_one = documents.iter().filter(|d| !d.root.is_null()).count() == 1;
    let mut roots = VecDeque::new();
    for document in documents {
        // Dropping the rest of the document makes the tree our own, so that edits need not copy it.
        let mut root = document.root;
        if may_merge {
            expand_merges(&mut root)?;
        }
        match only_one && is_wrapper(&root) {
            true => roots.extend(root.get("items").map(Node::items).unwrap_or_default().iter().cloned()),
            false => roots.push_back(root),
        }
    }
    let mut result = Vec::with_capacity(roots.len());
    while let Some(root) = roots.pop_front() {
        if root.is_empty() {
            continue;
        }
        check(&root)?;
        let kind = root.get("kind").and_then(Node::text).unwrap_or_default();
        match root.get("items").filter(|_| kind.ends_with("List")) {
            None => result.push(Resource::new(root, schema)),
            Some(items) if items.is_null() => {}
            // Items of lists come behind all other documents of a file, as in the reference.
            Some(items) if items.is_seq() => roots.extend(items.items().iter().cloned()),
            Some(items) => {
                let message = format!("`items` of {kind} must be a list, not {}", items.kind_name());
                return Err(Diagnostic::error("list-items-not-a-list", message).at(items.span()));
            }
        }
    }
    Ok(result)
}

/// The two kinds the reference takes apart while reading, where they are all a file holds.
fn is_wrapper(root: &Node) -> bool {
    matches!(root.get("kind").and_then(Node::text), Some("List" | "ResourceList"))
        && (root.get("items").is_some() || root.get("functionConfig").is_some())
}

/// Refuses what has no kind or name, and keys written twice.
fn check(root: &Node) -> Result<()> {
    let text =
        |node: Option<&Node>| node.filter(|n| !n.is_null()).and_then(Node::text).unwrap_or_default().len();
    if root.as_map().is_none() {
        let message = format!("a resource must be a map, not {}", root.kind_name());
        return Err(Diagnostic::error("not-a-resource", message).at(root.span()));
    }
    let kind = root.get("kind");
    if text(kind) == 0 {
        return Err(Diagnostic::error("resource-no-kind", "this object has no `kind`").at(root.span()).help(
            "only Kubernetes objects can be resources: they have `apiVersion`, `kind` and `metadata.name`",
        ));
    }
    let is_list = kind.and_then(Node::text).is_some_and(|kind| kind.ends_with("List"));
    if !is_list && text(root.at(["metadata", "name"])) == 0 {
        let kind = kind.and_then(Node::text).unwrap_or_default();
        return Err(Diagnostic::error("resource-no-name", format!("this {kind} has no `metadata.name`"))
            .at(root.span()));
    }
    refuse_duplicates(root, true)
}

/// Refuses keys written twice in one map. Annotations are spared: the reference reads the last, and goes on.
fn refuse_duplicates(node: &Node, is_root: bool) -> Result<()> {
    if let Some(map) = node.as_map() {
        refuse_duplicate_keys(map)?;
        for entry in map {
            match is_root && entry.key.text() == Some("metadata") {
                true => {
                    let inside = entry.value.as_map().into_iter().flatten();
                    inside
                        .filter(|e| e.key.text() != Some("annotations"))
                        .try_for_each(|e| refuse_duplicates(&e.value, false))?;
                }
                false => refuse_duplicates(&entry.value, false)?,
            }
        }
    }
    node.items().iter().try_for_each(|item| refuse_duplicates(item, false))
}

fn refuse_duplicate_keys(map: &Map) -> Result<()> {
    let entries = map.entries();
    let duplicate = match entries.len() {
        0 | 1 => None,
        // A few keys are compared faster than hashed.
        2..16 => (1..entries.len())
            .find(|at| entries[..*at].iter().any(|e| e.key.text() == entries[*at].key.text())),
        _ => {
            let mut seen = FxHashSet::default();
            entries.iter().position(|e| !seen.insert(e.key.text()))
        }
    };
    let Some(at) = duplicate else { return Ok(()) };
    let key = &entries[at].key;
    let first = entries.iter().find(|e| e.key.text() == key.text()).expect("the key was seen before");
    let message = format!("the key `{}` is written twice", key.text().unwrap_or_default());
    Err(Diagnostic::error("duplicate-key", message)
        .at(key.span())
        .note("first written here", first.key.span()))
}

/// Puts the entries of what `<<` names where it stands; a map's own entries win over them.
pub fn expand_merges(node: &mut Node) -> Result<()> {
    if let Some(at) = node.as_map().and_then(|map| map.iter().position(|e| e.key.tag() == Tag::Merge)) {
        let map = node.as_map_mut().expect("just seen to be a map");
        let merge = map.remove_at(at);
        if let Some(second) = map.iter().find(|e| e.key.tag() == Tag::Merge) {
            return Err(Diagnostic::error("merge-key-twice", "`<<` is written twice in one map")
                .at(second.key.span())
                .note("first written here", merge.key.span())
                .help("write one `<<` with a list: `<<: [*a, *b]`"));
        }
        // The first of several that has a key wins: later ones only add.
        for source in merge_sources(&merge.value)? {
            // What stands behind an anchor may itself merge.
            let mut source = source.clone();
            expand_merges(&mut source)?;
            for Entry { key, value } in source.as_map().into_iter().flatten() {
                if key.text().is_none_or(|text| !map.contains(text)) {
                    map.push(key.clone(), value.clone());
                }
            }
        }
    }
    // Copies nothing where nothing is to be done.
    if let Some(map) = node.as_map().filter(|map| map.iter().any(|e| has_merge(&e.value))) {
        let concerned: Vec<usize> =
            (0..map.len()).filter(|at| has_merge(&map.entries()[*at].value)).collect();
        let map = node.as_map_mut().expect("just seen to be a map");
        concerned.into_iter().try_for_each(|at| expand_merges(map.value_at_mut(at)))?;
    } else if node.items().iter().any(has_merge) {
        node.as_seq_mut().into_iter().flatten().try_for_each(expand_merges)?;
    }
    Ok(())
}

fn has_merge(node: &Node) -> bool {
    match node.as_map() {
        Some(map) => map.iter().any(|e| e.key.tag() == Tag::Merge || has_merge(&e.value)),
        None => node.items().iter().any(has_merge),
    }
}

fn merge_sources(value: &Node) -> Result<&[Node]> {
    let is_alias = value.trivia().alias.is_some();
    let sources = match value.is_map() {
        true => std::slice::from_ref(value),
        false => value.items(),
    };
    if sources.iter().all(Node::is_map) && (value.is_map() || (value.is_seq() && !is_alias)) {
        return Ok(sources);
    }
    let message = format!("`<<` takes a map or a list of maps, not {}", value.kind_name());
    Err(Diagnostic::error("merge-key-value", message).at(value.span()))
}
