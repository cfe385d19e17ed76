//! Characters that look like a space or like nothing, and are letters like any other to YAML.

use std::sync::Arc;

use crate::diag::Diagnostic;
use crate::node::{Node, Style};
use crate::source::Source;

use super::documents;

/// What to do about one.
const ADVICE: &str = "replace it with an ordinary space, or remove it";

/// The name of a character that is easily taken for a space or not seen at all.
fn name(c: char) -> Option<&'static str> {
    Some(match c {
        '\u{a0}' => "no-break space",
        '\u{ad}' => "soft hyphen",
        '\u{2002}' => "en space",
        '\u{2003}' => "em space",
        '\u{2009}' => "thin space",
        '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{205f}' => "typographic space",
        '\u{200b}' => "zero-width space",
        '\u{200c}' => "zero-width non-joiner",
        '\u{200d}' => "zero-width joiner",
        '\u{200e}' | '\u{200f}' => "direction mark",
        '\u{202f}' => "narrow no-break space",
        '\u{2060}' => "word joiner",
        '\u{3000}' => "ideographic space",
        '\u{feff}' => "byte order mark",
        _ => return None,
    })
}

/// The first such character at the beginning of a text, at its end, or between a key and what follows: its offset, and
/// what it is.
fn first_in(text: &str) -> Option<(usize, String)> {
    let start = text.chars().next().map(|c| (0, c));
    let end = text.char_indices().next_back();
    let key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let after_key = text.find(|c| !key(c)).filter(|at| text[*at..].starts_with(':'));
    let after_key = after_key.and_then(|at| text[at + 1..].chars().next().map(|c| (at + 1, c)));
    [start, after_key, end].into_iter().flatten().find_map(|(at, c)| {
        let name = name(c)?;
        Some((at, format!("{name} (U+{:04X})", u32::from(c))))
    })
}

/// A warning for each key and each plain value of a text that begins or ends with such a character, or has one in the
/// place of the space after a `:`.
///
/// ```
/// let source = krm_yaml::Source::detached("site.yaml", "title: Gate\nserver:\n\u{a0} name: web\n");
/// let [warning] = &krm_yaml::odd_spaces(&source)[..] else { panic!("there is one") };
/// assert_eq!(warning.message(), "there is a no-break space (U+00A0) in this key");
/// ```
pub fn odd_spaces(source: &Arc<Source>) -> Vec<Diagnostic> {
    let text = source.text();
    // Hardly any text has one.
    if text.is_ascii() || !text.chars().any(|c| name(c).is_some()) {
        return Vec::new();
    }
    documents(source).map_while(Result::ok).flat_map(|document| odd_spaces_in(&document.root)).collect()
}

/// The same for a tree.
pub fn odd_spaces_in(root: &Node) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    look(root, "value", &mut found);
    found
}

fn look(node: &Node, what: &str, found: &mut Vec<Diagnostic>) {
    for entry in node.as_map().into_iter().flatten() {
        look(&entry.key, "key", found);
        look(&entry.value, "value", found);
    }
    node.items().iter().for_each(|item| look(item, "value", found));
    // What is in quotes or in a block text is meant to be there.
    let plain = node.text().filter(|text| !text.is_ascii() && node.style() == Style::Plain);
    if let Some((_, which)) = plain.and_then(first_in) {
        let message = format!("there is a {which} in this {what}");
        found.push(Diagnostic::warning("odd-space", message).at(node.span()).help(ADVICE));
    }
}

/// Adds what is odd about the spaces of the line that an error is in.
pub(crate) fn explain(error: Diagnostic, source: &Source) -> Diagnostic {
    let position = source.position(error.place().start as usize);
    let line = source.line(position.line);
    if line.is_ascii() {
        return error;
    }
    let indentation = line.len() - line.trim_start_matches([' ', '\t', '-']).len();
    let Some((at, which)) = first_in(&line[indentation..]) else { return error };
    let length = line[indentation + at..].chars().next().map_or(0, char::len_utf8);
    let start = source.line_start(position.line).unwrap_or_default() + indentation + at;
    // A mark at the start of a file is fine: it says how the file is encoded.
    if start == 0 && line.starts_with('\u{feff}') {
        return error;
    }
    let here = source.span(start, start + length);
    error.without_help().note(format!("there is a {which} here"), here).help(ADVICE)
}
