//! What is in the folder of an image: by content, and by what changes whenever a file does.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use krm_engine::files::hex;
use sha2::{Digest, Sha256};

use super::super::threads::in_parallel;

/// A line for each file, folder and link, sorted by name: kind, rights, digest, and the name.
pub fn list(root: &Path) -> io::Result<String> {
    let entries = walk(root)?;
    let lines = in_parallel(&entries, |(path, meta)| -> io::Result<String> {
        let name = path.strip_prefix(root).expect("it was found below the root");
        let name = name.as_os_str().as_bytes().escape_ascii();
        let mode = meta.mode() & 0o7777;
        Ok(if meta.is_dir() {
            format!("folder {mode:o} {name}\n")
        } else if meta.is_symlink() {
            format!("link {} {name}\n", hex(&Sha256::digest(fs::read_link(path)?.as_os_str().as_bytes())))
        } else {
            format!("file {mode:o} {} {name}\n", digest(path)?)
        })
    });
    lines.into_iter().collect()
}

/// The digest of what the system says about each file. No process can change a file and leave this as it was: the time of
/// a change is set by the system alone.
pub fn stamp(root: &Path) -> io::Result<String> {
    let mut sum = Sha256::new();
    for (path, meta) in walk(root)? {
        sum.update(path.as_os_str().as_bytes());
        // Folders are known by what is in them.
        let times = if meta.is_dir() {
            [0; 4]
        } else {
            [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()]
        };
        let size = if meta.is_dir() { 0 } else { meta.size() };
        sum.update(format!("\0{} {:o} {size} {times:?}\n", meta.ino(), meta.mode()));
    }
    Ok(hex(&sum.finalize()))
}

/// The first name in which two lists differ.
pub fn first_difference<'l>(one: &'l str, other: &'l str) -> Option<&'l str> {
    let name = |line: &'l str| line.rsplit(' ').next().unwrap_or(line);
    let (mut ours, mut others) = (one.lines(), other.lines());
    loop {
        match (ours.next(), others.next()) {
            (None, None) => return None,
            (Some(a), Some(b)) if a == b => {}
            (Some(a), Some(b)) => return Some(name(a).min(name(b))),
            (Some(one), None) | (None, Some(one)) => return Some(name(one)),
        }
    }
}

fn walk(root: &Path) -> io::Result<Vec<(PathBuf, Metadata)>> {
    let mut found = Vec::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let meta = entry.metadata()?;
            if meta.is_dir() {
                waiting.push(entry.path());
            }
            found.push((entry.path(), meta));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// Read piece by piece: a file of an image may be large.
fn digest(path: &Path) -> io::Result<String> {
    let mut sum = Sha256::new();
    let mut file = fs::File::open(path)?;
    let mut piece = vec![0; 256 << 10];
    loop {
        match io::Read::read(&mut file, &mut piece)? {
            0 => return Ok(hex(&sum.finalize())),
            n => sum.update(&piece[..n]),
        }
    }
}
