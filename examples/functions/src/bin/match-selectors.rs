//! Refuses Services whose selector finds no pods: the labels of the workloads in the package tell.

use std::collections::{HashMap, HashSet};
use std::process::ExitCode;

use krm_function::{FunctionResult, Node, Object, Outcome, ResourceList};

const HELP: &str = "\
Refuses Services whose selector finds none of the pods of the package.

Compares the selector of each Service with the labels that Deployments, StatefulSets and the like give to their pods in the
same namespace. Services without a selector are left alone. There is nothing to configure.";

fn main() -> ExitCode {
    krm_function::run_with_help(HELP, match_selectors)
}

fn match_selectors(list: &mut ResourceList) -> Outcome {
    let workloads = Workloads::of(&list.items);
    for service in list.items.iter().filter(|object| object.kind() == "Service") {
        let selector = service.at(["spec", "selector"]).and_then(Node::as_map).into_iter().flatten();
        let labels: Vec<Label> = selector
            .filter_map(|entry| Some((service.namespace(), entry.key.text()?, entry.value.text()?)))
            .collect();
        if labels.is_empty() || workloads.have(&labels) {
            continue;
        }
        let unknown = labels.iter().filter(|label| !workloads.0.contains_key(*label));
        let unknown: Vec<String> = unknown.map(|(_, key, value)| format!("`{key}: {value}`")).collect();
        let message = match unknown.is_empty() {
            true => "the selector finds no pods: none have all of these labels".to_string(),
            false => format!("the selector finds no pods: none have the label {}", unknown.join(" or ")),
        };
        list.results.push(FunctionResult::error(message).on(service).field("spec.selector"));
    }
    Ok(())
}

/// Namespace, key and value.
type Label<'l> = (&'l str, &'l str, &'l str);

/// Which workloads give their pods a label, by number: so a Service need not look at all of them.
struct Workloads<'l>(HashMap<Label<'l>, HashSet<usize>>);

impl<'l> Workloads<'l> {
    fn of(items: &'l [Object]) -> Self {
        let mut by_label: HashMap<Label, HashSet<usize>> = HashMap::new();
        for (number, object) in items.iter().enumerate() {
            for (key, value) in object.pod_labels() {
                by_label.entry((object.namespace(), key, value)).or_default().insert(number);
            }
        }
        Self(by_label)
    }

    /// Whether one of them gives its pods all of these labels.
    fn have(&self, labels: &[Label]) -> bool {
        let Some(with) = labels.iter().map(|label| self.0.get(label)).collect::<Option<Vec<_>>>() else {
            return false;
        };
        let rarest = with.iter().min_by_key(|workloads| workloads.len());
        rarest.is_none_or(|few| few.iter().any(|workload| with.iter().all(|some| some.contains(workload))))
    }
}
