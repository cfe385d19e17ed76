//! One Kubernetes object: what identifies it now, and what did before.

pub(crate) mod comments;
pub(crate) mod fields;
pub(crate) mod history;
pub(crate) mod lenient;
pub(crate) mod linked_fields;
pub(crate) mod list;
pub(crate) mod names;
pub(crate) mod read;
pub(crate) mod string_map;
pub(crate) mod wrapper;

use krm_yaml::{Node, Span, Style, Tag, Text};
use serde::Deserialize;

use crate::resource::linked_fields::Shared;
use crate::schema::Schema;

pub use crate::schema::Gvk;

/// What identifies a resource among all others of a build.
#[derive(Clone, Debug, Default)]
pub struct ResourceId {
    /// Group, version and kind.
    pub gvk: Gvk,
    /// `metadata.name`; empty if there is none.
    pub name: Text,
    /// `metadata.namespace` as written; see [`effective_namespace`](Self::effective_namespace).
    pub namespace: Text,
    /// Known to be outside any namespace.
    pub cluster_scoped: bool,
}

/// The namespace of resources that cannot have one.
pub(crate) const NO_NAMESPACE: &str = "_non_namespaceable_";

impl ResourceId {
    /// The id of a resource. The schema says whether its kind lives in namespaces.
    pub fn of(node: &Node, schema: &Schema) -> Self {
        let gvk = Gvk::of(node);
        let meta = node.get("metadata");
        let cluster_scoped = schema.is_cluster_scoped(&gvk);
        let (name, namespace) = (unless_null(meta, "name").into(), unless_null(meta, "namespace").into());
        Self { name, namespace, gvk, cluster_scoped }
    }

    /// Updates the id from the tree; returns whether the kind is another one now.
    fn update(&mut self, node: &Node, schema: &Schema) -> bool {
        let [api_version, kind, meta] =
            node.as_map().map_or([None; 3], |map| map.get_each(["apiVersion", "kind", "metadata"]));
        let [name, namespace] =
            meta.and_then(Node::as_map).map_or([None; 2], |map| map.get_each(["name", "namespace"]));
        let is_new = !self.gvk.is(any_text(api_version), any_text(kind));
        if is_new {
            self.gvk = Gvk::of(node);
            self.cluster_scoped = schema.is_cluster_scoped(&self.gvk);
        }
        for (known, now) in [(&mut self.name, name), (&mut self.namespace, namespace)] {
            let now = any_text(now.filter(|n| !n.is_null()));
            if known != now {
                *known = now.into();
            }
        }
        is_new
    }

    /// The namespace that counts: none at all for cluster-scoped kinds, `default` if none is written.
    pub fn effective_namespace(&self) -> &str {
        match (self.cluster_scoped, self.namespace.as_str()) {
            (true, _) => NO_NAMESPACE,
            (false, "") => "default",
            (false, namespace) => namespace,
        }
    }

    pub(crate) fn same_namespace(&self, other: &ResourceId) -> bool {
        self.effective_namespace() == other.effective_namespace()
    }

    /// The same with the namespace that counts: what indexes are keyed by.
    pub(crate) fn key(&self) -> IdKey {
        IdKey { gvk: self.gvk.clone(), name: self.name.clone(), namespace: self.effective_namespace().into() }
    }
}

/// The text of a field; empty for a null, even one that is written out.
fn unless_null<'n>(map: Option<&'n Node>, key: &str) -> &'n str {
    any_text(map.and_then(|m| m.get(key)).filter(|n| !n.is_null()))
}

fn any_text(node: Option<&Node>) -> &str {
    node.and_then(Node::text).unwrap_or_default()
}

/// Where Secrets keep their values.
pub(crate) const SECRET_DATA: [&str; 2] = ["data", "stringData"];

/// Equal when group, version, kind, name and effective namespace are.
impl PartialEq for ResourceId {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.gvk == other.gvk && self.same_namespace(other)
    }
}
impl Eq for ResourceId {}

impl std::fmt::Display for ResourceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} `{}`", self.gvk.kind, self.name)?;
        match self.namespace.is_empty() {
            true => Ok(()),
            false => write!(f, " in namespace `{}`", self.namespace),
        }
    }
}

/// A [`ResourceId`] made for hashing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct IdKey {
    pub gvk: Gvk,
    pub name: Text,
    pub namespace: Text,
}

/// What happens when a generated resource meets one that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Behavior {
    #[default]
    Unspecified,
    Create,
    Replace,
    Merge,
}

impl Behavior {
    /// The behaviour with this name; unspecified for anything else.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "create" => Self::Create,
            "replace" => Self::Replace,
            "merge" => Self::Merge,
            _ => Self::Unspecified,
        }
    }

    /// Its name, if it has one.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Unspecified => None,
            Self::Create => Some("create"),
            Self::Replace => Some("replace"),
            Self::Merge => Some("merge"),
        }
    }
}

/// A resource in flight. What the build remembers about it is kept in fields, never in its annotations.
#[derive(Clone, Debug)]
pub struct Resource {
    node: Node,
    id: ResourceId,
    /// Every id it had before the present one, oldest first. (kustomize keeps namespace, name and kind of each in
    /// annotations; group and version are always today's.)
    previous: Vec<ResourceId>,
    pub(crate) prefixes: Vec<Text>,
    pub(crate) suffixes: Vec<Text>,
    pub(crate) behavior: Behavior,
    pub(crate) needs_hash: bool,
    pub(crate) allow_name_change: bool,
    pub(crate) allow_kind_change: bool,
    /// Made by a helm chart; the namespace transformer leaves such resources alone.
    pub(crate) from_helm: bool,
    /// Where it came from, and which transformers saw it; only filled in if `buildMetadata` asks for it.
    pub(crate) origin: Option<Box<Origin>>,
    pub(crate) transformations: Vec<Origin>,
    /// The vars that refer to this resource.
    pub(crate) referring_vars: Vec<Text>,
    /// Labels and annotations that change together.
    pub(crate) shared: Shared,
    /// Which one it is in a trace.
    pub track: Track,
    /// Where it is kept; `None` for one that is in no file of a package.
    pub home: Option<Box<Home>>,
}

/// A location in a package.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Home {
    /// The file: relative to the package, with slashes.
    pub path: String,
    /// Which resource of the file, from 0.
    pub index: usize,
    /// Which one of the package it is, wherever it moves: those that were read come first. `None` for one that has not been
    /// counted yet.
    pub number: Option<usize>,
    /// In a package with a Kptfile: a function made it or moved it to this file without saying which resource of the file it
    /// is to be.
    pub is_loose: bool,
}

impl Home {
    /// A location that is not counted yet.
    pub fn new(path: impl Into<String>, index: usize) -> Self {
        Self { path: path.into(), index, ..Self::default() }
    }
}

/// The number of a resource in a [trace](crate::pipeline::Trace), which identifies it whatever its name is. Without a
/// trace, no resource has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Track(u32);

impl Track {
    /// No resource, or not traced.
    pub const NONE: Track = Track(0);

    pub(crate) fn new(index: usize) -> Self {
        Self(index as u32 + 1)
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize - 1
    }
}

/// Where a resource came from, as `buildMetadata: [originAnnotations]` shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Origin {
    pub path: Text,
    pub repo: Text,
    #[serde(rename = "ref")]
    pub reference: Text,
    pub configured_in: Text,
    pub configured_by: Option<ResourceRef>,
}

/// A reference to a resource by its type and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResourceRef {
    pub api_version: Text,
    pub kind: Text,
    pub name: Text,
    pub namespace: Text,
}

impl Resource {
    /// A resource that has no history yet.
    pub fn new(node: Node, schema: &Schema) -> Self {
        let id = ResourceId::of(&node, schema);
        Self {
            node,
            id,
            previous: Vec::new(),
            prefixes: Vec::new(),
            suffixes: Vec::new(),
            behavior: Behavior::Unspecified,
            needs_hash: false,
            allow_name_change: false,
            allow_kind_change: false,
            from_helm: false,
            origin: None,
            transformations: Vec::new(),
            referring_vars: Vec::new(),
            shared: Shared::default(),
            track: Track::NONE,
            home: None,
        }
    }

    /// The tree.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The tree, without what the build remembers.
    pub fn into_node(self) -> Node {
        self.node
    }

    /// Changes the tree, and updates the id. The only way to change it, so that the id is always right.
    pub fn edit<T>(&mut self, schema: &Schema, edit: impl FnOnce(&mut Node) -> T) -> T {
        let result = edit(&mut self.node);
        if self.id.update(&self.node, schema) {
            for earlier in &mut self.previous {
                earlier.gvk.group = self.id.gvk.group.clone();
                earlier.gvk.version = self.id.gvk.version.clone();
            }
        }
        result
    }

    /// Takes its tree, to be [put back](Self::put_tree) before it is needed. The span stays known.
    pub(crate) fn take_tree(&mut self) -> Node {
        let nothing = Node::scalar("", Tag::Null, Style::Any, self.node.span());
        std::mem::replace(&mut self.node, nothing)
    }

    /// Puts its tree back. One that was changed must be [edited](Self::edit) after.
    pub(crate) fn put_tree(&mut self, tree: Node) {
        self.node = tree;
    }

    /// Updates labels and annotations that share one map after a change to any of them. To be called after anything that
    /// may change such a field in place.
    pub(crate) fn follow_shared(&mut self) {
        if !self.shared.is_empty() {
            self.shared.follow(&mut self.node);
        }
    }

    /// The id it has now.
    pub fn id(&self) -> &ResourceId {
        &self.id
    }

    /// The id it was first loaded under.
    pub fn original_id(&self) -> &ResourceId {
        self.previous.first().unwrap_or(&self.id)
    }

    /// Every id it had before, oldest first.
    pub(crate) fn previous_ids(&self) -> &[ResourceId] {
        &self.previous
    }

    /// Every id it ever had, today's last.
    pub(crate) fn all_ids(&self) -> impl Iterator<Item = &ResourceId> {
        self.previous.iter().chain([&self.id])
    }

    /// Remembers today's id before a change of name, namespace or kind.
    pub(crate) fn remember_id(&mut self) {
        let mut id = self.id.clone();
        id.namespace = id.effective_namespace().into();
        if self.previous.is_empty() {
            // Most are renamed once, and there are many of them.
            self.previous.reserve_exact(1);
        }
        self.previous.push(id);
    }

    /// Whether the build remembers anything about it.
    pub(crate) fn is_remembered(&self) -> bool {
        !self.previous.is_empty()
            || !self.prefixes.is_empty()
            || !self.suffixes.is_empty()
            || self.behavior != Behavior::Unspecified
            || self.needs_hash
            || self.allow_name_change
            || self.allow_kind_change
            || self.from_helm
            || self.origin.is_some()
    }

    /// Takes the history of another resource, as `behavior: replace` and function output do.
    pub(crate) fn inherit_ids(&mut self, other: &Resource) {
        self.previous = other.previous.clone();
    }

    /// Sets its history: resources from outside may come with one.
    pub(crate) fn set_previous_ids(&mut self, previous: Vec<ResourceId>) {
        self.previous = previous;
    }

    /// Group, version and kind.
    pub fn gvk(&self) -> &Gvk {
        &self.id.gvk
    }

    /// Its `kind`.
    pub fn kind(&self) -> &str {
        &self.id.gvk.kind
    }

    /// The name it has now.
    pub fn name(&self) -> &str {
        &self.id.name
    }

    /// The namespace it has now, as written; empty for none.
    pub fn namespace(&self) -> &str {
        &self.id.namespace
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.node.at(["metadata", "annotations", key]).and_then(Node::text)
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.node.at(["metadata", "labels", key]).and_then(Node::text)
    }

    /// Where it was written.
    pub fn span(&self) -> Span {
        self.node.span()
    }
}
