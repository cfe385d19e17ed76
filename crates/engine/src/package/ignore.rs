//! `.krmignore`: which files and folders a package does not count as its own, written as in `.gitignore`.

/// The patterns of one file.
#[derive(Clone, Debug, Default)]
pub struct Ignore {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    /// The parts between slashes.
    parts: Vec<String>,
    /// Begins at the folder of the file; otherwise fits at any depth.
    anchored: bool,
    only_folders: bool,
    /// Takes back what an earlier rule said.
    negated: bool,
}

impl Ignore {
    pub fn parse(text: &str) -> Self {
        Self { rules: text.lines().filter_map(Rule::parse).collect() }
    }

    /// Whether a file or folder is left out. The path is relative to the folder of the file, with slashes. That a folder
    /// above it is left out is for the caller to know.
    pub fn matches(&self, path: &str, is_folder: bool) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        let fits = |rule: &&Rule| (is_folder || !rule.only_folders) && rule.fits(&parts);
        self.rules.iter().rev().find(fits).is_some_and(|rule| !rule.negated)
    }
}

impl Rule {
    fn parse(line: &str) -> Option<Self> {
        let mut line = line.trim_end_matches('\r');
        if line.starts_with('#') {
            return None;
        }
        // Blanks at the end do not count unless the last is escaped.
        while line.ends_with(' ') && !line.ends_with("\\ ") {
            line = &line[..line.len() - 1];
        }
        let negated = line.starts_with('!');
        let line = line.strip_prefix('!').unwrap_or(line);
        let only_folders = line.ends_with('/');
        let line = line.trim_end_matches('/');
        let anchored = line.contains('/');
        let parts: Vec<String> = line.trim_start_matches('/').split('/').map(str::to_owned).collect();
        (!line.is_empty()).then_some(Self { parts, anchored, only_folders, negated })
    }

    fn fits(&self, path: &[&str]) -> bool {
        match self.anchored {
            true => parts_fit(&self.parts, path),
            // A single name, at any depth.
            false => path.last().is_some_and(|name| glob(self.parts[0].as_bytes(), name.as_bytes())),
        }
    }
}

fn parts_fit(pattern: &[String], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "**" => {
            // At the end it means everything below, but not the folder itself.
            (rest.is_empty() && !path.is_empty())
                || (0..path.len()).any(|skip| !rest.is_empty() && parts_fit(rest, &path[skip..]))
        }
        (Some((first, rest)), Some((name, below))) => {
            glob(first.as_bytes(), name.as_bytes()) && parts_fit(rest, below)
        }
        _ => false,
    }
}

/// `*`, `?`, `[a-z]` and `\`, within one name. Goes back to the last `*` only, so it is never worse than quadratic.
fn glob(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        let step = match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, n));
                p += 1;
                continue;
            }
            Some(b'?') => Some(1),
            Some(b'[') => class(&pattern[p..], name[n]),
            Some(b'\\') if pattern.get(p + 1) == Some(&name[n]) => Some(2),
            Some(c) if *c == name[n] && *c != b'\\' => Some(1),
            _ => None,
        };
        match (step, star) {
            (Some(length), _) => (p, n) = (p + length, n + 1),
            (None, Some((after, at))) => {
                star = Some((after, at + 1));
                (p, n) = (after, at + 1);
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

/// The length of a `[...]` that begins the pattern, if the byte is one of those in it.
fn class(pattern: &[u8], byte: u8) -> Option<usize> {
    let negated = matches!(pattern.get(1), Some(b'!' | b'^'));
    let start = if negated { 2 } else { 1 };
    // A bracket right at the start is one of the characters.
    let end = start + 1 + pattern.get(start + 1..)?.iter().position(|c| *c == b']')?;
    let set = &pattern[start..end];
    let mut found = false;
    let mut i = 0;
    while i < set.len() {
        if i + 2 < set.len() && set[i + 1] == b'-' {
            found |= (set[i]..=set[i + 2]).contains(&byte);
            i += 3;
        } else {
            found |= set[i] == byte;
            i += 1;
        }
    }
    (found != negated).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_to_git() {
        let ignored = |patterns: &str, path: &str| Ignore::parse(patterns).matches(path, false);
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
        ] {
            assert_eq!(ignored(patterns, path), expected, "{patterns:?} {path}");
        }
        assert!(Ignore::parse("folder/").matches("folder", true));
    }
}
