//! The machine: standard output, and a [`World`] of real files.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_engine::remote::Repository;
use krm_engine::{Diagnostic, Result, World};

use crate::remote::Remote;

/// Writes to standard output. A reader that went away (`krm build | head`) wanted no more: that is success.
pub fn print(bytes: &[u8]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Diagnostic::error("output-not-written", format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(|error| {
        Diagnostic::error("output-not-written", format!("cannot write `{}`: {error}", path.display()))
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
