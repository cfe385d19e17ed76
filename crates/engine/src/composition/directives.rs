//! The directives of strategic merge patches within an override: `$patch`, `$deleteFromPrimitiveList`,
//! `$setElementOrder` and `$retainKeys`.
//!
//! A transformer's type is known to nobody here, so no schema names the keys of its lists. A list that an override merely
//! states replaces the one there was; one that holds a directive is merged, its elements known by one of the usual keys.

use krm_function::elements::{ASSOCIATIVE_KEYS, NAMES};
use krm_yaml::{Diagnostic, Node, Result, Seq, Span};

const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const SET_ORDER: &str = "$setElementOrder/";
const PATCH_WORDS: [&str; 3] = ["delete", "merge", "replace"];

/// Applies the directives of an override to the transformer, and takes them out of the override: what is left of it is
/// to be merged. `order` then puts lists in the order that was asked for.
pub(super) fn apply(patch: &mut Node, config: &mut Node) -> Result<Orders> {
    let mut orders = Orders::default();
    if mentions_directive(patch) {
        Applying { orders: &mut orders }.map(patch, config, &mut Vec::new())?;
    }
    Ok(orders)
}

/// Lists to be put in order when all is merged.
#[derive(Default)]
pub(super) struct Orders(Vec<(Vec<String>, Node)>);

impl Orders {
    pub(crate) fn apply(self, config: &mut Node) {
        for (path, order) in self.0 {
            let list = path.iter().try_fold(&mut *config, |node, key| node.get_mut(key));
            if let Some(items) = list.and_then(Node::as_seq_mut) {
                let rank = |item: &Node| order.items().iter().position(|wanted| is_same(wanted, item));
                // Those that are not named stay after the one they follow.
                let mut last = 0;
                let mut ranked: Vec<(usize, Node)> = std::mem::take(items)
                    .into_iter()
                    .map(|item| {
                        last = rank(&item).unwrap_or(last);
                        (last, item)
                    })
                    .collect();
                ranked.sort_by_key(|(rank, _)| *rank);
                *items = ranked.into_iter().map(|(_, item)| item).collect();
            }
        }
    }
}

fn mentions_directive(node: &Node) -> bool {
    let in_map = node.as_map().into_iter().flatten().any(|entry| {
        entry.key.text().is_some_and(|key| key.starts_with('$')) || mentions_directive(&entry.value)
    });
    in_map || node.items().iter().any(mentions_directive)
}

struct Applying<'o> {
    orders: &'o mut Orders,
}

impl Applying<'_> {
    fn map(&mut self, patch: &mut Node, config: &mut Node, path: &mut Vec<String>) -> Result<()> {
        let Some(map) = patch.as_map_mut() else { return Ok(()) };
        let keys: Vec<(String, Span)> =
            map.iter().filter_map(|e| Some((e.key.text()?.to_owned(), e.key.span()))).collect();
        for (key, place) in keys.iter().filter(|(key, _)| key.starts_with('$')) {
            let value = patch.remove(key).unwrap_or_else(Node::null);
            self.directive(key, *place, &value, config, path)?;
        }
        for (key, _) in keys.iter().filter(|(key, _)| !key.starts_with('$')) {
            let Some(value) = patch.get_mut(key).filter(|value| mentions_directive(value)) else { continue };
            path.push(key.clone());
            let is_done = match value.is_seq() {
                true => self.list(value, config, key, path)?,
                false => self.field(value, config, key, path)?,
            };
            path.pop();
            if is_done {
                patch.remove(key);
            }
        }
        Ok(())
    }

    fn directive(
        &mut self,
        key: &str,
        place: Span,
        value: &Node,
        config: &mut Node,
        path: &[String],
    ) -> Result<()> {
        if let Some(list) = key.strip_prefix(DELETE_FROM) {
            if let Some(items) = config.get_mut(list).and_then(Node::as_seq_mut) {
                items.retain(|item| !value.items().iter().any(|gone| gone.text() == item.text()));
            }
            return Ok(());
        }
        if let Some(list) = key.strip_prefix(SET_ORDER) {
            let path = path.iter().cloned().chain([list.to_owned()]).collect();
            self.orders.0.push((path, value.clone()));
            return Ok(());
        }
        match (key, value.text()) {
            ("$patch", Some("merge")) => Ok(()),
            ("$retainKeys", None) => {
                if let Some(map) = config.as_map_mut() {
                    map.retain(|entry| value.items().iter().any(|kept| kept.text() == entry.key.text()));
                }
                Ok(())
            }
            ("$patch", Some("replace")) => {
                if let Some(map) = config.as_map_mut() {
                    // At the top it is still the transformer that was imported.
                    map.retain(|entry| {
                        path.is_empty()
                            && matches!(entry.key.text(), Some("apiVersion" | "kind" | "metadata"))
                    });
                }
                Ok(())
            }
            ("$patch", _) => Err(unknown_word(value)),
            _ => {
                let known = ["$patch", "$retainKeys", "$deleteFromPrimitiveList/", "$setElementOrder/"];
                let message = format!("there is no directive `{key}`");
                let error = Diagnostic::error("override-directive", message).at(place);
                Err(match krm_yaml::nearest(key, known) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.help(format!("directives are `{}`", known.join("`, `"))),
                })
            }
        }
    }

    /// A field of the override that is a map with directives; says whether all of it is applied.
    fn field(
        &mut self,
        value: &mut Node,
        config: &mut Node,
        key: &str,
        path: &mut Vec<String>,
    ) -> Result<bool> {
        if word(value)? == Some("delete") {
            config.remove(key);
            return Ok(true);
        }
        let mut nothing = Node::map();
        self.map(value, config.get_mut(key).unwrap_or(&mut nothing), path)?;
        Ok(false)
    }

    /// A list with directives among its elements: all of it is applied here.
    fn list(
        &mut self,
        value: &mut Node,
        config: &mut Node,
        key: &str,
        path: &mut Vec<String>,
    ) -> Result<bool> {
        let Some(elements) = value.as_seq_mut() else { return Ok(false) };
        let elements = std::mem::take(elements);
        let mut merged: Seq =
            config.get_mut(key).and_then(Node::as_seq_mut).map(std::mem::take).unwrap_or_default();
        for element in &elements {
            if word(element)? == Some("replace") {
                merged.clear();
            }
        }
        for mut element in elements {
            match word(&element)? {
                Some("replace") if element.as_map().is_some_and(|map| map.len() == 1) => {}
                Some("delete") => {
                    let before = merged.len();
                    element.remove("$patch");
                    merged.retain(|item| !is_same(&element, item));
                    if merged.len() == before {
                        let message = format!("no element of `{key}` is the one to delete");
                        return Err(Diagnostic::error("override-directive", message)
                            .at(element.span())
                            .help("name it by its key, as in `{name: old, $patch: delete}`"));
                    }
                }
                _ => match merged.iter_mut().find(|item| is_same(&element, item)) {
                    Some(item) => {
                        self.map(&mut element, item, path)?;
                        merge(item, &element);
                    }
                    None => {
                        self.map(&mut element, &mut Node::map(), path)?;
                        merged.push(element);
                    }
                },
            }
        }
        config.set(key, merged);
        Ok(true)
    }
}

/// What `$patch` says, if it exists.
fn word(node: &Node) -> Result<Option<&str>> {
    match node.get("$patch") {
        None => Ok(None),
        Some(value) => match value.text().filter(|text| PATCH_WORDS.contains(text)) {
            None => Err(unknown_word(value)),
            word => Ok(word),
        },
    }
}

fn unknown_word(value: &Node) -> Diagnostic {
    let found = value.text().map_or(value.kind_name().to_owned(), |text| format!("`{text}`"));
    let error =
        Diagnostic::error("override-directive", format!("`$patch` cannot be {found}")).at(value.span());
    match value.text().and_then(|text| krm_yaml::nearest(text, PATCH_WORDS)) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help("it is `delete`, `merge` or `replace`"),
    }
}

/// Whether an element of a list is meant: it has the same key, or, if neither has one, all the fields that are given.
///
/// This is about one element and not about two lists, as in [`krm_function::elements::Pairing`]: one directive may mean
/// several elements, and others of the list may have other keys.
fn is_same(wanted: &Node, item: &Node) -> bool {
    if !wanted.is_map() || !item.is_map() {
        return wanted.text().is_some() && wanted.text() == item.text();
    }
    match NAMES
        .into_iter()
        .chain(ASSOCIATIVE_KEYS)
        .find(|key| wanted.get(key).is_some() && item.get(key).is_some())
    {
        Some(key) => wanted.get(key).and_then(Node::text) == item.get(key).and_then(Node::text),
        None => {
            let mut fields =
                wanted.as_map().into_iter().flatten().filter(|e| e.key.text() != Some("$patch")).peekable();
            fields.peek().is_some()
                && fields.all(|e| e.key.text().and_then(|key| item.get(key)) == Some(&e.value))
        }
    }
}

/// Puts the fields of one element into another; a null takes a field away.
fn merge(into: &mut Node, element: &Node) {
    for entry in element.as_map().into_iter().flatten() {
        let Some(key) = entry.key.text() else { continue };
        match into.get_mut(key) {
            _ if entry.value.is_null() => drop(into.remove(key)),
            Some(field) if field.is_map() && entry.value.is_map() => merge(field, &entry.value),
            _ => into.set(key, entry.value.clone()),
        }
    }
}
