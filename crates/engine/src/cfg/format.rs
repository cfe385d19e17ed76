//! One look for all files: the order of fields people expect, and of the few lists that have one.

use krm_function::annotations::FORMATTING;
use krm_yaml::{Diagnostic, Map, Node, Result, Trivia, Value};

use super::Item;

/// The annotation by which a resource asks to be left as it is (`none`).

/// The fields that come first, in this order; all others follow by name. The order of the reference.
const FIELD_ORDER: &[&str] = &[
    "name",
    "generateName",
    "namespace",
    "clusterName",
    "apiVersion",
    "kind",
    "metadata",
    "type",
    "labels",
    "annotations",
    "spec",
    "status",
    "stringData",
    "data",
    "binaryData",
    "parallelism",
    "completions",
    "backoffLimit",
    "replicas",
    "selector",
    "manualSelector",
    "template",
    "ttlSecondsAfterFinished",
    "volumeClaimTemplates",
    "service",
    "serviceName",
    "podManagementPolicy",
    "updateStrategy",
    "strategy",
    "minReadySeconds",
    "revision",
    "revisionHistoryLimit",
    "paused",
    "progressDeadlineSeconds",
    "restartPolicy",
    "terminationGracePeriodSeconds",
    "activeDeadlineSeconds",
    "dnsPolicy",
    "serviceAccountName",
    "serviceAccount",
    "automountServiceAccountToken",
    "nodeName",
    "hostNetwork",
    "hostPID",
    "hostIPC",
    "shareProcessNamespace",
    "hostname",
    "subdomain",
    "schedulerName",
    "priorityClassName",
    "priority",
    "runtimeClassName",
    "enableServiceLinks",
    "nodeSelector",
    "hostAliases",
    "initContainers",
    "containers",
    "volumes",
    "imagePullSecrets",
    "affinity",
    "tolerations",
    "dnsConfig",
    "readinessGates",
    "image",
    "command",
    "args",
    "workingDir",
    "ports",
    "envFrom",
    "env",
    "resources",
    "volumeMounts",
    "volumeDevices",
    "livenessProbe",
    "readinessProbe",
    "lifecycle",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "imagePullPolicy",
    "securityContext",
    "stdin",
    "stdinOnce",
    "tty",
    "clusterIP",
    "externalIPs",
    "loadBalancerIP",
    "loadBalancerSourceRanges",
    "externalName",
    "externalTrafficPolicy",
    "sessionAffinity",
    "protocol",
    "port",
    "targetPort",
    "hostPort",
    "containerPort",
    "hostIP",
    "readOnly",
    "mountPath",
    "subPath",
    "subPathExpr",
    "mountPropagation",
    "value",
    "valueFrom",
    "fieldRef",
    "resourceFieldRef",
    "configMapKeyRef",
    "secretKeyRef",
    "prefix",
    "configMapRef",
    "secretRef",
];

const SORTED_KINDS: &[&str] = &[
    "CronJob",
    "DaemonSet",
    "Deployment",
    "Job",
    "ReplicaSet",
    "StatefulSet",
    "ValidatingWebhookConfiguration",
];

const SORTED_APIS: &[&str] = &[
    "apps/v1",
    "apps/v1beta1",
    "apps/v1beta2",
    "batch/v1",
    "batch/v1beta1",
    "extensions/v1beta1",
    "v1",
    "admissionregistration.k8s.io/v1",
];

/// Where a field stands in the order of the reference; unknown fields come last.
pub fn rank(field: &str) -> usize {
    FIELD_ORDER.iter().position(|known| *known == field).unwrap_or(FIELD_ORDER.len())
}

/// Whether a resource asks to be left as it is.
pub fn is_left_alone(item: &Item) -> bool {
    item.node.at(["metadata", "annotations", FORMATTING]).and_then(Node::text) == Some("none")
}

/// Puts the fields of a resource into their order. Resources that ask for it, and what is none, are left alone.
pub fn format(item: &mut Item) -> Result<()> {
    let wish = item.node.at(["metadata", "annotations", FORMATTING]);
    match wish.and_then(Node::text) {
        None | Some("standard") => {}
        Some("none") => return Ok(()),
        Some(other) => {
            let place = wish.map(Node::span).unwrap_or_default();
            return Err(Diagnostic::error(
                "formatting-annotation",
                format!("`{other}` is no way of formatting"),
            )
            .at(place)
            .help(format!("`{FORMATTING}` may be `standard` or `none`")));
        }
    }
    if item.kind().is_empty() || item.api_version().is_empty() {
        return Ok(());
    }
    let sorts_lists = SORTED_KINDS.contains(&item.kind()) && SORTED_APIS.contains(&item.api_version());
    arrange(&mut item.node, &mut Vec::new(), sorts_lists);
    Ok(())
}

fn arrange(node: &mut Node, path: &mut Vec<String>, sorts_lists: bool) {
    if node.as_map().is_some_and(|map| !is_arranged(map)) {
        let entries = node.as_map_mut().expect("just seen to be a map").entries_mut();
        entries.sort_by_cached_key(|e| {
            let name = e.key.text().unwrap_or_default().to_owned();
            (rank(&name), name)
        });
    }
    if sorts_lists && node.is_seq() {
        let place: Vec<&str> = path.iter().map(String::as_str).collect();
        match place.as_slice() {
            ["spec", "template", "spec", "containers"] => {
                sort(node, |item| item.get("name").and_then(Node::text))
            }
            ["webhooks", "rules", "operations"] => sort(node, Node::text),
            _ => {}
        }
    }
    // Copying the way down is what an edit costs; what is in order already is not entered.
    if is_settled(node) {
        return;
    }
    match node.value() {
        Value::Map(_) => {
            for (key, value) in node.as_map_mut().expect("just seen to be a map").values_mut() {
                path.push(key.text().unwrap_or_default().to_owned());
                arrange(value, path, sorts_lists);
                path.pop();
            }
        }
        Value::Seq(_) => {
            let items = node.as_seq_mut().expect("just seen to be a sequence");
            items.iter_mut().for_each(|item| arrange(item, path, sorts_lists));
        }
        Value::Scalar(_) => {}
    }
}

fn is_arranged(map: &Map) -> bool {
    let key = |at: usize| map.entries()[at].key.text().unwrap_or_default();
    (1..map.len()).all(|at| (rank(key(at - 1)), key(at - 1)) <= (rank(key(at)), key(at)))
}

/// Whether nothing beneath could need another order.
fn is_settled(node: &Node) -> bool {
    match node.value() {
        Value::Scalar(_) => true,
        Value::Map(map) => map.iter().all(|e| e.value.is_scalar() || e.value.is_empty()),
        Value::Seq(items) => items.iter().all(|item| item.is_scalar() || item.is_empty()),
    }
}

fn sort(node: &mut Node, key: fn(&Node) -> Option<&str>) {
    if node.items().is_sorted_by_key(|item| key(item).unwrap_or_default()) {
        return;
    }
    let items = node.as_seq_mut().expect("asked of sequences alone");
    items.sort_by(|a, b| key(a).unwrap_or_default().cmp(key(b).unwrap_or_default()));
}

/// Drops `annotations` that hold nothing, and `metadata` that holds nothing then, as the reference writes resources; but
/// not with a comment.
pub fn drop_empty_annotations(node: &mut Node) {
    let says_nothing = |node: &Node, key| {
        let entry = node.as_map().and_then(|map| map.iter().find(|e| e.key.text() == Some(key)));
        entry.is_some_and(|e| e.value.is_empty() && !has_comments(&e.key) && !has_comments(&e.value))
    };
    if node.get("metadata").is_some_and(|metadata| says_nothing(metadata, "annotations")) {
        node.get_mut("metadata").and_then(|metadata| metadata.remove("annotations"));
    }
    if says_nothing(node, "metadata") {
        node.remove("metadata");
    }
}

/// Takes all comments out of a tree.
pub fn strip_comments(node: &mut Node) {
    if node.has_trivia() {
        let Trivia { anchor, alias, tag, .. } = node.trivia().clone();
        match (&anchor, &alias, &tag) {
            (None, None, None) => node.clear_trivia(),
            _ => *node.trivia_mut() = Trivia { anchor, alias, tag, ..Trivia::default() },
        }
    }
    if !has_comments(node) {
        return;
    }
    if let Some(map) = node.as_map_mut() {
        for entry in map.entries_mut() {
            strip_comments(&mut entry.key);
            strip_comments(&mut entry.value);
        }
    } else if let Some(items) = node.as_seq_mut() {
        items.iter_mut().for_each(strip_comments);
    }
}

fn has_comments(node: &Node) -> bool {
    let trivia = node.trivia();
    !(trivia.head.is_empty() && trivia.line.is_empty() && trivia.foot.is_empty())
        || node.items().iter().any(has_comments)
        || node.as_map().into_iter().flatten().any(|e| has_comments(&e.key) || has_comments(&e.value))
}
