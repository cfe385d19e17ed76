//! Paths by their text alone: nothing here asks the disk.

use std::path::{Component, Path, PathBuf};

/// A path without `.`, `..` and double slashes, found by looking at the text alone.
pub fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for part in path.components() {
        match (part, cleaned.components().next_back()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                cleaned.pop();
            }
            (Component::ParentDir, Some(Component::RootDir)) => {}
            _ => cleaned.push(part),
        }
    }
    if cleaned.as_os_str().is_empty() {
        cleaned.push(".");
    }
    cleaned
}

/// The same for a relative path with slashes between names, as packages have them on every system.
pub(crate) fn clean_slashed(path: &str) -> String {
    let cleaned = clean(Path::new(path));
    let names = cleaned.components().map(|part| part.as_os_str().to_string_lossy());
    names.collect::<Vec<_>>().join("/")
}

/// Whether a path leads out of the folder it starts in, at its end or on the way.
pub(crate) fn leaves(path: &Path) -> bool {
    let mut depth = 0;
    path.components().any(|part| {
        match part {
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            _ => {}
        }
        depth < 0
    })
}

/// A relative path without `.` and `..`; `None` for one that is absolute, leads out of its folder or into `.git`, or has
/// characters that other systems take for separators.
pub(crate) fn within(path: &str) -> Option<String> {
    if path.starts_with('/') || path.ends_with('/') || path.contains(['\\', '\0']) || leaves(Path::new(path))
    {
        return None;
    }
    let cleaned = clean(Path::new(path));
    // What git finds there it may run.
    let is_git = |part: Component| part.as_os_str().eq_ignore_ascii_case(".git");
    let is_inside = cleaned != Path::new(".") && !cleaned.components().any(is_git);
    is_inside.then(|| clean_slashed(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_within_a_folder_stays_there() {
        for (path, cleaned) in
            [("a//./b", Some("a/b")), ("a/../b", Some("b")), ("a/.gitignore", Some("a/.gitignore"))]
        {
            assert_eq!(within(path).as_deref(), cleaned);
        }
        for path in ["", ".", "/a", "a/", "..", "../a", "a/../../a/b", "a/.Git/hooks", "a\\b", "a/.."] {
            assert_eq!(within(path), None, "{path}");
        }
        assert!(leaves(Path::new("a/../../b")) && !leaves(Path::new("a/../b")));
    }

    #[test]
    fn paths_are_cleaned_by_their_text() {
        for (path, cleaned) in
            [("a/../b", "b"), ("./a//b/.", "a/b"), ("../a", "../a"), ("/..", "/"), ("a/..", "."), ("", ".")]
        {
            assert_eq!(clean(Path::new(path)), Path::new(cleaned), "{path}");
        }
        for (path, cleaned) in [("./a//b/", "a/b"), ("a/../b", "b"), ("../a", "../a"), ("", ".")] {
            assert_eq!(clean_slashed(path), cleaned, "{path}");
        }
    }
}
