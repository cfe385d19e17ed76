//! The machine: standard output, and a [`World`] of real files.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_engine::remote::Repository;
use krm_engine::{Diagnostic, Result, World};

use crate::remote::Remote;

/// Writes to standard output. A reader that went away (`krm build | head`) wanted no more: that is success.
pub fn print(bytes: &[u8]) -> Result<()> {
    print_all(&[bytes])
}

/// Writes pieces to standard output, one after the other.
pub fn print_all(pieces: &[impl AsRef<[u8]>]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match pieces.iter().try_for_each(|piece| out.write_all(piece.as_ref())).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Diagnostic::error("output-not-written", format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Ends the process, and nothing else: what was to be written has been.
pub fn exit(status: i32) -> ! {
    #[cfg(unix)]
    #[allow(unsafe_code)]
    // SAFETY: it takes a number, and does not come back.
    unsafe {
        libc::_exit(status)
    }
    #[cfg(not(unix))]
    std::process::exit(status)
}

/// Writes a file, whole or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    // A pipe or a device cannot be replaced; it can only be written to.
    if std::fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return std::fs::write(path, bytes).map_err(|error| not_written(path, &error));
    }
    // A folder that is missing is more likely misspelt than wanted.
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::metadata(folder).map_err(|error| {
            not_written(path, &error).help(format!("make the folder `{}` first", folder.display()))
        })?;
    }
    let mut changes = Changes::default();
    changes.write(path.to_owned(), bytes)?;
    changes.commit()
}

fn not_written(path: &Path, error: &std::io::Error) -> Diagnostic {
    Diagnostic::error("file-not-written", format!("cannot write `{}`: {error}", path.display()))
}

/// Changes to files that are made together: each is prepared beside its place first, and only when all are ready do they
/// take their places. What was prepared is removed again where that does not come about.
#[derive(Default)]
pub struct Changes {
    /// The prepared file, and where it goes.
    written: Vec<(PathBuf, PathBuf)>,
    removed: Vec<PathBuf>,
}

impl Changes {
    /// Prepares a file with this content; missing folders are made. A file that has it already is left alone.
    pub fn write(&mut self, path: PathBuf, bytes: &[u8]) -> Result<()> {
        if std::fs::read(&path).is_ok_and(|there| there == bytes) {
            return Ok(());
        }
        // Through links, so that a link stays one.
        let path = path.canonicalize().unwrap_or(path);
        let failed = |error| not_written(&path, &error);
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let prepared = path.with_file_name(format!(".{name}.{}.krm", std::process::id()));
        self.written.push((prepared.clone(), path.clone()));
        std::fs::write(&prepared, bytes).map_err(failed)?;
        if let Ok(metadata) = std::fs::metadata(&path) {
            std::fs::set_permissions(&prepared, metadata.permissions()).map_err(failed)?;
        }
        Ok(())
    }

    /// A file that is to go.
    pub fn remove(&mut self, path: PathBuf) {
        self.removed.push(path);
    }

    /// Makes the changes.
    pub fn commit(mut self) -> Result<()> {
        // From the end, so that what is left when one fails is what drops.
        while let Some((prepared, path)) = self.written.last() {
            std::fs::rename(prepared, path).map_err(|error| not_written(path, &error))?;
            self.written.pop();
        }
        for path in &self.removed {
            std::fs::remove_file(path).map_err(|error| not_written(path, &error))?;
        }
        Ok(())
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        for (prepared, _) in &self.written {
            // It may not have come into being.
            let _ = std::fs::remove_file(prepared);
        }
    }
}

/// Makes a folder, and those above.
pub fn make_dir(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|error| not_written(path, &error))
}

/// The folder the command was given in.
pub fn current_dir() -> Result<PathBuf> {
    std::env::current_dir().map_err(|error| {
        Diagnostic::error("no-current-folder", format!("the folder this runs in cannot be found: {error}"))
    })
}

/// The same place, whatever folder it is looked at from.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|error| {
        Diagnostic::error("folder-not-found", format!("cannot find `{}`: {error}", path.display()))
    })
}

/// An environment variable.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Real files, and what is fetched from elsewhere.
#[derive(Default)]
pub struct Disk {
    remote: Remote,
}

impl World for Disk {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn is_dir(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn is_file(&self, path: &Path) -> bool {
        path.is_file()
    }

    fn list(&self, dir: &Path) -> std::io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(dir)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    fn real_path(&self, path: &Path) -> std::io::Result<PathBuf> {
        path.canonicalize()
    }

    fn fetch(&self, repository: &Repository) -> Result<PathBuf> {
        self.remote.fetch(repository)
    }

    fn get(&self, address: &str) -> Result<Arc<[u8]>> {
        self.remote.get(address)
    }
}
