//! What `krm plan` shows: the consolidated list, as a Composition that builds to the same resources.

use std::path::Path;
use std::sync::Arc;

use krm_function::annotations::RELATIVE_TO;
use krm_yaml::path::{self, Edits, Rules, Segment};
use krm_yaml::{Entry, Node, Result, Span};

use crate::composition::{FILE_NAMES, Listed, default_name};
use crate::files::folder::Folder;
use crate::files::relative;
use crate::files::world::{Loader, clean};
use crate::kustomization::Kustomization;
use crate::workspace::PATH_FIELDS;

/// An entry of the list, rewritten for the target's folder.
#[non_exhaustive]
pub struct Outlined {
    /// The transformer. One whose files are in another folder says which: see [`RELATIVE_TO`].
    pub config: Node,
    /// Where it was written.
    pub place: Span,
    /// The commit of the repository it was written in, if it was one.
    pub revision: Option<String>,
    /// The branch or tag by which that repository was asked for.
    pub reference: Option<String>,
    /// Where it was changed, innermost first.
    pub overrides: Vec<Span>,
}

impl Outlined {
    /// Rewrites an entry for the target's folder.
    pub(crate) fn new(entry: &Listed, target: &Folder) -> Self {
        let kind = match entry.identity.kind.as_str() {
            "Component" => "Kustomization",
            kind => kind,
        };
        let mut config = entry.config.clone();
        let segment = |name: &&str| match *name {
            "*" => Segment::Any,
            name => Segment::Key(name.into()),
        };
        let fields = PATH_FIELDS.iter().filter(|(of, _)| of.is_empty() || *of == kind);
        let paths: Vec<Vec<Segment>> = fields.map(|(_, names)| names.iter().map(segment).collect()).collect();
        let mut named = Named { entry, folders: Vec::new() };
        for path in &paths {
            path::edit(&mut named, path, &mut config.clone()).expect("nothing here fails");
        }
        let is_here = |folder: &&&Arc<Folder>| folder.root() == target.root();
        // Files may only be read from the folder of who names them, so it is said who does.
        let home = named.folders.iter().find(|folder| !is_here(folder)).copied();
        let from = home.map_or(target, |home| home);
        for path in &paths {
            path::edit(&mut Move { entry, target: from }, path, &mut config).expect("nothing here fails");
        }
        if let Some(home) = home
            && let Some(annotations) = config.map_at("metadata").and_then(|m| m.map_at("annotations"))
        {
            annotations.set(RELATIVE_TO, way_to(home, entry, target));
        }
        let (reference, revision) = entry.folder.revision().unzip();
        let (reference, revision) = (reference.flatten().map(str::to_owned), revision.map(str::to_owned));
        let overrides = entry.overrides.iter().map(|change| change.place).collect();
        Self { config, place: entry.place, revision, reference, overrides }
    }

    /// The fields of a kustomization, in the order in which they act: each an inline kustomization of its own.
    pub(crate) fn of_kustomization(root: &Node) -> Vec<Self> {
        let mut outlined = Vec::new();
        for (fields, manner) in Kustomization::ACTING_ORDER {
            let is_in = |entry: &&Entry, names: &[&str]| {
                entry.key.text().is_some_and(|key| names.iter().any(|name| name.eq_ignore_ascii_case(key)))
            };
            let written = || root.as_map().into_iter().flatten().filter(|entry| !entry.value.is_empty());
            let Some(first) = written().find(|entry| is_in(entry, fields)) else { continue };
            let acting = written().filter(|entry| is_in(entry, fields) || is_in(entry, manner));
            let mut config = kustomization(&default_name(first.key.text().unwrap_or_default()));
            if let Some(map) = config.as_map_mut() {
                acting.for_each(|entry| map.push(entry.key.clone(), entry.value.clone()));
            }
            outlined.push(Self::written_here(config, first.key.span()));
        }
        if outlined.is_empty() {
            // Nothing acts, and nothing comes of it: that is a build too.
            outlined.push(Self::written_here(kustomization("empty"), root.span()));
        }
        outlined
    }

    fn written_here(config: Node, place: Span) -> Self {
        Self { config, place, revision: None, reference: None, overrides: Vec::new() }
    }
}

fn kustomization(name: &str) -> Node {
    let mut config = Node::map();
    config.set("apiVersion", "kustomize.config.k8s.io/v1beta1");
    config.set("kind", "Kustomization");
    config.set("metadata", [("name", name)].into_iter().collect::<Node>());
    config
}

/// Collects the folders that paths start from.
struct Named<'a> {
    entry: &'a Listed,
    folders: Vec<&'a Arc<Folder>>,
}

impl Rules for Named<'_> {
    const ANY_VALUE: bool = false;
}

impl Edits for Named<'_> {
    fn leaf(&mut self, node: &mut Node) -> Result<()> {
        if node.as_str().is_some_and(|text| !text.is_empty() && path_in(text).is_some()) {
            self.folders.push(folder_of(self.entry, node.span()));
        }
        Ok(())
    }
}

/// How a Composition's folder is reached from the target: by its address, or by its file if that has an unusual name.
fn way_to(home: &Folder, entry: &Listed, target: &Folder) -> String {
    if let Some(address) = home.address() {
        return address;
    }
    let way = relative(home.root(), target.root());
    let way = if way.is_empty() { ".".to_owned() } else { way };
    match home.root() == entry.folder.root() && !FILE_NAMES.contains(&&*entry.file) {
        true => format!("{way}/{}", entry.file),
        false => way,
    }
}

/// Rewrites a path to start from the target's folder.
struct Move<'a> {
    entry: &'a Listed,
    target: &'a Folder,
}

impl Rules for Move<'_> {
    const ANY_VALUE: bool = false;
}

impl Edits for Move<'_> {
    fn leaf(&mut self, node: &mut Node) -> Result<()> {
        let Some(text) = node.as_str() else { return Ok(()) };
        let written_in = folder_of(self.entry, node.span());
        if let Some(moved) = moved(text, written_in, self.target) {
            node.assign(Node::from(moved));
        }
        Ok(())
    }
}

/// The folder a scalar's relative path starts from: that of the file the scalar was written in.
fn folder_of(entry: &Listed, place: Span) -> &Arc<Folder> {
    let change = entry.overrides.iter().find(|change| change.place.file == place.file);
    change.filter(|_| place.file != entry.place.file).map_or(&entry.folder, |change| &change.folder)
}

/// The key and the path of `key=path` in generators, or the path alone; `None` for objects written inline, addresses and
/// absolute paths.
fn path_in(text: &str) -> Option<(Option<&str>, &str)> {
    let (key, path) = match text.split_once('=') {
        Some((key, path)) if !key.contains('/') => (Some(key), path),
        _ => (None, text),
    };
    let is_path = !path.contains(['\n', '{']) && !path.contains("://") && !path.contains("@");
    (is_path && !Path::new(path).is_absolute()).then_some((key, path))
}

/// A path of one folder as seen from another; `None` if it stays as it is.
fn moved(text: &str, from: &Folder, to: &Folder) -> Option<String> {
    let (key, path) = path_in(text).filter(|_| from.root() != to.root())?;
    let moved = relative(&clean(&from.root().join(path)), to.root());
    // A program with a slash is a path, one without is looked for: keep it a path.
    let moved = if moved.contains('/') { moved } else { format!("./{moved}") };
    Some(match key {
        Some(key) => format!("{key}={moved}"),
        None => moved,
    })
}
