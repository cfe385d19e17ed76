//! Renaming what is under the cursor, and files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Diagnostic, Result};

use super::facts::Definition;
use super::navigate::named;
use super::problems::FileSpan;
use super::{Editor, Repaired};
use crate::edit::rename::{self, Rename};
use crate::edit::{moves, overlay};
use crate::files::world::World;
use crate::select::near_miss::with_article;

impl Editor {
    /// What to write where, so that the resource under the cursor has another name and every build stays equal but for it.
    pub fn rename(&mut self, path: &Path, offset: usize, new: &str) -> Result<Vec<(FileSpan, String)>> {
        self.sync();
        let path = self.world.place(path);
        let refused = |message: String| Diagnostic::error("edit-refused", message);
        let named = self.cursor(&path, offset).and_then(|cursor| named(&cursor, self.role(&path)));
        let definitions = named.map(|named| self.defined_as(&path, &named)).unwrap_or_default();
        let is_built = |definition: &&Definition| self.is_built(&definition.place.path);
        let Some(definition) = definitions.first().filter(is_built) else {
            return Err(refused("there is no resource here that can be renamed".into()));
        };
        let is_other =
            |other: &Definition| (&other.kind, &other.name) != (&definition.kind, &definition.name);
        if definitions.iter().any(is_other) {
            return Err(refused("this selects several resources".into()));
        }
        let rename = Rename {
            kind: definition.kind.to_string(),
            name: definition.name.to_string(),
            new: new.to_owned(),
        };
        let home = definition.place.path.clone();
        let together: Vec<PathBuf> =
            self.together(&home).into_iter().map(|layer| layer.folder.clone()).collect();
        for other in self.definitions(&together) {
            let is_second = other.place.path != home || other.place.span != definition.place.span;
            if other.kind == definition.kind
                && (other.name == new || (other.name == definition.name && is_second))
            {
                let message = match other.name == new {
                    true => format!("there is already {} `{new}`", with_article(&rename.kind)),
                    false => format!(
                        "{} `{}` is defined more than once in the same build",
                        rename.kind, rename.name
                    ),
                };
                return Err(refused(message));
            }
        }
        let world = Repaired(&self.world);
        let mentions = rename::changes(&world, &self.sources, &self.workspace, &home, &rename)?;
        let edits: Vec<(FileSpan, String)> = mentions
            .into_iter()
            .map(|mention| {
                (FileSpan { path: mention.path, source: mention.source, span: mention.span }, new.to_owned())
            })
            .collect();
        self.check_rename(&home, &rename, &edits)?;
        Ok(edits)
    }

    /// Tries a rename: whatever could be built before must give the same, but for the name.
    fn check_rename(&self, home: &Path, rename: &Rename, edits: &[(FileSpan, String)]) -> Result<()> {
        let mut texts: BTreeMap<PathBuf, String> = BTreeMap::new();
        // From the end, so that spans hold.
        let mut ordered: Vec<&(FileSpan, String)> = edits.iter().collect();
        ordered.sort_by_key(|(place, _)| std::cmp::Reverse(place.span.start));
        for (place, new) in ordered {
            let text = || self.text(&place.path).map(|text| text.to_string()).unwrap_or_default();
            let text = texts.entry(place.path.clone()).or_insert_with(text);
            if text.get(place.span.range()).is_some() {
                text.replace_range(place.span.range(), new);
            }
        }
        let after = texts.into_iter().map(|(path, text)| (path, Some(text.into_bytes()))).collect();
        let world: Arc<dyn World> = self.world.clone();
        let changed: Arc<dyn World> = Arc::new(overlay::Overlay::new(world.clone(), after));
        for root in self.roots_using(home) {
            let target = self.shown(&root);
            // One that could not be built before tells nothing.
            let Ok(before) = overlay::build(world.clone(), &target) else { continue };
            let after = overlay::build(changed.clone(), &target)?;
            rename::equal_but_for_the_name(&before, &after, rename).map_err(|what| {
                let message = format!("the output of `{target}` would change in more than the name: {what}");
                Diagnostic::error("edit-refused", message)
            })?;
        }
        Ok(())
    }

    /// What to write where when a file or folder is moved, so that every path leads to the same.
    pub fn moved(&mut self, from: &Path, to: &Path) -> Result<Vec<(FileSpan, String)>> {
        self.sync();
        let from = self.world.place(from);
        let to = self.world.place(to);
        moves::references(&self.workspace, &self.sources, &from, &to).map(|edits| {
            let edits = edits.into_iter().filter_map(|(span, text)| {
                let source = self.sources.get(span.file)?;
                let path = self.world.real_path(Path::new(source.name())).ok()?;
                Some((FileSpan { path, source, span }, text))
            });
            edits.collect()
        })
    }
}
