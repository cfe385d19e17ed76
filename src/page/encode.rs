//! Data within a page, and what the content security policy knows it by.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

/// Data longer than this is compressed: it is smaller by far, and as fast to read.
const LONG: usize = 200 << 10;

/// JSON as it is put into a `script` element, and how it is encoded there.
pub fn data(json: &str) -> (&'static str, String) {
    if json.len() <= LONG {
        // Nothing in there ends the element or begins a comment.
        return ("json", json.replace('<', "\\u003c"));
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let zipped = encoder.write_all(json.as_bytes()).and_then(|()| encoder.finish());
    ("gzip", STANDARD.encode(zipped.expect("writing to memory does not fail")))
}

/// The digest of an inline script or style.
pub fn integrity(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_its_element() {
        assert_eq!(data("[\"</script>\"]"), ("json", "[\"\\u003c/script>\"]".to_owned()));
        assert_eq!(data(&" ".repeat(LONG + 1)).0, "gzip");
    }
}
