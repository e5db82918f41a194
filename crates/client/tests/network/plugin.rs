//! A kubeconfig with an exec plugin, through the expiry of its tokens.

use std::path::PathBuf;
use std::time::Duration;

use evenkeel_apiserver::{Identity, Server};
use evenkeel_client::{Client, Config, ListOptions, WatchEvent, WatchOptions, WriteOptions};
use evenkeel_meta::{ApiResource, DeleteOptions, DynamicObject, Scope, Timestamp};
use futures_util::StreamExt;
use tokio::time::Instant;

/// A plugin whose n-th run prints the token `token-n`, and the kubeconfig that names it.
struct Plugin {
    folder: PathBuf,
}

impl Plugin {
    fn new(test: &str) -> Self {
        let name = format!("evenkeel-plugin-{}-{test}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let script = format!(
            "cd {folder:?}\necho x >>runs\ncat <<END\n\
             {{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\
             \"status\":{{\"token\":\"token-$(($(wc -l <runs)))\"}}}}\nEND\n"
        );
        std::fs::write(folder.join("plugin"), script).unwrap();
        Self { folder }
    }

    fn config(&self, listener: &evenkeel_apiserver::Listener) -> Config {
        let text = listener.kubeconfig();
        let token = text
            .lines()
            .find(|line| line.trim_start().starts_with("token:"));
        let token = token.unwrap();
        let indent = &token[..token.len() - token.trim_start().len()];
        let exec = format!(
            "{indent}exec: {{apiVersion: client.authentication.k8s.io/v1, command: sh, \
             args: [{:?}], interactiveMode: Never}}",
            self.folder.join("plugin")
        );
        Config::from_kubeconfig_text(&text.replace(token, &exec), None).unwrap()
    }

    fn runs(&self) -> usize {
        let text = std::fs::read_to_string(self.folder.join("runs"));
        text.unwrap_or_default().lines().count()
    }
}

#[tokio::test]
async fn client_go_x3_no_request_fails_when_tokens_expire_or_are_revoked() {
    let server = Server::new();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    let admin = Identity::admin;
    let soon = Timestamp::now().saturating_add(Duration::from_secs(2));
    server.tokens().add("token-1", admin(), Some(soon));
    server.tokens().add("token-2", admin(), None);
    let plugin = Plugin::new("expiry");
    let client = Client::connect(&plugin.config(&listener)).unwrap();
    let config_maps =
        ApiResource::new_static("", "v1", "ConfigMap", "configmaps", Scope::Namespaced);
    let api = client.dynamic(config_maps, Some("default"));
    let object = serde_json::json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
    });
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let options = WriteOptions::default();
    api.create(&object, &options).await.unwrap();
    assert_eq!(plugin.runs(), 1);
    let list = api.list(&ListOptions::default()).await.unwrap();
    let watch = WatchOptions::from(list.resource_version);
    let mut watch = api.watch(&watch).await.unwrap();

    let deadline = Instant::now() + Duration::from_secs(20);
    while plugin.runs() < 2 {
        assert!(Instant::now() < deadline, "the token never expired");
        api.get("a").await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    server.tokens().add("token-3", admin(), None);
    server.tokens().revoke("token-2");
    let many = (0..20).map(|_| api.get("a"));
    let many = futures_util::future::join_all(many).await;
    assert!(many.iter().all(Result::is_ok));
    assert_eq!(plugin.runs(), 3, "one more run for all of them");
    api.delete("a", &DeleteOptions::default()).await.unwrap();
    let event = watch.next().await.unwrap().unwrap();
    assert!(
        matches!(event, WatchEvent::Deleted(_)),
        "the watch went on: {event:?}"
    );

    server.tokens().revoke("token-3");
    let error = api.get("a").await.unwrap_err();
    assert!(error.is_unauthorized(), "{error}");
    drop(watch);
    listener.shutdown().await;
}
