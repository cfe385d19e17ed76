//! Lists merged element by element.
//!
//! Elements are not paired by [`krm_function::elements::Pairing`], which knows two lists: there are three, of a schema's keys
//! only those count that some element has, and one that an element lacks fits any value, as kustomize has it.

use std::borrow::Cow;

use krm_function::elements::PORT_KEYS;
use krm_yaml::{Node, Result, Text};
use rustc_hash::{FxHashMap, FxHashSet};

use super::two_way::is_replaced;
use super::walk::{Outcome, Sources, Visitor, Walk, walk};
use crate::schema::Type;

/// The elements of the same list in every tree: destination, origin, updated.
type Lists<'n> = [&'n [Node]; 3];
const DEST: usize = 0;
const ORIGIN: usize = 1;
const UPDATED: usize = 2;

fn lists<'n>(s: &Sources<'n>) -> Lists<'n> {
    [s.dest, s.origin, s.updated].map(|node| node.map_or(&[][..], Node::items))
}

/// The value of an element's key: empty if it has none, or a null.
pub(super) fn key_value<'n>(element: &'n Node, key: &str) -> &'n str {
    element.get(key).filter(|value| !value.is_null()).and_then(Node::text).unwrap_or_default()
}

/// The keys that any element has a value for: a list of ports without protocols is one by port alone.
pub(super) fn used_keys<'k>(lists: &Lists, keys: &'k [Cow<'static, str>]) -> Vec<&'k str> {
    let used = |key: &&str| lists.iter().any(|list| list.iter().any(|e| !key_value(e, key).is_empty()));
    keys.iter().map(|key| key.as_ref()).filter(used).collect()
}

/// Whether every element is distinguished from the others of its list by its keys: what people write. Other
/// lists are treated in ways [of their own](super::kustomize). See quirk(element-without-its-key).
pub(super) fn is_regular(s: &Sources, keys: &[Cow<'static, str>]) -> bool {
    let lists = lists(s);
    let used = used_keys(&lists, keys);
    if keys.is_empty() {
        let named = |e: &Node| !e.is_null() && e.text().is_some_and(|text| !text.is_empty());
        return lists.iter().all(|list| list.iter().all(named) && all_different(list, |e| e.text()));
    }
    if used.is_empty() {
        return lists.iter().all(|list| list.is_empty());
    }
    let named = |e: &Node| used.iter().all(|key| !key_value(e, key).is_empty());
    lists.iter().all(|list| {
        list.iter().all(named)
            && match used.as_slice() {
                [key] => all_different(list, |e| key_value(e, key)),
                keys => all_different(list, |e| keys.iter().map(|key| key_value(e, key)).collect::<Vec<_>>()),
            }
    })
}

fn all_different<'n, K: Eq + std::hash::Hash>(list: &'n [Node], key: impl Fn(&'n Node) -> K) -> bool {
    if list.len() < 2 {
        return true;
    }
    let mut seen = FxHashSet::default();
    list.iter().all(|element| seen.insert(key(element)))
}

/// Merges lists; `None` if the destination's elements stay as they are. `list` is the destination's list as it was
/// found.
pub(super) fn merge(
    visitor: &mut dyn Visitor,
    s: Sources,
    list: Option<&Node>,
    keys: &[Cow<'static, str>],
    items: Option<Type>,
    w: &mut Walk,
) -> Result<Option<Vec<Node>>> {
    let lists = lists(&s);
    let used = used_keys(&lists, keys);
    let mut pairs = pair(&lists, &used, w.options.prepend);
    if !w.options.as_reference && used.first().is_some_and(|key| PORT_KEYS.contains(key)) {
        pair_by_name(&lists, &mut pairs);
    }
    // A list that takes the place of another is merged with itself, and no element of it was there.
    let is_merged_with_itself = || s.dest.zip(s.origin).is_some_and(|(dest, origin)| dest.same(origin));
    let mut merged: Vec<Option<Node>> = Vec::with_capacity(pairs.len());
    let mut unchanged = true;
    for pair in &pairs {
        let [dest, origin, updated] = std::array::from_fn(|i| pair[i].map(|at| &lists[i][at as usize]));
        let s = Sources { dest, origin, updated };
        if w.options.as_reference && w.options.prepend && is_replaced(&s) {
            // quirk(replacing-an-element-has-no-effect): `$patch: replace` in an element of a list that has keys, such
            // as a container, changes nothing: the element there was is put back over the new one. (kyaml
            // `Walker.setAssociativeSequenceElements`, `appendListNode`)
            merged.push(dest.cloned());
            continue;
        }
        let step = || name(&s, &used);
        let outcome = w.within(step, |w| {
            let is_missing = s.dest.is_none() || s.updated.is_none();
            let missing = if is_missing { visitor.missing_element(&s, list, w) } else { None };
            missing.map_or_else(|| walk(visitor, s, items, w), Ok)
        })?;
        let outcome = match w.options.as_reference {
            true => outcome,
            false => visitor.element(&s, &used, outcome),
        };
        unchanged &= matches!(outcome, Outcome::Keep);
        merged.push(match outcome {
            Outcome::Keep => dest.cloned(),
            Outcome::Set(node) if !node.is_empty() => Some(with_keys(node, &s, &used)),
            _ => None,
        });
        if let Some(aligned) = w.aligned.as_deref_mut().filter(|_| !is_merged_with_itself()) {
            aligned.add(&s, merged.last().and_then(Option::as_ref), &used);
        }
    }
    let order = order(&lists, &pairs, used.len() > 1, w.options.prepend);
    let in_place = order.iter().enumerate().all(|(i, &at)| pairs[at][DEST] == Some(i as u32));
    if unchanged && in_place && pairs.iter().filter(|pair| pair[DEST].is_some()).count() == order.len() {
        return Ok(None);
    }
    Ok(Some(order.into_iter().filter_map(|at| merged[at].take()).collect()))
}

/// Where each pair goes.
fn order(lists: &Lists, pairs: &[Pair], many_keys: bool, prepend: bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    if prepend && many_keys {
        // quirk(lists-of-several-keys-prepend): Lists whose elements have several keys, such as ports, get new elements
        // first, then the old ones in their order. (kyaml `Walker.walkAssociativeSequence`)
        order.sort_by_key(|at| pairs[*at][DEST].map_or((0, 0), |dest| (1, dest)));
    } else if !prepend
        && !lists[UPDATED].is_empty()
        && (lists[DEST].is_empty() || pairs.iter().all(|pair| pair[DEST] == pair[ORIGIN]))
    {
        // Nobody rearranged the destination, so the update's order is taken.
        order.sort_by_key(|at| pairs[*at][UPDATED].unwrap_or(u32::MAX));
    }
    order
}

/// The same element in every list, by position.
type Pair = [Option<u32>; 3];

/// Pairs elements by their keys. A key an element does not have matches any value of another list's element, and equal
/// elements of one list are paired one by one. Elements without their first key are paired by their whole value.
fn pair(lists: &Lists, keys: &[&str], prepend: bool) -> Vec<Pair> {
    if lists[ORIGIN].is_empty() && lists[UPDATED].is_empty() {
        return (0..lists[DEST].len()).map(|at| [Some(at as u32), None, None]).collect();
    }
    struct Known<'n> {
        rest: Vec<&'n str>,
        pair: usize,
    }
    let mut known: FxHashMap<Cow<str>, Vec<Known>> = FxHashMap::default();
    let mut pairs: Vec<Pair> = Vec::new();
    let order = if prepend { [ORIGIN, UPDATED, DEST] } else { [DEST, ORIGIN, UPDATED] };
    for which in order {
        for (at, element) in lists[which].iter().enumerate() {
            let (first, rest) = match keys.split_first() {
                Some((first, rest)) => {
                    (key_value(element, first), rest.iter().map(|k| key_value(element, k)).collect())
                }
                None => (element.text().unwrap_or_default(), Vec::new()),
            };
            let first = match first {
                "" => Cow::Owned(format!("\0{}", krm_yaml::json::compact(element))),
                first => Cow::Borrowed(first),
            };
            let known = known.entry(first).or_default();
            let free = |k: &Known, pairs: &[Pair]| pairs[k.pair][which].is_none();
            let fits = |k: &Known| {
                k.rest.iter().zip(&rest).all(|(a, b): (&&str, &&str)| a == b || a.is_empty() || b.is_empty())
            };
            let found = known.iter().position(|k| free(k, &pairs) && k.rest == rest);
            let found = found.or_else(|| known.iter().position(|k| free(k, &pairs) && fits(k)));
            match found {
                Some(i) => {
                    pairs[known[i].pair][which] = Some(at as u32);
                    for (a, b) in known[i].rest.iter_mut().zip(rest) {
                        *a = if a.is_empty() { b } else { a };
                    }
                }
                None => {
                    known.push(Known { rest, pair: pairs.len() });
                    let mut pair = [None; 3];
                    pair[which] = Some(at as u32);
                    pairs.push(pair);
                }
            }
        }
    }
    pairs
}

/// Pairs ports that no number paired by their name: no two ports of a list may share one, so that a port of the same name
/// and another number is the same port with another number.
fn pair_by_name(lists: &Lists, pairs: &mut Vec<Pair>) {
    let mut known: FxHashMap<&str, usize> = FxHashMap::default();
    let mut gone = FxHashSet::default();
    for at in 0..pairs.len() {
        let elements = (0..3).filter_map(|list| Some(&lists[list][pairs[at][list]? as usize]));
        let mut names = elements.map(|element| key_value(element, "name")).filter(|name| !name.is_empty());
        let Some(name) = names.next() else { continue };
        let Some(&first) = known.get(name) else {
            known.insert(name, at);
            continue;
        };
        let (one, other) = (pairs[first], pairs[at]);
        if one.iter().zip(&other).all(|(a, b)| a.is_none() || b.is_none()) {
            pairs[first] = std::array::from_fn(|list| one[list].or(other[list]));
            gone.insert(at);
        }
    }
    let mut at = 0..;
    pairs.retain(|_| !gone.contains(&at.next().expect("numbers do not end")));
}

/// An element of several keys as a path shows it: `[containerPort=80][protocol=TCP]`.
fn name(s: &Sources, keys: &[&str]) -> Text {
    let Some(element) = s.iter().next() else { return Text::new() };
    if keys.is_empty() {
        return format!("[={}]", element.text().unwrap_or_default()).into();
    }
    let named = keys.iter().map(|key| (key, key_value(element, key))).filter(|(_, value)| !value.is_empty());
    named.map(|(key, value)| format!("[{key}={value}]")).collect::<String>().into()
}

/// The element with its keys, which stay as long as it does.
fn with_keys(mut element: Node, s: &Sources, keys: &[&str]) -> Node {
    for key in keys {
        if !element.is_map() || element.get(key).is_some() {
            continue;
        }
        let of = |node: Option<&Node>| node.and_then(Node::as_map).and_then(|map| map.entry(key)).cloned();
        if let Some(entry) = of(s.dest).or_else(|| of(s.updated)).or_else(|| of(s.origin)) {
            let at = s.dest.and_then(Node::as_map).and_then(|map| map.position(key));
            let map = element.as_map_mut().expect("just seen to be a map");
            map.insert_at(at.unwrap_or(map.len()).min(map.len()), entry.key, entry.value);
        }
    }
    element
}
