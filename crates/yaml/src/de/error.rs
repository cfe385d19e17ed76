//! What can be wrong with a tree that should be a typed value.

use std::fmt::{self, Display, Write};

use serde::de::{self, Expected, Unexpected};

use crate::diag::{Diagnostic, Failure};
use crate::source::Span;

/// A mistake on its way out: its path grows at the front with every level it leaves.
#[derive(Debug)]
pub(super) struct Error(Box<Fault>);

#[derive(Debug)]
struct Fault {
    what: What,
    place: Span,
    /// From the inside out.
    path: Vec<PathPart>,
    help: Option<String>,
}

#[derive(Debug)]
pub(super) enum What {
    UnknownField(String),
    MissingField(&'static str),
    DuplicateField(&'static str),
    UnknownValue(String),
    /// The wrong type, or the right one with an impossible value.
    Wrong {
        code: &'static str,
        message: String,
    },
}

#[derive(Debug)]
enum PathPart {
    Key(String),
    Index(usize),
}

impl Error {
    fn new(what: What) -> Self {
        Self(Box::new(Fault { what, place: Span::NONE, path: Vec::new(), help: None }))
    }

    pub(crate) fn wrong_type(expected: impl Display, found: impl Display) -> Self {
        let message = format!("expected {expected}, found {found}");
        Self::new(What::Wrong { code: "wrong-type", message })
    }

    pub(crate) fn help(mut self, advice: impl Into<String>) -> Self {
        self.0.help.get_or_insert(advice.into());
        self
    }

    /// Says where; the innermost place stays.
    pub(crate) fn at(mut self, place: Span) -> Self {
        if self.0.place.is_none() {
            self.0.place = place;
        }
        self
    }

    pub(crate) fn within_key(mut self, key: &str) -> Self {
        self.0.path.push(PathPart::Key(key.to_owned()));
        self
    }

    pub(crate) fn within_item(mut self, index: usize) -> Self {
        self.0.path.push(PathPart::Index(index));
        self
    }

    /// The field that is missing, while the error has not left the map it should be in.
    pub(crate) fn missing_here(&self) -> Option<&'static str> {
        match self.0.what {
            What::MissingField(field) if self.0.path.is_empty() => Some(field),
            _ => None,
        }
    }

    pub(crate) fn into_diagnostic(self) -> Diagnostic {
        let Fault { what, place, path, help } = *self.0;
        let path = written(&path);
        let within = if path.is_empty() { String::new() } else { format!(" in `{path}`") };
        let before = if path.is_empty() { String::new() } else { format!("`{path}`: ") };
        let is_unknown = matches!(what, What::UnknownField(_));
        let (code, message) = match what {
            What::UnknownField(name) => ("unknown-field", format!("unknown field `{name}`{within}")),
            What::MissingField(name) => ("missing-field", format!("missing field `{name}`{within}")),
            What::DuplicateField(name) => {
                ("duplicate-field", format!("field `{name}` is given twice{within}"))
            }
            What::UnknownValue(value) => ("unknown-value", format!("{before}unknown value `{value}`")),
            What::Wrong { code, message } => (code, format!("{before}{message}")),
        };
        let mut diagnostic = Diagnostic::error(code, message).at(place);
        if is_unknown {
            diagnostic = diagnostic.failing(Failure::UnknownField);
        }
        match help {
            Some(advice) => diagnostic.help(advice),
            None => diagnostic,
        }
    }
}

/// `images[0].newTag`
fn written(path: &[PathPart]) -> String {
    let mut text = String::new();
    for step in path.iter().rev() {
        let _ = match step {
            PathPart::Key(key) if text.is_empty() => write!(text, "{key}"),
            PathPart::Key(key) => write!(text, ".{key}"),
            PathPart::Index(index) => write!(text, "[{index}]"),
        };
    }
    text
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0.what)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        Self::new(What::Wrong { code: "invalid-value", message: message.to_string() })
    }

    fn invalid_type(unexpected: Unexpected, expected: &dyn Expected) -> Self {
        Self::wrong_type(expected, name(&unexpected))
    }

    fn invalid_value(unexpected: Unexpected, expected: &dyn Expected) -> Self {
        let message = format!("expected {expected}, found {}", name(&unexpected));
        Self::new(What::Wrong { code: "invalid-value", message })
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::wrong_type(expected, format_args!("{length} items"))
    }

    fn unknown_variant(variant: &str, known: &'static [&'static str]) -> Self {
        Self::new(What::UnknownValue(variant.to_owned())).help(suggestion(
            variant,
            known,
            "possible values are",
        ))
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        Self::new(What::UnknownField(field.to_owned())).help(suggestion(field, known, "known fields are"))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(What::MissingField(field))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(What::DuplicateField(field))
    }
}

fn name(unexpected: &Unexpected) -> String {
    match unexpected {
        Unexpected::Bool(_) => "a boolean".into(),
        Unexpected::Unsigned(n) => format!("the number {n}"),
        Unexpected::Signed(n) => format!("the number {n}"),
        Unexpected::Float(n) => format!("the number {n}"),
        Unexpected::Str(text) => format!("`{text}`"),
        Unexpected::Unit | Unexpected::Option => "null".into(),
        Unexpected::Seq => "a list".into(),
        Unexpected::Map | Unexpected::StructVariant => "a map".into(),
        other => other.to_string(),
    }
}

/// Names the nearest of the known words, or all of them if none is near.
fn suggestion(word: &str, known: &[&str], all: &str) -> String {
    match crate::similar::nearest(word, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => "there are no fields here".into(),
        None => {
            let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            format!("{all} {}", names.join(", "))
        }
    }
}
