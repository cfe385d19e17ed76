//! Bytes to text and back.

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
}
