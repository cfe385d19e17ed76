//! From a change of the result to the changed lines of the sources that explain it.
//!
//! The history of a field names every location that had a part in it. Of these, on either side, the latest on a line that
//! differs between the sides is the cause. For a step that only one side has, it is the entry that asks for it, and for what
//! came with a new file or folder, the line that includes it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use krm_yaml::{Source, Span, Text, decode_lossy};
use rustc_hash::FxHashMap;

use super::compare::Side;
use super::{Cause, Location, moved};
use crate::compare::lines::{Hunk, hunks};
use crate::explain::{Because, Hidden, HistoryEntry, HistoryOptions, Labels, Site};
use crate::files::KUSTOMIZATION_FILES;
use crate::files::world::clean;
use crate::pipeline::trace::{EventKind, InputKind};
use crate::workspace::Workspace;

/// Which of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    From,
    To,
}

/// Finds causes, and keeps the sources it has read.
pub(crate) struct Causes<'a> {
    sides: [&'a Side<'a>; 2],
    labels: [Labels<'a>; 2],
    pub hidden: &'a [Hidden; 2],
    files: Mutex<FxHashMap<String, Option<Arc<FileChange>>>>,
    workspaces: [OnceLock<Workspace>; 2],
    /// The folders that were built.
    targets: Vec<PathBuf>,
    /// Files that are elsewhere on the other side: by the path on either side, the path there.
    moved: OnceLock<FxHashMap<String, String>>,
    /// The changed files that targets read.
    changed: BTreeSet<String>,
}

/// A folder that is compared, and what it is made of: lines of other folders explain nothing in it.
pub(crate) struct Target {
    folder: PathBuf,
    /// The layers it is built from, on either side.
    layers: [OnceLock<BTreeSet<PathBuf>>; 2],
}

impl Target {
    pub(crate) fn new(directory: &str) -> Self {
        Self { folder: PathBuf::from(directory), layers: [OnceLock::new(), OnceLock::new()] }
    }
}

/// A file that is not the same on both sides.
struct FileChange {
    /// Its path on either side: one that was moved has two.
    names: [String; 2],
    /// Its lines on either side; `None` on a side that does not have it.
    lines: [Option<Vec<String>>; 2],
    /// The same as they may be shown.
    shown: [Vec<String>; 2],
    hunks: Vec<Hunk>,
}

impl FileChange {
    /// How many lines changed, came or went.
    fn lines_changed(&self) -> usize {
        self.hunks.iter().map(|hunk| hunk.old.len().max(hunk.new.len())).sum::<usize>().max(1)
    }
}

/// A changed line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hit {
    which: Which,
    file: String,
    /// From 0.
    line: usize,
    hunk: usize,
    column: usize,
    /// How many other lines changed with it.
    more: usize,
}

/// The histories of a field on both sides, oldest event first; empty on a side that never had it.
#[derive(Default)]
pub(crate) struct Histories {
    pub from: Vec<HistoryEntry>,
    pub to: Vec<HistoryEntry>,
    /// They are about the order of a list: of all its elements.
    pub order: bool,
}

impl Histories {
    /// Only what made something or removed it. Why a resource is on one side alone has nothing to do with what changed it
    /// in between.
    pub(crate) fn ends(&self) -> Histories {
        let ends = |history: &[HistoryEntry]| -> Vec<HistoryEntry> {
            let is_end = |entry: &&HistoryEntry| entry.before.is_none() || entry.after.is_none();
            history.iter().filter(is_end).cloned().collect()
        };
        Histories { from: ends(&self.from), to: ends(&self.to), order: self.order }
    }
}

impl<'a> Causes<'a> {
    pub(crate) fn new(
        from: &'a Side<'a>,
        to: &'a Side<'a>,
        hidden: &'a [Hidden; 2],
        targets: Vec<PathBuf>,
        changed: BTreeSet<String>,
    ) -> Self {
        let labels = [Labels::new(from.sources), Labels::new(to.sources)];
        let (files, workspaces) = (Mutex::default(), [OnceLock::new(), OnceLock::new()]);
        let moved = OnceLock::new();
        Self { sides: [from, to], labels, hidden, files, workspaces, targets, moved, changed }
    }

    /// How histories of a side are explained.
    pub(crate) fn history_options(&self, which: Which) -> HistoryOptions<'_> {
        HistoryOptions {
            labels: &self.labels[which as usize],
            hidden: &self.hidden[which as usize],
            depth: 0,
            conditions: false,
        }
    }

    /// The location of a span.
    pub(crate) fn place(&self, which: Which, span: Span) -> Option<Location> {
        let source = self.sides[which as usize].sources.get(span.file)?;
        let (from, to) = (source.position(span.start as usize), source.position(span.end as usize));
        Some(Location {
            file: source.name().to_owned(),
            line: from.line,
            column: from.column,
            end_line: to.line,
            end_column: to.column,
        })
    }

    /// Why a field of a target differs, given its history on both sides.
    pub(crate) fn of(&self, target: &Target, histories: &Histories) -> Option<Cause> {
        let precise = |which, history: &[HistoryEntry]| {
            history
                .iter()
                .rev()
                .find_map(|entry| self.precise_hit(which, entry).map(|hit| self.including(target, hit)))
        };
        let lines = match histories.order {
            // An element that a patch names, rather than anything else in the patch.
            true => (precise(Which::From, &histories.from), precise(Which::To, &histories.to)),
            false => (None, None),
        };
        let lines = match lines {
            (None, None) => {
                let latest = |which, history| self.latest(target, which, history);
                (latest(Which::From, &histories.from), latest(Which::To, &histories.to))
            }
            found => found,
        };
        let hits = match lines {
            (None, None) => {
                let included = |which, history| self.included(target, which, history);
                (included(Which::From, &histories.from), included(Which::To, &histories.to))
            }
            found => found,
        };
        match hits {
            (None, None) => None,
            (old, Some(new)) => Some(self.cause(new, old)),
            (Some(old), None) => Some(self.cause(old, None)),
        }
    }

    /// Of two folders of one tree: the lines that decide in each, the second as the cause.
    pub(crate) fn between(&self, histories: &Histories) -> Cause {
        let decides = |which: Which, history: &[HistoryEntry]| {
            let entry = history.last()?;
            let place = self.place(which, entry.place)?;
            let source = self.sides[which as usize].sources.get(entry.place.file)?;
            let line = self.hidden[which as usize].lines(&source).line(&source, place.line);
            Some((place, line.trim().to_owned()))
        };
        let from = decides(Which::From, &histories.from);
        let to = decides(Which::To, &histories.to);
        let said = |history: &[HistoryEntry]| history.last().map(|entry| entry.label.clone());
        let removed = to.is_none() && from.is_some();
        let what = match (&from, &to) {
            (None, None) => said(&histories.to).or_else(|| said(&histories.from)),
            _ => None,
        };
        let (before, after, place) = match (from, to) {
            (Some((at, line)), Some((place, after))) => {
                (Some(format!("{line} ({}:{})", at.file, at.line)), Some(after), Some(place))
            }
            (from, to) => {
                let place = to.as_ref().or(from.as_ref()).map(|(place, _)| place.clone());
                (from.map(|(_, line)| line), to.map(|(_, line)| line), place)
            }
        };
        Cause { place, removed, before, after, what, ..Cause::default() }
    }

    /// A changed file as the cause, if nothing more is known than that a target reads it.
    pub(crate) fn of_file(&self, name: &str) -> Option<Cause> {
        let file = self.file(name)?;
        let hunk = file.hunks.first()?;
        let which = if hunk.new.is_empty() { Which::From } else { Which::To };
        let line = if hunk.new.is_empty() { hunk.old.start } else { hunk.new.start };
        Some(self.cause(
            Hit { which, file: name.to_owned(), line, hunk: 0, column: 1, more: file.lines_changed() - 1 },
            None,
        ))
    }

    /// A change of a lock file as a cause: its entries now resolve to something else.
    pub(crate) fn of_lock(&self, name: &str) -> Option<Cause> {
        let file = self.file(name)?;
        let lines = file.lines[Which::To as usize].as_deref().unwrap_or_default();
        let value = |line: usize, keys: &[&str]| {
            let text = lines[line].trim_start_matches(['-', ' ']);
            keys.iter().find_map(|key| text.strip_prefix(key))
        };
        let mut moved: Vec<(&str, String)> = Vec::new();
        let mut first = None;
        for (hunk, part) in file.hunks.iter().enumerate() {
            for line in part.new.clone() {
                // The commit of an entry comes first, and says more than the hash of the content.
                let commit = value(line, &["commit: "]).map(|commit| format!("commit {commit:.12}"));
                let content = || value(line, &["content: ", "digest: "]).map(|hash| format!("{hash:.19}"));
                let Some(now) = commit.or_else(content) else { continue };
                let entry = |line| value(line, &["address: ", "name: ", "image: "]);
                let entry = (0..=line).rev().find_map(entry).unwrap_or_default();
                first.get_or_insert((hunk, line));
                if moved.last().is_none_or(|(known, _)| *known != entry) {
                    moved.push((entry, now));
                }
            }
        }
        let (hunk, line) = first?;
        let moved: Vec<String> = moved.iter().map(|(entry, now)| format!("{entry} is now {now}")).collect();
        let what = format!("remote base moved: {}", moved.join(", "));
        let hit = Hit { which: Which::To, file: name.to_owned(), line, hunk, column: 1, more: 0 };
        Some(Cause { what: Some(what), ..self.cause(hit, None) })
    }

    /// A cause, given its line and the line that decided on the first side.
    fn cause(&self, hit: Hit, old: Option<Hit>) -> Cause {
        let file = self.file(&hit.file).expect("a changed line is in a changed file");
        // A line that was replaced is shown where it is now.
        let hit = match counterpart(&file, &hit) {
            Some(line) if hit.which == Which::From => {
                Hit { which: Which::To, line, file: file.names[Which::To as usize].clone(), ..hit }
            }
            _ => hit,
        };
        let text = |which: Which, line: usize| {
            file.shown[which as usize].get(line).map(|line| line.trim().to_owned())
        };
        let own = text(hit.which, hit.line);
        let other = counterpart(&file, &hit).and_then(|line| text(other(hit.which), line));
        let lines = file.lines[hit.which as usize].as_deref().unwrap_or_default();
        let end = lines.get(hit.line).map_or(0, |line| line.chars().count()) + 1;
        let place = Some(Location {
            file: hit.file.clone(),
            line: hit.line + 1,
            column: hit.column,
            end_line: hit.line + 1,
            end_column: end.max(hit.column),
        });
        let (before, after) = match hit.which {
            Which::From => (own, other),
            Which::To => (other, own),
        };
        // What decided before may have been on another line, which is gone.
        let before = before.or_else(|| {
            let old = old.filter(|old| old.which == Which::From)?;
            let file = self.file(&old.file)?;
            let own = file.lines[1].as_ref().and_then(|lines| lines.get(hit.line));
            let is_same_key = || Some(key(file.lines[0].as_ref()?.get(old.line)?) == key(own?));
            // In the same file it is another line, unless it says the same elsewhere.
            if file.names.contains(&hit.file) && is_same_key() != Some(true) {
                return None;
            }
            let line = file.shown[0].get(old.line)?.trim();
            Some(format!("{line} ({}:{})", old.file, old.line + 1))
        });
        let removed = hit.which == Which::From;
        let last = file.lines[1].as_ref().map_or(1, |lines| lines.len().max(1));
        let line_now = removed.then(|| (file.hunks[hit.hunk].new.start + 1).min(last));
        let names_file = self.names_file(&hit, &file);
        Cause { place, removed, line_now, before, after, more: hit.more, names_file, ..Cause::default() }
    }

    /// Whether a line of a kustomization says where a file or a folder is, and nothing else.
    fn names_file(&self, hit: &Hit, file: &FileChange) -> bool {
        let path = Path::new(&hit.file);
        let is_kustomization =
            path.file_name().is_some_and(|name| KUSTOMIZATION_FILES.iter().any(|it| name == *it));
        let named = |which: Which, line: usize| {
            let path = Path::new(&file.names[which as usize]);
            let line = file.lines[which as usize].as_ref()?.get(line)?.trim().trim_start_matches("- ");
            let text = line.split_once(": ").map_or(line, |(_, text)| text).trim_matches(['"', '\'']);
            let world = self.sides[which as usize].world;
            let path = clean(&path.parent()?.join(text));
            Some(!text.is_empty() && (world.is_file(&path) || world.is_dir(&path)))
        };
        let other = counterpart(file, hit).map(|line| named(other(hit.which), line) == Some(true));
        is_kustomization && named(hit.which, hit.line) == Some(true) && other.unwrap_or(true)
    }

    /// The latest event of a history that is on a changed line.
    fn latest(&self, target: &Target, which: Which, history: &[HistoryEntry]) -> Option<Hit> {
        history.iter().rev().find_map(|entry| self.hit(target, which, entry))
    }

    fn hit(&self, target: &Target, which: Which, entry: &HistoryEntry) -> Option<Hit> {
        let asked = entry.step.as_ref().map_or(Span::NONE, |step| step.place);
        let found = self.precise_hit(which, entry);
        let found =
            found.or_else(|| entry.because.iter().find_map(|because| self.reason(target, which, because)));
        let found = found.or_else(|| self.changed(which, asked).filter(|_| entry.event != EventKind::Merged));
        found.map(|hit| self.including(target, hit))
    }

    /// The changed line that an event wrote the value from, or the entry that asked for it if only this side has it.
    fn precise_hit(&self, which: Which, entry: &HistoryEntry) -> Option<Hit> {
        let asked = entry.step.as_ref().map_or(Span::NONE, |step| step.place);
        // A step that only this side has: the entry that asks for it.
        let added = self.changed(which, first_line(asked)).filter(|hit| self.is_only_here(hit));
        let value = || self.changed(which, entry.place);
        added.or_else(value).or_else(|| self.input(which, entry))
    }

    fn reason(&self, target: &Target, which: Which, because: &Because) -> Option<Hit> {
        match because {
            Because::Followed { renames, rule, .. } => {
                self.latest(target, which, renames).or_else(|| self.changed(which, *rule))
            }
            Because::Copied { history, .. } => self.latest(target, which, history),
            Because::Through { place, .. } | Because::Also { place, .. } => self.changed(which, *place),
            Because::Hash { inputs } => inputs.iter().find_map(|input| {
                let by_file = match &input.kind {
                    InputKind::Literal => None,
                    InputKind::File(path) => self.file_line(which, input.entry, path, None),
                    InputKind::Env(path, _) => self.file_line(which, input.entry, path, Some(&input.key)),
                };
                by_file.or_else(|| self.changed(which, input.entry))
            }),
            Because::Condition { text, .. } => self.changed(which, *text),
            // The condition as a whole holds it.
            Because::Met { .. } | Because::Chart { .. } | Because::Program { .. } => None,
        }
    }

    /// A changed line of the file that a generator read for this value.
    fn input(&self, which: Which, entry: &HistoryEntry) -> Option<Hit> {
        match entry.read_from.as_ref()? {
            Site::Text(span) => self.changed(which, *span),
            Site::File(path) => self.line_of(which, path.to_string_lossy().into_owned(), |_, _| true, true),
            Site::Line(path, number) => {
                let is_it = |line: usize, _: &str| line + 1 == *number;
                self.line_of(which, path.to_string_lossy().into_owned(), is_it, false)
            }
        }
    }

    /// A changed line of a file that another one names; in an env file the line of the key, if it is known.
    fn file_line(&self, which: Which, named: Span, path: &str, key: Option<&Text>) -> Option<Hit> {
        let source = self.sides[which as usize].sources.get(named.file)?;
        let folder = Path::new(source.name()).parent().unwrap_or(Path::new(""));
        let name = clean(&folder.join(path)).to_string_lossy().into_owned();
        let of_key = |_: usize, line: &str| {
            key.is_none_or(|key| line.trim_start().strip_prefix(&**key).is_some_and(|l| l.starts_with('=')))
        };
        self.line_of(which, name, of_key, key.is_none())
    }

    /// The first changed line of a file that is one of those wanted; of a whole file also one that only the other side has.
    fn line_of(
        &self,
        which: Which,
        name: String,
        is_wanted: impl Fn(usize, &str) -> bool,
        whole: bool,
    ) -> Option<Hit> {
        let file = self.file(&name)?;
        let lines = file.lines[which as usize].as_ref()?;
        let changed =
            file.hunks.iter().enumerate().flat_map(|(hunk, part)| {
                range(part, which).map(move |line| (hunk, line)).collect::<Vec<_>>()
            });
        let first = changed.into_iter().find(|(_, line)| is_wanted(*line, &lines[*line]));
        // Lines that only the other side has leave an empty range here.
        let gap = || file.hunks.iter().position(|part| range(part, which).is_empty());
        let (which, hunk, line) = match first {
            Some((hunk, line)) => (which, hunk, line),
            None if whole => {
                let hunk = gap()?;
                (other(which), hunk, range(&file.hunks[hunk], other(which)).start)
            }
            None => return None,
        };
        let more = if whole { file.lines_changed() - 1 } else { 0 };
        let name = file.names[which as usize].clone();
        Some(Hit { which, file: name, line, hunk, column: 1, more })
    }

    /// The first changed line of a span.
    fn changed(&self, which: Which, span: Span) -> Option<Hit> {
        if span.is_none() {
            return None;
        }
        let source = self.sides[which as usize].sources.get(span.file)?;
        let file = self.file(source.name())?;
        let start = source.position(span.start as usize);
        let end = source.position((span.end.max(span.start + 1) - 1) as usize);
        let (first, last) = (start.line - 1, end.line - 1);
        file.hunks.iter().enumerate().find_map(|(hunk, part)| {
            let range = range(part, which);
            let line = range.start.max(first);
            let is_in = line <= last && line < range.end;
            let column = if line == first { start.column } else { 1 };
            is_in.then(|| Hit { which, file: source.name().to_owned(), line, hunk, column, more: 0 })
        })
    }

    /// Whether no line of the other side corresponds to a line.
    fn is_only_here(&self, hit: &Hit) -> bool {
        self.file(&hit.file).is_some_and(|file| counterpart(&file, hit).is_none())
    }

    /// What came with a new file came with the line that includes it.
    fn including(&self, target: &Target, hit: Hit) -> Hit {
        let is_new = |hit: &Hit| {
            let file = self.file(&hit.file);
            file.is_some_and(|file| file.lines[other(hit.which) as usize].is_none())
        };
        let mut hit = hit;
        let mut seen = BTreeSet::new();
        while is_new(&hit) && seen.insert(hit.file.clone()) {
            let Some(user) = self.user(target, hit.which, &hit.file) else { break };
            hit = user;
        }
        hit
    }

    /// The changed line of a target that names a file, or the layer it makes.
    fn user(&self, target: &Target, which: Which, name: &str) -> Option<Hit> {
        let path = self.sides[which as usize].world.real_path(Path::new(name)).ok()?;
        let is_layer =
            path.file_name().is_some_and(|file| KUSTOMIZATION_FILES.iter().any(|name| file == *name));
        let path = if is_layer { path.parent().unwrap_or(&path) } else { &path };
        let layers = self.layers(target, which);
        let mut users = self.workspace(which).users(path).filter(|(layer, _)| layers.contains(&layer.folder));
        users.find_map(|(_, reference)| self.changed(which, reference.span))
    }

    /// The folders of the layers that a target is built from.
    fn layers<'t>(&self, target: &'t Target, which: Which) -> &'t BTreeSet<PathBuf> {
        target.layers[which as usize].get_or_init(|| {
            let workspace = self.workspace(which);
            let folder = self.sides[which as usize].world.real_path(&target.folder).unwrap_or_default();
            let layers = workspace.layer(&folder).map(|layer| workspace.closure(layer)).unwrap_or_default();
            layers.into_iter().map(|layer| layer.folder.clone()).collect()
        })
    }

    /// A changed line that includes a layer or a file which events of a history are in.
    fn included(&self, target: &Target, which: Which, history: &[HistoryEntry]) -> Option<Hit> {
        let side = self.sides[which as usize];
        let (workspace, layers) = (self.workspace(which), self.layers(target, which));
        let mut open: Vec<PathBuf> = Vec::new();
        for entry in history.iter().rev() {
            let asked = entry.step.as_ref().map_or(Span::NONE, |step| step.place);
            for source in [entry.place, asked].into_iter().filter_map(|span| side.sources.get(span.file)) {
                open.extend(side.world.real_path(Path::new(source.name())));
            }
        }
        let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
        let mut next = 0;
        while let Some(path) = open.get(next).cloned() {
            next += 1;
            if !seen.insert(path.clone()) {
                continue;
            }
            for (layer, reference) in
                workspace.users(&path).filter(|(layer, _)| layers.contains(&layer.folder))
            {
                if let Some(hit) = self.changed(which, reference.span) {
                    return Some(hit);
                }
                open.push(layer.folder.clone());
            }
            let is_layer =
                path.file_name().is_some_and(|file| KUSTOMIZATION_FILES.iter().any(|name| file == *name));
            if is_layer && let Some(folder) = path.parent() {
                open.push(folder.to_owned());
            }
        }
        None
    }

    fn workspace(&self, which: Which) -> &Workspace {
        self.workspaces[which as usize].get_or_init(|| {
            let side = self.sides[which as usize];
            let folders = self.targets.iter().filter_map(|folder| side.world.real_path(folder).ok());
            Workspace::of(side.world, side.sources, folders.collect())
        })
    }

    /// A file that differs between the sides.
    fn file(&self, name: &str) -> Option<Arc<FileChange>> {
        let mut files = self.files.lock().expect("no one panics while holding the files");
        if let Some(known) = files.get(name) {
            return known.clone();
        }
        let names = self.names_of(name);
        let read = |which: Which| {
            let side = self.sides[which as usize];
            let path = Path::new(&names[which as usize]);
            // Only files of the repository can be a cause; a fetched base changes by the line that names it.
            let is_own = |root: &Path| side.world.real_path(path).is_ok_and(|real| real.starts_with(root));
            side.root.is_none_or(is_own).then(|| side.world.read(path).ok())?
        };
        let (old, new) = (read(Which::From), read(Which::To));
        let change = (old != new).then(|| {
            let texts = [old.map(decode_lossy), new.map(decode_lossy)];
            let shown = [0, 1].map(|side| {
                let source = Source::detached(&*names[side], texts[side].as_deref().unwrap_or_default());
                let hidden = self.hidden[side].lines_of(&names[side], source.text());
                (1..=source.text().lines().count()).map(|line| hidden.line(&source, line)).collect()
            });
            let lines = texts.map(|text| Some(text?.lines().map(str::to_owned).collect::<Vec<_>>()));
            let hunks =
                hunks(lines[0].as_deref().unwrap_or_default(), lines[1].as_deref().unwrap_or_default());
            Arc::new(FileChange { names: names.clone(), lines, shown, hunks })
        });
        names.into_iter().for_each(|name| drop(files.insert(name, change.clone())));
        change
    }

    /// The paths that a file has on both sides.
    fn names_of(&self, name: &str) -> [String; 2] {
        let moved = self.moved.get_or_init(|| self.moved());
        let is_there = |which: Which| self.sides[which as usize].world.is_file(Path::new(name));
        match moved.get(name) {
            Some(other) if is_there(Which::To) => [other.clone(), name.to_owned()],
            Some(other) => [name.to_owned(), other.clone()],
            None => [name.to_owned(), name.to_owned()],
        }
    }

    /// Files that only the first side has, and that the second has elsewhere.
    fn moved(&self) -> FxHashMap<String, String> {
        let read = |which: Which, name: &str| self.sides[which as usize].world.read(Path::new(name)).ok();
        let is_there = |which: Which, name: &str| self.sides[which as usize].world.is_file(Path::new(name));
        let only = |which: Which| -> Vec<(&str, String)> {
            let names = self.changed.iter().map(String::as_str);
            let names = names.filter(|name| is_there(which, name) && !is_there(other(which), name));
            names.filter_map(|name| Some((name, decode_lossy(read(which, name)?)))).collect()
        };
        let (gone, new) = (only(Which::From), only(Which::To));
        let pairs = moved::pairs(&gone, &new).into_iter().map(|(x, y)| (gone[x].0, new[y].0));
        let both = pairs.flat_map(|(old, new)| [(old, new), (new, old)]);
        both.map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
    }
}

fn other(which: Which) -> Which {
    match which {
        Which::From => Which::To,
        Which::To => Which::From,
    }
}

fn range(hunk: &Hunk, which: Which) -> std::ops::Range<usize> {
    match which {
        Which::From => hunk.old.clone(),
        Which::To => hunk.new.clone(),
    }
}

/// The start of a span: the first line of an entry over several lines.
fn first_line(span: Span) -> Span {
    Span { end: span.start, ..span }
}

/// The line on the other side that a changed line replaces.
fn counterpart(file: &FileChange, hit: &Hit) -> Option<usize> {
    let hunk = &file.hunks[hit.hunk];
    let (own, others) = (range(hunk, hit.which), range(hunk, other(hit.which)));
    let text =
        |which: Which, line: usize| file.lines[which as usize].as_ref().map(|lines| lines[line].as_str());
    let wanted = text(hit.which, hit.line)?;
    let same_key = |line: &usize| text(other(hit.which), *line).is_some_and(|line| key(line) == key(wanted));
    let at_same_place = || (own.len() == others.len()).then(|| others.start + (hit.line - own.start));
    let in_place = at_same_place().filter(same_key);
    // A variable does not take the place of another one.
    let is_other = |line: &usize| {
        let is_variable = |line: &str| line.find([':', '=']).is_some_and(|at| line[at..].starts_with('='));
        let there = text(other(hit.which), *line).map(|line| line.trim_start().trim_start_matches("- "));
        is_variable(wanted.trim_start().trim_start_matches("- ")) && there.is_some_and(is_variable)
    };
    let replaced = || at_same_place().filter(|line| !is_other(line));
    in_place.or_else(|| others.clone().find(same_key)).or_else(replaced)
}

/// What a line is about: the key of an entry, the name of a variable.
fn key(line: &str) -> &str {
    let line = line.trim_start().trim_start_matches("- ");
    line.split([':', '=']).next().unwrap_or(line)
}
