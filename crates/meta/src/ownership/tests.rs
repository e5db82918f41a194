use serde_json::{Value, json};

use super::*;
use crate::{ApiResource, Object};

struct ConfigMap(Meta);

impl Object for ConfigMap {
    type Meta = Meta;

    fn metadata(&self) -> &Meta {
        &self.0
    }
}

impl Resource for ConfigMap {
    fn api_resource() -> ApiResource {
        ApiResource::new_static("", "v1", "ConfigMap", "configmaps", Scope::Namespaced)
    }
}

struct Node(Meta);

impl Object for Node {
    type Meta = Meta;

    fn metadata(&self) -> &Meta {
        &self.0
    }
}

impl Resource for Node {
    fn api_resource() -> ApiResource {
        ApiResource::new_static("", "v1", "Node", "nodes", Scope::Cluster)
    }
}

fn meta(value: Value) -> Meta {
    serde_json::from_value(value).unwrap()
}

fn owner() -> ConfigMap {
    ConfigMap(meta(
        json!({"name": "web", "namespace": "shop", "uid": "u1"}),
    ))
}

fn part(owners: &Value) -> Meta {
    meta(json!({"name": "part", "namespace": "shop", "ownerReferences": owners}))
}

fn controlled(uid: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "web", "uid": uid,
        "controller": true, "blockOwnerDeletion": true})
}

fn plain(api_version: &str, uid: &str) -> Value {
    json!({"apiVersion": api_version, "kind": "ConfigMap", "name": "web", "uid": uid})
}

fn owners(meta: &Meta) -> Value {
    json!(meta.owner_references)
}

#[test]
fn a_controller_controls_and_blocks_and_an_owner_does_neither() {
    let mut meta = part(&json!([]));
    meta.add_owner(&owner()).unwrap();
    assert_eq!(owners(&meta), json!([plain("v1", "u1")]));
    meta.set_controller(&owner()).unwrap();
    assert_eq!(owners(&meta), json!([controlled("u1")]));
}

#[test]
fn controller_runtime_t74_other_owners_stay_and_a_reference_is_there_once() {
    let (one, two) = (plain("v1", "u8"), plain("v1", "u9"));
    // As an older version of the owner's kind was written.
    let mut meta = part(&json!([one, plain("v1beta1", "u1"), two]));
    meta.set_controller(&owner()).unwrap();
    let all = json!([one, controlled("u1"), two]);
    assert_eq!(owners(&meta), all);
    // To be an owner as well takes nothing from a controller.
    meta.add_owner(&owner()).unwrap();
    assert_eq!(owners(&meta), all);
    meta.set_controller(&owner()).unwrap();
    assert_eq!(owners(&meta), all);

    assert!(meta.remove_owner("u1"));
    assert!(!meta.remove_owner("u1"));
    assert_eq!(owners(&meta), json!([one, two]));
    meta.set_controller(&owner()).unwrap();
    assert_eq!(owners(&meta), json!([one, two, controlled("u1")]));
}

#[test]
fn gc_g24_ownership_across_namespaces_is_refused() {
    let mut elsewhere = meta(json!({"name": "part", "namespace": "other"}));
    let error = elsewhere.set_controller(&owner()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "ConfigMap shop/web cannot own other/part, which is in namespace other"
    );
    let mut node = meta(json!({"name": "n1"}));
    let error = node.add_owner(&owner()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "ConfigMap shop/web cannot own n1, which is in no namespace"
    );
    assert_eq!((owners(&elsewhere), owners(&node)), (json!([]), json!([])));
    // What is in no namespace may own anything.
    let owner = Node(meta(json!({"name": "n2", "uid": "u2"})));
    assert_eq!(elsewhere.add_owner(&owner), Ok(()));
    assert_eq!(node.add_owner(&owner), Ok(()));
}

#[test]
fn an_owner_that_no_server_knows_is_refused() {
    let draft = ConfigMap(meta(json!({"name": "web", "namespace": "shop"})));
    let error = part(&json!([])).add_owner(&draft).unwrap_err();
    assert_eq!(
        error.to_string(),
        "ConfigMap shop/web cannot own anything: it has no UID"
    );
}

#[test]
fn another_controller_is_not_displaced_not_even_a_namesake() {
    let mut meta = part(&json!([controlled("u0")]));
    let error = meta.set_controller(&owner()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "shop/part is controlled by ConfigMap web already"
    );
    assert_eq!(owners(&meta), json!([controlled("u0")]));
    meta.add_owner(&owner()).unwrap();
    assert_eq!(owners(&meta), json!([controlled("u0"), plain("v1", "u1")]));
}

#[test]
fn references_that_stand_there_twice_become_one() {
    let other = plain("v1", "u0");
    for (first, second) in [
        (plain("v1", "u1"), controlled("u1")),
        (controlled("u1"), plain("v1", "u1")),
        (controlled("u1"), controlled("u1")),
    ] {
        let owners = json!([first, other, second, other]);
        let expected = json!([controlled("u1"), other, other]);
        let mut set = part(&owners);
        set.set_controller(&owner()).unwrap();
        assert_eq!(json!(set.owner_references), expected);
        let mut added = part(&owners);
        added.add_owner(&owner()).unwrap();
        assert_eq!(json!(added.owner_references), expected);
    }
}
