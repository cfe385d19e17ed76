//! `selector-no-match`: selectors that do not select what they are beside, and ports that no container has.
//!
//! A Service may be for pods that something else makes, so one that finds none is not wrong by itself. It is wrong if it is
//! nearly right for the pods of a workload, or has that workload's name.

use krm_yaml::{Diagnostic, Fix, Node, canonical, nearest};

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
    let mut found = Vec::new();
    for r in built.iter() {
        match (r.gvk().group.as_str(), r.kind()) {
            ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") => {
                found.extend(of_workload(r));
            }
            ("", "Service") => found.extend(of_service(r, built)),
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

/// The label of a selector that pods do not have, and what they have in its place.
fn mismatch<'n>(
    selector: &'n Node,
    labels: Option<&'n Node>,
) -> Option<(&'n str, &'n Node, Option<&'n Node>)> {
    selector.as_map().into_iter().flatten().find_map(|entry| {
        let key = entry.key.text()?;
        let theirs = labels.and_then(|labels| labels.get(key));
        let is_same = theirs.and_then(Node::text) == entry.value.text();
        (!is_same && is_plain(&entry.value)).then_some((key, &entry.value, theirs))
    })
}

/// A workload that does not select its own pods, which the API server refuses.
fn of_workload(r: &Resource) -> Option<Diagnostic> {
    let selector = r.node().at(["spec", "selector", "matchLabels"])?;
    let (key, value, theirs) = mismatch(selector, labels_of_pods(r))?;
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
fn of_service(r: &Resource, built: &Resources) -> Vec<Diagnostic> {
    let Some(selector) = r.node().at(["spec", "selector"]).filter(|selector| !selector.is_empty()) else {
        return Vec::new();
    };
    let has_pods = |other: &&Resource| !pod_specs(other).is_empty() && other.id().same_namespace(r.id());
    let workloads: Vec<&Resource> = built.iter().filter(has_pods).collect();
    let (selected, others): (Vec<&Resource>, Vec<&Resource>) =
        workloads.into_iter().partition(|other| mismatch(selector, labels_of_pods(other)).is_none());
    if selected.is_empty() {
        return others.into_iter().find_map(|other| of_near_pods(r, selector, other)).into_iter().collect();
    }
    ports(r, &selected)
}

fn of_near_pods(r: &Resource, selector: &Node, workload: &Resource) -> Option<Diagnostic> {
    let labels = labels_of_pods(workload)?;
    let (key, value, theirs) = mismatch(selector, Some(labels))?;
    let theirs = theirs.filter(|theirs| !theirs.span().is_none())?;
    let (wanted, has) = (value.text()?, theirs.text()?);
    let is_meant = workload.name() == r.name() || nearest(wanted, [has]).is_some();
    let differ = |entry: &&krm_yaml::Entry| {
        let same = entry.key.text().and_then(|key| labels.get(key)).and_then(Node::text);
        same != entry.value.text()
    };
    if !is_meant || selector.as_map().into_iter().flatten().filter(differ).count() != 1 {
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
