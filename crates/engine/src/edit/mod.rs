//! Edits of kustomization files that change the lines they mean and no others.
//!
//! Every function here works on the tree of one file; [`File::text`] then writes it with the preserving emitter, so that
//! comments, order, quotes, flow lists and line ends stay. What the edits mean is what `kustomize edit` of the same name
//! means; what it also rewrites on the way (`bases` into `resources`, sorted images, a missing `kind`) stays as it is.

pub mod create;
mod diff;
mod extract;
mod fields;
pub mod fix;
pub mod generators;
pub(crate) mod glob;
pub mod images;
pub mod labels;
pub mod lists;
pub mod localize;
pub mod moves;
pub mod overlay;
pub mod patches;
pub mod rename;
pub mod replicas;
mod vars;

use std::path::PathBuf;
use std::sync::Arc;

use krm_yaml::emit::preserve;
use krm_yaml::{Diagnostic, Document, DuplicateKeys, Node, ParseOptions, Result, Source, Span};

use crate::files::folder::{Folder, Reach};
use crate::files::texts::Files;
use crate::files::world::Loader;
use crate::kustomization::{self, Kustomization};

pub use diff::diff;
pub use glob::{expand, matches};

/// A kustomization file that is being edited.
pub struct File {
    folder: Arc<Folder>,
    source: Arc<Source>,
    documents: Vec<Document>,
    /// What is worth knowing about an edit that did not fail: `a.yaml` was there already.
    notes: Vec<String>,
    /// What was written as asked, and is probably not what was meant.
    warnings: Vec<Diagnostic>,
}

impl File {
    /// Opens the kustomization of a folder. Unlike for a build, it may be empty.
    pub fn open(files: &Arc<Files>, dir: &str) -> Result<Self> {
        let folder = Folder::open(files, dir, Reach::Anywhere, &Arc::default())?;
        let source = kustomization::find(&folder, Span::NONE)?;
        // Equal keys are kept: the last one counts for a build, and is the one that is edited.
        let mut documents =
            krm_yaml::parse_with(&source, ParseOptions::default().duplicate_keys(DuplicateKeys::Keep))?;
        if documents.is_empty() {
            documents.push(Document::made(Node::null()));
        }
        let mut root = documents[0].root.clone();
        if !root.is_null() {
            krm_yaml::merge_keys::resolve(&mut root)?;
            Kustomization::from_root(&root)?;
        }
        Ok(Self { folder, source, documents, notes: Vec::new(), warnings: Vec::new() })
    }

    /// The path of the file.
    pub fn path(&self) -> PathBuf {
        self.folder.root().join(self.name())
    }

    /// The path as shown to people.
    pub fn shown(&self) -> &str {
        self.source.name()
    }

    /// The name of the file, without its folder.
    pub(crate) fn name(&self) -> &str {
        self.source.name().rsplit('/').next().unwrap_or_default()
    }

    pub(crate) fn folder(&self) -> &Arc<Folder> {
        &self.folder
    }

    /// The file before any edit.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The tree, with the edits; null if the file is empty.
    pub fn root(&self) -> &Node {
        &self.documents[0].root
    }

    /// The tree, for editing. That of an empty file begins with its type, as in a new one.
    pub(crate) fn root_mut(&mut self) -> &mut Node {
        let root = &mut self.documents[0].root;
        if root.is_null() {
            root.assign(typed());
        }
        root
    }

    /// The whole text after the edits. Comments at the end are about the file, and stay when its last field goes.
    pub fn text(&self) -> String {
        // Nothing was added to a file without content.
        if self.root().is_null() {
            return self.source.text().to_owned();
        }
        let mut text = preserve::stream(&self.documents);
        let end = comments_at_end(self.source.text());
        if !end.is_empty() && !text.contains(end) {
            text.push_str(end);
        }
        text
    }

    /// Whether the edits make it another text.
    pub fn is_changed(&self) -> bool {
        !self.documents[0].is_as_written() && self.text() != self.source.text()
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// What is worth knowing about edits that did not fail, in order: that something was there already.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What was written as asked, but is probably not what was meant.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// Sets `namespace`, `namePrefix` or `nameSuffix`; nothing removes the field.
    pub fn set_text(&mut self, field: &str, value: &str) {
        fields::set_text(self.root_mut(), field, value);
        self.keep_a_document();
    }

    /// Keeps the items of a list that pass, and gives how many were removed; see [`fields::retain`]. A file that has none to
    /// remove stays as it is, even if it is empty.
    fn retain(&mut self, field: &str, keep: impl Fn(&Node) -> bool) -> usize {
        if fields::items(self.root(), field).is_empty() {
            return 0;
        }
        let removed = fields::retain(self.root_mut(), field, keep);
        self.keep_a_document();
        removed
    }

    /// What is left when the last field goes is still a kustomization.
    fn keep_a_document(&mut self) {
        let root = &mut self.documents[0].root;
        if root.as_map().is_some_and(|map| map.is_empty()) {
            root.assign(typed());
        }
    }
}

/// The lines at the end of a text that begin with a comment.
fn comments_at_end(text: &str) -> &str {
    let lines = text.split_inclusive('\n').rev().take_while(|line| line.starts_with('#'));
    &text[text.len() - lines.map(str::len).sum::<usize>()..]
}

/// The first two lines of a new kustomization.
fn typed() -> Node {
    [("apiVersion", "kustomize.config.k8s.io/v1beta1"), ("kind", "Kustomization")].into_iter().collect()
}

/// An argument that cannot be read.
fn bad_argument(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error("edit-argument", message)
}

/// What is to be added already exists.
fn exists(message: impl Into<String>, place: Span) -> Diagnostic {
    Diagnostic::error("edit-exists", message).at(place)
}

/// What is to be changed or removed is not there.
fn missing(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error("edit-not-found", message)
}
