use std::time::Duration;

use evenkeel_client::Error as ClientError;

/// Why one piece of work was not done. It is tried again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum WorkError {
    /// The API server or the way to it.
    #[error(transparent)]
    Request(#[from] ClientError),
    /// The object changed between the judgement and the request; its informer will show how.
    #[error("{kind} {name} has changed meanwhile")]
    Changed { kind: String, name: String },
    /// The kind is not served: a custom resource that is not there yet, or a mistake.
    #[error("kind {kind} in {api_version} is not served")]
    NotServed { api_version: String, kind: String },
    /// Of the many dependents of an orphaning owner.
    #[error("{failed} of {all} dependents could not be released, the first: {first}")]
    Release {
        failed: usize,
        all: usize,
        first: Box<WorkError>,
    },
}

impl WorkError {
    /// How long the server asks to wait.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Request(error) => error.retry_after(),
            Self::Release { first, .. } => first.retry_after(),
            Self::Changed { .. } | Self::NotServed { .. } => None,
        }
    }

    /// Whether it is part of normal life and not worth a warning.
    pub(crate) fn is_expected(&self) -> bool {
        match self {
            Self::Changed { .. } => true,
            Self::Release { first, .. } => first.is_expected(),
            Self::Request(error) => error.is_conflict() || error.is_fenced(),
            Self::NotServed { .. } => false,
        }
    }
}

/// Whether the server says that the very object is not there. A path that is not served is a 404
/// as well, and says nothing about any object.
pub(crate) fn says_absent(error: &ClientError, name: &str) -> bool {
    error.is_not_found()
        && error
            .status()
            .and_then(|status| status.details.as_ref())
            .is_some_and(|details| details.name == name)
}

/// Whether a patch was refused since the name belongs to an object of another UID (G57).
pub(crate) fn says_other_uid(error: &ClientError) -> bool {
    error.status().is_some_and(|status| {
        status.code == 422
            && status.details.as_ref().is_some_and(|details| {
                details
                    .causes
                    .iter()
                    .any(|cause| cause.field == "metadata.uid")
            })
    })
}

#[cfg(test)]
mod tests {
    use evenkeel_meta::{GroupResource, Reason, Status, StatusCause, StatusDetails};

    use super::*;

    #[test]
    fn gc_g32_a_path_that_is_not_served_says_nothing_about_an_object() {
        let maps = GroupResource {
            group: "".into(),
            resource: "configmaps".into(),
        };
        let object: ClientError = Status::not_found(&maps, "a").into();
        assert!(says_absent(&object, "a"));
        assert!(!says_absent(&object, "b"));
        let message = "the server could not find the requested resource";
        let mut path = Status::failure(404, Reason::NotFound, message);
        assert!(!says_absent(&path.clone().into(), "a"));
        path.details = Some(StatusDetails::default());
        assert!(!says_absent(&path.into(), "a"));
    }

    #[test]
    fn gc_g57_a_patch_for_another_uid_is_told_by_its_field() {
        let refused = |field: &str| -> ClientError {
            let mut status = Status::failure(422, Reason::Invalid, "invalid");
            status.details = Some(StatusDetails {
                causes: vec![StatusCause {
                    field: field.into(),
                    ..StatusCause::default()
                }],
                ..StatusDetails::default()
            });
            status.into()
        };
        assert!(says_other_uid(&refused("metadata.uid")));
        assert!(!says_other_uid(&refused("metadata.ownerReferences")));
    }
}
