use std::fmt;

use evenkeel_meta::{MetaView, OwnerView, ResourceVersion, Timestamp};

/// The metadata of an object, whatever type the object was decoded as.
///
/// It is a [`MetaView`] like any other; only iterating over labels, annotations, finalizers and
/// owners allocates.
#[derive(Clone, Copy)]
pub struct MetadataRef<'a>(&'a dyn Erased);

impl<'a> MetadataRef<'a> {
    /// A reference to the metadata of any type.
    pub fn new(metadata: &'a impl MetaView) -> Self {
        Self(metadata)
    }
}

type Pairs<'a> = Box<dyn Iterator<Item = (&'a str, &'a str)> + 'a>;

/// [`MetaView`] without what keeps it from being a trait object.
trait Erased {
    fn name(&self) -> &str;
    fn namespace(&self) -> Option<&str>;
    fn uid(&self) -> Option<&str>;
    fn resource_version(&self) -> Option<ResourceVersion>;
    fn generation(&self) -> Option<i64>;
    fn creation_timestamp(&self) -> Option<Timestamp>;
    fn deletion_timestamp(&self) -> Option<Timestamp>;
    fn labels(&self) -> Pairs<'_>;
    fn annotations(&self) -> Pairs<'_>;
    fn label(&self, key: &str) -> Option<&str>;
    fn annotation(&self, key: &str) -> Option<&str>;
    fn finalizers(&self) -> Box<dyn Iterator<Item = &str> + '_>;
    fn owners(&self) -> Box<dyn Iterator<Item = OwnerView<'_>> + '_>;
}

impl<M: MetaView> Erased for M {
    fn name(&self) -> &str {
        MetaView::name(self)
    }

    fn namespace(&self) -> Option<&str> {
        MetaView::namespace(self)
    }

    fn uid(&self) -> Option<&str> {
        MetaView::uid(self)
    }

    fn resource_version(&self) -> Option<ResourceVersion> {
        MetaView::resource_version(self)
    }

    fn generation(&self) -> Option<i64> {
        MetaView::generation(self)
    }

    fn creation_timestamp(&self) -> Option<Timestamp> {
        MetaView::creation_timestamp(self)
    }

    fn deletion_timestamp(&self) -> Option<Timestamp> {
        MetaView::deletion_timestamp(self)
    }

    fn labels(&self) -> Pairs<'_> {
        Box::new(MetaView::labels(self))
    }

    fn annotations(&self) -> Pairs<'_> {
        Box::new(MetaView::annotations(self))
    }

    fn label(&self, key: &str) -> Option<&str> {
        MetaView::label(self, key)
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        MetaView::annotation(self, key)
    }

    fn finalizers(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        Box::new(MetaView::finalizers(self))
    }

    fn owners(&self) -> Box<dyn Iterator<Item = OwnerView<'_>> + '_> {
        Box::new(MetaView::owners(self))
    }
}

impl MetaView for MetadataRef<'_> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn namespace(&self) -> Option<&str> {
        self.0.namespace()
    }

    fn uid(&self) -> Option<&str> {
        self.0.uid()
    }

    fn resource_version(&self) -> Option<ResourceVersion> {
        self.0.resource_version()
    }

    fn generation(&self) -> Option<i64> {
        self.0.generation()
    }

    fn creation_timestamp(&self) -> Option<Timestamp> {
        self.0.creation_timestamp()
    }

    fn deletion_timestamp(&self) -> Option<Timestamp> {
        self.0.deletion_timestamp()
    }

    fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.labels()
    }

    fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.annotations()
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.0.label(key)
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.0.annotation(key)
    }

    fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.0.finalizers()
    }

    fn owners(&self) -> impl Iterator<Item = OwnerView<'_>> {
        self.0.owners()
    }
}

impl fmt::Debug for MetadataRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetadataRef")
            .field("namespace", &self.0.namespace())
            .field("name", &self.0.name())
            .field("uid", &self.0.uid())
            .finish_non_exhaustive()
    }
}
