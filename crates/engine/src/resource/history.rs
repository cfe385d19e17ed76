//! What a build remembers of a resource, as annotations: how the reference hands it to functions, and gets it back.
//!
//! Within the engine these are fields. They become annotations only where a resource leaves for another program, and
//! fields again where one comes in.

use krm_yaml::{Diagnostic, Node, Result, Text};
use serde::Deserialize;

use crate::resource::{Behavior, Origin, Resource, ResourceId};
use crate::schema::Schema;

const DOMAIN: &str = "internal.config.kubernetes.io/";
const ENABLED: &str = "enabled";

/// The annotations that say where a resource came from, and which transformers saw it.
pub const ORIGIN: &str = "config.kubernetes.io/origin";
pub const TRANSFORMATIONS: &str = "alpha.config.kubernetes.io/transformations";

/// Takes what is remembered from a resource's annotations into its fields, and the annotations away.
pub fn recall(resource: &mut Resource, schema: &Schema) -> Result<()> {
    let Some(annotations) = resource.node().at(["metadata", "annotations"]).and_then(Node::as_map) else {
        return Ok(());
    };
    let origin: Option<Origin> = annotations.get(ORIGIN).and_then(held);
    let transformations: Option<Vec<Origin>> = annotations.get(TRANSFORMATIONS).and_then(held);
    let notes: Vec<(Text, Text)> = annotations
        .iter()
        .filter_map(|entry| {
            let name = entry.key.text()?.strip_prefix(DOMAIN)?;
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
        (list("previousNames"), list("previousNamespaces"), list("previousKinds"));
    if names.len() != namespaces.len() || names.len() != kinds.len() {
        let message = "the annotations for earlier names, namespaces and kinds are not of one length";
        return Err(Diagnostic::error("annotations-history", message)
            .at(resource.span())
            .help(format!("remove the annotations that start with `{DOMAIN}`")));
    }
    let earlier = names.into_iter().zip(namespaces).zip(kinds).map(|((name, namespace), kind)| {
        let mut gvk = resource.gvk().clone();
        gvk.kind = kind;
        let cluster_scoped = schema.is_cluster_scoped(&gvk);
        ResourceId { gvk, name, namespace, cluster_scoped }
    });
    let earlier: Vec<ResourceId> = earlier.collect();
    resource.set_previous_ids(earlier);
    resource.prefixes = list("prefixes");
    resource.suffixes = list("suffixes");
    resource.behavior = note("generatorBehavior").map(Behavior::named).unwrap_or_default();
    resource.needs_hash = note("needsHashSuffix") == Some(ENABLED);
    resource.allow_name_change = note("allowNameChange") == Some(ENABLED);
    resource.allow_kind_change = note("allowKindChange") == Some(ENABLED);
    resource.from_helm = note("helm-generated").is_some();
    let ours = ["previousNames", "previousNamespaces", "previousKinds", "prefixes", "suffixes"];
    let flags =
        ["generatorBehavior", "needsHashSuffix", "allowNameChange", "allowKindChange", "helm-generated"];
    resource.edit(schema, |node| {
        if let Some(annotations) = node.at_mut(["metadata", "annotations"]) {
            for name in ours.iter().chain(&flags) {
                annotations.remove(&format!("{DOMAIN}{name}"));
            }
        }
    });
    Ok(())
}

/// What the text of an annotation holds, where it can be read.
fn held<T: for<'n> Deserialize<'n>>(annotation: &Node) -> Option<T> {
    let documents = krm_yaml::parse_str(annotation.text()?).ok()?;
    krm_yaml::from_node_with(&documents.first()?.root, super::lenient::CONFIGURATION).ok()
}

/// The annotations that tell another program what is remembered.
pub fn annotations(resource: &Resource) -> Vec<(String, String)> {
    let mut notes = Vec::new();
    let mut note = |name: &str, value: String| {
        if !value.is_empty() {
            notes.push((format!("{DOMAIN}{name}"), value));
        }
    };
    let join =
        |of: fn(&ResourceId) -> &str| resource.previous_ids().iter().map(of).collect::<Vec<_>>().join(",");
    note("previousNames", join(|id| &id.name));
    note("previousNamespaces", join(|id| id.effective_namespace()));
    note("previousKinds", join(|id| &id.gvk.kind));
    note("prefixes", resource.prefixes.join(","));
    note("suffixes", resource.suffixes.join(","));
    let flag = |on: bool| if on { ENABLED.to_owned() } else { String::new() };
    note("needsHashSuffix", flag(resource.needs_hash));
    note("allowNameChange", flag(resource.allow_name_change));
    note("allowKindChange", flag(resource.allow_kind_change));
    note("helm-generated", if resource.from_helm { "true".into() } else { String::new() });
    note("generatorBehavior", resource.behavior.name().unwrap_or_default().into());
    notes
}
