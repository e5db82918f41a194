//! From kinds to resources.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use evenkeel::client::{
    ByteStream, Client, Lane, MapError, RestMapper, Transport, TransportError, WriteOptions,
};
use evenkeel::meta::{ApiResource, GroupVersionKind, Scope};
use futures_util::future::BoxFuture;
use http::header::{ACCEPT, HeaderValue};
use http::{Request, Response};

use super::{definition, world};

const DEFINITIONS: ApiResource = ApiResource::new_static(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    Scope::Cluster,
);

/// As of a server that knows no aggregated discovery.
struct Plain(Arc<dyn Transport>);

impl Transport for Plain {
    fn send(
        &self,
        lane: Lane,
        mut request: Request<Bytes>,
    ) -> BoxFuture<'static, Result<Response<ByteStream>, TransportError>> {
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(ACCEPT, json);
        self.0.send(lane, request)
    }
}

fn kind(api_version: &str, kind: &str) -> GroupVersionKind {
    GroupVersionKind::from_api_version(api_version, kind)
}

fn is_not_served<T: std::fmt::Debug>(outcome: Result<T, MapError>) {
    let error = outcome.unwrap_err();
    assert!(matches!(error, MapError::NotServed { .. }), "{error}");
}

/// Everything is asked for at once (ours: upstream asks for each group when it needs it), when first
/// it is needed, and then again only for what is not in there.
async fn maps(client: &Client, take_requests: impl Fn() -> usize) -> usize {
    let mapper = RestMapper::new(client.clone());
    let definitions = client.dynamic(DEFINITIONS, None);
    let write = WriteOptions::default();
    assert_eq!(take_requests(), 0, "lazy");
    let deployments = mapper
        .by_kind(&kind("apps/v1", "Deployment"))
        .await
        .unwrap();
    assert_eq!(deployments.api_resource.plural, "deployments");
    let first = take_requests();
    for api_version in ["v1", "apps/v1", "batch/v1"] {
        let name = match api_version {
            "v1" => "Pod",
            "apps/v1" => "ReplicaSet",
            _ => "Job",
        };
        let found = mapper.by_kind(&kind(api_version, name)).await.unwrap();
        assert_eq!(found.api_resource.kind, name);
    }
    assert_eq!(take_requests(), 0, "held");

    let (v1, beta) = (
        kind("example.com/v1", "Thing"),
        kind("example.com/v1beta1", "Thing"),
    );
    is_not_served(mapper.by_kind(&v1).await);
    let both = definition(&["v1", "v1beta1"]);
    evenkeel::define(client, [both]).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    take_requests();
    let found = mapper.by_kind(&v1).await.unwrap();
    assert_eq!(found.api_resource.api_version(), "example.com/v1");
    assert!(take_requests() > 0);
    let found = mapper.by_kind(&beta).await.unwrap();
    assert_eq!(found.api_resource.api_version(), "example.com/v1beta1");
    let preferred = mapper.by_group_kind("example.com", "Thing").await.unwrap();
    assert_eq!(preferred.api_resource.api_version(), "example.com/v1");
    assert_eq!(take_requests(), 0);

    // A version goes: the next miss, whatever it is of, shows that.
    let mut served = definitions.get("things.example.com").await.unwrap();
    served.data["spec"]["versions"][1]["served"] = false.into();
    definitions.update(&served, &write).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    is_not_served(mapper.by_kind(&kind("example.com/v1", "Unknown")).await);
    is_not_served(mapper.by_kind(&beta).await);
    is_not_served(mapper.by_kind(&kind("example.com/v9", "Thing")).await);
    is_not_served(mapper.by_kind(&kind("unknown.io/v1", "Thing")).await);
    is_not_served(mapper.by_group_kind("unknown.io", "Thing").await);
    assert!(mapper.by_kind(&v1).await.is_ok());
    first
}

#[tokio::test(start_paused = true)]
async fn controller_runtime_t52_kinds_are_looked_up_when_needed_held_and_found_when_they_come() {
    let (server, client) = world();
    let requests = || server.take_requests().len();
    assert_eq!(maps(&client, requests).await, 2);
    let (server, client) = world();
    let plain = client.with_transport(Plain);
    let requests = || server.take_requests().len();
    assert!(maps(&plain, requests).await > 4, "one a group version");
}
