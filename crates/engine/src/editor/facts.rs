//! What is known of the files that are open: what each is for, what they define, and how builds went.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Node, Source, Span, Text};
use rustc_hash::FxHashMap;

use super::fields::FileKind;
use super::problems::FileSpan;
use super::{Editor, is_kptfile, repair};
use crate::files::relative;
use crate::files::world::{EntryKind, World};
use crate::kpt;
use crate::lint::tree::is_yaml;
use crate::pipeline::Trace;
use crate::workspace::{Layer, LayerKind, ReferenceTarget};

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A kustomization, a Composition or a Kptfile.
    Ours(FileKind),
    Resource,
    Patch,
    Replacement,
    /// Something else that a kustomization names: a configuration, data of a generator.
    Named,
    /// None of our files names it.
    Stranger,
}

/// A resource that a file or a generator defines.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub kind: Text,
    pub group: Text,
    pub namespace: Text,
    pub name: Text,
    /// Where the name is.
    pub place: FileSpan,
    /// All of it.
    pub whole: Span,
}

/// What was found out, until the files it is from change.
#[derive(Default)]
pub(crate) struct Facts {
    definitions: FxHashMap<PathBuf, Arc<Vec<Definition>>>,
    traces: FxHashMap<String, Traced>,
}

struct Traced {
    trace: Arc<Trace>,
    is_current: bool,
    /// When it was last asked for, counted in questions.
    asked: u64,
}

/// The most builds to keep with their traces.
const MOST_TRACES: usize = 16;

impl Facts {
    /// Forgets what was made of files that changed. Of a build the last good one stays, until there is another.
    pub(crate) fn forget(&mut self, files: &[PathBuf], targets: &[String], tree: bool) {
        match tree {
            true => self.definitions.clear(),
            false => self.definitions.retain(|file, _| !files.contains(file)),
        }
        for (target, traced) in &mut self.traces {
            traced.is_current &= !tree && !targets.contains(target);
        }
    }
}

/// The generators of a kustomization, and what they make.
pub(crate) const GENERATORS: [(&str, &str); 2] =
    [("configMapGenerator", "ConfigMap"), ("secretGenerator", "Secret")];

impl Editor {
    /// Whether it is one of our files, or one that they name.
    pub fn is_ours(&mut self, path: &Path) -> bool {
        self.sync();
        let path = self.world.place(path);
        self.role(&path) != Role::Stranger
    }

    /// What a file is for.
    pub(super) fn role(&self, file: &Path) -> Role {
        if is_kptfile(file) {
            return Role::Ours(FileKind::Kptfile);
        }
        if let Some(layer) = self.layer_of(file) {
            return Role::Ours(match layer.kind {
                LayerKind::Composition => FileKind::Composition,
                LayerKind::Kustomization | LayerKind::Component => FileKind::Kustomization,
            });
        }
        let mut role = Role::Stranger;
        for (_, reference) in self.workspace.users(file) {
            role = match reference.top_field() {
                _ if reference.is_resource => return Role::Resource,
                "patches" | "patchesStrategicMerge" | "patchesJson6902" => Role::Patch,
                "replacements" => Role::Replacement,
                _ if role == Role::Stranger => Role::Named,
                _ => role,
            };
        }
        role
    }

    /// Whether a file is part of a build.
    pub(super) fn is_built(&self, file: &Path) -> bool {
        !self.workspace.reached_from(&[file.to_owned()]).is_empty()
    }

    /// The layer a file makes its folder.
    pub(super) fn layer_of(&self, file: &Path) -> Option<&Layer> {
        self.workspace.layer(file.parent()?).filter(|layer| layer.file == file)
    }

    /// The layers a file is part of, and everything that is built together with them.
    pub(super) fn together(&self, file: &Path) -> Vec<&Layer> {
        let reached = self.workspace.reached_from(&[file.to_owned()]);
        let mut all: Vec<&Layer> = Vec::new();
        for layer in reached.into_iter().filter_map(|folder| self.workspace.layer(folder)) {
            all.extend(self.workspace.closure(layer));
        }
        all.sort_by_key(|layer| &layer.folder);
        all.dedup_by_key(|layer| &layer.folder);
        all
    }

    /// What is defined in the files that some layers name, and by their generators.
    pub(super) fn definitions(&mut self, folders: &[PathBuf]) -> Vec<Definition> {
        let mut all = Vec::new();
        for folder in folders {
            let Some(layer) = self.workspace.layer(folder) else { continue };
            let mut files = vec![layer.file.clone()];
            for reference in layer.references.iter().filter(|reference| reference.is_resource) {
                if let ReferenceTarget::File(file) = &reference.target {
                    files.push(file.clone());
                }
            }
            for file in files {
                all.extend(self.defined_in(&file).iter().cloned());
            }
        }
        all
    }

    /// What is defined in the package of a Kptfile: below its folder, up to the next package.
    pub(super) fn defined_in_package(&mut self, kptfile: &Path) -> Vec<Definition> {
        let mut folders: Vec<PathBuf> = kptfile.parent().map(Path::to_owned).into_iter().collect();
        let mut all = Vec::new();
        while let Some(folder) = folders.pop() {
            let mut entries = self.world.list(&folder).unwrap_or_default();
            entries.sort_by(|a, b| a.name.cmp(&b.name));
            for entry in entries {
                let path = folder.join(&entry.name);
                match entry.kind {
                    EntryKind::Folder if !self.world.is_file(&path.join(kpt::FILE)) => folders.push(path),
                    EntryKind::File if is_yaml(&path) => all.extend(self.defined_in(&path).iter().cloned()),
                    _ => {}
                }
            }
        }
        all
    }

    /// What a file defines.
    pub(super) fn defined_in(&mut self, file: &Path) -> Arc<Vec<Definition>> {
        if let Some(known) = self.facts.definitions.get(file) {
            return known.clone();
        }
        let found = Arc::new(self.find_definitions(file));
        self.facts.definitions.insert(file.to_owned(), found.clone());
        found
    }

    fn find_definitions(&self, file: &Path) -> Vec<Definition> {
        let Some(text) = self.text(file) else { return Vec::new() };
        let documents = repair::documents(&text, None);
        let is_layer = self.layer_of(file).is_some();
        let mut found = Vec::new();
        for document in &documents {
            match is_layer {
                true => found.extend(generated(file, document.source(), &document.root)),
                false => found.extend(defined(file, document.source(), &document.root)),
            }
        }
        found
    }

    /// What happens when a layer is built: now, or when it was last right.
    pub(super) fn trace(&mut self, folder: &Path) -> Option<Arc<Trace>> {
        let target = match relative(folder, self.root()) {
            target if target.is_empty() => ".".to_owned(),
            target => target,
        };
        self.asked += 1;
        if let Some(known) = self.facts.traces.get_mut(&target) {
            known.asked = self.asked;
            if known.is_current {
                return Some(known.trace.clone());
            }
        }
        let (built, trace) = self.session.trace(&target);
        if built.is_err()
            && let Some(known) = self.facts.traces.get_mut(&target)
        {
            known.is_current = true;
            return Some(known.trace.clone());
        }
        if self.facts.traces.len() >= MOST_TRACES {
            let oldest = self.facts.traces.iter().min_by_key(|(_, traced)| traced.asked);
            if let Some(oldest) = oldest.map(|(target, _)| target.clone()) {
                self.facts.traces.remove(&oldest);
            }
        }
        let traced = Traced { trace: trace.clone(), is_current: true, asked: self.asked };
        self.facts.traces.insert(target, traced);
        Some(trace)
    }

    /// The roots that use a file, in the order of their paths.
    pub(super) fn roots_using(&self, file: &Path) -> Vec<PathBuf> {
        let reached = self.workspace.reached_from(&[file.to_owned()]);
        let roots = self.workspace.roots().into_iter().filter(|layer| reached.contains(&*layer.folder));
        roots.map(|layer| layer.folder.clone()).collect()
    }

    /// A file as a place: its beginning.
    pub(super) fn start_of(&self, file: &Path) -> Option<FileSpan> {
        self.world.is_file(file).then(|| {
            let source = Source::detached("", self.text(file).unwrap_or_default().to_string());
            let span = source.span(0, 0);
            FileSpan { path: file.to_owned(), source, span }
        })
    }
}

fn defined(file: &Path, source: &Arc<Source>, root: &Node) -> Option<Definition> {
    let text = |keys: &[&str]| root.at(keys.iter().copied()).and_then(Node::text).unwrap_or_default();
    let name = root.at(["metadata", "name"]).filter(|name| name.text().is_some())?;
    let kind = root.get("kind")?.text()?;
    let group = text(&["apiVersion"]).split_once('/').map_or("", |(group, _)| group);
    Some(Definition {
        kind: kind.into(),
        group: group.into(),
        namespace: text(&["metadata", "namespace"]).into(),
        name: name.text()?.into(),
        place: FileSpan { path: file.to_owned(), source: source.clone(), span: name.span() },
        whole: root.span(),
    })
}

fn generated<'n>(
    file: &'n Path,
    source: &'n Arc<Source>,
    root: &'n Node,
) -> impl Iterator<Item = Definition> + 'n {
    GENERATORS.iter().flat_map(move |(list, kind)| {
        let entries = root.get(list).map(Node::items).unwrap_or_default().iter();
        entries.filter_map(move |entry| {
            let makes = matches!(entry.get("behavior").and_then(Node::text), None | Some("create"));
            let name = entry.get("name").filter(|_| makes)?;
            Some(Definition {
                kind: (*kind).into(),
                group: Text::new(),
                namespace: entry.get("namespace").and_then(Node::text).unwrap_or_default().into(),
                name: name.text()?.into(),
                place: FileSpan { path: file.to_owned(), source: source.clone(), span: name.span() },
                whole: entry.span(),
            })
        })
    })
}
