//! The files of a package.

use std::path::Path;
use std::sync::Arc;

use krm_yaml::{Diagnostic, Result, Source, Sources};

use super::kptfile::FILE;
use super::tree::in_folder;
use crate::files::world::{EntryKind, World};
use crate::package::{IGNORE, Ignored};

/// The files of a folder and those below, relative to it: each folder in the order of its names. Hidden ones count; links,
/// what git keeps for itself and what a `.krmignore` on the way names do not.
pub fn listed(world: &dyn World, root: &Path) -> Result<Vec<String>> {
    is_folder(world, root)?;
    let mut walk = Walk { world, paths: Vec::new(), ignored: Some(Vec::new()), links: Vec::new() };
    walk.folder(root, "")?;
    Ok(walk.paths)
}

/// The same without regard to any `.krmignore`; also the links that were left out.
pub fn all(world: &dyn World, root: &Path) -> Result<(Vec<String>, Vec<String>)> {
    let mut walk = Walk { world, paths: Vec::new(), ignored: None, links: Vec::new() };
    walk.folder(root, "")?;
    Ok((walk.paths, walk.links))
}

/// Refuses what is not a folder.
pub(crate) fn is_folder(world: &dyn World, root: &Path) -> Result<()> {
    let message = match (world.is_dir(root), world.is_file(root)) {
        (true, _) => return Ok(()),
        (_, true) => format!("`{}` is a file, not a folder", root.display()),
        _ => format!("there is no folder `{}`", root.display()),
    };
    Err(Diagnostic::error("kpt-folder", message).help("name the folder of a package"))
}

/// Reads a file, for messages under the name the user would write.
pub fn read(world: &dyn World, file: &Path, sources: &Sources) -> Result<Arc<Source>> {
    let shown = file.strip_prefix(".").unwrap_or(file).display().to_string();
    let bytes = world.read(file).map_err(|error| {
        Diagnostic::error("kpt-file-unreadable", format!("cannot read `{shown}`: {error}"))
    })?;
    sources.add_bytes(shown, bytes)
}

struct Walk<'w> {
    world: &'w dyn World,
    paths: Vec<String>,
    links: Vec<String>,
    /// The patterns of the folders on the way, if they count.
    ignored: Option<Vec<Ignored>>,
}

impl Walk<'_> {
    fn folder(&mut self, dir: &Path, below: &str) -> Result<()> {
        let unreadable = |error: std::io::Error| {
            let message = format!("cannot read `{}`: {error}", dir.display());
            Diagnostic::error("kpt-folder-unreadable", message)
        };
        let entries = self.world.list(dir).map_err(unreadable)?;
        let before = self.ignored.as_ref().map_or(0, Vec::len);
        if let (Some(ignored), true) = (&mut self.ignored, entries.iter().any(|entry| entry.name == IGNORE)) {
            ignored.push(Ignored::read(self.world, dir, below)?);
        }
        for entry in entries.into_iter().filter(|entry| entry.name != ".git") {
            let place = dir.join(&entry.name);
            let path = in_folder(below, &entry.name.to_string_lossy());
            let is_folder = entry.kind == EntryKind::Folder;
            // A package below is left out by nobody but itself.
            let is_package = is_folder && self.world.is_file(&place.join(FILE));
            if !is_package && self.leaves_out(&path, entry.kind) {
                continue;
            }
            match entry.kind {
                EntryKind::Folder if is_package && self.ignored.is_some() => {
                    let above = self.ignored.replace(Vec::new());
                    self.folder(&place, &path)?;
                    self.ignored = above;
                }
                EntryKind::Folder => self.folder(&place, &path)?,
                EntryKind::File => self.paths.push(path),
                EntryKind::Link => self.links.push(path),
                EntryKind::Other => {}
            }
        }
        self.ignored.iter_mut().for_each(|ignored| ignored.truncate(before));
        Ok(())
    }

    fn leaves_out(&self, path: &str, kind: EntryKind) -> bool {
        self.ignored.iter().flatten().any(|ignored| ignored.names(path, kind))
    }
}
