use bytes::Bytes;
use evenkeel_meta::PatchKind;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::error::{EncodeError, RequestError};

/// A change to send: the kind and the encoded body.
///
/// Encoding happens when the patch is made; a body that does not encode is reported when the
/// patch is sent.
///
/// ```
/// use evenkeel_client::Patch;
///
/// let scale = Patch::merge(&serde_json::json!({"spec": {"replicas": 3}}));
/// # assert_eq!(scale.kind(), evenkeel_meta::PatchKind::Merge);
/// ```
#[derive(Clone, Debug)]
pub struct Patch {
    kind: PatchKind,
    body: Result<Bytes, EncodeError>,
}

impl Patch {
    /// A patch of any kind.
    pub fn new(kind: PatchKind, body: &(impl Serialize + ?Sized)) -> Self {
        Self {
            kind,
            body: encode(body),
        }
    }

    /// RFC 7386: fields to set, `null` to remove; lists are replaced whole.
    pub fn merge(body: &(impl Serialize + ?Sized)) -> Self {
        Self::new(PatchKind::Merge, body)
    }

    /// RFC 6902: a list of operations.
    pub fn json(operations: &(impl Serialize + ?Sized)) -> Self {
        Self::new(PatchKind::Json, operations)
    }

    /// Kubernetes' merge that knows list keys; built-in types only.
    pub fn strategic(body: &(impl Serialize + ?Sized)) -> Self {
        Self::new(PatchKind::Strategic, body)
    }

    /// Server-side apply: exactly the fields that the field manager wants.
    pub fn apply(configuration: &(impl Serialize + ?Sized)) -> Self {
        Self::new(PatchKind::Apply, configuration)
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> PatchKind {
        self.kind
    }

    pub(crate) fn body(&self) -> Result<Bytes, EncodeError> {
        self.body.clone()
    }

    /// Refuses an apply that the server would, or that would do what nobody means.
    pub(crate) fn check(&self, manager: Option<&str>) -> Result<(), RequestError> {
        if self.kind != PatchKind::Apply {
            return Ok(());
        }
        if manager.is_none() {
            return Err(RequestError::FieldManagerRequired);
        }
        match &self.body {
            Ok(body) if has_managed_fields(body) => Err(RequestError::ManagedFieldsApplied),
            _ => Ok(()),
        }
    }
}

fn has_managed_fields(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Object {
        metadata: Meta,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Meta {
        managed_fields: Option<IgnoredAny>,
    }
    serde_json::from_slice::<Object>(body)
        .is_ok_and(|object| object.metadata.managed_fields.is_some())
}

pub(crate) fn encode(body: &(impl Serialize + ?Sized)) -> Result<Bytes, EncodeError> {
    serde_json::to_vec(body)
        .map(Bytes::from)
        .map_err(|error| EncodeError::new(&error))
}
