//! The resources in flight: in order, and found by id without a scan.

use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

use hashbrown::hash_table::{Entry, HashTable};
use krm_yaml::{Diagnostic, Map, Node, Result, Text};
use rayon::prelude::*;
use rustc_hash::FxHasher;

use crate::resource::string_map::{are_strings, data_map, merged, set_strings, string_map};
use crate::resource::{Behavior, Origin, Resource, ResourceId};
use crate::schema::Schema;

/// An ordered list of resources with indexes by id.
#[derive(Debug, Default)]
pub struct Resources {
    items: Vec<Resource>,
    index: OnceLock<Index>,
}

/// Copies are mostly taken apart again, so they come without the index.
impl Clone for Resources {
    fn clone(&self) -> Self {
        Self::from_vec(self.items.clone())
    }
}

#[derive(Debug, Default)]
struct Index {
    /// By the id of now.
    current: HashTable<Places>,
    /// By every id ever had, the one of now included.
    any: HashTable<Places>,
    /// Every name ever had, sorted; made when a selector first asks.
    names: OnceLock<Vec<(Text, u32)>>,
}

/// Where the resources of an id are. The id itself is not kept, only where to find it: that of the first of them.
#[derive(Debug)]
struct Places {
    first: u32,
    /// Which of all its ids it is.
    id: u32,
    /// All of them, if there is more than one. In a box, since that is rare and the table has many of these.
    #[allow(clippy::box_collection)]
    several: Option<Box<Vec<u32>>>,
}

impl Places {
    fn as_slice(&self) -> &[u32] {
        self.several.as_ref().map_or(std::slice::from_ref(&self.first), |all| all)
    }

    fn id<'r>(&self, items: &'r [Resource]) -> &'r ResourceId {
        let first = &items[self.first as usize];
        first.previous_ids().get(self.id as usize).unwrap_or(first.id())
    }

    fn push(&mut self, at: u32) {
        if self.as_slice().last() != Some(&at) {
            self.several.get_or_insert_with(|| Box::new(vec![self.first])).push(at);
        }
    }
}

fn hash(id: &ResourceId) -> u64 {
    let mut hasher = FxHasher::default();
    (&id.name, &id.gvk.kind, id.effective_namespace()).hash(&mut hasher);
    hasher.finish()
}

fn places<'i>(of: &'i HashTable<Places>, id: &ResourceId, items: &[Resource]) -> &'i [u32] {
    of.find(hash(id), |places| places.id(items) == id).map_or(&[], Places::as_slice)
}

/// Names a selector looks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Names<'a> {
    All,
    Exact(&'a str),
    /// Those that begin so.
    Prefix(&'a str),
}

impl Index {
    fn new(items: &[Resource]) -> Self {
        let ids = items.iter().map(|r| r.all_ids().count()).sum();
        let mut index = Self {
            current: HashTable::with_capacity(items.len()),
            any: HashTable::with_capacity(ids),
            names: OnceLock::new(),
        };
        (0..items.len()).for_each(|at| index.add(at, items));
        index
    }

    /// Takes in the resource at a place.
    fn add(&mut self, at: usize, items: &[Resource]) {
        self.names.take();
        let resource = &items[at];
        let add = |to: &mut HashTable<Places>, number: usize, id: &ResourceId| {
            let (is_it, hash_of) = (|p: &Places| p.id(items) == id, |p: &Places| hash(p.id(items)));
            match to.entry(hash(id), is_it, hash_of) {
                Entry::Occupied(known) => known.into_mut().push(at as u32),
                Entry::Vacant(new) => {
                    new.insert(Places { first: at as u32, id: number as u32, several: None });
                }
            }
        };
        add(&mut self.current, resource.previous_ids().len(), resource.id());
        resource.all_ids().enumerate().for_each(|(number, id)| add(&mut self.any, number, id));
    }
}

impl Resources {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All of them, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Resource> {
        self.items.iter()
    }

    /// All of them, as a slice.
    pub fn as_slice(&self) -> &[Resource] {
        &self.items
    }

    /// The resource at a position, from 0.
    pub fn get(&self, at: usize) -> Option<&Resource> {
        self.items.get(at)
    }

    /// The resources without their index.
    pub fn into_vec(self) -> Vec<Resource> {
        self.items
    }

    /// A list without looking for equal ids.
    pub fn from_vec(items: Vec<Resource>) -> Self {
        Self { items, index: OnceLock::new() }
    }

    /// The list for rearranging at will; indexes are made again afterwards.
    pub(crate) fn as_vec_mut(&mut self) -> &mut Vec<Resource> {
        self.index.take();
        &mut self.items
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::new(&self.items))
    }

    /// Where the resources with this id are now.
    pub(crate) fn find(&self, id: &ResourceId) -> &[u32] {
        places(&self.index().current, id, &self.items)
    }

    /// Where the resources are that have or ever had this id.
    pub(crate) fn find_any(&self, id: &ResourceId) -> &[u32] {
        places(&self.index().any, id, &self.items)
    }

    /// Where the resources are that have or had such a name, in order; if there are few, all of them. What selectors
    /// look at, so that a thousand patches for a thousand names do not take a million comparisons.
    pub(crate) fn candidates(&self, wanted: Names) -> Vec<usize> {
        let (prefix, exact) = match wanted {
            Names::Exact(name) => (name, true),
            Names::Prefix(prefix) => (prefix, false),
            Names::All => ("", false),
        };
        if prefix.is_empty() || self.len() < 32 {
            return (0..self.len()).collect();
        }
        let names = self.index().names.get_or_init(|| {
            let of = |(at, r): (usize, &Resource)| {
                let names = r.all_ids().map(|id| (id.name.clone(), at as u32));
                names.collect::<Vec<_>>()
            };
            let mut names: Vec<_> = self.items.iter().enumerate().flat_map(of).collect();
            names.sort_unstable();
            names.dedup();
            names
        });
        let from = names.partition_point(|(name, _)| name.as_str() < prefix);
        let fits = |name: &Text| if exact { name == prefix } else { name.starts_with(prefix) };
        let mut found: Vec<_> =
            names[from..].iter().take_while(|(name, _)| fits(name)).map(|(_, at)| *at as usize).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Appends a resource; refuses one whose id is taken.
    pub(crate) fn push(&mut self, resource: Resource) -> Result<()> {
        if let Some(at) = self.find(resource.id()).first() {
            return Err(defined_twice(&self.items[*at as usize], &resource));
        }
        self.items.push(resource);
        if let Some(index) = self.index.get_mut() {
            index.add(self.items.len() - 1, &self.items);
        }
        Ok(())
    }

    /// Appends all of another list, in order; refuses ids that are taken.
    pub(crate) fn append(&mut self, other: Resources) -> Result<()> {
        if self.is_empty() {
            *self = other;
            return self.refuse_duplicates();
        }
        other.items.into_iter().try_for_each(|r| self.push(r))
    }

    /// The first resource that has the id of one before it, and that one before it.
    pub(crate) fn duplicates(&self) -> Option<[&Resource; 2]> {
        if self.index.get().is_none() && self.all_differ() {
            return None;
        }
        let several = self.index().current.iter().filter_map(|places| places.several.as_ref());
        let places = several.min_by_key(|places| places[1])?;
        Some([0, 1].map(|at| &self.items[places[at] as usize]))
    }

    /// Whether no two ids even hash alike: sooner known than an index is made, which the next edit would throw away.
    fn all_differ(&self) -> bool {
        let ids = self.items.par_iter().with_min_len(256).map(Resource::id);
        let mut hashes: Vec<u64> = ids.map(hash).collect();
        hashes.sort_unstable();
        hashes.windows(2).all(|pair| pair[0] != pair[1])
    }

    /// Refuses two resources of one id.
    pub(crate) fn refuse_duplicates(&self) -> Result<()> {
        self.duplicates().map_or(Ok(()), |[first, second]| Err(defined_twice(first, second)))
    }

    /// Takes in what a generator made: new resources are appended; those that say `behavior: merge` or `replace` go into
    /// the one that has or ever had their id.
    pub(crate) fn absorb(&mut self, generated: Resources, schema: &Schema) -> Result<()> {
        generated.items.into_iter().try_for_each(|r| self.absorb_one(r, schema))
    }

    fn absorb_one(&mut self, mut new: Resource, schema: &Schema) -> Result<()> {
        let at = match self.find_any(new.id()) {
            [] if matches!(new.behavior, Behavior::Merge | Behavior::Replace) => {
                return Err(Diagnostic::error("generator-nothing-to-merge", format!("there is no {} to change", new.id()))
                    .at(new.span())
                    .help("`behavior: merge` and `behavior: replace` need a resource of this name and namespace from a base"));
            }
            [] => return self.push(new),
            [at] => *at as usize,
            [first, second, ..] => {
                let (first, second) = (&self.items[*first as usize], &self.items[*second as usize]);
                return Err(Diagnostic::error(
                    "generator-ambiguous",
                    format!("{} could mean either of two", new.id()),
                )
                .at(new.span())
                .note(format!("{} is one", first.id()), first.span())
                .note(format!("{} is the other", second.id()), second.span()));
            }
        };
        let old = &self.items[at];
        if !matches!(new.behavior, Behavior::Merge | Behavior::Replace) {
            return Err(Diagnostic::error("generator-exists", format!("{} exists already", new.id()))
                .at(new.span())
                .note("defined here", old.span())
                .help(
                    "write `behavior: merge` or `behavior: replace` to change it, or choose another name",
                ));
        }
        inherit(&mut new, old, schema);
        self.edit_at(at, |old| *old = new);
        Ok(())
    }

    /// Notes where resources came from that do not know it yet.
    pub(crate) fn stamp_origin(&mut self, origin: &Origin) {
        for r in self.items.iter_mut().filter(|r| r.origin.is_none()) {
            r.origin = Some(Box::new(origin.clone()));
        }
    }

    /// Notes that a transformer saw every resource; those without an origin are taken to come from it. This is
    /// noted in the annotations, which makes all of them texts: see quirk(annotations-become-strings).
    pub(crate) fn stamp_transformation(&mut self, origin: &Origin, schema: &Schema) {
        for r in &mut self.items {
            if r.node().get("metadata").is_some_and(|meta| !are_strings(meta, "annotations")) {
                r.edit(schema, |root| {
                    if let Some(meta) = root.get_mut("metadata") {
                        let map = string_map(meta, "annotations");
                        set_strings(meta, "annotations", map);
                    }
                });
            }
            match r.origin {
                None => r.origin = Some(Box::new(origin.clone())),
                Some(_) => r.transformations.push(origin.clone()),
            }
            // All annotations are rewritten for this, and so end what was shared. See
            // quirk(labels-put-at-once-change-together).
            r.shared.leave("metadata/annotations");
        }
    }

    /// Lets everything be changed; after an error it is as it was before.
    pub(crate) fn all_or_nothing(&mut self, change: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let before = self.clone();
        change(self).inspect_err(|_| *self = before)
    }

    /// Lets each resource be changed, and keeps the indexes right. The first error ends it.
    pub(crate) fn edit(&mut self, mut edit: impl FnMut(&mut Resource) -> Result<()>) -> Result<()> {
        self.index.take();
        self.items.iter_mut().try_for_each(&mut edit)
    }

    /// The same for edits that know nothing about each other: if there are many, they are done side by side.
    pub(crate) fn edit_apart(&mut self, edit: impl Fn(&mut Resource) -> Result<()> + Sync) -> Result<()> {
        self.index.take();
        apart(self.items.par_iter_mut(), edit)
    }

    /// All of them, for changes that leave their ids alone.
    pub(crate) fn iter_mut_unindexed(&mut self) -> std::slice::IterMut<'_, Resource> {
        self.items.iter_mut()
    }

    /// Lends the trees of all, so that they can be changed while everything else is looked at.
    pub(crate) fn take_trees(&mut self) -> Vec<Node> {
        self.items.iter_mut().map(Resource::take_tree).collect()
    }

    /// The same, with something for each of them.
    pub(crate) fn edit_with<T: Send>(
        &mut self,
        with: Vec<T>,
        edit: impl Fn(&mut Resource, T) -> Result<()> + Sync,
    ) -> Result<()> {
        self.index.take();
        apart(self.items.par_iter_mut().zip(with), |(r, with)| edit(r, with))
    }

    /// The same for those at some places, which are in order.
    pub(crate) fn edit_some(
        &mut self,
        places: &[usize],
        edit: impl Fn(&mut Resource) -> Result<()> + Sync,
    ) -> Result<()> {
        if places.len() < self.len() / 8 {
            // The index mostly stays.
            return places.iter().try_for_each(|at| self.edit_at(*at, &edit));
        }
        self.index.take();
        let mut wanted = places.iter().peekable();
        let items = self.items.iter_mut().enumerate();
        let chosen: Vec<_> = items.filter_map(|(at, r)| wanted.next_if(|w| **w == at).map(|_| r)).collect();
        apart(chosen.into_par_iter(), edit)
    }

    /// Lets one resource be changed.
    pub(crate) fn edit_at<T>(&mut self, at: usize, edit: impl FnOnce(&mut Resource) -> T) -> T {
        let before = self.items[at].id().clone();
        let history = self.items[at].previous_ids().len();
        let result = edit(&mut self.items[at]);
        let now = &self.items[at];
        // Most edits leave the id alone, or only remember it; then the index stays, and a patch per resource is no
        // rebuild per patch.
        let remembered = now.previous_ids().get(history..);
        if !remembered.is_some_and(|ids| ids.iter().all(|id| *id == before))
            || *now.id() != before
            || now.id().namespace != before.namespace
        {
            self.index.take();
        }
        result
    }

    /// Drops the resources that became empty.
    pub(crate) fn drop_empty(&mut self) {
        if self.items.iter().any(|r| r.node().is_empty()) {
            self.as_vec_mut().retain(|r| !r.node().is_empty());
        }
    }
}

/// Edits side by side if there are many. The first error, in order, is the one given.
fn apart<T: Send>(
    items: impl IndexedParallelIterator<Item = T>,
    edit: impl Fn(T) -> Result<()> + Sync,
) -> Result<()> {
    // From about here on the work outweighs handing it out.
    items.with_min_len(64).find_map_first(|item| edit(item).err()).map_or(Ok(()), Err)
}

fn defined_twice(first: &Resource, second: &Resource) -> Diagnostic {
    Diagnostic::error("duplicate-resource", format!("{} is defined twice", second.id()))
        .at(second.span())
        .note("first defined here", first.span())
        .help("rename one of them, or turn the second into a patch under `patches:`")
}

/// Makes a generated resource the successor of the one it changes: its name, its history, and all labels and annotations
/// it does not set itself; with `behavior: merge` its data too.
fn inherit(new: &mut Resource, old: &Resource, schema: &Schema) {
    let meta = |r: &Resource, key| r.node().get("metadata").and_then(|meta| string_map(meta, key));
    let both = |new: &Resource, key| merged(meta(old, key), meta(new, key));
    let (labels, annotations) = (both(new, "labels"), both(new, "annotations"));
    let keeps_data = new.behavior == Behavior::Merge;
    let data = |key| merged(data_map(old.node(), key), data_map(new.node(), key));
    let (data, binary_data) = (data("data"), data("binaryData"));
    new.edit(schema, |node| {
        if let Some(meta) = node.map_at("metadata") {
            set_strings(meta, "labels", labels);
            set_strings(meta, "annotations", annotations);
            meta.set("name", old.name());
            match old.namespace() {
                "" => drop(meta.remove("namespace")),
                namespace => meta.set("namespace", namespace),
            }
            for key in ["name", "namespace"] {
                if let (Some(field), Some(old)) = (meta.get_mut(key), old.node().at(["metadata", key])) {
                    field.set_span(old.span());
                }
            }
        }
        if keeps_data {
            set_data(node, "data", data);
            set_data(node, "binaryData", binary_data);
        }
    });
    if keeps_data && old.origin.is_some() {
        new.origin = old.origin.clone();
    }
    new.inherit_ids(old);
    new.prefixes = old.prefixes.clone();
    new.suffixes = old.suffixes.clone();
    new.behavior = old.behavior;
    new.needs_hash &= old.needs_hash;
    new.allow_name_change = old.allow_name_change;
    new.allow_kind_change = old.allow_kind_change;
    new.from_helm = old.from_helm;
    new.transformations = old.transformations.clone();
    new.referring_vars = old.referring_vars.clone();
    new.track = old.track;
}

fn set_data(node: &mut Node, key: &str, map: Option<Map>) {
    node.remove(key);
    if let Some(map) = map {
        node.set(key, Node::from(map));
    }
}

impl<'a> IntoIterator for &'a Resources {
    type Item = &'a Resource;
    type IntoIter = std::slice::Iter<'a, Resource>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
