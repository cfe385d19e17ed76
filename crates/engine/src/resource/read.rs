//! From documents to resources: lists are split, anchors resolved, and what is not a resource is refused.

use std::collections::VecDeque;
use std::sync::Arc;

use krm_yaml::{
    Diagnostic, Document, DuplicateKeys, Entry, Failure, Map, Node, ParseOptions, Result, Source,
};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::resource::Resource;
use crate::resource::history;
use crate::schema::Schema;

/// Reads the resources of a source.
pub(crate) fn read(source: &Arc<Source>, schema: &Schema) -> Result<Vec<Resource>> {
    resources(documents(source)?, schema)
}

/// The trees of a source that resources can be [made of](of_trees).
pub(crate) fn trees(source: &Arc<Source>) -> Result<Vec<Node>> {
    Ok(documents(source)?.into_iter().map(|document| document.root).collect())
}

fn documents(source: &Arc<Source>) -> Result<Vec<Document>> {
    match krm_yaml::parse(source) {
        Ok(documents) => Ok(documents),
        // quirk(annotations-twice-last-counts): An annotation may be written twice; the last counts. (kyaml
        // `RNode.GetAnnotations`)
        Err(error) if error.failure() == Some(Failure::DuplicateKey) => {
            let options = ParseOptions::default().duplicate_keys(DuplicateKeys::Keep);
            let documents = krm_yaml::parse_with(source, options)?;
            match documents.iter().all(|document| only_annotations_twice(&document.root, Depth::Root)) {
                true => Ok(documents),
                false => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// Makes resources of documents.
pub(crate) fn resources(documents: Vec<Document>, schema: &Schema) -> Result<Vec<Resource>> {
    let has_merge_keys =
        documents.first().is_some_and(|document| may_have_merge_keys(document.source().text()));
    // Dropping the rest of a document makes the tree our own, so that edits need not copy it.
    let roots = documents.into_iter().map(|document| document.root).collect();
    match has_merge_keys {
        true => of_trees(roots, schema),
        false => of_resolved_trees(roots, schema),
    }
}

/// Makes resources of the trees of a source.
pub(crate) fn of_trees(mut trees: Vec<Node>, schema: &Schema) -> Result<Vec<Resource>> {
    trees.iter_mut().try_for_each(krm_yaml::merge_keys::resolve)?;
    of_resolved_trees(trees, schema)
}

/// The same of trees without merge keys.
fn of_resolved_trees(trees: Vec<Node>, schema: &Schema) -> Result<Vec<Resource>> {
    let only_one = trees.iter().filter(|root| !root.is_null()).count() == 1;
    let mut roots = VecDeque::from(trees);
    if let Some(wrapper) = roots.iter().find(|root| only_one && is_wrapper(root)) {
        roots = wrapper.get("items").map(Node::items).unwrap_or_default().iter().cloned().collect();
    }
    let make = |root: Node| {
        check(&root)?;
        let mut resource = Resource::new(root, schema);
        history::recall(&mut resource, schema)?;
        Ok(resource)
    };
    roots.retain(|root| !root.is_empty());
    let roots = items_of_lists_last(roots)?;
    if roots.len() >= MANY {
        // With room for what generators add: moving all of them for a few more takes longer than making those.
        let mut made: Vec<Result<Resource>> = Vec::with_capacity(roots.len() + roots.len() / 16);
        made.par_extend(roots.into_par_iter().with_min_len(MANY / 4).map(make));
        return made.into_iter().collect();
    }
    roots.into_iter().map(make).collect()
}

/// The trees of single resources in what a program printed: merge keys are resolved, lists split.
pub(crate) fn printed(text: &str, mut trees: Vec<Node>) -> Result<Vec<Node>> {
    if may_have_merge_keys(text) {
        trees.iter_mut().try_for_each(krm_yaml::merge_keys::resolve)?;
    }
    items_of_lists_last(trees.into())
}

/// Looking at the text once is cheaper than looking at every key.
fn may_have_merge_keys(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), b"<<").is_some()
}

/// Takes lists apart, which may hold lists again.
fn items_of_lists_last(mut roots: VecDeque<Node>) -> Result<Vec<Node>> {
    if !roots.iter().any(|root| list_items(root).is_some()) {
        return Ok(roots.into());
    }
    let mut result = Vec::with_capacity(roots.len());
    while let Some(root) = roots.pop_front() {
        // quirk(items-of-lists-come-last): The items of a list in a file come after all other documents of the file.
        // (`resource.Factory.inlineAnyEmbeddedLists`)
        match list_items(&root) {
            None => result.push(root),
            Some(items) if items.is_null() => {}
            Some(items) if items.is_seq() => {
                roots.extend(items.items().iter().filter(|item| !item.is_empty()).cloned());
            }
            Some(items) => {
                let kind = root.get("kind").and_then(Node::text).unwrap_or_default();
                let message = format!("`items` of {kind} must be a list, not {}", items.kind_name());
                return Err(Diagnostic::error("list-items-not-a-list", message).at(items.span()));
            }
        }
    }
    Ok(result)
}

/// From this many on, resources are made in parallel.
const MANY: usize = 256;

/// The items of a list of resources.
fn list_items(root: &Node) -> Option<&Node> {
    let kind = root.get("kind").and_then(Node::text).unwrap_or_default();
    root.get("items").filter(|_| kind.ends_with("List"))
}

/// Whether a document is read as its items.
// quirk(list-kinds-are-taken-apart): A file that holds nothing but a `List` or a `ResourceList` is read as its items.
// (kyaml `kio.ByteReader`)
fn is_wrapper(root: &Node) -> bool {
    matches!(root.get("kind").and_then(Node::text), Some("List" | "ResourceList"))
        && (root.get("items").is_some() || root.get("functionConfig").is_some())
}

/// Refuses what has no kind or name.
fn check(root: &Node) -> Result<()> {
    let has = |node: Option<&Node>| {
        node.filter(|n| !n.is_null()).and_then(Node::text).is_some_and(|text| !text.is_empty())
    };
    if root.as_map().is_none() {
        let message = format!("a resource must be a map, not {}", root.kind_name());
        let error = Diagnostic::error("not-a-resource", message).at(root.span());
        if root.items().first().is_some_and(|item| item.get("op").is_some() && item.get("path").is_some()) {
            return Err(error.help("this is a JSON patch: list it under `patches:`, with a `target:`"));
        }
        if root.is_seq() {
            return Err(error.help("write one resource after the other, with a line `---` between them"));
        }
        return Err(error.help("it has `apiVersion`, `kind` and `metadata.name`, each on a line of its own"));
    }
    let kind = root.get("kind");
    if !has(kind) {
        return Err(odd_space_or(no_kind(root), root));
    }
    let is_list = kind.and_then(Node::text).is_some_and(|kind| kind.ends_with("List"));
    match is_list || has(root.at(["metadata", "name"])) {
        true => Ok(()),
        false => Err(odd_space_or(no_name(root), root)),
    }
}

/// Names a character that looks like a space, if one in the object may be why a field is missing.
fn odd_space_or(error: Diagnostic, root: &Node) -> Diagnostic {
    let Some(odd) = krm_yaml::odd_spaces_in(root).into_iter().next() else { return error };
    let error = error.without_help().note(odd.message(), odd.place());
    odd.advice().iter().fold(error, |error, advice| error.help(advice))
}

fn no_kind(root: &Node) -> Diagnostic {
    if let Some(template) = root.get("kind").filter(|kind| is_template(kind)) {
        return not_rendered("the kind of this object", template);
    }
    if root.get("resources").is_some_and(Node::is_seq) {
        return is_kustomization(root);
    }
    Diagnostic::error("resource-no-kind", "this object has no `kind`")
        .failing(Failure::Incomplete)
        .at(root.span())
        .help("only Kubernetes objects can be resources: they have `apiVersion`, `kind` and `metadata.name`")
}

/// What is written instead of a name, and where the name should be.
fn no_name(root: &Node) -> Diagnostic {
    let kind = root.get("kind").and_then(Node::text).unwrap_or_default();
    let key = |node: Option<&Node>, name: &str| {
        let map = node.and_then(Node::as_map)?;
        map.iter().find(|entry| entry.key.text() == Some(name)).map(|entry| entry.key.span())
    };
    let (metadata, name) = (root.get("metadata"), root.at(["metadata", "name"]));
    if let Some(template) = [metadata, name].into_iter().flatten().find(|node| is_template(node)) {
        return not_rendered(&format!("the name of this {kind}"), template);
    }
    if let Some(other) = name.filter(|name| !name.is_scalar()) {
        let message = format!("the name of this {kind} must be a text, not {}", other.kind_name());
        return Diagnostic::error("resource-name-not-a-text", message)
            .at(other.span())
            .help("write `name:` and the name on one line");
    }
    if kind == "Kustomization" && root.get("resources").is_some_and(Node::is_seq) {
        return is_kustomization(root);
    }
    let error = Diagnostic::error("resource-no-name", format!("this {kind} has no `metadata.name`"));
    match (key(metadata, "name"), key(Some(root), "metadata"), key(Some(root), "name")) {
        (Some(name), ..) => error.at(name).help("write a name after it"),
        (None, Some(_), Some(outside)) => error.at(outside).help("indent `name` below `metadata:`"),
        (None, Some(at), None) => match metadata.and_then(Node::text).and_then(krm_yaml::with_space) {
            Some(meant) => error
                .at(metadata.map_or(at, Node::span))
                .help(format!("put a space after the `:`, as in `{meant}`")),
            None => error.at(at).help("add `name:` below it"),
        },
        (None, None, _) => {
            let keys = root.as_map().into_iter().flatten().map(|entry| &entry.key);
            let near =
                |key: &&Node| key.text().is_some_and(|key| krm_yaml::nearest(key, ["metadata"]).is_some());
            match keys.into_iter().find(near) {
                Some(typo) => error.at(typo.span()).help("did you mean `metadata`?"),
                None => error.at(root.span()).help("add `metadata:`, and below it `name:`"),
            }
        }
    }
}

fn is_kustomization(root: &Node) -> Diagnostic {
    Diagnostic::error("kustomization-as-resource", "this is a kustomization, not a resource")
        .failing(Failure::NotAResource)
        .at(root.span())
        .help("to include a kustomization, name its folder, not its file")
}

/// Whether this was `{{ x }}` before it was read: a map whose one key is a map.
fn is_template(node: &Node) -> bool {
    node.as_map().is_some_and(|map| map.len() == 1 && map.entries()[0].key.is_map())
}

/// Refuses a tree with `{{ x }}` anywhere in it, which cannot be written as it was meant.
pub fn refuse_templates(node: &Node) -> Result<()> {
    if is_template(node) {
        return Err(not_rendered("this", node));
    }
    node.as_map().into_iter().flatten().try_for_each(|entry| refuse_templates(&entry.value))?;
    node.items().iter().try_for_each(refuse_templates)
}

fn not_rendered(what: &str, template: &Node) -> Diagnostic {
    Diagnostic::error("template-not-rendered", format!("{what} looks like a template that was not rendered"))
        .at(template.span())
        .help("render it first, as `helm template` does, or list the chart under `helmCharts:`")
}

/// Whether a node is the root of a resource, whose `metadata` has the annotations.
#[derive(Clone, Copy, PartialEq)]
enum Depth {
    Root,
    Below,
}

/// Whether all keys written twice are annotations.
fn only_annotations_twice(node: &Node, depth: Depth) -> bool {
    let fine = |entry: &Entry| match depth == Depth::Root && entry.key.text() == Some("metadata") {
        true => entry.value.as_map().is_some_and(|meta| {
            is_distinct(meta)
                && meta.iter().all(|e| {
                    e.key.text() == Some("annotations") || only_annotations_twice(&e.value, Depth::Below)
                })
        }),
        false => only_annotations_twice(&entry.value, Depth::Below),
    };
    node.as_map().is_none_or(|map| is_distinct(map) && map.iter().all(fine))
        && node.items().iter().all(|item| only_annotations_twice(item, Depth::Below))
}

fn is_distinct(map: &Map) -> bool {
    let mut seen = FxHashSet::default();
    map.iter().all(|entry| entry.key.text().is_none_or(|key| seen.insert(key)))
}
