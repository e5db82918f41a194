use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_meta::{ApiResource, MetaView, Object, ObjectKey, OwnerView, Scope};
use evenkeel_observe::Metrics;
use evenkeel_pace::{ItemBackoff, Limiter};
use evenkeel_store::{Event, Informer};

use super::watch::{Watch, Watched};
use super::{Controller, Reconcile};
use crate::Reconciler;

/// A controller that has a name and watches nothing yet.
#[must_use]
pub struct Named {
    name: String,
}

impl Named {
    pub(super) fn new(name: String) -> Self {
        Self { name }
    }

    /// Reconciles the objects of `informer`: their keys are the controller's keys.
    pub fn for_<T: Object + Send + Sync + 'static>(self, informer: &Informer<T>) -> Builder {
        let owner = Some(informer.resource().clone());
        let builder = Builder::new(self.name, owner);
        builder.watches(informer, |key, _, add| add(key.clone()))
    }

    /// Reconciles keys of any type, which `map` makes of the events of `informer`.
    pub fn watches<T, K>(
        self,
        informer: &Informer<T>,
        map: impl Fn(&ObjectKey, &Event<T>, &mut dyn FnMut(K)) + Send + Sync + 'static,
    ) -> Builder<K>
    where
        T: Object + Send + Sync + 'static,
        K: Clone + Eq + Hash + Send + Sync + 'static,
    {
        Builder::new(self.name, None).watches(informer, map)
    }
}

/// What a controller watches and how it runs.
///
/// ```no_run
/// # use evenkeel::{Context, Controller, Outcome, ReconcileError, Reconciler};
/// # use evenkeel_meta::{Metadata, ObjectKey};
/// # use evenkeel_store::Informer;
/// # fn build(sets: &Informer<Metadata>, pods: &Informer<Metadata>, reconciler: impl Reconciler) {
/// let controller = Controller::builder("replicaset")
///     .for_(sets)
///     .owns(pods)
///     .concurrency(5)
///     .reconciler(reconciler);
/// # }
/// ```
#[must_use]
pub struct Builder<K = ObjectKey> {
    name: String,
    owner: Option<ApiResource>,
    watches: Vec<Box<dyn Watch<K>>>,
    concurrency: usize,
    timeout: Option<Duration>,
    limiter: Arc<dyn Fn() -> Box<dyn Limiter<K> + Send> + Send + Sync>,
    metrics: Metrics,
}

impl Builder {
    /// Watches what the reconciled objects own: an event concerns the key of the object's
    /// managing controller, before and after the change.
    pub fn owns<T: Object + Send + Sync + 'static>(self, informer: &Informer<T>) -> Self {
        let Some(owner) = self.owner.clone() else {
            unreachable!("the keys of a builder of this type are those of `for_`");
        };
        self.watches(informer, move |_, event, add| {
            let key = |object: &T| {
                let meta = object.metadata();
                let controller = meta
                    .controller()
                    .filter(|controller| is_of(*controller, &owner))?;
                Some(owner_key(&owner, meta.namespace(), controller.name))
            };
            match event {
                Event::Updated { old, new } => {
                    let (old, new) = (key(old), key(new));
                    if old != new {
                        old.into_iter().for_each(&mut *add);
                    }
                    new.into_iter().for_each(&mut *add);
                }
                event => event
                    .object()
                    .and_then(|object| key(object))
                    .into_iter()
                    .for_each(add),
            }
        })
    }
}

impl<K: Clone + Eq + Hash + Send + Sync + 'static> Builder<K> {
    fn new(name: String, owner: Option<ApiResource>) -> Self {
        Self {
            name,
            owner,
            watches: Vec::new(),
            concurrency: 1,
            timeout: None,
            // Per key 5 ms doubled up to 1000 s (contract controller-runtime C18). No bucket over
            // all keys: it makes unrelated keys wait for each other (bug client-go B23).
            limiter: Arc::new(|| Box::new(ItemBackoff::default())),
            metrics: Metrics::none(),
        }
    }

    /// Watches another collection; `map` names the keys that an event concerns.
    ///
    /// `map` runs in the informer's task: it may read stores, but must not block.
    pub fn watches<T: Object + Send + Sync + 'static>(
        mut self,
        informer: &Informer<T>,
        map: impl Fn(&ObjectKey, &Event<T>, &mut dyn FnMut(K)) + Send + Sync + 'static,
    ) -> Self {
        self.watches.push(Box::new(Watched {
            informer: informer.clone(),
            map: Arc::new(map),
        }));
        self
    }

    /// How many keys are reconciled at once; 1 unless set, and never less.
    pub fn concurrency(mut self, workers: usize) -> Self {
        self.concurrency = workers.max(1);
        self
    }

    /// The longest that one run may take; it then ends as a transient error (contract
    /// controller-runtime C13). No limit unless set.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// How long keys wait after failures. `make` is called once per term of leadership.
    pub fn limiter<L: Limiter<K> + Send + 'static>(
        mut self,
        make: impl Fn() -> L + Send + Sync + 'static,
    ) -> Self {
        self.limiter = Arc::new(move || Box::new(make()));
        self
    }

    /// Where the controller and its queue report to.
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = metrics;
        self
    }

    /// The controller, with what it does for each key.
    pub fn reconciler(self, reconciler: impl Reconciler<K>) -> Controller<K> {
        let reconciler: Arc<dyn Reconcile<K>> = Arc::new(reconciler);
        Controller {
            name: self.name,
            watches: self.watches,
            reconciler,
            concurrency: self.concurrency,
            timeout: self.timeout,
            limiter: self.limiter,
            metrics: self.metrics,
        }
    }
}

/// Whether a reference is to an object of this resource, in whatever version.
fn is_of(reference: OwnerView<'_>, resource: &ApiResource) -> bool {
    let group = reference
        .api_version
        .split_once('/')
        .map_or("", |(group, _)| group);
    reference.kind == resource.kind && group == resource.group
}

fn owner_key(owner: &ApiResource, namespace: Option<&str>, name: &str) -> ObjectKey {
    match owner.scope {
        Scope::Namespaced => ObjectKey::new(namespace, name),
        Scope::Cluster => ObjectKey::cluster(name),
    }
}
