mod users;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::auth::Auth;
use super::load::{Environment, infer};
use super::{Config, ConfigError, in_cluster};
use crate::testing::scratch;
use crate::{Client, ConnectError, TransportOptions};

/// A kubeconfig with one context of each name.
fn kubeconfig(current: &str, contexts: &[&str]) -> String {
    let mut text = format!("current-context: {current:?}\nclusters:\n");
    for name in contexts {
        text += &format!("- name: {name}\n  cluster: {{server: 'https://{name}:6443'}}\n");
    }
    text += "contexts:\n";
    for name in contexts {
        text += &format!(
            "- name: {name}\n  context: {{cluster: {name}, user: {name}, namespace: ns-{name}}}\n"
        );
    }
    text += "users:\n";
    for name in contexts {
        text += &format!("- name: {name}\n  user: {{token: t-{name}}}\n");
    }
    text
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

fn environment(variables: &[(&'static str, OsString)], service_account: &Path) -> Environment {
    let variables: HashMap<_, _> = variables.iter().cloned().collect();
    Environment::new(move |name| variables.get(name).cloned(), service_account)
}

fn listed(paths: &[&Path]) -> Environment {
    let list = std::env::join_paths(paths).unwrap();
    environment(&[("KUBECONFIG", list)], Path::new("/nonexistent"))
}

/// One cluster, one user with these lines, one context.
fn with_user(lines: &str) -> Result<Config, ConfigError> {
    with_cluster_and_user("server: https://h", lines)
}

fn with_cluster_and_user(cluster: &str, user: &str) -> Result<Config, ConfigError> {
    let text = format!(
        "current-context: c\n\
         clusters: [{{name: k, cluster: {{{cluster}}}}}]\n\
         users: [{{name: u, user: {{{user}}}}}]\n\
         contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n"
    );
    Config::from_kubeconfig_text(&text, None)
}

fn token(config: &Config) -> &str {
    match &config.auth {
        Auth::Token(token) => token.expose(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn k1_ts94_missing_members_of_the_list_are_skipped() {
    let folder = scratch("k1");
    let real = write(&folder, "real", &kubeconfig("a", &["a"]));
    let config = infer(&listed(&[&folder.join("missing"), &real, &real]), None).unwrap();
    assert_eq!(config.server().host(), Some("a"));

    let error = infer(&listed(&[&folder.join("missing")]), None).unwrap_err();
    assert!(matches!(error, ConfigError::NoConfiguration { .. }));
    assert!(
        error.to_string().contains("missing is not there"),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("KUBERNETES_SERVICE_HOST is not set"),
        "{error}"
    );
}

#[test]
fn k1_ts94_an_explicit_file_must_be_there() {
    let path = scratch("k1-explicit").join("gone");
    let error = Config::from_kubeconfig(&path, None).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with(&format!("cannot read kubeconfig {}: ", path.display()))
    );
}

#[test]
fn k1_the_home_directory_is_the_default() {
    let folder = scratch("k1-home");
    write(&folder, ".kube/config", &kubeconfig("a", &["a"]));
    let env = environment(&[("HOME", folder.into())], Path::new("/nonexistent"));
    assert_eq!(infer(&env, None).unwrap().default_namespace(), "ns-a");
}

#[test]
fn k2_ts94_the_first_file_that_defines_a_name_wins_as_a_whole() {
    let folder = scratch("k2");
    let first = write(
        &folder,
        "1",
        "users: [{name: a, user: {username: me, password: x}}]\n",
    );
    let second = write(&folder, "2", &kubeconfig("b", &["a", "b"]));
    let third = write(&folder, "3", &kubeconfig("a", &["a", "c"]));
    let env = listed(&[&first, &second, &third]);
    let config = infer(&env, None).unwrap();
    assert_eq!(
        config.server().host(),
        Some("b"),
        "the first current-context"
    );
    let config = infer(&env, Some("a")).unwrap();
    assert!(
        matches!(&config.auth, Auth::Basic { user, .. } if user == "me"),
        "no mix of both"
    );
    assert_eq!(token(&infer(&env, Some("c")).unwrap()), "t-c");
}

#[test]
fn k2_ts94_a_name_twice_in_one_file_is_an_error() {
    for section in ["clusters", "users", "contexts"] {
        let text = format!("{section}: [{{name: x}}, {{name: x}}]");
        let error = Config::from_kubeconfig_text(&text, None).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("kubeconfig: {section} defines \"x\" twice")
        );
    }
}

#[test]
fn k2_a_broken_file_is_an_error_that_names_it() {
    let folder = scratch("k2-broken");
    let good = write(&folder, "good", &kubeconfig("a", &["a"]));
    for text in [
        "clusters: [",
        "current-context: [a]",
        "clusters: {a: b}",
        "\tx",
    ] {
        let bad = write(&folder, "bad", text);
        let error = infer(&listed(&[&good, &bad]), None).unwrap_err();
        let start = format!("kubeconfig {} is no kubeconfig: ", bad.display());
        assert!(error.to_string().starts_with(&start), "{error}");
    }
}

#[test]
fn k3_ts94_paths_are_relative_to_the_file_that_names_them() {
    let folder = scratch("k3");
    write(&folder, "sub/ca.crt", "pem");
    write(&folder, "sub/token", "t");
    let text = kubeconfig("", &["a"])
        .replace("token: t-a", "tokenFile: token")
        .replace(
            "server: 'https://a:6443'",
            "server: 'https://a:6443', certificate-authority: ca.crt",
        );
    let deep = write(&folder, "sub/config", &text);
    let other = write(&folder, "config", "current-context: a\n");
    let config = infer(&listed(&[&other, &deep]), None).unwrap();
    assert_eq!(&*config.tls().ca.as_ref().unwrap().read().unwrap(), b"pem");
    assert!(
        matches!(&config.auth, Auth::TokenFile { path, .. } if *path == folder.join("sub/token"))
    );
}

#[test]
fn k4_ts96_the_pod_comes_last_and_only_if_there_is_no_kubeconfig() {
    let folder = scratch("k4");
    write(&folder, "sa/token", "t");
    write(&folder, "sa/ca.crt", "pem");
    write(&folder, "sa/namespace", "pod-ns\n");
    let file = write(&folder, "config", &kubeconfig("a", &["a"]));
    let pod = [
        ("KUBERNETES_SERVICE_HOST", OsString::from("10.0.0.1")),
        ("KUBERNETES_SERVICE_PORT", "443".into()),
    ];
    let service_account = folder.join("sa");
    let with = |path: &Path| {
        let mut variables = pod.to_vec();
        variables.push(("KUBECONFIG", path.into()));
        infer(&environment(&variables, &service_account), None)
    };
    assert_eq!(with(&file).unwrap().server().host(), Some("a"));
    let config = with(&folder.join("missing")).unwrap();
    assert_eq!(config.server().to_string(), "https://10.0.0.1:443/");
    assert_eq!(config.default_namespace(), "pod-ns");
    let empty = write(
        &folder,
        "empty",
        "apiVersion: v1\nkind: Config\nclusters: null\n",
    );
    assert_eq!(with(&empty).unwrap().server().host(), Some("10.0.0.1"));
    let broken = write(&folder, "broken", "clusters: [");
    assert!(matches!(with(&broken), Err(ConfigError::Malformed { .. })));
}

#[test]
fn k6_credentials_are_not_sent_in_the_clear() {
    let plain = Config::new("http://h").unwrap().token("t");
    assert!(format!("{:?}", plain.credentials().unwrap()).contains("None"));
    let encrypted = Config::new("https://h").unwrap().token("t");
    assert!(!format!("{:?}", encrypted.credentials().unwrap()).contains("None"));
}

#[test]
fn k6_a_server_without_a_scheme() {
    assert_eq!(
        Config::new("localhost:8080").unwrap().server().scheme_str(),
        Some("http")
    );
    let tls =
        with_cluster_and_user("server: 'h:6443', insecure-skip-tls-verify: true", "").unwrap();
    assert_eq!(tls.server().scheme_str(), Some("https"));
    let error = Config::new("https://me:hunter2@h").unwrap_err().to_string();
    assert!(
        error.contains("\"...@h\": it has a user or a password in it"),
        "{error}"
    );
    assert!(!error.contains("hunter2"), "{error}");
    for bad in ["", "ftp://h", "http://", "https://h?x=y"] {
        assert!(
            matches!(Config::new(bad), Err(ConfigError::Invalid { .. })),
            "{bad}"
        );
    }
}

#[test]
fn k6_a_token_file_beats_a_token() {
    let config = with_user("token: t, tokenFile: /f").unwrap();
    let Auth::TokenFile { path, fallback } = &config.auth else {
        panic!()
    };
    assert_eq!(path, Path::new("/f"));
    assert_eq!(fallback.as_ref().unwrap().expose(), "t");
}

#[test]
fn k6_an_unreadable_token_file_alone_is_an_error_that_names_it() {
    let config = with_user("tokenFile: /nonexistent/token").unwrap();
    let error = Client::connect(&config).unwrap_err();
    assert!(matches!(error, ConnectError::Credential { .. }));
    let start = "kubeconfig: user \"u\": cannot read token file /nonexistent/token: ";
    assert!(error.to_string().starts_with(start), "{error}");
}

#[test]
fn k7_what_excludes_each_other_is_refused() {
    for (user, reason) in [
        (
            "token: t, username: me",
            "more than one authentication method found",
        ),
        (
            "client-certificate-data: Yg==",
            "client-certificate is set without client-key",
        ),
        (
            "client-certificate: /x, client-certificate-data: Yg==",
            "client-certificate and client-certificate-data are both set",
        ),
        ("client-key-data: '%%%'", "is no base64"),
        (
            "client-certificate: /nonexistent",
            "cannot read kubeconfig: user \"u\": client-certificate",
        ),
        ("exec: {command: x}", "exec: apiVersion is not set"),
        (
            "exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}",
            "exec: apiVersion \"client.authentication.k8s.io/v1alpha1\" is neither",
        ),
        (
            "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}",
            "exec: command is not set",
        ),
        (
            "exec: {command: x, apiVersion: client.authentication.k8s.io/v1}",
            "exec: interactiveMode is not set",
        ),
        (
            "exec: {command: x, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Y}",
            "exec: interactiveMode \"Y\" is none of",
        ),
        (
            "auth-provider: {name: x}",
            "auth-provider is not supported yet",
        ),
        ("as-uid: '7'", "need a user to act as"),
        ("as-groups: [a]", "need a user to act as"),
        ("as-user-extra: {a: [b]}", "need a user to act as"),
    ] {
        let error = with_user(user).unwrap_err().to_string();
        assert!(error.contains(reason), "{user}: {error}");
        assert!(error.contains("user \"u\""), "{user}: {error}");
        assert!(!error.contains("%%%"));
    }
    for (url, reason) in [
        (
            "ftp://u:hunter2@p",
            "is none of http, https, socks5 and socks5h",
        ),
        ("http://u:hunter2@[", "is malformed"),
        ("p:3128", "is none of"),
    ] {
        let proxied = format!("server: https://h, proxy-url: '{url}'");
        let error = with_cluster_and_user(&proxied, "").unwrap_err().to_string();
        let start = "kubeconfig: cluster \"k\": the URL of the proxy ";
        assert!(
            error.starts_with(start) && error.contains(reason),
            "{error}"
        );
        assert!(!error.contains("hunter2"), "{error}");
    }
    let homeless = with_cluster_and_user("server: ''", "").unwrap_err();
    assert_eq!(
        homeless.to_string(),
        "kubeconfig: cluster \"k\": server is not set"
    );
}

#[test]
fn k7_entries_that_are_not_there_are_named() {
    let folder = scratch("k7");
    let file = write(&folder, "config", &kubeconfig("gone", &["a"]));
    let text = |context| {
        Config::from_kubeconfig(&file, context)
            .unwrap_err()
            .to_string()
    };
    let title = format!("kubeconfig {}", file.display());
    assert_eq!(text(None), format!("{title}: there is no context \"gone\""));
    assert_eq!(
        text(Some("x")),
        format!("{title}: there is no context \"x\"")
    );
    let dangling = "contexts: [{name: c, context: {cluster: k, user: u}}]";
    let error = Config::from_kubeconfig_text(dangling, Some("c")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "kubeconfig: context \"c\": there is no cluster \"k\""
    );
    let error = Config::from_kubeconfig_text(dangling, None).unwrap_err();
    assert_eq!(error.to_string(), "kubeconfig: no current-context is set");
}

#[test]
fn k8_ts96_namespaces() {
    assert_eq!(with_user("").unwrap().default_namespace(), "default");
    let folder = scratch("k8");
    write(&folder, "token", "t");
    write(&folder, "namespace", "from-file");
    let mut variables = vec![
        ("KUBERNETES_SERVICE_HOST", OsString::from("h")),
        ("KUBERNETES_SERVICE_PORT", "1".into()),
    ];
    let namespace = |variables: &[_]| {
        let config = in_cluster::load(&environment(variables, &folder)).unwrap();
        config.default_namespace().to_owned()
    };
    assert_eq!(namespace(&variables), "from-file");
    variables.push(("POD_NAMESPACE", "from-variable".into()));
    assert_eq!(namespace(&variables), "from-variable");
    assert_eq!(
        Config::new("h")
            .unwrap()
            .namespace("mine")
            .default_namespace(),
        "mine"
    );
}

#[test]
fn k9_in_cluster() {
    let folder = scratch("k9");
    let variables = [
        ("KUBERNETES_SERVICE_HOST", OsString::from("fd00::1")),
        ("KUBERNETES_SERVICE_PORT", "443".into()),
    ];
    let error = in_cluster::load(&environment(&variables, &folder)).unwrap_err();
    assert!(matches!(error, ConfigError::NotInCluster { .. }));
    let error = in_cluster::load(&environment(&variables[..1], &folder)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "not running in a pod: KUBERNETES_SERVICE_PORT is not set"
    );

    write(&folder, "token", "t");
    let config = in_cluster::load(&environment(&variables, &folder)).unwrap();
    assert_eq!(config.server().to_string(), "https://[fd00::1]:443/");
    assert!(config.tls().ca.is_none(), "a missing CA is only logged");
    write(&folder, "ca.crt", "pem");
    let config = in_cluster::load(&environment(&variables, &folder)).unwrap();
    assert!(config.tls().ca.is_some());
}

#[test]
fn tr2_unusable_trust_is_refused_when_the_client_is_made() {
    let https = || Config::new("https://h").unwrap();
    let both =
        "server: https://h, insecure-skip-tls-verify: true, certificate-authority-data: eA==";
    for (config, text) in [
        (
            with_cluster_and_user(both, "").unwrap(),
            "exclude each other",
        ),
        (
            https().ca_pem(""),
            "the CA certificate: has no certificate in PEM",
        ),
        (
            https().ca_file("/nonexistent"),
            "cannot read the CA certificate /nonexistent: ",
        ),
        (
            https().client_certificate_pem("", "k"),
            "the client certificate: has no certificate",
        ),
        (https().server_name("not a name"), "is no DNS name"),
    ] {
        let error = Client::connect(&config).unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[test]
fn kube_rs_24_a_client_can_be_made_without_a_process_wide_tls_provider() {
    for server in ["http://h", "https://h"] {
        let config = Config::new(server).unwrap();
        Client::connect_with(&config, &TransportOptions::default().http1_only()).unwrap();
    }
}

#[test]
fn rc15_a_configuration_prints_no_secret() {
    let text = "token: hunter2, client-key-data: aHVudGVyMg==, client-certificate-data: Yg==";
    let config = with_user(text).unwrap();
    let shown = format!("{config:?} {:?}", config.credentials());
    assert!(
        !shown.contains("hunter2") && !shown.contains("aHVudGVyMg"),
        "{shown}"
    );
    let basic = with_user("username: me, password: hunter2").unwrap();
    assert!(!format!("{basic:?}").contains("hunter2"));
    for broken in [
        "token: hunter2, client-certificate: [",
        "client-key: {hunter2: x}",
    ] {
        let broken = with_user(broken).unwrap_err();
        assert!(!broken.to_string().contains("hunter2"), "{broken}");
        assert!(broken.to_string().contains("line 3"), "{broken}");
    }
    let bracket = with_user("token: [").unwrap_err().to_string();
    assert!(
        bracket.contains("mismatched bracket '[' closed by '}'"),
        "{bracket}"
    );
    let misplaced = "users: 'hunter2'";
    let broken = Config::from_kubeconfig_text(misplaced, None).unwrap_err();
    assert!(!broken.to_string().contains("hunter2"), "{broken}");
}

#[test]
fn a_real_kubeconfig() {
    let text = r#"
apiVersion: v1
kind: Config
preferences: {}
current-context: admin@kind
clusters:
- cluster:
    certificate-authority-data: LS0tLS1CRUdJTi
      BDRVJUSUZJQ0FURS0tLS0t
    server: https://127.0.0.1:35443
    extensions:
    - name: x
      extension: {a: 1}
  name: kind
contexts:
- context:
    cluster: kind
    user: admin
  name: admin@kind
users:
- name: admin
  user:
    token: abc
"#;
    let config = Config::from_kubeconfig_text(text, None).unwrap();
    assert_eq!(config.server().port_u16(), Some(35443));
    assert_eq!(token(&config), "abc");
    let pem = config.tls().ca.as_ref().unwrap().read().unwrap();
    assert_eq!(&*pem, b"-----BEGIN CERTIFICATE-----");
}
