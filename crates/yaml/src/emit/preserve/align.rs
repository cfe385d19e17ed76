//! Which child of the edited collection was which child of the original.
//!
//! Merging pairs elements by what identifies them. Here the bytes around a child count, so it is paired with the child that
//! was read from the same location, whatever it is called now; values are compared only for those that were moved.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use crate::map::{Entry, Map};
use crate::node::{Node, Tag, Value};
use crate::scalar::resolve;
use crate::source::Span;

/// One child of the collection as it is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Its position in the edited collection.
    pub new: usize,
    /// Its position in the original; `None` if it has no text yet.
    pub old: Option<usize>,
}

/// Whether the pieces are all the children of an original of `len`, in their order.
pub(super) fn is_identity(pieces: &[Piece], len: usize) -> bool {
    pieces.len() == len && pieces.iter().enumerate().all(|(at, piece)| piece.old == Some(at))
}

/// Finds each entry of `new` in `old`: by its key, or by its place where it got another key. The pieces come in the
/// order of `new`.
pub(super) fn entries(old: &Map, new: &Map) -> Vec<Piece> {
    let in_place =
        old.len() == new.len() && old.iter().zip(new.iter()).all(|(o, n)| same_key(&o.key, &n.key));
    if in_place {
        return (0..new.len()).map(|at| Piece { new: at, old: Some(at) }).collect();
    }
    let mut taken = vec![false; old.len()];
    let mut pieces: Vec<Piece> = Vec::with_capacity(new.len());
    for (at, entry) in new.iter().enumerate() {
        let found = match entry.key.text() {
            Some(text) => old.position(text).filter(|found| same_key(&old.entries()[*found].key, &entry.key)),
            None => old.iter().position(|o| o.key == entry.key),
        };
        let found = found.filter(|found| !std::mem::replace(&mut taken[*found], true));
        pieces.push(Piece { new: at, old: found });
    }
    let places = places(old.iter().map(|entry| &entry.key), &taken);
    for piece in pieces.iter_mut().filter(|piece| piece.old.is_none()) {
        let key = &new.entries()[piece.new].key;
        let simple = key.text().is_some_and(|text| text.len() <= super::fresh::LONGEST_SIMPLE_KEY);
        let found = place(key).filter(|_| simple).and_then(|place| places.get(&place).copied());
        let found = found.filter(|found| old.entries()[*found].key.is_scalar());
        piece.old = found.filter(|found| !std::mem::replace(&mut taken[*found], true));
    }
    pieces
}

fn same_key(a: &Node, b: &Node) -> bool {
    a.text().is_some() && a.text() == b.text() && a.tag() == b.tag() || a == b
}

/// Finds each item of `new` in `old`: the same one, an equal one, one at the same place in the text, one with the same
/// first field, or the one left over between two that were found.
pub(super) fn items(old: &[Node], new: &[Node]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = (0..new.len()).map(|at| Piece { new: at, old: None }).collect();
    let mut taken = vec![false; old.len()];
    let mut pair = |pieces: &mut Vec<Piece>, new: usize, old: usize| {
        if !taken[old] && pieces[new].old.is_none() {
            taken[old] = true;
            pieces[new].old = Some(old);
        }
    };
    let shorter = old.len().min(new.len());
    let front = (0..shorter).take_while(|at| alike(&old[*at], &new[*at])).count();
    let back =
        (1..=shorter - front).take_while(|at| alike(&old[old.len() - at], &new[new.len() - at])).count();
    (0..front).for_each(|at| pair(&mut pieces, at, at));
    (1..=back).for_each(|at| pair(&mut pieces, new.len() - at, old.len() - at));
    let (olds, news) = (front..old.len() - back, front..new.len() - back);
    if olds.is_empty() || news.is_empty() {
        return pieces;
    }

    let none = vec![false; old.len()];
    let places = places(old.iter(), &none);
    for at in news.clone() {
        let found = place(&new[at]).and_then(|place| places.get(&place).copied());
        if let Some(found) = found.filter(|found| olds.contains(found)) {
            pair(&mut pieces, at, found);
        }
    }
    let mut equal: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
    olds.clone().rev().for_each(|at| equal.entry(digest(&old[at])).or_default().push(at));
    for at in news.clone().filter(|at| pieces[*at].old.is_none()).collect::<Vec<_>>() {
        let Some(candidates) = equal.get_mut(&digest(&new[at])) else { continue };
        while let Some(candidate) = candidates.pop() {
            if old[candidate] == new[at] {
                pair(&mut pieces, at, candidate);
                if pieces[at].old.is_some() {
                    break;
                }
            }
        }
    }
    let mut named: FxHashMap<(&str, &str), usize> = FxHashMap::default();
    for at in olds.clone().rev() {
        if let Some(name) = old[at].as_map().and_then(|map| field(map.entries().first()?)) {
            named.insert(name, at);
        }
    }
    for at in news.clone().filter(|at| pieces[*at].old.is_none()).collect::<Vec<_>>() {
        let names = new[at].as_map().into_iter().flat_map(|map| map.iter().filter_map(field));
        if let Some(found) = names.filter_map(|name| named.get(&name)).next() {
            pair(&mut pieces, at, *found);
        }
    }
    pair_leftovers(old.len(), &mut pieces);
    pieces
}

/// Pairs what is unpaired between two neighbours that were found, one by one and in order.
fn pair_leftovers(len: usize, pieces: &mut [Piece]) {
    let mut taken = vec![false; len];
    pieces.iter().filter_map(|piece| piece.old).for_each(|at| taken[at] = true);
    let mut next = 0;
    for piece in pieces {
        match piece.old {
            Some(at) => next = at + 1,
            None if next < len && !taken[next] => {
                piece.old = Some(next);
                next += 1;
            }
            None => {}
        }
    }
}

/// Equal in value and so in all likelihood the same.
fn alike(old: &Node, new: &Node) -> bool {
    old.same(new) || old == new
}

fn field(entry: &Entry) -> Option<(&str, &str)> {
    Some((entry.key.text()?, entry.value.text()?))
}

/// Where each of some nodes is in the text.
fn places<'n>(nodes: impl Iterator<Item = &'n Node>, taken: &[bool]) -> FxHashMap<Span, usize> {
    let free = nodes.enumerate().filter(|(at, _)| !taken[*at]);
    free.filter_map(|(at, node)| Some((place(node)?, at))).collect()
}

fn place(node: &Node) -> Option<Span> {
    (!node.span().is_none() && !node.span().is_empty()).then(|| node.span())
}

/// A number that equal trees have in common.
fn digest(node: &Node) -> u64 {
    let mut hasher = FxHasher::default();
    match node.value() {
        // Numbers may be equal and yet be written differently.
        Value::Scalar(text) => match node.tag() {
            Tag::Int => resolve::int(text).hash(&mut hasher),
            Tag::Float => resolve::float(text).map(f64::to_bits).hash(&mut hasher),
            Tag::Bool => node.as_bool().hash(&mut hasher),
            Tag::Null => {}
            _ => text.as_str().hash(&mut hasher),
        },
        Value::Seq(items) => items.iter().for_each(|item| digest(item).hash(&mut hasher)),
        Value::Map(map) => {
            let sum = map.iter().map(|e| digest(&e.key).rotate_left(7) ^ digest(&e.value).rotate_left(31));
            sum.fold(map.len() as u64, u64::wrapping_add).hash(&mut hasher);
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(texts: &[&str]) -> Vec<Node> {
        texts.iter().map(|text| Node::from(*text)).collect()
    }

    fn olds(pieces: &[Piece]) -> Vec<Option<usize>> {
        pieces.iter().map(|piece| piece.old).collect()
    }

    #[test]
    fn items_are_found_again() {
        let align = |old: &[&str], new: &[&str]| olds(&items(&list(old), &list(new)));
        assert_eq!(align(&["a", "b", "c"], &["a", "c"]), [Some(0), Some(2)]);
        assert_eq!(align(&["a", "c"], &["a", "b", "c"]), [Some(0), None, Some(1)]);
        assert_eq!(align(&["a", "b", "c"], &["c", "a", "b"]), [Some(2), Some(0), Some(1)]);
        assert_eq!(align(&["a", "b", "c"], &["a", "x", "c"]), [Some(0), Some(1), Some(2)]);
        assert_eq!(align(&["a"], &["a", "a"]), [Some(0), None]);
        assert_eq!(align(&[], &["a"]), [None]);
    }

    #[test]
    fn items_are_found_by_their_first_field() {
        let item = |name: &str, port: i32| {
            let mut node = Node::map();
            node.set("name", name);
            node.set("port", port);
            node
        };
        let old = [item("a", 1), item("b", 2), item("c", 3)];
        let new = [item("c", 30), item("n", 9), item("a", 10)];
        assert_eq!(olds(&items(&old, &new)), [Some(2), None, Some(0)]);
    }

    #[test]
    fn entries_follow_the_order_of_the_edited_map() {
        let map = |keys: &[&str]| {
            Map::from_entries(
                keys.iter().map(|k| Entry { key: Node::from(*k), value: Node::from(1) }).collect(),
            )
        };
        let (old, new) = (map(&["a", "b", "c"]), map(&["c", "x", "a", "y"]));
        let pieces = entries(&old, &new);
        let keys: Vec<_> = pieces.iter().map(|p| new.entries()[p.new].key.text().unwrap()).collect();
        assert_eq!(keys, ["c", "x", "a", "y"]);
        assert_eq!(olds(&pieces), [Some(2), None, Some(0), None]);
    }
}
