use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A resource version: which state of an object, or of a collection, this is.
///
/// Two versions can always be compared for equality. An order exists only where the
/// server promises one: a version in canonical decimal form (KEP-5504 makes that the rule
/// for resources served by kube-apiserver), and only between versions of the *same*
/// resource. [`order`](Self::order) answers `None` everywhere else; text is never compared.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ResourceVersion(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    /// A decimal number without sign or leading zeros.
    Number(u64),
    /// Anything else, kept as it was written. The empty text is "unset".
    Opaque(Arc<str>),
}

impl ResourceVersion {
    /// Takes the server's text. Never fails: what is no canonical number stays opaque.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let canonical = !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_digit())
            && (text.len() == 1 || !text.starts_with('0'));
        match text.parse() {
            Ok(number) if canonical => Self(Repr::Number(number)),
            _ => Self(Repr::Opaque(text.into())),
        }
    }

    /// The empty version: on a LIST or WATCH "the most recent state", on a write "whatever is there".
    #[must_use]
    pub fn unset() -> Self {
        Self(Repr::Opaque("".into()))
    }

    /// Version `0`: on a LIST or WATCH "any state that the server has at hand".
    #[must_use]
    pub fn any() -> Self {
        Self(Repr::Number(0))
    }

    /// Whether the text is empty.
    #[must_use]
    pub fn is_unset(&self) -> bool {
        matches!(&self.0, Repr::Opaque(text) if text.is_empty())
    }

    /// Whether this is `0`.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.0 == Repr::Number(0)
    }

    /// The number, where the version is in canonical decimal form.
    #[must_use]
    pub fn as_number(&self) -> Option<u64> {
        match self.0 {
            Repr::Number(number) => Some(number),
            Repr::Opaque(_) => None,
        }
    }

    /// How two versions *of one resource* are ordered; `None` when the server promised no order.
    #[must_use]
    pub fn order(&self, other: &Self) -> Option<Ordering> {
        match (&self.0, &other.0) {
            (Repr::Number(a), Repr::Number(b)) => Some(a.cmp(b)),
            (a, b) if a == b => Some(Ordering::Equal),
            _ => None,
        }
    }

    /// Whether this version is known to be `other` or newer.
    #[must_use]
    pub fn has_reached(&self, other: &Self) -> bool {
        matches!(self.order(other), Some(Ordering::Greater | Ordering::Equal))
    }
}

impl Default for ResourceVersion {
    fn default() -> Self {
        Self::unset()
    }
}

impl From<u64> for ResourceVersion {
    fn from(number: u64) -> Self {
        Self(Repr::Number(number))
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Number(number) => write!(f, "{number}"),
            Repr::Opaque(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl Serialize for ResourceVersion {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Repr::Number(_) => serializer.collect_str(self),
            Repr::Opaque(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for ResourceVersion {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = ResourceVersion;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a resource version string")
            }
            fn visit_str<E>(self, text: &str) -> Result<ResourceVersion, E> {
                Ok(ResourceVersion::parse(text))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_numbers_are_ordered() {
        let parse = ResourceVersion::parse;
        assert_eq!(parse("9").order(&parse("10")), Some(Ordering::Less));
        assert_eq!(parse("09").order(&parse("10")), None);
        assert_eq!(parse("a").order(&parse("b")), None);
        assert_eq!(parse("a").order(&parse("a")), Some(Ordering::Equal));
        assert_eq!(parse("99999999999999999999").as_number(), None);
        assert!(parse("").is_unset() && !parse("0").is_unset() && parse("0").is_any());
        assert!(!parse("x").has_reached(&parse("1")));
    }

    #[test]
    fn text_survives_a_round_trip() {
        for text in ["", "0", "007", "12345", "etcd-7", "18446744073709551616"] {
            assert_eq!(ResourceVersion::parse(text).to_string(), text);
        }
    }
}
