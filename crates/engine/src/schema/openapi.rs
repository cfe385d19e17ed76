//! A schema of the user's own, from an OpenAPI v2 document.

use std::borrow::Cow;

use krm_yaml::{Diagnostic, Node, Result};
use rustc_hash::FxHashMap;

use super::Scope;
use super::digest::{self, Field, Graph, KnownKind, Type};

const GVK: &str = "x-kubernetes-group-version-kind";

/// Reads the definitions and, from the paths, the scopes. What it does not understand it passes over: documents from
/// clusters hold much that says nothing about merging. What `known` knows counts more, if it is given.
pub(super) fn read(document: &Node, known: Option<&Graph>) -> Result<Graph> {
    if !document.is_map() {
        let message = format!("an OpenAPI document is a map, not {}", document.kind_name());
        return Err(Diagnostic::error("openapi-not-a-map", message)
            .at(document.span())
            .help("take it from `krm openapi fetch`, or write a map with `definitions`"));
    }
    let definitions = document.get("definitions");
    let mut reader = Reader { definitions, known, ..Reader::default() };
    let mut kinds: Vec<KnownKind> = Vec::new();
    for kind in known.map_or(&[][..], |known| &known.kinds) {
        let root = kind.root.map(|at| reader.copy(digest::V1_21.types, at));
        kinds.push(KnownKind { root, ..kind.clone() });
    }
    for entry in definitions.and_then(Node::as_map).into_iter().flatten() {
        let Some(name) = entry.key.text() else { continue };
        for gvk in entry.value.get(GVK).map_or(&[][..], Node::items) {
            if let Some(kind) = kind(gvk) {
                kinds.push(KnownKind { root: reader.named(name), ..kind });
            }
        }
    }
    // A kustomization's generators are merged by name whatever the user's schema says.
    let kustomization = digest::V1_21.kinds.iter().find(|kind| kind.kind == "Kustomization");
    if let Some(kind) = kustomization {
        let root = kind.root.map(|at| reader.copy(digest::V1_21.types, at));
        kinds.push(KnownKind { root, ..kind.clone() });
    }
    let names = reader.named.iter().map(|(name, at)| Field { name: Cow::Owned(name.clone()), at: *at });
    let mut names: Vec<Field> = names.collect();
    names.sort_by(|a, b| a.name.cmp(&b.name));
    kinds.sort_by(|a, b| a.key().cmp(&b.key()));
    kinds.dedup_by(|b, a| a.key() == b.key());
    for kind in scopes(document) {
        match kinds.binary_search_by(|known| known.key().cmp(&kind.key())) {
            // Any path with a namespace in it makes the kind a namespaced one.
            Ok(at) if kinds[at].scope != Some(Scope::Namespaced) => kinds[at].scope = kind.scope,
            Ok(_) => {}
            Err(at) => kinds.insert(at, kind),
        }
    }
    Ok(Graph { types: Cow::Owned(reader.types), kinds: Cow::Owned(kinds), names: Cow::Owned(names) })
}

/// A schema that a comment holds.
#[derive(Debug)]
pub(crate) struct CommentSchema {
    graph: Graph,
    root: u32,
}

impl CommentSchema {
    /// The type of the field the comment is at.
    pub(crate) fn root(&self) -> super::Type<'_> {
        self.graph.get(self.root)
    }
}

/// Reads a comment as a schema that may point at the definitions of `known`.
pub(super) fn in_comment(comment: &str, known: &Graph) -> Option<CommentSchema> {
    let json = comment.trim_start_matches('#').trim();
    if !json.starts_with('{') || !json.ends_with('}') {
        return None;
    }
    let documents = krm_yaml::parse_str(json).ok()?;
    let [document] = documents.as_slice() else { return None };
    if document.root.is_empty() {
        return None;
    }
    let mut reader = Reader { definitions: None, known: Some(known), ..Reader::default() };
    let root = reader.any(&document.root).unwrap_or_else(|| reader.reserve());
    let (kinds, names) = (Cow::Borrowed(&[][..]), Cow::Borrowed(&[][..]));
    Some(CommentSchema { graph: Graph { types: Cow::Owned(reader.types), kinds, names }, root })
}

fn kind(gvk: &Node) -> Option<KnownKind> {
    let text = |key| gvk.get(key).and_then(Node::text).map(|text| Cow::Owned(text.to_owned()));
    let group = text("group").unwrap_or_default();
    Some(KnownKind { kind: text("kind")?, group, version: text("version")?, root: None, scope: None })
}

fn scopes(document: &Node) -> impl Iterator<Item = KnownKind> {
    document.get("paths").and_then(Node::as_map).into_iter().flatten().filter_map(|entry| {
        let kind = kind(entry.value.get("get")?.get(GVK)?)?;
        let namespaced = entry.key.text()?.contains("namespaces/{namespace}");
        let scope = if namespaced { Scope::Namespaced } else { Scope::Cluster };
        Some(KnownKind { scope: Some(scope), ..kind })
    })
}

#[derive(Default)]
struct Reader<'n> {
    definitions: Option<&'n Node>,
    /// Where names are looked for first.
    known: Option<&'n Graph>,
    types: Vec<Type>,
    /// The number of each definition met so far; given before its fields are read, since types may hold themselves.
    named: FxHashMap<String, u32>,
    /// The copies made of types of another graph, by their number there.
    copies: FxHashMap<u32, u32>,
}

impl Reader<'_> {
    fn named(&mut self, name: &str) -> Option<u32> {
        if let Some(at) = self.named.get(name) {
            return Some(*at);
        }
        if let Some((known, at)) = self.known.and_then(|known| Some((known, known.named(name)?))) {
            return Some(self.copy(&known.types, at));
        }
        let definitions = self.definitions?;
        let mut schema = definitions.get(name)?;
        // Definitions that only point at others; a circle of them leads nowhere.
        for _ in 0..definitions.as_map()?.len() {
            match reference(schema) {
                Some(target) => schema = definitions.get(target)?,
                None => break,
            }
        }
        let at = self.reserve();
        self.named.insert(name.to_owned(), at);
        self.types[at as usize] = self.describe(schema);
        Some(at)
    }

    fn any(&mut self, schema: &Node) -> Option<u32> {
        // quirk(ref-siblings-do-not-count): In an OpenAPI schema, what is beside a `$ref` does not count. (kyaml
        // `openapi.Resolve`)
        if let Some(name) = reference(schema) {
            return self.named(name);
        }
        if !schema.is_map() {
            return None;
        }
        let at = self.reserve();
        self.types[at as usize] = self.describe(schema);
        Some(at)
    }

    fn reserve(&mut self) -> u32 {
        self.types.push(Type::default());
        (self.types.len() - 1) as u32
    }

    fn describe(&mut self, schema: &Node) -> Type {
        let mut fields: Vec<Field> = Vec::new();
        for entry in schema.get("properties").and_then(Node::as_map).into_iter().flatten() {
            if let (Some(name), Some(at)) = (entry.key.text(), self.any(&entry.value)) {
                fields.push(Field { name: Cow::Owned(name.to_owned()), at });
            }
        }
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        fields.dedup_by(|b, a| a.name == b.name);
        let values = schema.get("additionalProperties").and_then(|values| self.any(values));
        let is_list = schema.get("type").is_some_and(|ty| match ty.as_seq() {
            Some(types) => types.len() == 1 && types[0].text() == Some("array"),
            None => ty.text() == Some("array"),
        });
        let items = schema.get("items").filter(|_| is_list).and_then(|items| self.any(items));
        let merge = merge_keys(schema).map(Cow::Owned);
        let list_type = schema.get("x-kubernetes-list-type").and_then(Node::text);
        Type { fields: Cow::Owned(fields), values, items, merge, is_atomic: list_type == Some("atomic") }
    }

    /// Copies a type of another graph, and all it leads to.
    fn copy(&mut self, types: &[Type], at: u32) -> u32 {
        if let Some(copy) = self.copies.get(&at) {
            return *copy;
        }
        let copy = self.reserve();
        self.copies.insert(at, copy);
        let ty = &types[at as usize];
        let fields = ty.fields.iter();
        let fields = fields.map(|f| Field { at: self.copy(types, f.at), name: f.name.clone() }).collect();
        let values = ty.values.map(|at| self.copy(types, at));
        let items = ty.items.map(|at| self.copy(types, at));
        self.types[copy as usize] =
            Type { fields, values, items, merge: ty.merge.clone(), is_atomic: ty.is_atomic };
        copy
    }
}

fn reference(schema: &Node) -> Option<&str> {
    schema.get("$ref")?.text()?.strip_prefix("#/definitions/")
}

/// The keys a list is merged by: only if the strategy says `merge`.
fn merge_keys(schema: &Node) -> Option<Vec<Cow<'static, str>>> {
    let strategy = schema.get("x-kubernetes-patch-strategy")?.text()?;
    if !strategy.split(',').any(|s| s == "merge") {
        return None;
    }
    let owned = |key: &Node| key.text().map(|text| Cow::Owned(text.to_owned()));
    match schema.get("x-kubernetes-list-map-keys") {
        Some(keys) => Some(keys.items().iter().filter_map(owned).collect()),
        None => Some(schema.get("x-kubernetes-patch-merge-key").and_then(owned).into_iter().collect()),
    }
}
