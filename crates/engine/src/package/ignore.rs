//! `.krmignore`: which files and folders a package does not count as its own, written as in `.gitignore`.

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::files::world::EntryKind;

/// The patterns of one file.
#[derive(Clone, Debug)]
pub(crate) struct Ignore(Gitignore);

/// A line that is not a valid pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadPattern {
    /// Counted from 1.
    pub line: usize,
    pub why: String,
}

impl Default for Ignore {
    fn default() -> Self {
        Self(Gitignore::empty())
    }
}

impl Ignore {
    pub(crate) fn parse(text: &str) -> Result<Self, BadPattern> {
        let mut patterns = GitignoreBuilder::new("");
        for (number, line) in text.lines().enumerate() {
            let added = patterns.add_line(None, &without_braces(line));
            added.map_err(|error| BadPattern { line: number + 1, why: reason(error) })?;
        }
        patterns.build().map(Self).map_err(|error| BadPattern { line: 1, why: reason(error) })
    }

    /// Whether a file or folder is left out. The path is relative to the folder of the file, with slashes. That a folder
    /// above it is left out is for the caller to know.
    pub(crate) fn matches(&self, path: &str, kind: EntryKind) -> bool {
        self.0.matched(path, kind == EntryKind::Folder).is_ignore()
    }
}

fn reason(error: ignore::Error) -> String {
    match error {
        ignore::Error::Glob { err, .. } => err,
        other => other.to_string(),
    }
}

/// Braces mean nothing to git; to the library they enclose alternatives.
fn without_braces(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let (mut escaped, mut in_class) = (false, false);
    for c in line.chars() {
        if matches!(c, '{' | '}') && !escaped && !in_class {
            out.push('\\');
        }
        match c {
            '[' if !escaped => in_class = true,
            ']' if !escaped => in_class = false,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_to_git() {
        let ignored =
            |patterns: &str, path: &str| Ignore::parse(patterns).unwrap().matches(path, EntryKind::File);
        for (patterns, path, expected) in [
            ("*.tmp.yaml", "a.tmp.yaml", true),
            ("*.tmp.yaml", "deep/er/a.tmp.yaml", true),
            ("/a.yaml", "a.yaml", true),
            ("/a.yaml", "b/a.yaml", false),
            ("b/a.yaml", "b/a.yaml", true),
            ("b/a.yaml", "c/b/a.yaml", false),
            ("**/a.yaml", "c/b/a.yaml", true),
            ("c/**/a.yaml", "c/x/y/a.yaml", true),
            ("c/**/a.yaml", "c/a.yaml", true),
            ("c/**", "c/x/a.yaml", true),
            ("c/**", "c", false),
            ("a?.yaml", "ab.yaml", true),
            ("a[0-9].yaml", "a7.yaml", true),
            ("a[!0-9].yaml", "a7.yaml", false),
            ("# a.yaml", "a.yaml", false),
            ("", "a.yaml", false),
            ("*.yaml\n!keep.yaml", "keep.yaml", false),
            ("*.yaml\n!keep.yaml", "other.yaml", true),
            ("folder/", "folder", false),
            ("a*b*c*d.yaml", "aXbXbXcXd.yaml", true),
            ("\\#x.yaml", "#x.yaml", true),
            ("{a,b}.yaml", "a.yaml", false),
            ("{a,b}.yaml", "{a,b}.yaml", true),
            ("[{x].yaml", "{.yaml", true),
            ("a.yaml ", "a.yaml", true),
            ("c/*", "c/x/a.yaml", false),
            ("!a.yaml", "a.yaml", false),
        ] {
            assert_eq!(ignored(patterns, path), expected, "{patterns:?} {path}");
        }
        assert!(Ignore::parse("folder/").unwrap().matches("folder", EntryKind::Folder));
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test may look at the clock")]
    fn patterns_that_could_match_in_many_ways_take_no_longer() {
        let pattern = "**/a/".repeat(15) + "b";
        let path = "a/".repeat(60) + "c";
        #[allow(clippy::disallowed_methods)]
        let start = std::time::Instant::now();
        assert!(!Ignore::parse(&pattern).unwrap().matches(&path, EntryKind::File));
        assert!(start.elapsed().as_secs() < 5);
    }

    #[test]
    fn a_pattern_that_is_not_valid_is_reported_with_its_line() {
        assert_eq!(Ignore::parse("a\nb[z-a]\n").unwrap_err().line, 2);
    }
}
