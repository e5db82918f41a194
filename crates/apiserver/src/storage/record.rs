//! One immutable revision of one object: encoded once, shared by the current
//! state, the window of changes, every watcher and every list.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use evenkeel_meta::Meta;
use serde::Deserialize;
use serde_json::{Map, Value};

/// An object encoded but for its resource version, which only a commit knows.
#[derive(Debug)]
pub(crate) struct Draft {
    bytes: Vec<u8>,
    layout: Layout,
    meta: Meta,
    fields: Box<[Box<str>]>,
}

/// Start and end of a part.
type Span = (u32, u32);

/// Where the parts of an encoded object are.
#[derive(Debug, Clone, Copy)]
struct Layout {
    /// Behind `{"kind":..,"apiVersion":..,`: the rest of the object.
    body: u32,
    metadata: Span,
    /// The digits of the resource version, without their quotes.
    version: Span,
}

/// One revision of an object.
#[derive(Debug)]
pub(crate) struct Record {
    revision: u64,
    data: Bytes,
    layout: Layout,
    meta: Arc<Meta>,
    fields: Arc<[Box<str>]>,
}

impl Draft {
    /// Encodes `object`, whose `resourceVersion` is ignored, as of `api_version` if given.
    /// `fields` are the values that field selectors compare, in the order of the resource's list.
    pub(crate) fn encode(
        object: &Value,
        api_version: Option<&str>,
        fields: Box<[Box<str>]>,
    ) -> Result<Self, serde_json::Error> {
        let empty = Map::new();
        let object = object.as_object().unwrap_or(&empty);
        let metadata = object
            .get("metadata")
            .and_then(Value::as_object)
            .unwrap_or(&empty);
        let mut out = Vec::with_capacity(1024);
        out.push(b'{');
        write_entry(&mut out, "kind", object.get("kind").unwrap_or(&Value::Null))?;
        out.extend_from_slice(b",\"apiVersion\":");
        match api_version {
            Some(api_version) => serde_json::to_writer(&mut out, api_version)?,
            None => {
                serde_json::to_writer(&mut out, object.get("apiVersion").unwrap_or(&Value::Null))?;
            }
        }
        out.push(b',');
        let body = offset(&out);
        out.extend_from_slice(b"\"metadata\":");
        let (metadata_range, version) = write_metadata(&mut out, metadata)?;
        for (name, value) in object {
            if !matches!(name.as_str(), "kind" | "apiVersion" | "metadata") {
                out.push(b',');
                write_entry(&mut out, name, value)?;
            }
        }
        out.push(b'}');
        let mut meta = Meta::deserialize(metadata)?;
        meta.resource_version = None;
        let layout = Layout {
            body,
            metadata: metadata_range,
            version,
        };
        Ok(Self {
            bytes: out,
            layout,
            meta,
            fields,
        })
    }

    /// Whether committing this draft would change nothing but the resource version.
    pub(crate) fn same_as(&self, record: &Record) -> bool {
        let (at, _) = self.layout.version;
        let (start, end) = to_usize(record.layout.version);
        let (at, data) = (at as usize, &record.data);
        self.bytes.len() + (end - start) == data.len()
            && start == at
            && self.bytes[..at] == data[..start]
            && self.bytes[at..] == data[end..]
    }

    pub(crate) fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The object as a dry run shows it: without a resource version.
    pub(crate) fn seal_unstored(self) -> Record {
        const FIELD: &str = "\"resourceVersion\":\"\",";
        let start = self.layout.metadata.0 as usize + 1;
        let mut data = self.bytes;
        data.drain(start..start + FIELD.len());
        let mut layout = self.layout;
        layout.metadata.1 -= u32::try_from(FIELD.len()).unwrap_or(0);
        Record {
            revision: 0,
            data: data.into(),
            layout,
            meta: Arc::new(self.meta),
            fields: self.fields.into(),
        }
    }

    /// Gives the object its revision.
    pub(crate) fn seal(self, revision: u64) -> Record {
        let (data, layout) = stamp(&self.bytes, self.layout, revision);
        Record {
            revision,
            data,
            layout,
            meta: Arc::new(self.meta),
            fields: self.fields.into(),
        }
    }
}

impl Record {
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The metadata, except its resource version: [`Record::revision`] is that.
    pub(crate) fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The values that field selectors compare.
    pub(crate) fn fields(&self) -> &[Box<str>] {
        &self.fields
    }

    /// The whole object as JSON.
    pub(crate) fn data(&self) -> &Bytes {
        &self.data
    }

    /// What stands behind `kind` and `apiVersion`: lists of built-in types name both
    /// once, for the list.
    pub(crate) fn untyped_tail(&self) -> &[u8] {
        &self.data[self.layout.body as usize..]
    }

    /// The value of `metadata`, encoded.
    pub(crate) fn metadata_json(&self) -> &[u8] {
        &self.data[to_range(self.layout.metadata)]
    }

    /// The object as a value, for a write or a table row.
    pub(crate) fn decode(&self) -> Result<Value, serde_json::Error> {
        serde_json::from_slice(&self.data)
    }

    /// The same object under another revision: the last state of a deleted object,
    /// or of one that left a selector.
    pub(crate) fn restamp(&self, revision: u64) -> Self {
        let (data, layout) = stamp(&self.data, self.layout, revision);
        Self {
            revision,
            data,
            layout,
            meta: Arc::clone(&self.meta),
            fields: Arc::clone(&self.fields),
        }
    }
}

fn write_metadata(
    out: &mut Vec<u8>,
    metadata: &Map<String, Value>,
) -> Result<(Span, Span), serde_json::Error> {
    let start = offset(out);
    out.extend_from_slice(b"{\"resourceVersion\":\"");
    let version = offset(out);
    out.push(b'"');
    for (name, value) in metadata {
        if name != "resourceVersion" {
            out.push(b',');
            write_entry(out, name, value)?;
        }
    }
    out.push(b'}');
    Ok(((start, offset(out)), (version, version)))
}

fn write_entry(out: &mut Vec<u8>, name: &str, value: &Value) -> Result<(), serde_json::Error> {
    serde_json::to_writer(&mut *out, name)?;
    out.push(b':');
    serde_json::to_writer(&mut *out, value)
}

/// Writes `revision` where the resource version goes and moves what stands behind it.
fn stamp(bytes: &[u8], layout: Layout, revision: u64) -> (Bytes, Layout) {
    let (start, end) = to_usize(layout.version);
    let digits = revision.to_string();
    let mut data = Vec::with_capacity(bytes.len() - (end - start) + digits.len());
    data.extend_from_slice(&bytes[..start]);
    data.extend_from_slice(digits.as_bytes());
    data.extend_from_slice(&bytes[end..]);
    let version_end = layout.version.0 + u32::try_from(digits.len()).unwrap_or(0);
    let moved = Layout {
        body: layout.body,
        metadata: (
            layout.metadata.0,
            layout.metadata.1 - layout.version.1 + version_end,
        ),
        version: (layout.version.0, version_end),
    };
    (Bytes::from(data), moved)
}

/// Request bodies are limited to a few megabytes, so 32 bits hold any offset.
fn offset(out: &[u8]) -> u32 {
    u32::try_from(out.len()).unwrap_or(u32::MAX)
}

fn to_usize((start, end): Span) -> (usize, usize) {
    (start as usize, end as usize)
}

fn to_range((start, end): Span) -> Range<usize> {
    start as usize..end as usize
}
