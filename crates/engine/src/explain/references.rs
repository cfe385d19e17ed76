//! The merge keys, aliases and anchors through which a value comes to its field.

use krm_yaml::{Node, Span, Tag};

use super::labels::Labels;
use crate::pipeline::trace::{Event, EventKind, Segment};

/// What a value that is written in a file came through, the outermost first.
pub(super) fn references(event: &Event, labels: &Labels) -> Vec<(&'static str, Span)> {
    let change = event.step.change(event.resource);
    let resource =
        change.and_then(|change| change.after.as_ref()).map_or(Span::NONE, |seen| seen.node.span());
    // Only the text of the resource is looked through: a file may have thousands of them.
    let has_alias = || labels.sources.get(resource.file).is_some_and(|s| s.slice(resource).contains('*'));
    if event.kind != EventKind::Written || !has_alias() {
        return Vec::new();
    }
    let documents = labels.documents(resource.file);
    let Some(root) = documents.iter().find(|root| root.span() == resource) else { return Vec::new() };
    let mut found = Vec::new();
    let mut node = root;
    for segment in &event.path {
        let below = match segment {
            Segment::Key(key) => field(node, key, &mut found),
            Segment::Index(index) => node.items().get(*index),
        };
        let Some(below) = below else { break };
        node = below;
        if let Some(name) = &node.trivia().alias {
            found.push(("alias", node.span()));
            found.extend(anchor(root, name, node.span()).map(|span| ("anchor", span)));
        }
    }
    found.retain(|(_, place)| *place != event.written);
    found
}

/// A field of a map: one that it has itself, or one that it merges in.
fn field<'n>(map: &'n Node, key: &str, found: &mut Vec<(&'static str, Span)>) -> Option<&'n Node> {
    let map = map.as_map()?;
    let is_merge = |node: &Node| node.tag() == Tag::Merge;
    if let Some(own) = map.iter().find(|entry| !is_merge(&entry.key) && entry.key.text() == Some(key)) {
        return Some(&own.value);
    }
    let merge = map.iter().find(|entry| is_merge(&entry.key))?;
    let known = found.len();
    found.push(("merge key", merge.key.span()));
    let sources = if merge.value.is_seq() { merge.value.items() } else { std::slice::from_ref(&merge.value) };
    let value = sources.iter().find_map(|source| field(source, key, found));
    if value.is_none() {
        found.truncate(known);
    }
    value
}

/// What an alias stands for: the last node before it that has the anchor.
fn anchor(node: &Node, name: &str, alias: Span) -> Option<Span> {
    let is_it = node.trivia().anchor.as_deref() == Some(name) && node.span().start < alias.start;
    let values = node.as_map().into_iter().flatten().map(|entry| &entry.value);
    let below = values.chain(node.items()).filter(|node| node.trivia().alias.is_none());
    let below = below.filter_map(|node| anchor(node, name, alias)).max_by_key(|span| span.start);
    below.or_else(|| is_it.then(|| node.span()))
}
