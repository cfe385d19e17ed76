//! `duplicate-entry`: an entry that a list of a kustomization has twice.

use krm_yaml::{Diagnostic, Fix, Node};

use super::Check;
use super::removal::without_entry;
use crate::workspace::Layer;

/// Lists whose entries may be equal only by mistake. Builds refuse a resource that is listed twice.
const LISTS: [&str; 11] = [
    "components",
    "configurations",
    "crds",
    "images",
    "labels",
    "patches",
    "patchesJson6902",
    "patchesStrategicMerge",
    "replacements",
    "replicas",
    "transformers",
];

pub(super) fn findings(cx: &Check) -> Vec<Diagnostic> {
    let layers = cx.lint.workspace.layers().filter(|layer| cx.is_wanted(&layer.file));
    layers.flat_map(|layer| in_layer(cx, layer)).collect()
}

fn in_layer(cx: &Check, layer: &Layer) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let Some(root) = &layer.root else { return found };
    for field in LISTS {
        let items = root.get(field).map(Node::items).unwrap_or_default();
        for (at, item) in items.iter().enumerate() {
            // Long lists are lists of paths or names, and these differ early.
            if let Some(first) = items[..at].iter().find(|first| is_same(first, item)) {
                let finding =
                    Diagnostic::warning("duplicate-entry", format!("`{field}` has this entry twice"))
                        .at(item.span())
                        .note("the first is here", first.span())
                        .help("remove one of them");
                found.push(fixed(cx, finding, item));
            } else if let Some(later) = items[at + 1..].iter().find(|later| overrides(field, item, later)) {
                let name = item.get("name").and_then(Node::text).unwrap_or_default();
                let message = format!("`{field}` has another entry for `{name}`, which overrides this one");
                let finding = Diagnostic::warning("duplicate-entry", message)
                    .at(item.span())
                    .note("the other is here", later.span())
                    .help("remove one of them");
                found.push(fixed(cx, finding, item));
            }
        }
    }
    found
}

/// Whether a list has the same entry once more, or another that overrides it.
pub(super) fn has_other(field: &str, items: &[Node], item: &Node) -> bool {
    let others = items.iter().filter(|other| other.span() != item.span());
    others.into_iter().any(|other| is_same(item, other) || overrides(field, item, other))
}

fn fixed(cx: &Check, finding: Diagnostic, item: &Node) -> Diagnostic {
    match without_entry(cx, item.span(), Fix::safe("remove this one")) {
        Some(fix) => finding.fix(fix),
        None => finding,
    }
}

/// Equal as data; `./a` is `a`.
fn is_same(a: &Node, b: &Node) -> bool {
    match (a.as_str(), b.as_str()) {
        (Some(a), Some(b)) => plain(a) == plain(b),
        _ => a == b,
    }
}

fn plain(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path).trim_end_matches('/')
}

/// Whether a later entry for the same image or workload sets all that this one sets.
fn overrides(field: &str, item: &Node, later: &Node) -> bool {
    let text = |node: &Node, key: &str| node.get(key).and_then(Node::text).unwrap_or_default().to_owned();
    let is_set = |node: &Node, key: &str| !text(node, key).is_empty();
    let is_for_the_same = !text(item, "name").is_empty() && text(item, "name") == text(later, "name");
    is_for_the_same
        && match field {
            "replicas" => true,
            "images" => {
                let is_renamed = is_set(item, "newName") && text(item, "newName") != text(item, "name");
                let has_version = |node: &Node| is_set(node, "newTag") || is_set(node, "digest");
                !is_renamed && !is_set(item, "tagSuffix") && has_version(item) && has_version(later)
            }
            _ => false,
        }
}
