//! Maps: entries in the order they were written, found without a scan once there are many.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use crate::node::{Node, Tag};
use crate::text::Text;

/// From this many entries on, look-ups go through an index.
const INDEXED_FROM: usize = 24;

/// An ordered map from nodes to nodes. Keys are almost always strings, and are looked up by their text.
#[derive(Clone, Default)]
pub struct Map {
    entries: Vec<Entry>,
    /// Only if there are many entries, so that the many small maps stay small.
    index: Option<Box<OnceLock<Index>>>,
}

type Index = FxHashMap<Text, u32>;

/// A key and its value.
// In this order in memory, too: the parser reads them so.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Entry {
    /// The key, almost always a string.
    pub key: Node,
    /// What it is mapped to.
    pub value: Node,
}

impl Map {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// A map of these entries, in this order. Equal keys are not looked for.
    #[inline]
    pub fn from_entries(entries: Vec<Entry>) -> Self {
        let index = if entries.len() < INDEXED_FROM { None } else { Some(Box::default()) };
        Self { entries, index }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Entry> {
        self.entries.iter()
    }

    /// The entries, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Values for editing. Keys stay as they are; to rename one, see [`Map::rename`].
    pub fn values_mut(&mut self) -> impl Iterator<Item = (&Node, &mut Node)> {
        self.entries.iter_mut().map(|e| (&e.key, &mut e.value))
    }

    /// The entries, for rearranging at will.
    pub fn entries_mut(&mut self) -> &mut Vec<Entry> {
        // What the caller does is not to be seen from here; a map that may become large gets an index to be.
        self.index = (self.entries.len() >= INDEXED_FROM / 2).then(Box::default);
        &mut self.entries
    }

    /// The entries, in order.
    pub fn into_entries(self) -> Vec<Entry> {
        self.entries
    }

    /// Where the key is. The first of several equal ones.
    pub fn position(&self, key: &str) -> Option<usize> {
        match &self.index {
            Some(index) if self.entries.len() >= INDEXED_FROM => self.indexed_position(index, key),
            _ => self.entries.iter().position(|e| e.key.text().is_some_and(|text| is_same(text, key))),
        }
    }

    // Apart, so that the usual case need not prepare for this one.
    #[inline(never)]
    fn indexed_position(&self, index: &OnceLock<Index>, key: &str) -> Option<usize> {
        index.get_or_init(|| self.make_index()).get(key).map(|at| *at as usize)
    }

    fn make_index(&self) -> Index {
        let mut index = FxHashMap::with_capacity_and_hasher(self.entries.len(), Default::default());
        for (at, entry) in self.entries.iter().enumerate() {
            if let crate::node::Value::Scalar(text) = entry.key.value() {
                index.entry(text.clone()).or_insert(at as u32);
            }
        }
        index
    }

    /// Whether there is such a key.
    pub fn contains(&self, key: &str) -> bool {
        self.position(key).is_some()
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.position(key).map(|at| &self.entries[at].value)
    }

    /// The values of several keys, found in one pass.
    #[inline]
    pub fn get_each<const N: usize>(&self, keys: [&str; N]) -> [Option<&Node>; N] {
        if self.index.is_some() {
            return keys.map(|key| self.get(key));
        }
        let mut found = [None; N];
        for entry in &self.entries {
            let Some(text) = entry.key.text() else { continue };
            if let Some(at) = keys.iter().position(|key| is_same(text, key))
                && found[at].is_none()
            {
                found[at] = Some(&entry.value);
            }
        }
        found
    }

    /// The value of a key, for editing.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let at = self.position(key)?;
        Some(&mut self.entries[at].value)
    }

    /// The entry of a key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.position(key).map(|at| &self.entries[at])
    }

    /// The value at a position, for editing.
    pub fn value_at_mut(&mut self, at: usize) -> &mut Node {
        &mut self.entries[at].value
    }

    /// The key for editing its comments; its text must stay (see [`Map::rename`]).
    pub fn key_at_mut(&mut self, at: usize) -> &mut Node {
        &mut self.entries[at].key
    }

    /// Sets a value: in place, keeping comments and quotes ([`Node::assign`]), or at the end.
    pub fn set(&mut self, key: &str, value: Node) {
        match self.position(key) {
            Some(at) => self.entries[at].value.assign(value),
            None => self.push(Node::from(key), value),
        }
    }

    /// Appends without looking for the key.
    pub fn push(&mut self, key: Node, value: Node) {
        match &mut self.index {
            Some(index) => {
                if let (Some(index), crate::node::Value::Scalar(text)) = (index.get_mut(), key.value()) {
                    index.entry(text.clone()).or_insert(self.entries.len() as u32);
                }
            }
            None if self.entries.len() >= INDEXED_FROM / 2 => self.index = Some(Box::default()),
            None => {}
        }
        if self.entries.len() < 4 {
            // Most maps are small and grow by one: a vector of its own accord would make room for four.
            self.entries.reserve_exact(1);
        }
        self.entries.push(Entry { key, value });
    }

    /// Inserts an entry at a position, without looking for the key.
    pub fn insert_at(&mut self, at: usize, key: Node, value: Node) {
        self.entries_mut().insert(at, Entry { key, value });
    }

    /// Removes the entry of a key.
    pub fn remove(&mut self, key: &str) -> Option<Entry> {
        self.position(key).map(|at| self.remove_at(at))
    }

    /// Removes the entry at a position.
    pub fn remove_at(&mut self, at: usize) -> Entry {
        self.entries_mut().remove(at)
    }

    /// Removes the entries that are not to be kept.
    pub fn retain(&mut self, keep: impl FnMut(&mut Entry) -> bool) {
        self.entries_mut().retain_mut(keep);
    }

    /// Gives the entry at a position another key.
    pub fn rename(&mut self, at: usize, key: impl Into<Node>) {
        self.entries_mut()[at].key.assign(key.into());
    }
}

/// What `==` says. Keys are short, and asking for a comparison in general takes longer than comparing them.
#[inline]
fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    a.len() == b.len()
        && match a.len() {
            4..=8 => {
                a.first_chunk::<4>() == b.first_chunk::<4>() && a.last_chunk::<4>() == b.last_chunk::<4>()
            }
            9..=16 => {
                a.first_chunk::<8>() == b.first_chunk::<8>() && a.last_chunk::<8>() == b.last_chunk::<8>()
            }
            _ => a == b,
        }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.iter().all(|e| match e.key.text().and_then(|key| other.entry(key)) {
                Some(o) if o.key == e.key => o.value == e.value,
                None if e.key.tag() == Tag::Str => false,
                // Nulls and numbers are equal however they are written.
                _ => other.iter().any(|o| o.key == e.key && o.value == e.value),
            })
    }
}

impl std::fmt::Debug for Map {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter().map(|e| (&e.key, &e.value))).finish()
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = &'a Entry;
    type IntoIter = std::slice::Iter<'a, Entry>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_maps_stay_right_through_edits() {
        let mut map = Map::new();
        for i in 0..100 {
            map.push(Node::from(format!("k{i}")), Node::from(i));
            assert_eq!(map.get(&format!("k{i}")).and_then(Node::as_i64), Some(i.into()));
        }
        map.remove("k10").unwrap();
        map.rename(0, "first");
        assert!(map.get("k10").is_none() && map.get("k0").is_none());
        assert_eq!(map.get("k99").and_then(Node::as_i64), Some(99));
        assert_eq!(map.position("first"), Some(0));
    }

    #[test]
    fn several_keys_are_found_at_once() {
        let mut map = Map::new();
        for (at, key) in ["a", "b", "a", "metadata"].into_iter().enumerate() {
            map.push(Node::from(key), Node::from(at as i64));
        }
        let numbers = |map: &Map| map.get_each(["metadata", "a", "c"]).map(|found| found?.as_i64());
        assert_eq!(numbers(&map), [Some(3), Some(0), None], "of several equal keys the first counts");
        (0..30).for_each(|at| map.push(Node::from(format!("k{at}")), Node::null()));
        assert_eq!(numbers(&map), [Some(3), Some(0), None]);
    }
}
