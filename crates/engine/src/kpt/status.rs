//! What a render leaves in the root Kptfile, and in the file of results.

use krm_yaml::Node;
use krm_yaml::emit::preserve::{self, Layout};

use crate::pipeline::Called;

/// The condition that a render sets.
const CONDITION: &str = "Rendered";

/// Writes the outcome of a render into a Kptfile's `status`: the calls, and why it failed if it did. Conditions of other types
/// stay.
pub fn record(kptfile: &mut Node, calls: &[Called], failure: Option<&str>) {
    let Some(status) = kptfile.map_at("status") else { return };
    let mut condition = Node::from_iter([("type", CONDITION)]);
    let (word, reason) =
        if failure.is_some() { ("False", "RenderFailed") } else { ("True", "RenderSuccess") };
    condition.set("status", word);
    condition.set("reason", reason);
    if let Some(failure) = failure {
        condition.set("message", failure);
    }
    let conditions = status.get("conditions").map_or(&[][..], Node::items);
    let is_ours = |node: &Node| node.get("type").and_then(Node::text) == Some(CONDITION);
    // The same render twice changes nothing: not even where the condition is.
    if conditions.last().is_none_or(|last| *last != condition)
        || conditions.iter().filter(|c| is_ours(c)).count() > 1
    {
        let mut others: Vec<Node> = conditions.iter().filter(|node| !is_ours(node)).cloned().collect();
        others.push(condition);
        status.set("conditions", Node::from(others));
    }
    let rendered = render_status(calls);
    match rendered {
        None => drop(status.remove("renderStatus")),
        Some(rendered) if status.get("renderStatus") == Some(&rendered) => {}
        Some(rendered) => status.set("renderStatus", rendered),
    }
}

fn render_status(calls: &[Called]) -> Option<Node> {
    if calls.is_empty() {
        return None;
    }
    let mut node = Node::map();
    for (key, validators) in [("mutationSteps", false), ("validationSteps", true)] {
        let some: Vec<Node> =
            calls.iter().filter(|call| call.is_validator == validators).map(step_node).collect();
        if !some.is_empty() {
            node.set(key, Node::from(some));
        }
    }
    let failed: Vec<String> = calls
        .iter()
        .filter(|call| call.exit_code != 0)
        .map(|call| match &call.execution_error {
            Some(error) => format!("{}: {error}", call.shown()),
            None => format!("{}: exit code {}", call.shown(), call.exit_code),
        })
        .collect();
    if !failed.is_empty() {
        node.set("errorSummary", failed.join("; "));
    }
    Some(node)
}

fn step_node(call: &Called) -> Node {
    let mut node = Node::map();
    if !call.name.is_empty() {
        node.set("name", call.name.as_str());
    }
    if !call.shown().is_empty() {
        node.set(if call.is_exec { "exec" } else { "image" }, call.shown());
    }
    if let Some(error) = &call.execution_error {
        node.set("executionError", error.as_str());
    }
    outcome(call, &mut node);
    let errors: Vec<Node> = call
        .results
        .iter()
        .filter(|result| result.get("severity").and_then(Node::text) == Some("error"))
        .cloned()
        .collect();
    if !errors.is_empty() {
        node.set("errorResults", Node::from(errors));
    }
    node
}

fn outcome(call: &Called, node: &mut Node) {
    if !call.stderr.is_empty() {
        node.set("stderr", call.stderr.as_str());
    }
    node.set("exitCode", call.exit_code);
    if !call.results.is_empty() {
        node.set("results", Node::from(call.results.clone()));
    }
}

/// The text of `results.yaml`.
pub fn results_file(calls: &[Called], failed: bool) -> String {
    let mut list = Node::from_iter([("apiVersion", "kpt.dev/v1"), ("kind", "FunctionResultList")]);
    list.set("metadata", Node::from_iter([("name", "fnresults")]));
    list.set("exitCode", i64::from(failed));
    let items: Vec<Node> = calls
        .iter()
        .filter(|call| !call.is_refused)
        .map(|call| {
            let mut node = Node::map();
            node.set(if call.is_exec { "exec" } else { "image" }, call.shown());
            outcome(call, &mut node);
            if let Some(why) = &call.not_ended {
                // Nothing else in this file says why.
                let result = Node::from_iter([("message", why.as_str()), ("severity", "error")]);
                let others = call.results.iter().cloned();
                node.set("results", Node::from(others.chain([result]).collect::<Vec<_>>()));
            }
            node
        })
        .collect();
    if !items.is_empty() {
        list.set("items", Node::from(items));
    }
    preserve::fresh_with(&list, Layout::WIDE)
}

/// A result as kpt writes it: known fields alone, in one order; the older form in the words of today.
pub(super) fn result(raw: &Node) -> Node {
    let mut node = Node::map();
    let mut text = |key: &str, value: Option<&Node>| {
        if let Some(value) = value.and_then(Node::text).filter(|value| !value.is_empty()) {
            node.set(key, Node::string(value));
        }
    };
    // What says nothing in the field for it is shown whole: what a function says must be seen.
    let message = raw.get("message").filter(|message| message.text().is_some_and(|text| !text.is_empty()));
    text("message", Some(message.unwrap_or(&Node::string(krm_yaml::json::compact(raw)))));
    text("severity", raw.get("severity"));
    if let Some(of) = raw.get("resourceRef").and_then(Node::as_map) {
        let mut resource = Node::map();
        let metadata = of.get("metadata");
        for key in ["apiVersion", "kind", "name", "namespace"] {
            let value = of.get(key).or_else(|| metadata?.get(key)).and_then(Node::text);
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                resource.set(key, Node::string(value));
            }
        }
        node.set("resourceRef", resource);
    }
    if let Some(field) = raw.get("field").and_then(Node::as_map) {
        let mut shown = Node::map();
        for (key, value) in [
            ("path", field.get("path")),
            ("currentValue", field.get("currentValue")),
            ("proposedValue", field.get("proposedValue")),
        ] {
            if let Some(value) = value.filter(|value| !value.is_null()) {
                shown.set(key, text_of(value));
            }
        }
        // What it was called before; its value was then written as it is in a file, quotes included.
        if let Some(value) = field.get("suggestedValue") {
            shown.set("proposedValue", Node::string(preserve::fresh(value).trim_end()));
        }
        node.set("field", shown);
    }
    if let Some(file) = raw.get("file").and_then(Node::as_map) {
        let mut shown = Node::map();
        if let Some(path) = file.get("path").and_then(Node::text) {
            shown.set("path", Node::string(path));
        }
        if let Some(index) = file.get("index").and_then(Node::as_i64).filter(|index| *index != 0) {
            shown.set("index", index);
        }
        node.set("file", shown);
    }
    if let Some(tags) = raw.get("tags").and_then(Node::as_map).filter(|tags| !tags.is_empty()) {
        node.set("tags", plain(&Node::from(tags.clone())));
    }
    node
}

/// A scalar as text, whatever it looks like.
fn text_of(node: &Node) -> Node {
    if node.is_scalar() { Node::string(node.text().unwrap_or_default()) } else { plain(node) }
}

/// The value without the style and the comments it was written with.
fn plain(node: &Node) -> Node {
    if let Some(map) = node.as_map() {
        let mut entries: Vec<_> =
            map.iter().map(|entry| (entry.key.text().unwrap_or_default(), &entry.value)).collect();
        entries.sort_by_key(|(key, _)| *key);
        return entries.into_iter().map(|(key, value)| (key, plain(value))).collect();
    }
    if node.is_seq() {
        return Node::from(node.items().iter().map(plain).collect::<Vec<_>>());
    }
    match node.as_str() {
        Some(text) => Node::string(text),
        None => Node::scalar(
            node.text().unwrap_or_default(),
            node.tag(),
            krm_yaml::Style::Any,
            krm_yaml::Span::NONE,
        ),
    }
}
