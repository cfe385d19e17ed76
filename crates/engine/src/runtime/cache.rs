//! Outputs kept for the next time.
//!
//! The name of an entry is the digest of everything an output can depend on, by content ([`Action`](super::Action)). So an
//! entry is never wrong, only unused. That holds only for a folder that nobody else can write to: in any other, nothing
//! is read or kept.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::{Call, Output, Program, Runner, Status};
use crate::pipeline::policy::Keep;

/// Where the output of one call is kept.
pub(super) struct Entry {
    file: PathBuf,
}

/// The place for the output of a call; `None` if it must not be kept.
pub(super) fn entry(runner: &dyn Runner, call: &Call) -> Option<Entry> {
    let dir = call.policy.cache_dir.as_ref()?;
    let wanted = match call.program {
        Program::Image(_) | Program::Wasm(_) => call.policy.cache != Keep::Nothing,
        Program::Exec(_) => call.policy.cache == Keep::Everything,
        Program::Tool(_) => false,
    };
    if !wanted {
        return None;
    }
    let dir = private_dir(dir)?;
    Some(Entry { file: dir.join(runner.describe(call)?.digest()) })
}

impl Entry {
    /// The output of an earlier call.
    pub(super) fn load(&self) -> Option<Output> {
        let start = std::time::Instant::now();
        let bytes = read_own(&self.file).ok()?;
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let (stderr, stdout) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        Some(Output {
            stdout: stdout.to_vec(),
            stderr: stderr.to_vec(),
            stderr_dropped: 0,
            status: Status::Exited(0),
            elapsed: start.elapsed(),
            cached: true,
            fault: None,
        })
    }

    /// Keeps an output. If the cache cannot be written to, the run goes on without it.
    pub(super) fn store(&self, output: &Output) {
        let mut bytes = (output.stderr.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(&output.stderr);
        bytes.extend_from_slice(&output.stdout);
        let _ = write(&self.file, &bytes);
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

/// Reads a file of the cache, if it is a file of ours. It is asked once it is open: what a name leads to may change.
fn read_own(path: &Path) -> io::Result<Vec<u8>> {
    if !path.symlink_metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut file = File::open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() || !is_ours(&meta) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a file of the cache, whole or not at all, for this user alone.
fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let half = file.with_extension(format!("{:016x}", unguessable()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&half).and_then(|mut open| open.write_all(bytes));
    written.and_then(|()| fs::rename(&half, file)).inspect_err(|_| {
        let _ = fs::remove_file(&half);
    })
}

/// A number nobody can foresee: every state is seeded anew, by the operating system at first.
pub(super) fn unguessable() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_that_others_can_write_to_is_not_trusted() {
        let dir = std::env::temp_dir().join(format!("krm-cache-{:016x}", unguessable()));
        let outputs = private_dir(&dir).expect("a folder of ours");
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        for open in [&dir, &outputs] {
            mode(open, 0o777);
            assert_eq!(private_dir(&dir), None, "{}", open.display());
            mode(open, 0o700);
        }
        let entry = Entry { file: outputs.join("entry") };
        let output = Output {
            stdout: b"out".to_vec(),
            stderr: b"err".to_vec(),
            stderr_dropped: 0,
            status: Status::Exited(0),
            elapsed: std::time::Duration::ZERO,
            cached: false,
            fault: None,
        };
        entry.store(&output);
        assert_eq!(entry.load().expect("it was kept").stdout, b"out");
        assert_eq!(fs::read_dir(&outputs).unwrap().count(), 1, "nothing half-written is left");
        mode(&entry.file, 0o666);
        assert!(entry.load().is_none(), "a file that others can write to");
        mode(&entry.file, 0o600);
        // A link may lead to what someone else chose.
        fs::rename(&entry.file, outputs.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(outputs.join("elsewhere"), &entry.file).unwrap();
        assert!(entry.load().is_none(), "a link");
        fs::remove_dir_all(&dir).unwrap();
    }
}
