//! What is in a file, and what it leads to.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Node, Source, Span};

use super::facts::Role;
use super::problems::FileSpan;
use super::{Editor, repair};
use crate::workspace::ReferenceTarget;

/// A part of a file that has a name.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Symbol {
    /// Kind and name of a resource, the key of a field, or what an entry of a list is known by.
    pub name: String,
    /// The namespace of a resource, or a short value; empty if there is neither.
    pub detail: String,
    /// Whether it is a whole resource and not a part of one.
    pub is_resource: bool,
    /// All of it.
    pub whole: FileSpan,
    /// What to show when it is chosen.
    pub chosen: Span,
    /// The parts of it that have names.
    pub within: Vec<Symbol>,
}

/// A text that leads to a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Link {
    /// The text.
    pub from: FileSpan,
    /// The file it leads to: for a base, its kustomization.
    pub to: PathBuf,
}

impl Editor {
    /// The resources of a file, or the fields of a kustomization with their entries.
    pub fn symbols(&mut self, path: &Path) -> Vec<Symbol> {
        self.sync();
        let path = self.world.place(path);
        let role = self.role(&path);
        let Some(text) = self.text(&path).filter(|_| role != Role::Stranger) else { return Vec::new() };
        let documents = repair::documents(&text, None);
        let documents = documents.iter().filter(|document| !document.root.is_null());
        let of = |document: &krm_yaml::Document| {
            let (root, source) = (&document.root, document.source());
            let outline = Outline { path: &path, source };
            match role {
                Role::Ours(_) => outline.fields(root, Outline::items),
                _ => vec![outline.resource(root)],
            }
        };
        documents.flat_map(of).collect()
    }

    /// What can be folded away: fields and items of lists that take more than a line. `None` for files that are not ours.
    pub fn folds(&mut self, path: &Path) -> Option<Vec<FileSpan>> {
        self.sync();
        let path = self.world.place(path);
        let text = self.text(&path).filter(|_| self.role(&path) != Role::Stranger)?;
        let mut found = Vec::new();
        for document in repair::documents(&text, None) {
            let source = document.source();
            folds(&document.root, &mut |span| {
                let end = source.slice(span).trim_end().len() as u32;
                let span = Span { end: span.start + end, ..span };
                if source.slice(span).contains('\n') {
                    found.push(FileSpan { path: path.clone(), source: source.clone(), span });
                }
            });
        }
        Some(found)
    }

    /// Every resource that is defined in the folder and whose kind or name holds a text.
    pub fn find_symbols(&mut self, query: &str) -> Vec<Symbol> {
        self.sync();
        let folders: Vec<PathBuf> = self.workspace.layers().map(|layer| layer.folder.clone()).collect();
        let query = query.to_lowercase();
        let mut found = Vec::new();
        for definition in self.definitions(&folders) {
            let name = format!("{} {}", definition.kind, definition.name);
            if name.to_lowercase().contains(&query) {
                let chosen = definition.place.span;
                let whole = FileSpan { span: definition.whole, ..definition.place };
                let (detail, within) = (definition.namespace.to_string(), Vec::new());
                found.push(Symbol { name, detail, is_resource: true, whole, chosen, within });
            }
        }
        found.sort_by(|a, b| {
            (&a.name, &a.whole.path, a.chosen.start).cmp(&(&b.name, &b.whole.path, b.chosen.start))
        });
        found.dedup_by(|a, b| a.whole.path == b.whole.path && a.chosen == b.chosen);
        found
    }

    /// The paths in a kustomization that lead to files.
    pub fn links(&mut self, path: &Path) -> Vec<Link> {
        self.sync();
        let path = self.world.place(path);
        let Some(layer) = self.layer_of(&path) else { return Vec::new() };
        let Some(source) = &layer.source else { return Vec::new() };
        let own = layer.references.iter().filter(|reference| reference.span.file == source.id());
        let links = own.filter_map(|reference| {
            let to = match &reference.target {
                ReferenceTarget::File(file) => file.clone(),
                ReferenceTarget::Layer(folder) => self.workspace.layer(folder)?.file.clone(),
                ReferenceTarget::Folder(_) | ReferenceTarget::Remote(_) | ReferenceTarget::Missing(_) => {
                    return None;
                }
            };
            Some(Link {
                from: FileSpan { path: path.clone(), source: source.clone(), span: reference.span },
                to,
            })
        });
        links.collect()
    }
}

struct Outline<'a> {
    path: &'a Path,
    source: &'a Arc<Source>,
}

impl Outline<'_> {
    fn place(&self, span: Span) -> FileSpan {
        FileSpan { path: self.path.to_owned(), source: self.source.clone(), span }
    }

    fn resource(&self, root: &Node) -> Symbol {
        let text = |keys: &[&str]| root.at(keys.iter().copied()).and_then(Node::text).unwrap_or_default();
        let name = format!("{} {}", text(&["kind"]), text(&["metadata", "name"]));
        let name = match name.trim() {
            "" => "document".to_owned(),
            name => name.to_owned(),
        };
        let chosen = root.at(["metadata", "name"]).or(root.get("kind")).map_or(root.span(), Node::span);
        let chosen = if root.span().holds(chosen) { chosen } else { root.span() };
        let within = self.fields(root, |_, _| Vec::new());
        let detail = text(&["metadata", "namespace"]).to_owned();
        Symbol { name, detail, is_resource: true, whole: self.place(root.span()), chosen, within }
    }

    /// The fields of a map, each with what is `within` its value.
    fn fields(&self, root: &Node, within: impl Fn(&Self, &Node) -> Vec<Symbol>) -> Vec<Symbol> {
        let entries = root.as_map().into_iter().flatten().filter_map(|entry| {
            let whole = entry.key.span().to(entry.value.span());
            Some(Symbol {
                name: entry.key.text().filter(|key| !key.is_empty())?.to_owned(),
                detail: short(&entry.value),
                is_resource: false,
                whole: self.place(whole),
                chosen: entry.key.span(),
                within: within(self, &entry.value),
            })
        });
        entries.collect()
    }

    fn items(&self, list: &Node) -> Vec<Symbol> {
        let items = list.items().iter().enumerate().map(|(at, item)| Symbol {
            name: item_name(item).unwrap_or_else(|| format!("[{at}]")),
            detail: String::new(),
            is_resource: false,
            whole: self.place(item.span()),
            chosen: item.span(),
            within: Vec::new(),
        });
        items.collect()
    }
}

fn folds(node: &Node, see: &mut dyn FnMut(Span)) {
    for entry in node.as_map().into_iter().flatten() {
        see(entry.key.span().to(entry.value.span()));
        folds(&entry.value, see);
    }
    for item in node.items() {
        see(item.span());
        folds(item, see);
    }
}

/// What people call an entry of a list.
fn item_name(item: &Node) -> Option<String> {
    let name = ["name", "path", "kind"].iter().find_map(|key| item.get(key).and_then(Node::text));
    let target = || item.at(["target", "name"]).or(item.at(["target", "kind"])).and_then(Node::text);
    let text = item.text().or(name).or_else(target)?;
    let line = text.lines().next().unwrap_or_default().trim();
    (!line.is_empty()).then(|| line.to_owned())
}

fn short(value: &Node) -> String {
    value.text().filter(|text| text.len() < 60 && !text.contains('\n')).unwrap_or_default().to_owned()
}
