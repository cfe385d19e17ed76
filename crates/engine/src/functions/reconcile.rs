//! What a program returned, seen as edits of what it was given.
//!
//! A program may know nothing of comments, quotes and the order of keys. So a tree that comes back is not taken as it is:
//! what did not change stays the very same node (with its place in the user's file), what changed keeps the comments that
//! stood there, and keys keep their order, new ones last. A comment the program wrote wins over the old one.

use krm_yaml::{Entry, Map, Node, Seq, Style, Trivia, Value};
use rustc_hash::FxHashMap;

/// Fields by which the items of a list are known again, in the order they are tried.
const KEYS: [&str; 7] = ["name", "mountPath", "devicePath", "ip", "type", "topologyKey", "containerPort"];

/// Applies what changed between two trees to the first.
pub fn reconcile(old: &Node, new: &Node) -> Node {
    changed(old, new).unwrap_or_else(|| old.clone())
}

/// The old node with the changes of the new one; `None` where there are none.
fn changed(old: &Node, new: &Node) -> Option<Node> {
    let value = match (old.value(), new.value()) {
        (Value::Map(a), Value::Map(b)) => changed_map(a, b).map(Node::from),
        (Value::Seq(a), Value::Seq(b)) => changed_seq(a, b).map(Node::from),
        _ if old == new => None,
        _ => {
            let mut node = old.clone();
            node.assign(new.clone());
            // Quotes stay as they were, but a text that now has lines is better off in the new style.
            if new.text().is_some_and(|text| text.contains('\n')) && node.style() != Style::Literal {
                node.set_style(new.style());
            }
            take_comments(&mut node, new);
            return Some(node);
        }
    };
    if value.is_none() && !has_other_comments(old, new) {
        return None;
    }
    let mut node = old.clone();
    if let Some(value) = value {
        let style = node.style();
        node.assign(value);
        node.set_style(style);
    }
    take_comments(&mut node, new);
    Some(node)
}

fn changed_map(old: &Map, new: &Map) -> Option<Map> {
    let mut edited: Option<Vec<Entry>> = None;
    // The entries so far, copied as soon as one of them is not what it was.
    let edit = |edited: &mut Option<Vec<Entry>>, at: usize| {
        if edited.is_none() {
            *edited = Some(old.entries()[..at].to_vec());
        }
    };
    let mut kept = 0;
    for (at, entry) in old.iter().enumerate() {
        let Some(other) = same_key(new, &entry.key) else {
            edit(&mut edited, at);
            continue;
        };
        kept += 1;
        let key = has_other_comments(&entry.key, &other.key).then(|| {
            let mut key = entry.key.clone();
            take_comments(&mut key, &other.key);
            key
        });
        let value = changed(&entry.value, &other.value);
        if key.is_some() || value.is_some() {
            edit(&mut edited, at);
        }
        if let Some(entries) = &mut edited {
            let key = key.unwrap_or_else(|| entry.key.clone());
            entries.push(Entry { key, value: value.unwrap_or_else(|| entry.value.clone()) });
        }
    }
    if kept < new.len() {
        edit(&mut edited, old.len());
        let added = new.iter().filter(|entry| same_key(old, &entry.key).is_none());
        edited.as_mut().expect("just made").extend(added.cloned());
    }
    edited.map(Map::from_entries)
}

fn same_key<'m>(map: &'m Map, key: &Node) -> Option<&'m Entry> {
    match key.text() {
        Some(text) => map.entry(text),
        None => map.iter().find(|entry| entry.key == *key),
    }
}

fn changed_seq(old: &Seq, new: &Seq) -> Option<Seq> {
    let origins = match_items(old, new);
    let in_place = old.len() == new.len() && origins.iter().enumerate().all(|(i, from)| *from == Some(i));
    let mut different = !in_place;
    let items = new.iter().zip(&origins).map(|(item, from)| match from.map(|from| &old[from]) {
        Some(old) => changed(old, item).inspect(|_| different = true).unwrap_or_else(|| old.clone()),
        None => item.clone(),
    });
    let items: Seq = items.collect();
    different.then_some(items)
}

/// Finds for each new item the old one it was.
fn match_items(old: &Seq, new: &Seq) -> Vec<Option<usize>> {
    if let Some(by_key) = KEYS.iter().find_map(|key| match_by_key(key, old, new)) {
        return by_key;
    }
    // Without keys: what is the same at both ends stayed, and what lies between was changed in place if there is as
    // much of it as before.
    let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - prefix;
    let suffix = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let same_middle = old.len() == new.len();
    (0..new.len())
        .map(|i| match i {
            _ if i < prefix || same_middle => Some(i),
            _ if i >= new.len() - suffix => Some(old.len() - (new.len() - i)),
            _ => None,
        })
        .collect()
}

/// By a field that every item has, and no two old ones alike.
fn match_by_key(key: &str, old: &Seq, new: &Seq) -> Option<Vec<Option<usize>>> {
    let id = |item: &Node| item.get(key).filter(|id| id.is_scalar()).and_then(Node::text).map(str::to_owned);
    let mut places = FxHashMap::default();
    for (i, item) in old.iter().enumerate() {
        if places.insert(id(item)?, i).is_some() {
            return None;
        }
    }
    // Each old item is taken once: a copy is a new one.
    new.iter().map(|item| id(item).map(|id| places.remove(&id))).collect()
}

/// Whether the new node has a comment that the old one has not.
fn has_other_comments(old: &Node, new: &Node) -> bool {
    let (old, new) = (old.trivia(), new.trivia());
    let differs = |old: &str, new: &str| !new.is_empty() && old != new;
    differs(&old.head, &new.head) || differs(&old.line, &new.line) || differs(&old.foot, &new.foot)
}

fn take_comments(node: &mut Node, from: &Node) {
    if !has_other_comments(node, from) {
        return;
    }
    let Trivia { head, line, foot, .. } = from.trivia().clone();
    let trivia = node.trivia_mut();
    for (comment, new) in [(&mut trivia.head, head), (&mut trivia.line, line), (&mut trivia.foot, foot)] {
        if !new.is_empty() {
            *comment = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use krm_yaml::emit::preserve::fresh;

    use super::*;

    fn tree(text: &str) -> Node {
        krm_yaml::parse_str(text).expect("it is YAML").remove(0).root
    }

    fn check(old: &str, new: &str, expected: &str) {
        assert_eq!(fresh(&reconcile(&tree(old), &tree(new))), expected);
    }

    #[test]
    fn what_did_not_change_is_the_same_node() {
        let old = tree("b: 1 # one\na: [x, {y: 'z'}]\n");
        assert!(reconcile(&old, &tree("a: [x, {y: z}]\nb: 0x1\n")).same(&old));
        let edited = reconcile(&old, &tree("a: [x, {y: z}]\nb: 2\n"));
        assert!(edited.get("a").unwrap().same(old.get("a").unwrap()));
    }

    #[test]
    fn comments_quotes_and_order_stay() {
        check(
            "# top\nb: 'x' # b\na:\n  # in a\n  d: 1 # d\n  c: 2\n",
            "a:\n  c: 3\n  d: 1\n  e: 4\nb: y\n",
            "# top\nb: 'y' # b\na:\n  # in a\n  d: 1 # d\n  c: 3\n  e: 4\n",
        );
    }

    #[test]
    fn removed_fields_go_with_their_comments() {
        check("a: 1 # a\nb: 2 # b\nc: 3 # c\n", "a: 1\nc: 3\n", "a: 1 # a\nc: 3 # c\n");
    }

    #[test]
    fn a_comment_of_the_program_wins() {
        check("a: 1 # old\nb: 2 # kept\n", "a: 1 # new\nb: 2\n", "a: 1 # new\nb: 2 # kept\n");
    }

    #[test]
    fn items_are_known_by_name() {
        check(
            "- name: a # first\n  x: 1\n- name: b # second\n  x: 2\n",
            "- name: new\n- name: b\n  x: 3\n- name: a\n  x: 1\n",
            "- name: new\n- name: b # second\n  x: 3\n- name: a # first\n  x: 1\n",
        );
    }

    #[test]
    fn items_without_names_keep_what_stands_at_both_ends() {
        check("- a # a\n- b # b\n- d # d\n", "- a\n- x\n- y\n- d\n", "- a # a\n- x\n- y\n- d # d\n");
        check("- a # a\n- b # b\n", "- a\n- c\n", "- a # a\n- c # b\n");
        check("- a # a\n- b # b\n- a # again\n", "- a\n- a\n", "- a # a\n- a # again\n");
    }
}
