//! The Kptfile of a package that is updated, and where it says that the package comes from.

use std::collections::BTreeSet;

use krm_yaml::{Node, Result, Span};

use super::kptfile::Strategy;
use super::update::Clash;
use crate::merge::{Conflict, Merged, Options, Side, three_way};
use crate::schema::Schema;

/// Merges the Kptfile of an update into the one here: its name and where it comes from stay. What a render noted in it is not
/// worth a conflict.
pub fn merge_kptfile(
    origin: Option<&Node>,
    updated: &Node,
    local: &Node,
    side: Side,
    clashes: &mut Vec<Clash>,
) -> Result<Node> {
    let own = |node: &Node| {
        let mut node = without_own(node);
        for key in ["upstream", "upstreamLock"] {
            if let Some(value) = local.get(key) {
                node.set(key, value.clone());
            }
        }
        if let Some(name) = local.at(["metadata", "name"]) {
            node.map_at("metadata").iter_mut().for_each(|metadata| metadata.set("name", name.clone()));
        }
        node
    };
    let (origin, updated) = (origin.map(own), own(updated));
    let all = [origin.as_ref(), Some(&updated), Some(local)];
    let by_program = all.iter().flatten().all(|node| programs_are_keys(node));
    let keyed = |node: &Node| if by_program { with_keys(node) } else { node.clone() };
    let options = Options { infer: true, ..Options::default() };
    let schema = Schema::builtin();
    let (origin, updated) = (origin.as_ref().map(keyed), keyed(&updated));
    let (merged, met) = three_way(origin.as_ref(), &updated, &keyed(local), side, &schema, options)?;
    let is_noted =
        |conflict: &Conflict| conflict.path.first().is_some_and(|first| first.as_str() == "status");
    clashes.extend(
        met.into_iter()
            .filter(|conflict| !is_noted(conflict))
            .map(|conflict| Clash::in_field(local, conflict)),
    );
    Ok(match merged {
        Merged::Changed(node) if by_program => without_keys(&node),
        Merged::Changed(node) => node,
        Merged::Same | Merged::Deleted => local.clone(),
    })
}

fn without_own(node: &Node) -> Node {
    let mut node = node.clone();
    ["upstream", "upstreamLock"].iter().for_each(|key| drop(node.remove(key)));
    node
}

const LISTS: [&str; 2] = ["mutators", "validators"];

/// The image without its tag, or the program.
fn program(function: &Node) -> Option<String> {
    let text = |key| function.get(key).and_then(Node::text);
    text("exec").or_else(|| text("image").map(super::image::without_tag)).map(str::to_owned)
}

/// Whether no function has a name, and none runs a program twice.
fn programs_are_keys(kptfile: &Node) -> bool {
    LISTS.iter().all(|list| {
        let functions = kptfile.at(["pipeline", list]).map_or(&[][..], Node::items);
        let programs: BTreeSet<Option<String>> = functions.iter().map(program).collect();
        programs.len() == functions.len() && functions.iter().all(|function| function.get("name").is_none())
    })
}

fn edit_functions(kptfile: &Node, edit: impl Fn(&mut Node)) -> Node {
    let mut kptfile = kptfile.clone();
    for list in LISTS {
        if let Some(functions) = kptfile.at_mut(["pipeline", list]).and_then(Node::as_seq_mut) {
            functions.iter_mut().for_each(&edit);
        }
    }
    kptfile
}

fn with_keys(kptfile: &Node) -> Node {
    edit_functions(kptfile, |function| {
        if let Some(program) = program(function) {
            function.set("name", program);
        }
    })
}

fn without_keys(kptfile: &Node) -> Node {
    edit_functions(kptfile, |function| drop(function.remove("name")))
}

/// Where a package comes from, for its Kptfile.
pub struct Source<'a> {
    /// The address of the repository.
    pub repo: &'a str,
    /// The folder in it; `/` for all of it.
    pub directory: &'a str,
    /// As asked for.
    pub reference: &'a str,
    /// As found: a tag of the package may be longer.
    pub found: &'a str,
    /// The commit, in full.
    pub commit: &'a str,
    /// How the next update treats what was changed here.
    pub strategy: Strategy,
}

/// Writes into a Kptfile where its package comes from.
pub fn set_upstream(kptfile: &mut Node, source: &Source<'_>) {
    let git = |reference: &str| {
        Node::from_iter([("repo", source.repo), ("directory", source.directory), ("ref", reference)])
    };
    let mut upstream = Node::from_iter([("type", "git")]);
    upstream.set("git", git(source.reference));
    upstream.set("updateStrategy", source.strategy.word());
    let mut lock = Node::from_iter([("type", "git")]);
    let mut locked = git(source.found);
    locked.set("commit", Node::string(source.commit));
    lock.set("git", locked);
    for (key, value) in [("upstream", upstream), ("upstreamLock", lock)] {
        match kptfile.get(key) {
            Some(old) => {
                let value = crate::functions::updated(old, &value);
                kptfile.set(key, value);
            }
            None => insert(kptfile, key, value),
        }
    }
}

/// Puts a field after those that come before it in every Kptfile.
fn insert(kptfile: &mut Node, key: &str, value: Node) {
    const BEFORE: [&str; 4] = ["apiVersion", "kind", "metadata", "upstream"];
    if let Some(map) = kptfile.as_map_mut() {
        let known = |key: &Node| key.text().is_some_and(|key| BEFORE.contains(&key));
        let at = map.iter().take_while(|entry| known(&entry.key)).count();
        map.insert_at(at, Node::scalar(key, krm_yaml::Tag::Str, krm_yaml::Style::Any, Span::NONE), value);
    }
}
