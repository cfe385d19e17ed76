//! What went wrong, where, and what to do about it.
//!
//! A [`Diagnostic`] is data: it is made where a fault is found and rendered only when it is shown. It lives at the bottom
//! of the stack because a syntax error is the first thing that can go wrong.

mod fix;
mod location;
mod render;
pub mod sanitize;

use std::fmt;

use crate::source::{Sources, Span};

pub use fix::{Edit, EditError, Fix, apply_edits};
pub use location::Location;
pub use render::Part;

/// What most functions of this crate return.
pub type Result<T, E = Diagnostic> = std::result::Result<T, E>;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The result may be used, but is perhaps not what was meant.
    Warning,
    /// There is no result.
    Error,
}

/// What went wrong, for code that goes on differently after some failures. Codes are for people and their scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Failure {
    /// A map has the same key twice.
    DuplicateKey,
    /// A typed value has no such field.
    UnknownField,
    /// A path leads nowhere.
    NoSuchPath,
    /// A list has no element of that index.
    NoSuchIndex,
    /// What an address names could not be fetched.
    NotFetched,
    /// A program that is needed cannot be started.
    NoSuchProgram,
    /// A program put something where it may not be.
    BadLocation,
    /// There was more to do than is allowed.
    TooMuch,
    /// Something lacks a field it must have.
    Incomplete,
    /// Something else is where a resource should be.
    NotAResource,
    /// A selection matches nothing.
    NoMatch,
    /// A value has a part that belongs to another field.
    Misplaced,
    /// A field is deprecated.
    Deprecated,
    /// A text has no effect, and could as well be removed.
    Unnecessary,
    /// A text has conflicts that a merge left.
    InConflict,
    /// A text is not what its format wants.
    Malformed,
    /// An address would have to be fetched, which is not allowed now.
    Offline,
    /// Something needs a permission that was not given.
    NotEnabled,
    /// A program asks for a variable that it is not given.
    NoVariable,
    /// A program was started and failed.
    ProgramFailed,
    /// The command line asks for something that makes no sense, whatever the input.
    CommandLine,
}

impl Failure {
    /// Whether this says nothing about the input: what it needs is missing, fails or is not allowed on this machine.
    pub fn is_of_the_machine(self) -> bool {
        use Failure::*;
        matches!(self, NotFetched | NoSuchProgram | Offline | NotEnabled | NoVariable | ProgramFailed)
    }
}

/// An error or a warning, with its location and advice.
///
/// ```
/// use krm_yaml::{Diagnostic, Span};
/// let d = Diagnostic::error("replicas-no-match", "no workload is named `wbe`")
///     .at(Span::NONE)
///     .help("use the name as written in the base");
/// assert_eq!(d.to_string(), "no workload is named `wbe`");
/// ```
#[derive(Clone)]
pub struct Diagnostic(Box<Inner>);

#[derive(Clone)]
struct Inner {
    severity: Severity,
    code: &'static str,
    failure: Option<Failure>,
    message: String,
    place: Span,
    location: Option<Location>,
    notes: Vec<Note>,
    help: Vec<String>,
    fixes: Vec<Fix>,
    others: Vec<Diagnostic>,
}

/// A further fact that belongs to a diagnostic, with a span if it has one.
#[derive(Debug, Clone)]
pub struct Note {
    /// What it says.
    pub message: String,
    /// Where it belongs; [`Span::NONE`] if nowhere.
    pub place: Span,
    location: Option<Location>,
    kind: NoteKind,
}

/// What a note is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NoteKind {
    Fact,
    Inclusion,
    Quote,
}

impl Note {
    /// Whether it names the place a file is included from: see [`Diagnostic::included`].
    pub fn is_inclusion(&self) -> bool {
        self.kind == NoteKind::Inclusion
    }

    /// Whether it quotes what a program printed: see [`Diagnostic::quote`].
    pub fn is_quote(&self) -> bool {
        self.kind == NoteKind::Quote
    }

    /// Where the span is, once [`Diagnostic::located`] has looked it up.
    pub fn location(&self) -> Option<&Location> {
        self.location.as_ref()
    }
}

impl Diagnostic {
    /// An error. The code names this kind of error; people search for it.
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message.into())
    }

    /// A warning, with a code of its own.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message.into())
    }

    fn new(severity: Severity, code: &'static str, message: String) -> Self {
        let (notes, help, fixes, others) = Default::default();
        let (place, location, failure) = (Span::NONE, None, None);
        Self(Box::new(Inner {
            severity,
            code,
            failure,
            message,
            place,
            location,
            notes,
            help,
            fixes,
            others,
        }))
    }

    /// Says what went wrong, for code that asks for it.
    pub fn failing(mut self, failure: Failure) -> Self {
        self.0.failure = Some(failure);
        self
    }

    /// What went wrong, if code may go on differently for it.
    pub fn failure(&self) -> Option<Failure> {
        self.0.failure
    }

    /// Says where. The innermost span wins: on a diagnostic that has one this changes nothing, so callers may always
    /// add theirs.
    pub fn at(mut self, place: Span) -> Self {
        if self.0.place.is_none() {
            self.0.place = place;
        }
        self
    }

    /// Says which file it is about, if it is about all of it. On a diagnostic with a span this changes nothing.
    pub fn in_file(mut self, name: &str) -> Self {
        if self.0.place.is_none() {
            self.0.location = Some(Location::whole(name));
        }
        self
    }

    /// Adds a fact and its span (`Span::NONE` if it has none).
    pub fn note(mut self, message: impl Into<String>, place: Span) -> Self {
        self.0.notes.push(Note { message: message.into(), place, location: None, kind: NoteKind::Fact });
        self
    }

    /// Adds what a program printed before it failed. Those who have shown that already can leave it out.
    pub fn quote(mut self, message: impl Into<String>) -> Self {
        let (message, place) = (message.into(), Span::NONE);
        self.0.notes.push(Note { message, place, location: None, kind: NoteKind::Quote });
        self
    }

    /// Adds the notes of another diagnostic, which this one replaces.
    pub fn notes_of(mut self, other: &Diagnostic) -> Self {
        self.0.notes.extend(other.notes().iter().cloned());
        self
    }

    /// The same without some of its notes.
    pub fn without_notes(mut self, drop: impl Fn(&Note) -> bool) -> Self {
        self.0.notes.retain(|note| !drop(note));
        self
    }

    /// Adds, to this and to those joined to it, who named the file that has the fault.
    pub fn included(mut self, place: Span) -> Self {
        if self.0.place != place && !place.is_none() {
            let message = "included here".into();
            self.0.notes.push(Note { message, place, location: None, kind: NoteKind::Inclusion });
        }
        self.0.others = std::mem::take(&mut self.0.others).into_iter().map(|d| d.included(place)).collect();
        self
    }

    /// Adds advice.
    pub fn help(mut self, advice: impl Into<String>) -> Self {
        self.0.help.push(advice.into());
        self
    }

    /// The same without the advice given so far, for a caller who has better.
    pub fn without_help(mut self) -> Self {
        self.0.help.clear();
        self
    }

    /// Adds a way to settle it that a program can apply. `help` says the same to people.
    pub fn fix(mut self, fix: Fix) -> Self {
        self.0.fixes.push(fix);
        self
    }

    /// Looks up where its spans are, and those of what is joined to it, so that it can be shown when the texts are gone.
    pub fn located(mut self, sources: &Sources) -> Self {
        let inner = &mut *self.0;
        if inner.location.is_none() {
            inner.location = Location::of(inner.place, sources);
        }
        for note in inner.notes.iter_mut().filter(|note| note.location.is_none()) {
            note.location = Location::of(note.place, sources);
        }
        inner.others = std::mem::take(&mut inner.others).into_iter().map(|d| d.located(sources)).collect();
        self
    }

    /// Adds another diagnostic found in the same run, to be shown after this one.
    pub fn and(mut self, other: Diagnostic) -> Self {
        self.0.others.push(other);
        self
    }

    /// Makes one diagnostic of many; `None` if there are none.
    pub fn join(all: impl IntoIterator<Item = Diagnostic>) -> Option<Self> {
        let mut all = all.into_iter();
        let first = all.next()?;
        Some(all.fold(first, Diagnostic::and))
    }

    /// Moves every span, as when a text turns out to be part of another.
    pub fn relocate(mut self, find: &dyn Fn(Span) -> Span) -> Self {
        if !self.0.place.is_none() {
            (self.0.place, self.0.location) = (find(self.0.place), None);
        }
        self.0.notes.iter_mut().for_each(|note| (note.place, note.location) = (find(note.place), None));
        self.0.fixes.iter_mut().for_each(|fix| fix.relocate(find));
        self.0.others = self.0.others.into_iter().map(|other| other.relocate(find)).collect();
        self
    }

    /// The same as an error: what strict mode does to a warning.
    pub fn into_error(mut self) -> Self {
        self.0.severity = Severity::Error;
        self
    }

    /// The same as a warning: what settings may make of an error.
    pub fn into_warning(mut self) -> Self {
        self.0.severity = Severity::Warning;
        self
    }

    /// How bad it is.
    pub fn severity(&self) -> Severity {
        self.0.severity
    }

    /// The name of this kind of error: for people and their scripts; code asks for the [failure](Diagnostic::failure).
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Where it is wrong; [`Span::NONE`] if that is not known.
    pub fn place(&self) -> Span {
        self.0.place
    }

    /// Where the span is, once [`Diagnostic::located`] has looked it up.
    pub fn location(&self) -> Option<&Location> {
        self.0.location.as_ref()
    }

    /// Further facts.
    pub fn notes(&self) -> &[Note] {
        &self.0.notes
    }

    /// What to do about it.
    pub fn advice(&self) -> &[String] {
        &self.0.help
    }

    /// Ways to settle it that a program can apply.
    pub fn fixes(&self) -> &[Fix] {
        &self.0.fixes
    }

    /// The same without those joined to it.
    pub fn alone(&self) -> Self {
        let mut inner = self.0.clone();
        inner.others.clear();
        Self(inner)
    }

    /// The diagnostics joined to this one.
    pub fn others(&self) -> &[Diagnostic] {
        &self.0.others
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {} at {:?}", self.0.code, self.0.message, self.0.place)?;
        self.0.help.iter().try_for_each(|h| write!(f, " (help: {h})"))
    }
}

impl std::error::Error for Diagnostic {}
