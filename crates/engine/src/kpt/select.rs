//! Which resources a function gets.

use std::collections::BTreeMap;

use krm_yaml::{Diagnostic, Entry, Failure, Node, Spanned, Text, nearest};
use serde::Deserialize;

/// Criteria a resource must meet, all of them exactly; those that are empty are met by any.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Selector {
    /// The `apiVersion`, group included.
    pub api_version: Text,
    /// The `kind`.
    pub kind: Text,
    /// The name.
    pub name: Text,
    /// The namespace, as written.
    pub namespace: Text,
    /// Labels it has; it may have more.
    pub labels: BTreeMap<Text, Text>,
    /// Annotations it has; it may have more.
    pub annotations: BTreeMap<Text, Text>,
}

impl Selector {
    /// Whether it has no criteria, and so matches everything.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The criteria that are fields, by the way to each.
    fn fields(&self) -> [(&Text, &'static [&'static str]); 4] {
        [
            (&self.api_version, &["apiVersion"]),
            (&self.kind, &["kind"]),
            (&self.name, &["metadata", "name"]),
            (&self.namespace, &["metadata", "namespace"]),
        ]
    }

    pub(crate) fn matches(&self, resource: &Node) -> bool {
        let maps = [(&self.labels, "labels"), (&self.annotations, "annotations")];
        self.fields()
            .iter()
            .all(|(wanted, keys)| wanted.is_empty() || text(resource, keys) == wanted.as_str())
            && maps.iter().all(|(wanted, field)| {
                wanted.iter().all(|(key, value)| {
                    resource.at(["metadata", field, key.as_str()]).and_then(Node::text)
                        == Some(value.as_str())
                })
            })
    }

    /// A warning for a selector that matches none of the resources, with what may have been meant.
    pub(super) fn unmatched<'r>(
        selector: &Spanned<Self>,
        resources: impl Iterator<Item = &'r Node> + Clone,
    ) -> Diagnostic {
        let criteria = selector.to_node();
        let criterion = |entry: &Entry| {
            let value =
                entry.value.text().map_or_else(|| krm_yaml::json::compact(&entry.value), str::to_owned);
            format!("`{}: {value}`", entry.key.text().unwrap_or_default())
        };
        let written: Vec<String> = criteria.as_map().into_iter().flatten().map(criterion).collect();
        let warning = Diagnostic::warning(
            "function-selector-no-match",
            format!("no resource matches {}", written.join(", ")),
        )
        .failing(Failure::NoMatch)
        .at(selector.span());
        let meant = selector.fields().into_iter().filter(|(wanted, _)| !wanted.is_empty()).find_map(
            |(wanted, keys)| {
                let there = || resources.clone().map(|resource| text(resource, keys));
                if there().any(|text| text == wanted.as_str()) { None } else { nearest(wanted, there()) }
            },
        );
        match meant {
            Some(meant) => warning.help(format!("did you mean `{meant}`?")),
            None => warning.help("the function gets no resources because of it: correct it, or leave it out"),
        }
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
pub fn selects(selectors: &[Spanned<Selector>], exclude: &[Spanned<Selector>], resource: &Node) -> bool {
    (selectors.is_empty() || selectors.iter().any(|selector| selector.matches(resource)))
        && !exclude.iter().any(|selector| !selector.is_empty() && selector.matches(resource))
}

fn text<'r>(resource: &'r Node, keys: &[&str]) -> &'r str {
    resource.at(keys.iter().copied()).and_then(Node::text).unwrap_or_default()
}
