//! Where in a document a text would go that is being typed.

use std::ops::Range;
use std::sync::Arc;

use krm_yaml::{Node, Source, Style};

use super::cursor::Cursor;
use super::repair;
use crate::pipeline::trace::Segment;

/// A place for a key or a value, as the document would be with one there.
#[derive(Debug)]
pub(crate) struct Slot {
    /// On the new key or value. Its text is that of [`PLACEHOLDER`].
    pub cursor: Cursor,
    /// What is replaced: the part of the word that was typed, and what follows of it.
    pub replace: Range<usize>,
    /// What was typed of it.
    pub typed: String,
    /// Nothing but white space follows in the line.
    pub ends_line: bool,
}

/// What stands for the text that is being typed.
const PLACEHOLDER: &str = "krmPlaceholder";

impl Slot {
    /// The slot at a byte of a text.
    pub(crate) fn at(text: &str, offset: usize) -> Option<Self> {
        let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
        let end = text[offset..].find(['\n', '\r']).map_or(text.len(), |at| offset + at);
        let word = Word::before(&text[start..offset])?;
        let from = start + word.start;
        let is_part = |c: char| c.is_alphanumeric() || "._-/".contains(c);
        let rest = text[offset..end].find(|c| !is_part(c)).map_or(end, |at| offset + at);
        let tries: &[&str] = match word.place {
            Place::Value | Place::Item => &[PLACEHOLDER],
            Place::Key => &["krmPlaceholder: 1", PLACEHOLDER],
        };
        tries.iter().find_map(|placeholder| {
            let after: String = word.quote.into_iter().chain(word.closers.chars().rev()).collect();
            let line = format!("{}{placeholder}{after}", &text[start..from]);
            let whole = format!("{}{line}{}", &text[..start], &text[end..]);
            let cursor = find(&whole)?;
            Some(Self {
                cursor,
                replace: from..rest.max(offset),
                typed: text[from..offset].to_owned(),
                ends_line: text[rest..end].trim().is_empty(),
            })
        })
    }
}

/// What a word can be, from the line alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// After `key: `.
    Value,
    /// After a dash: a value, or the first key of a map.
    Item,
    Key,
}

/// The word before the cursor.
#[derive(Debug)]
struct Word {
    /// Where it begins in the line.
    start: usize,
    place: Place,
    /// The quote it is in.
    quote: Option<char>,
    /// What closes the brackets that are open, the outermost first.
    closers: String,
}

impl Word {
    fn before(line: &str) -> Option<Self> {
        let mut start = line.len() - line.trim_start_matches(' ').len();
        let mut place = Place::Key;
        while let Some(rest) =
            line[start..].strip_prefix('-').filter(|rest| rest.is_empty() || rest.starts_with(' '))
        {
            start = line.len() - rest.trim_start_matches(' ').len();
            place = Place::Item;
        }
        let mut closers = String::new();
        let mut quote: Option<(char, usize)> = None;
        let mut previous = ' ';
        let mut at = start;
        for (offset, c) in line[start..].char_indices() {
            let here = start + offset;
            let word_begins = line[at..here].trim().is_empty();
            match c {
                _ if quote.is_some_and(|(open, _)| open == c) => quote = None,
                _ if quote.is_some() => {}
                '"' | '\'' if word_begins => quote = Some((c, here + 1)),
                '#' if previous == ' ' => return None,
                '[' | '{' if word_begins => {
                    closers.push(if c == '[' { ']' } else { '}' });
                    (at, place) = (here + 1, if c == '[' { Place::Value } else { Place::Key });
                }
                ']' | '}' if closers.ends_with(c) => {
                    closers.pop();
                    at = here + 1;
                }
                ',' if !closers.is_empty() => {
                    let is_map = closers.ends_with('}');
                    (at, place) = (here + 1, if is_map { Place::Key } else { Place::Value });
                }
                ' ' if previous == ':' => (at, place) = (here + 1, Place::Value),
                _ => {}
            }
            previous = c;
        }
        let blank = line[at..].len() - line[at..].trim_start_matches(' ').len();
        let start = quote.map_or(at + blank, |(_, inside)| inside);
        Some(Self { start, place, quote: quote.map(|(quote, _)| quote), closers })
    }
}

/// The placeholder in a text.
fn find(text: &str) -> Option<Cursor> {
    let documents = repair::documents(text, None);
    documents.iter().find_map(|document| {
        let source = document.source();
        let cursor = within(&document.root, &document.root, source, &mut Vec::new())?;
        let is_text = !cursor.on_key && cursor.node.style() == Style::Literal;
        if !is_text {
            return Some(cursor);
        }
        // A document in a text: an inline patch.
        let roots = krm_yaml::embedded::parse(&cursor.node, Some(source)).ok()?;
        let inner = roots.iter().find_map(|root| within(root, root, source, &mut Vec::new()))?;
        Some(Cursor { outer: Some(Box::new(cursor)), ..inner })
    })
}

fn within(root: &Node, node: &Node, source: &Arc<Source>, path: &mut Vec<Segment>) -> Option<Cursor> {
    if node.text().is_some_and(|text| text.contains(PLACEHOLDER)) {
        return Some(Cursor::on_value(root, node, path.clone(), source));
    }
    for entry in node.as_map().into_iter().flatten() {
        let key = entry.key.text().unwrap_or_default();
        path.push(Segment::Key(key.into()));
        if key == PLACEHOLDER {
            return Some(Cursor::on_key(root, entry, path.clone(), source));
        }
        if let Some(found) = within(root, &entry.value, source, path) {
            return Some(found);
        }
        path.pop();
    }
    for (at, item) in node.items().iter().enumerate() {
        path.push(Segment::Index(at));
        if let Some(found) = within(root, item, source, path) {
            return Some(found);
        }
        path.pop();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<(String, bool, String)> {
        let offset = text.find('|').expect("a cursor");
        let slot = Slot::at(&text.replacen('|', "", 1), offset)?;
        let keys = slot.cursor.keys().join(".").replace(PLACEHOLDER, "_");
        Some((keys, slot.cursor.on_key, slot.typed))
    }

    #[test]
    fn words_have_a_place_while_they_are_typed() {
        for (text, path, on_key, typed) in [
            ("res|", "_", true, "res"),
            ("resources:\n- a.yaml\n|", "_", true, ""),
            ("resources:\n- a.yaml\nim|\npatches: []\n", "_", true, "im"),
            ("resources:\n- we|\n", "resources.*", false, "we"),
            ("resources: [a.yaml, we|]\n", "resources.*", false, "we"),
            ("resources: [a.yaml, we|\n", "resources.*", false, "we"),
            ("images:\n- name: x\n  new|\n", "images.*._", true, "new"),
            ("images:\n- name: ng|\n  newTag: x\n", "images.*.name", false, "ng"),
            ("images:\n- {name: x, ne|}\n", "images.*._", true, "ne"),
            ("images:\n- {name: x|}\n", "images.*.name", false, "x"),
            ("images:\n- na|\n", "images.*", false, "na"),
            ("namespace: \"a|\n", "namespace", false, "a"),
            ("patches:\n- patch: x\n  target:\n    kind: |\n", "patches.*.target.kind", false, ""),
            ("patches:\n- target:\n    na|\n", "patches.*.target._", true, "na"),
            ("a:\r\n- b|\r\nc: 1\r\n", "a.*", false, "b"),
        ] {
            assert_eq!(at(text), Some((path.into(), on_key, typed.into())), "{text}");
        }
        assert_eq!(at("a: 1 # com|\n"), None);
    }

    #[test]
    fn inline_patches_are_documents() {
        let text = "patches:\n- patch: |-\n    kind: Deployment\n    metadata:\n      name: ";
        let slot = Slot::at(text, text.len()).unwrap();
        assert_eq!(slot.cursor.keys(), ["metadata", "name"]);
        assert_eq!(slot.cursor.outer.unwrap().keys(), ["patches", "*", "patch"]);
    }
}
