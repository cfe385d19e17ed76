//! From a name to what it means, and back to all those that use it.

use std::path::{Path, PathBuf};

use krm_yaml::{Node, Span, Text};

use super::cursor::Cursor;
use super::facts::{Definition, GENERATORS, Role};
use super::fields::FileKind;
use super::problems::FileSpan;
use super::{Editor, Repaired, is_kptfile};
use crate::edit::rename::{self, Rename};
use crate::resource::Gvk;
use crate::select::go_regex;
use crate::transformers::{TransformerConfig, split_image};
use crate::workspace::{Reference, ReferenceTarget};

/// A resource that is named somewhere.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    /// What its kind may be; any if empty. In selectors these are patterns.
    kinds: Vec<Text>,
    name: Text,
    is_pattern: bool,
    /// Where the name is written, if it is.
    pub name_span: Option<Span>,
}

impl Named {
    fn fits(&self, pattern: &str, text: &str) -> bool {
        pattern == text
            || (self.is_pattern && go_regex::compile_anchored(pattern).is_ok_and(|p| p.is_match(text)))
    }

    pub(crate) fn is_of_kind(&self, definition: &Definition) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|kind| self.fits(kind, &definition.kind))
    }

    pub(crate) fn means(&self, definition: &Definition) -> bool {
        self.is_of_kind(definition) && (self.name.is_empty() || self.fits(&self.name, &definition.name))
    }
}

/// The kinds whose `replicas` a kustomization sets.
const SCALED: [&str; 4] = ["Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"];

impl Editor {
    /// The places where what is under the cursor is defined.
    pub fn definition(&mut self, path: &Path, offset: usize) -> Vec<FileSpan> {
        self.sync();
        let path = self.world.place(path);
        if let Some(reference) = self.reference_at(&path, offset) {
            return self.led_to(&reference.target.clone()).into_iter().collect();
        }
        let Some(cursor) = self.cursor(&path, offset) else { return Vec::new() };
        let role = self.role(&path);
        if role == Role::Ours(FileKind::Kptfile) {
            let file = cursor.node.text().filter(|_| cursor.keys().last() == Some(&"configPath"));
            let file = file.zip(path.parent()).map(|(file, folder)| folder.join(file));
            if let Some(file) = file {
                return self.start_of(&file).into_iter().collect();
            }
        }
        if role == Role::Ours(FileKind::Composition) {
            return self.transformers_meant(&path, &cursor);
        }
        if cursor.keys() == ["images", "*", "name"] && role == Role::Ours(FileKind::Kustomization) {
            return self.image_uses(&path, cursor.node.text().unwrap_or_default());
        }
        let Some(named) = named(&cursor, role) else { return Vec::new() };
        self.defined_as(&path, &named).into_iter().map(|definition| definition.place).collect()
    }

    /// The places that name what is under the cursor.
    pub fn references(&mut self, path: &Path, offset: usize, with_definition: bool) -> Vec<FileSpan> {
        self.sync();
        let path = self.world.place(path);
        if let Some(target) =
            self.reference_at(&path, offset).and_then(|r| r.target.path().map(Path::to_owned))
        {
            return self.users(&target);
        }
        let Some(cursor) = self.cursor(&path, offset) else { return Vec::new() };
        let role = self.role(&path);
        if role == Role::Ours(FileKind::Composition) {
            return self.transformer_uses(&path, &cursor, with_definition);
        }
        let Some(named) = named(&cursor, role) else { return Vec::new() };
        let mut found = Vec::new();
        for definition in self.defined_as(&path, &named) {
            let rename = Rename {
                kind: definition.kind.to_string(),
                name: definition.name.to_string(),
                new: definition.name.to_string(),
            };
            let home = definition.place.path.clone();
            let world = Repaired(&self.world);
            for mention in rename::mentions(&world, &self.sources, &self.workspace, &home, &rename) {
                let is_own = mention.path == home && definition.place.span.start == mention.span.start;
                if with_definition || !is_own {
                    found.push(FileSpan { path: mention.path, source: mention.source, span: mention.span });
                }
            }
            if self.layer_of(&home).is_none() {
                found.extend(self.users(&home));
            }
        }
        let key = |place: &FileSpan| (place.path.clone(), place.span.start);
        found.sort_by_key(key);
        found.dedup_by_key(|place| key(place));
        found
    }

    /// Where what is under the cursor may be renamed: the name itself, and what it is now.
    pub fn renamable(&mut self, path: &Path, offset: usize) -> Option<(FileSpan, String)> {
        self.sync();
        let path = self.world.place(path);
        let cursor = self.cursor(&path, offset)?;
        let named = named(&cursor, self.role(&path))?;
        let span = named.name_span.filter(|span| contains(*span, offset))?;
        let defined = self.defined_as(&path, &named);
        let definition = defined.first().filter(|definition| self.is_built(&definition.place.path))?;
        (named.name == definition.name).then(|| {
            let place = FileSpan { path, source: cursor.source.clone(), span: unquoted(&cursor, span) };
            (place, definition.name.to_string())
        })
    }

    /// The resources that a name means: those that are built together with the file it is in.
    pub(super) fn defined_as(&mut self, path: &Path, named: &Named) -> Vec<Definition> {
        if is_kptfile(path) {
            let mut found = self.defined_in_package(path);
            found.retain(|definition| named.means(definition));
            return found;
        }
        let below: Vec<PathBuf> = match self.layer_of(path) {
            Some(layer) => {
                self.workspace.closure(layer).into_iter().map(|layer| layer.folder.clone()).collect()
            }
            None => Vec::new(),
        };
        let all: Vec<PathBuf> = self.together(path).into_iter().map(|layer| layer.folder.clone()).collect();
        for folders in [below, all] {
            let mut found: Vec<Definition> = self.definitions(&folders);
            found.retain(|definition| named.means(definition));
            // The cursor may be on the definition itself.
            let is_here = |definition: &Definition| {
                definition.place.path == path
                    && named.name_span.is_some_and(|span| span.range() == definition.place.span.range())
            };
            if let Some(here) = found.iter().position(is_here) {
                return vec![found.swap_remove(here)];
            }
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    /// The entry of a kustomization under the cursor that names a file, a folder or an address.
    pub(super) fn reference_at(&self, path: &Path, offset: usize) -> Option<&Reference> {
        let layer = self.layer_of(path)?;
        let file = layer.source.as_ref()?.id();
        layer
            .references
            .iter()
            .find(|reference| reference.span.file == file && contains(reference.span, offset))
    }

    /// Where a name leads: to a file, or to the kustomization of a folder.
    pub(super) fn led_to(&self, target: &ReferenceTarget) -> Option<FileSpan> {
        match target {
            ReferenceTarget::File(file) => self.start_of(file),
            ReferenceTarget::Layer(folder) => self.start_of(&self.workspace.layer(folder)?.file),
            ReferenceTarget::Folder(_) | ReferenceTarget::Remote(_) | ReferenceTarget::Missing(_) => None,
        }
    }

    /// The entries of kustomizations that name a file or folder.
    pub(super) fn users(&self, target: &Path) -> Vec<FileSpan> {
        let users = self.workspace.users(target).filter_map(|(layer, reference)| {
            let source = layer.source.clone().filter(|source| source.id() == reference.span.file)?;
            Some(FileSpan { path: layer.file.clone(), source, span: reference.span })
        });
        users.collect()
    }

    pub(super) fn cursor(&self, path: &Path, offset: usize) -> Option<Cursor> {
        Cursor::at(&self.text(path)?, offset)
    }

    /// Where an image is used in what a kustomization is made of.
    fn image_uses(&mut self, path: &Path, name: &str) -> Vec<FileSpan> {
        let Some(layer) = self.layer_of(path) else { return Vec::new() };
        let folders: Vec<PathBuf> =
            self.workspace.closure(layer).iter().map(|layer| layer.folder.clone()).collect();
        let mut found: Vec<FileSpan> =
            self.images(&folders).into_iter().filter(|(image, _)| image == name).map(|(_, at)| at).collect();
        found.sort_by_key(|place| (place.path.clone(), place.span.start));
        found
    }

    /// The images that resources of some layers name, without tags, and where.
    pub(super) fn images(&mut self, folders: &[PathBuf]) -> Vec<(String, FileSpan)> {
        let mut files: Vec<PathBuf> = Vec::new();
        for folder in folders {
            let Some(layer) = self.workspace.layer(folder) else { continue };
            let named = layer.references.iter().filter(|reference| reference.is_resource);
            files.extend(named.filter_map(|reference| match &reference.target {
                ReferenceTarget::File(file) => Some(file.clone()),
                _ => None,
            }));
        }
        let mut found = Vec::new();
        for file in files {
            let Some(text) = self.text(&file) else { continue };
            for document in super::repair::documents(&text, None) {
                let source = document.source().clone();
                images_in(&document.root, &mut |node| {
                    let image = node.text().unwrap_or_default();
                    let (name, ..) = split_image(image);
                    found.push((
                        name.to_owned(),
                        FileSpan { path: file.clone(), source: source.clone(), span: node.span() },
                    ));
                });
            }
        }
        found
    }
}

/// Every `image` of an item of a list of containers.
fn images_in(node: &Node, see: &mut dyn FnMut(&Node)) {
    for entry in node.as_map().into_iter().flatten() {
        let is_list =
            matches!(entry.key.text(), Some("containers" | "initContainers" | "ephemeralContainers"));
        if is_list {
            let images = entry.value.items().iter().filter_map(|item| item.get("image"));
            images.filter(|image| image.is_scalar()).for_each(&mut *see);
        }
        images_in(&entry.value, see);
    }
    node.items().iter().for_each(|item| images_in(item, see));
}

fn contains(span: Span, offset: usize) -> bool {
    span.start as usize <= offset && offset <= span.end as usize
}

/// A scalar without its quotes.
fn unquoted(cursor: &Cursor, span: Span) -> Span {
    let written = cursor.source.slice(span);
    match written.len() > 1 && written.starts_with(['"', '\'']) {
        true => Span { start: span.start + 1, end: span.end - 1, ..span },
        false => span,
    }
}

/// The resource that is named under the cursor.
pub(super) fn named(cursor: &Cursor, role: Role) -> Option<Named> {
    let keys = cursor.keys();
    if cursor.outer.is_some() {
        return in_resource(cursor, &keys);
    }
    match role {
        Role::Ours(FileKind::Kustomization) => in_kustomization(cursor, &keys),
        Role::Ours(FileKind::Kptfile) => in_kptfile(cursor, &keys),
        Role::Replacement => in_replacement(cursor, keys.strip_prefix(&["*"]).unwrap_or(&keys)),
        Role::Resource | Role::Patch => in_resource(cursor, &keys),
        Role::Ours(FileKind::Composition) | Role::Named | Role::Stranger => None,
    }
}

fn in_kustomization(cursor: &Cursor, keys: &[&str]) -> Option<Named> {
    match keys {
        ["patches" | "patchesJson6902", "*", "target", _] | ["vars", "*", "objref", _] => selector(cursor),
        ["replacements", "*", rest @ ..] => in_replacement(cursor, rest),
        ["replicas", "*", "name"] => {
            Some(plain(&cursor.node, SCALED.iter().map(|kind| Text::from(*kind)).collect()))
        }
        [list, "*", "name"] => {
            let (_, kind) = GENERATORS.iter().find(|(name, _)| name == list)?;
            Some(plain(&cursor.node, vec![(*kind).into()]))
        }
        _ => None,
    }
}

/// Selectors of a Kptfile have names, not patterns.
fn in_kptfile(cursor: &Cursor, keys: &[&str]) -> Option<Named> {
    match keys {
        ["pipeline", _, "*", "selectors" | "exclude", "*", "kind" | "name"] => {
            selector(cursor).map(|named| Named { is_pattern: false, ..named })
        }
        _ => None,
    }
}

fn in_replacement(cursor: &Cursor, keys: &[&str]) -> Option<Named> {
    match keys {
        ["source", "kind" | "name" | "namespace"]
        | ["targets", "*", "select", _]
        | ["targets", "*", "reject", "*", _] => selector(cursor),
        _ => None,
    }
}

fn plain(name: &Node, kinds: Vec<Text>) -> Named {
    let text = name.text().unwrap_or_default();
    Named { kinds, name: text.into(), is_pattern: false, name_span: Some(name.span()) }
}

/// The selector the cursor is in.
fn selector(cursor: &Cursor) -> Option<Named> {
    let selector = cursor.above(1)?;
    let text = |key: &str| selector.get(key).and_then(Node::text).unwrap_or_default();
    if text("name").is_empty() && text("kind").is_empty() {
        return None;
    }
    let kinds = Some(Text::from(text("kind"))).filter(|kind| !kind.is_empty()).into_iter().collect();
    let name_span = selector.get("name").map(Node::span);
    Some(Named { kinds, name: text("name").into(), is_pattern: true, name_span })
}

/// A resource or a patch: its own name, or a field that names another one.
fn in_resource(cursor: &Cursor, keys: &[&str]) -> Option<Named> {
    let root = &cursor.root;
    let text = |key: &str| root.get(key).and_then(Node::text).unwrap_or_default();
    if matches!(keys, ["metadata", "name"] | ["kind"]) {
        let name = root.at(["metadata", "name"])?;
        return Some(plain(name, vec![text("kind").into()]));
    }
    if cursor.on_key {
        return None;
    }
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    let gvk = Gvk { group: group.into(), version: version.into(), kind: text("kind").into() };
    let mut kinds: Vec<Text> = Vec::new();
    let mut stated: Option<Text> = None;
    for reference in TransformerConfig::builtin().name_reference.iter() {
        for spec in reference.referrers.fitting(&gvk) {
            let mut is_it = |node: &Node| {
                let names = |node: &Node| node.is_scalar() && node.span() == cursor.span;
                let mut items = node.items().iter();
                let as_map = |map: &Node| map.is_map() && map.get("name").is_some_and(names);
                let hit = names(node) || as_map(node) || items.any(|item| names(item) || as_map(item));
                if hit && node.is_map() {
                    stated = node.get("kind").and_then(Node::text).map(Text::from);
                }
                hit
            };
            // A field of another shape names nothing.
            let _ = spec.visit(root, &mut |node| {
                if is_it(node) && !kinds.contains(&reference.kind) {
                    kinds.push(reference.kind.clone());
                }
                Ok(())
            });
        }
    }
    match (kinds.is_empty(), stated) {
        (true, _) => None,
        (false, Some(kind)) => Some(plain(&cursor.node, vec![kind])),
        (false, None) => Some(plain(&cursor.node, kinds)),
    }
}
