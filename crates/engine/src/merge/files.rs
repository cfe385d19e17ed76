//! Merging sets of files: which resource is which, and where new ones go.

use std::collections::BTreeSet;
use std::sync::Arc;

use krm_function::annotations::LAST_APPLIED;
use krm_yaml::{Diagnostic, Document, Node, Result, Source, Text};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::comments::between_nodes::Margins;
use super::comments::same_throughout;
use super::identity::{
    Index, Key, Keyed, Known, Parts, Paths, Place, holds_kustomization, is_kustomization_file,
};
use super::three_way::{Side, three_way_within};
use super::two_way::two_way_within;
use super::{Conflict, Merged, Options, keyless, renames, two_way};
use crate::resource::SECRET_DATA;
use crate::resource::comments::{for_file, keep_head};
use crate::resource::wrapper::{
    ItemPath, list_items, remove_resources, resource_at, resource_at_mut, still_json,
};
use crate::schema::Schema;

/// A file of resources.
#[derive(Clone, Debug)]
pub struct File {
    /// Its path within the set, with `/`.
    pub path: String,
    /// What it was read from; `None` of a file that is new.
    pub source: Option<Arc<Source>>,
    /// In order; each keeps the text it was read from beside its tree.
    pub documents: Vec<Document>,
    /// Its path before an update renamed it.
    pub renamed_from: Option<String>,
}

impl File {
    /// Reads a file.
    pub fn read(path: impl Into<String>, source: &Arc<Source>) -> Result<Self> {
        let documents = krm_yaml::parse(source)?;
        Ok(Self { path: path.into(), source: Some(source.clone()), documents, renamed_from: None })
    }

    /// A file that is new.
    pub fn made(path: impl Into<String>, documents: Vec<Document>) -> Self {
        Self { path: path.into(), source: None, documents, renamed_from: None }
    }

    /// The text as it is now: every byte as it was written where nothing changed.
    pub fn text(&self) -> String {
        match &self.source {
            Some(source) if self.is_untouched() => source.text().to_owned(),
            _ => {
                let text = krm_yaml::emit::preserve::stream(&self.documents);
                // The first document went, and with it what the marker divided.
                let divides = self.documents.first().is_some_and(|first| first.span().start > 0);
                let text = match text.strip_prefix("---\n").filter(|_| divides) {
                    Some(rest) => rest.to_owned(),
                    None => text,
                };
                let before = self.source.as_ref().map(|source| source.text());
                still_json(&self.path, before, text, &self.documents)
            }
        }
    }

    /// Whether it is as it was read.
    pub fn is_untouched(&self) -> bool {
        let Some(source) = &self.source else { return false };
        let untouched = |d: &Document| Arc::ptr_eq(d.source(), source) && d.is_as_written();
        let length: usize = self.documents.iter().map(|d| d.span().len()).sum();
        length == source.text().len() && self.documents.iter().all(untouched)
    }

    /// Whether nothing is left in it.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }
}

/// What resources are merged into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// One file, which takes every resource.
    OneFile,
    /// A folder, in which files are those of the same path.
    Folder,
}

impl Destination {
    fn paths(self) -> Paths {
        match self {
            Destination::OneFile => Paths::DoNotMatter,
            Destination::Folder => Paths::Matter,
        }
    }
}

/// What came out of a merge.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The destination as it is now.
    pub files: Vec<File>,
    /// The resources that came or went, in order.
    pub news: Vec<News>,
    /// What both sides changed, and the merge had to choose.
    pub conflicts: Vec<ResourceConflict>,
    /// Merges that are probably not what was meant.
    pub warnings: Vec<Diagnostic>,
    /// Files that the update renamed and that keep their names, since the destination has another file of the new one: the
    /// old name and the new.
    pub not_renamed: Vec<(String, String)>,
}

/// A resource that came or went.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct News {
    /// Whether it came or went.
    pub what: What,
    /// ``Deployment `web` ``
    pub resource: String,
    /// The file it is or was in.
    pub path: String,
}

/// Whether a resource came or went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It is new in the destination.
    Added,
    /// It is no longer in the destination.
    Removed,
}

/// A conflict, and the resource it was met in.
#[derive(Clone, Debug)]
pub struct ResourceConflict {
    /// ``Deployment `web` ``
    pub resource: String,
    /// The field, and what the sides have.
    pub conflict: Conflict,
    /// Its values are those of a Secret: messages must not show them.
    pub is_secret: bool,
}

impl ResourceConflict {
    pub(crate) fn new(resource: String, kind: &str, conflict: Conflict) -> Self {
        let Conflict { path, original, dest, updated, .. } = &conflict;
        let holds_data = |field: &Text| SECRET_DATA.contains(&field.as_str()) || field == LAST_APPLIED;
        let generates_secrets = kind == "SecretGenerator"
            || path.first().is_some_and(|field| field == "secretGenerator")
            || path.is_empty() && matches!(kind, "Kustomization" | "Component");
        let is_secret = generates_secrets
            || kind == "Secret"
                && (path.iter().any(holds_data)
                    || ![original, dest, updated].into_iter().flatten().all(Node::is_scalar));
        Self { resource, conflict, is_secret }
    }
}

/// A set of files whose resources go into others, without anchors: they are names within a file, and mean nothing in
/// another.
struct Trees<'f> {
    files: &'f [File],
    /// The documents that were written with anchors.
    resolved: FxHashMap<(usize, usize), Node>,
}

impl<'f> Trees<'f> {
    fn of(files: &'f [File]) -> Result<Self> {
        let mut resolved = FxHashMap::default();
        for (file, File { documents, .. }) in files.iter().enumerate() {
            for (at, document) in documents.iter().enumerate().filter(|(_, d)| d.has_references()) {
                let mut root = document.root.clone();
                krm_yaml::merge_keys::resolve(&mut root)?;
                resolved.insert((file, at), root);
            }
        }
        Ok(Self { files, resolved })
    }

    fn get(&self, place: &Place) -> &Node {
        match self.resolved.get(&(place.file, place.document)) {
            Some(root) => resource_at(root, &place.items),
            None => place.node(self.files),
        }
    }

    fn document(&self, place: &Place) -> &Document {
        &self.files[place.file].documents[place.document]
    }

    fn path(&self, place: &Place) -> &str {
        &self.files[place.file].path
    }

    /// A resource for a destination that has none like it: nulls and directives have no place in it. `None` if it says
    /// that there is to be none.
    fn new_resource(&self, known: &Known, schema: &Schema, options: Options) -> Result<Option<New>> {
        let tree = self.get(&known.place);
        let node = match two_way(tree, &Node::null(), schema, options)? {
            Merged::Deleted => return Ok(None),
            Merged::Changed(root) if root != *tree => root,
            _ => tree.clone(),
        };
        Ok(Some(New { key: known.key.clone(), place: known.place.clone(), node }))
    }
}

/// The comments next to a resource that are not its own.
fn margins<'f>(files: &'f [File], place: &Place, head: Option<&'f str>) -> Margins<'f> {
    let document = &files[place.file].documents[place.document];
    let Some((at, list)) = place.items.split_last() else {
        return Margins { above: head.unwrap_or(document.head()), below: document.foot() };
    };
    let items = list_items(resource_at(&document.root, list)).unwrap_or_default();
    let below = items.get(*at as usize + 1).map_or("", |next| next.trivia().head.as_str());
    Margins { above: "", below }
}

/// What becomes of a resource of the destination.
struct Change {
    place: Place,
    merged: Merged,
    /// The comments to put above its document, if they change.
    head: Option<Text>,
}

fn apply(dest: &mut [File], changes: Vec<Change>) {
    let mut deleted: FxHashMap<(usize, usize), BTreeSet<ItemPath>> = FxHashMap::default();
    for Change { place, merged, head } in changes {
        let document = &mut dest[place.file].documents[place.document];
        head.into_iter().for_each(|head| document.set_head(head));
        match merged {
            Merged::Same => {}
            Merged::Changed(node) => *resource_at_mut(&mut document.root, &place.items) = node,
            Merged::Deleted => {
                deleted.entry((place.file, place.document)).or_default().insert(place.items);
            }
        }
    }
    let mut gone: FxHashMap<usize, FxHashSet<usize>> = FxHashMap::default();
    for ((file, at), items) in deleted {
        if !remove_resources(&mut dest[file].documents[at].root, items) {
            gone.entry(file).or_default().insert(at);
        }
    }
    for (file, gone) in gone {
        let mut at = 0..;
        let before = dest[file].documents.first().cloned();
        dest[file].documents.retain(|_| !gone.contains(&at.next().expect("numbers do not end")));
        keep_head(before.as_slice(), &mut dest[file].documents);
    }
}

/// A resource that is new to the destination.
struct New {
    key: Key,
    /// Where it comes from.
    place: Place,
    node: Node,
}

/// Puts new resources where they were: into the list that others of their list are in; into the file of the same path,
/// which may be new; or, if the destination is one file, after what is there. A file that is one list takes them as its
/// items. Returns the path of the file for each.
fn add(
    dest: &mut Vec<File>,
    into: Destination,
    from: &Trees,
    lists: &FxHashMap<Place, Place>,
    changes: &[Change],
    new: Vec<New>,
) -> Result<Vec<News>> {
    let mut files: FxHashMap<String, usize> = match new.is_empty() {
        true => FxHashMap::default(),
        false => dest.iter().enumerate().map(|(at, file)| (file.path.clone(), at)).collect(),
    };
    // Where a list that is new went.
    let mut new_lists: FxHashMap<(usize, usize), Place> = FxHashMap::default();
    let mut news = Vec::with_capacity(new.len());
    for New { key, place, node } in new {
        let path = from.path(&place);
        let file = match into {
            Destination::OneFile if !dest.is_empty() => 0,
            _ => *files.entry(path.to_owned()).or_insert_with(|| {
                dest.push(File::made(path, Vec::new()));
                dest.len() - 1
            }),
        };
        let known = place.list().and_then(|list| lists.get(&list)).cloned();
        let list = known.or_else(|| only_list(&dest[file], file)).or_else(|| {
            let list = new_lists.get(&(place.file, place.document)).filter(|_| !place.items.is_empty());
            list.cloned()
        });
        let file = match list {
            Some(list) => {
                let node = for_file(&node, &dest[list.file].path).into_owned();
                let root = &mut dest[list.file].documents[list.document].root;
                let items = resource_at_mut(root, &list.items).get_mut("items").and_then(Node::make_seq);
                items.expect("a list has items").push(node);
                list.file
            }
            None => {
                refuse_second_document(dest, file, changes, &key, &node)?;
                let mut document = from.document(&place).clone();
                match place.items.is_empty() {
                    true => document.root = node,
                    false => {
                        document.root.set("items", Node::from(vec![node]));
                        let list = Place { file, document: dest[file].documents.len(), items: Vec::new() };
                        new_lists.insert((place.file, place.document), list);
                    }
                }
                dest[file].documents.push(document);
                file
            }
        };
        news.push(News { what: What::Added, resource: key.to_string(), path: dest[file].path.clone() });
    }
    Ok(news)
}

/// A kustomization is the only document of its file, unless it is about to be removed.
fn refuse_second_document(
    dest: &[File],
    file: usize,
    changes: &[Change],
    key: &Key,
    new: &Node,
) -> Result<()> {
    let File { path, documents, .. } = &dest[file];
    if !is_kustomization_file(path) {
        return Ok(());
    }
    let stays = |document: usize| {
        let is_this = |place: &Place| *place == Place { file, document, items: Vec::new() };
        !changes.iter().any(|change| matches!(change.merged, Merged::Deleted) && is_this(&change.place))
    };
    let is_refused = |root: &Node| key.is_kustomization() || holds_kustomization(root, path);
    let roots = documents.iter().map(|document| &document.root).enumerate();
    let mut roots = roots.filter(|(at, root)| !root.is_null() && stays(*at));
    let Some((_, there)) = roots.find(|(_, root)| is_refused(root)) else { return Ok(()) };
    Err(Diagnostic::error("merge-into-kustomization", format!("{key} cannot be added to `{path}`"))
        .at(new.span())
        .note("a kustomization is the only document of its file", there.span())
        .help(match key.is_kustomization() {
            true => "give the kustomization a file of its own",
            false => "merge it into another file, and name that file in the kustomization's `resources`",
        }))
}

/// The list that a file consists of, if it does.
fn only_list(file: &File, number: usize) -> Option<Place> {
    let mut documents = file.documents.iter().enumerate().filter(|(_, d)| !d.root.is_null());
    let (document, only) = documents.next().filter(|_| documents.next().is_none())?;
    list_items(&only.root)?;
    Some(Place { file: number, document, items: Vec::new() })
}

/// Merges the resources of a source into those of a destination: paired by apiVersion, kind, namespace and name. What only
/// the source has is added, what only the destination has is kept. Items of lists are resources like others.
pub fn merge_files(
    source: &[File],
    mut dest: Vec<File>,
    into: Destination,
    schema: &Schema,
    options: Options,
) -> Result<Outcome> {
    let trees = Trees::of(source)?;
    let (mut dests, mut sources) = (Keyed::new(&dest, into.paths()), Keyed::new(source, into.paths()));
    let several = dests.in_several_files();
    dests.distinguish_by_file(&several);
    sources.distinguish_by_file(&several);
    dests.refuse_duplicates()?;
    let index = Index::new(&dests, Parts::Compared);
    // If there are several sources for one resource, each is merged in turn.
    let mut by_place: FxHashMap<&Place, Vec<&Place>> = FxHashMap::default();
    let mut lists: FxHashMap<Place, Place> = FxHashMap::default();
    let mut new: Vec<&Known> = Vec::new();
    let mut order: Vec<(&Place, &Known)> = Vec::new();
    for known in &sources.resources {
        match index.find(known, sources.is_one()) {
            None if !several.is_empty() && several.contains(&known.key.in_any_file()) => {
                return Err(dests.refuse_choice(&known.key));
            }
            Some(at) => {
                let places = by_place.entry(at).or_default();
                if places.is_empty() {
                    order.push((at, known));
                }
                places.push(&known.place);
                if let (Some(from), Some(to)) = (known.place.list(), at.list()) {
                    lists.entry(from).or_insert(to);
                }
            }
            None => {
                let first = dests.resources.first().filter(|_| into == Destination::OneFile);
                first
                    .map_or(Ok(()), |first| refuse_list(trees.get(&known.place), first.place.node(&dest)))?;
                new.push(known);
            }
        }
    }
    let merge = |(place, known): &(&Place, &Known)| -> Result<(Change, Vec<Diagnostic>)> {
        let (mut merged, mut warnings) = (Merged::Same, Vec::new());
        let (root, margins) = (place.node(&dest), margins(&dest, place, None));
        for from in &by_place[place] {
            let from = for_file(trees.get(from), &dest[place.file].path);
            refuse_list(&from, root)?;
            if known.key.is_kustomization() {
                refuse_other_kind(&from, root)?;
            }
            let dest = match &merged {
                Merged::Changed(node) => node,
                _ => root,
            };
            warnings.extend(keyless::warnings(&from, dest, schema));
            match two_way_within(margins, &from, dest, schema, options)? {
                Merged::Same => {}
                changed => merged = changed,
            }
        }
        Ok((Change { place: (*place).clone(), merged, head: None }, warnings))
    };
    let changes: Vec<(Change, Vec<Diagnostic>)> = order.par_iter().map(merge).collect::<Result<_>>()?;
    let (changes, warnings): (Vec<Change>, Vec<Vec<Diagnostic>>) = changes.into_iter().unzip();
    let removed = changes.iter().zip(&order).filter(|(change, _)| matches!(change.merged, Merged::Deleted));
    let mut news: Vec<News> = removed
        .map(|(change, (_, known))| News {
            what: What::Removed,
            resource: known.key.to_string(),
            path: dest[change.place.file].path.clone(),
        })
        .collect();
    let mut added: Vec<New> = Vec::new();
    let mut seen: FxHashMap<&Key, usize> = FxHashMap::default();
    for known in new {
        if let Some(&at) = seen.get(&known.key) {
            // A resource that is new, and comes again.
            if let Merged::Changed(root) = two_way(trees.get(&known.place), &added[at].node, schema, options)?
            {
                added[at].node = root;
            }
            continue;
        }
        if let Some(resource) = trees.new_resource(known, schema, options)? {
            seen.insert(&known.key, added.len());
            added.push(resource);
        }
    }
    // What is added comes after what is there, so that places still hold.
    news.extend(add(&mut dest, into, &trees, &lists, &changes, added)?);
    apply(&mut dest, changes);
    let warnings = warnings.into_iter().flatten().collect();
    Ok(Outcome { files: dest, news, warnings, ..Outcome::default() })
}

/// Kustomizations and Components are built in different ways, and merging does not make one of the other.
fn refuse_other_kind(source: &Node, dest: &Node) -> Result<()> {
    let Some(from) = source.get("kind").filter(|kind| kind.text().is_some()) else { return Ok(()) };
    let into = dest.get("kind").and_then(Node::text).unwrap_or("Kustomization");
    match from.text() {
        Some(kind) if kind != into => {
            Err(Diagnostic::error("merge-kinds", format!("a {kind} cannot be merged into a {into}"))
                .at(from.span())
                .note("it would be merged into this", dest.get("kind").unwrap_or(dest).span())
                .help("change the `kind` of one of them, and its `apiVersion`"))
        }
        _ => Ok(()),
    }
}

/// A list is not a resource: most likely it is a JSON patch, which says what to do and not what is to be.
fn refuse_list(source: &Node, dest: &Node) -> Result<()> {
    if source.is_map() || !dest.is_map() {
        return Ok(());
    }
    Err(Diagnostic::error("merge-no-resource", "this is not a resource, and cannot be merged into one")
        .at(source.span())
        .note("it would replace this", dest.span())
        .help("a JSON patch goes into the `patches` of a kustomization"))
}

/// Applies what changed between an original and an updated set of resources to a destination. Resources the update
/// deleted are deleted, those it added are added, and what only the destination has is kept. A resource that the
/// destination has deleted stays so. A file that the update renamed is renamed. `side` says whose value is taken where both
/// changed something.
pub fn merge3_files(
    original: &[File],
    updated: &[File],
    mut dest: Vec<File>,
    into: Destination,
    side: Side,
    schema: &Schema,
    options: Options,
) -> Result<Outcome> {
    let (moved, not_renamed);
    let original = match into {
        Destination::OneFile => {
            not_renamed = Vec::new();
            original
        }
        Destination::Folder => {
            (moved, not_renamed) = renames::follow(original, updated, &mut dest);
            &moved
        }
    };
    let (originals_as, updates_as) = (Trees::of(original)?, Trees::of(updated)?);
    let mut sets = [original, updated, &dest].map(|files| Keyed::new(files, into.paths()));
    let several: FxHashSet<Key> = sets.iter().flat_map(Keyed::in_several_files).collect();
    sets.iter_mut().for_each(|set| set.distinguish_by_file(&several));
    let [originals, updates, dests] = &sets;
    dests.refuse_duplicates()?;
    let [original_index, updated_index, index] =
        [originals, updates, dests].map(|set| Index::new(set, Parts::Same));
    type Found = (Change, (Vec<ResourceConflict>, Vec<Diagnostic>));
    let merge = |known: &Known| -> Result<Found> {
        let place = &known.place;
        let (into, root) = (&dest[place.file].documents[place.document], place.node(&dest));
        let find = |index: &Index<'_>| index.find(known, dests.is_one()).cloned();
        let (was, now) = (find(&original_index), find(&updated_index));
        let documents = was.as_ref().zip(now.as_ref()).filter(|_| place.items.is_empty());
        let path = &dest[place.file].path;
        let head = documents.filter(|_| !path.ends_with(".json")).and_then(|(was, now)| {
            let (was, now) = (originals_as.document(was).head(), updates_as.document(now).head());
            (was != now && was == into.head()).then_some(now)
        });
        let margins = margins(&dest, place, head);
        let original = was.as_ref().map(|was| for_file(originals_as.get(was), path));
        let updated = now.as_ref().map(|now| for_file(updates_as.get(now), path));
        let (merged, conflicts) = match (original.as_deref(), updated.as_deref()) {
            (None, None) => (Merged::Same, Vec::new()),
            (Some(original), None) => {
                let conflicts: Vec<_> =
                    removed_conflict(original, Some(root), None, side).into_iter().collect();
                match side == Side::Ours && !conflicts.is_empty() {
                    true => (Merged::Same, conflicts),
                    false => (Merged::Deleted, conflicts),
                }
            }
            (original, Some(updated)) => {
                three_way_within(margins, original, updated, root, side, schema, options)?
            }
        };
        let head = head.map(Text::from);
        let in_resource = |conflict| ResourceConflict::new(known.key.to_string(), known.key.kind(), conflict);
        let conflicts = conflicts.into_iter().map(in_resource).collect();
        let warnings = match (original.as_deref(), updated.as_deref()) {
            (Some(original), Some(updated)) => keyless::new_warnings(updated, original, root, schema),
            _ => Vec::new(),
        };
        Ok((Change { place: place.clone(), merged, head }, (conflicts, warnings)))
    };
    let found: Vec<Found> = dests.resources.par_iter().map(merge).collect::<Result<_>>()?;
    let (changes, reports): (Vec<Change>, Vec<_>) = found.into_iter().unzip();
    let (conflicts, warnings): (Vec<Vec<_>>, Vec<Vec<_>>) = reports.into_iter().unzip();
    let mut conflicts: Vec<ResourceConflict> = conflicts.into_iter().flatten().collect();
    let warnings = warnings.into_iter().flatten().collect();
    let removed =
        changes.iter().zip(&dests.resources).filter(|(change, _)| matches!(change.merged, Merged::Deleted));
    let mut news: Vec<News> = removed
        .map(|(change, known)| News {
            what: What::Removed,
            resource: known.key.to_string(),
            path: dest[change.place.file].path.clone(),
        })
        .collect();
    let mut added = Vec::new();
    let mut lists: FxHashMap<Place, Place> = FxHashMap::default();
    for known in &updates.resources {
        if let Some(at) = index.find(known, updates.is_one()) {
            if let (Some(from), Some(to)) = (known.place.list(), at.list()) {
                lists.entry(from).or_insert(to);
            }
            continue;
        }
        match original_index.find(known, updates.is_one()) {
            None => added.extend(updates_as.new_resource(known, schema, options)?),
            Some(at) => {
                // The one who removed a resource does not want it back because it changed.
                let updated = updates_as.get(&known.place).clone();
                let met = removed_conflict(originals_as.get(at), None, Some(updated), Side::Ours);
                let key = &known.key;
                let in_resource = |conflict| ResourceConflict::new(key.to_string(), key.kind(), conflict);
                conflicts.extend(met.into_iter().map(in_resource));
            }
        }
    }
    news.extend(add(&mut dest, into, &updates_as, &lists, &changes, added)?);
    apply(&mut dest, changes);
    Ok(Outcome { files: dest, news, conflicts, warnings, not_renamed })
}

/// One side removed a resource; a conflict if the other one changed it.
fn removed_conflict(
    original: &Node,
    dest: Option<&Node>,
    updated: Option<Node>,
    taken: Side,
) -> Option<Conflict> {
    let other = dest.or(updated.as_ref())?;
    // A comment that someone wrote is a change, too.
    let is_same = match dest {
        Some(dest) => same_throughout(original, dest),
        None => other == original,
    };
    if is_same {
        return None;
    }
    let near = other.span();
    let original = Some(original.clone());
    Some(Conflict { path: Vec::new(), original, dest: dest.cloned(), updated, near, taken })
}
