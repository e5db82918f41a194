//! kubectl as a witness: what it says to plugins, and what it makes of our files. Without it
//! these tests show nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use base64::Engine;
use evenkeel_client::{
    Client, Config, ExecConfig, ExecVersion, Impersonation, InteractiveMode, KubeconfigFile,
    ListOptions,
};

use crate::server::TestServer;
use crate::{H2, pods, trusting};

/// Whether there is a kubectl.
fn is_there() -> bool {
    let version = Command::new("kubectl")
        .args(["version", "--client"])
        .output();
    version.is_ok_and(|output| output.status.success())
}

fn kubectl(kubeconfig: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("kubectl");
    command.env("KUBECONFIG", kubeconfig).args(args);
    command.output().unwrap()
}

async fn succeeds(kubeconfig: &Path, args: &'static [&'static str]) -> String {
    let path = kubeconfig.to_owned();
    // The server runs on this thread.
    let output = tokio::task::spawn_blocking(move || kubectl(&path, args)).await;
    let output = output.unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

fn folder(test: &str) -> PathBuf {
    let name = format!("evenkeel-kubectl-{}-{test}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[tokio::test]
async fn client_go_x1_the_plugin_is_told_what_kubectl_tells_it() {
    if !is_there() {
        return;
    }
    let server = TestServer::start("api.internal", H2).await;
    let folder = folder("x1");
    let script = format!(
        "printf %s \"$KUBERNETES_EXEC_INFO\" >{:?}/$WHO\ncat <<END\n\
         {{\"kind\":\"ExecCredential\",\"apiVersion\":\"$VERSION\",\"status\":{{\"token\":\"t\"}}}}\nEND\n",
        folder
    );
    std::fs::write(folder.join("plugin"), script).unwrap();
    for version in ["v1", "v1beta1"] {
        for cluster_info in [false, true] {
            let version = format!("client.authentication.k8s.io/{version}");
            let text = |who: &str| {
                format!(
                    "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
                     clusters:\n- name: k\n  cluster:\n    server: https://{}/\n    \
                     tls-server-name: api.internal\n    disable-compression: true\n    \
                     certificate-authority-data: {}\n    extensions:\n    \
                     - name: client.authentication.k8s.io/exec\n      \
                     extension: {{z: [1, 2.5, null], a: {{b: 'x'}}}}\n\
                     users:\n- name: u\n  user:\n    exec:\n      apiVersion: {version}\n      \
                     command: sh\n      args: [{:?}]\n      interactiveMode: IfAvailable\n      \
                     provideClusterInfo: {cluster_info}\n      \
                     env: [{{name: WHO, value: {who}}}, {{name: VERSION, value: {version}}}]\n\
                     contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n",
                    server.address,
                    base64::engine::general_purpose::STANDARD.encode(&server.ca_pem),
                    folder.join("plugin"),
                )
            };
            let path = folder.join("config");
            std::fs::write(&path, text("kubectl")).unwrap();
            succeeds(&path, &["get", "--raw", "/version"]).await;
            let config = Config::from_kubeconfig_text(&text("ours"), None).unwrap();
            let client = Client::connect(&config).unwrap();
            pods(&client).list(&ListOptions::default()).await.unwrap();
            let told = |who: &str| std::fs::read_to_string(folder.join(who)).unwrap();
            assert_eq!(told("ours"), told("kubectl"));
        }
    }
}

#[tokio::test]
async fn client_go_k10_kubectl_reads_what_we_write() {
    if !is_there() {
        return;
    }
    let server = TestServer::start("127.0.0.1", H2).await;
    let (certificate, key) = server.client_certificate();
    let exec = ExecConfig::new(ExecVersion::V1, "login")
        .args(["null", "1", "a: b"])
        .env("KEY", "~")
        .interactive(InteractiveMode::Never);
    let whom = Impersonation::user("jane")
        .uid("7")
        .group("g")
        .extra("k", "v");
    let path = folder("k10").join("config");
    let mut file = KubeconfigFile::open(&path).unwrap();
    let reachable = trusting(&server).client_certificate_pem(certificate, key);
    file.put("reachable", &reachable.token("123").impersonate(whom))
        .unwrap();
    file.put("plugin", &trusting(&server).exec(exec)).unwrap();
    file.use_context("reachable").unwrap();
    file.save().unwrap();
    succeeds(&path, &["get", "--raw", "/version"]).await;
    let shown = server.seen.shown.lock().clone();
    assert!(!shown.is_empty() && shown.iter().all(Option::is_some));

    let seen = succeeds(&path, &["config", "view", "--raw", "-o", "json"]).await;
    let seen: serde_json::Value = serde_json::from_str(&seen).unwrap();
    let user = |name: &str| {
        let all = seen["users"].as_array().unwrap();
        all.iter().find(|user| user["name"] == name).unwrap()["user"].clone()
    };
    let reachable = user("reachable");
    assert_eq!(reachable["token"], "123");
    assert_eq!(reachable["as"], "jane");
    assert_eq!(reachable["as-uid"], "7");
    assert_eq!(reachable["as-groups"], serde_json::json!(["g"]));
    assert_eq!(reachable["as-user-extra"], serde_json::json!({"k": ["v"]}));
    let exec = user("plugin")["exec"].clone();
    assert_eq!(exec["args"], serde_json::json!(["null", "1", "a: b"]));
    assert_eq!(
        exec["env"],
        serde_json::json!([{"name": "KEY", "value": "~"}])
    );
    assert_eq!(exec["interactiveMode"], "Never");
}

#[test]
fn client_go_k10_kubectl_and_we_keep_each_other_out() {
    if !is_there() {
        return;
    }
    let path = folder("k10-lock").join("config");
    let config = Config::new("https://h").unwrap();
    let mut file = KubeconfigFile::open(&path).unwrap();
    file.put("a", &config).unwrap();
    let refused = kubectl(&path, &["config", "set-context", "x"]);
    assert!(!refused.status.success());
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(stderr.contains("config.lock"), "{stderr}");
    file.save().unwrap();
    assert!(
        kubectl(&path, &["config", "set-context", "a", "--namespace=ns"])
            .status
            .success()
    );
    let read = Config::from_kubeconfig(&path, Some("a")).unwrap();
    assert_eq!(read.default_namespace(), "ns");
}
