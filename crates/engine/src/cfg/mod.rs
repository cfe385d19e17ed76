//! Looking at configuration: drawing it, searching it, counting it, formatting it.
//!
//! Everything here works on [`Item`]s, resources with the file they are in, and gives text or a choice of items back.

pub mod blank_lines;
pub mod comment_places;
pub mod format;
pub(crate) mod quantity;
pub mod query;
pub mod tree;

use std::collections::BTreeMap;

use krm_yaml::Node;

/// The annotation of resources that are configuration for tools and never reach a cluster.
pub(crate) use krm_function::annotations::LOCAL_CONFIG;

/// A resource and where it is in a package.
#[derive(Clone, Debug)]
pub struct Item {
    /// The file, relative to the package, with `/`; empty if there is none.
    pub path: String,
    /// Its index among the documents of the file.
    pub index: usize,
    /// The resource itself.
    pub node: Node,
    /// The comments above its document, which an empty line separates from it.
    pub head: String,
    /// The comments below its document.
    pub foot: String,
}

impl Item {
    fn text(&self, keys: &[&str]) -> &str {
        self.node.at(keys.iter().copied()).and_then(Node::text).unwrap_or_default()
    }

    /// A resource that is in no file.
    pub fn of(node: Node) -> Self {
        Self { path: String::new(), index: 0, node, head: String::new(), foot: String::new() }
    }

    /// Its `kind`; empty if it has none.
    pub fn kind(&self) -> &str {
        self.text(&["kind"])
    }

    /// Its `apiVersion`, group included; empty if it has none.
    pub fn api_version(&self) -> &str {
        self.text(&["apiVersion"])
    }

    /// Its `metadata.name`; empty if it has none.
    pub fn name(&self) -> &str {
        self.text(&["metadata", "name"])
    }

    /// Its `metadata.namespace`, as written; empty if it has none.
    pub fn namespace(&self) -> &str {
        self.text(&["metadata", "namespace"])
    }

    /// Whether it is configuration for tools alone. Any value but `false` says so.
    pub fn is_local(&self) -> bool {
        let local = self.node.at(["metadata", "annotations", LOCAL_CONFIG]).and_then(Node::text);
        local.is_some_and(|value| value != "false")
    }

    /// The folder of the file; `.` for the package itself.
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or(".", |(folder, _)| folder)
    }

    /// The file without its folder; `.` if there is none.
    pub fn file(&self) -> &str {
        match self.path.rsplit_once('/') {
            Some((_, file)) => file,
            None if self.path.is_empty() => ".",
            None => &self.path,
        }
    }

    /// The file that annotations say it comes from, as functions and `cat --annotate` leave them.
    pub fn annotated_path(&self) -> &str {
        let internal = self.text(&["metadata", "annotations", krm_function::annotations::PATH]);
        match internal.is_empty() {
            true => self.text(&["metadata", "annotations", krm_function::annotations::LEGACY_PATH]),
            false => internal,
        }
    }
}

/// Which resources to show.
#[derive(Clone, Copy, Debug, Default)]
pub struct Locality {
    /// Show [local](Item::is_local) resources too.
    pub include_local: bool,
    /// Leave out those that are not local.
    pub exclude_non_local: bool,
}

impl Locality {
    /// Whether a resource is to be shown.
    pub fn keeps(self, item: &Item) -> bool {
        match item.is_local() {
            true => self.include_local,
            false => !self.exclude_non_local,
        }
    }
}

/// How many resources there are of each kind, by kind in alphabetical order.
pub fn count(items: &[Item]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    items.iter().for_each(|item| *counts.entry(item.kind()).or_default() += 1);
    counts
}
