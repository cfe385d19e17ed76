//! Comments above and below, carried over once the values are merged.
//!
//! Only then is it known what is next to what, and with that where a comment is [said already](super::between_nodes).

use std::borrow::Cow;

use krm_yaml::{Node, Result, Text};

use super::Theirs;
use super::between_nodes::{Gaps, Margins, Side};
use crate::merge::walk::{Outcome, Sources, Start, Visitor, Walk, walk};
use crate::merge::{Merged, Options, comments};
use crate::schema::Schema;

/// A merged tree with the comments that are above and below things in `theirs`: those that changed since `before`, if
/// that is known, and otherwise all. A destination's own comment above or below a field stays, and gives way to theirs on
/// a list element or a value that is new.
pub(in crate::merge) fn carried(
    merged: Merged,
    dest: &Node,
    margins: Margins,
    before: Option<&Node>,
    theirs: &Node,
    schema: &Schema,
    options: Options,
) -> Result<Merged> {
    let root = match &merged {
        Merged::Same => dest,
        Merged::Changed(root) => root,
        Merged::Deleted => return Ok(merged),
    };
    if !has_any(theirs) && !before.is_some_and(has_any) {
        return Ok(merged);
    }
    let s = Sources { dest: Some(root), origin: before, updated: Some(theirs) };
    let options = Options { as_reference: false, ..options };
    let mut state = Walk { schema, options, path: None, aligned: None };
    Ok(match walk(&mut Around { root, margins, gaps: None }, s, None, &mut state)? {
        Outcome::Set(node) => Merged::Changed(node),
        Outcome::Keep | Outcome::Clear => merged,
    })
}

/// Whether any comment is above or below anything in a tree.
fn has_any(node: &Node) -> bool {
    let says = |node: &Node| node.has_trivia() && Side::BOTH.iter().any(|side| !side.of(node).is_empty());
    says(node)
        || node.as_map().into_iter().flatten().any(|entry| says(&entry.key) || has_any(&entry.value))
        || node.items().iter().any(has_any)
}

struct Around<'n> {
    root: &'n Node,
    margins: Margins<'n>,
    /// Made when first asked for: most trees have nothing to carry.
    gaps: Option<Gaps>,
}

impl Visitor for Around<'_> {
    fn map<'n>(&mut self, s: &Sources<'n>, _: &Walk) -> Result<Start<'n>> {
        Ok(start(s))
    }

    fn list<'n>(&mut self, s: &Sources<'n>, _: &Walk) -> Result<Start<'n>> {
        Ok(start(s))
    }

    fn value(&mut self, s: &Sources, _: &Walk) -> Outcome {
        let (Some(dest), Some(theirs)) = (s.dest, s.updated) else { return Outcome::Keep };
        let wins = Theirs::win_if(s.origin.is_none_or(|before| !comments::same_values(before, theirs)));
        let around = match comments::same_values(dest, theirs) {
            true => comments::throughout(dest, s.origin, theirs, &mut |dest, before, theirs| {
                self.settle(dest, before, theirs, wins)
            }),
            false => self.settle(dest, s.origin, theirs, wins),
        };
        around.map_or(Outcome::Keep, Outcome::Set)
    }

    fn done(&mut self, s: &Sources, outcome: Outcome, _: &Walk) -> Outcome {
        let (Some(dest), Some(theirs)) = (s.dest, s.updated) else { return outcome };
        match (self.settle(dest, s.origin, theirs, Theirs::win_if(s.origin.is_none())), outcome) {
            (Some(dressed), Outcome::Set(mut node)) => {
                Side::BOTH.into_iter().for_each(|side| side.set(&mut node, side.of(&dressed).clone()));
                Outcome::Set(node)
            }
            (Some(dressed), _) => Outcome::Set(dressed),
            (None, outcome) => outcome,
        }
    }

    fn key(&mut self, keys: &Sources, _: &Walk) -> Option<Node> {
        match (keys.dest, keys.origin, keys.updated) {
            // A comment that is a schema is said to the merge, not to people.
            (_, None, Some(theirs)) if comments::is_schema(theirs) => None,
            (Some(dest), before, Some(theirs)) => self.settle(dest, before, theirs, Theirs::GiveWay),
            _ => None,
        }
    }
}

fn start<'n>(s: &Sources<'n>) -> Start<'n> {
    match (s.dest, s.updated) {
        (Some(dest), Some(_)) => {
            Start::From { dest: Some(Cow::Borrowed(dest)), origin: s.origin.map(Cow::Borrowed) }
        }
        _ => Start::Keep,
    }
}

impl Around<'_> {
    /// A node with what is above and below it settled; `None` if that is what it has.
    fn settle(&mut self, dest: &Node, before: Option<&Node>, theirs: &Node, wins: Theirs) -> Option<Node> {
        let mut settled: Option<Node> = None;
        for side in Side::BOTH {
            let none = Text::new();
            let (ours, theirs) = (side.of(dest), side.of(theirs));
            let before = before.map_or(&none, |before| side.of(before));
            if theirs == before || theirs == ours {
                continue;
            }
            let gaps = self.gaps.get_or_insert_with(|| Gaps::of(self.root, self.margins));
            let comment = match theirs.is_empty() {
                true if ours == before && gaps.take_back(dest, side) => none,
                false if ours == before || wins == Theirs::Win => match gaps.say(dest, side, theirs) {
                    Some(comment) => comment,
                    None => continue,
                },
                _ => continue,
            };
            side.set(settled.get_or_insert_with(|| dest.clone()), comment);
        }
        settled
    }
}
