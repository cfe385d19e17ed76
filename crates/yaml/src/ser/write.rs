//! The serializer.

use std::fmt;

use serde::ser::{self, Serialize};

use super::{NODE, TREE};
use crate::map::Map;
use crate::node::{Node, Seq, Style, Tag};
use crate::source::Span;

/// Why something cannot be a tree.
#[derive(Debug)]
pub(super) struct Error(pub String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl ser::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

type Result<T> = std::result::Result<T, Error>;

/// Writes one node.
pub(super) struct Writer;

macro_rules! integers {
    ($($method:ident $type:ty,)*) => {$(
        fn $method(self, n: $type) -> Result<Node> {
            Ok(Node::scalar(n.to_string(), Tag::Int, Style::Any, Span::NONE))
        }
    )*};
}

impl ser::Serializer for Writer {
    type Ok = Node;
    type Error = Error;
    type SerializeSeq = Items;
    type SerializeTuple = Items;
    type SerializeTupleStruct = Items;
    type SerializeTupleVariant = Items;
    type SerializeMap = Entries;
    type SerializeStruct = Entries;
    type SerializeStructVariant = Entries;

    integers! {
        serialize_i8 i8,
        serialize_i16 i16,
        serialize_i32 i32,
        serialize_i64 i64,
        serialize_u8 u8,
        serialize_u16 u16,
        serialize_u32 u32,
        serialize_u64 u64,
    }

    fn serialize_bool(self, b: bool) -> Result<Node> {
        Ok(Node::from(b))
    }

    fn serialize_f32(self, n: f32) -> Result<Node> {
        // By its own digits: 0.1 is no longer 0.1 in double precision.
        self.serialize_f64(n.to_string().parse().unwrap_or(f64::from(n)))
    }

    fn serialize_f64(self, n: f64) -> Result<Node> {
        Ok(Node::from(n))
    }

    fn serialize_char(self, c: char) -> Result<Node> {
        Ok(Node::from(c.to_string()))
    }

    fn serialize_str(self, text: &str) -> Result<Node> {
        Ok(Node::from(text))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Node> {
        Ok(Node::from(bytes.iter().map(|byte| Node::from(u32::from(*byte))).collect::<Seq>()))
    }

    fn serialize_none(self) -> Result<Node> {
        Ok(Node::null())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Node> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Node> {
        Ok(Node::null())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<Node> {
        Ok(Node::null())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Node> {
        Ok(Node::from(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<Node> {
        match TREE.take().filter(|_| name == NODE) {
            Some(node) => Ok(node),
            None => value.serialize(self),
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Node> {
        Ok(named(Some(variant), value.serialize(Writer)?))
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Items> {
        Ok(Items { variant: None, items: Seq::with_capacity(len.unwrap_or_default().min(1024)) })
    }

    fn serialize_tuple(self, len: usize) -> Result<Items> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<Items> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items> {
        Ok(Items { variant: Some(variant), items: Seq::new() })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries> {
        Ok(Entries { variant: None, key: None, map: Map::new() })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Entries> {
        self.serialize_map(None)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Entries> {
        Ok(Entries { variant: Some(variant), key: None, map: Map::new() })
    }
}

/// The content of a variant under its name; anything else as it is.
fn named(variant: Option<&str>, content: Node) -> Node {
    match variant {
        Some(name) => Node::from_iter([(name, content)]),
        None => content,
    }
}

/// A list in the making.
pub(super) struct Items {
    variant: Option<&'static str>,
    items: Seq,
}

impl Items {
    fn add<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<()> {
        self.items.push(item.serialize(Writer)?);
        Ok(())
    }

    fn finish(self) -> Result<Node> {
        Ok(named(self.variant, Node::from(self.items)))
    }
}

macro_rules! lists {
    ($($trait:ident $method:ident,)*) => {$(
        impl ser::$trait for Items {
            type Ok = Node;
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<()> {
                self.add(item)
            }

            fn end(self) -> Result<Node> {
                self.finish()
            }
        }
    )*};
}

lists! {
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field,
}

/// A map in the making.
pub(super) struct Entries {
    variant: Option<&'static str>,
    key: Option<Node>,
    map: Map,
}

impl Entries {
    fn add<T: Serialize + ?Sized>(&mut self, key: Node, value: &T) -> Result<()> {
        self.map.push(key, value.serialize(Writer)?);
        Ok(())
    }

    fn finish(self) -> Result<Node> {
        Ok(named(self.variant, Node::from(self.map)))
    }
}

impl ser::SerializeMap for Entries {
    type Ok = Node;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        self.key = Some(key.serialize(Writer)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let key = self.key.take().ok_or_else(|| Error("a value of a map comes before its key".into()))?;
        self.add(key, value)
    }

    fn end(self) -> Result<Node> {
        self.finish()
    }
}

impl ser::SerializeStruct for Entries {
    type Ok = Node;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<()> {
        self.add(Node::from(name), value)
    }

    fn end(self) -> Result<Node> {
        self.finish()
    }
}

impl ser::SerializeStructVariant for Entries {
    type Ok = Node;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<()> {
        self.add(Node::from(name), value)
    }

    fn end(self) -> Result<Node> {
        self.finish()
    }
}
