//! Outputs kept for the next time.
//!
//! The name of an entry is the digest of all an output can depend on: what the program *is* (the image's id, the
//! module's bytes), its arguments, its environment, what it can see of the machine, and its input. So an entry is never
//! wrong, only unused.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{EnvVar, Output, Program, Runtime, Status, environment};
use crate::files::world::hex;
use crate::pipeline::policy::{Keep, Pull};

/// Changes whenever the layout of an entry does.
const LAYOUT: &str = "krm function output 1";

/// Folders with more files than this are not looked through, and functions that see them not cached.
const MOST_FILES: usize = 10_000;

/// Where the output of one call is kept.
pub(super) struct Key {
    file: PathBuf,
}

/// The place for the output of a call; `None` where it must not be kept.
pub(super) fn key(runtime: &Runtime, program: &Program, input: &[u8]) -> Option<Key> {
    let policy = runtime.policy();
    let dir = policy.cache_dir.as_ref()?;
    if policy.cache == Keep::Nothing {
        return None;
    }
    let mut hash = Fields(Sha256::new());
    hash.add(LAYOUT);
    match program {
        Program::Image(image) => {
            // What it reads there may change under the same name; and so may the image, before it is fetched.
            let sees_more =
                (image.network && policy.network) || !image.mounts.is_empty() || !policy.mounts.is_empty();
            if sees_more || policy.pull == Pull::Always {
                return None;
            }
            hash.add("image").add(runtime.engine().ok()?.image_id(&image.image)?);
            hash.add([u8::from(policy.as_current_user)]);
            hash.add_env(environment(&image.env, policy)).add_all(&image.args);
            if let Some(local) = &image.local {
                hash.add_folder(local)?;
            }
        }
        Program::Wasm(module) => {
            hash.add("wasm").add(runtime.digests.of(Path::new(&module.path)).ok()?);
            hash.add_env(environment(&module.env, policy)).add_all(&module.args);
        }
        Program::Exec(_) if policy.cache != Keep::Everything => return None,
        Program::Exec(exec) => {
            hash.add("exec")
                .add(runtime.digests.of(&exec.find().ok()?).ok()?)
                .add(exec.dir.as_os_str().as_encoded_bytes());
            hash.add_env(environment(&exec.env, policy)).add_all(&exec.args);
        }
    }
    hash.add(input);
    Some(Key { file: dir.join("outputs").join(hex(&hash.0.finalize())) })
}

impl Key {
    /// The output of an earlier call.
    pub(super) fn load(&self) -> Option<Output> {
        let start = std::time::Instant::now();
        let bytes = fs::read(&self.file).ok()?;
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let (stderr, stdout) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        Some(Output {
            stdout: stdout.to_vec(),
            stderr: stderr.to_vec(),
            stderr_dropped: 0,
            status: Status::Exited(0),
            elapsed: start.elapsed(),
            cached: true,
        })
    }

    /// Keeps an output. A cache that cannot be written to is none: that is no reason to fail.
    pub(super) fn store(&self, output: &Output) {
        let mut bytes = (output.stderr.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(&output.stderr);
        bytes.extend_from_slice(&output.stdout);
        let _ = write(&self.file, &bytes);
    }
}

/// Writes a file of the cache, whole or not at all, for this user alone.
pub(super) fn write(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(dir) = file.parent() {
        make_dir(dir)?;
    }
    let half = file.with_extension(format!("{}.tmp", std::process::id()));
    fs::write(&half, bytes).and_then(|()| fs::rename(&half, file)).inspect_err(|_| {
        let _ = fs::remove_file(&half);
    })
}

/// Makes a folder of the cache, and those above, for this user alone.
pub(super) fn make_dir(dir: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// A digest of fields: each with its length in front, so that no two lists of fields run together.
struct Fields(Sha256);

impl Fields {
    fn add(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        let bytes = bytes.as_ref();
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    fn add_all(&mut self, all: &[String]) -> &mut Self {
        self.add((all.len() as u64).to_le_bytes());
        all.iter().for_each(|text| {
            self.add(text);
        });
        self
    }

    fn add_env(&mut self, env: Vec<EnvVar>) -> &mut Self {
        let all: Vec<String> =
            env.iter().map(|var| format!("{}={}", var.name, var.resolve().unwrap_or_default())).collect();
        self.add_all(&all)
    }

    /// Everything in a folder, by what the file system says of it: reading it all could cost more than the function.
    fn add_folder(&mut self, dir: &Path) -> Option<()> {
        let mut waiting = vec![dir.to_path_buf()];
        let mut count = 0;
        while let Some(dir) = waiting.pop() {
            let mut entries: Vec<_> = fs::read_dir(&dir).ok()?.collect::<Result<_, _>>().ok()?;
            entries.sort_by_key(fs::DirEntry::file_name);
            count += entries.len();
            if count > MOST_FILES {
                return None;
            }
            for entry in entries {
                let meta = entry.metadata().ok()?;
                self.add(entry.path().as_os_str().as_encoded_bytes());
                for number in [meta.len(), meta.ino(), meta.ctime() as u64, meta.ctime_nsec() as u64] {
                    self.add(number.to_le_bytes());
                }
                if meta.is_dir() {
                    waiting.push(entry.path());
                }
            }
        }
        Some(())
    }
}
