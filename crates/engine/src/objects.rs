//! From documents to resources: lists taken apart, anchors resolved, and what is no resource refused.

use std::collections::VecDeque;
use std::sync::Arc;

use krm_yaml::{Diagnostic, Document, Entry, Map, Node, Result, Source, Tag};
use rustc_hash::FxHashSet;

use crate::memory;
use crate::resource::Resource;
use crate::schema::Schema;

/// Reads the resources of a source.
pub fn read(source: &Arc<Source>, schema: &Schema) -> Result<Vec<Resource>> {
    match krm_yaml::parse(source) {
        Ok(documents) => resources(documents, schema),
        // Annotations may be written twice: the reference reads the last, and goes on.
        Err(error) if error.code() == "yaml-duplicate-key" => {
            let documents = krm_yaml::parse_keeping_twins(source)?;
            match documents.iter().all(|document| only_annotations_twice(&document.root, true)) {
                true => resources(documents, schema),
                false => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// Makes resources of documents.
pub fn resources(documents: Vec<Document>, schema: &Schema) -> Result<Vec<Resource>> {
    // Looking at the text once is cheaper than looking at every key.
    let may_merge = documents.first().is_some_and(|document| document.source().text().contains("<<"));
    // Dropping the rest of a document makes the tree our own, so that edits need not copy it.
    let roots = documents.into_iter().map(|document| document.root).collect();
    of_trees(roots, may_merge, schema)
}

/// Makes resources of the trees of a source, whose text has a `<<` somewhere, or has none.
pub fn of_trees(documents: Vec<Node>, may_merge: bool, schema: &Schema) -> Result<Vec<Resource>> {
    let only_one = documents.iter().filter(|root| !root.is_null()).count() == 1;
    let mut roots = VecDeque::with_capacity(documents.len());
    for mut root in documents {
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
            None => {
                let mut resource = Resource::new(root, schema);
                memory::recall(&mut resource, schema)?;
                result.push(resource);
            }
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

/// Refuses what has no kind or name.
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
    Ok(())
}

/// Whether all keys written twice are annotations.
fn only_annotations_twice(node: &Node, is_root: bool) -> bool {
    let fine = |entry: &Entry| match is_root && entry.key.text() == Some("metadata") {
        true => entry.value.as_map().is_some_and(|meta| {
            is_distinct(meta)
                && meta
                    .iter()
                    .all(|e| e.key.text() == Some("annotations") || only_annotations_twice(&e.value, false))
        }),
        false => only_annotations_twice(&entry.value, false),
    };
    node.as_map().is_none_or(|map| is_distinct(map) && map.iter().all(fine))
        && node.items().iter().all(|item| only_annotations_twice(item, false))
}

fn is_distinct(map: &Map) -> bool {
    let mut seen = FxHashSet::default();
    map.iter().all(|entry| entry.key.text().is_none_or(|key| seen.insert(key)))
}

/// Puts the entries of what `<<` names where it stands. A map's own entries win over them, and an earlier one of several
/// over a later. What the named ones themselves merge comes last of all, and only that of the first that does: the
/// reference looks at it when everything else has its place.
pub fn expand_merges(node: &mut Node) -> Result<()> {
    if let Some(at) = node.as_map().and_then(|map| map.iter().position(|e| e.key.tag() == Tag::Merge)) {
        let map = node.as_map_mut().expect("just seen to be a map");
        let merge = map.remove_at(at);
        let sources = merge_sources(&merge.value)?;
        let entries = || sources.iter().filter_map(Node::as_map).flatten();
        entries().filter(|e| e.key.tag() != Tag::Merge).for_each(|e| add_missing(map, e));
        if let Some(nested) = entries().find(|e| e.key.tag() == Tag::Merge) {
            let mut nested = Node::from(Map::from_entries(vec![nested.clone()]));
            expand_merges(&mut nested)?;
            nested.as_map().into_iter().flatten().for_each(|e| add_missing(map, e));
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

fn add_missing(map: &mut Map, Entry { key, value }: &Entry) {
    if key.text().is_none_or(|text| !map.contains(text)) {
        map.push(key.clone(), value.clone());
    }
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
