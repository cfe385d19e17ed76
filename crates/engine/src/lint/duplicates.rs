//! `duplicate-entry`: an entry that a list of a kustomization has twice.

use krm_yaml::{Diagnostic, Failure, Fix, Node, decode};

use super::Check;
use super::removal::without_entry;
use crate::files::world::clean;
use crate::workspace::Layer;

/// Lists whose entries may be equal only by mistake. Builds refuse a resource, a generator or a transformer that is listed
/// twice.
const LISTS: [&str; 10] = [
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
            let first = items[..at].iter().rposition(|first| is_same(first, item));
            let first = first.filter(|first| is_redundant(cx, layer, field, item, &items[first + 1..at]));
            if let Some(first) = first.map(|first| &items[first]) {
                let finding =
                    Diagnostic::warning("duplicate-entry", format!("`{field}` has this entry twice"))
                        .failing(Failure::Unnecessary)
                        .at(item.span())
                        .note("the first is here", first.span())
                        .help("remove one of them");
                found.push(fixed(cx, finding, item));
            } else if let Some(later) = items[at + 1..].iter().find(|later| overrides(field, item, later)) {
                let name = item.get("name").and_then(Node::text).unwrap_or_default();
                let message = format!("`{field}` has another entry for `{name}`, which overrides this one");
                let finding = Diagnostic::warning("duplicate-entry", message)
                    .failing(Failure::Unnecessary)
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

/// Whether an entry does nothing that an equal one before it has not done. In between there are other entries, which may
/// have changed what this one is about.
fn is_redundant(cx: &Check, layer: &Layer, field: &str, item: &Node, between: &[Node]) -> bool {
    let names =
        |node: &Node| ["name", "newName"].map(|key| node.get(key).and_then(Node::text).map(str::to_owned));
    let shares_a_name = |other: &Node| {
        let theirs = names(other);
        names(item).iter().flatten().any(|name| theirs.iter().flatten().any(|other| other == name))
    };
    match field {
        "images" => item.get("tagSuffix").is_none() && !between.iter().any(shares_a_name),
        "replicas" => !between.iter().any(shares_a_name),
        "labels" => {
            let pairs = |node: &Node| node.get("pairs").and_then(Node::as_map).cloned().unwrap_or_default();
            let own = pairs(item);
            let sets_one = |other: &Node| {
                pairs(other).iter().any(|pair| pair.key.text().is_some_and(|key| own.contains(key)))
            };
            !between.iter().any(sets_one)
        }
        "patches" | "patchesJson6902" | "patchesStrategicMerge" | "replacements" => {
            between.is_empty() && !adds_each_time(cx, layer, item)
        }
        _ => true,
    }
}

/// Whether a patch or a replacement does more when it is applied once more: a JSON patch that adds to a list or takes from
/// it, a replacement that puts something before or after a part of a text.
fn adds_each_time(cx: &Check, layer: &Layer, item: &Node) -> bool {
    let in_file = item.get("path").and_then(Node::as_str).filter(|_| item.get("source").is_none());
    let text = match in_file {
        Some(path) => cx.lint.world.read(&clean(&layer.folder.join(path))).ok(),
        None => item.get("patch").and_then(Node::as_str).map(|text| text.as_bytes().to_vec()),
    };
    let documents = text.and_then(|text| krm_yaml::parse_str(&decode(text).ok()?).ok());
    let mut roots = documents.into_iter().flatten().map(|document| document.root).chain([item.clone()]);
    roots.any(|root| root.items().iter().any(is_one_more) || uses_part_of_a_text(&root))
}

fn is_one_more(operation: &Node) -> bool {
    let text = |key: &str| operation.get(key).and_then(Node::text).unwrap_or_default();
    let last = text("path").rsplit('/').next().unwrap_or_default();
    match text("op") {
        "add" => last == "-" || last.parse::<usize>().is_ok(),
        "remove" | "move" | "copy" => true,
        _ => false,
    }
}

fn uses_part_of_a_text(node: &Node) -> bool {
    node.get("delimiter").is_some()
        || node.items().iter().any(uses_part_of_a_text)
        || node.as_map().into_iter().flatten().any(|entry| uses_part_of_a_text(&entry.value))
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
