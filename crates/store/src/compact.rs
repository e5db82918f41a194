//! Whole objects in a fraction of their memory, decoded when they are read.

mod compressor;
#[cfg(test)]
mod tests;

pub(crate) use self::compressor::Compressor;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use evenkeel_meta::{Object, PackedMeta};
use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// An object kept whole, but for `managedFields`, as compressed JSON, and decoded as `K` each time
/// it is [read](Self::decode). Its metadata can be read without that.
///
/// For collections that are large and seldom read in full. Got from
/// [`Informers::compact`](crate::Informers::compact), whose informer learns a dictionary from the
/// first objects, since objects of a kind resemble one another.
///
/// What does not decode as `K` is found out by the reader: the store takes any object.
///
/// # Cost
///
/// 96 bytes, the metadata's, and the compressed text. A hundred thousand pods that resemble one
/// another take some 860 bytes each, all of the store included (`--example memory`). A read
/// decompresses, then decodes.
pub struct Compact<K> {
    metadata: PackedMeta,
    text: Box<[u8]>,
    /// How long the text is when decompressed, and with what it was compressed.
    compressed: Option<(usize, Arc<[u8]>)>,
    decoded: PhantomData<fn() -> K>,
}

/// A compact object could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// It does not decode as the type that was asked for.
    #[error("does not decode: {0}")]
    Decode(#[from] serde_json::Error),
    /// The compressed text is damaged: the memory is.
    #[error("does not decompress")]
    Decompress,
}

impl<K> Compact<K> {
    /// The object's JSON, without `managedFields`.
    ///
    /// # Errors
    ///
    /// Its memory is damaged.
    pub fn json(&self) -> Result<Vec<u8>, CompactError> {
        match &self.compressed {
            None => Ok(self.text.to_vec()),
            Some((len, dictionary)) => {
                lz4_flex::block::decompress_with_dict(&self.text, *len, dictionary)
                    .map_err(|_| CompactError::Decompress)
            }
        }
    }

    /// Bytes that the text takes in memory.
    #[must_use]
    pub fn stored_len(&self) -> usize {
        self.text.len()
    }

    fn read(whole: &str) -> Result<Self, serde_json::Error> {
        let mut out = Vec::with_capacity(whole.len());
        let mut metadata = PackedMeta::default();
        let Fields(fields) = serde_json::from_str(whole)?;
        write_object(&mut out, fields, |out, name, value| {
            if name != "metadata" {
                out.extend_from_slice(value.as_bytes());
                return Ok(());
            }
            metadata = serde_json::from_str(value)?;
            let Fields(mut fields) = serde_json::from_str(value)?;
            fields.retain(|(name, _)| name != "managedFields");
            write_object(out, fields, |out, _, value| {
                out.extend_from_slice(value.as_bytes());
                Ok(())
            })
        })?;
        Ok(Self {
            metadata,
            text: out.into_boxed_slice(),
            compressed: None,
            decoded: PhantomData,
        })
    }
}

impl<K: DeserializeOwned> Compact<K> {
    /// The object. Every call decodes anew.
    ///
    /// # Errors
    ///
    /// It does not decode as `K`.
    pub fn decode(&self) -> Result<K, CompactError> {
        match &self.compressed {
            None => Ok(serde_json::from_slice(&self.text)?),
            Some(_) => Ok(serde_json::from_slice(&self.json()?)?),
        }
    }
}

fn write_object<'a>(
    out: &mut Vec<u8>,
    fields: Vec<(String, &'a RawValue)>,
    mut write_value: impl FnMut(&mut Vec<u8>, &str, &'a str) -> Result<(), serde_json::Error>,
) -> Result<(), serde_json::Error> {
    out.push(b'{');
    for (at, (name, value)) in fields.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        serde_json::to_writer(&mut *out, &name)?;
        out.push(b':');
        write_value(out, &name, value.get())?;
    }
    out.push(b'}');
    Ok(())
}

/// The fields of a JSON object in their order, with their text as it stands.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

impl<'de, K> Deserialize<'de> for Compact<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let whole = Box::<RawValue>::deserialize(deserializer)?;
        Self::read(whole.get()).map_err(D::Error::custom)
    }
}

impl<K> Object for Compact<K> {
    type Meta = PackedMeta;

    fn metadata(&self) -> &PackedMeta {
        &self.metadata
    }

    fn packed_mut(&mut self) -> Option<&mut PackedMeta> {
        Some(&mut self.metadata)
    }
}

impl<K> fmt::Debug for Compact<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compact")
            .field("metadata", &self.metadata)
            .field("stored_len", &self.text.len())
            .finish_non_exhaustive()
    }
}
