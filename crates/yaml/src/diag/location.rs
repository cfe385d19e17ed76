//! A span, looked up: it can be shown when the text is gone. Or a file as a whole.

use std::fmt;
use std::sync::Arc;

use super::sanitize;
use crate::source::{Position, Sources, Span};

/// A file; with lines and columns, unless all of the file is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    file: Arc<str>,
    pub(super) lines: Option<Lines>,
}

/// Lines of a file, and the first of them as far as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lines {
    pub start: Position,
    end: Position,
    /// What is shown of the first line, and the column and length of what is meant there.
    pub excerpt: Box<str>,
    pub column: usize,
    pub length: usize,
}

impl Location {
    /// Looks up a span; `None` for one that points to no text.
    pub fn of(span: Span, sources: &Sources) -> Option<Self> {
        let source = sources.get(span.file)?;
        let (start, end) = (source.position(span.start as usize), source.position(span.end as usize));
        let line = sources.shown_line(&source, start.line);
        // Under the first line of the span: it may go on over many.
        let until = if end.line == start.line { end.column } else { line.trim_end().chars().count() + 1 };
        let line = sanitize::shown(&line);
        let (excerpt, column) = sanitize::window(&line, start.column);
        let room = excerpt.chars().count().saturating_sub(column - 1);
        let length = until.saturating_sub(start.column).min(room).max(1);
        let lines = Lines { start, end, excerpt: excerpt.into(), column, length };
        Some(Self { file: source.name().into(), lines: Some(lines) })
    }

    /// All of a file.
    pub(super) fn whole(file: &str) -> Self {
        Self { file: file.into(), lines: None }
    }

    /// The name of the file, as the user would write it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Where it begins, and where it ends: the column after the last character. `None` if all of the file is meant.
    pub fn range(&self) -> Option<(Position, Position)> {
        self.lines.as_ref().map(|lines| (lines.start, lines.end))
    }
}

/// `file:line:column`, as editors and terminals link it.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.lines {
            Some(Lines { start, .. }) => write!(f, "{}:{}:{}", self.file, start.line, start.column),
            None => write!(f, "{}", self.file),
        }
    }
}
