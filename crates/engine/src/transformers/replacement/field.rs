//! The field a replacement reads or writes: finding it, making it, writing into it.
//!
//! Two walks, as in the reference, which differ in small ways. [`FieldPath::locate`] finds one node: `[name=web]` is the
//! first item of just that name, `-` the last item, and `*` is a mistake. [`FieldPath::edit`] finds all: `[name=web]` is a
//! regular expression that may fit anywhere in the value as it is written, `*` is every item, and what is missing can be
//! made on the way.

use krm_yaml::path::{Path, Segment};
use krm_yaml::{Diagnostic, Node, Result, Span, Spanned, Style, Tag, Text, resolve};
use regex::Regex;

use crate::limits;
use crate::select::go_regex;

/// A field path, ready for use.
#[derive(Clone, Debug)]
pub(super) struct FieldPath {
    text: Spanned<Text>,
    /// A mistake in the path is one only once a resource needs it.
    steps: Result<Vec<Step>>,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Field(Text),
    Index(usize),
    Every,
    Match { key: Text, value: Text, pattern: Result<Regex> },
}

/// What is made where a field is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Scalar,
    Seq,
    Map,
}

impl Kind {
    pub fn of(node: &Node) -> Self {
        match node {
            node if node.is_map() => Kind::Map,
            node if node.is_seq() => Kind::Seq,
            _ => Kind::Scalar,
        }
    }

    fn node(self) -> Node {
        match self {
            Kind::Scalar => Node::scalar("", Tag::Null, Style::Any, Span::NONE),
            Kind::Seq => Node::seq(),
            Kind::Map => Node::map(),
        }
    }
}

/// Whether a scalar was just made, and takes the type of whatever is written into it.
fn is_new(node: &Node) -> bool {
    node.is_null() && node.style() == Style::Any && node.text() == Some("")
}

/// Gives a scalar another text but leaves its type, as the reference does; `false` where the text is none of that type.
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
    pub fn new(text: Spanned<Text>) -> Self {
        let steps = Path::dotted(&text).and_then(|path| {
            limits::refuse_long(path.0.len())?;
            Ok(path.0.into_iter().map(Step::new).collect())
        });
        Self { steps: steps.map_err(|d| d.at(text.span)), text }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn span(&self) -> Span {
        self.text.span
    }

    pub fn steps(&self) -> Result<&[Step]> {
        self.steps.as_deref().map_err(Diagnostic::clone)
    }

    /// The node the path leads to.
    pub fn get<'n>(&self, root: &'n Node) -> Result<Option<&'n Node>> {
        let found = locate(root, self.steps()?).map_err(|d| d.at(self.span()))?;
        Ok(found.map(|places| at(root, &places)))
    }
}

impl Step {
    fn new(segment: Segment) -> Self {
        match segment {
            Segment::Any => Step::Every,
            Segment::Append => Step::Field("-".into()),
            Segment::Match { key, value } => {
                let pattern = go_regex::compile(&value).map_err(|why| {
                    let message = format!("`{value}` is no regular expression: {why}");
                    Diagnostic::error("bad-regex", message)
                        .help("in the field paths of a target, `[name=value]` takes the value for a pattern")
                });
                Step::Match { key, value, pattern }
            }
            Segment::Key(name) => match name.parse() {
                Ok(index) if name.bytes().all(|b| b.is_ascii_digit()) => Step::Index(index),
                _ => Step::Field(name),
            },
            // Field specs have these; dotted paths do not.
            other => Step::Field(Path(vec![other]).to_string().into()),
        }
    }

    /// What has to be made for this step to lead on from.
    fn needs(step: Option<&Step>, leaf: Kind) -> Kind {
        match step {
            None => leaf,
            Some(Step::Match { .. } | Step::Index(_)) => Kind::Seq,
            Some(Step::Field(_) | Step::Every) => Kind::Map,
        }
    }
}

fn child(node: &Node, at: usize) -> &Node {
    match node.as_map() {
        Some(map) => &map.entries()[at].value,
        None => &node.items()[at],
    }
}

/// The node at a list of positions.
pub(super) fn at<'n>(root: &'n Node, places: &[usize]) -> &'n Node {
    places.iter().fold(root, |node, at| child(node, *at))
}

/// The same, for editing.
pub(super) fn at_mut<'n>(root: &'n mut Node, places: &[usize]) -> &'n mut Node {
    places.iter().fold(root, |node, at| match node.is_map() {
        true => node.as_map_mut().expect("just seen to be a map").value_at_mut(*at),
        false => &mut node.as_seq_mut().expect("positions lead through maps and lists")[*at],
    })
}

/// The positions that lead to the first node a path names.
pub(super) fn locate(root: &Node, steps: &[Step]) -> Result<Option<Vec<usize>>> {
    let mut node = root;
    let mut places = Vec::with_capacity(steps.len());
    for step in steps {
        let at = match step {
            Step::Field(name) if name == "-" => expect_seq(node)?.len().checked_sub(1),
            Step::Field(name) => match name.trim() {
                "" => continue,
                name if node.is_null() || !expect_map(node)?.contains(name) => None,
                name => node.as_map().and_then(|map| map.position(name)),
            },
            Step::Index(index) => {
                Some(*index).filter(|at| expect_seq(node).is_ok_and(|items| *at < items.len()))
            }
            Step::Every => {
                return Err(Diagnostic::error("replacement-wildcard", "a source cannot be chosen with `*`")
                    .help("name one item, by its index or as `[name=value]`"));
            }
            Step::Match { key, value, .. } => {
                let fits = |item: &Node| match key.as_str() {
                    "" => item.text().unwrap_or_default() == value,
                    key => item.get(key).is_some_and(|field| field.text().unwrap_or_default() == value),
                };
                expect_seq(node)?.iter().position(fits)
            }
        };
        let Some(at) = at else { return Ok(None) };
        places.push(at);
        node = child(node, at);
    }
    Ok(Some(places))
}

fn expect_map(node: &Node) -> Result<&krm_yaml::Map> {
    node.as_map().ok_or_else(|| wrong_kind("a map", node))
}

fn expect_seq(node: &Node) -> Result<&[Node]> {
    match node.is_seq() || node.is_null() {
        true => Ok(node.items()),
        false => Err(wrong_kind("a list", node)),
    }
}

fn wrong_kind(wanted: &str, node: &Node) -> Diagnostic {
    Diagnostic::error("replacement-field", format!("the path needs {wanted}, but meets {}", node.kind_name()))
        .note("here", node.span())
}

/// What is done to every node a path leads to.
pub(super) struct Edit<'e> {
    /// What to make of the last field where it is missing; `None` to make nothing.
    pub create: Option<Kind>,
    pub set: &'e mut dyn FnMut(&mut Node) -> Result<bool>,
    /// How many nodes were found.
    pub found: usize,
    /// Whether some of them were in a text within a text, or under a null: written, and lost.
    pub lost: bool,
    /// Whether a text was written into a field of another type.
    pub misfit: bool,
}

impl<'e> Edit<'e> {
    pub fn new(create: Option<Kind>, set: &'e mut dyn FnMut(&mut Node) -> Result<bool>) -> Self {
        Self { create, set, found: 0, lost: false, misfit: false }
    }

    /// Walks on from a node.
    pub fn walk(&mut self, node: &mut Node, steps: &[Step]) -> Result<()> {
        let Some((step, rest)) = steps.split_first() else {
            self.found += 1;
            self.misfit |= !(self.set)(node)?;
            return Ok(());
        };
        match step {
            Step::Field(name) => self.field(node, name, rest),
            Step::Index(index) => self.index(node, *index, rest),
            Step::Every => {
                expect_seq(node)?;
                node.as_seq_mut().into_iter().flatten().try_for_each(|item| self.walk(item, rest))
            }
            Step::Match { key, value, pattern } => {
                self.matching(node, key, value, pattern.as_ref().map_err(Diagnostic::clone)?, rest)
            }
        }
    }

    fn field(&mut self, node: &mut Node, name: &str, rest: &[Step]) -> Result<()> {
        if node.is_null() {
            // What is made below a null goes nowhere.
            if self.create.is_some() {
                (self.found, self.lost) = (self.found + 1, true);
            }
            return Ok(());
        }
        expect_map(node)?;
        if node.get(name).is_none() {
            let Some(leaf) = self.create else { return Ok(()) };
            node.set(name, Step::needs(rest.first(), leaf).node());
        }
        if !rest.is_empty() && node.get(name).is_some_and(Node::is_scalar) {
            return self.within_text(node.get(name).and_then(Node::text).unwrap_or_default(), rest);
        }
        self.walk(node.get_mut(name).expect("it was there, or was just made"), rest)
    }

    /// The reference reads a text on the way as YAML, walks on in there, and never writes it back.
    fn within_text(&mut self, text: &str, rest: &[Step]) -> Result<()> {
        let mut inner = super::embedded::parse(text)?;
        let mut edit = Edit::new(self.create, self.set);
        edit.walk(&mut inner, rest)?;
        self.lost |= edit.found > 0;
        self.found += edit.found;
        Ok(())
    }

    fn index(&mut self, node: &mut Node, index: usize, rest: &[Step]) -> Result<()> {
        let len = expect_seq(node)?.len();
        if let (true, Some(leaf), Some(items)) = (len == index, self.create, node.as_seq_mut()) {
            items.push(Step::needs(rest.first(), leaf).node());
        }
        match node.as_seq_mut().and_then(|items| items.get_mut(index)) {
            Some(item) => self.walk(item, rest),
            None => {
                let message = format!("the path asks for item {index} of a list of {len}");
                Err(Diagnostic::error("replacement-field", message).note("the list", node.span()))
            }
        }
    }

    fn matching(
        &mut self,
        node: &mut Node,
        key: &str,
        value: &str,
        pattern: &Regex,
        rest: &[Step],
    ) -> Result<()> {
        expect_seq(node)?;
        let before = self.found;
        // Looked at first without copying: most items are not meant.
        let fits = |item: &Node| match key {
            "" => pattern.is_match(&written(item)),
            key => item.get(key).is_some_and(|field| pattern.is_match(&written(field))),
        };
        let fitting: Vec<usize> =
            node.items().iter().enumerate().filter(|(_, item)| fits(item)).map(|(at, _)| at).collect();
        // What follows a match of a scalar is not looked at.
        let rest = if key.is_empty() { &[] } else { rest };
        for at in fitting {
            self.walk(&mut node.as_seq_mut().expect("it has items")[at], rest)?;
        }
        if self.found > before || self.create.is_none() {
            return Ok(());
        }
        let Some(items) = node.as_seq_mut() else { return Ok(()) };
        let untyped = |text: &str| Node::scalar(text, resolve::plain(text), Style::Any, Span::NONE);
        let mut item = match key {
            "" => Node::string(value),
            key => [(key, untyped(value))].into_iter().collect(),
        };
        if !fits(&item) {
            let message =
                format!("`[{key}={value}]` fits no item, and none that fits can be made of a pattern");
            return Err(Diagnostic::error("replacement-field", message));
        }
        self.walk(&mut item, rest)?;
        if let (true, Some(text)) = (key.is_empty(), item.text()) {
            // What was just made has the type of what is written into it.
            item = untyped(text);
        }
        items.push(item);
        Ok(())
    }
}

/// A value as it is written, quotes and comments included: what the reference holds patterns against.
fn written(node: &Node) -> String {
    match node.text() {
        Some(text) if !node.has_trivia() && matches!(node.style(), Style::Plain | Style::Any) => {
            text.to_owned()
        }
        _ => krm_yaml::emit::preserve::fresh(node).trim().to_owned(),
    }
}
