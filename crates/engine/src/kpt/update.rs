//! What an update makes of a package: from what it was upstream, what it is there now, and what it is here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;

use krm_function::Object;
use krm_function::annotations::LOCAL_CONFIG;
use krm_yaml::emit::preserve;
use krm_yaml::{Diagnostic, Document, Node, Result, Sources, Span, decode};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::kptfile::{FILE, Kptfile, Strategy};
use super::merge_comments::{upstream_name, with_merge_comments, without_comment, without_notes};
use super::upstream::merge_kptfile;
use crate::merge::{Conflict, Merged, Options, ResourceConflict, Side, three_way};
use crate::package::is_configuration;
use crate::resource::wrapper::still_json;
use crate::schema::Schema;

/// The files of a package by their paths.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The three states of a package.
pub struct States<'a> {
    /// What it was upstream when it was fetched.
    pub origin: &'a Files,
    /// What it is upstream now.
    pub updated: &'a Files,
    /// What it is here.
    pub local: &'a Files,
    /// The folder it is in, for messages.
    pub folder: &'a Path,
}

impl States<'_> {
    /// What messages call a file here.
    fn shown(&self, path: &str) -> String {
        shown(self.folder, path)
    }
}

/// A file of a package in this folder, as the user would name it.
pub fn shown(folder: &Path, path: &str) -> String {
    let path = folder.join(path);
    path.strip_prefix(".").unwrap_or(&path).display().to_string()
}

/// Something that both sides changed.
#[derive(Debug)]
pub enum Clash {
    /// A resource that upstream adds, and that is in another file here.
    Twice { what: String, here: String, place: Span },
    /// A field, and whose value is taken.
    Field(ResourceConflict),
    /// A file or a subpackage.
    File {
        /// Its name.
        what: String,
        /// The path of the file, or of the Kptfile of the subpackage.
        path: String,
        here: Did,
        upstream: Did,
        /// What there is after the update.
        kept: Kept,
    },
    /// A resource.
    Whole {
        /// Its name.
        what: String,
        here: Did,
        upstream: Did,
        /// What there is after the update.
        kept: Kept,
        place: Span,
        /// For a resource that was removed here: the file that it is in now.
        moved_to: Option<String>,
    },
}

impl Clash {
    fn of_file(path: &str, here: Did, upstream: Did, kept: Kept) -> Self {
        Self::File { what: format!("`{path}`"), path: path.to_owned(), here, upstream, kept }
    }

    /// Of a subpackage, by its folder.
    pub fn of_subpackage(folder: &str, here: Did, upstream: Did, kept: Kept) -> Self {
        Self::File { what: subpackage(folder), path: kptfile_of(folder), here, upstream, kept }
    }

    pub(super) fn in_field(resource: &Node, conflict: Conflict) -> Self {
        let kind = resource.get("kind").and_then(Node::text).unwrap_or_default();
        Self::Field(ResourceConflict::new(named(resource), kind, conflict))
    }

    /// A resource that was changed here.
    fn removed_upstream(resource: &Node) -> Self {
        let (what, place) = (named(resource), resource.span());
        let (here, upstream, kept) = (Did::Change, Did::Remove, Kept::Here);
        Self::Whole { what, here, upstream, kept, place, moved_to: None }
    }
}

/// What is left of a resource or a file that both sides changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    Here,
    Upstream,
    Nothing,
}

/// What a side did to a resource or a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    Add,
    Change,
    Remove,
}

impl Did {
    pub fn participle(self) -> &'static str {
        match self {
            Did::Add => "added",
            Did::Change => "changed",
            Did::Remove => "removed",
        }
    }
}

/// What an update makes of a package.
pub struct Updated {
    /// All of its files except the root Kptfile.
    pub files: Files,
    pub clashes: Vec<Clash>,
    /// The resources that went because upstream removed them, from files that stay.
    pub removed: Vec<String>,
}

/// What to report about the files of a package.
#[derive(Default)]
struct Met {
    clashes: Vec<Clash>,
    removed: Vec<String>,
}

/// What becomes of the package here, and what both sides changed. Of a field that both changed, `side` says whose value is
/// taken.
pub fn update(states: &States<'_>, strategy: Strategy, side: Side, sources: &Sources) -> Result<Updated> {
    let States { origin, updated, local, folder } = *states;
    let (origin, updated) = (noted(origin), noted(updated));
    let mut met = Met::default();
    let merged = match strategy {
        Strategy::FastForward => {
            refuse_changes(&origin, states)?;
            updated
        }
        Strategy::ForceDeleteReplace => updated,
        Strategy::CopyMerge => {
            let mut all: Files = local.clone();
            all.retain(|path, _| updated.contains_key(path) || !origin.contains_key(path));
            met.clashes = overwritten(&origin, &updated, local);
            all.extend(updated);
            all
        }
        Strategy::ResourceMerge => {
            let states = States { origin: &origin, updated: &updated, local, folder };
            merge(&states, side, sources, &mut met)?
        }
    };
    Ok(Updated { files: noted(&merged), clashes: met.clashes, removed: met.removed })
}

/// What was changed here, and is replaced by what upstream made of it.
fn overwritten(origin: &Files, updated: &Files, local: &Files) -> Vec<Clash> {
    let here = noted(local);
    let changed = here.iter().filter(|(path, ours)| *path != FILE && origin.get(*path) != Some(*ours));
    let mut clashes = Vec::new();
    for (path, ours) in changed {
        let (was, theirs) = (origin.get(path), updated.get(path));
        if theirs == Some(ours) || (was.is_none() && theirs.is_none()) {
            continue;
        }
        let did = |side: Option<&Vec<u8>>| match (was, side) {
            (None, _) => Did::Add,
            (_, Some(_)) => Did::Change,
            (_, None) => Did::Remove,
        };
        let kept = if theirs.is_some() { Kept::Upstream } else { Kept::Nothing };
        clashes.push(Clash::of_file(path, did(Some(ours)), did(theirs), kept));
    }
    clashes
}

/// The files with resources that say what upstream calls them. A file that cannot be read, such as a template, stays as it is.
pub fn noted(files: &Files) -> Files {
    let is_noted = |path: &str| (path.ends_with(".yaml") || path.ends_with(".yml")) && !is_kptfile(path);
    let with_comments =
        |bytes: &Vec<u8>| Some(with_merge_comments(&decode(bytes.clone()).ok()?).ok()?.into_bytes());
    let noted = |(path, bytes): (&String, &Vec<u8>)| {
        let noted = is_noted(path).then(|| with_comments(bytes)).flatten();
        (path.clone(), noted.unwrap_or_else(|| bytes.clone()))
    };
    files.par_iter().map(noted).collect::<Vec<_>>().into_iter().collect()
}

fn is_kptfile(path: &str) -> bool {
    path.rsplit('/').next() == Some(FILE)
}

fn refuse_changes(origin: &Files, states: &States<'_>) -> Result<()> {
    let local = states.local;
    let paths: BTreeSet<&String> = origin.keys().chain(local.keys()).filter(|path| *path != FILE).collect();
    let plain = noted(local);
    let changed = paths.into_iter().find(|path| plain.get(*path) != origin.get(*path)).map(String::as_str);
    match changed.or_else(|| kptfile_changed(origin.get(FILE), local.get(FILE)).then_some(FILE)) {
        None => Ok(()),
        Some(path) => Err(Diagnostic::error("update-local-changes", format!("`{path}` was changed here"))
            .in_file(&states.shown(path))
            .help("a fast-forward replaces the package only if it is as it was fetched; use `--strategy resource-merge`")),
    }
}

/// Whether someone edited a Kptfile: it says more than where the package comes from, what it is called here and what the last
/// render did.
fn kptfile_changed(origin: Option<&Vec<u8>>, local: Option<&Vec<u8>>) -> bool {
    let content = |bytes: Option<&Vec<u8>>| {
        let text = bytes.and_then(|bytes| decode(bytes.clone()).ok())?;
        let mut root = krm_yaml::parse_str(&text).ok()?.into_iter().next()?.root;
        ["apiVersion", "kind", "upstream", "upstreamLock", "status"]
            .iter()
            .for_each(|key| drop(root.remove(key)));
        if let Some(metadata) = root.map_at("metadata") {
            metadata.remove("name");
        }
        let mut object = Object::from(root);
        object.remove_annotation(LOCAL_CONFIG);
        let mut root = object.into_node();
        if root.get("metadata").is_some_and(Node::is_empty) {
            root.remove("metadata");
        }
        Some(root).filter(|root| !root.is_empty())
    };
    content(origin) != content(local)
}

fn merge(states: &States<'_>, side: Side, sources: &Sources, all_met: &mut Met) -> Result<Files> {
    let States { origin, updated, local, .. } = *states;
    let homes = Homes { files: local, sources, found: OnceLock::new() };
    let mut merged = Files::new();
    let paths: BTreeSet<&String> = origin.keys().chain(updated.keys()).chain(local.keys()).collect();
    let fates = subpackages(states, &mut all_met.clashes)?;
    // Files know nothing of each other.
    let one = |path: &&String| -> Result<(Option<Vec<u8>>, Met)> {
        let (was, theirs, ours) = (origin.get(*path), updated.get(*path), local.get(*path));
        let mut met = Met::default();
        let fate = path.rmatch_indices('/').find_map(|(end, _)| fates.get(&path[..end]));
        let text = match fate {
            // That of the package itself is merged elsewhere.
            None if *path == FILE => ours.cloned(),
            Some(Fate::Stays) => ours.cloned(),
            Some(Fate::Goes) => None,
            None if may_hold_resources(path, [was, theirs, ours], sources) => {
                let merging = Merging { path, here: states.shown(path), side, homes: &homes, sources };
                merging.merge([was, theirs, ours], &mut met)?
            }
            None => match (was, theirs, ours) {
                (Some(was), Some(theirs), Some(ours))
                    if was != theirs && was != ours && is_subpackage(path) =>
                {
                    let merging = KptfileMerging { path, here: &states.shown(path), side, sources };
                    Some(merging.merge(was, theirs, ours, &mut met.clashes)?)
                }
                _ => whole(path, [was, theirs, ours], side, &mut met.clashes),
            },
        };
        Ok((text, met))
    };
    let paths: Vec<&String> = paths.into_iter().collect();
    let all: Vec<_> = paths.par_iter().map(one).collect();
    for (path, one) in paths.into_iter().zip(all) {
        let (text, met) = one?;
        all_met.clashes.extend(met.clashes);
        all_met.removed.extend(met.removed);
        merged.extend(text.map(|text| (path.clone(), text)));
    }
    Ok(merged)
}

/// Whether a file is one of resources on any side. All YAML is, and JSON that looks like a resource.
fn may_hold_resources(path: &str, sides: [Option<&Vec<u8>>; 3], sources: &Sources) -> bool {
    let is_configuration = |bytes: &Vec<u8>| {
        // Its encoding is reported when it is merged.
        let Ok(source) = sources.add_bytes(path, bytes.clone()) else { return true };
        is_configuration(path, &source, krm_yaml::parse(&source).as_deref())
    };
    match path.ends_with(".json") {
        true => sides.into_iter().flatten().any(is_configuration),
        false => path.ends_with(".yaml") || path.ends_with(".yml"),
    }
}

/// What becomes of a file that is not merged by its resources.
fn whole(
    path: &str,
    [was, theirs, ours]: [Option<&Vec<u8>>; 3],
    side: Side,
    clashes: &mut Vec<Clash>,
) -> Option<Vec<u8>> {
    let mut clash = |here, upstream, kept| clashes.push(Clash::of_file(path, here, upstream, kept));
    match (was, theirs, ours) {
        (Some(was), Some(theirs), None) if was != theirs => {
            let kept = if side == Side::Ours { Kept::Nothing } else { Kept::Upstream };
            clash(Did::Remove, Did::Change, kept);
            (kept == Kept::Upstream).then(|| theirs.clone())
        }
        // As kpt: one that was removed here comes back.
        (_, theirs, None) => theirs.cloned(),
        (was, theirs, Some(ours)) if was == Some(ours) => theirs.cloned(),
        (was, theirs, Some(ours)) if theirs != was && theirs != Some(ours) => {
            let (here, upstream) = match (was, theirs) {
                (None, _) => (Did::Add, Did::Add),
                (_, None) => (Did::Change, Did::Remove),
                _ => (Did::Change, Did::Change),
            };
            clash(here, upstream, Kept::Here);
            Some(ours.clone())
        }
        (_, _, Some(ours)) => Some(ours.clone()),
    }
}

/// Whether a file is the Kptfile of a subpackage.
fn is_subpackage(path: &str) -> bool {
    path != FILE && is_kptfile(path)
}

/// The Kptfile of a subpackage that was changed on both sides.
struct KptfileMerging<'a> {
    path: &'a str,
    /// What messages call the file here.
    here: &'a str,
    side: Side,
    sources: &'a Sources,
}

impl KptfileMerging<'_> {
    fn merge(&self, was: &[u8], theirs: &[u8], ours: &[u8], clashes: &mut Vec<Clash>) -> Result<Vec<u8>> {
        let read = |bytes: &[u8], name: String| {
            let source = self.sources.add_bytes(name, bytes.to_vec())?;
            Kptfile::read(&source).map(|(_, document)| document)
        };
        let mut document = read(ours, self.here.to_owned())?;
        let (was, theirs) = (read(was, before(self.path))?, read(theirs, upstream(self.path))?);
        document.root = merge_kptfile(Some(&was.root), &theirs.root, &document.root, self.side, clashes)?;
        Ok(preserve::document(&document).into_bytes())
    }
}

/// What messages call a file as it is upstream.
fn upstream(path: &str) -> String {
    format!("{path} (upstream)")
}

/// What messages call a file as it was when the package was fetched.
fn before(path: &str) -> String {
    format!("{path} (upstream, before)")
}

/// What becomes of a subpackage as a whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is as it is here.
    Stays,
    Goes,
}

/// The subpackages that are not merged: those that one of the sides removed. Refuses those that both added.
fn subpackages(states: &States<'_>, clashes: &mut Vec<Clash>) -> Result<BTreeMap<String, Fate>> {
    let States { origin, updated, local, .. } = *states;
    let mut here = None;
    let paths: BTreeSet<&String> = origin.keys().chain(updated.keys()).chain(local.keys()).collect();
    let mut fates = BTreeMap::new();
    for path in paths {
        let Some(folder) = path.strip_suffix(FILE).and_then(|folder| folder.strip_suffix('/')) else {
            continue;
        };
        match [origin, updated, local].map(|files| files.contains_key(path)) {
            [true, false, true] => {
                let here: &Files = here.get_or_insert_with(|| noted(local));
                let untouched = files_of(origin, folder).eq(files_of(here, folder));
                if !untouched {
                    clashes.push(Clash::of_subpackage(folder, Did::Change, Did::Remove, Kept::Here));
                }
                fates.insert(folder.to_owned(), if untouched { Fate::Goes } else { Fate::Stays });
            }
            [true, is_upstream, false] => {
                if is_upstream && files_of(origin, folder).ne(files_of(updated, folder)) {
                    clashes.push(Clash::of_subpackage(folder, Did::Remove, Did::Change, Kept::Nothing));
                }
                fates.insert(folder.to_owned(), Fate::Goes);
            }
            [false, true, true] => {
                return Err(added_twice(states.folder, folder));
            }
            _ => {}
        }
    }
    Ok(fates)
}

/// What messages call a subpackage.
fn subpackage(folder: &str) -> String {
    format!("the subpackage `{folder}`")
}

fn kptfile_of(folder: &str) -> String {
    format!("{folder}/{FILE}")
}

/// The error for a subpackage of a package that appeared on both sides.
pub fn added_twice(package: &Path, folder: &str) -> Diagnostic {
    let message = format!("{} was added both here and upstream", subpackage(folder));
    Diagnostic::error("update-subpackage-twice", message)
        .in_file(&shown(package, &kptfile_of(folder)))
        .help("rename the one here, or remove it")
}

/// The files in a folder and those below.
fn files_of<'f>(files: &'f Files, folder: &str) -> impl Iterator<Item = (&'f String, &'f Vec<u8>)> {
    let first = format!("{folder}/");
    files.range(first.clone()..).take_while(move |(path, _)| path.starts_with(&first))
}

/// A resource by its type and by what upstream calls it.
type Key = (String, String, String, String);

/// The resources of a file by their keys, in order.
struct Keyed {
    documents: Vec<Document>,
    at: FxHashMap<Key, usize>,
    keys: Vec<Option<Key>>,
}

/// What a file holds, if it is there.
fn documents(path: &str, bytes: Option<&Vec<u8>>, sources: &Sources) -> Result<Vec<Document>> {
    bytes.map_or_else(|| Ok(Vec::new()), |bytes| krm_yaml::parse(&sources.add_bytes(path, bytes.clone())?))
}

impl Keyed {
    fn new(path: &str, documents: Vec<Document>) -> Result<Self> {
        let mut keyed = Self { at: FxHashMap::default(), keys: Vec::new(), documents };
        for (at, document) in keyed.documents.iter().enumerate() {
            let object = Object::from(document.original().clone());
            let (namespace, name) = upstream_name(document);
            let key = (!object.kind().is_empty() && !name.is_empty())
                .then(|| (object.group().to_owned(), object.kind().to_owned(), namespace, name));
            if let Some(key) = &key
                && let Some(other) = keyed.at.insert(key.clone(), at)
            {
                let message = format!("`{path}` has two resources that upstream calls {} `{}`", key.1, key.3);
                return Err(Diagnostic::error("update-duplicate", message)
                    .at(document.root.span())
                    .note("the other one", keyed.documents[other].root.span())
                    .help("remove one of them, or correct its `# kpt-merge:` comment"));
            }
            keyed.keys.push(key);
        }
        Ok(keyed)
    }

    /// What has no key by which it could be found on another side.
    fn unnamed(&self) -> impl Iterator<Item = &Node> {
        let unnamed = self.documents.iter().zip(&self.keys).filter(|(_, key)| key.is_none());
        unnamed.map(|(document, _)| &document.root).filter(|root| !root.is_null())
    }

    fn resources(&self) -> impl Iterator<Item = (&Document, Option<&Key>)> {
        self.documents.iter().zip(self.keys.iter().map(Option::as_ref))
    }

    fn get(&self, key: &Key) -> Option<&Document> {
        self.at.get(key).map(|at| &self.documents[*at])
    }
}

/// Which file holds each resource here, to say where one went that has left its file. The files are read only if that is asked.
struct Homes<'a> {
    files: &'a Files,
    sources: &'a Sources,
    found: OnceLock<FxHashMap<Key, String>>,
}

impl Homes<'_> {
    fn of(&self, key: &Key) -> Option<&String> {
        let found = self.found.get_or_init(|| {
            let mut found = FxHashMap::default();
            for (path, bytes) in self.files {
                // Not every file is YAML.
                let keyed = documents(path, Some(bytes), self.sources).and_then(|all| Keyed::new(path, all));
                if let Ok(keyed) = keyed {
                    found.extend(keyed.at.into_keys().map(|key| (key, path.clone())));
                }
            }
            found
        });
        found.get(key)
    }
}

/// One file of resources that is merged.
struct Merging<'a> {
    path: &'a str,
    /// What messages call the file here.
    here: String,
    side: Side,
    homes: &'a Homes<'a>,
    sources: &'a Sources,
}

impl Merging<'_> {
    fn merge(&self, [was, theirs, ours]: [Option<&Vec<u8>>; 3], met: &mut Met) -> Result<Option<Vec<u8>>> {
        let bytes = [was, theirs, ours];
        let here = || Keyed::new(&self.here, documents(&self.here, ours, self.sources)?);
        if was == theirs {
            // Nothing changed upstream; but a file that cannot be merged is better found before it has to be. A template
            // never is.
            return match here() {
                Err(error) if documents(&before(self.path), was, self.sources).is_ok() => Err(error),
                _ => Ok(ours.cloned()),
            };
        }
        let was = documents(&before(self.path), was, self.sources);
        let (Ok(was), Ok(theirs)) = (was, documents(&upstream(self.path), theirs, self.sources)) else {
            // Upstream itself does not write YAML here: it is a template, and treated like any other file.
            return Ok(whole(self.path, bytes, self.side, &mut met.clashes));
        };
        let (was, theirs, ours) =
            (Keyed::new(&before(self.path), was)?, Keyed::new(&upstream(self.path), theirs)?, here()?);
        let holds_none = [&was, &theirs, &ours].iter().all(|side| side.at.is_empty());
        if holds_none || !was.unnamed().eq(theirs.unnamed()) {
            // There is no resource in it, or upstream changed one without a name, such as a list: it is a file like any other.
            return Ok(whole(self.path, bytes, self.side, &mut met.clashes));
        }
        let sides = Sides { was, theirs, ours };
        let mut removed = Vec::new();
        let mut documents = Vec::new();
        for (document, key) in sides.ours.resources() {
            match self.ours(document, key, &sides, &mut met.clashes)? {
                Outcome::Stays(document) => documents.push(document),
                Outcome::Removed => removed.push(format!("{} of {}", named(&document.root), self.here)),
                Outcome::Cleared => {}
            }
        }
        for (document, key) in sides.theirs.resources() {
            met.clashes.extend(key.and_then(|key| self.missing_here(document, key, &sides)));
            if sides.adds(document, key) {
                let here = key.and_then(|key| self.homes.of(key)).cloned();
                let twice =
                    |here| Clash::Twice { what: named(&document.root), here, place: document.root.span() };
                met.clashes.extend(here.map(twice));
                documents.push(document.clone());
            }
        }
        let left = documents.iter().any(|document| !document.root.is_null());
        // A file that goes says it all.
        met.removed.extend(removed.into_iter().filter(|_| left));
        let [_, theirs, ours] = bytes;
        let begins_with_dashes = ours.or(theirs).is_some_and(|text| text.starts_with(b"---"));
        Ok(left.then(|| {
            let text = preserve::stream(&documents);
            let text = match text.strip_prefix("---\n") {
                Some(rest) if !begins_with_dashes => rest.to_owned(),
                _ => text,
            };
            let before = ours.or(theirs).and_then(|bytes| decode(bytes.clone()).ok());
            still_json(self.path, before.as_deref(), text, &documents).into_bytes()
        }))
    }

    /// What becomes of a resource that is here.
    fn ours(
        &self,
        document: &Document,
        key: Option<&Key>,
        sides: &Sides,
        clashes: &mut Vec<Clash>,
    ) -> Result<Outcome> {
        let (was, theirs) = key.map_or((None, None), |key| (sides.was.get(key), sides.theirs.get(key)));
        let Some(theirs) = theirs else {
            return Ok(match was {
                Some(was) if same_text(was, document) => Outcome::Removed,
                Some(_) => {
                    clashes.push(Clash::removed_upstream(&document.root));
                    Outcome::Stays(document.clone())
                }
                None => Outcome::Stays(document.clone()),
            });
        };
        let was = was.map(|was| &was.root);
        let schema = Schema::builtin();
        let (merged, met) =
            three_way(was, &theirs.root, &document.root, self.side, &schema, Options::default())?;
        clashes.extend(met.into_iter().map(|conflict| Clash::in_field(&document.root, conflict)));
        let mut document = document.clone();
        match merged {
            Merged::Same => {}
            Merged::Changed(node) => document.root = node,
            Merged::Deleted => return Ok(Outcome::Cleared),
        }
        Ok(Outcome::Stays(document))
    }

    /// The conflict if upstream changed a resource that is no longer in the local copy of this file.
    fn missing_here(&self, document: &Document, key: &Key, sides: &Sides) -> Option<Clash> {
        let was = sides.was.get(key)?;
        if sides.ours.get(key).is_some() || !differ(was, document) {
            return None;
        }
        let (what, place) = (named(&document.root), document.root.span());
        let moved_to = self.homes.of(key).cloned();
        let (here, upstream, kept) = (Did::Remove, Did::Change, Kept::Nothing);
        Some(Clash::Whole { what, here, upstream, kept, place, moved_to })
    }
}

/// The three states of one file.
struct Sides {
    was: Keyed,
    theirs: Keyed,
    ours: Keyed,
}

impl Sides {
    /// Whether upstream added this document.
    fn adds(&self, document: &Document, key: Option<&Key>) -> bool {
        match key {
            Some(key) => self.ours.get(key).is_none() && self.was.get(key).is_none(),
            None => {
                let is_new = self.ours.documents.is_empty() && self.was.documents.is_empty();
                is_new && !document.root.is_null()
            }
        }
    }
}

/// What became of a resource here.
enum Outcome {
    Stays(Document),
    /// Upstream removed it.
    Removed,
    /// A directive in the update deletes it.
    Cleared,
}

/// Whether two versions of a resource are the same to the letter: a comment that someone wrote is a change, too.
fn same_text(one: &Document, other: &Document) -> bool {
    let lines = |document: &Document| -> Vec<String> {
        let text = document.source().text()[document.span().range()].trim();
        let text = text.strip_prefix("---").unwrap_or(text).trim();
        text.lines().map(|line| without_comment(line).trim_end().to_owned()).collect()
    };
    lines(one) == lines(other)
}

/// Whether two versions of a resource differ in more than comments and what kpt notes of it.
fn differ(one: &Document, other: &Document) -> bool {
    without_notes(&one.root) != without_notes(&other.root)
}

/// A resource by its kind and name, as in a sentence.
fn named(resource: &Node) -> String {
    let text = |node: Option<&Node>| node.and_then(Node::text).unwrap_or_default().to_owned();
    format!("{} `{}`", text(resource.get("kind")), text(resource.at(["metadata", "name"])))
}
