//! `resource-name-refused` and `resource-label-refused`: names and labels that no cluster takes, of resources and of what
//! is in their pods.

use krm_yaml::{Diagnostic, Node};

use super::Check;
use super::dangling::{containers, pod_specs};
use super::roots::{Root, Unbuilt, in_all};
use crate::resource::Resource;
use crate::resource::names::{
    SUBDOMAIN, is_dns_label, is_dns_label_of_any_length, is_dns_subdomain, is_filled_in_later, is_key,
    is_label_value, is_path_segment, may_be_any_text,
};
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
    in_all(cx, roots, found.collect(), Unbuilt::DoesNotCount)
}

fn name(r: &Resource, found: &mut Vec<Diagnostic>) {
    let Some(node) = r.node().at(["metadata", "name"]).filter(|node| !node.span().is_none()) else { return };
    let Some(name) = node.text().filter(|name| !name.is_empty() && !is_filled_in_later(name)) else { return };
    let is_core = r.gvk().group.is_empty();
    let (is_right, help) = match r.kind() {
        _ if r.gvk().group.ends_with("config.kubernetes.io") => return,
        kind if may_be_any_text(kind) => (is_path_segment(name), "a name may have no `/` and no `%`"),
        "Service" if is_core => (
            is_dns_label(name) && name.starts_with(|c: char| c.is_ascii_lowercase()),
            "a Service's name has at most 63 lower-case letters, digits and `-`, begins with a letter and ends with a letter \
             or digit",
        ),
        "Namespace" if is_core => (
            is_dns_label(name),
            "a Namespace's name has at most 63 lower-case letters, digits and `-`, and begins and ends with a letter or digit",
        ),
        _ => (is_dns_subdomain(name), SUBDOMAIN),
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
            check("container", container.get("name"), is_dns_label, LABEL);
            for port in container.get("ports").map(Node::items).unwrap_or_default() {
                const PORT: &str = "it has at most 15 lower-case letters, digits and single `-`, one letter at least, and \
                                    begins and ends with a letter or digit";
                check("port", port.get("name"), is_port_name, PORT);
            }
        }
        for volume in pod.get("volumes").map(Node::items).unwrap_or_default() {
            check("volume", volume.get("name"), is_dns_label, LABEL);
        }
    }
    check("namespace", r.node().at(["metadata", "namespace"]), is_dns_label, LABEL);
}

fn is_port_name(name: &str) -> bool {
    name.len() <= 15
        && is_dns_label_of_any_length(name)
        && !name.contains("--")
        && name.contains(|c: char| c.is_ascii_lowercase())
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
        let span = match (is_key(key), is_label_value(value)) {
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
