//! How two trees or two texts differ, whatever they are: builds, revisions, or a resource before and after a step.

pub(crate) mod fields;
pub(crate) mod lines;

/// What happened to a field or a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    Changed,
    Added,
    Removed,
    Renamed,
    /// The elements of a list are in another order.
    Moved,
}

impl ChangeKind {
    pub fn name(self) -> &'static str {
        match self {
            ChangeKind::Changed => "changed",
            ChangeKind::Added => "added",
            ChangeKind::Removed => "removed",
            ChangeKind::Renamed => "renamed",
            ChangeKind::Moved => "moved",
        }
    }
}
