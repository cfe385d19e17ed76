//! Outputs kept on this machine for the next time.
//!
//! The name of an entry is the digest of everything an output can depend on, by content ([`Action`](super::Action)), and
//! what is in it is compared with digests. So an entry is never wrong, only unused or damaged. That holds only for a
//! folder that nobody else can write to: in any other, nothing is read or kept.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use prost::Message;
use tempfile::NamedTempFile;

use super::reapi::{ActionResult, Digest};
use super::store::{Outputs, Store, Stream};

/// Besides outputs, what a file of the store may have in it.
const OVERHEAD: usize = 4096;

/// The store of this user: a file for each call.
#[derive(Debug)]
pub(super) struct DiskStore {
    folder: PathBuf,
}

impl DiskStore {
    /// The store in a folder for caches; `None` if that is not this user's alone.
    pub(super) fn open(cache: &Path) -> Option<Self> {
        Some(Self { folder: private_dir(cache)? })
    }
}

impl Store for DiskStore {
    fn load(&self, key: &Digest, most: usize) -> Option<Outputs> {
        let bytes =
            read_own(&self.folder.join(&key.hash), most.saturating_mul(2).saturating_add(OVERHEAD)).ok()?;
        let streams = ActionResult::decode(&bytes[..]).ok()?.streams(most).ok()?;
        let [Stream::Here(stdout), Stream::Here(stderr)] = streams else { return None };
        Some(Outputs { stdout, stderr })
    }

    /// If the folder cannot be written to, the run goes on without it.
    fn keep(&self, key: &Digest, outputs: &Outputs) {
        let _ = write(&self.folder.join(&key.hash), &outputs.result(usize::MAX).encode_to_vec());
    }
}

/// The folder for outputs: made if need be, ours, and closed to writing by others. What it holds is taken for true.
fn private_dir(cache: &Path) -> Option<PathBuf> {
    let dir = cache.join("outputs");
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&dir).ok()?;
    let ours = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_dir() && is_ours(&meta));
    (ours(&dir) && ours(cache)).then_some(dir)
}

/// Whether a file belongs to this user, and nobody else can write to it.
#[cfg(unix)]
fn is_ours(meta: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o022 == 0
}

/// Elsewhere the folder of a user's caches is closed to others by the system.
#[cfg(not(unix))]
fn is_ours(_meta: &fs::Metadata) -> bool {
    true
}

/// Reads a file of the cache, if it is one of our files. It is asked once it is open: what a name leads to may change.
fn read_own(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    if !path.symlink_metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut file = File::open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() || !is_ours(&meta) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    if meta.len() > most as u64 {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a file of the cache, whole or not at all, for this user alone.
fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = file.parent().expect("it is in the folder of outputs");
    let mut half = NamedTempFile::new_in(folder)?;
    half.write_all(bytes)?;
    half.persist(file)?;
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_that_others_can_write_to_is_not_trusted() {
        let top = tempfile::tempdir().unwrap();
        let dir = top.path().join("cache");
        let outputs = private_dir(&dir).expect("a folder of ours");
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        for open in [&dir, &outputs] {
            mode(open, 0o777);
            assert_eq!(private_dir(&dir), None, "{}", open.display());
            mode(open, 0o700);
        }
        let store = DiskStore::open(&dir).expect("a folder of ours");
        let key = Digest::of(b"a call");
        let file = outputs.join(&key.hash);
        let printed = Outputs { stdout: b"out".to_vec(), stderr: b"err".to_vec() };
        store.keep(&key, &printed);
        assert_eq!(store.load(&key, 100).expect("it was kept"), printed);
        assert_eq!(store.load(&key, 2), None, "more than is wanted");
        assert_eq!(fs::read_dir(&outputs).unwrap().count(), 1, "nothing half-written is left");
        mode(&file, 0o666);
        assert_eq!(store.load(&key, 100), None, "a file that others can write to");
        mode(&file, 0o600);
        // A link may lead to what someone else chose.
        fs::rename(&file, outputs.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(outputs.join("elsewhere"), &file).unwrap();
        assert_eq!(store.load(&key, 100), None, "a link");
        fs::remove_file(&file).unwrap();
        fs::rename(outputs.join("elsewhere"), &file).unwrap();
        // Whatever byte a disk loses, the call is made again.
        let sound = fs::read(&file).unwrap();
        for at in 0..sound.len() {
            let mut damaged = sound.clone();
            damaged[at] ^= 1;
            fs::write(&file, &damaged).unwrap();
            let loaded = store.load(&key, 100);
            assert!(loaded.is_none() || loaded.as_ref() == Some(&printed), "byte {at}: {loaded:?}");
            fs::write(&file, &sound[..at]).unwrap();
            assert_eq!(store.load(&key, 100), None, "cut at {at}");
        }
    }
}
