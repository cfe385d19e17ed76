//! Programs that krm itself uses, such as git and helm, and temporary folders for the files they need.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use krm_yaml::{Diagnostic, Result};
use tempfile::TempDir;

use super::{Action, Argument, Call, Output, Program, Runner, Tool, process, signals};
use crate::runtime::policy::Limits;

/// Runs tools.
pub(super) struct Tools;

impl Runner for Tools {
    /// Tools read what they like: helm its repositories, a plugin anything.
    fn describe(&self, _call: &Call) -> Option<Action> {
        None
    }

    fn run(&self, call: &Call) -> Result<Output> {
        let Program::Tool(tool) = call.program else {
            unreachable!("each kind of program has its own runner")
        };
        let supervisor = call.policy.supervisor.as_deref();
        run_tool(tool, call.input.clone(), &call.policy.limits, supervisor)?.map_err(|error| {
            let message = format!("`{}` cannot be started: {error}", tool.program);
            Diagnostic::error("tool-not-started", message)
        })
    }
}

/// Runs a tool to its end, for a command that needs no permission to do so. The inner error says why it did not start.
pub fn run_tool(
    tool: &Tool,
    input: impl Into<Arc<Vec<u8>>>,
    limits: &Limits,
    supervisor: Option<&Path>,
) -> Result<io::Result<Output>> {
    let limits = &Limits { timeout: tool.timeout.unwrap_or(limits.timeout), ..limits.clone() };
    let scratch = match tool.files.is_empty() {
        true => None,
        false => Some(Scratch::new("krm-files")?),
    };
    let mut paths = Vec::new();
    for (name, bytes) in &tool.files {
        paths.extend(scratch.as_ref().map(|scratch| scratch.write(name, bytes)).transpose()?);
    }
    let mut command = Command::new(&tool.program);
    for argument in &tool.args {
        match argument {
            Argument::Text(text) => command.arg(text),
            Argument::File(number) => command.arg(&paths[*number]),
        };
    }
    for (name, value) in &tool.env {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    if let Some(dir) = &tool.dir {
        command.current_dir(dir);
    }
    Ok(process::run(command, &[], input.into(), limits, supervisor))
}

/// A temporary folder: made empty, for the current user alone, and removed with everything that is in it, also by a signal.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    // Dropped after the folder is gone: until then a signal has to remove it.
    _removal: OnSignal,
}

/// A folder that a signal removes.
#[derive(Debug)]
struct OnSignal(PathBuf);

impl OnSignal {
    fn new(path: &Path) -> Self {
        signals::add_folder(path);
        Self(path.to_owned())
    }
}

impl Drop for OnSignal {
    fn drop(&mut self) {
        signals::remove_folder(&self.0);
    }
}

impl Scratch {
    /// Makes a folder whose name begins so.
    pub fn new(name: &str) -> Result<Self> {
        let make = || {
            // Links resolved: those who ask whether a path is in here compare real paths.
            let parent = std::env::temp_dir().canonicalize()?;
            let prefix = format!("{name}-");
            let mut builder = tempfile::Builder::new();
            // The default is what the umask leaves to others.
            #[cfg(unix)]
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
            builder.prefix(&prefix).tempdir_in(parent)
        };
        let folder = make().map_err(|error| {
            Diagnostic::error("no-temporary-folder", format!("cannot make a temporary folder: {error}"))
                .help("the variable TMPDIR says where temporary files go")
        })?;
        let removal = OnSignal::new(folder.path());
        Ok(Self { folder, _removal: removal })
    }

    /// The folder, which is gone when this is dropped.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file into the folder.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.path().join(name);
        std::fs::write(&path, bytes).map_err(|error| {
            Diagnostic::error("no-temporary-folder", format!("cannot write `{}`: {error}", path.display()))
        })?;
        Ok(path)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn temporary_folders_are_for_the_current_user_alone() {
        let scratch = Scratch::new("krm-test").unwrap();
        let mode = std::fs::metadata(scratch.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let path = scratch.path().to_owned();
        drop(scratch);
        assert!(!path.exists());
    }
}
