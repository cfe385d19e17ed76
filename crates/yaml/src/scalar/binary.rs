//! `!!binary` scalars: base64 of what they mean.

/// What a `!!binary` scalar means, as text: a byte that is no part of a character becomes `U+FFFD`, as where Go makes
/// JSON of it. `None` where it is no base64.
pub fn text(base64: &str) -> Option<String> {
    let mut out = String::new();
    for chunk in decode(base64)?.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| '\u{fffd}'));
    }
    Some(out)
}

/// Decodes standard base64, padded; line breaks do not count.
pub fn decode(base64: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(base64.len() / 4 * 3);
    let mut group = [0u8; 4];
    let (mut filled, mut padding) = (0, 0);
    for byte in base64.bytes().filter(|b| !matches!(b, b'\n' | b'\r')) {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' if filled >= 2 => {
                padding += 1;
                0
            }
            _ => return None,
        };
        if padding > 0 && (byte != b'=' || filled == 0) {
            return None;
        }
        group[filled] = value;
        filled += 1;
        if filled == 4 {
            let bits = group.iter().fold(0u32, |bits, value| bits << 6 | u32::from(*value));
            out.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
            filled = 0;
        }
    }
    (filled == 0).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_groups_with_padding_at_the_end_decode() {
        for (base64, expected) in
            [("", ""), ("YQ==", "a"), ("YWI=", "ab"), ("YWJj", "abc"), ("YW\nJjZA==\n", "abcd")]
        {
            assert_eq!(decode(base64).as_deref(), Some(expected.as_bytes()), "{base64:?}");
        }
        for bad in ["Y", "YQ", "YQ=", "YQ==YQ==", "=", "Y===", "YQ= =", "Y!==", "YWJj="] {
            assert_eq!(decode(bad), None, "{bad:?}");
        }
        assert_eq!(text("/+JhgQ==").as_deref(), Some("\u{fffd}\u{fffd}a\u{fffd}"));
    }
}
