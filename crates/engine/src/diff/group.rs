//! Puts together what is the same in several targets.

use krm_yaml::Node;
use rustc_hash::{FxHashMap, FxHashSet};

use super::compare::{Compared, Local, Options};
use super::differing::Differing;
use super::{Cause, Change, Diff, Flag, Named, Own, Restart, flags};
use crate::explain;

/// Puts together what is the same in several targets, for the same cause.
pub(super) fn merge(compared: Vec<Compared>, options: &Options, diff: &mut Diff) {
    // A line is one cause, whatever part of it differs.
    type CauseKey = (Option<(String, usize)>, bool, Option<String>);
    let mut causes: FxHashMap<CauseKey, usize> = FxHashMap::default();
    let mut changes: FxHashMap<(usize, [String; 6], Option<usize>), usize> = FxHashMap::default();
    let mut restarts: FxHashMap<(String, String), usize> = FxHashMap::default();
    for (number, one) in compared.into_iter().enumerate() {
        diff.ignored += one.ignored;
        diff.targets.push(one.target);
        // The change that each became, and which of its own.
        let mut ids: Vec<Option<(usize, usize)>> = vec![None; one.changes.len()];
        let mut restarting: Vec<(String, String)> = Vec::new();
        // Those that others follow from come first.
        let mut order: Vec<usize> = (0..one.changes.len()).collect();
        order.sort_by_key(|at| depth(&one.changes, *at));
        for at in order {
            let local = &one.changes[at];
            let root = root(&one.changes, at);
            let cause = one.changes[root].cause.as_ref();
            let cause_key = cause.map_or((None, false, None), |cause| {
                let line = cause.place.as_ref().map(|place| (place.file.clone(), place.line));
                // Of two folders it is two lines, one of each.
                let other = cause.before.clone().filter(|_| options.overlays);
                (line, cause.removed, cause.what.clone().or(other))
            });
            let cause_id = *causes.entry(cause_key).or_insert_with(|| {
                let unknown =
                    || Cause { what: Some("no changed line explains this".to_owned()), ..Cause::default() };
                diff.causes.push(cause.cloned().unwrap_or_else(unknown));
                diff.causes.len() - 1
            });
            let mut change = local.change.clone();
            let follows = local.follows.and_then(|at| ids[at]);
            change.follows = follows.map(|(id, _)| id);
            let [before, after] = what_differs(&change);
            let key = [
                change.resource.api_version.clone(),
                change.resource.kind.clone(),
                change.resource.name.clone(),
                format!("{} {}", change.kind.name(), change.field),
                before,
                after,
            ];
            if flags::restarts(&change) {
                restarting.push((change.resource.name.clone(), change.resource.kind.clone()));
            }
            let id = *changes.entry((cause_id, key, change.follows)).or_insert_with(|| {
                (change.id, change.cause) = (diff.changes.len(), cause_id);
                [change.before, change.after] = local.shown.clone();
                diff.changes.push(change);
                diff.causes[cause_id].changes.push(diff.changes.len() - 1);
                diff.changes.len() - 1
            });
            let known = &mut diff.changes[id];
            if known.targets.last() != Some(&number) {
                known.targets.push(number);
            }
            known.replaced &= local.change.replaced;
            let [before, after] = local.shown.clone();
            let Change { resource, from, to, .. } = local.change.clone();
            known.own.push(Own { target: number, resource, before, after, from, to, follows });
            ids[at] = Some((id, known.own.len() - 1));
        }
        restarting.sort();
        restarting.dedup();
        restarting.into_iter().for_each(|workload| *restarts.entry(workload).or_default() += 1);
    }
    // A line that holds a secret is as secret.
    for cause in &mut diff.causes {
        if !cause.names_file && cause.changes.iter().any(|id| diff.changes[*id].masked) {
            for text in [&mut cause.before, &mut cause.after].into_iter().flatten() {
                *text = explain::text::MASK.to_owned();
            }
        }
    }
    order(diff);
    // Nobody is about to replace one folder by the other.
    if options.overlays {
        return;
    }
    let restarts = restarts.into_iter();
    diff.restarts = restarts.map(|((name, kind), targets)| Restart { name, kind, targets }).collect();
    diff.restarts.sort();
    let mut restarting = FxHashSet::default();
    for change in &diff.changes {
        let place = diff.causes[change.cause].place.clone();
        // Of a folder that is new or gone it is where the value is written.
        let written = || change.to.as_ref().or(change.from.as_ref()).and_then(|tail| tail.place.clone());
        let place = place.or_else(written);
        let mut found = flags::of(change);
        // One for each workload and cause says enough.
        let Named { kind, name, .. } = &change.resource;
        if flags::restarts(change) && restarting.insert((change.cause, kind, name)) {
            found.push((flags::RESTART, format!("{kind} {name}: its pods restart")));
        }
        diff.flags.extend(found.into_iter().map(|(rule, message)| Flag {
            rule,
            change: change.id,
            place: place.clone(),
            message,
        }));
    }
}

/// Causes by file and line, changes by cause.
fn order(diff: &mut Diff) {
    diff.causes.sort_by(|a, b| {
        let key =
            |cause: &Cause| (cause.place.is_none(), cause.place.clone(), cause.removed, cause.what.clone());
        key(a).cmp(&key(b))
    });
    let mut new_ids: Vec<usize> = vec![0; diff.changes.len()];
    let mut sorted: Vec<usize> = Vec::with_capacity(diff.changes.len());
    for (number, cause) in diff.causes.iter_mut().enumerate() {
        cause.changes.iter().for_each(|id| diff.changes[*id].cause = number);
        let changes = &diff.changes;
        cause.changes.sort_by(|a, b| {
            let key = |id: &usize| {
                let change = &changes[*id];
                (change.follows.is_some(), &change.resource.kind, &change.resource.name, &change.field, *id)
            };
            key(a).cmp(&key(b))
        });
        for id in &mut cause.changes {
            new_ids[*id] = sorted.len();
            sorted.push(*id);
            *id = new_ids[*id];
        }
    }
    let mut old: Vec<Option<Change>> = std::mem::take(&mut diff.changes).into_iter().map(Some).collect();
    diff.changes = sorted.into_iter().map(|id| old[id].take().expect("each has one cause")).collect();
    for (at, change) in diff.changes.iter_mut().enumerate() {
        change.id = at;
        change.follows = change.follows.map(|id| new_ids[id]);
        for (id, _) in change.own.iter_mut().filter_map(|own| own.follows.as_mut()) {
            *id = new_ids[*id];
        }
    }
}

/// What a change does to a value, as far as it is the same in every overlay: each gives names, registries and hosts parts of
/// its own.
fn what_differs(change: &Change) -> [String; 2] {
    let value = |node: &Option<Node>| node.as_ref().map(krm_yaml::json::compact).unwrap_or_default();
    if change.elided {
        return Default::default();
    }
    // A resource that comes or goes is one, whatever overlays make of it; unless that is worth a warning.
    if change.field.is_empty() {
        return [&change.before, &change.after].map(|node| flags::privileged(node, "").to_string());
    }
    let line = |node: &Option<Node>| {
        node.as_ref().and_then(Node::as_str).filter(|text| !text.contains('\n')).map(str::to_owned)
    };
    match (line(&change.before), line(&change.after)) {
        (Some(before), Some(after)) => {
            let part = Differing::of(&before, &after);
            [part.before, part.after].map(|text| format!("text {text}"))
        }
        _ => [value(&change.before), value(&change.after)],
    }
}

/// How far a change is from the one it follows from in the end.
fn depth(changes: &[Local], at: usize) -> usize {
    let mut depth = 0;
    let mut at = at;
    while let Some(next) = changes[at].follows.filter(|_| depth <= changes.len()) {
        (at, depth) = (next, depth + 1);
    }
    depth
}

fn root(changes: &[Local], at: usize) -> usize {
    let mut at = at;
    for _ in 0..changes.len() {
        match changes[at].follows {
            Some(next) => at = next,
            None => break,
        }
    }
    at
}
