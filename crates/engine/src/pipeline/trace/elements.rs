//! Where the elements of a list were before a step.

use std::sync::Mutex;

use krm_function::elements::{Copies, Keys, Pairing, Repeated, USUAL_KEYS, address};
use krm_yaml::{Node, Span};
use rustc_hash::FxHashMap;

use crate::schema::Type;

/// Where the elements of lists were before a step, for lists that were asked about: a list of thousands of elements is asked
/// about for each of them. A list is known by its address, which is its own as long as the trace holds it.
#[derive(Debug, Default)]
pub(super) struct Lists(Mutex<FxHashMap<(usize, usize), Places>>);

type Places = Vec<Option<usize>>;

/// A copy of a trace finds out again: the lists may be its own.
impl Clone for Lists {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Lists {
    /// Where an element was; `None` if there was no such element.
    pub(super) fn place_before(
        &self,
        before: &[Node],
        after: &[Node],
        of: Option<Type>,
        merged: &Merged,
        index: usize,
    ) -> Option<usize> {
        if before.as_ptr() == after.as_ptr() {
            return Some(index);
        }
        let key = (before.as_ptr() as usize, after.as_ptr() as usize);
        let mut known = self.0.lock().expect("no one panics while looking for elements");
        let places = known.entry(key).or_insert_with(|| places_before(before, after, of, merged));
        places.get(index).copied().flatten()
    }
}

/// What elements were before a patch was merged into them.
pub(super) type Merged = FxHashMap<usize, Option<usize>>;

/// Where each element of a list was: as merges say, and if they do not, as the elements look.
pub(super) fn places_before(
    before: &[Node],
    after: &[Node],
    of: Option<Type>,
    merged: &Merged,
) -> Vec<Option<usize>> {
    as_merged(before, after, merged).unwrap_or_else(|| as_they_look(before, after, of))
}

/// Where each element was if it is the very same, or if merges say what it was; `None` if that is not known of each.
fn as_merged(before: &[Node], after: &[Node], merged: &Merged) -> Option<Vec<Option<usize>>> {
    if merged.is_empty() {
        return None;
    }
    // Backwards, so that the first of several is the one that is found.
    let places = before.iter().enumerate().rev();
    let places: FxHashMap<usize, usize> =
        places.filter_map(|(at, element)| Some((address(element)?, at))).collect();
    let place = |(at, element): (usize, &Node)| {
        if before.get(at).is_some_and(|here| !element.is_scalar() && here.same(element)) {
            return Some(Some(at));
        }
        let mut element = address(element)?;
        // Several patches may have been merged into it one after the other.
        loop {
            match (places.get(&element), merged.get(&element)) {
                (Some(at), _) => return Some(Some(*at)),
                (None, Some(Some(was))) => element = *was,
                (None, Some(None)) => return Some(None),
                (None, None) => return None,
            }
        }
    };
    after.iter().enumerate().map(place).collect()
}

/// Where each element was by its looks: the one with the same key, the very same one, an equal one, or, in a list without keys
/// that has as many elements as before, the one in the same place that did not move elsewhere.
fn as_they_look(before: &[Node], after: &[Node], of: Option<Type>) -> Vec<Option<usize>> {
    let mut pairing = Pairing::new(before, after);
    let declared = of.and_then(Type::merge_keys).unwrap_or_default();
    let keys = Keys { declared, usual: &USUAL_KEYS, repeated: Repeated::IsNoKey };
    let as_long = before.len() == after.len();
    if pairing.by_key(&keys).is_some() {
        for (at, (old, new)) in before.iter().zip(after).enumerate() {
            // An element with a new key is a new one, unless only its key was written: then it is still the one that was
            // written in this place of the source. What a program printed has no such place.
            let is_it = old.span() == new.span() && (as_long || !old.span().is_none());
            if is_it && pairing.found()[at].is_none() && !pairing.is_taken(at) {
                pairing.pair(at, at);
            }
        }
        return pairing.into_found();
    }
    pairing.by_value(Copies::Follow);
    if as_long && pairing.found().contains(&None) {
        for (at, has_moved) in have_moved(before, after).into_iter().enumerate() {
            if pairing.found()[at].is_none() && !has_moved {
                pairing.pair(at, at);
            }
        }
    }
    pairing.into_found()
}

/// Which elements are elsewhere now: they took their places in the source with them.
fn have_moved(before: &[Node], after: &[Node]) -> Vec<bool> {
    let mut spans: FxHashMap<Span, Vec<&Node>> = FxHashMap::default();
    for element in after {
        spans.entry(element.span()).or_default().push(element);
    }
    let is_there = |element: &Node| {
        spans.get(&element.span()).is_some_and(|others| others.iter().any(|other| other.same(element)))
    };
    before.iter().map(is_there).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(before: &str, after: &str) -> Vec<Option<usize>> {
        let list = |text: &str| krm_yaml::parse_str(text).unwrap().remove(0).root;
        let (before, after) = (list(before), list(after));
        as_they_look(before.items(), after.items(), None)
    }

    #[test]
    fn elements_are_followed_by_key_then_by_value_then_by_place() {
        let by_key = places("[{name: a, x: 1}, {name: b}]", "[{name: c}, {name: b, x: 2}, {name: a}]");
        assert_eq!(by_key, [None, Some(1), Some(0)]);
        assert_eq!(places("[{name: a}, {name: b}]", "[{name: b}, {name: c}]"), [Some(1), None]);
        assert_eq!(places("[{name: a}, {name: b}]", "[ {name: a}, {name: c}]"), [Some(0), None]);
        assert_eq!(places("[x, y, x]", "[y, x, x]"), [Some(1), Some(0), Some(2)]);
        assert_eq!(places("[x, y]", "[x, z]"), [Some(0), Some(1)]);
        assert_eq!(places("[]", "[x]"), [None]);
    }

    #[test]
    fn an_element_whose_key_is_written_in_place_is_the_same_one() {
        let source = krm_yaml::Sources::new().add("list.yaml", "[{name: a, x: 1}, {name: b}]");
        let list = krm_yaml::parse(&source).unwrap().remove(0).root;
        let mut renamed: Vec<Node> = list.items().to_vec();
        renamed[0].set("name", "c");
        assert_eq!(as_they_look(list.items(), &renamed, None)[0], Some(0));
        renamed.push("{name: d}".parse().unwrap());
        assert_eq!(as_they_look(list.items(), &renamed, None), [Some(0), Some(1), None]);
    }

    #[test]
    fn a_list_that_is_moved_as_a_whole_is_followed_by_its_address() {
        let list = krm_yaml::parse_str("[{a: 1}, {a: 1}, [], []]").unwrap().remove(0).root;
        let reversed: Vec<Node> = list.items().iter().rev().cloned().collect();
        assert_eq!(as_they_look(list.items(), &reversed, None)[2..], [Some(1), Some(0)]);
    }
}
