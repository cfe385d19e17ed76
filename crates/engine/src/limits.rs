//! How far edits may make a tree grow.
//!
//! What is read is bounded: the parser refuses what is nested too deep, and aliases that stand for too much. But a path
//! with many names, followed with `create`, makes a tree as deep as it is long; and a field that is copied into itself
//! doubles each time, so that forty lines of configuration would fill any memory.

use std::time::Duration;

use krm_yaml::{Diagnostic, Node, Result, Value};

/// As deep as what is read may be.
const DEEPEST: usize = 500;

/// Bytes of one value that is copied, about: ten times what a cluster would take.
const MOST: usize = 32 << 20;

/// Bytes of everything one patch or replacement copies, about.
const MOST_COPIED: usize = 256 << 20;

/// What an item of a tree counts for, however short its text.
const ITEM: usize = 16;

/// Whether a path has more names than any tree can be deep.
pub(crate) fn is_too_long(names: usize) -> bool {
    names > DEEPEST
}

/// Refuses a path with more names than any tree can be deep.
pub(crate) fn refuse_long(names: usize) -> Result<()> {
    match is_too_long(names) {
        true => Err(Diagnostic::error("path-too-long", format!("the path has more than {DEEPEST} names"))
            .help("no resource has fields that deep")),
        false => Ok(()),
    }
}

/// Reads a limit of time: `61`, in seconds, `500ms`, `1m30s`, `1.5h`, `30d`. None of no time, or of more than can be counted.
pub fn duration(text: &str) -> Option<Duration> {
    const UNITS: [(&str, f64); 8] = [
        ("ns", 1e-9),
        ("us", 1e-6),
        ("µs", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3600.0),
        ("d", 86_400.0),
    ];
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number: f64 = rest[..end].parse().ok()?;
        let (unit, length) = match &rest[end..] {
            "" if end == text.len() => ("", 1.0),
            unit => *UNITS.iter().find(|(name, _)| unit.starts_with(name))?,
        };
        total += number * length;
        rest = &rest[end + unit.len()..];
    }
    Duration::try_from_secs_f64(total).ok().filter(|d| !d.is_zero())
}

/// How much one step may still copy. Copies share their memory, but the output writes out each of them.
pub(crate) struct Copies {
    room: usize,
}

impl Default for Copies {
    fn default() -> Self {
        Self { room: MOST_COPIED }
    }
}

impl Copies {
    /// Counts a copy of a value. Refuses one that is too large by itself, or together with those before it.
    pub(crate) fn add(&mut self, value: &Node) -> Result<()> {
        let why = match weigh(value, DEEPEST, MOST) {
            Ok(left) => match self.room.checked_sub(MOST - left) {
                Some(room) => {
                    self.room = room;
                    return Ok(());
                }
                None => format!("all copies together have more than {} MiB", MOST_COPIED >> 20),
            },
            Err(Growth::Deep) => format!("it is more than {DEEPEST} levels deep"),
            Err(Growth::Heavy) => format!("it has more than {} MiB", MOST >> 20),
        };
        Err(Diagnostic::error("value-too-large", format!("the value is too large to be copied: {why}"))
            .help("check that it is not copied into itself, which makes it grow each time"))
    }
}

enum Growth {
    Deep,
    Heavy,
}

/// What is left of the room when the value is in it.
fn weigh(value: &Node, depth: usize, room: usize) -> std::result::Result<usize, Growth> {
    let room = room.checked_sub(ITEM + value.text().map_or(0, str::len)).ok_or(Growth::Heavy)?;
    let below = || depth.checked_sub(1).ok_or(Growth::Deep);
    match value.value() {
        Value::Map(map) => map
            .iter()
            .try_fold(room, |room, entry| weigh(&entry.value, below()?, weigh(&entry.key, below()?, room)?)),
        Value::Seq(items) => items.iter().try_fold(room, |room, item| weigh(item, below()?, room)),
        _ => Ok(room),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_and_without_units() {
        let millis = |text: &str| duration(text).map(|d| d.as_millis());
        for (text, expected) in [
            ("61", 61_000),
            ("1.5", 1_500),
            ("500ms", 500),
            ("1m30s", 90_000),
            ("1.5h", 5_400_000),
            ("30d", 2_592_000_000),
        ] {
            assert_eq!(millis(text), Some(expected), "{text}");
        }
        for text in ["", "0", "0s", "s", "-1", "5x", "1m30", "1.2.3s", "18446744073709551615h"] {
            assert_eq!(millis(text), None, "{text}");
        }
    }

    fn fault(value: &Node) -> Option<String> {
        Copies::default().add(value).err().map(|error| error.to_string())
    }

    #[test]
    fn growth_is_refused_before_it_fills_the_memory() {
        let mut value = Node::from("a text of some length");
        for _ in 0..60 {
            if let Some(fault) = fault(&value) {
                assert_eq!(fault, "the value is too large to be copied: it has more than 32 MiB");
                return;
            }
            value = Node::from(vec![value.clone(), value]);
        }
        panic!("it is larger than any memory");
    }

    #[test]
    fn many_copies_are_refused_before_the_output_fills_the_disk() {
        let (value, mut copies) = (Node::from("x".repeat(1 << 20)), Copies::default());
        let refused = (0..2000).find_map(|_| copies.add(&value).err()).expect("2 GB are too many");
        assert_eq!(
            refused.to_string(),
            "the value is too large to be copied: all copies together have more than 256 MiB"
        );
    }

    #[test]
    fn depth_is_refused_before_it_overflows_the_stack() {
        let wrapped = |times| (0..times).fold(Node::from("it"), |value, _| Node::from(vec![value]));
        assert_eq!(fault(&wrapped(DEEPEST)), None);
        let deep = fault(&wrapped(DEEPEST + 1));
        assert_eq!(
            deep.as_deref(),
            Some("the value is too large to be copied: it is more than 500 levels deep")
        );
    }
}
