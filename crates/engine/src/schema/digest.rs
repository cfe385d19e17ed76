//! The form types are kept in: a graph of types, and the kinds that are its roots.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::{Gvk, Scope};

/// Types by number, and the kinds that start somewhere among them.
#[derive(Debug)]
pub(super) struct Graph {
    pub types: Cow<'static, [Type]>,
    /// Sorted by [`KnownKind::key`].
    pub kinds: Cow<'static, [KnownKind]>,
    /// What definitions are called, for `$ref`s in comments; sorted.
    pub names: Cow<'static, [Field]>,
}

/// A type: the fields worth knowing, sorted by name; the type of a map's values or a list's items; and for a list that
/// is merged, by what keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Type {
    pub fields: Cow<'static, [Field]>,
    pub values: Option<u32>,
    pub items: Option<u32>,
    pub merge: Option<Cow<'static, [Cow<'static, str>]>>,
    /// A list that is said to be one value. The built-in types do not say it.
    pub is_atomic: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Field {
    pub name: Cow<'static, str>,
    pub at: u32,
}

#[derive(Clone, Debug)]
pub(super) struct KnownKind {
    pub kind: Cow<'static, str>,
    pub group: Cow<'static, str>,
    pub version: Cow<'static, str>,
    pub root: Option<u32>,
    pub scope: Option<Scope>,
}

/// A digest compiled in.
#[derive(Clone, Copy)]
pub(super) struct Tables {
    pub types: &'static [Type],
    pub kinds: &'static [KnownKind],
    pub names: &'static [Field],
}

impl Graph {
    pub(crate) fn of_tables(tables: Tables) -> Self {
        Self {
            types: Cow::Borrowed(tables.types),
            kinds: Cow::Borrowed(tables.kinds),
            names: Cow::Borrowed(tables.names),
        }
    }

    /// The number of a definition.
    pub(crate) fn named(&self, name: &str) -> Option<u32> {
        let found = self.names.binary_search_by(|known| known.name.as_ref().cmp(name)).ok()?;
        Some(self.names[found].at)
    }

    pub(crate) fn get(&self, at: u32) -> super::Type<'_> {
        super::Type { graph: self, at: &self.types[at as usize] }
    }
}

impl KnownKind {
    pub(crate) fn key(&self) -> (&str, &str, &str) {
        (&self.kind, &self.group, &self.version)
    }

    fn cmp(&self, gvk: &Gvk) -> Ordering {
        self.key().cmp(&(gvk.kind.as_str(), gvk.group.as_str(), gvk.version.as_str()))
    }
}

/// Finds a kind in a sorted table.
pub(super) fn find<'t>(kinds: &'t [KnownKind], gvk: &Gvk) -> Option<&'t KnownKind> {
    kinds.binary_search_by(|kind| kind.cmp(gvk)).ok().map(|at| &kinds[at])
}

// The rows of a digest. Macros, since the parts of a value that may own its memory are only kept in a static where no
// function comes in between.
macro_rules! ty {
    ([$($field:literal $at:literal),*], $values:expr, $items:expr) => {
        ty!(@ [$($field $at),*], $values, $items, None)
    };
    ([$($field:literal $at:literal),*], $values:expr, $items:expr, merge [$($key:literal),*]) => {
        ty!(@ [$($field $at),*], $values, $items, Some(Cow::Borrowed(&[$(Cow::Borrowed($key)),*])))
    };
    (@ [$($field:literal $at:literal),*], $values:expr, $items:expr, $merge:expr) => {
        Type {
            fields: Cow::Borrowed(&[$(Field { name: Cow::Borrowed($field), at: $at }),*]),
            values: $values,
            items: $items,
            merge: $merge,
            is_atomic: false,
        }
    };
}

const fn name(name: &'static str, at: u32) -> Field {
    Field { name: Cow::Borrowed(name), at }
}

const fn kind(
    kind: &'static str,
    group: &'static str,
    version: &'static str,
    root: Option<u32>,
    scope: Option<Scope>,
) -> KnownKind {
    let (kind, group, version) = (Cow::Borrowed(kind), Cow::Borrowed(group), Cow::Borrowed(version));
    KnownKind { kind, group, version, root, scope }
}

/// The digests, each in a module of its own.
macro_rules! digest {
    ($module:ident, $name:ident, $file:literal) => {
        mod $module {
            use super::Scope::{Cluster, Namespaced};
            use super::{Cow, Field, KnownKind, Type, kind, name};
            include!($file);
        }
        pub(super) const $name: Tables =
            Tables { types: $module::TYPES, kinds: $module::KINDS, names: $module::NAMES };
    };
}

digest!(kubernetes_1_21, V1_21, "../../data/kubernetes_1_21.rs");
digest!(kubernetes_1_37, V1_37, "../../data/kubernetes_1_37.rs");
