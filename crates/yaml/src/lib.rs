//! A YAML tree that loses nothing.

pub mod binary;
pub mod de;
pub mod diag;
pub mod document;
pub mod emit;
pub mod json;
pub mod map;
pub mod merge_keys;
pub mod node;
mod number;
pub mod parse;
pub mod path;
pub mod resolve;
mod similar;
pub mod source;

pub use de::{Options, Spanned, from_node, from_node_with};
pub use diag::{Diagnostic, Note, Result, Severity};
pub use document::Document;
pub use emit::{canonical, canonical_into, try_canonical_into};
pub use map::{Entry, Map};
pub use node::{Node, Seq, Style, Tag, Text, Trivia, Value};
pub use parse::{decode, documents, parse, parse_keeping_twins, parse_last_wins, parse_str};
pub use path::Path;
pub use similar::nearest;
pub use source::{FileId, Position, Source, Sources, Span};
