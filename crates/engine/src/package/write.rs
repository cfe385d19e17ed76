//! From package to the files that have to change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_function::Object;
use krm_yaml::emit::preserve;
use krm_yaml::{Diagnostic, Document, Node, Result, Seq, Source};

use super::{File, IGNORE, Package, Spot, leaves_out, may_be_read};
use crate::files::world::World;
use crate::resource::Resource;
use crate::resource::comments::{for_file, keep_head};
use crate::resource::wrapper::{
    ItemPath, for_each_resource, json_list, remove_resources, resource_at_mut, still_json,
};

/// What is to be done to one file.
#[derive(Clone, Debug)]
pub struct Change {
    /// Relative to the package, with slashes.
    pub path: String,
    /// What it is to hold; `None` if it is to go.
    pub text: Option<String>,
    /// What it held when it was read; `None` for a new one.
    pub before: Option<Arc<Source>>,
}

impl Package {
    /// What has to change for the package to hold exactly these resources. Files in which nothing changed are not
    /// mentioned; in others, only what changed differs.
    pub fn changes(&self, items: &[Resource], world: &dyn World) -> Result<Vec<Change>> {
        let mut files: BTreeMap<&str, Vec<&Resource>> = BTreeMap::new();
        for item in items {
            let home = item.home.as_ref().expect("every resource of a package has a home");
            files.entry(&home.path).or_default().push(item);
        }
        let mut changes = Vec::new();
        for (at, file) in self.files.iter().enumerate() {
            let wanted = files.remove(file.path.as_str()).unwrap_or_default();
            let documents = self.documents_of(at, file, wanted)?;
            let before = file.documents.first().map(|doc| doc.source().clone());
            let text = documents.map(|documents| rewritten(&file.path, documents, before.as_deref()));
            if text.as_deref() != Some(before.as_ref().map_or("", |source| source.text())) {
                self.lies_inside(&file.path, world)?;
                changes.push(Change { path: file.path.clone(), text, before });
            }
        }
        for (path, mut wanted) in files {
            self.may_be_made(path, world)?;
            wanted.sort_by_key(|item| item.home.as_ref().map(|home| home.index));
            let documents = wanted.into_iter().map(|item| self.written(item)).collect::<Result<Vec<_>>>()?;
            let documents = stripped(documents);
            let text = match (path.ends_with(".json"), documents.as_slice()) {
                (true, [document]) => krm_yaml::json::pretty(&document.root) + "\n",
                (true, documents) => json_list(documents),
                (false, documents) => {
                    let text = preserve::stream(documents);
                    // What was between it and the one before has no meaning here.
                    text.strip_prefix("---\n").map(str::to_owned).unwrap_or(text)
                }
            };
            changes.push(Change { path: path.to_owned(), text: Some(text), before: None });
        }
        Ok(changes)
    }

    /// The documents a file is to hold; `None` if no resource is left in it.
    fn documents_of(
        &self,
        at: usize,
        file: &File,
        mut wanted: Vec<&Resource>,
    ) -> Result<Option<Vec<Document>>> {
        let first = self.resources.partition_point(|spot| spot.file < at);
        let resources = &self.resources[first..self.resources.partition_point(|spot| spot.file <= at)];
        if resources.is_empty() && wanted.is_empty() {
            // It never held any: it is not ours to change.
            return Ok(Some(file.documents.clone()));
        }
        wanted.sort_by_key(|item| item.home.as_ref().map(|home| home.index));
        let is_one_list =
            resources.first().is_some_and(|spot| !spot.items.is_empty()) && holds(&file.documents) == 1;
        let mut wanted = wanted.into_iter().peekable();
        let mut resources = resources.iter().enumerate().peekable();
        let mut documents = Vec::new();
        let mut left = false;
        for (number, document) in file.documents.iter().enumerate() {
            // Both go on in the order of the file.
            let mut last = None;
            let mut is_list = false;
            while let Some((at, spot)) = resources.next_if(|(_, spot)| spot.document == number) {
                last = Some(if is_one_list { usize::MAX } else { at });
                is_list |= !spot.items.is_empty();
            }
            let Some(last) = last else {
                // What is not a resource stays where it is, between the same ones as far as they are there.
                left |= !document.root.is_null();
                documents.push(document.clone());
                continue;
            };
            // As many as there were up to here, in their new order.
            let mut next =
                || wanted.next_if(|item| item.home.as_ref().is_some_and(|home| home.index <= last));
            let here: Vec<&Resource> = std::iter::from_fn(&mut next).collect();
            left |= !here.is_empty();
            if is_list {
                documents.extend(self.list(at, number, document, &here));
                continue;
            }
            for item in here {
                documents.push(self.written(item)?);
            }
        }
        for item in wanted {
            documents.push(self.written(item)?);
            left = true;
        }
        keep_head(&file.documents, &mut documents);
        Ok(left.then_some(documents))
    }

    /// A list with these resources as its items; `None` if there are none. Those of a list within it stay there.
    fn list(&self, file: usize, number: usize, list: &Document, here: &[&Resource]) -> Option<Document> {
        if here.is_empty() {
            return None;
        }
        let before = |spot: &Spot| (spot.file, spot.document) < (file, number);
        let until = |spot: &Spot| (spot.file, spot.document) <= (file, number);
        let numbers = self.resources.partition_point(before)..self.resources.partition_point(until);
        let mut document = list.clone();
        let root = &mut document.root;
        if self.resources[numbers.clone()].iter().all(|spot| spot.items.len() == 1) {
            *items_mut(root) = here.iter().map(|item| node_for_file(item)).collect();
            return Some(document);
        }
        let mut gone: BTreeSet<ItemPath> =
            self.resources[numbers.clone()].iter().map(|spot| spot.items.clone()).collect();
        for item in here {
            let number = item.home.as_ref().and_then(|home| home.number);
            match number.filter(|number| numbers.contains(number)).map(|number| &self.resources[number]) {
                Some(spot) => {
                    gone.remove(&spot.items);
                    *resource_at_mut(root, &spot.items) = node_for_file(item);
                }
                None => items_mut(root).push(node_for_file(item)),
            }
        }
        remove_resources(root, gone).then_some(document)
    }

    /// A resource as a document: the one it was read from with its changes, or a new one.
    fn written(&self, item: &Resource) -> Result<Document> {
        let spot = item.home.as_ref().and_then(|home| self.resources.get(home.number?));
        if let Some(spot) = spot.filter(|spot| spot.items.is_empty()) {
            let mut document = self.files[spot.file].documents[spot.document].clone();
            document.root = node_for_file(item);
            return Ok(document);
        }
        let mut documents = krm_yaml::parse_str(&preserve::fresh(item.node()))?;
        Ok(documents.swap_remove(0))
    }

    /// Refuses to change a file outside the package that a link leads to.
    fn lies_inside(&self, path: &str, world: &dyn World) -> Result<()> {
        let real = |path: &Path| world.real_path(path).ok();
        match (real(&self.root.join(path)), real(&self.root)) {
            (Some(file), Some(root)) if !file.starts_with(&root) => {
                let message =
                    format!("`{path}` is a link to a file outside the package, which would have to change");
                Err(Diagnostic::error("package-link-outside", message)
                    .help("put the file itself there, or name the link in .krmignore"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses to make a file that nobody would read again: what is put there leaves the package.
    pub(crate) fn stays_in_package(&self, path: &str, world: &dyn World) -> Result<()> {
        if !may_be_read(path) {
            return Err(not_written_to(path, "no file of that name is read as configuration"));
        }
        if leaves_out(world, &self.root, path)? {
            return Err(not_written_to(path, &format!("{IGNORE} leaves it out")));
        }
        Ok(())
    }

    /// Refuses to make a file where something else is, or outside the package by way of a link.
    pub(crate) fn may_be_made(&self, path: &str, world: &dyn World) -> Result<()> {
        let refused = |why: &str| Err(not_written_to(path, why));
        let place = self.root.join(path);
        if place.file_name().is_some_and(|name| name == IGNORE) {
            return refused("that file says what is not of the package");
        }
        if world.is_dir(&place) {
            return refused("it is a folder");
        }
        if world.is_file(&place) {
            return refused("there is a file that is not part of the package");
        }
        let mut above: PathBuf = place;
        while above.pop() && above.starts_with(&self.root) {
            if world.is_file(&above) {
                return refused("a folder on the way is a file");
            }
            if world.is_dir(&above) {
                let real = |path: &Path| world.real_path(path).ok();
                return match (real(&above), real(&self.root)) {
                    (Some(above), Some(root)) if !above.starts_with(&root) => {
                        refused("a link leads out of the package")
                    }
                    _ => Ok(()),
                };
            }
        }
        Ok(())
    }
}

fn not_written_to(path: &str, why: &str) -> Diagnostic {
    let message = format!("a resource cannot be written to `{path}`: {why}");
    Diagnostic::error("package-place-taken", message).help("give it another path")
}

/// A resource as it is written to its file.
fn node_for_file(item: &Resource) -> Node {
    let path = item.home.as_ref().map_or("", |home| home.path.as_str());
    for_file(item.node(), path).into_owned()
}

fn items_mut(list: &mut Node) -> &mut Seq {
    list.get_mut("items").and_then(Node::as_seq_mut).expect("a list has items")
}

/// The text of a file. One that changes holds no annotations that are the business of programs only.
fn rewritten(path: &str, documents: Vec<Document>, before: Option<&Source>) -> String {
    let text = preserve::stream(&documents);
    if before.is_some_and(|before| before.text() == text) {
        return text;
    }
    let documents = stripped(documents);
    let text = preserve::stream(&documents);
    // What separated the first document from one that is gone separates nothing.
    let text = match text.strip_prefix("---\n") {
        Some(rest) if before.is_some_and(|before| !before.text().starts_with("---")) => rest.to_owned(),
        _ => text,
    };
    still_json(path, before.map(Source::text), text, &documents)
}

/// How many documents hold anything.
fn holds(documents: &[Document]) -> usize {
    documents.iter().filter(|document| !document.root.is_null()).count()
}

/// The documents without annotations that are the business of programs only.
fn stripped(documents: Vec<Document>) -> Vec<Document> {
    documents.into_iter().map(without_internal_annotations).collect()
}

fn without_internal_annotations(mut document: Document) -> Document {
    let mut stripped: Vec<(ItemPath, Object)> = Vec::new();
    for_each_resource(&document.root, &mut |path, node, _| {
        let mut object = Object::from(node.clone());
        if object.remove_internal_annotations() {
            stripped.push((path.clone(), object));
        }
    });
    for (path, object) in stripped {
        *resource_at_mut(&mut document.root, &path) = object.into_node();
    }
    document
}
