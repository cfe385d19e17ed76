//! What a cluster makes of a change: fields that it refuses to change, things that are lost, doors that open. Advice, never
//! an error.

use krm_yaml::Node;

use super::images::split;
use super::{Change, ChangeKind};

/// The rules that a change breaks, each with a sentence.
pub(crate) fn of(change: &Change) -> Vec<(&'static str, String)> {
    let mut flags = Vec::new();
    let name = format!("{} {}", change.resource.kind, change.resource.name);
    let kind = known_kind(change);
    let field = change.field.as_str();
    if field.is_empty() {
        match (change.kind, kind) {
            (
                ChangeKind::Removed,
                "Namespace"
                | "CustomResourceDefinition"
                | "PersistentVolumeClaim"
                | "StatefulSet"
                | "NetworkPolicy",
            ) => flags.push(("removed", format!("{name} is removed: {}", loss(kind)))),
            (ChangeKind::Added, "ClusterRoleBinding") => {
                flags.push((
                    "new-cluster-role-binding",
                    format!("{name} is new: it grants rights everywhere"),
                ));
            }
            _ => {}
        }
        if change.kind == ChangeKind::Added && privileged(&change.after, "") > 0 {
            flags.push(("privileged", format!("{name} is new, with a privileged container")));
        }
        return flags;
    }
    if change.kind == ChangeKind::Renamed && change.follows.is_none() {
        // One that is only alike is another one.
        if kind == "ClusterRoleBinding" && change.guessed {
            let message = format!("{name} is new: it grants rights everywhere");
            flags.push(("new-cluster-role-binding", message));
        }
        flags.extend(replaced(kind).map(|how| ("replaced", format!("{name} is renamed: {how}"))));
        return flags;
    }
    if field == "metadata.namespace" {
        let moved = replaced(kind).map(|how| format!("{name} moves to another namespace: {how}"));
        flags.extend(moved.map(|message| ("replaced", message)));
    }
    // A new resource may have any value from the start.
    if let Some(refused) = refused(kind, change).filter(|_| !change.replaced) {
        flags.push((
            "immutable",
            format!("{name}: {refused} cannot be changed; delete it first, or give it a new name"),
        ));
    }
    let number = |node: &Option<Node>| node.as_ref().and_then(Node::text).and_then(quantity);
    if kind == "PersistentVolumeClaim"
        && !change.replaced
        && field == "spec.resources.requests.storage"
        && let (Some(before), Some(after)) = (number(&change.before), number(&change.after))
        && after < before
    {
        flags.push(("volume-shrinks", format!("{name}: a volume cannot shrink")));
    }
    let is = |node: &Option<Node>, text: &str| node.as_ref().and_then(Node::text) == Some(text);
    if privileged(&change.after, field) > privileged(&change.before, field) {
        flags.push(("privileged", format!("{name}: a container becomes privileged")));
    }
    if field == "spec.replicas" && is(&change.after, "0") {
        flags.push(("no-replicas", format!("{name}: no replicas are left")));
    }
    if field.ends_with(".image")
        && let (Some(before), Some(after)) = (text(&change.before), text(&change.after))
        && let (before, after) = (split(before), split(after))
        // The versions of another image say nothing; one that moved to another registry is the same.
        && last_part(before.0) == last_part(after.0)
        && let (Some(old), Some(new)) = (major(before.1), major(after.1))
        && new != old
    {
        let way = if new > old { "to" } else { "back to" };
        flags.push(("major-version", format!("{name}: the image goes from version {old} {way} {new}")));
    }
    flags
}

/// The rule for pods that restart.
pub(crate) const RESTART: &str = "restart";

/// The kind of a resource, if it is one of Kubernetes itself: other groups have kinds of the same names, and other rules.
fn known_kind(change: &Change) -> &str {
    let group = change.resource.api_version.split_once('/').map_or("", |(group, _)| group);
    let is_known =
        matches!(group, "" | "apps" | "batch" | "extensions" | "policy") || group.ends_with(".k8s.io");
    if is_known { &change.resource.kind } else { "" }
}

/// How many containers in the value of a field are privileged.
pub(crate) fn privileged(node: &Option<Node>, field: &str) -> usize {
    fn count(node: &Node, in_context: bool) -> usize {
        let entries = node.as_map().into_iter().flat_map(|map| map.iter());
        let of_entries = entries.map(|entry| match entry.key.text() {
            Some("privileged") if in_context => usize::from(entry.value.text() == Some("true")),
            key => count(&entry.value, key == Some("securityContext")),
        });
        of_entries.sum::<usize>() + node.items().iter().map(|item| count(item, false)).sum::<usize>()
    }
    match (node, field.ends_with("securityContext.privileged")) {
        (None, _) => 0,
        (Some(node), true) => usize::from(node.text() == Some("true")),
        (Some(node), false) => count(node, field.ends_with("securityContext")),
    }
}

fn last_part(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn text(node: &Option<Node>) -> Option<&str> {
    node.as_ref().and_then(Node::text)
}

fn loss(kind: &str) -> &'static str {
    match kind {
        "Namespace" => "everything in it goes too",
        "CustomResourceDefinition" => "every resource of that kind goes too",
        "PersistentVolumeClaim" => "its data may be lost",
        "StatefulSet" => "its pods go; its volumes stay unless a policy says otherwise",
        _ => "what it kept out may come in",
    }
}

/// What it means that a new resource of a kind takes the place of the old one, if that matters.
fn replaced(kind: &str) -> Option<&'static str> {
    match kind {
        "PersistentVolumeClaim" => Some("the new one is empty, and the data of the old one may be lost"),
        "Namespace" => Some("the old one is deleted with everything in it"),
        "CustomResourceDefinition" => Some("the old one is deleted with every resource of that kind"),
        _ => is_workload(kind).then_some("the old one is deleted and a new one made"),
    }
}

/// Whether pods restart when the template changes.
pub(crate) fn is_workload(kind: &str) -> bool {
    matches!(kind, "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job")
}

/// Whether a change makes pods restart.
pub(crate) fn restarts(change: &Change) -> bool {
    let is_template = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
    matches!(known_kind(change), "Deployment" | "StatefulSet" | "DaemonSet")
        && change.field.strip_prefix("spec.template").is_some_and(is_template)
}

/// The field that an API server refuses to change, if this change is within one.
fn refused(kind: &str, change: &Change) -> Option<String> {
    let within = |field: &str| {
        let rest = change.field.strip_prefix(field);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let one_of = |fields: &[&str]| fields.iter().find(|field| within(field)).map(|field| (*field).to_owned());
    let but = |fields: &[&str]| {
        let is_free = fields.iter().any(|field| within(field));
        (within("spec") && !is_free).then(|| top(&change.field))
    };
    match kind {
        "Deployment" | "DaemonSet" | "ReplicaSet" => one_of(&["spec.selector"]),
        "StatefulSet" => but(&[
            "spec.replicas",
            "spec.ordinals",
            "spec.template",
            "spec.updateStrategy",
            "spec.persistentVolumeClaimRetentionPolicy",
            "spec.minReadySeconds",
        ]),
        "Job" => one_of(&["spec.selector", "spec.template"]),
        "PersistentVolumeClaim" => but(&["spec.resources", "spec.volumeAttributesClassName"]),
        "RoleBinding" | "ClusterRoleBinding" => one_of(&["roleRef"]),
        "Service" => {
            let both = change.before.is_some() && change.after.is_some();
            one_of(&["spec.clusterIP"]).filter(|_| both)
        }
        _ => None,
    }
}

/// The first two parts of a field.
fn top(field: &str) -> String {
    field.split(['.', '[']).take(2).collect::<Vec<_>>().join(".")
}

/// The major version of a tag.
fn major(tag: &str) -> Option<u64> {
    let tag = tag.split('@').next()?.trim_start_matches(['v', 'V']);
    let end = tag.find(|c: char| !c.is_ascii_digit()).unwrap_or(tag.len());
    let (first, rest) = tag.split_at(end);
    let mut rest = rest.chars();
    match (rest.next(), rest.next()) {
        (None | Some('-' | '_' | '+'), _) => {}
        (Some('.'), Some(next)) if next.is_ascii_digit() => {}
        _ => return None,
    }
    // A year or a date is not a version that breaks things.
    first.parse().ok().filter(|number| *number < 1000)
}

/// A quantity of storage in bytes.
fn quantity(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    let unit = match &text[end..] {
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "Ki" => 1024.0,
        "Mi" => 1024f64.powi(2),
        "Gi" => 1024f64.powi(3),
        "Ti" => 1024f64.powi(4),
        "Pi" => 1024f64.powi(5),
        _ => return None,
    };
    Some(number * unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::Named;

    fn rules(kind: &str, field: &str, before: Option<&str>, after: Option<&str>) -> Vec<&'static str> {
        let node = |text: Option<&str>| text.map(|text| text.parse().unwrap());
        let (how, guessed) = match (before, after) {
            (None, _) => (ChangeKind::Added, false),
            (_, None) => (ChangeKind::Removed, false),
            _ => (ChangeKind::Changed, false),
        };
        let resource =
            Named { api_version: "v1".into(), kind: kind.into(), name: "a".into(), from: None, to: None };
        let change = Change {
            id: 0,
            cause: 0,
            kind: how,
            resource,
            field: field.into(),
            before: node(before),
            after: node(after),
            elided: false,
            targets: vec![0],
            own: Vec::new(),
            from: None,
            to: None,
            follows: None,
            derived: false,
            masked: false,
            guessed,
            replaced: false,
        };
        of(&change).into_iter().map(|(rule, _)| rule).collect()
    }

    #[test]
    fn each_rule_has_its_limits() {
        for (kind, field, before, after, wanted) in [
            ("Deployment", "spec.selector.matchLabels.app", Some("a"), Some("b"), "immutable"),
            ("Deployment", "spec.selectors", Some("a"), Some("b"), ""),
            ("StatefulSet", "spec.serviceName", Some("a"), Some("b"), "immutable"),
            ("StatefulSet", "spec.template.spec", Some("a"), Some("b"), ""),
            ("Job", "spec.template.spec.x", Some("a"), Some("b"), "immutable"),
            ("PersistentVolumeClaim", "spec.accessModes[0]", Some("a"), Some("b"), "immutable"),
            (
                "PersistentVolumeClaim",
                "spec.resources.requests.storage",
                Some("2Gi"),
                Some("500Mi"),
                "volume-shrinks",
            ),
            ("PersistentVolumeClaim", "spec.resources.requests.storage", Some("500Mi"), Some("2Gi"), ""),
            ("RoleBinding", "roleRef.name", Some("a"), Some("b"), "immutable"),
            ("Service", "spec.clusterIP", None, Some("10.0.0.1"), ""),
            ("Service", "spec.clusterIP", Some("10.0.0.2"), Some("10.0.0.1"), "immutable"),
            ("Namespace", "", Some("{}"), None, "removed"),
            ("ConfigMap", "", Some("{}"), None, ""),
            ("ClusterRoleBinding", "", None, Some("{}"), "new-cluster-role-binding"),
            ("Deployment", "spec.replicas", Some("1"), Some("0"), "no-replicas"),
            ("Deployment", "spec.x.image", Some("a:1.9"), Some("a:2.0"), "major-version"),
            ("Deployment", "spec.x.image", Some("a:1.9"), Some("a:1.10"), ""),
            ("Deployment", "spec.x.image", Some("a:2024.1"), Some("a:2025.1"), ""),
            ("Deployment", "spec.x.image", Some("a:v1"), Some("a:v3"), "major-version"),
            ("Deployment", "spec.x.image", Some("a:1"), Some("a:2"), "major-version"),
            ("Deployment", "spec.x.image", Some("a:v1.9"), Some("a:v2"), "major-version"),
            ("Deployment", "spec.x.image", Some("a:15-alpine"), Some("a:16-alpine"), "major-version"),
            ("Deployment", "spec.x.image", Some("a:2024-01-31"), Some("a:2025-01-31"), ""),
            ("Deployment", "spec.x.image", Some("a:4e21f00"), Some("a:5bc1f00"), ""),
            ("Deployment", "spec.x.image", Some("a:2.1"), Some("a:1.9"), "major-version"),
            ("Deployment", "spec.x.image", Some("a:1.9"), Some("b:2.0"), ""),
            ("Deployment", "spec.x.image", Some("eu.io/a:1.9"), Some("us.io/a:2.0"), "major-version"),
            (
                "Pod",
                "spec.containers[name=a].securityContext.privileged",
                Some("false"),
                Some("true"),
                "privileged",
            ),
            (
                "Pod",
                "spec.containers[name=a].securityContext",
                None,
                Some("{privileged: true}"),
                "privileged",
            ),
            (
                "Pod",
                "spec.containers[name=a]",
                None,
                Some("{name: a, securityContext: {privileged: true}}"),
                "privileged",
            ),
            (
                "Pod",
                "",
                None,
                Some("{spec: {containers: [{securityContext: {privileged: true}}]}}"),
                "privileged",
            ),
            ("Pod", "spec.containers[name=a]", Some("{securityContext: {privileged: true}}"), None, ""),
            ("Pod", "spec.containers[name=a].securityContext", None, Some("{privileged: false}"), ""),
        ] {
            assert_eq!(rules(kind, field, before, after).join(" "), wanted, "{kind} {field}");
        }
    }
}
