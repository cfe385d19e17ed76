//! The deserializer.

use serde::de::value::StrDeserializer;
use serde::de::{self, Visitor};
use serde::forward_to_deserialize_any;

use super::error::Error;
use super::noticed::notice;
use super::{Options, spans_and_nodes};
use crate::map::{Entry, Map};
use crate::node::{Node, Style, Tag, Value};

type Result<T> = std::result::Result<T, Error>;

/// Reads one node.
#[derive(Clone, Copy)]
pub(super) struct Reader<'n> {
    node: &'n Node,
    options: Options,
    /// Keys are strings, whatever they look like.
    key: bool,
}

/// A scalar by what it means.
enum Scalar<'n> {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(&'n str),
}

impl<'n> Reader<'n> {
    pub(crate) fn new(node: &'n Node, options: Options) -> Self {
        Self { node, options, key: false }
    }

    fn scalar(self) -> Option<Scalar<'n>> {
        let text = self.node.text()?;
        if self.key {
            return Some(Scalar::Str(text));
        }
        let tag = match self.node.tag() {
            Tag::Str if self.options.only_text => match crate::scalar::resolve::plain(text) {
                tag @ (Tag::Bool | Tag::Int | Tag::Float) => tag,
                _ => Tag::Str,
            },
            tag => tag,
        };
        Some(match tag {
            Tag::Null => Scalar::Null,
            Tag::Bool => Scalar::Bool(matches!(text.as_bytes().first(), Some(b't' | b'T' | b'y' | b'Y'))),
            Tag::Int | Tag::Float => {
                match (crate::scalar::resolve::int(text), crate::scalar::resolve::float(text)) {
                    (Some(n), _) => Scalar::Int(n),
                    (None, Some(n)) => Scalar::Float(n),
                    (None, None) => Scalar::Str(text),
                }
            }
            _ => match crate::scalar::resolve::old_boolean(text) {
                Some(b) if self.options.old_booleans && self.is_bare() => Scalar::Bool(b),
                _ => Scalar::Str(text),
            },
        })
    }

    /// Whether nothing but its looks says what a scalar is.
    fn is_bare(self) -> bool {
        self.node.style() == Style::Plain && self.node.trivia().tag.is_none()
    }

    /// The text of a string that is not written as it is meant.
    fn decoded(self, text: &str) -> Option<String> {
        match self.node.tag() {
            Tag::Timestamp if self.options.rfc3339 => crate::scalar::resolve::timestamp(text),
            Tag::Binary => String::from_utf8(crate::scalar::binary::decode(text)?).ok(),
            _ => None,
        }
    }

    fn wrong_type<T>(self, expected: &str) -> Result<T> {
        let found = match self.scalar() {
            // What looks like a string may be one of the old words for true and false.
            Some(Scalar::Bool(_)) => "a boolean",
            _ => self.node.kind_name(),
        };
        let error = Error::wrong_type(expected, found).at(self.node.span());
        let is_template = |map: &crate::map::Map| map.iter().next().is_some_and(|entry| entry.key.is_map());
        // The one text of a map with but one field.
        let only_text = |map: &'n crate::map::Map| match map.entries() {
            [entry] => entry.value.as_str(),
            _ => None,
        };
        Err(match (expected, self.node.text(), self.node.value()) {
            ("a string", Some(text), _) if text.len() < 40 => {
                error.help(format!("put it in quotes: \"{text}\""))
            }
            ("a string", None, Value::Map(map)) if is_template(map) => {
                error.help("a template `{{ }}` must be filled in before, or be in quotes")
            }
            ("a string", None, Value::Map(map)) if only_text(map).is_some() => {
                error.help(format!("write `{}` alone", only_text(map).unwrap_or_default()))
            }
            ("an integer" | "a number", Some(text), _) if crate::scalar::resolve::float(text).is_some() => {
                error.help(format!("write it without quotes: {text}"))
            }
            ("a boolean", Some("true" | "false"), _) => error.help("write it without quotes"),
            ("a list", Some(text), _) if text.contains(' ') => {
                error.help("write each item on a line of its own, after `- `")
            }
            ("a list", Some(text), _) if text.len() < 40 => {
                error.help(format!("write it as an item of a list: `- {text}`"))
            }
            ("a list", None, Value::Map(_)) => error.help("write each item on a line of its own, after `- `"),
            ("a map", Some(text), _) if let Some(meant) = crate::missing_space::with_space(text) => {
                error.help(format!("put a space after the `:`, as in `{meant}`"))
            }
            ("a map", None, Value::Seq(_)) => error.help("write the fields without `- ` in front of them"),
            _ => error,
        })
    }

    /// The field that a text was probably meant for, if a text is given in place of a map.
    fn hint_at_field(self, error: Error, fields: Option<&'static [&'static str]>) -> Error {
        let likely = ["path", "name"].into_iter().find(|name| fields.is_some_and(|f| f.contains(name)));
        match (likely, self.node.as_str()) {
            (Some(field), Some(text)) if text.len() < 80 => error.help(format!("write `{field}: {text}`")),
            _ => error,
        }
    }

    fn placed<T>(self, result: Result<T>) -> Result<T> {
        result.map_err(|error| error.at(self.node.span()))
    }

    fn is_null(self) -> bool {
        self.node.is_null() && !self.key
    }

    fn str<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value> {
        if let Some(text) = self.node.text().filter(|_| self.options.only_text && !self.is_null()) {
            return self.placed(visitor.visit_borrowed_str(text));
        }
        match self.scalar() {
            Some(Scalar::Str(text)) => self.placed(match self.decoded(text) {
                Some(text) => visitor.visit_string(text),
                None => visitor.visit_borrowed_str(text),
            }),
            Some(Scalar::Null) => visitor.visit_borrowed_str(""),
            Some(Scalar::Float(n)) if !n.is_finite() => self.wrong_type("a string"),
            Some(scalar) if self.options.loose_strings => {
                let text = match scalar {
                    Scalar::Bool(b) => b.to_string(),
                    Scalar::Int(n) => n.to_string(),
                    Scalar::Float(n) => crate::scalar::number::single(n),
                    Scalar::Null | Scalar::Str(_) => String::new(),
                };
                self.placed(visitor.visit_string(text))
            }
            _ => self.wrong_type("a string"),
        }
    }

    /// An integer between two bounds. A float without a fraction is one, as it is in JSON.
    fn int(self, least: i128, most: i128) -> Result<i128> {
        let n = match self.scalar() {
            Some(Scalar::Null) => 0,
            Some(Scalar::Int(n)) => n,
            Some(Scalar::Float(n)) if n.fract() == 0.0 && n.abs() < 1e21 => n as i128,
            Some(Scalar::Str(text)) if self.key => match crate::scalar::resolve::int(text) {
                Some(n) => n,
                None => return self.wrong_type("an integer"),
            },
            _ => return self.wrong_type("an integer"),
        };
        if (least..=most).contains(&n) {
            return Ok(n);
        }
        let expected = format!("an integer from {least} to {most}");
        Err(Error::wrong_type(expected, format_args!("{n}")).at(self.node.span()))
    }

    fn entries<V: Visitor<'n>>(
        self,
        fields: Option<&'static [&'static str]>,
        visitor: V,
    ) -> Result<V::Value> {
        let map = match self.node.value() {
            Value::Map(map) => map.entries(),
            _ if self.is_null() => &[],
            _ => return self.wrong_type("a map").map_err(|error| self.hint_at_field(error, fields)),
        };
        let names = match fields {
            Some(fields) if self.options.case_insensitive => Some(names_of(map, fields)),
            _ => None,
        };
        let access =
            MapAccess { map, fields: fields.unwrap_or_default(), names, next: 0, options: self.options };
        visitor.visit_map(access).map_err(|error| {
            // A null is where the value should be: show that, rather than all of the map.
            let null = error.missing_here().and_then(|field| self.node.get(field));
            error.at(null.map_or(self.node.span(), Node::span))
        })
    }
}

macro_rules! integers {
    ($($method:ident $visit:ident $type:ty,)*) => {$(
        fn $method<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value> {
            let n = self.int(<$type>::MIN as i128, <$type>::MAX as i128)?;
            self.placed(visitor.$visit(n as $type))
        }
    )*};
}

impl<'n> de::Deserializer<'n> for Reader<'n> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value> {
        let Some(scalar) = self.scalar() else {
            return match self.node.value() {
                Value::Seq(_) => self.deserialize_seq(visitor),
                _ => self.entries(None, visitor),
            };
        };
        self.placed(match scalar {
            Scalar::Null => visitor.visit_unit(),
            Scalar::Bool(b) => visitor.visit_bool(b),
            Scalar::Int(n) => match (i64::try_from(n), u64::try_from(n)) {
                (Ok(n), _) => visitor.visit_i64(n),
                (_, Ok(n)) => visitor.visit_u64(n),
                _ => visitor.visit_i128(n),
            },
            Scalar::Float(n) => visitor.visit_f64(n),
            Scalar::Str(text) => visitor.visit_borrowed_str(text),
        })
    }

    fn deserialize_bool<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value> {
        match self.scalar() {
            Some(Scalar::Bool(b)) => self.placed(visitor.visit_bool(b)),
            Some(Scalar::Null) => visitor.visit_bool(false),
            _ => self.wrong_type("a boolean"),
        }
    }

    integers! {
        deserialize_i8 visit_i8 i8,
        deserialize_i16 visit_i16 i16,
        deserialize_i32 visit_i32 i32,
        deserialize_i64 visit_i64 i64,
        deserialize_u8 visit_u8 u8,
        deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64,
    }

    fn deserialize_f32<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value> {
        match self.scalar() {
            Some(Scalar::Int(n)) => self.placed(visitor.visit_f64(n as f64)),
            Some(Scalar::Float(n)) => self.placed(visitor.visit_f64(n)),
            Some(Scalar::Null) => visitor.visit_f64(0.0),
            _ => self.wrong_type("a number"),
        }
    }

    fn deserialize_char<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value> {
        self.str(visitor)
    }

    fn deserialize_str<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value> {
        self.str(visitor)
    }

    fn deserialize_string<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value> {
        self.str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value> {
        self.str(visitor)
    }

    fn deserialize_option<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value> {
        if self.is_null() { visitor.visit_unit() } else { self.wrong_type("null") }
    }

    fn deserialize_unit_struct<V: Visitor<'n>>(self, _name: &'static str, visitor: V) -> Result<V::Value> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'n>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        match name {
            spans_and_nodes::SPANNED => spans_and_nodes::hand_span(self.node.span()),
            spans_and_nodes::NODE => spans_and_nodes::hand_node(self.node.clone()),
            spans_and_nodes::STRICT => {
                let options = Options { loose_strings: false, ..self.options };
                return self.placed(visitor.visit_newtype_struct(Self { options, ..self }));
            }
            _ => {}
        }
        self.placed(visitor.visit_newtype_struct(self))
    }

    fn deserialize_seq<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value> {
        let items = match self.node.value() {
            Value::Seq(items) => items.as_slice(),
            _ if self.is_null() => &[],
            _ => return self.wrong_type("a list"),
        };
        self.placed(visitor.visit_seq(SeqAccess { items, next: 0, options: self.options }))
    }

    fn deserialize_tuple<V: Visitor<'n>>(self, _len: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'n>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value> {
        self.entries(None, visitor)
    }

    fn deserialize_struct<V: Visitor<'n>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.entries(Some(fields), visitor)
    }

    fn deserialize_enum<V: Visitor<'n>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        let access = match (self.scalar(), self.node.as_map().map(Map::entries)) {
            (Some(Scalar::Str(_)), _) => EnumAccess { variant: self, content: None },
            (_, Some([entry])) => EnumAccess {
                variant: Reader { node: &entry.key, key: true, ..self },
                content: Some(Reader::new(&entry.value, self.options)),
            },
            (_, Some(_)) => {
                return Err(
                    Error::wrong_type("a map with one field", "one with more or less").at(self.node.span())
                );
            }
            _ => return self.wrong_type("a string"),
        };
        self.placed(visitor.visit_enum(access))
    }

    fn deserialize_ignored_any<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! { <V: Visitor<'n>> i128 u128 bytes byte_buf }
}

/// For every entry the field it stands for, whatever its case. Of several for one field the last counts in the order of their
/// bytes, in which Go writes and reads them.
fn names_of(entries: &[Entry], fields: &'static [&'static str]) -> Vec<Name> {
    let mut last = vec![usize::MAX; fields.len()];
    let found: Vec<Option<usize>> = entries
        .iter()
        .enumerate()
        .map(|(at, entry)| {
            let key = entry.key.text()?;
            let exact = fields.iter().position(|field| *field == key);
            let folded = || {
                let field = fields.iter().position(|field| folds_to(key, field))?;
                notice(&entry.key, Some(fields[field]), fields);
                Some(field)
            };
            let field = exact.or_else(folded)?;
            let before = entries.get(last[field]).and_then(|entry| entry.key.text());
            if before.is_none_or(|before| before <= key) {
                last[field] = at;
            }
            Some(field)
        })
        .collect();
    let name = |(at, field): (usize, Option<usize>)| match field {
        Some(field) if last[field] == at => Name::Field(fields[field]),
        Some(_) => Name::Overridden,
        None => Name::Unknown,
    };
    found.into_iter().enumerate().map(name).collect()
}

/// What the key of an entry stands for.
enum Name {
    Field(&'static str),
    /// A field that another key stands for, which counts.
    Overridden,
    Unknown,
}

/// Whether two names differ in nothing but case.
fn folds_to(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || !a.is_ascii() && a.to_lowercase() == b.to_lowercase()
}

struct MapAccess<'n> {
    map: &'n [Entry],
    /// Of a struct. A null in one of them is as good as none.
    fields: &'static [&'static str],
    /// The fields the keys stand for, if case does not matter.
    names: Option<Vec<Name>>,
    next: usize,
    options: Options,
}

impl<'n> de::MapAccess<'n> for MapAccess<'n> {
    type Error = Error;

    fn next_key_seed<K: de::DeserializeSeed<'n>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        while let Some(entry) = self.map.get(self.next) {
            let at = self.next;
            self.next += 1;
            let field = match &self.names {
                Some(names) => match names[at] {
                    Name::Field(field) => Some(field),
                    Name::Overridden => continue,
                    Name::Unknown => None,
                },
                None => self.fields.iter().copied().find(|field| Some(*field) == entry.key.text()),
            };
            let key = match field {
                Some(_) if entry.value.is_null() => continue,
                None if self.options.unknown_fields && !self.fields.is_empty() => {
                    notice(&entry.key, None, self.fields);
                    continue;
                }
                Some(field) => seed.deserialize(StrDeserializer::new(field)),
                None => seed.deserialize(Reader { node: &entry.key, options: self.options, key: true }),
            };
            return key.map(Some).map_err(|error| error.at(entry.key.span()));
        }
        Ok(None)
    }

    fn next_value_seed<V: de::DeserializeSeed<'n>>(&mut self, seed: V) -> Result<V::Value> {
        let entry = &self.map[self.next - 1];
        let name = entry.key.text().unwrap_or("?");
        seed.deserialize(Reader::new(&entry.value, self.options)).map_err(|error| error.within_key(name))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.map.len() - self.next)
    }
}

struct SeqAccess<'n> {
    items: &'n [Node],
    next: usize,
    options: Options,
}

impl<'n> de::SeqAccess<'n> for SeqAccess<'n> {
    type Error = Error;

    fn next_element_seed<T: de::DeserializeSeed<'n>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let Some(item) = self.items.get(self.next) else { return Ok(None) };
        let at = self.next;
        self.next += 1;
        let item = seed.deserialize(Reader::new(item, self.options));
        item.map(Some).map_err(|error| error.within_item(at))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.next)
    }
}

struct EnumAccess<'n> {
    variant: Reader<'n>,
    content: Option<Reader<'n>>,
}

impl<'n> de::EnumAccess<'n> for EnumAccess<'n> {
    type Error = Error;
    type Variant = VariantAccess<'n>;

    fn variant_seed<V: de::DeserializeSeed<'n>>(self, seed: V) -> Result<(V::Value, VariantAccess<'n>)> {
        let variant = self.variant;
        let value = seed.deserialize(variant).map_err(|error| error.at(variant.node.span()))?;
        Ok((value, VariantAccess { variant, content: self.content }))
    }
}

struct VariantAccess<'n> {
    variant: Reader<'n>,
    content: Option<Reader<'n>>,
}

impl<'n> VariantAccess<'n> {
    fn content(self) -> Result<Reader<'n>> {
        match self.content {
            Some(content) => Ok(content),
            None => self.variant.wrong_type("a map with one field"),
        }
    }
}

impl<'n> de::VariantAccess<'n> for VariantAccess<'n> {
    type Error = Error;

    fn unit_variant(self) -> Result<()> {
        match self.content {
            Some(content) if !content.is_null() => content.wrong_type("nothing"),
            _ => Ok(()),
        }
    }

    fn newtype_variant_seed<T: de::DeserializeSeed<'n>>(self, seed: T) -> Result<T::Value> {
        let name = self.variant.node.text().unwrap_or_default();
        seed.deserialize(self.content()?).map_err(|error| error.within_key(name))
    }

    fn tuple_variant<V: Visitor<'n>>(self, _len: usize, visitor: V) -> Result<V::Value> {
        let name = self.variant.node.text().unwrap_or_default();
        de::Deserializer::deserialize_seq(self.content()?, visitor).map_err(|error| error.within_key(name))
    }

    fn struct_variant<V: Visitor<'n>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value> {
        let name = self.variant.node.text().unwrap_or_default();
        self.content()?.entries(Some(fields), visitor).map_err(|error| error.within_key(name))
    }
}
