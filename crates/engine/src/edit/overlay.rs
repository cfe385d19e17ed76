//! The files as they would be after an edit, so that it can be tried before anything is written.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Result, Sources};

use crate::files::repository::Repository;
use crate::files::world::{DirEntry, Download, EntryKind, Fetched, World, clean, would_be_fetched};
use crate::session::{BuildOptions, Session, emit};

/// A world in which some files have another content, or are gone. Paths are real ones.
#[derive(Clone)]
pub struct Overlay {
    world: Arc<dyn World>,
    files: Arc<BTreeMap<PathBuf, Option<Vec<u8>>>>,
    is_offline: bool,
}

impl Overlay {
    /// `None` is a file that is gone.
    pub fn new(world: Arc<dyn World>, files: BTreeMap<PathBuf, Option<Vec<u8>>>) -> Self {
        Self { world, files: Arc::new(files), is_offline: false }
    }

    /// The same without anything that comes from elsewhere, not even copies that are kept of it.
    pub fn offline(self) -> Self {
        Self { is_offline: true, ..self }
    }

    fn need_network(&self, address: &str) -> Result<()> {
        match self.is_offline {
            false => Ok(()),
            true => Err(would_be_fetched(address)),
        }
    }

    /// Where a path leads: what is new exists by its text alone.
    fn place(&self, path: &Path) -> PathBuf {
        let path = clean(path);
        if self.files.contains_key(&path) {
            return path;
        }
        self.world.real_path(&path).unwrap_or(path)
    }

    /// Whether a folder has a new file, in it or below.
    fn is_new_folder(&self, path: &Path) -> bool {
        self.files.iter().any(|(file, text)| text.is_some() && file.starts_with(path) && file != path)
    }
}

impl World for Overlay {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        match self.files.get(&self.place(path)) {
            Some(Some(bytes)) => Ok(bytes.clone()),
            Some(None) => Err(Error::from(ErrorKind::NotFound)),
            None => self.world.read(path),
        }
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.is_new_folder(&self.place(path)) || self.world.is_dir(path)
    }

    fn is_file(&self, path: &Path) -> bool {
        match self.files.get(&self.place(path)) {
            Some(text) => text.is_some(),
            None => self.world.is_file(path),
        }
    }

    fn list(&self, dir: &Path) -> std::io::Result<Vec<DirEntry>> {
        let place = self.place(dir);
        let mut entries = match self.world.list(dir) {
            Ok(entries) => entries,
            Err(_) if self.is_new_folder(&place) => Vec::new(),
            Err(error) => return Err(error),
        };
        for (file, text) in self.files.iter() {
            let Some(name) = file.strip_prefix(&place).ok().and_then(|rest| rest.components().next()) else {
                continue;
            };
            let name = name.as_os_str().to_owned();
            let kind = if place.join(&name) == *file { EntryKind::File } else { EntryKind::Folder };
            match text {
                None if kind == EntryKind::File => entries.retain(|entry| entry.name != name),
                Some(_) if !entries.iter().any(|entry| entry.name == name) => {
                    entries.push(DirEntry { name, kind });
                }
                _ => {}
            }
        }
        entries.sort();
        Ok(entries)
    }

    fn below(&self) -> Option<&dyn World> {
        Some(&*self.world)
    }

    fn real_path(&self, path: &Path) -> std::io::Result<PathBuf> {
        let place = self.place(path);
        match self.is_file(&place) || self.is_dir(&place) {
            true => Ok(place),
            false => self.world.real_path(path),
        }
    }

    fn fetch(&self, repository: &Repository) -> Result<Fetched> {
        self.need_network(&repository.address)?;
        self.world.fetch(repository)
    }

    fn get(&self, address: &str) -> Result<Download> {
        self.need_network(address)?;
        self.world.get(address)
    }

    fn kept(&self, repository: &Repository) -> Result<Option<Fetched>> {
        if self.is_offline { Ok(None) } else { self.world.kept(repository) }
    }

    fn kept_file(&self, address: &str) -> Result<Option<Download>> {
        if self.is_offline { Ok(None) } else { self.world.kept_file(address) }
    }
}

/// What a folder builds to in a world. Nothing is run for it; what needs a program fails.
pub fn build(world: Arc<dyn World>, dir: &str) -> Result<String> {
    build_with(world, dir, BuildOptions::default())
}

/// The same with programs, if the options allow them.
pub fn build_with(world: Arc<dyn World>, dir: &str, options: BuildOptions) -> Result<String> {
    let options = BuildOptions { unrestricted: true, ..options };
    let session = Session::new(world, Sources::new(), options);
    let built = session.build(&[dir.to_owned()]).into_result()?;
    Ok(emit(&built)?.concat())
}
