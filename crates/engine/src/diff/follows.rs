//! Changes that follow from others: hashes, references to names, copies of values.

use krm_yaml::Node;
use rustc_hash::FxHashMap;

use super::compare::{Matched, is_metadata, is_name};
use super::pair::split_hash;
use crate::compare::fields::Difference;
use crate::explain::FieldPath;
use crate::pipeline::trace::{Cause, Event, Segment};
use crate::resource::Track;

/// Positions of the changes that others may follow from.
#[derive(Default)]
pub(super) struct Origins {
    /// Of each resource whose build was traced, by the field.
    changes: FxHashMap<(Track, Vec<Segment>), usize>,
    /// Of resources that only the first side has.
    removed: FxHashMap<Track, usize>,
    /// Names that differ only by hash: before and after.
    hashed: FxHashMap<(String, String), usize>,
}

impl Origins {
    /// `at` is the position of a change.
    pub(super) fn add(&mut self, old: Option<Track>, new: Option<Track>, difference: &Difference, at: usize) {
        match (old, new) {
            (_, Some(track)) => {
                self.changes.insert((track, difference.new_path.clone()), at);
            }
            (Some(track), None) => {
                self.removed.insert(track, at);
            }
            (None, None) => {}
        }
        let (before, after) = difference.texts();
        if is_name(&difference.new_path) && differ_by_hash(&before, &after) {
            self.hashed.insert((before, after), at);
        }
    }

    /// The change that this one follows from, and whether the values differ by how they end.
    pub(super) fn of(
        &self,
        resource: &Matched,
        difference: &Difference,
        siblings: &[Difference],
        first: usize,
    ) -> (Option<usize>, bool) {
        let (before, after) = difference.texts();
        let same_stem = differ_by_hash(&before, &after);
        if is_name(&difference.new_path) {
            // A name that differs by its hash alone does so because of what was hashed.
            let content = siblings.iter().position(|other| !is_metadata(&other.new_path));
            return match content.filter(|_| same_stem) {
                Some(at) => (Some(first + at), true),
                None => (None, false),
            };
        }
        let is_traced = resource.old.is_some_and(|item| item.track.is_some());
        let Some((trace, track)) = resource.new.and_then(|item| item.track).filter(|_| is_traced) else {
            // Output rendered elsewhere has no trace, but a name with a hash is unique enough to match by.
            let renamed = self.hashed.get(&(before, after)).copied();
            return (renamed, renamed.is_some());
        };
        if difference.after.is_none() {
            return (None, false);
        }
        let events = trace.history(track, &difference.new_path);
        let Some(last) = events.last().filter(|event| std::ptr::eq(event.trace, trace)) else {
            return (None, false);
        };
        let before = resource.old.and_then(|item| item.track).and_then(|(trace, track)| {
            trace.history(track, &difference.old_path).pop().filter(|event| std::ptr::eq(event.trace, trace))
        });
        // A reference that says what it said follows a resource that comes or goes.
        let is_same =
            |a: Option<&Node>, b: Option<&Node>| a.is_some_and(|a| a.text() == b.and_then(Node::text));
        let came = followed(last)
            .filter(|_| is_same(last.before, difference.before.as_ref()))
            .find_map(|target| self.changes.get(&(target, Vec::new())));
        let went = || {
            let before = before.as_ref()?;
            followed(before)
                .filter(|_| is_same(before.before, difference.after.as_ref()))
                .find_map(|target| self.removed.get(&target))
        };
        if let Some(at) = came.or_else(went) {
            return (Some(*at), false);
        }
        // What did not come about in the same way before is not the same, with another name.
        if before.map(|event| event.kind) != Some(last.kind) {
            return (None, false);
        }
        let name = vec![Segment::Key("metadata".into()), Segment::Key("name".into())];
        for cause in &last.causes {
            let source = match cause {
                Cause::Followed { target, .. } => Some((*target, name.clone())),
                Cause::Copied { source: Some((track, field)), .. }
                | Cause::Expanded { source: track, field, .. } => {
                    let seen = trace.result.iter().find(|(other, _)| other == track).map(|(_, seen)| seen);
                    let path = FieldPath::parse(field).ok();
                    seen.zip(path)
                        .and_then(|(seen, path)| Some((*track, path.ways(&seen.node).into_iter().next()?)))
                }
                _ => None,
            };
            if let Some((track, path)) = source
                && let Some(at) = self.changes.get(&(track, path))
            {
                return (Some(*at), same_stem);
            }
        }
        (None, false)
    }
}

/// The resources whose names an event followed.
fn followed(event: &Event) -> impl Iterator<Item = Track> {
    event.causes.iter().filter_map(|cause| match cause {
        Cause::Followed { target, .. } => Some(*target),
        _ => None,
    })
}

/// Whether two names are the same but for the hashes they end in.
fn differ_by_hash(before: &str, after: &str) -> bool {
    split_hash(before).zip(split_hash(after)).is_some_and(|((a, _), (b, _))| a == b)
}
