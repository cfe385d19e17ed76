//! Typed writing: serde into a node.
//!
//! ```
//! #[derive(serde::Serialize)]
//! struct Port {
//!     name: &'static str,
//!     number: u16,
//! }
//!
//! let node = krm_yaml::to_node(&[Port { name: "http", number: 80 }])?;
//! assert_eq!(node.to_string(), "- name: http\n  number: 80\n");
//! # Ok::<(), krm_yaml::Diagnostic>(())
//! ```
//!
//! A [`Node`] within a value becomes part of the tree as it is, with its comments, styles and spans.

mod diagnostic;
mod write;

use std::cell::Cell;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::de::Spanned;
use crate::diag::{Diagnostic, Result};
use crate::node::{Node, Tag, Value};

/// Makes a tree of any value that serde can write.
///
/// Fields keep their order, `None` is null, a variant with content is a map of one field. What cannot be a tree, such as a
/// number of more than 64 bits, is an error.
pub fn to_node<T: Serialize + ?Sized>(value: &T) -> Result<Node> {
    value.serialize(write::Writer).map_err(|error| Diagnostic::error("value-not-a-tree", error.0))
}

/// The name by which a node asks our own [`write::Writer`] to take it as it is.
const NODE: &str = "$krm::Node";

thread_local! {
    /// The node that asks. See [`crate::de`] for the other direction.
    static TREE: Cell<Option<Node>> = const { Cell::new(None) };
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        TREE.set(Some(self.clone()));
        serializer.serialize_newtype_struct(NODE, &Content(self))
    }
}

/// A node for every other serializer: by what it means.
struct Content<'n>(&'n Node);

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        TREE.take();
        let node = self.0;
        match node.value() {
            Value::Seq(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| seq.serialize_element(item))?;
                seq.end()
            }
            Value::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                entries.iter().try_for_each(|entry| map.serialize_entry(&entry.key, &entry.value))?;
                map.end()
            }
            Value::Scalar(text) => scalar(node, text, serializer),
        }
    }
}

fn scalar<S: Serializer>(node: &Node, text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let int = || crate::scalar::resolve::int(text);
    match node.tag() {
        Tag::Null => serializer.serialize_unit(),
        Tag::Bool => serializer.serialize_bool(node.as_bool().unwrap_or_default()),
        Tag::Int | Tag::Float => match (int().map(i64::try_from), int().map(u64::try_from)) {
            (Some(Ok(n)), _) => serializer.serialize_i64(n),
            (_, Some(Ok(n))) => serializer.serialize_u64(n),
            _ => match crate::scalar::resolve::float(text) {
                Some(n) => serializer.serialize_f64(n),
                None => serializer.serialize_str(text),
            },
        },
        _ => serializer.serialize_str(text),
    }
}

/// The value alone.
impl<T: Serialize> Serialize for Spanned<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::{from_node, parse_str};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct All {
        text: String,
        looks_like_a_number: String,
        number: i64,
        large: u64,
        fraction: f64,
        flag: bool,
        nothing: Option<u8>,
        list: Vec<(u8, char)>,
        map: BTreeMap<String, Shape>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Shape {
        Point,
        Circle(f64),
        Square { side: u8 },
    }

    #[test]
    fn what_is_written_is_read_back() {
        let map = [("a", Shape::Point), ("b", Shape::Circle(1.5)), ("c", Shape::Square { side: 2 })];
        let all = All {
            text: "a\nb".into(),
            looks_like_a_number: "1.0".into(),
            number: -3,
            large: u64::MAX,
            fraction: 0.25,
            flag: true,
            nothing: None,
            list: vec![(1, 'x')],
            map: map.into_iter().map(|(key, shape)| (key.into(), shape)).collect(),
        };
        let node = to_node(&all).unwrap();
        assert_eq!(from_node::<All>(&node).unwrap(), all);
        let again = parse_str(&node.to_string()).unwrap().remove(0).root;
        assert_eq!(again, node);
        assert_eq!(from_node::<All>(&again).unwrap(), all);
    }

    #[test]
    fn nodes_are_taken_as_they_are() {
        let inner = parse_str("a: 1 # why\nb: {c: 'd'}\n").unwrap().remove(0).root;
        let outer = to_node(&BTreeMap::from([("x", &inner)])).unwrap();
        assert_eq!(outer.to_string(), "x:\n  a: 1 # why\n  b: {c: 'd'}\n");
        assert!(outer.get("x").unwrap().same(&inner));
    }

    #[test]
    fn other_formats_get_what_a_node_means() {
        let node = parse_str("{a: 017, b: [yes, ~, 1.5], c: TRUE}").unwrap().remove(0).root;
        assert_eq!(serde_json::to_string(&node).unwrap(), r#"{"a":15,"b":["yes",null,1.5],"c":true}"#);
        assert_eq!(to_node(&Spanned::from(1)).unwrap(), Node::from(1));
    }

    #[test]
    fn what_is_not_a_tree_is_an_error() {
        assert_eq!(to_node(&u128::MAX).unwrap_err().code(), "value-not-a-tree");
    }
}
