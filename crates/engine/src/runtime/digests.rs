//! Files known by what is in them. A program is read once in a run, and again only when it has changed.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use super::File;
use super::reapi::Digest;

/// No program is larger; and reading a device would have no end.
const LARGEST: u64 = 1 << 30;

/// Folders with more in them are not described, and functions that see them not cached: reading it all could cost more
/// than the function.
const MOST_FILES: usize = 10_000;
const MOST_BYTES: u64 = 256 << 20;

/// Digests of files, each read once, however many paths lead to it and however many threads ask at the same time.
#[derive(Default)]
pub struct Digests(Mutex<FxHashMap<Stamp, Arc<Mutex<Option<Digest>>>>>);

/// What tells files from each other, and a file from what it was before. It says only whether to read a file again within
/// one run, and is part of no key.
#[cfg(unix)]
type Stamp = (u64, u64, u64, i64, i64);
#[cfg(not(unix))]
type Stamp = (std::path::PathBuf, u64, Option<std::time::SystemTime>);

#[cfg(unix)]
fn stamp(_: &Path, meta: &Metadata) -> Stamp {
    use std::os::unix::fs::MetadataExt;
    (meta.dev(), meta.ino(), meta.len(), meta.ctime(), meta.ctime_nsec())
}

#[cfg(not(unix))]
fn stamp(path: &Path, meta: &Metadata) -> Stamp {
    (path.to_owned(), meta.len(), meta.modified().ok())
}

impl Digests {
    /// The digest of a file.
    pub fn of(&self, path: &Path) -> io::Result<Digest> {
        let stamp = stamp(path, &path.metadata()?);
        let known =
            self.0.lock().expect("no one panics while holding the digests").entry(stamp).or_default().clone();
        // The first one reads the file, and the others wait for it.
        let mut known = known.lock().expect("no one panics while reading a file");
        if let Some(digest) = &*known {
            return Ok(digest.clone());
        }
        let digest = Digest::of(&read(path)?);
        *known = Some(digest.clone());
        Ok(digest)
    }
}

/// The bytes of a regular file. A pipe or a device is refused: it may have no end, or never begin.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let meta = path.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len().min(LARGEST)).unwrap_or_default());
    fs::File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > LARGEST {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 GiB")),
        false => Ok(bytes),
    }
}

/// Adds a file, or everything in a folder, as it is seen at `target`; `None` if content does not say it.
pub fn describe(source: &Path, target: &str, files: &mut BTreeMap<String, File>) -> Option<()> {
    let mut waiting = vec![(source.to_path_buf(), target.to_owned())];
    let mut room = MOST_BYTES;
    // What is mounted is what the path leads to.
    let mut meta = source.metadata().ok()?;
    while let Some((path, seen_as)) = waiting.pop() {
        if path != source {
            meta = path.symlink_metadata().ok()?;
        }
        if files.len() >= MOST_FILES {
            return None;
        }
        let file = if meta.is_dir() {
            for entry in fs::read_dir(&path).ok()? {
                let entry = entry.ok()?;
                waiting.push((entry.path(), format!("{seen_as}/{}", entry.file_name().to_str()?)));
            }
            File::Folder
        } else if meta.is_symlink() {
            File::Link(fs::read_link(&path).ok()?.to_str()?.to_owned())
        } else {
            room = room.checked_sub(meta.len())?;
            File::Content { digest: Digest::of(&read(&path).ok()?), executable: is_executable(&meta) }
        };
        files.insert(seen_as, file);
    }
    Some(())
}

/// Whether a file may be started.
#[cfg(unix)]
pub(super) fn is_executable(meta: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    meta.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
pub(super) fn is_executable(meta: &Metadata) -> bool {
    meta.is_file()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_one_whatever_path_leads_to_it() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        fs::create_dir(dir.join("below")).unwrap();
        fs::write(dir.join("fn"), "a").unwrap();
        let digests = Digests::default();
        let known = || digests.0.lock().unwrap().len();
        let first = digests.of(&dir.join("fn")).unwrap();
        assert_eq!(digests.of(&dir.join("below/../fn")).unwrap(), first);
        assert_eq!(known(), 1);
        fs::write(dir.join("fn"), "another").unwrap();
        assert_ne!(digests.of(&dir.join("fn")).unwrap(), first);
        assert_eq!(known(), 2);
    }

    #[test]
    fn folders_are_known_by_content_alone() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str, text: &str| {
            let folder = dir.path().join(name);
            fs::create_dir_all(folder.join("below")).unwrap();
            fs::write(folder.join("below/a"), text).unwrap();
            std::os::unix::fs::symlink("below/a", folder.join("link")).unwrap();
            let mut files = BTreeMap::new();
            describe(&folder, "/local", &mut files).map(|()| files)
        };
        let (one, two, other) = (make("one", "a"), make("two", "a"), make("other", "b"));
        assert_eq!(one, two, "other files with the same content");
        assert_ne!(one, other);
        assert_eq!(
            one.unwrap().keys().collect::<Vec<_>>(),
            ["/local", "/local/below", "/local/below/a", "/local/link"]
        );
        assert!(
            describe(Path::new("/dev/null"), "/x", &mut BTreeMap::new()).is_none(),
            "a device has no content"
        );
    }
}
