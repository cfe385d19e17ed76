//! Which elements of lists the positions in the paths of JSON patches mean.

use std::sync::Arc;

use krm_yaml::{Node, Span, path};

use super::{Applied, Cause, Trace, each_part};
use crate::patch::{self, Pointer};

/// What the position in the path of an operation means in one build.
#[derive(Clone, Debug)]
pub(crate) struct Position {
    /// Where the operation is written.
    pub operation: Span,
    /// Where its path is.
    pub written: Span,
    /// The resource it is applied to.
    pub resource: String,
    /// The path up to the position.
    pub path: String,
    /// The name of the element that is there.
    pub element: String,
}

/// The positions in all JSON patches of a build that are in lists of named elements.
pub(crate) fn positions(trace: &Arc<Trace>) -> Vec<Position> {
    let mut found = Vec::new();
    each_part(trace, &mut |step| {
        for note in &step.notes {
            let Cause::Patched { operation } = &note.cause else { continue };
            let Some(before) = step.change(note.resource).and_then(|change| change.before.as_ref()) else {
                continue;
            };
            if let Some((path, element)) = element(&before.node, operation) {
                found.push(Position {
                    operation: operation.span,
                    written: operation.asked.get(1).copied().unwrap_or(Span::NONE),
                    resource: format!("{} `{}`", before.id.gvk.kind, before.id.name),
                    path,
                    element,
                });
            }
        }
    });
    found
}

/// The last position in a path that is in a list of named elements, and the name of the one that is there.
fn element(root: &Node, operation: &Applied) -> Option<(String, String)> {
    let mut node = root;
    let mut path = String::new();
    let mut found = None;
    for name in patch::names(&operation.path).ok()? {
        path = format!("{path}/{}", path::to_pointer(&name));
        // What the operation adds does not exist yet.
        let Ok(Some(below)) = path::first(&Pointer, &[path::Segment::Key(name)], node) else { break };
        if node.is_seq()
            && let Some(name) = below.get("name").and_then(Node::as_str)
        {
            found = Some((path.clone(), name.to_owned()));
        }
        node = below;
    }
    found
}
