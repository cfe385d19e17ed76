//! One look for all files: fields in the order people expect. Lists keep theirs: it means something.

use krm_function::annotations::FORMATTING;
use krm_yaml::{Diagnostic, Entry, Map, Node, Result, Value};

use super::Item;
use crate::files::is_kustomize;
use crate::resource::comments::has_comments;

pub use crate::resource::comments::strip_comments;

/// The fields that come first, in this order; all others follow by name. The order of kyaml's
/// formatter.
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

/// Where a field is in this order; unknown fields come last.
pub(crate) fn rank(field: &str) -> usize {
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
                format!("`{other}` is not a way of formatting"),
            )
            .at(place)
            .help(format!("`{FORMATTING}` may be `standard` or `none`")));
        }
    }
    if item.kind().is_empty() || item.api_version().is_empty() {
        return Ok(());
    }
    match is_kustomize(item.api_version()) {
        // Each field of a kustomization is a step, and people write them in the order they think of them.
        true => put_first(&mut item.node),
        false => arrange(&mut item.node, Depth::Root),
    }
    Ok(())
}

/// Puts the fields that say what a resource is first, and leaves all others in their order.
fn put_first(node: &mut Node) {
    let order = |entry: &Entry| {
        let name = entry.key.text().unwrap_or_default();
        ROOT_ORDER.iter().position(|first| *first == name).unwrap_or(ROOT_ORDER.len())
    };
    if node.as_map().is_some_and(|map| !map.iter().is_sorted_by_key(order)) {
        node.as_map_mut().expect("just seen to be a map").entries_mut().sort_by_key(order);
    }
}

/// Whether a map is a resource or something in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    Root,
    Within,
}

/// The fields that say what a resource is come first.
const ROOT_ORDER: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Where a field comes among its siblings.
fn order(field: &str, depth: Depth) -> (usize, &str) {
    match ROOT_ORDER.iter().position(|first| *first == field).filter(|_| depth == Depth::Root) {
        Some(at) => (at, field),
        None => (ROOT_ORDER.len() + rank(field), field),
    }
}

fn arrange(node: &mut Node, depth: Depth) {
    if node.as_map().is_some_and(|map| !is_arranged(map, depth)) {
        let entries = node.as_map_mut().expect("just seen to be a map").entries_mut();
        entries.sort_by_cached_key(|e| {
            let name = e.key.text().unwrap_or_default().to_owned();
            (order(&name, depth).0, name)
        });
    }
    // Copying the way down is what an edit costs; what is in order already is not entered.
    if has_nothing_to_arrange(node) {
        return;
    }
    match node.value() {
        Value::Map(_) => {
            let map = node.as_map_mut().expect("just seen to be a map");
            map.values_mut().for_each(|(_, value)| arrange(value, Depth::Within));
        }
        Value::Seq(_) => {
            let items = node.as_seq_mut().expect("just seen to be a sequence");
            items.iter_mut().for_each(|item| arrange(item, Depth::Within));
        }
        Value::Scalar(_) => {}
    }
}

fn is_arranged(map: &Map, depth: Depth) -> bool {
    let key = |at: usize| map.entries()[at].key.text().unwrap_or_default();
    (1..map.len()).all(|at| order(key(at - 1), depth) <= order(key(at), depth))
}

/// Whether nothing beneath could need another order.
fn has_nothing_to_arrange(node: &Node) -> bool {
    match node.value() {
        Value::Scalar(_) => true,
        Value::Map(map) => map.iter().all(|e| e.value.is_scalar() || e.value.is_empty()),
        Value::Seq(items) => items.iter().all(|item| item.is_scalar() || item.is_empty()),
    }
}

/// Drops `annotations` that hold nothing, and `metadata` that holds nothing then, as the reference writes resources; but
/// not with a comment.
// quirk(empty-annotations-vanish): `annotations` that hold nothing, and `metadata` that then holds nothing, are dropped
// when a package is printed. (kyaml `kio.ByteWriter`, `yaml.ClearEmptyAnnotations`)
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
