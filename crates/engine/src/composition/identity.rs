//! Who a transformer is: apiVersion, kind and name.

use krm_yaml::{Diagnostic, Node, Result, Span, Text};

use crate::transformers;

/// What identifies a transformer in a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    pub api_version: Text,
    pub kind: Text,
    pub name: Text,
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} `{}`", self.kind, self.name)
    }
}

/// The kinds only a Composition knows as built-ins.
pub(crate) const COMPOSITION_KINDS: [&str; 3] =
    ["ResourceAccumulator", "ResourceGenerator", "SortOrderTransformer"];

impl Identity {
    /// Reads it from a transformer, and writes into it what it left to the defaults.
    pub(crate) fn complete(node: &mut Node, place: Span) -> Result<Self> {
        if !node.is_map() {
            let message = format!("expected a transformer, found {}", node.kind_name());
            return Err(Diagnostic::error("transformer-not-an-object", message)
                .at(node.span())
                .help("write it as an object with `apiVersion`, `kind` and its own fields"));
        }
        let place = if node.span().is_none() { place } else { node.span() };
        let Some(kind) = text(node, "kind") else {
            return Err(Diagnostic::error("transformer-no-kind", "a transformer needs a `kind`").at(place));
        };
        let api_version = match text(node, "apiVersion") {
            Some(version) => version,
            None if is_builtin(&kind) => put_first(node, "apiVersion", "builtin"),
            None => {
                return Err(Diagnostic::error(
                    "transformer-no-version",
                    format!("`{kind}` needs an `apiVersion`"),
                )
                .at(place)
                .help("only built-ins may go without: they are `apiVersion: builtin`"));
            }
        };
        // Some built-ins mean it: the namespace to set, or that of what they generate.
        let namespace = node.at(["metadata", "namespace"]).filter(|_| api_version != "builtin");
        if let Some(namespace) = namespace {
            return Err(Diagnostic::error("transformer-namespace", format!("`{kind}` has a namespace"))
                .at(namespace.span())
                .help("transformers have none; leave it out"));
        }
        let written = node.at(["metadata", "name"]).and_then(Node::text).filter(|name| !name.is_empty());
        let name = match written {
            Some(name) => Text::from(name),
            None => {
                let name = Text::from(default_name(&kind));
                let Some(metadata) = node.map_at("metadata") else {
                    let found = node.get("metadata").expect("it is there, or a map would have been made");
                    let message = format!("expected a map, found {}", found.kind_name());
                    return Err(Diagnostic::error("wrong-type", message).at(found.span()));
                };
                metadata.set("name", name.clone());
                name
            }
        };
        Ok(Self { api_version, kind, name })
    }
}

pub(crate) fn is_builtin(kind: &str) -> bool {
    transformers::builtin(kind).is_some() || COMPOSITION_KINDS.contains(&kind)
}

fn text(node: &Node, key: &str) -> Option<Text> {
    node.get(key).and_then(Node::text).filter(|text| !text.is_empty()).map(Text::from)
}

fn put_first(node: &mut Node, key: &str, value: &str) -> Text {
    if let Some(map) = node.as_map_mut() {
        map.remove(key);
        map.insert_at(0, Node::from(key), Node::from(value));
    }
    Text::from(value)
}

/// A kind in kebab case, which is the name of a transformer that has none: `HTTPLoadBalancer` is `http-load-balancer`.
pub(crate) fn default_name(kind: &str) -> String {
    let letters: Vec<char> = kind.chars().collect();
    let mut name = String::new();
    for (at, c) in letters.iter().enumerate() {
        let starts_word = c.is_uppercase()
            && at > 0
            && (!letters[at - 1].is_uppercase()
                || letters.get(at + 1).is_some_and(|next| next.is_lowercase()));
        if starts_word {
            name.push('-');
        }
        name.extend(c.to_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_default_to_the_kind_in_kebab_case() {
        for (kind, name) in [
            ("Logger", "logger"),
            ("JavaApplication", "java-application"),
            ("HTTPLoadBalancer", "http-load-balancer"),
            ("PatchJson6902Transformer", "patch-json6902-transformer"),
            ("IAMPolicyGenerator", "iam-policy-generator"),
            ("SetDNS", "set-dns"),
            ("x", "x"),
        ] {
            assert_eq!(default_name(kind), name, "{kind}");
        }
    }
}
