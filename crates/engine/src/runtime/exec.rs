//! Executables of this machine: no shell, no sandbox.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use krm_yaml::{Diagnostic, Result, Span};

use super::{EnvVar, Output, Policy, environment, process};
use crate::files::world::clean;

/// What the system says of a file it cannot run: `ENOEXEC`.
const EXEC_FORMAT: i32 = 8;

/// An executable and how to start it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exec {
    /// A name to be found in `PATH`, or a path; a relative one is relative to `dir`.
    pub path: String,
    pub args: Vec<String>,
    /// On top of the environment we have.
    pub env: Vec<EnvVar>,
    /// Where it runs: the folder of the kustomization, or the one the command was given in.
    pub dir: PathBuf,
}

impl Exec {
    pub(super) fn run(&self, policy: &Policy, input: Arc<Vec<u8>>) -> Result<Output> {
        if !self.dir.is_absolute() || self.dir == Path::new("/") {
            let message = format!("`{}` cannot run in `{}`", self.path, self.dir.display());
            return Err(Diagnostic::error("exec-bad-folder", message)
                .help("run the command in a folder other than the root of the file system"));
        }
        let file = self.find()?;
        let mut command = Command::new(&file);
        command.args(&self.args).current_dir(&self.dir);
        for var in environment(&self.env, policy) {
            // Without a value it is passed on, which it is anyway.
            if let Some(value) = var.value {
                command.env(var.name, value);
            }
        }
        process::run(command, &[], input, &policy.limits).map_err(|e| self.not_started(&file, &e))
    }

    /// The file to start.
    pub(super) fn find(&self) -> Result<PathBuf> {
        if self.path.contains('/') {
            let path = self.dir.join(&self.path);
            return match path.metadata() {
                Ok(meta) if meta.is_dir() => Err(self.refused("it is a folder")),
                Ok(meta) if meta.permissions().mode() & 0o111 == 0 => Err(self
                    .refused("it is not executable")
                    .help(format!("chmod +x {}", clean(&path).display()))),
                Ok(_) => Ok(path),
                Err(e) if e.kind() == ErrorKind::NotFound => Err(self
                    .refused("there is no such file")
                    .note(format!("it was looked for at `{}`", clean(&path).display()), Span::NONE)
                    .help("put the program there, or correct the path")),
                Err(e) => Err(self.refused(&e.to_string())),
            };
        }
        let found = std::env::var_os("PATH").and_then(|all| {
            // Relative folders in PATH would let the folder one happens to be in decide what runs.
            std::env::split_paths(&all).filter(|dir| dir.is_absolute()).map(|dir| dir.join(&self.path)).find(
                |path| {
                    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
                },
            )
        });
        found.ok_or_else(|| {
            self.refused("it is not in PATH")
                .help(format!("for a file in the folder write `./{}`", self.path))
        })
    }

    /// Why a file that is there did not start.
    fn not_started(&self, file: &Path, error: &std::io::Error) -> Diagnostic {
        let start = || {
            let mut start = [0; 256];
            let length = File::open(file).ok()?.read(&mut start).ok()?;
            let line = start[..length].strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
            Some(String::from_utf8_lossy(line).trim().to_owned())
        };
        match error.kind() {
            // The file was found just now: it is who should run it that was not.
            ErrorKind::NotFound => match start() {
                Some(line) => self
                    .refused(&format!("there is no `{line}`, which its first line asks for"))
                    .help("install that program, or correct the line that begins with `#!`"),
                None => self.refused(&error.to_string()),
            },
            _ => match error.raw_os_error() {
                Some(EXEC_FORMAT) => self
                    .refused("it is no program for this machine")
                    .help("a script begins with a line such as `#!/bin/sh`"),
                _ => self.refused(&error.to_string()),
            },
        }
    }

    fn refused(&self, why: &str) -> Diagnostic {
        Diagnostic::error("exec-not-started", format!("`{}` cannot be started: {why}", self.path))
    }
}
