//! krm for Python: questions and answers as JSON. What Python programmers see is in `python/krm/__init__.py`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_engine::files::{DirEntry, EntryKind};
use krm_engine::{MemoryWorld, World};
use pyo3::prelude::*;

/// The files of this machine: read, and nothing else.
struct Disk;

impl World for Disk {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        // A pipe or a device never ends.
        match std::fs::metadata(path)?.is_file() {
            true => std::fs::read(path),
            false => Err(std::io::Error::other("not a file")),
        }
    }

    fn is_dir(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn is_file(&self, path: &Path) -> bool {
        path.is_file()
    }

    fn list(&self, dir: &Path) -> std::io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let kind = if kind.is_dir() {
                EntryKind::Folder
            } else if kind.is_file() {
                EntryKind::File
            } else if kind.is_symlink() {
                EntryKind::Link
            } else {
                EntryKind::Other
            };
            entries.push(DirEntry { name: entry.file_name(), kind });
        }
        entries.sort();
        Ok(entries)
    }

    fn real_path(&self, path: &Path) -> std::io::Result<PathBuf> {
        path.canonicalize()
    }
}

/// Answers a question about files on disk, or about those given. Other threads of Python go on meanwhile.
#[pyfunction]
#[pyo3(signature = (question, files=None))]
fn answer(py: Python<'_>, question: &str, files: Option<HashMap<String, Vec<u8>>>) -> String {
    let world: Arc<dyn World> = match files {
        Some(files) => Arc::new(MemoryWorld::new(files)),
        None => Arc::new(Disk),
    };
    py.detach(|| krm_bindings::answer(world, question))
}

#[pymodule]
fn _krm(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(answer, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
