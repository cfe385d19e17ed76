//! Replaces the system calls of `system.rs` on systems other than Unix. Files have neither owners nor modes there, and
//! there is no rename in one step: the nearest thing is done, and the rest is left out.

use std::ffi::{CStr, CString, OsStr};
use std::fs::{File, Metadata};
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// Ends the process at once: what had to be written has been written.
pub fn exit(status: i32) -> ! {
    std::process::exit(status)
}

/// A full disk is an error here without further ado.
pub fn survive_file_limits() {}

/// The time of day, in UTC.
pub fn clock() -> String {
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs();
    format!("{:02}:{:02}:{:02}", now / 3600 % 24, now / 60 % 60, now % 60)
}

/// All files are the user's.
pub fn user() -> u32 {
    0
}

/// A folder of a user is closed to others already.
pub fn make_private(_folder: &Path) -> Result<()> {
    Ok(())
}

/// How to rename.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rename {
    Exchange,
    NoReplace,
}

/// There is no such call: [`is_unsupported`] recognizes the error.
pub fn rename(_from: &Path, _to: &Path, _how: Rename) -> Result<()> {
    Err(ErrorKind::Unsupported.into())
}

pub fn is_unsupported(error: &Error) -> bool {
    error.kind() == ErrorKind::Unsupported
}

pub fn attributes(_: &File) -> Result<Vec<(CString, Vec<u8>)>> {
    Ok(Vec::new())
}

pub fn set_attribute(_: &File, _: &CStr, _: &[u8]) -> Result<()> {
    Ok(())
}

pub fn fchown(_file: &File, _user: Option<u32>, _group: Option<u32>) -> Result<()> {
    Ok(())
}

/// What a file has on Unix, as it would be for one that nothing special is said of.
pub trait MetadataExt {
    fn dev(&self) -> u64 {
        0
    }
    fn nlink(&self) -> u64 {
        1
    }
    fn uid(&self) -> u32 {
        0
    }
    fn gid(&self) -> u32 {
        0
    }
    fn mode(&self) -> u32 {
        0o644
    }
}

impl MetadataExt for Metadata {}

/// Names as bytes.
pub trait OsStrExt {
    fn as_bytes(&self) -> &[u8];
    fn from_bytes(bytes: &[u8]) -> &Self;
}

impl OsStrExt for OsStr {
    fn as_bytes(&self) -> &[u8] {
        self.as_encoded_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> &Self {
        // A name that is not text leads nowhere, which is noticed where it is used.
        OsStr::new(std::str::from_utf8(bytes).unwrap_or_default())
    }
}

/// Nothing is held back: the console ends the process, and the journal tells the next one.
pub struct HoldSignals;

impl HoldSignals {
    pub fn new() -> Self {
        Self
    }

    pub fn came() -> bool {
        false
    }
}
