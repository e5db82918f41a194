//! Secondary indexes: from a value computed from an object to the objects that have it.

mod postings;
mod values;

pub(crate) use self::postings::Postings;
pub use self::values::Values;

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use evenkeel_meta::{MetaView, Object};

/// How objects are indexed: a name, and a function from an object to any number of values.
///
/// Registered with [`Store::add_index`](crate::Store::add_index) at any time, an index covers
/// what is in the store already and everything that comes after. A clone is the same index.
///
/// The function must depend on nothing but the object. Where it fails or panics, the object is
/// set aside as [`SetAsideReason::Index`](crate::SetAsideReason::Index) and the store keeps its
/// last good state, so that an index never answers from a state that the store does not show
/// (contract client-go S4, without upstream's panic).
///
/// ```
/// use evenkeel_meta::Metadata;
/// use evenkeel_store::Index;
/// # use evenkeel_meta::{Object, MetaView};
///
/// // Several values, or none, are fine: whatever can be iterated over.
/// let by_app = Index::new("app", |object: &Metadata| {
///     object.metadata().label("app").map(str::to_owned)
/// });
/// assert_eq!(by_app.name(), "app");
/// ```
pub struct Index<K> {
    definition: Arc<Definition<K>>,
}

struct Definition<K> {
    name: Cow<'static, str>,
    builtin: bool,
    compute: Box<Compute<K>>,
}

type Compute<K> =
    dyn for<'a> Fn(&'a K, &mut Values<'a>) -> Result<(), Cow<'static, str>> + Send + Sync;

impl<K: 'static> Index<K> {
    /// An index by the values that `values` gives for an object.
    pub fn new<F, I>(name: impl Into<Cow<'static, str>>, values: F) -> Self
    where
        F: Fn(&K) -> I + Send + Sync + 'static,
        I: IntoIterator,
        I::Item: Into<String>,
    {
        Self::define(name.into(), false, move |object, out| {
            for value in values(object) {
                out.push(Cow::Owned(value.into()));
            }
            Ok(())
        })
    }

    /// An index whose function may fail, which sets the object aside.
    pub fn fallible<F, I, E>(name: impl Into<Cow<'static, str>>, values: F) -> Self
    where
        F: Fn(&K) -> Result<I, E> + Send + Sync + 'static,
        I: IntoIterator,
        I::Item: Into<String>,
        E: fmt::Display,
    {
        Self::define(name.into(), false, move |object, out| {
            let values = values(object).map_err(|error| Cow::Owned(error.to_string()))?;
            for value in values {
                out.push(Cow::Owned(value.into()));
            }
            Ok(())
        })
    }

    /// An index whose function hands out text of the object itself, so that no write allocates for it.
    pub fn borrowing<F>(name: impl Into<Cow<'static, str>>, values: F) -> Self
    where
        F: for<'a> Fn(&'a K, &mut Values<'a>) + Send + Sync + 'static,
    {
        Self::define(name.into(), false, move |object, out| {
            values(object, out);
            Ok(())
        })
    }

    fn define<F>(name: Cow<'static, str>, builtin: bool, compute: F) -> Self
    where
        F: for<'a> Fn(&'a K, &mut Values<'a>) -> Result<(), Cow<'static, str>>
            + Send
            + Sync
            + 'static,
    {
        Self {
            definition: Arc::new(Definition {
                name,
                builtin,
                compute: Box::new(compute),
            }),
        }
    }
}

impl<K: Object + 'static> Index<K> {
    /// By namespace. Objects without one are not in it.
    #[must_use]
    pub fn namespace() -> Self {
        Self::define("namespace".into(), true, |object: &K, out| {
            if let Some(namespace) = object.metadata().namespace() {
                out.push(Cow::Borrowed(namespace));
            }
            Ok(())
        })
    }

    /// By the UID of each owner, controlling or not.
    #[must_use]
    pub fn owner_uid() -> Self {
        Self::define("owner-uid".into(), true, |object: &K, out| {
            for owner in object.metadata().owners() {
                out.push(Cow::Borrowed(owner.uid));
            }
            Ok(())
        })
    }

    /// By the UID of the managing controller: the owner reference with `controller: true`.
    #[must_use]
    pub fn controller_uid() -> Self {
        Self::define("controller-uid".into(), true, |object: &K, out| {
            if let Some(owner) = object.metadata().controller() {
                out.push(Cow::Borrowed(owner.uid));
            }
            Ok(())
        })
    }
}

impl<K> Index<K> {
    /// The name under which it is registered.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// Whether both are one index: clones, or the same built-in one.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.definition, &other.definition)
            || (self.definition.builtin
                && other.definition.builtin
                && self.definition.name == other.definition.name)
    }

    /// The values of an object, sorted and without doubles.
    pub(crate) fn values<'a>(&self, object: &'a K) -> Result<Values<'a>, IndexFailure> {
        let mut values = Values::default();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            (self.definition.compute)(object, &mut values)
        }));
        let message = match outcome {
            Ok(Ok(())) => {
                values.normalize();
                return Ok(values);
            }
            Ok(Err(message)) => message,
            Err(panic) => panic_message(&*panic).into(),
        };
        Err(IndexFailure {
            index: self.definition.name.clone(),
            message,
        })
    }
}

impl<K> Clone for Index<K> {
    fn clone(&self) -> Self {
        Self {
            definition: Arc::clone(&self.definition),
        }
    }
}

impl<K> fmt::Debug for Index<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Index").field(&self.definition.name).finish()
    }
}

/// An index function failed or panicked for one object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("index {index:?}: {message}")]
pub(crate) struct IndexFailure {
    pub(crate) index: Cow<'static, str>,
    pub(crate) message: Cow<'static, str>,
}

/// Why an index was not added. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddIndexError {
    /// Another index has that name.
    #[error("another index is named {name:?}")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// The function failed for an object that is in the store already.
    #[error("index {name:?} fails for {key}: {message}")]
    Function {
        /// The index.
        name: String,
        /// The object.
        key: evenkeel_meta::ObjectKey,
        /// What the function said.
        message: String,
    },
}

/// The text of a caught panic.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("no message"))
}
