//! What an entry of a kustomization is called: `images[0].newTag`.

use std::sync::{Arc, Mutex};

use krm_yaml::{FileId, Node, Sources, Span};
use rustc_hash::FxHashMap;

use crate::files::KUSTOMIZATION_FILES;

/// Finds what the fields of kustomizations are called, given a place in them.
pub struct Labels<'s> {
    pub(super) sources: &'s Sources,
    /// Parsed once, however many events point into a file.
    documents: Mutex<FxHashMap<FileId, Arc<[Node]>>>,
}

impl<'s> Labels<'s> {
    /// Labels for spans of these texts.
    pub fn new(sources: &'s Sources) -> Self {
        Self { sources, documents: Mutex::default() }
    }

    /// The documents of a file; none of one that is not YAML.
    pub(super) fn documents(&self, file: FileId) -> Arc<[Node]> {
        let mut known = self.documents.lock().expect("no one panics while holding the files");
        let read = || {
            let documents = self.sources.get(file).and_then(|source| krm_yaml::parse(&source).ok());
            documents.unwrap_or_default().into_iter().map(|document| document.root).collect()
        };
        known.entry(file).or_insert_with(read).clone()
    }

    /// The first document of a file.
    pub(crate) fn root(&self, file: FileId) -> Option<Node> {
        self.documents(file).first().cloned()
    }

    /// The first document of a kustomization file; none of another file.
    fn kustomization(&self, file: FileId) -> Option<Node> {
        is_kustomization(self.sources.get(file)?.name()).then(|| self.root(file))?
    }

    /// The way to the value at a place, if that is in a kustomization. A patch or an object written inline is called by the
    /// entry that holds it.
    pub fn field(&self, place: Span) -> Option<String> {
        way_to(&self.kustomization(place.file)?, place, &|way, key| {
            way.contains('[') && matches!(key, "patch" | "path" | "target")
        })
    }

    /// The way to a condition at a place in a kustomization: also to what a target asks for.
    pub(crate) fn condition(&self, place: Span) -> Option<String> {
        way_to(&self.kustomization(place.file)?, place, &|_, _| false)
    }

    /// The way to the value at a place in any file.
    pub(super) fn path(&self, place: Span) -> Option<String> {
        let documents = self.documents(place.file);
        way_to(documents.iter().find(|root| root.span().holds(place))?, place, &|_, _| false)
    }

    /// The value that is written at a place.
    pub(crate) fn node(&self, place: Span) -> Option<Node> {
        let root = self.root(place.file)?;
        let mut node = &root;
        while node.span() != place {
            let mut values = node.as_map().into_iter().flatten().map(|entry| &entry.value);
            // The place of a field is that of its key.
            let of_key = node.as_map().into_iter().flatten().find(|entry| entry.key.span() == place);
            if let Some(entry) = of_key {
                return Some(entry.value.clone());
            }
            node = values
                .find(|value| value.span().holds(place))
                .or_else(|| node.items().iter().find(|item| item.span().holds(place)))?;
        }
        Some(node.clone())
    }

    /// The same in any file: also in one that is a list of entries, or one entry.
    pub fn entry_of_any(&self, place: Span) -> Option<Node> {
        let root = self.root(place.file)?;
        let item = || root.items().iter().find(|item| item.span().holds(place)).cloned();
        self.entry(place).or_else(item).or_else(|| root.is_map().then(|| root.clone()))
    }

    /// The entry of a list in a kustomization that holds a place.
    pub fn entry(&self, place: Span) -> Option<Node> {
        let root = self.kustomization(place.file)?;
        let lists = root.as_map().into_iter().flatten().map(|entry| &entry.value);
        lists.flat_map(Node::items).find(|item| item.span().holds(place)).cloned()
    }
}

/// The way from a tree to the value at a place, up to a key that ends it.
fn way_to(root: &Node, place: Span, ends: &dyn Fn(&str, &str) -> bool) -> Option<String> {
    let mut way = String::new();
    let mut node = root;
    loop {
        let mut entries = node.as_map().into_iter().flatten();
        let mut items = node.items().iter().enumerate();
        let is_here = |node: &Node| node.span().holds(place);
        if let Some(entry) = entries.find(|entry| is_here(&entry.value) || is_here(&entry.key)) {
            let key = entry.key.text()?;
            if ends(&way, key) {
                break;
            }
            if !way.is_empty() {
                way.push('.');
            }
            way.push_str(key);
            node = &entry.value;
        } else if let Some((at, item)) = items.find(|(_, item)| is_here(item)) {
            way.push_str(&format!("[{at}]"));
            node = item;
        } else {
            break;
        }
    }
    (!way.is_empty()).then_some(way)
}

pub(super) fn is_kustomization(name: &str) -> bool {
    KUSTOMIZATION_FILES.contains(&name.rsplit('/').next().unwrap_or_default())
}
