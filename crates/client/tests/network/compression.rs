//! Compressed answers.

use bytes::Bytes;
use evenkeel_client::{Client, Error, ListOptions, TransportErrorKind};
use evenkeel_meta::{ApiResource, Metadata, Scope};

use crate::server::TestServer;
use crate::{H2, open_watch, pods, trusting};

fn compressed(client: &Client, group: &'static str) -> evenkeel_client::Api<Metadata> {
    let resource = ApiResource::new_static(group, "v1", "Pod", "pods", Scope::Namespaced);
    client.metadata(resource, None)
}

#[tokio::test]
async fn client_go_rc13_answers_may_be_compressed_but_no_watch_ever_is() {
    let server = TestServer::start("127.0.0.1", H2).await;
    let client = Client::connect(&trusting(&server)).unwrap();
    pods(&client).list(&ListOptions::default()).await.unwrap();
    pods(&client).in_namespace("ns").get("a").await.unwrap();
    let _watch = open_watch(&client).await;
    assert_eq!(*server.seen.encodings.lock(), ["gzip", "gzip", ""]);

    let plain = Client::connect(&trusting(&server).no_compression()).unwrap();
    pods(&plain).list(&ListOptions::default()).await.unwrap();
    assert_eq!(server.seen.encodings.lock()[3], "");
}

#[tokio::test]
async fn client_go_rc13_a_compressed_answer_is_read() {
    let server = TestServer::start("127.0.0.1", H2).await;
    let config = trusting(&server)
        .with_server(&format!("https://{}/compressed", server.address))
        .unwrap();
    let client = Client::connect(&config).unwrap();
    let list = compressed(&client, "").list(&ListOptions::default()).await;
    assert_eq!(list.unwrap().resource_version.to_string(), "9");
    let request = http::Request::get("/x").body(Bytes::new()).unwrap();
    let answer = client.raw(request).await.unwrap();
    assert!(answer.body().starts_with(b"{\"items\""));
}

#[tokio::test]
async fn an_answer_that_does_not_decompress_is_a_fault_of_the_peer() {
    let server = TestServer::start("127.0.0.1", H2).await;
    let config = trusting(&server)
        .with_server(&format!("https://{}/compressed/broken", server.address))
        .unwrap();
    let client = Client::connect(&config).unwrap();
    let error = pods(&client)
        .list(&ListOptions::default())
        .await
        .unwrap_err();
    let Error::Transport(error) = &error else {
        panic!("{error}")
    };
    assert_eq!(error.kind(), TransportErrorKind::Protocol, "{error}");
}
