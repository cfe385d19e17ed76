//! Merging sets of files: which resource is which, and where new ones go.

use std::sync::Arc;

use krm_yaml::{Diagnostic, Document, Node, Result, Source, Span, Text};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::comments::gaps::Margins;
use super::identity::{Index, Key, Keyed, Place};
use super::three_way::three_way_within;
use super::two_way::two_way_within;
use super::{Conflict, Merged, Options, two_way};
use crate::schema::Schema;

/// A file of resources.
#[derive(Clone, Debug)]
pub struct File {
    /// Its path within the set, with `/`.
    pub path: String,
    /// What it was read from; `None` of a file that is new.
    pub source: Option<Arc<Source>>,
    pub documents: Vec<Document>,
}

impl File {
    /// Reads a file.
    pub fn read(path: impl Into<String>, source: &Arc<Source>) -> Result<Self> {
        let documents = krm_yaml::parse(source)?;
        Ok(Self { path: path.into(), source: Some(source.clone()), documents })
    }

    /// The text as it is now: every byte as it was written where nothing changed.
    pub fn text(&self) -> String {
        match &self.source {
            Some(source) if self.is_untouched() => source.text().to_owned(),
            _ => {
                let text = krm_yaml::emit::preserve::stream(&self.documents);
                // The first document went, and with it what the marker divided.
                let divides = self.documents.first().is_some_and(|first| first.span().start > 0);
                match text.strip_prefix("---\n").filter(|_| divides) {
                    Some(rest) => rest.to_owned(),
                    None => text,
                }
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

fn document(files: &[File], (file, at): Place) -> &Document {
    &files[file].documents[at]
}

/// The tree of a document, rid of anchors: they are names within a file, and mean nothing in another.
fn tree(document: &Document) -> Result<Node> {
    match document.has_references() {
        false => Ok(document.root.clone()),
        true => {
            let mut root = document.root.clone();
            krm_yaml::merge_keys::resolve(&mut root)?;
            Ok(root)
        }
    }
}

/// A document for a destination that has none like it: nulls and directives have no place in it. `None` where it says
/// that there is to be none.
fn new_document(from: &Document, schema: &Schema, options: Options) -> Result<Option<Document>> {
    let tree = tree(from)?;
    let mut document = from.clone();
    match two_way(&tree, &Node::null(), schema, options)? {
        Merged::Deleted => return Ok(None),
        Merged::Changed(root) if root != tree => document.root = root,
        _ => {}
    }
    Ok(Some(document))
}

/// What becomes of a document of the destination.
struct Change {
    place: Place,
    merged: Merged,
    /// The comments to put above it, where they change.
    head: Option<Text>,
}

fn apply(dest: &mut [File], changes: Vec<Change>) {
    let mut deleted: FxHashMap<usize, FxHashSet<usize>> = FxHashMap::default();
    for Change { place: (file, at), merged, head } in changes {
        head.into_iter().for_each(|head| dest[file].documents[at].set_head(head));
        match merged {
            Merged::Same => {}
            Merged::Changed(root) => dest[file].documents[at].root = root,
            Merged::Deleted => drop(deleted.entry(file).or_default().insert(at)),
        }
    }
    for (file, gone) in deleted {
        let mut at = 0..;
        dest[file].documents.retain(|_| !gone.contains(&at.next().expect("numbers do not end")));
    }
}

/// Puts new documents where they were: into the file of the same path, which may be new; or, where the destination is one
/// file, behind what is there.
fn add(dest: &mut Vec<File>, one_file: bool, path: &str, document: &Document) {
    let file = match one_file {
        true => dest.first_mut(),
        false => dest.iter_mut().find(|file| file.path == path),
    };
    match file {
        Some(file) => {
            // Only comments were there: they stay with their document.
            file.documents.push(document.clone());
        }
        None => dest.push(File { path: path.to_owned(), source: None, documents: vec![document.clone()] }),
    }
}

/// Adds many, finding each file once.
fn add_all(dest: &mut Vec<File>, one_file: bool, new: Vec<(String, Document)>) {
    if one_file || new.len() < 16 {
        return new.into_iter().for_each(|(path, document)| add(dest, one_file, &path, &document));
    }
    let mut places: FxHashMap<String, usize> =
        dest.iter().enumerate().map(|(at, file)| (file.path.clone(), at)).collect();
    for (path, document) in new {
        let at = *places.entry(path.clone()).or_insert_with(|| {
            dest.push(File { path, source: None, documents: Vec::new() });
            dest.len() - 1
        });
        dest[at].documents.push(document);
    }
}

/// Merges the resources of a source into those of a destination: paired by group, version, kind, namespace and name. What
/// only the source has is added, what only the destination has is kept.
pub fn merge_files(
    source: &[File],
    mut dest: Vec<File>,
    one_file: bool,
    schema: &Schema,
    options: Options,
) -> Result<Vec<File>> {
    let (mut dests, mut sources) = (Keyed::new(&dest, !one_file), Keyed::new(source, !one_file));
    let twins = dests.twins();
    dests.tell_apart(&twins);
    sources.tell_apart(&twins);
    dests.refuse_twins()?;
    let index = Index::new(&dests);
    let is_only = sources.documents.len() == 1;
    // Of several sources for one resource, each is merged in turn.
    let mut by_place: FxHashMap<Place, Vec<Place>> = FxHashMap::default();
    let mut new: Vec<(Key, Place)> = Vec::new();
    let mut order = Vec::new();
    for (key, place) in sources.documents {
        match index.find(&key, is_only) {
            None if !twins.is_empty() && twins.contains(&key.named()) => {
                return Err(dests.refuse_choice(&key));
            }
            Some(at) => {
                let sources = by_place.entry(at).or_default();
                if sources.is_empty() {
                    order.push(at);
                }
                sources.push(place);
            }
            None => new.push((key, place)),
        }
    }
    let merge = |place: &Place| -> Result<Change> {
        let mut merged = Merged::Same;
        let into = document(&dest, *place);
        let margins = Margins { above: into.head(), below: into.foot() };
        for from in &by_place[place] {
            let from = tree(document(source, *from))?;
            refuse_list(&from, &document(&dest, *place).root)?;
            let dest = match &merged {
                Merged::Changed(node) => node,
                _ => &into.root,
            };
            match two_way_within(margins, &from, dest, schema, options)? {
                Merged::Same => {}
                changed => merged = changed,
            }
        }
        Ok(Change { place: *place, merged, head: None })
    };
    let changes: Vec<Change> = order.par_iter().map(merge).collect::<Result<_>>()?;
    apply(&mut dest, changes);
    let mut added: Vec<(String, Document)> = Vec::new();
    let mut known: FxHashMap<Key, usize> = FxHashMap::default();
    for (key, place) in new {
        let from = document(source, place);
        if let Some(&at) = known.get(&key) {
            // A resource that is new, and comes again.
            if let Merged::Changed(root) = two_way(&tree(from)?, &added[at].1.root, schema, options)? {
                added[at].1.root = root;
            }
            continue;
        }
        if let Some(document) = new_document(from, schema, options)? {
            known.insert(key, added.len());
            added.push((source[place.0].path.clone(), document));
        }
    }
    add_all(&mut dest, one_file, added);
    Ok(dest)
}

/// A list is no resource: most likely it is a JSON patch, which says what to do and not what is to be.
fn refuse_list(source: &Node, dest: &Node) -> Result<()> {
    if source.is_map() || !dest.is_map() {
        return Ok(());
    }
    Err(Diagnostic::error("merge-no-resource", "this is no resource, and cannot be merged into one")
        .at(source.span())
        .note("it would take the place of this", dest.span())
        .help("a JSON patch goes into the `patches` of a kustomization"))
}

/// A conflict, and the resource it was met in.
#[derive(Clone, Debug)]
pub struct ResourceConflict {
    /// `Deployment `web``.
    pub resource: String,
    pub conflict: Conflict,
}

/// Applies what changed between an original and an updated set of resources to a destination. Resources the update
/// deleted are deleted, those it added are added, and what only the destination has is kept. A resource that the
/// destination has deleted stays so.
pub fn merge3_files(
    original: &[File],
    updated: &[File],
    mut dest: Vec<File>,
    one_file: bool,
    schema: &Schema,
    options: Options,
) -> Result<(Vec<File>, Vec<ResourceConflict>)> {
    let mut sets = [original, updated, &dest].map(|files| Keyed::new(files, !one_file));
    let twins: FxHashSet<Key> = sets.iter().flat_map(Keyed::twins).collect();
    sets.iter_mut().for_each(|set| set.tell_apart(&twins));
    let [originals, updates, dests] = &sets;
    dests.refuse_twins()?;
    let [original_index, updated_index, index] = [originals, updates, dests].map(Index::new);
    let is_only = dests.documents.len() == 1;
    type Found = (Change, Vec<ResourceConflict>);
    let merge = |(key, place): &(Key, Place)| -> Result<Found> {
        let into = document(&dest, *place);
        let dest = &into.root;
        let find = |index: &Index, files| index.find(key, is_only).map(|at| document(files, at));
        let (original, updated) = (find(&original_index, original), find(&updated_index, updated));
        let head = original.zip(updated).and_then(|(original, updated)| {
            let taken = original.head() != updated.head() && original.head() == into.head();
            taken.then(|| updated.head())
        });
        let margins = Margins { above: head.unwrap_or(into.head()), below: into.foot() };
        let (original, updated) = (original.map(tree).transpose()?, updated.map(tree).transpose()?);
        let in_resource = |conflict| ResourceConflict { resource: key.to_string(), conflict };
        let (merged, conflicts) = match (original, updated) {
            (None, None) => (Merged::Same, Vec::new()),
            (Some(original), None) => (Merged::Deleted, deleted_conflict(original, Some(dest), None)),
            (original, Some(updated)) => {
                three_way_within(margins, original.as_ref(), &updated, dest, schema, options)?
            }
        };
        let head = head.map(Text::from);
        Ok((Change { place: *place, merged, head }, conflicts.into_iter().map(in_resource).collect()))
    };
    let found: Vec<Found> = dests.documents.par_iter().map(merge).collect::<Result<_>>()?;
    let (changes, conflicts): (Vec<Change>, Vec<Vec<ResourceConflict>>) = found.into_iter().unzip();
    let mut conflicts: Vec<ResourceConflict> = conflicts.into_iter().flatten().collect();
    let mut added = Vec::new();
    let is_only = updates.documents.len() == 1;
    for (key, place) in &updates.documents {
        if index.find(key, is_only).is_some() {
            continue;
        }
        let new = document(updated, *place);
        match original_index.find(key, is_only) {
            None => {
                let document = new_document(new, schema, options)?;
                added.extend(document.map(|document| (updated[place.0].path.clone(), document)));
            }
            Some(at) => {
                let original = tree(document(original, at))?;
                let met = deleted_conflict(original, None, Some(new.root.clone()));
                conflicts.extend(
                    met.into_iter().map(|conflict| ResourceConflict { resource: key.to_string(), conflict }),
                );
            }
        }
    }
    apply(&mut dest, changes);
    add_all(&mut dest, one_file, added);
    Ok((dest, conflicts))
}

/// One side deleted a resource; a conflict where the other one changed it.
fn deleted_conflict(original: Node, dest: Option<&Node>, updated: Option<Node>) -> Vec<Conflict> {
    let changed = dest.or(updated.as_ref()).is_some_and(|other| *other != original);
    if !changed {
        return Vec::new();
    }
    let near = dest.or(updated.as_ref()).map_or(Span::NONE, Node::span);
    vec![Conflict { path: Vec::new(), original: Some(original), dest: dest.cloned(), updated, near }]
}
