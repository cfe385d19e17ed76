//! Reading files, and nothing that is not one: a pipe would have krm wait forever, a device might never end.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
#[cfg(unix)]
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Reads a file. The only way the program reads one.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    read_with_metadata(path).map(|(bytes, _)| bytes)
}

/// The same, and what the system says of the file.
pub fn read_with_metadata(path: &Path) -> Result<(Vec<u8>, Metadata)> {
    let (file, meta) = open(path)?;
    let mut bytes = Vec::new();
    // One that says it is larger than memory is not worth a panic.
    bytes.try_reserve_exact(usize::try_from(meta.len()).unwrap_or(usize::MAX))?;
    // A file itself would ask for its size, and where it is read, once more.
    file.take(u64::MAX).read_to_end(&mut bytes)?;
    Ok((bytes, meta))
}

fn open(path: &Path) -> Result<(File, Metadata)> {
    let mut options = OpenOptions::new();
    // Opening a pipe waits for a writer, unless asked not to. For files that makes no difference.
    #[cfg(unix)]
    options.custom_flags(libc::O_NONBLOCK);
    let file = options.read(true).open(path)?;
    let meta = file.metadata()?;
    let kind = meta.file_type();
    if kind.is_file() || path == Path::new("/dev/null") {
        return Ok((file, meta));
    }
    // What the shell opened for us, as in `krm merge <(krm build a) b`, has a writer, and an end.
    if is_handed_over(path) && !kind.is_dir() {
        return Ok((File::open(path)?, meta));
    }
    if kind.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    let what = name(kind);
    Err(Error::new(ErrorKind::InvalidInput, format!("it is {what}, not a file")))
}

fn is_handed_over(path: &Path) -> bool {
    path == Path::new("/dev/stdin") || ["/dev/fd", "/proc/self/fd"].iter().any(|dir| path.starts_with(dir))
}

#[cfg(unix)]
fn name(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(not(unix))]
fn name(_kind: FileType) -> &'static str {
    "a device"
}
