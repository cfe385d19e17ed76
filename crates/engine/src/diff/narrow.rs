//! Two results without the differences that nobody asked for: the second is as the first in everything else.

use krm_yaml::Node;
use rustc_hash::FxHashMap;

use super::ChangeKind;
use super::compare::{Given, Ignored, Matched, Options, Outcome, differences_of, is_meant, item_is, items};
use super::pair::pairs;
use crate::compare::fields::Difference;
use crate::pipeline::trace::{Segment, at_mut};

/// The resources of both sides, such that they differ only in what the options ask for.
pub fn narrowed(given: &Given, options: &Options) -> [Vec<Node>; 2] {
    let (old, new) = (items(&given.from), items(&given.to));
    let before: Vec<Node> = old.iter().map(|item| item.node.clone()).collect();
    let after: Vec<Node> = new.iter().map(|item| item.node.clone()).collect();
    let is_everything = options.only.is_none() && options.ignore.is_empty();
    if is_everything {
        return [before, after];
    }
    let pairs = pairs(&old, &new, options.overlays);
    let mut kept: Vec<Option<Node>> = after.into_iter().map(Some).collect();
    let mut stays: Vec<usize> = Vec::new();
    for pair in &pairs {
        let wanted = is_meant(options, pair, &old, &new);
        match (pair.old, pair.new) {
            (Some(x), Some(y)) if !wanted => kept[y] = Some(before[x].clone()),
            (None, Some(y)) if !wanted => kept[y] = None,
            (Some(x), None) if !wanted => stays.push(x),
            (Some(x), Some(y)) => {
                let matched = Matched { pair, old: Some(&old[x]), new: Some(&new[y]) };
                let fields = Ignored::of(options, &matched);
                let ignored = differences_of(pair, &old, &new).into_iter();
                let ignored: Vec<Difference> = ignored.filter(|difference| fields.has(difference)).collect();
                kept[y].iter_mut().for_each(|node| undo(node, &ignored));
            }
            _ => {}
        }
    }
    // What would have gone comes after what it was after.
    let mut after: Vec<(usize, Node)> = Vec::new();
    let was: FxHashMap<usize, usize> = pairs.iter().filter_map(|pair| pair.new.zip(pair.old)).collect();
    for (at, node) in kept.into_iter().enumerate() {
        let before = after.last().map_or(0, |(place, _)| *place);
        after.extend(node.map(|node| (was.get(&at).copied().unwrap_or(before), node)));
    }
    for x in stays {
        let at = after.iter().rposition(|(place, _)| *place < x).map_or(0, |at| at + 1);
        after.insert(at, (x, before[x].clone()));
    }
    [before, after.into_iter().map(|(_, node)| node).collect()]
}

/// Whether `only` is none of the resources that were compared. False if a target was not built: it may be there.
pub fn only_matches_nothing(given: &[Given], options: &Options) -> bool {
    let Some(only) = &options.only else { return false };
    let is_unknown = |outcome: &Outcome| match outcome {
        Outcome::Built(_) | Outcome::Missing => false,
        Outcome::Rendered(all) => all.is_empty(),
        Outcome::Failed(_) => true,
    };
    let is_known = |one: &Given| !is_unknown(&one.from) && !is_unknown(&one.to);
    let lacks = |outcome: &Outcome| !items(outcome).iter().any(|item| item_is(item, only));
    !given.is_empty() && given.iter().all(|one| is_known(one) && lacks(&one.from) && lacks(&one.to))
}

/// Takes differences back in the second of two trees.
fn undo(node: &mut Node, differences: &[Difference]) {
    // An order is taken back with everything in it.
    let moved: Vec<&Difference> = differences.iter().filter(|d| d.kind == ChangeKind::Moved).collect();
    let is_within = |d: &Difference| {
        moved.iter().any(|m| d.kind != ChangeKind::Moved && d.new_path.starts_with(&m.new_path))
    };
    let others: Vec<&Difference> = differences.iter().filter(|d| !is_within(d)).collect();
    // Positions hold as long as nothing came or went.
    for difference in &others {
        if let (Some(before), Some(_)) = (&difference.before, &difference.after)
            && let Some(place) = at_mut(node, &difference.new_path)
        {
            *place = before.clone();
        }
    }
    for difference in others.iter().rev().filter(|d| d.before.is_none()) {
        let Some((last, path)) = difference.new_path.split_last() else { continue };
        match (at_mut(node, path), last) {
            (Some(parent), Segment::Key(key)) => drop(parent.remove(key)),
            (Some(parent), Segment::Index(at)) => {
                if let Some(items) = parent.as_seq_mut().filter(|items| *at < items.len()) {
                    items.remove(*at);
                }
            }
            (None, _) => {}
        }
    }
    for difference in others.iter().filter(|d| d.after.is_none()) {
        let Some(((last, path), before)) = difference.new_path.split_last().zip(difference.before.as_ref())
        else {
            continue;
        };
        match (at_mut(node, path), last) {
            (Some(parent), Segment::Key(key)) => parent.set(key, before.clone()),
            (Some(parent), Segment::Index(at)) => {
                if let Some(items) = parent.as_seq_mut() {
                    items.insert((*at).min(items.len()), before.clone());
                }
            }
            (None, _) => {}
        }
    }
}
