//! The sources of a controller, which may come and go while it runs.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use evenkeel_meta::{Object, ObjectKey};
use evenkeel_store::{Event, Registration, Stopped};
use parking_lot::Mutex;

use super::intake::Intake;
use super::source::{Source, sources};
use super::{mapping, watch::Watch};
use crate::writes::SourceId;

/// Shared by a controller and its handles.
pub(super) struct Watches<K> {
    state: Mutex<State<K>>,
}

struct State<K> {
    /// How many of the entries the builder gave; they stay.
    own: usize,
    next: u64,
    entries: Vec<Entry<K>>,
    /// What is being filled.
    intake: Option<Arc<Intake<K>>>,
}

struct Entry<K> {
    id: u64,
    source: Arc<dyn Source<K>>,
    attached: Option<(SourceId, Arc<Registration>)>,
}

impl<K: Clone + Eq + Hash + Send + Sync + 'static> Watches<K> {
    pub(super) fn new(sources: Vec<Arc<dyn Source<K>>>) -> Self {
        let entries = (0..).zip(sources).map(|(id, source)| Entry {
            id,
            source,
            attached: None,
        });
        let entries: Vec<_> = entries.collect();
        Self {
            state: Mutex::new(State {
                own: entries.len(),
                next: entries.len() as u64,
                entries,
                intake: None,
            }),
        }
    }

    /// What is being filled; begins to fill what `make` gives if nothing is.
    pub(super) fn fill(
        &self,
        make: impl FnOnce() -> Arc<Intake<K>>,
    ) -> Result<Arc<Intake<K>>, String> {
        let mut state = self.state.lock();
        if let Some(intake) = &state.intake {
            return Ok(Arc::clone(intake));
        }
        let intake = make();
        let own = state.own;
        for (at, entry) in state.entries.iter_mut().enumerate() {
            // What was added at run time may have ended since, with its kind: that is no error.
            if let Err(Stopped) = entry.attach(&intake)
                && at < own
            {
                let subject = entry.source.subject();
                state.empty();
                return Err(subject);
            }
        }
        state.intake = Some(Arc::clone(&intake));
        Ok(intake)
    }

    /// Fills nothing any more.
    pub(super) fn empty(&self) {
        self.state.lock().empty();
    }

    /// The registrations of the builder's sources, with what they are of.
    pub(super) fn registrations(&self) -> Vec<(String, Arc<Registration>)> {
        let state = self.state.lock();
        let first = state.entries.iter().take(state.own);
        first
            .filter_map(|entry| {
                let (_, registration) = entry.attached.as_ref()?;
                Some((entry.source.subject(), Arc::clone(registration)))
            })
            .collect()
    }

    pub(super) fn unsynced(&self) -> Vec<String> {
        let state = self.state.lock();
        let entries = state.entries.iter();
        entries
            .filter_map(|entry| entry.source.unsynced())
            .collect()
    }

    fn add(&self, sources: Vec<Arc<dyn Source<K>>>) -> Result<Vec<u64>, Stopped> {
        let mut state = self.state.lock();
        let mut ids = Vec::with_capacity(sources.len());
        for source in sources {
            let mut entry = Entry {
                id: state.next,
                source,
                attached: None,
            };
            if let Some(intake) = state.intake.clone()
                && let Err(Stopped) = entry.attach(&intake)
            {
                state.remove(&ids);
                return Err(Stopped);
            }
            state.next += 1;
            ids.push(entry.id);
            state.entries.push(entry);
        }
        Ok(ids)
    }
}

impl<K: Clone + Eq + Hash + Send + Sync + 'static> State<K> {
    fn empty(&mut self) {
        self.intake = None;
        for entry in &mut self.entries {
            entry.attached = None;
        }
    }

    fn remove(&mut self, ids: &[u64]) {
        let intake = self.intake.clone();
        self.entries.retain(|entry| {
            let stays = !ids.contains(&entry.id);
            if let (false, Some(intake), Some((source, _))) = (stays, &intake, &entry.attached) {
                intake.writes.remove_source(*source);
            }
            stays
        });
    }
}

impl<K: Clone + Eq + Hash + Send + Sync + 'static> Entry<K> {
    fn attach(&mut self, intake: &Arc<Intake<K>>) -> Result<(), Stopped> {
        let id = intake.writes.add_source(self.source.shown());
        self.attached = Some((id, Arc::new(self.source.attach(id, intake)?)));
        Ok(())
    }
}

/// Adds watches to a controller while it runs. Got from [`Controller::handle`](super::Controller::handle).
///
/// For kinds that are not known when the controller is built: what a CRD that appears later
/// defines, or what an object of the user's names.
///
/// ```no_run
/// # use evenkeel::{ControllerHandle, DynamicWatch, Manager, meta::{ApiResource, MetaView, Metadata, Object, ObjectKey}};
/// # use evenkeel::store::{InformerOptions, Informers, Stopped};
/// fn follow(
///     kind: ApiResource,
///     informers: &Informers,
///     controller: &ControllerHandle,
/// ) -> Result<DynamicWatch, Stopped> {
///     let objects = informers.metadata(kind, InformerOptions::default());
///     informers.start();
///     controller.watches(&objects, |object: &Metadata| Some(object.metadata().key()))
/// }
/// ```
pub struct ControllerHandle<K = ObjectKey> {
    pub(super) watches: Arc<Watches<K>>,
}

impl<K: Clone + Eq + Hash + Send + Sync + 'static> ControllerHandle<K> {
    /// Watches another collection from now on; `map` names the keys that an object concerns, as in
    /// [`Builder::watches`](super::Builder::watches).
    ///
    /// What is in it is told first. Workers that run already do not wait until it is synced, and
    /// those of the next term do not either. The informer is yours to start, and to stop.
    ///
    /// # Errors
    ///
    /// The controller runs, and the informer was stopped.
    pub fn watches<T, I>(
        &self,
        collection: impl Into<Watch<T>>,
        map: impl Fn(&T) -> I + Send + Sync + 'static,
    ) -> Result<DynamicWatch<K>, Stopped>
    where
        T: Object + Send + Sync + 'static,
        I: IntoIterator<Item = K>,
    {
        self.add(sources(collection.into(), mapping::objects(map)))
    }

    /// As [`watches`](Self::watches), with all that an event tells.
    ///
    /// # Errors
    ///
    /// As [`watches`](Self::watches).
    pub fn watches_events<T>(
        &self,
        collection: impl Into<Watch<T>>,
        map: impl Fn(&ObjectKey, &Event<T>, &mut dyn FnMut(K)) + Send + Sync + 'static,
    ) -> Result<DynamicWatch<K>, Stopped>
    where
        T: Object + Send + Sync + 'static,
    {
        self.add(sources(collection.into(), Arc::new(map)))
    }

    fn add(&self, sources: Vec<Arc<dyn Source<K>>>) -> Result<DynamicWatch<K>, Stopped> {
        let ids = self.watches.add(sources)?;
        Ok(DynamicWatch {
            watches: Arc::clone(&self.watches),
            ids,
        })
    }
}

/// A watch that was added at run time. Dropping it ends the watch.
///
/// After that no event is taken up any more; keys that wait already still run.
#[must_use = "dropping it ends the watch"]
pub struct DynamicWatch<K: Clone + Eq + Hash + Send + Sync + 'static = ObjectKey> {
    watches: Arc<Watches<K>>,
    ids: Vec<u64>,
}

impl<K: Clone + Eq + Hash + Send + Sync + 'static> Drop for DynamicWatch<K> {
    fn drop(&mut self) {
        self.watches.state.lock().remove(&self.ids);
    }
}

impl<K> Clone for ControllerHandle<K> {
    fn clone(&self) -> Self {
        Self {
            watches: Arc::clone(&self.watches),
        }
    }
}

impl<K> fmt::Debug for ControllerHandle<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let watches = self.watches.state.lock().entries.len();
        f.debug_struct("ControllerHandle")
            .field("watches", &watches)
            .finish()
    }
}

impl<K: Clone + Eq + Hash + Send + Sync + 'static> fmt::Debug for DynamicWatch<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DynamicWatch").field(&self.ids).finish()
    }
}
