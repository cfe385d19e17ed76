//! What came back: which resource is which, and whether the function did only what it may do.

use std::collections::hash_map::Entry;

use krm_function::Object;
use krm_function::annotations::{self, INTERNAL, LEFT_BEHIND, PASSING};
use krm_yaml::{Diagnostic, Failure, Node, Result};
use rustc_hash::FxHashMap;

use super::reconcile::{Comments, reconcile};
use super::{Returned, Sent};
use crate::files::paths::within;
use crate::resource::Home;

/// Makes what came back into edits of what was sent.
pub(super) fn items(sent: &[Sent], received: Vec<Object>, puts_back: bool) -> Result<Vec<Returned>> {
    let origins = match_up(sent, &received);
    let comments = match puts_back {
        true => Comments::AreLost,
        false => {
            Comments::through(sent.iter().map(|item| &item.node), received.iter().map(|object| &**object))
        }
    };
    let returned = received.into_iter().zip(origins).map(|(object, from)| {
        let old = from.map(|from| &sent[from]);
        // If it had none when it was sent, as kustomizations may, it needs none now.
        if old.is_none_or(|old| old.node.get("kind").is_some()) {
            has_a_kind(&object)?;
        }
        internal_annotations_are_kept(&object, old)?;
        let home = home(&object, old)?.map(Box::new);
        let node = restore(object, old, comments);
        Ok(Returned { node, home, from })
    });
    returned.collect()
}

fn has_a_kind(object: &Object) -> Result<()> {
    if object.get("kind").and_then(Node::as_str).is_some_and(|kind| !kind.is_empty()) {
        return Ok(());
    }
    let who = match object.name() {
        "" => "a resource".to_string(),
        name => format!("resource `{name}`"),
    };
    Err(Diagnostic::error("function-item-without-kind", format!("it returned {who} without a kind"))
        .at(object.span()))
}

/// Finds for each object received the one it was: by the id it was sent with, or, if the program dropped that, by its
/// name. Each one sent is found once: a copy is a new resource.
fn match_up(sent: &[Sent], received: &[Object]) -> Vec<Option<usize>> {
    let mut by_id: FxHashMap<usize, usize> = FxHashMap::default();
    let mut origins = vec![None; received.len()];
    for (at, object) in received.iter().enumerate() {
        let id = object.annotation(annotations::ID).or_else(|| object.annotation(annotations::LEGACY_ID));
        let id = id.and_then(|id| id.parse::<usize>().ok()).and_then(|id| id.checked_sub(1));
        let Some(from) = id.filter(|from| *from < sent.len()) else { continue };
        match by_id.entry(from) {
            Entry::Vacant(free) => {
                free.insert(at);
                origins[at] = Some(from);
            }
            // If two have the same id, it is the one that kept the name.
            Entry::Occupied(mut taken) => {
                let same_name = |at: usize| identity(&received[at]) == identity_of(&sent[from].node);
                if !same_name(*taken.get()) && same_name(at) {
                    origins[*taken.get()] = None;
                    origins[at] = Some(from);
                    taken.insert(at);
                }
            }
        }
    }
    if origins.iter().all(Option::is_some) {
        return origins;
    }
    let mut by_name: FxHashMap<_, Vec<usize>> = FxHashMap::default();
    for (from, item) in sent.iter().enumerate().rev().filter(|(from, _)| !by_id.contains_key(from)) {
        by_name.entry(identity_of(&item.node)).or_default().push(from);
    }
    for (at, object) in received.iter().enumerate() {
        if origins[at].is_none() {
            origins[at] = by_name.get_mut(&identity(object)).and_then(Vec::pop);
        }
    }
    origins
}

/// Group, kind, namespace and name.
type Identity = (String, String, String, String);

fn identity(object: &Object) -> Identity {
    (object.group().into(), object.kind().into(), object.namespace().into(), object.name().into())
}

fn identity_of(node: &Node) -> Identity {
    identity(&Object::from(node.clone()))
}

/// Refuses what a function did to annotations that are not its own. Dropping them all is forgiven: they are put back.
fn internal_annotations_are_kept(object: &Object, old: Option<&Sent>) -> Result<()> {
    let annotations = object.at(["metadata", "annotations"]).and_then(Node::as_map);
    for entry in annotations.into_iter().flatten() {
        let key = entry.key.text().unwrap_or_default();
        if !key.starts_with(INTERNAL) || PASSING.contains(&key) || LEFT_BEHIND.contains(&key) {
            continue;
        }
        let was = old.and_then(|old| old.node.at(["metadata", "annotations", key]));
        if was != Some(&entry.value) {
            let verb = if was.is_some() { "changed" } else { "added" };
            let message =
                format!("it {verb} the internal annotation `{key}` of {} `{}`", object.kind(), object.name());
            return Err(Diagnostic::error("function-internal-annotation", message)
                .at(entry.value.span())
                .help(format!("annotations under `{INTERNAL}` belong to the orchestrator; only path and index may be changed")));
        }
    }
    Ok(())
}

/// Where the resource is to be. The two names of each annotation may have different values: the one that was changed
/// counts.
pub(super) fn home(object: &Object, old: Option<&Sent>) -> Result<Option<Home>> {
    let was = old.and_then(|old| old.home.as_deref());
    let path =
        newer(object, [annotations::PATH, annotations::LEGACY_PATH], was.map(|home| home.path.as_str()))?;
    let was_index = was.map(|home| home.index.to_string());
    let index = newer(object, [annotations::INDEX, annotations::LEGACY_INDEX], was_index.as_deref())?;
    let Some(path) = path.or(was.map(|home| home.path.as_str())).filter(|path| !path.is_empty()) else {
        return Ok(None);
    };
    let refused = |message: String| {
        Err(Diagnostic::error(
            "function-bad-place",
            format!("{message} for {} `{}`", object.kind(), object.name()),
        )
        .failing(Failure::BadLocation)
        .at(object.span())
        .help(
            "a path must be relative and stay below the folder and out of `.git`, an index a number from 0",
        ))
    };
    let Some(path) = within(path) else { return refused(format!("it asks for the file `{path}`")) };
    let index = match index.map(str::parse) {
        Some(Ok(index)) => index,
        Some(Err(_)) => return refused(format!("it asks for the index `{}`", index.unwrap_or_default())),
        // Moved to another file without saying where in it: to its end.
        None if was.is_none_or(|home| home.path != path) => usize::MAX,
        None => was.map_or(usize::MAX, |home| home.index),
    };
    let is_loose = was.is_some_and(|was| was.is_loose && was.path == path);
    Ok(Some(Home { path, index, number: was.and_then(|was| was.number), is_loose }))
}

fn newer<'o>(object: &'o Object, keys: [&str; 2], was: Option<&str>) -> Result<Option<&'o str>> {
    let [internal, legacy] = keys.map(|key| object.annotation(key));
    match (internal, legacy) {
        (Some(a), Some(b)) if a != b => match (was == Some(a), was == Some(b)) {
            (false, false) => {
                let what = if keys[0] == annotations::PATH { "paths" } else { "indexes" };
                let (kind, name) = (object.kind(), object.name());
                let message = format!("it gives {kind} `{name}` two different {what}: `{a}` and `{b}`");
                Err(Diagnostic::error("function-two-places", message).at(object.span()).help(format!(
                    "the annotations `{}` and `{}` must have the same value",
                    keys[0], keys[1]
                )))
            }
            (true, _) => Ok(Some(b)),
            (false, true) => Ok(Some(a)),
        },
        (a, b) => Ok(a.or(b)),
    }
}

/// Removes the annotations that say where a resource is.
pub(super) fn strip_home(mut object: Object) -> Node {
    PASSING[2..].iter().for_each(|key| drop(object.remove_annotation(key)));
    object.into_node()
}

/// Removes what was added for the call.
fn strip(mut object: Object) -> Node {
    PASSING.iter().chain(&LEFT_BEHIND).for_each(|key| drop(object.remove_annotation(key)));
    object.into_node()
}

/// Removes what was added for the call, and restores what was there before.
fn restore(mut object: Object, old: Option<&Sent>, comments: Comments) -> Node {
    let Some(old) = old else { return strip(object) };
    let before = Object::from(old.node.clone());
    for key in PASSING.into_iter().chain(LEFT_BEHIND) {
        match before.annotation(key) {
            Some(value) => object.set_annotation(key, value),
            None => drop(object.remove_annotation(key)),
        }
    }
    // Maps that are new and empty now were made for the annotations.
    if object.get("metadata").is_some_and(Node::is_empty) && before.get("metadata").is_none() {
        object.remove("metadata");
    }
    if let (Some(empty), None) =
        (before.at(["metadata", "annotations"]), object.at(["metadata", "annotations"]))
        && empty.is_empty()
    {
        let empty = empty.clone();
        if let Some(metadata) = object.map_at("metadata") {
            metadata.set("annotations", empty);
        }
    }
    let internal = before.at(["metadata", "annotations"]).and_then(Node::as_map).into_iter().flatten();
    for entry in internal {
        if let (Some(key), Some(value)) = (entry.key.text(), entry.value.text())
            && key.starts_with(INTERNAL)
        {
            object.set_annotation(key, value);
        }
    }
    reconcile(&old.node, &object, comments)
}
