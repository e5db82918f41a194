//! Real programs, so real time: what takes time is waited for, up to a deadline.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::json;

use super::config::{ExecConfig, ExecPolicy, ExecVersion, InteractiveMode};
use super::plugin::ExecPlugin;
use super::request::{self, ClusterInfo};
use super::{answer, mask, process};
use crate::credentials::{Credentials, Secret};
use crate::error::{CredentialError, PluginFailure};
use crate::testing::{Answer, Pod, Scripted, eventually, scratch};
use crate::{Client, ClientOptions, Error};

/// A shell script in a folder of its own. `$runs` counts its runs, this one included.
struct Script {
    folder: PathBuf,
}

impl Script {
    fn new(test: &str, text: &str) -> Self {
        let folder = scratch(test);
        let text = format!("cd {folder:?}\necho x >>runs\nruns=$(($(wc -l <runs)))\n{text}\n");
        std::fs::write(folder.join("plugin"), text).unwrap();
        Self { folder }
    }

    /// Run by the shell, since a file that was just written cannot always be run itself.
    fn config(&self) -> ExecConfig {
        let path = self.folder.join("plugin");
        ExecConfig::new(ExecVersion::V1, "sh").args([path.to_str().unwrap()])
    }

    fn plugin(&self) -> ExecPlugin {
        ExecPlugin::new(self.config(), ClusterInfo::default())
    }

    fn runs(&self) -> usize {
        let text = std::fs::read_to_string(self.folder.join("runs"));
        text.unwrap_or_default().lines().count()
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }

    /// A client of this server, whose plugin this is.
    fn client(&self, server: &Scripted) -> Client {
        let credentials = Credentials::exec(self.plugin());
        let options = ClientOptions::default().credentials(credentials);
        Client::new(server.clone(), options)
    }
}

/// Shell text that prints these credentials.
fn says(status: &str) -> String {
    format!(
        "cat <<END\n{{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\
         \"status\":{{{status}}}}}\nEND"
    )
}

const NUMBERED: &str = r#""token":"token-$runs""#;

async fn token(plugin: &ExecPlugin) -> Result<String, CredentialError> {
    let obtained = plugin.current().await?;
    let header = obtained.header.as_ref().unwrap();
    Ok(header.to_str().unwrap().to_owned())
}

async fn failure(plugin: &ExecPlugin) -> (PluginFailure, String) {
    let error = token(plugin).await.unwrap_err();
    let CredentialError::Plugin { failure, .. } = &error else {
        panic!("{error}")
    };
    (*failure, error.to_string())
}

#[test]
fn x1_what_the_plugin_is_told() {
    let text = |config: ExecConfig, cluster: &ClusterInfo| request::text(&config, cluster, false);
    let v1 = || ExecConfig::new(ExecVersion::V1, "x");
    let none = ClusterInfo::default();
    assert_eq!(
        text(v1(), &none),
        "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\
         \"spec\":{\"interactive\":false}}\n"
    );
    let beta = ExecConfig::new(ExecVersion::V1Beta1, "x");
    assert!(text(beta, &none).contains("\"client.authentication.k8s.io/v1beta1\""));
    let cluster = ClusterInfo {
        server: "https://h:6443".into(),
        insecure_skip_tls_verify: true,
        ..ClusterInfo::default()
    };
    assert_eq!(
        text(v1().provide_cluster_info(), &cluster),
        "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\
         \"spec\":{\"cluster\":{\"server\":\"https://h:6443\",\"insecure-skip-tls-verify\":true,\
         \"config\":null},\"interactive\":false}}\n"
    );
    let cluster = ClusterInfo {
        server: "https://h".into(),
        tls_server_name: Some("n".into()),
        ca: Some((*b"pem").into()),
        proxy_url: Some("http://p/".into()),
        disable_compression: true,
        insecure_skip_tls_verify: false,
    };
    let config = v1().provide_cluster_info().cluster_config(json!({"a": 1}));
    let told: serde_json::Value = serde_json::from_str(&text(config, &cluster)).unwrap();
    let wanted = json!({
        "server": "https://h", "tls-server-name": "n", "certificate-authority-data": "cGVt",
        "proxy-url": "http://p/", "disable-compression": true, "config": {"a": 1},
    });
    assert_eq!(told["spec"]["cluster"], wanted);
}

#[tokio::test]
async fn x1_environment_and_input_of_the_plugin() {
    let text = format!(
        "printf %s \"$KUBERNETES_EXEC_INFO\" >info\ncat >stdin\n{}",
        says(r#""token":"$MINE-$PATH_IS_THERE""#)
    );
    let script = Script::new("x1-environment", &text);
    let config = script.config().env("MINE", "mine");
    let config = config.env("PATH_IS_THERE", "yes");
    let plugin = ExecPlugin::new(config, ClusterInfo::default());
    assert_eq!(token(&plugin).await.unwrap(), "Bearer mine-yes");
    assert!(script.file("info").contains("\"interactive\":false"));
    assert_eq!(script.file("stdin"), "", "nothing to read, and no hang");
}

#[test]
fn x2_ts93_when_the_plugin_may_ask() {
    for (mode, terminal, may_ask) in [
        (InteractiveMode::Never, true, Some(false)),
        (InteractiveMode::Never, false, Some(false)),
        (InteractiveMode::IfAvailable, true, Some(true)),
        (InteractiveMode::IfAvailable, false, Some(false)),
        (InteractiveMode::Always, true, Some(true)),
        (InteractiveMode::Always, false, None),
    ] {
        assert_eq!(
            request::interactive(mode, terminal).ok(),
            may_ask,
            "{mode:?} {terminal}"
        );
    }
}

#[test]
fn x3_ts93_answers() {
    let parse = |api_version: &str, status: serde_json::Value| {
        let answer = json!({"kind": "ExecCredential", "apiVersion": api_version, "status": status});
        answer::parse(answer.to_string().as_bytes(), ExecVersion::V1)
    };
    const V1: &str = "client.authentication.k8s.io/v1";
    let good = parse(
        V1,
        json!({"token": "t", "expirationTimestamp": "2030-01-01T00:00:00Z"}),
    );
    let good = good.unwrap();
    assert_eq!(good.token, Some(Secret::new("t")));
    assert_eq!(good.expires.unwrap().to_string(), "2030-01-01T00:00:00Z");
    let pair = json!({"clientCertificateData": "c", "clientKeyData": "k", "token": null});
    let pair = parse(V1, pair).unwrap();
    assert_eq!(pair.certificate, Some((Secret::new("c"), Secret::new("k"))));
    for (api_version, status, reason) in [
        (
            "client.authentication.k8s.io/v1beta1",
            json!({"token": "t"}),
            "not of version",
        ),
        (V1, json!(null), "has no status"),
        (V1, json!("hunter2"), "not as it should be"),
        (V1, json!({}), "neither a token nor a certificate"),
        (
            V1,
            json!({"token": ""}),
            "neither a token nor a certificate",
        ),
        (
            V1,
            json!({"clientCertificateData": "c"}),
            "a certificate without a key",
        ),
        (
            V1,
            json!({"clientKeyData": "k", "token": "t"}),
            "a key without a certificate",
        ),
        (
            V1,
            json!({"token": "t", "expirationTimestamp": "hunter2"}),
            "not as it should be",
        ),
        (V1, json!({"token": ["hunter2"]}), "not as it should be"),
    ] {
        let error = parse(api_version, status).unwrap_err();
        assert!(error.contains(reason), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    let other = answer::parse(b"{\"kind\":\"Secret\"}", ExecVersion::V1).unwrap_err();
    assert!(other.contains("no ExecCredential"), "{other}");
}

#[tokio::test]
async fn x3_without_an_expiry_one_run_is_enough() {
    let script = Script::new("x3-once", &says(NUMBERED));
    let plugin = script.plugin();
    for _ in 0..3 {
        assert_eq!(token(&plugin).await.unwrap(), "Bearer token-1");
    }
    assert_eq!(script.runs(), 1);
}

#[tokio::test]
async fn x3_expired_credentials_are_used_once() {
    let status = format!(r#"{NUMBERED},"expirationTimestamp":"2001-01-01T00:00:00Z""#);
    let script = Script::new("x3-expired", &says(&status));
    let plugin = script.plugin();
    assert_eq!(token(&plugin).await.unwrap(), "Bearer token-1");
    assert_eq!(token(&plugin).await.unwrap(), "Bearer token-2");
}

#[tokio::test]
async fn x3_ts93_the_plugin_is_run_again_when_its_credentials_expire() {
    let status = format!(r#"{NUMBERED},"expirationTimestamp":"$until""#);
    let until = "until=$(date -u -d @$(($(date +%s) + 2)) +%Y-%m-%dT%H:%M:%SZ)\n";
    let script = Script::new("x3-expiry", &format!("{until}{}", says(&status)));
    let plugin = script.plugin();
    assert_eq!(token(&plugin).await.unwrap(), "Bearer token-1");
    assert_eq!(token(&plugin).await.unwrap(), "Bearer token-1");
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    while token(&plugin).await.unwrap() == "Bearer token-1" {
        assert!(tokio::time::Instant::now() < deadline, "never expired");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(script.runs(), 2);
}

/// A server that takes tokens but these.
fn refuses(tokens: &'static [&'static str]) -> Scripted {
    Scripted::new(move |_, seen| {
        let refused = tokens
            .iter()
            .any(|token| seen.header("authorization") == format!("Bearer {token}"));
        match refused {
            true => Answer::new(401),
            false => Answer::ok(r#"{"metadata":{"name":"a"}}"#),
        }
    })
}

#[tokio::test]
async fn x3_ts93_kube_rs_d14_a_refused_token_is_obtained_anew_once() {
    let script = Script::new("x3-401", &says(NUMBERED));
    let server = refuses(&["token-1"]);
    let pods = script.client(&server).namespaced::<Pod>("ns");
    pods.get("a").await.unwrap();
    pods.get("a").await.unwrap();
    assert_eq!(script.runs(), 2);
    assert_eq!(
        server.seen().len(),
        3,
        "the refused one was sent again, once"
    );

    let script = Script::new("x3-401-again", &says(NUMBERED));
    let server = refuses(&["token-1", "token-2"]);
    let pods = script.client(&server).namespaced::<Pod>("ns");
    assert!(pods.get("a").await.unwrap_err().is_unauthorized());
    assert_eq!((script.runs(), server.seen().len()), (2, 2));

    let script = Script::new("x3-401-same", &says(r#""token":"same""#));
    let server = refuses(&["same"]);
    let pods = script.client(&server).namespaced::<Pod>("ns");
    assert!(pods.get("a").await.unwrap_err().is_unauthorized());
    assert_eq!(server.seen().len(), 1, "there was nothing else to offer");
}

#[tokio::test]
async fn x3_tr6_a_refusal_counts_only_against_the_credentials_that_were_refused() {
    let script = Script::new("x3-many-401", &says(NUMBERED));
    let server = refuses(&["token-1"]);
    let pods = script.client(&server).namespaced::<Pod>("ns");
    let all = futures_util::future::join_all((0..10).map(|_| pods.get("a"))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(script.runs(), 2, "ten refusals of one token, one more run");
    let plugin = script.plugin();
    let first = plugin.current().await.unwrap();
    assert!(plugin.replace(first.run).await);
    let runs = script.runs();
    assert!(
        plugin.replace(first.run).await,
        "the newer one is there already"
    );
    assert_eq!(script.runs(), runs);
}

#[tokio::test]
async fn x4_ts93_many_first_requests_make_one_run() {
    let script = Script::new("x4-many", &format!("sleep 0.2\n{}", says(NUMBERED)));
    let plugin = script.plugin();
    let all = futures_util::future::join_all((0..10).map(|_| token(&plugin))).await;
    assert!(
        all.iter()
            .all(|token| token.as_deref() == Ok("Bearer token-1"))
    );
    assert_eq!(script.runs(), 1);
}

#[tokio::test]
async fn x4_a_run_goes_on_while_one_request_waits_for_it() {
    let text = format!("until [ -e go ]; do sleep 0.02; done\n{}", says(NUMBERED));
    let script = Script::new("x4-other", &text);
    let plugin = script.plugin();
    let mut first = Box::pin(token(&plugin));
    let second = token(&plugin);
    assert!((&mut first).now_or_never().is_none());
    let mut second = Box::pin(second);
    assert!((&mut second).now_or_never().is_none());
    drop(first);
    std::fs::write(script.folder.join("go"), "").unwrap();
    assert_eq!(second.await.unwrap(), "Bearer token-1");
}

#[tokio::test]
async fn x4_given_up_by_all_the_program_is_killed_with_what_it_started() {
    let script = Script::new(
        "x4-killed",
        "sleep 600 &\necho $! >pids\necho $$ >>pids\nwait",
    );
    let plugin = script.plugin();
    let pids = || -> Vec<PathBuf> {
        let pids = script.file("pids");
        pids.lines()
            .map(|pid| Path::new("/proc").join(pid))
            .collect()
    };
    {
        let waiting = token(&plugin);
        tokio::pin!(waiting);
        tokio::select! {
            outcome = &mut waiting => panic!("{outcome:?}"),
            () = eventually("started", || pids().len() == 2) => {}
        }
        assert!(pids().iter().all(|process| process.exists()));
    }
    eventually("both are gone", || {
        pids().iter().all(|process| is_gone(process))
    })
    .await;
}

/// Whether a process has ended; its entry stays until somebody waits for it.
fn is_gone(process: &Path) -> bool {
    match std::fs::read_to_string(process.join("stat")) {
        Err(_) => true,
        Ok(stat) => stat
            .rsplit(')')
            .next()
            .is_some_and(|rest| rest.trim_start().starts_with('Z')),
    }
}

#[tokio::test]
async fn x4_a_program_that_does_not_end_is_killed() {
    let script = Script::new("x4-slow", "echo $$ >pid\nexec sleep 600");
    let mut command = tokio::process::Command::new("sh");
    command.arg(script.folder.join("plugin"));
    let outcome = process::run(command, false, Duration::from_millis(500)).await;
    assert!(matches!(outcome, Err(process::Unfinished::TooLong(_))));
    let pid = script.file("pid");
    eventually("it is gone", || {
        is_gone(&Path::new("/proc").join(pid.trim()))
    })
    .await;
}

#[tokio::test]
async fn x4_ts93_a_request_with_credentials_of_its_own_runs_nothing() {
    let script = Script::new("x4-own", &says(NUMBERED));
    let server = Scripted::new(|_, _| Answer::new(401));
    let request = http::Request::get("/version").header("authorization", "Bearer own");
    let request = request.body(bytes::Bytes::new()).unwrap();
    let error = script.client(&server).raw(request).await.unwrap_err();
    assert!(error.is_unauthorized());
    assert_eq!((script.runs(), server.seen().len()), (0, 1));
}

#[tokio::test]
async fn x4_a_program_that_is_not_there() {
    let config = ExecConfig::new(ExecVersion::V1, "/nonexistent/plugin").install_hint("get it");
    let plugin = ExecPlugin::new(config, ClusterInfo::default());
    let wanted = "exec plugin /nonexistent/plugin: it is not installed: get it";
    assert_eq!(
        failure(&plugin).await,
        (PluginFailure::NotFound, wanted.into())
    );
}

#[test]
fn x4_policies() {
    let script = Script::new("x4-policy", "");
    let path = script.folder.join("plugin");
    let search = std::env::join_paths([Path::new("/nonexistent"), &script.folder]).unwrap();
    let allows = |policy: &ExecPolicy, command: &Path| policy.allows(command, Some(&search));
    let name = Path::new("plugin");
    assert!(allows(&ExecPolicy::AllowAll, name));
    assert!(!allows(&ExecPolicy::DenyAll, name));
    let by_name = ExecPolicy::Allowlist(vec!["plugin".into()]);
    assert!(allows(&by_name, name));
    assert!(
        !allows(&by_name, &path),
        "another program may have that name"
    );
    let by_path = ExecPolicy::Allowlist(vec![path.clone()]);
    assert!(allows(&by_path, name) && allows(&by_path, &path));
    assert!(!allows(&by_path, Path::new("other")));
}

#[tokio::test]
async fn x4_a_failure_shows_standard_error_without_credentials() {
    let text = format!(
        "echo 'cannot log in: try  again' >&2\necho \"sent Bearer abc.def, eyJhbGciOi.x.y, $KEY\" >&2\n{}\nexit 3",
        says(r#""token":"hunter2-token""#)
    );
    let script = Script::new("x4-stderr", &format!("echo hunter2-token >&2\n{text}"));
    let config = script.config().env("KEY", "secret-value");
    let plugin = ExecPlugin::new(config, ClusterInfo::default());
    let (kind, text) = failure(&plugin).await;
    assert_eq!(kind, PluginFailure::Failed);
    assert_eq!(
        text,
        "exec plugin sh: exit status: 3: [secret] cannot log in: try again \
         sent Bearer [secret] [secret] [secret]"
    );
    let error = Error::from(token(&plugin).await.unwrap_err());
    assert!(error.is_retryable());
    let long = Script::new("x4-long", "yes a | head -c 100000 >&2\nexit 1");
    let (_, text) = failure(&long.plugin()).await;
    assert!(text.len() < 10_000, "{}", text.len());
}

#[tokio::test]
async fn x4_output_without_end_is_an_error() {
    let script = Script::new("x4-endless", "yes hunter2");
    let (kind, text) = failure(&script.plugin()).await;
    assert_eq!(kind, PluginFailure::BadAnswer);
    assert!(
        text.ends_with("its answer is longer than 1048576 bytes"),
        "{text}"
    );
    let script = Script::new("x4-garbage", "echo hunter2");
    let (kind, text) = failure(&script.plugin()).await;
    assert_eq!(kind, PluginFailure::BadAnswer);
    assert!(
        text.contains("its answer is no JSON (line 1, column 1)"),
        "{text}"
    );
    assert!(!text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn x4_what_a_plugin_leaves_behind_holds_nothing_up() {
    let script = Script::new("x4-daemon", &format!("sleep 30 &\n{}", says(NUMBERED)));
    let limit = Duration::from_secs(10);
    let plugin = script.plugin();
    let token = tokio::time::timeout(limit, token(&plugin)).await;
    assert_eq!(token.expect("in time").unwrap(), "Bearer token-1");
}

#[test]
fn rc15_x4_secrets_of_a_plugin_are_not_printed() {
    let config = ExecConfig::new(ExecVersion::V1, "x").args(["--key=hunter2"]);
    let config = config.env("KEY", "hunter2").env("OTHER", "");
    let plugin = ExecPlugin::new(config.clone(), ClusterInfo::default());
    let mut shown = format!("{config:?} {plugin:?}");
    shown += &format!("{:?}", Credentials::exec(plugin));
    assert!(!shown.contains("hunter2"), "{shown}");
    assert_eq!(mask::masked(b"a\x1b[1m b\n", &[&Secret::new("")]), "a[1m b");
}
