//! `resource-name-refused` and `resource-label-refused`: names and labels that no cluster takes, of resources and of what
//! is in their pods.

use krm_yaml::{Diagnostic, Node};

use super::Check;
use super::dangling::{containers, pod_specs};
use super::resource_fields::is_filled_in_later;
use super::roots::{Root, in_all};
use crate::resource::Resource;
use crate::select::near_miss::with_article;

pub(super) fn findings(cx: &Check, roots: &[Root]) -> Vec<Diagnostic> {
    let found = roots.iter().map(|root| {
        let mut found = Vec::new();
        for r in root.built.iter().flat_map(|built| built.iter()) {
            name(r, &mut found);
            in_pods(r, &mut found);
            for way in LABELS {
                labels(r.node().at(way.iter().copied()), &mut found);
            }
            if r.kind() == "Service" && r.gvk().group.is_empty() {
                labels(r.node().at(["spec", "selector"]), &mut found);
            }
        }
        found
    });
    in_all(cx, roots, found.collect(), true)
}

/// Kinds whose names may be anything that can be part of an address.
const ANY_NAME: [&str; 6] = ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "User", "Group"];

fn name(r: &Resource, found: &mut Vec<Diagnostic>) {
    let Some(node) = r.node().at(["metadata", "name"]).filter(|node| !node.span().is_none()) else { return };
    let Some(name) = node.text().filter(|name| !name.is_empty() && !is_filled_in_later(name)) else { return };
    let is_core = r.gvk().group.is_empty();
    let (is_right, help) = match r.kind() {
        _ if r.gvk().group.ends_with("config.kubernetes.io") => return,
        kind if ANY_NAME.contains(&kind) => {
            (!matches!(name, "." | "..") && !name.contains(['/', '%']), "a name may have no `/` and no `%`")
        }
        "Service" if is_core => (
            is_label(name) && name.starts_with(|c: char| c.is_ascii_lowercase()),
            "a Service's name has at most 63 lower-case letters, digits and `-`, begins with a letter and ends with a letter \
             or digit",
        ),
        "Namespace" if is_core => (
            is_label(name),
            "a Namespace's name has at most 63 lower-case letters, digits and `-`, and begins and ends with a letter or digit",
        ),
        _ => (
            name.len() <= 253 && name.split('.').all(is_label_of_any_length),
            "names have lower-case letters, digits, `-` and `.`, and begin and end with a letter or digit",
        ),
    };
    if !is_right {
        let message = format!("Kubernetes refuses {} with the name `{name}`", with_article(r.kind()));
        found.push(Diagnostic::warning("resource-name-refused", message).at(node.span()).help(help));
    }
}

/// Names of containers, volumes and ports, of which each must be a label.
fn in_pods(r: &Resource, found: &mut Vec<Diagnostic>) {
    let mut check = |what: &str, node: Option<&Node>, is_right: fn(&str) -> bool, help: &'static str| {
        let Some(node) = node.filter(|node| !node.span().is_none()) else { return };
        let Some(name) = node.text().filter(|name| !name.is_empty() && !is_filled_in_later(name)) else {
            return;
        };
        if !is_right(name) {
            let message = format!("Kubernetes refuses a {what} with the name `{name}`");
            found.push(Diagnostic::warning("resource-name-refused", message).at(node.span()).help(help));
        }
    };
    const LABEL: &str =
        "it has at most 63 lower-case letters, digits and `-`, and begins and ends with a letter or digit";
    for pod in pod_specs(r) {
        for container in containers(pod) {
            check("container", container.get("name"), is_label, LABEL);
            for port in container.get("ports").map(Node::items).unwrap_or_default() {
                const PORT: &str = "it has at most 15 lower-case letters, digits and single `-`, one letter at least, and \
                                    begins and ends with a letter or digit";
                check("port", port.get("name"), is_port_name, PORT);
            }
        }
        for volume in pod.get("volumes").map(Node::items).unwrap_or_default() {
            check("volume", volume.get("name"), is_label, LABEL);
        }
    }
    check("namespace", r.node().at(["metadata", "namespace"]), is_label, LABEL);
}

fn is_port_name(name: &str) -> bool {
    name.len() <= 15
        && is_label_of_any_length(name)
        && !name.contains("--")
        && name.contains(|c: char| c.is_ascii_lowercase())
}

fn is_label(name: &str) -> bool {
    name.len() <= 63 && is_label_of_any_length(name)
}

fn is_label_of_any_length(name: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.starts_with(alphanumeric)
        && name.ends_with(alphanumeric)
        && name.chars().all(|c| alphanumeric(c) || c == '-')
}

/// Where labels are.
const LABELS: [&[&str]; 4] = [
    &["metadata", "labels"],
    &["spec", "template", "metadata", "labels"],
    &["spec", "selector", "matchLabels"],
    &["spec", "jobTemplate", "spec", "template", "metadata", "labels"],
];

fn labels(labels: Option<&Node>, found: &mut Vec<Diagnostic>) {
    for entry in labels.and_then(Node::as_map).into_iter().flatten() {
        let (Some(key), Some(value)) = (entry.key.text(), entry.value.as_str()) else { continue };
        if is_filled_in_later(key) || is_filled_in_later(value) {
            continue;
        }
        let span = match (is_label_key(key), value.is_empty() || is_qualified(value)) {
            (true, true) => continue,
            (false, _) => entry.key.span(),
            (true, false) => entry.value.span(),
        };
        if !span.is_none() {
            let message = format!("Kubernetes refuses the label `{key}: {value}`");
            found.push(Diagnostic::warning("resource-label-refused", message).at(span).help(
                "keys and values have at most 63 letters, digits, `-`, `_` and `.`, and begin and end with a letter or digit; \
                 a key may have a domain and `/` in front",
            ));
        }
    }
}

fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((domain, name)) => {
            domain.len() <= 253 && domain.split('.').all(is_label_of_any_length) && is_qualified(name)
        }
        None => is_qualified(key),
    }
}

/// At most 63 letters, digits, `-`, `_` and `.`, and letters or digits at both ends.
fn is_qualified(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_alphanumeric();
    text.len() <= 63
        && text.starts_with(alphanumeric)
        && text.ends_with(alphanumeric)
        && text.chars().all(|c| alphanumeric(c) || matches!(c, '-' | '_' | '.'))
}
