//! OpenAPI documents, as much as kubectl asks of them: paths, the parameters that their
//! methods take, and kinds.

mod schemas;

use evenkeel_meta::{Reason, Status};
use http::header::ACCEPT;
use serde_json::{Map, Value, json};

use crate::http::{Reply, Request, accepts_json};
use crate::resources::{Registry, Resource, Version};
use crate::verbs::unknown_path;

/// `/openapi/v2`, without a kind: clients fall back on what they have built in. kubectl reads protobuf
/// alone, and refuses lists of one kind (`ConfigMapList`) where it gets none.
pub(super) fn v2(request: &Request) -> Result<Reply, Status> {
    if !accepts_json(&request.headers) {
        let values = request.headers.get_all(ACCEPT);
        let mut values = values.iter().filter_map(|value| value.to_str().ok());
        return match values.any(|value| value.contains(PROTOBUF)) {
            true => Ok(Reply::openapi(in_protobuf())),
            false => Err(Status::failure(
                406,
                Reason::NotAcceptable,
                format!(
                    "only the following media types are accepted: application/json, {PROTOBUF}@v1.0+protobuf"
                ),
            )),
        };
    }
    Ok(Reply::value(
        200,
        &json!({
            "swagger": "2.0",
            "info": {"title": "Kubernetes", "version": super::GIT_VERSION},
            "paths": {},
            "definitions": {},
        }),
    ))
}

/// What stands in an `Accept` header for it, followed by a version that is written in two ways.
const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2";

/// `openapi.v2.Document` of gnostic: `swagger` (1), `info` (2: `title`, `version`), `paths` (8).
fn in_protobuf() -> Vec<u8> {
    let field = |number: u8, value: &[u8]| {
        // Both fit into seven bits.
        let mut field = vec![number << 3 | 2, value.len() as u8];
        field.extend_from_slice(value);
        field
    };
    let info = [
        field(1, b"Kubernetes"),
        field(2, super::GIT_VERSION.as_bytes()),
    ];
    [field(1, b"2.0"), field(2, &info.concat()), field(8, b"")].concat()
}

/// `/openapi/v3`: where the documents of the group versions are.
pub(super) fn index(registry: &Registry) -> Reply {
    let mut paths = Map::new();
    for group in registry.groups() {
        for version in &group.versions {
            let path = base(&group.name, &version.name);
            let url = format!("/openapi/v3/{path}?hash={:016X}", fingerprint(version));
            paths.insert(path, json!({ "serverRelativeURL": url }));
        }
    }
    Reply::value(200, &json!({ "paths": paths }))
}

/// `/openapi/v3/{api/v1,apis/group/version}`
pub(super) fn group_version(registry: &Registry, path: &str) -> Result<Reply, Status> {
    let (group, version) = match path.split('/').collect::<Vec<_>>()[..] {
        ["api", version] => ("", version),
        ["apis", group, version] => (group, version),
        _ => return Err(unknown_path()),
    };
    let found = registry.version(group, version).ok_or_else(unknown_path)?;
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for resource in &found.resources {
        describe(group, resource, &mut paths);
        schemas::describe(resource, &mut schemas);
    }
    Ok(Reply::value(
        200,
        &json!({
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": super::GIT_VERSION},
            "paths": paths,
            "components": {"schemas": schemas},
        }),
    ))
}

fn describe(group: &str, resource: &Resource, paths: &mut Map<String, Value>) {
    let namespace = if resource.namespaced() {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let collection = format!(
        "/{}{namespace}/{}",
        base(group, &resource.api.version),
        resource.api.plural
    );
    let object = format!("{collection}/{{name}}");
    paths.insert(
        collection,
        json!({
            "get": operation(resource, "list", &[]),
            "post": operation(resource, "post", WRITE),
        }),
    );
    let mut patch = operation(resource, "patch", APPLY);
    // Strategic patches are left out: with them clients expect the patch metadata of every
    // field, and have their own for the types that they know.
    patch["requestBody"] = json!({"content": {
        "application/json-patch+json": {"schema": {}},
        "application/merge-patch+json": {"schema": {}},
        "application/apply-patch+yaml": {"schema": {}},
    }});
    paths.insert(
        object,
        json!({
            "get": operation(resource, "get", &[]),
            "put": operation(resource, "put", WRITE),
            "patch": patch,
            "delete": operation(resource, "delete", &["dryRun"]),
        }),
    );
}

const WRITE: &[&str] = &["dryRun", "fieldManager", "fieldValidation"];
const APPLY: &[&str] = &["dryRun", "fieldManager", "fieldValidation", "force"];

fn operation(resource: &Resource, action: &str, parameters: &[&str]) -> Value {
    let api = &resource.api;
    let parameters: Vec<Value> = parameters
        .iter()
        .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}}))
        .collect();
    json!({
        "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {"group": api.group, "version": api.version, "kind": api.kind},
    })
}

fn base(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("api/{version}")
    } else {
        format!("apis/{group}/{version}")
    }
}

/// Changes with the resources, so that clients that cache documents fetch a new one.
fn fingerprint(version: &Version) -> u64 {
    // FNV-1a.
    let names = version
        .resources
        .iter()
        .flat_map(|resource| resource.api.plural.bytes().chain([0]));
    names.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
