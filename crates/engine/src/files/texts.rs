//! The files that were read, and what was parsed from them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use krm_yaml::{FileId, Node, Result, Source, Sources};
use rustc_hash::FxHashMap;

use crate::files::world::World;

/// Every file read so far, each once.
pub struct Files {
    pub(crate) world: Arc<dyn World>,
    pub(crate) sources: Sources,
    pub(super) texts: Mutex<FxHashMap<PathBuf, Arc<Source>>>,
    /// What was made of a file's text, by the file.
    trees: Mutex<FxHashMap<FileId, Arc<[Node]>>>,
}

impl Files {
    /// No file is read yet.
    pub fn new(world: Arc<dyn World>, sources: Sources) -> Arc<Self> {
        Arc::new(Self { world, sources, texts: Mutex::default(), trees: Mutex::default() })
    }

    /// The trees of a source: kept ones, or those that `parse` makes of it, which are then kept.
    pub(crate) fn trees(
        &self,
        source: &Source,
        parse: impl FnOnce() -> Result<Vec<Node>>,
    ) -> Result<Arc<[Node]>> {
        let trees = || self.trees.lock().expect("no one panics while holding the trees");
        if let Some(known) = trees().get(&source.id()) {
            return Ok(known.clone());
        }
        let parsed: Arc<[Node]> = parse()?.into();
        Ok(trees().entry(source.id()).or_insert(parsed).clone())
    }

    /// Forgets the texts and trees of files that changed, and of all those that are below a folder that did.
    pub(crate) fn forget(&self, changed: &[PathBuf]) {
        let mut texts = self.texts.lock().expect("no one panics while holding the texts");
        let mut trees = self.trees.lock().expect("no one panics while holding the trees");
        texts.retain(|path, source| {
            let stays = !changed.iter().any(|changed| path.starts_with(changed));
            if !stays {
                trees.remove(&source.id());
                self.sources.forget(source.id());
            }
            stays
        });
    }

    /// The text of a file that was read, by its real path.
    pub(crate) fn text_of(&self, path: &Path) -> Option<Arc<Source>> {
        self.texts.lock().expect("no one panics while holding the texts").get(path).cloned()
    }
}
