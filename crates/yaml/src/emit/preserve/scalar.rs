//! One scalar as text, in a style that keeps it whole.

use crate::node::{Node, Style, Tag};
use crate::scalar::resolve;

/// Where a scalar is to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Within `[]` or `{}`.
    pub flow: bool,
    /// In front of a `:` on the same line.
    pub key: bool,
}

/// Which styles would give back the same text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traits {
    pub multiline: bool,
    plain: bool,
    plain_in_flow: bool,
    single_quoted: bool,
    block: bool,
}

impl Traits {
    pub(crate) fn of(text: &str) -> Self {
        let Some(first) = text.chars().next() else {
            return Self {
                multiline: false,
                plain: true,
                plain_in_flow: false,
                single_quoted: true,
                block: false,
            };
        };
        let marker = text.starts_with("---") || text.starts_with("...");
        let mut indicator =
            marker || matches!(first, '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|');
        indicator |= matches!(first, '>' | '\'' | '"' | '%' | '@' | '`');
        let mut flow_indicator = indicator || matches!(first, '?' | ':');
        let (mut breaks, mut tabs, mut special, mut break_space, mut space_break) =
            (false, false, false, false, false);
        let mut before = None;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let blank_follows = chars.peek().is_none_or(|next| matches!(next, ' ' | '\t'));
            match c {
                ':' => {
                    flow_indicator = true;
                    indicator |= blank_follows;
                }
                '?' | '-' if before.is_none() && blank_follows => indicator = true,
                ',' | '?' | '[' | ']' | '{' | '}' => flow_indicator = true,
                '#' if before.is_none_or(|b| matches!(b, ' ' | '\t') || is_break(b)) => indicator = true,
                '\t' => tabs = true,
                ' ' => break_space |= before.is_some_and(is_break),
                _ if is_break(c) => {
                    breaks = true;
                    space_break |= before == Some(' ');
                }
                _ => {}
            }
            // What breaks lines in YAML 1.1 and not in 1.2 has to be escaped to be the same in both.
            special |= c != '\t' && !is_printable(c) || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}');
            before = Some(c);
        }
        let edge = |c: char| c == ' ' || is_break(c);
        let hidden =
            edge(first) || text.ends_with(edge) || break_space || space_break || tabs || special || breaks;
        Self {
            multiline: breaks,
            plain: !hidden && !indicator,
            plain_in_flow: !hidden && !indicator && !flow_indicator,
            // After a line break at the end the closing quote would be less indented than strict readers allow.
            single_quoted: !(break_space || space_break || tabs || special || text.ends_with(is_break)),
            block: !(text.ends_with(' ') || space_break || special),
        }
    }
}

/// The style a scalar is written in: the one it asks for if that keeps its type and text, else the next that does.
pub(super) fn style(node: &Node, text: &str, wanted: Style, traits: Traits, place: Place) -> Style {
    let tagged = node.trivia().tag.as_deref().is_some_and(|tag| tag != "!");
    let string = matches!(node.tag(), Tag::Str | Tag::Binary | Tag::Other);
    let mut style = match wanted {
        // A number in quotes would be a string.
        Style::SingleQuoted | Style::DoubleQuoted | Style::Literal | Style::Folded if string || tagged => {
            wanted
        }
        _ if text.contains('\n') && !place.flow => Style::Literal,
        _ if text.contains('\n') => Style::DoubleQuoted,
        _ if tagged => Style::Plain,
        // What code made is quoted for every reader there is; what was read plain stays so where it means the same, except
        // for a sign that no reader takes for another value and some refuse.
        Style::Plain if node.tag() == Tag::Str && (resolve::plain(text) != Tag::Str || text == "=") => {
            Style::DoubleQuoted
        }
        Style::Plain => Style::Plain,
        _ if node.tag() == Tag::Str && resolve::is_read_otherwise(text) => Style::DoubleQuoted,
        _ => Style::Plain,
    };
    if place.key && traits.multiline {
        style = Style::DoubleQuoted;
    }
    if style == Style::Plain {
        let allowed = if place.flow { traits.plain_in_flow } else { traits.plain };
        if !allowed || text.is_empty() && (place.flow || place.key) {
            style = Style::SingleQuoted;
        }
    }
    match style {
        Style::SingleQuoted if !traits.single_quoted => Style::DoubleQuoted,
        Style::Literal | Style::Folded if !traits.block || place.flow || place.key => Style::DoubleQuoted,
        _ => style,
    }
}

/// Lets go of a plain style that a new value has from the one it replaces, where it would not be read as a string.
pub(super) fn unquote_only_if_safe(node: &mut Node) {
    let is_unsafe = node.tag() == Tag::Str && node.text().is_some_and(resolve::is_read_otherwise);
    if node.style() == Style::Plain && is_unsafe {
        node.set_style(Style::Any);
    }
}

/// What may be in a text unescaped, tabs apart.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{A0}'..='\u{FFFD}') && c != '\u{FEFF}'
}

pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Appends a text in double quotes as JSON has them, which YAML reads the same: JSON knows few of YAML's escapes, and what is
/// beyond `\uFFFF` is written as it is, since YAML does not know surrogates.
pub(super) fn json_quoted(text: &str, out: &mut String) {
    use std::fmt::Write;
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' | '\x08' | '\t' | '\n' | '\x0C' | '\r' => drop(crate::emit::text::escape(c, out)),
            '\u{10000}'.. => out.push(c),
            _ if is_printable(c) && !is_break(c) => out.push(c),
            _ => write!(out, "\\u{:04x}", c as u32).expect("a String takes everything"),
        }
    }
    out.push('"');
}

/// Appends a text in double quotes, on one line.
pub(super) fn double_quoted(text: &str, out: &mut String) {
    // quirk(byte-order-mark-escapes-all): See `emit/text.rs`. (go-yaml `is_bom`)
    let escape_all = text.starts_with('\u{FEFF}');
    out.push('"');
    for c in text.chars() {
        if escape_all || !is_printable(c) || is_break(c) || matches!(c, '"' | '\\') {
            crate::emit::text::escape(c, out);
        } else {
            out.push(c);
        }
    }
    out.push('"');
}

/// What follows the `|` or `>` of a block scalar: the indentation, where it cannot be guessed from the text, and
/// what becomes of the line breaks at the end.
///
/// A tab at the beginning is not indentation, and readers of Go refuse it as such unless the indentation is given.
pub(super) fn block_hints(text: &str, indent: usize) -> String {
    let mut hints = String::new();
    if text.starts_with([' ', '\t']) || text.starts_with(is_break) {
        hints.push_str(&indent.to_string());
    }
    let mut from_behind = text.chars().rev();
    match (from_behind.next().is_some_and(is_break), from_behind.next()) {
        (false, _) => hints.push('-'),
        (true, before) if before.is_none_or(is_break) => hints.push('+'),
        _ => {}
    }
    hints
}
