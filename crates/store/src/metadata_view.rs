#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_meta::{ApiResource, Meta, Object, ObjectKey};
use futures_util::future::BoxFuture;

use crate::event::{Deletion, Event};
use crate::handler::{Handler, Registration};
use crate::informer::{Informer, Stopped};
use crate::metadata::MetadataRef;
use crate::set_aside::SetAside;
use crate::status::{SyncError, SyncState};

/// The metadata of a collection, off an informer that may decode more of its objects than that.
///
/// For those who need every kind's metadata, such as a garbage collector: where a controller
/// mirrors the kind already, no second list, watch or copy is made. Objects that the informer
/// has set aside are shown too, since their metadata is known.
///
/// Got from [`Informers::metadata_view`](crate::Informers::metadata_view). A clone is another
/// handle.
#[derive(Clone)]
pub struct MetadataView {
    source: Arc<dyn Source>,
}

/// What happened to an object, as far as its metadata tells.
#[derive(Clone, Copy, Debug)]
pub enum MetadataEvent<'a> {
    /// The object is there, in this state: it is new, or it has changed.
    Present {
        /// Its metadata.
        object: MetadataRef<'a>,
        /// Whether it belongs to the contents that were there when the handler was added, or to
        /// the first list.
        initial: bool,
    },
    /// The object is gone.
    Gone {
        /// The last state that was seen.
        last_known: Option<MetadataRef<'a>>,
        /// Whether the server reported the deletion. Otherwise it was found out by a list.
        reported: bool,
    },
}

/// Is told of the metadata of every object of a collection, and of every change. What is said of
/// [`Handler`] holds here too. Any `FnMut(&ObjectKey, MetadataEvent<'_>)` is one.
pub trait MetadataHandler: Send + 'static {
    /// Takes one event.
    fn handle(&mut self, key: &ObjectKey, event: MetadataEvent<'_>);
}

impl<F> MetadataHandler for F
where
    F: FnMut(&ObjectKey, MetadataEvent<'_>) + Send + 'static,
{
    fn handle(&mut self, key: &ObjectKey, event: MetadataEvent<'_>) {
        self(key, event);
    }
}

impl MetadataView {
    pub(crate) fn of<K: Object + Send + Sync + 'static>(informer: Informer<K>) -> Self {
        Self {
            source: Arc::new(informer),
        }
    }

    /// What is mirrored.
    #[must_use]
    pub fn resource(&self) -> &ApiResource {
        self.source.resource()
    }

    /// Adds a handler; see [`Informer::add_handler`].
    ///
    /// # Errors
    ///
    /// The informer was stopped.
    pub fn add_handler(&self, handler: impl MetadataHandler) -> Result<Registration, Stopped> {
        self.source.add_handler(Box::new(handler))
    }

    /// Reads the metadata of one object.
    pub fn read<T>(&self, key: &ObjectKey, read: impl FnOnce(MetadataRef<'_>) -> T) -> Option<T> {
        let mut read = Some(read);
        let mut found = None;
        self.source.read(key, &mut |metadata| {
            found = read.take().map(|read| read(metadata));
        });
        found
    }

    /// Whether the informer has synced; see [`Informer::has_synced`].
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.source.sync_state().is_synced()
    }

    /// Waits until the informer has synced; see [`Informer::synced`].
    ///
    /// # Errors
    ///
    /// The informer was stopped first.
    ///
    /// # Cancel safety
    ///
    /// Yes; nothing is consumed.
    pub async fn synced(&self) -> Result<(), SyncError> {
        self.source.synced().await
    }

    /// As [`synced`](Self::synced), for `limit` at most; see [`Informer::synced_within`].
    ///
    /// # Errors
    ///
    /// The informer was stopped, or the time is over.
    ///
    /// # Cancel safety
    ///
    /// Yes; nothing is consumed.
    pub async fn synced_within(&self, limit: Duration) -> Result<(), SyncError> {
        tokio::time::timeout(limit, self.synced())
            .await
            .unwrap_or_else(|_| {
                let state = self.sync_state();
                Err(SyncError::TimedOut { state })
            })
    }

    /// Whether the informer has synced, and what fails at the moment.
    #[must_use]
    pub fn sync_state(&self) -> SyncState {
        self.source.sync_state()
    }

    /// Stops the informer, for everybody who uses it: right for a kind that is no longer served.
    pub fn stop(&self) {
        self.source.stop();
    }
}

impl fmt::Debug for MetadataView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MetadataView")
            .field(&format_args!("{}", self.resource()))
            .finish()
    }
}

/// An informer of whatever type.
trait Source: Send + Sync {
    fn resource(&self) -> &ApiResource;
    fn add_handler(&self, handler: Box<dyn MetadataHandler>) -> Result<Registration, Stopped>;
    fn read(&self, key: &ObjectKey, read: &mut dyn FnMut(MetadataRef<'_>));
    fn synced(&self) -> BoxFuture<'_, Result<(), SyncError>>;
    fn sync_state(&self) -> SyncState;
    fn stop(&self);
}

impl<K: Object + Send + Sync + 'static> Source for Informer<K> {
    fn resource(&self) -> &ApiResource {
        Informer::resource(self)
    }

    fn add_handler(&self, handler: Box<dyn MetadataHandler>) -> Result<Registration, Stopped> {
        Informer::add_handler(
            self,
            Adapter {
                handler,
                set_aside: HashMap::new(),
            },
        )
    }

    fn read(&self, key: &ObjectKey, read: &mut dyn FnMut(MetadataRef<'_>)) {
        let snapshot = self.store().snapshot();
        // Of an object that was set aside, what the store shows is an earlier state.
        if let Some(aside) = snapshot.is_set_aside(key) {
            read(MetadataRef::new(&aside.metadata));
        } else if let Some(object) = snapshot.get(key) {
            read(MetadataRef::new(object.metadata()));
        }
    }

    fn synced(&self) -> BoxFuture<'_, Result<(), SyncError>> {
        Box::pin(Informer::synced(self))
    }

    fn sync_state(&self) -> SyncState {
        Informer::sync_state(self)
    }

    fn stop(&self) {
        Informer::stop(self);
    }
}

/// Turns an informer's events into those of a view.
struct Adapter {
    handler: Box<dyn MetadataHandler>,
    /// The events do not tell of these.
    set_aside: HashMap<ObjectKey, Meta>,
}

impl<K: Object + 'static> Handler<K> for Adapter {
    fn handle(&mut self, key: &ObjectKey, event: &Event<K>) {
        let aside = self.set_aside.remove(key);
        let aside = aside.as_ref().map(MetadataRef::new);
        let (deletion, reported) = match event {
            Event::Added { object, .. } | Event::Updated { new: object, .. } => {
                let present = MetadataEvent::Present {
                    object: MetadataRef::new(object.metadata()),
                    initial: event.is_initial(),
                };
                self.handler.handle(key, present);
                return;
            }
            Event::Deleted(deletion) => (deletion, matches!(deletion, Deletion::Final(_))),
        };
        let last_known = deletion
            .last_known()
            .map(|object| MetadataRef::new(object.metadata()));
        // What was set aside is newer than what is known otherwise.
        let last_known = match deletion {
            Deletion::Final(_) => last_known,
            Deletion::Unknown { .. } => aside.or(last_known),
        };
        let gone = MetadataEvent::Gone {
            last_known,
            reported,
        };
        self.handler.handle(key, gone);
    }

    fn set_aside(&mut self, key: &ObjectKey, object: &SetAside) {
        self.set_aside.insert(key.clone(), object.metadata.clone());
        let present = MetadataEvent::Present {
            object: MetadataRef::new(&object.metadata),
            initial: false,
        };
        self.handler.handle(key, present);
    }
}
