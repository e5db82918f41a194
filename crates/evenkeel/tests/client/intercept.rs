//! Requests that something between client and server answers, changes, or lets pass.

use std::sync::Arc;

use bytes::Bytes;
use evenkeel::client::{
    ByteStream, Client, Lane, Patch, PatchOptions, Transport, TransportError, WriteOptions,
};
use evenkeel::meta::{DeleteOptions, DynamicObject};
use evenkeel_apiserver::{Fault, Verb, When};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use http::{Method, Request, Response};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{MAPS, PODS, dynamic, map, pod, world};

/// Answers a request in the server's place, or lets it pass.
type Answer = fn(&Request<Bytes>) -> Option<Value>;

/// Notes what passes, and answers some of it.
pub(super) struct Interceptor {
    inner: Arc<dyn Transport>,
    answer: Answer,
    noted: Arc<Mutex<Vec<String>>>,
}

impl Interceptor {
    /// A client with one, and what it notes.
    pub(super) fn around(client: &Client, answer: Answer) -> (Client, Arc<Mutex<Vec<String>>>) {
        let noted = Arc::default();
        let client = client.with_transport(|inner| Self {
            inner,
            answer,
            noted: Arc::clone(&noted),
        });
        (client, noted)
    }
}

impl Transport for Interceptor {
    fn send(
        &self,
        lane: Lane,
        request: Request<Bytes>,
    ) -> BoxFuture<'static, Result<Response<ByteStream>, TransportError>> {
        let name = request
            .uri()
            .path()
            .rsplit("/default/")
            .next()
            .unwrap_or_default();
        let note = format!("{} {name}", request.method());
        self.noted.lock().push(note);
        let Some(answer) = (self.answer)(&request) else {
            return self.inner.send(lane, request);
        };
        let code = answer["code"].as_u64().unwrap_or(200) as u16;
        let body = stream::once(async move { Ok(Bytes::from(answer.to_string())) }).boxed();
        let answer = Response::builder().status(code);
        let answer = answer.header("content-type", "application/json").body(body);
        async { Ok(answer.unwrap()) }.boxed()
    }
}

/// What is to be answered is, whatever the server has; all else goes to the server, of subresources
/// too. A test that only wants refusals injects them into its server.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t51_some_requests_are_answered_on_the_way_and_the_rest_passes() {
    let (server, client) = world();
    let write = WriteOptions::default();
    let pods = client.dynamic(PODS, Some("default"));
    pods.create(&dynamic(pod("p")), &write).await.unwrap();
    let (between, noted) = Interceptor::around(&client, |request| {
        let path = request.uri().path();
        match (request.method(), path) {
            (&Method::GET, _) if path.ends_with("/configmaps/a") => {
                let mut answer = map("a");
                answer["data"] = json!({"from": "interceptor"});
                Some(answer)
            }
            (&Method::DELETE, _) => Some(json!({"kind": "Status", "apiVersion": "v1",
                "status": "Failure", "reason": "Forbidden", "message": "not today", "code": 403})),
            (&Method::PATCH, _) if path.ends_with("/pods/p/status") => {
                let mut answer = pod("p");
                answer["status"] = json!({"phase": "Answered"});
                Some(answer)
            }
            _ => None,
        }
    });
    server.take_requests();

    let maps = between.dynamic(MAPS, Some("default"));
    let answered = maps.get("a").await.unwrap();
    assert_eq!(answered.data["data"]["from"], "interceptor");
    let error = maps
        .delete("a", &DeleteOptions::default())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("not today"), "{error}");
    let pods = pods.with_client(between.clone());
    let patch = Patch::merge(&json!({"status": {"phase": "Running"}}));
    let patching = PatchOptions::default();
    let answered = pods.patch_status("p", &patch, &patching).await.unwrap();
    assert_eq!(answered.data["status"]["phase"], "Answered");
    assert!(server.take_requests().is_empty());

    maps.create(&dynamic(map("b")), &write).await.unwrap();
    assert_eq!(maps.get("b").await.unwrap().metadata.name, "b");
    let mut running = pods.get("p").await.unwrap();
    running.data["status"]["phase"] = json!("Running");
    let updated = pods.update_status(&running, &write).await.unwrap();
    assert_eq!(updated.data["status"]["phase"], "Running");
    let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}});
    let bindings = pods.subresource::<Value>("binding");
    bindings.create("p", &binding, &write).await.unwrap();
    assert_eq!(server.take_requests().len(), 5);
    let all = [
        "GET configmaps/a",
        "DELETE configmaps/a",
        "PATCH pods/p/status",
        "POST configmaps",
        "GET configmaps/b",
        "GET pods/p",
        "PUT pods/p/status",
        "POST pods/p/binding",
    ];
    assert_eq!(*noted.lock(), all);

    let faults = server.faults();
    faults.inject(
        When::verb(Verb::Update).subresource("status"),
        Fault::internal_error(),
    );
    assert!(pods.update_status(&updated, &write).await.is_err());
    let there: DynamicObject = pods.get("p").await.unwrap();
    pods.update(&there, &write).await.unwrap();
}
