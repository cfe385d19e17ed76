//! Which resource in a set of files is which.

use krm_yaml::{Diagnostic, Node, Result, Text};
use rustc_hash::{FxHashMap, FxHashSet};

use super::File;
use crate::files::{KUSTOMIZATION_FILES, KUSTOMIZE_GROUP};
use crate::resource::Gvk;
use crate::resource::wrapper::{ItemPath, for_each_resource, list_items, resource_at};

/// Where a resource is: the number of its file, of the document there, and its path within the lists of that document.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    pub file: usize,
    pub document: usize,
    pub items: ItemPath,
}

impl Place {
    pub(crate) fn node<'f>(&self, files: &'f [File]) -> &'f Node {
        resource_at(&files[self.file].documents[self.document].root, &self.items)
    }

    /// The list it is in, if it is in one.
    pub(crate) fn list(&self) -> Option<Place> {
        let (_, list) = self.items.split_last()?;
        Some(Place { items: list.to_vec(), ..*self })
    }
}

/// What identifies a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    gvk: Gvk,
    namespace: Text,
    name: Text,
    /// The name it will be given begins like this.
    generate_name: Text,
    /// For what has no name, or a name that is in several files: the file, and how many like it come before it there.
    in_file: Option<(Text, usize)>,
}

impl Key {
    /// What it is called, in whatever file it is.
    pub(crate) fn in_any_file(&self) -> Self {
        Self { in_file: None, ..self.clone() }
    }

    fn has_any_name(&self) -> bool {
        !self.name.is_empty() || !self.generate_name.is_empty()
    }

    pub(crate) fn kind(&self) -> &str {
        &self.gvk.kind
    }

    pub(crate) fn is_named(&self) -> bool {
        !self.name.is_empty()
    }

    pub(crate) fn is_kustomization(&self) -> bool {
        is_kustomization(&self.gvk)
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if is_kustomization(&self.gvk) { "kustomization" } else { &self.gvk.kind };
        match (kind, self.name.as_str()) {
            ("", "") => write!(f, "the document"),
            (kind, "") if !self.generate_name.is_empty() => write!(f, "{kind} `{}...`", self.generate_name),
            (kind, "") => write!(f, "the {kind}"),
            (kind, name) if self.namespace.is_empty() => write!(f, "{kind} `{name}`"),
            (kind, name) => write!(f, "{kind} `{name}` in namespace `{}`", self.namespace),
        }
    }
}

/// A resource of a set.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub key: Key,
    pub place: Place,
    /// Not a whole resource but part of one, as examples in documents are: it does not say which one.
    is_part: bool,
}

/// Whether files of several sets that have the same path are the same file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paths {
    Matter,
    /// A destination of one file takes everything.
    DoNotMatter,
}

/// Whether a type is that of kustomizations, Components included.
fn is_kustomization(gvk: &Gvk) -> bool {
    gvk.group == KUSTOMIZE_GROUP && matches!(&*gvk.kind, "Kustomization" | "Component")
}

/// Whether a file has a name by which it is a kustomization.
pub(super) fn is_kustomization_file(path: &str) -> bool {
    KUSTOMIZATION_FILES.contains(&path.rsplit('/').next().unwrap_or_default())
}

/// Whether a document is a kustomization: that of kustomize, since other programs have resources of that kind.
pub(super) fn holds_kustomization(root: &Node, path: &str) -> bool {
    is_kustomization(&said_by_file(Gvk::of(root), path))
}

/// A kustomization need not say what it is, or not all of it: the name of its file does. Whatever it says, a file has one,
/// so that all are of one type here.
fn said_by_file(gvk: Gvk, path: &str) -> Gvk {
    let is_left_out = match (gvk.version.is_empty(), &*gvk.kind) {
        (true, "Kustomization" | "Component") => true,
        (true, "") => is_kustomization_file(path),
        (false, "") => gvk.group == KUSTOMIZE_GROUP,
        _ => false,
    };
    match is_left_out || is_kustomization(&gvk) {
        true => {
            Gvk { group: KUSTOMIZE_GROUP.into(), version: "v1beta1".into(), kind: "Kustomization".into() }
        }
        false => gvk,
    }
}

/// Every resource of a set, in order.
pub(crate) struct Keyed<'f> {
    files: &'f [File],
    paths: Paths,
    pub resources: Vec<Known>,
}

impl<'f> Keyed<'f> {
    /// Resources without a name are identified by their file and their order in it; if paths do not matter, by their order
    /// in the whole set.
    pub(crate) fn new(files: &'f [File], paths: Paths) -> Self {
        let mut resources = Vec::new();
        let mut unnamed: FxHashMap<(Gvk, Text, &str), usize> = FxHashMap::default();
        for (file, File { path, documents, .. }) in files.iter().enumerate() {
            let file_name = path.as_str();
            let path = if paths == Paths::Matter { file_name } else { "" };
            for (document, root) in
                documents.iter().map(|d| &d.root).enumerate().filter(|(_, r)| !r.is_null())
            {
                for_each_resource(root, &mut |items, node, gvk| {
                    let gvk = said_by_file(gvk, file_name);
                    let meta = node.get("metadata");
                    let text = |key| -> Text {
                        let field = meta.and_then(|meta| meta.get(key)).filter(|field| !field.is_null());
                        field.and_then(Node::text).unwrap_or_default().into()
                    };
                    let name = text("name");
                    let generate_name = if name.is_empty() { text("generateName") } else { Text::new() };
                    let in_file = name.is_empty().then(|| {
                        let count = unnamed.entry((gvk.clone(), generate_name.clone(), path)).or_default();
                        *count += 1;
                        (path.into(), *count - 1)
                    });
                    let is_part =
                        meta.is_none() && list_items(node).is_none() && gvk.group != KUSTOMIZE_GROUP;
                    let key = Key { gvk, namespace: text("namespace"), name, generate_name, in_file };
                    let place = Place { file, document, items: items.clone() };
                    resources.push(Known { key, place, is_part });
                });
            }
        }
        Self { files, paths, resources }
    }

    /// Whether it holds one resource.
    pub(crate) fn is_one(&self) -> bool {
        self.resources.len() == 1
    }

    /// The names that are in more than one file.
    pub(crate) fn in_several_files(&self) -> FxHashSet<Key> {
        let mut seen: FxHashMap<&Key, usize> = FxHashMap::default();
        let mut several = FxHashSet::default();
        if self.paths == Paths::Matter {
            for Known { key, place, .. } in &self.resources {
                if seen.insert(key, place.file).is_some_and(|other| other != place.file) {
                    several.insert(key.clone());
                }
            }
        }
        several
    }

    /// Has resources of these names identified by their file as well.
    pub(crate) fn distinguish_by_file(&mut self, names: &FxHashSet<Key>) {
        for Known { key, place, .. } in self.resources.iter_mut().filter(|_| !names.is_empty()) {
            if names.contains(key) {
                key.in_file = Some((self.files[place.file].path.as_str().into(), 0));
            }
        }
    }

    /// Refuses two resources of which either may be meant.
    pub(crate) fn refuse_duplicates(&self) -> Result<()> {
        let mut seen: FxHashMap<&Key, &Place> = FxHashMap::default();
        let again = self
            .resources
            .iter()
            .filter_map(|Known { key, place, .. }| Some((key, place, seen.insert(key, place)?)));
        Diagnostic::join(again.map(|(key, second, first)| self.appears_twice(key, first, second)))
            .map_or(Ok(()), Err)
    }

    /// Refuses a name that is in several files, none of which is the one asked for.
    pub(crate) fn refuse_choice(&self, asked: &Key) -> Diagnostic {
        let mut found = self.resources.iter().filter(|known| known.key.in_any_file() == asked.in_any_file());
        let mut next = || &found.next().expect("it is in several files").place;
        let (first, second) = (next(), next());
        self.appears_twice(asked, first, second)
    }

    fn appears_twice(&self, key: &Key, first: &Place, second: &Place) -> Diagnostic {
        Diagnostic::error("merge-twins", format!("{key} appears twice in the destination"))
            .at(second.node(self.files).span())
            .note("first here", first.node(self.files).span())
            .help("remove one of them: either may be meant")
    }
}

/// Whether two documents that are each all there is may be the same without saying so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parts {
    /// Parts of a resource are the same resource, even of different kinds: an update may change the kind.
    Same,
    /// What they are must be the same.
    Compared,
}

/// Where the resources of a set are. If there are several with one key, the last counts.
pub(crate) struct Index<'k> {
    places: FxHashMap<&'k Key, &'k Place>,
    /// The only resource there is, if it is the only one.
    only: Option<&'k Known>,
    parts: Parts,
}

impl<'k> Index<'k> {
    pub(crate) fn new(keyed: &'k Keyed, parts: Parts) -> Self {
        let places = keyed.resources.iter().map(|known| (&known.key, &known.place)).collect();
        Self { places, only: keyed.resources.first().filter(|_| keyed.is_one()), parts }
    }

    /// Where the same resource is: of the same apiVersion, kind, namespace and name. `is_only` says that the one asked for
    /// is the only one of its set. If it has no name, it may be the only one of its kind in whatever file.
    pub(crate) fn find(&self, asked: &Known, is_only: bool) -> Option<&'k Place> {
        if let Some(place) = self.places.get(&asked.key) {
            return Some(place);
        }
        if !is_only {
            return None;
        }
        if let Some(only) = self.only {
            return self.may_be(asked, only).then_some(&only.place);
        }
        if asked.key.is_named() {
            return None;
        }
        let mut alike =
            self.places.iter().filter(|(other, _)| other.in_any_file() == asked.key.in_any_file());
        alike.next().map(|(_, place)| *place).filter(|_| alike.next().is_none())
    }

    fn may_be(&self, a: &Known, b: &Known) -> bool {
        if a.key.in_any_file() == b.key.in_any_file() {
            return true;
        }
        if self.parts == Parts::Same && a.is_part && b.is_part {
            return true;
        }
        // What does not say its name is the one of its kind that does.
        let stands_for = |part: &Key, whole: &Key| {
            !part.has_any_name() && (part.namespace.is_empty() || part.namespace == whole.namespace)
        };
        a.key.gvk == b.key.gvk && (stands_for(&a.key, &b.key) || stands_for(&b.key, &a.key))
    }
}
