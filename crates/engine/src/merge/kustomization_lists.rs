//! Lists of a kustomization that both sides changed.
//!
//! They have no key to merge by, but their entries do not depend on each other: a file, a patch, a component. If both sides
//! only add some, or one of them adds and the other removes, there is nothing to choose between.

use krm_yaml::Node;

use super::Options;
use super::comments::equals;
use super::walk::make_room;
use crate::files::is_kustomize;

/// Whether a document is a kustomization or a component. One need not say so: then its resources do.
pub(super) fn is_kustomization(root: &Node) -> bool {
    let text = |key| root.get(key).and_then(Node::text).unwrap_or_default();
    match (text("apiVersion"), text("kind")) {
        ("", "") => root.get("resources").is_some_and(Node::is_seq),
        ("", kind) => kind == "Kustomization",
        (version, kind) => is_kustomize(version) && matches!(kind, "" | "Kustomization" | "Component"),
    }
}

/// The destination's list with the entries that the update added, and without those that it removed. `None` if both sides
/// removed entries of the original: they may have changed the same one, each in its way.
pub(super) fn merged(original: Option<&Node>, updated: &Node, dest: &Node, options: Options) -> Option<Node> {
    let original = original.map_or(&[][..], Node::items);
    let lost = |side: &Node| equals(original, side.items()).contains(&None);
    if lost(updated) && lost(dest) {
        return None;
    }
    let missing_in = |list: &[Node], others: &[Node]| -> Vec<Node> {
        let pairs = list.iter().zip(equals(list, others));
        pairs.filter(|(_, equal)| equal.is_none()).map(|(item, _)| item.clone()).collect()
    };
    let removed = missing_in(original, updated.items());
    let added = missing_in(&missing_in(updated.items(), original), dest.items());
    let mut items = missing_in(dest.items(), &removed);
    let mut list = dest.clone();
    make_room(&mut list, added.iter());
    let end = if options.prepend { 0 } else { items.len() };
    items.splice(end..end, added);
    *list.as_seq_mut()? = items;
    Some(list)
}
