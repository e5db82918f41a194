//! The wire: paths, queries, media types and bodies.

mod body;
mod media;
mod path;
mod query;
mod reply;
mod request;

pub use body::{Body, BodyError};
pub(crate) use media::{
    Discovery, Projection, TableObject, accept, accepts_json, decode_body, discovery_version,
    is_json, json, unsupported, yaml,
};
pub(crate) use path::{Address, Route, route};
pub(crate) use query::Query;
pub(crate) use reply::{Content, Reply, error_response, status_json};
pub use request::Identity;
pub(crate) use request::{ListOptions, Request, VersionMatch, WatchOptions};
