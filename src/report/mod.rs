//! Diagnostics, given a look: text for people, JSON for programs. The only place errors get one.

pub mod sanitize;

use std::fmt::Write as _;
use std::io::IsTerminal;

use krm_engine::{Diagnostic, Node, Sources, Span};
use krm_yaml::Severity;

use crate::cli::ErrorFormat;

/// Shows diagnostics on standard error.
pub struct Report {
    /// The texts of this run: what places point into.
    pub sources: Sources,
    format: ErrorFormat,
    colour: bool,
}

/// Writes a text to standard error, for people.
pub fn say(text: &str) {
    crate::os::say(&shown(text));
}

/// Turns a panic into words: it is our fault, and here is what to send us.
pub fn own_up_to_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map(|at| format!(" ({at})")).unwrap_or_default();
        eprintln!("krm has a bug: {message}{place}");
        eprintln!("Your input is not at fault. Please report this with the command you ran and its input.");
    }));
}

impl Report {
    pub fn new(format: ErrorFormat) -> Self {
        let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self { sources: Sources::new(), format, colour }
    }

    /// Shows a diagnostic and those joined to it.
    pub fn show(&self, diagnostic: &Diagnostic) {
        let mut text = String::new();
        self.write(diagnostic, &mut text);
        crate::os::say(&text);
    }

    /// Says what was done: a line for people, or an object for programs.
    pub fn tell(&self, (text, object): &(String, Node)) {
        let line = match self.format {
            ErrorFormat::Text => shown(text),
            ErrorFormat::Json => krm_yaml::json::compact(object),
        };
        crate::os::say(&format!("{line}\n"));
    }

    fn write(&self, diagnostic: &Diagnostic, out: &mut String) {
        match self.format {
            ErrorFormat::Text => self.text(diagnostic, out),
            ErrorFormat::Json => {
                out.push_str(&krm_yaml::json::compact(&self.json(diagnostic)));
                out.push('\n');
            }
        }
        diagnostic.others().iter().for_each(|other| self.write(other, out));
    }

    fn text(&self, diagnostic: &Diagnostic, out: &mut String) {
        let (word, colour) = match diagnostic.severity() {
            Severity::Error => ("error", Colour::Red),
            Severity::Warning => ("warning", Colour::Yellow),
        };
        let head = format!("{word}[{}]", diagnostic.code());
        let message = shown(diagnostic.message().trim_end());
        let message = sanitize::beginning(&message);
        line(out, format_args!("{}: {}", self.paint(colour, &head), self.paint(Colour::Bold, &message)));
        self.snippet(diagnostic.place(), colour, out);
        for note in diagnostic.notes() {
            line(out, format_args!("{}: {}", self.paint(Colour::Cyan, "note"), shown(&note.message)));
            self.snippet(note.place, Colour::Cyan, out);
        }
        for advice in diagnostic.advice() {
            let advice = shown(advice);
            let advice = sanitize::beginning(&advice);
            line(out, format_args!("{}: {advice}", self.paint(Colour::Green, "help")));
        }
    }

    /// The place, its line, and a caret under it.
    fn snippet(&self, place: Span, colour: Colour, out: &mut String) {
        let Some(source) = self.sources.get(place.file) else { return };
        let from = source.position(place.start as usize);
        let arrow = self.paint(Colour::Blue, "-->");
        line(out, format_args!(" {arrow} {}:{}:{}", shown(source.name()), from.line, from.column));
        let text = source.line(from.line);
        if text.is_empty() {
            return;
        }
        let number = from.line.to_string();
        let margin = " ".repeat(number.len());
        let bar = self.paint(Colour::Blue, "|");
        // Under the first line of the span: a span may go on over many.
        let until = match source.position(place.end as usize) {
            to if to.line == from.line => to.column,
            _ => text.trim_end().chars().count() + 1,
        };
        let text = shown(text);
        let (text, column) = sanitize::window(&text, from.column);
        let room = text.chars().count().saturating_sub(column - 1);
        let carets = "^".repeat(until.saturating_sub(from.column).min(room).max(1));
        // Tabs stay tabs, so that the caret stands under its text however wide they are shown.
        let indent: String =
            text.chars().take(column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        line(out, format_args!("{margin} {bar}"));
        line(out, format_args!("{} {bar} {text}", self.paint(Colour::Blue, &number)));
        line(out, format_args!("{margin} {bar} {indent}{}", self.paint(colour, &carets)));
    }

    fn json(&self, diagnostic: &Diagnostic) -> Node {
        let mut object = Node::map();
        let severity = match diagnostic.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        object.set("severity", severity);
        object.set("code", diagnostic.code());
        object.set("message", &*sanitize::without_passwords(diagnostic.message()));
        if let Some(place) = self.place(diagnostic.place()) {
            object.set("place", place);
        }
        if !diagnostic.notes().is_empty() {
            let notes: Vec<Node> = diagnostic
                .notes()
                .iter()
                .map(|note| {
                    let mut object = Node::map();
                    object.set("message", &*sanitize::without_passwords(&note.message));
                    if let Some(place) = self.place(note.place) {
                        object.set("place", place);
                    }
                    object
                })
                .collect();
            object.set("notes", notes);
        }
        if !diagnostic.advice().is_empty() {
            let help: Vec<Node> = diagnostic
                .advice()
                .iter()
                .map(|advice| Node::from(&*sanitize::without_passwords(advice)))
                .collect();
            object.set("help", help);
        }
        object
    }

    fn place(&self, span: Span) -> Option<Node> {
        let source = self.sources.get(span.file)?;
        let (from, to) = (source.position(span.start as usize), source.position(span.end as usize));
        let mut place = Node::map();
        place.set("file", &*sanitize::without_passwords(source.name()));
        for (key, number) in
            [("line", from.line), ("column", from.column), ("endLine", to.line), ("endColumn", to.column)]
        {
            place.set(key, number as i64);
        }
        Some(place)
    }

    fn paint(&self, colour: Colour, text: &str) -> String {
        match self.colour {
            true => format!("\x1b[{}m{text}\x1b[0m", colour as u8),
            false => text.to_owned(),
        }
    }
}

/// A text as a person may see it.
fn shown(text: &str) -> String {
    sanitize::inert(&sanitize::without_passwords(text)).into_owned()
}

/// Numbers of the terminal's own colours.
#[derive(Clone, Copy)]
enum Colour {
    Bold = 1,
    Red = 31,
    Green = 32,
    Yellow = 33,
    Blue = 34,
    Cyan = 36,
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("memory can always be written to");
    out.push('\n');
}
