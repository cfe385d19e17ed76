//! What an entry of a kustomization is called: `images[0].newTag`.

use std::sync::Mutex;

use krm_yaml::{FileId, Node, Sources, Span};
use rustc_hash::FxHashMap;

use crate::files::KUSTOMIZATION_FILES;

/// Finds what the fields of kustomizations are called, given a place in them.
pub struct Labels<'s> {
    sources: &'s Sources,
    /// Parsed once, however many events point into a file.
    roots: Mutex<FxHashMap<FileId, Option<Node>>>,
}

impl<'s> Labels<'s> {
    pub fn new(sources: &'s Sources) -> Self {
        Self { sources, roots: Mutex::default() }
    }

    /// The way to the value at a place, where that is in a kustomization. A patch or an object written inline is called by
    /// the entry that holds it.
    pub fn field(&self, place: Span) -> Option<String> {
        let source = self.sources.get(place.file)?;
        let name = source.name().rsplit('/').next().unwrap_or_default();
        if !KUSTOMIZATION_FILES.contains(&name) {
            return None;
        }
        let mut roots = self.roots.lock().expect("no one panics while holding the files");
        let root = roots.entry(place.file).or_insert_with(|| {
            krm_yaml::parse(&source).ok()?.into_iter().next().map(|document| document.root)
        });
        let mut way = String::new();
        let mut node = root.as_ref()?;
        loop {
            let holds = |span: Span| span.start <= place.start && place.end <= span.end;
            let entries = node.as_map().into_iter().flatten();
            let items = node.items().iter().enumerate();
            if let Some(entry) =
                entries.clone().find(|entry| holds(entry.value.span()) || holds(entry.key.span()))
            {
                let key = entry.key.text()?;
                if way.contains('[') && matches!(key, "patch" | "path" | "target") {
                    break;
                }
                if !way.is_empty() {
                    way.push('.');
                }
                way.push_str(key);
                node = &entry.value;
            } else if let Some((at, item)) = items.clone().find(|(_, item)| holds(item.span())) {
                way.push_str(&format!("[{at}]"));
                node = item;
            } else {
                break;
            }
        }
        (!way.is_empty()).then_some(way)
    }

    /// The first document of a file.
    pub fn root(&self, file: FileId) -> Option<Node> {
        let mut roots = self.roots.lock().expect("no one panics while holding the files");
        let read = || krm_yaml::parse(&self.sources.get(file)?).ok()?.into_iter().next().map(|d| d.root);
        roots.entry(file).or_insert_with(read).clone()
    }

    /// The value that is written at a place.
    pub fn node(&self, place: Span) -> Option<Node> {
        let root = self.root(place.file)?;
        let mut node = &root;
        let holds = |span: Span| span.start <= place.start && place.end <= span.end;
        while node.span() != place {
            let mut values = node.as_map().into_iter().flatten().map(|entry| &entry.value);
            // The place of a field is that of its key.
            let of_key = node.as_map().into_iter().flatten().find(|entry| entry.key.span() == place);
            if let Some(entry) = of_key {
                return Some(entry.value.clone());
            }
            node = values
                .find(|value| holds(value.span()))
                .or_else(|| node.items().iter().find(|item| holds(item.span())))?;
        }
        Some(node.clone())
    }

    /// The entry of a list in a kustomization that holds a place.
    pub fn entry(&self, place: Span) -> Option<Node> {
        self.field(place)?;
        let roots = self.roots.lock().expect("no one panics while holding the files");
        let root = roots.get(&place.file)?.as_ref()?;
        let holds = |node: &&Node| node.span().start <= place.start && place.end <= node.span().end;
        let lists = root.as_map().into_iter().flatten().map(|entry| &entry.value);
        lists.flat_map(Node::items).find(holds).cloned()
    }
}
