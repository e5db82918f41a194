//! Owner references, finalizers and generations.

use serde_json::{Value, json};

use crate::harness::{CONFIG_MAPS, Client, config_map};

async fn with_owners(client: &Client, name: &str, owners: Value) -> crate::harness::Answer {
    let mut object = config_map(name);
    object["metadata"]["ownerReferences"] = owners;
    client.post(CONFIG_MAPS, object).await
}

fn causes(status: &Value) -> Vec<(String, String)> {
    let text = |cause: &Value, name: &str| cause[name].as_str().unwrap_or_default().to_owned();
    let causes = status["details"]["causes"].as_array().unwrap();
    causes
        .iter()
        .map(|cause| (text(cause, "field"), text(cause, "message")))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn g55_missing_parts_of_an_owner_are_reported_together() {
    let client = Client::new();
    let refused = with_owners(&client, "a", json!([{}]))
        .await
        .refused(422, "Invalid");
    let expected = ["apiVersion", "kind", "name", "uid"].map(|name| {
        (
            format!("metadata.ownerReferences[0].{name}"),
            "Required value: must not be empty".to_owned(),
        )
    });
    assert_eq!(causes(&refused), expected);
}

#[tokio::test(start_paused = true)]
async fn g55_bad_owners_are_refused() {
    let client = Client::new();
    let owner = |api_version: &str, kind: &str, name: &str| json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": name});
    let slashes = with_owners(&client, "a", json!([owner("a/b/c", "K", "n")]))
        .await
        .refused(422, "Invalid");
    assert!(
        causes(&slashes)[0]
            .1
            .ends_with("must be <group>/<version> or <version>")
    );
    let event = with_owners(&client, "a", json!([owner("v1", "Event", "n")]))
        .await
        .refused(422, "Invalid");
    assert!(
        causes(&event)[0]
            .1
            .ends_with("/v1, Kind=Event is disallowed from being an owner")
    );
    let mut two = [owner("v1", "Pod", "p"), owner("v1", "Pod", "p2")];
    two.iter_mut()
        .for_each(|owner| owner["controller"] = true.into());
    let refused = with_owners(&client, "a", json!(two))
        .await
        .refused(422, "Invalid");
    assert!(causes(&refused)[0].1.ends_with(
        "Only one reference can have Controller set to true. Found \"true\" in references for Pod/p and Pod/p2"
    ));
    with_owners(
        &client,
        "ok",
        json!([owner("events.k8s.io/v1", "Event", "n")]),
    )
    .await
    .ok();
    with_owners(&client, "ok2", json!([owner("no.such/v1", "Thing", "n")]))
        .await
        .ok();
}

#[tokio::test(start_paused = true)]
async fn g55_identical_owners_are_dropped_with_a_warning() {
    let client = Client::new();
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1"});
    let mut other = owner.clone();
    other["name"] = "q".into();
    let answer = with_owners(&client, "a", json!([owner, owner, other])).await;
    let warning = answer.headers["warning"].to_str().unwrap().to_owned();
    assert!(
        warning.contains(".metadata.ownerReferences contains duplicate entries;"),
        "{warning}"
    );
    assert!(
        warning.ends_with("duplicate UID(s) observed: u1\""),
        "{warning}"
    );
    let created = answer.ok();
    assert_eq!(
        created["metadata"]["ownerReferences"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let patch = json!({"metadata": {"ownerReferences": [owner, owner]}});
    let answer = client.merge(&format!("{CONFIG_MAPS}/a"), patch).await;
    let warning = answer.headers["warning"].to_str().unwrap();
    assert!(
        warning.contains("contains duplicate entries after mutating admission happens"),
        "{warning}"
    );
}

#[tokio::test(start_paused = true)]
async fn g51_finalizers_must_be_qualified() {
    let client = Client::new();
    for (name, finalizers, code) in [
        ("a", json!(["bad"]), 422),
        ("b", json!(["orphan", "foregroundDeletion"]), 422),
        ("c", json!(["a.b/c", "a.b/c"]), 201),
        ("d", json!(["kubernetes"]), 201),
        ("e", json!(["orphan"]), 201),
    ] {
        let mut object = config_map(name);
        object["metadata"]["finalizers"] = finalizers.clone();
        let answer = client.post(CONFIG_MAPS, object).await;
        assert_eq!(answer.code, code, "{name}: {}", answer.body);
        if code == 201 {
            assert_eq!(
                answer.body["metadata"]["finalizers"], finalizers,
                "stored as sent"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn generations_count_changes_of_the_desired_state() {
    let client = Client::new();
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let uri = format!("{deployments}/web");
    let deployment = json!({
        "metadata": {"name": "web", "generation": 9},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
        "status": {"replicas": 5},
    });
    let created = client.post(deployments, deployment).await.ok();
    assert_eq!(created["metadata"]["generation"], 1);
    assert_eq!(created["status"], json!({}), "a status is not created");
    for (patch, generation) in [
        (json!({"metadata": {"labels": {"x": "y"}}}), 1),
        (json!({"status": {"replicas": 5}}), 1),
        (json!({"metadata": {"annotations": {"x": "y"}}}), 2),
        (json!({"spec": {"replicas": 2}}), 3),
        (json!({"spec": {"replicas": 2}}), 3),
    ] {
        let patched = client.merge(&uri, patch).await.ok();
        assert_eq!(patched["metadata"]["generation"], generation, "{patched}");
    }
    let status = json!({
        "metadata": {"annotations": {"revision": "1"}, "labels": {"z": "z"}},
        "spec": {"replicas": 7},
        "status": {"replicas": 2},
    });
    let patched = client.merge(&format!("{uri}/status"), status).await.ok();
    assert_eq!(patched["metadata"]["generation"], 3);
    assert_eq!(patched["spec"]["replicas"], 2);
    assert_eq!(patched["status"]["replicas"], 2);
    assert_eq!(
        patched["metadata"]["annotations"]["revision"], "1",
        "kcm D5: annotations travel with it"
    );
    assert!(patched["metadata"]["labels"]["z"].is_null());
}
