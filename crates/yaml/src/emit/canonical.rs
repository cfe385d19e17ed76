//! The canonical form: the tree in one pass, straight into the output.

use super::text::{self, Form};
use super::{folded, order};
use crate::diag::{Diagnostic, Result};
use crate::map::{Entry, Map};
use crate::node::{Node, Style, Tag, Value};

/// Writes a tree in canonical form, with a line break at the end.
///
/// ```
/// let tree = krm_yaml::Node::from_iter([("b", "yes"), ("a", "fine")]);
/// assert_eq!(krm_yaml::canonical(&tree), "a: fine\nb: \"yes\"\n");
/// ```
pub fn canonical(node: &Node) -> String {
    let mut out = String::new();
    canonical_into(node, &mut out);
    out
}

/// The same, appended to a text.
pub fn canonical_into(node: &Node, out: &mut String) {
    Emitter::new(out).root(node);
}

/// The same, with an error for what JSON cannot express.
///
/// The text is appended all the same, and is the best YAML there is for the tree.
// quirk(json-limits-what-can-be-written): What JSON cannot express is an error: infinities, and keys that are lists or
// maps. (kyaml `RNode.MarshalJSON`)
pub fn try_canonical_into(node: &Node, out: &mut String) -> Result<()> {
    let mut emitter = Emitter::new(out);
    emitter.root(node);
    emitter.refusal.map_or(Ok(()), Err)
}

/// As [`try_canonical_into`], with folded texts as they are: what kyaml writes if each tree has its own file.
pub fn try_canonical_whole_into(node: &Node, out: &mut String) -> Result<()> {
    let mut emitter = Emitter { keeps_folded: true, ..Emitter::new(out) };
    emitter.root(node);
    emitter.refusal.map_or(Ok(()), Err)
}

struct Emitter<'o> {
    out: &'o mut String,
    /// Folded texts are written as they are, and not as go-yaml reads them back. See
    /// quirk(folded-text-loses-breaks).
    keeps_folded: bool,
    /// Where the present line begins in `out`.
    line_start: usize,
    /// The order of keys of all maps under way, each after that of the map around it.
    positions: Vec<u32>,
    /// The first thing that JSON cannot express.
    refusal: Option<Diagnostic>,
}

/// What is to the left of a collection's first line.
#[derive(Clone, Copy, PartialEq)]
enum Lead {
    /// Nothing: it begins on a line of its own.
    Line,
    /// A `-`, `?` or `:` on the same line.
    Indicator,
}

impl<'o> Emitter<'o> {
    fn new(out: &'o mut String) -> Self {
        let line_start = out.len();
        Self { out, keeps_folded: false, line_start, positions: Vec::new(), refusal: None }
    }

    fn root(&mut self, node: &Node) {
        match node.value() {
            Value::Map(map) if !map.is_empty() => self.map(map, 0, Lead::Line, is_flow(node)),
            Value::Seq(items) if !items.is_empty() => self.seq(items, 0, Lead::Line, is_flow(node)),
            _ => self.leaf(node, 2, is_flow(node)),
        }
    }

    fn map(&mut self, map: &Map, indent: usize, lead: Lead, flow: bool) {
        let entries = map.entries();
        let start = self.positions.len();
        if !is_sorted(entries) {
            self.positions.extend(0..entries.len() as u32);
            order::sort(&mut self.positions[start..], |at| key_text(&entries[at as usize].key));
        }
        for i in 0..entries.len() {
            let at = self.positions.get(start + i).map_or(i, |at| *at as usize);
            if i > 0 || lead == Lead::Line {
                text::indent(indent, self.out);
            }
            self.entry(&entries[at], indent, flow);
        }
        self.positions.truncate(start);
    }

    fn entry(&mut self, entry: &Entry, indent: usize, flow: bool) {
        let key = key_text(&entry.key);
        if !matches!(entry.key.tag(), Tag::Str | Tag::Merge) {
            self.check_key(&entry.key, indent == 0);
        }
        if !text::write_simple_key(key, self.out) {
            if text::is_complex_key(key) || !entry.key.is_scalar() {
                return self.complex_entry(entry, indent, flow);
            }
            let place = text::Place { indent, line_start: self.line_start, breaks: false };
            text::write(key, place, self.out);
            self.check_text(key, &entry.key);
        }
        self.out.push(':');
        match entry.value.value() {
            Value::Map(map) if !map.is_empty() => {
                self.new_line();
                self.map(map, indent + 2, Lead::Line, flow || is_flow(&entry.value));
            }
            Value::Seq(items) if !items.is_empty() => {
                self.new_line();
                self.seq(items, indent, Lead::Line, flow || is_flow(&entry.value));
            }
            _ => {
                self.out.push(' ');
                self.leaf(&entry.value, indent + 2, flow);
            }
        }
    }

    /// An entry whose key is too long, has line breaks or is a collection: `? key` and `: value` on lines of their own.
    #[cold]
    fn complex_entry(&mut self, entry: &Entry, indent: usize, flow: bool) {
        let key = key_text(&entry.key);
        if key.contains(text::NEXT_LINE) {
            self.refuse_character(text::NEXT_LINE, &entry.key);
        }
        self.out.push('?');
        if entry.key.is_scalar() {
            self.out.push(' ');
            self.string(key, &entry.key, indent + 2);
        } else {
            self.beside(&entry.key, indent, flow);
        }
        text::indent(indent, self.out);
        self.out.push(':');
        self.beside(&entry.value, indent, flow);
    }

    fn seq(&mut self, items: &[Node], indent: usize, lead: Lead, flow: bool) {
        for (i, item) in items.iter().enumerate() {
            if i > 0 || lead == Lead::Line {
                text::indent(indent, self.out);
            }
            self.out.push('-');
            self.beside(item, indent, flow);
        }
    }

    /// A node on the line of a `-` or `:` indicator.
    fn beside(&mut self, node: &Node, indent: usize, flow: bool) {
        self.out.push(' ');
        match node.value() {
            Value::Map(map) if !map.is_empty() => {
                self.map(map, indent + 2, Lead::Indicator, flow || is_flow(node));
            }
            Value::Seq(items) if !items.is_empty() => {
                self.seq(items, indent + 2, Lead::Indicator, flow || is_flow(node));
            }
            _ => self.leaf(node, indent + 2, flow),
        }
    }

    /// A scalar or an empty collection, and the end of its line.
    fn leaf(&mut self, node: &Node, indent: usize, flow: bool) {
        let text = match node.value() {
            Value::Scalar(text) => text.as_str(),
            Value::Seq(_) => "[]",
            Value::Map(_) => "{}",
        };
        match node.tag() {
            Tag::Str if node.style() != Style::Folded => return self.string(text, node, indent),
            // quirk(nothing-between-braces-is-text): A value that is left out between braces or brackets, as in
            // `{a: }`, is an empty string; anywhere else it is null. (go-yaml `yaml_emitter_select_scalar_style`)
            Tag::Null if flow && text.is_empty() && node.trivia().tag.is_none() => self.out.push_str("\"\""),
            Tag::Null => self.out.push_str("null"),
            Tag::Bool => self.out.push_str(if node.as_bool() == Some(true) { "true" } else { "false" }),
            Tag::Int | Tag::Float => return self.number(text, node, indent),
            _ if !node.is_scalar() => self.out.push_str(text),
            Tag::Timestamp => {
                let timestamp = crate::scalar::resolve::timestamp(text);
                return self.string(timestamp.as_deref().unwrap_or(text), node, indent);
            }
            Tag::Binary => {
                return self.string(
                    crate::scalar::binary::text(text).as_deref().unwrap_or(text),
                    node,
                    indent,
                );
            }
            _ if node.style() == Style::Folded && !self.keeps_folded => {
                return self.string(folded::distorted(text).as_deref().unwrap_or(text), node, indent);
            }
            _ => return self.string(text, node, indent),
        }
        self.new_line();
    }

    fn number(&mut self, text: &str, node: &Node, indent: usize) {
        if is_ordinary_integer(text) {
            self.out.push_str(text);
        } else if let Some(n) = crate::scalar::resolve::int(text) {
            use std::fmt::Write;
            write!(self.out, "{n}").expect("a String takes everything");
        } else if let Some(n) = crate::scalar::resolve::float(text) {
            crate::scalar::number::yaml(n, self.out);
            if !n.is_finite() {
                self.refuse(|| {
                    Diagnostic::error("number-not-finite", format!("`{text}` is not a number in JSON"))
                        .at(node.span())
                        .help(format!("give a finite number, or quote it to make it a string: \"{text}\""))
                });
            }
        } else {
            return self.string(text, node, indent);
        }
        self.new_line();
    }

    fn string(&mut self, text: &str, node: &Node, indent: usize) {
        let place = text::Place { indent, line_start: self.line_start, breaks: true };
        match text::write(text, place, self.out) {
            Form::ClosedBlock => {
                self.line_start = self.out.len();
                return;
            }
            Form::Quoted => self.check_text(text, node),
            Form::Bare | Form::Block => {}
        }
        self.new_line();
    }

    #[cold]
    fn check_key(&mut self, key: &Node, of_root: bool) {
        // quirk(keys-of-the-outermost-map-become-text): A key that is a number or a boolean is a text in the outermost
        // map, and refused in any other. One that is left out is an empty text everywhere. (kyaml `RNode.MarshalJSON`)
        if of_root && key.is_scalar() && !key.is_null() || key.is_null() && key.text() == Some("") {
            return;
        }
        self.refuse(|| {
            let message = match key.text() {
                Some(text) if key.tag() == Tag::Timestamp => {
                    format!("the key `{text}` is a date, not a string")
                }
                Some(text) => format!("the key `{text}` is {}, not a string", key.kind_name()),
                None => format!("a key is {}, not a string", key.kind_name()),
            };
            let error = Diagnostic::error("key-not-string", message).at(key.span());
            match key.text() {
                Some(text) => error.help(format!("put it in quotes: \"{text}\"")),
                // `{{ x }}` is a map whose one key is a map.
                None if key.is_map() => {
                    error.help("if this is a template, render it first, or put the value in quotes")
                }
                None => error,
            }
        });
    }

    fn check_text(&mut self, text: &str, node: &Node) {
        if let Some(c) = text::refused(text) {
            self.refuse_character(c, node);
        }
    }

    #[cold]
    fn refuse_character(&mut self, c: char, node: &Node) {
        self.refuse(|| {
            let message = format!("the control character U+{:04X} cannot be written", c as u32);
            Diagnostic::error("control-character", message)
                .at(node.span())
                .help("remove it, or encode the text, as base64 for example")
        });
    }

    fn refuse(&mut self, why: impl FnOnce() -> Diagnostic) {
        self.refusal.get_or_insert_with(why);
    }

    fn new_line(&mut self) {
        self.out.push('\n');
        self.line_start = self.out.len();
    }
}

fn is_flow(node: &Node) -> bool {
    node.style() == Style::Flow
}

/// The text of a key. JSON is between the tree and the canonical form, so every key is a string there.
fn key_text(key: &Node) -> &str {
    key.text().unwrap_or_default()
}

fn is_sorted(entries: &[Entry]) -> bool {
    entries.windows(2).all(|pair| order::compare(key_text(&pair[0].key), key_text(&pair[1].key)).is_le())
}

/// Whether the text of an integer is already what would be written.
fn is_ordinary_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    match digits {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.len() < 18 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}
