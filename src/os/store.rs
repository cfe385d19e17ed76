//! What was fetched, kept for the next time, by content.
//!
//! ```text
//! CACHE/store/v1/files/3a/9c41...      a file, named by the SHA-256 of its bytes
//! CACHE/store/v1/trees/5f/02d7.../     a folder: `list` says what is in it, and is what the name is the digest of;
//!                                      `files` is the folder itself
//! CACHE/store/v1/images/b1/77e0.../    an image, named by the digest of its manifest: `about` says what it is, `list` what is
//!                                      in it, `stamp` when that was last compared; `root` is the folder itself
//! CACHE/store/v1/new/                  what is being written; it gets its name when it is whole
//! CACHE/store/v1/in-use                locked by those who read, and by those who remove
//! ```
//!
//! Nothing in it is believed: whatever is read is compared with its name. So it does not matter who wrote an entry, whether
//! the disk was full or the process killed on the way; and another layout would have another number.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use krm_engine::{Diagnostic, Result};

use super::content::{ContentKind, Listing, is_sha256, sha256};

/// The store of this user.
pub struct Store {
    pub(super) root: PathBuf,
    /// Held as long as what the store gave may be read.
    _in_use: Option<File>,
}

/// What the store has under a name.
#[derive(Debug, PartialEq, Eq)]
pub enum Kept<T> {
    Sound(T),
    Missing,
    /// It is not what its name says; the text says what is wrong.
    Damaged(String),
}

/// How long to wait for builds that read the store, before something is removed.
const PATIENCE: Duration = Duration::from_secs(60);
/// What is older than this and still being written was given up.
const GIVEN_UP: Duration = Duration::from_secs(3600);
/// An entry that is used is marked as such once in a while.
const MARKED_AGAIN: Duration = Duration::from_secs(3600);

/// The digest of no bytes: most builds have no warnings.
const NOTHING: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

impl Store {
    /// Opens the store of this user; `None` if there is no folder for caches.
    pub fn open() -> Option<Self> {
        Self::at(&super::cache_dir()?.join("store/v1"))
    }

    pub fn at(root: &Path) -> Option<Self> {
        private_dir(root).ok()?;
        let root = root.canonicalize().ok()?;
        let in_use = File::options().create(true).append(true).open(root.join("in-use")).ok();
        // On a file system without locks, and on one that cannot be written to, nothing is removed under our feet.
        let in_use = in_use.filter(|file| file.lock_shared().is_ok());
        Some(Self { root, _in_use: in_use })
    }

    /// Whether a path is in the store.
    pub fn holds(&self, path: &Path) -> bool {
        path.starts_with(&self.root)
    }

    /// Whether something is kept under this name. Nothing is verified.
    pub fn has(&self, digest: &str, kind: ContentKind) -> bool {
        let folder = match kind {
            ContentKind::File => "files",
            ContentKind::Folder => "trees",
        };
        self.place(folder, digest).is_some_and(|place| place.exists())
    }

    /// The bytes with this digest, `sha256:...`.
    pub fn file(&self, digest: &str) -> Kept<Vec<u8>> {
        if digest == NOTHING {
            return Kept::Sound(Vec::new());
        }
        let Some(path) = self.place("files", digest) else { return Kept::Missing };
        let Ok((bytes, meta)) = super::read_with_metadata(&path) else { return Kept::Missing };
        match sha256(&bytes) == digest {
            true => {
                mark_used(&path, &meta);
                Kept::Sound(bytes)
            }
            false => Kept::Damaged(format!("`{}` does not have the content its name says", path.display())),
        }
    }

    /// Keeps some bytes.
    pub fn put_file(&self, bytes: &[u8]) -> io::Result<()> {
        let place = self.place("files", &sha256(bytes)).expect("it is a digest");
        let new = self.new_name()?;
        let written = (|| {
            let mut file = File::create_new(&new)?;
            file.write_all(bytes)?;
            fs::create_dir_all(place.parent().expect("it is in a folder"))?;
            fs::rename(&new, &place)
        })();
        written.inspect_err(|_| drop(fs::remove_file(&new)))
    }

    /// The folder whose list has this digest.
    pub fn tree(&self, digest: &str) -> Kept<PathBuf> {
        let Some(place) = self.place("trees", digest) else { return Kept::Missing };
        let Some(meta) = place.metadata().ok().filter(|meta| meta.is_dir()) else { return Kept::Missing };
        let folder = place.join("files");
        match check(&folder, &place.join("list"), digest) {
            Ok(()) => {
                mark_used(&place, &meta);
                Kept::Sound(folder)
            }
            Err(why) => Kept::Damaged(why),
        }
    }

    /// Keeps a folder with this content; gives the folder in the store. What was kept before, and is damaged, is replaced.
    pub fn put_tree(&self, listing: &Listing, from: &Path) -> io::Result<PathBuf> {
        let digest = listing.digest();
        let place = self.place("trees", &digest).expect("it is a digest");
        let new = self.new_name()?;
        let written = (|| {
            listing.copy(from, &new.join("files"))?;
            fs::write(new.join("list"), listing.text())?;
            fs::create_dir_all(place.parent().expect("it is in a folder"))?;
            if fs::rename(&new, &place).is_ok() {
                return Ok(());
            }
            // Somebody was faster, which is as good; unless that one is damaged.
            if check(&place.join("files"), &place.join("list"), &digest).is_ok() {
                return fs::remove_dir_all(&new);
            }
            self.discard(&place)?;
            fs::rename(&new, &place)
        })();
        written.inspect_err(|_| drop(fs::remove_dir_all(&new)))?;
        Ok(place.join("files"))
    }

    /// Whether nobody else can write to it. What has no digest for a name is believed only then.
    pub fn is_private(&self) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let ours = |path: &Path| {
                let user = super::system::user();
                path.symlink_metadata().is_ok_and(|meta| meta.uid() == user && meta.mode() & 0o022 == 0)
            };
            self.root.ancestors().take(3).all(ours)
        }
        #[cfg(not(unix))]
        {
            true
        }
    }

    /// Something that is kept by another name than its digest.
    pub fn record(&self, kind: &str, key: &str) -> Option<Vec<u8>> {
        let path = self.place(kind, &format!("sha256:{key}"))?;
        let (bytes, meta) = super::read_with_metadata(&path).ok()?;
        mark_used(&path, &meta);
        Some(bytes)
    }

    pub fn put_record(&self, kind: &str, key: &str, bytes: &[u8]) -> io::Result<()> {
        let place = self.place(kind, &format!("sha256:{key}")).ok_or(io::ErrorKind::InvalidInput)?;
        let new = self.new_name()?;
        let written = (|| {
            fs::write(&new, bytes)?;
            fs::create_dir_all(place.parent().expect("it is in a folder"))?;
            fs::rename(&new, &place)
        })();
        written.inspect_err(|_| drop(fs::remove_file(&new)))
    }

    /// The digest of this program: what another version makes may differ. The file is read again only if it is another.
    pub fn own_digest(&self) -> Option<String> {
        let program = std::env::current_exe().ok()?;
        let meta = program.metadata().ok()?;
        let stamp = format!("{} {} {:?}", program.display(), meta.len(), meta.modified().ok()?);
        let key = sha256(stamp.as_bytes())["sha256:".len()..].to_owned();
        if let Some(known) = self.record("programs", &key).and_then(|bytes| String::from_utf8(bytes).ok()) {
            return Some(known);
        }
        let digest = sha256(&super::read(&program).ok()?);
        let _ = self.put_record("programs", &key, digest.as_bytes());
        Some(digest)
    }

    /// Takes a damaged entry out of the way, in one step.
    pub(super) fn discard(&self, place: &Path) -> io::Result<()> {
        let aside = self.new_name()?;
        fs::rename(place, &aside)?;
        // What is left of it goes with the next `krm cache gc`.
        let _ = fs::remove_dir_all(&aside);
        Ok(())
    }

    pub(super) fn place(&self, kind: &str, digest: &str) -> Option<PathBuf> {
        let hex = digest.strip_prefix("sha256:").filter(|hex| is_sha256(hex))?;
        Some(self.root.join(kind).join(&hex[..2]).join(&hex[2..]))
    }

    /// A name nobody else uses.
    pub(super) fn new_name(&self) -> io::Result<PathBuf> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let folder = self.root.join("new");
        fs::create_dir_all(&folder)?;
        let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |t| t.as_nanos());
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Ok(folder.join(format!("{}-{count}-{nanos:x}", std::process::id())))
    }
}

/// Compares a folder with its list, and the list with its digest; the error says what differs.
pub fn check(folder: &Path, list: &Path, digest: &str) -> Result<(), String> {
    let text = super::read(list).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let Some(text) = text else { return Err(format!("`{}` cannot be read", list.display())) };
    let listing = Listing::parse(text).filter(|listing| listing.digest() == digest);
    let Some(listing) = listing else { return Err(format!("`{}` was changed", list.display())) };
    let there =
        Listing::of(folder, &folder.display().to_string()).map_err(|error| error.message().to_owned())?;
    match there.first_difference(&listing) {
        None => Ok(()),
        Some(path) => Err(format!("`{}` was changed, added or removed", folder.join(path).display())),
    }
}

/// Notes that an entry was used, by its time. It need not succeed.
pub(super) fn mark_used(path: &Path, meta: &Metadata) {
    let is_recent = meta.modified().is_ok_and(|at| at.elapsed().is_ok_and(|ago| ago < MARKED_AGAIN));
    if !is_recent && let Ok(file) = File::open(path) {
        let _ = file.set_modified(SystemTime::now());
    }
}

fn private_dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// An entry of a cache, as `krm cache` counts and removes them.
#[derive(Debug)]
pub struct StoredEntry {
    pub path: PathBuf,
    pub bytes: u64,
    pub used: SystemTime,
}

/// Everything krm keeps for this user, by kind: fetched files, fetched folders, outputs of functions and builds.
pub fn entries(cache: &Path) -> Vec<(&'static str, Vec<StoredEntry>)> {
    let store = cache.join("store/v1");
    let kinds = [
        ("files", store.join("files"), 2),
        ("folders", store.join("trees"), 2),
        ("images", store.join("images"), 2),
        ("tags", store.join("tags"), 2),
        ("programs", store.join("programs"), 2),
        ("targets", store.join("targets"), 2),
        ("outputs", cache.join("outputs"), 1),
    ];
    kinds.into_iter().map(|(name, folder, depth)| (name, entries_in(&folder, depth))).collect()
}

fn entries_in(folder: &Path, depth: usize) -> Vec<StoredEntry> {
    let names = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    match depth {
        1 => names
            .filter_map(|path| {
                let used = path.symlink_metadata().ok()?.modified().ok()?;
                Some(StoredEntry { bytes: size(&path), path, used })
            })
            .collect(),
        _ => names.flat_map(|path| entries_in(&path, depth - 1)).collect(),
    }
}

fn size(path: &Path) -> u64 {
    let Ok(meta) = path.symlink_metadata() else { return 0 };
    if !meta.is_dir() {
        return meta.len();
    }
    let below = fs::read_dir(path).into_iter().flatten().filter_map(|entry| Some(size(&entry.ok()?.path())));
    below.sum()
}

/// The right to remove entries: nobody reads the store meanwhile.
pub struct Removal {
    new: PathBuf,
    _alone: Option<File>,
}

impl Removal {
    /// Waits for those who read the store.
    pub fn begin(cache: &Path) -> Result<Self> {
        let root = cache.join("store/v1");
        let new = root.join("new");
        let Ok(file) = File::options().create(root.is_dir()).append(true).open(root.join("in-use")) else {
            return Ok(Self { new, _alone: None });
        };
        let start = Instant::now();
        let mut said = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { new, _alone: Some(file) }),
                Err(TryLockError::Error(_)) => return Ok(Self { new, _alone: None }),
                Err(TryLockError::WouldBlock) if start.elapsed() > PATIENCE => {
                    return Err(Diagnostic::error("cache-in-use", "another krm still reads the cache").help(
                        "wait for it to end, and run this command again; an editor may keep one running",
                    ));
                }
                Err(TryLockError::WouldBlock) => {
                    if !said && start.elapsed() > Duration::from_secs(1) {
                        eprintln!("waiting for another krm that reads the cache");
                        said = true;
                    }
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        }
    }

    /// Removes an entry; gives its size.
    pub fn remove(&self, entry: &StoredEntry) -> Result<u64> {
        let failed = |error: io::Error| {
            let message = format!("cannot remove `{}`: {error}", entry.path.display());
            Diagnostic::error("cache-not-removed", message)
        };
        if entry.path.is_dir() {
            // In one step first: half a folder must not be found under its name.
            let aside = self.new.join(format!("removed-{}", std::process::id()));
            let _ = fs::remove_dir_all(&aside);
            fs::create_dir_all(&self.new).map_err(failed)?;
            fs::rename(&entry.path, &aside).map_err(failed)?;
            fs::remove_dir_all(&aside).map_err(failed)?;
        } else {
            fs::remove_file(&entry.path).map_err(failed)?;
        }
        Ok(entry.bytes)
    }

    /// Removes what a killed process left half-written.
    pub fn remove_given_up(&self) {
        for entry in entries_in(&self.new, 1) {
            if self._alone.is_some() || entry.used.elapsed().is_ok_and(|age| age > GIVEN_UP) {
                let _ = match entry.path.is_dir() {
                    true => fs::remove_dir_all(&entry.path),
                    false => fs::remove_file(&entry.path),
                };
            }
        }
    }
}
