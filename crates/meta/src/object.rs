use crate::{ObjectKey, OwnerView, PackedMeta, ResourceVersion, Timestamp};

/// Anything that carries Kubernetes object metadata.
///
/// This is all that stores, informers, queues and the garbage collector ask of a type, so a
/// projection of five fields works as well as a full type: give it a field of type
/// [`Meta`](crate::Meta) and return it.
///
/// ```
/// use evenkeel_meta::{Meta, Object};
///
/// #[derive(serde::Deserialize)]
/// struct PodPhase {
///     metadata: Meta,
///     status: Phase,
/// }
/// #[derive(serde::Deserialize)]
/// struct Phase {
///     phase: String,
/// }
/// impl Object for PodPhase {
///     type Meta = Meta;
///     fn metadata(&self) -> &Meta {
///         &self.metadata
///     }
/// }
///
/// # use evenkeel_meta::MetaView;
/// let pod: PodPhase = serde_json::from_str(
///     r#"{"metadata":{"namespace":"ns","name":"a"},"status":{"phase":"Running"}}"#,
/// )?;
/// assert_eq!(pod.metadata().key().to_string(), "ns/a");
/// # assert_eq!(pod.status.phase, "Running");
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// With the feature `kube` every `kube_core::Resource` is an `Object` already; such types
/// never implement it by hand.
pub trait Object {
    /// How the metadata is stored.
    type Meta: MetaView;

    /// Whether `metadata.managedFields` would be kept. They are a quarter of a usual object's text
    /// and more than that of its memory, so that caches leave them out before they are decoded.
    const MANAGED_FIELDS: bool = false;

    /// The metadata.
    fn metadata(&self) -> &Self::Meta;

    /// The metadata, for types that hold it packed. Caches then keep once what objects have in common
    /// (labels, annotations, owners; see [`Interner`](crate::Interner)), and one key for all states of an
    /// object. `None` by default, which only costs memory.
    fn packed_mut(&mut self) -> Option<&mut PackedMeta> {
        None
    }
}

/// Marks types that carry *every* field of their object, so that writing one back whole
/// (POST, PUT) loses nothing. A projection is not `Complete`: it may only patch.
pub trait Complete {}

/// Read access to object metadata, whatever it is stored in.
///
/// The accessors live here and not on [`Object`], so that they never collide with
/// `kube::ResourceExt` where both are in scope. A field that the server left out reads as
/// `None`, an empty iterator, or for the name the empty text.
pub trait MetaView {
    /// Whether everything that these accessors read is kept. Metadata that drops owners, say, is
    /// not whole, and then never shared with those who need all of it, such as a garbage
    /// collector.
    const WHOLE: bool = false;

    /// `metadata.name`.
    fn name(&self) -> &str;
    /// `metadata.namespace`; `None` for cluster-scoped objects.
    fn namespace(&self) -> Option<&str>;
    /// `metadata.uid`.
    fn uid(&self) -> Option<&str>;
    /// `metadata.resourceVersion`.
    fn resource_version(&self) -> Option<ResourceVersion>;
    /// `metadata.generation`.
    fn generation(&self) -> Option<i64>;
    /// `metadata.creationTimestamp`.
    fn creation_timestamp(&self) -> Option<Timestamp>;
    /// `metadata.deletionTimestamp`; set when a graceful or blocked deletion has begun.
    fn deletion_timestamp(&self) -> Option<Timestamp>;
    /// `metadata.labels`, in key order.
    fn labels(&self) -> impl Iterator<Item = (&str, &str)>;
    /// `metadata.annotations`, in key order.
    fn annotations(&self) -> impl Iterator<Item = (&str, &str)>;
    /// One label.
    fn label(&self, key: &str) -> Option<&str>;
    /// One annotation.
    fn annotation(&self, key: &str) -> Option<&str>;
    /// `metadata.finalizers`.
    fn finalizers(&self) -> impl Iterator<Item = &str>;
    /// `metadata.ownerReferences`.
    fn owners(&self) -> impl Iterator<Item = OwnerView<'_>>;

    /// Namespace and name.
    fn key(&self) -> ObjectKey {
        ObjectKey::new(self.namespace(), self.name())
    }

    /// The key, where the metadata holds it in one piece: caches then share that allocation.
    fn held_key(&self) -> Option<&ObjectKey> {
        None
    }

    /// The managing controller: the reference with `controller: true`, of which there is at most one.
    fn controller(&self) -> Option<OwnerView<'_>> {
        self.owners().find(|owner| owner.controller)
    }

    /// Whether a deletion has begun.
    fn is_terminating(&self) -> bool {
        self.deletion_timestamp().is_some()
    }

    /// Whether `name` is among the finalizers.
    fn has_finalizer(&self, name: &str) -> bool {
        self.finalizers().any(|finalizer| finalizer == name)
    }
}
