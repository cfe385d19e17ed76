//! Executables of this machine: no shell, no sandbox.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use krm_yaml::{Diagnostic, Failure, Result, Span};

use super::digests::{Digests, is_executable};
use super::{Action, Call, Exec, Identity, Output, Program, Runner, process};
use crate::files::world::clean;

/// What the system says of a file it cannot run: `ENOEXEC`.
const EXEC_FORMAT: i32 = 8;

/// Variables that a shell changes from one command to the next, and nothing depends on.
const OF_THE_SHELL: [&str; 3] = ["_", "SHLVL", "OLDPWD"];

/// Runs executables.
pub(super) struct Executables {
    digests: Arc<Digests>,
    #[cfg(target_os = "linux")]
    supervisors: super::supervisor::Supervisors,
}

impl Executables {
    pub(super) fn new(digests: Arc<Digests>) -> Self {
        Self {
            digests,
            #[cfg(target_os = "linux")]
            supervisors: Default::default(),
        }
    }
}

fn exec<'c>(call: &'c Call) -> &'c Exec {
    match call.program {
        Program::Exec(exec) => exec,
        _ => unreachable!("each kind of program has its own runner"),
    }
}

impl Runner for Executables {
    /// An executable sees the whole environment; and of its folder, at least the name.
    fn describe(&self, call: &Call) -> Option<Action> {
        let exec = exec(call);
        let digest = self.digests.of(&exec.find().ok()?).ok()?;
        let mut action = Action::new(Identity::Executable(digest), &call.policy.limits, &call.input);
        action.arguments = exec.args.clone();
        action.folder = exec.dir.to_str()?.to_owned();
        for (name, value) in std::env::vars_os() {
            let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
            if !OF_THE_SHELL.contains(&name.as_str()) {
                action.environment.insert(name, value);
            }
        }
        let set = call.environment().into_iter().filter_map(|var| Some((var.name, var.value?)));
        action.environment.extend(set);
        Some(action)
    }

    fn run(&self, call: &Call) -> Result<Output> {
        let exec = exec(call);
        if !exec.dir.is_absolute() || exec.dir == Path::new("/") {
            let message = format!("`{}` cannot run in `{}`", exec.path, exec.dir.display());
            return Err(Diagnostic::error("exec-bad-folder", message)
                .help("run the command in a folder other than the root of the file system"));
        }
        let file = exec.find()?;
        let values = || call.environment().into_iter().filter_map(|var| var.value);
        if exec.args.iter().cloned().chain(values()).any(|text| text.contains('\0')) {
            return Err(exec.refused("an argument or a variable for it holds a NUL character"));
        }
        let mut command = Command::new(&file);
        command.args(&exec.args).current_dir(&exec.dir);
        for var in call.environment() {
            // Without a value it is passed on, which it is anyway.
            if let Some(value) = var.value {
                command.env(var.name, value);
            }
        }
        let (input, limits) = (call.input.clone(), &call.policy.limits);
        let ran = match call.policy.supervisor.as_deref() {
            #[cfg(target_os = "linux")]
            Some(supervisor) => self.supervisors.run(supervisor, &command, input, limits),
            supervisor => process::run(command, &[], input, limits, supervisor),
        };
        ran.map_err(|e| exec.not_started(&file, &e))
    }
}

impl Exec {
    /// The file to start.
    pub fn find(&self) -> Result<PathBuf> {
        if self.path.contains('/') {
            let path = self.dir.join(&self.path);
            return match path.metadata() {
                Ok(meta) if meta.is_dir() => Err(self.refused("it is a folder")),
                Ok(meta) if !meta.is_file() => Err(self.refused("it is not a regular file")),
                Ok(meta) if !is_executable(&meta) => Err(self
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
            std::env::split_paths(&all)
                .filter(|dir| dir.is_absolute())
                .map(|dir| dir.join(&self.path))
                .find(|path| path.metadata().is_ok_and(|meta| meta.is_file() && is_executable(&meta)))
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
            // The file was found just now: it is what should run it that was not.
            ErrorKind::NotFound => match start() {
                Some(line) => self
                    .refused(&format!("there is no `{line}`, which its first line asks for"))
                    .help("install that program, or correct the line that begins with `#!`"),
                None => self.refused(&error.to_string()),
            },
            _ => match error.raw_os_error() {
                Some(EXEC_FORMAT) => self
                    .refused("it is not a program for this machine")
                    .help("a script begins with a line such as `#!/bin/sh`"),
                _ => self.refused(&error.to_string()),
            },
        }
    }

    fn refused(&self, why: &str) -> Diagnostic {
        Diagnostic::error("exec-not-started", format!("`{}` cannot be started: {why}", self.path))
            .failing(Failure::NoSuchProgram)
    }
}
