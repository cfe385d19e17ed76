//! `buildMetadata:` says where resources came from; and whatever it says, annotations of the build itself go.

use krm_function::annotations::{ORIGIN, TRANSFORMATIONS, ends_with_build};
use krm_yaml::{Entry, Map, Node, Result, Span, Style, Tag};

use crate::pipeline::{Context, Transformer};
use crate::resource::list::Resources;
use crate::resource::string_map::string_map;
use crate::resource::{Origin, Resource, ResourceRef};

/// Writes the annotations `buildMetadata` asks for, and removes those of the build.
///
/// ```yaml
/// buildMetadata: [originAnnotations, transformerAnnotations]
/// ```
///
/// On the way every annotation becomes a string, and an empty map of them goes away, as in the reference.
// quirk(annotations-become-strings): Writing annotations turns all of them into strings and drops a map that is empty.
// (kyaml `RNode.SetAnnotations`)
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BuildMetadata {
    /// Where each is asked for.
    pub origin: Option<Span>,
    pub transformations: Option<Span>,
}

impl Transformer for BuildMetadata {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        items.edit_apart(|r| {
            if self.concerns(r) {
                let annotations = self.annotations(r);
                r.edit(cx.schema, |node| {
                    let Some(meta) = node.get_mut("metadata") else { return };
                    meta.remove("annotations");
                    if !annotations.is_empty() {
                        meta.set("annotations", Node::from(annotations));
                    }
                });
            }
            Ok(())
        })
    }
}

impl BuildMetadata {
    /// Whether anything would change: most resources are left as they are.
    fn concerns(&self, r: &Resource) -> bool {
        let writes_origin = self.origin.is_some() && r.origin.is_some();
        if writes_origin || (self.transformations.is_some() && !r.transformations.is_empty()) {
            return true;
        }
        let Some(annotations) = r.node().at(["metadata", "annotations"]) else { return false };
        let Some(map) = annotations.as_map().filter(|map| !map.is_empty()) else { return true };
        map.iter().enumerate().any(|(at, Entry { key, value })| {
            value.tag() != Tag::Str
                || value.style() == Style::Folded
                || key.tag() != Tag::Str
                || key.text().is_none_or(|key| is_of_the_build(key) || map.position(key) != Some(at))
        })
    }

    fn annotations(&self, r: &Resource) -> Map {
        let meta = r.node().get("metadata");
        let mut map = meta.and_then(|meta| string_map(meta, "annotations")).unwrap_or_default();
        map.retain(|entry| !entry.key.text().is_some_and(is_of_the_build));
        if let (Some(span), Some(origin)) = (self.origin, &r.origin) {
            map.push(ORIGIN.into(), Node::from(written(origin, "")).with_span(span));
        }
        if let Some(span) = self.transformations.filter(|_| !r.transformations.is_empty()) {
            let list: String =
                r.transformations.iter().map(|t| written(t, "  ").replacen("  ", "- ", 1)).collect();
            map.push(TRANSFORMATIONS.into(), Node::from(list).with_span(span));
        }
        map
    }
}

fn is_of_the_build(key: &str) -> bool {
    key == TRANSFORMATIONS || ends_with_build(key)
}

/// An origin as YAML, every line after an indent.
fn written(origin: &Origin, indent: &str) -> String {
    let mut text = String::new();
    let mut line = |indent: &str, key: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("{indent}{key}: {}", krm_yaml::canonical(&Node::from(value))));
        }
    };
    line(indent, "path", &origin.path);
    line(indent, "repo", &origin.repo);
    line(indent, "ref", &origin.reference);
    line(indent, "configuredIn", &origin.configured_in);
    if let Some(ResourceRef { api_version, kind, name, namespace }) = &origin.configured_by {
        text.push_str(&format!("{indent}configuredBy:\n"));
        let indent = format!("{indent}  ");
        let mut line = |key: &str, value: &str| {
            if !value.is_empty() {
                text.push_str(&format!("{indent}{key}: {}", krm_yaml::canonical(&Node::from(value))));
            }
        };
        line("apiVersion", api_version);
        line("kind", kind);
        line("name", name);
        line("namespace", namespace);
    }
    text
}
