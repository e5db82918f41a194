//! How objects are wrapped into lists and events: JSON, and protobuf by hand, whose messages need
//! four fields in all.

/// The form of everything that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Protobuf,
}

/// Every message outside a list or an event begins with it.
const MAGIC: &[u8] = b"k8s\0";

impl Encoding {
    pub(crate) fn list_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    pub(crate) fn watch_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        }
    }

    /// What comes before the items of a list of `length` bytes of framed items.
    pub(crate) fn list_head(
        self,
        metadata_only: bool,
        version: u64,
        continue_token: &str,
        length: usize,
    ) -> Vec<u8> {
        let (kind, api_version) = match metadata_only {
            true => ("PartialObjectMetadataList", "meta.k8s.io/v1"),
            false => ("PodList", "v1"),
        };
        match self {
            Self::Json => format!(
                r#"{{"kind":"{kind}","apiVersion":"{api_version}","metadata":{{"resourceVersion":"{version}","continue":"{continue_token}"}},"items":["#
            )
            .into_bytes(),
            Self::Protobuf => {
                let mut meta = field(2, version.to_string().as_bytes());
                meta.extend(field(3, continue_token.as_bytes()));
                let meta = field(1, &meta);
                let mut head = unknown_head(kind, api_version);
                put_head(&mut head, 2, meta.len() + length);
                head.extend(meta);
                head
            }
        }
    }

    /// How long an item of `length` bytes is in a list.
    pub(crate) fn item_length(self, length: usize) -> usize {
        match self {
            Self::Json => length + 1,
            Self::Protobuf => {
                let mut head = Vec::new();
                put_head(&mut head, 2, length);
                head.len() + length
            }
        }
    }

    pub(crate) fn put_item(self, out: &mut Vec<u8>, object: &[u8], is_first: bool) {
        match self {
            Self::Json if is_first => {}
            Self::Json => out.push(b','),
            Self::Protobuf => put_head(out, 2, object.len()),
        }
        out.extend_from_slice(object);
    }

    pub(crate) fn list_tail(self) -> &'static [u8] {
        match self {
            Self::Json => b"]}\n",
            Self::Protobuf => b"",
        }
    }

    pub(crate) fn put_event(self, out: &mut Vec<u8>, event: &str, of: Kind, object: &[u8]) {
        match self {
            Self::Json => {
                out.extend_from_slice(b"{\"type\":\"");
                out.extend_from_slice(event.as_bytes());
                out.extend_from_slice(b"\",\"object\":");
                out.extend_from_slice(object);
                out.extend_from_slice(b"}\n");
            }
            Self::Protobuf => {
                let (kind, api_version) = of.types();
                let mut message = unknown_head(kind, api_version);
                put_head(&mut message, 2, object.len());
                let raw = message.len() + object.len();
                let mut frame = field(1, event.as_bytes());
                // The object is a RawExtension, whose first field is the message.
                let mut inner = Vec::new();
                put_head(&mut inner, 1, raw);
                put_head(&mut frame, 2, inner.len() + raw);
                frame.extend(inner);
                frame.extend(message);
                let length = (frame.len() + object.len()) as u32;
                out.extend_from_slice(&length.to_be_bytes());
                out.extend_from_slice(&frame);
                out.extend_from_slice(object);
            }
        }
    }

    /// The end of a watch-list's initial events.
    pub(crate) fn bookmark(self, metadata_only: bool, version: u64, ends_initial: bool) -> Vec<u8> {
        let kind = Kind::of(metadata_only);
        let mut out = Vec::new();
        let object = match self {
            Self::Json => {
                let (kind, api_version) = kind.types();
                let mark = match ends_initial {
                    true => r#","annotations":{"k8s.io/initial-events-end":"true"}"#,
                    false => "",
                };
                format!(
                    r#"{{"kind":"{kind}","apiVersion":"{api_version}","metadata":{{"resourceVersion":"{version}"{mark}}}}}"#
                )
                .into_bytes()
            }
            Self::Protobuf => {
                let mut meta = field(6, version.to_string().as_bytes());
                if ends_initial {
                    let mut entry = field(1, b"k8s.io/initial-events-end");
                    entry.extend(field(2, b"true"));
                    meta.extend(field(12, &entry));
                }
                field(1, &meta)
            }
        };
        self.put_event(&mut out, "BOOKMARK", kind, &object);
        out
    }

    /// A watch's history is gone.
    pub(crate) fn expired(self) -> Vec<u8> {
        let mut out = Vec::new();
        let object = match self {
            Self::Json => br#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version","reason":"Expired","code":410}"#.to_vec(),
            Self::Protobuf => {
                let mut status = field(2, b"Failure");
                status.extend(field(3, b"too old resource version"));
                status.extend(field(4, b"Expired"));
                // Its code: field 6, a number.
                status.push(6 << 3);
                put_number(&mut status, 410);
                status
            }
        };
        self.put_event(&mut out, "ERROR", Kind::Status, &object);
        out
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Pod,
    Metadata,
    Status,
}

impl Kind {
    pub(crate) fn of(metadata_only: bool) -> Self {
        match metadata_only {
            true => Self::Metadata,
            false => Self::Pod,
        }
    }

    fn types(self) -> (&'static str, &'static str) {
        match self {
            Self::Pod => ("Pod", "v1"),
            Self::Metadata => ("PartialObjectMetadata", "meta.k8s.io/v1"),
            Self::Status => ("Status", "v1"),
        }
    }
}

/// The magic and the types of `runtime.Unknown`.
fn unknown_head(kind: &str, api_version: &str) -> Vec<u8> {
    let mut types = field(1, api_version.as_bytes());
    types.extend(field(2, kind.as_bytes()));
    let mut out = MAGIC.to_vec();
    out.extend(field(1, &types));
    out
}

fn field(number: u8, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len() + 6);
    put_head(&mut out, number, value.len());
    out.extend_from_slice(value);
    out
}

/// What stands before bytes of this length.
fn put_head(out: &mut Vec<u8>, number: u8, length: usize) {
    out.push(number << 3 | 2);
    put_number(out, length);
}

fn put_number(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bookmark_in_protobuf_has_its_lengths_right() {
        let frame = Encoding::Protobuf.bookmark(false, 7, true);
        let length = u32::from_be_bytes(frame[..4].try_into().unwrap());
        assert_eq!(length as usize, frame.len() - 4);
        assert_eq!(frame[4..14], *b"\x0a\x08BOOKMARK");
        assert_eq!(frame[14], 2 << 3 | 2);
        assert_eq!(usize::from(frame[15]), frame.len() - 16);
    }

    #[test]
    fn long_lengths_take_more_bytes() {
        let mut out = Vec::new();
        put_number(&mut out, 300);
        assert_eq!(out, [0xac, 0x02]);
        assert_eq!(Encoding::Protobuf.item_length(300), 303);
    }
}
