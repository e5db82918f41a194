//! What the API server asks before it admits a change.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use evenkeel_meta::{GroupVersionKind, Status};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::Denial;

/// One request that the API server asks about (`AdmissionReview.request`, `admission.k8s.io/v1`).
///
/// Objects are kept as the server sent them and decoded when somebody asks for them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AdmissionRequest {
    /// Names this question, not the object; the answer carries it too.
    pub uid: String,
    /// The kind of [`object`](Self::object), in the version that the webhook is registered for.
    pub kind: GroupVersionKind,
    /// The resource that is asked for, in that same version.
    pub resource: GroupVersionResource,
    /// `status`, `scale`, ..; empty for the object itself.
    pub sub_resource: String,
    /// What the client really sent, which may be another version than [`kind`](Self::kind).
    pub request_kind: Option<GroupVersionKind>,
    /// The object's name; empty for a creation that leaves it to the server.
    pub name: String,
    /// The object's namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// What is about to happen.
    pub operation: Operation,
    /// Who asked for it.
    pub user: UserInfo,
    /// Whether nothing will be stored: a webhook must not have side effects then.
    pub dry_run: bool,
    object: Option<Box<RawValue>>,
    old_object: Option<Box<RawValue>>,
    options: Option<Box<RawValue>>,
}

/// What is about to happen to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// It is created; there is no old object.
    Create,
    /// It is replaced or patched.
    Update,
    /// It is deleted; there is only an old object.
    Delete,
    /// Somebody connects to it: `exec`, `attach`, `port-forward`, `proxy`.
    Connect,
}

/// A resource in one version of its group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub struct GroupVersionResource {
    /// Empty for the core group.
    pub group: String,
    /// Such as `v1`.
    pub version: String,
    /// The plural, such as `deployments`.
    pub resource: String,
}

/// Who asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct UserInfo {
    /// Such as `system:serviceaccount:ns:name`.
    pub username: String,
    /// Tells users of one name apart over time.
    pub uid: String,
    /// The groups that the user is in.
    pub groups: Vec<String>,
    /// What the authenticator adds.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl AdmissionRequest {
    /// The object as it will be stored, decoded; `None` for deletions.
    ///
    /// # Errors
    ///
    /// A `BadRequest` that says where the object does not fit the type.
    pub fn object<T: DeserializeOwned>(&self) -> Result<Option<T>, Denial> {
        decode("object", self.object.as_deref())
    }

    /// The object as it is stored now; `None` for creations.
    ///
    /// # Errors
    ///
    /// As [`object`](Self::object).
    pub fn old_object<T: DeserializeOwned>(&self) -> Result<Option<T>, Denial> {
        decode("oldObject", self.old_object.as_deref())
    }

    /// The options of the request, such as `CreateOptions`.
    ///
    /// # Errors
    ///
    /// As [`object`](Self::object).
    pub fn options<T: DeserializeOwned>(&self) -> Result<Option<T>, Denial> {
        decode("options", self.options.as_deref())
    }

    /// The object's JSON as it was sent.
    #[must_use]
    pub fn object_json(&self) -> Option<&RawValue> {
        self.object.as_deref()
    }

    /// The old object's JSON as it was sent.
    #[must_use]
    pub fn old_object_json(&self) -> Option<&RawValue> {
        self.old_object.as_deref()
    }

    /// The same question about another object: what the next of a chain is asked.
    pub(crate) fn about(&self, object: Box<RawValue>) -> Self {
        Self {
            object: Some(object),
            ..self.clone()
        }
    }
}

fn decode<T: DeserializeOwned>(what: &str, json: Option<&RawValue>) -> Result<Option<T>, Denial> {
    json.map(|json| serde_json::from_str(json.get()))
        .transpose()
        .map_err(|error| Status::bad_request(format!("{what} cannot be decoded: {error}")).into())
}

impl fmt::Display for Operation {
    /// As it is on the wire: `CREATE`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        })
    }
}

/// The form on the wire. Fields that an old server leaves out are empty.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireRequest {
    #[serde(default)]
    pub(crate) uid: String,
    #[serde(default)]
    kind: WireKind,
    #[serde(default)]
    resource: GroupVersionResource,
    #[serde(default)]
    sub_resource: String,
    request_kind: Option<WireKind>,
    #[serde(default)]
    name: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    operation: String,
    #[serde(default)]
    user_info: UserInfo,
    object: Option<Box<RawValue>>,
    old_object: Option<Box<RawValue>>,
    dry_run: Option<bool>,
    options: Option<Box<RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireKind {
    group: String,
    version: String,
    kind: String,
}

impl From<WireKind> for GroupVersionKind {
    fn from(wire: WireKind) -> Self {
        Self {
            group: Cow::Owned(wire.group),
            version: Cow::Owned(wire.version),
            kind: Cow::Owned(wire.kind),
        }
    }
}

impl TryFrom<WireRequest> for AdmissionRequest {
    type Error = Denial;

    fn try_from(wire: WireRequest) -> Result<Self, Denial> {
        let operation = match wire.operation.as_str() {
            "CREATE" => Operation::Create,
            "UPDATE" => Operation::Update,
            "DELETE" => Operation::Delete,
            "CONNECT" => Operation::Connect,
            other => return Err(Status::bad_request(format!("unknown operation {other:?}")).into()),
        };
        Ok(Self {
            uid: wire.uid,
            kind: wire.kind.into(),
            resource: wire.resource,
            sub_resource: wire.sub_resource,
            request_kind: wire.request_kind.map(Into::into),
            name: wire.name,
            namespace: wire.namespace,
            operation,
            user: wire.user_info,
            dry_run: wire.dry_run.unwrap_or_default(),
            object: wire.object,
            old_object: wire.old_object,
            options: wire.options,
        })
    }
}
