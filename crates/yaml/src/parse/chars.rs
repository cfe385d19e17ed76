//! Bytes to text: encodings, and the characters a text may not have.

use std::ops::Range;
use std::sync::Arc;

use crate::diag::{Diagnostic, Result};
use crate::source::Source;

/// Turns the bytes of a file into text: UTF-8, or UTF-16 if a byte order mark says so.
///
/// See [`Sources::add_bytes`](crate::Sources::add_bytes) for an error to show to people.
pub fn decode(bytes: Vec<u8>) -> Result<String, BadEncoding> {
    match bytes.get(..2) {
        Some([0xFF, 0xFE]) => decode_utf16(&bytes[2..], u16::from_le_bytes),
        Some([0xFE, 0xFF]) => decode_utf16(&bytes[2..], u16::from_be_bytes),
        _ => String::from_utf8(bytes).map_err(|e| BadEncoding {
            offset: e.utf8_error().valid_up_to(),
            shown: String::from_utf8_lossy(e.as_bytes()).into_owned(),
            encoding: "UTF-8",
        }),
    }
}

/// Turns a text into the bytes of a file that had these bytes before: in the same encoding.
///
/// ```
/// let before = b"\xFE\xFF\0a";
/// assert_eq!(krm_yaml::encode_like(before, "ab"), b"\xFE\xFF\0a\0b");
/// assert_eq!(krm_yaml::encode_like(b"a", "ab"), b"ab");
/// ```
pub fn encode_like(before: &[u8], text: &str) -> Vec<u8> {
    let utf16 = |bytes: fn(u16) -> [u8; 2]| {
        let mark = std::iter::once(0xFEFF);
        mark.chain(text.encode_utf16()).flat_map(bytes).collect()
    };
    match before.get(..2) {
        Some([0xFF, 0xFE]) => utf16(u16::to_le_bytes),
        Some([0xFE, 0xFF]) => utf16(u16::to_be_bytes),
        _ => text.as_bytes().to_vec(),
    }
}

/// The same as [`decode`] for a text that is only searched or shown: `U+FFFD` for what cannot be read.
pub fn decode_lossy(bytes: Vec<u8>) -> String {
    decode(bytes).unwrap_or_else(|bad| bad.shown)
}

/// Bytes that are not text.
#[derive(Debug)]
pub struct BadEncoding {
    /// Where in `shown` the fault is.
    pub offset: usize,
    /// The text as far as it can be read, `U+FFFD` standing for what cannot.
    pub shown: String,
    /// Which encoding was expected.
    pub encoding: &'static str,
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, BadEncoding> {
    let units = || bytes.chunks(2).map(|pair| pair.try_into().map_or(0xD800, unit));
    let mut text = String::with_capacity(bytes.len());
    for read in char::decode_utf16(units()) {
        match read {
            Ok(c) => text.push(c),
            Err(_) => {
                let offset = text.len();
                let shown = char::decode_utf16(units()).map(|c| c.unwrap_or('\u{fffd}')).collect();
                return Err(BadEncoding { offset, shown, encoding: "UTF-16" });
            }
        }
    }
    Ok(text)
}

/// Refuses characters that no text may have. Says whether there are line breaks other than CR and LF.
pub(crate) fn check(source: &Arc<Source>, range: Range<usize>) -> Result<bool> {
    /// How much is checked at once: most pieces are plain ASCII, which a loop of a few instructions finds out.
    const PIECE: usize = 256;
    let bytes = source.text().as_bytes();
    let mut odd_breaks = false;
    let mut start = range.start;
    while start < range.end {
        let end = (start + PIECE).min(range.end);
        // Without leaving early and in bytes alone, so that many are looked at at once. Signed, the bytes that are not
        // ASCII are below the space, too.
        let needs_a_look = bytes[start..end].iter().fold(0, |found, b| {
            let below_space = u8::from((*b as i8) < b' ' as i8);
            found | (below_space ^ u8::from(*b == b'\n')) | u8::from(*b == 0x7F)
        });
        if needs_a_look != 0 {
            for (at, byte) in (start..).zip(&bytes[start..end]) {
                if matches!(byte, b' '..=b'~') {
                    continue;
                }
                match class(&bytes[at..range.end]) {
                    Class::Fine => {}
                    Class::Break => odd_breaks = true,
                    Class::Control => return Err(control_character(source, at)),
                }
            }
        }
        start = end;
    }
    Ok(odd_breaks)
}

enum Class {
    Fine,
    Break,
    Control,
}

/// What the character is that begins these bytes; the bytes within a character are fine.
fn class(bytes: &[u8]) -> Class {
    match bytes {
        [b'\n' | b'\r' | b'\t', ..] => Class::Fine,
        [..0x20 | 0x7F, ..] => Class::Control,
        [0xC2, 0x85, ..] | [0xE2, 0x80, 0xA8 | 0xA9, ..] => Class::Break,
        [0xC2, 0x80..0xA0, ..] | [0xEF, 0xBF, 0xBE | 0xBF, ..] => Class::Control,
        _ => Class::Fine,
    }
}

/// The length of a line break other than CR and LF that begins these bytes, or 0.
pub(crate) fn odd_break(bytes: &[u8]) -> usize {
    match bytes {
        [0xC2, 0x85, ..] => 2,
        [0xE2, 0x80, 0xA8 | 0xA9, ..] => 3,
        _ => 0,
    }
}

fn control_character(source: &Arc<Source>, at: usize) -> Diagnostic {
    let c = source.text()[at..].chars().next().unwrap_or_default();
    let name = match c {
        '\0' => " (NUL)",
        '\u{8}' => " (backspace)",
        '\u{1b}' => " (escape)",
        '\u{7f}' => " (delete)",
        _ => "",
    };
    let code = c as u32;
    let escape = if code < 0x100 { format!("\\x{code:02x}") } else { format!("\\u{code:04x}") };
    Diagnostic::error(
        "yaml-control-character",
        format!("the control character U+{code:04X}{name} is not allowed"),
    )
    .at(source.span(at, at + c.len_utf8()))
    .help(format!("remove it, or write it as `{escape}` within double quotes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf16_is_read_where_a_mark_says_so() {
        assert_eq!(decode(b"\xFF\xFEa\0\xE9\0".to_vec()).unwrap(), "aé");
        assert_eq!(decode(b"\xFE\xFF\0a\xD8\x3D\xDE\x00".to_vec()).unwrap(), "a😀");
        let bad = decode(b"\xFF\xFEa\0\0\xD8".to_vec()).unwrap_err();
        assert_eq!((bad.offset, bad.shown.as_str()), (1, "a\u{fffd}"));
        assert_eq!(decode(b"\xFF\xFEa\0b".to_vec()).unwrap_err().offset, 1);
    }

    #[test]
    fn bytes_that_are_not_text_have_a_location() {
        let bad = decode(b"a: b\xC3(".to_vec()).unwrap_err();
        assert_eq!((bad.offset, bad.shown.as_str()), (4, "a: b\u{fffd}("));
    }

    #[test]
    fn control_characters_are_refused_wherever_they_are() {
        for bad in ["a\0", "a\u{1b}", "a\u{7f}", "a\u{80}", "a\u{9f}", "a\u{ffff}", "a\u{fffe}"] {
            let source = Source::detached("t", bad);
            let error = check(&source, 0..bad.len()).unwrap_err();
            assert_eq!((error.code(), error.place().start), ("yaml-control-character", 1), "{bad:?}");
        }
        for (good, odd) in [("\t\r\nü😀\u{a0}\u{fffd}", false), ("\u{85}", true), ("\u{2029}", true)] {
            assert_eq!(check(&Source::detached("t", good), 0..good.len()).unwrap(), odd, "{good:?}");
        }
    }
}
