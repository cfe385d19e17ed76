//! The rendered texts as `diff -u` compares them: a file for each target, named as `krm build -o` names it.

use krm_engine::diff::lines::unified;
use krm_engine::diff::{Given, Options, Outcome, narrowed};
use krm_engine::explain::text::MASK;
use krm_engine::explain::{Hidden, replaced};
use krm_engine::trace::at;
use krm_engine::{Node, Result};
use rustc_hash::FxHashMap;

/// The differences of all targets, such that `patch -p1` or `git apply` in a folder of rendered files takes it there.
pub fn text(
    given: &[Given],
    overlays: Option<&[String]>,
    context: usize,
    options: &Options,
    hidden: &[Hidden; 2],
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
    let values = match options.only.is_some() || !options.ignore.is_empty() {
        true => Values::Mixed,
        false => Values::Own,
    };
    let mut out = String::new();
    for (at, one) in given.iter().enumerate() {
        // What cannot be built is not gone.
        if matches!((&one.from, &one.to), (Outcome::Failed(_), _) | (_, Outcome::Failed(_))) {
            continue;
        }
        let [old, new] = narrowed(one, options);
        let [of_old, of_new] = hidden;
        let before = rendered(&masked((&old[..], of_old), (&new[..], of_new), "before", Values::Own))?;
        let after = rendered(&masked((&new[..], of_new), (&old[..], of_old), "after", values))?;
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
            _ => format!("{sign} {}\n", quoted(&format!("{side}/{name}.yaml"))),
        };
        out.push_str(&head("---", "a", old_name, &one.from));
        out.push_str(&head("+++", "b", new_name, &one.to));
        out.push_str(&hunks);
    }
    Ok(out)
}

/// A name as git writes it: in quotes if there are characters that cannot be in a line, with a tab after one with a space.
fn quoted(name: &str) -> String {
    let is_special = |c: char| c.is_ascii_control() || matches!(c, '"' | '\\');
    if !name.contains(is_special) {
        return if name.contains(' ') { format!("{name}\t") } else { name.to_owned() };
    }
    let mut out = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_ascii_control() => out.push_str(&format!("\\{:03o}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
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

/// Which values resources hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    Own,
    /// Some are those of the other side, since the difference was left out.
    Mixed,
}

/// The resources as they may be seen. Values that differ from the other side say which side they are on, so that a difference
/// stays one.
fn masked(
    (own, hidden): (&[Node], &Hidden),
    (others, hidden_there): (&[Node], &Hidden),
    side: &str,
    values: Values,
) -> Vec<Node> {
    let id = |node: &Node| {
        let text = |keys: &[&str]| node.at(keys.iter().copied()).and_then(Node::text).map(str::to_owned);
        [text(&["kind"]), text(&["metadata", "namespace"]), text(&["metadata", "name"])]
    };
    let known: FxHashMap<_, &Node> = others.iter().map(|node| (id(node), node)).collect();
    let mask = |node: &Node| {
        let other = known.get(&id(node)).copied();
        let mut leaves = hidden.leaves(node);
        let there = other.map(|other| hidden_there.leaves(other)).unwrap_or_default();
        // What was taken back is hidden as it was on the other side.
        let taken_back = if values == Values::Mixed { hidden_there.leaves(node) } else { Vec::new() };
        for leaf in there.into_iter().chain(taken_back) {
            if !leaves.contains(&leaf) {
                leaves.push(leaf);
            }
        }
        replaced(node, &leaves, &mut |path, value| {
            let same = other.and_then(|other| at(other, path)) == Some(value);
            Node::from(if same { MASK.to_owned() } else { format!("{MASK} ({side})") })
        })
    };
    own.iter().map(mask).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_git_writes_them() {
        assert_eq!(quoted("a/é.yaml"), "a/é.yaml");
        assert_eq!(quoted("a/b c.yaml"), "a/b c.yaml\t");
        assert_eq!(quoted("a/\"b\n\u{1b}\\.yaml"), r#""a/\"b\n\033\\.yaml""#);
    }
}
