//! Values beside each other: what was on the left, what is on the right.

use krm_engine::Node;
use krm_engine::diff::lines::{Hunk, hunks};
use krm_engine::diff::{Change, ChangeKind};

use super::text::{counted, is_own, values};
use crate::report::colour::{DIM, GREEN, RED, paint, underlined};
use crate::report::columns::{changed_parts, folded, padded};
use crate::report::sanitize;

/// Two columns, each with a sign in front of every line.
#[derive(Clone, Copy)]
pub struct Columns {
    /// How wide a text may be; what is wider is folded.
    text: usize,
    /// How many lines around a change are shown.
    context: usize,
    colours: bool,
}

/// Narrower terminals show values one below the other, as without columns.
pub const NARROWEST_TERMINAL: usize = 120;

/// Before both columns, around their signs, and between them.
const AROUND: usize = 9;
/// More lines of one value are counted.
const MOST_LINES: usize = 12;

/// A line on both sides.
type Row<'l> = (Option<&'l str>, Option<&'l str>);

impl Columns {
    pub fn new(width: usize, context: usize, colours: bool) -> Self {
        Self { text: width.saturating_sub(AROUND) / 2, context, colours }
    }

    /// Where texts of the right column begin, counted from 0.
    pub fn middle(self) -> usize {
        self.text + AROUND
    }

    /// What the two sides are called.
    pub fn names(self, from: &str, to: &str) -> String {
        let [from, to] = [from, to].map(|name| sanitize::inert(name).into_owned());
        self.line([(' ', &from, None), (' ', &to, None)])
    }

    /// Where the values of a row are written.
    pub fn places(self, from: &str, to: &str) -> String {
        self.line([(' ', from, Some(DIM)), (' ', to, Some(DIM))])
    }

    /// Two texts of one line; one that is the same on both sides has no signs.
    pub fn row(self, before: Option<&str>, after: Option<&str>) -> String {
        match (before, after) {
            (Some(before), Some(after)) if before == after => {
                self.line([(' ', before, Some(DIM)), (' ', after, Some(DIM))])
            }
            _ => {
                let side = |sign: char, text, colour| match text {
                    Some(text) => (sign, text, Some(colour)),
                    None => (' ', "", None),
                };
                self.line([side('-', before, RED), side('+', after, GREEN)])
            }
        }
    }

    /// The values of a change, line by line.
    pub fn change(self, change: &Change, full: bool) -> String {
        let [mut before, mut after] = match change.kind {
            // The names of the elements in their order, rather than all of them twice.
            ChangeKind::Moved => <[String; 2]>::from(values(change)).map(|value| vec![value]),
            _ if is_own(change) && change.before.is_some() && change.after.is_some() => {
                <[String; 2]>::from(values(change)).map(|value| vec![value])
            }
            _ => [&change.before, &change.after].map(|node| lines(node.as_ref())),
        };
        // Values that may not be seen look the same.
        if change.masked && before == after {
            after.iter_mut().for_each(|line| line.push_str(" (changed)"));
        }
        if change.guessed && change.kind == ChangeKind::Renamed {
            after.iter_mut().for_each(|line| line.push_str(" (similar)"));
        }
        before.iter_mut().chain(&mut after).for_each(|line| *line = line.replace('\t', "\\t"));
        let rows = self.rows(&before, &after);
        let most = if full { rows.len() } else { MOST_LINES.min(rows.len()) };
        let mut out: String = rows[..most].iter().map(|(before, after)| self.row(*before, *after)).collect();
        if most < rows.len() {
            out.push_str(&format!(
                "    … {} (--full)\n",
                counted(rows.len() - most, "more line", "more lines")
            ));
        }
        out
    }

    /// Lines that replace each other, and those around them.
    fn rows<'l>(self, before: &'l [String], after: &'l [String]) -> Vec<Row<'l>> {
        let mut rows: Vec<Row> = Vec::new();
        let mut next = 0;
        let parts = hunks(before, after);
        let both = |at: usize, shift: usize| {
            (Some(before[at].as_str()), Some(after[at + shift - before.len()].as_str()))
        };
        for (number, Hunk { old, new }) in parts.iter().enumerate() {
            // The same line has another number on the other side; counted from the end it cannot be negative.
            let shift = before.len() + new.start - old.start;
            let first = old.start.saturating_sub(self.context).max(next);
            rows.extend((first..old.start).map(|at| both(at, shift)));
            for at in 0..old.len().max(new.len()) {
                let line = |lines: &'l [String], of: &std::ops::Range<usize>| {
                    (at < of.len()).then(|| lines[of.start + at].as_str())
                };
                rows.push((line(before, old), line(after, new)));
            }
            let until = parts.get(number + 1).map_or(before.len(), |part| part.old.start);
            next = until.min(old.end + self.context);
            let shift = before.len() + new.end - old.end;
            rows.extend((old.end..next).map(|at| both(at, shift)));
        }
        rows
    }

    fn line(self, [left, right]: [(char, &str, Option<&str>); 2]) -> String {
        let changed = |before: &str, after: &str| match before.is_empty() || after.is_empty() {
            // There is nothing to compare with.
            true => [0..0, 0..0],
            false => changed_parts(before, after),
        };
        let [kept_left, kept_right] = changed(left.1, right.1);
        let (before, after) = (folded(left.1, self.text, kept_left), folded(right.1, self.text, kept_right));
        let [part_left, part_right] = changed(&before, &after);
        let before = padded(&before, self.text);
        let cell = |(sign, _, colour): (char, &str, Option<&str>),
                    text: &str,
                    part: std::ops::Range<usize>| {
            match colour.filter(|_| self.colours) {
                // What changed is underlined too, for those who do not see the colours.
                Some(colour) if !part.is_empty() => {
                    let changed = underlined(&text[part.clone()]);
                    paint(colour, &format!("{sign} {}{changed}{}", &text[..part.start], &text[part.end..]))
                }
                Some(colour) => paint(colour, &format!("{sign} {text}")),
                None => format!("{sign} {text}"),
            }
        };
        let (left, right) = (cell(left, &before, part_left), cell(right, &after, part_right));
        format!("{}\n", format!("  {left} │ {right}").trim_end())
    }
}

/// A value in lines: a text by its own, a map or a list as YAML.
fn lines(node: Option<&Node>) -> Vec<String> {
    let Some(node) = node else { return Vec::new() };
    let text = match node.text() {
        Some(text) => text.trim_end_matches('\n').to_owned(),
        None => {
            let mut text = String::new();
            match krm_yaml::try_canonical_into(node, &mut text) {
                Ok(()) => text,
                Err(_) => krm_yaml::json::compact(node),
            }
        }
    };
    let text = sanitize::inert(&text).into_owned();
    if text.is_empty() { vec![text] } else { text.lines().map(str::to_owned).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn lines_that_replace_each_other_are_beside_each_other() {
        let columns = Columns::new(120, 1, false);
        let before = texts(&["a", "b", "c", "d", "e", "f"]);
        let after = texts(&["a", "B", "c", "d", "e", "f", "g"]);
        let rows = columns.rows(&before, &after);
        let wanted = [
            (Some("a"), Some("a")),
            (Some("b"), Some("B")),
            (Some("c"), Some("c")),
            (Some("f"), Some("f")),
            (None, Some("g")),
        ];
        assert_eq!(rows, wanted);
        // Neither the second change nor the lines between two that touch are shown twice.
        let (before, after) = (texts(&["x", "k", "y"]), texts(&["k", "z"]));
        let rows = columns.rows(&before, &after);
        let wanted = [(Some("x"), None), (Some("k"), Some("k")), (Some("y"), Some("z"))];
        assert_eq!(rows, wanted);
    }

    #[test]
    fn every_line_is_as_wide_as_the_terminal_at_most() {
        let long = "長い".repeat(40);
        for width in [40, 60, 80, 120, 200] {
            let columns = Columns::new(width, 3, false);
            let text = columns.row(Some(&format!("{long}1")), Some(&format!("{long}2")));
            let bar = text.find('│').expect("a bar between the columns");
            assert!(crate::report::columns::width(text.trim_end()) <= width, "{width}: {text}");
            assert!(text[..bar].contains('1') && text[bar..].contains("2"), "{text}");
        }
    }

    #[test]
    fn what_changed_is_underlined() {
        let text = Columns::new(30, 3, true).row(Some("web:1.4"), Some("web:1.5"));
        assert!(text.contains("\u{1b}[31m- web:1.\u{1b}[4m4\u{1b}[24m"), "{text:?}");
        assert!(text.contains("\u{1b}[32m+ web:1.\u{1b}[4m5\u{1b}[24m"), "{text:?}");
        assert!(Columns::new(30, 3, true).row(None, Some("web")).contains("\u{1b}[32m+ web\u{1b}[0m"));
    }
}
