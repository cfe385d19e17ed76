//! A diagnostic as text. Only this module decides how one looks; colours are the caller's.

use std::fmt::Write;

use super::location::{Lines, Location};
use super::{Diagnostic, Severity, sanitize};
use crate::source::{Sources, Span};

/// What a piece of the text is, for those who colour it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The word and code of an error, and the carets under it.
    Error,
    /// The same of a warning.
    Warning,
    /// What is wrong, or what a note says.
    Message,
    /// The word `note`, and the carets under it.
    Note,
    /// The word `help`.
    Help,
    /// Arrows, bars and line numbers.
    Frame,
}

impl Diagnostic {
    /// The diagnostic and those joined to it as text: what is wrong, where, the line with carets under it, notes and
    /// advice. Passwords in addresses are hidden, and so is what a terminal would obey.
    ///
    /// ```
    /// use krm_yaml::{Diagnostic, Sources};
    /// let sources = Sources::new();
    /// let source = sources.add("a.yaml", "- name: wbe\n");
    /// let error = Diagnostic::error("replicas-no-match", "no workload is named `wbe`").at(source.span(8, 11));
    /// assert_eq!(
    ///     error.render(&sources),
    ///     "error[replicas-no-match]: no workload is named `wbe`
    ///  --> a.yaml:1:9
    ///   |
    /// 1 | - name: wbe
    ///   |         ^^^
    /// "
    /// );
    /// ```
    pub fn render(&self, sources: &Sources) -> String {
        self.render_with(sources, &|_, text| text.to_owned())
    }

    /// The same, with every piece as `paint` returns it.
    pub fn render_with(&self, sources: &Sources, paint: &dyn Fn(Part, &str) -> String) -> String {
        let mut renderer = Renderer { sources, paint, out: String::new() };
        renderer.diagnostic(self);
        renderer.out
    }
}

struct Renderer<'r> {
    sources: &'r Sources,
    paint: &'r dyn Fn(Part, &str) -> String,
    out: String,
}

impl Renderer<'_> {
    fn diagnostic(&mut self, diagnostic: &Diagnostic) {
        let (word, part) = match diagnostic.severity() {
            Severity::Error => ("error", Part::Error),
            Severity::Warning => ("warning", Part::Warning),
        };
        let message = sanitize::shown(diagnostic.message().trim_end());
        let head = (self.paint)(part, &format!("{word}[{}]", diagnostic.code()));
        let message = (self.paint)(Part::Message, &sanitize::beginning(&message));
        self.line(format_args!("{head}: {message}"));
        self.excerpt(diagnostic.location(), diagnostic.place(), part);
        for note in diagnostic.notes() {
            let word = (self.paint)(Part::Note, "note");
            self.line(format_args!("{word}: {}", sanitize::shown(&note.message)));
            self.excerpt(note.location(), note.place, Part::Note);
        }
        for advice in diagnostic.advice() {
            let word = (self.paint)(Part::Help, "help");
            let advice = sanitize::shown(advice);
            self.line(format_args!("{word}: {}", sanitize::beginning(&advice)));
        }
        diagnostic.others().iter().for_each(|other| self.diagnostic(other));
    }

    /// The location, its line, and carets under it.
    fn excerpt(&mut self, known: Option<&Location>, span: Span, part: Part) {
        let found = if known.is_none() { Location::of(span, self.sources) } else { None };
        let Some(location) = known.or(found.as_ref()) else { return };
        let frame = |text: &str| (self.paint)(Part::Frame, text);
        let (arrow, bar) = (frame("-->"), frame("|"));
        self.line(format_args!(" {arrow} {}", sanitize::shown(&location.to_string())));
        let Some(Lines { start, excerpt, column, length, .. }) = &location.lines else { return };
        if excerpt.is_empty() {
            return;
        }
        let number = start.line.to_string();
        let margin = " ".repeat(number.len());
        let number = frame(&number);
        let carets = (self.paint)(part, &"^".repeat(*length));
        // Tabs stay tabs, so that the carets are under their text however wide tabs are shown.
        let indent: String =
            excerpt.chars().take(column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        self.line(format_args!("{margin} {bar}"));
        self.line(format_args!("{number} {bar} {excerpt}"));
        self.line(format_args!("{margin} {bar} {indent}{carets}"));
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        self.out.write_fmt(text).expect("memory can always be written to");
        self.out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_located_is_shown_when_the_text_is_gone() {
        let sources = Sources::new();
        let source = sources.add("a.yaml", "a: 1\nb: two\n");
        let error = Diagnostic::error("c", "m")
            .at(source.span(8, 11))
            .note("n", source.span(0, 1))
            .and(Diagnostic::warning("d", "o").at(source.span(3, 4)));
        let text = error.render(&sources);
        let located = error.located(&sources);
        assert_eq!(located.render(&Sources::new()), text);
        assert_eq!(located.location().expect("looked up").to_string(), "a.yaml:2:4");
        assert_eq!(located.notes()[0].location().expect("looked up").to_string(), "a.yaml:1:1");
    }

    #[test]
    fn a_file_as_a_whole_has_no_line() {
        let sources = Sources::new();
        let error = Diagnostic::error("c", "m").in_file("a.txt").located(&sources);
        assert_eq!(error.render(&sources), "error[c]: m\n --> a.txt\n");
        assert_eq!(error.location().expect("it has one").range(), None);
        let source = sources.add("a.yaml", "a: 1\n");
        let error = Diagnostic::error("c", "m").at(source.span(0, 1)).in_file("b.txt").located(&sources);
        assert_eq!(error.location().expect("it has one").file(), "a.yaml", "a span says more");
    }

    #[test]
    fn only_the_part_of_a_long_line_that_is_meant_is_kept() {
        let sources = Sources::new();
        let source = sources.add("a.json", "x".repeat(1_000_000));
        let location = Location::of(source.span(500_000, 500_003), &sources).expect("it is there");
        let lines = location.lines.expect("it is a part of the file");
        assert_eq!((lines.start.column, lines.length), (500_001, 3));
        assert!(lines.excerpt.len() < 1000);
    }
}
