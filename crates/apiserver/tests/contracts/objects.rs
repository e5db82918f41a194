//! Create, read, update.

use serde_json::json;

use crate::harness::{CONFIG_MAPS, Client, PODS, config_map, pod, version};

#[tokio::test(start_paused = true)]
async fn a_created_object_can_be_read() {
    let client = Client::new();
    let created = client.config_map("a").await;
    assert_eq!(created["metadata"]["namespace"], "default");
    assert_eq!(created["metadata"]["uid"].as_str().unwrap().len(), 36);
    assert!(created["metadata"]["creationTimestamp"].is_string());
    let read = client.get(&format!("{CONFIG_MAPS}/a")).await.ok();
    assert_eq!(read, created);
    client
        .get(&format!("{CONFIG_MAPS}/b"))
        .await
        .refused(404, "NotFound");
    client
        .post(CONFIG_MAPS, config_map("a"))
        .await
        .refused(409, "AlreadyExists");
    client
        .post("/api/v1/namespaces/none/configmaps", config_map("a"))
        .await
        .refused(404, "NotFound");
    client.get("/api/v1/nothing").await.refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn kcm_c4_the_server_generates_names() {
    let client = Client::new();
    let mut pod = pod("");
    pod["metadata"] = json!({"generateName": "web-"});
    let created = client.post(PODS, pod).await.ok();
    let name = created["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("web-") && name.len() == 9, "{name}");
    client
        .post(PODS, json!({"metadata": {}}))
        .await
        .refused(422, "Invalid");
}

#[tokio::test(start_paused = true)]
async fn g57_a_stale_update_is_a_conflict() {
    let client = Client::new();
    let uri = format!("{CONFIG_MAPS}/a");
    let first = client.config_map("a").await;
    let mut second = first.clone();
    second["data"]["a"] = "2".into();
    let second = client.put(&uri, second).await.ok();
    assert!(version(&second) > version(&first));
    let refused = client
        .put(&uri, first.clone())
        .await
        .refused(409, "Conflict");
    assert_eq!(
        refused["message"],
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; \
         please apply your changes to the latest version and try again"
    );
    let patch = json!({"metadata": {"resourceVersion": first["metadata"]["resourceVersion"]}, "data": {"a": "3"}});
    client.merge(&uri, patch).await.refused(409, "Conflict");
    // Without a resource version it overwrites.
    client.put(&uri, config_map("a")).await.ok();
    let wrong_uid = json!({"metadata": {"uid": "X"}});
    let refused = client
        .merge(&uri, wrong_uid.clone())
        .await
        .refused(422, "Invalid");
    assert_eq!(refused["details"]["causes"][0]["field"], "metadata.uid");
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .ends_with("metadata.uid: Invalid value: \"X\": field is immutable")
    );
    client.put(&uri, wrong_uid).await.refused(409, "Conflict");
}

#[tokio::test(start_paused = true)]
async fn an_update_that_changes_nothing_writes_nothing() {
    let client = Client::new();
    let created = client.config_map("a").await;
    let again = client
        .put(&format!("{CONFIG_MAPS}/a"), created.clone())
        .await
        .ok();
    assert_eq!(again, created);
}

#[tokio::test(start_paused = true)]
async fn traffic_can_be_asserted_on() {
    let client = Client(
        evenkeel_apiserver::Server::builder()
            .log_requests(2)
            .build(),
    );
    for name in ["x", "y", "z"] {
        client.get(&format!("{CONFIG_MAPS}/{name}?pretty=1")).await;
    }
    let requests = client.0.take_requests();
    assert_eq!(requests.len(), 2, "the last two");
    let last = &requests[1];
    assert_eq!(
        (last.path.as_str(), last.query.as_str(), last.code),
        (&*format!("{CONFIG_MAPS}/z"), "pretty=1", 404)
    );
    assert_eq!(
        (last.user_agent.as_str(), last.user.as_str()),
        ("contract/1", "kubernetes-admin")
    );
    assert!(client.0.take_requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn faults_refuse_delay_lose_and_age() {
    use evenkeel_apiserver::{Fault, Verb, When};

    let client = Client::new();
    let uri = format!("{CONFIG_MAPS}/a");
    let created = client.config_map("a").await;
    let faults = client.0.faults().clone();

    faults.inject(
        When::verb(Verb::Get).on("configmaps").times(1),
        Fault::too_many_requests(3),
    );
    let answer = client.get(&uri).await;
    assert_eq!(answer.headers["retry-after"], "3");
    answer.refused(429, "TooManyRequests");

    let begun = tokio::time::Instant::now();
    faults.inject(
        When::any().times(1),
        Fault::Delay(std::time::Duration::from_secs(7)),
    );
    client.get(&uri).await.ok();
    assert_eq!(begun.elapsed().as_secs(), 7);

    faults.inject(When::verb(Verb::Patch).times(1), Fault::LoseAnswer);
    let patch = json!({"data": {"a": "lost"}}).to_string();
    let lost = client
        .send("PATCH", &uri, "application/merge-patch+json", patch)
        .await;
    assert!(
        http_body_util::BodyExt::collect(lost.into_body())
            .await
            .is_err()
    );
    assert_eq!(
        client.get(&uri).await.ok()["data"]["a"],
        "lost",
        "it took effect"
    );

    faults.inject(
        When::any().namespace("default"),
        Fault::Stale(version(&created)),
    );
    let stale = client.get(&format!("{uri}?resourceVersion=0")).await.ok();
    assert_eq!(stale["data"]["a"], "1");
    let list = client
        .get(&format!("{CONFIG_MAPS}?resourceVersion=0"))
        .await
        .ok();
    assert_eq!(version(&list), version(&created));
    assert_eq!(
        client.get(&uri).await.ok()["data"]["a"],
        "lost",
        "reads of the newest state are"
    );
    faults.clear();

    faults.inject(
        When::verb(Verb::List).on("deployments.apps"),
        Fault::forbidden(),
    );
    client
        .get("/apis/apps/v1/deployments")
        .await
        .refused(403, "Forbidden");
    client.get("/apis/apps/v1/replicasets").await.ok();
}

#[tokio::test(start_paused = true)]
async fn a_field_manager_is_short_and_printable() {
    let client = Client::new();
    for (manager, message) in [
        (
            "x".repeat(129),
            "fieldManager: Too long: may not be more than 128 bytes",
        ),
        (
            "a%0Ab".to_owned(),
            "fieldManager: Invalid value: \"a\\nb\": invalid character U+000A (at position 1)",
        ),
    ] {
        let refused = client
            .post(
                &format!("{CONFIG_MAPS}?fieldManager={manager}"),
                config_map("a"),
            )
            .await
            .refused(422, "Invalid");
        assert_eq!(
            refused["message"],
            format!("CreateOptions.meta.k8s.io \"\" is invalid: {message}")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_apply_creates_whatever_version_it_names_but_not_another_objects_uid() {
    let client = Client::new();
    let apply = async |name: &str, metadata: serde_json::Value| {
        let uri = format!("{CONFIG_MAPS}/{name}?fieldManager=test");
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        let media = "application/apply-patch+yaml";
        client.call("PATCH", &uri, media, body.to_string()).await
    };
    let refused = apply("a", json!({"uid": "abc"}))
        .await
        .refused(409, "Conflict");
    assert_eq!(
        refused["message"],
        "Operation cannot be fulfilled on configmaps \"a\": uid mismatch: the provided object specified uid abc, \
         and no existing object was found"
    );
    apply("b", json!({"resourceVersion": "5"})).await.ok();
    // A create may name no version; one that is no number is none.
    let named =
        |name: &str, version: &str| json!({"metadata": {"name": name, "resourceVersion": version}});
    client.post(CONFIG_MAPS, named("c", "abc")).await.ok();
    let refused = client.post(CONFIG_MAPS, named("d", "5")).await;
    assert_eq!(refused.refused(500, "")["code"], 500);
}

#[tokio::test(start_paused = true)]
async fn media_types_have_no_case_and_an_empty_dry_run_is_none() {
    let client = Client::new();
    let body = config_map("a").to_string();
    client
        .call("POST", CONFIG_MAPS, "Application/JSON", body.clone())
        .await
        .ok();
    let uri = format!("{CONFIG_MAPS}?dryRun=");
    client
        .call("POST", &uri, "application/json", body)
        .await
        .refused(422, "Invalid");
}

#[tokio::test(start_paused = true)]
async fn the_templates_of_a_daemon_set_are_counted() {
    const DAEMON_SETS: &str = "/apis/apps/v1/namespaces/default/daemonsets";
    const COUNT: &str = "deprecated.daemonset.template.generation";
    let client = Client::new();
    let labels = json!({"app": "agent"});
    let template = json!({
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "main", "image": "agent:1"}]}
    });
    let spec = json!({"selector": {"matchLabels": labels}, "template": template});
    let set = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": spec
    });
    let created = client.post(DAEMON_SETS, set.clone()).await.ok();
    assert_eq!(created["metadata"]["annotations"][COUNT], "1");

    let uri = format!("{DAEMON_SETS}/agent");
    let labelled = json!({"spec": {"template": {"metadata": {"labels": {"more": "yes"}}}}});
    let changed = client.merge(&uri, labelled).await.ok();
    assert_eq!(changed["metadata"]["annotations"][COUNT], "2");
    let mut same = changed.clone();
    same["metadata"]["annotations"] = json!({COUNT: "9", "mine": "kept"});
    same["spec"]["minReadySeconds"] = 5.into();
    let same = client.put(&uri, same).await.ok();
    let annotations = &same["metadata"]["annotations"];
    assert_eq!(*annotations, json!({COUNT: "2", "mine": "kept"}));
    let status =
        json!({"metadata": {"annotations": null}, "status": {"currentNumberScheduled": 1}});
    let status = client.merge(&format!("{uri}/status"), status).await.ok();
    assert_eq!(status["metadata"]["annotations"][COUNT], "2");
}
