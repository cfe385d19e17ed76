//! The files of a revision, as a world.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use krm_engine::files::Repository;
use krm_engine::files::{DirEntry, Download, EntryKind, Fetched, clean};
use krm_engine::runtime::Scratch;
use krm_engine::workspace::VENDORED;
use krm_engine::{Result, Sources, World};

use super::objects::{Id, ObjectKind, Objects, TreeEntry};
use crate::os::Disk;
use crate::os::locked::{Fetching, Locked};
use crate::os::lockfile::{self, LockFile};

/// The files of a revision.
///
/// It has the repository in a folder of its own, not in that of the working tree: anyone who goes by a path past this world
/// finds nothing, rather than a file of another revision. That folder is empty but for what programs are to find there.
pub struct Revision {
    objects: Arc<Objects>,
    root: TreeEntry,
    /// The folder that this world has the repository in.
    folder: Scratch,
    /// The folder of the working tree: users may name paths in it.
    top: PathBuf,
    /// The current folder as seen from the top.
    prefix: PathBuf,
    /// What is fetched from elsewhere is on the disk.
    disk: Disk,
    fetched: Mutex<Vec<PathBuf>>,
    /// What is on the disk for programs.
    written: Mutex<BTreeSet<PathBuf>>,
}

/// As many links as may lead from one to the next.
const MOST_LINKS: usize = 40;
const HELD: &str = "no one panics while holding the list";

/// What a path leads to.
enum Place {
    /// Its real path as seen from the top.
    Here(PathBuf, TreeEntry),
    /// Something that was fetched.
    Fetched(PathBuf),
}

impl Revision {
    pub fn new(
        objects: Arc<Objects>,
        tree: Id,
        top: &Path,
        prefix: &Path,
        fetching: &Fetching,
    ) -> Result<Self> {
        let root = TreeEntry { kind: ObjectKind::Folder, id: tree };
        let (folder, disk, fetched) = (Scratch::new("krm-revision")?, Disk::default(), Mutex::default());
        let written = Mutex::default();
        let (top, prefix) = (top.to_owned(), prefix.to_owned());
        let mut revision = Self { objects, root, folder, top, prefix, disk, fetched, written };
        // What was locked then counts, not what is locked now.
        let locked = revision.locked(fetching.offline)?;
        revision.disk = Disk::locked_by(fetching.clone(), locked);
        Ok(revision)
    }

    /// The lock file that counts for the current folder.
    fn locked(&self, offline: bool) -> Result<Option<Locked>> {
        for folder in self.prefix.ancestors() {
            let folder = self.root().join(folder);
            if let Ok(bytes) = self.read(&folder.join(lockfile::NAME)) {
                let lock = LockFile::parse(&Sources::new().add_bytes(lockfile::NAME, bytes)?)?;
                return Ok(Some(Locked::new(lock, folder, offline)));
            }
        }
        Ok(None)
    }

    /// Writes the copies that this revision holds of what it names to the disk, where they are looked for.
    fn provide_copies(&self) -> Result<()> {
        if let Some(locked) = self.disk.locked()? {
            let provided = self.provide(&locked.root.join(VENDORED));
            provided.map_err(|error| super::unreadable(&error))?;
        }
        Ok(())
    }

    /// The folder in which this world has the repository.
    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Follows a path and the links on the way.
    fn find(&self, path: &Path) -> io::Result<Place> {
        let path = match path.is_relative() {
            true => self.root().join(&self.prefix).join(path),
            false => path.to_owned(),
        };
        let path = clean(&path);
        let inside = path.strip_prefix(self.root()).or_else(|_| path.strip_prefix(&self.top));
        let Ok(inside) = inside else {
            let fetched = self.fetched.lock().expect(HELD);
            return match fetched.iter().any(|folder| path.starts_with(folder)) {
                true => Ok(Place::Fetched(path.clone())),
                false => Err(outside(&path)),
            };
        };
        let mut open: VecDeque<OsString> = inside.iter().map(OsString::from).collect();
        let mut way: Vec<(OsString, TreeEntry)> = Vec::new();
        let mut links = 0;
        while let Some(name) = open.pop_front() {
            if name == ".." {
                way.pop().ok_or_else(|| outside(&path))?;
                continue;
            }
            let above = way.last().map_or(&self.root, |(_, entry)| entry);
            let entry = match above.kind {
                ObjectKind::Folder => self.objects.tree(&above.id)?.get(&name).cloned(),
                ObjectKind::Submodule => return Err(submodule(&way)),
                _ => None,
            };
            let Some(entry) = entry else {
                // Perhaps a program made it, such as helm that pulled a chart.
                let made = self.root().join(inside);
                return if made.exists() { Ok(Place::Fetched(made)) } else { Err(missing(&path)) };
            };
            if entry.kind != ObjectKind::Link {
                way.push((name, entry));
                continue;
            }
            links += 1;
            if links > MOST_LINKS {
                return Err(io::Error::other("too many links lead to each other"));
            }
            let target = PathBuf::from(super::os_string(self.objects.blob(&entry.id)?));
            for part in target.components().rev() {
                match part {
                    Component::Normal(part) => open.push_front(part.to_owned()),
                    Component::ParentDir => open.push_front("..".into()),
                    Component::CurDir => {}
                    Component::RootDir | Component::Prefix(_) => return Err(outside(&target)),
                }
            }
        }
        let entry = way.last().map_or(&self.root, |(_, entry)| entry).clone();
        Ok(Place::Here(way.into_iter().map(|(name, _)| name).collect(), entry))
    }

    /// Writes a file or a folder to the disk, once.
    fn write(&self, inside: &Path, entry: &TreeEntry) -> io::Result<()> {
        let mut written = self.written.lock().expect(HELD);
        self.write_all(inside, entry, &mut written)
    }

    fn write_all(&self, inside: &Path, entry: &TreeEntry, written: &mut BTreeSet<PathBuf>) -> io::Result<()> {
        if !written.insert(inside.to_owned()) {
            return Ok(());
        }
        let path = self.root().join(inside);
        if entry.kind == ObjectKind::Folder {
            fs::create_dir_all(&path)?;
            let tree = self.objects.tree(&entry.id)?;
            return tree
                .iter()
                .try_for_each(|(name, entry)| self.write_all(&inside.join(name), entry, written));
        }
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        match entry.kind {
            ObjectKind::File | ObjectKind::Program => fs::write(&path, self.objects.blob(&entry.id)?)?,
            // What a link leads to is there by its own path, if it is asked for; to lead out is not for a revision.
            ObjectKind::Link => {
                let target = self.find(&path);
                if let Ok(Place::Here(target, entry)) = target
                    && entry.kind != ObjectKind::Folder
                {
                    self.write_all(&target, &entry, written)?;
                    fs::copy(self.root().join(target), &path)?;
                }
            }
            ObjectKind::Folder | ObjectKind::Submodule => {}
        }
        if entry.kind == ObjectKind::Program {
            crate::os::make_executable(&path)
                .map_err(|error| io::Error::other(error.message().to_owned()))?;
        }
        Ok(())
    }

    fn kind(&self, path: &Path) -> Option<ObjectKind> {
        match self.find(path).ok()? {
            Place::Here(_, entry) => Some(entry.kind),
            Place::Fetched(path) if path.is_dir() => Some(ObjectKind::Folder),
            Place::Fetched(path) => path.is_file().then_some(ObjectKind::File),
        }
    }
}

fn missing(path: &Path) -> io::Error {
    io::Error::new(ErrorKind::NotFound, format!("the revision has no `{}`", path.display()))
}

fn outside(path: &Path) -> io::Error {
    io::Error::new(ErrorKind::NotFound, format!("`{}` is not in the repository", path.display()))
}

fn submodule(way: &[(OsString, TreeEntry)]) -> io::Error {
    let folder: PathBuf = way.iter().map(|(name, _)| name).collect();
    let message = format!("`{}` is a submodule: its files are not in the revision", folder.display());
    io::Error::new(ErrorKind::NotFound, message)
}

/// How a file begins whose content is kept elsewhere.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";

impl World for Revision {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let entry = match self.find(path)? {
            Place::Here(_, entry) => entry,
            Place::Fetched(path) => return self.disk.read(&path),
        };
        if matches!(entry.kind, ObjectKind::Folder | ObjectKind::Submodule) {
            return Err(io::Error::new(ErrorKind::IsADirectory, "it is a folder"));
        }
        let bytes = self.objects.blob(&entry.id)?;
        match bytes.starts_with(LFS_POINTER) {
            true => Err(io::Error::other("it is a pointer of Git LFS: its content is not in the revision")),
            false => Ok(bytes),
        }
    }

    fn is_dir(&self, path: &Path) -> bool {
        matches!(self.kind(path), Some(ObjectKind::Folder | ObjectKind::Submodule))
    }

    fn is_file(&self, path: &Path) -> bool {
        matches!(self.kind(path), Some(ObjectKind::File | ObjectKind::Program))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let entry = match self.find(dir)? {
            Place::Here(_, entry) => entry,
            Place::Fetched(path) => return self.disk.list(&path),
        };
        let tree = match entry.kind {
            ObjectKind::Folder => self.objects.tree(&entry.id)?,
            ObjectKind::Submodule => return Ok(Vec::new()),
            _ => return Err(io::Error::new(ErrorKind::NotADirectory, "it is not a folder")),
        };
        let entry = |(name, entry): (&OsString, &TreeEntry)| {
            let kind = match entry.kind {
                ObjectKind::File | ObjectKind::Program => EntryKind::File,
                ObjectKind::Folder | ObjectKind::Submodule => EntryKind::Folder,
                ObjectKind::Link => EntryKind::Link,
            };
            DirEntry { name: name.clone(), kind }
        };
        let mut entries: Vec<DirEntry> = tree.iter().map(entry).collect();
        entries.sort();
        Ok(entries)
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        match self.find(path)? {
            Place::Here(inside, _) if inside.as_os_str().is_empty() => Ok(self.root().to_owned()),
            Place::Here(inside, _) => Ok(self.root().join(inside)),
            Place::Fetched(path) => self.disk.real_path(&path),
        }
    }

    fn provide(&self, path: &Path) -> io::Result<()> {
        match self.find(path) {
            Ok(Place::Here(inside, entry)) => self.write(&inside, &entry),
            Ok(Place::Fetched(_)) => Ok(()),
            // The code that looks for it says better what is missing.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn fetch(&self, repository: &Repository) -> Result<Fetched> {
        self.provide_copies()?;
        let fetched = self.disk.fetch(repository)?;
        self.fetched.lock().expect(HELD).push(fetched.folder.clone());
        Ok(fetched)
    }

    fn get(&self, address: &str) -> Result<Download> {
        self.provide_copies()?;
        self.disk.get(address)
    }
}
