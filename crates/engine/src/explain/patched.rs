//! What in a patch is to blame: where it names a field, what removes it, and what moves the element that holds it.

use krm_yaml::{Node, Span, Text};

use super::find::{in_patch, key_of};
use crate::merge::Alignment;
use crate::pipeline::trace::{Applied, Cause, Event, Segment, at, holds, nodes_in_patch, pointer};
use crate::schema::Type;

/// What removed a field, or the resource it was in.
pub(super) struct Removal {
    pub place: Span,
    /// In words: `op: remove`.
    pub how: String,
}

/// The line of a patch that removed a field.
pub(super) fn removed_by(event: &Event) -> Option<Removal> {
    let change = event.step.change(event.resource)?;
    // Only what was there can go.
    let tree = event.after.is_none().then_some(&change.before.as_ref()?.node)?;
    if let Some(operation) = remover(&operations(&event.causes), &event.path) {
        return Some(Removal { place: operation.span, how: format!("op: {}", operation.name) });
    }
    event.causes.iter().find_map(|cause| match cause {
        Cause::Merged { patch, aligned } => removed_in(patch, aligned, tree, &event.path),
        _ => None,
    })
}

/// Where a patch names a map or a list that it changes.
pub(super) fn merged_at(event: &Event) -> Option<Span> {
    let change = event.step.change(event.resource)?;
    let tree = &change.after.as_ref()?.node;
    let field = pointer(&event.path);
    let touches = |operation: &&Applied| holds(&operation.path, &field) || holds(&field, &operation.path);
    if let Some(operation) = operations(&event.causes).into_iter().rfind(touches) {
        return Some(operation.span);
    }
    event.causes.iter().find_map(|cause| match cause {
        Cause::Merged { patch, aligned } => {
            let nodes = nodes_in_patch(patch, aligned, tree, &event.path);
            match (&nodes[..], event.path.last()?) {
                (all, _) if all.len() <= event.path.len() => None,
                ([.., above, _], Segment::Key(key)) => key_in(above, key),
                ([.., element], Segment::Index(_)) => Some(element.span()),
                _ => None,
            }
        }
        _ => None,
    })
}

/// The operations of JSON patches among some causes.
fn operations<'t>(causes: &[&'t Cause]) -> Vec<&'t Applied> {
    let operation = |cause: &&'t Cause| match cause {
        Cause::Patched { operation } => Some(operation),
        _ => None,
    };
    causes.iter().filter_map(operation).collect()
}

fn key_in(map: &Node, key: &str) -> Option<Span> {
    map.as_map()?.iter().find(|entry| entry.key.text() == Some(key)).map(|entry| entry.key.span())
}

/// The operation of a JSON patch that removed a field.
fn remover<'o>(operations: &[&'o Applied], path: &[Segment]) -> Option<&'o Applied> {
    let mut path = path.to_vec();
    for operation in operations {
        let gone = match &*operation.name {
            "remove" => Some(&operation.path),
            "move" => operation.from.as_ref(),
            _ => None,
        };
        if gone.is_some_and(|gone| holds(gone, &pointer(&path))) {
            return Some(operation);
        }
        for depth in 0..path.len() {
            let Segment::Index(position) = path[depth] else { continue };
            if let Some(now) = shifted(operation, &path[..depth], position) {
                path[depth] = Segment::Index(now);
            }
        }
    }
    // One that put something else there.
    operations.iter().rfind(|operation| holds(&operation.path, &pointer(&path))).copied()
}

/// Where an element of a list is after an operation; `None` if the operation removes it.
fn shifted(operation: &Applied, list: &[Segment], position: usize) -> Option<usize> {
    let place = |path: &str| {
        let (_, last) = path.rsplit_once('/').filter(|(above, _)| *above == pointer(list))?;
        last.parse::<usize>().ok()
    };
    let without = |path: &str| match place(path) {
        Some(at) if at == position => None,
        Some(at) if at < position => Some(position - 1),
        _ => Some(position),
    };
    let with = |position: usize| match place(&operation.path) {
        Some(at) if at <= position => position + 1,
        _ => position,
    };
    match (&*operation.name, &operation.from) {
        ("add" | "copy", _) => Some(with(position)),
        ("remove", _) => without(&operation.path),
        ("move", Some(from)) => without(from).map(with),
        _ => Some(position),
    }
}

/// What in a strategic merge patch removed a field: a directive, a null, or a value in place of everything that was there.
fn removed_in(patch: &Node, aligned: &Alignment, tree: &Node, path: &[Segment]) -> Option<Removal> {
    let nodes = nodes_in_patch(patch, aligned, tree, path);
    let directive = |node: &&Node| {
        let of = |node: &Node| {
            let what = node.get("$patch")?.text().filter(|what| matches!(*what, "delete" | "replace"))?;
            Some(Removal { place: key_in(node, "$patch")?, how: format!("`$patch: {what}`") })
        };
        // One for a whole list is an element that holds nothing else.
        let is_alone = |item: &&Node| item.as_map().is_some_and(|map| map.len() == 1);
        of(node).or_else(|| node.items().iter().filter(is_alone).find_map(of))
    };
    if let Some(removal) = nodes.iter().rev().find_map(directive) {
        return Some(removal);
    }
    let last = nodes.last()?;
    if let Some(place) = key_in(last, "$retainKeys") {
        return Some(Removal { place, how: "`$retainKeys`".to_owned() });
    }
    let [.., above, _] = &nodes[..] else { return None };
    // A map leaves everything else in place.
    match &path[nodes.len() - 2] {
        Segment::Key(key) if !last.is_map() => {
            // A null takes the field away; anything else that is not a map takes the place of all that was there.
            let how = if last.is_null() { format!("`{key}: null`") } else { format!("`{key}` replaced") };
            key_in(above, key).map(|place| Removal { place, how })
        }
        _ => None,
    }
}

/// What made an element of a list move: a patch that names it, or one that puts another in front of it or removes one.
pub(super) fn why_moved(event: &Event, list: &[Segment], was: usize, now: usize) -> (Span, String) {
    let change = event.step.change(event.resource);
    let trees = change.and_then(|change| change.before.as_ref().zip(change.after.as_ref()));
    let lists = trees.and_then(|(before, after)| {
        let way = event.trace.path_before(before, after, list)?;
        Some((at(&before.node, &way)?, at(&after.node, list)?))
    });
    let of = change.and_then(|change| change.after.as_ref()).and_then(|after| {
        list.iter().try_fold(event.trace.type_of(&after.id)?, |of, segment| match segment {
            Segment::Key(key) => of.field(key),
            Segment::Index(_) => of.items(),
        })
    });
    let causes: Vec<&Cause> = event.step.causes(event.resource, event.written).collect();
    for cause in &causes {
        let (Cause::Merged { patch, .. }, Some((before, after))) = (cause, lists) else { continue };
        let items: Vec<&Node> = in_patch(patch, list).into_iter().flat_map(Node::items).collect();
        let name = |index: usize| key_of(after, after.items().get(index)?, of);
        let declared = of.and_then(Type::merge_keys).unwrap_or_default();
        // A patch names an element by the keys of its type, or by what people know it by.
        let in_patch = |index: usize| {
            let element = after.items().get(index)?;
            let known = name(index).map(|(key, _)| key);
            let keys: Vec<&str> = declared.iter().map(|key| &**key).chain(known).collect();
            let says_same = |item: &&&Node, key: &&str| {
                let text = item.get(key).and_then(Node::text);
                text.is_some() && text == element.get(key).and_then(Node::text)
            };
            items.iter().find(|item| keys.iter().any(|key| says_same(item, key))).copied()
        };
        let places = event.trace.places_before(before.items(), after.items(), of);
        if now < was
            && let Some((item, (_, own))) = in_patch(now).zip(name(now))
        {
            return (item.span(), format!("names `{own}`, which puts it in front"));
        }
        // Those in front of it that were after it, or were not there.
        let is_new = |index: &usize| places[*index].is_none_or(|at| at > was);
        let new: Vec<usize> = (0..now).filter(is_new).collect();
        let names: Vec<String> =
            new.iter().filter_map(|index| name(*index)).map(|(_, name)| format!("`{name}`")).collect();
        if let (Some(first), false) = (new.iter().find_map(|index| in_patch(*index)), names.is_empty()) {
            return (first.span(), format!("puts {} in front", names.join(", ")));
        }
        // Those in front of it that are gone.
        let is_gone = |index: &usize| !places.contains(&Some(*index));
        let gone: Vec<usize> = (0..was).filter(is_gone).collect();
        let names: Vec<(&str, Text)> =
            gone.iter().filter_map(|index| key_of(before, before.items().get(*index)?, of)).collect();
        let by = |(key, name): &(&str, Text)| {
            items.iter().find(|item| item.get(key).and_then(Node::text) == Some(name))
        };
        if let (Some(first), true) = (names.iter().find_map(by), now + gone.len() == was) {
            let names: Vec<String> = names.iter().map(|(_, name)| format!("`{name}`")).collect();
            return (first.span(), format!("removes {}, which was in front", names.join(", ")));
        }
    }
    let operations = operations(&causes);
    let mut position = was;
    let mut by = None;
    for operation in &operations {
        let next = shifted(operation, list, position);
        if next != Some(position) {
            by = Some(operation);
        }
        position = next.unwrap_or(position);
    }
    let list = pointer(list);
    let within =
        |operation: &&&Applied| operation.path.strip_prefix(&list).is_some_and(|rest| rest.starts_with('/'));
    if let Some(operation) = by.or_else(|| operations.iter().find(within)) {
        return (operation.span, format!("op: {} {}", operation.name, operation.path));
    }
    (Span::NONE, event.step.name_of(event.written).entry())
}
