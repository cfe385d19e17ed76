//! Where in a document a byte of a text is.

use std::sync::Arc;

use krm_yaml::{Document, Entry, Node, Source, Span, Style};

use super::repair;
use crate::pipeline::trace::Segment;

/// What is under the cursor: a document, the way to a value in it, and the key or value that is meant.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    pub root: Node,
    pub path: Vec<Segment>,
    /// The value at the end of the path; of a key, the value it has.
    pub node: Node,
    /// The key or the scalar under the cursor.
    pub span: Span,
    pub on_key: bool,
    /// The text all spans are in.
    pub source: Arc<Source>,
    /// Of a document written within a text, such as an inline patch: where that text is.
    pub outer: Option<Box<Cursor>>,
}

impl Cursor {
    /// What is at a byte of a text, including one that is being typed.
    pub(crate) fn at(text: &str, offset: usize) -> Option<Self> {
        let documents = repair::documents(text, None);
        let document = document_at(&documents, offset)?;
        let cursor = Self::within(&document.root, document.source(), offset)?;
        Some(cursor.into_embedded(offset))
    }

    /// The same in the document that a literal text holds, if it is one.
    fn into_embedded(self, offset: usize) -> Self {
        let is_text = !self.on_key && self.node.style() == Style::Literal;
        let inner = || {
            let roots = krm_yaml::embedded::parse(&self.node, Some(&self.source)).ok()?;
            let holds =
                |root: &&Node| root.span().start as usize <= offset && offset <= root.span().end as usize;
            let root = roots.iter().find(holds)?;
            Self::within(root, &self.source, offset)
        };
        match is_text.then(inner).flatten() {
            Some(inner) => Self { outer: Some(Box::new(self)), ..inner },
            None => self,
        }
    }

    fn within(root: &Node, source: &Arc<Source>, offset: usize) -> Option<Self> {
        let holds = |span: Span| span.start as usize <= offset && offset <= span.end as usize;
        let mut path = Vec::new();
        let mut node = root;
        loop {
            if let Some(map) = node.as_map() {
                let entry = map.iter().find(|entry| holds(entry.key.span()) || holds(entry.value.span()))?;
                path.push(Segment::Key(entry.key.text()?.into()));
                if holds(entry.key.span()) {
                    return Some(Self::on_key(root, entry, path, source));
                }
                node = &entry.value;
            } else if node.is_seq() {
                let (at, item) = node.items().iter().enumerate().find(|(_, item)| holds(item.span()))?;
                path.push(Segment::Index(at));
                node = item;
            } else {
                return holds(node.span()).then(|| Self::on_value(root, node, path, source));
            }
        }
    }

    /// On the key of the entry that a path leads to.
    pub(super) fn on_key(root: &Node, entry: &Entry, path: Vec<Segment>, source: &Arc<Source>) -> Self {
        Self { on_key: true, span: entry.key.span(), ..Self::on_value(root, &entry.value, path, source) }
    }

    /// On the value that a path leads to.
    pub(super) fn on_value(root: &Node, node: &Node, path: Vec<Segment>, source: &Arc<Source>) -> Self {
        Self {
            root: root.clone(),
            path,
            node: node.clone(),
            span: node.span(),
            on_key: false,
            source: source.clone(),
            outer: None,
        }
    }

    /// The keys on the way, `*` for items.
    pub(crate) fn keys(&self) -> Vec<&str> {
        keys(&self.path)
    }

    /// The value a number of steps before the end of the path.
    pub(crate) fn above(&self, steps: usize) -> Option<&Node> {
        crate::pipeline::trace::at(&self.root, &self.path[..self.path.len().checked_sub(steps)?])
    }
}

/// The document a byte is in.
pub(crate) fn document_at(documents: &[Document], offset: usize) -> Option<&Document> {
    let begins = |document: &&Document| document.span().start as usize <= offset;
    documents.iter().rev().find(begins)
}

pub(crate) fn keys<'p>(path: &'p [Segment]) -> Vec<&'p str> {
    let key = |segment: &'p Segment| match segment {
        Segment::Key(key) => key.as_str(),
        Segment::Index(_) => "*",
    };
    path.iter().map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<(String, String, bool)> {
        let offset = text.find('|').expect("a cursor");
        let plain = text.replacen('|', "", 1);
        let cursor = Cursor::at(&plain, offset)?;
        Some((cursor.keys().join("."), plain[cursor.span.range()].to_owned(), cursor.on_key))
    }

    #[test]
    fn keys_and_values_are_found() {
        for (text, path, under, on_key) in [
            ("a: {b: [x, |y]}\n", "a.b.*", "y", false),
            ("im|ages:\n- name: x\n", "images", "images", true),
            ("images:\n- name: x|\n", "images.*.name", "x", false),
            ("a: 1\n---\nb: 2|\n", "b", "2", false),
            ("a: 1\r\nb: ä|\r\n", "b", "ä", false),
            ("resources:\n- a|.yaml\npat\n", "resources.*", "a.yaml", false),
        ] {
            assert_eq!(at(text), Some((path.into(), under.into(), on_key)), "{text}");
        }
        assert_eq!(at("a: 1\n\n|\nb: 2\n"), None);
    }

    #[test]
    fn a_patch_within_a_kustomization_is_a_document_too() {
        let text = "patches:\n- patch: |-\n    kind: A\n    spec:\n      replicas: 3\n";
        let offset = text.find('3').unwrap();
        let cursor = Cursor::at(text, offset).unwrap();
        assert_eq!(cursor.keys(), ["spec", "replicas"]);
        assert_eq!(cursor.outer.unwrap().keys(), ["patches", "*", "patch"]);
    }
}
