//! Which lines of a text differ from another's.

use std::ops::Range;

/// The lines of one text that replace those of another. One of the two ranges may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The lines that go, by index from 0.
    pub old: Range<usize>,
    /// The lines that take their place, by index from 0 in the new text.
    pub new: Range<usize>,
}

/// The most differences to tell apart; after these everything counts as changed. Nobody reads more.
const MOST: usize = 4000;

/// The parts in which two lists differ, in order; as few changes as possible. (Myers, "An O(ND) Difference Algorithm".)
pub fn hunks<T: PartialEq>(old: &[T], new: &[T]) -> Vec<Hunk> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&old_rest[..old_rest.len() - tail], &new_rest[..new_rest.len() - tail]);
    let mut hunks: Vec<Hunk> = Vec::new();
    let (mut x, mut y) = (0, 0);
    for (from, to) in matches(a, b) {
        if x < from || y < to {
            hunks.push(Hunk { old: head + x..head + from, new: head + y..head + to });
        }
        (x, y) = (from + 1, to + 1);
    }
    if x < a.len() || y < b.len() {
        hunks.push(Hunk { old: head + x..head + a.len(), new: head + y..head + b.len() });
    }
    hunks
}

/// The elements that stay, as pairs of positions.
fn matches<T: PartialEq>(a: &[T], b: &[T]) -> Vec<(usize, usize)> {
    if a.is_empty() || b.is_empty() {
        return Vec::new();
    }
    let most = (a.len() + b.len()).min(MOST);
    let offset = most as isize + 1;
    let mut furthest = vec![0usize; 2 * most + 3];
    let mut steps: Vec<Vec<usize>> = Vec::new();
    let at = |k: isize| (k + offset) as usize;
    for d in 0..=most as isize {
        steps.push(furthest[at(-d - 1)..=at(d + 1)].to_vec());
        let mut k = -d;
        while k <= d {
            let down = k == -d || (k != d && furthest[at(k - 1)] < furthest[at(k + 1)]);
            let mut x = if down { furthest[at(k + 1)] } else { furthest[at(k - 1)] + 1 };
            let mut y = (x as isize - k) as usize;
            while x < a.len() && y < b.len() && a[x] == b[y] {
                (x, y) = (x + 1, y + 1);
            }
            furthest[at(k)] = x;
            if x >= a.len() && y >= b.len() {
                return back(&steps, a.len(), b.len());
            }
            k += 2;
        }
    }
    Vec::new()
}

/// The way back through what was reached with each number of changes.
fn back(steps: &[Vec<usize>], a: usize, b: usize) -> Vec<(usize, usize)> {
    let (mut x, mut y) = (a as isize, b as isize);
    let mut pairs = Vec::new();
    for (d, reached) in steps.iter().enumerate().rev() {
        let d = d as isize;
        // What was kept of a step begins at the diagonal `-d - 1`.
        let get = |k: isize| reached[(k + d + 1) as usize] as isize;
        let k = x - y;
        let down = k == -d || (k != d && get(k - 1) < get(k + 1));
        let from_k = if down { k + 1 } else { k - 1 };
        let (from_x, from_y) = match d {
            0 => (0, 0),
            _ => (get(from_k), get(from_k) - from_k),
        };
        let (start_x, start_y) = match (d, down) {
            (0, _) => (0, 0),
            (_, true) => (from_x, from_y + 1),
            (_, false) => (from_x + 1, from_y),
        };
        while x > start_x && y > start_y {
            (x, y) = (x - 1, y - 1);
            pairs.push((x as usize, y as usize));
        }
        (x, y) = (from_x, from_y);
    }
    pairs.reverse();
    pairs
}

/// The difference of two texts as `diff -u` prints it, without the names of files; empty if there is none.
pub fn unified(old: &str, new: &str, context: usize) -> String {
    let (a, b) = (split(old), split(new));
    print(&hunks(&a, &b), &a, &b, context)
}

/// The lines of a text, each with its line break.
pub(crate) fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Differences in the form of `diff -u`. The lines may be shown otherwise than they were compared.
pub(crate) fn print<T: AsRef<str>>(hunks: &[Hunk], a: &[T], b: &[T], context: usize) -> String {
    let mut text = String::new();
    let mut next = 0;
    while let Some(first) = hunks.get(next) {
        let mut end = next + 1;
        // Changes whose surroundings touch are shown as one.
        while end < hunks.len() && hunks[end].old.start - hunks[end - 1].old.end <= 2 * context {
            end += 1;
        }
        let last = &hunks[end - 1];
        let before = first.old.start.min(context);
        let after = (a.len() - last.old.end).min(context);
        let (old_from, old_to) = (first.old.start - before, last.old.end + after);
        let (new_from, new_to) = (first.new.start - before, last.new.end + after);
        let range = |from: usize, to: usize| match to - from {
            0 => format!("{from},0"),
            count => format!("{},{count}", from + 1),
        };
        text.push_str(&format!("@@ -{} +{} @@\n", range(old_from, old_to), range(new_from, new_to)));
        let mut at = old_from;
        for hunk in &hunks[next..end] {
            a[at..hunk.old.start].iter().for_each(|line| push(&mut text, ' ', line.as_ref()));
            a[hunk.old.clone()].iter().for_each(|line| push(&mut text, '-', line.as_ref()));
            b[hunk.new.clone()].iter().for_each(|line| push(&mut text, '+', line.as_ref()));
            at = hunk.old.end;
        }
        a[at..old_to].iter().for_each(|line| push(&mut text, ' ', line.as_ref()));
        next = end;
    }
    text
}

fn push(text: &mut String, sign: char, line: &str) {
    text.push(sign);
    text.push_str(line);
    if !line.ends_with('\n') {
        text.push_str("\n\\ No newline at end of file\n");
    }
}

#[cfg(test)]
mod tests {
    use arbtest::arbitrary::{self, Unstructured};
    use arbtest::arbtest;

    use super::*;

    /// Applies the hunks to the old list.
    fn applied(old: &[u8], new: &[u8]) -> Vec<u8> {
        let mut result = Vec::new();
        let mut at = 0;
        for hunk in hunks(old, new) {
            result.extend(&old[at..hunk.old.start]);
            result.extend(&new[hunk.new.clone()]);
            at = hunk.old.end;
        }
        result.extend(&old[at..]);
        result
    }

    #[test]
    fn hunks_lead_from_one_to_the_other() {
        let property = |chance: &mut Unstructured| {
            let mut list = || -> arbitrary::Result<Vec<u8>> {
                (0..chance.int_in_range(0..=11)?).map(|_| chance.int_in_range(0..=3)).collect()
            };
            let (old, new) = (list()?, list()?);
            assert_eq!(applied(&old, &new), new, "{old:?} {new:?}");
            Ok(())
        };
        // The low half of a seed is how many bytes of chance there are.
        (0..3000).for_each(|seed| arbtest(property).seed(seed << 32 | 32).run());
    }

    #[test]
    fn few_changes_are_found() {
        let count = |old: &str, new: &str| {
            let (a, b): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
            hunks(&a, &b).iter().map(|hunk| hunk.old.len() + hunk.new.len()).sum::<usize>()
        };
        assert_eq!(count("abcabba", "cbabac"), 5);
        assert_eq!(count("abc", "abc"), 0);
        assert_eq!(count("", "abc"), 3);
    }

    #[test]
    fn unified_differences_have_surroundings() {
        let (old, new) = ("a\nb\nc\nd\ne\nf\ng\n", "a\nb\nc\nD\ne\nf\ng\nh");
        let wanted = "@@ -1,7 +1,8 @@\n a\n b\n c\n-d\n+D\n e\n f\n g\n+h\n\\ No newline at end of file\n";
        assert_eq!(unified(old, new, 3), wanted);
        assert_eq!(unified(old, old, 3), "");
        assert_eq!(unified("", "a\n", 3), "@@ -0,0 +1,1 @@\n+a\n");
    }
}
