use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{GroupResource, GroupVersionKind, Reason, Uid};

/// The one shape of an API error (`v1.Status`); also the answer to some deletions.
///
/// Servers leave out what they do not know, so every field may be empty. Ask with the
/// predicates: they know which combinations mean the same thing.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// `Success` or `Failure`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// For programs.
    #[serde(skip_serializing_if = "is_unknown")]
    pub reason: Reason,
    /// What the error is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<StatusDetails>,
    /// The HTTP status code.
    #[serde(skip_serializing_if = "is_zero")]
    pub code: u16,
}

/// What a [`Status`] is about.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusDetails {
    /// The object's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The API group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The kind, or for most errors the plural resource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The object's identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<Uid>,
    /// Each single fault.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<StatusCause>,
    /// Seconds to wait before the next try; 0 when the server did not say.
    #[serde(skip_serializing_if = "is_zero")]
    pub retry_after_seconds: u32,
}

/// One fault of several.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusCause {
    /// A short word for programs, such as `FieldValueRequired`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The path of the field at fault.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

fn is_unknown(reason: &Reason) -> bool {
    *reason == Reason::Unknown
}

/// The cause that servers give with a [too large resource version](Status::is_too_large_resource_version).
const TOO_LARGE_RESOURCE_VERSION: &str = "ResourceVersionTooLarge";
/// What servers that know no such cause write instead.
const TOO_LARGE_MESSAGE: &str = "Too large resource version";
/// The cause of a creation in a namespace that is going away.
const NAMESPACE_TERMINATING: &str = "NamespaceTerminating";

/// Questions that callers act on.
impl Status {
    /// Whether this reports a success.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.status == "Success"
    }

    /// 404.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.is(&Reason::NotFound, 404)
    }

    /// 409 on an update or a deletion.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.is(&Reason::Conflict, 409)
    }

    /// 409 on a creation.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.reason == Reason::AlreadyExists
    }

    /// The resource version or continue token is too old: list again.
    ///
    /// Reason `Expired` or `Gone`, or code 410 with a reason that says nothing (client-go R9).
    #[must_use]
    pub fn is_expired(&self) -> bool {
        self.reason == Reason::Expired || self.is(&Reason::Gone, 410)
    }

    /// The server has not reached the asked resource version yet (client-go R9).
    #[must_use]
    pub fn is_too_large_resource_version(&self) -> bool {
        let Some(details) = &self.details else {
            return false;
        };
        details
            .causes
            .iter()
            .any(|cause| cause.reason == TOO_LARGE_RESOURCE_VERSION)
            || (self.reason == Reason::Timeout
                && (self.message.contains(TOO_LARGE_MESSAGE)
                    || details
                        .causes
                        .iter()
                        .any(|c| c.message == TOO_LARGE_MESSAGE)))
    }

    /// 422, or 400 for a request that no retry will make better.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.is(&Reason::Invalid, 422)
    }

    /// 403.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.is(&Reason::Forbidden, 403)
    }

    /// 401.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.is(&Reason::Unauthorized, 401)
    }

    /// 429.
    #[must_use]
    pub fn is_too_many_requests(&self) -> bool {
        self.is(&Reason::TooManyRequests, 429)
    }

    /// A creation was refused because its namespace is going away (kcm C3).
    #[must_use]
    pub fn is_namespace_terminating(&self) -> bool {
        self.details.as_ref().is_some_and(|details| {
            details
                .causes
                .iter()
                .any(|cause| cause.reason == NAMESPACE_TERMINATING)
        })
    }

    /// Whether the same request may succeed later without anyone changing it.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.code >= 500 || self.is_too_many_requests() || self.is_conflict()
    }

    /// How long the server asked to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<std::time::Duration> {
        match self.details.as_ref()?.retry_after_seconds {
            0 => None,
            seconds => Some(std::time::Duration::from_secs(seconds.into())),
        }
    }

    /// The reason decides; where it says nothing, the code does.
    fn is(&self, reason: &Reason, code: u16) -> bool {
        self.reason == *reason || (self.reason == Reason::Unknown && self.code == code)
    }
}

/// The errors that an API server gives, in kube-apiserver's words.
impl Status {
    /// A failure of this reason and code.
    #[must_use]
    pub fn failure(code: u16, reason: Reason, message: impl Into<String>) -> Self {
        Self {
            status: "Failure".into(),
            message: message.into(),
            reason,
            details: None,
            code,
        }
    }

    /// 404 for one object.
    #[must_use]
    pub fn not_found(resource: &GroupResource, name: &str) -> Self {
        Self::failure(
            404,
            Reason::NotFound,
            format!("{resource} \"{name}\" not found"),
        )
        .about(resource, name)
    }

    /// 409: the name is taken.
    #[must_use]
    pub fn already_exists(resource: &GroupResource, name: &str) -> Self {
        let message = format!("{resource} \"{name}\" already exists");
        Self::failure(409, Reason::AlreadyExists, message).about(resource, name)
    }

    /// 409: the state is not the expected one.
    #[must_use]
    pub fn conflict(resource: &GroupResource, name: &str, why: impl fmt::Display) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}");
        Self::failure(409, Reason::Conflict, message).about(resource, name)
    }

    /// 403.
    #[must_use]
    pub fn forbidden(resource: &GroupResource, name: &str, why: impl fmt::Display) -> Self {
        let message = if name.is_empty() {
            format!("{resource} is forbidden: {why}")
        } else {
            format!("{resource} \"{name}\" is forbidden: {why}")
        };
        Self::failure(403, Reason::Forbidden, message).about(resource, name)
    }

    /// 422: the object breaks these rules.
    #[must_use]
    pub fn invalid(kind: &GroupVersionKind, name: &str, causes: Vec<StatusCause>) -> Self {
        let mut faults = causes
            .iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message));
        let faults = match causes.len() {
            1 => faults.next().unwrap_or_default(),
            _ => format!("[{}]", faults.collect::<Vec<_>>().join(", ")),
        };
        let dotted = GroupResource {
            group: kind.group.clone(),
            resource: kind.kind.clone(),
        };
        let message = format!("{dotted} \"{name}\" is invalid: {faults}");
        let mut status = Self::failure(422, Reason::Invalid, message).about(&dotted, name);
        if let Some(details) = &mut status.details {
            details.causes = causes;
        }
        status
    }

    /// 400.
    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::failure(400, Reason::BadRequest, message)
    }

    /// 401.
    #[must_use]
    pub fn unauthorized() -> Self {
        Self::failure(401, Reason::Unauthorized, "Unauthorized")
    }

    /// 405.
    #[must_use]
    pub fn method_not_allowed() -> Self {
        Self::failure(
            405,
            Reason::MethodNotAllowed,
            "the server does not allow this method on the requested resource",
        )
    }

    /// 410: too old.
    #[must_use]
    pub fn expired(message: impl Into<String>) -> Self {
        Self::failure(410, Reason::Expired, message)
    }

    /// 500.
    #[must_use]
    pub fn internal(message: impl fmt::Display) -> Self {
        let message = format!("Internal error occurred: {message}");
        Self::failure(500, Reason::InternalError, message)
    }

    /// 504: the server is at `current` and was asked for `asked`.
    #[must_use]
    pub fn too_large_resource_version(asked: u64, current: u64, retry_after_seconds: u32) -> Self {
        let message = format!("{TOO_LARGE_MESSAGE}: {asked}, current: {current}");
        let mut status = Self::failure(504, Reason::Timeout, format!("Timeout: {message}"));
        status.details = Some(StatusDetails {
            causes: vec![StatusCause {
                reason: TOO_LARGE_RESOURCE_VERSION.into(),
                message: TOO_LARGE_MESSAGE.into(),
                field: String::new(),
            }],
            retry_after_seconds,
            ..StatusDetails::default()
        });
        status
    }

    /// Names what the error is about.
    #[must_use]
    pub fn about(mut self, resource: &GroupResource, name: &str) -> Self {
        let details = self.details.get_or_insert_default();
        details.name = name.into();
        details.group = resource.group.clone().into();
        details.kind = resource.resource.clone().into();
        self
    }

    /// Adds a fault to the details.
    #[must_use]
    pub fn with_cause(mut self, cause: StatusCause) -> Self {
        self.details.get_or_insert_default().causes.push(cause);
        self
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.message.as_str(), self.reason.as_str()) {
            ("", "") => write!(f, "the server answered {}", self.code),
            ("", reason) => write!(f, "{reason} ({})", self.code),
            (message, "") => write!(f, "{message} ({})", self.code),
            (message, reason) => write!(f, "{message} ({} {reason})", self.code),
        }
    }
}

impl std::error::Error for Status {}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods() -> GroupResource {
        GroupResource {
            group: "".into(),
            resource: "pods".into(),
        }
    }

    #[test]
    fn client_go_r9_expired_by_reason_or_bare_code() {
        let with = |reason, code| Status::failure(code, reason, "");
        assert!(with(Reason::Expired, 410).is_expired());
        assert!(with(Reason::Gone, 410).is_expired());
        assert!(with(Reason::Unknown, 410).is_expired());
        assert!(!with(Reason::Other("Else".into()), 410).is_expired());
        assert!(!with(Reason::NotFound, 404).is_expired());
    }

    #[test]
    fn client_go_r9_too_large_needs_details() {
        assert!(Status::too_large_resource_version(9, 7, 1).is_too_large_resource_version());
        let mut old = Status::failure(
            504,
            Reason::Timeout,
            "Timeout: Too large resource version: 9",
        );
        assert!(!old.is_too_large_resource_version());
        old.details = Some(StatusDetails::default());
        assert!(old.is_too_large_resource_version());
        old.reason = Reason::InternalError;
        assert!(!old.is_too_large_resource_version());
    }

    #[test]
    fn words_are_the_api_servers() {
        assert_eq!(
            Status::not_found(&pods(), "a").message,
            "pods \"a\" not found"
        );
        let sets = GroupResource {
            group: "apps".into(),
            resource: "replicasets".into(),
        };
        assert_eq!(
            Status::conflict(&sets, "a", "the object has been modified").message,
            "Operation cannot be fulfilled on replicasets.apps \"a\": the object has been modified"
        );
        let cause = |field: &str| StatusCause {
            reason: "FieldValueRequired".into(),
            message: "Required value".into(),
            field: field.into(),
        };
        let kind = GroupVersionKind::from_api_version("apps/v1", "Deployment");
        assert_eq!(
            Status::invalid(&kind, "web", vec![cause("spec.a")]).message,
            "Deployment.apps \"web\" is invalid: spec.a: Required value"
        );
        assert_eq!(
            Status::invalid(&kind, "web", vec![cause("spec.a"), cause("spec.b")]).message,
            "Deployment.apps \"web\" is invalid: [spec.a: Required value, spec.b: Required value]"
        );
    }

    #[test]
    fn a_status_survives_the_wire() {
        let status = Status::too_large_resource_version(9, 7, 1).about(&pods(), "");
        let text = serde_json::to_string(&status).unwrap();
        assert_eq!(serde_json::from_str::<Status>(&text).unwrap(), status);
        assert_eq!(
            status.retry_after(),
            Some(std::time::Duration::from_secs(1))
        );
        let odd: Status =
            serde_json::from_str(r#"{"kind":"Status","reason":"Odd","code":418}"#).unwrap();
        assert_eq!(odd.reason, Reason::Other("Odd".into()));
    }
}
