use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_meta::{LabelSelector, MetaView, Object};
use evenkeel_store::{Event, Informer, InformerSet};

use crate::changed::Changed;

/// Keys of the first contents, and of resyncs, wait behind keys that something happened to
/// (contract controller-runtime C19).
const BACKGROUND: i32 = -100;

/// A collection that a controller watches, and which of its events it wants to know of.
///
/// Where all of them count, an `&Informer` or an `&InformerSet` says the same.
///
/// ```
/// use evenkeel::{Controller, Watch, changed};
/// # use evenkeel::{Reconciler, store::Informer};
/// # use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
/// # fn build(deployments: &Informer<Deployment>, pods: &Informer<Pod>, reconciler: impl Reconciler) {
/// let controller = Controller::builder("deployment")
///     .for_(Watch::of(deployments).when(changed::generation()))
///     .owns(Watch::of(pods).only(|pod: &Pod| pod.spec.is_some()))
///     .reconciler(reconciler);
/// # }
/// ```
///
/// What is filtered here was sent, decoded and stored. Where the server can do it, with a
/// namespace or a selector in the [`InformerOptions`](crate::store::InformerOptions), it costs
/// nothing of that.
#[must_use]
pub struct Watch<T> {
    pub(super) parts: Vec<Part<T>>,
    pub(super) filter: Filter<T>,
    pub(super) priorities: Priorities,
    pub(super) resync: Option<Duration>,
}

/// One informer, and the namespace that it is limited to as one of several.
pub(super) struct Part<T> {
    pub(super) informer: Informer<T>,
    pub(super) namespace: Option<String>,
}

/// How urgent what comes is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Priorities {
    change: i32,
    background: i32,
}

pub(super) struct Filter<T> {
    only: Vec<Arc<Only<T>>>,
    when: Vec<Changed<T>>,
}

type Only<T> = dyn Fn(&T) -> bool + Send + Sync;

impl<T: Object + Send + Sync + 'static> Watch<T> {
    /// Everything that happens to the objects of `collection`: an informer, or a set of them.
    pub fn of(collection: impl Into<Self>) -> Self {
        collection.into()
    }

    /// Of updates only those for which `changed` holds. Said twice, both must hold.
    ///
    /// See [`changed`](crate::changed) for what passes in any case.
    pub fn when(mut self, changed: Changed<T>) -> Self {
        self.filter.when.push(changed);
        self
    }

    /// Only objects for which `test` holds: before or after the change, so that an object
    /// which ceases to be one of these is told of as well. Said twice, both must hold.
    pub fn only(mut self, test: impl Fn(&T) -> bool + Send + Sync + 'static) -> Self {
        self.filter.only.push(Arc::new(test));
        self
    }

    /// Only objects whose labels match: [`only`](Self::only) with a selector.
    pub fn labelled(self, selector: LabelSelector) -> Self {
        self.only(move |object| {
            let meta = object.metadata();
            selector.matches_by(|key| meta.label(key))
        })
    }

    /// How urgent changes are; 0 unless set. Of the keys that wait the one of the highest
    /// priority is next, but none waits for ever.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priorities.change = priority;
        self
    }

    /// How urgent what was there at the start is, and what a resync tells of; -100 unless set.
    pub fn background_priority(mut self, priority: i32) -> Self {
        self.priorities.background = priority;
        self
    }

    /// Tells of every object again each `period`, whether it has changed or not: for loops
    /// whose outcome depends on what no event tells of. Asks the server for nothing.
    pub fn resync_every(mut self, period: Duration) -> Self {
        self.resync = Some(period);
        self
    }

    fn new(parts: Vec<Part<T>>) -> Self {
        Self {
            parts,
            filter: Filter {
                only: Vec::new(),
                when: Vec::new(),
            },
            priorities: Priorities {
                change: 0,
                background: BACKGROUND,
            },
            resync: None,
        }
    }
}

impl Priorities {
    pub(super) fn of<T>(self, event: &Event<T>) -> i32 {
        if event.is_initial() || event.is_resync() {
            self.background
        } else {
            self.change
        }
    }
}

impl<T: Object + 'static> Filter<T> {
    pub(super) fn passes(&self, event: &Event<T>) -> bool {
        let is_ours = self.only.iter().all(|only| match event {
            Event::Updated { old, new } => only(new) || only(old),
            // What is not known may have been one of ours.
            event => event.object().is_none_or(|object| only(object)),
        });
        is_ours
            && match event {
                Event::Updated { old, new }
                    if !event.is_resync()
                        && old.metadata().is_terminating() == new.metadata().is_terminating() =>
                {
                    self.when.iter().all(|changed| changed.holds(old, new))
                }
                _ => true,
            }
    }
}

impl<T> Clone for Filter<T> {
    fn clone(&self) -> Self {
        Self {
            only: self.only.clone(),
            when: self.when.clone(),
        }
    }
}

impl<T: Object + Send + Sync + 'static> From<&Informer<T>> for Watch<T> {
    fn from(informer: &Informer<T>) -> Self {
        Self::new(vec![Part {
            informer: informer.clone(),
            namespace: None,
        }])
    }
}

impl<T: Object + Send + Sync + 'static> From<&InformerSet<T>> for Watch<T> {
    fn from(set: &InformerSet<T>) -> Self {
        let parts = set.iter().map(|(namespace, informer)| Part {
            informer: informer.clone(),
            namespace: Some(namespace.to_owned()),
        });
        Self::new(parts.collect())
    }
}

impl<T> fmt::Debug for Watch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("priorities", &self.priorities)
            .field("resync", &self.resync)
            .finish_non_exhaustive()
    }
}
