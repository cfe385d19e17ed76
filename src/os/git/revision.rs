//! The files of a revision, as a world.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use krm_engine::files::{AddressKind, ChartAddress, DirEntry, Download, EntryKind, Fetched, clean};
use krm_engine::files::{Repository, is_lfs_pointer};
use krm_engine::runtime::Scratch;
use krm_engine::{Result, World};

use super::objects::{Id, ObjectKind, Objects, TreeEntry};
use crate::os::content::make_link;
use crate::os::locked::{self, Fetching, Locked, list_beside};
use crate::os::{Disk, lockfile};

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
    disk: Arc<Disk>,
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

/// What becomes of links on the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    /// A program finds the file that they lead to.
    Followed,
    /// They stay links: a list of files says where they lead.
    Kept,
}

impl Revision {
    /// What is fetched follows the lock file that this revision has, not that of the working tree.
    pub fn new(
        objects: Arc<Objects>,
        tree: Id,
        top: &Path,
        prefix: &Path,
        fetching: Fetching,
    ) -> Result<Self> {
        let mut revision = Self {
            objects,
            root: TreeEntry { kind: ObjectKind::Folder, id: tree },
            folder: Scratch::new("krm-revision")?,
            top: top.to_owned(),
            prefix: prefix.to_owned(),
            disk: Arc::default(),
            fetched: Mutex::default(),
            written: Mutex::default(),
        };
        let locked = Locked::find_by(
            &fetching,
            |folders| folders.into_iter().filter_map(|folder| revision.lock_file(folder)).collect(),
            |file| {
                let inside = file.strip_prefix(revision.root()).unwrap_or(file);
                let bytes = revision.read(file).map_err(|error| super::unreadable(&error))?;
                locked::parse(locked::shown(&revision.top.join(inside)), bytes)
            },
        );
        revision.disk = Arc::new(Disk::with_lock(locked, fetching));
        Ok(revision)
    }

    /// What this revision fetches from elsewhere.
    pub fn disk(&self) -> Arc<Disk> {
        self.disk.clone()
    }

    /// The lock file that counts for a folder: the nearest upwards.
    fn lock_file(&self, folder: &Path) -> Option<PathBuf> {
        let folder = clean(&self.root().join(&self.prefix).join(folder));
        let above = folder.ancestors().take_while(|above| above.starts_with(self.root()));
        above.map(|above| above.join(lockfile::NAME)).find(|file| self.is_file(file))
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

    /// The submodule that a path leads to or into, as seen from the top.
    pub fn submodule(&self, path: &Path) -> Option<PathBuf> {
        path.ancestors().find_map(|path| match self.find(path) {
            Ok(Place::Here(inside, entry)) if entry.kind == ObjectKind::Submodule => Some(inside),
            _ => None,
        })
    }

    /// Writes a file or a folder to the disk, once.
    fn write(&self, inside: &Path, entry: &TreeEntry) -> io::Result<()> {
        let mut written = self.written.lock().expect(HELD);
        self.write_all(inside, entry, Links::Followed, &mut written)
    }

    /// Puts the copy of something that is locked, if this revision has it in `vendor/krm`, on the disk, where it is checked.
    fn provide_copy(&self, address: &str) -> Result<()> {
        // A lock file that cannot be used is reported by the disk.
        let Ok(Some(locked)) = self.disk.locked() else { return Ok(()) };
        let copy = locked.vendored(address);
        let mut written = self.written.lock().expect(HELD);
        for path in [list_beside(&copy), copy] {
            if let Ok(Place::Here(inside, entry)) = self.find(&path) {
                self.write_all(&inside, &entry, Links::Kept, &mut written)
                    .map_err(|error| super::unreadable(&error))?;
            }
        }
        Ok(())
    }

    fn write_all(
        &self,
        inside: &Path,
        entry: &TreeEntry,
        links: Links,
        written: &mut BTreeSet<PathBuf>,
    ) -> io::Result<()> {
        if !written.insert(inside.to_owned()) {
            return Ok(());
        }
        let path = self.root().join(inside);
        if entry.kind == ObjectKind::Folder {
            fs::create_dir_all(&path)?;
            let tree = self.objects.tree(&entry.id)?;
            return tree
                .iter()
                .try_for_each(|(name, entry)| self.write_all(&inside.join(name), entry, links, written));
        }
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        match entry.kind {
            ObjectKind::File | ObjectKind::Program => fs::write(&path, self.objects.blob(&entry.id)?)?,
            ObjectKind::Link if links == Links::Kept => {
                make_link(Path::new(&super::os_string(self.objects.blob(&entry.id)?)), &path)?;
            }
            // What a link leads to is there by its own path, if it is asked for; to lead out is not for a revision.
            ObjectKind::Link => {
                let target = self.find(&path);
                if let Ok(Place::Here(target, entry)) = target
                    && entry.kind != ObjectKind::Folder
                {
                    self.write_all(&target, &entry, links, written)?;
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
        match is_lfs_pointer(&bytes) {
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
        self.provide_copy(&lockfile::repository_address(repository))?;
        let fetched = self.disk.fetch(repository)?;
        self.fetched.lock().expect(HELD).push(fetched.folder.clone());
        Ok(fetched)
    }

    fn get(&self, address: &str) -> Result<Download> {
        self.provide_copy(&lockfile::without_secrets(address))?;
        self.disk.get(address)
    }

    fn kept(&self, repository: &Repository) -> Result<Option<Fetched>> {
        self.provide_copy(&lockfile::repository_address(repository))?;
        let kept = self.disk.kept(repository)?;
        self.fetched.lock().expect(HELD).extend(kept.iter().map(|kept| kept.folder.clone()));
        Ok(kept)
    }

    fn kept_file(&self, address: &str) -> Result<Option<Download>> {
        self.provide_copy(&lockfile::without_secrets(address))?;
        self.disk.kept_file(address)
    }

    fn known_kind(&self, repository: &Repository) -> Option<AddressKind> {
        self.disk.known_kind(repository)
    }

    fn chart(&self, chart: &ChartAddress) -> Result<Option<PathBuf>> {
        self.provide_copy(&lockfile::chart_name(chart))?;
        let kept = self.disk.chart(chart)?;
        self.fetched.lock().expect(HELD).extend(kept.clone());
        Ok(kept)
    }

    fn chart_home(&self, home: &Path) -> Result<PathBuf> {
        self.disk.chart_home(home)
    }

    fn check_chart(&self, chart: &ChartAddress, folder: &Path) -> Result<()> {
        self.disk.check_chart(chart, folder)
    }
}
