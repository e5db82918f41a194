//! Users of a kubeconfig and what a program says over them.

use std::path::Path;

use super::{Auth, Config, kubeconfig, token, with_cluster_and_user, with_user, write};
use crate::testing::{scratch, warnings};
use crate::{
    Client, ClientOptions, ExecConfig, ExecPolicy, ExecVersion, Impersonation, InteractiveMode,
};

#[test]
fn x2_x4_an_exec_entry() {
    let folder = scratch("x2");
    let exec = "exec: {command: bin/login, apiVersion: client.authentication.k8s.io/v1beta1, \
                args: [--for, '{}'], env: [{name: KEY, value: hunter2}], provideClusterInfo: true}";
    let text = kubeconfig("a", &["a"]).replace("token: t-a", exec).replace(
        "server: 'https://a:6443'",
        "server: 'https://a:6443', extensions: [{name: client.authentication.k8s.io/exec, \
         extension: {audience: x}}]",
    );
    let file = write(&folder, "config", &text);
    let config = Config::from_kubeconfig(&file, None).unwrap();
    let wanted = ExecConfig::new(ExecVersion::V1Beta1, folder.join("bin/login"))
        .args(["--for", "{}"])
        .env("KEY", "hunter2")
        .interactive(InteractiveMode::IfAvailable)
        .provide_cluster_info()
        .cluster_config(serde_json::json!({"audience": "x"}));
    assert!(
        matches!(&config.auth, Auth::Exec(exec) if *exec == wanted),
        "{:?}",
        config.auth
    );
    assert!(!format!("{config:?}").contains("hunter2"));

    let config = config.exec_policy(ExecPolicy::Allowlist(vec!["login".into()]));
    let error = Client::connect(&config).unwrap_err().to_string();
    assert!(error.ends_with("bin/login is not allowed here"), "{error}");
    assert!(Client::connect(&config.exec_policy(ExecPolicy::DenyAll)).is_err());
    // A bare name is not a path.
    let bare = text.replace("bin/login", "login").replace("v1beta1", "v1");
    let bare = bare.replace("args:", "interactiveMode: Always, args:");
    let config = Config::from_kubeconfig(write(&folder, "bare", &bare), None).unwrap();
    let Auth::Exec(exec) = &config.auth else {
        panic!()
    };
    assert_eq!(exec.command(), Path::new("login"));
}

#[test]
fn x4_ts93_other_credentials_come_before_a_plugin() {
    const EXEC: &str = "exec: {command: x, apiVersion: client.authentication.k8s.io/v1beta1}";
    let with = |more: &str| with_user(&format!("{EXEC}{more}")).unwrap().auth;
    assert!(matches!(with(""), Auth::Exec(_)));
    assert!(matches!(with(", token: t"), Auth::Token(_)));
    assert!(matches!(
        with(", username: me, password: x"),
        Auth::Basic { .. }
    ));
    let pair = ", client-certificate-data: Yg==, client-key-data: Yg==";
    assert!(matches!(with(pair), Auth::None));
}

#[test]
fn tr8_impersonation_in_a_kubeconfig() {
    let text = "as: jane, as-uid: '7', as-groups: [a, b], as-user-extra: {scopes: [view, edit]}";
    let config = with_user(text).unwrap();
    let wanted = Impersonation::user("jane")
        .uid("7")
        .group("a")
        .group("b")
        .extra("scopes", "view")
        .extra("scopes", "edit");
    assert_eq!(config.impersonation(), Some(&wanted));
    let options = ClientOptions::from_config(&config).unwrap();
    assert_eq!(options.impersonation, Some(wanted));
}

#[test]
fn k5_ts95_the_last_word_clears_what_it_makes_meaningless() {
    let cluster = "server: https://h, tls-server-name: n, certificate-authority-data: eA==";
    let config = || with_cluster_and_user(cluster, "").unwrap();
    assert!(config().insecure().tls().ca.is_none());
    let tls = config().insecure().ca_file("/f").tls().clone();
    assert!(!tls.insecure && tls.ca.unwrap().is_file());
    assert!(config().ca_file("/f").tls().ca.as_ref().unwrap().is_file());
    let moved = config().with_server("https://other").unwrap();
    assert_eq!(moved.tls().server_name, None);
    assert!(moved.tls().ca.is_some(), "the rest stays");
    let named = config()
        .with_server("https://other")
        .unwrap()
        .server_name("m");
    assert_eq!(named.tls().server_name.as_deref(), Some("m"));

    let user = "client-certificate-data: Yg==, client-key-data: Yg==, token: t";
    let config = with_user(user).unwrap().client_certificate_file("/c", "/k");
    let identity = config.tls().identity.as_ref().unwrap();
    assert!(identity.certificate.is_file() && identity.key.is_file());
    assert_eq!(token(&config), "t");
}

#[test]
fn an_unverified_server_is_warned_of() {
    let connect = |config: Config| warnings(|| drop(Client::connect(&config).unwrap()));
    let https = || Config::new("https://h").unwrap();
    let told = connect(https().insecure());
    assert_eq!(told.len(), 1);
    assert!(
        told[0].contains("the server's certificate is not verified"),
        "{told:?}"
    );
    assert!(connect(https()).is_empty());
    let told = connect(Config::new("http://h").unwrap().token("hunter2"));
    assert!(
        told[0].contains("credentials are not sent over plain HTTP"),
        "{told:?}"
    );
}

#[test]
fn x1_a_plugin_is_told_the_cluster_as_it_is_written() {
    let cluster = "server: 'h:6443', insecure-skip-tls-verify: true, proxy-url: 'http://p:1'";
    let info = with_cluster_and_user(cluster, "").unwrap().cluster_info();
    let info = serde_json::to_value(info.unwrap()).unwrap();
    let wanted = serde_json::json!({
        "server": "h:6443", "insecure-skip-tls-verify": true, "proxy-url": "http://p:1",
    });
    assert_eq!(info, wanted);
}

#[test]
fn rc15_an_anonymous_copy_has_no_credentials() {
    let cluster = "server: https://h, certificate-authority-data: eA==";
    let user = "token: t, as: jane, client-certificate-data: Yg==, client-key-data: Yg==";
    let config = with_cluster_and_user(cluster, user).unwrap().anonymous();
    assert!(matches!(config.auth, Auth::None));
    assert!(config.tls().identity.is_none() && config.impersonation().is_none());
    assert!(config.tls().ca.is_some(), "whom it trusts stays");
}

#[test]
fn extensions_of_any_kind_are_passed_over() {
    let cluster = "server: https://h, extensions: [{name: x, extension: {1: a, true: [.5, ~], x: 2001-01-01}}, \
                   {name: y}, {name: z, extension: !!binary aGk=}]";
    with_cluster_and_user(cluster, "").unwrap();
}
