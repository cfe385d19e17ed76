//! What an update makes of a package: from what it was upstream, what it is there now, and what it is here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;

use krm_function::Object;
use krm_function::annotations::LOCAL_CONFIG;
use krm_yaml::emit::preserve;
use krm_yaml::{Diagnostic, Document, Node, Result, Sources, Span, decode, encode_like};
use rayon::prelude::*;

use super::keyed::{AllHomes, Home, Homes, Key, Keyed, documents, is_unnamed, text_of};
use super::kptfile::{FILE, Kptfile, Strategy};
use super::merge_comments::{with_merge_comments, without_comment, without_notes};
use super::upstream::merge_kptfile;
use crate::merge::{Conflict, Merged, Options, ResourceConflict, Side, three_way};
use crate::package::is_configuration;
use crate::resource::comments::{is_same, keep_head};
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
    /// The links that are here, to files or folders. They stay, and nothing is written through them.
    pub links: &'a [String],
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
    Twice {
        /// The resource, as in ``Deployment `web` ``.
        what: String,
        /// The file it is in here.
        here: String,
        /// Where upstream adds it.
        place: Span,
    },
    /// The documents without a name in a file, by its path.
    Unnamed {
        /// The file, relative to the package.
        path: String,
        /// What was done to them here.
        here: Did,
        /// What was done to them upstream.
        upstream: Did,
        /// What there is after the update.
        kept: Kept,
    },
    /// A field, and whose value is taken.
    Field(ResourceConflict),
    /// A file or a subpackage.
    File {
        /// Its name.
        what: String,
        /// The path of the file, or of the Kptfile of the subpackage.
        path: String,
        /// What was done to it here.
        here: Did,
        /// What was done to it upstream.
        upstream: Did,
        /// What there is after the update.
        kept: Kept,
    },
    /// A resource.
    Whole {
        /// Its name.
        what: String,
        /// What was done to it here.
        here: Did,
        /// What was done to it upstream.
        upstream: Did,
        /// What there is after the update.
        kept: Kept,
        /// Where it is written.
        place: Span,
        /// For a resource that left its file here: the file that it is in now.
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
    /// What was here.
    Here,
    /// What upstream has.
    Upstream,
    /// Nothing: it is gone, or stays away.
    Nothing,
}

/// What a side did to a resource or a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    /// It was not there before.
    Add,
    /// It was there before, and is different now.
    Change,
    /// It was there before, and is gone.
    Remove,
}

impl Did {
    /// The word for it in messages: `added`, `changed`, `removed`.
    pub fn participle(self) -> &'static str {
        match self {
            Did::Add => "added",
            Did::Change => "changed",
            Did::Remove => "removed",
        }
    }
}

/// What an update makes of a package.
#[non_exhaustive]
pub struct Updated {
    /// All of its files except the root Kptfile.
    pub files: Files,
    /// What both sides changed.
    pub clashes: Vec<Clash>,
    /// The resources that went because upstream removed them, from files that stay.
    pub removed: Vec<String>,
}

/// What to report about the files of a package.
#[derive(Default)]
struct Met {
    clashes: Vec<Clash>,
    removed: Vec<String>,
    /// What upstream adds, and is in another file here, as far as that one keeps it.
    twice: Vec<Twice>,
}

struct Twice {
    key: Key,
    home: Home,
    what: String,
    place: Span,
}

/// What becomes of the package here, and what both sides changed. Of a field that both changed, `side` says whose value is
/// taken.
pub fn update(states: &States<'_>, strategy: Strategy, side: Side, sources: &Sources) -> Result<Updated> {
    let States { origin, updated, local, folder, links } = *states;
    let (mut origin, mut updated) = (noted(origin), noted(updated));
    let mut met = Met::default();
    if strategy == Strategy::FastForward {
        refuse_changes(&origin, states)?;
    }
    for link in links {
        met.clashes.extend(kept_link(link, &mut origin, &mut updated));
    }
    let merged = match strategy {
        Strategy::FastForward | Strategy::ForceDeleteReplace => updated,
        Strategy::CopyMerge => {
            let mut all: Files = local.clone();
            all.retain(|path, _| updated.contains_key(path) || !origin.contains_key(path));
            met.clashes.extend(overwritten(&origin, &updated, local));
            all.extend(updated);
            all
        }
        Strategy::ResourceMerge => {
            let states = States { origin: &origin, updated: &updated, local, folder, links };
            merge(&states, side, sources, &mut met)?
        }
    };
    Ok(Updated { files: noted(&merged), clashes: met.clashes, removed: met.removed })
}

/// Removes what a link replaces from both upstream sides. Returns the conflict if they differ.
fn kept_link(link: &str, origin: &mut Files, updated: &mut Files) -> Option<Clash> {
    let is_within =
        |path: &String| path.strip_prefix(link).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let [was, theirs] =
        [origin, updated].map(|files| -> Files { files.extract_if(.., |path, _| is_within(path)).collect() });
    let (here, upstream) = match (was.is_empty(), theirs.is_empty()) {
        (true, _) => (Did::Add, Did::Add),
        (false, true) => (Did::Change, Did::Remove),
        (false, false) => (Did::Change, Did::Change),
    };
    (was != theirs).then(|| Clash::of_file(link, here, upstream, Kept::Here))
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
    let with_comments = |bytes: &Vec<u8>| {
        let text = with_merge_comments(&decode(bytes.clone()).ok()?).ok()?;
        Some(encode_like(bytes, &text))
    };
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
    let homes = |files| Homes { files, folder: states.folder, sources, found: OnceLock::new() };
    let homes = AllHomes { was: homes(origin), theirs: homes(updated), ours: homes(local) };
    let mut merged = Files::new();
    let paths: BTreeSet<&String> = origin.keys().chain(updated.keys()).chain(local.keys()).collect();
    let Subpackages { fates, dissolved } = subpackages(states, &mut all_met.clashes)?;
    // Files know nothing about each other.
    let one = |path: &&String| -> Result<(Option<Vec<u8>>, Met)> {
        let (was, theirs, ours) = (origin.get(*path), updated.get(*path), local.get(*path));
        let mut met = Met::default();
        let fate = path.rmatch_indices('/').find_map(|(end, _)| fates.get(&path[..end]));
        let text = match fate {
            // That of the package itself is merged elsewhere.
            None if *path == FILE => ours.cloned(),
            Some(Fate::Stays) => ours.cloned(),
            Some(Fate::Goes) => None,
            None if dissolved.contains(*path) => {
                let is_changed = theirs.is_some() && was != theirs;
                let clash = || Clash::of_file(path, Did::Remove, Did::Change, Kept::Nothing);
                met.clashes.extend(is_changed.then(clash));
                None
            }
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
        all_met.twice.extend(met.twice);
        merged.extend(text.map(|text| (path.clone(), text)));
    }
    // What upstream moved is in one file again.
    let after = Homes { files: &merged, folder: states.folder, sources, found: OnceLock::new() };
    for Twice { key, home, what, place } in std::mem::take(&mut all_met.twice) {
        if after.all(&key).iter().any(|after| after.path == home.path) {
            all_met.clashes.push(Clash::Twice { what, here: home.path, place });
        }
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
        // quirk(removed-files-come-back): An update of a package brings back a file that was removed from the copy, if
        // it is not one of resources. (kpt `update.ReplaceNonKRMFiles`)
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
        Ok(encode_like(ours, &preserve::document(&document)))
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

#[derive(Default)]
struct Subpackages {
    /// Those that are not merged, by their folders.
    fates: BTreeMap<String, Fate>,
    /// The Kptfiles that were removed here. What is left of their folders belongs to the package above.
    dissolved: BTreeSet<String>,
}

/// What becomes of subpackages that one of the sides removed. Refuses those that both added.
fn subpackages(states: &States<'_>, clashes: &mut Vec<Clash>) -> Result<Subpackages> {
    let States { origin, updated, local, .. } = *states;
    let mut here = None;
    let paths: BTreeSet<&String> = origin.keys().chain(updated.keys()).chain(local.keys()).collect();
    let Subpackages { mut fates, mut dissolved } = Subpackages::default();
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
            [true, _, false] if files_of(local, folder).next().is_some() => {
                dissolved.insert(path.clone());
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
    Ok(Subpackages { fates, dissolved })
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

/// One file of resources that is merged.
struct Merging<'a> {
    path: &'a str,
    /// What messages call the file here.
    here: String,
    side: Side,
    homes: &'a AllHomes<'a>,
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
        if holds_none {
            // There is no resource in it that could be found on another side: it is a file like any other.
            return Ok(whole(self.path, bytes, self.side, &mut met.clashes));
        }
        let sides = Sides { was, theirs, ours };
        let takes_unnamed = self.takes_unnamed(&sides, &mut met.clashes);
        let mut removed = Vec::new();
        let mut documents = Vec::new();
        let mut unnamed = sides.theirs.unnamed().into_iter();
        for (document, key) in sides.ours.resources() {
            if takes_unnamed && is_unnamed(document, key) {
                match unnamed.next() {
                    Some(theirs) => documents.push(theirs.clone()),
                    None => removed.push(format!("{} of {}", named(&document.root), self.here)),
                }
                continue;
            }
            match self.ours(document, key, &sides, &mut met.clashes)? {
                Outcome::Stays(document) => documents.push(document),
                Outcome::Removed => removed.push(format!("{} of {}", named(&document.root), self.here)),
                Outcome::Cleared => {}
            }
        }
        let mut unnamed = unnamed.filter(|_| takes_unnamed).peekable();
        for (document, key) in sides.theirs.resources() {
            let Some(key) = key else {
                documents.extend(unnamed.next_if(|left| std::ptr::eq(*left, document)).cloned());
                continue;
            };
            met.clashes.extend(self.missing_here(document, key, &sides));
            if sides.ours.get(key).is_none() && sides.was.get(key).is_none() {
                let (what, place) = (named(&document.root), document.root.span());
                let twice =
                    |home: &Home| Twice { key: key.clone(), home: home.clone(), what: what.clone(), place };
                met.twice.extend(self.homes.only_here(key).map(twice));
                documents.push(document.clone());
            }
        }
        met.clashes.extend(sides.was.resources().filter_map(|(_, key)| self.moved_and_removed(key?, &sides)));
        if !sides.replaces_head(&documents) {
            keep_head(&sides.ours.documents, &mut documents);
        }
        // What was commented out here is something that someone wrote.
        let left = documents.iter().any(|document| !document.root.is_null())
            || !sides.ours.comments().is_subset(&sides.was.comments());
        // A file that goes says it all.
        met.removed.extend(removed.into_iter().filter(|_| left));
        let [was, theirs, ours] = bytes;
        if was.is_none() && ours.is_none() {
            // A new file is as upstream wrote it.
            return Ok(theirs.cloned());
        }
        let bytes = ours.or(theirs).map_or(&[][..], Vec::as_slice);
        let before = decode(bytes.to_vec()).ok();
        let begins_with_dashes = before.as_ref().is_some_and(|text| text.starts_with("---"));
        Ok(left.then(|| {
            let text = preserve::stream(&documents);
            let text = match text.strip_prefix("---\n") {
                Some(rest) if !begins_with_dashes => rest.to_owned(),
                _ => text,
            };
            encode_like(bytes, &still_json(self.path, before.as_deref(), text, &documents))
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

    /// Whether upstream's documents without a name take the place of those here. They cannot be paired one by one: all of
    /// them are taken from one side.
    fn takes_unnamed(&self, sides: &Sides, clashes: &mut Vec<Clash>) -> bool {
        let [was, theirs, ours] = [&sides.was, &sides.theirs, &sides.ours].map(Keyed::unnamed);
        let same = |one: &[&Document], other: &[&Document]| {
            one.iter().map(|document| &document.root).eq(other.iter().map(|document| &document.root))
        };
        if same(&was, &theirs) {
            return false;
        }
        let is_untouched =
            ours.len() == was.len() && ours.iter().zip(&was).all(|(ours, was)| same_text(was, ours));
        if !is_untouched && !same(&ours, &theirs) {
            let did = |side: &[&Document]| match (was.is_empty(), side.is_empty()) {
                (true, _) => Did::Add,
                (false, true) => Did::Remove,
                (false, false) => Did::Change,
            };
            let kept = if ours.is_empty() { Kept::Nothing } else { Kept::Here };
            let (here, upstream) = (did(&ours), did(&theirs));
            clashes.push(Clash::Unnamed { path: self.path.to_owned(), here, upstream, kept });
        }
        is_untouched
    }

    /// The conflict if a resource was moved to another file here, and is nowhere upstream any more.
    fn moved_and_removed(&self, key: &Key, sides: &Sides) -> Option<Clash> {
        let is_there = sides.ours.get(key).is_some() || !self.homes.theirs.all(key).is_empty();
        let Home { path, span } = self.homes.moved_to(key).filter(|_| !is_there)?;
        let what = named(&sides.was.get(key)?.root);
        let (here, upstream, kept) = (Did::Remove, Did::Remove, Kept::Here);
        Some(Clash::Whole { what, here, upstream, kept, place: *span, moved_to: Some(path.clone()) })
    }

    /// The conflict if upstream changed a resource that is no longer in the local copy of this file.
    fn missing_here(&self, document: &Document, key: &Key, sides: &Sides) -> Option<Clash> {
        let was = sides.was.get(key)?;
        if sides.ours.get(key).is_some() || !differ(was, document) {
            return None;
        }
        let (what, place) = (named(&document.root), document.root.span());
        let moved_to = self.homes.moved_to(key).map(|home| home.path.clone());
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
    /// Whether what upstream wrote above its first document takes the place of what is above the first one here.
    fn replaces_head(&self, merged: &[Document]) -> bool {
        let theirs = self.theirs.documents.first().filter(|first| !first.head().is_empty());
        self.was.head() == self.ours.head()
            && theirs.is_some_and(|theirs| merged.iter().any(|document| is_same(document, theirs)))
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
        text_of(document).lines().map(|line| without_comment(line).trim_end().to_owned()).collect()
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
    match (text(resource.get("kind")), text(resource.at(["metadata", "name"]))) {
        (kind, name) if kind.is_empty() && name.is_empty() => "a document without a name".to_owned(),
        (kind, name) if name.is_empty() => format!("a {kind} without a name"),
        (kind, name) => format!("{kind} `{name}`"),
    }
}
