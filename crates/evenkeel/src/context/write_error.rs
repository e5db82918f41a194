use std::convert::Infallible;

use evenkeel_client::Error;
use evenkeel_meta::ObjectKey;

use crate::ReconcileError;

/// Why an object was not written as a change of the caller's leaves it.
///
/// `E` is the error of that change. In a reconciler `?` makes a
/// [`ReconcileError`] of it; a change that fails with one of these is retried as that says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError<E> {
    /// The change failed; nothing was written.
    #[error(transparent)]
    Change(E),
    /// The change has given the object another name or namespace; nothing was written.
    #[error("a change of {was} makes {is} of it, which is another object")]
    OtherObject {
        /// The object that was to be changed.
        was: ObjectKey,
        /// What its metadata says after the change.
        is: ObjectKey,
    },
    /// The API server did not take it, or did not answer.
    #[error(transparent)]
    Client(#[from] Error),
}

impl<E> WriteError<E> {
    /// The error of the client, if it is one.
    #[must_use]
    pub fn as_client(&self) -> Option<&Error> {
        match self {
            Self::Client(error) => Some(error),
            _ => None,
        }
    }
}

impl From<WriteError<Self>> for ReconcileError {
    fn from(error: WriteError<Self>) -> Self {
        match error {
            WriteError::Change(error) => error,
            WriteError::OtherObject { was, is } => {
                WriteError::<Infallible>::OtherObject { was, is }.into()
            }
            WriteError::Client(error) => error.into(),
        }
    }
}

/// What a change of an object may return: nothing, or a `Result` whose error says why the object
/// is not to be written.
pub trait ChangeResult {
    /// The error; [`Infallible`] where there is none.
    type Error;

    /// As a `Result`.
    ///
    /// # Errors
    ///
    /// That of the change.
    fn result(self) -> Result<(), Self::Error>;
}

impl ChangeResult for () {
    type Error = Infallible;

    fn result(self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl<E> ChangeResult for Result<(), E> {
    type Error = E;

    fn result(self) -> Self {
        self
    }
}
