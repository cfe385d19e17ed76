//! Lists of resources: `v1/List`, `ConfigMapList` and their like, which only hold resources and are none themselves.

use std::collections::BTreeSet;

use krm_yaml::{Document, Node};

use super::Gvk;

/// Where a resource is in a document: the positions of the lists it is in, from the outermost. Empty for the document
/// itself.
pub(crate) type ItemPath = Vec<u32>;

/// The resources that a list holds; `None` if the node is not such a list. A resource whose kind happens to end in `List`
/// has a name.
pub(crate) fn list_items(node: &Node) -> Option<&[Node]> {
    let kind = node.get("kind").and_then(Node::text)?;
    let items = node.get("items").filter(|items| items.is_seq())?.items();
    let is_list = kind.ends_with("List")
        && node.at(["metadata", "name"]).is_none_or(Node::is_null)
        && items.iter().all(Node::is_map);
    is_list.then_some(items)
}

/// Visits each resource in a document with its path and its kind: the document itself, or the items of a list, which may
/// be lists again. An item that does not say its kind has the one that its list is for.
pub fn for_each_resource<'n>(root: &'n Node, visit: &mut dyn FnMut(&ItemPath, &'n Node, Gvk)) {
    fn go<'n>(
        node: &'n Node,
        list: &Gvk,
        path: &mut ItemPath,
        visit: &mut dyn FnMut(&ItemPath, &'n Node, Gvk),
    ) {
        let mut gvk = Gvk::of(node);
        if gvk.kind.is_empty()
            && let Some(kind) =
                list.kind.strip_suffix("List").filter(|kind| !matches!(*kind, "" | "Resource"))
        {
            let kind = kind.into();
            gvk = Gvk { kind, ..list.clone() };
        }
        let Some(items) = list_items(node) else { return visit(path, node, gvk) };
        for (at, item) in items.iter().enumerate() {
            path.push(at as u32);
            go(item, &gvk, path, visit);
            path.pop();
        }
    }
    go(root, &Gvk::default(), &mut ItemPath::new(), visit);
}

/// Puts the items of lists in place of the lists, which may hold lists again.
pub(crate) fn without_lists(nodes: Vec<Node>) -> Vec<Node> {
    fn go(node: Node, result: &mut Vec<Node>) {
        match list_items(&node) {
            Some(items) => items.iter().for_each(|item| go(item.clone(), result)),
            None => result.push(node),
        }
    }
    let mut result = Vec::with_capacity(nodes.len());
    nodes.into_iter().for_each(|node| go(node, &mut result));
    result
}

/// One list of all the resources of a file, as JSON, which has no way to write one document after the other.
pub(crate) fn json_list(documents: &[Document]) -> String {
    let roots = documents.iter().map(|document| document.root.clone()).filter(|root| !root.is_null());
    let mut list = Node::from_iter([("apiVersion", "v1"), ("kind", "List")]);
    list.set("items", Node::from(without_lists(roots.collect())));
    krm_yaml::json::pretty(&list) + "\n"
}

/// The text of a file that is to stay JSON if it was. What came into it may be written as only YAML can write it.
pub(crate) fn still_json(path: &str, before: Option<&str>, text: String, documents: &[Document]) -> String {
    let is_json = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    if !path.ends_with(".json") || before.is_some_and(|before| !is_json(before)) || is_json(&text) {
        return text;
    }
    let mut roots = documents.iter().map(|document| &document.root).filter(|root| !root.is_null());
    match (roots.next(), roots.next()) {
        (None, _) => text,
        (Some(root), None) => krm_yaml::json::pretty(root) + "\n",
        (Some(_), Some(_)) => json_list(documents),
    }
}

/// The resource at a path.
pub(crate) fn resource_at<'n>(root: &'n Node, path: &[u32]) -> &'n Node {
    path.iter().fold(root, |node, at| &node.get("items").expect("a list has items").items()[*at as usize])
}

/// The same, to be edited.
pub(crate) fn resource_at_mut<'n>(root: &'n mut Node, path: &[u32]) -> &'n mut Node {
    path.iter().fold(root, |node, at| {
        let items = node.get_mut("items").and_then(Node::as_seq_mut).expect("a list has items");
        &mut items[*at as usize]
    })
}

/// Removes resources from a document, and lists that hold nothing afterwards. `false` if the document itself is to go.
pub(crate) fn remove_resources(root: &mut Node, mut gone: BTreeSet<ItemPath>) -> bool {
    // From the last to the first, so that positions still hold.
    while let Some(path) = gone.pop_last() {
        let Some((at, list)) = path.split_last() else { return false };
        let list_node = resource_at_mut(root, list);
        let items = list_node.get_mut("items").and_then(Node::as_seq_mut).expect("a list has items");
        items.remove(*at as usize);
        if items.is_empty() {
            gone.insert(list.to_vec());
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> Node {
        krm_yaml::parse_str(text).expect("it is YAML").remove(0).root
    }

    #[test]
    fn lists_may_hold_lists_and_say_the_kind_of_their_items() {
        let root = tree(
            "kind: List\nitems:\n- {kind: A}\n- apiVersion: v1\n  kind: ConfigMapList\n  items:\n  - {metadata: {name: x}}\n",
        );
        let mut seen = Vec::new();
        for_each_resource(&root, &mut |path, _, gvk| seen.push((path.clone(), gvk)));
        assert_eq!(seen, [(vec![0], Gvk::new("", "A")), (vec![1, 0], Gvk::new("v1", "ConfigMap"))]);
    }

    #[test]
    fn a_resource_with_a_name_is_not_a_list() {
        assert!(list_items(&tree("kind: AllowList\nmetadata: {name: x}\nitems: [{a: 1}]\n")).is_none());
        assert!(list_items(&tree("kind: AllowList\nitems: [1]\n")).is_none());
    }

    #[test]
    fn lists_without_items_go() {
        let mut root = tree("kind: List\nitems:\n- {kind: A}\n- kind: List\n  items:\n  - {kind: B}\n");
        assert!(remove_resources(&mut root, BTreeSet::from([vec![1, 0]])));
        assert_eq!(root, tree("kind: List\nitems:\n- {kind: A}\n"));
        assert!(!remove_resources(&mut root, BTreeSet::from([vec![0]])));
    }
}
