//! Addresses of files.

use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What is written as `%20` in a path.
const RESERVED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The path of a `file:` address; `None` for any other.
pub fn path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = percent_decode_str(rest.split(['?', '#']).next()?).decode_utf8().ok()?;
    // `/c:/folder`, of systems that have drives.
    let is_drive = path.len() > 2 && path.as_bytes()[2] == b':' && path.as_bytes()[1].is_ascii_alphabetic();
    Some(PathBuf::from(if cfg!(windows) && is_drive { &path[1..] } else { &path[..] }))
}

/// The `file:` address of a path.
pub fn of(path: &Path) -> String {
    let text = path.to_string_lossy();
    let text = if cfg!(windows) { format!("/{}", text.replace('\\', "/")) } else { text.into_owned() };
    format!("file://{}", utf8_percent_encode(&text, RESERVED))
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
