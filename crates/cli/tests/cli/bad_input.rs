//! Bad input gets one line that names what is wrong and where, and a code that tells a mistake in
//! the call (2) from something that did not work (1).

use std::net::{Ipv4Addr, TcpListener};

use evenkeel_apiserver::{Identity, Server};
use evenkeel_meta::Timestamp;

use crate::process::{Ended, Folder, finish, free_port, start};

const GOOD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\n---\n";

fn up(manifest: &str) -> Ended {
    let folder = Folder::new();
    folder.file("m.yaml", &format!("{GOOD}{manifest}"));
    finish(folder.evenkeel(&["up", "--once", "--timeout=20s", "-f", "m.yaml"]))
}

#[test]
fn broken_yaml_is_named_by_file_document_and_line() {
    let ended = up("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n labels: {}\n");
    ended.refuses(1, &["m.yaml: document 2, line 9, column "]);
    ended.refuses(1, &["nothing was applied"]);
    assert_eq!(ended.stdout, "", "nothing is started for it");
}

#[test]
fn an_unknown_kind_is_found_out_before_anything_is_written() {
    let ended = up("apiVersion: apps/v2\nkind: Deployment\nmetadata: {name: x}\n");
    ended.refuses(1, &["m.yaml: document 2, line 6: Deployment x: no kind Deployment is served in apps/v2; it is in apps/v1"]);
    ended.refuses(1, &["nothing was applied"]);
    assert!(!ended.stdout.contains("serverside-applied"), "{ended:#?}");
}

#[test]
fn a_wrong_type_is_named_by_its_field_and_line() {
    let ended =
        up("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec:\n  replicas: many\n");
    ended.refuses(
        1,
        &[
            "m.yaml: document 2, line 9: Deployment x: ",
            ".spec.replicas: expected ",
        ],
    );
    ended.refuses(1, &["1 of 2 objects were applied, 1 were refused"]);
    assert!(
        ended.stdout.contains("configmap/good serverside-applied"),
        "{ended:#?}"
    );
}

#[test]
fn an_unknown_field_is_named_by_its_line() {
    let ended = up(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: default}\ndatta: {a: b}\n",
    );
    ended.refuses(
        1,
        &["m.yaml: document 2, line 8: ConfigMap default/x: ", "datta"],
    );
}

#[test]
fn a_rule_that_is_broken_is_named_by_its_field_and_line() {
    let ended = up(
        "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec:\n  ports:\n  - port: 80\n  - port: 70000\n    name: b\n",
    );
    ended.refuses(
        1,
        &[
            "m.yaml: document 2, line ",
            "Service x: ",
            "spec.ports[1].port",
        ],
    );
}

#[test]
fn a_namespace_that_is_missing_is_named() {
    let ended = up("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: nowhere}\n");
    ended.refuses(
        1,
        &[
            "m.yaml: document 2",
            "ConfigMap nowhere/x",
            "namespaces \"nowhere\" not found",
        ],
    );
}

#[test]
fn what_is_no_call_is_exit_code_2() {
    let folder = Folder::new();
    folder.file("empty/README", "");
    for (args, words) in [
        (
            &["up", "-f", "nowhere.yaml"][..],
            &["nowhere.yaml", "No such file"][..],
        ),
        (
            &["up", "-f", "empty"],
            &["empty has no .yaml, .yml or .json file"],
        ),
        (
            &["up", "--timeout=60"],
            &["--timeout", "missing unit", "60s"],
        ),
        (&["up", "--replicas=0"], &["--replicas", "0"]),
        (&["upp"], &["upp"]),
        (
            &["controller-manager", "--controllers=deployment,nope"],
            &["--controllers", "\"nope\" is not in the list"],
        ),
        (
            &[
                "controller-manager",
                "--leader-elect-resource-lock=zookeeper",
            ],
            &["zookeeper", "leases"],
        ),
        (
            &["controller-manager", "--leader-elect-renew-deadline=15s"],
            &["leader election", "lease duration", "renew deadline"],
        ),
        (
            &[
                "controller-manager",
                "--master=http://127.0.0.1:1",
                "--leader-elect-resource-name=a/b",
            ],
            &["leader election", "\"a/b\"", "253"],
        ),
        (
            &["controller-manager", "--master=ftp://x"],
            &["--master", "only http and https"],
        ),
    ] {
        finish(folder.evenkeel(args)).refuses(2, words);
    }
}

#[test]
fn a_port_in_use_is_named_and_not_replaced() {
    let folder = Folder::new();
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for subcommand in ["up", "apiserver"] {
        let ended = finish(folder.evenkeel(&[subcommand, "--port", &port]));
        ended.refuses(1, &["--port", &port, "in use"]);
    }
    let master = ["controller-manager", "--master=http://127.0.0.1:1"];
    for (flag, other) in [
        ("--secure-port", "--http-port=0"),
        ("--http-port", "--secure-port=0"),
    ] {
        let args = [&master[..], &[flag, &port, other]].concat();
        finish(folder.evenkeel(&args)).refuses(1, &[flag, &port, "in use"]);
    }
}

#[test]
fn a_cluster_that_is_not_configured_is_said() {
    let folder = Folder::new();
    for subcommand in ["controller-manager", "nodes"] {
        let ended = finish(folder.evenkeel(&[subcommand, "--kubeconfig=nowhere"]));
        ended.refuses(1, &["cannot read kubeconfig nowhere", "No such file"]);
        let mut command = folder.evenkeel(&[subcommand]);
        command.env_remove("KUBERNETES_SERVICE_HOST");
        finish(command).refuses(
            1,
            &[
                "neither --kubeconfig nor --master",
                "KUBERNETES_SERVICE_HOST is not set",
            ],
        );
    }
    folder.file("broken", "clusters: [\n");
    let ended = finish(folder.evenkeel(&["controller-manager", "--kubeconfig=broken"]));
    ended.refuses(1, &["broken", "line"]);
}

/// A kubeconfig of the listener with one part exchanged.
fn altered(kubeconfig: &str, part: &str, value: &str) -> String {
    let changed = kubeconfig.lines().map(|line| match line.split_once(part) {
        Some((indent, _)) => format!("{indent}{part} {value}\n"),
        None => format!("{line}\n"),
    });
    changed.collect()
}

const MANAGER: [&str; 3] = [
    "controller-manager",
    "--secure-port=0",
    "--kubeconfig=config",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_ends_the_program_with_the_reason() {
    let folder = Folder::new();
    let listener = Server::new()
        .listen((Ipv4Addr::LOCALHOST, 0))
        .await
        .unwrap();
    folder.file(
        "config",
        &altered(&listener.kubeconfig(), "token:", "not-a-token"),
    );
    for args in [&MANAGER[..], &["nodes", "--kubeconfig=config"]] {
        let ended = finish(folder.evenkeel(args));
        ended.refuses(
            1,
            &[
                "cannot use the API server",
                &listener.url(),
                "401",
                "Unauthorized",
            ],
        );
        assert!(!ended.stderr.contains("not-a-token"), "{ended:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_ca_ends_the_program_with_the_reason() {
    let folder = Folder::new();
    let [listener, other] = [
        Server::new()
            .listen((Ipv4Addr::LOCALHOST, 0))
            .await
            .unwrap(),
        Server::new()
            .listen((Ipv4Addr::LOCALHOST, 0))
            .await
            .unwrap(),
    ];
    folder.file("ca.crt", other.ca_pem().unwrap());
    let config = listener
        .kubeconfig()
        .replace("certificate-authority-data", "certificate-authority");
    folder.file(
        "config",
        &altered(&config, "certificate-authority:", "ca.crt"),
    );
    finish(folder.evenkeel(&MANAGER)).refuses(1, &["cannot use the API server", "certificate"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_expires_meanwhile_is_reported() {
    let folder = Folder::new();
    let server = Server::new();
    let listener = server.listen((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    folder.file(
        "config",
        &altered(&listener.kubeconfig(), "token:", "brief"),
    );
    server.tokens().add("brief", Identity::admin(), None);
    let args = [
        &MANAGER[..],
        &[
            "--leader-elect-lease-duration=4s",
            "--leader-elect-renew-deadline=2s",
            "--leader-elect-retry-period=1s",
        ],
    ]
    .concat();
    let process = start(folder.evenkeel(&args));
    process.says("Caches are synced");
    server
        .tokens()
        .add("brief", Identity::admin(), Some(Timestamp::from_second(1)));
    process.says("Unauthorized (401");
    process.says("Leader election lost");
    assert!(!process.has_said("brief"), "a token was printed");
}

#[test]
fn a_server_that_is_not_there_yet_is_waited_for() {
    let folder = Folder::new();
    let master = format!("--master=http://127.0.0.1:{}", free_port());
    let process = start(folder.evenkeel(&["controller-manager", "--secure-port=0", &master]));
    process.says("The API server does not answer yet");
    process.says("refused");
    process.signal("TERM");
    process.end().succeeds();
}

#[test]
fn a_refused_object_ends_the_program_without_once_too() {
    let ended = {
        let folder = Folder::new();
        folder.file(
            "m.yaml",
            &format!(
                "{GOOD}apiVersion: v1\nkind: ConfigMap\nmetadata: {name}\n",
                name = "{name: UPPER}"
            ),
        );
        finish(folder.evenkeel(&["up", "-f", "m.yaml"]))
    };
    ended.refuses(
        1,
        &[
            "m.yaml: document 2, line 7: ConfigMap UPPER: ",
            "metadata.name",
        ],
    );
}
