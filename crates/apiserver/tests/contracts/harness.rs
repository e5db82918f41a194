//! A client of one line per request.

use evenkeel_apiserver::{Body, Identity, Server};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    /// The answer's body, of a request that must succeed.
    #[track_caller]
    pub(crate) fn ok(self) -> Value {
        assert!(self.code < 300, "{}: {}", self.code, self.body);
        self.body
    }

    #[track_caller]
    pub(crate) fn refused(self, code: u16, reason: &str) -> Value {
        assert_eq!(
            (self.code, self.body["reason"].as_str().unwrap_or("")),
            (code, reason),
            "{}",
            self.body
        );
        self.body
    }
}

impl Answer {
    /// 404 of a path that no API serves.
    #[track_caller]
    pub(crate) fn refused_as_text(self) {
        assert_eq!(
            (self.code, self.body),
            (404, Value::from("404 page not found\n"))
        );
    }
}

pub(crate) struct Client(pub(crate) Server);

impl Client {
    pub(crate) fn new() -> Self {
        Self(Server::builder().seed(1).build())
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        uri: &str,
        media: &str,
        body: String,
    ) -> http::Response<Body> {
        let request = http::Request::builder()
            .method(method)
            .uri(uri)
            .header("content-type", media)
            .header("user-agent", "contract/1")
            .body(Full::new(bytes::Bytes::from(body)))
            .unwrap();
        self.0.handle(request, Identity::admin()).await
    }

    pub(crate) async fn call(&self, method: &str, uri: &str, media: &str, body: String) -> Answer {
        read(self.send(method, uri, media, body).await).await
    }

    pub(crate) async fn accept(&self, uri: &str, accept: &str) -> Answer {
        let request = http::Request::get(uri)
            .header("accept", accept)
            .body(Full::new(bytes::Bytes::new()))
            .unwrap();
        read(self.0.handle(request, Identity::admin()).await).await
    }

    pub(crate) async fn get(&self, uri: &str) -> Answer {
        self.call("GET", uri, "application/json", String::new())
            .await
    }

    pub(crate) async fn post(&self, uri: &str, body: Value) -> Answer {
        self.call("POST", uri, "application/json", body.to_string())
            .await
    }

    pub(crate) async fn put(&self, uri: &str, body: Value) -> Answer {
        self.call("PUT", uri, "application/json", body.to_string())
            .await
    }

    pub(crate) async fn merge(&self, uri: &str, body: Value) -> Answer {
        self.call(
            "PATCH",
            uri,
            "application/merge-patch+json",
            body.to_string(),
        )
        .await
    }

    pub(crate) async fn strategic(&self, uri: &str, body: Value) -> Answer {
        self.call(
            "PATCH",
            uri,
            "application/strategic-merge-patch+json",
            body.to_string(),
        )
        .await
    }

    pub(crate) async fn delete(&self, uri: &str, options: Value) -> Answer {
        self.call("DELETE", uri, "application/json", options.to_string())
            .await
    }

    pub(crate) async fn watch(&self, uri: &str) -> Watch {
        let response = self
            .send("GET", uri, "application/json", String::new())
            .await;
        assert_eq!(response.status(), 200);
        Watch {
            body: response.into_body(),
            pending: Vec::new(),
        }
    }

    pub(crate) async fn watch_as(&self, uri: &str, accept: &str) -> Watch {
        let request = http::Request::get(uri)
            .header("accept", accept)
            .body(Full::new(bytes::Bytes::new()))
            .unwrap();
        let response = self.0.handle(request, Identity::admin()).await;
        assert_eq!(response.status(), 200);
        Watch {
            body: response.into_body(),
            pending: Vec::new(),
        }
    }

    /// Creates a ConfigMap in `default`.
    pub(crate) async fn config_map(&self, name: &str) -> Value {
        self.post(CONFIG_MAPS, config_map(name)).await.ok()
    }
}

pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";

pub(crate) fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}})
}

pub(crate) fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "img:1"}]},
    })
}

pub(crate) fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap()
}

async fn read(response: http::Response<Body>) -> Answer {
    let (head, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let body = serde_json::from_slice(&bytes)
        .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(&bytes).into_owned()));
    Answer {
        code: head.status.as_u16(),
        headers: head.headers,
        body,
    }
}

/// An open watch.
pub(crate) struct Watch {
    body: Body,
    pending: Vec<u8>,
}

impl Watch {
    /// The next event, `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.pending.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let frame = self.body.frame().await?.expect("the stream was cut");
            self.pending.extend_from_slice(&frame.into_data().unwrap());
        }
    }

    /// The next event as `TYPE name@resourceVersion`.
    pub(crate) async fn line(&mut self) -> String {
        let event = self.next().await.expect("the watch ended");
        let meta = &event["object"]["metadata"];
        format!(
            "{} {}@{}",
            event["type"].as_str().unwrap(),
            meta["name"].as_str().unwrap_or("-"),
            meta["resourceVersion"].as_str().unwrap_or("-")
        )
    }

    /// How the stream ends: with nothing, or in the middle.
    pub(crate) async fn is_cut(&mut self) -> bool {
        matches!(self.body.frame().await, Some(Err(_)))
    }
}
