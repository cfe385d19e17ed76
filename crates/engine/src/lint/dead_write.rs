//! `dead-write` and `overlapping-patches`: a value that a patch sets, and that every root overwrites or removes; in the
//! second case another patch of the same kustomization does.

use std::sync::Arc;

use krm_yaml::{Diagnostic, Failure, Node, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Check;
use super::removal::without_value;
use super::roots::Root;
use crate::pipeline::trace::{Traced, each_step};
use crate::pipeline::{StepField, Trace};

/// Fields whose steps write what patches say.
pub(super) const PATCHES: [StepField; 3] =
    [StepField::Patches, StepField::PatchesStrategicMerge, StepField::PatchesJson6902];
/// Fields whose steps replace a value as a whole. An image keeps its name when it gets another tag, a name is only made
/// longer, what a replacement overwrites is a placeholder, and so is a namespace that a field requires.
const OVERWRITING: [StepField; 7] = [
    StepField::Patches,
    StepField::PatchesStrategicMerge,
    StepField::PatchesJson6902,
    StepField::Replicas,
    StepField::Labels,
    StepField::CommonLabels,
    StepField::CommonAnnotations,
];

/// Whether a patch can be overwritten at all: there must be one, and something after it.
pub(super) fn may_overwrite(cx: &Check, root: &Root) -> bool {
    let layers = cx.lint.workspace.closure(root.layer);
    let entries = |field: &StepField| {
        let of = |root: &Node| root.get(field.as_str()).map_or(0, |value| value.items().len().max(1));
        layers.iter().filter_map(|layer| layer.root.as_ref()).map(of).sum::<usize>()
    };
    PATCHES.iter().map(entries).sum::<usize>() > 0 && OVERWRITING.iter().map(entries).sum::<usize>() > 1
}

#[derive(Default)]
struct Writes {
    /// Values that patches set: where they are written, and the folder of the kustomization that has the patch.
    set: FxHashMap<Span, Arc<str>>,
    /// By what they were overwritten or removed.
    ended: FxHashMap<Span, Ended>,
}

struct Ended {
    /// The value that took its place, or the entry that removed it.
    by: Span,
    is_removed: bool,
    is_as_a_whole: bool,
    /// By another patch of the same kustomization.
    is_beside: bool,
}

/// The values that are lost in one root.
pub(super) fn in_trace(trace: &Arc<Trace>) -> Vec<Diagnostic> {
    let mut writes = Writes::default();
    each_step(trace, &mut |step| writes.of_step(step));
    let mut alive = FxHashSet::default();
    for (_, seen) in &trace.result {
        scalars(&seen.node, &mut |node| {
            alive.insert(node.span());
        });
    }
    let mut found = Vec::new();
    for span in writes.set.keys().filter(|span| !alive.contains(span)) {
        let Some(ended) = writes.ended.get(span).filter(|ended| ended.is_as_a_whole) else { continue };
        // A patch that is applied twice does not overwrite itself.
        if ended.by == *span || ended.by.is_none() {
            continue;
        }
        let finding = match (ended.is_beside, ended.is_removed) {
            (true, true) => Diagnostic::warning(
                "overlapping-patches",
                "another patch of the same kustomization removes what this sets",
            )
            .note("it is removed here", ended.by),
            (true, false) => Diagnostic::warning(
                "overlapping-patches",
                "another patch of the same kustomization sets the same field",
            )
            .note("this one comes later, and counts", ended.by),
            (false, true) => Diagnostic::warning("dead-write", "every root removes what this sets")
                .failing(Failure::Unnecessary)
                .note("it is removed here", ended.by),
            (false, false) => Diagnostic::warning("dead-write", "every root overwrites this value")
                .failing(Failure::Unnecessary)
                .note("it is overwritten here", ended.by),
        };
        found.push(finding.at(*span).help("remove it from the patch, or check which of the two is meant"));
    }
    found
}

/// A finding that holds in every root, with its fix.
pub(super) fn with_fix(cx: &Check, finding: Diagnostic) -> Diagnostic {
    match without_value(cx, finding.place()) {
        Some(fix) => finding.fix(fix),
        None => finding,
    }
}

impl Writes {
    fn of_step(&mut self, step: &Traced) {
        let is_patch = PATCHES.contains(&step.name.field);
        let overwrites = OVERWRITING.contains(&step.name.field);
        for change in &step.changes {
            let Some(before) = &change.before else { continue };
            let (mut old, mut new) = (Vec::new(), FxHashSet::default());
            scalars(&before.node, &mut |node| old.push(node.span()));
            if let Some(after) = &change.after {
                scalars(&after.node, &mut |node| {
                    new.insert(node.span());
                });
            }
            for span in old.iter().filter(|span| self.set.contains_key(span) && !new.contains(span)) {
                let by = change.after.as_ref().and_then(|after| same_place(&before.node, &after.node, *span));
                let (place, is_same) = by.unwrap_or((step.place, false));
                let ended = Ended {
                    is_removed: by.is_none(),
                    by: place,
                    // A value that is set once more is not lost.
                    is_as_a_whole: overwrites && !is_same,
                    is_beside: is_patch && self.set.get(span) == Some(&step.name.folder),
                };
                self.ended.entry(*span).or_insert(ended);
            }
            if is_patch {
                let old: FxHashSet<Span> = old.into_iter().collect();
                for span in new.into_iter().filter(|span| !old.contains(span) && !span.is_none()) {
                    self.set.entry(span).or_insert_with(|| step.name.folder.clone());
                }
            }
        }
    }
}

fn scalars(node: &Node, each: &mut dyn FnMut(&Node)) {
    if node.is_scalar() {
        each(node);
    }
    node.items().iter().for_each(|item| scalars(item, each));
    node.as_map().into_iter().flatten().for_each(|entry| scalars(&entry.value, each));
}

/// What is now where a value was, and whether it is the same.
fn same_place(before: &Node, after: &Node, span: Span) -> Option<(Span, bool)> {
    if before.is_scalar() {
        return (before.span() == span).then(|| (after.span(), before == after));
    }
    if before.same(after) {
        return None;
    }
    let fields = before
        .as_map()
        .into_iter()
        .flatten()
        .find_map(|entry| same_place(&entry.value, after.get(entry.key.text()?)?, span));
    fields.or_else(|| {
        let name = |node: &Node| node.get("name").and_then(Node::text).map(str::to_owned);
        before.items().iter().enumerate().find_map(|(at, item)| {
            let named = name(item)
                .and_then(|own| after.items().iter().find(|other| name(other).as_ref() == Some(&own)));
            same_place(item, named.or_else(|| after.items().get(at))?, span)
        })
    })
}
