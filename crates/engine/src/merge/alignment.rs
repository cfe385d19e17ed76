//! Which elements of lists a merge took for one, for a trace: what was merged into what cannot always be seen from the
//! result.

use krm_function::elements::address;
use krm_yaml::{Node, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use super::walk::Sources;

/// The elements of lists that were merged, by their addresses: those of the destination, of the source and of the result.
#[derive(Clone, Debug, Default)]
pub struct Alignment {
    /// What an element of the result was in the destination; `None` if it is new.
    before: FxHashMap<usize, Option<usize>>,
    /// What the source says of an element, which is that of the destination or of the result. The same one may be in
    /// several places, so it may be several.
    sources: FxHashMap<usize, Vec<usize>>,
    /// Where the source writes the keys by which it means elements.
    keys: FxHashSet<Span>,
    /// As long as the elements are kept, their addresses are their own.
    kept: Vec<Node>,
}

impl Alignment {
    /// Records an element that was merged by some keys; without a result, it was removed.
    pub(super) fn add(&mut self, s: &Sources, merged: Option<&Node>, keys: &[&str]) {
        let [was, says, is] = [s.dest, s.origin, merged].map(|element| element.and_then(address));
        if let Some(is) = is.filter(|is| Some(*is) != was) {
            self.before.insert(is, was);
        }
        for element in [was, is].into_iter().flatten() {
            let sources = self.sources.entry(element).or_default();
            sources.extend(says.filter(|says| !sources.contains(says)));
        }
        let key = |key: &&str| s.origin.and_then(|source| source.get(key)).map(Node::span);
        self.keys.extend(keys.iter().filter_map(key).filter(|span| !span.is_none()));
        self.kept.extend([s.dest, merged].into_iter().flatten().cloned());
    }

    /// The elements of the result that are not those of the destination, each with the one it was.
    pub(crate) fn before(&self) -> impl Iterator<Item = (usize, Option<usize>)> {
        self.before.iter().map(|(is, was)| (*is, *was))
    }

    /// Whether a value in the source only says which element is meant.
    pub(crate) fn is_key(&self, value: &Node) -> bool {
        self.keys.contains(&value.span())
    }

    /// Which element of a list of the source is about an element of the destination or of the result.
    pub(crate) fn meant(&self, list: &[Node], element: &Node) -> Meant {
        match address(element).and_then(|element| self.sources.get(&element)) {
            None => Meant::Unknown,
            Some(sources) if sources.is_empty() => Meant::Nothing,
            Some(sources) => {
                let is_it = |item: &Node| address(item).is_some_and(|item| sources.contains(&item));
                list.iter().position(is_it).map_or(Meant::Unknown, Meant::At)
            }
        }
    }
}

/// What a merge knows about an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meant {
    /// This element of the source was merged into it.
    At(usize),
    /// The source says nothing about it.
    Nothing,
    /// It was not merged, or in a way that leaves no trace.
    Unknown,
}
