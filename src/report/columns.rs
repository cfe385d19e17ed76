//! Texts in columns of a terminal: how wide they are, and what of them fits.

use std::ops::Range;

use unicode_width::UnicodeWidthChar;

/// How many columns a text takes: Chinese characters and emoji take two each, combining accents none.
pub fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// A text with spaces after it that fill its column.
pub fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// A text in no more than this many columns, with `…` in the middle for what does not fit. The part to keep, a range of
/// bytes, stays visible, or at least its beginning does.
pub fn folded(text: &str, columns: usize, keep: Range<usize>) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let head = prefix(text, room / 2);
    let tail = suffix(text, room - width(head));
    if keep.end <= head.len() || keep.start >= text.len() - tail.len() {
        return format!("{head}…{tail}");
    }
    // What is to be kept is in the middle: a little of the beginning, then what surrounds it.
    const BEFORE: usize = 8;
    let head = prefix(&text[..keep.start], columns / 4);
    let room = columns.saturating_sub(width(head) + 2);
    let from = keep.start - suffix(&text[head.len()..keep.start], BEFORE).len();
    let from = from.min(text.len() - suffix(text, room).len()).max(head.len());
    let gap = if from > head.len() { "…" } else { "" };
    let part = prefix(&text[from..], room);
    let rest = if from + part.len() < text.len() { "…" } else { "" };
    format!("{head}{gap}{part}{rest}")
}

/// The parts, as ranges of bytes, in which two texts differ: what is between their common beginning and their common end.
pub fn changed_parts(before: &str, after: &str) -> [Range<usize>; 2] {
    let common = |a: &mut dyn Iterator<Item = char>, b: &mut dyn Iterator<Item = char>| -> usize {
        a.zip(b).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
    };
    let start = common(&mut before.chars(), &mut after.chars());
    let end = common(&mut before[start..].chars().rev(), &mut after[start..].chars().rev());
    [start..before.len() - end, start..after.len() - end]
}

/// The same in whole words, of which a version is one. Two texts with nothing but letters of words in common differ as wholes.
pub fn changed_words(before: &str, after: &str) -> [Range<usize>; 2] {
    let [mut old, mut new] = changed_parts(before, after);
    let within = |c: char| c.is_alphanumeric() || c == '.';
    // Words are cut neither at their beginning nor at their end; what is before and after is the same in both.
    let head = &before[..old.start];
    let cuts =
        |part: &str, c: Option<char>| part.is_empty() && c.is_some_and(within) || part.starts_with(within);
    let begins = |text: &str, part: &Range<usize>| cuts(&text[part.clone()], text[part.end..].chars().next());
    if begins(before, &old) || begins(after, &new) {
        let word = head.len() - head.trim_end_matches(within).len();
        (old.start, new.start) = (old.start - word, new.start - word);
    }
    let tail = &before[old.end..];
    let ends = |text: &str, part: &Range<usize>| text[part.clone()].ends_with(within);
    if ends(before, &old) || ends(after, &new) {
        let word = tail.len() - tail.trim_start_matches(within).len();
        (old.end, new.end) = (old.end + word, new.end + word);
    }
    [old, new]
}

/// The beginning of a text that fits into some columns.
fn prefix(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= columns
    };
    &text[..text.chars().take_while(fits).map(char::len_utf8).sum()]
}

/// The end of a text that fits into some columns. An accent whose letter does not fit is left out with it.
fn suffix(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= columns
    };
    let length: usize = text.chars().rev().take_while(fits).map(char::len_utf8).sum();
    text[text.len() - length..].trim_start_matches(|c: char| c.width() == Some(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(width("web:1"), 5);
        assert_eq!(width("東京"), 4);
        assert_eq!(width("e\u{301}"), 1);
        assert_eq!(padded("東", 4), "東  ");
        assert_eq!(padded("too long", 4), "too long");
    }

    #[test]
    fn long_texts_are_folded_in_the_middle() {
        let image = "eu.registry.example.com/shop/web:1.4.2";
        assert_eq!(folded(image, 22, 37..38), "eu.registr…p/web:1.4.2");
        assert_eq!(folded(image, 38, 0..0), image);
        assert_eq!(folded("東京都港区", 6, 0..0), "東…区");
    }

    #[test]
    fn what_differs_stays_visible() {
        let long = |middle: &str| format!("{}{middle}{}", "a".repeat(60), "z".repeat(60));
        let (before, after) = (long("1.0"), long("2.0"));
        let [left, right] = changed_parts(&before, &after);
        for (text, part, shown) in [(&before, left, "1"), (&after, right, "2")] {
            let folded = folded(text, 30, part);
            assert!(folded.contains(shown) && width(&folded) <= 30, "{folded}");
        }
        // Also if it is all of the text, or at the end of the part that would be folded.
        for at in 0..120 {
            let mut text = "x".repeat(120);
            text.replace_range(at..=at, "Y");
            let folded = folded(&text, 24, at..at + 1);
            assert!(folded.contains('Y') && width(&folded) <= 24, "{at}: {folded}");
        }
    }

    #[test]
    fn words_that_changed_are_whole() {
        let parts = |before: &'static str, after: &'static str| {
            let [old, new] = changed_words(before, after);
            [&before[old], &after[new]]
        };
        assert_eq!(parts("shop/web:1.0.0", "shop/web:1.4.2"), ["1.0.0", "1.4.2"]);
        assert_eq!(parts("shop/web:1.0.0", "shop/web:1.0.10"), ["1.0.0", "1.0.10"]);
        assert_eq!(
            parts("registry.example.com/web:1", "eu.registry.example.com/web:1"),
            ["registry.example.com", "eu.registry.example.com"]
        );
        assert_eq!(parts("replicas: 1", "replicas: 3"), ["1", "3"]);
        assert_eq!(parts("a b", "a new b"), ["", "new "]);
        assert_eq!(parts("10", "100"), ["10", "100"]);
    }

    #[test]
    fn the_changed_part_is_between_what_is_common() {
        assert_eq!(changed_parts("web:1.4.2", "web:1.5.2"), [6..7, 6..7]);
        assert_eq!(changed_parts("aa", "aaa"), [2..2, 2..3]);
        assert_eq!(changed_parts("a", "aé"), [1..1, 1..3]);
        assert_eq!(changed_parts("", ""), [0..0, 0..0]);
    }
}
