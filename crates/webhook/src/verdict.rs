//! What a webhook answers.

use std::collections::BTreeMap;
use std::fmt;

use evenkeel_meta::{Reason, Status, StatusCause};
use serde_json::Value;

use crate::AdmissionRequest;

/// The answer of one [`Handler`](crate::Handler).
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Verdict {
    pub(crate) denial: Option<Denial>,
    pub(crate) notes: Notes,
    pub(crate) object: Option<Value>,
}

/// What goes with an answer whatever it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    pub(crate) warnings: Vec<String>,
    pub(crate) annotations: BTreeMap<String, String>,
}

impl Verdict {
    /// The request may go on as it is.
    pub fn allowed() -> Self {
        Self::default()
    }

    /// The request ends here.
    pub fn denied(why: impl Into<Denial>) -> Self {
        Self {
            denial: Some(why.into()),
            ..Self::default()
        }
    }

    /// The request goes on with this object, whole, in place of the one that came. What the client
    /// gets to see, and the next of a chain, is this one; the API server is sent the difference as
    /// a JSON patch.
    pub fn changed(object: Value) -> Self {
        Self {
            object: Some(object),
            ..Self::default()
        }
    }

    /// Shows the client a warning; `kubectl` prints it. At most 120 characters, says Kubernetes.
    pub fn with_warning(mut self, warning: impl Into<String>) -> Self {
        self.notes.warnings.push(warning.into());
        self
    }

    /// Adds an annotation to the audit log's entry; the server prefixes the key with the webhook's name.
    pub fn with_audit_annotation(
        mut self,
        key: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        self.notes.annotations.insert(key.into(), value.into());
        self
    }

    /// Whether the request may go on.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.denial.is_none()
    }
}

/// Why a request is denied, in the API's own form: reason, code and, if fields are at fault, which.
///
/// A plain text is a `Forbidden` (403). A [`Status`] is passed on as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial(Box<Status>);

impl Denial {
    /// What the API server gets to see.
    #[must_use]
    pub fn status(&self) -> &Status {
        &self.0
    }
}

impl From<Status> for Denial {
    /// A status that is none of a failure (code below 400) becomes a 403: a denial is one.
    fn from(mut status: Status) -> Self {
        if status.code < 400 {
            status.code = 403;
        }
        "Failure".clone_into(&mut status.status);
        Self(Box::new(status))
    }
}

impl From<String> for Denial {
    fn from(message: String) -> Self {
        Self(Box::new(Status::failure(403, Reason::Forbidden, message)))
    }
}

impl From<&str> for Denial {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Denial {}

/// The question and what goes with its answer, in the hands of a [`Validator`](crate::Validator) or
/// [`Defaulter`](crate::Defaulter).
#[derive(Debug)]
pub struct Review<'a> {
    request: &'a AdmissionRequest,
    pub(crate) notes: Notes,
}

impl<'a> Review<'a> {
    pub(crate) fn new(request: &'a AdmissionRequest) -> Self {
        Self {
            request,
            notes: Notes::default(),
        }
    }

    /// Who asks for what.
    #[must_use]
    pub fn request(&self) -> &'a AdmissionRequest {
        self.request
    }

    /// As [`Verdict::with_warning`]; it is shown when the request is denied, too.
    pub fn warn(&mut self, warning: impl Into<String>) {
        self.notes.warnings.push(warning.into());
    }

    /// As [`Verdict::with_audit_annotation`].
    pub fn annotate(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.notes.annotations.insert(key.into(), value.into());
    }

    /// A denial that names the fields at fault, as the API server's own validation does: `Invalid`
    /// (422) about this request's object, with a cause for each path.
    ///
    /// ```
    /// # use evenkeel_webhook::{Denial, Review};
    /// fn check(review: &mut Review<'_>, size: i32) -> Result<(), Denial> {
    ///     match size {
    ///         0.. => Ok(()),
    ///         _ => Err(review.invalid([("spec.size", "must not be negative")])),
    ///     }
    /// }
    /// ```
    pub fn invalid<F: Into<String>, M: Into<String>>(
        &self,
        faults: impl IntoIterator<Item = (F, M)>,
    ) -> Denial {
        let causes = faults.into_iter().map(|(field, message)| StatusCause {
            reason: "FieldValueInvalid".to_owned(),
            message: message.into(),
            field: field.into(),
        });
        Status::invalid(&self.request.kind, &self.request.name, causes.collect()).into()
    }
}
