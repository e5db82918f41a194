//! Identity and metadata of Kubernetes objects, without Kubernetes' types.
//!
//! Everything in evenkeel that handles objects (stores, informers, the garbage collector,
//! controllers) asks for no more than the traits of this crate: [`Object`] for "it has
//! metadata", [`Resource`] for "it is served under this path". Full types, projections of a
//! few fields and metadata-only objects all fit.
//!
//! **When to use it:** you write a projection for a store, need keys, selectors, resource
//! versions or API errors as types, or build on another crate of the workspace.
//! **When not:** you want the Kubernetes types themselves; those are k8s-openapi's, and the
//! feature `kube` makes every one of them an [`Object`].
//!
//! ```
//! use evenkeel_meta::{Meta, MetaView, Object, ResourceVersion};
//!
//! // A projection: what is decoded is what is named.
//! #[derive(serde::Deserialize)]
//! struct Replicas {
//!     metadata: Meta,
//!     spec: Spec,
//! }
//! #[derive(serde::Deserialize)]
//! struct Spec {
//!     replicas: i32,
//! }
//! impl Object for Replicas {
//!     type Meta = Meta;
//!     fn metadata(&self) -> &Meta {
//!         &self.metadata
//!     }
//! }
//!
//! let json = r#"{"metadata":{"namespace":"shop","name":"web","resourceVersion":"41"},
//!                "spec":{"replicas":3,"template":{}}}"#;
//! let web: Replicas = serde_json::from_str(json)?;
//! assert_eq!(web.metadata().key().to_string(), "shop/web");
//! assert!(web.metadata().resource_version().unwrap().has_reached(&ResourceVersion::from(40)));
//! assert_eq!(web.spec.replicas, 3);
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! # Guarantees
//!
//! - Resource versions are never compared as text: [`ResourceVersion::order`] answers only
//!   where the server promises an order.
//! - Nothing here reads a clock, locks, logs or does I/O, with the one exception of
//!   [`Timestamp::now`], which drivers call.
//! - Parsing never panics, whatever the input.
//!
//! # Features
//!
//! `kube` bridges `kube_core::Resource`: k8s-openapi's types and those of
//! `#[derive(CustomResource)]` implement [`Object`], [`Resource`] and [`Complete`]. It is off
//! here and on in the facade crate. k8s-openapi needs exactly one of its `v1_xx` features, which
//! the binary chooses.
//!
//! `schemars` adds `schema`: parts of the schemas of custom resources, such as that of conditions.

#[cfg(feature = "kube")]
mod bridge;
mod condition;
pub mod dns;
mod dynamic;
mod key;
mod meta;
mod object;
mod options;
mod owner;
mod ownership;
mod packed;
mod reason;
mod resource;
mod resource_version;
#[cfg(feature = "schemars")]
pub mod schema;
mod selector;
mod status;
mod time;
mod uid;

#[cfg(feature = "kube")]
pub use bridge::StaticScope;
pub use condition::{Condition, ConditionEntry, ConditionStatus, Conditions};
pub use dynamic::DynamicObject;
pub use key::{ObjectKey, ParseKeyError};
pub use meta::{Meta, Metadata, TypeMeta};
pub use object::{Complete, MetaView, Object};
pub use options::{DeleteOptions, PatchKind, Preconditions, PropagationPolicy};
pub use owner::{OwnerReference, OwnerView};
pub use ownership::{MetaMut, OwnershipError};
pub use packed::{Interner, PackedMeta};
pub use reason::Reason;
pub use resource::{ApiResource, GroupResource, GroupVersionKind, Resource, Scope};
pub use resource_version::ResourceVersion;
pub use selector::{
    FieldRequirement, FieldSelector, LabelRequirement, LabelSelector, Operator, ParseSelectorError,
};
pub use status::{Status, StatusCause, StatusDetails};
pub use time::{MicroTime, ParseTimeError, Timestamp};
pub use uid::Uid;
