use std::collections::HashMap;
use std::sync::Arc;

use evenkeel_meta::Resource;
use evenkeel_observe::Metrics;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Inner, Route, Webhooks, What};
use crate::convert::Conversions;
use crate::metrics::{Panics, PathMetrics};
use crate::path::{CONVERT_PATH, is_valid, mutate_path, validate_path};
use crate::{Conversion, ConversionError, Defaulter, Handler, Mutating, Validating, Validator};

/// Describes [`Webhooks`]. What is wrong is told by [`build`](Self::build).
#[derive(Default)]
#[must_use]
pub struct Builder {
    admissions: Vec<(String, Box<dyn Handler>)>,
    conversions: Vec<Conversion>,
    metrics: Metrics,
}

/// Webhooks that do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Two webhooks at one path.
    #[error("two webhooks at {0:?}")]
    DuplicatePath(String),
    /// A path that is no sequence of words.
    #[error("{0:?} is no path of letters, digits, '-', '_' and '/'")]
    InvalidPath(String),
    /// Two conversions of one kind.
    #[error("two conversions of {0}")]
    DuplicateKind(String),
    /// A conversion whose versions do not go together.
    #[error(transparent)]
    Conversion(#[from] ConversionError),
}

impl Builder {
    /// Validates objects of a kind at [its path](validate_path).
    pub fn validating<T>(self, validator: impl Validator<T>) -> Self
    where
        T: Resource + DeserializeOwned + Send + Sync + 'static,
    {
        let path = validate_path(&T::api_resource());
        self.admission(path, Validating::<T, _>::new(validator))
    }

    /// Completes objects of a kind at [its path](mutate_path).
    pub fn mutating<T>(self, defaulter: impl Defaulter<T>) -> Self
    where
        T: Resource + Serialize + DeserializeOwned + Send + Sync + 'static,
    {
        let path = mutate_path(&T::api_resource());
        self.admission(path, Mutating::<T, _>::new(defaulter))
    }

    /// Any admission webhook at a path of its own.
    pub fn admission(mut self, path: impl Into<String>, handler: impl Handler) -> Self {
        self.admissions.push((path.into(), Box::new(handler)));
        self
    }

    /// Converts the objects of a kind at `/convert`, where all kinds are converted.
    pub fn conversion(mut self, conversion: impl Into<Conversion>) -> Self {
        self.conversions.push(conversion.into());
        self
    }

    /// Where requests are counted; nowhere unless set.
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = metrics;
        self
    }

    /// The webhooks.
    ///
    /// # Errors
    ///
    /// [`RegisterError`] names what is there twice or cannot be there.
    pub fn build(self) -> Result<Webhooks, RegisterError> {
        let mut routes = HashMap::new();
        let mut put = |path: String, what| {
            if !is_valid(&path) {
                return Err(RegisterError::InvalidPath(path));
            }
            let metrics = PathMetrics::new(&self.metrics, &path);
            match routes.insert(path.clone(), Route { what, metrics }) {
                None => Ok(()),
                Some(_) => Err(RegisterError::DuplicatePath(path)),
            }
        };
        for (path, handler) in self.admissions {
            put(path, What::Admission(handler))?;
        }
        let mut conversions = Conversions::default();
        let has_conversions = !self.conversions.is_empty();
        for conversion in self.conversions {
            if let Some(problem) = &conversion.problem {
                return Err(problem.clone().into());
            }
            conversions
                .add(conversion)
                .map_err(RegisterError::DuplicateKind)?;
        }
        if has_conversions {
            put(CONVERT_PATH.to_owned(), What::Conversion(conversions))?;
        }
        let panics = Panics::new(&self.metrics);
        Ok(Webhooks(Arc::new(Inner { routes, panics })))
    }
}
