use serde::de::DeserializeOwned;

use crate::exact;
use crate::managed_fields::ManagedFields;

/// How objects that are listed page by page and watched become values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) managed_fields: ManagedFields,
    /// Whether collections are made without room to grow.
    pub(crate) is_exact: bool,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            managed_fields: ManagedFields::Kept,
            is_exact: false,
        }
    }
}

impl Reading {
    pub(crate) fn decode<K: DeserializeOwned>(self, text: &str) -> Result<K, serde_json::Error> {
        if self.is_exact {
            return exact::from_str(text);
        }
        serde_json::from_str(text)
    }
}
