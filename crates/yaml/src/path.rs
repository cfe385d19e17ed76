//! Field paths: one type for the three ways people write them.
//!
//! | written | parsed by | who writes so |
//! | --- | --- | --- |
//! | `spec/template/spec/containers[]/image` | [`Path::slashed`] | field specs |
//! | `spec.containers.[name=web].image`, `a.0.b`, `a.*`, `a.-` | [`Path::dotted`] | replacements, results |
//! | `/spec/containers/0/~1x` | [`Path::pointer`] | JSON patches (RFC 6901) |

use crate::diag::Result;
use crate::node::{Node, Text};

/// A parsed field path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Path(pub Vec<Segment>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// A map key; also an index where a sequence stands and the key is a number.
    Key(Text),
    /// `name[]` in a field spec: every item of the sequence.
    Each,
    /// `[k=v]`: the items whose field `k` is `v`; an empty `k` (`[=v]`) matches scalar items.
    Match { key: Text, value: Text },
    /// `*`: every value of a map, every item of a sequence.
    Any,
    /// `-`: behind the last item.
    Append,
}

impl Path {
    pub fn slashed(text: &str) -> Result<Self> {
        let _ = text;
        todo!()
    }

    pub fn dotted(text: &str) -> Result<Self> {
        let _ = text;
        todo!()
    }

    pub fn pointer(text: &str) -> Result<Self> {
        let _ = text;
        todo!()
    }

    /// The first node the path leads to.
    pub fn get<'n>(&self, root: &'n Node) -> Option<&'n Node> {
        let _ = root;
        todo!()
    }
}
