//! A Kubernetes API client made for watching: kubeconfig, TLS, HTTP/2, verbs, paged lists and watch streams over a small transport trait.

mod api;
mod client;
mod config;
mod credentials;
mod discovery;
mod error;
mod json;
mod list;
mod options;
mod patch;
mod peek;
mod query;
#[cfg(test)]
mod testing;
mod transport;
mod watch;

pub use api::{Api, Deleted, Subresource};
pub use client::{Client, ClientOptions, RetryPolicy, Timeouts};
pub use config::{Config, ConfigError, ConnectError};
pub use credentials::{Credentials, Secret};
pub use discovery::{DiscoveredResource, DiscoveredSubresource, Discovery, DiscoveryFailure};
pub use error::{
    CredentialError, DecodeError, EncodeError, Error, RequestError, Result, WatchError,
};
pub use list::{List, Page, PageInfo, PageItem, PageStream, Undecodable};
pub use options::{
    DEFAULT_PAGE_SIZE, FieldValidation, ListOptions, PatchOptions, VersionMatch, WatchOptions,
    WriteOptions,
};
pub use patch::Patch;
pub use transport::{
    ByteStream, Lane, ReqwestTransport, ServiceTransport, Transport, TransportError,
    TransportErrorKind, TransportOptions,
};
pub use watch::{Change, WatchEvent, WatchStream};
