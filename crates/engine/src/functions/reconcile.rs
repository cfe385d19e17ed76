//! What a program returned, seen as edits of what it was given.
//!
//! A program may know nothing about comments, quotes and the order of keys. So a tree that comes back is not taken as it is:
//! what did not change stays the same node (with its place in the user's file), what changed keeps the comments of
//! the field it is, and keys keep their order, new ones last. A comment the program wrote wins over the old one. A comment
//! on the wrong line is worse than one that is lost, so elements of lists keep theirs only if they are
//! [identified](identify) by a key or by their value.

use krm_function::elements::identify;
use krm_yaml::{Entry, Map, Node, Seq, Style, Text, Trivia, Value};
use rustc_hash::FxHashSet;

/// What became of comments on the way through a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comments {
    /// The program knows none, so those that are missing are put back.
    AreLost,
    /// The program keeps them, so one that is missing was removed.
    AreKept,
}

impl Comments {
    /// What a program does with them, by the trees it was given and those it returned: one that returns any it was given
    /// keeps them.
    pub(crate) fn through<'n>(
        given: impl Iterator<Item = &'n Node>,
        returned: impl Iterator<Item = &'n Node>,
    ) -> Self {
        let mut now = FxHashSet::default();
        returned.for_each(|node| collect(node, &mut now));
        if now.is_empty() {
            return Comments::AreLost;
        }
        let mut before = FxHashSet::default();
        given.for_each(|node| collect(node, &mut before));
        match now.is_disjoint(&before) {
            true => Comments::AreLost,
            false => Comments::AreKept,
        }
    }
}

/// All comments of a tree.
fn collect<'n>(node: &'n Node, comments: &mut FxHashSet<&'n Text>) {
    if node.has_trivia() {
        let Trivia { head, line, foot, .. } = node.trivia();
        comments.extend([head, line, foot].into_iter().filter(|comment| !comment.is_empty()));
    }
    for entry in node.as_map().into_iter().flatten() {
        collect(&entry.key, comments);
        collect(&entry.value, comments);
    }
    node.items().iter().for_each(|item| collect(item, comments));
}

/// Applies what changed between two trees to the first.
pub(crate) fn reconcile(old: &Node, new: &Node, comments: Comments) -> Node {
    let mut returned = None;
    if comments == Comments::AreKept {
        collect(new, returned.insert(FxHashSet::default()));
    }
    Reconciler { returned }.changed(old, new, Known::ByKey).unwrap_or_else(|| old.clone())
}

/// How it is known that a new node is what an old one became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    ByKey,
    /// They have much in common: comments stay only where nothing changed.
    ByLikeness,
}

struct Reconciler<'n> {
    /// The comments that came back, of a program that keeps comments.
    returned: Option<FxHashSet<&'n Text>>,
}

impl Reconciler<'_> {
    /// The old node with the changes of the new one; `None` if there are none.
    fn changed(&self, old: &Node, new: &Node, known: Known) -> Option<Node> {
        let value = match (old.value(), new.value()) {
            (Value::Map(a), Value::Map(b)) => self.changed_map(a, b, known).map(Node::from),
            (Value::Seq(a), Value::Seq(b)) => self.changed_seq(a, b, known).map(Node::from),
            _ if old == new => None,
            _ => {
                let mut node = old.clone();
                node.assign(new.clone());
                // Quotes stay as they were, but a text that now has lines is better off in the new style.
                if new.text().is_some_and(|text| text.contains('\n')) && node.style() != Style::Literal {
                    node.set_style(new.style());
                }
                self.take_comments(&mut node, new, known);
                return Some(node);
            }
        };
        let known = if value.is_none() { Known::ByKey } else { known };
        if value.is_none() && !self.has_other_comments(old, new, known) {
            return None;
        }
        let mut node = old.clone();
        if let Some(value) = value {
            let style = node.style();
            node.assign(value);
            node.set_style(style);
        }
        self.take_comments(&mut node, new, known);
        Some(node)
    }

    fn changed_map(&self, old: &Map, new: &Map, known: Known) -> Option<Map> {
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
            let value = self.changed(&entry.value, &other.value, known);
            // What is above a key is about its value as well.
            let known = if entry.value == other.value { Known::ByKey } else { known };
            let key = self.has_other_comments(&entry.key, &other.key, known).then(|| {
                let mut key = entry.key.clone();
                self.take_comments(&mut key, &other.key, known);
                key
            });
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

    fn changed_seq(&self, old: &Seq, new: &Seq, known: Known) -> Option<Seq> {
        let mut pairing = identify(old, new);
        let is_here = |(at, from): (usize, &Option<usize>)| *from == Some(at);
        let in_place = old.len() == new.len() && pairing.found().iter().enumerate().all(is_here);
        let alike = if in_place { Vec::new() } else { pairing.between_neighbours(is_like) };
        let mut different = !in_place;
        let items = new.iter().zip(pairing.found()).enumerate().map(|(at, (item, from))| {
            let Some(old) = from.map(|from| &old[from]) else { return item.clone() };
            let known = if alike.binary_search(&at).is_ok() { Known::ByLikeness } else { known };
            self.changed(old, item, known).inspect(|_| different = true).unwrap_or_else(|| old.clone())
        });
        let items: Seq = items.collect();
        different.then_some(items)
    }

    /// The comments a node is to have.
    fn comments<'t>(&self, old: &'t Node, new: &'t Node, known: Known) -> [Option<&'t Text>; 3] {
        let stays = |old: &Text| match &self.returned {
            // It came back elsewhere: what a comment belongs to may be read in several ways.
            Some(returned) => returned.contains(old),
            None => known == Known::ByKey,
        };
        let (old, new) = (old.trivia(), new.trivia());
        [(&old.head, &new.head), (&old.line, &new.line), (&old.foot, &new.foot)].map(|(old, new)| {
            match new.is_empty() {
                true => Some(old).filter(|old| stays(old)),
                false => Some(new),
            }
        })
    }

    fn has_other_comments(&self, old: &Node, new: &Node, known: Known) -> bool {
        if !old.has_trivia() && !new.has_trivia() {
            return false;
        }
        let Trivia { head, line, foot, .. } = old.trivia();
        let now = self.comments(old, new, known);
        [head, line, foot].into_iter().zip(now).any(|(was, now)| now.map_or("", Text::as_str) != was.as_str())
    }

    fn take_comments(&self, node: &mut Node, from: &Node, known: Known) {
        if !self.has_other_comments(node, from, known) {
            return;
        }
        let now = self.comments(node, from, known).map(|comment| comment.cloned().unwrap_or_default());
        let trivia = node.trivia_mut();
        [trivia.head, trivia.line, trivia.foot] = now;
    }
}

fn same_key<'m>(map: &'m Map, key: &Node) -> Option<&'m Entry> {
    match key.text() {
        Some(text) => map.entry(text),
        None => map.iter().find(|entry| entry.key == *key),
    }
}

/// Whether two maps have most of their fields in common, as when a container got another name.
fn is_like(old: &Node, new: &Node) -> bool {
    let (Some(a), Some(b)) = (old.as_map(), new.as_map()) else { return false };
    let same =
        a.iter().filter(|entry| same_key(b, &entry.key).is_some_and(|other| other.value == entry.value));
    2 * same.count() >= a.len().max(b.len())
}

#[cfg(test)]
mod tests {
    use krm_yaml::emit::preserve::fresh;

    use super::*;

    fn tree(text: &str) -> Node {
        krm_yaml::parse_str(text).expect("it is YAML").remove(0).root
    }

    fn check(old: &str, new: &str, expected: &str) {
        assert_eq!(fresh(&reconcile(&tree(old), &tree(new), Comments::AreLost)), expected);
    }

    #[test]
    fn what_did_not_change_is_the_same_node() {
        let old = tree("b: 1 # one\na: [x, {y: 'z'}]\n");
        assert!(reconcile(&old, &tree("a: [x, {y: z}]\nb: 0x1\n"), Comments::AreLost).same(&old));
        let edited = reconcile(&old, &tree("a: [x, {y: z}]\nb: 2\n"), Comments::AreLost);
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
    fn items_without_names_are_known_by_their_value() {
        check("- a # a\n- b # b\n- d # d\n", "- a\n- x\n- y\n- d\n", "- a # a\n- x\n- y\n- d # d\n");
        check("- a # a\n- b # b\n", "- a\n- c\n", "- a # a\n- c\n");
        check("- a # a\n- b # b\n- a # again\n", "- a\n- a\n", "- a # a\n- a # again\n");
        check("- --port=80\n- --tls # remove\n", "- --tls\n- --port=80\n", "- --tls # remove\n- --port=80\n");
    }

    #[test]
    fn what_is_equal_in_a_renamed_item_keeps_its_comments() {
        check(
            "# the web\n- name: web # old name\n  image: nginx # pinned\n  tty: true\n",
            "- image: nginx\n  name: www\n  tty: true\n",
            "- name: www\n  image: nginx # pinned\n  tty: true\n",
        );
    }

    #[test]
    fn a_comment_that_was_removed_stays_removed() {
        let (old, new) = (tree("a: 1 # kept\nb: 2 # removed\n"), tree("a: 1 # kept\nb: 2\n"));
        let comments = Comments::through([&old].into_iter(), [&new].into_iter());
        assert_eq!(fresh(&reconcile(&old, &new, comments)), "a: 1 # kept\nb: 2\n");
    }
}
