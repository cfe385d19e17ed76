//! Applying what changed between an original and an update to a destination.

use std::borrow::Cow;

use krm_yaml::{Node, Result, Span, Text};

use super::comments::between_nodes::Margins;
use super::comments::{self, Theirs, above_and_below};
use super::two_way::dressed;
use super::walk::{Outcome, Sources, Start, Visitor, Walk, is_on_a_line, to_fill, walk};
use super::{Merged, Options, kustomization_lists};
use crate::schema::Schema;

/// Whose change is taken if both made one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// The update's.
    #[default]
    Theirs,
    /// The destination's.
    Ours,
}

/// A field that the destination and the update both changed, to different values.
#[derive(Clone, Debug)]
pub struct Conflict {
    /// Field names, and `[name=web]` for list elements.
    pub path: Vec<Text>,
    /// What it was, if it was there.
    pub original: Option<Node>,
    /// What the destination made of it; `None` if it was removed.
    pub dest: Option<Node>,
    /// What the update made of it; `None` if it was removed.
    pub updated: Option<Node>,
    /// The nearest place that can be pointed at, if a side has none of its own.
    pub near: Span,
    /// Whose value was taken.
    pub taken: Side,
}

/// Applies the difference between `original` and `updated` to `dest`; also returns the conflicts. `side` says whose change is
/// taken if both made one.
///
/// What the update added, changed or removed is added, changed or removed; what it left alone stays as the destination
/// has it. A `null` in the destination or the update clears a field. Lists are merged element by element if the schema
/// (or [`Options::infer`]) knows what distinguishes the elements.
pub fn three_way(
    original: Option<&Node>,
    updated: &Node,
    dest: &Node,
    side: Side,
    schema: &Schema,
    options: Options,
) -> Result<(Merged, Vec<Conflict>)> {
    three_way_within(Margins::default(), original, updated, dest, side, schema, options)
}

/// The same for a destination in a document.
pub(super) fn three_way_within(
    margins: Margins,
    original: Option<&Node>,
    updated: &Node,
    dest: &Node,
    side: Side,
    schema: &Schema,
    options: Options,
) -> Result<(Merged, Vec<Conflict>)> {
    if original.is_some_and(|original| comments::same_throughout(original, updated)) {
        return Ok((Merged::Same, Vec::new()));
    }
    let s = Sources { dest: Some(dest), origin: original, updated: Some(updated) };
    let mut state = Walk { schema, options, path: Some(Vec::new()), aligned: None };
    let document = match kustomization_lists::is_kustomization(dest) {
        true => DocumentKind::Kustomization,
        false => DocumentKind::Resource,
    };
    let mut visitor = ThreeWay { document, side, conflicts: Vec::new() };
    let merged = match walk(&mut visitor, s, None, &mut state)? {
        Outcome::Keep => Merged::Same,
        Outcome::Clear => Merged::Deleted,
        Outcome::Set(node) => Merged::Changed(node),
    };
    let merged = above_and_below::carried(merged, dest, margins, original, updated, schema, options)?;
    Ok((merged, outermost(visitor.conflicts)))
}

/// Conflicts without those that are part of another: an element that was removed and changed says it all.
fn outermost(conflicts: Vec<Conflict>) -> Vec<Conflict> {
    let mut kept: Vec<Conflict> = Vec::with_capacity(conflicts.len());
    for conflict in conflicts {
        // They come from the outside to the inside.
        let is_within = |outer: &Conflict| {
            conflict.path.starts_with(&outer.path) && (outer.dest.is_none() || outer.updated.is_none())
        };
        if !kept.last().is_some_and(is_within) {
            kept.push(conflict);
        }
    }
    kept
}

enum DocumentKind {
    Kustomization,
    Resource,
}

struct ThreeWay {
    document: DocumentKind,
    side: Side,
    conflicts: Vec<Conflict>,
}

fn present(node: Option<&Node>) -> Option<&Node> {
    node.filter(|node| !node.is_null())
}

fn is_null(node: Option<&Node>) -> bool {
    node.is_some_and(Node::is_null)
}

impl Visitor for ThreeWay {
    fn map<'n>(&mut self, s: &Sources<'n>, walk: &Walk) -> Result<Start<'n>> {
        if s.updated.is_none()
            && let (Some(dest), Some(origin)) = (s.dest, present(s.origin))
            && !comments::same_values(dest, origin)
            && self.keeps_ours(s, walk)
        {
            return Ok(Start::Keep);
        }
        // By default, what the update changed in it is added; but it was removed on purpose.
        if s.dest.is_none() && s.origin.is_some() && s.updated.is_some() && self.keeps_ours(s, walk) {
            return Ok(Start::Keep);
        }
        Ok(match s.dest {
            _ if is_null(s.updated) || is_null(s.dest) => Start::Clear,
            None if s.updated.is_none() => Start::Clear,
            dest => start(dest, s, Node::map),
        })
    }

    fn list<'n>(&mut self, s: &Sources<'n>, walk: &Walk) -> Result<Start<'n>> {
        let removed = present(s.updated).is_none() && present(s.origin).is_some();
        if removed && s.dest.is_some() && self.keeps_ours(s, walk) {
            return Ok(Start::Keep);
        }
        // `null` in both original and update is not a change.
        let cleared = is_null(s.dest) || (is_null(s.updated) && !is_null(s.origin));
        Ok(match s.dest {
            _ if removed || cleared => Start::Clear,
            None if s.updated.is_none() => Start::Clear,
            dest => start(dest, s, Node::seq),
        })
    }

    fn value(&mut self, s: &Sources, walk: &Walk) -> Outcome {
        if is_null(s.updated) || is_null(s.dest) {
            return if s.dest.is_some() { Outcome::Clear } else { Outcome::Keep };
        }
        let changed = match (present(s.origin), present(s.updated)) {
            (None, None) => false,
            (None, Some(_)) | (Some(_), None) => true,
            // What the destination lacks comes back with a new comment, too, as it does with a new value.
            (Some(origin), Some(updated)) if s.dest.is_none() => !comments::same_throughout(origin, updated),
            (Some(origin), Some(updated)) => !comments::same_values(origin, updated),
        };
        if changed && let Some(list) = self.list_of_both(s, walk) {
            return Outcome::Set(list);
        }
        if changed && self.keeps_ours(s, walk) {
            return Outcome::Keep;
        }
        match (s.dest, present(s.updated)) {
            (None, Some(updated)) if changed => Outcome::Set(updated.clone()),
            (Some(_), None) if changed => Outcome::Clear,
            (Some(dest), Some(updated)) => {
                let origin = present(s.origin);
                if comments::same_values(dest, updated) {
                    let node = comments::with_line_comments(dest, origin, updated, Theirs::win_if(changed));
                    return node.map_or(Outcome::Keep, Outcome::Set);
                }
                let commented = comments::with_line_comment(dest, origin, updated, Theirs::win_if(changed));
                if !changed {
                    return commented.map_or(Outcome::Keep, Outcome::Set);
                }
                let value = dressed(updated, dest);
                // There is no place after a block for what was after a value.
                if is_on_a_line(&value) != is_on_a_line(dest) {
                    return Outcome::Set(value);
                }
                let like = commented.as_ref().unwrap_or(dest);
                let value = comments::replaced(&value, like).unwrap_or(value);
                let value = comments::with_equal_items_of(value, dest);
                Outcome::Set(
                    comments::with_line_comments(&value, origin, updated, Theirs::win_if(changed))
                        .unwrap_or(value),
                )
            }
            _ => Outcome::Keep,
        }
    }

    fn done(&mut self, s: &Sources, outcome: Outcome, _: &Walk) -> Outcome {
        let now = match &outcome {
            Outcome::Clear => return outcome,
            Outcome::Keep => s.dest,
            Outcome::Set(node) => Some(node),
        };
        let Some(now) = now else { return outcome };
        if is_left_over(now, s) {
            return Outcome::Clear;
        }
        let commented = match (s.dest, s.updated) {
            (Some(_), Some(updated)) if is_on_a_line(now) => {
                comments::with_line_comment(now, s.origin, updated, Theirs::win_if(s.origin.is_none()))
            }
            _ => None,
        };
        commented.map_or(outcome, Outcome::Set)
    }

    fn missing_element(&mut self, s: &Sources, list: Option<&Node>, walk: &Walk) -> Option<Outcome> {
        let origin = present(s.origin)?;
        if let (Some(dest), None) = (s.dest, s.updated) {
            // Removed without its changes it would be half an element. A comment is a change, too.
            let kept = !comments::same_throughout(origin, dest) && self.notes_conflict(s, walk);
            return Some(if kept { Outcome::Keep } else { Outcome::Clear });
        }
        let updated = present(s.updated)?;
        if comments::same_values(origin, updated) || self.keeps_ours(s, walk) {
            return Some(Outcome::Keep);
        }
        // What changed in an element does not make an element: it comes back whole. Without the list the difference is
        // added, as for any field that the destination lacks.
        list.map(|_| Outcome::Set(updated.clone()))
    }

    fn key(&mut self, keys: &Sources, _: &Walk) -> Option<Node> {
        match (keys.dest, keys.origin, keys.updated) {
            (Some(dest), origin, Some(updated)) => {
                comments::with_line_comment(dest, origin, updated, Theirs::GiveWay)
            }
            (None, _, Some(updated)) => Some(updated.clone()),
            _ => None,
        }
    }
}

/// Where the merge of a collection starts: from the destination's, or from one that is empty and otherwise like the
/// update's.
fn start<'n>(dest: Option<&'n Node>, s: &Sources<'n>, empty: fn() -> Node) -> Start<'n> {
    let dest = match (dest, s.updated) {
        (Some(dest), updated) => to_fill(dest, updated),
        (None, Some(updated)) => {
            let new = empty().with_style(updated.style()).with_span(updated.span());
            Cow::Owned(comments::replaced(&new, updated).unwrap_or(new))
        }
        (None, None) => Cow::Owned(empty()),
    };
    Start::From { dest: Some(dest), origin: s.origin.map(Cow::Borrowed) }
}

/// Whether an empty collection is only what is left of one that the update removed, or of one there was nothing to add to:
/// no empty shell stays behind. What was empty in the destination before stays so, unless the update removed it.
fn is_left_over(now: &Node, s: &Sources) -> bool {
    let was_empty = s.dest.map(Node::is_empty);
    now.is_empty()
        && s.origin.is_some_and(|origin| match was_empty {
            Some(true) => s.updated.is_none() && origin.is_empty(),
            Some(false) => s.updated.is_none(),
            None => true,
        })
}

impl ThreeWay {
    /// The changes of both sides, if they are entries of a kustomization's list and do not get in each other's way.
    fn list_of_both(&self, s: &Sources, walk: &Walk) -> Option<Node> {
        let (original, updated, dest) = (present(s.origin), present(s.updated)?, s.dest?);
        let same = |original: &Node| comments::same_values(original, dest);
        if original.is_some_and(same) || comments::same_values(updated, dest) {
            return None;
        }
        let is_list = updated.is_seq() && dest.is_seq() && original.is_none_or(Node::is_seq);
        // Entries of lists further down may contradict each other, as two literals of one key do.
        let is_own_field = walk.path.as_ref().is_some_and(|path| path.len() == 1);
        match self.document {
            DocumentKind::Kustomization if is_list && is_own_field => {
                kustomization_lists::merged(original, updated, dest, walk.options)
            }
            _ => None,
        }
    }

    /// Notes a conflict if the destination, too, changed what the update changed, and not in the same way. `true` if there
    /// is one and the destination's value is to be kept.
    fn keeps_ours(&mut self, s: &Sources, walk: &Walk) -> bool {
        let (original, updated, dest) = (present(s.origin), present(s.updated), s.dest);
        if dest == original || dest == updated || original == updated {
            return false;
        }
        self.notes_conflict(s, walk)
    }

    /// Notes a conflict. `true` if the destination's value is to be kept.
    fn notes_conflict(&mut self, s: &Sources, walk: &Walk) -> bool {
        let (original, updated, dest) = (present(s.origin), present(s.updated), s.dest);
        let near = [dest, updated, original].into_iter().flatten().next().map_or(Span::NONE, Node::span);
        self.conflicts.push(Conflict {
            path: walk.path.clone().unwrap_or_default(),
            original: original.cloned(),
            dest: dest.cloned(),
            updated: updated.cloned(),
            near,
            taken: self.side,
        });
        self.side == Side::Ours
    }
}
