//! A tree of kustomizations: which folders hold one, and which files and folders each of them names.
//!
//! Nothing is built, and a file that cannot be read does not affect others: this is for questions about a whole
//! repository, such as what uses a base.

pub(crate) mod elsewhere;
mod references;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Diagnostic, Node, Result, Source, Sources};
use rayon::prelude::*;

use crate::composition;
use crate::files::world::{EntryKind, World};
use crate::files::{KUSTOMIZATION_FILES, is_kustomize, near_path, relative, unreadable_because};

pub use elsewhere::{Elsewhere, repository_address};
pub(crate) use references::PATH_FIELDS;
pub use references::{Reference, ReferenceTarget};

/// Folders with a kustomization or a Composition, by their real paths.
#[derive(Debug, Default)]
pub struct Workspace {
    layers: BTreeMap<PathBuf, Layer>,
}

/// A folder with a kustomization or a Composition.
#[derive(Debug)]
#[non_exhaustive]
pub struct Layer {
    /// Its real path.
    pub folder: PathBuf,
    /// As seen from the current folder.
    pub shown: String,
    /// What makes it one.
    pub kind: LayerKind,
    /// The file that makes it one.
    pub file: PathBuf,
    /// The text of that file; `None` if it cannot be read.
    pub source: Option<Arc<Source>>,
    /// The file as a tree, unless it cannot be read.
    pub root: Option<Node>,
    /// Every file, folder and address it names, in the order of the file.
    pub references: Vec<Reference>,
    /// The configurations of its generators, transformers and validators, in its own file or in files it names.
    pub configurations: Vec<Node>,
    /// Why the file cannot be read.
    pub error: Option<Diagnostic>,
}

/// What makes a folder a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayerKind {
    /// A folder with a kustomization.
    Kustomization,
    /// A folder with a component.
    Component,
    /// A folder with a Composition.
    Composition,
}

impl LayerKind {
    /// The word for it in JSON and in text, such as `kustomization`.
    pub fn name(self) -> &'static str {
        match self {
            LayerKind::Kustomization => "kustomization",
            LayerKind::Component => "component",
            LayerKind::Composition => "composition",
        }
    }
}

/// Folders that hold none of our configuration, however many files they have.
const PASSED_OVER: [&str; 2] = [".git", "node_modules"];

/// The folder with copies of what is fetched from elsewhere: whatever uses them names where they come from.
pub const VENDORED: &str = "vendor/krm";

impl Workspace {
    /// Finds every layer in a folder and those below it, and whatever these name elsewhere.
    pub fn scan(world: &dyn World, sources: &Sources, root: &Path) -> Result<Self> {
        Ok(Self::of(world, sources, Self::folders_below(world, root)?))
    }

    /// A folder and those below it, by their real paths, in which layers may be.
    pub fn folders_below(world: &dyn World, root: &Path) -> Result<Vec<PathBuf>> {
        let start = world.real_path(root).map_err(|error| {
            let why = unreadable_because(&error);
            let message = format!("cannot read `{}`: {why}", root.display());
            let error = Diagnostic::error("folder-unreadable", message);
            match near_path(world, &root.to_string_lossy()) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error,
            }
        })?;
        let mut folders = Vec::new();
        let mut open = vec![start];
        while let Some(folder) = open.pop() {
            // A folder that cannot be read is left out.
            let Ok(entries) = world.list(&folder) else { continue };
            let below = entries.iter().filter(|entry| entry.kind == EntryKind::Folder);
            let below = below.filter(|entry| !PASSED_OVER.iter().any(|name| *entry.name == **name));
            let below = below.map(|entry| folder.join(&entry.name));
            open.extend(below.filter(|folder| !folder.ends_with(VENDORED)));
            folders.push(folder);
        }
        Ok(folders)
    }

    /// The layers in these folders, and everything they are built from.
    pub fn of(world: &dyn World, sources: &Sources, folders: Vec<PathBuf>) -> Self {
        let mut workspace = Self::default();
        workspace.add(world, sources, folders);
        workspace
    }

    /// Reads the layers in these folders again, or for the first time, and those they name that are not known yet.
    pub(crate) fn update(&mut self, world: &dyn World, sources: &Sources, folders: Vec<PathBuf>) {
        for folder in &folders {
            if let Some(layer) = self.layers.remove(folder) {
                layer.forget_texts(sources);
            }
        }
        self.add(world, sources, folders);
    }

    /// Frees the texts that were read for it.
    pub(crate) fn forget_texts(&self, sources: &Sources) {
        self.layers().for_each(|layer| layer.forget_texts(sources));
    }

    fn add(&mut self, world: &dyn World, sources: &Sources, folders: Vec<PathBuf>) {
        let here = world.real_path(Path::new(".")).unwrap_or_default();
        let mut known: BTreeSet<PathBuf> = self.layers.keys().cloned().collect();
        let mut open = folders;
        while !open.is_empty() {
            open.retain(|folder| known.insert(folder.clone()));
            let read = |folder: PathBuf| Layer::read(world, sources, &here, folder);
            let layers: Vec<Layer> = std::mem::take(&mut open).into_par_iter().filter_map(read).collect();
            for layer in layers {
                open.extend(layer.layers_named().map(|(_, folder)| folder.to_owned()));
                self.layers.insert(layer.folder.clone(), layer);
            }
        }
    }

    /// All layers, in the order of their paths.
    pub fn layers(&self) -> impl Iterator<Item = &Layer> {
        self.layers.values()
    }

    /// The layer in a folder.
    pub fn layer(&self, folder: &Path) -> Option<&Layer> {
        self.layers.get(folder)
    }

    /// Every place that names a file or folder, and the layer it is in.
    pub fn users<'w>(&'w self, path: &'w Path) -> impl Iterator<Item = (&'w Layer, &'w Reference)> {
        self.layers().flat_map(move |layer| {
            let names =
                layer.references.iter().filter(move |reference| reference.target.path() == Some(path));
            names.map(move |reference| (layer, reference))
        })
    }

    /// The layers that no other includes, except components: what there is to build. Those that include each other in a
    /// circle, or lead to one, count too, unless one of the former leads there: they cannot be built, which must not go
    /// unnoticed.
    pub fn roots(&self) -> Vec<&Layer> {
        let used: BTreeSet<&Path> =
            self.layers().flat_map(|layer| layer.layers_named().map(|(_, folder)| folder)).collect();
        let may_be_root = |layer: &&Layer| layer.kind != LayerKind::Component;
        let is_unused = |layer: &&Layer| may_be_root(layer) && !used.contains(&*layer.folder);
        let reached = self.closure_of(self.layers().filter(is_unused).collect());
        let reached: BTreeSet<&Path> = reached.into_iter().map(|layer| &*layer.folder).collect();
        let others = self.layers().filter(|layer| !reached.contains(&*layer.folder));
        let in_circles = leading_to_circles(others.collect());
        let is_root = |layer: &&Layer| is_unused(layer) || in_circles.contains(&*layer.folder);
        self.layers().filter(may_be_root).filter(is_root).collect()
    }

    /// A layer and everything it is built from, each once, itself first.
    pub fn closure<'w>(&'w self, layer: &'w Layer) -> Vec<&'w Layer> {
        self.closure_of(vec![layer])
    }

    fn closure_of<'w>(&'w self, mut all: Vec<&'w Layer>) -> Vec<&'w Layer> {
        let mut known: BTreeSet<&Path> = BTreeSet::new();
        all.retain(|layer| known.insert(&layer.folder));
        let mut next = 0;
        while let Some(one) = all.get(next).copied() {
            next += 1;
            let below = one.layers_named().filter_map(|(_, folder)| self.layer(folder));
            all.extend(below.filter(|below| known.insert(&below.folder)));
        }
        all
    }

    /// The layers that a change to these files reaches, as far as names tell: those that name one of them, or have it as
    /// their own file, and whatever includes these. Paths are real ones.
    pub fn reached_from(&self, changed: &[PathBuf]) -> BTreeSet<&Path> {
        let touches = |target: &ReferenceTarget| {
            let Some(path) = target.path() else { return false };
            changed.iter().any(|changed| {
                path.starts_with(changed)
                    || match target {
                        // A folder that is taken whole is every file in it.
                        ReferenceTarget::Folder(_) => changed.starts_with(path),
                        // A kustomization may appear in it.
                        _ => changed.parent() == Some(path),
                    }
            })
        };
        let is_own = |layer: &Layer| {
            let names = KUSTOMIZATION_FILES.iter().chain(&composition::FILE_NAMES);
            names.map(|name| layer.folder.join(name)).any(|file| changed.contains(&file))
        };
        let is_touched = |layer: &&Layer| {
            let mut named = layer.references.iter().filter(|reference| !reference.target.is_layer());
            is_own(layer) || named.any(|reference| touches(&reference.target))
        };
        let mut reached: BTreeSet<&Path> =
            self.layers().filter(is_touched).map(|layer| &*layer.folder).collect();
        loop {
            let uses = |layer: &&Layer| layer.layers_named().any(|(_, folder)| reached.contains(folder));
            let more: Vec<&Path> = self.layers().filter(uses).map(|layer| &*layer.folder).collect();
            let before = reached.len();
            reached.extend(more);
            if reached.len() == before {
                return reached;
            }
        }
    }
}

impl Layer {
    fn read(world: &dyn World, sources: &Sources, here: &Path, folder: PathBuf) -> Option<Self> {
        let names = KUSTOMIZATION_FILES.iter().chain(&composition::FILE_NAMES);
        let files = names.map(|name| folder.join(name)).filter(|file| world.is_file(file));
        let mut layer = None;
        for file in files {
            let read = Self::of_file(world, sources, here, &folder, file);
            // Somebody else's `composition.yaml` may lie beside a kustomization, or alone.
            if layer.is_none() {
                layer = read;
            }
        }
        layer
    }

    fn of_file(
        world: &dyn World,
        sources: &Sources,
        here: &Path,
        folder: &Path,
        file: PathBuf,
    ) -> Option<Self> {
        let shown_file = relative(&file, here);
        let read = world.read(&file).map_err(|error| {
            Diagnostic::error("file-unreadable", format!("cannot read `{shown_file}`: {error}"))
        });
        let source = read.and_then(|bytes| sources.add_bytes(shown_file, bytes));
        let root = source.as_ref().map_err(Clone::clone).and_then(|source| {
            let documents = krm_yaml::parse(source)?;
            Ok(documents.into_iter().next().map_or_else(Node::null, |document| document.root))
        });
        let is_composition = composition::FILE_NAMES.iter().any(|name| file.ends_with(name));
        let text = |key| root.as_ref().ok().and_then(|root: &Node| root.get(key)).and_then(Node::as_str);
        let kind = match text("kind") {
            Some("Component") if !is_composition => LayerKind::Component,
            // Other projects have Compositions too.
            Some("Composition") if text("apiVersion").is_some_and(is_kustomize) => LayerKind::Composition,
            _ if is_composition => return None,
            _ => LayerKind::Kustomization,
        };
        let (references, configurations) = match &root {
            Ok(root) => references::of(world, sources, here, folder, root),
            Err(_) => Default::default(),
        };
        let shown = match relative(folder, here) {
            shown if shown.is_empty() => ".".to_owned(),
            shown => shown,
        };
        let (root, error) = match root {
            Ok(root) => (Some(root), None),
            Err(error) => (None, Some(error)),
        };
        let source = source.ok();
        let folder = folder.to_owned();
        Some(Self { folder, shown, kind, file, source, root, references, configurations, error })
    }

    fn forget_texts(&self, sources: &Sources) {
        let named = self.references.iter().map(|reference| reference.span.file);
        named.chain(self.source.iter().map(|source| source.id())).for_each(|file| sources.forget(file));
    }

    /// The other layers it is built from.
    pub fn layers_named(&self) -> impl Iterator<Item = (&Reference, &Path)> {
        self.references.iter().filter_map(|reference| match &reference.target {
            ReferenceTarget::Layer(folder) => Some((reference, &**folder)),
            _ => None,
        })
    }
}

/// Those of some layers that lead into a circle: what is left when those that name none of the others are taken away, and
/// so on. Each is looked at once.
fn leading_to_circles(layers: Vec<&Layer>) -> BTreeSet<&Path> {
    let mut left: BTreeMap<&Path, usize> = layers.iter().map(|layer| (&*layer.folder, 0)).collect();
    let mut users: BTreeMap<&Path, Vec<&Path>> = BTreeMap::new();
    for layer in layers {
        for (_, named) in layer.layers_named().filter(|(_, named)| left.contains_key(named)) {
            users.entry(named).or_default().push(&layer.folder);
        }
    }
    users.values().flatten().for_each(|user| *left.entry(user).or_default() += 1);
    let mut open: Vec<&Path> = left.iter().filter(|(_, named)| **named == 0).map(|(at, _)| *at).collect();
    while let Some(done) = open.pop() {
        left.remove(done);
        for user in users.remove(done).unwrap_or_default() {
            let named = left.get_mut(user).expect("it names what is only taken away now");
            *named -= 1;
            open.extend((*named == 0).then_some(user));
        }
    }
    left.into_keys().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::memory_world::MemoryWorld;

    #[test]
    fn circles_that_nothing_to_build_leads_to_are_roots() {
        let roots = |layers: &[(&str, &str)]| -> Vec<String> {
            let file =
                |(name, text): &(&str, &str)| (format!("{name}/kustomization.yaml"), (*text).to_owned());
            let files: Vec<(String, String)> = layers.iter().map(file).collect();
            let world = MemoryWorld::new(files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
            let workspace = Workspace::scan(&world, &Sources::new(), Path::new("/")).unwrap();
            workspace.roots().into_iter().map(|layer| layer.shown.clone()).collect()
        };
        let (a, b) = (("a", "resources: [../b]\n"), ("b", "resources: [../a]\n"));
        assert_eq!(roots(&[a, b]), ["a", "b"]);
        assert_eq!(roots(&[a, b, ("top", "resources: [../a]\n")]), ["top"]);
        let part = |to: &str| format!("kind: Component\nresources: [../{to}]\n");
        assert_eq!(roots(&[a, b, ("part", &part("a"))]), ["a", "b"]);
        assert_eq!(roots(&[a, b, ("part", &part("top")), ("top", "resources: [../a]\n")]), ["a", "b", "top"]);
        assert_eq!(roots(&[("part", &part("a")), ("a", "")]), [""; 0]);
        // What a circle leads to is in no circle; another circle is.
        let c = ("c", "resources: [../d, ../e]\n");
        assert_eq!(roots(&[("a", "resources: [../b, ../c]\n"), b, c, ("d", ""), ("e", "")]), ["a", "b"]);
        let (d, e) = (("d", "resources: [../c]\n"), ("e", "resources: [../e]\n"));
        assert_eq!(roots(&[("a", "resources: [../b, ../c]\n"), b, c, d, e]), ["a", "b", "c", "d", "e"]);
    }

    #[test]
    fn each_layer_of_a_large_circle_is_looked_at_once() {
        const MANY: usize = 4000;
        let next = |at: usize| format!("resources: [../l{}]\n", (at + 1) % MANY);
        let files: Vec<(String, String)> =
            (0..MANY).map(|at| (format!("l{at}/kustomization.yaml"), next(at))).collect();
        let world = MemoryWorld::new(files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
        let workspace = Workspace::scan(&world, &Sources::new(), Path::new("/")).unwrap();
        // A walk from each layer would be 16 million steps.
        assert_eq!(workspace.roots().len(), MANY);
    }

    #[test]
    fn a_tree_is_read_with_all_it_names() {
        let world = MemoryWorld::new([
            (
                "base/kustomization.yaml",
                "resources: [web.yaml]\nconfigMapGenerator:\n- name: a\n  files: [k=a.txt]\n",
            ),
            ("base/web.yaml", "kind: Deployment\n"),
            ("base/a.txt", "a"),
            (
                "top/kustomization.yml",
                "resources: [../base, https://example.com/x.yaml]\ncomponents: [../part]\n",
            ),
            ("part/kustomization.yaml", "kind: Component\npatches: [{path: missing.yaml}]\n"),
            ("other/composition.yaml", "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\n"),
            ("broken/kustomization.yaml", "a: [\n"),
            ("whole/kustomization.yaml", "resources: [/]\n"),
        ]);
        let workspace = Workspace::scan(&world, &Sources::new(), Path::new("/")).unwrap();
        let names: Vec<&str> = workspace.layers().map(|layer| layer.shown.as_str()).collect();
        assert_eq!(names, ["base", "broken", "part", "top", "whole"]);
        let roots: Vec<&str> = workspace.roots().into_iter().map(|layer| layer.shown.as_str()).collect();
        assert_eq!(roots, ["broken", "top", "whole"]);
        for (changed, reached) in [
            ("/base/a.txt", vec!["/base", "/top"]),
            ("/base/kustomization.yml", vec!["/base", "/top"]),
            ("/part/missing.yaml", vec!["/part", "/top"]),
            ("/other/composition.yaml", vec![]),
            ("/kustomization.yaml", vec!["/whole"]),
        ] {
            let found = workspace.reached_from(&[changed.into()]);
            assert_eq!(
                found.into_iter().collect::<Vec<_>>(),
                reached.iter().map(Path::new).collect::<Vec<_>>()
            );
        }
        let users: Vec<String> = workspace
            .users(Path::new("/base"))
            .map(|(layer, reference)| format!("{} {}", layer.shown, reference.field))
            .collect();
        assert_eq!(users, ["top resources[0]"]);
    }
}
