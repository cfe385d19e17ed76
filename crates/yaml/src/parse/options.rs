//! What a caller may choose about reading.

/// How [`parse_with`](super::parse_with) reads. The default is what [`parse`](super::parse()) does.
///
/// ```
/// use krm_yaml::{DuplicateKeys, ParseOptions, Source, parse_with};
///
/// let source = Source::detached("t.yaml", "a: 1\na: 2\n");
/// let options = ParseOptions::default().duplicate_keys(DuplicateKeys::LastWins);
/// let documents = parse_with(&source, options)?;
/// assert_eq!(documents[0].root.get("a").and_then(|a| a.as_i64()), Some(2));
/// # Ok::<(), krm_yaml::Diagnostic>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseOptions {
    /// What becomes of a key that a map has twice.
    pub duplicate_keys: DuplicateKeys,
}

impl ParseOptions {
    /// Sets what becomes of a key that a map has twice.
    pub fn duplicate_keys(mut self, duplicate_keys: DuplicateKeys) -> Self {
        self.duplicate_keys = duplicate_keys;
        self
    }
}

/// What becomes of a key that a map has twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DuplicateKeys {
    /// It is an error that shows both.
    #[default]
    Refuse,
    /// The last one counts, the others are dropped.
    LastWins,
    /// All stay in the map, for the caller to judge.
    Keep,
}
