//! Which object some JSON text is, read ahead of its decoding and without allocation.

use evenkeel_meta::{Meta, ResourceVersion, Uid};
use memchr::memchr2;

use crate::json::ValueEnd;

/// Which object it is and in which state, read from its JSON text before that is decoded.
///
/// With it a reader can tell what it has already, or does not want, at the price of a look
/// at the first lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Identity<'a> {
    /// `metadata.name`.
    pub name: &'a str,
    /// `metadata.namespace`; `None` for cluster-scoped objects.
    pub namespace: Option<&'a str>,
    /// `metadata.uid`.
    pub uid: Option<&'a str>,
    /// `metadata.resourceVersion`, as text.
    pub resource_version: Option<&'a str>,
}

impl<'a> Identity<'a> {
    /// Reads the fields that are there; each is taken on its own, so that one of the wrong type
    /// does not spoil the others. `None` if there is no name, or the text is unusual.
    pub(crate) fn read(object: &'a [u8]) -> Option<Self> {
        let mut fields = Fields::open(object)?;
        while fields.next_name()? != b"metadata" {
            fields.value()?;
        }
        let mut metadata = Fields::open(fields.rest)?;
        let mut identity = Self::default();
        while !identity.is_complete()
            && let Some(name) = metadata.next_name()
        {
            let value = metadata.value()?;
            match name {
                b"name" => identity.name = text(value).unwrap_or_default(),
                b"namespace" => identity.namespace = text(value),
                b"uid" => identity.uid = text(value),
                b"resourceVersion" => identity.resource_version = text(value),
                _ => {}
            }
        }
        (!identity.name.is_empty()).then_some(identity)
    }

    fn is_complete(&self) -> bool {
        !self.name.is_empty()
            && self.namespace.is_some()
            && self.uid.is_some()
            && self.resource_version.is_some()
    }

    pub(crate) fn to_meta(self) -> Meta {
        Meta {
            name: self.name.to_owned(),
            namespace: self.namespace.map(str::to_owned),
            uid: self.uid.map(Uid::from),
            resource_version: self.resource_version.map(ResourceVersion::parse),
            ..Meta::default()
        }
    }
}

/// A string without escapes, which these fields never need.
fn text(value: &[u8]) -> Option<&str> {
    let inner = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if inner.contains(&b'\\') {
        return None;
    }
    std::str::from_utf8(inner).ok()
}

/// Walks over the fields of a JSON object.
pub(crate) struct Fields<'a> {
    pub(crate) rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn open(object: &'a [u8]) -> Option<Self> {
        let rest = object.trim_ascii_start().strip_prefix(b"{")?;
        Some(Self { rest })
    }

    /// The next field's name; the rest then begins with its value. `None` at the end.
    pub(crate) fn next_name(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest.trim_ascii_start();
        let rest = rest.strip_prefix(b",").unwrap_or(rest);
        let rest = rest.trim_ascii_start().strip_prefix(b"\"")?;
        let end = memchr2(b'"', b'\\', rest)?;
        let (name, rest) = rest.split_at(end);
        let rest = rest.strip_prefix(b"\"")?.trim_ascii_start();
        self.rest = rest.strip_prefix(b":")?.trim_ascii_start();
        Some(name)
    }

    pub(crate) fn value(&mut self) -> Option<&'a [u8]> {
        let end = ValueEnd::default().find(self.rest)?;
        let (value, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_found_in_any_order_and_spelling() {
        let expected = Some(Identity {
            name: "a",
            namespace: Some("ns"),
            uid: Some("u"),
            resource_version: Some("7"),
        });
        for text in [
            r#"{"kind":"Pod","metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"7","labels":{"name":"x"}},"spec":{}}"#,
            r#"{"spec":{"metadata":{"name":"inner"}},"metadata":{"managedFields":[{"name":"m}"}],"uid":"u","resourceVersion":"7","namespace":"ns","name":"a"}}"#,
            "  {\n \"metadata\" : { \"name\" : \"a\" , \"namespace\" : \"ns\",\n\"uid\": \"u\", \"resourceVersion\": \"7\" } }",
            r#"{"metadata":{"labels":7,"name":"a","namespace":"ns","uid":"u","resourceVersion":"7","#,
        ] {
            assert_eq!(Identity::read(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn what_is_missing_or_odd_is_none() {
        let cluster = Identity::read(br#"{"metadata":{"uid":3,"name":"n"}}"#).unwrap();
        assert_eq!(
            (cluster.name, cluster.namespace, cluster.uid),
            ("n", None, None)
        );
        for text in [
            "",
            "3",
            "{}",
            r#"{"metadata":null}"#,
            r#"{"metadata":{}}"#,
            r#"{"metadata":{"name":"\u0061"}}"#,
            r#"{"metadata":{"namespace":"ns"}}"#,
            r#"{"metadata":{"name"#,
        ] {
            assert_eq!(Identity::read(text.as_bytes()), None, "{text}");
        }
    }
}
