//! Which document of a set of files is which resource.

use krm_yaml::{Diagnostic, Node, Result, Text};
use rustc_hash::{FxHashMap, FxHashSet};

use super::File;
use crate::resource::Gvk;

/// A document: the number of its file, and its number there.
pub type Place = (usize, usize);

/// What a resource is known by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    gvk: Gvk,
    namespace: Text,
    name: Text,
    /// Where the name does not tell: the file, and how many of this kind came before in it.
    stands: Option<(Text, usize)>,
}

impl Key {
    fn is_named(&self) -> bool {
        !self.name.is_empty() && !self.gvk.kind.is_empty()
    }

    /// By what it is called, wherever it stands.
    pub fn named(&self) -> Self {
        Self { stands: None, ..self.clone() }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.gvk.kind.as_str(), self.name.as_str()) {
            ("", "") => write!(f, "the document"),
            (kind, "") => write!(f, "the {kind}"),
            (kind, name) if self.namespace.is_empty() => write!(f, "{kind} `{name}`"),
            (kind, name) => write!(f, "{kind} `{name}` in namespace `{}`", self.namespace),
        }
    }
}

/// Every document of a set with its key and its place, in order.
pub struct Keyed<'f> {
    files: &'f [File],
    /// Whether files of several sets stand for each other where their paths are the same.
    by_path: bool,
    pub documents: Vec<(Key, Place)>,
}

impl<'f> Keyed<'f> {
    /// Documents without a name are told apart by their file and, within it, by their order. Where a destination of one
    /// file takes everything, paths say nothing, and the order within the whole set tells.
    pub fn new(files: &'f [File], by_path: bool) -> Self {
        let mut documents = Vec::new();
        let mut unnamed: FxHashMap<(Gvk, &str), usize> = FxHashMap::default();
        for (number, file) in files.iter().enumerate() {
            let path = if by_path { file.path.as_str() } else { "" };
            for (at, document) in file.documents.iter().enumerate().filter(|(_, d)| !d.root.is_null()) {
                let (gvk, meta) = (Gvk::of(&document.root), document.root.get("metadata"));
                let text = |key| meta.and_then(|m| m.get(key)).filter(|n| !n.is_null()).and_then(Node::text);
                let name = text("name").unwrap_or_default();
                let stands = name.is_empty().then(|| {
                    let count = unnamed.entry((gvk.clone(), path)).or_default();
                    *count += 1;
                    (path.into(), *count - 1)
                });
                let namespace = text("namespace").unwrap_or_default().into();
                documents.push((Key { gvk, namespace, name: name.into(), stands }, (number, at)));
            }
        }
        Self { files, by_path, documents }
    }

    /// The names that stand in more than one file.
    pub fn twins(&self) -> FxHashSet<Key> {
        let mut seen: FxHashMap<&Key, usize> = FxHashMap::default();
        let mut twins = FxHashSet::default();
        if self.by_path {
            for (key, (file, _)) in &self.documents {
                if seen.insert(key, *file).is_some_and(|other| other != *file) {
                    twins.insert(key.clone());
                }
            }
        }
        twins
    }

    /// Tells resources of these names apart by their file.
    pub fn tell_apart(&mut self, twins: &FxHashSet<Key>) {
        for (key, (file, _)) in self.documents.iter_mut().filter(|_| !twins.is_empty()) {
            if twins.contains(key) {
                key.stands = Some((self.files[*file].path.as_str().into(), 0));
            }
        }
    }

    /// Complains where there is no telling which of two documents is meant.
    pub fn refuse_twins(&self) -> Result<()> {
        let mut seen: FxHashMap<&Key, Place> = FxHashMap::default();
        let again =
            self.documents.iter().filter_map(|(key, place)| Some((key, *place, seen.insert(key, *place)?)));
        Diagnostic::join(again.map(|(key, second, first)| self.stand_twice(key, first, second)))
            .map_or(Ok(()), Err)
    }

    /// The complaint about a name that stands in several files, none of which is the one asked for.
    pub fn refuse_choice(&self, asked: &Key) -> Diagnostic {
        let mut found = self.documents.iter().filter(|(key, _)| key.named() == asked.named());
        let mut next = || found.next().expect("a twin stands twice").1;
        let (first, second) = (next(), next());
        self.stand_twice(asked, first, second)
    }

    fn stand_twice(&self, key: &Key, first: Place, second: Place) -> Diagnostic {
        let span = |(file, at): Place| self.files[file].documents[at].root.span();
        Diagnostic::error("merge-twins", format!("{key} stands twice in the destination"))
            .at(span(second))
            .note("first here", span(first))
            .help("remove one of them: there is no telling which is meant")
    }
}

/// Where the documents of a set are. Of several for one resource the last counts.
pub struct Index<'k> {
    places: FxHashMap<&'k Key, Place>,
    /// The only document there is, if it is the only one.
    only: Option<&'k (Key, Place)>,
}

impl<'k> Index<'k> {
    pub fn new(keyed: &'k Keyed) -> Self {
        let documents = &keyed.documents;
        let places = documents.iter().map(|(key, place)| (key, *place)).collect();
        Self { places, only: documents.first().filter(|_| documents.len() == 1) }
    }

    /// Where the same resource is. A lone document without a name stands for the only one of its kind without, in
    /// whatever file; two lone documents are the same unless their names say otherwise.
    pub fn find(&self, key: &Key, is_only: bool) -> Option<Place> {
        if let Some(place) = self.places.get(key) {
            return Some(*place);
        }
        if !is_only {
            return None;
        }
        if let Some((only, place)) = self.only {
            return (!key.is_named() || !only.is_named()).then_some(*place);
        }
        let mut alike =
            self.places.iter().filter(|(other, _)| key.name.is_empty() && other.named() == key.named());
        alike.next().map(|(_, place)| *place).filter(|_| alike.next().is_none())
    }
}
