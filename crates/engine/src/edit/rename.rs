//! `rename`: a resource gets another name, and everything that names it follows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Diagnostic, Document, Node, Result, Source, Sources, Span};

use super::{fields, missing};
use crate::files::world::World;
use crate::resource::{Gvk, names};
use crate::select::go_regex;
use crate::select::near_miss::with_article;
use crate::transformers::TransformerConfig;
use crate::workspace::{Layer, ReferenceTarget, Workspace};

/// What is renamed.
#[derive(Clone, Debug)]
pub struct Rename {
    /// Its kind, as the resource says it.
    pub kind: String,
    /// The name it has where it is written, before prefixes and suffixes.
    pub name: String,
    /// The name it gets.
    pub new: String,
}

impl Rename {
    /// Refuses a new name that no cluster takes, and one that needs quotes: it is written into what is there, quoted or not.
    fn check(&self) -> Result<()> {
        let Rename { kind, new, .. } = self;
        let (is_right, help) = match names::may_be_any_text(kind) {
            true => (names::is_path_segment(new), "a name may have no `/` and no `%`"),
            false => (names::is_dns_subdomain(new), names::SUBDOMAIN),
        };
        if !is_right {
            return Err(refused(format!("Kubernetes refuses {} with the name `{new}`", with_article(kind)))
                .help(help));
        }
        if krm_yaml::emit::preserve::fresh(&Node::string(new.as_str())).trim_end() != new {
            let message = format!("`{new}` is not a text in YAML unless it is in quotes");
            return Err(refused(message).help("choose a name that needs none"));
        }
        Ok(())
    }
}

/// What a rename comes to.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Renamed {
    /// Texts before and after.
    pub edits: Vec<(PathBuf, Arc<Source>, String)>,
    /// Folders that nothing else includes and whose output changes.
    pub roots: Vec<PathBuf>,
}

/// Plans to rename the one resource of a kind and name in a tree.
pub fn plan(world: &dyn World, sources: &Sources, tree: &Path, rename: &Rename) -> Result<Renamed> {
    rename.check()?;
    let workspace = Workspace::scan(world, sources, tree)?;
    let mut renamer = Renamer::new(world, sources, rename);
    let home = renamer.home(&workspace)?;
    let above = workspace.reached_from(std::slice::from_ref(&home));
    for layer in together(&workspace, &home) {
        renamer.layer(layer)?;
    }
    let roots = workspace.roots().into_iter().filter(|layer| above.contains(&*layer.folder));
    let roots = roots.map(|layer| layer.folder.clone()).collect();
    Ok(Renamed { edits: renamer.finish()?, roots })
}

/// Where a resource is named.
#[derive(Clone, Debug)]
pub(crate) struct Mention {
    pub path: PathBuf,
    pub source: Arc<Source>,
    /// The name alone, without quotes.
    pub span: Span,
}

/// Every location that names a resource which `home` defines, in what is built together with it. A name that cannot be
/// distinguished from other text is left out.
pub(crate) fn mentions(
    world: &dyn World,
    sources: &Sources,
    workspace: &Workspace,
    home: &Path,
    rename: &Rename,
) -> Vec<Mention> {
    let mut renamer = Renamer::new(world, sources, rename);
    for layer in together(workspace, home) {
        // What cannot be changed by itself is named all the same.
        let _ = renamer.layer(layer);
    }
    renamer.mentions()
}

/// The places that a rename of the resource which `home` defines has to change.
pub(crate) fn changes(
    world: &dyn World,
    sources: &Sources,
    workspace: &Workspace,
    home: &Path,
    rename: &Rename,
) -> Result<Vec<Mention>> {
    rename.check()?;
    let mut renamer = Renamer::new(world, sources, rename);
    let renamed = together(workspace, home).into_iter().try_for_each(|layer| renamer.layer(layer));
    let mentions = renamer.mentions();
    renamed.map(|()| mentions)
}

/// Everything that is built together with a file: it may name what the file defines.
fn together<'w>(workspace: &'w Workspace, home: &Path) -> Vec<&'w Layer> {
    let above = workspace.reached_from(&[home.to_owned()]);
    let above = above.iter().filter_map(|folder| workspace.layer(folder));
    let together: BTreeSet<&Path> =
        above.flat_map(|layer| workspace.closure(layer)).map(|layer| &*layer.folder).collect();
    together.into_iter().filter_map(|folder| workspace.layer(folder)).collect()
}

struct Renamer<'r> {
    world: &'r dyn World,
    sources: &'r Sources,
    rename: &'r Rename,
    config: TransformerConfig,
    files: BTreeMap<PathBuf, (Arc<Source>, Vec<Document>)>,
    /// By file and place: what is written there instead.
    changes: BTreeMap<PathBuf, BTreeMap<(u32, u32), String>>,
}

/// The kinds whose `replicas` a kustomization sets.
const SCALED: [&str; 4] = ["Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"];
/// Lists of generators, and what they make.
const GENERATORS: [(&str, &str); 2] = [("configMapGenerator", "ConfigMap"), ("secretGenerator", "Secret")];

impl<'r> Renamer<'r> {
    fn new(world: &'r dyn World, sources: &'r Sources, rename: &'r Rename) -> Self {
        let config = TransformerConfig::builtin();
        Self { world, sources, rename, config, files: BTreeMap::new(), changes: BTreeMap::new() }
    }

    /// The places that were found. What was read for them is dropped.
    fn mentions(self) -> Vec<Mention> {
        let mut found = Vec::new();
        for (path, changes) in &self.changes {
            let read = || {
                let bytes = self.world.read(path).ok()?;
                self.sources.add_bytes(path.display().to_string(), bytes).ok()
            };
            let Some(source) = self.files.get(path).map(|(source, _)| source.clone()).or_else(read) else {
                continue;
            };
            self.sources.forget(source.id());
            found.extend(changes.keys().map(|(start, end)| Mention {
                path: path.clone(),
                source: source.clone(),
                span: source.span(*start as usize, *end as usize),
            }));
        }
        self.files.values().for_each(|(source, _)| self.sources.forget(source.id()));
        found
    }

    /// The file that defines the resource.
    fn home(&mut self, workspace: &Workspace) -> Result<PathBuf> {
        let mut homes: BTreeMap<PathBuf, Span> = BTreeMap::new();
        let mut names = BTreeSet::new();
        let mut kinds = BTreeSet::new();
        for layer in workspace.layers() {
            for file in files_of(layer, &["resources", "bases"]) {
                for document in self.read(&file)? {
                    let (kind, name) = (kind(&document.root), name(&document.root));
                    kinds.insert(kind.to_owned());
                    if kind == self.rename.kind {
                        names.insert(name.and_then(Node::text).unwrap_or_default().to_owned());
                        if let Some(name) = name.filter(|name| name.text() == Some(&self.rename.name)) {
                            homes.insert(file.clone(), name.span());
                        }
                    }
                }
            }
            let Some(root) = &layer.root else { continue };
            for (list, _) in GENERATORS.iter().filter(|(_, kind)| *kind == self.rename.kind) {
                for entry in fields::items(root, list) {
                    names.insert(fields::text(entry, "name").to_owned());
                    let makes = matches!(fields::text(entry, "behavior"), "" | "create");
                    if makes && fields::text(entry, "name") == self.rename.name {
                        homes.insert(layer.file.clone(), entry.span());
                    }
                }
            }
        }
        let Rename { kind, name, .. } = self.rename;
        if names.contains(&self.rename.new) {
            return Err(refused(format!("there is already {} `{}`", with_article(kind), self.rename.new)));
        }
        let mut all = homes.into_iter();
        match (all.next(), all.next()) {
            (Some((file, _)), None) => Ok(file),
            (Some((_, first)), Some((_, second))) => {
                Err(refused(format!("{kind} `{name}` is defined in several files"))
                    .at(first)
                    .note("and here", second)
                    .help("name a folder that holds only one of them by `--root`"))
            }
            (None, _) => {
                let error = missing(format!("no kustomization names a file that defines {kind} `{name}`"));
                let near_name = krm_yaml::nearest(name, names.iter().map(String::as_str));
                let kinds = kinds.iter().map(String::as_str).filter(|known| *known != kind.as_str());
                let near_kind = kinds.clone().find(|known| known.eq_ignore_ascii_case(kind));
                let near_kind =
                    near_kind.or_else(|| krm_yaml::nearest(kind, kinds)).filter(|_| names.is_empty());
                Err(match near_name.or(near_kind) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error,
                })
            }
        }
    }

    /// Renames what a kustomization says, and what the files say that it names.
    fn layer(&mut self, layer: &Layer) -> Result<()> {
        for file in files_of(layer, &["resources", "bases", "patches", "patchesStrategicMerge"]) {
            for document in self.read(&file)? {
                self.resource(&file, &document.root)?;
            }
        }
        for file in files_of(layer, &["replacements"]) {
            for document in self.read(&file)? {
                let root = &document.root;
                let all = if root.is_seq() { root.items().to_vec() } else { vec![root.clone()] };
                all.iter().try_for_each(|replacement| self.replacement(&file, replacement))?;
            }
        }
        let Some(root) = &layer.root else { return Ok(()) };
        let file = &layer.file;
        for list in ["patches", "patchesJson6902"] {
            for patch in fields::items(root, list) {
                if let Some(target) = fields::get(patch, "target") {
                    self.selector(file, target)?;
                }
                if let Some(text) = fields::get(patch, "patch") {
                    self.inline(file, text)?;
                }
            }
        }
        for patch in fields::items(root, "patchesStrategicMerge") {
            self.inline(file, patch)?;
        }
        for replacement in fields::items(root, "replacements") {
            self.replacement(file, replacement)?;
        }
        for var in fields::items(root, "vars") {
            if let Some(target) = fields::get(var, "objref") {
                self.selector(file, target)?;
            }
        }
        for entry in fields::items(root, "replicas").iter().filter(|_| SCALED.contains(&&*self.rename.kind)) {
            self.scalar(file, fields::get(entry, "name"));
        }
        for (list, _) in GENERATORS.iter().filter(|(_, kind)| *kind == self.rename.kind) {
            for entry in fields::items(root, list) {
                self.scalar(file, fields::get(entry, "name"));
            }
        }
        Ok(())
    }

    /// A resource or a patch: its own name, and the names of others in it.
    fn resource(&mut self, file: &Path, root: &Node) -> Result<()> {
        if kind(root) == self.rename.kind {
            self.scalar(file, name(root));
        }
        let api_version = root.get("apiVersion").and_then(Node::text).unwrap_or_default();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let gvk = Gvk { group: group.into(), version: version.into(), kind: kind(root).into() };
        let mut found = Vec::new();
        for reference in self.config.name_reference.iter().filter(|r| r.kind == *self.rename.kind) {
            for spec in reference.referrers.fitting(&gvk) {
                // A field of another shape names nothing.
                let _ = spec.visit(root, &mut |node| {
                    found.push(node.clone());
                    Ok(())
                });
            }
        }
        for node in &found {
            self.named(file, node);
        }
        Ok(())
    }

    /// A field that may name it: a text, a list of texts, or a map with kind and name.
    fn named(&mut self, file: &Path, node: &Node) {
        node.items().iter().for_each(|item| self.named(file, item));
        if node.is_map() {
            if matches!(fields::text(node, "kind"), kind if kind.is_empty() || kind == self.rename.kind) {
                self.scalar(file, node.get("name"));
            }
        } else {
            self.scalar(file, Some(node));
        }
    }

    fn replacement(&mut self, file: &Path, replacement: &Node) -> Result<()> {
        if let Some(source) = fields::get(replacement, "source") {
            self.selector(file, source)?;
        }
        for target in fields::items(replacement, "targets") {
            let rejected = fields::items(target, "reject");
            for selector in fields::get(target, "select").into_iter().chain(rejected) {
                self.selector(file, selector)?;
            }
        }
        Ok(())
    }

    /// A selector that selects it by its name. One that is a pattern may mean others as well, and is nobody's to change.
    fn selector(&mut self, file: &Path, selector: &Node) -> Result<()> {
        let kind = fields::text(selector, "kind");
        let is_kind =
            kind.is_empty() || go_regex::compile_anchored(kind).is_ok_and(|k| k.is_match(&self.rename.kind));
        let Some(name) = fields::get(selector, "name").filter(|_| is_kind) else { return Ok(()) };
        let text = name.text().unwrap_or_default();
        if text == self.rename.name {
            self.scalar(file, Some(name));
        } else if !go_regex::is_plain(text)
            && go_regex::compile_anchored(text).is_ok_and(|t| t.is_match(&self.rename.name))
        {
            let stays = go_regex::compile_anchored(text).is_ok_and(|t| t.is_match(&self.rename.new));
            if !stays {
                let message = format!(
                    "the pattern `{text}` matches `{}`, and would not match the new name",
                    self.rename.name
                );
                return Err(refused(message).at(name.span()).help("change the pattern first"));
            }
        }
        Ok(())
    }

    /// A patch within the kustomization.
    fn inline(&mut self, file: &Path, text: &Node) -> Result<()> {
        let Some(patch) = text.as_str().filter(|patch| patch.contains('\n') || patch.contains('{')) else {
            return Ok(());
        };
        let documents = krm_yaml::parse_str(patch).unwrap_or_default();
        let is_it = |document: &Document| {
            kind(&document.root) == self.rename.kind
                && name(&document.root).and_then(Node::text) == Some(&self.rename.name)
        };
        if !documents.iter().any(is_it) {
            return Ok(());
        }
        let source = self.sources.get(text.span().file);
        let written = source.as_ref().map(|source| source.slice(text.span())).unwrap_or_default();
        let places = names_in(written, &self.rename.name);
        let [at] = places[..] else {
            let message = format!("`{}` is named more than once in this patch", self.rename.name);
            return Err(refused(message)
                .at(text.span())
                .help("rename it by hand, or put the patch into a file"));
        };
        let start = text.span().start + at as u32;
        let end = start + self.rename.name.len() as u32;
        self.changes.entry(file.to_owned()).or_default().insert((start, end), self.rename.new.clone());
        Ok(())
    }

    /// A text that is exactly the old name.
    fn scalar(&mut self, file: &Path, node: Option<&Node>) {
        let Some(node) = node.filter(|node| node.text() == Some(&self.rename.name)) else { return };
        let source = self.sources.get(node.span().file);
        let written = source.as_ref().map(|source| source.slice(node.span())).unwrap_or_default();
        if let Some(at) = written.find(&self.rename.name) {
            let start = node.span().start + at as u32;
            let end = start + self.rename.name.len() as u32;
            self.changes.entry(file.to_owned()).or_default().insert((start, end), self.rename.new.clone());
        }
    }

    fn read(&mut self, file: &Path) -> Result<Vec<Document>> {
        if let Some((_, documents)) = self.files.get(file) {
            return Ok(documents.clone());
        }
        // A file that cannot be read holds no resource to rename; the build reports what is wrong with it.
        let Ok(bytes) = self.world.read(file) else { return Ok(Vec::new()) };
        let Ok(source) = self.sources.add_bytes(file.display().to_string(), bytes) else {
            return Ok(Vec::new());
        };
        let documents = krm_yaml::parse(&source).unwrap_or_default();
        self.files.insert(file.to_owned(), (source, documents.clone()));
        Ok(documents)
    }

    fn finish(self) -> Result<Vec<(PathBuf, Arc<Source>, String)>> {
        let mut edits = Vec::new();
        for (path, changes) in self.changes {
            let source = match self.files.get(&path) {
                Some((source, _)) => source.clone(),
                None => {
                    let bytes = self.world.read(&path).unwrap_or_default();
                    self.sources.add_bytes(path.display().to_string(), bytes)?
                }
            };
            let mut text = source.text().to_owned();
            for ((start, end), new) in changes.into_iter().rev() {
                text.replace_range(start as usize..end as usize, &new);
            }
            edits.push((path, source, text));
        }
        Ok(edits)
    }
}

/// Where `name: NAME` is in a text.
fn names_in(text: &str, name: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("name:") {
        let after = &text[at + 5..];
        let blank = after.len() - after.trim_start_matches([' ', '"', '\'']).len();
        let rest = &after[blank..];
        let ends =
            |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_'));
        if rest.strip_prefix(name).is_some_and(ends) {
            found.push(at + 5 + blank);
        }
    }
    found
}

/// The files that fields of a layer name.
fn files_of(layer: &Layer, lists: &[&str]) -> Vec<PathBuf> {
    let named = layer.references.iter().filter(|reference| lists.contains(&reference.top_field()));
    named
        .filter_map(|reference| match &reference.target {
            ReferenceTarget::File(path) => Some(path.clone()),
            _ => None,
        })
        .collect()
}

fn kind(root: &Node) -> &str {
    root.get("kind").and_then(Node::text).unwrap_or_default()
}

fn name(root: &Node) -> Option<&Node> {
    root.at(["metadata", "name"])
}

fn refused(message: impl Into<String>) -> Diagnostic {
    super::moves::refused(message)
}

/// Whether two outputs are equal but for the name, or what differs. Hashes of names may differ with the name.
pub fn equal_but_for_the_name(before: &str, after: &str, rename: &Rename) -> Result<(), String> {
    let documents = |text: &str| -> Vec<Node> {
        krm_yaml::parse_str(text).unwrap_or_default().into_iter().map(|document| document.root).collect()
    };
    let (mut old, mut new) = (documents(before), documents(after));
    let (same_old, same_new) = (old.clone(), new.clone());
    old.retain(|node| !same_new.contains(node));
    new.retain(|node| !same_old.contains(node));
    for node in &old {
        match new.iter().position(|other| follows(node, other, rename)) {
            Some(at) => drop(new.remove(at)),
            None => {
                return Err(format!(
                    "{} `{}`",
                    kind(node),
                    name(node).and_then(Node::text).unwrap_or_default()
                ));
            }
        }
    }
    match new.first() {
        None => Ok(()),
        Some(node) => {
            Err(format!("{} `{}`", kind(node), name(node).and_then(Node::text).unwrap_or_default()))
        }
    }
}

fn follows(old: &Node, new: &Node, rename: &Rename) -> bool {
    if let (Some(a), Some(b)) = (old.text(), new.text()) {
        // A hash has ten characters, after a dash.
        let bare = |text: &str| {
            text.rsplit_once('-').filter(|(_, hash)| hash.len() == 10).map(|(name, _)| name.to_owned())
        };
        let renamed = |text: &str| text.replace(&rename.name, &rename.new);
        return a == b
            || renamed(a) == b
            || matches!((bare(a), bare(b)), (Some(a), Some(b)) if a.contains(&*rename.name) && renamed(&a) == b);
    }
    if let (Some(a), Some(b)) = (old.as_map(), new.as_map()) {
        return a.len() == b.len()
            && a.iter().all(|entry| {
                b.get(entry.key.text().unwrap_or_default())
                    .is_some_and(|other| follows(&entry.value, other, rename))
            });
    }
    let (a, b) = (old.items(), new.items());
    old.is_seq() && new.is_seq() && a.len() == b.len() && a.iter().zip(b).all(|(a, b)| follows(a, b, rename))
}
