//! What differs between two lists of lines.

/// Lines that are replaced: the first in the old list, how many, and which of the new list take their place.
pub(super) type Range = (usize, usize, std::ops::Range<usize>);

/// More comparisons than this are not made: what is between the first and the last difference counts as replaced.
const MOST: usize = 4 << 20;

/// The smallest replacements that turn one list into the other, in order.
pub(super) fn hunks<T: PartialEq>(old: &[T], new: &[T]) -> Vec<Range> {
    let before = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let after =
        old[before..].iter().rev().zip(new[before..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[before..old.len() - after], &new[before..new.len() - after]);
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    if old.is_empty() || new.is_empty() || old.len() * new.len() > MOST {
        return vec![(before, old.len(), before..before + new.len())];
    }
    // `common[i][j]`: how many lines the rest of both lists can share.
    let width = new.len() + 1;
    let mut common = vec![0u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = match old[i] == new[j] {
                true => common[(i + 1) * width + j + 1] + 1,
                false => common[(i + 1) * width + j].max(common[i * width + j + 1]),
            };
        }
    }
    let mut ranges: Vec<Range> = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
            continue;
        }
        let (from_old, from_new) = (i, j);
        while i < old.len() || j < new.len() {
            if i < old.len() && j < new.len() && old[i] == new[j] {
                break;
            }
            let skips_old =
                j == new.len() || (i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1]);
            if skips_old { i += 1 } else { j += 1 }
        }
        ranges.push((before + from_old, i - from_old, before + from_new..before + j));
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(old: &str, new: &str) -> (String, usize) {
        let (old, new): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
        let (mut text, mut at, mut changed) = (String::new(), 0, 0);
        for (from, removed, added) in hunks(&old, &new) {
            text.extend(&old[at..from]);
            changed += removed + added.len();
            text.extend(&new[added]);
            at = from + removed;
        }
        text.extend(&old[at..]);
        (text, changed)
    }

    #[test]
    fn what_is_replaced_makes_the_new_list() {
        for (old, new, changed) in [
            ("", "", 0),
            ("", "ab", 2),
            ("abc", "", 3),
            ("abcdef", "abXdef", 2),
            ("abcde", "xbcdy", 4),
            ("ab", "ba", 2),
        ] {
            assert_eq!(applied(old, new), (new.to_owned(), changed), "{old} {new}");
        }
    }
}
