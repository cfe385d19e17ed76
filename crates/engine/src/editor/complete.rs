//! What could be written where the cursor is.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use krm_yaml::Node;

use super::cursor::Cursor;
use super::facts::{Definition, Role};
use super::fields::FileKind;
use super::navigate::named;
use super::slot::Slot;
use super::transformers::NamedTransformer;
use super::{Editor, builtins, is_kptfile, is_layer_file};
use crate::explain;
use crate::files::relative;
use crate::files::world::{EntryKind, World, clean};
use crate::pipeline::trace::Segment;
use crate::schema::Gvk;
use crate::transformers;
use crate::workspace::{LayerKind, PATH_FIELDS};

/// A text that could be written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Completion {
    /// What the list of completions shows.
    pub label: String,
    /// What the text is, for the symbol beside it.
    pub kind: CompletionKind,
    /// In a few words, beside it.
    pub detail: String,
    /// At length, in Markdown.
    pub description: String,
    /// What is written, if not the label.
    pub text: String,
}

/// What a completion stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionKind {
    /// A field of a kustomization, a resource or another file we know.
    Field,
    /// A word that the field takes, or one that is used elsewhere.
    Value,
    /// A file, relative to the one that is edited.
    File,
    /// A folder, relative to the file that is edited.
    Folder,
    /// The name of a resource.
    Resource,
    /// The kind of a resource, or of a built-in.
    ResourceKind,
    /// The name of an image that resources use.
    Image,
    /// The path of a field in a resource, as replacements name it.
    FieldPath,
}

/// What could be written, and what it replaces.
#[derive(Clone, Debug, Default)]
pub struct Completions {
    /// The bytes of the file that a chosen text replaces.
    pub replace: Range<usize>,
    /// No two have the same label.
    pub items: Vec<Completion>,
}

impl Completion {
    fn new(label: impl Into<String>, kind: CompletionKind, detail: impl Into<String>) -> Self {
        let label = label.into();
        let (detail, description, text) = (detail.into(), String::new(), label.clone());
        Self { label, kind, detail, description, text }
    }
}

impl Editor {
    /// What could be written at a byte of a file.
    pub fn complete(&mut self, path: &Path, offset: usize) -> Completions {
        self.sync();
        let path = self.world.place(path);
        let Some(text) = self.text(&path) else { return Completions::default() };
        let Some(slot) = Slot::at(&text, offset) else { return Completions::default() };
        let mut items = match self.role(&path) {
            _ if slot.cursor.outer.is_some() => self.in_resource(&path, &slot.cursor, Role::Patch),
            Role::Ours(kind) => self.in_ours(&path, &slot, kind),
            role @ (Role::Resource | Role::Patch) => self.in_resource(&path, &slot.cursor, role),
            Role::Replacement => {
                let keys = slot.cursor.keys();
                let keys = keys.strip_prefix(&["*"]).unwrap_or(&keys);
                self.in_replacement(&path, &slot.cursor, keys)
            }
            Role::Named | Role::Stranger => Vec::new(),
        };
        let mut known = BTreeSet::new();
        items.retain(|item| known.insert(item.label.clone()));
        let mut replace = slot.replace;
        // Of `key=path` the path.
        if let Some(at) =
            slot.typed.rfind('=').filter(|_| items.iter().any(|item| item.kind == CompletionKind::File))
        {
            replace.start += at + 1;
        }
        Completions { replace, items }
    }

    fn in_ours(&mut self, path: &Path, slot: &Slot, kind: FileKind) -> Vec<Completion> {
        let cursor = &slot.cursor;
        let keys = cursor.keys();
        if cursor.on_key {
            return self.fields(cursor, kind, &keys[..keys.len() - 1], 1, slot.ends_line);
        }
        let mut items: Vec<Completion> = Vec::new();
        // The first key of a map in a list is typed like a value.
        if keys.last() == Some(&"*") {
            items.extend(self.fields(cursor, kind, &keys, 0, slot.ends_line));
        }
        let mut values = self.schemas.values(kind, &keys);
        if let Some((builtin, path)) = builtin_at(cursor, kind, &keys, 0) {
            values.extend(self.schemas.values_of_builtin(builtin, path));
        }
        items.extend(values.into_iter().map(|value| Completion::new(value, CompletionKind::Value, "")));
        if keys.last() == Some(&"kind")
            && keys.len() > 1
            && !keys.contains(&"target")
            && kind != FileKind::Kptfile
        {
            items.extend(builtin_kinds());
        }
        match kind {
            FileKind::Kptfile => match keys[..] {
                ["pipeline", _, "*", "configPath"] => {
                    items.extend(self.files(path, &slot.typed, &|_| true));
                }
                ["pipeline", _, "*", "selectors" | "exclude", "*", field] => {
                    items.extend(self.selected(path, cursor, field));
                }
                _ => {}
            },
            FileKind::Composition | FileKind::Kustomization => {
                items.extend(self.paths(path, slot, kind, &keys));
                match kind {
                    FileKind::Kustomization => items.extend(self.names(path, cursor, &keys)),
                    _ => items.extend(self.transformer_names(path, cursor)),
                }
            }
        }
        items
    }

    /// Names of transformers, where a Composition refers to those it imports.
    fn transformer_names(&self, path: &Path, cursor: &Cursor) -> Vec<Completion> {
        let keys = cursor.keys();
        let kind = match keys[..] {
            ["transformerOrder", "*", "name"] => "",
            ["transformerOverrides", "*", "metadata", "name"] => {
                let entry = cursor.above(2);
                entry.and_then(|entry| entry.get("kind")).and_then(Node::text).unwrap_or_default()
            }
            _ => return Vec::new(),
        };
        let all = self.transformers_below(path).into_iter();
        let all = all.filter(|transformer| kind.is_empty() || transformer.kind.as_str() == kind);
        let of = |transformer: NamedTransformer| {
            Completion::new(transformer.name.as_str(), CompletionKind::Value, transformer.kind.as_str())
        };
        all.map(of).collect()
    }

    /// The fields of a map that it does not have yet. `steps` is how far above the cursor the map is.
    fn fields(
        &self,
        cursor: &Cursor,
        kind: FileKind,
        path: &[&str],
        steps: usize,
        ends_line: bool,
    ) -> Vec<Completion> {
        let there = cursor.above(steps).filter(|node| node.is_map());
        let is_new = |name: &str| there.is_none_or(|map| map.get(name).is_none());
        let mut fields = self.schemas.fields(kind, path);
        if let Some((builtin, path)) = builtin_at(cursor, kind, path, steps) {
            fields.extend(self.schemas.of_builtin(builtin, path));
        }
        let fields = fields.into_iter().filter(|field| is_new(field.name));
        let fields = fields.map(|field| {
            let after = match (ends_line, field.kind) {
                (false, _) => "",
                (true, "array" | "object") => ":",
                (true, _) => ": ",
            };
            Completion {
                description: field.description.to_owned(),
                text: format!("{}{after}", field.name),
                ..Completion::new(field.name, CompletionKind::Field, field.kind)
            }
        });
        // What is deprecated comes last, if at all.
        let (old, new): (Vec<_>, Vec<_>) =
            fields.partition(|field| field.description.starts_with("Deprecated"));
        new.into_iter().chain(old).collect()
    }

    /// Files and folders, where a field takes them.
    fn paths(&mut self, path: &Path, slot: &Slot, kind: FileKind, keys: &[&str]) -> Vec<Completion> {
        let of = if kind == FileKind::Composition { "Composition" } else { "Kustomization" };
        // Within a transformer, its kind says which of its fields are paths.
        let (of, fields) = match keys {
            ["transformers" | "transformerOverrides" | "generators" | "validators", "*", fields @ ..] => {
                let entry = slot.cursor.above(fields.len());
                let kind = entry.and_then(|entry| entry.get("kind")).and_then(Node::text);
                (kind.unwrap_or(of), if kind.is_some() { fields } else { keys })
            }
            _ => (of, keys),
        };
        let takes_path = PATH_FIELDS.iter().any(|(kind, path)| *kind == of && *path == fields)
            || matches!(keys, ["transformersFrom", "*", "path"] | ["transformers", "*"]);
        if !takes_path {
            return Vec::new();
        }
        let typed = slot.typed.rsplit('=').next().unwrap_or_default();
        let takes_data = keys.iter().any(|key| matches!(*key, "files" | "envs" | "env" | "valuesFile"));
        let Some(layer) = self.layer_of(path) else { return Vec::new() };
        let listed: BTreeSet<PathBuf> =
            layer.references.iter().filter_map(|r| r.target.path()).map(Path::to_owned).collect();
        let mut items = Vec::new();
        if matches!(keys, ["resources" | "bases" | "components", "*"] | ["transformersFrom", "*", "path"]) {
            let wanted = |kind: LayerKind| match keys[0] {
                "components" => kind == LayerKind::Component,
                "transformersFrom" => kind == LayerKind::Composition,
                _ => kind != LayerKind::Component,
            };
            // What includes this one would go in circles.
            let above = self.workspace.reached_from(std::slice::from_ref(&layer.file));
            let others = self.workspace.layers().filter(|other| wanted(other.kind));
            let others =
                others.filter(|other| !listed.contains(&other.folder) && !above.contains(&*other.folder));
            let others = others.filter(|other| !layer.folder.starts_with(&other.folder));
            items.extend(others.map(|other| {
                Completion::new(
                    relative(&other.folder, &layer.folder),
                    CompletionKind::Folder,
                    other.kind.name(),
                )
            }));
            if keys[0] == "components" {
                return items;
            }
        }
        let is_wanted = |file: &Path| {
            let is_yaml = file.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
            (takes_data || is_yaml) && !listed.contains(file) && !is_layer_file(file)
        };
        items.extend(self.files(path, typed, &is_wanted));
        items
    }

    /// The files in the folder that was typed so far, and the folders in it.
    fn files(&self, path: &Path, typed: &str, is_wanted: &dyn Fn(&Path) -> bool) -> Vec<Completion> {
        let Some(folder) = path.parent() else { return Vec::new() };
        let above = typed.rsplit_once('/').map_or("", |(above, _)| above);
        let place = clean(&folder.join(above));
        let prefix = if above.is_empty() { String::new() } else { format!("{above}/") };
        let entries = self.world.list(&place).unwrap_or_default();
        let items = entries.into_iter().filter_map(|entry| {
            let name = entry.name.to_str().filter(|name| !name.starts_with('.'))?;
            let file = place.join(name);
            match entry.kind {
                EntryKind::Folder => {
                    Some(Completion::new(format!("{prefix}{name}/"), CompletionKind::Folder, "folder"))
                }
                EntryKind::File | EntryKind::Link if file != path && is_wanted(&file) => {
                    Some(Completion::new(format!("{prefix}{name}"), CompletionKind::File, ""))
                }
                _ => None,
            }
        });
        items.collect()
    }

    /// Names of resources and images, where a kustomization takes them.
    fn names(&mut self, path: &Path, cursor: &Cursor, keys: &[&str]) -> Vec<Completion> {
        match keys {
            ["patches" | "patchesJson6902", "*", "target", field] | ["vars", "*", "objref", field] => {
                let field = (*field).to_owned();
                self.selected(path, cursor, &field)
            }
            ["replacements", "*", rest @ ..] => self.in_replacement(path, cursor, rest),
            ["images", "*", "name"] => {
                let folders = self.below(path);
                let images = self.images(&folders).into_iter();
                images.map(|(image, _)| Completion::new(image, CompletionKind::Image, "image")).collect()
            }
            ["replicas", "*", "name"] => {
                let scaled = ["Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"];
                let known =
                    self.known(path).into_iter().filter(|known| scaled.contains(&known.kind.as_str()));
                known.map(|known| Completion::new(known.name, CompletionKind::Resource, known.kind)).collect()
            }
            ["configMapGenerator" | "secretGenerator", "*", "name"] => {
                // One that changes what a base makes has its name.
                let kind = if keys[0] == "secretGenerator" { "Secret" } else { "ConfigMap" };
                let known = self.known(path).into_iter().filter(|known| known.kind == kind);
                known.map(|known| Completion::new(known.name, CompletionKind::Resource, known.kind)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn in_replacement(&mut self, path: &Path, cursor: &Cursor, keys: &[&str]) -> Vec<Completion> {
        match keys {
            ["source", field @ ("kind" | "name" | "namespace" | "group" | "version")]
            | ["targets", "*", "select", field]
            | ["targets", "*", "reject", "*", field] => {
                let field = (*field).to_owned();
                self.selected(path, cursor, &field)
            }
            ["source", "fieldPath"] => {
                let selector = cursor.above(1).cloned();
                self.field_paths(path, selector.as_ref())
            }
            ["targets", "*", "fieldPaths", "*"] => {
                let selector = cursor.above(2).and_then(|target| target.get("select")).cloned();
                self.field_paths(path, selector.as_ref())
            }
            _ => Vec::new(),
        }
    }

    /// Values of a field of a selector: those that resources have which the other fields select.
    fn selected(&mut self, path: &Path, cursor: &Cursor, field: &str) -> Vec<Completion> {
        let selector = cursor.above(1).cloned();
        let text = |key: &str| {
            let text = selector.as_ref().and_then(|selector| selector.get(key)).and_then(Node::text);
            text.filter(|_| key != field).unwrap_or_default().to_owned()
        };
        let (kind, name, namespace) = (text("kind"), text("name"), text("namespace"));
        let fits = |wanted: &str, has: &str| wanted.is_empty() || wanted == has;
        let known = self.known(path).into_iter();
        let known = known.filter(|known| {
            fits(&kind, &known.kind) && fits(&name, &known.name) && fits(&namespace, &known.namespace)
        });
        let items = known.filter_map(|known| {
            let (value, as_kind, detail) = match field {
                "kind" => (known.kind, CompletionKind::ResourceKind, known.name),
                "name" => (known.name, CompletionKind::Resource, known.kind),
                "namespace" => (known.namespace, CompletionKind::Value, String::new()),
                "group" => (known.group, CompletionKind::Value, known.kind),
                "version" => (known.version, CompletionKind::Value, known.kind),
                _ => return None,
            };
            (!value.is_empty()).then(|| Completion::new(value, as_kind, detail))
        });
        items.collect()
    }

    /// Every path to a value of the resources that a selector selects.
    fn field_paths(&mut self, path: &Path, selector: Option<&Node>) -> Vec<Completion> {
        let text =
            |key: &str| selector.and_then(|s| s.get(key)).and_then(Node::text).unwrap_or_default().to_owned();
        let (kind, name) = (text("kind"), text("name"));
        let folders = self.below(path);
        let mut items = Vec::new();
        for folder in folders.first().cloned().into_iter() {
            let Some(trace) = self.trace(&folder) else { continue };
            for (track, seen, _) in trace.resources() {
                let ids = trace.ids(track);
                let of_kind = kind.is_empty() || ids.iter().any(|id| id.gvk.kind == kind);
                if of_kind && (name.is_empty() || ids.iter().any(|id| id.name == name)) {
                    paths_in(&seen.node, &mut Vec::new(), &seen.node, &mut items);
                }
            }
        }
        items
    }

    /// In a resource: names of others where it names them. In a patch: what there is to patch.
    fn in_resource(&mut self, path: &Path, cursor: &Cursor, role: Role) -> Vec<Completion> {
        let keys = cursor.keys();
        if cursor.on_key {
            return self.resource_fields(cursor, &keys[..keys.len() - 1], 1);
        }
        if keys.last() == Some(&"*") {
            // The first key of a map in a list is typed like a value.
            let fields = self.resource_fields(cursor, &keys, 0);
            if !fields.is_empty() {
                return fields;
            }
        }
        let text = |key: &str| cursor.root.get(key).and_then(Node::text).unwrap_or_default().to_owned();
        match keys[..] {
            ["kind"] if role == Role::Resource => return self.kubernetes_kinds(&text("apiVersion")),
            ["apiVersion"] if role == Role::Resource => return self.kubernetes_versions(&text("kind")),
            _ => {}
        }
        if role == Role::Patch {
            let kind = text("kind");
            let known = self.known(path).into_iter();
            match keys[..] {
                ["kind"] => {
                    return known
                        .map(|k| Completion::new(k.kind, CompletionKind::ResourceKind, k.name))
                        .collect();
                }
                ["apiVersion"] => {
                    let of_kind = known.filter(|known| kind.is_empty() || known.kind == kind);
                    let version = |known: Known| match known.group.is_empty() {
                        true => Completion::new(known.version, CompletionKind::Value, known.kind),
                        false => {
                            let version = format!("{}/{}", known.group, known.version);
                            Completion::new(version, CompletionKind::Value, known.kind)
                        }
                    };
                    return of_kind.map(version).collect();
                }
                ["metadata", "name"] => {
                    let of_kind = known.filter(|known| kind.is_empty() || known.kind == kind);
                    return of_kind
                        .map(|k| Completion::new(k.name, CompletionKind::Resource, k.kind))
                        .collect();
                }
                _ => {}
            }
        }
        let Some(named) = named(cursor, role).filter(|_| keys != ["metadata", "name"]) else {
            return Vec::new();
        };
        let folders: Vec<PathBuf> =
            self.together(path).into_iter().map(|layer| layer.folder.clone()).collect();
        let defined = self.definitions(&folders).into_iter();
        let defined: Vec<Definition> = defined.filter(|definition| named.is_of_kind(definition)).collect();
        defined
            .into_iter()
            .map(|d| Completion::new(d.name.as_str(), CompletionKind::Resource, d.kind.as_str()))
            .collect()
    }

    /// The kinds of resources that Kubernetes has of a version; of all if none is written yet.
    fn kubernetes_kinds(&self, api_version: &str) -> Vec<Completion> {
        let all = self.schemas.kinds().into_iter();
        let all = all.filter(|gvk| api_version.is_empty() || gvk.api_version() == api_version);
        let mut items: Vec<Completion> = all
            .map(|gvk| Completion::new(gvk.kind.as_str(), CompletionKind::ResourceKind, gvk.api_version()))
            .collect();
        items.sort_by(|a, b| a.label.cmp(&b.label));
        items
    }

    /// The versions of a kind; all of them if none is written yet.
    fn kubernetes_versions(&self, kind: &str) -> Vec<Completion> {
        let all = self.schemas.kinds().into_iter().filter(|gvk| kind.is_empty() || gvk.kind.as_str() == kind);
        let mut items: Vec<Completion> =
            all.map(|gvk| Completion::new(gvk.api_version(), CompletionKind::Value, kind)).collect();
        items.sort_by(|a, b| a.label.cmp(&b.label));
        items
    }

    /// The fields of a map in a resource that it does not have yet.
    fn resource_fields(&self, cursor: &Cursor, path: &[&str], steps: usize) -> Vec<Completion> {
        let there = cursor.above(steps).filter(|node| node.is_map());
        let is_new = |name: &str| there.is_none_or(|map| map.get(name).is_none());
        let mut fields = self.schemas.of_resource(&Gvk::of(&cursor.root), path);
        if fields.is_empty() && path.is_empty() {
            // What every resource has, whatever it is.
            fields = vec![("apiVersion", ""), ("kind", ""), ("metadata", "a map"), ("spec", "a map")];
        }
        let fields = fields.into_iter().filter(|(name, _)| is_new(name));
        fields
            .map(|(name, kind)| {
                let after = if matches!(kind, "a map" | "a list") { ":" } else { ": " };
                Completion {
                    text: format!("{name}{after}"),
                    ..Completion::new(name, CompletionKind::Field, kind)
                }
            })
            .collect()
    }

    /// A layer and all below it; of a file that layers name, the first of these.
    fn below(&self, path: &Path) -> Vec<PathBuf> {
        let layer = self.layer_of(path).or_else(|| self.workspace.users(path).next().map(|(layer, _)| layer));
        let all = layer.map(|layer| self.workspace.closure(layer)).unwrap_or_default();
        all.into_iter().map(|layer| layer.folder.clone()).collect()
    }

    /// The resources that a layer works on, by every name they have on the way.
    fn known(&mut self, path: &Path) -> Vec<Known> {
        let as_written = |d: Definition| Known {
            group: d.group.to_string(),
            version: String::new(),
            kind: d.kind.to_string(),
            namespace: d.namespace.to_string(),
            name: d.name.to_string(),
        };
        let mut known: Vec<Known> = Vec::new();
        if is_kptfile(path) {
            known.extend(self.defined_in_package(path).into_iter().map(as_written));
            known.sort();
            known.dedup();
            return known;
        }
        let folders = self.below(path);
        let Some(first) = folders.first().cloned() else { return known };
        if let Some(trace) = self.trace(&first) {
            for (track, _, _) in trace.resources() {
                known.extend(trace.ids(track).into_iter().map(|id| Known {
                    group: id.gvk.group.to_string(),
                    version: id.gvk.version.to_string(),
                    kind: id.gvk.kind.to_string(),
                    namespace: id.namespace.to_string(),
                    name: id.name.to_string(),
                }));
            }
        }
        if known.is_empty() {
            // It cannot be built yet: what is written is known all the same.
            known.extend(self.definitions(&folders).into_iter().map(as_written));
        }
        known.sort();
        known.dedup();
        known
    }
}

/// A resource by one of its names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Known {
    kind: String,
    name: String,
    namespace: String,
    group: String,
    version: String,
}

/// The kind of the built-in whose configuration in a Composition a path is in, and the path within it. The cursor is `steps`
/// further down.
pub(super) fn builtin_at<'c, 'p>(
    cursor: &'c Cursor,
    kind: FileKind,
    path: &'p [&'p str],
    steps: usize,
) -> Option<(&'c str, &'p [&'p str])> {
    let ["transformers" | "transformerOverrides", "*", inside @ ..] = path else { return None };
    let entry = cursor.above(steps + inside.len()).filter(|_| kind == FileKind::Composition)?;
    let version = entry.get("apiVersion").and_then(Node::text).unwrap_or("builtin");
    let kind = entry.get("kind").and_then(Node::text).filter(|_| version == "builtin")?;
    Some((kind, inside))
}

fn builtin_kinds() -> impl Iterator<Item = Completion> {
    transformers::kinds().map(|kind| Completion {
        description: builtins::description(kind).unwrap_or_default().to_owned(),
        ..Completion::new(kind, CompletionKind::ResourceKind, "built-in")
    })
}

fn paths_in(node: &Node, path: &mut Vec<Segment>, root: &Node, items: &mut Vec<Completion>) {
    const MOST: usize = 2000;
    if items.len() > MOST {
        return;
    }
    if node.is_scalar() {
        let kind = root.get("kind").and_then(Node::text).unwrap_or_default();
        let value = match explain::is_secret_value(kind, path) {
            true => explain::text::MASK.to_owned(),
            false => explain::text::value(node),
        };
        items.push(Completion::new(path_text(root, path), CompletionKind::FieldPath, value));
    }
    for entry in node.as_map().into_iter().flatten() {
        path.push(Segment::Key(entry.key.text().unwrap_or_default().into()));
        paths_in(&entry.value, path, root, items);
        path.pop();
    }
    for (at, item) in node.items().iter().enumerate() {
        path.push(Segment::Index(at));
        paths_in(item, path, root, items);
        path.pop();
    }
}

/// A path as replacements write it.
fn path_text(root: &Node, path: &[Segment]) -> String {
    let mut text = String::new();
    let mut node = Some(root);
    for segment in path {
        if !text.is_empty() {
            text.push('.');
        }
        match segment {
            Segment::Key(key) => {
                match key.contains('.') {
                    true => text.push_str(&format!("[{key}]")),
                    false => text.push_str(key),
                }
                node = node.and_then(|node| node.get(key));
            }
            Segment::Index(at) => {
                node = node.and_then(|node| node.items().get(*at));
                match node.and_then(|item| item.get("name")).and_then(Node::text) {
                    Some(name) => text.push_str(&format!("[name={name}]")),
                    None => text.push_str(&at.to_string()),
                }
            }
        }
    }
    text
}
