//! The files as an editor has them: texts that are not saved, over those of the disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use crate::files::world::{DirEntry, EntryKind, World, clean};

/// A world in which open texts count instead of what is saved. Relative paths begin at the folder that is open.
///
/// There is no network in it, whatever world is below: opening a folder must not fetch what its files name. Copies that are
/// kept on this machine count.
pub(crate) struct Buffers {
    disk: Arc<dyn World>,
    root: PathBuf,
    /// By the real path.
    texts: RwLock<BTreeMap<PathBuf, Arc<str>>>,
}

const HELD: &str = "no one panics while holding the texts";

impl Buffers {
    /// `root` is a real path.
    pub(crate) fn new(disk: Arc<dyn World>, root: &Path) -> Self {
        Self { disk, root: root.to_owned(), texts: RwLock::default() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn set(&self, path: &Path, text: Arc<str>) {
        self.texts.write().expect(HELD).insert(path.to_owned(), text);
    }

    pub(crate) fn remove(&self, path: &Path) {
        self.texts.write().expect(HELD).remove(path);
    }

    /// The text of an open file.
    pub(crate) fn text(&self, path: &Path) -> Option<Arc<str>> {
        self.texts.read().expect(HELD).get(path).cloned()
    }

    /// The files that are open, in order.
    pub(crate) fn open(&self) -> Vec<PathBuf> {
        self.texts.read().expect(HELD).keys().cloned().collect()
    }

    /// Where a path leads: a text that was never saved exists by its path alone.
    pub(crate) fn place(&self, path: &Path) -> PathBuf {
        let path = clean(&self.root.join(path));
        if self.texts.read().expect(HELD).contains_key(&path) {
            return path;
        }
        self.disk.real_path(&path).unwrap_or_else(|_| match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => {
                self.disk.real_path(folder).map_or_else(|_| path.clone(), |folder| folder.join(name))
            }
            _ => path,
        })
    }

    fn text_at(&self, path: &Path) -> Option<Arc<str>> {
        if self.texts.read().expect(HELD).is_empty() {
            return None;
        }
        self.text(path).or_else(|| self.text(&self.place(path)))
    }

    fn holds_text(&self, folder: &Path) -> bool {
        let texts = self.texts.read().expect(HELD);
        texts.range(folder.to_owned()..).next().is_some_and(|(file, _)| file.starts_with(folder))
    }
}

impl World for Buffers {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        match self.text_at(path) {
            Some(text) => Ok(text.as_bytes().to_vec()),
            None => self.disk.read(&self.root.join(path)),
        }
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.disk.is_dir(&self.root.join(path)) || {
            let place = self.place(path);
            self.text(&place).is_none() && self.holds_text(&place)
        }
    }

    fn is_file(&self, path: &Path) -> bool {
        self.disk.is_file(&self.root.join(path)) || self.text_at(path).is_some()
    }

    fn list(&self, dir: &Path) -> std::io::Result<Vec<DirEntry>> {
        let place = self.place(dir);
        let mut entries = match self.disk.list(&self.root.join(dir)) {
            Err(_) if self.holds_text(&place) => Vec::new(),
            listed => listed?,
        };
        for file in self.texts.read().expect(HELD).keys() {
            let Some(name) = file.strip_prefix(&place).ok().and_then(|rest| rest.components().next()) else {
                continue;
            };
            let name = name.as_os_str().to_owned();
            if !entries.iter().any(|entry| entry.name == name) {
                let kind = if place.join(&name) == *file { EntryKind::File } else { EntryKind::Folder };
                entries.push(DirEntry { name, kind });
            }
        }
        entries.sort();
        Ok(entries)
    }

    fn real_path(&self, path: &Path) -> std::io::Result<PathBuf> {
        self.disk.real_path(&self.root.join(path)).or_else(|error| {
            let place = self.place(path);
            match self.text(&place).is_some() || self.holds_text(&place) {
                true => Ok(place),
                false => Err(error),
            }
        })
    }

    fn below(&self) -> Option<&dyn World> {
        Some(&*self.disk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::memory_world::MemoryWorld;
    use crate::files::repository::Repository;

    #[test]
    fn open_texts_count_and_nothing_is_fetched() {
        let disk = MemoryWorld::new([("/w/a/kustomization.yaml", "resources: [x.yaml]\n")]);
        let world = Buffers::new(Arc::new(disk), Path::new("/w"));
        world.set(Path::new("/w/a/x.yaml"), "kind: A\n".into());
        world.set(Path::new("/w/new/y.yaml"), "kind: B\n".into());
        assert_eq!(world.read(Path::new("a/x.yaml")).unwrap(), b"kind: A\n");
        assert_eq!(world.real_path(Path::new("a/x.yaml")).unwrap(), Path::new("/w/a/x.yaml"));
        assert!(world.is_dir(Path::new("new")) && !world.is_dir(Path::new("a/x.yaml")));
        let names = |dir: &str| -> Vec<String> {
            let entries = world.list(Path::new(dir)).unwrap();
            entries.into_iter().map(|entry| entry.name.to_string_lossy().into_owned()).collect()
        };
        assert_eq!(
            (names("."), names("a")),
            (vec!["a".into(), "new".into()], vec!["kustomization.yaml".into(), "x.yaml".into()])
        );
        world.remove(Path::new("/w/a/x.yaml"));
        assert!(world.read(Path::new("a/x.yaml")).is_err());
        let repository = Repository::parse("https://example.com/a//b?ref=v1").unwrap();
        assert_eq!(world.fetch(&repository).unwrap_err().code(), "no-network");
        assert_eq!(world.get("https://example.com/x.yaml").unwrap_err().code(), "no-network");
    }
}
