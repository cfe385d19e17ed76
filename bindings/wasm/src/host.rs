//! Files that the host has.

use std::ffi::OsString;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use krm_engine::World;
use krm_engine::files::{DirEntry, EntryKind, clean};

/// The host's files. Paths are absolute, with `/`; the host's root is `/`.
pub struct Host;

/// What the host says of a path.
const FILE: i32 = 1;
const FOLDER: i32 = 2;

#[cfg(target_family = "wasm")]
#[link(wasm_import_module = "krm")]
unsafe extern "C" {
    /// 1 for a file, 2 for a folder, 0 for anything else.
    #[link_name = "kind"]
    fn host_kind(path: *const u8, length: usize) -> i32;
    /// Opens a file and says how many bytes it has; less than 0 if it cannot be read.
    #[link_name = "read"]
    fn host_read(path: *const u8, length: usize) -> i64;
    /// Opens a folder: as the bytes of a file, a line for each entry, a file as `f NAME`, a folder as `d NAME`.
    #[link_name = "list"]
    fn host_list(path: *const u8, length: usize) -> i64;
    /// Writes what was opened last.
    #[link_name = "take"]
    fn host_take(to: *mut u8);
}

/// Outside of WebAssembly there is no host: this is for checking the code only.
#[cfg(not(target_family = "wasm"))]
mod nowhere {
    pub unsafe fn host_kind(_: *const u8, _: usize) -> i32 {
        0
    }
    pub unsafe fn host_read(_: *const u8, _: usize) -> i64 {
        -1
    }
    pub use host_read as host_list;
    pub unsafe fn host_take(_: *mut u8) {}
}
#[cfg(not(target_family = "wasm"))]
use nowhere::{host_kind, host_list, host_read, host_take};

fn text(path: &Path) -> String {
    clean(&Path::new("/").join(path)).to_string_lossy().into_owned()
}

fn kind(path: &Path) -> i32 {
    let path = text(path);
    // SAFETY: the host reads that many bytes there, and keeps nothing.
    unsafe { host_kind(path.as_ptr(), path.len()) }
}

/// Takes what the host opened; a size below zero means that it did not.
fn taken(path: &Path, size: i64) -> Result<Vec<u8>> {
    let missing = || Error::new(ErrorKind::NotFound, format!("there is no `{}`", path.display()));
    let mut bytes = vec![0; usize::try_from(size).map_err(|_| missing())?];
    // SAFETY: the host writes the bytes it has just counted.
    unsafe { host_take(bytes.as_mut_ptr()) };
    Ok(bytes)
}

impl World for Host {
    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        let name = text(path);
        // SAFETY: the host reads that many bytes there, and keeps nothing.
        taken(path, unsafe { host_read(name.as_ptr(), name.len()) })
    }

    fn is_dir(&self, path: &Path) -> bool {
        kind(path) == FOLDER
    }

    fn is_file(&self, path: &Path) -> bool {
        kind(path) == FILE
    }

    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        let name = text(dir);
        // SAFETY: the host reads that many bytes there, and keeps nothing.
        let bytes = taken(dir, unsafe { host_list(name.as_ptr(), name.len()) })?;
        let text = String::from_utf8_lossy(&bytes);
        let entries = text.lines().filter_map(|line| {
            let (kind, name) = line.split_once(' ')?;
            let kind = if kind == "d" { EntryKind::Folder } else { EntryKind::File };
            Some(DirEntry { name: OsString::from(name), kind })
        });
        let mut entries: Vec<DirEntry> = entries.collect();
        entries.sort();
        Ok(entries)
    }

    fn real_path(&self, path: &Path) -> Result<PathBuf> {
        match kind(path) {
            FILE | FOLDER => Ok(PathBuf::from(text(path))),
            _ => Err(Error::new(ErrorKind::NotFound, format!("there is no `{}`", path.display()))),
        }
    }
}
