//! Decodes JSON into collections without room to grow.
//!
//! Whoever reads a sequence from text does not know how long it will be, and a `Vec` that grows by
//! doubling has, with the large structures of Kubernetes types, kilobytes that are never used: room for
//! four containers, where a pod has one. Here sequences are counted before they are decoded, so that
//! `Vec`s are made as long as they will be. The price is to look at the text of each sequence twice more.

use std::fmt;

use memchr::memchr2;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess,
    Visitor,
};
use serde_json::value::RawValue;

/// How deep objects and arrays may lie in each other: as deep as serde_json lets them, which begins to count
/// anew in each sequence here.
const DEEPEST: u8 = 128;

pub(crate) fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = T::deserialize(Exact {
        inner: &mut json,
        depth: 0,
    })?;
    json.end()?;
    Ok(value)
}

/// How many elements the text of an array has.
fn count(array: &str) -> usize {
    let bytes = array.as_bytes();
    let (mut depth, mut commas, mut is_empty) = (0_usize, 0, true);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'[' | b'{' => {
                is_empty &= depth == 0;
                depth += 1;
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 1 => commas += 1,
            b'"' => {
                is_empty = false;
                at += 1;
                while let Some(more) = memchr2(b'"', b'\\', &bytes[at.min(bytes.len())..]) {
                    at += more;
                    if bytes[at] == b'"' {
                        break;
                    }
                    at += 2;
                }
            }
            _ => is_empty &= byte.is_ascii_whitespace(),
        }
        at += 1;
    }
    if is_empty { 0 } else { commas + 1 }
}

/// A deserializer all of whose sequences know their lengths, how deep below it they may be.
struct Exact<D> {
    inner: D,
    depth: u8,
}

macro_rules! forward {
    ($($method:ident($($name:ident: $type:ty),*)),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method($($name,)* Passing { inner: visitor, depth: self.depth })
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Exact<D> {
    type Error = D::Error;

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let array = <&RawValue as serde::Deserialize>::deserialize(self.inner)?.get();
        let visitor = Counted {
            visitor,
            length: count(array),
            depth: deeper(self.depth)?,
        };
        serde_json::Deserializer::from_str(array)
            .deserialize_seq(visitor)
            .map_err(Error::custom)
    }

    forward! {
        deserialize_any(), deserialize_bool(), deserialize_i8(), deserialize_i16(),
        deserialize_i32(), deserialize_i64(), deserialize_i128(), deserialize_u8(),
        deserialize_u16(), deserialize_u32(), deserialize_u64(), deserialize_u128(),
        deserialize_f32(), deserialize_f64(), deserialize_char(), deserialize_str(),
        deserialize_string(), deserialize_bytes(), deserialize_byte_buf(), deserialize_option(),
        deserialize_unit(), deserialize_map(), deserialize_identifier(), deserialize_ignored_any(),
        deserialize_unit_struct(name: &'static str),
        deserialize_newtype_struct(name: &'static str),
        deserialize_tuple(length: usize),
        deserialize_tuple_struct(name: &'static str, length: usize),
        deserialize_struct(name: &'static str, fields: &'static [&'static str]),
        deserialize_enum(name: &'static str, variants: &'static [&'static str]),
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

fn deeper<E: Error>(depth: u8) -> Result<u8, E> {
    match depth {
        DEEPEST.. => Err(E::custom("recursion limit exceeded")),
        depth => Ok(depth + 1),
    }
}

/// Passes on [`Exact`] to what a visitor visits.
struct Passing<V> {
    inner: V,
    depth: u8,
}

macro_rules! visit {
    ($($method:ident($type:ty)),* $(,)?) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Passing<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visit! {
        visit_bool(bool), visit_i64(i64), visit_i128(i128), visit_u64(u64), visit_u128(u128),
        visit_f64(f64), visit_char(char), visit_str(&str), visit_borrowed_str(&'de str),
        visit_string(String), visit_bytes(&[u8]), visit_borrowed_bytes(&'de [u8]),
        visit_byte_buf(Vec<u8>),
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        let depth = self.depth;
        self.inner.visit_some(Exact {
            inner: value,
            depth,
        })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        let depth = self.depth;
        self.inner.visit_newtype_struct(Exact {
            inner: value,
            depth,
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        let depth = deeper(self.depth)?;
        self.inner.visit_seq(Passing {
            inner: items,
            depth,
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<V::Value, A::Error> {
        let depth = deeper(self.depth)?;
        self.inner.visit_map(Passing {
            inner: fields,
            depth,
        })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(variant)
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Passing<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let depth = self.depth;
        self.inner.next_value_seed(Passing { inner: seed, depth })
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Passing<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let depth = self.depth;
        self.inner.next_element_seed(Passing { inner: seed, depth })
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Passing<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<S::Value, D::Error> {
        let depth = self.depth;
        self.inner.deserialize(Exact {
            inner: value,
            depth,
        })
    }
}

/// Visits a sequence whose length is known.
struct Counted<V> {
    visitor: V,
    length: usize,
    depth: u8,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Counted<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_seq(Items {
            items,
            left: self.length,
            depth: self.depth,
        })
    }
}

struct Items<A> {
    items: A,
    left: usize,
    depth: u8,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Items<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.left = self.left.saturating_sub(1);
        let depth = self.depth;
        self.items.next_element_seed(Passing { inner: seed, depth })
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;

    use super::*;

    #[test]
    fn elements_are_counted() {
        for (text, length) in [
            ("[]", 0),
            (" [ \n ] ", 0),
            ("[1]", 1),
            (r#"["a,b","\",]",[1,2],{"a":[1,2]}]"#, 4),
            (r#"["\\","\\\"" , ""]"#, 3),
            (r#"[[],[]]"#, 2),
            (r#"[""]"#, 1),
            (r#"[{}]"#, 1),
            // Not JSON: what is wrong with it the decoder says.
            (r#"["a"#, 1),
            (r#"["a\"#, 1),
            ("null", 1),
        ] {
            assert_eq!(count(text), length, "{text}");
        }
    }

    #[test]
    fn an_object_is_decoded_as_ever_and_its_lists_have_no_room_left() {
        let text = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"x":"y"},"ownerReferences":[
            {"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"u","controller":true}]},
            "spec":{"containers":[{"name":"c","args":["-a","-b"],"env":[{"name":"E","value":"1"}],"resources":{
            "limits":{"cpu":"1"}},"ports":[{"containerPort":80}]}],"tolerations":null,"volumes":[]},
            "status":{"conditions":[{"type":"Ready","status":"True"},{"type":"Other","status":"False"}]}}"#;
        let exact: Pod = from_str(text).unwrap();
        let grown: Pod = serde_json::from_str(text).unwrap();
        assert_eq!(exact, grown);
        let owners = exact.metadata.owner_references.unwrap();
        assert_eq!((owners.len(), owners.capacity()), (1, 1));
        let spec = exact.spec.unwrap();
        assert_eq!((spec.containers.len(), spec.containers.capacity()), (1, 1));
        let container = &spec.containers[0];
        assert_eq!(container.args.as_ref().unwrap().capacity(), 2);
        assert_eq!(container.env.as_ref().unwrap().capacity(), 1);
        let conditions = exact.status.unwrap().conditions.unwrap();
        assert_eq!((conditions.len(), conditions.capacity()), (2, 2));
    }

    #[test]
    fn what_does_not_decode_does_not_decode_here() {
        for text in [
            r#"{"spec":{"containers":[{"name":1}]}}"#,
            r#"{"spec":{"containers":{}}}"#,
            r#"{"spec":{"containers":[{"name":"a"}}}"#,
            r#"{"metadata":{}} {}"#,
            "[",
        ] {
            assert!(serde_json::from_str::<Pod>(text).is_err(), "{text}");
            assert!(from_str::<Pod>(text).is_err(), "{text}");
        }
    }

    /// Each sequence is read by a parser of its own, none of which knows how deep the others are.
    #[test]
    fn what_lies_too_deep_is_refused_and_does_not_overflow_the_stack() {
        #[derive(Debug, serde::Deserialize)]
        struct Nest {
            inner: Vec<Self>,
        }
        let nest = |levels: usize| {
            let inner = "{\"inner\":[".repeat(levels);
            format!("{inner}{}", "]}".repeat(levels))
        };
        for levels in [1, 60] {
            assert!(from_str::<Nest>(&nest(levels)).is_ok(), "{levels}");
        }
        for levels in [70, 10_000, 200_000] {
            let text = nest(levels);
            let error = from_str::<Nest>(&text).unwrap_err().to_string();
            assert!(error.contains("recursion limit"), "{levels}: {error}");
            assert!(serde_json::from_str::<Nest>(&text).is_err(), "{levels}");
        }
        let arrays = format!("{}{}", "[".repeat(300), "]".repeat(300));
        assert!(from_str::<serde_json::Value>(&arrays).is_err());
        let first = from_str::<Nest>(&nest(1)).unwrap();
        assert!(first.inner.is_empty());
    }

    #[test]
    fn values_of_any_type_pass() {
        let text = r#"{"a":[1,-2,2.5,"x",null,true,[{"b":[]}]],"c":"\u00fc"}"#;
        let exact: serde_json::Value = from_str(text).unwrap();
        assert_eq!(
            exact,
            serde_json::from_str::<serde_json::Value>(text).unwrap()
        );
        let exact: Vec<Option<(u8, String)>> = from_str(r#"[[1,"a"],null]"#).unwrap();
        assert_eq!(exact, [Some((1, "a".to_owned())), None]);
    }
}
