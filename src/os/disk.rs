//! Real files, and what is fetched from elsewhere.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use krm_engine::files::Repository;
use krm_engine::files::{AddressKind, ChartAddress, DirEntry, Download, EntryKind, Fetched};
use krm_engine::policy::PinnedImages;
use krm_engine::{Result, World};
use rustc_hash::{FxHashMap, FxHashSet};

use super::content::sha256;
use super::journal;
use super::locked::{Fetching, Locked, missing_offline, not_locked};
use super::lockfile::chart_name;
use super::remote::Remote;
use super::states::{self, States};

/// Files that a command begins with: it reads others because they name them.
const STARTS: [&str; 5] =
    ["kustomization.yaml", "kustomization.yml", "Kustomization", "composition.yaml", "composition.yml"];

/// Real files, and what is fetched from elsewhere.
#[derive(Default)]
pub struct Disk {
    remote: Remote,
    /// Folders in which no change is left unfinished.
    settled: Mutex<FxHashSet<PathBuf>>,
    /// The states of files and folders when they were read, if anyone wants to know.
    states: OnceLock<Mutex<FxHashMap<PathBuf, String>>>,
    paths: States,
}

impl Disk {
    /// Finishes or undoes what another krm left unfinished in a folder or in one around it, so that nobody reads files of
    /// which some are new and some are old.
    pub fn settle(&self, dir: &Path) -> Result<()> {
        let Ok(dir) = std::path::absolute(dir) else { return Ok(()) };
        for above in dir.ancestors() {
            if !self.settled.lock().expect("no one panics while holding the list").insert(above.to_owned()) {
                break;
            }
            journal::settle(above)?;
        }
        Ok(())
    }
}

impl Disk {
    /// Real files, and what is fetched as the user says.
    pub fn fetching(fetching: Fetching) -> Self {
        Self { remote: Remote::new(fetching), ..Self::default() }
    }

    /// Real files; what is fetched follows the lock files around these folders.
    pub fn around(targets: &[String]) -> Self {
        Self::fetching(Fetching { targets: targets.to_vec(), ..Fetching::default() })
    }

    /// Real files; what is fetched follows no lock file. A package says in its Kptfile what it was fetched from.
    pub fn without_lock() -> Self {
        Self::with_lock(Ok(None), Fetching::default())
    }

    /// The same by a lock file that is being written.
    pub fn locking(locked: Locked) -> Self {
        Self { remote: Remote::locking(locked), ..Self::default() }
    }

    /// The same by a lock file that is not on the disk.
    pub fn with_lock(locked: Result<Option<Locked>>, fetching: Fetching) -> Self {
        Self { remote: Remote::with_lock(locked, fetching), ..Self::default() }
    }

    /// The lock file that counts here.
    pub fn locked(&self) -> Result<Option<&Locked>> {
        self.remote.locked()
    }

    /// Remembers from now on what files and folders were when they were read.
    pub fn record_reading(&self) {
        self.states.get_or_init(Mutex::default);
    }

    /// States of paths now.
    pub fn paths(&self) -> &States {
        &self.paths
    }

    /// The state of a path or of the list of a folder when it was read; `None` if it was not.
    pub fn state_when_read(&self, kind: &str, path: &Path) -> Option<String> {
        let states = self.states.get()?.lock().expect("no one panics while holding the states");
        match kind {
            "list" => states.get(&path.join("*")).cloned(),
            "path" => states.get(path).cloned(),
            _ => None,
        }
    }

    fn record(&self, path: PathBuf, state: impl FnOnce() -> String) {
        if let Some(states) = self.states.get() {
            let state = state();
            states.lock().expect("no one panics while holding the states").insert(path, state);
        }
    }

    /// What the lock file says about images.
    pub fn pinned_images(&self) -> Result<PinnedImages> {
        let locked = self.locked()?;
        let digests = locked.map(|locked| locked.lock.images.clone()).unwrap_or_default();
        let only = self.remote.refuses_unlocked(locked);
        let warn: fn(&str) = |image| super::note(not_locked(image).help("or name the image by its digest"));
        Ok(PinnedImages { digests, only, not_pinned: locked.map(|_| warn) })
    }

    /// The files of a folder of a repository, if they can be had without a working tree.
    pub fn repository_files(
        &self,
        repository: &Repository,
        folder: &str,
    ) -> Result<Option<super::RepositoryFiles>> {
        self.remote.files(repository, folder)
    }

    /// The first of these tags that a repository has.
    pub fn first_tag(&self, repository: &Repository, tags: &[String]) -> Result<Option<usize>> {
        self.remote.first_tag(repository, tags)
    }

    /// The default branch of a repository.
    pub fn default_branch(&self, repository: &Repository) -> Result<String> {
        self.remote.default_branch(repository)
    }
}

impl World for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if path.file_name().is_some_and(|name| STARTS.iter().any(|start| name == *start))
            && let Some(dir) = path.parent()
        {
            self.settle(dir).map_err(|error| io::Error::other(error.message().to_owned()))?;
        }
        let bytes = super::read(path)?;
        self.record(path.to_owned(), || self.paths.of_file(path, sha256(&bytes)));
        Ok(bytes)
    }

    fn is_dir(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn is_file(&self, path: &Path) -> bool {
        path.is_file()
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.settle(dir).map_err(|error| io::Error::other(error.message().to_owned()))?;
        self.record(dir.join("*"), || states::of_list(dir));
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            let kind = match entry.file_type()? {
                kind if kind.is_dir() => EntryKind::Folder,
                kind if kind.is_file() => EntryKind::File,
                kind if kind.is_symlink() => EntryKind::Link,
                _ => EntryKind::Other,
            };
            entries.push(DirEntry { name: entry.file_name(), kind });
        }
        entries.sort();
        Ok(entries)
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        path.canonicalize()
    }

    fn fetch(&self, repository: &Repository) -> Result<Fetched> {
        self.remote.fetch(repository)
    }

    fn get(&self, address: &str) -> Result<Download> {
        self.remote.get(address)
    }

    fn kept(&self, repository: &Repository) -> Result<Option<Fetched>> {
        self.remote.kept(repository)
    }

    fn kept_file(&self, address: &str) -> Result<Option<Download>> {
        self.remote.kept_file(address)
    }

    fn known_kind(&self, repository: &Repository) -> Option<AddressKind> {
        let lock = &self.remote.locked().ok()??.lock;
        match lock.repository(repository) {
            Some(_) => Some(AddressKind::Repository),
            None => lock.file(&repository.address).map(|_| AddressKind::File),
        }
    }

    fn chart(&self, chart: &ChartAddress) -> Result<Option<PathBuf>> {
        let locked = self.remote.locked()?;
        if let Some(kept) = locked.map_or(Ok(None), |locked| locked.chart(chart))? {
            return Ok(Some(kept));
        }
        match locked.filter(|locked| locked.lock.chart(chart).is_some()) {
            Some(locked) if self.remote.is_offline() => {
                Err(missing_offline(&chart_name(chart), Some(locked)))
            }
            Some(_) => Ok(None),
            None => self.remote.may_fetch(&chart_name(chart), locked).map(|()| None),
        }
    }

    fn chart_home(&self, home: &Path) -> Result<PathBuf> {
        self.remote.locked()?.map_or_else(|| Ok(home.to_owned()), |locked| locked.chart_home(home))
    }

    fn check_chart(&self, chart: &ChartAddress, folder: &Path) -> Result<()> {
        self.remote.locked()?.map_or(Ok(()), |locked| locked.check_chart(chart, folder))
    }
}
