//! Elements that a merge cannot pair, because they lack the key by which the elements of their list are known.

use std::borrow::Cow;

use krm_yaml::{Diagnostic, Node, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use super::lists::key_value;
use crate::resource::Gvk;
use crate::schema::{Schema, Type};

/// A list with keys that both a source and a destination have.
pub(crate) struct KeyedList<'n> {
    /// The field that holds it.
    pub field: &'n str,
    pub keys: &'n [Cow<'static, str>],
    pub source: &'n [Node],
    pub dest: &'n [Node],
}

impl KeyedList<'_> {
    /// The key that counts most.
    pub(crate) fn key(&self) -> &str {
        self.keys.first().map_or("", AsRef::as_ref)
    }

    pub(crate) fn has_key(&self, element: &Node) -> bool {
        self.keys.iter().any(|key| element.get(key).is_some_and(|value| !value.is_null()))
    }

    /// The advice to add the key, with some elements that there are.
    pub(crate) fn advice(&self, known: &str) -> String {
        let key = self.key();
        let names = self.dest.iter().map(|element| key_value(element, key));
        let names: Vec<&str> = names.filter(|name| !name.is_empty()).take(5).collect();
        match names.is_empty() {
            true => format!("add `{key}`, by which elements are {known}"),
            false => {
                format!("add `{key}`, by which elements are {known}: there is `{}`", names.join("`, `"))
            }
        }
    }
}

/// Calls a function with each element that a source has in lists with keys, and with the one of the destination that has its
/// first key, if there is one. Elements with a directive are left out.
pub(crate) fn each_element<'n>(
    source: &'n Node,
    dest: &'n Node,
    of: Type<'n>,
    see: &mut dyn FnMut(&KeyedList<'n>, &'n Node, Option<&'n Node>),
) {
    walk(source, dest, of, "", see);
}

fn walk<'n>(
    source: &'n Node,
    dest: &'n Node,
    of: Type<'n>,
    field: &'n str,
    see: &mut dyn FnMut(&KeyedList<'n>, &'n Node, Option<&'n Node>),
) {
    for entry in source.as_map().into_iter().flatten() {
        let Some(key) = entry.key.text() else { continue };
        if let (Some(below), Some(of)) = (dest.get(key), of.field(key)) {
            walk(&entry.value, below, of, key, see);
        }
    }
    let Some(keys @ [first, ..]) = of.merge_keys().filter(|_| source.is_seq()) else { return };
    let list = KeyedList { field, keys, source: source.items(), dest: dest.items() };
    let mut there: FxHashMap<&str, &Node> = FxHashMap::default();
    for element in list.dest {
        there.entry(key_value(element, first)).or_insert(element);
    }
    for element in list.source.iter().filter(|e| e.is_map() && e.get("$patch").is_none()) {
        let other = there.get(key_value(element, first)).copied().filter(|_| list.has_key(element));
        see(&list, element, other);
        if let (Some(other), Some(of)) = (other, of.items()) {
            walk(element, other, of, field, see);
        }
    }
}

/// A warning for each element of a source that is added to a list though it may be meant for one that is there.
pub(super) fn warnings(source: &Node, dest: &Node, schema: &Schema) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let Some(of) = schema.type_of(&Gvk::of(dest)) else { return found };
    each_element(source, dest, of, &mut |list, element, _| {
        if list.dest.is_empty() || list.has_key(element) || list.dest.contains(element) {
            return;
        }
        let (field, key) = (list.field, list.key());
        let message = format!("an element of `{field}` without its key `{key}` is added, not merged");
        let warning = Diagnostic::warning("merge-element-no-key", message).at(element.span());
        found.push(warning.help(list.advice("merged")));
    });
    found
}

/// The same for an update: of its elements only those that are new.
pub(super) fn new_warnings(updated: &Node, original: &Node, dest: &Node, schema: &Schema) -> Vec<Diagnostic> {
    let mut found = warnings(updated, dest, schema);
    if !found.is_empty() {
        let new: FxHashSet<Span> =
            warnings(updated, original, schema).iter().map(Diagnostic::place).collect();
        found.retain(|warning| new.contains(&warning.place()));
    }
    found
}
