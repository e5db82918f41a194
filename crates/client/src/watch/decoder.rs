use std::borrow::Cow;

use bytes::{Buf, Bytes, BytesMut};
use evenkeel_meta::{ApiResource, ResourceVersion, Status};
use memchr::{memchr, memrchr};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::{Change, WatchEvent};
use crate::error::DecodeError;
use crate::identity::Identity;
use crate::json::ValueEnd;
use crate::list::Undecodable;
use crate::reading::Reading;

/// Cuts the bytes of a watch into events and decodes them. Knows no network.
///
/// The stream is a sequence of JSON values. API servers write one a line and in one form, so
/// a line of that form is decoded without looking for its end first; if that fails, the exact
/// way decides what it was.
pub(super) struct Decoder {
    buffer: BytesMut,
    /// How much of the value at the buffer's start has been looked at, and with what result.
    value: ValueEnd,
    seen: usize,
    largest_event: usize,
    keep: Option<Box<Keep>>,
    reading: Reading,
}

pub(super) type Keep = dyn FnMut(Change, &Identity<'_>) -> bool + Send;

/// Why a stream cannot go on.
#[derive(Debug)]
pub(super) enum Fault {
    Malformed(DecodeError),
    TooLarge(usize),
}

impl Decoder {
    pub(super) fn new(largest_event: usize, reading: Reading) -> Self {
        Self {
            buffer: BytesMut::new(),
            value: ValueEnd::default(),
            seen: 0,
            largest_event,
            keep: None,
            reading,
        }
    }

    pub(super) fn keep_if(&mut self, keep: Box<Keep>) {
        self.keep = Some(keep);
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// How many bytes wait.
    pub(super) fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Takes out the lines that are complete, if the bytes that wait are as many as `enough`. Nothing is
    /// taken from a decoder that looks at each event before it decodes it.
    pub(super) fn take_lines(&mut self, enough: usize) -> Option<Bytes> {
        if self.len() < enough || self.keep.is_some() {
            return None;
        }
        let end = memrchr(b'\n', &self.buffer)? + 1;
        let lines = self.buffer.split_to(end).freeze();
        self.value = ValueEnd::default();
        self.seen = 0;
        Some(lines)
    }

    /// Takes out everything.
    pub(super) fn take(&mut self) -> BytesMut {
        self.value = ValueEnd::default();
        self.seen = 0;
        std::mem::take(&mut self.buffer)
    }

    /// Puts bytes before those that wait.
    pub(super) fn put_back(&mut self, mut bytes: BytesMut) {
        let behind = self.take();
        bytes.extend_from_slice(&behind);
        self.buffer = bytes;
    }

    /// One that decodes in the same way, and has nothing to decode yet.
    pub(super) fn sibling(&self) -> Self {
        Self::new(self.largest_event, self.reading)
    }

    /// The next event, if its bytes are all there.
    pub(super) fn next<K: DeserializeOwned>(
        &mut self,
        resource: &ApiResource,
        adopt: fn(&mut K, &ApiResource),
    ) -> Result<Option<WatchEvent<K>>, Fault> {
        // An event that was decoded the exact way leaves its line's end behind, with which the next
        // one would not be of the usual form.
        let is_blank = |byte: &&u8| byte.is_ascii_whitespace();
        let blank = self.buffer.iter().take_while(is_blank).count();
        if blank > 0 {
            self.consume(blank);
        }
        while self.skip_unwanted()? {}
        // No value ends in what was seen before, so a line can only end behind it.
        if let Some(more) = memchr(b'\n', &self.buffer[self.seen..])
            && self.seen + more <= self.largest_event
        {
            let end = self.cut_managed_fields(self.seen + more);
            // Checked as a whole: the parser would check string by string.
            if let Ok(line) = std::str::from_utf8(&self.buffer[..end])
                && let Some((kind, object)) = usual_form(line)
                && let Ok(mut event) = decode(self.reading, kind, object)
            {
                complete(&mut event, resource, adopt);
                self.consume(end + 1);
                return Ok(Some(event));
            }
        }
        let Some(end) = self.value_end()? else {
            return Ok(None);
        };
        let end = self.cut_managed_fields(end);
        let event =
            exact(&self.buffer[..end], self.reading, resource, adopt).map_err(Fault::Malformed)?;
        self.consume(end);
        Ok(Some(event))
    }

    /// Cuts them out of an event, or of the part of one, that ends at `end`; answers where it ends now.
    fn cut_managed_fields(&mut self, end: usize) -> usize {
        let event = &mut self.buffer[..end];
        let head = event.len() - usual_head(event).map_or(0, <[u8]>::len);
        let cut = self.reading.managed_fields.cut(event, head);
        if cut > 0 {
            self.consume(cut);
        }
        end - cut
    }

    /// Drops the next event if it is there and not wanted.
    fn skip_unwanted(&mut self) -> Result<bool, Fault> {
        if self.keep.is_none() {
            return Ok(false);
        }
        // Nothing may be dropped on the strength of a guess about where it ends.
        let Some(end) = self.value_end()? else {
            return Ok(false);
        };
        let form = std::str::from_utf8(&self.buffer[..end])
            .ok()
            .and_then(|text| usual_form(text.trim_ascii()));
        let wanted = match (&mut self.keep, form) {
            (Some(keep), Some((Kind::Change(change), object))) => {
                Identity::read(object.as_bytes()).is_none_or(|identity| keep(change, &identity))
            }
            _ => true,
        };
        if wanted {
            self.value = ValueEnd::default();
            self.seen = 0;
        } else {
            self.consume(end);
        }
        Ok(!wanted)
    }

    fn value_end(&mut self) -> Result<Option<usize>, Fault> {
        let end = self.value.find(&self.buffer[self.seen..]);
        let end = end.map(|more| self.seen + more);
        if end.unwrap_or(self.buffer.len()) > self.largest_event {
            return Err(Fault::TooLarge(self.largest_event));
        }
        if end.is_none() {
            self.seen = self.buffer.len();
        }
        Ok(end)
    }

    fn consume(&mut self, length: usize) {
        self.buffer.advance(length);
        self.value = ValueEnd::default();
        self.seen = 0;
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Change(Change),
    Bookmark,
    Error,
}

impl Kind {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "ADDED" => Self::Change(Change::Added),
            "MODIFIED" => Self::Change(Change::Modified),
            "DELETED" => Self::Change(Change::Deleted),
            "BOOKMARK" => Self::Bookmark,
            "ERROR" => Self::Error,
            _ => return None,
        })
    }
}

/// Takes `{"type":"ADDED","object":…}` apart.
fn usual_form(line: &str) -> Option<(Kind, &str)> {
    let rest = line.strip_prefix("{\"type\":\"")?;
    let (kind, rest) = rest.split_once('"')?;
    let kind = Kind::parse(kind)?;
    let object = rest.strip_prefix(",\"object\":")?.strip_suffix('}')?;
    Some((kind, object))
}

/// What follows after `{"type":"ADDED","object":`.
fn usual_head(event: &[u8]) -> Option<&[u8]> {
    let rest = event.strip_prefix(b"{\"type\":\"")?;
    let end = memchr(b'"', rest)?;
    rest[end..].strip_prefix(b"\",\"object\":")
}

fn decode<K: DeserializeOwned>(
    reading: Reading,
    kind: Kind,
    object: &str,
) -> Result<WatchEvent<K>, serde_json::Error> {
    Ok(match kind {
        Kind::Change(Change::Added) => WatchEvent::Added(reading.decode(object)?),
        Kind::Change(Change::Modified) => WatchEvent::Modified(reading.decode(object)?),
        Kind::Change(Change::Deleted) => WatchEvent::Deleted(reading.decode(object)?),
        Kind::Bookmark => bookmark(object)?,
        Kind::Error => WatchEvent::Error(Box::new(serde_json::from_str::<Status>(object)?)),
    })
}

/// The annotation of the bookmark that ends the initial events of a watch-list (client-go WL4).
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

fn bookmark<K>(object: &str) -> Result<WatchEvent<K>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Object {
        metadata: Version,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Version {
        resource_version: ResourceVersion,
        #[serde(default)]
        annotations: Option<std::collections::BTreeMap<String, String>>,
    }
    let Object { metadata } = serde_json::from_str(object)?;
    let marks = metadata.annotations.unwrap_or_default();
    Ok(WatchEvent::Bookmark {
        resource_version: metadata.resource_version,
        initial_events_end: marks
            .get(INITIAL_EVENTS_END)
            .is_some_and(|value| value == "true"),
    })
}

/// Decodes one complete value of any form; an object that does not decode is reported as such.
fn exact<K: DeserializeOwned>(
    text: &[u8],
    reading: Reading,
    resource: &ApiResource,
    adopt: fn(&mut K, &ApiResource),
) -> Result<WatchEvent<K>, DecodeError> {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
        #[serde(borrow)]
        object: &'a RawValue,
    }
    let what = "a watch event";
    let envelope: Envelope<'_> =
        serde_json::from_slice(text).map_err(|error| DecodeError::new(what, &error))?;
    let Some(kind) = Kind::parse(&envelope.kind) else {
        let reason = format!("unknown type {:?}", envelope.kind);
        return Err(DecodeError::new(what, &reason));
    };
    let object = envelope.object.get();
    match (decode(reading, kind, object), kind) {
        (Ok(mut event), _) => {
            complete(&mut event, resource, adopt);
            Ok(event)
        }
        (Err(error), Kind::Change(change)) => {
            let object = Undecodable::new(object.as_bytes(), resource, &error);
            Ok(WatchEvent::Undecodable {
                change,
                metadata: object.metadata,
                error: object.error,
            })
        }
        (Err(error), Kind::Bookmark | Kind::Error) => Err(DecodeError::new(what, &error)),
    }
}

fn complete<K>(event: &mut WatchEvent<K>, resource: &ApiResource, adopt: fn(&mut K, &ApiResource)) {
    match event {
        WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) => {
            adopt(object, resource);
        }
        _ => {}
    }
}
