//! Addresses of files.

use std::path::{Path, PathBuf};

/// The path of a `file:` address; `None` for any other.
pub fn path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = decode(rest.split(['?', '#']).next()?)?;
    // `/c:/folder`, of systems that have drives.
    let is_drive = path.len() > 2 && path.as_bytes()[2] == b':' && path.as_bytes()[1].is_ascii_alphabetic();
    Some(PathBuf::from(if cfg!(windows) && is_drive { &path[1..] } else { &path[..] }))
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        match (*first == b'%').then(|| after.get(..2).and_then(escaped)).flatten() {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// The `file:` address of a path.
pub fn of(path: &Path) -> String {
    let text = path.to_string_lossy();
    let text = if cfg!(windows) { format!("/{}", text.replace('\\', "/")) } else { text.into_owned() };
    let mut uri = String::from("file://");
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(byte as char)
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn every_path_comes_back() {
        for text in ["/a/b.yaml", "/with space/ä😀.yaml", "/a%20b/#?x[1].yaml"] {
            assert_eq!(path(&of(Path::new(text))).as_deref(), Some(Path::new(text)));
        }
        assert_eq!(path("file:///a%2Fb%zz").as_deref(), Some(Path::new("/a/b%zz")));
        assert_eq!(path("untitled:Untitled-1"), None);
    }
}
