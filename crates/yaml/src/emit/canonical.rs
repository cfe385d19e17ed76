//! The canonical form: the tree in one pass, straight into the output.

use super::{order, text};
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
    let line_start = out.len();
    let mut emitter = Emitter { out, line_start, positions: Vec::new() };
    emitter.root(node);
}

struct Emitter<'o> {
    out: &'o mut String,
    /// Where the present line begins in `out`.
    line_start: usize,
    /// The order of keys of all maps under way, each behind that of the map around it.
    positions: Vec<u32>,
}

/// What stands to the left of a collection's first line.
#[derive(Clone, Copy, PartialEq)]
enum Lead {
    /// Nothing: it begins on a line of its own.
    Line,
    /// A `-`, `?` or `:` on the same line.
    Indicator,
}

impl Emitter<'_> {
    fn root(&mut self, node: &Node) {
        match node.value() {
            Value::Map(map) if !map.is_empty() => self.map(map, 0, Lead::Line, is_flow(node)),
            Value::Seq(items) if !items.is_empty() => self.seq(items, 0, Lead::Line, is_flow(node)),
            _ => self.leaf(node, 2, false),
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
        if text::is_complex_key(key) {
            self.out.push_str("? ");
            self.string(key, indent + 2);
            text::indent(indent, self.out);
            self.out.push(':');
            return self.beside(&entry.value, indent, flow);
        }
        let place = text::Place { indent, line_start: self.line_start, breaks: false };
        text::write(key, place, self.out);
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
            // The reference writes an empty value between braces or brackets as an empty string.
            Tag::Null if flow && text.is_empty() => self.out.push_str("\"\""),
            Tag::Null => self.out.push_str("null"),
            Tag::Bool => self.out.push_str(if node.as_bool() == Some(true) { "true" } else { "false" }),
            Tag::Int => return self.number(text, indent),
            Tag::Float => return self.number(text, indent),
            _ if !node.is_scalar() => self.out.push_str(text),
            Tag::Timestamp => match crate::resolve::timestamp(text) {
                Some(timestamp) => return self.string(&timestamp, indent),
                None => return self.string(text, indent),
            },
            Tag::Binary => return self.string(crate::binary::text(text).as_deref().unwrap_or(text), indent),
            _ => return self.string(text, indent),
        }
        self.new_line();
    }

    fn number(&mut self, text: &str, indent: usize) {
        if is_ordinary_integer(text) {
            self.out.push_str(text);
        } else if let Some(n) = crate::resolve::int(text) {
            use std::fmt::Write;
            write!(self.out, "{n}").expect("a String takes everything");
        } else if let Some(n) = crate::resolve::float(text) {
            crate::number::yaml(n, self.out);
        } else {
            return self.string(text, indent);
        }
        self.new_line();
    }

    fn string(&mut self, text: &str, indent: usize) {
        let place = text::Place { indent, line_start: self.line_start, breaks: true };
        if text::write(text, place, self.out) {
            self.line_start = self.out.len();
        } else {
            self.new_line();
        }
    }

    fn new_line(&mut self) {
        self.out.push('\n');
        self.line_start = self.out.len();
    }
}

fn is_flow(node: &Node) -> bool {
    node.style() == Style::Flow
}

/// The text of a key. JSON stands between the tree and the canonical form, so every key is a string there.
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
