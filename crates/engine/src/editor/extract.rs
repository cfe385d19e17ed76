//! An entry of a kustomization, such as a patch, becomes a file of its own, or a patch in a file becomes an entry.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Fix, Source, Sources};

use super::Editor;
use super::facts::Role;
use super::fields::FileKind;
use super::problems::FileSpan;
use crate::edit::File;
use crate::files::texts::Files;
use crate::files::world::World;
use crate::lint::fix::as_edits;
use crate::pipeline::trace::Segment;

/// What to write, and where.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Extraction {
    /// The entry, such as `patches[0]`.
    pub entry: String,
    /// The new file.
    pub path: PathBuf,
    /// What is in the new file.
    pub text: String,
    /// What changes in the kustomization.
    pub edits: Vec<(FileSpan, String)>,
}

/// A patch that can be written in the kustomization itself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Inlining {
    /// The file, as the kustomization names it.
    pub file: String,
    /// What changes in the kustomization.
    pub edits: Vec<(FileSpan, String)>,
}

/// An entry of a kustomization under the cursor.
struct Entry {
    field: String,
    /// Such as `patches[0]`.
    name: String,
    /// The kustomization, and its text before any edit.
    path: PathBuf,
    source: Arc<Source>,
    folder: PathBuf,
    file: File,
}

impl Entry {
    /// What changes in the kustomization.
    fn edits(&self) -> Vec<(FileSpan, String)> {
        let fix = as_edits(Fix::safe(""), &self.source, &self.file.text());
        let place = |span| FileSpan { path: self.path.clone(), source: self.source.clone(), span };
        fix.edits().iter().map(|edit| (place(edit.span), edit.text.clone())).collect()
    }
}

impl Editor {
    /// How the entry at a byte of a kustomization becomes a file; `None` if it is one already, or cannot be one.
    pub fn extraction(&mut self, path: &Path, offset: usize) -> Option<Extraction> {
        let mut entry = self.entry(path, offset)?;
        let word = match entry.field.as_str() {
            "replacements" => "replacement",
            "generators" | "transformers" | "validators" => entry.field.trim_end_matches('s'),
            _ => "patch",
        };
        let new = self.unused_name(&entry.folder, word);
        let text = entry.file.extract(&entry.name, &new).ok()?;
        let (edits, path) = (entry.edits(), entry.folder.join(new));
        Some(Extraction { entry: entry.name, path, text, edits })
    }

    /// How the patch that the entry at a byte of a kustomization names is written there; `None` if it names none.
    pub fn inlining(&mut self, path: &Path, offset: usize) -> Option<Inlining> {
        let mut entry = self.entry(path, offset)?;
        let file = entry.file.inline_patch(&entry.name).ok()?;
        Some(Inlining { file, edits: entry.edits() })
    }

    fn entry(&mut self, path: &Path, offset: usize) -> Option<Entry> {
        self.sync();
        let path = self.world.place(path);
        if self.role(&path) != Role::Ours(FileKind::Kustomization) {
            return None;
        }
        let cursor = self.cursor(&path, offset)?;
        // In an inline patch, the entry that holds it.
        let cursor = cursor.outer.as_deref().unwrap_or(&cursor);
        let [Segment::Key(field), Segment::Index(at), ..] = &cursor.path[..] else { return None };
        let (field, name) = (field.to_string(), format!("{field}[{at}]"));
        let layer = self.layer_of(&path)?;
        let (source, folder) = (layer.source.clone()?, layer.folder.clone());
        let world: Arc<dyn World> = self.world.clone();
        let file = File::open(&Files::new(world, Sources::new()), &layer.shown).ok()?;
        Some(Entry { field, name, path, source, folder, file })
    }

    /// A name that no file of a folder has.
    fn unused_name(&self, folder: &Path, word: &str) -> String {
        let numbered = (2..).map(|number| format!("{word}-{number}.yaml"));
        let mut names = std::iter::once(format!("{word}.yaml")).chain(numbered);
        names.find(|name| !self.world.is_file(&folder.join(name))).expect("numbers do not end")
    }
}
