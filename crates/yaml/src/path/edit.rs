//! Looking and editing by a [`Path`] alone, by the rules of this crate.

use std::ops::ControlFlow;

use super::walk::{self, Children, Edits, Leaf, Rules, child, child_mut, reaches, step, visit};
use super::{Path, Segment, Signs, index};
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
    /// null at the end, for the edit to replace. A number makes an item only right after the last one.
    Create,
}

/// Numbers count items, and what does not match leads nowhere.
struct Plain;

impl Rules for Plain {
    const KEYS_INDEX: bool = true;
}

/// The same for an edit.
struct Change<'p, F> {
    path: &'p Path,
    create: bool,
    edit: F,
}

impl<F> Rules for Change<'_, F> {
    const KEYS_INDEX: bool = true;

    fn mismatch(&self, segment: &Segment, node: &Node) -> Result<()> {
        if self.create { Err(self.path.wrong_kind(segment, node)) } else { Ok(()) }
    }

    fn beyond(&self, at: usize, node: &Node) -> Result<()> {
        match self.create {
            true => Err(self.path.out_of_range(&at.to_string(), node.items().len()).at(node.span())),
            false => Ok(()),
        }
    }
}

impl<F: FnMut(&mut Node) -> Result<()>> Edits for Change<'_, F> {
    const FILLS_NULL: bool = true;
    const EXTENDS: bool = true;
    const APPENDS: bool = true;

    fn leaf(&mut self, node: &mut Node) -> Result<()> {
        (self.edit)(node)
    }

    fn create(&self) -> Option<Leaf> {
        self.create.then_some(Leaf::Scalar)
    }
}

impl Path {
    /// The first node the path leads to.
    pub fn get<'n>(&self, root: &'n Node) -> Option<&'n Node> {
        walk::first(&Plain, &self.0, root).ok().flatten()
    }

    /// All nodes the path leads to, in their order.
    pub fn get_all<'n>(&self, root: &'n Node) -> Vec<&'n Node> {
        let mut found = Vec::new();
        let _ = visit(&Plain, &self.0, root, &mut (), &mut |node, ()| {
            found.push(node);
            Ok(ControlFlow::Continue(()))
        });
        found
    }

    /// Calls `edit` on every node the path leads to, and says how many there were. What is not on the way to one of
    /// them stays shared with other copies of the tree.
    pub fn edit(
        &self,
        root: &mut Node,
        missing: Missing,
        edit: impl FnMut(&mut Node) -> Result<()>,
    ) -> Result<usize> {
        let create = missing == Missing::Create;
        if create && root.is_null() && !self.is_root() {
            root.assign(if wants_seq(self.0.first()) { Node::seq() } else { Node::map() });
        }
        let count = walk::edit(&mut Change { path: self, create, edit }, &self.0, root)?;
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
    /// ends with, or after the last for `-`. `missing` is about the map or list it is added to.
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
                (Segment::Last, Value::Map(_)) => node.set("-", value.clone()),
                (Segment::Last, Value::Seq(_)) => node.as_seq_mut().expect("a sequence").push(value.clone()),
                (Segment::Key(name), Value::Seq(items)) => {
                    let at = index(name, items.len(), Signs::Refused).filter(|at| *at <= items.len());
                    let Some(at) = at else { return Err(self.out_of_range(name, items.len()).at(span)) };
                    node.as_seq_mut().expect("a sequence").insert(at, value.clone());
                }
                _ => return Err(self.wrong_kind(last, node)),
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Adds a value after the last item of the list the path leads to.
    pub fn append(&self, root: &mut Node, value: Node, missing: Missing) -> Result<()> {
        let mut path = self.clone();
        path.0.push(Segment::Last);
        path.insert(root, value, missing)
    }

    /// Removes everything the path leads to, and gives it back in its order.
    pub fn remove(&self, root: &mut Node, missing: Missing) -> Result<Vec<Node>> {
        let mut removed = Vec::new();
        match self.0.split_last() {
            Some((last, parents)) if reaches(&Plain, &self.0, root) => {
                Path(parents.to_vec()).edit(root, Missing::Skip, |node| remove(last, node, &mut removed))?;
            }
            Some(_) => {}
            None => removed.push(root.take()),
        }
        if removed.is_empty() && missing == Missing::Refuse {
            return Err(self.not_found(root));
        }
        Ok(removed)
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
        .help("items are counted from 0; `-` is the position after the last")
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
        Some(Segment::Key(name)) => index(name, 0, Signs::Refused).is_some(),
        Some(Segment::List | Segment::Index(_) | Segment::Match(_) | Segment::Last) => true,
        Some(Segment::Field(_) | Segment::Any) | None => false,
    }
}

/// Removes what the last segment of a path leads to.
fn remove(last: &Segment, node: &mut Node, removed: &mut Vec<Node>) -> Result<()> {
    if matches!(last, Segment::Field(_)) && node.is_seq() {
        let concerned = (0..node.items().len())
            .filter(|at| reaches(&Plain, std::slice::from_ref(last), child(node, *at)))
            .collect::<Vec<_>>();
        return concerned.into_iter().try_for_each(|at| remove(last, child_mut(node, at), removed));
    }
    let found = match step(&Plain, last, node)? {
        Children::None => return Ok(()),
        Children::One(at) => vec![at],
        Children::All(count) => (0..count).collect(),
        Children::Some(found) => found,
    };
    let mut found = found.into_iter().peekable();
    let mut at = 0;
    let mut stays = |value: &mut Node| {
        let goes = found.next_if_eq(&at).is_some();
        if goes {
            removed.push(value.take());
        }
        at += 1;
        !goes
    };
    if let Some(map) = node.as_map_mut() {
        map.retain(|entry| stays(&mut entry.value));
    } else if let Some(items) = node.as_seq_mut() {
        items.retain_mut(stays);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> Node {
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
        let site = site();
        let dotted = |text| texts(Path::dotted(text).unwrap(), &site);
        assert_eq!(dotted("metadata.labels.app"), ["x"]);
        assert_eq!(dotted("metadata.labels.[a.b/c]"), ["y"]);
        assert_eq!(dotted("metadata.labels.*"), ["x", "y"]);
        assert_eq!(dotted("spec.containers.*.name"), ["web", "webhook"]);
        assert_eq!(dotted("spec.containers.[name=web].name"), ["web"]);
        assert_eq!(dotted("spec.containers.1.name"), ["webhook"]);
        assert_eq!(dotted("spec.containers.-.name"), ["webhook"]);
        assert!(dotted("spec.containers.name").is_empty());
        assert!(dotted("spec.containers.2").is_empty());
        let slashed = |text| texts(Path::slashed(text).unwrap(), &site);
        assert_eq!(slashed("spec/containers/name"), ["web", "webhook"]);
        assert_eq!(slashed("spec/containers[]/name"), ["web", "webhook"]);
        assert_eq!(texts(Path::pointer("/metadata/labels/a.b~1c").unwrap(), &site), ["y"]);
    }

    #[test]
    fn an_edit_leaves_shared_what_it_does_not_touch() {
        let before = site();
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
            Path::dotted("metadata.labels.app.x").unwrap().set(&mut site(), "v".into(), Missing::Create);
        assert_eq!(wrong.unwrap_err().code(), "path-wrong-kind");
        let beyond = Path::dotted("spec.containers.3").unwrap().set(&mut site(), "v".into(), Missing::Create);
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
        let mut site = site();
        let removed =
            Path::slashed("spec/containers/image").unwrap().remove(&mut site, Missing::Refuse).unwrap();
        assert_eq!(removed.len(), 2);
        assert!(Path::dotted("a").unwrap().remove(&mut site, Missing::Refuse).is_err());
    }
}
