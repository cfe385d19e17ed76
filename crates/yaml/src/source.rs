//! Texts and places in them.
//!
//! A [`Source`] is one text with a name. A [`Span`] is a piece of one: a file id and a byte range, twelve bytes, `Copy`.
//! Every node keeps its span for life, even after it was moved into another tree, so that an error, an explanation or a
//! diff can always point at what the user wrote. [`Sources`] finds the text of a span again.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock, RwLock};

use crate::diag::{Diagnostic, Result};

/// Names a [`Source`]. `FileId::NONE` is the place of things nobody wrote.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileId(u32);

impl FileId {
    /// No file.
    pub const NONE: FileId = FileId(0);

    /// The number within its [`Sources`], starting at 1.
    pub fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Debug for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// A byte range of one source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// The text.
    pub file: FileId,
    /// The offset of the first byte.
    pub start: u32,
    /// The offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The span of things nobody wrote: generated values.
    pub const NONE: Span = Span { file: FileId::NONE, start: 0, end: 0 };

    /// A span of a text.
    #[inline]
    pub fn new(file: FileId, start: usize, end: usize) -> Self {
        Self { file, start: start as u32, end: end as u32 }
    }

    /// Whether the span points into no file.
    pub fn is_none(self) -> bool {
        self.file == FileId::NONE
    }

    /// The offsets, to slice a text with.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// How many bytes it has.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether it has none.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Whether another span is within this one.
    pub fn holds(self, other: Span) -> bool {
        self.file == other.file && self.start <= other.start && other.end <= self.end
    }

    /// The smallest span that holds both; `self` if they are of different files.
    pub fn to(self, other: Span) -> Span {
        if self.file != other.file {
            return self;
        }
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}:{}..{}", self.file, self.start, self.end)
    }
}

/// A place as people count: line and column from 1, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}

/// A text and its name.
pub struct Source {
    id: FileId,
    name: Box<str>,
    text: Box<str>,
    lines: OnceLock<Vec<u32>>,
}

impl Source {
    /// A source outside any [`Sources`], for parsing a text whose spans are never looked up again.
    pub fn detached(name: impl Into<Box<str>>, text: impl Into<Box<str>>) -> Arc<Self> {
        Self::with_id(FileId(u32::MAX), name.into(), text.into())
    }

    fn with_id(id: FileId, name: Box<str>, text: Box<str>) -> Arc<Self> {
        Arc::new(Self { id, name, text, lines: OnceLock::new() })
    }

    /// The number by which spans refer to it.
    pub fn id(&self) -> FileId {
        self.id
    }

    /// The name as shown to people, usually a path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text under a span of this source.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// A span of this text.
    pub fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.id, start, end)
    }

    /// Where each line begins; found once, on the first question.
    fn lines(&self) -> &[u32] {
        self.lines.get_or_init(|| {
            let mut starts = vec![0];
            let newlines = self.text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
            starts.extend(newlines.map(|(at, _)| at as u32 + 1));
            starts
        })
    }

    /// Turns a byte offset into a line and a column.
    pub fn position(&self, offset: usize) -> Position {
        let lines = self.lines();
        let line = lines.partition_point(|start| *start as usize <= offset).max(1);
        let start = lines[line - 1] as usize;
        let end = offset.min(self.text.len());
        let column = self.text.get(start..end).map_or(end.saturating_sub(start), |s| s.chars().count()) + 1;
        Position { line, column }
    }

    /// The byte a line (from 1) begins at.
    pub fn line_start(&self, line: usize) -> Option<usize> {
        self.lines().get(line.checked_sub(1)?).map(|start| *start as usize)
    }

    /// The text of a line (from 1), without its line break.
    pub fn line(&self, line: usize) -> &str {
        let lines = self.lines();
        let Some(start) = line.checked_sub(1).and_then(|i| lines.get(i)) else { return "" };
        let end = lines.get(line).map_or(self.text.len(), |next| *next as usize);
        self.text[*start as usize..end].trim_end_matches(['\n', '\r'])
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({:?}, {}, {} bytes)", self.id, self.name, self.text.len())
    }
}

/// All texts of a run, so that a span can be turned back into a file, a line and a column. Cheap to clone and share.
#[derive(Clone, Default, Debug)]
pub struct Sources(Arc<RwLock<Vec<Option<Arc<Source>>>>>, Arc<OnceLock<FindHidden>>);

/// Finds the parts of a text that nobody may see.
pub type FindHidden = fn(&str) -> Vec<Range<usize>>;

impl Sources {
    /// No texts yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in a text and gives it an id.
    pub fn add(&self, name: impl Into<Box<str>>, text: impl Into<Box<str>>) -> Arc<Source> {
        let mut all = self.0.write().expect("no one panics while holding the list of sources");
        let source = Source::with_id(FileId(all.len() as u32 + 1), name.into(), text.into());
        all.push(Some(source.clone()));
        source
    }

    /// Lets go of a text that is out of date: spans in it are not found any more. For programs that run on while files
    /// change.
    pub fn forget(&self, id: FileId) {
        let mut all = self.0.write().expect("no one panics while holding the list of sources");
        if let Some(source) = (id.0 as usize).checked_sub(1).and_then(|at| all.get_mut(at)) {
            *source = None;
        }
    }

    /// Takes in the bytes of a file: UTF-8, or UTF-16 with a byte order mark. What is not text is an error with its location.
    pub fn add_bytes(&self, name: impl Into<Box<str>>, bytes: Vec<u8>) -> Result<Arc<Source>> {
        match crate::encoding::decode(bytes) {
            Ok(text) => Ok(self.add(name, text)),
            Err(bad) => {
                let source = self.add(name, bad.shown);
                let end = source.text().len().min(bad.offset + '\u{fffd}'.len_utf8());
                Err(Diagnostic::error("yaml-encoding", format!("this is not {} text", bad.encoding))
                    .at(source.span(bad.offset, end))
                    .help("save it as UTF-8; what is not text belongs in a file of its own"))
            }
        }
    }

    /// All texts there are that came after an id, the oldest first.
    pub fn after(&self, id: FileId) -> Vec<Arc<Source>> {
        let all = self.0.read().expect("no one panics while holding the list of sources");
        all.iter().skip(id.0 as usize).flatten().cloned().collect()
    }

    /// The id that was given last.
    pub fn last(&self) -> FileId {
        let all = self.0.read().expect("no one panics while holding the list of sources");
        FileId(all.len() as u32)
    }

    /// Says what must not be seen of texts when a line of one is shown with a diagnostic. The first to say so counts.
    pub fn hide(&self, find: FindHidden) {
        let _ = self.1.set(find);
    }

    /// A line of a text (from 1) as it may be seen: each character that is hidden as a `*`, so that columns stay the same.
    pub fn shown_line<'s>(&self, source: &'s Source, line: usize) -> Cow<'s, str> {
        let text = source.line(line);
        let (Some(find), Some(start)) = (self.1.get(), source.line_start(line)) else { return text.into() };
        let mut hidden = find(source.text());
        hidden.retain(|range| range.start < start + text.len() && start < range.end);
        if hidden.is_empty() {
            return text.into();
        }
        let is_hidden = |at: usize| hidden.iter().any(|range| range.contains(&(start + at)));
        let shown = |(at, c): (usize, char)| if is_hidden(at) && !c.is_whitespace() { '*' } else { c };
        text.char_indices().map(shown).collect::<String>().into()
    }

    /// The text of a number.
    pub fn get(&self, id: FileId) -> Option<Arc<Source>> {
        let all = self.0.read().expect("no one panics while holding the list of sources");
        all.get((id.0 as usize).checked_sub(1)?)?.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_text_are_refused_at_their_location() {
        let sources = Sources::new();
        assert_eq!(sources.add_bytes("a", "ä".into()).unwrap().text(), "ä");
        let error = sources.add_bytes("b", b"a: b\n\xC3(".to_vec()).unwrap_err();
        let source = sources.get(error.place().file).unwrap();
        assert_eq!(
            (error.code(), source.name(), source.position(5)),
            ("yaml-encoding", "b", Position { line: 2, column: 1 })
        );
        assert_eq!(error.place(), source.span(5, 8));
    }

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let sources = Sources::new();
        let source = sources.add("a.yaml", "é: 1\nb: 2\n");
        assert_eq!(source.position(0), Position { line: 1, column: 1 });
        assert_eq!(source.position(2), Position { line: 1, column: 2 });
        assert_eq!(source.position(6), Position { line: 2, column: 1 });
        assert_eq!(source.line(2), "b: 2");
        assert_eq!(sources.get(source.id()).unwrap().name(), "a.yaml");
        assert!(sources.get(FileId::NONE).is_none());
        let later = sources.add("b.yaml", "");
        assert_eq!(sources.last(), later.id());
        assert_eq!(sources.after(source.id()).len(), 1);
        sources.forget(source.id());
        assert!(sources.get(source.id()).is_none());
        assert_eq!(sources.after(FileId::NONE).len(), 1);
    }
}
