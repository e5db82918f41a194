//! Storage keys and the ranges that list and watch select.

use std::ops::Bound;
use std::sync::Arc;

/// `namespace/name` for a namespaced object, `name` for a cluster-scoped one.
/// The byte order of keys is the order in which lists are answered.
pub(crate) type Key = Arc<str>;

/// Joins the parts of a key.
pub(crate) fn object_key(namespace: Option<&str>, name: &str) -> Key {
    match namespace {
        Some(namespace) => format!("{namespace}/{name}").into(),
        None => name.into(),
    }
}

/// The objects that a collection request is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyRange {
    /// Every object of the resource.
    All,
    /// Every object of one namespace.
    Namespace(Box<str>),
    /// One object: a selector on `metadata.name` within a known namespace.
    One(Key),
}

impl KeyRange {
    pub(crate) fn of(namespace: Option<&str>, name: Option<&str>, namespaced: bool) -> Self {
        match (namespace, name) {
            (Some(namespace), Some(name)) => Self::One(object_key(Some(namespace), name)),
            (None, Some(name)) if !namespaced => Self::One(object_key(None, name)),
            (Some(namespace), None) => Self::Namespace(namespace.into()),
            (None, _) => Self::All,
        }
    }

    pub(crate) fn contains(&self, key: &str) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(namespace) => key
                .strip_prefix(&**namespace)
                .is_some_and(|rest| rest.starts_with('/')),
            Self::One(one) => **one == *key,
        }
    }

    /// The bounds of the range, or what remains of it behind `after`.
    pub(crate) fn bounds(&self, after: Option<&str>) -> (Bound<Key>, Bound<Key>) {
        let (start, end) = match self {
            Self::All => (Bound::Unbounded, Bound::Unbounded),
            // '0' is the byte behind '/': everything of the namespace sorts between them.
            Self::Namespace(namespace) => (
                Bound::Included(format!("{namespace}/").into()),
                Bound::Excluded(format!("{namespace}0").into()),
            ),
            Self::One(one) => (Bound::Included(one.clone()), Bound::Included(one.clone())),
        };
        match after {
            Some(after) if self.contains(after) => (Bound::Excluded(after.into()), end),
            _ => (start, end),
        }
    }
}
