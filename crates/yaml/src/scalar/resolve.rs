//! What a plain scalar means.
//!
//! The rules are those of go-yaml: YAML 1.2's words for null and booleans, YAML 1.1's notations for numbers
//! (`0777` is octal, underscores separate digits), and timestamps.

use std::borrow::Cow;

use super::timestamp::is_timestamp;
pub use super::timestamp::timestamp;
use crate::node::{Node, Tag};

/// The type of a plain (unquoted) scalar.
///
/// ```
/// use krm_yaml::{Tag, resolve};
/// assert_eq!(resolve::plain("8080"), Tag::Int);
/// assert_eq!(resolve::plain("100Mi"), Tag::Str);
/// assert_eq!(resolve::plain("yes"), Tag::Str);
/// assert_eq!(resolve::plain("1e3"), Tag::Float);
/// ```
#[inline]
pub fn plain(text: &str) -> Tag {
    let Some(&first) = text.as_bytes().first() else { return Tag::Null };
    // Most scalars are words: their first letter alone makes them strings.
    match FIRST[first as usize] {
        First::Other => Tag::Str,
        First::Word => word(text),
        First::Number => match number(text) {
            Some(Number::Int(_)) => Tag::Int,
            Some(Number::Float(_)) => Tag::Float,
            None if is_timestamp(text) => Tag::Timestamp,
            None => Tag::Str,
        },
    }
}

/// The value of an integer in any of its notations.
///
/// ```
/// assert_eq!(krm_yaml::resolve::int("0777"), Some(511));
/// assert_eq!(krm_yaml::resolve::int("1_000"), Some(1000));
/// ```
pub fn int(text: &str) -> Option<i128> {
    match number(text)? {
        Number::Int(n) => Some(n),
        Number::Float(_) => None,
    }
}

/// The value of a float in any of its notations; integers are floats too.
pub fn float(text: &str) -> Option<f64> {
    match number(text)? {
        Number::Int(n) => Some(n as f64),
        Number::Float(n) => Some(n),
    }
}

/// Whether two scalars of one type mean the same value (`0x10` and `16`).
pub fn same_scalar(a: &Node, b: &Node) -> bool {
    if a.text() == b.text() {
        return true;
    }
    match a.tag() {
        Tag::Null => true,
        Tag::Bool => a.as_bool() == b.as_bool(),
        Tag::Int => a.text().and_then(int).is_some_and(|n| b.text().and_then(int) == Some(n)),
        Tag::Float => a.text().and_then(float).is_some_and(|n| b.text().and_then(float) == Some(n)),
        _ => false,
    }
}

/// Whether YAML 1.1 readers would take the text for anything but a string. It must not be written without quotes.
pub(crate) fn is_ambiguous(text: &str) -> bool {
    let Some(&first) = text.as_bytes().first() else { return true };
    match FIRST[first as usize] {
        First::Other => matches!(first, b'y' | b'Y' | b'o' | b'O') && old_boolean(text).is_some(),
        First::Word => matches!(word(text), Tag::Null | Tag::Bool) || old_boolean(text).is_some(),
        First::Number => number(text).is_some() || is_timestamp(text) || is_sexagesimal(text),
    }
}

/// Whether some other YAML reader, of any version, would refuse the plain text or take it for anything but this string.
///
/// Wider than [`is_ambiguous`], which is go-yaml's view and decides the canonical form. The rules are those of the
/// YAML 1.1 types as their implementations match them: loosely, so that `2024-13-45` is an invalid date to some and `0x_`
/// an invalid number, where a string was meant.
pub(crate) fn is_read_otherwise(text: &str) -> bool {
    match text.as_bytes() {
        // YAML 1.1's key for the default value, and its merge key.
        b"=" | b"<<" => true,
        [b'0'..=b'9' | b'+' | b'-' | b'.', ..] => {
            is_ambiguous(text) || is_like_number(text) || is_like_date(text)
        }
        _ => is_ambiguous(text),
    }
}

/// Digits and underscores, perhaps none, with at most one point and an exponent, or after a prefix for another base.
fn is_like_number(text: &str) -> bool {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text).as_bytes();
    let radix = match rest {
        [b'0', b'x' | b'X', _, ..] => 16,
        [b'0', b'o' | b'O', _, ..] => 8,
        [b'0', b'b' | b'B', _, ..] => 2,
        _ => 10,
    };
    if radix != 10 {
        return rest[2..].iter().all(|b| char::from(*b).is_digit(radix) || *b == b'_');
    }
    let digits = |bytes: &[u8]| bytes.iter().take_while(|b| b.is_ascii_digit() || **b == b'_').count();
    let whole = digits(rest);
    let fraction = match rest.get(whole) {
        Some(b'.') => 1 + digits(&rest[whole + 1..]),
        _ => 0,
    };
    let starts_like_one = rest.first().is_some_and(u8::is_ascii_digit) || whole == 0 && fraction > 0;
    let rest = &rest[whole + fraction..];
    let rest = match rest {
        [b'e' | b'E', b'+' | b'-', digits @ ..] | [b'e' | b'E', digits @ ..] if !digits.is_empty() => digits,
        rest if rest.is_empty() => rest,
        _ => return false,
    };
    starts_like_one && rest.iter().all(u8::is_ascii_digit)
}

/// A date, with or without a time, whether or not the calendar has it.
fn is_like_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let one_or_two = |at: usize| leading_digits(bytes.get(at..).unwrap_or_default()).min(2);
    if leading_digits(bytes) != 4 || bytes.get(4) != Some(&b'-') {
        return false;
    }
    let month = one_or_two(5);
    if month == 0 || bytes.get(5 + month) != Some(&b'-') {
        return false;
    }
    let day = one_or_two(6 + month);
    let rest = &bytes[6 + month + day..];
    let time = rest.trim_ascii_start();
    day > 0
        && match rest {
            [] => true,
            [b'T' | b't', hour, ..] => hour.is_ascii_digit(),
            [b' ' | b'\t', ..] => time.first().is_some_and(u8::is_ascii_digit),
            _ => false,
        }
}

/// What the first byte of a scalar says about the rest.
#[derive(Clone, Copy, PartialEq)]
enum First {
    Other,
    /// Perhaps one of the words with a meaning.
    Word,
    /// Perhaps a number or a timestamp.
    Number,
}

const FIRST: [First; 256] = {
    let mut table = [First::Other; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = match i as u8 {
            b'~' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'<' => First::Word,
            b'0'..=b'9' | b'+' | b'-' | b'.' => First::Number,
            _ => First::Other,
        };
        i += 1;
    }
    table
};

fn word(text: &str) -> Tag {
    if text.len() > 5 {
        return Tag::Str;
    }
    match text {
        "~" | "null" | "Null" | "NULL" => Tag::Null,
        "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => Tag::Bool,
        "<<" => Tag::Merge,
        _ => Tag::Str,
    }
}

/// The booleans of YAML 1.1 that are strings today.
pub fn old_boolean(text: &str) -> Option<bool> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

enum Number {
    /// Between the least `i64` and the greatest `u64`; what lies outside is a float.
    Int(i128),
    Float(f64),
}

fn number(text: &str) -> Option<Number> {
    let bytes = text.as_bytes();
    // The usual case first: a few digits.
    if bytes.len() <= 18 && bytes.first().is_some_and(|b| matches!(b, b'1'..=b'9')) {
        match bytes.iter().try_fold(0i64, |n, b| b.is_ascii_digit().then(|| n * 10 + i64::from(b - b'0'))) {
            Some(n) => return Some(Number::Int(n.into())),
            None if bytes.iter().any(|b| !may_be_in_number(*b)) => return None,
            None => {}
        }
    }
    match text {
        ".nan" | ".NaN" | ".NAN" => return Some(Number::Float(f64::NAN)),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Some(Number::Float(f64::INFINITY)),
        "-.inf" | "-.Inf" | "-.INF" => return Some(Number::Float(f64::NEG_INFINITY)),
        _ if bytes.iter().any(|b| !may_be_in_number(*b)) => return None,
        _ => {}
    }
    if bytes.first() == Some(&b'.') {
        // Here, and only here, underscores must be between digits.
        return separators_stand_between_digits(bytes)
            .then(|| decimal(&without_separators(text)))?
            .map(Number::Float);
    }
    let text = without_separators(text);
    if let Some(n) = integer(&text) {
        return Some(Number::Int(n));
    }
    if let Some(n) = decimal(&text) {
        return Some(Number::Float(n));
    }
    odd_integer(&text).map(Number::Int)
}

fn may_be_in_number(b: u8) -> bool {
    b.is_ascii_hexdigit() || matches!(b, b'x' | b'X' | b'o' | b'O' | b'+' | b'-' | b'.' | b'_')
}

fn without_separators(text: &str) -> Cow<'_, str> {
    if text.contains('_') { text.replace('_', "").into() } else { text.into() }
}

fn separators_stand_between_digits(bytes: &[u8]) -> bool {
    (0..bytes.len())
        .filter(|i| bytes[*i] == b'_')
        .all(|i| i > 0 && bytes[i - 1].is_ascii_digit() && bytes.get(i + 1).is_some_and(u8::is_ascii_digit))
}

/// `12`, `-12`, `0x1F`, `0o17`, `017`, `0b11`.
fn integer(text: &str) -> Option<i128> {
    let (largest, negative, digits) = match text.as_bytes().first()? {
        b'-' => (SIGNED, true, &text[1..]),
        b'+' => (SIGNED, false, &text[1..]),
        _ => (UNSIGNED, false, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', _, ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', _, ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    let n = magnitude(digits, radix)?;
    in_range(if negative { -n } else { n }, largest)
}

/// An integer whose sign comes after its prefix.
// quirk(sign-after-the-base-of-a-number): `0b-11` and `0o-17`, with the sign after the prefix, are numbers. (go-yaml
// `resolve`)
fn odd_integer(text: &str) -> Option<i128> {
    let (outer, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (radix, rest) = match rest.as_bytes() {
        [b'0', b'b', ..] => (2, &rest[2..]),
        [b'0', b'o', ..] => (8, &rest[2..]),
        _ => return None,
    };
    match rest.as_bytes().first()? {
        b'-' | b'+' if outer => None,
        b'-' => in_range(-magnitude(&rest[1..], radix)?, SIGNED),
        b'+' => in_range(magnitude(&rest[1..], radix)?, SIGNED),
        _ => None,
    }
}

fn magnitude(digits: &str, radix: u32) -> Option<i128> {
    let mut n: i128 = 0;
    for b in digits.bytes() {
        n = n * i128::from(radix) + i128::from(char::from(b).to_digit(radix)?);
        if n > i128::from(u64::MAX) {
            return None;
        }
    }
    (!digits.is_empty()).then_some(n)
}

/// The largest integer that is written with a sign, and the largest without one.
const SIGNED: i128 = i64::MAX as i128;
const UNSIGNED: i128 = u64::MAX as i128;

fn in_range(n: i128, largest: i128) -> Option<i128> {
    (i128::from(i64::MIN)..=largest).contains(&n).then_some(n)
}

/// `1.5`, `.5`, `5.`, `1e3`: digits on at least one side of the point; none when too large for a double.
fn decimal(text: &str) -> Option<f64> {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text).as_bytes();
    let whole = leading_digits(rest);
    let mut at = whole;
    if rest.get(at) == Some(&b'.') {
        let fraction = leading_digits(&rest[at + 1..]);
        at += 1 + fraction;
        if whole + fraction == 0 {
            return None;
        }
    } else if whole == 0 {
        return None;
    }
    if matches!(rest.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(rest.get(at + 1), Some(b'+' | b'-')));
        let exponent = leading_digits(&rest[at..]);
        if exponent == 0 {
            return None;
        }
        at += exponent;
    }
    if at != rest.len() {
        return None;
    }
    text.parse().ok().filter(|n: &f64| n.is_finite())
}

pub(super) fn leading_digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|b| b.is_ascii_digit()).count()
}

/// `1:30`: base sixty, which YAML 1.1 had.
fn is_sexagesimal(text: &str) -> bool {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut parts = rest.split(':');
    let whole = parts.next().unwrap_or_default().as_bytes();
    if !whole.first().is_some_and(u8::is_ascii_digit)
        || !whole.iter().all(|b| b.is_ascii_digit() || *b == b'_')
    {
        return false;
    }
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return false;
    }
    while let Some(part) = parts.next() {
        let part = match part.split_once('.') {
            Some((part, tail)) if parts.peek().is_none() => {
                if !tail.bytes().all(|b| b.is_ascii_digit() || b == b'_') {
                    return false;
                }
                part
            }
            _ => part,
        };
        if !matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']) {
            return false;
        }
    }
    true
}
