//! `krm edit move`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use krm_engine::edit;
use krm_engine::edit::moves::{self, Move};
use krm_engine::files::relative;
use krm_engine::{Diagnostic, Result};

use super::EditScope;
use crate::cli::examples;
use crate::os::{self, Disk};
use crate::report::{Report, counted, names};

/// Move a file or folder; every kustomization that names it follows
///
/// All kustomizations and Compositions of the git repository, or of the current folder if it is in none, are read. Either
/// everything is moved and every path follows, or nothing changes.
#[derive(Debug, Args)]
#[command(after_help = examples::EDIT_MOVE)]
pub struct MoveArgs {
    /// The file or folder
    #[arg(value_name = "FROM")]
    from: PathBuf,

    /// Where it goes: a folder that exists, or a new path
    #[arg(value_name = "TO")]
    to: PathBuf,

    /// The folder whose kustomizations are looked at, if not the repository
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

impl MoveArgs {
    pub fn run(&self, scope: &EditScope, report: &Report) -> Result<()> {
        let from = os::absolute(&self.from)?;
        let to = self.destination(&from)?;
        let root = match &self.root {
            Some(root) => os::absolute(root)?,
            None => repository(&from)?,
        };
        if !from.starts_with(&root) || !to.starts_with(&root) {
            let root = relative(&root, &os::absolute(Path::new("."))?);
            let message = format!("both paths must be in `{}`", if root.is_empty() { "." } else { &root });
            return Err(refused(message).help("name a folder that holds both by `--root`"));
        }
        // Before anything is read, so that nobody else changes it in between.
        let mut changes = scope.changes(&[root.to_string_lossy().into_owned()])?;
        let disk = Disk::default();
        let plan = moves::plan(&disk, &report.sources, &root, &from, &to)?;
        for (path, source, text) in &plan.edits {
            if scope.diff {
                os::print(edit::diff(source.name(), source.text(), text).as_bytes())?;
            }
            if let Some(changes) = &mut changes
                && plan.place(path) == *path
            {
                changes.edit(path, source.text(), text.as_bytes())?;
            }
        }
        let Some(mut changes) = changes else {
            scope.say(&described(scope, &plan, &from, &to)?);
            return Ok(());
        };
        for (old, new) in &plan.files {
            let edited = plan.edits.iter().find(|(path, _, _)| path == old);
            let bytes = match edited {
                Some((_, _, text)) => text.clone().into_bytes(),
                None => fs::read(old)
                    .map_err(|error| refused(format!("cannot read `{}`: {error}", old.display())))?,
            };
            changes.write(new, &bytes)?;
            changes.remove(old, edited.map(|(_, source, _)| source.text()))?;
        }
        let modes: Vec<_> =
            plan.files.iter().filter_map(|(old, _)| Some(fs::metadata(old).ok()?.permissions())).collect();
        changes.commit()?;
        for ((_, new), mode) in plan.files.iter().zip(modes) {
            let _ = fs::set_permissions(new, mode);
        }
        remove_empty(&from);
        scope.say(&described(scope, &plan, &from, &to)?);
        Ok(())
    }

    /// The path it will have.
    fn destination(&self, from: &Path) -> Result<PathBuf> {
        let name = from.file_name().unwrap_or_default();
        let to = if self.to.is_dir() { self.to.join(name) } else { self.to.clone() };
        if to.exists() {
            return Err(refused(format!("`{}` exists already", to.display())));
        }
        let above = to.ancestors().skip(1).find(|above| above.as_os_str().is_empty() || above.exists());
        let above = above.filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let rest = to.strip_prefix(above).unwrap_or(&to);
        let to = krm_engine::files::clean(&os::absolute(above)?.join(rest));
        match to.starts_with(from) {
            true => Err(refused(format!("`{}` cannot be moved into itself", self.from.display()))),
            false => Ok(to),
        }
    }
}

/// What was moved, and which files follow, by the paths they have now.
fn described(scope: &EditScope, plan: &Move, from: &Path, to: &Path) -> Result<String> {
    let here = os::absolute(Path::new("."))?;
    let moved = scope.verb("moved", "would move");
    let moved = format!("{moved} `{}` to `{}`", relative(from, &here), relative(to, &here));
    if plan.edits.is_empty() {
        return Ok(moved);
    }
    let changed = scope.verb("changed", "change");
    let count = counted(plan.edits.len(), "file");
    let all = names(plan.edits.iter().map(|(path, _, _)| relative(&plan.place(path), &here)));
    Ok(format!("{moved}, and {changed} {count}: {all}"))
}

/// The repository that holds a path, or else the current folder.
pub(super) fn repository(path: &Path) -> Result<PathBuf> {
    match path.ancestors().find(|above| above.join(".git").exists()) {
        Some(root) => Ok(root.to_owned()),
        None => os::absolute(Path::new(".")),
    }
}

/// Removes folders that are left empty.
fn remove_empty(path: &Path) {
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty(&entry.path());
        }
    }
    let _ = fs::remove_dir(path);
}

pub(super) fn refused(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error("edit-refused", message)
}
