//! The rules that look at what each step of a build changed: every root is built once more for all of them.

use krm_yaml::{Diagnostic, Node};
use rayon::prelude::*;

use super::roots::{Root, Unbuilt, in_all};
use super::{Check, dead_write, json_patch_position, no_op};
use crate::pipeline::trace::{Position, Traced, positions};

/// What one root has to say.
#[derive(Default)]
struct Found {
    idle: Vec<Diagnostic>,
    lost: Vec<Diagnostic>,
    indexes: Vec<Position>,
}

pub(super) fn findings(cx: &Check, roots: &[Root]) -> Vec<Diagnostic> {
    let found: Vec<Found> = roots.par_iter().map(|root| in_root(cx, root)).collect();
    let (mut idle, mut lost, mut indexes) = (Vec::new(), Vec::new(), Vec::new());
    for found in found {
        idle.push(found.idle);
        lost.push(found.lost);
        indexes.push(found.indexes);
    }
    // Fixes are made for what holds in every root, and not for each root.
    let idle = in_all(cx, roots, idle, Unbuilt::HasNone)
        .into_iter()
        .filter_map(|finding| no_op::settled(cx, finding));
    let lost = in_all(cx, roots, lost, Unbuilt::HasNone)
        .into_iter()
        .map(|finding| dead_write::with_fix(cx, finding));
    idle.chain(lost).chain(json_patch_position::findings(cx, roots, indexes)).collect()
}

fn in_root(cx: &Check, root: &Root) -> Found {
    let overwrites = dead_write::may_overwrite(cx, root);
    let may_matter = overwrites || no_op::may_be(cx, root);
    if !may_matter || !root.built.as_ref().is_ok_and(|built| !built.is_empty()) {
        return Found::default();
    }
    let (result, trace) = cx.lint.session.trace(&root.layer.shown);
    if result.is_err() {
        return Found::default();
    }
    Found {
        idle: no_op::in_trace(root, &trace),
        lost: if overwrites { dead_write::in_trace(&trace) } else { Vec::new() },
        indexes: positions(&trace),
    }
}

/// Whether a step changed anything but comments and places.
pub(super) fn acts(step: &Traced) -> bool {
    step.changes.iter().any(|change| match (&change.before, &change.after) {
        (Some(before), Some(after)) => before.node != after.node || !same_order(&before.node, &after.node),
        _ => true,
    })
}

/// Whether the keys of equal trees are in the same order: an output shows it.
fn same_order(a: &Node, b: &Node) -> bool {
    if a.same(b) {
        return true;
    }
    let (x, y) = (a.as_map().into_iter().flatten(), b.as_map().into_iter().flatten());
    x.zip(y).all(|(x, y)| x.key == y.key && same_order(&x.value, &y.value))
        && a.items().iter().zip(b.items()).all(|(v, w)| same_order(v, w))
}
