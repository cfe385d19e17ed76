//! The characters a text may not have.

use std::ops::Range;
use std::sync::Arc;

use crate::diag::{Diagnostic, Result};
use crate::source::Source;

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
