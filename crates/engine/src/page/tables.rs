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
    home: String,
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
    pub(crate) fn new(sources: &'s Sources, hidden: &'s Hidden, home: &Path) -> Self {
        let home = format!("{}/", home.display());
        let (texts, places, events) = (Table::new(), Table::new(), Table::new());
        let (files, file_ids) = (Vec::new(), FxHashMap::default());
        Self { sources, hidden, home, texts, places, events, files, file_ids }
    }

    pub(crate) fn text(&mut self, text: &str) -> TextId {
        self.texts.add(sanitize::left_to_right(text))
    }

    /// A text that may name files, without saying where on this machine they are.
    pub(crate) fn local(&self, text: &str) -> String {
        sanitize::left_to_right(&match self.home.len() {
            0 | 1 => text.to_owned(),
            _ => text.replace(&self.home, ""),
        })
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
