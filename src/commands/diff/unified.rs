//! The rendered texts as `diff -u` compares them: a file for each target, named as `krm build -o` names it.

use krm_engine::diff::lines::unified;
use krm_engine::diff::{Given, Outcome};
use krm_engine::explain::text::MASK;
use krm_engine::{Node, Result};
use rustc_hash::FxHashMap;

/// The differences of all targets, such that `patch -p1` or `git apply` in a folder of rendered files takes it there.
pub fn text(
    given: &[Given],
    overlays: Option<&[String]>,
    context: usize,
    show_secrets: bool,
) -> Result<String> {
    let folders: Vec<&str> = match overlays {
        Some(two) => two.iter().map(String::as_str).collect(),
        None => given.iter().map(|one| one.directory.as_str()).collect(),
    };
    // The path of the folder, as `krm build -o` names the file of a target.
    let name = |folder: &&str| -> String {
        let parts: Vec<&str> = folder.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect();
        if parts.is_empty() { "output".to_owned() } else { parts.join("/") }
    };
    let names: Vec<String> = folders.iter().map(name).collect();
    let mut out = String::new();
    for (at, one) in given.iter().enumerate() {
        let (old, new) = (nodes(&one.from), nodes(&one.to));
        let (old, new) = match show_secrets {
            true => (old, new),
            false => (masked(&old, &new, "before"), masked(&new, &old, "after")),
        };
        let (before, after) = (rendered(&old)?, rendered(&new)?);
        let hunks = unified(&before, &after, context);
        if hunks.is_empty() {
            continue;
        }
        let (old_name, new_name) = match overlays {
            Some(_) => (&names[0], &names[1]),
            None => (&names[at], &names[at]),
        };
        let head = |sign: &str, side: &str, name: &str, outcome: &Outcome| match outcome {
            Outcome::Missing => format!("{sign} /dev/null\n"),
            _ => format!("{sign} {side}/{name}.yaml\n"),
        };
        out.push_str(&head("---", "a", old_name, &one.from));
        out.push_str(&head("+++", "b", new_name, &one.to));
        out.push_str(&hunks);
    }
    Ok(out)
}

fn nodes(outcome: &Outcome) -> Vec<Node> {
    match outcome {
        Outcome::Built(trace) => trace.result.iter().map(|(_, seen)| seen.node.clone()).collect(),
        Outcome::Rendered(all) => all.iter().map(|one| one.node.clone()).collect(),
        Outcome::Failed(_) | Outcome::Missing => Vec::new(),
    }
}

fn rendered(nodes: &[Node]) -> Result<String> {
    let mut text = String::new();
    for (at, node) in nodes.iter().enumerate() {
        if at > 0 {
            text.push_str("---\n");
        }
        krm_yaml::try_canonical_into(node, &mut text)?;
    }
    Ok(text)
}

/// The resources with the values of Secrets masked; those that differ from the other side say which side they are on, so
/// that a difference stays one.
fn masked(own: &[Node], others: &[Node], side: &str) -> Vec<Node> {
    const FIELDS: [&str; 2] = ["data", "stringData"];
    let is_secret = |node: &&Node| node.get("kind").and_then(Node::as_str) == Some("Secret");
    let name = |node: &Node| {
        let text = |key| node.at(["metadata", key]).and_then(Node::text).unwrap_or_default().to_owned();
        (text("namespace"), text("name"))
    };
    let known: FxHashMap<_, &Node> = others.iter().filter(is_secret).map(|node| (name(node), node)).collect();
    let mask = |node: &Node| {
        if !is_secret(&node) {
            return node.clone();
        }
        let other = known.get(&name(node));
        let mut node = node.clone();
        for field in FIELDS {
            let Some(values) = node.get(field).and_then(Node::as_map).cloned() else { continue };
            let mut shown = Node::map();
            for entry in values.iter() {
                let Some(key) = entry.key.text() else { continue };
                let same = other.and_then(|other| other.at([field, key])) == Some(&entry.value);
                shown.set(key, if same { MASK.to_owned() } else { format!("{MASK} ({side})") });
            }
            node.set(field, shown);
        }
        node
    };
    own.iter().map(mask).collect()
}
