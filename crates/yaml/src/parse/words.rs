//! Looking at eight bytes at a time.
//!
//! The tricks are the usual ones: a byte of `(x - ones) & !x & highs` has its high bit set where that byte of `x` is
//! zero. Bytes above the first such one may be wrong, so only the first counts.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The eight bytes at `at`, the first lowest; none if fewer are left.
#[inline]
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let eight = bytes.get(at..at + 8)?;
    Some(u64::from_le_bytes(eight.try_into().expect("eight bytes")))
}

/// The first place from `at` on that has a `:`, a blank, a line break or anything that is not ASCII, or the end.
#[inline]
pub(crate) fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(word) = word(bytes, at) {
        let blanks = word.wrapping_sub(ONES * 0x21) & !word;
        let colons = word ^ (ONES * b':' as u64);
        let colons = colons.wrapping_sub(ONES) & !colons;
        let found = (blanks | colons | word) & HIGHS;
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|b| *b > b' ' && *b != b':' && *b < 0x80) {
        at += 1;
    }
    at
}

/// The first place from `at` on that has no space.
#[inline]
pub(crate) fn spaces_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(word) = word(bytes, at) {
        let others = word ^ (ONES * b' ' as u64);
        if others != 0 {
            return at + (others.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while bytes.get(at) == Some(&b' ') {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_at_a_time_is_as_good_as_one() {
        let texts = [
            "",
            ":",
            "a",
            "abcdefg:",
            "abcdefgh:",
            "abcdefghijklmn o",
            "!\"#$%&'()*+,-./0189;<=>?@[]{}~\x7f:",
            "abcé:",
            "a\tb",
        ];
        for text in texts {
            let bytes = text.as_bytes();
            for at in 0..=bytes.len() {
                let slow =
                    (at..bytes.len()).find(|i| bytes[*i] <= b' ' || bytes[*i] == b':' || bytes[*i] >= 0x80);
                assert_eq!(plain_end(bytes, at), slow.unwrap_or(bytes.len()), "{text:?} from {at}");
            }
        }
        for count in 0..30 {
            for tail in ["", "a", "\n", "!"] {
                let text = " ".repeat(count) + tail + " ";
                let expected = if tail.is_empty() { count + 1 } else { count };
                assert_eq!(spaces_end(text.as_bytes(), 0), expected, "{text:?}");
            }
        }
    }
}
