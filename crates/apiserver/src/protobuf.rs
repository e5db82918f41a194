//! Kubernetes' protobuf, as Go clients send it: decoded by the schemas of the built-in types.
//!
//! Answers are always JSON, which every such client accepts as well.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use evenkeel_meta::{GroupVersionKind, MicroTime, Status, Timestamp};
use serde_json::{Map, Value};

use crate::schema::{Field, Node, ScalarKind, Schemas, Struct, Type};

/// What a protobuf body begins with.
const MAGIC: &[u8] = b"k8s\0";
/// Messages in messages; the deepest real ones are custom resource definitions.
const DEEPEST: usize = 64;

/// Why a body cannot be read.
#[derive(Debug, thiserror::Error)]
enum Malformed {
    #[error("it does not begin as Kubernetes' protobuf does")]
    NoMagic,
    #[error("it ends in the middle of a field")]
    Truncated,
    #[error("field {0} has wire type {1}")]
    WireType(u64, u64),
    #[error("a text is not UTF-8")]
    Text,
    #[error("embedded JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("no kind {0} is known")]
    Kind(GroupVersionKind),
    #[error("messages are nested too deeply")]
    TooDeep,
}

/// The object in a protobuf body, as JSON.
pub(crate) fn decode(body: &[u8]) -> Result<Value, Status> {
    decode_envelope(body)
        .map_err(|error| Status::bad_request(format!("the protobuf body cannot be read: {error}")))
}

/// The body is a message of the type and the encoded object.
fn decode_envelope(body: &[u8]) -> Result<Value, Malformed> {
    let mut rest = body.strip_prefix(MAGIC).ok_or(Malformed::NoMagic)?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    while let Some(entry) = entry(&mut rest)? {
        match (entry.number, entry.payload) {
            (1, Payload::Bytes(mut meta)) => {
                while let Some(part) = self::entry(&mut meta)? {
                    match (part.number, part.payload) {
                        (1, Payload::Bytes(bytes)) => api_version = text(bytes)?,
                        (2, Payload::Bytes(bytes)) => kind = text(bytes)?,
                        _ => {}
                    }
                }
            }
            (2, Payload::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let gvk = GroupVersionKind::from_api_version(&api_version, &kind);
    let schemas = Schemas::builtin();
    // Options come as the kind of whatever group they are sent to.
    let node = match schemas.kind(&gvk) {
        Some(schema) => schema.root(),
        None => schemas
            .named(&format!("meta/v1.{kind}"))
            .ok_or(Malformed::Kind(gvk))?,
    };
    let mut object = Map::new();
    message(node, raw, &[], &mut object, 0)?;
    object.insert("apiVersion".into(), api_version.into());
    object.insert("kind".into(), kind.into());
    Ok(Value::Object(object))
}

/// Decodes the fields of a message whose numbers are behind `prefix`: the structs that a Go
/// type embeds are messages of their own in protobuf, and part of the outer one in JSON.
fn message(
    node: Node<'_>,
    mut bytes: &[u8],
    prefix: &[u32],
    out: &mut Map<String, Value>,
    depth: usize,
) -> Result<(), Malformed> {
    let Type::Struct(object) = node.ty() else {
        return Ok(());
    };
    if depth > DEEPEST {
        return Err(Malformed::TooDeep);
    }
    while let Some(entry) = entry(&mut bytes)? {
        let Ok(number) = u32::try_from(entry.number) else {
            continue;
        };
        let mut path = prefix.to_vec();
        path.push(number);
        match (find(object, &path), &entry.payload) {
            (Found::Field(field), _) => add(node.at(field.ty), &field.name, &entry, out, depth)?,
            (Found::Embedded, Payload::Bytes(inner)) => {
                message(node, inner, &path, out, depth + 1)?;
            }
            _ => {}
        }
    }
    Ok(())
}

enum Found<'a> {
    Field(&'a Field),
    Embedded,
    Nothing,
}

fn find<'a>(object: &'a Struct, path: &[u32]) -> Found<'a> {
    let mut found = Found::Nothing;
    for field in &object.fields {
        if *field.numbers == *path {
            return Found::Field(field);
        }
        if field.numbers.starts_with(path) {
            found = Found::Embedded;
        }
    }
    found
}

/// Adds one entry of a field, which for lists and maps is one of several.
fn add(
    node: Node<'_>,
    name: &str,
    entry: &Entry<'_>,
    out: &mut Map<String, Value>,
    depth: usize,
) -> Result<(), Malformed> {
    match node.ty() {
        Type::List(list) => {
            let slot = out.entry(name).or_insert_with(|| Value::Array(Vec::new()));
            let item = value(node.at(list.item), entry, depth)?;
            if let Value::Array(items) = slot {
                items.push(item);
            }
        }
        Type::Map(map) => {
            let slot = out.entry(name).or_insert_with(|| Value::Object(Map::new()));
            let (key, item) = pair(node.at(map.value), entry.bytes()?, depth)?;
            if let Value::Object(entries) = slot {
                entries.insert(key, item);
            }
        }
        _ => {
            let value = value(node, entry, depth)?;
            out.insert(name.to_owned(), value);
        }
    }
    Ok(())
}

/// An entry of a map is a message of a key and a value.
fn pair(
    value_node: Node<'_>,
    mut bytes: &[u8],
    depth: usize,
) -> Result<(String, Value), Malformed> {
    let (mut key, mut found) = (String::new(), None);
    while let Some(entry) = entry(&mut bytes)? {
        match entry.number {
            1 => key = text(entry.bytes()?)?,
            2 => found = Some(value(value_node, &entry, depth)?),
            _ => {}
        }
    }
    // What is at its default is not sent.
    let found = match found {
        Some(found) => found,
        None => value(
            value_node,
            &Entry {
                number: 2,
                payload: Payload::Bytes(&[]),
            },
            depth,
        )?,
    };
    Ok((key, found))
}

fn value(node: Node<'_>, entry: &Entry<'_>, depth: usize) -> Result<Value, Malformed> {
    Ok(match node.ty() {
        Type::Scalar(scalar) => scalar_value(scalar.kind, entry)?,
        Type::Struct(_) => {
            let mut object = Map::new();
            message(node, entry.bytes()?, &[], &mut object, depth + 1)?;
            Value::Object(object)
        }
        // A list that is no field of its own is wrapped in a message.
        Type::List(_) => {
            let mut wrapped = Map::new();
            let mut bytes = entry.bytes()?;
            while let Some(item) = self::entry(&mut bytes)? {
                add(node, "items", &item, &mut wrapped, depth + 1)?;
            }
            wrapped
                .remove("items")
                .unwrap_or_else(|| Value::Array(Vec::new()))
        }
        Type::Map(_) => Value::Null,
        // JSON inside a message: raw extensions, field sets.
        Type::Free => {
            let mut bytes = entry.bytes()?;
            match self::entry(&mut bytes)? {
                Some(raw) => serde_json::from_slice(raw.bytes()?)?,
                None => Value::Null,
            }
        }
    })
}

fn scalar_value(kind: ScalarKind, entry: &Entry<'_>) -> Result<Value, Malformed> {
    Ok(match kind {
        ScalarKind::String => text(entry.bytes()?)?.into(),
        ScalarKind::Bytes => STANDARD.encode(entry.bytes()?).into(),
        ScalarKind::Bool => (entry.integer()? != 0).into(),
        ScalarKind::Int32 | ScalarKind::Int64 => entry.integer()?.into(),
        ScalarKind::Double => match entry.payload {
            Payload::Fixed64(bits) => f64::from_bits(bits).into(),
            _ => return Err(Malformed::WireType(entry.number, 0)),
        },
        ScalarKind::Quantity => text_field(entry.bytes()?, 1)?.into(),
        ScalarKind::Time | ScalarKind::MicroTime => {
            time(entry.bytes()?, kind == ScalarKind::MicroTime)?
        }
        ScalarKind::IntOrString => int_or_string(entry.bytes()?)?,
    })
}

fn text_field(mut bytes: &[u8], number: u64) -> Result<String, Malformed> {
    let mut found = String::new();
    while let Some(entry) = entry(&mut bytes)? {
        if entry.number == number {
            found = text(entry.bytes()?)?;
        }
    }
    Ok(found)
}

/// Seconds and nanoseconds; a message of neither is no time at all.
fn time(mut bytes: &[u8], micro: bool) -> Result<Value, Malformed> {
    let (mut seconds, mut nanoseconds) = (None, 0);
    while let Some(entry) = entry(&mut bytes)? {
        match entry.number {
            1 => seconds = Some(entry.integer()?),
            2 => nanoseconds = entry.integer()?,
            _ => {}
        }
    }
    let Some(seconds) = seconds else {
        return Ok(Value::Null);
    };
    let time = Timestamp::from_microsecond(
        seconds
            .saturating_mul(1_000_000)
            .saturating_add(nanoseconds / 1_000),
    );
    Ok(if micro {
        MicroTime(time).to_string().into()
    } else {
        time.to_string().into()
    })
}

fn int_or_string(mut bytes: &[u8]) -> Result<Value, Malformed> {
    let (mut is_text, mut number, mut string) = (false, 0, String::new());
    while let Some(entry) = entry(&mut bytes)? {
        match entry.number {
            1 => is_text = entry.integer()? == 1,
            2 => number = entry.integer()?,
            3 => string = text(entry.bytes()?)?,
            _ => {}
        }
    }
    Ok(if is_text {
        string.into()
    } else {
        number.into()
    })
}

fn text(bytes: &[u8]) -> Result<String, Malformed> {
    std::str::from_utf8(bytes)
        .map(str::to_owned)
        .map_err(|_| Malformed::Text)
}

/// A numbered field on the wire.
struct Entry<'a> {
    number: u64,
    payload: Payload<'a>,
}

enum Payload<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32,
    Bytes(&'a [u8]),
}

impl<'a> Entry<'a> {
    fn bytes(&self) -> Result<&'a [u8], Malformed> {
        match self.payload {
            Payload::Bytes(bytes) => Ok(bytes),
            _ => Err(Malformed::WireType(self.number, 0)),
        }
    }

    fn integer(&self) -> Result<i64, Malformed> {
        match self.payload {
            // Two's complement in 64 bits, for 32-bit fields too.
            Payload::Varint(value) => Ok(value.cast_signed()),
            _ => Err(Malformed::WireType(self.number, 2)),
        }
    }
}

/// Takes the next field off the front, `None` at the end.
fn entry<'a>(bytes: &mut &'a [u8]) -> Result<Option<Entry<'a>>, Malformed> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let key = varint(bytes)?;
    let (number, wire_type) = (key >> 3, key & 7);
    let payload = match wire_type {
        0 => Payload::Varint(varint(bytes)?),
        1 => {
            let (eight, rest) = bytes.split_first_chunk::<8>().ok_or(Malformed::Truncated)?;
            *bytes = rest;
            Payload::Fixed64(u64::from_le_bytes(*eight))
        }
        2 => {
            let length = usize::try_from(varint(bytes)?).map_err(|_| Malformed::Truncated)?;
            let (payload, rest) = bytes.split_at_checked(length).ok_or(Malformed::Truncated)?;
            *bytes = rest;
            Payload::Bytes(payload)
        }
        5 => {
            let (_, rest) = bytes.split_first_chunk::<4>().ok_or(Malformed::Truncated)?;
            *bytes = rest;
            Payload::Fixed32
        }
        other => return Err(Malformed::WireType(number, other)),
    };
    Ok(Some(Entry { number, payload }))
}

fn varint(bytes: &mut &[u8]) -> Result<u64, Malformed> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(Malformed::Truncated)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Malformed::Truncated)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A length-delimited field.
    fn field(number: u8, payload: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2, u8::try_from(payload.len()).unwrap()];
        out.extend_from_slice(payload);
        out
    }

    fn body(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), field(1, &meta), field(2, raw)].concat()
    }

    #[test]
    fn a_config_map_is_read() {
        let metadata = [field(1, b"a"), field(8, &[8, 5])].concat();
        let data = [field(1, b"key"), field(2, b"value")].concat();
        let raw = [field(1, &metadata), field(2, &data)].concat();
        assert_eq!(
            decode(&body("v1", "ConfigMap", &raw)).unwrap(),
            json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "a", "creationTimestamp": "1970-01-01T00:00:05Z"},
                "data": {"key": "value"},
            })
        );
    }

    #[test]
    fn embedded_messages_and_special_types_are_unfolded() {
        // Pod.spec.volumes[0] = {name, emptyDir}, containers[0].resources.limits.cpu,
        // livenessProbe.httpGet.port
        let volume = [field(1, b"v"), field(2, &field(2, &[]))].concat();
        let quantity = [field(1, b"cpu"), field(2, &field(1, b"100m"))].concat();
        let port = [vec![8, 1], field(3, b"http")].concat();
        let probe = field(1, &field(2, &field(2, &port)));
        let container = [
            field(1, b"c"),
            field(8, &field(1, &quantity)),
            field(10, &probe),
        ]
        .concat();
        let raw = field(2, &[field(1, &volume), field(2, &container)].concat());
        let pod = decode(&body("v1", "Pod", &raw)).unwrap();
        assert_eq!(
            pod["spec"],
            json!({
                "volumes": [{"name": "v", "emptyDir": {}}],
                "containers": [{
                    "name": "c",
                    "resources": {"limits": {"cpu": "100m"}},
                    "livenessProbe": {"httpGet": {"port": "http"}},
                }],
            })
        );
    }

    #[test]
    fn options_are_found_in_any_group() {
        let raw = [vec![8, 30], field(4, b"Background")].concat();
        let options = decode(&body("apps/v1", "DeleteOptions", &raw)).unwrap();
        assert_eq!(
            (
                options["gracePeriodSeconds"].as_i64(),
                options["propagationPolicy"].as_str()
            ),
            (Some(30), Some("Background"))
        );
    }

    #[test]
    fn bad_bodies_are_errors() {
        for bad in [
            &b"{}"[..],
            MAGIC,
            b"k8s\0\x0a\xff",
            &body("v1", "Nope", &[]),
            &body("v1", "Pod", &[0x0a, 9]),
        ] {
            assert_eq!(decode(bad).unwrap_err().code, 400);
        }
    }
}
