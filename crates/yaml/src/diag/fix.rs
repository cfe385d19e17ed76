//! Fixes as data: what to write where, so that a program can apply what a person would type.

use std::fmt;

use crate::source::{FileId, Span};

/// A way to settle a diagnostic: texts that replace others, all of them or none.
///
/// ```
/// use krm_yaml::{Fix, Sources, apply_edits};
/// let sources = Sources::new();
/// let source = sources.add("a.yaml", "mode: pubilc\n");
/// let fix = Fix::safe("write `public`").replace(source.span(6, 12), "public");
/// assert_eq!(apply_edits(source.text(), fix.edits()).unwrap(), "mode: public\n");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    message: String,
    is_safe: bool,
    edits: Vec<Edit>,
}

/// One text that replaces another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced; an empty span is where the text is inserted.
    pub span: Span,
    /// The new text.
    pub text: String,
}

impl Fix {
    /// A fix that leaves the outcome of every build as it is. The message says what it does: "rename the field".
    pub fn safe(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_safe: true, edits: Vec::new() }
    }

    /// A fix that may change an outcome: a person should look at it.
    pub fn needs_review(message: impl Into<String>) -> Self {
        Self { is_safe: false, ..Self::safe(message) }
    }

    /// Adds a text that replaces what is at a span.
    pub fn replace(mut self, span: Span, text: impl Into<String>) -> Self {
        self.edits.push(Edit { span, text: text.into() });
        self
    }

    /// Adds a text before a span.
    pub fn insert_before(self, span: Span, text: impl Into<String>) -> Self {
        self.replace(Span { end: span.start, ..span }, text)
    }

    /// Adds a text after a span.
    pub fn insert_after(self, span: Span, text: impl Into<String>) -> Self {
        self.replace(Span { start: span.end, ..span }, text)
    }

    /// What the fix does.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether it leaves the outcome of every build as it is.
    pub fn is_safe(&self) -> bool {
        self.is_safe
    }

    /// The changes it makes.
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// The files it changes.
    pub fn files(&self) -> impl Iterator<Item = FileId> + '_ {
        let mut files: Vec<FileId> = self.edits.iter().map(|edit| edit.span.file).collect();
        files.sort();
        files.dedup();
        files.into_iter()
    }

    pub(super) fn relocate(&mut self, find: &dyn Fn(Span) -> Span) {
        self.edits.iter_mut().for_each(|edit| edit.span = find(edit.span));
    }
}

/// Why edits cannot be applied together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EditError {
    /// Two edits change the same text.
    Overlap,
    /// An edit is not of this text.
    OutOfRange,
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EditError::Overlap => "two edits change the same text",
            EditError::OutOfRange => "an edit is not within the text",
        })
    }
}

impl std::error::Error for EditError {}

/// Applies edits, all of one file, to its text. Texts inserted at the same offset keep their order.
pub fn apply_edits<'e>(
    text: &str,
    edits: impl IntoIterator<Item = &'e Edit>,
) -> std::result::Result<String, EditError> {
    let mut edits: Vec<&Edit> = edits.into_iter().collect();
    edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for Edit { span, text: new } in edits {
        let range = span.range();
        if range.start < copied {
            return Err(EditError::Overlap);
        }
        let kept = text.get(copied..range.start).filter(|_| text.is_char_boundary(range.end));
        out.push_str(kept.ok_or(EditError::OutOfRange)?);
        out.push_str(new);
        copied = range.end;
    }
    out.push_str(&text[copied..]);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(start: usize, end: usize, text: &str) -> Edit {
        Edit { span: Span::new(FileId::NONE, start, end), text: text.to_owned() }
    }

    #[test]
    fn edits_apply_in_any_order() {
        let edits = [edit(4, 5, "X"), edit(0, 1, ""), edit(2, 2, "1"), edit(2, 2, "2")];
        assert_eq!(apply_edits("abcde", &edits).unwrap(), "b12cdX");
    }

    #[test]
    fn edits_of_the_same_text_are_refused() {
        assert_eq!(apply_edits("abc", &[edit(0, 2, "x"), edit(1, 3, "y")]), Err(EditError::Overlap));
        assert_eq!(apply_edits("abc", &[edit(2, 4, "x")]), Err(EditError::OutOfRange));
        assert_eq!(apply_edits("ä", &[edit(1, 2, "x")]), Err(EditError::OutOfRange));
    }
}
