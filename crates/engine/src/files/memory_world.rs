//! A world of files in memory.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::RwLock;

use crate::files::world::{DirEntry, EntryKind, World, clean};

/// Files in a map: for tests, for editors that have texts not saved yet, and for systems without a disk.
///
/// Paths begin at `/`; relative ones are taken to. There are no links, no repositories and no network.
///
/// ```
/// use krm_engine::{MemoryWorld, World};
/// let world = MemoryWorld::new([("app/kustomization.yaml", "namePrefix: a-\n")]);
/// world.write("app/more.yaml", "kind: ConfigMap\n");
/// assert!(world.is_dir("/app".as_ref()));
/// assert_eq!(world.list("/app".as_ref())?.len(), 2);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryWorld(RwLock<BTreeMap<PathBuf, Vec<u8>>>);

impl MemoryWorld {
    /// Files by path; relative paths begin at `/`.
    pub fn new<P: AsRef<Path>, B: Into<Vec<u8>>>(files: impl IntoIterator<Item = (P, B)>) -> Self {
        let world = Self::default();
        files.into_iter().for_each(|(path, bytes)| world.write(path, bytes));
        world
    }

    /// Writes a file; the folders that lead to it are there with it.
    pub fn write(&self, path: impl AsRef<Path>, bytes: impl Into<Vec<u8>>) {
        self.0.write().expect(HELD).insert(absolute(path.as_ref()), bytes.into());
    }

    /// Removes a file, or a folder with everything that is in it.
    pub fn remove(&self, path: impl AsRef<Path>) {
        let path = absolute(path.as_ref());
        self.0.write().expect(HELD).retain(|file, _| !file.starts_with(&path));
    }

    /// Whether anything is below a folder. The root is always there.
    fn has_below(&self, dir: &Path) -> bool {
        let files = self.0.read().expect(HELD);
        dir.parent().is_none() || below(&files, dir).next().is_some()
    }
}

const HELD: &str = "no one panics while holding the files";

/// The files below a folder. Paths are in the order of their parts, so these follow one another.
fn below<'f>(
    files: &'f BTreeMap<PathBuf, Vec<u8>>,
    dir: &'f Path,
) -> impl Iterator<Item = &'f PathBuf> + use<'f> {
    let after = (Bound::Excluded(dir), Bound::Unbounded);
    files.range::<Path, _>(after).map(|(file, _)| file).take_while(move |file| file.starts_with(dir))
}

fn absolute(path: &Path) -> PathBuf {
    clean(&Path::new("/").join(path))
}

fn missing(path: &Path) -> Error {
    Error::new(ErrorKind::NotFound, format!("there is no `{}`", path.display()))
}

impl World for MemoryWorld {
    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        self.0.read().expect(HELD).get(&absolute(path)).cloned().ok_or_else(|| missing(path))
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.has_below(&absolute(path))
    }

    fn is_file(&self, path: &Path) -> bool {
        self.0.read().expect(HELD).contains_key(&absolute(path))
    }

    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        let dir = absolute(dir);
        let files = self.0.read().expect(HELD);
        let below = below(&files, &dir).filter_map(|file| {
            let mut parts = file.strip_prefix(&dir).ok()?.iter();
            let name = parts.next()?.to_owned();
            Some((name, if parts.next().is_some() { EntryKind::Folder } else { EntryKind::File }))
        });
        let names: BTreeMap<_, _> = below.collect();
        drop(files);
        match names.is_empty() && !self.has_below(&dir) {
            true => Err(missing(&dir)),
            false => Ok(names.into_iter().map(|(name, kind)| DirEntry { name, kind }).collect()),
        }
    }

    fn real_path(&self, path: &Path) -> Result<PathBuf> {
        let path = absolute(path);
        if self.is_file(&path) || self.has_below(&path) { Ok(path) } else { Err(missing(&path)) }
    }
}
