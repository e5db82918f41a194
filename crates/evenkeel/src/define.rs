//! Kinds of one's own, made known to the API server.

use evenkeel_client::wait::is_established;
use evenkeel_client::{Client, Error, PatchOptions, WaitError};
use evenkeel_meta::{ApiResource, MetaView, Object, Scope};
use serde::Serialize;

const DEFINITIONS: ApiResource = ApiResource::new_static(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    Scope::Cluster,
);

/// A kind is not served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DefineError {
    /// The API server did not take the definition.
    #[error("cannot define {name}: {source}")]
    Apply {
        /// The name of the definition.
        name: String,
        /// Why.
        source: Error,
    },
    /// The definition is there and the kind is not served.
    #[error("{name} is defined and not served: {source}")]
    Wait {
        /// The name of the definition.
        name: String,
        /// Why.
        source: WaitError,
    },
}

/// Applies definitions of custom resources, taking fields over, and waits until each of the kinds
/// is served.
///
/// For operators that bring their kinds with them. The client needs a
/// [field manager](Client::with_field_manager). There is no time limit: put `tokio::time::timeout`
/// around it.
///
/// ```
/// # use kube_derive::CustomResource;
/// # use schemars::JsonSchema;
/// # use serde::{Deserialize, Serialize};
/// use evenkeel::client::Client;
/// use kube_core::CustomResourceExt;
///
/// #[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
/// #[kube(group = "example.evenkeel.dev", version = "v1", kind = "Bucket", namespaced)]
/// # #[kube(crates(kube_core = "kube_core"))]
/// struct BucketSpec {
///     region: String,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), evenkeel::BoxError> {
/// let client = Client::from_service(evenkeel_apiserver::Server::new()).with_field_manager("me");
/// evenkeel::define(&client, [Bucket::crd()]).await?;
/// assert!(client.all::<Bucket>().list(&Default::default()).await?.items.is_empty());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// The first definition that is refused, or whose names are those of another kind.
///
/// # Cancel safety
///
/// What was applied stays; it may be called again.
pub async fn define<D>(
    client: &Client,
    definitions: impl IntoIterator<Item = D>,
) -> Result<(), DefineError>
where
    D: Object + Serialize + Sync,
{
    let api = client.dynamic(DEFINITIONS, None);
    let force = PatchOptions::default().force();
    let mut names = Vec::new();
    for definition in definitions {
        let name = definition.metadata().name().to_owned();
        let applied = api.apply(&name, &definition, &force).await;
        if let Err(source) = applied {
            return Err(DefineError::Apply { name, source });
        }
        names.push(name);
    }
    for name in names {
        let served = api.wait_for(&name, is_established()).await;
        if let Err(source) = served {
            return Err(DefineError::Wait { name, source });
        }
    }
    Ok(())
}
