//! What changed between two texts, line by line, in the form `diff -u` prints.

use std::fmt::Write as _;

/// Lines shown around each change.
const CONTEXT: usize = 3;
/// Beyond this many pairs of lines, what lies between the first and the last change counts as changed.
const MOST_PAIRS: usize = 1 << 22;

#[derive(Clone, Copy, PartialEq)]
enum Line<'t> {
    Same(&'t str),
    Removed(&'t str),
    Added(&'t str),
}

/// The unified difference; empty if there is none.
pub fn diff(name: &str, before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    let lines = compare(before, after);
    let mut out = format!("--- {name}\n+++ {name}\n");
    let changed: Vec<usize> = (0..lines.len()).filter(|at| !matches!(lines[*at], Line::Same(_))).collect();
    let mut next = 0;
    while let Some(first) = changed.get(next) {
        let mut last = *first;
        while let Some(at) = changed.get(next).filter(|at| **at <= last + 2 * CONTEXT) {
            (last, next) = (*at, next + 1);
        }
        let from = first.saturating_sub(CONTEXT);
        hunk(&lines, from, (last + CONTEXT + 1).min(lines.len()), &mut out);
    }
    out
}

fn hunk(lines: &[Line], from: usize, to: usize, out: &mut String) {
    let in_old = |line: &&Line| !matches!(line, Line::Added(_));
    let in_new = |line: &&Line| !matches!(line, Line::Removed(_));
    let range = |is_in: &dyn Fn(&&Line) -> bool| {
        let before = lines[..from].iter().filter(is_in).count();
        let count = lines[from..to].iter().filter(is_in).count();
        format!("{},{count}", if count == 0 { before } else { before + 1 })
    };
    writeln!(out, "@@ -{} +{} @@", range(&in_old), range(&in_new)).expect("memory can always be written to");
    for line in &lines[from..to] {
        let (sign, text) = match line {
            Line::Same(text) => (' ', text),
            Line::Removed(text) => ('-', text),
            Line::Added(text) => ('+', text),
        };
        out.push(sign);
        out.push_str(text);
        if !text.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

fn compare<'t>(before: &'t str, after: &'t str) -> Vec<Line<'t>> {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old_mid, new_mid) = (&old_rest[..old_rest.len() - tail], &new_rest[..new_rest.len() - tail]);
    let mut lines: Vec<Line> = old[..head].iter().map(|line| Line::Same(line)).collect();
    middle(old_mid, new_mid, &mut lines);
    lines.extend(old_rest[old_rest.len() - tail..].iter().map(|line| Line::Same(line)));
    lines
}

/// The longest common subsequence, by the table of all pairs.
fn middle<'t>(old: &[&'t str], new: &[&'t str], lines: &mut Vec<Line<'t>>) {
    let (mut a, mut b) = (0, 0);
    if old.len() * new.len() <= MOST_PAIRS {
        let width = new.len() + 1;
        let mut longest = vec![0u32; (old.len() + 1) * width];
        for i in (0..old.len()).rev() {
            for j in (0..new.len()).rev() {
                longest[i * width + j] = match old[i] == new[j] {
                    true => longest[(i + 1) * width + j + 1] + 1,
                    false => longest[(i + 1) * width + j].max(longest[i * width + j + 1]),
                };
            }
        }
        while a < old.len() && b < new.len() {
            if old[a] == new[b] {
                lines.push(Line::Same(old[a]));
                (a, b) = (a + 1, b + 1);
            } else if longest[(a + 1) * width + b] >= longest[a * width + b + 1] {
                lines.push(Line::Removed(old[a]));
                a += 1;
            } else {
                lines.push(Line::Added(new[b]));
                b += 1;
            }
        }
    }
    lines.extend(old[a..].iter().map(|line| Line::Removed(line)));
    lines.extend(new[b..].iter().map(|line| Line::Added(line)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_what_is_around_them() {
        let before = "a\nb\nc\nd\ne\nf\ng\n";
        let after = "a\nb\nc\nD\ne\nf\ng\nh";
        let wanted = "--- x\n+++ x\n@@ -1,7 +1,8 @@\n a\n b\n c\n-d\n+D\n e\n f\n g\n+h\n\\ No newline at end of file\n";
        assert_eq!(diff("x", before, after), wanted);
        assert_eq!(diff("x", before, before), "");
        assert_eq!(diff("x", "", "a\n"), "--- x\n+++ x\n@@ -0,0 +1,1 @@\n+a\n");
    }
}
