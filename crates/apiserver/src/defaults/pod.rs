use serde_json::{Map, Value};

use super::{child, default, existing, items};

/// A pod. What is filled in here and not in [`spec`] is left open in pod templates.
pub(super) fn pod(object: &mut Map<String, Value>) {
    let spec = child(object, "spec");
    self::spec(spec);
    if spec
        .get("terminationGracePeriodSeconds")
        .and_then(Value::as_i64)
        .is_some_and(|seconds| seconds < 0)
    {
        spec.insert("terminationGracePeriodSeconds".to_owned(), Value::from(1));
    }
    default(spec, "enableServiceLinks", true);
    let host_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for list in ["containers", "initContainers"] {
        for container in items(spec, list) {
            requests_from_limits(container);
            for port in items(container, "ports").filter(|_| host_network) {
                if let Some(number) = port.get("containerPort").cloned() {
                    default(port, "hostPort", number);
                }
            }
        }
    }
    if let Some(status) = existing(object, "status") {
        self::status(status);
    }
}

/// A pod template in a field.
pub(super) fn template(object: &mut Map<String, Value>, key: &str) {
    if let Some(template) = existing(object, key) {
        spec(child(template, "spec"));
    }
}

fn spec(spec: &mut Map<String, Value>) {
    if let Some(old_name) = spec.get("serviceAccount").cloned() {
        default(spec, "serviceAccountName", old_name);
    }
    if let Some(name) = spec.get("serviceAccountName").cloned() {
        spec.insert("serviceAccount".to_owned(), name);
    }
    default(spec, "dnsPolicy", "ClusterFirst");
    default(spec, "restartPolicy", "Always");
    default(spec, "securityContext", Map::new());
    default(spec, "terminationGracePeriodSeconds", 30);
    default(spec, "schedulerName", "default-scheduler");
    for volume in items(spec, "volumes") {
        self::volume(volume);
    }
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in items(spec, list) {
            self::container(container);
        }
    }
}

fn container(container: &mut Map<String, Value>) {
    let image = container
        .get("image")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let policy = pull_policy(image);
    default(container, "imagePullPolicy", policy);
    default(container, "terminationMessagePath", "/dev/termination-log");
    default(container, "terminationMessagePolicy", "File");
    for variable in items(container, "env") {
        if let Some(source) = existing(variable, "valueFrom") {
            field_reference(source);
        }
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = existing(container, probe) {
            self::probe(probe);
        }
    }
    if let Some(lifecycle) = existing(container, "lifecycle") {
        for hook in ["postStart", "preStop"] {
            if let Some(hook) = existing(lifecycle, hook) {
                http_get(hook);
            }
        }
    }
}

/// An image without tag and digest is the `latest`; no image is none.
fn pull_policy(image: &str) -> &'static str {
    if image.is_empty() {
        return "IfNotPresent";
    }
    let (name, digest) = image
        .split_once('@')
        .map_or((image, None), |(name, digest)| (name, Some(digest)));
    let last = name.rsplit('/').next().unwrap_or(name);
    match last.split_once(':') {
        Some((_, "latest")) => "Always",
        None if digest.is_none() => "Always",
        _ => "IfNotPresent",
    }
}

fn probe(probe: &mut Map<String, Value>) {
    http_get(probe);
    if let Some(grpc) = existing(probe, "grpc") {
        grpc.entry("service").or_insert_with(|| "".into());
    }
    default(probe, "timeoutSeconds", 1);
    default(probe, "periodSeconds", 10);
    default(probe, "successThreshold", 1);
    default(probe, "failureThreshold", 3);
}

fn http_get(handler: &mut Map<String, Value>) {
    if let Some(action) = existing(handler, "httpGet") {
        default(action, "path", "/");
        default(action, "scheme", "HTTP");
    }
}

fn field_reference(source: &mut Map<String, Value>) {
    if let Some(reference) = existing(source, "fieldRef") {
        default(reference, "apiVersion", "v1");
    }
}

fn volume(volume: &mut Map<String, Value>) {
    if volume.keys().all(|key| key == "name") {
        volume.insert("emptyDir".to_owned(), Value::Object(Map::new()));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = existing(volume, source) {
            default(source, "defaultMode", 0o644);
        }
    }
    if let Some(path) = existing(volume, "hostPath") {
        path.entry("type").or_insert_with(|| "".into());
    }
    if let Some(source) = existing(volume, "downwardAPI") {
        for file in items(source, "items") {
            field_reference(file);
        }
    }
    if let Some(projected) = existing(volume, "projected") {
        for source in items(projected, "sources") {
            if let Some(token) = existing(source, "serviceAccountToken") {
                default(token, "expirationSeconds", 3600);
            }
            if let Some(source) = existing(source, "downwardAPI") {
                for file in items(source, "items") {
                    field_reference(file);
                }
            }
        }
    }
    if let Some(image) = existing(volume, "image") {
        let reference = image
            .get("reference")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let policy = pull_policy(reference);
        default(image, "pullPolicy", policy);
    }
    if let Some(claim) =
        existing(volume, "ephemeral").and_then(|source| existing(source, "volumeClaimTemplate"))
    {
        default(child(claim, "spec"), "volumeMode", "Filesystem");
    }
}

fn requests_from_limits(container: &mut Map<String, Value>) {
    let Some(resources) = existing(container, "resources") else {
        return;
    };
    let Some(Value::Object(limits)) = resources.get("limits").cloned() else {
        return;
    };
    let requests = child(resources, "requests");
    for (name, limit) in limits {
        requests.entry(name).or_insert(limit);
    }
}

/// The single address and the list of all name the same first address.
fn status(status: &mut Map<String, Value>) {
    let single = status
        .get("podIP")
        .filter(|ip| ip.as_str() != Some(""))
        .cloned();
    let first = status
        .get("podIPs")
        .and_then(|all| all.get(0))
        .and_then(|ip| ip.get("ip"))
        .cloned();
    match (single, first) {
        (Some(single), first) if first.as_ref() != Some(&single) => {
            status.insert("podIPs".to_owned(), serde_json::json!([{ "ip": single }]));
        }
        (None, Some(first)) => {
            status.insert("podIP".to_owned(), first);
        }
        _ => {}
    }
}
