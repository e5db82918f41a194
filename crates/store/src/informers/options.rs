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
    /// Whether objects are decoded into `Vec`s as long as what they hold. Default: no.
    pub exact_capacities: bool,
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

    /// With objects that take less memory, and more time to decode: see
    /// [`Api::with_exact_capacities`](evenkeel_client::Api::with_exact_capacities).
    #[must_use]
    pub fn with_exact_capacities(mut self) -> Self {
        self.exact_capacities = true;
        self
    }

    /// Only objects whose fields match.
    #[must_use]
    pub fn fields(mut self, selector: &FieldSelector) -> Self {
        self.fields = selector.to_string();
        self
    }
}
