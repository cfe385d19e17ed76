//! An entry of a kustomization, such as a patch, becomes a file of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Fix, Sources};

use super::Editor;
use super::facts::Role;
use super::fields::FileKind;
use super::problems::Place;
use crate::edit::File;
use crate::files::folder::Files;
use crate::files::world::World;
use crate::lint::fix::as_edits;
use crate::pipeline::trace::Segment;

/// What to write, and where.
#[derive(Clone, Debug)]
pub struct Extraction {
    /// The entry, such as `patches[0]`.
    pub entry: String,
    /// The new file, and what is in it.
    pub path: PathBuf,
    pub text: String,
    /// What changes in the kustomization.
    pub edits: Vec<(Place, String)>,
}

impl Editor {
    /// How the entry at a byte of a kustomization becomes a file; `None` if it is one already, or cannot be one.
    pub fn extraction(&mut self, path: &Path, offset: usize) -> Option<Extraction> {
        self.sync();
        let path = self.world.place(path);
        if self.role(&path) != Role::Ours(FileKind::Kustomization) {
            return None;
        }
        let cursor = self.cursor(&path, offset)?;
        // In an inline patch, the entry that holds it.
        let cursor = cursor.outer.as_deref().unwrap_or(&cursor);
        let [Segment::Key(field), Segment::Index(at), ..] = &cursor.path[..] else { return None };
        let entry = format!("{field}[{at}]");
        let layer = self.layer_of(&path)?;
        let source = layer.source.clone()?;
        let world: Arc<dyn World> = self.world.clone();
        let mut file = File::open(&Files::new(world, Sources::new()), &layer.shown).ok()?;
        let word = match field.as_str() {
            "replacements" => "replacement",
            "generators" | "transformers" | "validators" => field.trim_end_matches('s'),
            _ => "patch",
        };
        let new = self.unused_name(&layer.folder, word);
        let text = file.extract(&entry, &new).ok()?;
        let fix = as_edits(Fix::safe(""), &source, &file.text());
        let place = |span| Place { path: path.clone(), source: source.clone(), span };
        let edits = fix.edits().iter().map(|edit| (place(edit.span), edit.text.clone())).collect();
        Some(Extraction { entry, path: layer.folder.join(new), text, edits })
    }

    /// A name that no file of a folder has.
    fn unused_name(&self, folder: &Path, word: &str) -> String {
        let numbered = (2..).map(|number| format!("{word}-{number}.yaml"));
        let mut names = std::iter::once(format!("{word}.yaml")).chain(numbered);
        names.find(|name| !self.world.is_file(&folder.join(name))).expect("numbers do not end")
    }
}
