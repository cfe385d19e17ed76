//! `move`: a file or folder goes elsewhere, and every kustomization that names it follows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Diagnostic, FileId, Node, Result, Source, Sources, Span};

use super::missing;
use crate::files::relative;
use crate::files::world::{EntryKind, World, clean};
use crate::workspace::{Layer, Reference, Workspace};

/// What a move comes to.
#[derive(Debug, Default)]
pub struct Move {
    /// Files by their old path, and where they go.
    pub files: Vec<(PathBuf, PathBuf)>,
    /// Texts that name them, and how they read afterwards; by the path before the move.
    pub edits: Vec<(PathBuf, Arc<Source>, String)>,
}

impl Move {
    /// Where a file is after the move.
    pub fn place(&self, path: &Path) -> PathBuf {
        let moved = self.files.iter().find(|(from, _)| from == path);
        moved.map_or_else(|| path.to_owned(), |(_, to)| to.clone())
    }
}

/// Plans to move `from` to `to`, both real paths, within a tree. Every path in a kustomization or Composition of the tree
/// that leads to what is moved, or out of it, is rewritten.
pub fn plan(world: &dyn World, sources: &Sources, tree: &Path, from: &Path, to: &Path) -> Result<Move> {
    let workspace = Workspace::scan(world, sources, tree)?;
    let mut files = Vec::new();
    collect(world, from, from, to, &mut files)?;
    if let Some(layer) = workspace.layers().find(|layer| layer.file == from) {
        let message = format!("`{}` makes its folder a kustomization, and cannot leave it", layer.shown);
        return Err(refused(message).help("move the folder instead"));
    }
    let mut edits: BTreeMap<FileId, Vec<(Span, String)>> = BTreeMap::new();
    for (span, text) in references(&workspace, sources, from, to)? {
        edits.entry(span.file).or_default().push((span, text));
    }
    let mut edited = Vec::new();
    for (file, mut changes) in edits {
        let source =
            sources.get(file).ok_or_else(|| refused("a path is named in a text that has no file"))?;
        let path = world.real_path(Path::new(source.name())).unwrap_or_else(|_| source.name().into());
        changes.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
        let mut text = source.text().to_owned();
        for (span, new) in changes {
            text.replace_range(span.range(), &new);
        }
        krm_yaml::parse_str(&text)?;
        edited.push((path, source, text));
    }
    // Files were read side by side; what is shown has one order.
    edited.sort_by(|(a, ..), (b, ..)| a.cmp(b));
    Ok(Move { files, edits: edited })
}

/// The paths that a move changes, and how they read afterwards.
pub(crate) fn references(
    workspace: &Workspace,
    sources: &Sources,
    from: &Path,
    to: &Path,
) -> Result<Vec<(Span, String)>> {
    let mut changes = Vec::new();
    for layer in workspace.layers() {
        for reference in &layer.references {
            if let Some(text) = follow(layer, reference, from, to)? {
                changes.push((reference.span, replaced(sources, reference, &text)?));
            }
        }
    }
    Ok(changes)
}

/// Where a path is after the move.
fn mapped(path: &Path, from: &Path, to: &Path) -> PathBuf {
    match path.strip_prefix(from) {
        Ok(rest) if rest.as_os_str().is_empty() => to.to_owned(),
        Ok(rest) => to.join(rest),
        Err(_) => path.to_owned(),
    }
}

/// The new text of a path, where it needs one.
fn follow(layer: &Layer, reference: &Reference, from: &Path, to: &Path) -> Result<Option<String>> {
    let Some(target) = reference.target.path() else { return Ok(None) };
    let (folder, target_after) = (mapped(&layer.folder, from, to), mapped(target, from, to));
    if folder == layer.folder && target_after == target {
        return Ok(None);
    }
    // What moves together stays as it is written, and so does what a link still leads to.
    let before = clean(&layer.folder.join(reference.text.as_str()));
    let is_direct = before == target;
    if clean(&folder.join(reference.text.as_str())) == target_after || (!is_direct && target_after == target)
    {
        return Ok(None);
    }
    if reference.top_field() == "helmCharts" && reference.field.ends_with(".name") {
        let message = format!("chart `{}` is found by its name in the chart home", reference.text);
        return Err(refused(message).at(reference.span).help("move the chart home, with all its charts"));
    }
    let way = relative(&target_after, &folder);
    Ok(Some(if way.is_empty() { ".".into() } else { way }))
}

/// The text of a scalar with another path in it: its quotes and what is beside the path stay.
pub(super) fn replaced(sources: &Sources, reference: &Reference, new: &str) -> Result<String> {
    let source = sources.get(reference.span.file);
    let written = source.as_ref().map(|source| source.slice(reference.span)).unwrap_or_default();
    let Some(at) = written.rfind(reference.text.as_str()) else {
        let message = format!("`{}` is named where it cannot be changed by itself", reference.text);
        return Err(refused(message).at(reference.span).help("change it by hand before the move"));
    };
    let with = |new: &str| {
        let mut text = written.to_owned();
        text.replace_range(at..at + reference.text.len(), new);
        text
    };
    if written.starts_with('\'') {
        return Ok(with(&new.replace('\'', "''")));
    }
    if written.starts_with('"') {
        return Ok(with(&new.replace('\\', "\\\\").replace('"', "\\\"")));
    }
    let text = with(new);
    let is_plain = |c: char| c.is_alphanumeric() || "._/@+~=-".contains(c);
    let stays_text = || krm_yaml::emit::preserve::fresh(&Node::string(text.as_str())).trim_end() == text;
    Ok(match written.contains('\n') || (new.chars().all(is_plain) && stays_text()) {
        true => text,
        false => format!("'{}'", text.replace('\'', "''")),
    })
}

fn collect(
    world: &dyn World,
    path: &Path,
    from: &Path,
    to: &Path,
    files: &mut Vec<(PathBuf, PathBuf)>,
) -> Result<()> {
    if world.is_file(path) {
        files.push((path.to_owned(), mapped(path, from, to)));
        return Ok(());
    }
    let entries = world.list(path).map_err(|_| missing(format!("`{}` does not exist", path.display())))?;
    for entry in entries {
        let inside = path.join(&entry.name);
        match entry.kind {
            EntryKind::File | EntryKind::Folder => collect(world, &inside, from, to, files)?,
            EntryKind::Link | EntryKind::Other => {
                return Err(refused(format!("`{}` is a link, and cannot be moved along", inside.display()))
                    .help("move it by hand, or put a file in its place"));
            }
        }
    }
    Ok(())
}

pub(super) fn refused(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error("edit-refused", message)
}
