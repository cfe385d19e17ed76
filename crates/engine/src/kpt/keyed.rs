//! Resources of packages by what upstream calls them, and the files that hold them.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

use krm_function::Object;
use krm_yaml::{Diagnostic, Document, Result, Sources, Span};
use rustc_hash::FxHashMap;

use super::merge_comments::upstream_name;
use super::update::{Files, shown};

/// A resource by its type and by what upstream calls it.
pub(super) type Key = (String, String, String, String);

/// The resources of a file by their keys, in order.
pub(super) struct Keyed {
    pub(super) documents: Vec<Document>,
    pub(super) at: FxHashMap<Key, usize>,
    keys: Vec<Option<Key>>,
}

/// What a file holds, if it exists.
pub(super) fn documents(path: &str, bytes: Option<&Vec<u8>>, sources: &Sources) -> Result<Vec<Document>> {
    bytes.map_or_else(|| Ok(Vec::new()), |bytes| krm_yaml::parse(&sources.add_bytes(path, bytes.clone())?))
}

impl Keyed {
    pub(super) fn new(path: &str, documents: Vec<Document>) -> Result<Self> {
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
    pub(super) fn unnamed(&self) -> Vec<&Document> {
        self.resources()
            .filter(|(document, key)| is_unnamed(document, *key))
            .map(|(document, _)| document)
            .collect()
    }

    /// The comments above the first document.
    pub(super) fn head(&self) -> &str {
        self.documents.first().map_or("", Document::head)
    }

    /// The documents that hold nothing but comments.
    pub(super) fn comments(&self) -> BTreeSet<&str> {
        let texts = self.documents.iter().filter(|document| document.root.is_null()).map(text_of);
        texts.filter(|text| !text.is_empty()).collect()
    }

    pub(super) fn resources(&self) -> impl Iterator<Item = (&Document, Option<&Key>)> {
        self.documents.iter().zip(self.keys.iter().map(Option::as_ref))
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Document> {
        self.at.get(key).map(|at| &self.documents[*at])
    }

    /// Each resource that has a key, and where it is written.
    pub(super) fn places(&self) -> Vec<(Key, Span)> {
        self.at.iter().map(|(key, at)| (key.clone(), self.documents[*at].root.span())).collect()
    }
}

pub(super) fn is_unnamed(document: &Document, key: Option<&Key>) -> bool {
    key.is_none() && !document.root.is_null()
}

/// A file that holds a resource, and where in it.
#[derive(Clone)]
pub(super) struct Home {
    pub(super) path: String,
    pub(super) span: Span,
}

/// Which files hold each resource, to say where one went that has left its file. The files are read only if that is asked.
pub(super) struct Homes<'a> {
    pub(super) files: &'a Files,
    pub(super) folder: &'a Path,
    pub(super) sources: &'a Sources,
    pub(super) found: OnceLock<FxHashMap<Key, Vec<Home>>>,
}

impl Homes<'_> {
    pub(super) fn all(&self, key: &Key) -> &[Home] {
        let found = self.found.get_or_init(|| {
            let mut found: FxHashMap<Key, Vec<Home>> = FxHashMap::default();
            for (path, bytes) in self.files {
                // Not every file is YAML.
                let name = shown(self.folder, path);
                let keyed =
                    documents(&name, Some(bytes), self.sources).and_then(|all| Keyed::new(&name, all));
                for (key, at) in keyed.into_iter().flat_map(|keyed| keyed.places()) {
                    found.entry(key).or_default().push(Home { path: path.clone(), span: at });
                }
            }
            found
        });
        found.get(key).map_or(&[], Vec::as_slice)
    }

    /// Whether a file holds the resource.
    fn has(&self, key: &Key, path: &str) -> bool {
        self.all(key).iter().any(|home| home.path == path)
    }
}

/// Which files hold each resource on all sides.
pub(super) struct AllHomes<'a> {
    pub(super) was: Homes<'a>,
    pub(super) theirs: Homes<'a>,
    pub(super) ours: Homes<'a>,
}

impl AllHomes<'_> {
    /// The file here that a resource was moved to: one that did not hold it before.
    pub(super) fn moved_to(&self, key: &Key) -> Option<&Home> {
        self.ours.all(key).iter().rfind(|home| !self.was.has(key, &home.path))
    }

    /// The files here, and not upstream, that have a resource which upstream adds to another file. Those that were added here
    /// beside all those that had it before do not count: a patch has the name of its base.
    pub(super) fn only_here(&self, key: &Key) -> impl Iterator<Item = &Home> {
        let mut was = self.was.all(key).iter();
        let is_added_to = was.len() > 0 && was.all(|home| self.ours.has(key, &home.path));
        self.ours.all(key).iter().filter(move |home| {
            !self.theirs.has(key, &home.path) && (!is_added_to || self.was.has(key, &home.path))
        })
    }
}

/// What is written in a document.
pub(super) fn text_of(document: &Document) -> &str {
    let text = document.source().text()[document.span().range()].trim();
    text.strip_prefix("---").unwrap_or(text).trim()
}
