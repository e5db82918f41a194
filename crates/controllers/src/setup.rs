use evenkeel::Clock;
use evenkeel_meta::{MetaView, Object};
use evenkeel_observe::Metrics;
use evenkeel_store::{AddIndexError, Index, Informer, Informers};

/// What the controllers are built from.
///
/// Controllers that are built from one setup share its informers: one LIST and one WATCH a
/// resource, however many of them look at it.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Where collections come from.
    pub informers: Informers,
    /// Where controllers and queues report to.
    pub metrics: Metrics,
    /// The time by which deadlines that live in objects are measured.
    pub clock: Clock,
}

/// Adds an index to an informer's store, and answers it.
pub(crate) fn indexed<K: Object + Send + Sync + 'static>(
    informer: &Informer<K>,
    index: Index<K>,
) -> Result<Index<K>, AddIndexError> {
    informer.add_index(index.clone())?;
    Ok(index)
}

/// Objects without a controller, by namespace: those that may be adopted.
pub(crate) fn orphans<K: Object + 'static>() -> Index<K> {
    Index::new("orphans", |object: &K| {
        let meta = object.metadata();
        meta.controller()
            .is_none()
            .then(|| meta.namespace().unwrap_or_default().to_owned())
    })
}
