//! `!!binary` scalars: base64 of what they mean.

use base64::engine::general_purpose::{self, GeneralPurpose};
use base64::{Engine, alphabet};

/// What a `!!binary` scalar means, as text: a byte that is not part of a character becomes `U+FFFD`, as where Go makes
/// JSON of it. `None` if it is not base64.
pub fn text(base64: &str) -> Option<String> {
    let mut out = String::new();
    for chunk in decode(base64)?.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| '\u{fffd}'));
    }
    Some(out)
}

/// Decodes standard base64, padded; line breaks do not count, nor do bits that are left over at the end.
pub fn decode(base64: &str) -> Option<Vec<u8>> {
    let config = general_purpose::PAD.with_decode_allow_trailing_bits(true);
    let digits: Vec<u8> = base64.bytes().filter(|b| !matches!(b, b'\n' | b'\r')).collect();
    GeneralPurpose::new(&alphabet::STANDARD, config).decode(digits).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_groups_with_padding_at_the_end_decode() {
        for (base64, expected) in [
            ("", ""),
            ("YQ==", "a"),
            ("YWI=", "ab"),
            ("YWJj", "abc"),
            ("YW\nJjZA==\n", "abcd"),
            ("YR==", "a"),
        ] {
            assert_eq!(decode(base64).as_deref(), Some(expected.as_bytes()), "{base64:?}");
        }
        for bad in ["Y", "YQ", "YQ=", "YQ==YQ==", "=", "Y===", "YQ= =", "Y!==", "YWJj="] {
            assert_eq!(decode(bad), None, "{bad:?}");
        }
        assert_eq!(text("/+JhgQ==").as_deref(), Some("\u{fffd}\u{fffd}a\u{fffd}"));
    }
}
