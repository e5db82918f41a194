//! The raw form of an admission webhook, and several as one.

use std::future::Future;
use std::pin::Pin;

use evenkeel_meta::Status;

use crate::verdict::Notes;
use crate::{AdmissionRequest, Verdict};

/// A future that may be sent between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Answers admission requests, whatever they are about.
///
/// [`Validating`](crate::Validating) and [`Mutating`](crate::Mutating) make one of typed code; by
/// hand it is written for objects that no type describes.
///
/// The future is dropped when the API server no longer waits (ten seconds, unless its configuration
/// says otherwise): whatever it had begun, it must be able to leave.
pub trait Handler: Send + Sync + 'static {
    /// Answers one request. A panic is contained and answered with a 500.
    fn handle<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Verdict>;
}

impl<F> Handler for F
where
    F: Fn(&AdmissionRequest) -> Verdict + Send + Sync + 'static,
{
    fn handle<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Verdict> {
        let verdict = self(request);
        Box::pin(async move { verdict })
    }
}

/// Several handlers behind one path, asked in order.
///
/// The first denial is the answer, with that handler's own warnings; nobody after it is asked. If all
/// allow, their warnings and annotations come together, and each has seen the object as the ones
/// before it have left it, so that they may change the same fields.
#[derive(Default)]
pub struct Chain(Vec<Box<dyn Handler>>);

impl Chain {
    /// A chain that allows everything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks `next` too, after those that are there.
    #[must_use]
    pub fn then(mut self, next: impl Handler) -> Self {
        self.0.push(Box::new(next));
        self
    }
}

impl Handler for Chain {
    fn handle<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Verdict> {
        Box::pin(async move {
            let mut changed: Option<AdmissionRequest> = None;
            let mut object = None;
            let mut notes = Notes::default();
            for handler in &self.0 {
                let verdict = handler.handle(changed.as_ref().unwrap_or(request)).await;
                if !verdict.is_allowed() {
                    return verdict;
                }
                notes.warnings.extend(verdict.notes.warnings);
                notes.annotations.extend(verdict.notes.annotations);
                if let Some(value) = verdict.object {
                    match serde_json::value::to_raw_value(&value) {
                        Ok(json) => changed = Some(request.about(json)),
                        Err(error) => return Verdict::denied(Status::internal(error)),
                    }
                    object = Some(value);
                }
            }
            Verdict {
                denial: None,
                notes,
                object,
            }
        })
    }
}
