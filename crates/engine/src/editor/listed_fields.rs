//! The schemas and the table of built-ins, by which editors complete and of which the book is made, list every field that is read.
//!
//! Each of the types that files are read into is asked for its fields. One that is added, renamed or removed without a word in the
//! schema fails here.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use krm_yaml::{Diagnostic, Result, Source, Span, de};
use serde::de::value::{Error, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

use super::builtins;
use super::fields::{FileKind, Schemas};
use crate::composition::Composition;
use crate::files::world::Loader;
use crate::kpt::Kptfile;
use crate::kustomization::Kustomization;
use crate::transformers::{self, Setup};

/// Fields that are read only to say what is wrong with them.
const NOT_LISTED: [(&str, &str); 8] = [
    ("configMapGenerator.*", "type"),
    ("pipeline.mutators.*", "condition"),
    ("pipeline.mutators.*", "when"),
    ("pipeline.validators.*", "condition"),
    ("pipeline.validators.*", "when"),
    ("ConfigMapGenerator", "env"),
    ("ConfigMapGenerator", "type"),
    ("SecretGenerator", "env"),
];

#[test]
fn schemas_have_the_fields_of_the_types() {
    let mut walk = Walk::default();
    walk.compare::<Kustomization>(FileKind::Kustomization, &mut Vec::new());
    walk.compare::<Composition>(FileKind::Composition, &mut Vec::new());
    walk.compare::<Kptfile>(FileKind::Kptfile, &mut Vec::new());
    assert!(walk.faults.is_empty(), "{}", walk.faults.join("\n"));
    assert!(walk.compared > 25, "only {} types were found", walk.compared);
}

#[test]
fn the_table_has_the_fields_of_the_built_ins() {
    let loader: Arc<dyn Loader> = Arc::new(NoFiles);
    let setup = Setup { loader: &loader, defaults: None, warn: &|_| {} };
    let mut faults = Vec::new();
    let mut compared = 0;
    for kind in transformers::kinds() {
        let config = format!("nobody-knows-this: 1\nkind: {kind}\nfieldSpecs: [{{path: metadata/name}}]\n");
        let config = krm_yaml::parse_str(&config).expect("it is YAML").remove(0).root;
        let make = transformers::builtin(kind).expect("it is one of the kinds");
        let (_, noticed) = de::noticing(|| make(&config, &setup).map(drop));
        let reads = noticed.iter().filter(|key| key.key == "nobody-knows-this");
        let mut read: Vec<&str> = reads.flat_map(|key| key.known).copied().collect();
        read.retain(|field| !NOT_LISTED.contains(&(kind, field)));
        let mut listed: Vec<&str> = builtins::fields(kind).iter().map(|(name, _)| *name).collect();
        compared += usize::from(!read.is_empty());
        for fields in [&mut read, &mut listed] {
            // What all of them have.
            fields.retain(|field| !["apiVersion", "kind", "metadata"].contains(field));
            fields.sort_unstable();
            fields.dedup();
        }
        if listed != read {
            faults.push(format!("{kind}\n  read:   {read:?}\n  listed: {listed:?}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(compared > 15, "only {compared} built-ins were found");
}

/// What a type reads at a path.
#[derive(Clone, Copy, Default)]
enum Shape {
    Fields(&'static [&'static str]),
    List,
    #[default]
    Other,
}

#[derive(Default)]
struct Walk {
    schemas: Schemas,
    compared: usize,
    faults: Vec<String>,
}

impl Walk {
    /// Compares the fields at a path, and at all that lead on from it.
    fn compare<T: for<'de> Deserialize<'de>>(&mut self, kind: FileKind, path: &mut Vec<&'static str>) {
        let found = Cell::new(Shape::Other);
        drop(T::deserialize(Probe { path, found: &found }));
        let next = match found.get() {
            Shape::Fields(fields) => {
                self.compared += 1;
                let mut read = fields.to_vec();
                let way = path.join(".");
                read.retain(|field| !NOT_LISTED.contains(&(way.as_str(), field)));
                // The one field whose other spelling is as common.
                read.extend((way == "vars.*.fieldref").then_some("fieldpath"));
                read.sort_unstable();
                let mut listed: Vec<&str> =
                    self.schemas.fields(kind, path).iter().map(|field| field.name).collect();
                listed.sort_unstable();
                if read != listed {
                    self.faults.push(format!("{kind:?} {way}\n  read:   {read:?}\n  listed: {listed:?}"));
                }
                fields
            }
            Shape::List => &["*"],
            Shape::Other => &[][..],
        };
        for step in next {
            path.push(step);
            self.compare::<T>(kind, path);
            path.pop();
        }
    }
}

/// Follows a path into a type, notes what is there, and fails.
struct Probe<'a> {
    path: &'a [&'static str],
    found: &'a Cell<Shape>,
}

impl Probe<'_> {
    fn note<T>(&self, shape: Shape) -> std::result::Result<T, Error> {
        self.found.set(shape);
        Err(Error::custom("that is all we wanted to know"))
    }
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> std::result::Result<V::Value, Error> {
        self.note(Shape::Other)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> std::result::Result<V::Value, Error> {
        match self.path {
            [] => self.note(Shape::Fields(fields)),
            [..] => visitor.visit_map(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Error> {
        match self.path {
            [] => self.note(Shape::List),
            [..] => visitor.visit_seq(self),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> std::result::Result<V::Value, Error> {
        match name {
            // Any tree: its fields are not ours to list.
            "$krm::Node" => self.note(Shape::Other),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct tuple
        tuple_struct map enum identifier ignored_any
    }
}

/// A map with one key: the next step of the path.
impl<'de> MapAccess<'de> for Probe<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> std::result::Result<Option<K::Value>, Error> {
        let key: StrDeserializer<'_, Error> = self.path[0].into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> std::result::Result<V::Value, Error> {
        seed.deserialize(Probe { path: &self.path[1..], found: self.found })
    }
}

/// A list with one item.
impl<'de> SeqAccess<'de> for Probe<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> std::result::Result<Option<T::Value>, Error> {
        seed.deserialize(Probe { path: &self.path[1..], found: self.found }).map(Some)
    }
}

struct NoFiles;

impl Loader for NoFiles {
    fn load(&self, path: &str, place: Span) -> Result<Arc<Source>> {
        Err(Diagnostic::error("file-not-found", path).at(place))
    }

    fn load_bytes(&self, path: &str, place: Span) -> Result<Vec<u8>> {
        self.load(path, place).map(|_| Vec::new())
    }

    fn root(&self) -> &Path {
        Path::new("/")
    }
}
