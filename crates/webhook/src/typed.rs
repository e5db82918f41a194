//! Validators and defaulters of typed objects.

use std::future::Future;
use std::marker::PhantomData;

use evenkeel_meta::{GroupVersionKind, Resource, Status};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::handler::BoxFuture;
use crate::merge::merge;
use crate::{AdmissionRequest, Denial, Handler, Operation, Review, Verdict};

/// Says whether changes of a `T` are acceptable. What is not overridden is allowed.
///
/// ```
/// use evenkeel_webhook::{Denial, Review, Validator};
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// struct NoSecrets;
///
/// impl Validator<ConfigMap> for NoSecrets {
///     async fn create(&self, review: &mut Review<'_>, new: &ConfigMap) -> Result<(), Denial> {
///         let data = new.data.iter().flatten();
///         match data.into_iter().find(|(key, _)| key.contains("password")) {
///             Some((key, _)) => Err(review.invalid([(format!("data[{key}]"), "belongs in a Secret")])),
///             None => Ok(()),
///         }
///     }
/// }
/// ```
pub trait Validator<T: Sync>: Send + Sync + 'static {
    /// Whether `new` may be created.
    fn create(
        &self,
        review: &mut Review<'_>,
        new: &T,
    ) -> impl Future<Output = Result<(), Denial>> + Send {
        let _ = (review, new);
        async { Ok(()) }
    }

    /// Whether `old` may become `new`.
    fn update(
        &self,
        review: &mut Review<'_>,
        old: &T,
        new: &T,
    ) -> impl Future<Output = Result<(), Denial>> + Send {
        let _ = (review, old, new);
        async { Ok(()) }
    }

    /// Whether `old` may be deleted.
    fn delete(
        &self,
        review: &mut Review<'_>,
        old: &T,
    ) -> impl Future<Output = Result<(), Denial>> + Send {
        let _ = (review, old);
        async { Ok(()) }
    }
}

/// What happens to an object, for [`validator`].
#[derive(Clone, Copy, Debug)]
pub enum Change<'a, T> {
    /// It is created.
    Created(&'a T),
    /// It changes.
    Updated {
        /// What is stored.
        old: &'a T,
        /// What is to be stored.
        new: &'a T,
    },
    /// It is deleted.
    Deleted(&'a T),
}

/// A validator of a closure that needs not wait for anything.
pub fn validator<T, F>(check: F) -> impl Validator<T>
where
    T: Sync + 'static,
    F: Fn(&mut Review<'_>, Change<'_, T>) -> Result<(), Denial> + Send + Sync + 'static,
{
    struct Closure<F>(F);

    impl<T, F> Validator<T> for Closure<F>
    where
        T: Sync + 'static,
        F: Fn(&mut Review<'_>, Change<'_, T>) -> Result<(), Denial> + Send + Sync + 'static,
    {
        async fn create(&self, review: &mut Review<'_>, new: &T) -> Result<(), Denial> {
            (self.0)(review, Change::Created(new))
        }

        async fn update(&self, review: &mut Review<'_>, old: &T, new: &T) -> Result<(), Denial> {
            (self.0)(review, Change::Updated { old, new })
        }

        async fn delete(&self, review: &mut Review<'_>, old: &T) -> Result<(), Denial> {
            (self.0)(review, Change::Deleted(old))
        }
    }

    Closure(check)
}

/// Fills in what the author of a `T` left out. Not asked about deletions.
pub trait Defaulter<T: Send>: Send + Sync + 'static {
    /// Completes `object`, or refuses it. It may be called more than once for one request and must
    /// leave alone what it has filled in already.
    fn default(
        &self,
        review: &mut Review<'_>,
        object: &mut T,
    ) -> impl Future<Output = Result<(), Denial>> + Send;
}

/// A defaulter of a closure that needs not wait for anything.
pub fn defaulter<T, F>(complete: F) -> impl Defaulter<T>
where
    T: Send + 'static,
    F: Fn(&mut Review<'_>, &mut T) -> Result<(), Denial> + Send + Sync + 'static,
{
    struct Closure<F>(F);

    impl<T, F> Defaulter<T> for Closure<F>
    where
        T: Send + 'static,
        F: Fn(&mut Review<'_>, &mut T) -> Result<(), Denial> + Send + Sync + 'static,
    {
        async fn default(&self, review: &mut Review<'_>, object: &mut T) -> Result<(), Denial> {
            (self.0)(review, object)
        }
    }

    Closure(complete)
}

/// A [`Validator`] as a [`Handler`].
pub struct Validating<T, V> {
    validator: V,
    only: Option<GroupVersionKind>,
    object: PhantomData<fn() -> T>,
}

impl<T, V> Validating<T, V>
where
    T: DeserializeOwned + Send + Sync + 'static,
    V: Validator<T>,
{
    /// For objects of any kind that decode into a `T`: a projection, or
    /// [`DynamicObject`](evenkeel_meta::DynamicObject).
    pub fn any_kind(validator: V) -> Self {
        Self {
            validator,
            only: None,
            object: PhantomData,
        }
    }

    /// For objects of `T`'s kind; a request about another one is refused.
    pub fn new(validator: V) -> Self
    where
        T: Resource,
    {
        Self {
            only: Some(T::api_resource().group_version_kind()),
            ..Self::any_kind(validator)
        }
    }

    async fn judge(&self, review: &mut Review<'_>) -> Result<(), Denial> {
        let request = review.request();
        match request.operation {
            Operation::Create => {
                let new = required("object", request.object()?)?;
                self.validator.create(review, &new).await
            }
            Operation::Update => {
                let old = required("oldObject", request.old_object()?)?;
                let new = required("object", request.object()?)?;
                self.validator.update(review, &old, &new).await
            }
            Operation::Delete => {
                let old = required("oldObject", request.old_object()?)?;
                self.validator.delete(review, &old).await
            }
            // Its object is the options of the connection.
            Operation::Connect => Ok(()),
        }
    }
}

impl<T, V> Handler for Validating<T, V>
where
    T: DeserializeOwned + Send + Sync + 'static,
    V: Validator<T>,
{
    fn handle<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Verdict> {
        Box::pin(async move {
            if let Err(denial) = is_for(self.only.as_ref(), request) {
                return Verdict::denied(denial);
            }
            let mut review = Review::new(request);
            let denial = self.judge(&mut review).await.err();
            Verdict {
                denial,
                notes: review.notes,
                object: None,
            }
        })
    }
}

/// A [`Defaulter`] as a [`Handler`].
///
/// Only what the defaulter changed is changed: fields that `T` does not know stay, and so does what
/// `T` would write differently from what the client sent.
pub struct Mutating<T, D> {
    defaulter: D,
    only: Option<GroupVersionKind>,
    object: PhantomData<fn() -> T>,
}

impl<T, D> Mutating<T, D>
where
    T: Serialize + DeserializeOwned + Send + Sync + 'static,
    D: Defaulter<T>,
{
    /// For objects of any kind that decode into a `T`.
    pub fn any_kind(defaulter: D) -> Self {
        Self {
            defaulter,
            only: None,
            object: PhantomData,
        }
    }

    /// For objects of `T`'s kind; a request about another one is refused.
    pub fn new(defaulter: D) -> Self
    where
        T: Resource,
    {
        Self {
            only: Some(T::api_resource().group_version_kind()),
            ..Self::any_kind(defaulter)
        }
    }

    /// The object as it is to be stored, if the defaulter changed it.
    async fn complete(&self, review: &mut Review<'_>) -> Result<Option<Value>, Denial> {
        let request = review.request();
        if request.operation == Operation::Delete {
            return Ok(None);
        }
        let sent: Value = required("object", request.object()?)?;
        let mut object: T = required("object", request.object()?)?;
        let encode = |object: &T| {
            serde_json::to_value(object).map_err(|error| Denial::from(Status::internal(error)))
        };
        let before = encode(&object)?;
        self.defaulter.default(review, &mut object).await?;
        let after = encode(&object)?;
        Ok((before != after).then(|| merge(&sent, &before, after)))
    }
}

impl<T, D> Handler for Mutating<T, D>
where
    T: Serialize + DeserializeOwned + Send + Sync + 'static,
    D: Defaulter<T>,
{
    fn handle<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Verdict> {
        Box::pin(async move {
            if let Err(denial) = is_for(self.only.as_ref(), request) {
                return Verdict::denied(denial);
            }
            let mut review = Review::new(request);
            let outcome = self.complete(&mut review).await;
            let notes = review.notes;
            match outcome {
                Ok(object) => Verdict {
                    denial: None,
                    notes,
                    object,
                },
                Err(denial) => Verdict {
                    denial: Some(denial),
                    notes,
                    object: None,
                },
            }
        })
    }
}

fn required<T>(what: &str, object: Option<T>) -> Result<T, Denial> {
    object.ok_or_else(|| Status::bad_request(format!("the request has no {what}")).into())
}

fn is_for(only: Option<&GroupVersionKind>, request: &AdmissionRequest) -> Result<(), Denial> {
    match only {
        Some(kind) if *kind != request.kind => Err(Status::bad_request(format!(
            "this webhook is for {kind}, and was asked about {}",
            request.kind
        ))
        .into()),
        _ => Ok(()),
    }
}
