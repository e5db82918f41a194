//! What happens to an object between its decoding and the store.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use evenkeel_meta::{Interner, MetaView, Object};

use crate::index::panic_message;
use crate::set_aside::{SetAsideReason, copy_metadata};

/// Changes each object before the store and the handlers see it: drops fields that nobody reads,
/// say, so that they take no memory.
///
/// It is applied once to every state of an object that arrives, by list, by watch or by
/// watch-list (contracts client-go Q12, ours; B12), the last state of a deleted object included. It must leave
/// alone what identifies the object: name, namespace, UID and resource version. Where it fails or
/// panics, the object is [set aside](crate::SetAside).
///
/// A clone is the same transform; informers are shared by those who ask with the same one.
///
/// ```
/// use evenkeel_meta::DynamicObject;
/// use evenkeel_store::Transform;
///
/// let without_data = Transform::new(|object: &mut DynamicObject| {
///     object.data.remove("data");
/// });
/// # let _ = without_data;
/// ```
pub struct Transform<K> {
    apply: Arc<Apply<K>>,
}

type Apply<K> = dyn Fn(&mut K) -> Result<(), String> + Send + Sync;

impl<K> Transform<K> {
    /// A transform that cannot fail.
    pub fn new(apply: impl Fn(&mut K) + Send + Sync + 'static) -> Self {
        Self {
            apply: Arc::new(move |object| {
                apply(object);
                Ok(())
            }),
        }
    }

    /// A transform that may fail, which sets the object aside.
    pub fn fallible<E: fmt::Display>(
        apply: impl Fn(&mut K) -> Result<(), E> + Send + Sync + 'static,
    ) -> Self {
        Self {
            apply: Arc::new(move |object| apply(object).map_err(|error| error.to_string())),
        }
    }

    /// What tells it from others, for as long as it lives.
    pub(crate) fn id(&self) -> usize {
        Arc::as_ptr(&self.apply).cast::<()>() as usize
    }
}

impl<K> Clone for Transform<K> {
    fn clone(&self) -> Self {
        Self {
            apply: Arc::clone(&self.apply),
        }
    }
}

impl<K> fmt::Debug for Transform<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transform").finish_non_exhaustive()
    }
}

/// The way into one informer's store.
pub(crate) struct Ingress<K> {
    pub(crate) transform: Option<Transform<K>>,
    /// Makes the object smaller, by what the objects before it have taught.
    pub(crate) shrink: Option<Shrink<K>>,
    /// What the objects before it have in common with it.
    pub(crate) interner: Interner,
}

pub(crate) type Shrink<K> = Box<dyn FnMut(&mut K) + Send>;

/// An object as it goes to the store. The same allocation goes to every handler.
#[derive(Debug)]
pub(crate) enum Item<K> {
    Object(Arc<K>),
    Unfit(Box<Unfit>),
}

/// An object that is there, and cannot be taken.
#[derive(Debug)]
pub(crate) struct Unfit {
    /// As much of it as could be read.
    pub(crate) metadata: evenkeel_meta::Meta,
    pub(crate) reason: SetAsideReason,
}

impl<K> Default for Ingress<K> {
    fn default() -> Self {
        Self {
            transform: None,
            shrink: None,
            interner: Interner::default(),
        }
    }
}

impl<K: Object> Ingress<K> {
    pub(crate) fn admit(&mut self, mut object: K) -> Item<K> {
        // Many types decode from anything; this is none of their objects (contract client-go R20).
        if object.metadata().name().is_empty() {
            let message = "it has no name".to_owned();
            return Item::Unfit(Box::new(Unfit {
                metadata: copy_metadata(object.metadata()),
                reason: SetAsideReason::Undecodable { message },
            }));
        }
        if let Some(transform) = &self.transform {
            let call = AssertUnwindSafe(|| (transform.apply)(&mut object));
            let outcome = catch_unwind(call).unwrap_or_else(|panic| Err(panic_message(&*panic)));
            if let Err(message) = outcome {
                return Item::Unfit(Box::new(Unfit {
                    metadata: copy_metadata(object.metadata()),
                    reason: SetAsideReason::Transform { message },
                }));
            }
        }
        if let Some(shrink) = &mut self.shrink {
            shrink(&mut object);
        }
        if let Some(metadata) = object.packed_mut() {
            self.interner.intern(metadata);
        }
        Item::Object(Arc::new(object))
    }
}
