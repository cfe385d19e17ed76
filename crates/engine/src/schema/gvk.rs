//! What type an object is of.

use krm_yaml::{Node, Text};

/// Group, version and kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Gvk {
    /// Empty for the core group, as of `v1`.
    pub group: Text,
    /// Without the group: `v1`.
    pub version: Text,
    /// The kind: `Deployment`.
    pub kind: Text,
}

impl Gvk {
    /// Of an `apiVersion`, which is `group/version` or a version alone.
    pub fn new(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// Of a resource; parts that are missing are empty.
    pub fn of(node: &Node) -> Self {
        let text = |key| node.get(key).and_then(Node::text).unwrap_or_default();
        Self::new(text("apiVersion"), text("kind"))
    }

    /// Whether these words say it.
    pub(crate) fn is(&self, api_version: &str, kind: &str) -> bool {
        let group = self.group.as_str();
        let version = match group.is_empty() {
            true => api_version,
            false if api_version.as_bytes().get(group.len()) != Some(&b'/') => return false,
            false if !api_version.starts_with(group) => return false,
            false => &api_version[group.len() + 1..],
        };
        self.kind == kind && self.version == version
    }

    /// As resources write it: `apps/v1`, or `v1` for the core group.
    pub fn api_version(&self) -> String {
        match self.group.is_empty() {
            true => self.version.to_string(),
            false => format!("{}/{}", self.group, self.version),
        }
    }

    /// Whether a pattern matches: an empty field of it matches anything.
    pub(crate) fn fits(&self, pattern: &Gvk) -> bool {
        let fits = |mine: &Text, wanted: &Text| wanted.is_empty() || mine == wanted;
        fits(&self.group, &pattern.group)
            && fits(&self.version, &pattern.version)
            && fits(&self.kind, &pattern.kind)
    }
}

impl std::fmt::Display for Gvk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.api_version(), self.kind)
    }
}
