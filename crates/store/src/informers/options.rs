use evenkeel_meta::{FieldSelector, LabelSelector};

/// Which part of a resource to mirror. The default is all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct InformerOptions {
    /// One namespace; `None` is all of them.
    pub namespace: Option<String>,
    /// Only objects whose labels match.
    pub labels: String,
    /// Only objects whose fields match.
    pub fields: String,
    /// Whether `metadata.managedFields` are decoded and kept by types that can hold them. Default:
    /// no.
    pub managed_fields: bool,
}

impl InformerOptions {
    /// Only one namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Only objects whose labels match.
    #[must_use]
    pub fn labels(mut self, selector: &LabelSelector) -> Self {
        self.labels = selector.to_string();
        self
    }

    /// With `metadata.managedFields`.
    #[must_use]
    pub fn with_managed_fields(mut self) -> Self {
        self.managed_fields = true;
        self
    }

    /// Only objects whose fields match.
    #[must_use]
    pub fn fields(mut self, selector: &FieldSelector) -> Self {
        self.fields = selector.to_string();
        self
    }
}
