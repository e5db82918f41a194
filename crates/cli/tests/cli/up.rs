use std::path::Path;

use serde_json::json;

use crate::process::{Folder, finish, mode, start, start_with_input};

fn guestbook() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/guestbook.yaml");
    path.to_string_lossy().into_owned()
}

fn deployment(name: &str, replicas: i32) -> serde_json::Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "example.com/c"}]}}},
    })
}

#[test]
fn once_brings_the_guestbook_up_and_says_so() {
    let folder = Folder::new();
    let ended =
        finish(folder.evenkeel(&["up", "--once", "--pod-start-delay=0s", "-f", &guestbook()]));
    ended.succeeds();
    for line in [
        "service/frontend serverside-applied",
        "deployment.apps/frontend serverside-applied",
        "deployment.apps/store serverside-applied",
    ] {
        assert!(
            ended.stdout.lines().any(|said| said == line),
            "{line}: {ended:#?}"
        );
    }
    for words in [
        "leader: controller-manager-",
        "deployment.apps/cache  2/2 ready",
        "└─ pod/store-",
        "converged after ",
    ] {
        assert!(ended.stdout.contains(words), "{words}: {ended:#?}");
    }
    assert_eq!(ended.stderr, "", "a good run complains about nothing");
    let kubeconfig = folder.path(".evenkeel/kubeconfig");
    let export = format!(
        "export KUBECONFIG={}",
        kubeconfig.canonicalize().unwrap().display()
    );
    assert!(ended.stdout.contains(&export), "{export}: {ended:#?}");
    assert_eq!(mode(&kubeconfig), 0o600);
}

#[test]
fn once_that_does_not_converge_says_what_and_why() {
    let folder = Folder::new();
    let manifest = folder.file("web.json", &deployment("web", 2).to_string());
    let mut command = folder.evenkeel(&[
        "up",
        "--once",
        "--pod-start-delay=1h",
        "--timeout=12s",
        "-f",
    ]);
    command.arg(manifest);
    let ended = finish(command);
    ended.refuses(1, &["not converged after 12s"]);
    ended.refuses(
        1,
        &[
            "deployment.apps/web",
            "0 of 2 replicas are available",
            "pod web-",
            "Pending on simulated-",
        ],
    );
}

#[test]
fn the_time_out_counts_while_objects_are_applied() {
    let folder = Folder::new();
    let config_map = |at: u32| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("a{at}")}});
    let items: Vec<_> = (0..500).map(config_map).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    let mut command = folder.evenkeel(&["up", "--once", "--timeout=1ns", "-f"]);
    command.arg(folder.file("many.json", &list.to_string()));
    let ended = finish(command);
    ended.refuses(1, &["of 500 objects were applied", "were not tried"]);
}

#[test]
fn what_no_controller_looks_at_is_named() {
    let folder = Folder::new();
    let mut set = deployment("db", 1);
    set["kind"] = json!("StatefulSet");
    set["spec"]["serviceName"] = json!("db");
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [set, deployment("web", 1)]});
    let args = [
        "up",
        "--once",
        "--pod-start-delay=0s",
        "--timeout=12s",
        "-f",
        "-",
    ];
    let ended = start_with_input(folder.evenkeel(&args), Some(&list.to_string())).end();
    ended.refuses(
        1,
        &["statefulset.apps/db", "no controller has looked at it"],
    );
    assert!(!ended.stderr.contains("deployment.apps/web"), "{ended:#?}");
}

#[test]
fn it_stays_until_it_is_told_to_stop() {
    let folder = Folder::new();
    for signal in ["TERM", "INT"] {
        let process = start(folder.evenkeel(&["up", "--pod-start-delay=0s", "-f", &guestbook()]));
        process.says("running until Ctrl-C");
        process.signal(signal);
        let ended = process.end();
        ended.succeeds();
        assert!(ended.stdout.contains("stopping"), "{ended:#?}");
        assert_eq!(ended.stderr, "");
    }
}

#[test]
fn nothing_to_apply_is_a_plane_to_work_with() {
    let folder = Folder::new();
    let ended = finish(folder.evenkeel(&["up", "--once", "--replicas=1", "--nodes=1"]));
    ended.succeeds();
    assert!(ended.stdout.contains("nothing was applied"), "{ended:#?}");
    assert!(
        ended.stdout.contains("leader: controller-manager-1"),
        "{ended:#?}"
    );
}

#[test]
fn standard_input_without_an_end_does_not_hold_up_the_stop() {
    let folder = Folder::new();
    let mut command = folder.evenkeel(&["up", "-f", "-"]);
    // A pipe that stays open for as long as the sleeper lives.
    let mut sleeper = std::process::Command::new("sleep")
        .arg("60")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    command.stdin(sleeper.stdout.take().unwrap());
    command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let id = child.id().to_string();
    let deadline = tokio::time::Instant::now() + crate::process::SOON;
    // Until the handler is there, the signal ends the process the hard way; so look at the code.
    let code = loop {
        std::process::Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap();
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(tokio::time::Instant::now() < deadline, "it does not stop");
        std::thread::yield_now();
    };
    assert!(!code.success());
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
}

#[test]
fn definitions_and_namespaces_come_first_wherever_they_are_written() {
    let folder = Folder::new();
    let gizmo = json!({"apiVersion": "example.com/v1", "kind": "Gizmo",
        "metadata": {"name": "g", "namespace": "shop"}, "spec": {"size": 3}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gizmos.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"plural": "gizmos", "singular": "gizmo", "kind": "Gizmo", "listKind": "GizmoList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object",
                    "properties": {"size": {"type": "integer"}}}}}}}]},
    });
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    folder.file("manifests/a.json", &gizmo.to_string());
    folder.file(
        "manifests/b.yaml",
        &format!("{definition}\n---\n{namespace}\n"),
    );
    folder.file("manifests/README.md", "not a manifest");
    let ended = finish(folder.evenkeel(&["up", "--once", "-f", "manifests"]));
    ended.succeeds();
    let order: Vec<_> = ended
        .stdout
        .lines()
        .filter(|line| line.ends_with("serverside-applied"))
        .collect();
    assert_eq!(
        order,
        [
            "namespace/shop serverside-applied",
            "customresourcedefinition.apiextensions.k8s.io/gizmos.example.com serverside-applied",
            "gizmo.example.com/g -n shop serverside-applied",
        ]
    );
}
