//! The rules that look at what each step of a build changed: every root is built once more for all of them.

use std::sync::Arc;

use krm_yaml::Diagnostic;
use rayon::prelude::*;

use super::roots::{Root, in_all};
use super::{Check, dead_write, json_patch_position, no_op};
use crate::pipeline::Trace;
use crate::pipeline::trace::Traced;

/// What one root has to say.
#[derive(Default)]
struct Found {
    findings: Vec<Diagnostic>,
    indexes: Vec<json_patch_position::Meant>,
}

pub(super) fn findings(cx: &Check, roots: &[Root]) -> Vec<Diagnostic> {
    let found: Vec<Found> = roots.par_iter().map(|root| in_root(cx, root)).collect();
    let (findings, indexes): (Vec<_>, Vec<_>) =
        found.into_iter().map(|found| (found.findings, found.indexes)).unzip();
    let mut all = in_all(cx, roots, findings, false);
    all.extend(json_patch_position::findings(cx, roots, indexes));
    all
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
    let mut findings = no_op::in_trace(cx, root, &trace);
    if overwrites {
        findings.extend(dead_write::in_trace(cx, &trace));
    }
    Found { findings, indexes: json_patch_position::in_trace(&trace) }
}

/// Calls a function with every step, those of bases included, each base once.
pub(super) fn each<'t>(trace: &'t Arc<Trace>, call: &mut dyn FnMut(&'t Traced)) {
    fn visit<'t>(trace: &'t Arc<Trace>, known: &mut Vec<*const Trace>, call: &mut dyn FnMut(&'t Traced)) {
        if known.contains(&Arc::as_ptr(trace)) {
            return;
        }
        known.push(Arc::as_ptr(trace));
        for step in &trace.steps {
            if let Some(within) = &step.within {
                visit(within, known, call);
            }
            call(step);
        }
    }
    visit(trace, &mut Vec::new(), call);
}

/// Whether a step changed anything, comments and places apart.
pub(super) fn acts(step: &Traced) -> bool {
    step.changes.iter().any(|change| match (&change.before, &change.after) {
        (Some(before), Some(after)) => before.node != after.node || !same_order(&before.node, &after.node),
        _ => true,
    })
}

/// Whether the keys of equal trees are in the same order: an output shows it.
fn same_order(a: &krm_yaml::Node, b: &krm_yaml::Node) -> bool {
    if a.same(b) {
        return true;
    }
    let fields = |node: &krm_yaml::Node| -> Vec<(Option<String>, krm_yaml::Node)> {
        let all = node.as_map().into_iter().flatten();
        all.map(|entry| (entry.key.text().map(str::to_owned), entry.value.clone())).collect()
    };
    let (x, y) = (fields(a), fields(b));
    x.len() == y.len()
        && x.iter().zip(&y).all(|((k, v), (l, w))| k == l && same_order(v, w))
        && a.items().iter().zip(b.items()).all(|(v, w)| same_order(v, w))
}
