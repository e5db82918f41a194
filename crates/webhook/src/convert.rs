//! Conversion between the served versions of a custom resource.

mod hub;

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use hub::{Hub, Spoke};

/// Whatever a conversion fails with.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

type Convert = dyn Fn(Value, &str) -> Result<Value, BoxError> + Send + Sync;

/// Converts the objects of one kind, whatever version they are in, to the version that is asked for.
///
/// Made of a [`Hub`] and its spokes, or of [one function](Self::by). Either way `apiVersion`, `kind`
/// and all of the metadata but labels and annotations are seen to: the API server refuses a
/// conversion that changes them.
#[derive(Clone)]
pub struct Conversion {
    pub(crate) group: String,
    pub(crate) kind: String,
    convert: Arc<Convert>,
    pub(crate) problem: Option<ConversionError>,
}

/// The versions of a kind do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConversionError {
    /// A spoke is of another group or kind than its hub.
    #[error("{spoke} is no version of {hub}")]
    OtherKind {
        /// The kind of the hub.
        hub: String,
        /// What was added to it.
        spoke: String,
    },
    /// Two types for one version; the hub's own counts.
    #[error("{kind} has two types for version {version}")]
    DuplicateVersion {
        /// The kind.
        kind: String,
        /// The version.
        version: String,
    },
}

impl Conversion {
    /// By one function, which is given the whole object and the version that it is to be in
    /// (`v2`, without the group). It need not touch `apiVersion` and `kind`.
    ///
    /// An object that is in that version already is not given to it.
    pub fn by(
        group: impl Into<String>,
        kind: impl Into<String>,
        convert: impl Fn(Value, &str) -> Result<Value, BoxError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            group: group.into(),
            kind: kind.into(),
            convert: Arc::new(convert),
            problem: None,
        }
    }

    /// `object` in `api_version`.
    fn convert(&self, object: Value, version: &str, api_version: &str) -> Result<Value, BoxError> {
        let sent = object.get("metadata").cloned();
        let mut converted = (self.convert)(object, version)?;
        let Some(map) = converted.as_object_mut() else {
            return Err("the result is no object".into());
        };
        map.insert("apiVersion".to_owned(), api_version.into());
        map.insert("kind".to_owned(), self.kind.as_str().into());
        if let Some(Value::Object(mut metadata)) = sent {
            for key in ["labels", "annotations"] {
                match map.get_mut("metadata").and_then(|made| made.get_mut(key)) {
                    Some(value) => metadata.insert(key.to_owned(), value.take()),
                    None => metadata.remove(key),
                };
            }
            map.insert("metadata".to_owned(), metadata.into());
        }
        Ok(converted)
    }
}

/// All kinds that one path converts.
#[derive(Default)]
pub(crate) struct Conversions(Vec<Conversion>);

impl Conversions {
    pub(crate) fn add(&mut self, conversion: Conversion) -> Result<(), String> {
        let (group, kind) = (&conversion.group, &conversion.kind);
        if self.find(group, kind).is_some() {
            return Err(qualified(group, kind));
        }
        self.0.push(conversion);
        Ok(())
    }

    fn find(&self, group: &str, kind: &str) -> Option<&Conversion> {
        self.0
            .iter()
            .find(|known| known.group == group && known.kind == kind)
    }

    /// All objects in the desired version; all or none.
    pub(crate) fn convert(&self, request: ConversionRequest) -> Result<Vec<Value>, String> {
        let to = &request.desired_api_version;
        let objects = request.objects.into_iter();
        objects.map(|object| self.one(object, to)).collect()
    }

    fn one(&self, object: Value, to: &str) -> Result<Value, String> {
        let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        let (from, kind) = (text("apiVersion").to_owned(), text("kind").to_owned());
        if from == to {
            return Ok(object);
        }
        let (group, version) = to.split_once('/').unwrap_or(("", to));
        let name = Name::of(&object);
        let failed = |why: &dyn fmt::Display| {
            let kind = qualified(group, &kind);
            format!("cannot convert {kind} {name} from {from:?} to {to:?}: {why}")
        };
        if from.split_once('/').unwrap_or(("", &from)).0 != group {
            return Err(failed(&"the group is another one"));
        }
        let Some(conversion) = self.find(group, &kind) else {
            return Err(failed(&"this webhook does not know the kind"));
        };
        conversion
            .convert(object, version, to)
            .map_err(|error| failed(&error))
    }
}

fn qualified(group: &str, kind: &str) -> String {
    match group {
        "" => kind.to_owned(),
        group => format!("{kind}.{group}"),
    }
}

/// How an object is called in messages.
struct Name(String);

impl Name {
    fn of(object: &Value) -> Self {
        let text = |key: &str| object.pointer(&format!("/metadata/{key}"))?.as_str();
        let name = text("name").or_else(|| text("generateName"));
        let name = name.unwrap_or("without a name");
        Self(match text("namespace") {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.to_owned(),
        })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The question on the wire.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConversionRequest {
    #[serde(default)]
    pub(crate) uid: String,
    #[serde(rename = "desiredAPIVersion")]
    pub(crate) desired_api_version: String,
    #[serde(default)]
    objects: Vec<Value>,
}

/// Decodes an object, for both directions.
fn typed<T: DeserializeOwned>(object: Value) -> Result<T, BoxError> {
    serde_json::from_value(object).map_err(Into::into)
}

/// Encodes one. A type that writes no metadata would lose labels and annotations.
fn untyped<T: serde::Serialize>(object: &T) -> Result<Value, BoxError> {
    match serde_json::to_value(object)? {
        Value::Object(map) => Ok(Value::Object(map)),
        _ => Ok(Value::Object(Map::new())),
    }
}

impl fmt::Debug for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversion")
            .field("group", &self.group)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}
