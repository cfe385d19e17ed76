//! What a plain scalar means.

use crate::node::{Node, Tag};

/// The type of a plain (unquoted) scalar.
pub fn plain(text: &str) -> Tag {
    let _ = text;
    todo!()
}

/// The value of an integer in any of its notations.
pub fn int(text: &str) -> Option<i128> {
    text.parse().ok()
}

/// The value of a float in any of its notations.
pub fn float(text: &str) -> Option<f64> {
    text.parse().ok()
}

/// Whether two scalars of one type mean the same value (`0x10` and `16`).
pub fn same_scalar(a: &Node, b: &Node) -> bool {
    match a.tag() {
        Tag::Null => true,
        Tag::Bool => a.as_bool() == b.as_bool(),
        Tag::Int => a.text().and_then(int).is_some_and(|n| b.text().and_then(int) == Some(n)),
        Tag::Float => a.text().and_then(float).is_some_and(|n| b.text().and_then(float) == Some(n)),
        _ => a.text() == b.text(),
    }
}
