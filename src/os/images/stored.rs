//! What the store keeps for images alone: layers, which are too large to be held in memory, and what they are unpacked to.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use krm_engine::files::hex;
use krm_engine::{Diagnostic, Result};
use sha2::{Digest, Sha256};

use crate::os::store::{Store, mark_used};

impl Store {
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A file with this digest, to be read piece by piece. It is for the reader to compare it: see [`Hashing`].
    pub fn open_file(&self, digest: &str) -> Option<File> {
        let path = self.place("files", digest)?;
        let file = File::open(&path).ok()?;
        let meta = file.metadata().ok().filter(|meta| meta.is_file())?;
        mark_used(&path, &meta);
        Some(file)
    }

    /// Keeps a file that is written piece by piece; says whether it had this digest in the end. The inner error is that of
    /// the source, the outer one that of the store.
    pub fn put_pieces(
        &self,
        digest: &str,
        write: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> Result<Result<bool>> {
        let Some(place) = self.place("files", digest) else { return Ok(Ok(false)) };
        let failed = |error: io::Error| not_stored(&error);
        let new = self.new_name().map_err(failed)?;
        let written = (|| {
            let mut hashing = Hashing::new(File::create_new(&new).map_err(failed)?);
            let read = write(&mut hashing);
            if let Some(error) = hashing.failed.take() {
                return Err(not_stored(&error));
            }
            if let Err(error) = read {
                return Ok(Err(error));
            }
            if hashing.digest() != digest {
                return Ok(Ok(false));
            }
            fs::create_dir_all(place.parent().expect("it is in a folder")).map_err(failed)?;
            fs::rename(&new, &place).map_err(failed)?;
            Ok(Ok(true))
        })();
        if !matches!(written, Ok(Ok(true))) {
            let _ = fs::remove_file(&new);
        }
        written
    }

    /// Removes a file that turned out to be damaged.
    pub fn remove_file(&self, digest: &str) {
        if let Some(path) = self.place("files", digest) {
            let _ = fs::remove_file(path);
        }
    }

    /// The folder kept for something of this kind, if there is one. Nothing is verified.
    pub fn folder(&self, kind: &str, digest: &str) -> Option<PathBuf> {
        let place = self.place(kind, digest)?;
        let meta = place.metadata().ok().filter(|meta| meta.is_dir())?;
        mark_used(&place, &meta);
        Some(place)
    }

    /// Keeps a folder that is filled here. If somebody was faster, theirs counts, unless it is to be replaced.
    pub fn put_folder(
        &self,
        kind: &str,
        digest: &str,
        replace: bool,
        fill: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PathBuf> {
        let failed = |error: io::Error| not_stored(&error);
        let place = self.place(kind, digest).ok_or(io::ErrorKind::InvalidInput.into()).map_err(failed)?;
        let new = self.new_name().map_err(failed)?;
        let made = fs::create_dir(&new).map_err(failed).and_then(|()| fill(&new)).and_then(|()| {
            fs::create_dir_all(place.parent().expect("it is in a folder")).map_err(failed)?;
            if replace && place.exists() {
                self.discard(&place).map_err(failed)?;
            }
            match fs::rename(&new, &place) {
                Err(_) if place.is_dir() => fs::remove_dir_all(&new).map_err(failed),
                renamed => renamed.map_err(failed),
            }
        });
        made.inspect_err(|_| drop(fs::remove_dir_all(&new)))?;
        Ok(place)
    }
}

/// Hashes what goes through it, either way.
pub struct Hashing<T> {
    through: T,
    sum: Sha256,
    /// Why something could not be written.
    failed: Option<io::Error>,
}

impl<T> Hashing<T> {
    pub fn new(through: T) -> Self {
        Self { through, sum: Sha256::new(), failed: None }
    }

    /// `sha256:` and the digest of everything that went through.
    pub fn digest(self) -> String {
        format!("sha256:{}", hex(&self.sum.finalize()))
    }
}

impl<T: Write> Write for Hashing<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.through.write(bytes).map_err(|error| {
            let kind = error.kind();
            self.failed = Some(error);
            io::Error::from(kind)
        })?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.through.flush()
    }
}

impl<T: io::Read> io::Read for Hashing<T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.through.read(bytes)?;
        self.sum.update(&bytes[..read]);
        Ok(read)
    }
}

/// The error for something that has to be kept and cannot be.
pub fn not_stored(error: &io::Error) -> Diagnostic {
    Diagnostic::error("store-full", format!("the image cannot be kept in the cache: {error}"))
        .help("make room, for instance by `krm cache gc`, or set XDG_CACHE_HOME to another disk")
}
