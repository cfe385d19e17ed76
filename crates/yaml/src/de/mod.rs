//! Typed reading: serde from a node, with the place of every value and of every mistake.
//!
//! Reading is as strict as Go's `encoding/json`: a number is not a string, a string is not a list. A `null` counts as absent, so
//! a field keeps its default.
//!
//! ```
//! use krm_yaml::{Node, Spanned, from_node};
//!
//! #[derive(serde::Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Replica {
//!     name: Spanned<String>,
//!     #[serde(default)]
//!     count: i64,
//! }
//!
//! let mut node = Node::from_iter([("name", "web")]);
//! node.set("count", 3);
//! let replica: Replica = from_node(&node)?;
//! assert_eq!((replica.name.as_str(), replica.count), ("web", 3));
//!
//! node.set("cuont", 4);
//! let error = from_node::<Replica>(&node).err().unwrap();
//! assert_eq!(error.to_string(), "unknown field `cuont`");
//! assert_eq!(error.advice(), ["did you mean `count`?"]);
//! # Ok::<(), krm_yaml::Diagnostic>(())
//! ```

mod error;
mod noticed;
mod read;
mod spans_and_nodes;

pub use spans_and_nodes::strict;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::{Deref, DerefMut};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::diag::{Diagnostic, Failure, Result};
use crate::node::Node;
use crate::source::Span;

pub use noticed::{Noticed, noticing};

/// Reads a typed value from a tree. Unknown fields are refused if the type says `deny_unknown_fields`.
pub fn from_node<'n, T: Deserialize<'n>>(node: &'n Node) -> Result<T> {
    from_node_with(node, Options::default())
}

/// The same, with a say in what passes.
pub fn from_node_with<'n, T: Deserialize<'n>>(node: &'n Node, options: Options) -> Result<T> {
    T::deserialize(read::Reader::new(node, options)).map_err(|error| error.at(node.span()).into_diagnostic())
}

/// The same for what people write by hand: reports all unknown fields at once, not only the first.
///
/// ```
/// use krm_yaml::{Node, Options, Sources, from_node_with_all_errors, parse};
///
/// #[derive(serde::Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Replica {
///     #[serde(default)]
///     count: i64,
/// }
///
/// let source = Sources::new().add("replica.yaml", "cuont: 3\nnmae: web\n");
/// let node = parse(&source)?.remove(0).root;
/// let error = from_node_with_all_errors::<Replica>(&node, Options::default()).err().unwrap();
/// assert_eq!(error.to_string(), "unknown field `cuont`");
/// assert_eq!(error.others()[0].to_string(), "unknown field `nmae`");
/// # Ok::<(), krm_yaml::Diagnostic>(())
/// ```
pub fn from_node_with_all_errors<T: DeserializeOwned>(node: &Node, options: Options) -> Result<T> {
    /// More than anyone reads.
    const MOST: usize = 20;
    let first = match from_node_with(node, options) {
        Err(error) if error.failure() == Some(Failure::UnknownField) => error,
        result => return result,
    };
    let mut rest = node.clone();
    let mut place = first.place();
    let mut all = vec![first];
    while all.len() < MOST && drop_keys_at(&mut rest, place) {
        match from_node_with::<T>(&rest, options) {
            Err(error) if error.failure() == Some(Failure::UnknownField) => {
                place = error.place();
                all.push(error);
            }
            // What else is wrong may come of what was left out.
            _ => break,
        }
    }
    Err(Diagnostic::join(all).expect("there is the first"))
}

/// Leaves out fields whose key is at a place; says whether there are any.
fn drop_keys_at(node: &mut Node, place: Span) -> bool {
    let mut found = false;
    if let Some(map) = node.as_map_mut() {
        map.retain(|entry| {
            let keep = entry.key.span() != place;
            found |= !keep;
            keep
        });
        map.values_mut().for_each(|(_, value)| found |= drop_keys_at(value, place));
    } else if let Some(items) = node.as_seq_mut() {
        items.iter_mut().for_each(|item| found |= drop_keys_at(item, place));
    }
    found
}

/// What typed reading accepts. The default is the strictest.
///
/// ```
/// use krm_yaml::de::{Options, from_node_with};
/// const LOOSE: Options = Options::STRICT.loose_strings().unknown_fields();
/// let node = krm_yaml::Node::from_iter([("a", 1), ("b", 2)]);
/// # #[derive(serde::Deserialize)] struct T { a: String }
/// let read: T = from_node_with(&node, LOOSE)?;
/// assert_eq!(read.a, "1");
/// # Ok::<(), krm_yaml::Diagnostic>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Whether `Resources` is accepted for the field `resources`. If both are there, the last one counts.
    pub case_insensitive: bool,
    /// Whether the bare words `yes`, `no`, `on`, `off`, `y` and `n` are booleans, and therefore not strings.
    pub old_booleans: bool,
    /// Whether numbers and booleans are accepted as strings, written as Go prints their values: `017` is `15`. Infinity
    /// and what is not a number are not accepted. A field read by [`strict`] takes strings only.
    pub loose_strings: bool,
    /// Whether dates and times become strings in the form of RFC 3339, as in JSON, rather than stay as they are written.
    pub rfc3339: bool,
    /// Whether all scalars are only text, to be read as whatever type is asked for: `"3"` as a number, `1.10` as the
    /// string `1.10`. For maps in which every value is text.
    pub only_text: bool,
    /// Whether unknown fields are ignored.
    pub unknown_fields: bool,
}

impl Options {
    /// Accepts nothing but what the types say; the default.
    pub const STRICT: Options = Options {
        case_insensitive: false,
        old_booleans: false,
        loose_strings: false,
        rfc3339: false,
        only_text: false,
        unknown_fields: false,
    };

    /// Sets [`Options::case_insensitive`].
    pub const fn case_insensitive(mut self) -> Self {
        self.case_insensitive = true;
        self
    }

    /// Sets [`Options::old_booleans`].
    pub const fn old_booleans(mut self) -> Self {
        self.old_booleans = true;
        self
    }

    /// Sets [`Options::loose_strings`].
    pub const fn loose_strings(mut self) -> Self {
        self.loose_strings = true;
        self
    }

    /// Sets [`Options::rfc3339`].
    pub const fn rfc3339(mut self) -> Self {
        self.rfc3339 = true;
        self
    }

    /// Sets [`Options::only_text`].
    pub const fn only_text(mut self) -> Self {
        self.only_text = true;
        self
    }

    /// Sets [`Options::unknown_fields`].
    pub const fn unknown_fields(mut self) -> Self {
        self.unknown_fields = true;
        self
    }
}

/// A value and where it was written.
///
/// Use it for a field that an error message may have to point at. It derefs to the value, and equality and display are the
/// value's own.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it was written.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// A value and its span.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }

    /// Where it was written.
    pub fn span(&self) -> Span {
        self.span
    }

    /// The value alone.
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T> From<T> for Spanned<T> {
    /// A value nobody wrote.
    fn from(value: T) -> Self {
        Self { value, span: Span::NONE }
    }
}

impl<T> Deref for Spanned<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Spanned<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: fmt::Display> fmt::Display for Spanned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for Spanned<T> {}

impl<T: PartialOrd> PartialOrd for Spanned<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

impl<T: Ord> Ord for Spanned<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.value.cmp(&other.value)
    }
}

impl<T: std::hash::Hash> std::hash::Hash for Spanned<T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.value.hash(state);
    }
}
