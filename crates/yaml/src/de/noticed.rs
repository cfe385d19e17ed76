//! What typed reading let pass although it is not quite right, for those who want to warn of it.

use std::cell::RefCell;

use crate::node::Node;
use crate::source::Span;

/// A key that was let pass: one nobody knows, or a known one written in another case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noticed {
    /// The key.
    pub key: String,
    /// Where it is.
    pub place: Span,
    /// The field it was taken for; `None` for one nobody knows.
    pub field: Option<&'static str>,
    /// The fields there are.
    pub known: &'static [&'static str],
}

thread_local! {
    static NOTICED: RefCell<Option<Vec<Noticed>>> = const { RefCell::new(None) };
}

/// Runs a reading and gives, beside what came of it, all that [`Options`](super::Options) let pass.
///
/// ```
/// use krm_yaml::{Node, Options, de};
///
/// #[derive(serde::Deserialize)]
/// #[serde(default)]
/// #[derive(Default)]
/// struct Prefix {
///     prefix: String,
/// }
///
/// let config = Node::from_iter([("prefx", "a-")]);
/// let (read, noticed) = de::noticing(|| de::from_node_with::<Prefix>(&config, Options::STRICT.unknown_fields()));
/// assert_eq!(read?.prefix, "");
/// assert_eq!((noticed[0].key.as_str(), noticed[0].field), ("prefx", None));
/// # Ok::<(), krm_yaml::Diagnostic>(())
/// ```
pub fn noticing<T>(read: impl FnOnce() -> T) -> (T, Vec<Noticed>) {
    let outer = NOTICED.replace(Some(Vec::new()));
    let value = read();
    let noticed = NOTICED.replace(outer).unwrap_or_default();
    (value, noticed)
}

/// Notes a key, if anyone wants to know.
pub(super) fn notice(key: &Node, field: Option<&'static str>, known: &'static [&'static str]) {
    NOTICED.with_borrow_mut(|noticed| {
        if let Some(noticed) = noticed {
            let text = key.text().unwrap_or_default().to_owned();
            noticed.push(Noticed { key: text, place: key.span(), field, known });
        }
    });
}
