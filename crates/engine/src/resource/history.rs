//! What a build remembers of a resource, as annotations: how kustomize hands it to functions, and gets it back.
//!
//! Within the engine these are fields. They become annotations only when a resource leaves for another program, and
//! fields again when one comes in.

use krm_function::annotations as names;
use krm_yaml::{Diagnostic, Node, Result, Text};
use serde::Deserialize;

use crate::resource::{Behavior, Origin, Resource, ResourceId};
use crate::schema::Schema;

const ENABLED: &str = "enabled";

/// Takes what is remembered from a resource's annotations into its fields, and the annotations away.
pub(crate) fn recall(resource: &mut Resource, schema: &Schema) -> Result<()> {
    let Some(annotations) = resource.node().at(["metadata", "annotations"]).and_then(Node::as_map) else {
        return Ok(());
    };
    let origin: Option<Origin> = annotations.get(names::ORIGIN).and_then(held);
    let transformations: Option<Vec<Origin>> = annotations.get(names::TRANSFORMATIONS).and_then(held);
    let notes: Vec<(Text, Text)> = annotations
        .iter()
        .filter_map(|entry| {
            let name = entry.key.text().filter(|name| name.starts_with(names::INTERNAL))?;
            Some((name.into(), entry.value.text().unwrap_or_default().into()))
        })
        .collect();
    resource.origin = origin.map(Box::new);
    resource.transformations = transformations.unwrap_or_default();
    if notes.is_empty() {
        return Ok(());
    }
    let note = |name: &str| notes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let list = |name: &str| -> Vec<Text> {
        note(name).map(|value| value.split(',').map(Text::from).collect()).unwrap_or_default()
    };
    let (names, namespaces, kinds) =
        (list(names::PREVIOUS_NAMES), list(names::PREVIOUS_NAMESPACES), list(names::PREVIOUS_KINDS));
    if names.len() != namespaces.len() || names.len() != kinds.len() {
        let message = "the annotations for earlier names, namespaces and kinds have different lengths";
        return Err(Diagnostic::error("annotations-history", message)
            .at(resource.span())
            .help(format!("remove the annotations that start with `{}`", names::INTERNAL)));
    }
    let earlier = names.into_iter().zip(namespaces).zip(kinds).map(|((name, namespace), kind)| {
        let mut gvk = resource.gvk().clone();
        gvk.kind = kind;
        let cluster_scoped = schema.is_cluster_scoped(&gvk);
        ResourceId { gvk, name, namespace, cluster_scoped }
    });
    let earlier: Vec<ResourceId> = earlier.collect();
    resource.set_previous_ids(earlier);
    resource.prefixes = list(names::PREFIXES);
    resource.suffixes = list(names::SUFFIXES);
    resource.behavior = note(names::GENERATOR_BEHAVIOR).map(Behavior::named).unwrap_or_default();
    resource.needs_hash = note(names::NEEDS_HASH_SUFFIX) == Some(ENABLED);
    resource.allow_name_change = note(names::ALLOW_NAME_CHANGE) == Some(ENABLED);
    resource.allow_kind_change = note(names::ALLOW_KIND_CHANGE) == Some(ENABLED);
    resource.from_helm = note(names::HELM_GENERATED).is_some();
    resource.edit(schema, |node| {
        if let Some(annotations) = node.at_mut(["metadata", "annotations"]) {
            for name in names::REMEMBERED {
                annotations.remove(name);
            }
        }
    });
    Ok(())
}

/// What the text of an annotation holds, if it can be read.
fn held<T: for<'n> Deserialize<'n>>(annotation: &Node) -> Option<T> {
    let documents = krm_yaml::parse_str(annotation.text()?).ok()?;
    krm_yaml::from_node_with(&documents.first()?.root, super::lenient::CONFIGURATION).ok()
}

/// The annotations that tell another program what is remembered.
pub(crate) fn annotations(resource: &Resource) -> Vec<(&'static str, String)> {
    let mut notes = Vec::new();
    let mut note = |name: &'static str, value: String| {
        if !value.is_empty() {
            notes.push((name, value));
        }
    };
    let join =
        |of: fn(&ResourceId) -> &str| resource.previous_ids().iter().map(of).collect::<Vec<_>>().join(",");
    note(names::PREVIOUS_NAMES, join(|id| &id.name));
    note(names::PREVIOUS_NAMESPACES, join(|id| id.effective_namespace()));
    note(names::PREVIOUS_KINDS, join(|id| &id.gvk.kind));
    note(names::PREFIXES, resource.prefixes.join(","));
    note(names::SUFFIXES, resource.suffixes.join(","));
    let flag = |on: bool| if on { ENABLED.to_owned() } else { String::new() };
    note(names::NEEDS_HASH_SUFFIX, flag(resource.needs_hash));
    note(names::ALLOW_NAME_CHANGE, flag(resource.allow_name_change));
    note(names::ALLOW_KIND_CHANGE, flag(resource.allow_kind_change));
    note(names::HELM_GENERATED, if resource.from_helm { "true".into() } else { String::new() });
    note(names::GENERATOR_BEHAVIOR, resource.behavior.name().unwrap_or_default().into());
    notes
}
