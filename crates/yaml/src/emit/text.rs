//! How the canonical form writes a string: bare if that is safe, else quoted or as a block, folded past 80 columns.
//!
//! These are the habits of go-yaml's emitter, its oddities included, since its bytes are the measure.

/// Where a scalar is.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// How far the lines after the first are indented.
    pub indent: usize,
    /// The byte of the output where the present line begins.
    pub line_start: usize,
    /// Whether line breaks may be put in: anywhere but in a key on one line with its value.
    pub breaks: bool,
}

/// Past this column the next lone space becomes a line break.
const WIDTH: usize = 80;

/// How a string was written.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Form {
    Bare,
    Quoted,
    Block,
    /// A block that ends in a line break, and with it its last line.
    ClosedBlock,
}

/// Appends a string.
pub(super) fn write(text: &str, place: Place, out: &mut String) -> Form {
    if is_plain(text) && !crate::scalar::resolve::is_ambiguous(text) {
        write_plain(text, place, out);
        return Form::Bare;
    }
    write_guarded(text, place, out)
}

/// The first character for which a string cannot be written.
// quirk(control-characters-are-refused): A resource is turned into JSON before it is written, and the JSON is read as
// YAML. JSON leaves U+007F and its like unescaped, and the YAML reader refuses them, so a text that contains one cannot
// be written. (sigs.k8s.io/yaml `JSONToYAML`)
pub(super) fn refused(text: &str) -> Option<char> {
    text.chars().find(|c| matches!(c, '\u{7F}'..='\u{84}' | '\u{86}'..='\u{9F}' | '\u{FFFE}' | '\u{FFFF}'))
}

/// Appends a key where it can be written bare and short, as almost all can; otherwise nothing.
pub(super) fn write_simple_key(key: &str, out: &mut String) -> bool {
    let simple = key.len() <= LONGEST_KEY && is_plain(key) && !crate::scalar::resolve::is_ambiguous(key);
    if simple {
        out.push_str(key);
    }
    simple
}

/// In bytes; a longer key takes lines of its own.
const LONGEST_KEY: usize = 128;

/// Whether a key needs the long form, `? key` and `: value` on lines of their own.
pub(super) fn is_complex_key(key: &str) -> bool {
    key.len() > 128
        || key.bytes().any(|b| matches!(b, b'\n' | b'\r' | 0xC2 | 0xE2)) && key.chars().any(is_break)
}

/// Whether a string can be written bare, its meaning aside. One look-up per byte for everything ordinary.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else { return false };
    if last == b' ' || CLASS[first as usize] & FIRST != 0 && !may_begin(bytes) {
        return false;
    }
    let mut at = 0;
    while let Some(ahead) = bytes[at..].iter().position(|b| CLASS[*b as usize] & LOOK != 0) {
        at += ahead;
        match bytes[at] {
            b':' if matches!(bytes.get(at + 1), None | Some(b' ')) => return false,
            b'#' if at > 0 && bytes[at - 1] == b' ' => return false,
            b':' | b'#' => at += 1,
            _ => {
                let c = text[at..].chars().next().expect("every byte before was a whole character");
                if !is_printable(c) || is_break(c) {
                    return false;
                }
                at += c.len_utf8();
            }
        }
    }
    true
}

/// The first byte is an indicator of some kind: whether it may begin a bare scalar after all.
fn may_begin(bytes: &[u8]) -> bool {
    match bytes {
        [b'-', b'-', b'-', ..] | [b'.', b'.', b'.', ..] => false,
        [b'-' | b'?' | b':'] | [b'-' | b'?' | b':', b' ', ..] => false,
        [b'-' | b'?' | b':' | b'.', ..] => true,
        _ => false,
    }
}

/// A byte that cannot be the first of a bare scalar, or only with the right ones after it.
const FIRST: u8 = 1;
/// A byte that needs a closer look anywhere.
const LOOK: u8 = 2;

const CLASS: [u8; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = match i as u8 {
            b'#' | b':' => FIRST | LOOK,
            b' ' | b',' | b'[' | b']' | b'{' | b'}' | b'&' | b'*' | b'!' | b'|' => FIRST,
            b'>' | b'\'' | b'"' | b'%' | b'@' | b'`' | b'?' | b'-' | b'.' => FIRST,
            b'!'..=b'~' => 0,
            _ => LOOK,
        };
        i += 1;
    }
    table
};

/// What may appear in the output unescaped.
fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{A0}'..='\u{FFFD}') && c != '\u{FEFF}'
}

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn write_plain(text: &str, place: Place, out: &mut String) {
    if !place.breaks || out.len() - place.line_start + text.len() <= WIDTH {
        out.push_str(text);
        return;
    }
    let mut column = column(out, place);
    let mut start = 0;
    for (at, _) in text.match_indices(' ') {
        if alone(text, at) && column + text[start..at].chars().count() > WIDTH {
            out.push_str(&text[start..at]);
            break_line(place.indent, out);
            (start, column) = (at + 1, place.indent);
        }
    }
    out.push_str(&text[start..]);
}

/// Everything that cannot be written bare.
#[cold]
fn write_guarded(text: &str, place: Place, out: &mut String) -> Form {
    if place.breaks && text.contains(NEXT_LINE) {
        return write(&fold_next_lines(text), place, out);
    }
    let traits = Traits::of(text);
    if text.contains('\n') {
        if traits.block && place.breaks {
            write_literal(text, place.indent, out);
            return if text.ends_with(is_break) { Form::ClosedBlock } else { Form::Block };
        }
        write_double_quoted(text, place, out);
    } else if traits.single_quoted && !crate::scalar::resolve::is_ambiguous(text) {
        write_single_quoted(text, place, out);
    } else {
        write_double_quoted(text, place, out);
    }
    Form::Quoted
}

/// A line break to YAML 1.1, an ordinary character to JSON: refused as part of a key.
pub(super) const NEXT_LINE: char = '\u{85}';

/// Folds U+0085 as a line break.
// quirk(next-line-is-a-break): Strings go through JSON, which leaves the line break U+0085 unescaped, and are read by
// the rules of YAML: one becomes a space, several become one line break less, spaces around them are lost.
// (sigs.k8s.io/yaml `JSONToYAML`)
fn fold_next_lines(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(NEXT_LINE) {
        folded.push_str(rest[..at].trim_end_matches(' '));
        let after = rest[at..].trim_start_matches([' ', NEXT_LINE]);
        let breaks = rest[at..rest.len() - after.len()].matches(NEXT_LINE).count();
        match breaks {
            1 => folded.push(' '),
            _ => (1..breaks).for_each(|_| folded.push('\n')),
        }
        rest = after;
    }
    folded.push_str(rest);
    folded
}

/// Which ways of writing a string would keep it whole.
struct Traits {
    single_quoted: bool,
    block: bool,
}

impl Traits {
    fn of(text: &str) -> Self {
        let mut traits = Self { single_quoted: true, block: !text.ends_with(' ') };
        let mut before = '\0';
        for c in text.chars() {
            if !is_printable(c) || before == ' ' && is_break(c) {
                return Self { single_quoted: false, block: false };
            }
            if c == ' ' && is_break(before) {
                traits.single_quoted = false;
            }
            before = c;
        }
        traits
    }
}

fn write_single_quoted(text: &str, place: Place, out: &mut String) {
    let mut column = column(out, place) + 1;
    let mut after_break = false;
    out.push('\'');
    for (at, c) in text.char_indices() {
        if c == ' ' && place.breaks && column > WIDTH && at > 0 && at + 1 < text.len() && alone(text, at) {
            break_line(place.indent, out);
            column = place.indent;
        } else if is_break(c) {
            out.push(c);
            column = 0;
        } else {
            if after_break {
                column += indent(place.indent, out);
            }
            if c == '\'' {
                out.push('\'');
                column += 1;
            }
            out.push(c);
            column += 1;
        }
        after_break = is_break(c);
    }
    out.push('\'');
}

fn write_double_quoted(text: &str, place: Place, out: &mut String) {
    // quirk(byte-order-mark-escapes-all): A text that begins with a byte order mark is written with every character
    // escaped: the check for the mark looks at the start of the text instead of the current position. (go-yaml
    // `is_bom`)
    let escape_all = text.starts_with('\u{FEFF}');
    let mut column = column(out, place) + 1;
    let mut after_space = false;
    out.push('"');
    for (at, c) in text.char_indices() {
        if escape_all || !is_printable(c) || is_break(c) || matches!(c, '"' | '\\') {
            column += escape(c, out);
            after_space = false;
            continue;
        }
        if c == ' ' && place.breaks && !after_space && column > WIDTH && at > 0 && at + 1 < text.len() {
            break_line(place.indent, out);
            column = place.indent;
            if text.as_bytes()[at + 1] == b' ' {
                out.push('\\');
                column += 1;
            }
        } else {
            out.push(c);
            column += 1;
        }
        after_space = c == ' ';
    }
    out.push('"');
}

/// Appends an escape sequence, and gives back its length.
pub(in crate::emit) fn escape(c: char, out: &mut String) -> usize {
    use std::fmt::Write;
    let before = out.len();
    out.push('\\');
    let written = match c {
        '\0' => out.write_char('0'),
        '\x07' => out.write_char('a'),
        '\x08' => out.write_char('b'),
        '\t' => out.write_char('t'),
        '\n' => out.write_char('n'),
        '\x0B' => out.write_char('v'),
        '\x0C' => out.write_char('f'),
        '\r' => out.write_char('r'),
        '\x1B' => out.write_char('e'),
        '"' | '\\' => out.write_char(c),
        '\u{85}' => out.write_char('N'),
        '\u{A0}' => out.write_char('_'),
        '\u{2028}' => out.write_char('L'),
        '\u{2029}' => out.write_char('P'),
        '\0'..='\u{FF}' => write!(out, "x{:02X}", c as u32),
        '\0'..='\u{FFFF}' => write!(out, "u{:04X}", c as u32),
        _ => write!(out, "U{:08X}", c as u32),
    };
    written.expect("a String takes everything");
    out.len() - before
}

fn write_literal(text: &str, depth: usize, out: &mut String) {
    out.push('|');
    if text.starts_with([' ', '\n', '\u{2028}', '\u{2029}']) {
        out.push('2');
    }
    let mut from_behind = text.chars().rev();
    match (from_behind.next().is_some_and(is_break), from_behind.next()) {
        (false, _) => out.push('-'),
        (true, before) if before.is_none_or(is_break) => out.push('+'),
        _ => {}
    }
    out.push('\n');
    for line in text.split_inclusive(['\n', '\u{2028}', '\u{2029}']) {
        if !line.starts_with(is_break) {
            indent(depth, out);
        }
        out.push_str(line);
    }
}

/// Whether the space at a position has no other beside it: folding there loses nothing.
fn alone(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    (at == 0 || bytes[at - 1] != b' ') && bytes.get(at + 1) != Some(&b' ')
}

fn column(out: &str, place: Place) -> usize {
    out[place.line_start..].chars().count()
}

fn break_line(depth: usize, out: &mut String) {
    out.push('\n');
    indent(depth, out);
}

/// Appends spaces, and gives back how many.
pub(in crate::emit) fn indent(depth: usize, out: &mut String) -> usize {
    const SPACES: &str = "                                                                ";
    let mut left = depth;
    while left > SPACES.len() {
        out.push_str(SPACES);
        left -= SPACES.len();
    }
    out.push_str(&SPACES[..left]);
    depth
}
