//! What serde has no words for: a place, and a tree as it is.
//!
//! [`Spanned`] and [`Node`] ask for a newtype of a private name. A [`Reader`](super::read::Reader) knows the names, lays
//! span or node aside, and calls the visitor, which takes it up at once. With any other deserializer, such as the buffer
//! after `#[serde(flatten)]`, there is nothing: then a span is [`Span::NONE`], and a tree is built again.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::Spanned;
use crate::map::Map;
use crate::node::{Node, Seq, Style, Tag};
use crate::source::Span;

pub(super) const SPANNED: &str = "$krm::Spanned";
pub(super) const NODE: &str = "$krm::Node";
pub(super) const STRICT: &str = "$krm::strict";

thread_local! {
    static SPAN: Cell<Span> = const { Cell::new(Span::NONE) };
    static TREE: Cell<Option<Node>> = const { Cell::new(None) };
}

pub(super) fn hand_span(span: Span) {
    SPAN.set(span);
}

pub(super) fn hand_node(node: Node) {
    TREE.set(Some(node));
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Spanned<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(SPANNED, SpannedVisitor(PhantomData))
    }
}

struct SpannedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for SpannedVisitor<T> {
    type Value = Spanned<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let span = SPAN.take();
        T::deserialize(deserializer).map(|value| Spanned { value, span })
    }
}

/// Reads a field whose strings must be strings, whatever [`Options::loose_strings`](super::Options::loose_strings) says:
/// for `#[serde(deserialize_with = "krm_yaml::de::strict")]`.
pub fn strict<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Strict<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Strict<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a value")
        }

        fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
            T::deserialize(deserializer)
        }
    }
    deserializer.deserialize_newtype_struct(STRICT, Strict(PhantomData))
}

/// The tree itself, sharing everything with the one that is read.
impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(NODE, NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        match TREE.take() {
            Some(node) => Ok(node),
            None => deserializer.deserialize_any(self),
        }
    }

    fn visit_bool<E>(self, b: bool) -> Result<Node, E> {
        Ok(Node::from(b))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Node, E> {
        Ok(Node::from(n))
    }

    fn visit_u64<E>(self, n: u64) -> Result<Node, E> {
        Ok(Node::scalar(n.to_string(), Tag::Int, Style::Any, Span::NONE))
    }

    fn visit_f64<E>(self, n: f64) -> Result<Node, E> {
        Ok(Node::from(n))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::from(text))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::null())
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::null())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut items = Seq::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Node::from(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut map = Map::new();
        while let Some((key, value)) = access.next_entry()? {
            map.push(key, value);
        }
        Ok(Node::from(map))
    }
}
