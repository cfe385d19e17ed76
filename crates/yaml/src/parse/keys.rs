//! Keys that a map has twice.

use super::cursor::Parser;
use super::options::DuplicateKeys;
use super::words;
use crate::diag::Result;
use crate::node::Tag;

/// Up to this many keys, comparing each with each is quicker than sorting.
const FEW: usize = 32;

impl Parser<'_> {
    /// Notes the key on top, to be compared with the others of its map.
    #[inline]
    pub(crate) fn hash_key(&mut self) {
        let key = self.top();
        let is_merge = key.tag() == Tag::Merge;
        let hash = key.text().map_or(0, hash);
        self.has_references |= is_merge;
        self.hashes.push(hash);
    }

    /// The same for a key that is in the text as it is.
    #[inline]
    pub(crate) fn hash_word(&mut self, start: usize, end: usize) {
        let len = end - start;
        let hash = match words::word(self.bytes, start) {
            // What is after a short key is cut off.
            Some(first) if len < 8 => mix(first & ((1 << (8 * len)) - 1), 0, len),
            Some(first) => mix(first, words::word(self.bytes, end - 8).unwrap_or_default(), len),
            None => hash(&self.text[start..end]),
        };
        self.has_references |= len == 2 && &self.bytes[start..end] == b"<<";
        self.hashes.push(hash);
    }

    /// Looks for keys that occur twice in the map whose keys and values are on the stack from `first` on.
    #[inline]
    pub(crate) fn check_keys(&mut self, first: usize, first_hash: usize) -> Result<()> {
        let hashes = &self.hashes[first_hash..];
        let suspect = match hashes.len() {
            0 | 1 => false,
            2..=FEW => hashes.iter().enumerate().any(|(at, hash)| {
                // Without leaving early, so that many are compared at once.
                hashes[..at].iter().fold(false, |found, earlier| found | (earlier == hash))
            }),
            _ => true,
        };
        self.hashes.truncate(first_hash);
        if suspect { self.check_texts(first) } else { Ok(()) }
    }

    /// The same, by the texts of the keys.
    #[cold]
    fn check_texts(&mut self, first: usize) -> Result<()> {
        let mut keys: Vec<(u32, usize, &str)> = Vec::with_capacity((self.nodes.len() - first) / 2);
        for at in (first..self.nodes.len()).step_by(2) {
            if let Some(text) = self.nodes[at].text() {
                keys.push((hash(text), at, text));
            }
        }
        keys.sort_unstable_by(|a, b| (a.0, a.2, a.1).cmp(&(b.0, b.2, b.1)));
        let pairs = keys.windows(2).filter(|pair| (pair[0].0, pair[0].2) == (pair[1].0, pair[1].2));
        let mut twice: Vec<(usize, usize)> = pairs.map(|pair| (pair[0].1, pair[1].1)).collect();
        let Some((earlier, later)) = twice.iter().min_by_key(|pair| pair.1) else { return Ok(()) };
        if self.duplicate_keys == DuplicateKeys::Refuse {
            return Err(self.duplicate_key(&self.nodes[*earlier], &self.nodes[*later]));
        }
        if self.duplicate_keys == DuplicateKeys::Keep {
            return Ok(());
        }
        twice.sort_unstable();
        for (earlier, _) in twice.iter().rev() {
            self.nodes.drain(*earlier..*earlier + 2);
        }
        Ok(())
    }
}

/// A quick hash: of the length, and of eight bytes at either end.
fn hash(text: &str) -> u32 {
    let bytes = text.as_bytes();
    match words::word(bytes, 0) {
        Some(first) => mix(first, words::word(bytes, bytes.len() - 8).unwrap_or_default(), bytes.len()),
        None => mix(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)), 0, bytes.len()),
    }
}

#[inline]
fn mix(first: u64, last: u64, len: usize) -> u32 {
    ((first ^ last.rotate_left(29) ^ (len as u64) << 57).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use crate::{DuplicateKeys, Node, ParseOptions, Source, parse_str, parse_with};

    #[test]
    fn a_key_given_twice_is_shown_at_both_places() {
        let long: String = (0..100).map(|i| format!("key-{i}: {i}\n")).collect();
        for (text, first, second) in [
            ("a: 1\nb: 2\na: 3\n".to_owned(), 0, 10),
            ("{a: 1, \"a\": 2}".to_owned(), 1, 7),
            ("x: {p: {q: 1, 'q': 2}}".to_owned(), 8, 14),
            (format!("{long}key-7: x\n"), 7 * 9, long.len()),
            ("<<: {a: 1}\n<<: {b: 1}".to_owned(), 0, 11),
        ] {
            let error = parse_str(&text).unwrap_err();
            assert_eq!(error.code(), "yaml-duplicate-key", "{text}");
            assert_eq!(
                (error.notes()[0].place.start as usize, error.place().start as usize),
                (first, second),
                "{text}"
            );
        }
    }

    #[test]
    fn keys_are_equal_however_they_are_written() {
        for key in ["a", "ab", "abcdefg", "abcdefgh", "abcdefghijklmnopq", "é"] {
            for text in [
                format!("{key}: 1\n'{key}': 2\n"),
                format!("\"{key}\": 1\n{key}: 2"),
                format!("'{key}': 1\n{key}: 2\n\n\n\n\n"),
            ] {
                assert_eq!(parse_str(&text).expect_err(&text).code(), "yaml-duplicate-key");
            }
        }
    }

    #[test]
    fn keys_with_equal_hashes_are_distinguished() {
        assert!(parse_str("12345678-abc-12345678: 1\n12345678-abd-12345678: 2\n[1]: a\n[2]: b\n").is_ok());
    }

    #[test]
    fn the_last_key_wins_where_that_was_asked_for() {
        let source = Source::detached("t", "a: 1\nb: 2\na: 3\nc: {d: 1, d: 2, d: 3}\nb: 4\n");
        let options = ParseOptions::default().duplicate_keys(DuplicateKeys::LastWins);
        let root = parse_with(&source, options).unwrap().remove(0).root;
        assert_eq!(crate::json::compact(&root), r#"{"a":3,"b":4,"c":{"d":3}}"#);
        assert_eq!(root.as_map().unwrap().len(), 3);
        assert_eq!(root.get("a").and_then(Node::as_i64), Some(3));
    }
}
