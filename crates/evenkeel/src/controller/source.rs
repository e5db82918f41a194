//! What fills a controller's queue.

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_meta::{Object, ObjectKey};
use evenkeel_store::{Event, Informer, Registration, Stopped};
use evenkeel_workqueue::Add;

use super::intake::Intake;
use super::mapping::Map;
use super::watch::{Filter, Part, Priorities, Watch};
use crate::writes::{Source as Shown, SourceId};

/// One watched informer, whatever the type of its objects.
pub(super) trait Source<K>: Send + Sync {
    /// What the ledger of own writes needs to know.
    fn shown(&self) -> Shown;

    /// Begins to fill the queue, with the present contents first. Fails when the informer was
    /// stopped.
    fn attach(&self, id: SourceId, intake: &Arc<Intake<K>>) -> Result<Registration, Stopped>;

    /// What is watched, for people.
    fn subject(&self) -> String;

    /// Why the collection is not synced; `None` when it is.
    fn unsynced(&self) -> Option<String>;
}

/// The sources of one watch, and what their events mean.
#[expect(clippy::needless_pass_by_value, reason = "it is made for them alone")]
pub(super) fn sources<T, K>(watch: Watch<T>, map: Arc<Map<T, K>>) -> Vec<Arc<dyn Source<K>>>
where
    T: Object + Send + Sync + 'static,
    K: Clone + Eq + Hash + Send + Sync + 'static,
{
    let Watch {
        parts,
        filter,
        priorities,
        resync,
    } = watch;
    parts
        .into_iter()
        .map(
            |Part {
                 informer,
                 namespace,
             }| {
                Arc::new(Watched {
                    informer,
                    namespace,
                    filter: filter.clone(),
                    priorities,
                    resync,
                    map: Arc::clone(&map),
                }) as Arc<dyn Source<K>>
            },
        )
        .collect()
}

struct Watched<T, K> {
    informer: Informer<T>,
    namespace: Option<String>,
    filter: Filter<T>,
    priorities: Priorities,
    resync: Option<Duration>,
    map: Arc<Map<T, K>>,
}

impl<T, K> Source<K> for Watched<T, K>
where
    T: Object + Send + Sync + 'static,
    K: Clone + Eq + Hash + Send + Sync + 'static,
{
    fn shown(&self) -> Shown {
        let store = self.informer.store().clone();
        Shown {
            cluster: self.informer.cluster().map(str::to_owned),
            resource: self.informer.resource().group_resource(),
            namespace: self.namespace.clone(),
            shows: Arc::new(move |key, uid| {
                use evenkeel_meta::MetaView as _;
                let shown = store.get(key);
                shown.is_some_and(|object| object.metadata().uid() == Some(uid))
            }),
        }
    }

    fn attach(&self, id: SourceId, intake: &Arc<Intake<K>>) -> Result<Registration, Stopped> {
        let (map, intake) = (Arc::clone(&self.map), Arc::clone(intake));
        let (filter, priorities) = (self.filter.clone(), self.priorities);
        let handler = move |key: &ObjectKey, event: &Event<T>| {
            if filter.passes(event) {
                let add = Add::priority(priorities.of(event));
                map(key, event, &mut |key| intake.add(key, add));
            }
            // After the keys were added: a key that is released by this very event is dirty by now.
            if let Some(object) = event.object() {
                let gone = matches!(event, Event::Deleted(_));
                intake.saw(id, object.metadata(), gone);
            }
        };
        let registration = self.informer.add_handler(handler)?;
        Ok(match self.resync {
            Some(period) => registration.resync_every(period),
            None => registration,
        })
    }

    fn subject(&self) -> String {
        self.informer.sync_state().resource.to_string()
    }

    fn unsynced(&self) -> Option<String> {
        let state = self.informer.sync_state();
        (!state.is_synced()).then(|| format!("{}: {state}", state.resource))
    }
}
