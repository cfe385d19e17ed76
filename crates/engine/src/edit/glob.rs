//! Patterns for paths: `*`, `?` and `[a-z]`, none of which match a `/`. As Go's `filepath.Match` and `Glob` have them.

use std::path::Path;

use krm_yaml::Result;

use super::bad_argument;
use crate::files::world::World;

/// The paths below a folder that a pattern matches, sorted; hidden ones only if the pattern itself begins with a dot.
/// A path without any pattern is itself, where it exists.
pub fn expand(world: &dyn World, root: &Path, pattern: &str) -> Result<Vec<String>> {
    check(pattern)?;
    let is_hidden = |path: &str| path.rsplit('/').next().is_some_and(|name| name.starts_with('.'));
    let mut found = walk(world, root, pattern);
    if !is_hidden(pattern) {
        found.retain(|path| !is_hidden(path));
    }
    Ok(found)
}

fn walk(world: &dyn World, root: &Path, pattern: &str) -> Vec<String> {
    let exists = |path: &str| {
        let full = root.join(path);
        world.is_file(&full) || world.is_dir(&full)
    };
    if !has_magic(pattern) {
        return if exists(pattern) { vec![pattern.to_owned()] } else { Vec::new() };
    }
    let (folder, last) = pattern.rsplit_once('/').map_or(("", pattern), |(folder, last)| (folder, last));
    let folders = if has_magic(folder) { walk(world, root, folder) } else { vec![folder.to_owned()] };
    let mut found = Vec::new();
    for folder in folders {
        let names = world.list(&root.join(&folder)).unwrap_or_default();
        let names = names.into_iter().filter_map(|entry| entry.name.into_string().ok());
        for name in names.filter(|name| matches(last, name)) {
            let joined = Path::new(&folder).join(name);
            found.push(crate::files::world::clean(&joined).to_string_lossy().into_owned());
        }
    }
    found
}

fn has_magic(pattern: &str) -> bool {
    pattern.contains(['*', '?', '[', '\\'])
}

/// Refuses a pattern that cannot match anything by its syntax.
pub(crate) fn check(pattern: &str) -> Result<()> {
    match parse(pattern) {
        Some(_) => Ok(()),
        None => Err(bad_argument(format!("`{pattern}` is not a valid pattern"))
            .help("`[` begins a set of characters that `]` ends; `\\[` is the character itself")),
    }
}

/// Whether a whole path matches; a pattern that is not valid matches nothing.
pub fn matches(pattern: &str, path: &str) -> bool {
    let Some(parts) = parse(pattern) else { return false };
    let path: Vec<char> = path.chars().collect();
    // Where the last star began to match, and how much it has taken: only the last one ever needs to take more.
    let (mut at, mut part) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at < path.len() {
        let fits = match parts.get(part) {
            Some(Part::Star) => {
                star = Some((part, at));
                part += 1;
                continue;
            }
            Some(one) => one.matches(path[at]),
            None => false,
        };
        if fits {
            (at, part) = (at + 1, part + 1);
            continue;
        }
        match star {
            Some((from, taken)) if path[taken] != '/' => {
                star = Some((from, taken + 1));
                (part, at) = (from + 1, taken + 1);
            }
            _ => return false,
        }
    }
    parts[part..].iter().all(|rest| matches!(rest, Part::Star))
}

enum Part {
    Star,
    Any,
    Char(char),
    Set { negated: bool, ranges: Vec<(char, char)> },
}

impl Part {
    fn matches(&self, c: char) -> bool {
        match self {
            Part::Star => false,
            Part::Any => c != '/',
            Part::Char(own) => *own == c,
            Part::Set { negated, ranges } => {
                c != '/' && ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *negated
            }
        }
    }
}

fn parse(pattern: &str) -> Option<Vec<Part>> {
    let mut chars = pattern.chars().peekable();
    let mut parts = Vec::new();
    while let Some(c) = chars.next() {
        parts.push(match c {
            '*' => Part::Star,
            '?' => Part::Any,
            '\\' => Part::Char(chars.next()?),
            '[' => {
                let negated = chars.next_if_eq(&'^').is_some();
                let mut ranges = Vec::new();
                let one = |chars: &mut std::iter::Peekable<std::str::Chars<'_>>| match chars.next()? {
                    '\\' => chars.next(),
                    '-' | ']' => None,
                    c => Some(c),
                };
                loop {
                    if !ranges.is_empty() && chars.next_if_eq(&']').is_some() {
                        break;
                    }
                    let low = one(&mut chars)?;
                    let high = if chars.next_if_eq(&'-').is_some() { one(&mut chars)? } else { low };
                    ranges.push((low, high));
                }
                Part::Set { negated, ranges }
            }
            c => Part::Char(c),
        });
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_go() {
        for (pattern, path, wanted) in [
            ("abc", "abc", true),
            ("*", "abc", true),
            ("*c", "abc", true),
            ("a*", "ab/c", false),
            ("a*/b", "abc/b", true),
            ("a*/b", "a/c/b", false),
            ("a*b*c*d*e*/f", "axbxcxdxexxx/f", true),
            ("a*b?c*x", "abxbbxdbxebxczzx", true),
            ("a*b?c*x", "abxbbxdbxebxczzy", false),
            ("ab[b-d]", "abc", true),
            ("ab[^c]", "abc", false),
            ("a\\*b", "a*b", true),
            ("a?b", "a/b", false),
            ("[]a]", "]", false),
            ("[a", "a", false),
            ("resources/*.yml", "resources/x.yml", true),
            ("*", "", true),
            ("", "", true),
        ] {
            assert_eq!(matches(pattern, path), wanted, "{pattern} {path}");
        }
        assert!(check("[a").is_err() && check("a\\").is_err() && check("[-x]").is_err());
    }
}
