//! Diagnostics on standard error: as text for people, or in the formats of programs. [`krm_yaml::Diagnostic::render`] says
//! how the text looks; this module adds colour and everything else.

mod ci;
pub mod colour;
pub mod columns;
mod links;
mod repeated;
mod sarif;
mod spinner;
mod summary;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ValueEnum;
use krm_engine::{Diagnostic, Node, Sources};
use krm_yaml::Severity;

use crate::os;

pub use ci::{data as annotation_data, property as annotation_property};
pub use colour::{ColorChoice, Colours};
pub use krm_yaml::sanitize;
pub use links::{show, show_linked};
pub use spinner::Spinner;
pub use summary::{counted, names};

/// How diagnostics are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ErrorFormat {
    /// For people: the location, the line and advice
    #[default]
    Text,
    /// For programs: one JSON object per line
    Json,
    /// For GitHub Actions: one workflow command per line, shown beside the lines of a pull request
    Github,
    /// For GitLab: a Code Quality report
    Gitlab,
    /// For code scanning: a SARIF 2.1.0 log
    Sarif,
    /// For test reports: JUnit XML
    Junit,
}

impl ErrorFormat {
    /// Whether the output is one document, written when the command ends.
    pub fn is_document(self) -> bool {
        matches!(self, ErrorFormat::Gitlab | ErrorFormat::Sarif | ErrorFormat::Junit)
    }
}

/// Shows diagnostics on standard error.
pub struct Report {
    /// The texts of this run: what spans point into.
    pub sources: Sources,
    pub colours: Colours,
    format: ErrorFormat,
    /// What was found, for formats that are one document.
    found: Mutex<Vec<Diagnostic>>,
}

/// Whether programs read standard error, so that nothing may be written there but diagnostics in their format.
static FOR_PROGRAMS: AtomicBool = AtomicBool::new(false);

/// Writes a text to standard error, for people.
pub fn say(text: &str) {
    if !is_for_programs() {
        os::say(&sanitize::shown(text));
    }
}

/// Whether programs read standard error.
pub fn is_for_programs() -> bool {
    FOR_PROGRAMS.load(Ordering::Relaxed)
}

/// Turns a panic into words: it is our fault, and here is what to send us.
pub fn own_up_to_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map(|at| format!(" ({at})")).unwrap_or_default();
        os::say(&format!(
            "krm has a bug: {}{place}\nYour input is not at fault. Please report this with the command you ran and its \
             input.\n",
            sanitize::shown(message)
        ));
    }));
}

/// No texts yet. Lines of those to come are shown without the values of Secrets.
pub fn sources() -> Sources {
    let sources = Sources::new();
    sources.hide(krm_engine::explain::secrets_in);
    sources
}

impl Report {
    pub fn new(format: ErrorFormat, color: ColorChoice) -> Self {
        FOR_PROGRAMS.store(format != ErrorFormat::Text, Ordering::Relaxed);
        let (sources, found) = (sources(), Default::default());
        Self { sources, colours: Colours::new(color), format, found }
    }

    pub fn format(&self) -> ErrorFormat {
        self.format
    }

    /// Shows a diagnostic and those joined to it.
    pub fn show(&self, diagnostic: &Diagnostic) {
        if self.format.is_document() {
            let located = diagnostic.clone().located(&self.sources);
            return self.found.lock().expect("no one panics while holding the list").push(located);
        }
        os::say(&match self.format {
            ErrorFormat::Text => self.text(diagnostic),
            ErrorFormat::Github => ci::github(&all(&diagnostic.clone().located(&self.sources))),
            _ => {
                let line = |d: &&Diagnostic| krm_yaml::json::compact(&d.to_node(&self.sources)) + "\n";
                all(&diagnostic.clone().located(&self.sources)).iter().map(line).collect()
            }
        });
    }

    /// Makes one diagnostic of the errors of several targets. One that many targets have is shown once, except to programs
    /// that read each for itself.
    pub fn joined<'t>(&self, errors: impl IntoIterator<Item = (&'t str, Diagnostic)>) -> Option<Diagnostic> {
        if self.format == ErrorFormat::Json {
            return Diagnostic::join(errors.into_iter().map(|(_, error)| error));
        }
        let located = errors.into_iter().map(|(target, error)| (target, error.located(&self.sources)));
        Diagnostic::join(repeated::once_each(located))
    }

    /// Ends the report: writes the document, if the format is one.
    pub fn finish(&self) {
        let found = std::mem::take(&mut *self.found.lock().expect("no one panics while holding the list"));
        let found: Vec<&Diagnostic> = found.iter().flat_map(all).collect();
        match self.format {
            ErrorFormat::Text | ErrorFormat::Json | ErrorFormat::Github => {}
            ErrorFormat::Gitlab => os::say(&(krm_yaml::json::pretty(&ci::gitlab(&found)) + "\n")),
            ErrorFormat::Sarif => {
                os::say(&(krm_yaml::json::pretty(&sarif::log(&found, &self.sources)) + "\n"));
            }
            ErrorFormat::Junit => os::say(&ci::junit(&found)),
        }
    }

    /// Says what was done: a line for people, or an object for programs.
    pub fn tell(&self, (text, object): &(String, Node)) {
        match self.format {
            ErrorFormat::Json => os::say(&(krm_yaml::json::compact(object) + "\n")),
            _ => say(&format!("{text}\n")),
        }
    }

    fn text(&self, diagnostic: &Diagnostic) -> String {
        match self.colours.on_stderr() {
            true => diagnostic.render_with(&self.sources, &|part, text| colour::paint_part(part, text)),
            false => diagnostic.render(&self.sources),
        }
    }
}

/// A diagnostic and those joined to it.
fn all(diagnostic: &Diagnostic) -> Vec<&Diagnostic> {
    let mut found = vec![diagnostic];
    found.extend(diagnostic.others().iter().flat_map(all));
    found
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// The message with its notes and advice, for formats that have one field for all of it.
fn details(diagnostic: &Diagnostic) -> String {
    let mut text = sanitize::shown(diagnostic.message().trim_end());
    for note in diagnostic.notes() {
        text += &format!("\nnote: {}", sanitize::shown(&note.message));
        if let Some(location) = note.location() {
            text += &format!(" ({})", sanitize::shown(&location.to_string()));
        }
    }
    for advice in diagnostic.advice() {
        text += &format!("\nhelp: {}", sanitize::shown(advice));
    }
    sanitize::beginning(&text).into_owned()
}
