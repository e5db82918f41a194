//! What the server knows of each type's fields.
//!
//! One model for the built-in kinds, whose facts are compiled in ([`data`]), and for custom kinds,
//! whose facts come from their `openAPIV3Schema` ([`custom`]). Everything that walks an object
//! (decoding, patches, server-side apply, defaults) walks it with a [`Node`].

mod custom;
mod data;
mod quantity;
mod registry;
mod types;
mod zero;

#[cfg(test)]
mod tests;

pub(crate) use self::quantity::Quantity;
pub(crate) use self::registry::{Origin, Schema, Schemas};
pub(crate) use self::types::{
    Constraints, Field, List, Node, Patch, Presence, Scalar, ScalarKind, Struct, Topology, Type,
};
pub(crate) use self::zero::of as zero_of;
