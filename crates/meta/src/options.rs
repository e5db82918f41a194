use serde::{Deserialize, Serialize};

use crate::{MetaView, ResourceVersion, Uid};

/// What happens to an object's dependents when it is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PropagationPolicy {
    /// The object goes at once; the garbage collector deletes its dependents afterwards.
    Background,
    /// The object stays, terminating, until its blocking dependents are gone.
    Foreground,
    /// Dependents stay and lose their reference to the object.
    Orphan,
}

impl PropagationPolicy {
    /// The text on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}

/// Conditions on the state that a write acts on; a mismatch is a 409 Conflict.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Preconditions {
    /// Only the object of this identity, not a later one of the same name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<Uid>,
    /// Only this state of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<ResourceVersion>,
}

impl Preconditions {
    /// Exactly the identity and the state of `meta`.
    #[must_use]
    pub fn exactly(meta: &impl MetaView) -> Self {
        Self {
            uid: meta.uid().map(Uid::from),
            resource_version: meta.resource_version(),
        }
    }

    /// The identity of `meta`, in whatever state it is.
    #[must_use]
    pub fn same_object(meta: &impl MetaView) -> Self {
        Self {
            uid: meta.uid().map(Uid::from),
            resource_version: None,
        }
    }
}

/// The body of a DELETE.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeleteOptions {
    /// Seconds that the object may take to stop; `None` takes the kind's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<i64>,
    /// `None` takes the kind's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propagation_policy: Option<PropagationPolicy>,
    /// Conditions on what is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preconditions: Option<Preconditions>,
    /// `["All"]`: answer as if, and change nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dry_run: Vec<String>,
    /// The older form of [`propagation_policy`](Self::propagation_policy); never both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orphan_dependents: Option<bool>,
}

impl DeleteOptions {
    /// A deletion with this policy.
    #[must_use]
    pub fn with_policy(policy: PropagationPolicy) -> Self {
        Self {
            propagation_policy: Some(policy),
            ..Self::default()
        }
    }

    /// The same, under these conditions.
    #[must_use]
    pub fn only_if(mut self, preconditions: Preconditions) -> Self {
        self.preconditions = Some(preconditions);
        self
    }

    /// The same, with this grace period.
    #[must_use]
    pub fn with_grace_period(mut self, seconds: i64) -> Self {
        self.grace_period_seconds = Some(seconds);
        self
    }
}

/// The four ways to say what to change, by their media types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PatchKind {
    /// RFC 6902: a list of operations.
    Json,
    /// RFC 7386: fields to set, `null` to remove; lists are replaced whole.
    Merge,
    /// Kubernetes' merge that knows list keys and directives; built-in types only.
    Strategic,
    /// Server-side apply: the fields that the manager wants, and no others of its own.
    Apply,
}

impl PatchKind {
    /// The `Content-Type` of such a patch.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
        }
    }

    /// The kind that a `Content-Type` names; parameters are ignored.
    #[must_use]
    pub fn from_content_type(content_type: &str) -> Option<Self> {
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        [Self::Json, Self::Merge, Self::Strategic, Self::Apply]
            .into_iter()
            .find(|kind| kind.content_type() == essence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delete_options_send_only_what_is_set() {
        let json = |options: &DeleteOptions| serde_json::to_string(options).unwrap();
        assert_eq!(json(&DeleteOptions::default()), "{}");
        let options =
            DeleteOptions::with_policy(PropagationPolicy::Background).only_if(Preconditions {
                uid: Some("u".into()),
                resource_version: Some(7.into()),
            });
        assert_eq!(
            json(&options),
            r#"{"propagationPolicy":"Background","preconditions":{"uid":"u","resourceVersion":"7"}}"#
        );
    }

    #[test]
    fn patch_kinds_have_their_media_types() {
        for kind in [
            PatchKind::Json,
            PatchKind::Merge,
            PatchKind::Strategic,
            PatchKind::Apply,
        ] {
            let with_parameter = format!("{}; charset=utf-8", kind.content_type());
            assert_eq!(PatchKind::from_content_type(&with_parameter), Some(kind));
        }
        assert_eq!(PatchKind::from_content_type("application/json"), None);
    }
}
