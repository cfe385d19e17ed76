//! A span, looked up: it can be shown when the text is gone.

use std::fmt;
use std::sync::Arc;

use super::sanitize;
use crate::source::{Position, Sources, Span};

/// File, line and column, and the line itself as far as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    file: Arc<str>,
    start: Position,
    end: Position,
    /// What is shown of the first line, and the column and length of what is meant there.
    pub(super) excerpt: Box<str>,
    pub(super) column: usize,
    pub(super) length: usize,
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
        let excerpt = excerpt.into();
        Some(Self { file: source.name().into(), start, end, excerpt, column, length })
    }

    /// The name of the file, as the user would write it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Where it begins.
    pub fn start(&self) -> Position {
        self.start
    }

    /// Where it ends: the column after the last character.
    pub fn end(&self) -> Position {
        self.end
    }
}

/// `file:line:column`, as editors and terminals link it.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.start.line, self.start.column)
    }
}
