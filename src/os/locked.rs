//! What a lock file says about what is fetched: which content, and where a copy of it is kept.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use krm_engine::files::Repository;
use krm_engine::files::{ChartAddress, Download};
use krm_engine::runtime::Scratch;
use krm_engine::workspace::VENDORED;
use krm_engine::{Diagnostic, Result, Sources, Span};

use super::content::{ContentKind, Listing, sha256};
use super::lockfile::{self, LockFile, chart_name, vendor_name};
use super::note;
use super::store::{self, Kept, Store};

/// How to fetch.
#[derive(Clone, Debug, Default)]
pub struct Fetching {
    /// The folders that are built: the lock files around them count.
    pub targets: Vec<String>,
    /// Refuse what is in no lock file: `--locked`.
    pub locked: bool,
    /// Refuse what is not in the lock file, if there is one, instead of warning about it: `--strict`.
    pub strict: bool,
    /// Make no connection: `--offline`.
    pub offline: bool,
}

/// A lock file, and the places where copies of content are kept.
pub struct Locked {
    pub lock: LockFile,
    /// The folder it is in.
    pub root: PathBuf,
    offline: bool,
    vendored: Vendored,
    store: OnceLock<Option<Store>>,
    /// Where charts are pulled to that a repository in the store names.
    charts: Mutex<Option<Scratch>>,
}

/// Which copies in the tree count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Vendored {
    /// All: one that is out of date is an error.
    All,
    /// Those that are up to date: the lock file is being written, and they follow.
    Current,
    /// None: they are being written.
    None,
}

/// Content that is on this machine.
pub enum Copy<T> {
    Here(T),
    /// It has to be fetched.
    Elsewhere,
}

impl Locked {
    pub fn new(lock: LockFile, root: PathBuf) -> Self {
        Self {
            lock,
            root,
            offline: false,
            vendored: Vendored::All,
            store: OnceLock::new(),
            charts: Mutex::default(),
        }
    }

    /// The same, where nothing may be fetched if that is so.
    pub fn offline(self, offline: bool) -> Self {
        Self { offline, ..self }
    }

    pub fn is_offline(&self) -> bool {
        self.offline
    }

    /// The same for writing the lock file: copies in the tree that are out of date do not count.
    pub fn with_current_copies(self) -> Self {
        Self { vendored: Vendored::Current, ..self }
    }

    /// The same, copies in the tree apart: they are about to be written.
    pub fn without_vendored(self) -> Self {
        Self { vendored: Vendored::None, ..self }
    }

    /// The lock file that counts for some targets; `None` if there is none. Two that disagree are an error.
    pub fn find(fetching: &Fetching) -> Result<Option<Self>> {
        Self::find_by(fetching, |folders| lockfile::find_all(folders.into_iter()), read)
    }

    /// The same among files that may be elsewhere than on the disk: `find` gives the lock files of some folders.
    pub fn find_by(
        fetching: &Fetching,
        find: impl FnOnce(Vec<&Path>) -> BTreeSet<PathBuf>,
        read: impl Fn(&Path) -> Result<LockFile>,
    ) -> Result<Option<Self>> {
        let here = [".".to_owned()];
        let local: Vec<&String> =
            fetching.targets.iter().filter(|target| Repository::parse(target).is_none()).collect();
        let targets = if local.is_empty() { here.iter().collect() } else { local };
        let mut files = find(targets.into_iter().map(Path::new).collect()).into_iter();
        let Some(first) = files.next() else { return Ok(None) };
        let lock = read(&first)?;
        for other in files {
            if read(&other)? != lock {
                let message = "these targets have different lock files";
                return Err(Diagnostic::error("lock-of-each", message)
                    .note(format!("`{}` and `{}`", first.display(), other.display()), Span::NONE)
                    .help("build the targets of each repository by themselves"));
            }
        }
        let root = first.parent().unwrap_or(Path::new("/")).to_owned();
        Ok(Some(Self::new(lock, root).offline(fetching.offline)))
    }

    pub fn store(&self) -> Option<&Store> {
        self.store.get_or_init(Store::open).as_ref()
    }

    /// A copy of a repository or chart with this content, in the tree or in the store.
    pub fn tree(&self, address: &str, content: &str) -> Result<Copy<PathBuf>> {
        let vendored = self.vendored(address);
        if self.vendored != Vendored::None
            && vendored.is_dir()
            && self.is_sound(address, content, ContentKind::Folder)?
        {
            return Ok(Copy::Here(vendored));
        }
        let kept = self.store().map_or(Kept::Missing, |store| store.tree(content));
        self.sound(address, kept)
    }

    /// A copy of a file with this content.
    pub fn file(&self, address: &str, content: &str) -> Result<Copy<Vec<u8>>> {
        if self.vendored != Vendored::None
            && let Ok(bytes) = super::read(&self.vendored(address))
            && self.is_sound(address, content, ContentKind::File)?
        {
            return Ok(Copy::Here(bytes));
        }
        let kept = self.store().map_or(Kept::Missing, |store| store.file(content));
        self.sound(address, kept)
    }

    /// Where the copy of an entry is in the tree.
    pub fn vendored(&self, address: &str) -> PathBuf {
        self.root.join(VENDORED).join(vendor_name(address))
    }

    /// Whether a copy in the tree has the content that is locked. `false` if it is out of date and does not count.
    fn is_sound(&self, address: &str, content: &str, kind: ContentKind) -> Result<bool> {
        match check_copy(&self.vendored(address), content, kind) {
            Ok(()) => Ok(true),
            Err(CopyFault::Outdated) if self.vendored == Vendored::Current => Ok(false),
            Err(CopyFault::Outdated) => Err(vendor_outdated(format!(
                "the copy of `{address}` in vendor/krm is not what krm.lock says"
            ))),
            Err(CopyFault::Damaged(why)) => Err(damaged_copy(address, &why)),
        }
    }

    fn sound<T>(&self, address: &str, kept: Kept<T>) -> Result<Copy<T>> {
        match kept {
            Kept::Sound(content) => Ok(Copy::Here(content)),
            Kept::Missing => Ok(Copy::Elsewhere),
            Kept::Damaged(why) if self.offline => Err(damaged_store(address, &why)
                .into_error()
                .help("run this command without `--offline`: what is damaged is fetched again")),
            Kept::Damaged(why) => {
                note(damaged_store(address, &why).note("it is fetched again", Span::NONE));
                Ok(Copy::Elsewhere)
            }
        }
    }

    /// Keeps a folder for the next time, if it has the content that is locked; gives the folder to use.
    pub fn keep_tree(&self, address: &str, content: &str, folder: &Path) -> Result<PathBuf> {
        let listing = Listing::of(folder, address)?;
        if listing.digest() != content {
            return Err(mismatch(address, content, &listing.digest()));
        }
        Ok(self.put_tree(&listing, folder).unwrap_or_else(|| folder.to_owned()))
    }

    /// Keeps a folder; `None` if the store cannot take it, which is only a pity.
    pub fn put_tree(&self, listing: &Listing, folder: &Path) -> Option<PathBuf> {
        self.store()?.put_tree(listing, folder).map_err(|error| not_kept(&error)).ok()
    }

    /// Keeps a file for the next time, if it has the content that is locked.
    pub fn keep_file(&self, address: &str, content: &str, download: &Download) -> Result<()> {
        if download.digest != content {
            return Err(mismatch(address, content, &download.digest));
        }
        self.put_file(&download.bytes);
        Ok(())
    }

    pub fn put_file(&self, bytes: &[u8]) {
        let _ = self.store().map(|store| store.put_file(bytes).map_err(|error| not_kept(&error)));
    }

    /// The folder of a chart that is locked, if a copy is kept.
    pub fn chart(&self, chart: &ChartAddress) -> Result<Option<PathBuf>> {
        let Some(locked) = self.lock.chart(chart) else { return Ok(None) };
        match self.tree(&chart_name(chart), &locked.content)? {
            Copy::Here(folder) => Ok(Some(folder)),
            Copy::Elsewhere => Ok(None),
        }
    }

    /// Compares a chart with what is locked.
    pub fn check_chart(&self, chart: &ChartAddress, folder: &Path) -> Result<()> {
        let Some(locked) = self.lock.chart(chart) else { return Ok(()) };
        self.keep_tree(&chart_name(chart), &locked.content, folder).map(drop)
    }

    /// A folder to pull charts into instead of one whose content must not change.
    pub fn chart_home(&self, home: &Path) -> Result<PathBuf> {
        let is_kept = home.starts_with(self.root.join(VENDORED))
            || self.store.get().and_then(Option::as_ref).is_some_and(|store| store.holds(home));
        if !is_kept {
            return Ok(home.to_owned());
        }
        let mut scratch = self.charts.lock().expect("no one panics while holding the folder of charts");
        if scratch.is_none() {
            *scratch = Some(Scratch::new("krm-charts")?);
        }
        let folder = scratch.as_ref().expect("made above").path();
        Ok(folder.join(vendor_name(&home.to_string_lossy())))
    }

    /// Every entry of which no copy is on this machine. Nothing is verified.
    pub fn missing(&self) -> Vec<String> {
        let has = |address: &str, content: &str, kind: ContentKind| {
            let is_vendored = self.vendored != Vendored::None && self.vendored(address).exists();
            is_vendored || self.store().is_some_and(|store| store.has(content, kind))
        };
        let remotes = self.lock.remotes.iter();
        let remotes = remotes
            .filter(|(address, remote)| !has(address, &remote.content, remote.kind()))
            .map(|(address, _)| address.clone());
        let charts = self.lock.charts.iter().map(|(chart, locked)| (chart_name(chart), locked));
        let charts = charts
            .filter(|(name, locked)| !has(name, &locked.content, ContentKind::Folder))
            .map(|(name, _)| name);
        remotes.chain(charts).collect()
    }
}

/// What is wrong with a copy in `vendor/krm`.
pub enum CopyFault {
    /// It is of another content than the one that is locked: the lock file was updated since.
    Outdated,
    /// Its files are not those it was written with, for this reason.
    Damaged(String),
}

/// Compares a copy in `vendor/krm` with the content that is locked.
pub fn check_copy(copy: &Path, content: &str, kind: ContentKind) -> Result<(), CopyFault> {
    if kind == ContentKind::File {
        // A file has no list beside it: whether it or the lock file changed cannot be seen.
        let is_sound = super::read(copy).is_ok_and(|bytes| sha256(&bytes) == content);
        return if is_sound { Ok(()) } else { Err(CopyFault::Outdated) };
    }
    let list = list_beside(copy);
    let Err(why) = store::check(copy, &list, content) else { return Ok(()) };
    let own = super::read(&list).map(|bytes| sha256(&bytes)).unwrap_or_default();
    match own != content && store::check(copy, &list, &own).is_ok() {
        true => Err(CopyFault::Outdated),
        false => Err(CopyFault::Damaged(why)),
    }
}

/// The diagnostic for copies in the tree that the lock file no longer means.
pub fn vendor_outdated(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error("vendor-outdated", message).help("run `krm vendor`, and commit what it writes")
}

/// Where the list of a folder in `vendor/krm` is.
pub fn list_beside(folder: &Path) -> PathBuf {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    folder.with_file_name(format!("{name}.sha256"))
}

/// Reads a lock file.
pub fn read(file: &Path) -> Result<LockFile> {
    let bytes = super::read(file).map_err(|error| {
        Diagnostic::error("file-unreadable", format!("cannot read `{}`: {error}", shown(file)))
    })?;
    parse(shown(file), bytes)
}

/// Reads the text of a lock file.
pub fn parse(shown: String, bytes: Vec<u8>) -> Result<LockFile> {
    let sources = Sources::new();
    let source = sources
        .add_bytes(shown.clone(), bytes)
        .map_err(|error| lockfile::unusable(&shown, &error.to_string(), Span::NONE))?;
    LockFile::parse(&source).map_err(|error| error.located(&sources))
}

/// A path as seen from the current folder, if one of the two holds the other.
pub fn shown(file: &Path) -> String {
    let Ok(here) = super::current_dir().and_then(|here| super::absolute(&here)) else {
        return file.display().to_string();
    };
    let is_above = file.parent().is_some_and(|folder| here.starts_with(folder) && folder.parent().is_some());
    match file.starts_with(&here) || is_above {
        true => krm_engine::files::relative(file, &here),
        false => file.display().to_string(),
    }
}

/// The diagnostic for something that no lock file has.
pub fn not_locked(what: &str) -> Diagnostic {
    Diagnostic::warning("remote-not-locked", format!("`{what}` is not in krm.lock"))
        .help("run `krm lock` to add it")
}

/// The diagnostic for something that is not on this machine.
pub fn missing_offline(what: &str, locked: Option<&Locked>) -> Diagnostic {
    let others = locked.map(Locked::missing).unwrap_or_default();
    let error = not_here(what, &others);
    error.help(match locked {
        None => "run `krm lock` with a connection: builds offline need a lock file",
        Some(_) => "run `krm lock` with a connection: it fetches everything that is locked, and keeps it",
    })
}

/// The diagnostic for something that is not on this machine, which names the others at once.
pub fn not_here(what: &str, all: &[String]) -> Diagnostic {
    let message = format!("`{what}` is not on this machine, and `--offline` allows no connection");
    let error = Diagnostic::error("offline-missing", message);
    let others: Vec<&str> = all.iter().map(String::as_str).filter(|other| *other != what).collect();
    match others.is_empty() {
        true => error,
        false => error
            .note(format!("of what krm.lock names these are missing too: {}", others.join(", ")), Span::NONE),
    }
}

fn mismatch(what: &str, locked: &str, found: &str) -> Diagnostic {
    Diagnostic::error("lock-mismatch", format!("`{what}` is not what krm.lock says"))
        .note(format!("locked: {locked}"), Span::NONE)
        .note(format!("found:  {found}"), Span::NONE)
        .help(format!("if the change is wanted, run `krm lock --update {what}`"))
}

fn damaged_copy(address: &str, why: &str) -> Diagnostic {
    Diagnostic::error("vendor-damaged", format!("the copy of `{address}` in vendor/krm is damaged: {why}"))
        .help("put the file back by git, or run `krm vendor`")
}

fn damaged_store(address: &str, why: &str) -> Diagnostic {
    Diagnostic::warning("store-damaged", format!("the copy of `{address}` in the cache is damaged: {why}"))
}

fn not_kept(error: &std::io::Error) {
    let message = format!("what was fetched cannot be kept for the next time: {error}");
    note(Diagnostic::warning("store-not-written", message));
}
