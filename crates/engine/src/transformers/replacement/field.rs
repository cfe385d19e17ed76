//! The field a replacement reads or writes: finding it, making it, writing into it.
//!
//! There are two sets of rules, as there are in kyaml, which differ in small ways. [`FieldPath::get`] finds one node:
//! `[name=web]` is the first item of just that name, `-` the last item, and `*` is a mistake. [`Edit`] finds all:
//! `[name=web]` is a regular expression that may match anywhere in the value as it is written, `*` is every item, and what
//! is missing can be made on the way.

use std::ops::ControlFlow;
use std::sync::Arc;

use krm_yaml::path::{self, Edits, Leaf, Path, Rules, Segment, Select, Test};
use krm_yaml::{Diagnostic, Node, Result, Span, Spanned, Style, Tag, Text, resolve};

use crate::limits;
use crate::select::go_regex;

/// A field path, ready for use.
#[derive(Clone, Debug)]
pub(super) struct FieldPath {
    text: Spanned<Text>,
    /// A mistake in the path is one only once a resource needs it.
    ways: Result<Ways>,
}

/// A path as it is read for looking and for writing, step by step the same.
#[derive(Clone, Debug)]
pub(super) struct Ways {
    pub get: Path,
    pub edit: Path,
}

/// What is made where a field is missing: what the value is that goes there.
pub(super) fn leaf_for(value: &Node) -> Leaf {
    match value {
        value if value.is_map() => Leaf::Map,
        value if value.is_seq() => Leaf::Seq,
        _ => Leaf::Scalar,
    }
}

/// Whether a scalar was just made, and takes the type of whatever is written into it.
fn is_new(node: &Node) -> bool {
    node.is_null() && node.style() == Style::Any && node.text() == Some("")
}

/// Gives a scalar another text but leaves its type; `false` if the text cannot be of that type.
// quirk(replacement-keeps-the-type-of-the-field): A replaced field keeps the type it had, whatever the type of the
// source. (`replacement.setFieldValue`)
pub(super) fn set_text(node: &mut Node, text: &str) -> bool {
    let tag = if is_new(node) { resolve::plain(text) } else { node.tag() };
    let style = node.style();
    let mut new = Node::scalar(text, tag, style, node.span());
    if node.has_trivia() {
        *new.trivia_mut() = node.trivia().clone();
    }
    *node = new;
    let means = resolve::plain(text);
    matches!(tag, Tag::Str | Tag::Binary | Tag::Other | Tag::Merge)
        || means == tag
        || (tag == Tag::Float && means == Tag::Int)
}

impl FieldPath {
    pub(crate) fn new(text: Spanned<Text>) -> Self {
        let ways = Path::dotted(&text).and_then(|path| {
            limits::refuse_long(path.segments().len())?;
            let get = Path(path.0.iter().map(to_get).collect());
            Ok(Ways { get, edit: Path(path.0.into_iter().map(to_edit).collect()) })
        });
        Self { ways: ways.map_err(|d| d.at(text.span)), text }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn span(&self) -> Span {
        self.text.span
    }

    pub(crate) fn ways(&self) -> Result<&Ways> {
        self.ways.as_ref().map_err(Diagnostic::clone)
    }

    /// The node the path leads to.
    pub(crate) fn get<'n>(&self, root: &'n Node) -> Result<Option<&'n Node>> {
        path::first(&Look, self.ways()?.get.segments(), root).map_err(|d| d.at(self.span()))
    }
}

/// Names are looked for without the spaces around them.
fn to_get(segment: &Segment) -> Segment {
    match segment {
        Segment::Key(name) => numbered(name.clone()).unwrap_or_else(|| Segment::Key(name.trim().into())),
        segment => segment.clone(),
    }
}

/// Where something is written, a value is a pattern, and `-` is a name.
fn to_edit(segment: Segment) -> Segment {
    match segment {
        Segment::Last => Segment::Key("-".into()),
        Segment::Match(select) => {
            let pattern = go_regex::compile(&select.value).map_err(|why| {
                let message = format!("`{}` is not a valid regular expression: {why}", select.value);
                Diagnostic::error("bad-regex", message)
                    .help("in the field paths of a target, `[name=value]` takes the value for a pattern")
            });
            let test: Test = Arc::new(move |node| {
                let pattern = pattern.as_ref().map_err(Diagnostic::clone)?;
                Ok(pattern.is_match(&written(node)))
            });
            Segment::Match(Box::new(Select { test: Some(test), ..*select }))
        }
        Segment::Key(name) => numbered(name.clone()).unwrap_or(Segment::Key(name)),
        segment => segment,
    }
}

/// The path as replacements write it, if a name in it is followed by brackets, as in `containers[0].image`: here those are
/// a part of the name.
pub(super) fn without_brackets(path: &str) -> Option<String> {
    let mut meant = String::new();
    let mut rest = path;
    while let Some((before, (inner, after))) =
        rest.split_once('[').and_then(|(before, after)| Some((before, after.split_once(']')?)))
    {
        meant.push_str(before);
        let follows_name = !meant.is_empty() && !meant.ends_with('.');
        match follows_name {
            true if inner.is_empty() => meant.push_str(".*"),
            // Brackets hold together what has dots, and enclose a condition.
            true if inner.contains(['=', '.']) => meant.push_str(&format!(".[{inner}]")),
            true => meant.push_str(&format!(".{inner}")),
            false => meant.push_str(&format!("[{inner}]")),
        }
        rest = after;
    }
    meant.push_str(rest);
    (meant != path).then_some(meant)
}

fn numbered(name: Text) -> Option<Segment> {
    let is_number = name.bytes().all(|b| b.is_ascii_digit());
    name.parse().ok().filter(|_| is_number).map(Segment::Index)
}

/// Finding the one node a path leads to.
struct Look;

impl Rules for Look {
    const FIRST_MATCH: bool = true;
    const EMPTY_STAYS: bool = true;

    fn mismatch(&self, segment: &Segment, node: &Node) -> Result<()> {
        match segment {
            Segment::Key(_) => Err(wrong_kind("a map", node)),
            Segment::Index(_) => Ok(()),
            _ => Err(wrong_kind("a list", node)),
        }
    }

    fn allow(&self, _: &Segment) -> Result<()> {
        Err(Diagnostic::error("replacement-wildcard", "a source cannot be chosen with `*`")
            .help("name one item, by its index or as `[name=value]`"))
    }
}

/// The node at a list of positions, for editing.
pub(super) fn at_mut<'n>(root: &'n mut Node, places: &[usize]) -> &'n mut Node {
    places.iter().fold(root, |node, at| path::child_mut(node, *at))
}

/// The first node a path leads to, and the positions that lead there.
pub(super) fn locate<'n>(root: &'n Node, path: &[Segment]) -> Result<Option<(Vec<usize>, &'n Node)>> {
    let mut found = None;
    let see = &mut |node: &'n Node, places: &Vec<usize>| {
        found = Some((places.clone(), node));
        Ok(ControlFlow::Break(()))
    };
    path::visit(&Look, path, root, &mut Vec::new(), see).map(|_| found)
}

fn wrong_kind(wanted: &str, node: &Node) -> Diagnostic {
    Diagnostic::error("replacement-field", format!("the path needs {wanted}, but meets {}", node.kind_name()))
        .note("here", node.span())
}

/// What is done to every node a path leads to.
pub(super) struct Edit<'e> {
    /// What to make of the last field if it is missing; `None` to make nothing.
    create: Option<Leaf>,
    /// Where the path is written.
    place: Span,
    set: &'e mut dyn FnMut(&mut Node) -> Result<bool>,
    /// Whether some of them were in a text within a text, or under a null: written, and lost.
    pub lost: bool,
    /// Whether a text was written into a field of another type.
    pub misfit: bool,
}

impl<'e> Edit<'e> {
    pub(crate) fn new(
        create: Option<Leaf>,
        place: Span,
        set: &'e mut dyn FnMut(&mut Node) -> Result<bool>,
    ) -> Self {
        Self { create, place, set, lost: false, misfit: false }
    }

    /// Follows a path, and says how many nodes it led to.
    pub(crate) fn walk(&mut self, node: &mut Node, path: &[Segment]) -> Result<usize> {
        path::edit(self, path, node)
    }
}

impl Rules for Edit<'_> {
    const ANY_VALUE: bool = false;

    fn mismatch(&self, segment: &Segment, node: &Node) -> Result<()> {
        Err(wrong_kind(if matches!(segment, Segment::Key(_)) { "a map" } else { "a list" }, node))
    }

    fn beyond(&self, index: usize, node: &Node) -> Result<()> {
        let message = format!("the path asks for item {index} of a list of {}", node.items().len());
        Err(Diagnostic::error("replacement-field", message).note("the list", node.span()))
    }
}

impl Edits for Edit<'_> {
    const EXTENDS: bool = true;
    const SCALAR_MATCH_ENDS: bool = true;

    fn leaf(&mut self, node: &mut Node) -> Result<()> {
        self.misfit |= !(self.set)(node)?;
        Ok(())
    }

    fn create(&self) -> Option<Leaf> {
        self.create
    }

    fn null(&mut self, segment: &Segment, node: &Node) -> Result<usize> {
        match segment {
            // What is made below a null goes nowhere.
            Segment::Key(_) if self.create.is_some() => {
                self.lost = true;
                Ok(1)
            }
            Segment::Index(index) => self.beyond(*index, node).map(|()| 0),
            _ => Ok(0),
        }
    }

    // quirk(replacement-below-two-texts-is-lost): A replacement that reaches into a text within a text changes a copy
    // of the inner one, which is never written back. (kyaml `PathMatcher.handleStructuredDataInScalar`)
    fn scalar(&mut self, node: &Node, rest: &[Segment]) -> Result<Option<usize>> {
        let mut inner = super::embedded::parse(node.text().unwrap_or_default())?;
        let mut edit = Edit::new(self.create, self.place, self.set);
        let found = edit.walk(&mut inner, rest)?;
        self.lost |= found > 0;
        Ok(Some(found))
    }

    fn item(&mut self, select: &Select, _: usize) -> Result<Option<Node>> {
        let Select { key, value, .. } = select;
        let item = match key.as_str() {
            "" => Node::string(value.clone()).with_span(self.place),
            key => [(key, untyped(value, self.place))].into_iter().collect(),
        };
        if !select.matches(&item)? {
            let message =
                format!("`[{key}={value}]` matches no item, and no item can be made from a pattern");
            return Err(Diagnostic::error("replacement-field", message));
        }
        Ok(Some(item))
    }

    fn created(&mut self, select: &Select, item: Node) -> Node {
        match item.text() {
            // What was just made has the type of what is written into it.
            Some(text) if select.key.is_empty() => untyped(text, item.span()),
            _ => item,
        }
    }
}

fn untyped(text: &str, place: Span) -> Node {
    Node::scalar(text, resolve::plain(text), Style::Any, place)
}

/// A value as it is written.
// quirk(replacement-pattern-sees-quotes): `[name=x]` in a target path is a regular expression that may match anywhere
// in the item as it is written, quotes and comments included. (kyaml `PathMatcher.doSeq`)
fn written(node: &Node) -> String {
    match node.text() {
        Some(text) if !node.has_trivia() && matches!(node.style(), Style::Plain | Style::Any) => {
            text.to_owned()
        }
        _ => krm_yaml::emit::preserve::fresh(node).trim().to_owned(),
    }
}
