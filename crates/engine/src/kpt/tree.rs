//! A package and its subpackages, as they were read.

use std::path::Path;
use std::sync::Arc;

use krm_function::{Object, annotations};
use krm_yaml::emit::preserve;
use krm_yaml::{Diagnostic, Document, Node, Result, Source, Sources, Style};
use rustc_hash::FxHashMap;

use super::kptfile::{FILE, Kptfile};
use super::{files, krm};
use crate::files::paths::clean_slashed;
use crate::files::world::World;
use crate::package::{Change, Package};
use crate::resource::list::Resources;
use crate::resource::{Home, Resource};
use crate::schema::Schema;

/// Endings of the files that hold resources.
const ENDINGS: [&str; 3] = [".yaml", ".yml", ".json"];

/// Whether a file may hold resources, by its name.
pub fn holds_resources(path: &str) -> bool {
    ENDINGS.iter().any(|ending| path.ends_with(ending)) || path.rsplit('/').next() == Some(FILE)
}

/// A folder and everything below it.
#[derive(Debug)]
pub struct Tree {
    package: Package,
    /// The package itself, and its subpackages: each before those below it, in the order of their paths.
    pub(crate) members: Vec<Member>,
    /// The resources that were read, and the package of each: those of a package together, in the order of their files.
    resources: Vec<Resource>,
    /// The package of each resource that was read, by its number.
    owners: Vec<usize>,
}

/// A package of a tree.
#[derive(Debug)]
pub(crate) struct Member {
    /// Relative to the root of the tree, with slashes; empty for the root itself.
    pub folder: String,
    /// Absent if the folder is not a kpt package, which `fn eval` accepts.
    pub kptfile: Option<Kptfile>,
    /// The names of its folder and of those of the packages above, joined by slashes.
    pub shown: String,
    /// The packages right below it.
    pub children: Vec<usize>,
    /// How many packages are above it.
    pub depth: usize,
}

/// The file a resource is kept in, relative to the root of the tree.
pub fn path(resource: &Resource) -> &str {
    resource.home.as_ref().map_or("", |home| home.path.as_str())
}

/// The number of a resource, which identifies it wherever it moves.
pub(super) fn number(resource: &Resource) -> Option<usize> {
    resource.home.as_ref().and_then(|home| home.number)
}

impl Tree {
    /// Reads a package and its subpackages; the Kptfile of the root is [read](root_kptfile) before.
    pub fn read(world: &dyn World, root: &Path, kptfile: Kptfile, sources: &Sources) -> Result<Self> {
        let name = shown_name(world, root);
        let mut tree = Self::read_files(world, root, sources)?;
        if let Some(r) = tree.resources.iter().find(|r| r.node().is_scalar()) {
            krm::check(r.node(), path(r))?;
        }
        let first =
            Member { folder: String::new(), kptfile: Some(kptfile), shown: name, children: vec![], depth: 0 };
        tree.members = vec![first];
        let mut folders: Vec<String> = tree
            .package
            .paths()
            .filter_map(|path| path.strip_suffix(FILE)?.strip_suffix('/').map(str::to_owned))
            .collect();
        // By whole names: `a` comes before `a/b`, and that before `a-b`.
        folders.sort_by(|a, b| a.split('/').cmp(b.split('/')));
        let mut known = Known::default();
        for folder in folders {
            let parent = known.around(&folder);
            let last = folder.rsplit('/').next().unwrap_or_default();
            let shown = format!("{}/{last}", tree.members[parent].shown);
            let depth = tree.members[parent].depth + 1;
            let at = tree.members.len();
            tree.members[parent].children.push(at);
            known.0.insert(folder.clone(), at);
            tree.members.push(Member { folder, kptfile: None, shown, children: vec![], depth });
        }
        for r in &tree.resources {
            let number = number(r).expect("what was read was counted");
            tree.owners[number] = known.around(path(r));
        }
        let owners = &tree.owners;
        tree.resources.sort_by_key(|r| number(r).map(|number| owners[number]));
        Ok(tree)
    }

    /// The root Kptfile alone: enough to say in it why the rest could not be read.
    pub fn read_kptfile(world: &dyn World, root: &Path, sources: &Sources) -> Result<Self> {
        let package = Package::read_paths(world, root, vec![FILE.to_owned()], sources)?;
        let member = Member {
            folder: String::new(),
            kptfile: None,
            shown: shown_name(world, root),
            children: vec![],
            depth: 0,
        };
        let mut tree = Self::of(package);
        tree.members = vec![member];
        Ok(tree)
    }

    /// Reads a folder without looking for packages in it.
    pub fn read_folder(world: &dyn World, root: &Path, sources: &Sources) -> Result<Self> {
        let mut tree = Self::read_files(world, root, sources)?;
        let shown = shown_name(world, root);
        tree.members =
            vec![Member { folder: String::new(), kptfile: None, shown, children: vec![], depth: 0 }];
        Ok(tree)
    }

    /// Resources that are in no folder: those of a list, which are numbered.
    pub fn of_list(mut resources: Vec<Resource>) -> Self {
        let member =
            Member { folder: String::new(), kptfile: None, shown: String::new(), children: vec![], depth: 0 };
        resources
            .iter_mut()
            .enumerate()
            .for_each(|(number, r)| r.home.iter_mut().for_each(|home| home.number = Some(number)));
        let owners = vec![0; resources.len()];
        Self { package: Package::empty(Path::new("")), members: vec![member], resources, owners }
    }

    fn read_files(world: &dyn World, root: &Path, sources: &Sources) -> Result<Self> {
        let mut paths = files::listed(world, root)?;
        paths.retain(|path| holds_resources(path));
        Ok(Self::of(Package::read_paths(world, root, paths, sources)?))
    }

    /// A package whose subpackages are not known yet.
    fn of(package: Package) -> Self {
        let mut resources = package.resources();
        resources.iter_mut().for_each(strip_internal);
        Self { owners: vec![0; resources.len()], resources, package, members: Vec::new() }
    }

    /// Reads the Kptfile of a subpackage, as edited so far: when its turn comes.
    pub(crate) fn kptfile_of(&self, member: usize) -> Result<Kptfile> {
        if let Some(kptfile) = &self.members[member].kptfile {
            return Ok(kptfile.clone());
        }
        let path = in_folder(&self.members[member].folder, FILE);
        let source = self.package.source(&path).expect("a subpackage is a folder with a Kptfile");
        Kptfile::read(&source).map(|(kptfile, _)| kptfile)
    }

    /// Its resources: those of each package together, in the order of their files.
    pub fn resources(&self) -> Vec<Resource> {
        self.resources.clone()
    }

    /// The package a resource belongs to, wherever it moves.
    pub(super) fn member_of(&self, resource: &Resource) -> usize {
        let Some(number) = number(resource) else { return 0 };
        match number.checked_sub(self.owners.len()) {
            None => self.owners[number],
            Some(new) => new % self.members.len(),
        }
    }

    /// The first resource that was read from a file of a package.
    pub(super) fn resource_of(&self, member: usize, file: &str) -> Option<&Resource> {
        let from = self.resources.partition_point(|r| self.member_of(r) < member);
        let own = self.resources[from..].iter().take_while(|r| self.member_of(r) == member);
        own.into_iter().find(|r| path(r) == file)
    }

    /// The number of the resource that is the `nth` to be added to a package. Packages that run in parallel number what
    /// they add independently, so each has its own numbers.
    pub(super) fn number_of_new(&self, member: usize, nth: usize) -> usize {
        self.owners.len() + nth * self.members.len() + member
    }

    /// The place of the next resource that is added to a package: after those that were added and are still there.
    pub(super) fn next_new(&self, member: usize, items: &Resources) -> usize {
        let new = items.iter().filter(|r| self.member_of(r) == member).filter_map(number);
        let nth = new.filter_map(|number| Some(number.checked_sub(self.owners.len())? / self.members.len()));
        nth.max().map_or(0, |last| last + 1)
    }

    /// Whether it was read from a folder.
    pub(super) fn is_folder(&self) -> bool {
        !self.package.root().as_os_str().is_empty()
    }

    /// The resources and files of the root and all subpackages.
    pub fn package(&self) -> &Package {
        &self.package
    }

    /// The document a file was read from, with its text.
    pub fn source(&self, path: &str) -> Option<std::sync::Arc<Source>> {
        self.package.source(path)
    }

    /// What has to change for the folder to hold these resources.
    pub fn changes(&self, resources: &[Resource], world: &dyn World) -> Result<Vec<Change>> {
        self.package.changes(resources, world)
    }

    /// Whether a package is another one or is below it.
    pub(super) fn is_below(&self, member: usize, above: usize) -> bool {
        is_in(&self.members[member].folder, &self.members[above].folder)
    }
}

/// Packages by their folder.
#[derive(Default)]
struct Known(FxHashMap<String, usize>);

impl Known {
    /// The package a file or folder is in.
    fn around(&self, path: &str) -> usize {
        let ends = path.rmatch_indices('/').map(|(end, _)| end);
        ends.filter_map(|end| self.0.get(&path[..end])).next().copied().unwrap_or(0)
    }
}

/// Whether a path is a folder or is below it.
fn is_in(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub(super) fn in_folder(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}

/// The file a `configPath` names, relative to the root of the tree: `./a//b` is `a/b`.
pub(super) fn config_path(folder: &str, written: &str) -> String {
    in_folder(folder, &clean_slashed(written))
}

fn shown_name(world: &dyn World, root: &Path) -> String {
    let real = world.real_path(root).unwrap_or_else(|_| root.to_owned());
    real.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Reads the Kptfile of a package, and checks it and what it names.
pub fn root_kptfile(world: &dyn World, root: &Path, sources: &Sources) -> Result<Kptfile> {
    let advice = "`krm pkg init` makes one; `krm fn eval` runs a function on a folder without one";
    let (kptfile, _) = Kptfile::read(&kptfile_source(world, root, sources, advice)?)?;
    config_files(world, root, &kptfile, sources)?;
    Ok(kptfile)
}

/// The text of the Kptfile of a package. The advice is for users who named a folder without one.
pub fn kptfile_source(
    world: &dyn World,
    root: &Path,
    sources: &Sources,
    advice: &str,
) -> Result<Arc<Source>> {
    files::is_folder(world, root)?;
    let file = root.join(FILE);
    if !world.is_file(&file) || !is_inside(world, root, &file) {
        let message = format!("there is no Kptfile in `{}`", root.display());
        return Err(Diagnostic::error("kptfile-missing", message).help(advice));
    }
    files::read(world, &file, sources)
}

/// Whether a file is where its path says, and not a link to somewhere else.
fn is_inside(world: &dyn World, folder: &Path, file: &Path) -> bool {
    let real = world.real_path(folder).and_then(|folder| Ok((folder, world.real_path(file)?)));
    real.is_ok_and(|(folder, file)| file.starts_with(folder))
}

/// Refuses a Kptfile that names function configs that do not exist, or do not hold exactly one resource.
pub(super) fn config_files(
    world: &dyn World,
    dir: &Path,
    kptfile: &Kptfile,
    sources: &Sources,
) -> Result<()> {
    let functions = kptfile.pipeline.mutators.iter().chain(&kptfile.pipeline.validators);
    for path in functions.filter_map(|function| function.config_path.as_ref()) {
        let wrong = |why: &str| {
            Diagnostic::error("function-config-file", format!("`{}` {why}", path.as_str()))
                .at(path.span())
                .help("a `configPath` names a file of this package, and of no subpackage, that holds one resource")
        };
        let file = dir.join(path.as_str());
        if !world.is_file(&file) {
            return Err(wrong("does not exist"));
        }
        if !is_inside(world, dir, &file) {
            return Err(wrong("is a link to a file outside the package"));
        }
        let documents = krm_yaml::parse(&files::read(world, &file, sources)?)?;
        let mut documents = documents.iter().filter(|document| !document.root.is_null());
        match (documents.next(), documents.next()) {
            (Some(one), None) => {
                krm::check(&one.root, path).map_err(|d| d.note("it is named here", path.span()))?;
            }
            (None, _) => return Err(wrong("is empty")),
            _ => return Err(wrong("holds more than one resource")),
        }
    }
    Ok(())
}

/// The path of a new resource that does not name one: `[NAMESPACE/]KIND_NAME.yaml`.
pub fn new_path(node: &Node) -> String {
    let object = Object::from(node.clone());
    // A name may hold characters that have a meaning in paths.
    let plain = |text: &str| text.replace(['/', '\\', ':', '\0'], "-").to_lowercase();
    let file = format!("{}_{}.yaml", plain(object.kind()), plain(object.name()));
    match object.namespace() {
        "" => file,
        namespace => format!("{}/{file}", plain(namespace)),
    }
}

/// Removes annotations that functions and older programs left: they say where a resource was, not where it is.
fn strip_internal(resource: &mut Resource) {
    let there = resource.node().at(["metadata", "annotations"]).and_then(Node::as_map).into_iter().flatten();
    let keys: Vec<String> = there
        .filter_map(|entry| entry.key.text())
        .filter(|key| annotations::is_internal(key))
        .map(str::to_owned)
        .collect();
    if !keys.is_empty() {
        resource.edit(&Schema::builtin(), |node| {
            let mut object = Object::from(node.take());
            keys.iter().for_each(|key| drop(object.remove_annotation(key)));
            *node = object.into_node();
        });
    }
}

/// Whether sequences are written deeper than their keys, by the first there is: what functions of kpt's library read.
pub const SEQ_INDENT: &str = annotations::SEQUENCE_INDENT;

/// What a resource was like when it was read.
#[derive(Debug, Clone)]
pub struct Before {
    /// Nothing for a resource that a function made.
    pub node: Option<Node>,
    /// How deep its sequences are, as [`SEQ_INDENT`] says it; `compact` if nothing does.
    pub seq_indent: Option<String>,
    /// Annotations said in which file it is.
    pub had_path: bool,
}

impl Default for Before {
    /// A resource that a function made: it has a path by the time it is printed.
    fn default() -> Self {
        Self { node: None, seq_indent: None, had_path: true }
    }
}

/// The resource with annotations that say where it is, as kpt prints them: after the annotations it had before, ahead of
/// those that functions added. If it had no path before, that comes last.
pub fn stated(resource: &Resource, before: &Before) -> Object {
    let mut object = Object::from(resource.node().clone());
    let Some(Home { path, index, .. }) = resource.home.as_deref() else { return object };
    let index = index.to_string();
    let quoted = |value: &str| Node::from(value).with_style(Style::SingleQuoted);
    let mut first = vec![
        (annotations::LEGACY_INDEX, quoted(&index)),
        (annotations::INDEX, quoted(&index)),
        (SEQ_INDENT, quoted(before.seq_indent.as_deref().unwrap_or("compact"))),
    ];
    let paths = [(annotations::PATH, quoted(path)), (annotations::LEGACY_PATH, quoted(path))];
    let mut last = paths.to_vec();
    if before.had_path {
        first.append(&mut last);
        // In the order of their names.
        first.sort_by_key(|(key, _)| *key);
    }
    let metadata = before.node.as_ref().and_then(|node| node.get("metadata"));
    let own = metadata.and_then(|metadata| metadata.get("annotations")).and_then(Node::as_map);
    if let (None, Some(was)) = (own, metadata.and_then(Node::as_map)) {
        // Functions saw them after what was there: what they added comes later.
        if let Some(metadata) = object.map_at("metadata").and_then(Node::as_map_mut) {
            let there = metadata.remove("annotations").map_or_else(Node::map, |entry| entry.value);
            let known = |key: &Node| key.text().is_some_and(|key| was.contains(key));
            let at = metadata.iter().take_while(|entry| known(&entry.key)).count();
            metadata.insert_at(at, Node::from("annotations"), there);
        }
    }
    let all = object.map_at("metadata").and_then(|metadata| metadata.map_at("annotations"));
    if let Some(all) = all.and_then(Node::as_map_mut) {
        let is_own = |key: &Node| key.text().is_some_and(|key| own.is_some_and(|own| own.contains(key)));
        let at = all.iter().take_while(|entry| is_own(&entry.key)).count();
        for (key, value) in first.into_iter().rev() {
            all.insert_at(at, Node::from(key), value);
        }
        for (key, value) in last {
            all.set(key, value);
        }
    }
    object
}

impl Tree {
    fn document(&self, resource: &Resource) -> Option<&Document> {
        number(resource).and_then(|number| self.package.document(number))
    }

    /// The text of a resource: as it was written, but for what changed.
    pub fn text(&self, resource: &Resource) -> String {
        let text = match self.document(resource) {
            Some(document) => {
                let mut document = document.clone();
                document.root = resource.node().clone();
                preserve::document(&document)
            }
            None => preserve::fresh(resource.node()),
        };
        let text = text.strip_prefix("---\n").unwrap_or(&text);
        if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
    }

    /// The same for a resource of this tree.
    pub fn stated(&self, resource: &Resource) -> Object {
        let document = self.document(resource);
        let wide = document.is_some_and(|document| is_wide(document.original(), document.source()));
        let before = Before {
            node: document.map(Document::original).cloned(),
            seq_indent: wide.then(|| "wide".to_owned()),
            had_path: true,
        };
        stated(resource, &before)
    }
}

/// Whether the first sequence below a key is indented more than the key.
fn is_wide(node: &Node, source: &Source) -> bool {
    fn first(node: &Node, source: &Source) -> Option<bool> {
        match node.as_map() {
            Some(map) => map.iter().find_map(|entry| {
                if entry.value.is_seq() && !entry.value.is_empty() && entry.value.style() != Style::Flow {
                    let (key, value) = (entry.key.span(), entry.value.span());
                    if key.is_none() || value.is_none() || value.file != source.id() {
                        return None;
                    }
                    let column = |at: u32| source.position(at as usize).column;
                    return Some(column(value.start) > column(key.start));
                }
                first(&entry.value, source)
            }),
            None => node.items().iter().find_map(|item| first(item, source)),
        }
    }
    first(node, source).unwrap_or(false)
}
