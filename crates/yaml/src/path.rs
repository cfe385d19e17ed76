//! Field paths: one type for the ways people write them.
//!
//! | written | parsed by | used in |
//! | --- | --- | --- |
//! | `site/pages[]/title` | [`Path::slashed`] | field specs |
//! | `servers.[name=web].port`, `a.0.b`, `a.*`, `a.-` | [`Path::dotted`] | replacements |
//! | `servers[name=web].port`, `a[0].b` | [`Path::bracketed`] | people, results |
//! | `site.ports[0].number` | [`Path::indexed`] | variables |
//! | `/servers/0/~1x` | [`Path::pointer`] | JSON patches (RFC 6901) |
//!
//! All are followed by one walker, [`visit`] and [`edit`](edit()), which takes as parameters what they differ in;
//! [`PathTree`] follows many at once.
//!
//! [`Path::get`] and [`Path::get_all`] look; [`Path::set`], [`Path::insert`], [`Path::append`], [`Path::remove`] and
//! [`Path::edit`] change, and copy nothing but the way to what they change.
//!
//! ```
//! use krm_yaml::path::{Missing, Path};
//! use krm_yaml::Node;
//!
//! let mut site = Node::map();
//! let port = Path::dotted("servers.[name=web].port")?;
//! port.set(&mut site, Node::from(8080), Missing::Create)?;
//! assert_eq!(Path::pointer("/servers/0/name")?.get(&site).and_then(Node::as_str), Some("web"));
//! # Ok::<(), krm_yaml::Diagnostic>(())
//! ```

mod edit;
mod tree;
mod walk;

use std::fmt;
use std::sync::Arc;

use crate::diag::{Diagnostic, Result};
use crate::node::Node;
use crate::source::Span;
use crate::text::Text;

pub use edit::Missing;
pub use tree::PathTree;
pub use walk::{
    Children, Edits, Leaf, Rules, Trail, child, child_mut, edit, field, first, reaches, step, visit,
};

/// A parsed field path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Path(pub Vec<Segment>);

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Segment {
    /// A map key; also an index where it meets a list and is a number, if the [rules](Rules::KEYS_INDEX) say so.
    Key(Text),
    /// A map key of a field spec: lists on the way to it are entered, item by item.
    Field(Text),
    /// The item of a list at an index.
    Index(usize),
    /// `name[]` in a field spec: a list is expected here. It is entered by the name that follows.
    List,
    /// `[k=v]`: the items that match.
    Match(Box<Select>),
    /// `*`: every item of a list, every value of a map.
    Any,
    /// `-`: after the last item; when something is looked up, the last item.
    Last,
}

/// What `[k=v]` chooses: the items whose field `k` is `v`; an empty `k` (`[=v]`) chooses scalar items.
#[derive(Clone)]
pub struct Select {
    /// The field of the item; empty for the item itself.
    pub key: Text,
    /// The value as it is written in the path.
    pub value: Text,
    /// What decides in place of equality, for paths that have patterns.
    pub test: Option<Test>,
}

/// Whether a node is what a path asks for. An error says that the path is wrong.
pub type Test = Arc<dyn Fn(&Node) -> Result<bool> + Send + Sync>;

impl Select {
    /// Whether an item of a list is chosen.
    pub fn matches(&self, item: &Node) -> Result<bool> {
        let subject = if self.key.is_empty() { Some(item) } else { item.get(&self.key) };
        match (subject, &self.test) {
            (None, _) => Ok(false),
            (Some(node), None) => Ok(node.text() == Some(&self.value)),
            (Some(node), Some(test)) => test(node),
        }
    }

    /// An item that is chosen by equality, with the place where the path is written.
    pub fn item(&self, place: Span) -> Node {
        let value = Node::from(self.value.clone()).with_span(place);
        if self.key.is_empty() { value } else { Node::from_iter([(self.key.clone(), value)]) }
    }
}

/// Two are equal if they are written alike.
impl PartialEq for Select {
    fn eq(&self, other: &Self) -> bool {
        (&self.key, &self.value) == (&other.key, &other.value)
    }
}

impl Eq for Select {}

impl std::hash::Hash for Select {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.key, &self.value).hash(state);
    }
}

impl fmt::Debug for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}={}]", self.key, self.value)
    }
}

impl Path {
    /// Parses the path of a field spec: names between slashes, `\/` for a slash within a name, `name[]` where a list is
    /// expected.
    pub fn slashed(text: &str) -> Result<Self> {
        let path = Self::slashed_loosely(text);
        if path.0.iter().any(|segment| matches!(segment, Segment::Field(name) if name.is_empty())) {
            return Err(Diagnostic::error(
                "path-empty-field",
                format!("the path `{text}` has an empty field name"),
            )
            .help("write the names of the fields with one slash between them, as in `spec/replicas`"));
        }
        Ok(path)
    }

    /// As [`Path::slashed`], but leaves it to the [rules](Rules::allow) of a walk what to do about empty names.
    pub fn slashed_loosely(text: &str) -> Self {
        let mut segments = Vec::with_capacity(1 + text.bytes().filter(|b| *b == b'/').count());
        let mut push = |name: &str| {
            let field = name.strip_suffix("[]").unwrap_or(name);
            segments.push(Segment::Field(field.into()));
            if field.len() < name.len() {
                segments.push(Segment::List);
            }
        };
        match text.contains('\\') {
            true => split(text, '/').iter().for_each(|name| push(name)),
            false => text.strip_prefix('/').unwrap_or(text).split('/').for_each(push),
        }
        Self(segments)
    }

    /// Parses the path of a replacement: names between dots, `\.` for a dot within a name. Brackets hold together what
    /// has dots of its own: `[name=a.b]` finds an item of a list, `[a.b/c]` is the key `a.b/c`.
    pub fn dotted(text: &str) -> Result<Self> {
        let mut parts = split(text, '.').into_iter();
        let mut segments = Vec::new();
        while let Some(mut part) = parts.next() {
            if part.starts_with('[') && !part.ends_with(']') {
                while !part.ends_with(']') {
                    let Some(more) = parts.next() else { break };
                    part = format!("{part}.{more}");
                }
                if !part.contains('=') {
                    segments.push(Segment::Key(part.trim_matches(['[', ']']).into()));
                    continue;
                }
            }
            segments.push(match part.as_str() {
                "*" => Segment::Any,
                "-" => Segment::Last,
                _ if part.starts_with('[') && part.ends_with(']') => selector(&part, text)?,
                _ => Segment::Key(part.into()),
            });
        }
        Ok(Self(segments))
    }

    /// As [`Path::dotted`], and brackets may follow a name directly, as people write them: `items[0].name`,
    /// `items[name=web]`.
    ///
    /// ```
    /// let tree = krm_yaml::parse_str("a: {b: [{name: x, c: 1}, {name: y, c: 2}]}")?.remove(0).root;
    /// let value = |path| krm_yaml::Path::bracketed(path).ok()?.get(&tree)?.text();
    /// assert_eq!((value("a.b[1].c"), value("a.b[name=x].c")), (Some("2"), Some("1")));
    /// # Ok::<(), krm_yaml::Diagnostic>(())
    /// ```
    pub fn bracketed(text: &str) -> Result<Self> {
        Self::dotted(&with_dots(text, |_| true))
    }

    /// As [`Path::dotted`], and a number in brackets may follow a name directly: `items[0].name`. Other brackets are part of
    /// the name they follow.
    pub fn indexed(text: &str) -> Result<Self> {
        Self::dotted(&with_dots(text, is_number))
    }

    /// Parses a JSON pointer: empty for the root, else each name after a slash, with `~1` for a slash and `~0` for a
    /// tilde.
    pub fn pointer(text: &str) -> Result<Self> {
        let Some(names) = text.strip_prefix('/') else {
            if text.is_empty() {
                return Ok(Self::default());
            }
            return Err(Diagnostic::error(
                "path-no-slash",
                format!("the path `{text}` does not begin with a slash"),
            )
            .help(format!("write `/{text}`")));
        };
        let segment = |name: &str| match name {
            "-" => Segment::Last,
            _ => Segment::Key(from_pointer(name)),
        };
        Ok(Self(names.split('/').map(segment).collect()))
    }

    /// The steps.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Whether the path is that of the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }
}

/// A name in a JSON pointer, without its escapes.
pub fn from_pointer(name: &str) -> Text {
    match name.contains('~') {
        true => name.replace("~1", "/").replace("~0", "~").into(),
        false => name.into(),
    }
}

/// A name as it is written in a JSON pointer.
pub fn to_pointer(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The number of an item in a list of `len`, if a name is one.
pub fn index(name: &str, len: usize, signs: Signs) -> Option<usize> {
    match (name.strip_prefix('-'), signs) {
        (Some(back), Signs::FromEnd) => len.checked_sub(back.parse().ok()?),
        (Some(_), Signs::Refused) => None,
        (None, Signs::Refused) if name.starts_with('+') => None,
        (None, _) => name.parse().ok(),
    }
}

/// What a sign before the number of an item means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signs {
    /// It is not the number of an item.
    Refused,
    /// `-1` is the last item, `+1` is 1.
    FromEnd,
}

/// Splits a path into its names: at a delimiter, unless a backslash is before it. One at the very start does not count.
pub fn split(text: &str, delimiter: char) -> Vec<String> {
    let mut parts = text.split(delimiter).peekable();
    let first = parts.next().unwrap_or("");
    let first = if first.is_empty() && parts.peek().is_some() { parts.next().unwrap_or("") } else { first };
    let mut out = vec![first.to_string()];
    for part in parts {
        let last = out.last_mut().expect("there is a first part");
        if last.ends_with('\\') {
            last.pop();
            last.push(delimiter);
            last.push_str(part);
        } else {
            out.push(part.to_string());
        }
    }
    out
}

/// Reads `[key=value]`.
fn selector(part: &str, whole: &str) -> Result<Segment> {
    let Some((key, value)) = part[1..part.len() - 1].split_once('=') else {
        return Err(Diagnostic::error(
            "path-bad-selector",
            format!("`{part}` in the path `{whole}` has no `=`"),
        )
        .help("write `[field=value]` to find an item of a list, or a number to count"));
    };
    Ok(Segment::Match(Box::new(Select { key: key.into(), value: value.into(), test: None })))
}

/// `items[0].name` with the dots that the parser wants: `items.0.name`, `items.*.name`, `items.[name=web]`. Brackets that do
/// not stand for `separate` steps stay as they are.
fn with_dots(text: &str, separate: fn(&str) -> bool) -> String {
    let mut dotted = String::with_capacity(text.len() + 2);
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        let (before, after) = rest.split_at(open);
        dotted.push_str(before);
        let close = after.find(']').map_or(after.len(), |close| close + 1);
        let inside = after[..close].trim_matches(['[', ']']);
        if !separate(inside) {
            dotted.push('[');
            rest = &after[1..];
            continue;
        }
        if !before.is_empty() && !before.ends_with('.') {
            dotted.push('.');
        }
        match inside == "*" || inside.bytes().all(|byte| byte.is_ascii_digit()) {
            true => dotted.push_str(inside),
            false => dotted.push_str(&after[..close]),
        }
        rest = &after[close..];
    }
    dotted + rest
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The path as people write it: with slashes where it is that of a field spec, else with dots.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slashed = self.0.iter().any(|s| matches!(s, Segment::Field(_)));
        let delimiter = if slashed { '/' } else { '.' };
        for (at, segment) in self.0.iter().enumerate() {
            if at > 0 && *segment != Segment::List {
                write!(f, "{delimiter}")?;
            }
            match segment {
                Segment::Key(name) | Segment::Field(name) if name.contains(delimiter) => {
                    f.write_str(&name.replace(delimiter, &format!("\\{delimiter}")))?;
                }
                segment => write!(f, "{segment}")?,
            }
        }
        Ok(())
    }
}

/// As [`Path::dotted`].
impl std::str::FromStr for Path {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self> {
        Self::dotted(text)
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Segment::Key(name) | Segment::Field(name) => f.write_str(name),
            Segment::Index(at) => write!(f, "{at}"),
            Segment::List => f.write_str("[]"),
            Segment::Match(select) => write!(f, "{select:?}"),
            Segment::Any => f.write_str("*"),
            Segment::Last => f.write_str("-"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Segment {
        Segment::Key(text.into())
    }

    fn field(text: &str) -> Segment {
        Segment::Field(text.into())
    }

    fn item(key: &str, value: &str) -> Segment {
        Segment::Match(Box::new(Select { key: key.into(), value: value.into(), test: None }))
    }

    #[test]
    fn slashed_paths_know_lists_and_escapes() {
        let cases: &[(&str, &[Segment])] = &[
            ("spec/replicas", &[field("spec"), field("replicas")]),
            ("/spec/replicas", &[field("spec"), field("replicas")]),
            ("a/b[]/c", &[field("a"), field("b"), Segment::List, field("c")]),
            (r"metadata/annotations/x.io\/y", &[field("metadata"), field("annotations"), field("x.io/y")]),
        ];
        for (text, segments) in cases {
            assert_eq!(Path::slashed(text).unwrap().0, *segments, "{text}");
        }
        assert_eq!(Path::slashed("").unwrap_err().code(), "path-empty-field");
        assert_eq!(Path::slashed("a//b").unwrap_err().code(), "path-empty-field");
        assert_eq!(Path::slashed("a/[]").unwrap_err().code(), "path-empty-field");
    }

    #[test]
    fn dotted_paths_know_brackets_indexes_and_escapes() {
        let cases: &[(&str, &[Segment])] = &[
            ("spec.replicas", &[key("spec"), key("replicas")]),
            (".spec", &[key("spec")]),
            ("a.[k=v].c", &[key("a"), item("k", "v"), key("c")]),
            ("a.[k=v.w.x].c", &[key("a"), item("k", "v.w.x"), key("c")]),
            ("a.[=-jar]", &[key("a"), item("", "-jar")]),
            ("a.[k=v=w]", &[key("a"), item("k", "v=w")]),
            ("metadata.annotations.[x.io/y]", &[key("metadata"), key("annotations"), key("x.io/y")]),
            (
                r"metadata.annotations.x\.io/y.z",
                &[key("metadata"), key("annotations"), key("x.io/y"), key("z")],
            ),
            ("a.0.*.-", &[key("a"), key("0"), Segment::Any, Segment::Last]),
            ("a.[k=v.open", &[key("a"), key("[k=v.open")]),
        ];
        for (text, segments) in cases {
            assert_eq!(Path::dotted(text).unwrap().0, *segments, "{text}");
        }
        assert_eq!(Path::dotted("a.[name]").unwrap_err().code(), "path-bad-selector");
    }

    #[test]
    fn brackets_may_follow_a_name() {
        for (text, bracketed, indexed) in [
            ("a.b[0].c", "a.b.0.c", "a.b.0.c"),
            ("a.[0].[name=x].b[12]", "a.0.[name=x].b.12", "a.0.[name=x].b.12"),
            ("a[name=x].b", "a.[name=x].b", "a[name=x].b"),
        ] {
            assert_eq!(Path::bracketed(text).unwrap().to_string(), bracketed);
            assert_eq!(Path::indexed(text).unwrap().to_string(), indexed);
        }
    }

    #[test]
    fn pointers_decode_their_escapes() {
        assert_eq!(Path::pointer("").unwrap().0, []);
        assert_eq!(Path::pointer("/").unwrap().0, [key("")]);
        assert_eq!(
            Path::pointer("/a~1b/~01/0/-").unwrap().0,
            [key("a/b"), key("~1"), key("0"), Segment::Last]
        );
        assert_eq!(Path::pointer("a/b").unwrap_err().code(), "path-no-slash");
    }

    #[test]
    fn paths_print_as_they_are_written() {
        for text in ["spec/a[]/b", r"x/y.io\/z"] {
            assert_eq!(Path::slashed(text).unwrap().to_string(), text);
        }
        for text in ["a.b.[k=v.w].0.*.-", r"a.x\.io/y"] {
            assert_eq!(Path::dotted(text).unwrap().to_string(), text);
        }
        assert_eq!(Path::pointer("/a~1b/0").unwrap().to_string(), "a/b.0");
    }
}
