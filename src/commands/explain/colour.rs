//! Histories in colours, for a terminal.

use std::ops::Range;

use crate::report::colour::{BOLD, CYAN, DIM, YELLOW, paint};
use crate::report::columns::changed_parts;

/// What changed is underlined too, for those who do not see the colours.
const GONE: &str = "4;31";
const NEW: &str = "4;32";

/// A history: places stand out, and of values only the part that changed.
pub fn history(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut painted = String::with_capacity(text.len() * 2);
    for (at, line) in lines.iter().enumerate() {
        let after = |at: usize| lines.get(at).and_then(|line| line.strip_prefix(ARROW));
        let value = line.trim_start();
        let indent = &line[..line.len() - value.len()];
        painted.push_str(&match (after(at + 1), after(at)) {
            (Some(after), _) => indent.to_owned() + &changed(value, after).0,
            (None, Some(after)) => ARROW.to_owned() + &changed(lines[at.max(1) - 1].trim_start(), after).1,
            (None, None) => single(line),
        });
        painted.push('\n');
    }
    painted
}

/// Before a value that is too long to be on the line of its event.
const ARROW: &str = "     → ";

/// Lines with places in front of them, which are dimmed: people look for the lines.
pub fn blame(text: &str) -> String {
    let line = |line: &str| match line.split_once(" │ ") {
        Some((place, rest)) => format!("{} {rest}\n", paint(DIM, &format!("{place} │"))),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// A line that says all by itself.
fn single(line: &str) -> String {
    let words = line.trim_start();
    if words.starts_with("near: ") || words.starts_with("note: ") {
        return paint(YELLOW, line);
    }
    if !line.starts_with(' ') && !line.is_empty() {
        return paint(BOLD, line);
    }
    let (line, edit) = match line.find("   ← ") {
        Some(at) => (&line[..at], paint(BOLD, &line[at..])),
        None => (line, String::new()),
    };
    let values = line.split_once(" → ").and_then(|(left, after)| {
        let start = left.rfind("  ")? + 2;
        let (before, after) = changed(&left[start..], after);
        Some((&left[..start], format!("{before} → {after}")))
    });
    let (left, values) = values.unwrap_or((line, String::new()));
    match place(left) {
        Some((start, end)) => {
            format!("{}{}{}{values}{edit}", &left[..start], paint(CYAN, &left[start..end]), &left[end..])
        }
        None => format!("{left}{values}{edit}"),
    }
}

/// Where in a line the place is that it begins with, after its number.
fn place(line: &str) -> Option<(usize, usize)> {
    let number = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
    let words = number.trim_start();
    let start = line.len() - words.len();
    let word = words.split(' ').next().filter(|word| !word.is_empty())?;
    let (file, position) = word.split_once(':')?;
    let is_place = !file.is_empty() && position.split(':').all(|part| part.parse::<usize>().is_ok());
    is_place.then_some((start, start + word.len()))
}

/// Two values with what differs between them marked.
fn changed(before: &str, after: &str) -> (String, String) {
    let [gone, new] = changed_parts(before, after);
    let marked = |text: &str, part: Range<usize>, style: &str| {
        format!("{}{}{}", &text[..part.start], paint(style, &text[part.clone()]), &text[part.end..])
    };
    (marked(before, gone, GONE), marked(after, new, NEW))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_part_that_changed_is_marked() {
        let (before, after) = changed("web:1.4.2", "web:1.5.2");
        assert_eq!(before, "web:1.\u{1b}[4;31m4\u{1b}[0m.2");
        assert_eq!(after, "web:1.\u{1b}[4;32m5\u{1b}[0m.2");
        assert_eq!(changed("a", "aé").1, "a\u{1b}[4;32mé\u{1b}[0m");
        assert_eq!(changed("aa", "aaa"), ("aa".to_owned(), "aa\u{1b}[4;32ma\u{1b}[0m".to_owned()));
    }

    #[test]
    fn colours_leave_the_text_as_it_is() {
        let text = "Deployment web\n  spec.replicas: 3\n\n  1  base/web.yaml:6:13  written  1\n  2  k.yaml:9:1  x   1 → 3   ← edit here\n       \
                    long before\n     → long after\n  near: k.yaml:3:1  no image\n";
        let mut plain = history(text);
        while let Some(start) = plain.find('\u{1b}') {
            let end = plain[start..].find('m').unwrap() + start;
            plain.replace_range(start..=end, "");
        }
        assert_eq!(plain, text);
        assert!(history(text).contains("\u{1b}[36mbase/web.yaml:6:13\u{1b}[0m"));
    }
}
