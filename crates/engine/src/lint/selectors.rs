//! `selector-no-match`: selectors that do not select what they are beside, and ports that no container has.
//!
//! A Service may be for pods that something else makes, so one that finds none is not wrong by itself. It is wrong if it is
//! nearly right for the pods of a workload, or has that workload's name.

use krm_yaml::{Diagnostic, Fix, Node, canonical, nearest};
use rustc_hash::FxHashMap;

use super::Check;
use super::dangling::{containers, pod_specs};
use super::roots::{Root, Unbuilt, in_all};
use crate::resource::Resource;
use crate::resource::list::Resources;
use crate::resource::names::is_filled_in_later;

pub(super) fn findings(cx: &Check, roots: &[Root]) -> Vec<Diagnostic> {
    let found = roots.iter().map(|root| root.built.as_ref().map(in_root).unwrap_or_default());
    in_all(cx, roots, found.collect(), Unbuilt::HasNone)
}

fn in_root(built: &Resources) -> Vec<Diagnostic> {
    let pods = Pods::of(built);
    let mut found = Vec::new();
    for r in built.iter() {
        match (r.gvk().group.as_str(), r.kind()) {
            ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") => {
                found.extend(of_workload(r));
            }
            ("", "Service") => found.extend(of_service(r, &pods)),
            _ => {}
        }
    }
    found
}

/// The labels of the pods that a resource makes, or of the pod that it is.
fn labels_of_pods(r: &Resource) -> Option<&Node> {
    let node = r.node();
    match r.kind() {
        "Pod" => node.at(["metadata", "labels"]),
        "CronJob" => node.at(["spec", "jobTemplate", "spec", "template", "metadata", "labels"]),
        _ => node.at(["spec", "template", "metadata", "labels"]),
    }
}

fn is_plain(node: &Node) -> bool {
    !node.span().is_none() && node.text().is_some_and(|text| !is_filled_in_later(text))
}

/// The workloads of a root by namespace, and by each label of their pods: there may be thousands, each with a Service.
struct Pods<'r> {
    in_namespace: FxHashMap<&'r str, Vec<&'r Resource>>,
    labelled: FxHashMap<(&'r str, &'r str, &'r str), Vec<&'r Resource>>,
}

impl<'r> Pods<'r> {
    fn of(built: &'r Resources) -> Self {
        let mut pods = Pods { in_namespace: FxHashMap::default(), labelled: FxHashMap::default() };
        for workload in built.iter().filter(|r| !pod_specs(r).is_empty()) {
            let namespace = workload.id().effective_namespace();
            pods.in_namespace.entry(namespace).or_default().push(workload);
            for entry in labels_of_pods(workload).and_then(Node::as_map).into_iter().flatten() {
                if let (Some(key), Some(value)) = (entry.key.text(), entry.value.text()) {
                    pods.labelled.entry((namespace, key, value)).or_default().push(workload);
                }
            }
        }
        pods
    }

    fn beside(&self, r: &Resource) -> &[&'r Resource] {
        self.in_namespace.get(r.id().effective_namespace()).map_or(&[], Vec::as_slice)
    }

    /// The workloads beside a Service whose pods it selects. A label that is filled in later may be any.
    fn selected(&self, r: &Resource, selector: &Node) -> Vec<&'r Resource> {
        let namespace = r.id().effective_namespace();
        let plain = selector.as_map().into_iter().flatten().find(|entry| is_plain(&entry.value));
        let candidates = match plain.and_then(|entry| entry.key.text().zip(entry.value.text())) {
            Some((key, value)) => self.labelled.get(&(namespace, key, value)).map_or(&[][..], Vec::as_slice),
            None => self.beside(r),
        };
        let is_selected = |pods: &&&Resource| mismatches(selector, labels_of_pods(pods)).next().is_none();
        candidates.iter().filter(is_selected).copied().collect()
    }
}

/// A label of a selector that pods do not have.
struct Mismatch<'n> {
    key: &'n str,
    wanted: &'n Node,
    /// What the pods have in its place.
    theirs: Option<&'n Node>,
}

fn mismatches<'n>(selector: &'n Node, labels: Option<&'n Node>) -> impl Iterator<Item = Mismatch<'n>> {
    selector.as_map().into_iter().flatten().filter_map(move |entry| {
        let (key, wanted) = (entry.key.text()?, &entry.value);
        let theirs = labels.and_then(|labels| labels.get(key));
        let is_same = theirs.and_then(Node::text) == wanted.text();
        (!is_same && is_plain(wanted)).then_some(Mismatch { key, wanted, theirs })
    })
}

/// A workload that does not select its own pods, which the API server refuses.
fn of_workload(r: &Resource) -> Option<Diagnostic> {
    let selector = r.node().at(["spec", "selector", "matchLabels"])?;
    let Mismatch { key, wanted: value, theirs } = mismatches(selector, labels_of_pods(r)).next()?;
    let what = format!("{} `{}`", r.kind(), r.name());
    let wanted = value.text().unwrap_or_default();
    let message = format!("{what} selects pods labelled `{key}: {wanted}`, which its own are not");
    let finding = Diagnostic::warning("selector-no-match", message).at(value.span());
    Some(match theirs {
        Some(theirs) => finding.note("its pods have this", theirs.span()).help("make the two the same"),
        None => finding.help(format!("add `{key}: {wanted}` to the labels of its pod template")),
    })
}

/// A Service that is meant for the pods of a workload and does not find them, or not their port.
fn of_service(r: &Resource, pods: &Pods) -> Vec<Diagnostic> {
    let Some(selector) = r.node().at(["spec", "selector"]).filter(|selector| !selector.is_empty()) else {
        return Vec::new();
    };
    let selected = pods.selected(r, selector);
    if selected.is_empty() {
        let mut others = pods.beside(r).iter();
        return others.find_map(|other| of_near_pods(r, selector, other)).into_iter().collect();
    }
    ports(r, &selected)
}

fn of_near_pods(r: &Resource, selector: &Node, workload: &Resource) -> Option<Diagnostic> {
    let mut mismatches = mismatches(selector, labels_of_pods(workload));
    let Mismatch { key, wanted: value, theirs } = mismatches.next()?;
    let theirs = theirs.filter(|theirs| !theirs.span().is_none())?;
    let (wanted, has) = (value.text()?, theirs.text()?);
    let is_meant = workload.name() == r.name() || nearest(wanted, [has]).is_some();
    if !is_meant || mismatches.next().is_some() {
        return None;
    }
    let (kind, name) = (workload.kind(), workload.name());
    let message =
        format!("Service `{}` selects no pods: those of {kind} `{name}` have `{key}: {has}`", r.name());
    Some(
        Diagnostic::warning("selector-no-match", message)
            .at(value.span())
            .note("its pods have this", theirs.span())
            .help(format!("did you mean `{has}`?"))
            .fix(
                Fix::needs_review(format!("write `{has}`"))
                    .replace(value.span(), canonical(&Node::from(has)).trim_end()),
            ),
    )
}

/// Ports by names that no container of the selected pods has.
fn ports(r: &Resource, selected: &[&Resource]) -> Vec<Diagnostic> {
    let pods = selected.iter().flat_map(|workload| pod_specs(workload));
    let of_containers = pods.flat_map(|pod| containers(pod).collect::<Vec<_>>());
    let named =
        of_containers.flat_map(|container| container.get("ports").map(Node::items).unwrap_or_default());
    let names: Vec<&str> = named.filter_map(|port| port.get("name").and_then(Node::as_str)).collect();
    let mut found = Vec::new();
    for port in r.node().at(["spec", "ports"]).map(Node::items).unwrap_or_default() {
        let Some(target) = port.get("targetPort").filter(|target| is_plain(target)) else { continue };
        let Some(wanted) = target.as_str().filter(|wanted| !names.contains(wanted)) else { continue };
        let message =
            format!("Service `{}` is for a port named `{wanted}`, which no container has", r.name());
        let finding = Diagnostic::warning("selector-no-match", message).at(target.span());
        found.push(match nearest(wanted, names.iter().copied()) {
            Some(near) => finding.help(format!("did you mean `{near}`?")).fix(
                Fix::needs_review(format!("write `{near}`"))
                    .replace(target.span(), canonical(&Node::from(near)).trim_end()),
            ),
            None => finding.help("name a port of a container so, or write its number"),
        });
    }
    found
}
