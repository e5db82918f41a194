//! Kubeconfigs that are broken in every way.

use super::{Config, ConfigError};
use crate::corpus::{SECRET, deep, mixtures, small_changes, within_memory};

const SEEDS: &[&str] = &[
    "apiVersion: v1\nkind: Config\ncurrent-context: c\npreferences: {}\nclusters:\n- name: k\n  cluster:\n    \
     server: https://127.0.0.1:6443\n    certificate-authority-data: aHVudGVyMg==\n    \
     proxy-url: http://u:hunter2@p:1\nusers:\n- name: u\n  user:\n    token: hunter2\ncontexts:\n\
     - name: c\n  context: {cluster: k, user: u, namespace: ns}\n",
    "current-context: c\nclusters: [{name: k, cluster: {server: 'h', insecure-skip-tls-verify: true, \
     tls-server-name: n, disable-compression: true, extensions: [{name: client.authentication.k8s.io/exec, \
     extension: {a: [1, ~, 2.5]}}]}}]\nusers: [{name: u, user: {as: jane, as-groups: [g], as-user-extra: \
     {k: [v]}, exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Never, \
     args: [hunter2], env: [{name: K, value: hunter2}]}}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n",
    "{\"current-context\": \"c\", \"clusters\": [{\"name\": \"k\", \"cluster\": {\"server\": \"https://h\"}}], \
     \"users\": [{\"name\": \"u\", \"user\": {\"username\": \"me\", \"password\": \"hunter2\"}}], \
     \"contexts\": [{\"name\": \"c\", \"context\": {\"cluster\": \"k\", \"user\": \"u\"}}]}",
];

const WORDS: &[&str] = &[
    "&a ",
    "*a",
    "<<: *a\n",
    "!!binary ",
    "!!python/object ",
    "? ",
    "- ",
    "---\n",
    "...\n",
    "%YAML 9.9\n",
    "|2-\n",
    ">+\n",
    "\t",
    "\r\n",
    "\u{feff}",
    "\u{0}",
    "\u{85}",
    "ü",
    "{",
    "}",
    "[",
    "]",
    ": ",
    "#",
    "~",
    "null",
    "true",
    "1e999",
    "0x",
    "-.inf",
    "99999999999999999999",
    "server: ",
    "token: ",
    "exec: ",
    "users: ",
    "\"",
    "'",
    "\\u0000",
    "https://[::1",
    "ftp://",
    "name: ",
    "contexts:\n",
];

fn parse(text: &[u8]) -> Option<Result<Config, ConfigError>> {
    let text = std::str::from_utf8(text).ok()?;
    Some(Config::from_kubeconfig_text(text, None))
}

#[test]
fn rc15_no_small_change_makes_a_kubeconfig_tell_its_secrets() {
    for seed in SEEDS {
        assert!(parse(seed.as_bytes()).unwrap().is_ok(), "{seed}");
    }
    small_changes(SEEDS, |text| {
        let shown = match parse(text) {
            None => return,
            Some(Ok(config)) => format!("{config:?} {:?}", config.credentials()),
            Some(Err(error)) => format!("{error} {error:?}"),
        };
        assert!(
            !shown.contains(SECRET),
            "{shown}\n{}",
            String::from_utf8_lossy(text)
        );
    });
}

#[test]
fn no_mixture_of_kubeconfigs_panics_or_takes_much_memory() {
    within_memory(200 << 20, || {
        mixtures(SEEDS, WORDS, 1_000, |text| drop(parse(text)));
        let parts = [
            "[", "{", "- ", "a: ", "? ", "&a ", "[*a,", "{a: ", "\"", "!!", "a: &a\n ", "\n ",
            "- - ",
        ];
        deep(&parts, |text| drop(parse(text)));
    });
}

#[test]
fn aliases_of_aliases_do_not_multiply() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let below = format!("*a{}, ", level - 1).repeat(9);
        bomb += &format!("a{level}: &a{level} [{below}]\n");
    }
    bomb += "clusters: *a8\nusers: *a8\ncontexts: *a8\n";
    within_memory(200 << 20, || {
        assert!(parse(bomb.as_bytes()).unwrap().is_err());
    });
}
