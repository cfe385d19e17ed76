//! The order of keys in the canonical form.
//!
//! Numbers within keys count by their value (`a2` before `a10`), letters come after everything else. The order is
//! go-yaml's and has circles (`1a` before `2` before `10` before `1a`), which the library's sort may refuse; so this
//! file sorts by itself.

use std::cmp::Ordering;

use super::unicode::{is_digit, is_letter};

/// Sorts positions by the key at each, stably.
pub(super) fn sort<'k>(positions: &mut [u32], key: impl Fn(u32) -> &'k str + Copy) {
    const SMALL: usize = 20;
    for run in positions.chunks_mut(SMALL) {
        for end in 1..run.len() {
            let (moved, its_key) = (run[end], key(run[end]));
            let mut at = end;
            while at > 0 && compare(key(run[at - 1]), its_key) == Ordering::Greater {
                run[at] = run[at - 1];
                at -= 1;
            }
            run[at] = moved;
        }
    }
    let mut merged = Vec::new();
    let mut width = SMALL;
    while width < positions.len() {
        for pair in positions.chunks_mut(2 * width).filter(|pair| pair.len() > width) {
            let (mut left, mut right) = pair.split_at(width);
            merged.clear();
            while let ([l, left_rest @ ..], [r, right_rest @ ..]) = (left, right) {
                if compare(key(*l), key(*r)) == Ordering::Greater {
                    merged.push(*r);
                    right = right_rest;
                } else {
                    merged.push(*l);
                    left = left_rest;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
            pair.copy_from_slice(&merged);
        }
        width *= 2;
    }
}

/// Compares two keys.
#[inline]
pub(super) fn compare(a: &str, b: &str) -> Ordering {
    // Most keys of a map differ in their first letter.
    match (a.as_bytes(), b.as_bytes()) {
        ([x, ..], [y, ..]) if x != y && x.is_ascii_alphabetic() && y.is_ascii_alphabetic() => x.cmp(y),
        _ => compare_further(a, b),
    }
}

fn compare_further(a: &str, b: &str) -> Ordering {
    let (a_bytes, b_bytes) = (a.as_bytes(), b.as_bytes());
    let Some(mut at) = a_bytes.iter().zip(b_bytes).position(|(a, b)| a != b) else {
        return a.len().cmp(&b.len());
    };
    if a_bytes[at].is_ascii_alphabetic() && b_bytes[at].is_ascii_alphabetic() {
        return a_bytes[at].cmp(&b_bytes[at]);
    }
    while !a.is_char_boundary(at) || !b.is_char_boundary(at) {
        at -= 1;
    }
    let first = |s: &str| s[at..].chars().next().expect("the keys differ here");
    let (x, y) = (first(a), first(b));
    match (is_letter(x), is_letter(y)) {
        (true, true) => return x.cmp(&y),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero within a number is a digit like any other; one that leads a number is worth nothing.
    let within_number =
        (x == '0' || y == '0') && a[..at].chars().rev().take_while(|c| is_digit(*c)).any(|c| c != '0');
    let (a_number, a_digits) = number(&a[at..], within_number);
    let (b_number, b_digits) = number(&b[at..], within_number);
    a_number.cmp(&b_number).then(a_digits.cmp(&b_digits)).then(x.cmp(&y))
}

/// The number a text begins with, and how many digits it has.
fn number(text: &str, within_number: bool) -> (i64, usize) {
    let start = i64::from(within_number);
    text.chars().take_while(|c| is_digit(*c)).fold((start, 0), |(n, digits), c| {
        // quirk(numbers-in-keys-count): Keys are sorted with the numbers in them read as numbers (`a2` before `a10`),
        // letters after all else. A number that is too large wraps around. (go-yaml `keyList.Less`)
        let digit = i64::from(c as u32) - i64::from(b'0');
        (n.wrapping_mul(10).wrapping_add(digit), digits + 1)
    })
}
