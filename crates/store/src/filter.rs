use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use evenkeel_meta::ObjectKey;

use crate::event::{Deletion, Event};
use crate::handler::Handler;
use crate::set_aside::SetAside;

/// A handler for some of the objects: those that a function accepts.
///
/// To the handler the others do not exist: an object that begins to be accepted is added, one
/// that is no longer accepted is deleted, with its last accepted state as the last known (contract client-go
/// I15). What was set aside is told of in any case.
///
/// ```
/// use evenkeel_meta::{MetaView, Metadata, ObjectKey};
/// use evenkeel_store::{Event, Filtered};
///
/// let mine = Filtered::new(
///     |object: &Metadata| object.metadata.label("team") == Some("mine"),
///     |key: &ObjectKey, _: &Event<Metadata>| tracing::info!(%key, "one of mine"),
/// );
/// # let _ = mine;
/// ```
pub struct Filtered<K, P, H> {
    accepts: P,
    handler: H,
    objects: PhantomData<fn(&K)>,
}

impl<K, P, H> Filtered<K, P, H>
where
    P: FnMut(&K) -> bool + Send + 'static,
    H: Handler<K>,
{
    /// Tells `handler` of the objects that `accepts` accepts.
    pub fn new(accepts: P, handler: H) -> Self {
        Self {
            accepts,
            handler,
            objects: PhantomData,
        }
    }
}

impl<K, P, H> Handler<K> for Filtered<K, P, H>
where
    K: 'static,
    P: FnMut(&K) -> bool + Send + 'static,
    H: Handler<K>,
{
    fn handle(&mut self, key: &ObjectKey, event: &Event<K>) {
        match event {
            Event::Added { object, .. } => {
                if (self.accepts)(object) {
                    self.handler.handle(key, event);
                }
            }
            Event::Updated { old, new } => match ((self.accepts)(old), (self.accepts)(new)) {
                (true, true) => self.handler.handle(key, event),
                (false, true) => {
                    let added = Event::Added {
                        object: Arc::clone(new),
                        initial: false,
                    };
                    self.handler.handle(key, &added);
                }
                (true, false) => {
                    let last_known = Some(Arc::clone(old));
                    let gone = Event::Deleted(Deletion::Unknown { last_known });
                    self.handler.handle(key, &gone);
                }
                (false, false) => {}
            },
            Event::Deleted(deletion) => {
                let last = deletion.last_known();
                if last.is_none_or(|last| (self.accepts)(last)) {
                    self.handler.handle(key, event);
                }
            }
        }
    }

    fn set_aside(&mut self, key: &ObjectKey, object: &SetAside) {
        self.handler.set_aside(key, object);
    }
}

impl<K, P, H> fmt::Debug for Filtered<K, P, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filtered").finish_non_exhaustive()
    }
}
