//! What is served: versions, groups, resources, health and OpenAPI.

mod aggregated;
mod openapi;
mod plain;

use std::sync::Arc;

use evenkeel_meta::Status;
use http::Method;
use serde_json::json;

use crate::http::{Discovery, Reply, Request, Route, discovery_version};
use crate::resources::Registry;
use crate::server::State;

const GIT_VERSION: &str = "v1.37.2+evenkeel";

/// Answers a request that is about no resource.
pub(crate) fn serve(
    state: &Arc<State>,
    route: &Route<'_>,
    request: &Request,
) -> Result<Reply, Status> {
    if !matches!(request.method, Method::GET | Method::HEAD) {
        return Err(Status::method_not_allowed());
    }
    let registry = Arc::clone(&state.registry.read());
    match route {
        Route::CoreVersions | Route::Groups => {
            roots(&registry, matches!(route, Route::CoreVersions), request)
        }
        Route::Group(group) => Ok(plain::group(&registry, group)),
        Route::GroupVersion(group, version) => plain::resources(&registry, group, version),
        Route::Resource(_) | Route::Other => other(&registry, request),
    }
}

/// `/api` and `/apis`: aggregated for clients that know it.
fn roots(registry: &Registry, core: bool, request: &Request) -> Result<Reply, Status> {
    match discovery_version(&request.headers)? {
        Discovery::Aggregated(version) => Ok(aggregated::groups(registry, core, version)),
        Discovery::Plain if core => Ok(plain::core_versions()),
        Discovery::Plain => Ok(plain::groups(registry)),
    }
}

fn other(registry: &Registry, request: &Request) -> Result<Reply, Status> {
    let path = request.path.trim_end_matches('/');
    match path {
        "" => Ok(index(registry)),
        "/healthz" | "/livez" | "/readyz" => Ok(Reply::text("ok")),
        "/version" => Ok(version()),
        "/openapi/v2" => openapi::v2(request),
        "/openapi/v3" => Ok(openapi::index(registry)),
        _ => match path.strip_prefix("/openapi/v3/") {
            Some(group_version) => openapi::group_version(registry, group_version),
            None => Ok(not_found()),
        },
    }
}

/// Paths that are no resource's are answered by no API.
pub(crate) fn not_found() -> Reply {
    Reply {
        code: 404,
        ..Reply::text("404 page not found\n")
    }
}

fn version() -> Reply {
    Reply::value(
        200,
        &json!({
            "major": "1",
            "minor": "37",
            "gitVersion": GIT_VERSION,
            "gitCommit": "",
            "gitTreeState": "clean",
            "buildDate": "1970-01-01T00:00:00Z",
            "goVersion": "",
            "compiler": "rustc",
            "platform": format!("{}/{}", std::env::consts::OS, go_arch()),
        }),
    )
}

/// Clients print this beside Go's names.
fn go_arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn index(registry: &Registry) -> Reply {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for group in registry
        .groups()
        .iter()
        .filter(|group| !group.name.is_empty())
    {
        paths.push(format!("/apis/{}", group.name));
        paths.extend(
            group
                .versions
                .iter()
                .map(|version| format!("/apis/{}/{}", group.name, version.name)),
        );
    }
    paths.extend(
        [
            "/healthz",
            "/livez",
            "/openapi/v2",
            "/openapi/v3",
            "/readyz",
            "/version",
        ]
        .map(str::to_owned),
    );
    Reply::value(200, &json!({ "paths": paths }))
}
