//! Choosing fields in resources; resources are chosen by a [`Selector`](crate::Selector).

use krm_yaml::{Diagnostic, Node, Result, Style, Tag, Text};
use serde::Deserialize;

use crate::resource::Gvk;

/// A field of some kinds of resources: `spec/template/metadata/labels` of every `Deployment`.
///
/// Sequences on the way are entered without being named; `containers[]` says that a sequence is expected.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct FieldSpec {
    pub group: Text,
    pub version: Text,
    pub kind: Text,
    pub path: Text,
    pub create: bool,
}

/// What to put where a field is missing and the spec says `create`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    Scalar,
    Map,
    Seq,
}

impl Create {
    fn node(self) -> Node {
        match self {
            // An empty scalar without a type, waiting for its value.
            Create::Scalar => Node::scalar("", Tag::Null, Style::Any, krm_yaml::Span::NONE),
            Create::Map => Node::map(),
            Create::Seq => Node::seq(),
        }
    }
}

impl FieldSpec {
    pub fn new(path: &str) -> Self {
        Self { path: path.into(), ..Self::default() }
    }

    /// Whether resources of this kind are meant.
    pub fn fits(&self, gvk: &Gvk) -> bool {
        let fits = |wanted: &Text, has: &Text| wanted.is_empty() || wanted == has;
        fits(&self.kind, &gvk.kind) && fits(&self.group, &gvk.group) && fits(&self.version, &gvk.version)
    }

    /// Splits the path at `/`; `\/` is a slash within a name.
    pub fn segments(&self) -> Vec<Text> {
        let mut segments = vec![Text::new()];
        let mut rest = self.path.trim_start_matches('/').chars().peekable();
        while let Some(c) = rest.next() {
            let last = segments.last_mut().expect("there is always a segment");
            match c {
                '\\' if rest.peek() == Some(&'/') => last.push(rest.next().expect("just seen")),
                '/' => segments.push(Text::new()),
                c => last.push(c),
            }
        }
        segments
    }

    /// Calls `edit` on every node the path leads to in a tree of the right kind. What is missing is made where the spec
    /// says `create` and `create` says of what kind; otherwise it is passed over.
    pub fn edit(
        &self,
        gvk: &Gvk,
        root: &mut Node,
        create: Option<Create>,
        edit: &mut dyn FnMut(&mut Node) -> Result<()>,
    ) -> Result<()> {
        if !self.fits(gvk) {
            return Ok(());
        }
        let create = create.filter(|_| self.create);
        walk(root, &self.segments(), create, edit).map_err(|d| {
            d.note(
                format!("while looking for field `{}` of kind {}", self.path, gvk.kind),
                krm_yaml::Span::NONE,
            )
        })
    }
}

fn walk(
    node: &mut Node,
    path: &[Text],
    create: Option<Create>,
    edit: &mut dyn FnMut(&mut Node) -> Result<()>,
) -> Result<()> {
    let Some((segment, rest)) = path.split_first() else { return edit(node) };
    if node.is_null() {
        return Ok(());
    }
    if node.is_seq() {
        // Looked through without copying first: most items are not concerned.
        if create.is_none() && !node.items().iter().any(|item| reaches(item, path)) {
            return Ok(());
        }
        let items = node.as_seq_mut().expect("just seen to be a sequence");
        return items.iter_mut().try_for_each(|item| walk(item, path, create, edit));
    }
    if !node.is_map() {
        let message = format!("expected a map or a list, found {}", node.kind_name());
        return Err(Diagnostic::error("field-not-a-container", message).at(node.span()));
    }
    let (name, is_seq) = match segment.strip_suffix("[]") {
        Some(name) => (name, true),
        None => (segment.as_str(), false),
    };
    if name.is_empty() {
        return Err(Diagnostic::error("field-spec-empty-name", "a field spec has an empty field name"));
    }
    let kind = match create {
        _ if is_seq => Some(Create::Seq),
        None => None,
        Some(kind) if rest.is_empty() => Some(kind),
        Some(_) => Some(Create::Map),
    };
    if node.get(name).is_none() {
        let Some(kind) = kind.filter(|_| create.is_some() && !is_seq) else { return Ok(()) };
        node.set(name, kind.node());
    }
    if !reaches(node, path) && create.is_none() {
        return Ok(());
    }
    let field = node.get_mut(name).expect("it was there, or was just made");
    if field.is_null() && !rest.is_empty() {
        // A null on the way becomes what the path expects there.
        match kind {
            Some(Create::Map) => field.assign(Node::map()),
            Some(Create::Seq) => field.assign(Node::seq()),
            _ => {}
        }
    }
    walk(field, rest, create, edit)
}

/// Whether the path leads anywhere, so that a shared tree is not copied for nothing. Trees where it meets a scalar count
/// as reached: the error is the walk's to find.
fn reaches(node: &Node, path: &[Text]) -> bool {
    let Some((segment, rest)) = path.split_first() else { return true };
    if let Some(items) = node.as_seq() {
        return items.iter().any(|item| reaches(item, path));
    }
    match node.as_map() {
        Some(map) => map.get(segment.strip_suffix("[]").unwrap_or(segment)).is_some_and(|n| reaches(n, rest)),
        None => !node.is_null(),
    }
}
