//! Changes of one scalar: each becomes another of its type that is nowhere else.

use std::fmt;
use std::ops::Range;

use krm_engine::{Node, Span};
use krm_yaml::FileId;

use crate::plain;
use crate::targets::{Built, Target};

/// A text of a file that is replaced.
pub struct Mutation {
    pub file: String,
    pub range: Range<usize>,
    /// From 1.
    pub line: usize,
    pub before: String,
    pub after: String,
    /// Only a part of a value is replaced, which a step may cut off again.
    pub is_part: bool,
}

impl Mutation {
    pub fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        [&bytes[..self.range.start], self.after.as_bytes(), &bytes[self.range.end..]].concat()
    }
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} `{}` → `{}`", self.file, self.line, self.before, self.after)
    }
}

/// A text that is nowhere else.
const TEXT: &str = "zq-marker";
const NUMBER: &str = "7919";

/// All changes to the texts that a build read.
pub fn mutations(built: &Built, target: &Target) -> Vec<Mutation> {
    let mut all = Vec::new();
    let mut read = Vec::new();
    for source in built.sources.after(FileId::default()) {
        let name = plain(source.name());
        let Some((_, bytes)) = target.files.iter().find(|(file, _)| *file == name) else { continue };
        // Byte order marks and other encodings: places are those of the text, not of the bytes.
        if source.text().as_bytes() != bytes.as_slice() || read.contains(&name) {
            continue;
        }
        let Ok(documents) = krm_yaml::parse(&source) else { continue };
        let file = File { name: &name, text: source.text() };
        for document in &documents {
            file.scalars(&document.root, &mut all);
        }
        read.push(name);
    }
    // What is read as it is: env files and files of generators.
    for (name, bytes) in target.files.iter().filter(|(name, _)| !read.contains(name)) {
        if let Ok(text) = std::str::from_utf8(bytes) {
            File { name, text }.lines(0..text.len(), '=', &mut all);
        }
    }
    all.sort_by(|a, b| (&a.file, a.range.start, a.range.end).cmp(&(&b.file, b.range.start, b.range.end)));
    all.dedup_by(|a, b| a.file == b.file && a.range == b.range);
    all
}

/// Takes away the line that a place is in, if it is one of a file of the target.
pub fn without_line(built: &Built, target: &Target, place: Span) -> Option<Mutation> {
    let source = built.sources.get(place.file)?;
    let file = plain(source.name());
    let (_, bytes) = target.files.iter().find(|(name, _)| *name == file)?;
    if source.text().as_bytes() != bytes.as_slice() {
        return None;
    }
    let position = source.position(place.start as usize);
    let start = source.line_start(position.line)?;
    let end = source.text()[start..].find('\n').map_or(source.text().len(), |at| start + at + 1);
    let before = source.text()[start..end].to_owned();
    // Only a line that is nothing but this field.
    let is_own = before.chars().next().is_some_and(char::is_alphabetic) && place.range().end <= end;
    is_own.then(|| Mutation {
        file,
        range: start..end,
        line: position.line,
        before,
        after: String::new(),
        is_part: false,
    })
}

struct File<'a> {
    name: &'a str,
    text: &'a str,
}

impl File<'_> {
    fn scalars(&self, node: &Node, all: &mut Vec<Mutation>) {
        for entry in node.as_map().into_iter().flatten() {
            self.scalars(&entry.value, all);
        }
        node.items().iter().for_each(|item| self.scalars(item, all));
        let range = node.span().range();
        let Some(value) = node.text().filter(|_| node.is_scalar() && !node.is_null()) else { return };
        let slice = &self.text[range.clone()];
        if slice.starts_with(['|', '>']) || slice.contains('\n') {
            return self.lines(range, ':', all);
        }
        if slice.is_empty() || slice.starts_with(['&', '*', '!']) {
            return;
        }
        let quote = slice.chars().next().filter(|first| matches!(first, '"' | '\''));
        let quotes = usize::from(quote.is_some());
        let inside = range.start + quotes..range.end - quotes;
        if &self.text[inside.clone()] != value {
            return;
        }
        // A literal keeps its key, an image its name.
        if let Some(at) = value.find('=').filter(|at| *at > 0) {
            return self.add(inside.start + at + 1..inside.end, TEXT, false, all);
        }
        if let Some(at) = value.rfind(':').filter(|at| !value[*at..].contains('/') && value.contains('/')) {
            self.add(inside.start + at + 1..inside.end, "zq", true, all);
        }
        if let Some(at) = value.rfind('/').filter(|at| value.starts_with('/') && *at > 0) {
            self.add(inside.start + at + 1..inside.end, TEXT, true, all);
        }
        let after = match (quote, value) {
            (None, "true") => "false",
            (None, "false") => "true",
            (None, number) if number.parse::<f64>().is_ok() => NUMBER,
            _ => TEXT,
        };
        self.add(inside, after, false, all);
    }

    /// The values of lines `key: value` or `key=value` of a text within a text.
    fn lines(&self, range: Range<usize>, sign: char, all: &mut Vec<Mutation>) {
        let mut start = range.start;
        for line in self.text[range].split_inclusive('\n') {
            let here = start;
            start += line.len();
            let Some(at) = line.find(sign) else { continue };
            let value = line[at + 1..].trim();
            let from = here + at + 1 + (line[at + 1..].len() - line[at + 1..].trim_start().len());
            if value.is_empty()
                || line.trim_start().starts_with('#')
                || value.starts_with(['{', '[', '|', '>', '"', '\''])
            {
                continue;
            }
            let after = match value {
                "true" => "false",
                "false" => "true",
                number if number.parse::<f64>().is_ok() => NUMBER,
                pointer if pointer.starts_with('/') => {
                    let last = pointer.rfind('/').unwrap_or(0);
                    self.add(from + last + 1..from + value.len(), TEXT, true, all);
                    continue;
                }
                _ => TEXT,
            };
            self.add(from..from + value.len(), after, false, all);
        }
    }

    fn add(&self, range: Range<usize>, after: &str, is_part: bool, all: &mut Vec<Mutation>) {
        let before = self.text[range.clone()].to_owned();
        if before.is_empty() || before == after {
            return;
        }
        let line = self.text[..range.start].matches('\n').count() + 1;
        all.push(Mutation {
            file: self.name.to_owned(),
            range,
            line,
            before,
            after: after.to_owned(),
            is_part,
        });
    }
}
