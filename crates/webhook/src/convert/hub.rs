use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use evenkeel_meta::{ApiResource, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{BoxError, Conversion, ConversionError, qualified, typed, untyped};

/// A version that knows the way to the hub and back.
pub trait Spoke<H>: Resource + Serialize + DeserializeOwned + 'static {
    /// This object in the hub's version.
    ///
    /// # Errors
    ///
    /// Why there is no such object; the client who asked reads it.
    fn to_hub(self) -> Result<H, BoxError>;

    /// The hub's object in this version. What this version cannot say belongs in an annotation, or
    /// it is lost when the object comes back.
    ///
    /// # Errors
    ///
    /// As [`to_hub`](Self::to_hub).
    fn from_hub(hub: H) -> Result<Self, BoxError>;
}

/// The version in the middle: every other one converts to and from it, and so to one another.
///
/// It is best the one that says most, usually the one that is stored.
#[must_use]
pub struct Hub<H> {
    resource: ApiResource,
    spokes: BTreeMap<String, Way<H>>,
    problem: Option<ConversionError>,
    hub: PhantomData<fn() -> H>,
}

struct Way<H> {
    to_hub: fn(Value) -> Result<H, BoxError>,
    from_hub: fn(H) -> Result<Value, BoxError>,
}

impl<H> Hub<H>
where
    H: Resource + Serialize + DeserializeOwned + 'static,
{
    /// With `H` in the middle.
    #[expect(
        clippy::new_without_default,
        reason = "a hub is of a type that is named"
    )]
    pub fn new() -> Self {
        let resource = H::api_resource();
        let own = Way {
            to_hub: typed::<H>,
            from_hub: |hub| untyped(&hub),
        };
        Self {
            spokes: BTreeMap::from([(resource.version.to_string(), own)]),
            resource,
            problem: None,
            hub: PhantomData,
        }
    }

    /// Adds another version. That it is one of the hub's kind is checked when the
    /// [`Webhooks`](crate::Webhooks) are built.
    pub fn spoke<S: Spoke<H>>(mut self) -> Self {
        let resource = S::api_resource();
        let version = resource.version.to_string();
        let name = |of: &ApiResource| qualified(&of.group, &of.kind);
        if (&resource.group, &resource.kind) != (&self.resource.group, &self.resource.kind) {
            self.problem.get_or_insert(ConversionError::OtherKind {
                hub: name(&self.resource),
                spoke: name(&resource),
            });
            return self;
        }
        let way = Way {
            to_hub: |object| typed::<S>(object)?.to_hub(),
            from_hub: |hub| untyped(&S::from_hub(hub)?),
        };
        if self.spokes.insert(version.clone(), way).is_some() {
            self.problem
                .get_or_insert(ConversionError::DuplicateVersion {
                    kind: name(&resource),
                    version,
                });
        }
        self
    }
}

impl<H: 'static> From<Hub<H>> for Conversion {
    fn from(hub: Hub<H>) -> Self {
        let ways = hub.spokes;
        let convert = move |object: Value, to: &str| {
            let from = object.get("apiVersion").and_then(Value::as_str);
            let from = from.and_then(|from| from.split('/').next_back());
            let way = |version: &str| {
                let known = || {
                    ways.keys()
                        .map(String::as_str)
                        .collect::<Vec<_>>()
                        .join(", ")
                };
                ways.get(version)
                    .ok_or_else(|| format!("no type for version {version:?}, only {}", known()))
            };
            let from = way(from.unwrap_or_default())?;
            let to = way(to)?;
            (to.from_hub)((from.to_hub)(object)?)
        };
        Self {
            group: hub.resource.group.into_owned(),
            kind: hub.resource.kind.into_owned(),
            convert: Arc::new(convert),
            problem: hub.problem,
        }
    }
}
