//! A new kustomization, byte for byte as `kustomize create` writes it.

use std::path::Path;

use krm_yaml::{Diagnostic, Node, Result, Source};

use super::labels::Pair;
use super::{glob, missing, typed};
use crate::files::repository::Repository;
use crate::files::world::{EntryKind, World};
use crate::kustomization::FILE_NAMES;
use crate::resource::read;
use crate::schema::Schema;

/// What a new kustomization says.
#[derive(Clone, Debug, Default)]
pub struct New {
    /// Paths and addresses, relative to the folder of the new file.
    pub resources: Vec<String>,
    /// For `namespace:`. This and the two below are left out if they are empty.
    pub namespace: String,
    /// For `namePrefix:`.
    pub name_prefix: String,
    /// For `nameSuffix:`.
    pub name_suffix: String,
    /// For `commonLabels:`.
    pub labels: Vec<Pair>,
    /// For `commonAnnotations:`.
    pub annotations: Vec<Pair>,
}

impl New {
    /// The text of the file: fields in the order `kustomize create` writes, without those that say nothing.
    pub fn text(&self) -> String {
        let list = Node::from(self.resources.iter().map(Node::from).collect::<Vec<_>>());
        let pairs = |all: &[Pair]| all.iter().map(|pair| (pair.key.clone(), pair.value.clone())).collect();
        let fields: [(&str, Node); 6] = [
            ("resources", list),
            ("namePrefix", self.name_prefix.as_str().into()),
            ("nameSuffix", self.name_suffix.as_str().into()),
            ("namespace", self.namespace.as_str().into()),
            ("commonLabels", pairs(&self.labels)),
            ("commonAnnotations", pairs(&self.annotations)),
        ];
        let said = |(_, value): &(&str, Node)| !value.is_empty() && value.text() != Some("");
        let mut text = krm_yaml::canonical(&typed());
        for field in fields.into_iter().filter(said) {
            text.push_str(&krm_yaml::canonical(&Node::from_iter([field])));
        }
        text
    }
}

/// Refuses a folder that has a kustomization already.
pub fn refuse_another(world: &dyn World, dir: &Path) -> Result<()> {
    match FILE_NAMES.iter().map(|name| dir.join(name)).find(|path| world.is_file(path)) {
        None => Ok(()),
        Some(path) => Err(Diagnostic::error("create-exists", format!("`{}` exists already", path.display()))
            .help("`krm edit` changes it")),
    }
}

/// The paths that patterns stand for; addresses stand for themselves.
pub fn named(world: &dyn World, dir: &Path, patterns: &[&str]) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for pattern in patterns {
        let found = glob::expand(world, dir, pattern)?;
        match found.is_empty() {
            false => all.extend(found),
            true if Repository::parse(pattern).is_some() => all.push((*pattern).to_owned()),
            true => {
                return Err(missing(format!("`{pattern}` matches no file or folder"))
                    .help("paths are relative to the folder of the new kustomization"));
            }
        }
    }
    Ok(all)
}

/// The files of a folder that hold resources, in the order of their names; of folders within, where asked for, too. A
/// folder that has a kustomization counts as one resource.
pub fn detect(world: &dyn World, dir: &Path, recursive: bool) -> Result<Vec<String>> {
    let mut found = Vec::new();
    walk(world, dir, "", recursive, &Schema::default(), &mut found)?;
    Ok(found)
}

fn walk(
    world: &dyn World,
    dir: &Path,
    inside: &str,
    recursive: bool,
    schema: &Schema,
    found: &mut Vec<String>,
) -> Result<()> {
    let folder = dir.join(inside);
    let entries = world.list(&folder).map_err(|error| unreadable(&folder, &error))?;
    for entry in entries {
        let Ok(name) = entry.name.into_string() else { continue };
        let path = if inside.is_empty() { name } else { format!("{inside}/{name}") };
        let full = dir.join(&path);
        match entry.kind {
            EntryKind::Folder if !recursive => {}
            EntryKind::Folder if FILE_NAMES.iter().any(|name| world.is_file(&full.join(name))) => {
                found.push(path);
            }
            EntryKind::Folder => walk(world, dir, &path, recursive, schema, found)?,
            EntryKind::File | EntryKind::Link if world.is_file(&full) => {
                let bytes = world.read(&full).map_err(|error| unreadable(&full, &error))?;
                if holds_resources(bytes, schema) {
                    found.push(path);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether all of a file is resources; one that holds nothing passes: a build takes it, too.
fn holds_resources(bytes: Vec<u8>, schema: &Schema) -> bool {
    let Ok(text) = krm_yaml::decode(bytes) else { return false };
    read::read(&Source::detached("", text), schema).is_ok()
}

fn unreadable(path: &Path, error: &std::io::Error) -> Diagnostic {
    Diagnostic::error("path-unreadable", format!("cannot read `{}`: {error}", path.display()))
}
