//! Elements that a merge cannot pair, because they lack the key by which the elements of their list are known.

use krm_yaml::{Diagnostic, Node, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use super::lists::key_value;
use crate::resource::Gvk;
use crate::schema::{Schema, Type};

/// A warning for each element of a source that is added to a list though it may be meant for one that is there.
pub(super) fn warnings(source: &Node, dest: &Node, schema: &Schema) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if let Some(of) = schema.type_of(&Gvk::of(dest)) {
        walk(source, dest, of, "", &mut found);
    }
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

fn walk(source: &Node, dest: &Node, of: Type, field: &str, found: &mut Vec<Diagnostic>) {
    for entry in source.as_map().into_iter().flatten() {
        let Some(key) = entry.key.text() else { continue };
        if let (Some(below), Some(of)) = (dest.get(key), of.field(key)) {
            walk(&entry.value, below, of, key, found);
        }
    }
    let (Some([first, more @ ..]), false) = (of.merge_keys(), dest.items().is_empty()) else { return };
    let has_key = |element: &Node| {
        std::iter::once(first).chain(more).any(|key| element.get(key).is_some_and(|value| !value.is_null()))
    };
    let there: FxHashMap<&str, &Node> =
        dest.items().iter().map(|element| (key_value(element, first), element)).collect();
    for element in source.items().iter().filter(|element| element.is_map() && element.get("$patch").is_none())
    {
        if has_key(element) {
            if let (Some(other), Some(of)) = (there.get(key_value(element, first)), of.items()) {
                walk(element, other, of, field, found);
            }
        } else if !dest.items().contains(element) {
            let message = format!("an element of `{field}` without its key `{first}` is added, not merged");
            let names = dest.items().iter().map(|element| key_value(element, first));
            let names: Vec<&str> = names.filter(|name| !name.is_empty()).take(5).collect();
            let warning = Diagnostic::warning("merge-element-no-key", message).at(element.span());
            found.push(match names.is_empty() {
                true => warning.help(format!("add `{first}`, by which elements are merged")),
                false => warning.help(format!(
                    "add `{first}`, by which elements are merged: there is `{}`",
                    names.join("`, `")
                )),
            });
        }
    }
}
