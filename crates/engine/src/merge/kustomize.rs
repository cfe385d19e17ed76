//! How kustomize merges lists whose elements cannot be distinguished by their keys.
//!
//! An element without its key, the same key twice, or one of several keys on some elements only: kustomize has no rule
//! for these, but what its procedure makes of them is what people's builds print, so it is followed step by step. It
//! compares every element with every other; lists people mean to write go through [`lists`](super::lists).

// quirk(element-without-its-key): Lists in which an element lacks its key, or two have the same one, follow no rule but
// the procedure: elements are compared one by one, and the last of two equal keys stays. (kyaml
// `Walker.setAssociativeSequenceElements`)

use std::borrow::Cow;

use krm_yaml::{Diagnostic, Node, Result};

use super::lists::key_value;
use super::two_way::is_replaced;
use super::walk::{Outcome, Sources, Visitor, Walk, walk};
use crate::schema::Type;

/// The lists, where a change of an element is seen wherever the list is: `origin` may be `dest` itself.
struct Lists {
    dest: Vec<Node>,
    /// `None` if the origin is the destination.
    origin: Option<Vec<Node>>,
}

impl Lists {
    fn origin(&mut self) -> &mut Vec<Node> {
        self.origin.as_mut().unwrap_or(&mut self.dest)
    }
}

/// Merges lists; `None` if the destination's elements stay as they are.
pub(super) fn merge(
    visitor: &mut dyn Visitor,
    s: Sources,
    keys: &[Cow<'static, str>],
    items: Option<Type>,
    w: &mut Walk,
) -> Result<Option<Vec<Node>>> {
    let elements = |node: Option<&Node>| node.map_or_else(Vec::new, |node| node.items().to_vec());
    let itself = s.origin.is_some_and(|origin| s.dest.is_some_and(|dest| dest.same(origin)));
    let mut lists = Lists { dest: elements(s.dest), origin: (!itself).then(|| elements(s.origin)) };
    let keys: Vec<&str> = if keys.is_empty() { vec![""] } else { keys.iter().map(AsRef::as_ref).collect() };
    let mut tuples = tuples(&mut lists, &keys, w.options.prepend);
    if keys.len() > 1 {
        complete(&mut tuples);
    }
    if tuples.is_empty() {
        return Ok(None);
    }
    let (keys, columns) = used(&tuples, &keys);
    let mut merged: Vec<Node> = Vec::new();
    for tuple in &tuples {
        let values: Vec<&str> = columns.iter().map(|&column| tuple[column].as_str()).collect();
        let Some(node) = merge_element(visitor, &mut lists, &keys, &values, items, w)? else {
            set(&mut lists.dest, None, &keys, &values)?;
            continue;
        };
        set(&mut merged, Some(&node), &keys, &values)?;
    }
    let result = match w.options.prepend {
        true => append(merged, lists.dest, &keys)?,
        false => append(lists.dest, merged, &keys)?,
    };
    let before = s.dest.map_or(&[][..], Node::items);
    let same = before.len() == result.len() && before.iter().zip(&result).all(|(a, b)| a.same(b));
    Ok((!same).then_some(result))
}

/// The values of the keys of every element, each combination once.
fn tuples(lists: &mut Lists, keys: &[&str], prepend: bool) -> Vec<Vec<String>> {
    let mut tuples: Vec<Vec<String>> = Vec::new();
    let mut seen = rustc_hash::FxHashSet::default();
    let mut add = |list: &[Node]| {
        for element in list {
            let value = |key: &&str| match *key {
                "" => element.text().unwrap_or_default().to_owned(),
                key => key_value(element, key).to_owned(),
            };
            let tuple: Vec<String> = keys.iter().map(value).collect();
            if seen.insert(tuple.clone()) {
                tuples.push(tuple);
            }
        }
    };
    if prepend {
        add(lists.origin());
    }
    add(&lists.dest);
    add(lists.origin());
    tuples
}

/// Fills what one combination lacks from others that fit it.
fn complete(tuples: &mut [Vec<String>]) {
    for i in 0..tuples.len() {
        let tuple = tuples[i].clone();
        for j in 0..tuples.len() {
            let other = &tuples[j];
            let fits = tuple.iter().zip(other).all(|(a, b)| a == b || a.is_empty() || b.is_empty());
            if fits && tuple.iter().zip(other).any(|(a, b)| a == b) {
                let full = tuple.iter().zip(other).map(|(a, b)| if a.is_empty() { b } else { a }.clone());
                let full: Vec<String> = full.collect();
                tuples[i].clone_from(&full);
                tuples[j] = full;
            }
        }
    }
}

/// The keys that any combination has a value for, and their columns; all if there are none.
fn used<'k>(tuples: &[Vec<String>], keys: &[&'k str]) -> (Vec<&'k str>, Vec<usize>) {
    let columns: Vec<usize> =
        (0..keys.len()).filter(|&column| tuples.iter().any(|tuple| !tuple[column].is_empty())).collect();
    match columns.is_empty() {
        true => (keys.to_vec(), (0..keys.len()).collect()),
        false => (columns.iter().map(|&column| keys[column]).collect(), columns),
    }
}

fn merge_element(
    visitor: &mut dyn Visitor,
    lists: &mut Lists,
    keys: &[&str],
    values: &[&str],
    items: Option<Type>,
    w: &mut Walk,
) -> Result<Option<Node>> {
    let given: Vec<(&str, &str)> = keys.iter().copied().zip(values.iter().copied()).collect();
    let some = given.iter().any(|(_, value)| !value.is_empty());
    let given: Vec<_> = given.into_iter().filter(|(_, value)| !some || !value.is_empty()).collect();
    let find = |list: &[Node]| list.iter().position(|element| is_element(element, &given));
    let (dest_at, origin_at) = (find(&lists.dest), find(lists.origin()));
    let dest = dest_at.map(|at| lists.dest[at].clone());
    let origin = origin_at.map(|at| lists.origin()[at].clone());
    // The same element is the same node, which is how a merge of a list with itself is known further down.
    let itself = lists.origin.is_none() && dest_at == origin_at;
    let s = Sources {
        dest: dest.as_ref(),
        origin: if itself { dest.as_ref() } else { origin.as_ref() },
        updated: None,
    };
    let replaced = is_replaced(&s);
    let node = match walk(visitor, s, items, w)? {
        Outcome::Keep => s.dest.cloned(),
        Outcome::Clear => None,
        Outcome::Set(node) => Some(node),
    };
    let mut node = node.filter(|node| !node.is_null() && !is_empty_map(node));
    for (key, value) in keys.iter().zip(values).filter(|(key, value)| !key.is_empty() && !value.is_empty()) {
        if let Some(node) = node.as_mut().filter(|node| node.is_map() && node.get(key).is_none()) {
            // Written as it was in the combination: a plain scalar of whatever type that is.
            let tag = krm_yaml::resolve::plain(value);
            node.set(key, Node::scalar(*value, tag, Default::default(), Default::default()));
        }
    }
    // An element that is new here may be one that the procedure lost on the way.
    if let Some(aligned) = w.aligned.as_deref_mut().filter(|_| lists.origin.is_some() && s.dest.is_some()) {
        aligned.add(&s, node.as_ref(), keys);
    }
    let Some(node) = node else { return Ok(None) };
    // The merge is one in place, so the list sees it too. See quirk(element-without-its-key).
    match (dest_at, origin_at) {
        (Some(at), _) if !replaced => lists.dest[at] = node.clone(),
        (None, Some(at)) => lists.origin()[at] = node.clone(),
        _ => {}
    }
    Ok(Some(node))
}

fn is_empty_map(node: &Node) -> bool {
    node.is_map() && node.is_empty()
}

fn text(node: &Node) -> &str {
    node.text().unwrap_or_default()
}

fn is_element(element: &Node, given: &[(&str, &str)]) -> bool {
    match given {
        [("", value), ..] => text(element) == *value,
        given => {
            element.is_map() && given.iter().all(|(key, value)| element.get(key).map(text) == Some(*value))
        }
    }
}

/// Puts an element in the place of all those that have these keys, else after the others; or removes those. Fewer values than
/// keys decide alone, and none at all drop every element.
fn set(list: &mut Vec<Node>, element: Option<&Node>, keys: &[&str], values: &[&str]) -> Result<()> {
    let of_maps =
        keys.first().is_some_and(|key| !key.is_empty()) && values.first().is_some_and(|v| !v.is_empty());
    let mut result = Vec::with_capacity(list.len());
    let mut matched = false;
    for old in list.drain(..) {
        if old.is_null() || is_empty_map(&old) {
            continue;
        }
        if !old.is_map() && of_maps {
            result.push(old);
            continue;
        }
        let mut found = false;
        for (at, key) in keys.iter().enumerate() {
            if let Some(value) = values.get(at) {
                found = has(&old, key, value)?;
            }
            if !found {
                break;
            }
        }
        match (found, element) {
            (false, _) if values.is_empty() => {}
            (false, _) => result.push(old),
            (true, None) => matched = true,
            (true, Some(element)) => {
                matched = true;
                result.push(element.clone());
            }
        }
    }
    if let Some(element) = element.filter(|element| !element.is_null() && !matched) {
        result.push(element.clone());
    }
    *list = result;
    Ok(())
}

fn has(element: &Node, key: &str, value: &str) -> Result<bool> {
    if key.is_empty() {
        return match element.is_scalar() {
            true => Ok(text(element) == value),
            false => Err(unfit(element, "a scalar")),
        };
    }
    match element.as_map() {
        Some(map) => Ok(map.get(key).is_some_and(|field| value.is_empty() || text(field) == value)),
        None => Err(unfit(element, "a map")),
    }
}

fn unfit(element: &Node, wanted: &str) -> Diagnostic {
    let message = format!("every element of this list is {wanted}, but this one is {}", element.kind_name());
    Diagnostic::error("merge-list-element", message).at(element.span())
}

/// Puts each element of one list in the place of its like in another, else after it.
fn append(mut list: Vec<Node>, elements: Vec<Node>, keys: &[&str]) -> Result<Vec<Node>> {
    for element in elements {
        if keys[0].is_empty() {
            let value = text(&element).to_owned();
            set(&mut list, Some(&element), &[""], &[&value])?;
            continue;
        }
        let Some(map) = element.as_map() else { return Err(unfit(&element, "a map")) };
        let mut values = Vec::with_capacity(keys.len());
        for key in keys {
            match map.get(key) {
                Some(value) => values.push(text(value).to_owned()),
                None => list.push(element.clone()),
            }
        }
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        if keys.len() > 1 {
            set(&mut list, None, keys, &values)?;
        }
        set(&mut list, Some(&element), keys, &values)?;
    }
    Ok(list)
}
