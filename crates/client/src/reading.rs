use std::any::Any;
use std::panic::{UnwindSafe, catch_unwind};

use serde::de::{DeserializeOwned, Error as _};

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
        contained(|| match self.is_exact {
            true => exact::from_str(text),
            false => serde_json::from_str(text),
        })
    }

    /// Decodes what may not be UTF-8.
    pub(crate) fn decode_bytes<K: DeserializeOwned>(
        self,
        json: &[u8],
    ) -> Result<K, serde_json::Error> {
        // Checked as a whole: the parser would check string by string.
        match std::str::from_utf8(json) {
            Ok(text) => self.decode(text),
            Err(_) => contained(|| serde_json::from_slice(json)),
        }
    }
}

/// A type whose decoding panics does not decode: one object of many must not take the others with it.
fn contained<K>(
    decode: impl FnOnce() -> Result<K, serde_json::Error> + UnwindSafe,
) -> Result<K, serde_json::Error> {
    catch_unwind(decode)
        .unwrap_or_else(|panic| Err(serde_json::Error::custom(panic_message(&*panic))))
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("no message"))
}
