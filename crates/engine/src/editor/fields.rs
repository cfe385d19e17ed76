//! The fields that our files may have, and what they mean: from the JSON Schemas.

use std::sync::OnceLock;

use krm_yaml::Node;

use super::builtins::{self, Like};
use crate::schema::Gvk;
use crate::schema::field_types::{FieldTypes, Shape};
use crate::{composition, kpt, kustomization};

/// Which kind of file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Kustomization,
    Composition,
    Kptfile,
}

/// A field that may be written somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field<'s> {
    pub name: &'s str,
    pub description: &'s str,
    /// `string`, `array` and so on; empty if it may be several.
    pub kind: &'s str,
}

/// Schemas, read when one is first asked for.
#[derive(Default)]
pub(crate) struct Schemas {
    kustomization: OnceLock<Node>,
    composition: OnceLock<Node>,
    kptfile: OnceLock<Node>,
    kubernetes: OnceLock<FieldTypes>,
}

impl Schemas {
    fn root(&self, kind: FileKind) -> &Node {
        let (cell, text) = match kind {
            FileKind::Kustomization => (&self.kustomization, kustomization::JSON_SCHEMA),
            FileKind::Composition => (&self.composition, composition::JSON_SCHEMA),
            FileKind::Kptfile => (&self.kptfile, kpt::JSON_SCHEMA),
        };
        cell.get_or_init(|| {
            let documents = krm_yaml::parse_str(text).expect("the schemas are right: a test reads them");
            documents.into_iter().next().map(|document| document.root).unwrap_or_else(Node::null)
        })
    }

    /// The schemas of what may be at a path; `*` is an item of a list.
    fn at(&self, kind: FileKind, path: &[&str]) -> Vec<&Node> {
        let root = self.root(kind);
        let mut found = alternatives(root, root);
        for key in path {
            let next = found.into_iter().filter_map(|schema| match *key {
                "*" => schema.get("items"),
                key => {
                    let named = schema.get("properties").and_then(|all| property(all, key));
                    named.or_else(|| schema.get("additionalProperties").filter(|any| any.is_map()))
                }
            });
            found = next.flat_map(|schema| alternatives(root, schema)).collect();
        }
        found
    }

    /// What a field means.
    pub(crate) fn description(&self, kind: FileKind, path: &[&str]) -> Option<&str> {
        self.at(kind, path).into_iter().find_map(|schema| schema.get("description")?.as_str())
    }

    /// The fields of the map at a path.
    pub(crate) fn fields(&self, kind: FileKind, path: &[&str]) -> Vec<Field<'_>> {
        let root = self.root(kind);
        let mut fields: Vec<Field> = Vec::new();
        for schema in self.at(kind, path) {
            for entry in schema.get("properties").and_then(Node::as_map).into_iter().flatten() {
                let Some(name) = entry.key.text() else { continue };
                let all = alternatives(root, &entry.value);
                let text =
                    |key: &str| all.iter().find_map(|schema| schema.get(key)?.as_str()).unwrap_or_default();
                if !fields.iter().any(|field| field.name == name) {
                    fields.push(Field { name, description: text("description"), kind: text("type") });
                }
            }
        }
        fields
    }

    /// The fields of the map at a path in the configuration of a built-in.
    pub(crate) fn of_builtin(&self, builtin: &str, path: &[&str]) -> Vec<Field<'_>> {
        if let Some(path) = in_kustomization(builtin, path) {
            return self.fields(FileKind::Kustomization, &path);
        }
        if !path.is_empty() {
            return Vec::new();
        }
        let root = self.root(FileKind::Kustomization);
        let of = |&(name, like): &(&'static str, Like)| match like {
            Like::Own(kind, description) => Field { name, description, kind },
            Like::Field(path) | Like::Holds(path, _) => {
                let all = self.at(FileKind::Kustomization, path);
                let all: Vec<&Node> = all.into_iter().flat_map(|schema| alternatives(root, schema)).collect();
                let kind = all.iter().find_map(|schema| schema.get("type")?.as_str()).unwrap_or_default();
                let description = self.description_of_builtin(builtin, &[name]).unwrap_or_default();
                Field { name, description, kind }
            }
        };
        builtins::fields(builtin).iter().map(of).collect()
    }

    /// What a field in the configuration of a built-in means.
    pub(crate) fn description_of_builtin(&self, builtin: &str, path: &[&str]) -> Option<&str> {
        let own = path.first().filter(|_| path.len() == 1).and_then(|name| {
            builtins::fields(builtin).iter().find_map(|(field, like)| match like {
                Like::Own(_, description) | Like::Holds(_, description) if field == name => {
                    Some(*description)
                }
                _ => None,
            })
        });
        own.or_else(|| self.description(FileKind::Kustomization, &in_kustomization(builtin, path)?))
    }

    /// The values that a field in the configuration of a built-in may have, where they are known.
    pub(crate) fn values_of_builtin(&self, builtin: &str, path: &[&str]) -> Vec<&str> {
        match in_kustomization(builtin, path) {
            Some(path) => self.values(FileKind::Kustomization, &path),
            None => Vec::new(),
        }
    }

    /// The values that a field may have, if they are known.
    pub(crate) fn values(&self, kind: FileKind, path: &[&str]) -> Vec<&str> {
        let all = self.at(kind, path);
        let listed = all.iter().flat_map(|schema| schema.get("enum").map(Node::items).unwrap_or_default());
        let listed = listed.chain(all.iter().filter_map(|schema| schema.get("const")));
        let mut values: Vec<&str> = listed.filter_map(Node::text).collect();
        if all.iter().any(|schema| schema.get("type").and_then(Node::as_str) == Some("boolean")) {
            values.extend(["true", "false"]);
        }
        values
    }

    /// The kinds of resources whose fields are known.
    pub(crate) fn kinds(&self) -> Vec<&Gvk> {
        self.kubernetes.get_or_init(FieldTypes::builtin).kinds().collect()
    }

    /// The fields of the map at a path in a resource, and what they hold.
    pub(crate) fn of_resource(&self, gvk: &Gvk, path: &[&str]) -> Vec<(&str, &'static str)> {
        let types = self.kubernetes.get_or_init(FieldTypes::builtin);
        let Some(mut fields) = types.of(gvk) else { return Vec::new() };
        let mut shape: Option<&Shape> = None;
        for key in path {
            shape = match (shape, *key) {
                (Some(Shape::List(items)), "*") => Some(items),
                (Some(Shape::Map(values)), _) => Some(values),
                (None | Some(Shape::Fields(_)), key) => fields.get(key),
                _ => None,
            };
            match shape {
                Some(Shape::Fields(at)) => fields = types.fields(*at),
                Some(_) => {}
                None => return Vec::new(),
            }
        }
        match shape {
            None | Some(Shape::Fields(_)) => {
                let named = fields.names().filter_map(|name| Some((name, fields.get(name)?.name())));
                named.collect()
            }
            Some(_) => Vec::new(),
        }
    }
}

/// Where a kustomization has the field that one of a built-in is like.
fn in_kustomization<'p>(builtin: &str, path: &[&'p str]) -> Option<Vec<&'p str>> {
    let (first, rest) = path.split_first()?;
    builtins::fields(builtin).iter().find_map(|(field, like)| match like {
        Like::Field(like) | Like::Holds(like, _) if field == first => {
            Some(like.iter().copied().chain(rest.iter().copied()).collect())
        }
        _ => None,
    })
}

/// Fields are found whatever the case of their letters: a build reads them so.
fn property<'n>(all: &'n Node, key: &str) -> Option<&'n Node> {
    all.get(key).or_else(|| {
        let mut entries = all.as_map()?.iter();
        let same = |name: &Node| name.text().is_some_and(|name| name.eq_ignore_ascii_case(key));
        entries.find(|entry| same(&entry.key)).map(|entry| &entry.value)
    })
}

/// A schema and all it refers to or is made of.
fn alternatives<'n>(root: &'n Node, schema: &'n Node) -> Vec<&'n Node> {
    let mut all = vec![schema];
    let mut next = 0;
    while let Some(one) = all.get(next).copied() {
        next += 1;
        if let Some(name) = one.get("$ref").and_then(Node::as_str) {
            let name = name.rsplit('/').next().unwrap_or_default();
            all.extend(root.at(["definitions", name]));
        }
        for list in ["anyOf", "oneOf", "allOf"] {
            all.extend(one.get(list).map(Node::items).unwrap_or_default());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_descriptions_and_values() {
        let schemas = Schemas::default();
        let of = |path: &[&str]| schemas.description(FileKind::Kustomization, path).map(str::to_owned);
        assert!(of(&["images", "*", "newTag"]).is_some() && of(&["nothing"]).is_none());
        assert!(of(&["patches", "*", "target", "kind"]).is_some());
        let names: Vec<&str> = schemas
            .fields(FileKind::Kustomization, &["replicas", "*"])
            .iter()
            .map(|field| field.name)
            .collect();
        assert_eq!(names, ["name", "count"]);
        let behavior = schemas.values(FileKind::Kustomization, &["configMapGenerator", "*", "behavior"]);
        assert_eq!(behavior, ["create", "merge", "replace"]);
        let modes = schemas.values(FileKind::Composition, &["transformersFrom", "*", "importMode"]);
        assert!(modes.contains(&"append"), "{modes:?}");
        let pod = Gvk::new("apps/v1", "Deployment");
        let of_pod = schemas.of_resource(&pod, &["spec", "template", "spec", "containers", "*"]);
        assert!(of_pod.contains(&("image", "a string")), "{of_pod:?}");
        assert!(schemas.of_resource(&pod, &["spec", "replicas"]).is_empty());
        assert!(schemas.description(FileKind::Kptfile, &["pipeline", "mutators", "*", "image"]).is_some());
    }
}
