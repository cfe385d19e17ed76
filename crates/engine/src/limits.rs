//! How far edits may make a tree grow.
//!
//! What is read is bounded: the parser refuses what is nested too deep, and aliases that stand for too much. But a path
//! with many names, followed with `create`, makes a tree as deep as it is long; and a field that is copied into itself
//! doubles each time, so that forty lines of configuration would fill any memory.

use krm_yaml::{Diagnostic, Node, Result, Value};

/// As deep as what is read may be.
const DEEPEST: usize = 500;

/// Bytes of one value that is copied, about: ten times what a cluster would take.
const MOST: usize = 32 << 20;

/// What an item of a tree counts for, however short its text.
const ITEM: usize = 16;

/// Whether a path has more names than any tree can be deep.
pub fn is_too_long(names: usize) -> bool {
    names > DEEPEST
}

/// Refuses a path with more names than any tree can be deep.
pub fn refuse_long(names: usize) -> Result<()> {
    match is_too_long(names) {
        true => Err(Diagnostic::error("path-too-long", format!("the path has more than {DEEPEST} names"))
            .help("no resource has fields that deep")),
        false => Ok(()),
    }
}

/// Refuses to copy a value that has become a giant.
pub fn refuse_giant(value: &Node) -> Result<()> {
    let why = match weigh(value, DEEPEST, MOST) {
        Ok(_) => return Ok(()),
        Err(Growth::Deep) => format!("it is more than {DEEPEST} levels deep"),
        Err(Growth::Heavy) => format!("it has more than {} MiB", MOST >> 20),
    };
    Err(Diagnostic::error("value-too-large", format!("the value is too large to be copied: {why}"))
        .help("see whether it is copied into itself, and grows each time"))
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

    fn fault(value: &Node) -> Option<String> {
        refuse_giant(value).err().map(|error| error.to_string())
    }

    #[test]
    fn what_grows_is_told_before_it_fills_the_memory() {
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
    fn what_is_deep_is_told_before_it_overflows_the_stack() {
        let wrapped = |times| (0..times).fold(Node::from("it"), |value, _| Node::from(vec![value]));
        assert_eq!(fault(&wrapped(DEEPEST)), None);
        let deep = fault(&wrapped(DEEPEST + 1));
        assert_eq!(
            deep.as_deref(),
            Some("the value is too large to be copied: it is more than 500 levels deep")
        );
    }
}
