//! What is said about paths that lead nowhere.

use std::path::Path;

use krm_yaml::{Diagnostic, Span, nearest};

use super::Folder;
use crate::files::near::near_path;
use crate::files::repository;
use crate::files::world::{World, clean};

impl Folder {
    /// The diagnostic for a path of several lines, which YAML joins into one text if nothing marks the next item; `None`
    /// for any other path.
    pub(super) fn joined(&self, path: &str, place: Span) -> Option<Diagnostic> {
        let source = self.files.sources.get(place.file)?;
        let written = source.slice(place);
        if written.starts_with(['\'', '"', '|', '>']) {
            return None;
        }
        let mut lines = lines_of(written);
        let (first, (start, second)) = (lines.next()?.1, lines.next()?);
        let at = |start: usize, text: &str| {
            let start = place.start as usize + start;
            source.span(start, start + text.len())
        };
        let before = source.text()[..place.start as usize].trim_end();
        let advice = match second.starts_with("- ") {
            true => "align its `-` with the one above",
            false if before.ends_with('-') => "put `- ` in front of it, and align that with the one above",
            false if before.ends_with(['[', ',']) => "put a comma at the end of the line above",
            false => "write the path on one line",
        };
        let message = format!("these lines are read as one path, `{path}`");
        Some(
            Diagnostic::error("path-of-two-lines", message)
                .at(at(start, second))
                .note("it goes on from here", at(0, first))
                .help(advice),
        )
    }

    /// The diagnostic for a path that leads nowhere, with the name that was perhaps meant.
    pub(super) fn missing(&self, path: &str, place: Span) -> Diagnostic {
        if let Some(joined) = self.joined(path, place) {
            return joined;
        }
        if let Some(unknown) = repository::unknown_scheme(path) {
            return unknown.at(place);
        }
        let error = not_found(path, place);
        if path.contains('*') {
            return error.help("patterns are not expanded: name each file, or a folder with a kustomization");
        }
        let wanted = clean(&self.root.join(path));
        let (Some(dir), Some(name)) = (wanted.parent(), wanted.file_name().and_then(|n| n.to_str())) else {
            return error;
        };
        let Ok(entries) = self.world().list(dir) else {
            let dir = Path::new(path).parent().unwrap_or(Path::new(path)).display().to_string();
            let shown = self.shown.display();
            return error.help(format!(
                "there is no folder `{dir}` either; paths are relative to the folder `{shown}`"
            ));
        };
        error.help(match nearest(name, entries.iter().filter_map(|entry| entry.name.to_str())) {
            Some(near) => format!("did you mean `{}`?", path_with_name(path, near)),
            None => format!("paths are relative to the folder `{}`", self.shown.display()),
        })
    }
}

/// The parts of a plain text written over several lines, with their positions in it.
fn lines_of(written: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    written.split_inclusive('\n').filter_map(move |line| {
        let start = at + line.len() - line.trim_start().len();
        at += line.len();
        let line = line.trim();
        (!line.is_empty()).then_some((start, line))
    })
}

pub(super) fn no_target(world: &dyn World, target: &str) -> Diagnostic {
    if let Some(unknown) = repository::unknown_scheme(target) {
        return unknown;
    }
    not_found(target, Span::NONE).help(match near_path(world, target) {
        Some(near) => format!("did you mean `{near}`?"),
        None if target.contains('*') => "no folder with a kustomization matches this pattern".to_owned(),
        None => "name a folder that holds a kustomization".to_owned(),
    })
}

fn not_found(path: &str, place: Span) -> Diagnostic {
    Diagnostic::error("file-not-found", format!("there is no file or folder `{path}`")).at(place)
}

fn path_with_name(path: &str, name: &str) -> String {
    Path::new(path).with_file_name(name).display().to_string()
}
