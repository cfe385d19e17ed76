//! How a text ends. After a block scalar not everything may be: blank lines and comments can become part of it.

use crate::node::{Node, Style, Value};

/// What a node ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Other,
    /// A block scalar, of which deeply indented comments would become part.
    BlockScalar,
    /// A block scalar of which blank lines would become part, too.
    KeptBreaks,
}

impl Ending {
    /// How a node ends that is rewritten: what may be written as a block scalar counts as one.
    pub(crate) fn of(node: &Node) -> Self {
        let Some((last, text)) = last_scalar(node).and_then(|last| Some((last, last.text()?))) else {
            return Self::Other;
        };
        match last.style() {
            Style::SingleQuoted | Style::DoubleQuoted => Self::Other,
            _ if text.ends_with("\n\n") || text == "\n" => Self::KeptBreaks,
            Style::Literal | Style::Folded => Self::BlockScalar,
            _ if text.contains('\n') => Self::BlockScalar,
            _ => Self::Other,
        }
    }

    /// How a node ends that is in a text.
    pub(crate) fn in_text(node: &Node, text: &str) -> Self {
        if node.trivia().alias.is_some() {
            return Self::Other;
        }
        match node.value() {
            Value::Scalar(_) if matches!(node.style(), Style::Literal | Style::Folded) => {
                let header = text[node.span().range()].lines().next().unwrap_or_default();
                if header.contains('+') { Self::KeptBreaks } else { Self::BlockScalar }
            }
            Value::Seq(items) => items.last().map_or(Self::Other, |last| Self::in_text(last, text)),
            Value::Map(map) => {
                map.entries().last().map_or(Self::Other, |last| Self::in_text(&last.value, text))
            }
            Value::Scalar(_) => Self::Other,
        }
    }

    pub(crate) fn is_block_scalar(self) -> bool {
        self != Self::Other
    }
}

/// The scalar that a block ends in. What asks for brackets, or to be an alias, is looked into as well: it may become a
/// block yet.
pub(super) fn last_scalar(node: &Node) -> Option<&Node> {
    match node.value() {
        Value::Scalar(_) => Some(node),
        Value::Seq(items) => last_scalar(items.last()?),
        Value::Map(map) => last_scalar(&map.entries().last()?.value),
    }
}
