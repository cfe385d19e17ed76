//! Editing at the end of a path.

use super::walk::{Children, child, children, enters_items, index, leads_somewhere};
use super::{Path, Segment};
use crate::diag::{Diagnostic, Result};
use crate::node::{Node, Value};

/// What an edit does where its path leads to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It fails.
    Refuse,
    /// It leaves everything as it is.
    Skip,
    /// It makes what is missing: maps for names, lists for numbers and `[k=v]`, the item with `k: v` for `[k=v]`, and a
    /// null at the end, for the edit to replace. A number makes an item only right behind the last one.
    Create,
}

impl Path {
    /// Calls `edit` on every node the path leads to, and says how many there were. What is not on the way to one of
    /// them stays shared with other copies of the tree.
    pub fn edit(
        &self,
        root: &mut Node,
        missing: Missing,
        mut edit: impl FnMut(&mut Node) -> Result<()>,
    ) -> Result<usize> {
        let create = missing == Missing::Create;
        let count = self.walk(&self.0, root, create, &mut edit)?;
        if count == 0 && missing == Missing::Refuse {
            return Err(self.not_found(root));
        }
        Ok(count)
    }

    /// Gives every node the path leads to a value. Comments stay, and quotes where the type does: see [`Node::assign`].
    pub fn set(&self, root: &mut Node, value: Node, missing: Missing) -> Result<()> {
        self.edit(root, missing, |node| {
            node.assign(value.clone());
            Ok(())
        })?;
        Ok(())
    }

    /// Adds a value: as a field of a map (in place where the field exists), before the item of a list that the path
    /// ends with, or behind the last for `-`. `missing` is about the map or list it is added to.
    pub fn insert(&self, root: &mut Node, value: Node, missing: Missing) -> Result<()> {
        let Some((last, parents)) = self.0.split_last() else {
            root.assign(value);
            return Ok(());
        };
        let parent = Path(parents.to_vec());
        parent.edit(root, missing, |node| {
            if node.is_null() && missing == Missing::Create {
                node.assign(if wants_seq(Some(last)) { Node::seq() } else { Node::map() });
            }
            let span = node.span();
            match (last, node.value_mut()) {
                (Segment::Key(name) | Segment::Field(name), Value::Map(_)) => node.set(name, value.clone()),
                (Segment::Append, Value::Seq(_)) => {
                    node.as_seq_mut().expect("a sequence").push(value.clone())
                }
                (Segment::Key(name), Value::Seq(items)) => {
                    let at = index(name).filter(|at| *at <= items.len());
                    let Some(at) = at else { return Err(self.out_of_range(name, items.len()).at(span)) };
                    node.as_seq_mut().expect("a sequence").insert(at, value.clone());
                }
                _ => return Err(self.wrong_kind(last, node)),
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Adds a value behind the last item of the list the path leads to.
    pub fn append(&self, root: &mut Node, value: Node, missing: Missing) -> Result<()> {
        let mut path = self.clone();
        path.0.push(Segment::Append);
        path.insert(root, value, missing)
    }

    /// Removes everything the path leads to, and gives it back in the order it stood.
    pub fn remove(&self, root: &mut Node, missing: Missing) -> Result<Vec<Node>> {
        let mut removed = Vec::new();
        if let Some((last, parents)) = self.0.split_last() {
            remove_under(parents, last, root, &mut removed);
        } else {
            removed.push(root.take());
        }
        if removed.is_empty() && missing == Missing::Refuse {
            return Err(self.not_found(root));
        }
        Ok(removed)
    }

    fn walk(
        &self,
        path: &[Segment],
        node: &mut Node,
        create: bool,
        edit: &mut dyn FnMut(&mut Node) -> Result<()>,
    ) -> Result<usize> {
        let Some((segment, rest)) = path.split_first() else {
            edit(node)?;
            return Ok(1);
        };
        if create && node.is_null() {
            node.assign(if wants_seq(Some(segment)) { Node::seq() } else { Node::map() });
        }
        let rest = if enters_items(segment, node) { path } else { rest };
        let mut found = match children(segment, node) {
            Children::None => Vec::new(),
            Children::One(at) => vec![at],
            Children::All(all) => all.collect(),
            Children::Some(some) => some,
        };
        if create && (found.is_empty() || *segment == Segment::Append) {
            found = self.make(segment, rest.first(), node)?.into_iter().collect();
        } else if !create {
            found.retain(|at| leads_somewhere(rest, child(node, *at)));
        }
        let mut count = 0;
        for at in found {
            count += self.walk(rest, child_mut(node, at), create, edit)?;
        }
        Ok(count)
    }

    /// Makes the child a segment leads to, fit for the segment behind it.
    fn make(&self, segment: &Segment, next: Option<&Segment>, node: &mut Node) -> Result<Option<usize>> {
        let fresh = || match next {
            None => Node::null(),
            next if wants_seq(next) => Node::seq(),
            Some(_) => Node::map(),
        };
        match (segment, node.value()) {
            (Segment::Key(name) | Segment::Field(name), Value::Map(_)) => {
                let map = node.as_map_mut().expect("a map");
                map.push(Node::from(name.clone()), fresh());
                Ok(Some(map.len() - 1))
            }
            (Segment::Key(name), Value::Seq(items)) if index(name).is_some_and(|at| at > items.len()) => {
                Err(self.out_of_range(name, items.len()).at(node.span()))
            }
            (Segment::Key(name), Value::Seq(_)) if index(name).is_none() => {
                Err(self.wrong_kind(segment, node))
            }
            (Segment::Append | Segment::Key(_), Value::Seq(_)) => Ok(Some(push(node, fresh()))),
            (Segment::Match { key, value } | Segment::Pattern { key, pattern: value }, Value::Seq(_)) => {
                let value = Node::from(value.clone());
                let item = if key.is_empty() { value } else { Node::from_iter([(key.clone(), value)]) };
                Ok(Some(push(node, item)))
            }
            (Segment::Each | Segment::Any | Segment::Field(_), Value::Seq(_))
            | (Segment::Any, Value::Map(_)) => Ok(None),
            _ => Err(self.wrong_kind(segment, node)),
        }
    }

    fn not_found(&self, root: &Node) -> Diagnostic {
        Diagnostic::error("path-not-found", format!("there is no field `{self}`"))
            .at(root.span())
            .help("check the spelling of each part of the path")
    }

    fn out_of_range(&self, name: &str, len: usize) -> Diagnostic {
        let items = if len == 1 { "item" } else { "items" };
        Diagnostic::error(
            "path-index-out-of-range",
            format!("the path `{self}` wants item {name} of a list of {len} {items}"),
        )
        .help("items are counted from 0; `-` stands for the place behind the last")
    }

    fn wrong_kind(&self, segment: &Segment, node: &Node) -> Diagnostic {
        let wanted = if wants_seq(Some(segment)) { "a list" } else { "a map" };
        Diagnostic::error(
            "path-wrong-kind",
            format!("the path `{self}` wants {wanted} here, but finds {}", node.kind_name()),
        )
        .at(node.span())
        .help("let the path follow the fields as they are, or change the value")
    }
}

/// Whether a segment leads on from a list rather than from a map.
fn wants_seq(segment: Option<&Segment>) -> bool {
    match segment {
        Some(Segment::Key(name)) => index(name).is_some(),
        Some(Segment::Each | Segment::Match { .. } | Segment::Pattern { .. } | Segment::Append) => true,
        Some(Segment::Field(_) | Segment::Any) | None => false,
    }
}

fn push(node: &mut Node, item: Node) -> usize {
    let items = node.as_seq_mut().expect("asked only of sequences");
    items.push(item);
    items.len() - 1
}

fn child_mut(node: &mut Node, at: usize) -> &mut Node {
    if node.is_map() {
        return node.as_map_mut().expect("a map").value_at_mut(at);
    }
    &mut node.as_seq_mut().expect("positions are of maps and sequences")[at]
}

fn remove_under(parents: &[Segment], last: &Segment, node: &mut Node, removed: &mut Vec<Node>) {
    let segment = parents.first().unwrap_or(last);
    let inner = enters_items(segment, node);
    let mut found = match children(segment, node) {
        Children::None => return,
        Children::One(at) => vec![at],
        Children::All(all) => all.collect(),
        Children::Some(some) => some,
    };
    if inner || !parents.is_empty() {
        let rest = if inner { parents } else { &parents[1..] };
        let mut path = rest.to_vec();
        path.push(last.clone());
        found.retain(|at| leads_somewhere(&path, child(node, *at)));
        for at in found {
            remove_under(rest, last, child_mut(node, at), removed);
        }
        return;
    }
    if found.is_empty() {
        return;
    }
    let mut found = found.into_iter().peekable();
    let mut at = 0;
    let mut taken = |value: &mut Node| {
        let hit = found.next_if_eq(&at).is_some();
        if hit {
            removed.push(std::mem::replace(value, Node::null()));
        }
        at += 1;
        !hit
    };
    match node.value_mut() {
        Value::Map(_) => node.as_map_mut().expect("a map").retain(|entry| taken(&mut entry.value)),
        Value::Seq(_) => node.as_seq_mut().expect("a sequence").retain_mut(taken),
        Value::Scalar(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod() -> Node {
        let container = |name: &str| Node::from_iter([("name", name), ("image", "img")]);
        let spec =
            Node::from_iter([("containers", Node::from(vec![container("web"), container("webhook")]))]);
        let labels = Node::from_iter([("app", "x"), ("a.b/c", "y")]);
        Node::from_iter([("metadata", Node::from_iter([("labels", labels)])), ("spec", spec)])
    }

    fn texts(path: Path, node: &Node) -> Vec<&str> {
        path.get_all(node).into_iter().map(|n| n.text().unwrap_or("?")).collect()
    }

    #[test]
    fn paths_find() {
        let pod = pod();
        let dotted = |text| texts(Path::dotted(text).unwrap(), &pod);
        assert_eq!(dotted("metadata.labels.app"), ["x"]);
        assert_eq!(dotted("metadata.labels.[a.b/c]"), ["y"]);
        assert_eq!(dotted("metadata.labels.*"), ["x", "y"]);
        assert_eq!(dotted("spec.containers.*.name"), ["web", "webhook"]);
        assert_eq!(dotted("spec.containers.[name=web].name"), ["web"]);
        assert_eq!(dotted("spec.containers.1.name"), ["webhook"]);
        assert_eq!(dotted("spec.containers.-.name"), ["webhook"]);
        assert!(dotted("spec.containers.name").is_empty());
        assert!(dotted("spec.containers.2").is_empty());
        let patterns = |text| texts(Path::dotted_patterns(text).unwrap(), &pod);
        assert_eq!(patterns("spec.containers.[name=web].name"), ["web", "webhook"]);
        assert_eq!(patterns("spec.containers.[name=^web$].name"), ["web"]);
        let slashed = |text| texts(Path::slashed(text).unwrap(), &pod);
        assert_eq!(slashed("spec/containers/name"), ["web", "webhook"]);
        assert_eq!(slashed("spec/containers[]/name"), ["web", "webhook"]);
        assert_eq!(texts(Path::pointer("/metadata/labels/a.b~1c").unwrap(), &pod), ["y"]);
        assert_eq!(Path::dotted_patterns("a.[b=(]").unwrap_err().code(), "path-bad-pattern");
    }

    #[test]
    fn an_edit_leaves_shared_what_it_does_not_touch() {
        let before = pod();
        let mut after = before.clone();
        Path::dotted("spec.containers.[name=web].image")
            .unwrap()
            .set(&mut after, "new".into(), Missing::Skip)
            .unwrap();
        let same = |path: &str| {
            let path = Path::dotted(path).unwrap();
            path.get(&before).unwrap().same(path.get(&after).unwrap())
        };
        assert!(same("metadata") && same("spec.containers.1"));
        assert!(!same("spec.containers.0"));
        let mut untouched = before.clone();
        Path::dotted("spec.containers.*.command")
            .unwrap()
            .set(&mut untouched, "x".into(), Missing::Skip)
            .unwrap();
        assert!(untouched.same(&before));
    }

    #[test]
    fn what_is_missing_is_made_on_request() {
        let cases = [
            ("a.b", r#"{"a": {"b": "v"}}"#),
            ("a.0", r#"{"a": ["v"]}"#),
            ("a.-.b", r#"{"a": [{"b": "v"}]}"#),
            ("a.[k=x].b", r#"{"a": [{"k": "x", "b": "v"}]}"#),
            ("a.[=v]", r#"{"a": ["v"]}"#),
        ];
        for (path, expected) in cases {
            let path = Path::dotted(path).unwrap();
            let mut node = Node::null();
            path.set(&mut node, "v".into(), Missing::Create).unwrap();
            assert_eq!(format!("{node:?}"), expected, "{path}");
            assert_eq!(
                path.set(&mut Node::map(), "v".into(), Missing::Refuse).unwrap_err().code(),
                "path-not-found"
            );
        }
        let wrong =
            Path::dotted("metadata.labels.app.x").unwrap().set(&mut pod(), "v".into(), Missing::Create);
        assert_eq!(wrong.unwrap_err().code(), "path-wrong-kind");
        let beyond = Path::dotted("spec.containers.3").unwrap().set(&mut pod(), "v".into(), Missing::Create);
        assert_eq!(beyond.unwrap_err().code(), "path-index-out-of-range");
    }

    #[test]
    fn insert_append_and_remove_keep_order() {
        let mut list = Node::from_iter([("l", Node::from(vec![Node::from("a"), Node::from("c")]))]);
        Path::pointer("/l/1").unwrap().insert(&mut list, "b".into(), Missing::Refuse).unwrap();
        Path::pointer("/l/-").unwrap().insert(&mut list, "d".into(), Missing::Refuse).unwrap();
        Path::pointer("/l").unwrap().append(&mut list, "e".into(), Missing::Refuse).unwrap();
        assert_eq!(format!("{list:?}"), r#"{"l": ["a", "b", "c", "d", "e"]}"#);
        let removed = Path::dotted("l.[=c]").unwrap().remove(&mut list, Missing::Refuse).unwrap();
        assert_eq!(format!("{removed:?}"), r#"["c"]"#);
        assert_eq!(format!("{list:?}"), r#"{"l": ["a", "b", "d", "e"]}"#);
        Path::dotted("m").unwrap().append(&mut list, "x".into(), Missing::Create).unwrap();
        assert_eq!(format!("{list:?}"), r#"{"l": ["a", "b", "d", "e"], "m": ["x"]}"#);
        let mut pod = pod();
        let removed =
            Path::slashed("spec/containers/image").unwrap().remove(&mut pod, Missing::Refuse).unwrap();
        assert_eq!(removed.len(), 2);
        assert!(Path::dotted("a").unwrap().remove(&mut pod, Missing::Refuse).is_err());
    }
}
