//! Programs that are no functions but tools of ours, such as git and helm; and room for the files they need.

use std::fs::DirBuilder;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use krm_yaml::{Diagnostic, Result};

use super::{Output, process, signals};
use crate::pipeline::policy::Limits;

/// Runs a tool to its end. It leads a process group of its own, so that a time limit ends it with all it started.
pub fn run_tool(command: Command, input: Vec<u8>, limits: &Limits) -> io::Result<Output> {
    process::run(command, &[], Arc::new(input), limits)
}

/// A folder for a while: made empty, for the present user alone, and removed with all that is in it.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes a folder whose name begins so.
    pub fn new(name: &str) -> Result<Self> {
        let failed = |error: io::Error| {
            Diagnostic::error("no-temporary-folder", format!("cannot make a temporary folder: {error}"))
                .help("the variable TMPDIR says where temporary files go")
        };
        // Links resolved: whoever asks whether a path is in here compares real paths.
        let parent = std::env::temp_dir().canonicalize().map_err(failed)?;
        loop {
            // Every state is seeded anew, by the operating system at first: nobody can guess the name.
            let number = RandomState::new().hash_one(std::process::id());
            let path = parent.join(format!("{name}-{number:016x}"));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    signals::add_folder(&path);
                    return Ok(Self(path));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file into the folder.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).map_err(|error| {
            Diagnostic::error("no-temporary-folder", format!("cannot write `{}`: {error}", path.display()))
        })?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is left to whoever cleans up temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
        signals::remove_folder(&self.0);
    }
}
