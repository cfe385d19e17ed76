//! `dangling-reference` and `missing-reference`: names of ConfigMaps, Secrets, Services, claims and volumes that nothing has.
//!
//! A Secret may have been created in the cluster by hand, so a name that no resource has is not wrong by itself. It is wrong
//! if a resource has nearly that name, or if a container mounts a volume that its own pod lacks.

use krm_yaml::{Diagnostic, Fix, Node, nearest};

use super::Check;
use super::roots::{Root, Unbuilt, in_all};
use crate::resource::Resource;
use crate::resource::list::Resources;
use crate::resource::names::is_filled_in_later;

pub(super) fn findings(cx: &Check, roots: &[Root]) -> Vec<Diagnostic> {
    let found = roots.iter().map(|root| match &root.built {
        Ok(built) => in_root(built),
        Err(_) => Vec::new(),
    });
    in_all(cx, roots, found.collect(), Unbuilt::HasNone)
}

fn in_root(built: &Resources) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for r in built.iter() {
        for pod in pod_specs(r) {
            volumes(r, pod, &mut found);
        }
        let mut names = Vec::new();
        pod_specs(r).into_iter().for_each(|pod| of_pod(pod, &mut names));
        of_kind(r, &mut names);
        for (kind, name) in names {
            found.extend(of_name(r, kind, name, built));
        }
    }
    found
}

/// The specs of the pods that a resource makes.
pub(super) fn pod_specs(r: &Resource) -> Vec<&Node> {
    let template = ["spec", "template", "spec"];
    let node = r.node();
    let spec = match (r.gvk().group.as_str(), r.kind()) {
        ("", "Pod") => node.get("spec"),
        ("apps" | "extensions", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet")
        | ("batch", "Job")
        | ("", "ReplicationController") => node.at(template),
        ("batch", "CronJob") => node.at(["spec", "jobTemplate", "spec", "template", "spec"]),
        ("", "PodTemplate") => node.at(["template", "spec"]),
        _ => None,
    };
    spec.into_iter().collect()
}

pub(super) fn containers(pod: &Node) -> impl Iterator<Item = &Node> {
    ["containers", "initContainers", "ephemeralContainers"]
        .into_iter()
        .flat_map(|field| pod.get(field).map(Node::items).unwrap_or_default())
}

/// A container that mounts what its pod does not have.
fn volumes(r: &Resource, pod: &Node, found: &mut Vec<Diagnostic>) {
    let name = |node: &Node| node.get("name").and_then(Node::text).map(str::to_owned);
    let mut known: Vec<String> =
        pod.get("volumes").map(Node::items).unwrap_or_default().iter().filter_map(name).collect();
    let claims = r.node().at(["spec", "volumeClaimTemplates"]).map(Node::items).unwrap_or_default();
    known.extend(claims.iter().filter_map(|claim| name(claim.get("metadata")?)));
    for container in containers(pod) {
        let mounts = ["volumeMounts", "volumeDevices"].into_iter();
        for mount in mounts.flat_map(|field| container.get(field).map(Node::items).unwrap_or_default()) {
            let Some(node) = mount.get("name").filter(|node| !node.span().is_none()) else { continue };
            let Some(wanted) = node.as_str().filter(|name| !is_filled_in_later(name)) else { continue };
            if known.iter().any(|name| name == wanted) {
                continue;
            }
            let message = format!("{} `{}` has no volume named `{wanted}`", r.kind(), r.name());
            let finding = Diagnostic::warning("dangling-reference", message).at(node.span());
            found.push(match nearest(wanted, known.iter().map(String::as_str)) {
                Some(near) => finding
                    .help(format!("did you mean `{near}`?"))
                    .fix(Fix::needs_review(format!("write `{near}`")).replace(node.span(), near)),
                None => finding.help("add it to the `volumes` of the pod, or remove the mount"),
            });
        }
    }
}

type Named<'n> = (&'static str, &'n Node);

fn of_pod<'n>(pod: &'n Node, names: &mut Vec<Named<'n>>) {
    let is_optional = |node: &Node| node.get("optional").and_then(Node::as_bool) == Some(true);
    let mut add = |kind: &'static str, holder: Option<&'n Node>, field: &str| {
        let holder = holder.filter(|holder| !is_optional(holder));
        names.extend(holder.and_then(|holder| holder.get(field)).map(|name| (kind, name)));
    };
    for volume in pod.get("volumes").map(Node::items).unwrap_or_default() {
        add("ConfigMap", volume.get("configMap"), "name");
        add("Secret", volume.get("secret"), "secretName");
        add("PersistentVolumeClaim", volume.get("persistentVolumeClaim"), "claimName");
        for source in volume.at(["projected", "sources"]).map(Node::items).unwrap_or_default() {
            add("ConfigMap", source.get("configMap"), "name");
            add("Secret", source.get("secret"), "name");
        }
    }
    for container in containers(pod) {
        for source in container.get("envFrom").map(Node::items).unwrap_or_default() {
            add("ConfigMap", source.get("configMapRef"), "name");
            add("Secret", source.get("secretRef"), "name");
        }
        for variable in container.get("env").map(Node::items).unwrap_or_default() {
            add("ConfigMap", variable.at(["valueFrom", "configMapKeyRef"]), "name");
            add("Secret", variable.at(["valueFrom", "secretKeyRef"]), "name");
        }
    }
    for secret in pod.get("imagePullSecrets").map(Node::items).unwrap_or_default() {
        add("Secret", Some(secret), "name");
    }
    add("ServiceAccount", Some(pod), "serviceAccountName");
}

fn of_kind<'n>(r: &'n Resource, names: &mut Vec<Named<'n>>) {
    let node = r.node();
    match (r.gvk().group.as_str(), r.kind()) {
        ("apps", "StatefulSet") => {
            names.extend(node.at(["spec", "serviceName"]).map(|name| ("Service", name)))
        }
        ("networking.k8s.io" | "extensions", "Ingress") => {
            let rules = node.at(["spec", "rules"]).map(Node::items).unwrap_or_default().iter();
            let paths =
                rules.flat_map(|rule| rule.at(["http", "paths"]).map(Node::items).unwrap_or_default());
            let backends = paths.filter_map(|path| path.get("backend"));
            let backends =
                backends.chain(node.at(["spec", "defaultBackend"])).chain(node.at(["spec", "backend"]));
            let name =
                |backend: &'n Node| backend.at(["service", "name"]).or_else(|| backend.get("serviceName"));
            names.extend(backends.filter_map(name).map(|name| ("Service", name)));
        }
        _ => {}
    }
}

fn of_name(r: &Resource, kind: &str, node: &Node, built: &Resources) -> Option<Diagnostic> {
    let wanted = node.as_str().filter(|name| !name.is_empty() && !is_filled_in_later(name))?;
    if node.span().is_none() {
        return None;
    }
    let is_near_by = |other: &&Resource| {
        other.kind() == kind && other.gvk().group.is_empty() && other.id().same_namespace(r.id())
    };
    let others: Vec<&Resource> = built.iter().filter(is_near_by).collect();
    if others.iter().any(|other| other.name() == wanted) {
        return None;
    }
    // A controller makes the Secret of the same name out of another resource.
    let is_made = |other: &Resource| {
        other.name() == wanted && !other.gvk().group.is_empty()
            || other.node().at(["spec", "secretName"]).and_then(Node::as_str) == Some(wanted)
            || other.node().at(["spec", "target", "name"]).and_then(Node::as_str) == Some(wanted)
            || other.node().at(["spec", "template", "metadata", "name"]).and_then(Node::as_str)
                == Some(wanted)
    };
    if built.iter().any(is_made) {
        return None;
    }
    let written = |other: &&Resource| other.original_id().name.to_string();
    let near = others.iter().find(|other| is_slip(wanted, other.name()) || is_slip(wanted, &written(other)));
    Some(match near {
        Some(near) => {
            let name = written(near);
            let message = format!("there is no {kind} `{wanted}`, but there is `{name}`");
            Diagnostic::warning("dangling-reference", message)
                .at(node.span())
                .note(
                    "this one is there",
                    near.node().at(["metadata", "name"]).map_or(near.span(), Node::span),
                )
                .help(format!("did you mean `{name}`?"))
                .fix(Fix::needs_review(format!("write `{name}`")).replace(node.span(), name.as_str()))
        }
        None => {
            let message = format!("there is no {kind} `{wanted}` in this root");
            Diagnostic::warning("missing-reference", message)
                .at(node.span())
                .help("add it, or silence this if something else makes it")
        }
    })
}

/// Whether two names differ by a slip of the hand: in one of the words they are made of, which is long enough not to resemble
/// others by chance. Digits number things.
fn is_slip(a: &str, b: &str) -> bool {
    let words = |text: &str| text.split(['-', '.']).map(str::to_owned).collect::<Vec<_>>();
    let (a, b) = (words(a), words(b));
    let mut different = a.iter().zip(&b).filter(|(a, b)| a != b);
    let (Some((one, other)), None) = (different.next(), different.next()) else { return false };
    let is_word = |word: &str| word.len() >= 4 && word.chars().all(|c| c.is_ascii_alphabetic());
    let most = if one.len().min(other.len()) >= 8 { 2 } else { 1 };
    a.len() == b.len() && is_word(one) && is_word(other) && distance(one, other) <= most
}

/// How many letters must be changed, added, dropped or swapped with their neighbour, as far as two.
fn distance(a: &str, b: &str) -> usize {
    fn go(a: &[u8], b: &[u8], left: usize) -> Option<usize> {
        let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let (a, b) = (&a[same..], &b[same..]);
        if a.is_empty() && b.is_empty() {
            return Some(0);
        }
        let left = left.checked_sub(1)?;
        let tail = |text: &'_ [u8]| text.len().min(1);
        let mut ways = vec![(&a[tail(a)..], &b[tail(b)..]), (&a[tail(a)..], b), (a, &b[tail(b)..])];
        if a.len() > 1 && b.len() > 1 && a[0] == b[1] && a[1] == b[0] {
            ways.push((&a[2..], &b[2..]));
        }
        ways.into_iter().filter_map(|(a, b)| go(a, b, left)).min().map(|more| more + 1)
    }
    go(a.as_bytes(), b.as_bytes(), 2).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::is_slip;

    #[test]
    fn slips_are_distinguished_from_other_names() {
        for (a, b) in [("settings", "setings"), ("web-config", "web-confgi"), ("app-secret", "app-secrets")] {
            assert!(is_slip(a, b), "{a} {b}");
        }
        for (a, b) in [
            ("web-1", "web-2"),
            ("db", "dc"),
            ("web-config", "app-config"),
            ("a", "b"),
            ("one", "one"),
            ("grafana-ca", "grafana-db"),
        ] {
            assert!(!is_slip(a, b), "{a} {b}");
        }
    }
}
