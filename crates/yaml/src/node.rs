//! The tree: [`Node`], [`Value`], [`Seq`] and [`Trivia`]; maps have [their own file](crate::map).
//!
//! A node is forty bytes: a value, a span, a tag, a style, and one optional box for what most nodes lack (comments,
//! anchors). Collections are shared and copied on write, so cloning a tree costs one counter, and an edit copies only
//! the way from the root down to it. What an edit did not touch stays the very same allocation, which is how
//! [preserving output](crate::emit) knows what to leave alone.

use std::sync::Arc;

use crate::map::Map;
use crate::source::Span;
use crate::text::Text;

/// A node of the tree.
///
/// ```
/// use krm_yaml::Node;
/// let mut server = Node::map();
/// server.set("name", "web");
/// server.set("workers", 3);
/// assert_eq!(server.get("name").and_then(Node::as_str), Some("web"));
/// assert_eq!(server.get("workers").and_then(Node::as_i64), Some(3));
/// ```
#[derive(Clone)]
pub struct Node {
    value: Value,
    span: Span,
    tag: Tag,
    style: Style,
    trivia: Option<Box<Trivia>>,
}

/// What a node holds. The text of a scalar is its value after unescaping and folding; [`Tag`] says what it means.
#[derive(Clone, Debug)]
pub enum Value {
    /// Text, number, boolean or null.
    Scalar(Text),
    /// A list.
    Seq(Arc<Seq>),
    /// A map.
    Map(Arc<Map>),
}

/// A sequence.
pub type Seq = Vec<Node>;

/// The type of a node, as go-yaml resolves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    /// `null`, `~`, or nothing at all.
    Null,
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Int,
    /// Any other number.
    Float,
    /// A string.
    Str,
    /// A date, with or without a time.
    Timestamp,
    /// Bytes in base64.
    Binary,
    /// The plain key `<<`.
    Merge,
    /// A list.
    Seq,
    /// A map.
    Map,
    /// Any other; written out in [`Trivia::tag`].
    Other,
}

/// How a node was, or is to be, written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Style {
    /// Whatever suits the value: of nodes made by code.
    #[default]
    Any,
    /// Without quotes.
    Plain,
    /// Between `'`.
    SingleQuoted,
    /// Between `"`.
    DoubleQuoted,
    /// After a `|`.
    Literal,
    /// After a `>`.
    Folded,
    /// A collection by indentation.
    Block,
    /// A collection between brackets.
    Flow,
}

/// What surrounds a node, if anything does.
///
/// Comments attach as in go-yaml: `head` is above, `line` at the end of the line, `foot` below (after a blank line, or at the end of
/// the block). Of a map entry, `head` and `foot` are on the key; `line` is on the value if that is a scalar or a flow
/// collection and on the key if the value is a block collection. Each holds its `#`, and line breaks between lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trivia {
    /// The comment above.
    pub head: Text,
    /// The comment at the end of the line.
    pub line: Text,
    /// The comment below.
    pub foot: Text,
    /// The name after `&`.
    pub anchor: Option<Text>,
    /// Set if the node stands for `*name`; its value is a copy of what the anchor names.
    pub alias: Option<Text>,
    /// The tag, if one was written (`!!str`, `!custom`).
    pub tag: Option<Text>,
}

const NO_TRIVIA: &Trivia =
    &Trivia { head: Text::new(), line: Text::new(), foot: Text::new(), anchor: None, alias: None, tag: None };

/// Making nodes.
impl Node {
    /// A node of all its parts, without comments.
    #[inline]
    pub fn new(value: Value, tag: Tag, style: Style, span: Span) -> Self {
        Self { value, span, tag, style, trivia: None }
    }

    /// A scalar of all its parts.
    #[inline]
    pub fn scalar(text: impl Into<Text>, tag: Tag, style: Style, span: Span) -> Self {
        Self::new(Value::Scalar(text.into()), tag, style, span)
    }

    /// A string, whatever it looks like.
    pub fn string(text: impl Into<Text>) -> Self {
        Self::scalar(text, Tag::Str, Style::Any, Span::NONE)
    }

    /// A null that is written out.
    pub fn null() -> Self {
        Self::scalar("null", Tag::Null, Style::Any, Span::NONE)
    }

    /// An empty scalar: a null of which nothing is written.
    pub fn empty() -> Self {
        Self::scalar("", Tag::Null, Style::Any, Span::NONE)
    }

    /// An empty map.
    pub fn map() -> Self {
        Self::from(Map::new())
    }

    /// An empty sequence.
    pub fn seq() -> Self {
        Self::from(Seq::new())
    }

    /// The same with another span.
    pub fn with_span(mut self, span: Span) -> Self {
        self.span = span;
        self
    }

    /// The same in another style.
    pub fn with_style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        Self::string(text)
    }
}
impl From<String> for Node {
    fn from(text: String) -> Self {
        Self::string(text)
    }
}
impl From<Text> for Node {
    fn from(text: Text) -> Self {
        Self::string(text)
    }
}
impl From<bool> for Node {
    fn from(b: bool) -> Self {
        Self::scalar(if b { "true" } else { "false" }, Tag::Bool, Style::Any, Span::NONE)
    }
}
impl From<i64> for Node {
    fn from(n: i64) -> Self {
        Self::scalar(n.to_string(), Tag::Int, Style::Any, Span::NONE)
    }
}
/// As JSON has it in YAML: a number without a fraction is an integer.
///
/// ```
/// use krm_yaml::{Node, canonical};
/// assert_eq!(canonical(&Node::from(vec![Node::from(0.5), Node::from(3.0), Node::from(2.5e7)])), "- 0.5\n- 3\n- 25000000\n");
/// ```
impl From<f64> for Node {
    fn from(n: f64) -> Self {
        let mut text = String::new();
        crate::scalar::number::yaml(n, &mut text);
        let tag = crate::scalar::resolve::plain(&text);
        Self::scalar(text, tag, Style::Any, Span::NONE)
    }
}
impl From<i32> for Node {
    fn from(n: i32) -> Self {
        Self::from(i64::from(n))
    }
}
impl From<u32> for Node {
    fn from(n: u32) -> Self {
        Self::from(i64::from(n))
    }
}
impl From<u16> for Node {
    fn from(n: u16) -> Self {
        Self::from(i64::from(n))
    }
}
impl From<&String> for Node {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}
impl From<Seq> for Node {
    fn from(items: Seq) -> Self {
        Self::new(Value::Seq(Arc::new(items)), Tag::Seq, Style::Any, Span::NONE)
    }
}
impl From<Map> for Node {
    fn from(map: Map) -> Self {
        Self::new(Value::Map(Arc::new(map)), Tag::Map, Style::Any, Span::NONE)
    }
}
impl<K: Into<Node>, V: Into<Node>> FromIterator<(K, V)> for Node {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut map = Map::new();
        pairs.into_iter().for_each(|(k, v)| map.push(k.into(), v.into()));
        Self::from(map)
    }
}

/// Looking at a node.
impl Node {
    /// What it holds.
    #[inline]
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The text that set it; [`Span::NONE`] if code did.
    #[inline]
    pub fn span(&self) -> Span {
        self.span
    }

    /// Its type.
    #[inline]
    pub fn tag(&self) -> Tag {
        self.tag
    }

    /// How it was, or is to be, written.
    #[inline]
    pub fn style(&self) -> Style {
        self.style
    }

    /// Comments and the like; an empty one if there are none.
    #[inline]
    pub fn trivia(&self) -> &Trivia {
        self.trivia.as_deref().unwrap_or(NO_TRIVIA)
    }

    /// Whether anything surrounds it.
    #[inline]
    pub fn has_trivia(&self) -> bool {
        self.trivia.is_some()
    }

    /// The text of a scalar of any type.
    #[inline]
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// The text of a scalar that is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self.tag {
            Tag::Str | Tag::Binary | Tag::Timestamp | Tag::Merge => self.text(),
            _ => None,
        }
    }

    /// The value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self.tag {
            Tag::Bool => Some(matches!(self.text()?.as_bytes().first()?, b't' | b'T' | b'y' | b'Y')),
            _ => None,
        }
    }

    /// The value of an integer that is not too large.
    pub fn as_i64(&self) -> Option<i64> {
        match self.tag {
            Tag::Int => crate::scalar::resolve::int(self.text()?)?.try_into().ok(),
            _ => None,
        }
    }

    /// The items of a sequence.
    pub fn as_seq(&self) -> Option<&Seq> {
        match &self.value {
            Value::Seq(items) => Some(items),
            _ => None,
        }
    }

    /// The entries of a map.
    pub fn as_map(&self) -> Option<&Map> {
        match &self.value {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// Whether it is a null.
    pub fn is_null(&self) -> bool {
        self.tag == Tag::Null
    }

    /// Whether it is a scalar, also a null.
    pub fn is_scalar(&self) -> bool {
        matches!(self.value, Value::Scalar(_))
    }

    /// Whether it is a sequence.
    pub fn is_seq(&self) -> bool {
        matches!(self.value, Value::Seq(_))
    }

    /// Whether it is a map.
    pub fn is_map(&self) -> bool {
        matches!(self.value, Value::Map(_))
    }

    /// Null, or a collection with nothing in it.
    pub fn is_empty(&self) -> bool {
        match &self.value {
            Value::Scalar(_) => self.is_null(),
            Value::Seq(items) => items.is_empty(),
            Value::Map(map) => map.is_empty(),
        }
    }

    /// The value under a key, of a map; `None` for anything else.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.as_map()?.get(key)
    }

    /// Follows keys down: `at(["metadata", "name"])`.
    pub fn at<'k>(&self, keys: impl IntoIterator<Item = &'k str>) -> Option<&Node> {
        keys.into_iter().try_fold(self, |node, key| node.get(key))
    }

    /// The items of a sequence; nothing of anything else.
    pub fn items(&self) -> &[Node] {
        self.as_seq().map_or(&[], |items| items)
    }

    /// Whether both are the same allocation or the same short scalar: a quick "nothing was changed here".
    pub fn same(&self, other: &Node) -> bool {
        match (&self.value, &other.value) {
            (Value::Map(a), Value::Map(b)) => Arc::ptr_eq(a, b),
            (Value::Seq(a), Value::Seq(b)) => Arc::ptr_eq(a, b),
            (Value::Scalar(a), Value::Scalar(b)) => self.tag == other.tag && a == b,
            _ => false,
        }
    }

    /// What the node is called in messages: `a map`, `a string`.
    pub fn kind_name(&self) -> &'static str {
        match self.tag {
            Tag::Null => "null",
            Tag::Bool => "a boolean",
            Tag::Int => "an integer",
            Tag::Float => "a number",
            Tag::Str | Tag::Timestamp | Tag::Binary | Tag::Merge => "a string",
            Tag::Seq => "a list",
            Tag::Map => "a map",
            Tag::Other => match self.value {
                Value::Scalar(_) => "a tagged value",
                Value::Seq(_) => "a list",
                Value::Map(_) => "a map",
            },
        }
    }
}

/// Changing a node. An edit keeps span, style and comments of what it replaces: see [`Node::assign`].
impl Node {
    /// What it holds, for editing; its type must stay.
    pub fn value_mut(&mut self) -> &mut Value {
        &mut self.value
    }

    /// The entries of a map, for editing.
    pub fn as_map_mut(&mut self) -> Option<&mut Map> {
        match &mut self.value {
            Value::Map(map) => Some(Arc::make_mut(map)),
            _ => None,
        }
    }

    /// The items of a sequence, for editing.
    pub fn as_seq_mut(&mut self) -> Option<&mut Seq> {
        match &mut self.value {
            Value::Seq(items) => Some(Arc::make_mut(items)),
            _ => None,
        }
    }

    /// The value of a key, for editing.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        // Asked first without copying, so that a miss leaves a shared map shared.
        let at = self.as_map()?.position(key)?;
        Some(self.as_map_mut()?.value_at_mut(at))
    }

    /// Follows keys down, for editing.
    pub fn at_mut<'k>(&mut self, keys: impl IntoIterator<Item = &'k str>) -> Option<&mut Node> {
        keys.into_iter().try_fold(self, |node, key| node.get_mut(key))
    }

    /// Sets a field of a map, in place where it exists, else at the end. A null becomes a map first; on a scalar or a
    /// sequence nothing happens.
    pub fn set(&mut self, key: &str, value: impl Into<Node>) {
        if let Some(map) = self.make_map() {
            map.set(key, value.into());
        }
    }

    /// Removes a field of a map, and gives it back.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        let at = self.as_map()?.position(key)?;
        Some(self.as_map_mut()?.remove_at(at).value)
    }

    /// Makes a null into an empty map; gives the map to edit, or `None` if the node is something else.
    pub fn make_map(&mut self) -> Option<&mut Map> {
        if self.is_null() {
            self.assign(Node::map());
        }
        self.as_map_mut()
    }

    /// Makes a null into an empty sequence; gives it to edit, or `None` if the node is something else.
    pub fn make_seq(&mut self) -> Option<&mut Seq> {
        if self.is_null() {
            self.assign(Node::seq());
        }
        self.as_seq_mut()
    }

    /// The map under a key, made if it is missing or null; `None` if something else is there.
    pub fn map_at(&mut self, key: &str) -> Option<&mut Node> {
        let map = self.make_map()?;
        let at = match map.position(key) {
            Some(at) => at,
            None => {
                map.push(Node::from(key), Node::map());
                map.len() - 1
            }
        };
        let child = map.value_at_mut(at);
        child.make_map()?;
        Some(child)
    }

    /// Takes the value of another node, and its span if it has one, but keeps its own comments, and its own style
    /// if both are scalars of one type: how an edited scalar keeps its quotes and its comment.
    pub fn assign(&mut self, new: Node) {
        if !(self.is_scalar() && new.is_scalar() && self.tag == new.tag) {
            self.style = new.style;
        }
        if !new.span.is_none() {
            self.span = new.span;
        }
        self.value = new.value;
        self.tag = new.tag;
        if let Some(trivia) = &mut self.trivia {
            // The new value is neither the alias nor what the old tag and anchor spoke of.
            (trivia.alias, trivia.tag, trivia.anchor) = (None, None, None);
            if **trivia == *NO_TRIVIA {
                self.trivia = None;
            }
        }
    }

    /// Says which text set it.
    pub fn set_span(&mut self, span: Span) {
        self.span = span;
    }

    /// Says of which type it is.
    pub fn set_tag(&mut self, tag: Tag) {
        self.tag = tag;
    }

    /// Says how it is to be written.
    pub fn set_style(&mut self, style: Style) {
        self.style = style;
    }

    /// Comments and the like, for editing.
    pub fn trivia_mut(&mut self) -> &mut Trivia {
        self.trivia.get_or_insert_default()
    }

    /// Takes head, line and foot from where they were put together.
    pub(crate) fn set_comments(&mut self, head: Text, line: Text, foot: Text) {
        match &mut self.trivia {
            Some(trivia) => (trivia.head, trivia.line, trivia.foot) = (head, line, foot),
            None => {
                self.trivia =
                    Some(Box::new(Trivia { head, line, foot, anchor: None, alias: None, tag: None }))
            }
        }
    }

    /// Removes all that surrounds it.
    pub fn clear_trivia(&mut self) {
        self.trivia = None;
    }

    /// Takes the node, leaves null.
    pub fn take(&mut self) -> Node {
        std::mem::replace(self, Node::null())
    }
}

/// Equal in value: type and content, the order of keys apart; spans, styles and comments do not count.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        if self.same(other) {
            return true;
        }
        match (&self.value, &other.value) {
            (Value::Scalar(_), Value::Scalar(_)) => {
                self.tag == other.tag
                    && self.tag != Tag::Other
                    && crate::scalar::resolve::same_scalar(self, other)
            }
            (Value::Seq(a), Value::Seq(b)) => a == b,
            (Value::Map(a), Value::Map(b)) => a == b,
            _ => false,
        }
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.value {
            Value::Scalar(text) if self.tag == Tag::Str => write!(f, "{:?}", text.as_str()),
            Value::Scalar(text) => write!(f, "{}", text.as_str()),
            Value::Seq(items) => f.debug_list().entries(items.iter()).finish(),
            Value::Map(map) => f.debug_map().entries(map.iter().map(|e| (&e.key, &e.value))).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_small() {
        assert_eq!(std::mem::size_of::<Node>(), 40);
    }

    #[test]
    fn clones_share_until_edited() {
        let mut a = Node::map();
        a.set("x", Node::map());
        a.set("y", Node::map());
        let mut b = a.clone();
        assert!(a.same(&b));
        b.get_mut("x").unwrap().set("z", 1);
        assert!(!a.same(&b));
        assert!(a.get("y").unwrap().same(b.get("y").unwrap()));
        assert!(a.get("x").unwrap().is_empty());
    }

    #[test]
    fn equality_forgets_the_order_of_keys() {
        let a: Node = [("x", 1), ("y", 2)].into_iter().collect();
        let b: Node = [("y", 2), ("x", 1)].into_iter().collect();
        assert_eq!(a, b);
        assert_ne!(Node::from("1"), Node::from(1));
    }

    #[test]
    fn floats_are_what_their_text_means() {
        let made = |n: f64| (Node::from(n).text().unwrap().to_owned(), Node::from(n).tag());
        assert_eq!(made(0.1), ("0.1".into(), Tag::Float));
        assert_eq!(made(-2.0), ("-2".into(), Tag::Int));
        assert_eq!(made(1234567.5), ("1.2345675e+06".into(), Tag::Float));
        assert_eq!(made(1e20), ("1e+20".into(), Tag::Float));
        assert_eq!(made(f64::NAN), (".nan".into(), Tag::Float));
        assert_eq!(crate::emit::preserve::fresh(&Node::from(3.0)), "3\n");
    }

    #[test]
    fn assign_keeps_comments_and_quotes() {
        let mut node = Node::string("old").with_style(Style::DoubleQuoted);
        node.trivia_mut().line = "# why".into();
        node.assign("new".into());
        assert_eq!(node.style(), Style::DoubleQuoted);
        assert_eq!(node.trivia().line, "# why");
        assert_eq!(node.as_str(), Some("new"));
    }
}
