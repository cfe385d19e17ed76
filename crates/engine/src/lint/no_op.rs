//! `no-op`: an entry that finds what it is about, and changes nothing in any root, since it sets what is already set.
//!
//! Only entries that name what they change are looked at. A namespace, a label or a prefix for everything is a rule about
//! whatever is added later, too; and a replacement keeps two values equal. What an overlay or a component sets may be
//! meant to stay when the base changes, so these are shown only to those who ask for the code by its name.

use std::sync::Arc;

use krm_yaml::{Diagnostic, Failure, Fix, Node, Span};
use rustc_hash::FxHashSet;

use super::dead_write::PATCHES;
use super::removal::{layer_of, without_entry};
use super::roots::Root;
use super::steps::acts;
use super::{Check, duplicates};
use crate::pipeline::trace::{Traced, each_step};
use crate::pipeline::{StepField, Trace};
use crate::workspace::{LayerKind, ReferenceTarget};

/// Fields whose entries name what they change, besides patches.
const NAMING: [StepField; 2] = [StepField::Images, StepField::Replicas];

pub(super) fn may_be(cx: &Check, root: &Root) -> bool {
    let has = |field: &StepField| {
        let mut layers = cx.lint.workspace.closure(root.layer).into_iter();
        layers.any(|layer| layer.root.as_ref().is_some_and(|root| root.get(field.as_str()).is_some()))
    };
    PATCHES.iter().chain(&NAMING).any(has)
}

/// The entries that are idle in one root.
pub(super) fn in_trace(root: &Root, trace: &Arc<Trace>) -> Vec<Diagnostic> {
    // Of what matches nothing, the build warns.
    let unmatched: FxHashSet<Span> = root.warnings.iter().map(Diagnostic::place).collect();
    let mut idle: Vec<Span> = Vec::new();
    let mut acting: FxHashSet<Span> = FxHashSet::default();
    each_step(trace, &mut |step| {
        for (entry, is_idle) in entries(step) {
            match is_idle {
                true => idle.push(entry),
                // The same entry is a step in each base that a component is part of.
                false => drop(acting.insert(entry)),
            }
        }
    });
    idle.retain(|entry| {
        !acting.contains(entry) && !entry.is_none() && !unmatched.iter().any(|place| entry.holds(*place))
    });
    idle.sort_by_key(|span| (span.file, span.start));
    idle.dedup();
    let finding = |entry| {
        Diagnostic::warning(
            "no-op",
            "this entry changes nothing: what it sets is there already in every root",
        )
        .failing(Failure::Unnecessary)
        .at(entry)
        .help("remove it")
    };
    idle.into_iter().map(finding).collect()
}

/// The entries of a step, and whether each left everything as it was.
fn entries(step: &Traced) -> Vec<(Span, bool)> {
    let field = &step.name.field;
    if step.given == 0 {
        return Vec::new();
    }
    match step.entries.len() {
        0 | 1 if PATCHES.contains(field) || NAMING.contains(field) => {
            vec![(step.entries.first().copied().unwrap_or(step.place), !acts(step))]
        }
        // Several strategic merge patches are one step, and what each of them removes is not known.
        _ if *field == StepField::PatchesStrategicMerge => {
            let idle = !acts(step);
            step.entries.iter().map(|entry| (*entry, idle)).collect()
        }
        _ if NAMING.contains(field) => {
            let written = written(step);
            let acts = |entry: &Span| written.iter().any(|at| entry.holds(*at));
            step.entries.iter().map(|entry| (*entry, !acts(entry))).collect()
        }
        _ => Vec::new(),
    }
}

/// Where the values are written that a step set to something else.
fn written(step: &Traced) -> Vec<Span> {
    fn differing(before: Option<&Node>, after: &Node, found: &mut Vec<Span>) {
        if before.is_some_and(|before| before.same(after)) {
            return;
        }
        if after.is_scalar() {
            if before != Some(after) {
                found.push(after.span());
            }
            return;
        }
        for entry in after.as_map().into_iter().flatten() {
            let old = entry.key.text().and_then(|key| before?.get(key));
            differing(old, &entry.value, found);
        }
        for (at, item) in after.items().iter().enumerate() {
            differing(before.and_then(|before| before.items().get(at)), item, found);
        }
    }
    let mut found = Vec::new();
    for change in &step.changes {
        if let (before, Some(after)) = (&change.before, &change.after) {
            differing(before.as_ref().map(|seen| &seen.node), &after.node, &mut found);
        }
    }
    found
}

/// A finding that holds in every root, with its fix; `None` if there is a reason for the entry.
pub(super) fn settled(cx: &Check, finding: Diagnostic) -> Option<Diagnostic> {
    let entry = finding.place();
    let layer = layer_of(cx, entry)?;
    let root = layer.root.as_ref()?;
    let has_base = || {
        let mut named = layer.references.iter();
        named.any(|reference| {
            matches!(reference.target, ReferenceTarget::Layer(_) | ReferenceTarget::Remote(_))
        })
    };
    let is_asked_for = cx.options.select.iter().any(|code| code == "no-op");
    if !is_asked_for && (layer.kind != LayerKind::Kustomization || has_base()) {
        return None;
    }
    let (field, item) = item_at(root, entry.start)?;
    // Two of a kind are reported as such.
    if duplicates::has_other(field, root.get(field)?.items(), item) {
        return None;
    }
    if field == "images" && is_kept_by_others(cx, root, item, entry) {
        return None;
    }
    Some(match without_entry(cx, entry, Fix::safe("remove the entry")) {
        Some(fix) => finding.fix(fix),
        None => finding,
    })
}

/// The field and the item of a list in which a byte is.
fn item_at(root: &Node, at: u32) -> Option<(&str, &Node)> {
    root.as_map()?.iter().find_map(|field| {
        let item = field.value.items().iter().find(|item| item.span().start <= at && at < item.span().end)?;
        Some((field.key.text()?, item))
    })
}

/// Whether another entry works on the same image, or a program writes the entry: `kustomize edit set image` in a script, an
/// update bot that knows it by a comment.
fn is_kept_by_others(cx: &Check, root: &Node, item: &Node, entry: Span) -> bool {
    let text = |node: &Node, field: &str| node.get(field).and_then(Node::text).map(str::to_owned);
    let images = root.get("images").map(Node::items).unwrap_or_default();
    let others = images.iter().filter(|other| other.span() != item.span());
    let (name, new_name) = (text(item, "name"), text(item, "newName"));
    let mut related = others.filter(|other| {
        let theirs = text(other, "name");
        theirs == name || theirs == new_name || text(other, "newName") == name
    });
    if related.next().is_some() {
        return true;
    }
    let source = cx.lint.sources.get(entry.file);
    let marked = source.is_some_and(|source| {
        let start = item.span().start as usize;
        let end = source.text().len().min(item.span().end as usize + 200);
        let lines: Vec<&str> = source.text().get(start..end).unwrap_or_default().lines().collect();
        lines.iter().any(|line| line.contains("$imagepolicy") || line.contains("x-release-please"))
    });
    marked || cx.sets_images()
}
