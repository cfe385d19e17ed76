//! `json-patch-position`: a position in a list that means one element in one root, and another in another.

use std::collections::BTreeMap;

use krm_yaml::{Diagnostic, Span};

use super::Check;
use super::roots::Root;
use crate::pipeline::trace::Position;

pub(super) fn findings(cx: &Check, roots: &[Root], meant: Vec<Vec<Position>>) -> Vec<Diagnostic> {
    // By the operation and the resource: the elements, each with the first root that has it.
    type Key = (String, u32, String, String);
    let mut all: BTreeMap<Key, (Span, BTreeMap<String, String>)> = BTreeMap::new();
    for (root, meant) in roots.iter().zip(meant) {
        for Position { operation: place, resource, path, element, .. } in meant {
            let Some(source) = cx.lint.sources.get(place.file) else { continue };
            let key = (source.name().to_owned(), place.start, resource, path);
            let (_, elements) = all.entry(key).or_insert((place, BTreeMap::new()));
            elements.entry(element).or_insert_with(|| root.layer.shown.clone());
        }
    }
    let several = all.into_iter().filter(|(_, (_, elements))| elements.len() > 1);
    several
        .map(|((_, _, resource, path), (place, elements))| {
            let message = format!("`{path}` of {resource} is not the same element in every root");
            let mut finding = Diagnostic::warning("json-patch-position", message).at(place);
            for (element, root) in elements {
                finding = finding.note(format!("`{element}` in `{root}`"), Span::NONE);
            }
            finding.help("use a strategic merge patch, which finds the element by its name")
        })
        .collect()
}
