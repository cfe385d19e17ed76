//! How two trees or two texts differ, whatever they are: builds, revisions, or a resource before and after a step.

pub(crate) mod fields;
pub(crate) mod lines;

/// What happened to a field or a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ChangeKind {
    /// It is there before and after, with another value.
    Changed,
    /// It is there after, and was not before.
    Added,
    /// It was there before, and is gone.
    Removed,
    /// The resource has another name.
    Renamed,
    /// The elements of a list are in another order.
    Moved,
}

impl ChangeKind {
    /// The word for it in JSON and in text, such as `changed`.
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
