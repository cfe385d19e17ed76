//! The merge keys, aliases and anchors through which a value comes to its field.

use krm_yaml::{Node, Span, Tag, embedded};

use super::labels::Labels;
use crate::pipeline::trace::{Cause, Event, EventKind, Segment, holds, path_in_patch, pointer};

/// What a value that is written in a file or in a patch came through, the outermost first.
pub(super) fn references(event: &Event, labels: &Labels) -> Vec<(&'static str, Span)> {
    // A step that left the resource as it was found it as the one before left it.
    let last = event.trace.touching(event.resource, event.index + 1).next_back();
    let change = last.and_then(|(_, step)| step.change(event.resource));
    let tree = change.and_then(|change| change.after.as_ref()).map(|seen| &seen.node);
    let mut found = match event.kind {
        EventKind::Written => {
            let resource = tree.map_or(Span::NONE, Node::span);
            let root = document(labels, resource, &|root| root.span() == resource);
            root.map_or_else(Vec::new, |root| on_the_way(&root, &root, &event.path))
        }
        EventKind::Set => {
            event.causes.iter().find_map(|cause| in_patch(cause, event, tree, labels)).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    found.retain(|(_, place)| *place != event.written);
    found
}

/// The same for the value that a patch has for a field.
fn in_patch(
    cause: &Cause,
    event: &Event,
    tree: Option<&Node>,
    labels: &Labels,
) -> Option<Vec<(&'static str, Span)>> {
    match cause {
        Cause::Merged { patch, aligned } => {
            let root = document(labels, patch.span(), &|root| root.span() == patch.span())?;
            Some(on_the_way(&root, &root, &path_in_patch(patch, aligned, tree?, &event.path)))
        }
        Cause::Patched { operation } => {
            let is_it = |op: &&Node| op.get("op").is_some_and(|name| name.span() == operation.span);
            let written = operation.value.as_ref()?.span();
            let root = document(labels, written, &|root| root.items().iter().any(|op| is_it(&op)))?;
            let value = root.items().iter().find(is_it)?.get("value")?;
            let depth = operation.path.matches('/').count();
            let rest = event.path.get(depth..).filter(|_| holds(&operation.path, &pointer(&event.path)))?;
            Some(on_the_way(&root, value, rest))
        }
        _ => None,
    }
}

/// The document around a place that is meant, of a file or of a text in it, if there may be references in it.
fn document(labels: &Labels, place: Span, is_it: &dyn Fn(&Node) -> bool) -> Option<Node> {
    let source = labels.sources.get(place.file)?;
    // Only the text of the resource is looked through: a file may have thousands of them.
    let text = source.slice(place);
    if !text.contains('*') && !text.contains("<<") {
        return None;
    }
    let documents = labels.documents(place.file);
    if let Some(root) = documents.iter().find(|root| is_it(root)) {
        return Some(root.clone());
    }
    let text = documents.iter().find_map(|root| text_around(root, place))?;
    let documents = embedded::parse_trimmed(text, Some(&source)).ok()?;
    documents.into_iter().find(|root| is_it(root))
}

/// The scalar that holds a place.
fn text_around(node: &Node, place: Span) -> Option<&Node> {
    if node.is_scalar() {
        return node.span().holds(place).then_some(node);
    }
    let values = node.as_map().into_iter().flatten().map(|entry| &entry.value);
    values.chain(node.items()).find_map(|node| text_around(node, place))
}

/// What the values on the way to a field came through.
fn on_the_way(root: &Node, from: &Node, path: &[Segment]) -> Vec<(&'static str, Span)> {
    let mut found = Vec::new();
    let mut node = from;
    let add = |node: &Node, found: &mut Vec<(&'static str, Span)>| {
        if let Some(name) = &node.trivia().alias {
            found.push(("alias", node.span()));
            found.extend(anchor(root, name, node.span()).map(|span| ("anchor", span)));
        }
    };
    if !std::ptr::eq(root, from) {
        add(node, &mut found);
    }
    for segment in path {
        let below = match segment {
            Segment::Key(key) => field(node, key, &mut found),
            Segment::Index(index) => node.items().get(*index),
        };
        let Some(below) = below else { break };
        node = below;
        add(node, &mut found);
    }
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
