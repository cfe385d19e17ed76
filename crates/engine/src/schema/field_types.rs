//! Fields of Kubernetes resources and what they hold: for checking what was written, not for merging.
//!
//! The built-in kinds come from `data/kubernetes-fields.txt`, made by `data/fields.py`, which says how to read it. Nothing is
//! read before someone asks. Custom resources come from CustomResourceDefinitions.

use std::borrow::Cow;

use krm_yaml::Node;
use rustc_hash::FxHashMap;

use super::Gvk;

const BUILTIN: &str = include_str!("../../data/kubernetes-fields.txt");

/// The fields of kinds.
#[derive(Debug, Default)]
pub(crate) struct FieldTypes {
    /// Where the fields of a kind are; `None` for one that is defined twice, in two ways.
    kinds: FxHashMap<Gvk, Option<u32>>,
    types: Vec<Fields>,
}

/// The fields of a map.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Fields {
    /// Sorted by name.
    fields: Vec<(Cow<'static, str>, Shape)>,
    /// Others are allowed too.
    pub is_open: bool,
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    Text,
    Integer,
    Number,
    Boolean,
    TextOrNumber,
    Anything,
    AnyMap,
    List(Box<Shape>),
    Map(Box<Shape>),
    /// A map with these fields: see [`FieldTypes::fields`].
    Fields(u32),
}

impl FieldTypes {
    /// The built-in kinds of all versions of Kubernetes since 1.11.
    pub(crate) fn builtin() -> Self {
        let mut all = Self::default();
        let mut lines = BUILTIN.lines().filter(|line| !line.starts_with('#'));
        for line in lines.by_ref().take_while(|line| !line.is_empty()) {
            let mut words = line.split(' ');
            let mut next = || words.next().unwrap_or_default();
            let (kind, group, version, at) = (next(), next(), next(), next());
            let group = if group == "-" { "" } else { group };
            let gvk = Gvk { group: group.into(), version: version.into(), kind: kind.into() };
            all.kinds.insert(gvk, at.parse().ok());
        }
        all.types.extend(lines.map(|line| {
            let fields = line.split(' ').filter_map(|field| field.split_once('='));
            let fields = fields.map(|(name, shape)| (Cow::Borrowed(name), Shape::parse(shape))).collect();
            Fields { fields, is_open: false }
        }));
        all
    }

    /// All kinds, in no order.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Gvk> {
        self.kinds.keys()
    }

    /// The fields of a kind, if they are known.
    pub(crate) fn of(&self, gvk: &Gvk) -> Option<&Fields> {
        Some(self.fields((*self.kinds.get(gvk)?)?))
    }

    pub(crate) fn fields(&self, at: u32) -> &Fields {
        &self.types[at as usize]
    }

    /// Adds the kinds that a CustomResourceDefinition defines.
    pub(crate) fn add(&mut self, definition: &Node) {
        let Some(spec) = definition.get("spec") else { return };
        let text = |node: Option<&Node>| node.and_then(Node::as_str).unwrap_or_default().to_owned();
        let (group, kind) = (text(spec.get("group")), text(spec.at(["names", "kind"])));
        // The first version of definitions kept every field, unless it was told not to.
        let is_old = text(definition.get("apiVersion")).ends_with("v1beta1");
        let keeps = spec.get("preserveUnknownFields").and_then(Node::as_bool).unwrap_or(is_old);
        let schema = |version: &Node| version.at(["schema", "openAPIV3Schema"]).cloned();
        let of_all = spec.at(["validation", "openAPIV3Schema"]);
        let versions = spec.get("versions").map(Node::items).unwrap_or_default();
        for version in versions {
            let Some(schema) = schema(version).or_else(|| of_all.cloned()) else { continue };
            let gvk = Gvk {
                group: group.as_str().into(),
                version: text(version.get("name")).as_str().into(),
                kind: kind.as_str().into(),
            };
            let mut fields = self.read_fields(&schema, 0);
            fields.is_open |= keeps;
            for (name, shape) in
                [("apiVersion", Shape::Text), ("kind", Shape::Text), ("metadata", Shape::AnyMap)]
            {
                fields.set(name, shape);
            }
            match self.kinds.get(&gvk) {
                Some(Some(known)) if !self.equal(&self.types[*known as usize], &fields) => {
                    self.kinds.insert(gvk, None);
                }
                Some(_) => {}
                None => {
                    self.types.push(fields);
                    self.kinds.insert(gvk, Some(self.types.len() as u32 - 1));
                }
            }
        }
    }

    fn read_fields(&mut self, schema: &Node, depth: usize) -> Fields {
        let flag = |key: &str| schema.get(key).and_then(Node::as_bool) == Some(true);
        let mut fields: Vec<(Cow<str>, Shape)> = Vec::new();
        for entry in schema.get("properties").and_then(Node::as_map).into_iter().flatten() {
            let Some(name) = entry.key.text() else { continue };
            let shape = self.read(&entry.value, depth + 1);
            fields.push((Cow::Owned(name.to_owned()), shape));
        }
        fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        Fields {
            fields,
            is_open: flag("x-kubernetes-preserve-unknown-fields") || flag("x-kubernetes-embedded-resource"),
        }
    }

    fn read(&mut self, schema: &Node, depth: usize) -> Shape {
        let flag = |key: &str| schema.get(key).and_then(Node::as_bool) == Some(true);
        let has = |key: &str| schema.get(key).is_some_and(|value| !value.is_empty());
        if flag("x-kubernetes-int-or-string") {
            return Shape::TextOrNumber;
        }
        if depth > DEEPEST {
            return Shape::Anything;
        }
        match schema.get("type").and_then(Node::as_str) {
            Some("string") => Shape::Text,
            Some("integer") => Shape::Integer,
            Some("number") => Shape::Number,
            Some("boolean") => Shape::Boolean,
            Some("array") => match schema.get("items") {
                Some(items) => Shape::List(Box::new(self.read(items, depth + 1))),
                None => Shape::List(Box::new(Shape::Anything)),
            },
            Some("object") if has("properties") => {
                let fields = self.read_fields(schema, depth);
                self.types.push(fields);
                Shape::Fields(self.types.len() as u32 - 1)
            }
            Some("object") => match schema.get("additionalProperties").filter(|values| values.is_map()) {
                Some(values) => Shape::Map(Box::new(self.read(values, depth + 1))),
                None => Shape::AnyMap,
            },
            _ => Shape::Anything,
        }
    }

    fn equal(&self, a: &Fields, b: &Fields) -> bool {
        let mut pairs = a.fields.iter().zip(&b.fields);
        a.is_open == b.is_open
            && a.fields.len() == b.fields.len()
            && pairs.all(|((a, x), (b, y))| a == b && self.same(x, y))
    }

    fn same(&self, a: &Shape, b: &Shape) -> bool {
        match (a, b) {
            (Shape::Fields(a), Shape::Fields(b)) => a == b || self.equal(self.fields(*a), self.fields(*b)),
            (Shape::List(a), Shape::List(b)) | (Shape::Map(a), Shape::Map(b)) => self.same(a, b),
            (a, b) => a == b,
        }
    }
}

/// Types of custom resources within each other: deeper than this nothing is checked.
const DEEPEST: usize = 64;

impl Fields {
    pub(crate) fn get(&self, name: &str) -> Option<&Shape> {
        let found = self.fields.binary_search_by(|(known, _)| known.as_ref().cmp(name)).ok()?;
        Some(&self.fields[found].1)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| name.as_ref())
    }

    fn set(&mut self, name: &'static str, shape: Shape) {
        match self.fields.binary_search_by(|(known, _)| known.as_ref().cmp(name)) {
            Ok(at) => self.fields[at].1 = shape,
            Err(at) => self.fields.insert(at, (Cow::Borrowed(name), shape)),
        }
    }
}

impl Shape {
    fn parse(text: &str) -> Self {
        match text.split_at(1) {
            ("[", items) => Shape::List(Box::new(Shape::parse(items))),
            ("{", values) => Shape::Map(Box::new(Shape::parse(values))),
            ("s", _) => Shape::Text,
            ("i", _) => Shape::Integer,
            ("n", _) => Shape::Number,
            ("b", _) => Shape::Boolean,
            ("q", _) => Shape::TextOrNumber,
            ("o", _) => Shape::AnyMap,
            ("a", _) => Shape::Anything,
            _ => text.parse().map_or(Shape::Anything, Shape::Fields),
        }
    }

    /// What it is called.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Shape::Text => "a string",
            Shape::Integer => "an integer",
            Shape::Number => "a number",
            Shape::Boolean => "a boolean",
            Shape::TextOrNumber => "a string or a number",
            Shape::Anything => "anything",
            Shape::List(_) => "a list",
            Shape::AnyMap | Shape::Map(_) | Shape::Fields(_) => "a map",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builtin_kinds_are_known_down_to_their_fields() {
        let types = FieldTypes::builtin();
        let deployment = types.of(&Gvk::new("apps/v1", "Deployment")).unwrap();
        let Some(Shape::Fields(spec)) = deployment.get("spec") else { panic!("{deployment:?}") };
        assert_eq!(types.fields(*spec).get("replicas"), Some(&Shape::Integer));
        assert_eq!(types.fields(*spec).get("replica"), None);
        let config_map = types.of(&Gvk::new("v1", "ConfigMap")).unwrap();
        assert_eq!(config_map.get("data"), Some(&Shape::Map(Box::new(Shape::Text))));
        for fields in &types.types {
            assert!(fields.fields.is_sorted_by(|(a, _), (b, _)| a < b), "{fields:?}");
        }
    }

    #[test]
    fn custom_kinds_come_from_their_definitions() {
        let text = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: example.com\n  \
                    names: {kind: Shop}\n  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema:\n        type: object\n        \
                    properties:\n          spec: {type: object, properties: {size: {type: integer}}}\n";
        let definition = krm_yaml::parse_str(text).unwrap().remove(0).root;
        let other = krm_yaml::parse_str(&text.replace("integer", "string")).unwrap().remove(0).root;
        let gvk = Gvk::new("example.com/v1", "Shop");
        let mut types = FieldTypes::default();
        types.add(&definition);
        types.add(&definition);
        let Some(Shape::Fields(spec)) = types.of(&gvk).unwrap().get("spec") else { panic!("no spec") };
        assert_eq!(types.fields(*spec).get("size"), Some(&Shape::Integer));
        // Which of two definitions counts is not known.
        types.add(&other);
        assert!(types.of(&gvk).is_none());
    }
}
