//! Where a field is at one moment: names and positions, with nothing left to look for. What people write are
//! [paths](krm_yaml::path), which may match several fields or none.

use krm_yaml::{Node, Text, path};

/// One step down into a tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// A key of a map.
    Key(Text),
    /// A position in a list. It is a position at one moment: see [`Event::path`](super::Event::path).
    Index(usize),
}

impl Segment {
    /// Whether it leads to a field of this name.
    pub fn is_key(&self, name: &str) -> bool {
        matches!(self, Segment::Key(key) if key == name)
    }
}

/// The node that is there.
pub fn at<'n>(root: &'n Node, path: &[Segment]) -> Option<&'n Node> {
    path.iter().try_fold(root, |node, segment| match segment {
        Segment::Key(key) => node.get(key),
        Segment::Index(index) => node.items().get(*index),
    })
}

/// The same, to be changed.
pub(crate) fn at_mut<'n>(root: &'n mut Node, path: &[Segment]) -> Option<&'n mut Node> {
    path.iter().try_fold(root, |node, segment| match segment {
        Segment::Key(key) => node.get_mut(key),
        Segment::Index(index) => node.as_seq_mut()?.get_mut(*index),
    })
}

/// Whether a JSON pointer leads to a field, or to something that holds it.
pub(crate) fn holds(pointer: &str, field: &str) -> bool {
    field.strip_prefix(pointer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The path as a JSON pointer.
pub(crate) fn pointer(path: &[Segment]) -> String {
    let part = |segment: &Segment| match segment {
        Segment::Key(key) => format!("/{}", path::to_pointer(key)),
        Segment::Index(index) => format!("/{index}"),
    };
    path.iter().map(part).collect()
}
