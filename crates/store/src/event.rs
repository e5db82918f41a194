use std::sync::Arc;

/// What happened to one object of a store, as a handler is told.
///
/// Events of one object come in order and are a subsequence of its true states: states that
/// passed while a handler was busy may be left out. Nothing is promised about the order between
/// objects. By the time of an event the store shows that state or a later one, so act on what
/// the store says and take the event as the reason to look.
///
/// An object that was deleted and created again under the same name is `Deleted`, then `Added`,
/// never `Updated` (contract client-go I3, ours).
#[derive(Debug)]
pub enum Event<K> {
    /// The object is new to the handler.
    Added {
        /// Its state.
        object: Arc<K>,
        /// Whether it belongs to the contents that were there when the handler was added, or to
        /// the first list.
        initial: bool,
    },
    /// The object changed; both states have one UID. In a resync they are one state.
    Updated {
        /// The last state that the handler was told.
        old: Arc<K>,
        /// The state now.
        new: Arc<K>,
    },
    /// The object is gone.
    Deleted(Deletion<K>),
}

/// How much is known about a deletion (contract client-go T1).
#[derive(Debug)]
pub enum Deletion<K> {
    /// The server reported it, with the last state that the object had.
    Final(Arc<K>),
    /// It was found out, by a list that lacks the object or by a new object under its name, so the
    /// last state may never have been seen.
    Unknown {
        /// The last state that was seen, if any could be decoded.
        last_known: Option<Arc<K>>,
    },
}

impl<K> Event<K> {
    /// The state that the event is about: the newest one known.
    #[must_use]
    pub fn object(&self) -> Option<&Arc<K>> {
        match self {
            Self::Added { object, .. } => Some(object),
            Self::Updated { new, .. } => Some(new),
            Self::Deleted(deletion) => deletion.last_known(),
        }
    }

    /// Whether nothing happened: a [resync](crate::Registration::resync_every) tells of the object
    /// again.
    #[must_use]
    pub fn is_resync(&self) -> bool {
        matches!(self, Self::Updated { old, new } if Arc::ptr_eq(old, new))
    }

    /// Whether this is an addition that was there from the start.
    #[must_use]
    pub fn is_initial(&self) -> bool {
        matches!(self, Self::Added { initial: true, .. })
    }
}

impl<K> Deletion<K> {
    /// The last state that was seen.
    #[must_use]
    pub fn last_known(&self) -> Option<&Arc<K>> {
        match self {
            Self::Final(object) => Some(object),
            Self::Unknown { last_known } => last_known.as_ref(),
        }
    }
}

impl<K> Clone for Event<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Added { object, initial } => Self::Added {
                object: Arc::clone(object),
                initial: *initial,
            },
            Self::Updated { old, new } => Self::Updated {
                old: Arc::clone(old),
                new: Arc::clone(new),
            },
            Self::Deleted(deletion) => Self::Deleted(deletion.clone()),
        }
    }
}

impl<K> Clone for Deletion<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Final(object) => Self::Final(Arc::clone(object)),
            Self::Unknown { last_known } => Self::Unknown {
                last_known: last_known.clone(),
            },
        }
    }
}
