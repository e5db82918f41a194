//! A `kube::Client` as the transport, on a server that is a service in the same process.

#![expect(clippy::unwrap_used, reason = "a helper that fails is a failed test")]

use std::convert::Infallible;
use std::io;

use bytes::Bytes;
use evenkeel_apiserver::Server;
use evenkeel_client::{Client, ListOptions, WatchEvent, WatchOptions, WriteOptions};
use evenkeel_meta::{ApiResource, DynamicObject, Scope};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Full};
use kube_client::client::Body;
use serde_json::json;
use tower_service::Service;

/// The embedded server, taking kube's bodies.
#[derive(Clone)]
struct Embedded(Server);

impl Service<http::Request<Body>> for Embedded {
    type Response = <Server as Service<http::Request<Full<Bytes>>>>::Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Infallible>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let mut server = self.0.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let request = http::Request::from_parts(head, Full::new(body));
            Ok(server.call(request).await.unwrap())
        })
    }
}

fn config_maps() -> ApiResource {
    ApiResource::new_static("", "v1", "ConfigMap", "configmaps", Scope::Namespaced)
}

#[tokio::test(start_paused = true)]
async fn objects_are_read_written_and_watched_through_a_kube_client() {
    let kube = kube_client::Client::new(Embedded(Server::new()), "shop-default");
    let client = Client::from_kube(kube).with_field_manager("tests");
    assert_eq!(client.default_namespace(), "shop-default");
    let api = client.dynamic(config_maps(), Some("default"));
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let list = api.list(&ListOptions::default()).await.unwrap();
    let mut watch = api
        .watch(&WatchOptions::from(list.resource_version))
        .await
        .unwrap();
    api.create(&object, &WriteOptions::default()).await.unwrap();
    let event = watch.next().await.unwrap().unwrap();
    assert!(matches!(event, WatchEvent::Added(seen) if seen.metadata.name == "a"));
    let again = api.create(&object, &WriteOptions::default()).await;
    assert!(again.unwrap_err().is_already_exists());
    assert!(client.discover().await.unwrap().find("deploy").is_some());
}

/// Fails in the way of a server that is not there.
#[derive(Clone)]
struct Refusing;

impl Service<http::Request<Body>> for Refusing {
    type Response = http::Response<Full<Bytes>>;
    type Error = io::Error;
    type Future = std::future::Ready<Result<Self::Response, io::Error>>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), io::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Request<Body>) -> Self::Future {
        std::future::ready(Err(io::ErrorKind::ConnectionRefused.into()))
    }
}

#[tokio::test(start_paused = true)]
async fn what_went_wrong_is_told_apart_through_kubes_errors() {
    let client = Client::from_kube(kube_client::Client::new(Refusing, "default"));
    let error = client.discover().await.unwrap_err();
    assert!(error.is_connection_refused(), "{error:?}");
}
