use std::hash::Hash;
use std::sync::Arc;

use evenkeel_meta::{MetaView, Object, ObjectKey};
use evenkeel_store::{Event, Informer, Registration, Stopped};
use evenkeel_workqueue::{Add, Queue};

use crate::writes::{Source, SourceId, Writes};

/// Keys of the first contents wait behind keys that something happened to (contract
/// controller-runtime C19).
const INITIAL_PRIORITY: i32 = -100;

/// Turns an event into the keys that it concerns.
pub(crate) type Map<T, K> = dyn Fn(&ObjectKey, &Event<T>, &mut dyn FnMut(K)) + Send + Sync;

/// One watched collection of a controller, whatever the type of its objects.
pub(crate) trait Watch<K>: Send + Sync {
    /// What the ledger needs to know.
    fn source(&self) -> Source;

    /// Begins to fill the queue, with the present contents first. Fails when the informer was
    /// stopped.
    fn register(
        &self,
        id: SourceId,
        queue: &Queue<K>,
        writes: &Arc<Writes<K>>,
    ) -> Result<Registration, Stopped>;

    /// What is watched, for people.
    fn subject(&self) -> String;

    /// Why the collection is not synced; `None` when it is.
    fn unsynced(&self) -> Option<String>;
}

pub(crate) struct Watched<T, K> {
    pub(crate) informer: Informer<T>,
    pub(crate) map: Arc<Map<T, K>>,
}

impl<T, K> Watch<K> for Watched<T, K>
where
    T: Object + Send + Sync + 'static,
    K: Clone + Eq + Hash + Send + Sync + 'static,
{
    fn source(&self) -> Source {
        let store = self.informer.store().clone();
        Source {
            resource: self.informer.resource().group_resource(),
            shows: Arc::new(move |key, uid| {
                let shown = store.get(key);
                shown.is_some_and(|object| object.metadata().uid() == Some(uid))
            }),
        }
    }

    fn register(
        &self,
        id: SourceId,
        queue: &Queue<K>,
        writes: &Arc<Writes<K>>,
    ) -> Result<Registration, Stopped> {
        let (map, queue, writes) = (Arc::clone(&self.map), queue.clone(), Arc::clone(writes));
        self.informer
            .add_handler(move |key: &ObjectKey, event: &Event<T>| {
                let priority = if event.is_initial() {
                    INITIAL_PRIORITY
                } else {
                    0
                };
                map(key, event, &mut |key| {
                    queue.add_with(key, Add::priority(priority));
                });
                // After the keys were added: a key that is released by this very event is dirty by now.
                if let Some(object) = event.object() {
                    let gone = matches!(event, Event::Deleted(_));
                    writes.saw(id, object.metadata(), gone, &queue);
                }
            })
    }

    fn subject(&self) -> String {
        self.informer.resource().to_string()
    }

    fn unsynced(&self) -> Option<String> {
        let state = self.informer.sync_state();
        (!state.is_synced()).then(|| format!("{}: {state}", self.informer.resource()))
    }
}
