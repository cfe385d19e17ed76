//! `json-patch-position`: a position in a list that means one element in one root, and another in another.

use std::collections::BTreeMap;
use std::sync::Arc;

use krm_yaml::{Diagnostic, Node, Span};

use super::Check;
use super::roots::Root;
use super::steps::each;
use crate::patch::decode;
use crate::pipeline::Trace;
use crate::pipeline::trace::{Cause, Operation};

/// What the position in the path of an operation means in one root.
pub(super) struct Meant {
    /// The operation.
    place: Span,
    /// The resource it is applied to.
    resource: String,
    /// The path up to the position.
    path: String,
    /// The name of the element that is there.
    element: String,
}

pub(super) fn in_trace(trace: &Arc<Trace>) -> Vec<Meant> {
    let mut found = Vec::new();
    each(trace, &mut |step| {
        for note in &step.notes {
            let Cause::Patched { operations } = &note.cause else { continue };
            let Some(before) = step.change(note.resource).and_then(|change| change.before.as_ref()) else {
                continue;
            };
            let resource = format!("{} `{}`", before.id.gvk.kind, before.id.name);
            for operation in operations {
                if let Some((path, element)) = position(&before.node, operation) {
                    found.push(Meant { place: operation.span, resource: resource.clone(), path, element });
                }
                // What comes after it sees other positions.
                if !matches!(&*operation.name, "replace" | "test") {
                    break;
                }
            }
        }
    });
    found
}

/// The last position in a path that is in a list of named elements, and the name of the one that is there.
fn position(root: &Node, operation: &Operation) -> Option<(String, String)> {
    let mut node = root;
    let mut path = String::new();
    let mut found = None;
    for part in operation.path.split('/').skip(1) {
        path = format!("{path}/{part}");
        let part = decode(part);
        let below = match node.is_seq() {
            false => node.get(&part),
            true => part.parse::<usize>().ok().and_then(|at| node.items().get(at)),
        };
        // What the operation adds is not there yet.
        let Some(below) = below else { break };
        if node.is_seq()
            && let Some(name) = below.get("name").and_then(Node::as_str)
        {
            found = Some((path.clone(), name.to_owned()));
        }
        node = below;
    }
    found
}

pub(super) fn findings(cx: &Check, roots: &[Root], meant: Vec<Vec<Meant>>) -> Vec<Diagnostic> {
    // By the operation and the resource: the elements, each with the first root that has it.
    type Key = (String, u32, String, String);
    let mut all: BTreeMap<Key, (Span, BTreeMap<String, String>)> = BTreeMap::new();
    for (root, meant) in roots.iter().zip(meant) {
        for Meant { place, resource, path, element } in meant {
            let Some(source) = cx.lint.sources.get(place.file) else { continue };
            let key = (source.name().to_owned(), place.start, resource, path);
            let (_, elements) = all.entry(key).or_insert((place, BTreeMap::new()));
            elements.entry(element).or_insert_with(|| root.layer.shown.clone());
        }
    }
    let several = all.into_iter().filter(|(_, (_, elements))| elements.len() > 1);
    several
        .map(|((_, _, resource, path), (place, elements))| {
            let message = format!("`{path}` of {resource} is not the same element in every root");
            let mut finding = Diagnostic::warning("json-patch-position", message).at(place);
            for (element, root) in elements {
                finding = finding.note(format!("`{element}` in `{root}`"), Span::NONE);
            }
            finding.help("use a strategic merge patch, which finds the element by its name")
        })
        .collect()
}
