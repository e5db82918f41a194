use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The identity that the API server gave to one object in its life.
///
/// A name may be used again after a deletion; a UID never is. Comparing UIDs is what
/// tells "the same object, changed" from "another object of the same name". The text is
/// opaque: usually a UUID, but servers may write anything.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Uid(Arc<str>);

impl Uid {
    /// The text that the server wrote.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether no UID was given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Uid {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Uid {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Uid;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a UID string")
            }
            // Straight from the parser's buffer: no intermediate `String`.
            fn visit_str<E>(self, text: &str) -> Result<Uid, E> {
                Ok(Uid::from(text))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

impl From<&str> for Uid {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Uid {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl Borrow<str> for Uid {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
