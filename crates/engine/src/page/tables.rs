//! Texts, places and events, each kept once.

use std::hash::Hash;
use std::path::Path;
use std::sync::Arc;

use krm_yaml::{Diagnostic, FileId, Source, Sources, Span, sanitize};
use rustc_hash::FxHashMap;

use super::flatten::Flat;
use super::model::{Event, EventId, FileLines, Place, PlaceId, TextId, Warning};
use crate::explain::{Hidden, HiddenLines};

/// How many lines around a place are shown, and how many of it.
const AROUND: usize = 2;
const MOST_LINES: usize = 6;

/// What is said more than once, by number.
pub(super) struct Tables<'s> {
    sources: &'s Sources,
    hidden: &'s Hidden,
    /// Folders of this machine, and what is said instead of each; the deepest first.
    folders: Vec<(String, String)>,
    texts: Table<String>,
    places: Table<Place>,
    events: Table<Event>,
    files: Vec<File>,
    file_ids: FxHashMap<FileId, u32>,
}

struct File {
    source: Arc<Source>,
    hidden: Arc<HiddenLines>,
    name: String,
    lines: std::collections::BTreeMap<u32, TextId>,
}

struct Table<T> {
    all: Vec<T>,
    known: FxHashMap<T, u32>,
}

impl<T: Hash + Eq + Clone> Table<T> {
    fn new() -> Self {
        Self { all: Vec::new(), known: FxHashMap::default() }
    }

    fn add(&mut self, one: T) -> u32 {
        *self.known.entry(one).or_insert_with_key(|one| {
            self.all.push(one.clone());
            self.all.len() as u32 - 1
        })
    }
}

impl<'s> Tables<'s> {
    pub(crate) fn new(sources: &'s Sources, hidden: &'s Hidden, home: &Path, target: &str) -> Self {
        let folders = folders(sources, home, target);
        let (texts, places, events) = (Table::new(), Table::new(), Table::new());
        let (files, file_ids) = (Vec::new(), FxHashMap::default());
        Self { sources, hidden, folders, texts, places, events, files, file_ids }
    }

    pub(crate) fn text(&mut self, text: &str) -> TextId {
        self.texts.add(sanitize::left_to_right(text))
    }

    /// A text that may name files, without saying where on this machine they are.
    pub(crate) fn local(&self, text: &str) -> String {
        let mut text = std::borrow::Cow::Borrowed(text);
        for (folder, instead) in &self.folders {
            if text.contains(folder) {
                text = replaced(&text, folder, instead).into();
            }
        }
        sanitize::left_to_right(&text)
    }

    pub(crate) fn event(&mut self, event: Event) -> EventId {
        self.events.add(event)
    }

    /// A place, and the lines around it.
    pub(crate) fn place(&mut self, span: Span) -> Option<PlaceId> {
        let file = self.file(span.file)?;
        let source = self.files[file as usize].source.clone();
        let (start, end) = (source.position(span.start as usize), source.position(span.end as usize));
        let last = (end.line + AROUND).min(start.line + MOST_LINES);
        for line in start.line.saturating_sub(AROUND).max(1)..=last {
            let file = &mut self.files[file as usize];
            let is_there = source.line_start(line).is_some_and(|start| start < source.text().len());
            if !is_there || file.lines.contains_key(&(line as u32)) {
                continue;
            }
            let text = file.hidden.line(&source, line);
            let text = sanitize::without_passwords(&text);
            let text = self.texts.add(sanitize::left_to_right(&sanitize::beginning(&text)));
            self.files[file_at(&self.file_ids, span.file)].lines.insert(line as u32, text);
        }
        Some(self.places.add(Place {
            file,
            line: start.line as u32,
            column: start.column as u32,
            end_line: end.line as u32,
            end_column: end.column as u32,
        }))
    }

    fn file(&mut self, id: FileId) -> Option<u32> {
        if let Some(known) = self.file_ids.get(&id) {
            return Some(*known);
        }
        let source = self.sources.get(id)?;
        let hidden = self.hidden.lines(&source);
        let name = self.local(source.name());
        let number = self.files.len() as u32;
        self.files.push(File { source, hidden, name, lines: Default::default() });
        self.file_ids.insert(id, number);
        Some(number)
    }

    pub(crate) fn warning(&mut self, warning: &Diagnostic, flat: &Flat) -> Warning {
        Warning {
            message: self.local(&sanitize::without_passwords(warning.message())),
            advice: warning.advice().iter().map(|advice| self.local(advice)).collect(),
            place: self.place(warning.place()),
            step: flat.row_at(warning.place()),
        }
    }

    pub(crate) fn finish(self) -> (Vec<String>, Vec<FileLines>, Vec<Place>, Vec<Event>) {
        let files = self
            .files
            .into_iter()
            .map(|file| FileLines { name: file.name, lines: file.lines.into_iter().collect() });
        (self.texts.all, files.collect(), self.places.all, self.events.all)
    }
}

fn file_at(ids: &FxHashMap<FileId, u32>, id: FileId) -> usize {
    ids[&id] as usize
}

/// What is said instead of folders of this machine: paths are relative to the current folder. A target that is nowhere near
/// it was named by where it is; its files are then relative to the folder that holds them all.
fn folders(sources: &Sources, home: &Path, target: &str) -> Vec<(String, String)> {
    let named = |folder: &Path| format!("{}/", folder.display());
    let is_root = |folder: &&Path| folder.parent().is_some();
    let mut all: Vec<(String, String)> = home
        .ancestors()
        .take_while(is_root)
        .enumerate()
        .map(|(up, folder)| (named(folder), "../".repeat(up)))
        .collect();
    let is_near = |path: &str| all.iter().any(|(folder, _)| path.starts_with(folder.as_str()));
    let target = Path::new(target);
    if target.is_absolute() && !is_near(&named(target)) {
        let files = sources.after(FileId::NONE);
        let holds = |folder: &&Path| {
            let far =
                files.iter().map(|file| file.name()).filter(|name| name.starts_with('/') && !is_near(name));
            far.map(Path::new).all(|name| name.starts_with(folder))
        };
        let above = target.parent().into_iter().flat_map(Path::ancestors).take_while(is_root).find(holds);
        all.extend(above.map(|folder| (named(folder), String::new())));
    }
    all
}

/// A text with every path below a folder written another way; what only looks like it in an address or a longer path stays.
fn replaced(text: &str, folder: &str, instead: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(folder) {
        let (before, after) = (&rest[..at], &rest[at + folder.len()..]);
        let goes_on = before.ends_with(|c: char| c.is_alphanumeric() || "/._-~:".contains(c));
        out.push_str(before);
        out.push_str(if goes_on { folder } else { instead });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_says_where_this_machine_keeps_files() {
        let sources = Sources::new();
        let said = |target: &str, text: &str| {
            let mut text = text.to_owned();
            for (folder, instead) in folders(&sources, Path::new("/home/ann/shop"), target) {
                text = replaced(&text, &folder, &instead);
            }
            text
        };
        assert_eq!(said(".", "at `/home/ann/shop/base/web.yaml`"), "at `base/web.yaml`");
        assert_eq!(said(".", "at `/home/ann/other/run.sh`"), "at `../other/run.sh`");
        assert_eq!(said(".", "https://example.com/home/ann/x"), "https://example.com/home/ann/x");
        sources.add("/srv/fleet/base/web.yaml", "");
        assert_eq!(said("/srv/fleet/overlays/a", "/srv/fleet/base/web.yaml"), "base/web.yaml");
    }
}
