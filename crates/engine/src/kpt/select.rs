//! Which resources a function gets.

use std::collections::BTreeMap;

use krm_yaml::{Node, Text};
use serde::Deserialize;

/// Criteria a resource must meet, all of them exactly; those that are empty are met by any.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Selector {
    pub api_version: Text,
    pub kind: Text,
    pub name: Text,
    pub namespace: Text,
    pub labels: BTreeMap<Text, Text>,
    pub annotations: BTreeMap<Text, Text>,
}

impl Selector {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn matches(&self, resource: &Node) -> bool {
        let text = |keys: &[&str]| resource.at(keys.iter().copied()).and_then(Node::text).unwrap_or_default();
        let fields: [(&Text, &[&str]); 4] = [
            (&self.api_version, &["apiVersion"]),
            (&self.kind, &["kind"]),
            (&self.name, &["metadata", "name"]),
            (&self.namespace, &["metadata", "namespace"]),
        ];
        let maps = [(&self.labels, "labels"), (&self.annotations, "annotations")];
        fields.iter().all(|(wanted, keys)| wanted.is_empty() || text(keys) == wanted.as_str())
            && maps.iter().all(|(wanted, field)| {
                wanted.iter().all(|(key, value)| {
                    resource.at(["metadata", field, key.as_str()]).and_then(Node::text)
                        == Some(value.as_str())
                })
            })
    }

    /// As it is written in a Kptfile.
    pub fn to_node(&self) -> Node {
        let mut node = Node::map();
        let fields = [
            ("apiVersion", &self.api_version),
            ("kind", &self.kind),
            ("name", &self.name),
            ("namespace", &self.namespace),
        ];
        for (key, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            node.set(key, Node::string(value.clone()));
        }
        for (key, map) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if !map.is_empty() {
                node.set(
                    key,
                    map.iter()
                        .map(|(key, value)| (key.clone(), Node::string(value.clone())))
                        .collect::<Node>(),
                );
            }
        }
        node
    }
}

/// Whether a function with these selectors and exclusions gets a resource. A resource that several match is given once.
pub fn selects(selectors: &[Selector], exclude: &[Selector], resource: &Node) -> bool {
    (selectors.is_empty() || selectors.iter().any(|selector| selector.matches(resource)))
        && !exclude.iter().any(|selector| !selector.is_empty() && selector.matches(resource))
}
