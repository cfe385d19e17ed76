//! Diagnostics as an editor shows them: by file, each once, with the texts their spans are in.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Diagnostic, Failure, FileId, Fix, Severity, Source, Sources, Span, decode_lossy};
use rustc_hash::FxHashMap;

use super::buffers::Buffers;
use crate::files::world::World;

/// A piece of a file.
#[derive(Clone, Debug)]
pub struct FileSpan {
    /// The real path.
    pub path: PathBuf,
    /// The text that `span` points into.
    pub source: Arc<Source>,
    /// The piece.
    pub span: Span,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It makes a build or a check fail.
    Error,
    /// Nothing fails, but something is probably wrong.
    Warning,
    /// Nothing is wrong; an editor cannot know more.
    Information,
}

/// A message about a location.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Problem {
    /// Where it is; the start of the file if nothing better is known.
    pub place: FileSpan,
    /// How bad it is.
    pub level: Level,
    /// The code of the diagnostic, such as `replicas-no-match`.
    pub code: &'static str,
    /// What kind of failure it is, if programs should know: see [`Diagnostic::failure`].
    pub failure: Option<Failure>,
    /// What is wrong; advice follows on lines of its own.
    pub message: String,
    /// Further facts and where they are.
    pub notes: Vec<(String, FileSpan)>,
    /// Ways to settle it, each by itself.
    pub fixes: Vec<Repair>,
}

/// A fix: what to write where.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Repair {
    /// What it does, in a few words.
    pub message: String,
    /// It leaves the outcome of every build as it is.
    pub is_safe: bool,
    /// Each piece and the text that replaces it.
    pub edits: Vec<(FileSpan, String)>,
}

/// Whether a diagnostic is about something that is not run or fetched for an editor.
pub(super) fn is_not_here(diagnostic: &Diagnostic) -> bool {
    matches!(diagnostic.failure(), Some(Failure::NotEnabled | Failure::Offline))
}

/// Makes problems of diagnostics.
pub(super) struct Reporter<'a> {
    world: &'a Buffers,
    sources: &'a Sources,
    problems: BTreeMap<PathBuf, Vec<Problem>>,
    /// Where texts are kept: many problems may be in one.
    paths: RefCell<FxHashMap<FileId, Option<PathBuf>>>,
}

impl<'a> Reporter<'a> {
    pub(crate) fn new(world: &'a Buffers, sources: &'a Sources) -> Self {
        Self { world, sources, problems: BTreeMap::new(), paths: RefCell::default() }
    }

    /// Takes in a diagnostic and those joined to it. `file` is where one without a span is shown; `target` is the layer that
    /// was built.
    pub(crate) fn add(&mut self, diagnostic: &Diagnostic, file: &Path, target: Option<&str>) {
        self.add_one(diagnostic, file, target);
        diagnostic.others().iter().for_each(|other| self.add(other, file, target));
    }

    fn add_one(&mut self, diagnostic: &Diagnostic, file: &Path, target: Option<&str>) {
        let Some(place) = self.place(diagnostic.place()).or_else(|| self.start_of(file)) else { return };
        let not_here = is_not_here(diagnostic);
        let level = match diagnostic.severity() {
            _ if not_here => Level::Information,
            Severity::Error => Level::Error,
            Severity::Warning => Level::Warning,
        };
        let mut message = diagnostic.message().to_owned();
        match not_here {
            true => message.push_str("\nAn editor runs no programs and fetches nothing: `krm build` does."),
            false => diagnostic.advice().iter().for_each(|help| message.push_str(&format!("\nhelp: {help}"))),
        }
        let mut notes: Vec<(String, FileSpan)> = Vec::new();
        for note in diagnostic.notes() {
            match self.place(note.place) {
                Some(place) => notes.push((note.message.clone(), place)),
                None => message.push_str(&format!("\nnote: {}", note.message)),
            }
        }
        if let Some(target) = target
            && file != place.path
            && let Some(start) = self.start_of(file)
        {
            notes.push((format!("in the build of `{target}`"), start));
        }
        let mut fixes: Vec<Repair> = diagnostic.fixes().iter().filter_map(|fix| self.repair(fix)).collect();
        if fixes.is_empty() {
            fixes.extend(diagnostic.advice().iter().filter_map(|advice| as_advised(&place, advice)));
        }
        let code = diagnostic.code();
        let of_file = self.problems.entry(place.path.clone()).or_default();
        let is_same = |other: &&mut Problem| {
            other.place.span.range() == place.span.range() && other.code == code && other.message == message
        };
        if let Some(known) = of_file.iter_mut().find(is_same) {
            // A base that many overlays include is wrong once. A few of them say enough.
            for (text, place) in notes {
                let is_known = |(known, at): &(String, FileSpan)| {
                    *known == text && at.path == place.path && at.span.range() == place.span.range()
                };
                if known.notes.len() < MOST_NOTES && !known.notes.iter().any(is_known) {
                    known.notes.push((text, place));
                }
            }
            return;
        }
        let failure = diagnostic.failure();
        of_file.push(Problem { place, level, code, failure, message, notes, fixes });
    }

    fn repair(&self, fix: &Fix) -> Option<Repair> {
        let edits = fix.edits().iter().map(|edit| Some((self.place(edit.span)?, edit.text.clone())));
        let edits = edits.collect::<Option<Vec<_>>>()?;
        Some(Repair { message: fix.message().to_owned(), is_safe: fix.is_safe(), edits })
    }

    /// Where a span is. Texts that are not files of this machine have no place.
    pub(crate) fn place(&self, span: Span) -> Option<FileSpan> {
        let source = self.sources.get(span.file)?;
        let find = || {
            let path = self.world.real_path(Path::new(source.name())).ok();
            path.filter(|path| self.world.is_file(path))
        };
        let path = self.paths.borrow_mut().entry(span.file).or_insert_with(find).clone()?;
        Some(FileSpan { path, source, span })
    }

    fn start_of(&self, file: &Path) -> Option<FileSpan> {
        let text = decode_lossy(self.world.read(file).ok()?);
        let source = Source::detached("", text);
        let span = source.span(0, 0);
        Some(FileSpan { path: file.to_owned(), source, span })
    }

    /// The problems by file, in the order of the text.
    pub(crate) fn finish(mut self) -> BTreeMap<PathBuf, Vec<Problem>> {
        for all in self.problems.values_mut() {
            all.sort_by(|a, b| key(a).cmp(&key(b)));
            all.iter_mut().for_each(|problem| problem.notes.sort_by(|a, b| note_key(a).cmp(&note_key(b))));
        }
        self.problems
    }
}

/// What `did you mean` says, done, if it is about the very word that is marked.
fn as_advised(place: &FileSpan, advice: &str) -> Option<Repair> {
    let meant = advice.strip_prefix("did you mean `")?.split('`').next()?;
    let written = place.source.slice(place.span);
    let is_quoted = written.len() > 1 && written.starts_with(['"', '\'']);
    let quotes = u32::from(is_quoted);
    let span = Span { start: place.span.start + quotes, end: place.span.end - quotes, ..place.span };
    // Near enough to be a slip of the hand, so that nothing else is replaced.
    let is_word = krm_yaml::nearest(place.source.slice(span), [meant]).is_some();
    let fits_plain = is_quoted || !meant.contains([':', '#', ' ', '\'', '"']);
    (is_word && fits_plain).then(|| Repair {
        message: format!("Write `{meant}`"),
        is_safe: false,
        edits: vec![(FileSpan { span, ..place.clone() }, meant.to_owned())],
    })
}

/// Adds problems of a file to others of it that were found in another way; each stays once.
pub(super) fn merge(all: &mut Vec<Problem>, more: &[Problem]) {
    for problem in more {
        let same = |other: &Problem| {
            let (a, b) = (&problem.place.span, &other.place.span);
            a.range() == b.range() && problem.code == other.code && problem.message == other.message
        };
        if !all.iter().any(same) {
            all.push(problem.clone());
        }
    }
    all.sort_by(|a, b| key(a).cmp(&key(b)));
}

/// The most places to name beside a problem.
const MOST_NOTES: usize = 10;

fn key(problem: &Problem) -> (u32, u32, Level, &str, &str) {
    let span = problem.place.span;
    (span.start, span.end, problem.level, problem.code, &problem.message)
}

fn note_key((text, place): &(String, FileSpan)) -> (&Path, u32, &str) {
    (&place.path, place.span.start, text)
}
