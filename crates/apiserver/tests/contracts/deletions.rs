//! DELETE: propagation, grace, preconditions.

use serde_json::{Value, json};

use crate::harness::{CONFIG_MAPS, Client, PODS, config_map, pod};

const ONE: &str = "/api/v1/namespaces/default/configmaps/a";
const POD: &str = "/api/v1/namespaces/default/pods/p";

fn finalizers(object: &Value) -> Vec<&str> {
    let list = object["metadata"]["finalizers"].as_array();
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

async fn held(client: &Client, finalizer: &str) {
    let mut object = config_map("a");
    object["metadata"]["finalizers"] = json!([finalizer]);
    client.post(CONFIG_MAPS, object).await.ok();
}

#[tokio::test(start_paused = true)]
async fn g51_the_policy_becomes_one_finalizer_behind_foreign_ones() {
    let client = Client::new();
    held(&client, "a.b/c").await;
    let answer = client
        .delete(ONE, json!({"propagationPolicy": "Foreground"}))
        .await
        .ok();
    assert_eq!(finalizers(&answer), ["a.b/c", "foregroundDeletion"]);
    let answer = client
        .delete(ONE, json!({"propagationPolicy": "Orphan"}))
        .await
        .ok();
    assert_eq!(finalizers(&answer), ["a.b/c", "orphan"]);
    let answer = client
        .delete(ONE, json!({"propagationPolicy": "Background"}))
        .await
        .ok();
    assert_eq!(finalizers(&answer), ["a.b/c"]);
    let answer = client
        .delete(ONE, json!({"orphanDependents": true}))
        .await
        .ok();
    assert_eq!(finalizers(&answer), ["a.b/c", "orphan"]);
}

#[tokio::test(start_paused = true)]
async fn g51_an_explicit_background_lets_an_object_vanish() {
    let client = Client::new();
    held(&client, "foregroundDeletion").await;
    // The policy that the object carries is the default.
    let kept = client.delete(ONE, json!({})).await.ok();
    assert_eq!(finalizers(&kept), ["foregroundDeletion"]);
    let gone = client
        .delete(ONE, json!({"propagationPolicy": "Background"}))
        .await
        .ok();
    assert_eq!(gone["status"], "Success");
    client.get(ONE).await.refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn g51_option_errors_are_invalid() {
    let client = Client::new();
    client.config_map("a").await;
    let both = json!({"propagationPolicy": "Orphan", "orphanDependents": true});
    let refused = client.delete(ONE, both).await.refused(422, "Invalid");
    assert_eq!(
        refused["message"],
        "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Invalid value: \"Orphan\": \
         orphanDependents and deletionPropagation cannot be both set"
    );
    assert_eq!(refused["details"]["group"], "meta.k8s.io");
    for bad in ["Bogus", ""] {
        let refused = client
            .delete(ONE, json!({"propagationPolicy": bad}))
            .await
            .refused(422, "Invalid");
        let supported = "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"";
        assert!(refused["message"].as_str().unwrap().ends_with(supported));
    }
    client.get(ONE).await.ok();
    // In the query they count as well.
    let uri = format!("{ONE}?propagationPolicy=Orphan");
    let answer = client
        .call("DELETE", &uri, "application/json", String::new())
        .await
        .ok();
    assert_eq!(finalizers(&answer), ["orphan"]);
}

#[tokio::test(start_paused = true)]
async fn g52_jobs_and_replication_controllers_orphan_by_default() {
    let client = Client::new();
    let template =
        json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let job = json!({"metadata": {"name": "j"}, "spec": {"template": template}});
    client.post(jobs, job).await.ok();
    let answer = client.delete(&format!("{jobs}/j"), json!({})).await;
    let warning = answer.headers["warning"].to_str().unwrap();
    assert!(
        warning.starts_with("299 - \"child pods are preserved by default when jobs are deleted"),
        "{warning}"
    );
    assert_eq!(finalizers(&answer.ok()), ["orphan"]);

    let controllers = "/api/v1/namespaces/default/replicationcontrollers";
    let mut template = template;
    template["metadata"] = json!({"labels": {"a": "b"}});
    template["spec"]["restartPolicy"] = "Always".into();
    let controller =
        json!({"metadata": {"name": "r"}, "spec": {"selector": {"a": "b"}, "template": template}});
    client.post(controllers, controller).await.ok();
    let answer = client
        .delete(&format!("{controllers}/r"), json!({}))
        .await
        .ok();
    assert_eq!(finalizers(&answer), ["orphan"]);
}

#[tokio::test(start_paused = true)]
async fn g52_events_are_never_finalized() {
    let client = Client::new();
    let events = "/api/v1/namespaces/default/events";
    let event = json!({
        "metadata": {"name": "e"}, "reason": "R", "type": "Normal",
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
    });
    client.post(events, event).await.ok();
    let gone = client
        .delete(
            &format!("{events}/e"),
            json!({"propagationPolicy": "Foreground"}),
        )
        .await
        .ok();
    assert_eq!(gone["status"], "Success");
}

#[tokio::test(start_paused = true)]
async fn g53_what_remains_is_marked_and_what_does_not_is_a_status() {
    let client = Client::new();
    let created = client.config_map("a").await;
    let gone = client.delete(ONE, json!({})).await.ok();
    let uid = &created["metadata"]["uid"];
    assert_eq!(
        gone["details"],
        json!({"name": "a", "kind": "configmaps", "uid": uid})
    );

    held(&client, "a.b/c").await;
    let answer = client.delete(ONE, json!({"orphanDependents": false})).await;
    assert_eq!(answer.code, 202);
    let marked = answer.ok();
    assert!(marked["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 0);
    // The update that lets it go answers with what it made, and watchers see the last state.
    let start = client.0.revision();
    let last = client
        .merge(ONE, json!({"metadata": {"finalizers": null}}))
        .await
        .ok();
    assert_eq!(finalizers(&last), [""; 0]);
    let mut watch = client
        .watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={start}"))
        .await;
    let deleted = watch.next().await.unwrap();
    assert_eq!(
        (deleted["type"].as_str(), finalizers(&deleted["object"])),
        (Some("DELETED"), vec!["a.b/c"])
    );
}

#[tokio::test(start_paused = true)]
async fn g53_the_generation_counts_the_mark() {
    let client = Client::new();
    let sets = "/apis/apps/v1/namespaces/default/replicasets";
    let set = json!({
        "metadata": {"name": "s"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    });
    client.post(sets, set).await.ok();
    let answer = client
        .delete(
            &format!("{sets}/s"),
            json!({"propagationPolicy": "Foreground"}),
        )
        .await
        .ok();
    assert_eq!(answer["metadata"]["generation"], 2);
    let again = client
        .delete(&format!("{sets}/s"), json!({"propagationPolicy": "Orphan"}))
        .await
        .ok();
    assert_eq!(again["metadata"]["generation"], 2);
    assert_eq!(
        again["metadata"]["deletionTimestamp"],
        answer["metadata"]["deletionTimestamp"]
    );
}

async fn bound_pod(client: &Client) {
    client.post(PODS, pod("p")).await.ok();
    let target = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}});
    client.post(&format!("{POD}/binding"), target).await.ok();
}

#[tokio::test(start_paused = true)]
async fn g53_pods_go_gracefully_and_may_only_be_hurried() {
    let client = Client::new();
    bound_pod(&client).await;
    let grace = |object: &Value| object["metadata"]["deletionGracePeriodSeconds"].as_i64();
    let first = client.delete(POD, json!({})).await.ok();
    assert_eq!(grace(&first), Some(30));
    let longer = client
        .delete(POD, json!({"gracePeriodSeconds": 60}))
        .await
        .ok();
    assert_eq!(longer, first, "a longer grace changes nothing");
    let shorter = client
        .delete(POD, json!({"gracePeriodSeconds": 10}))
        .await
        .ok();
    assert_eq!(grace(&shorter), Some(10));
    let time = |object: &Value| {
        let text = object["metadata"]["deletionTimestamp"]
            .as_str()
            .unwrap()
            .to_owned();
        text.parse::<evenkeel_meta::Timestamp>()
            .unwrap()
            .as_second()
    };
    assert_eq!(time(&first) - time(&shorter), 20);
    let negative = client
        .delete(POD, json!({"gracePeriodSeconds": -1}))
        .await
        .ok();
    assert_eq!(grace(&negative), Some(1));
    let last = client
        .delete(POD, json!({"gracePeriodSeconds": 0}))
        .await
        .ok();
    assert_eq!(last["kind"], "Pod", "a pod answers with itself");
    client.get(POD).await.refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn g53_unassigned_and_finished_pods_have_no_grace() {
    let client = Client::new();
    client.post(PODS, pod("p")).await.ok();
    let start = client.0.revision();
    let gone = client.delete(POD, json!({})).await.ok();
    assert_eq!(gone["metadata"]["deletionGracePeriodSeconds"], 0);
    client.get(POD).await.refused(404, "NotFound");
    let mut watch = client
        .watch(&format!("{PODS}?watch=1&resourceVersion={start}"))
        .await;
    assert_eq!(watch.line().await, format!("MODIFIED p@{}", start + 1));
    assert_eq!(watch.line().await, format!("DELETED p@{}", start + 2));

    bound_pod(&client).await;
    client
        .merge(
            &format!("{POD}/status"),
            json!({"status": {"phase": "Failed"}}),
        )
        .await
        .ok();
    client.delete(POD, json!({})).await.ok();
    client.get(POD).await.refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn g53_a_pod_in_its_grace_outlives_its_last_finalizer() {
    let client = Client::new();
    bound_pod(&client).await;
    client
        .merge(POD, json!({"metadata": {"finalizers": ["a.b/c"]}}))
        .await
        .ok();
    client.delete(POD, json!({})).await.ok();
    client
        .merge(POD, json!({"metadata": {"finalizers": null}}))
        .await
        .ok();
    client.get(POD).await.ok();
}

#[tokio::test(start_paused = true)]
async fn g53_a_dry_run_deletes_nothing() {
    let client = Client::new();
    held(&client, "a.b/c").await;
    let revision = client.0.revision();
    let would = client
        .delete(&format!("{ONE}?dryRun=All"), json!({}))
        .await
        .ok();
    assert!(would["metadata"]["deletionTimestamp"].is_string());
    let would = client.delete(ONE, json!({"dryRun": ["All"]})).await.ok();
    assert!(would["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(client.0.revision(), revision);
}

#[tokio::test(start_paused = true)]
async fn g54_a_second_delete_rewrites_the_finalizers_or_writes_nothing() {
    let client = Client::new();
    client.config_map("a").await;
    let first = client
        .delete(ONE, json!({"propagationPolicy": "Foreground"}))
        .await
        .ok();
    let same = client.delete(ONE, json!({})).await.ok();
    assert_eq!(same, first, "the same resource version too");
    let swapped = client
        .delete(ONE, json!({"propagationPolicy": "Orphan"}))
        .await
        .ok();
    assert_eq!(finalizers(&swapped), ["orphan"]);
    client
        .delete(ONE, json!({"propagationPolicy": "Background"}))
        .await
        .ok();
    client.get(ONE).await.refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn g54_a_pod_in_its_grace_ignores_the_policy_unless_hurried() {
    let client = Client::new();
    bound_pod(&client).await;
    client.delete(POD, json!({})).await.ok();
    let same = client
        .delete(POD, json!({"propagationPolicy": "Foreground"}))
        .await
        .ok();
    assert_eq!(finalizers(&same), [""; 0]);
    let hurried = json!({"propagationPolicy": "Foreground", "gracePeriodSeconds": 5});
    assert_eq!(
        finalizers(&client.delete(POD, hurried).await.ok()),
        ["foregroundDeletion"]
    );
}

#[tokio::test(start_paused = true)]
async fn g54_a_deleted_object_gains_no_finalizer_and_keeps_its_mark() {
    let client = Client::new();
    held(&client, "a.b/c").await;
    let marked = client.delete(ONE, json!({})).await.ok();
    let more = json!({"metadata": {"finalizers": ["a.b/c", "new/fin"]}});
    let refused = client.merge(ONE, more).await.refused(422, "Invalid");
    assert!(
        refused["message"].as_str().unwrap().ends_with(
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, \
             found new finalizers []string{\"new/fin\"}"
        ),
        "{refused}"
    );
    let same = client
        .merge(ONE, json!({"metadata": {"deletionTimestamp": null}}))
        .await
        .ok();
    assert_eq!(same, marked);
    let grace = json!({"metadata": {"deletionGracePeriodSeconds": 5}});
    let refused = client.merge(ONE, grace).await.refused(422, "Invalid");
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .ends_with("field is immutable")
    );
    client.merge(ONE, json!({"data": {"b": "2"}})).await.ok();
}

#[tokio::test(start_paused = true)]
async fn g57_preconditions_name_what_differs() {
    let client = Client::new();
    let object = client.config_map("a").await;
    let uid = object["metadata"]["uid"].as_str().unwrap();
    let wrong = json!({"preconditions": {"uid": "X", "resourceVersion": "1"}});
    let refused = client.delete(ONE, wrong).await.refused(409, "Conflict");
    assert_eq!(
        refused["details"],
        json!({"name": "a", "kind": "ConfigMap"})
    );
    assert_eq!(
        refused["message"],
        format!(
            "Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition (X) does not match the UID \
             in record ({uid}). The object might have been deleted and then recreated"
        )
    );
    let stale = json!({"preconditions": {"uid": uid, "resourceVersion": "1"}});
    let refused = client.delete(ONE, stale).await.refused(409, "Conflict");
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .ends_with("The object might have been modified")
    );
    let absent = json!({"preconditions": {"uid": "X"}});
    client
        .delete(&format!("{CONFIG_MAPS}/none"), absent)
        .await
        .refused(404, "NotFound");
    let right = json!({"preconditions": {"uid": uid, "resourceVersion": object["metadata"]["resourceVersion"]}});
    client.delete(ONE, right).await.ok();
}

#[tokio::test(start_paused = true)]
async fn g57_a_collection_answers_as_it_was_read() {
    let client = Client::new();
    held(&client, "a.b/c").await;
    for (name, label) in [("b", "x"), ("c", "y")] {
        let mut object = config_map(name);
        object["metadata"]["labels"] = json!({"l": label});
        client.post(CONFIG_MAPS, object).await.ok();
    }
    let some = client
        .delete(&format!("{CONFIG_MAPS}?labelSelector=l%3Dx"), json!({}))
        .await
        .ok();
    assert_eq!(some["items"].as_array().unwrap().len(), 1);
    let rest = client
        .delete(CONFIG_MAPS, json!({"propagationPolicy": "Background"}))
        .await
        .ok();
    let items = rest["items"].as_array().unwrap();
    assert_eq!(items.len(), 2);
    assert!(
        items
            .iter()
            .all(|item| item["metadata"]["deletionTimestamp"].is_null())
    );
    let left = client.get(CONFIG_MAPS).await.ok();
    assert_eq!(left["items"][0]["metadata"]["name"], "a");
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
    let wrong = client
        .delete(CONFIG_MAPS, json!({"preconditions": {"uid": "X"}}))
        .await;
    wrong.refused(409, "Conflict");
}
