//! What a cached object costs: lists pods from a stream of bytes that is made as it is read, and
//! prints the growth of the resident memory.
//!
//! ```console
//! cargo run --release -p evenkeel-store --example memory -- metadata 100000
//! ```
//!
//! The kinds: `metadata` (what `Informers::metadata` keeps), `meta` (a projection with the
//! unpacked `Meta`), `packed` (one with `PackedMeta`, whose parts are not shared), `compact`
//! (`Informers::compact`). The objects are pods of Deployments with three to thirty replicas, 2 kB
//! of metadata each, `managedFields` included; for `compact`, whole pods.

use std::io::Write as _;
use std::time::Duration;

use bytes::Bytes;
use evenkeel_client::{
    ByteStream, Client, ClientOptions, Lane, Transport, TransportError, TransportErrorKind,
};
use evenkeel_meta::{ApiResource, DynamicObject, Meta, Object, PackedMeta, Scope};
use evenkeel_store::{Informer, InformerOptions, Informers, InformersBuilder};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use tokio::time::Instant;

const PODS: ApiResource = ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced);

#[derive(serde::Deserialize)]
struct Unpacked {
    metadata: Meta,
}

impl Object for Unpacked {
    type Meta = Meta;

    fn metadata(&self) -> &Meta {
        &self.metadata
    }
}

#[derive(serde::Deserialize)]
struct Packed {
    metadata: PackedMeta,
}

impl Object for Packed {
    type Meta = PackedMeta;

    fn metadata(&self) -> &PackedMeta {
        &self.metadata
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().unwrap_or_else(|| "metadata".to_owned());
    let count: usize = arguments.next().map_or(Ok(100_000), |text| text.parse())?;
    let whole = kind == "compact";
    let client = Client::new(Replayer { count, whole }, ClientOptions::default());
    let informers = builder(client).build();
    let options = InformerOptions::default();
    match kind.as_str() {
        "metadata" => measure(&informers, &informers.metadata(PODS, options), &kind).await,
        "meta" => {
            measure(
                &informers,
                &informers.projected::<Unpacked>(PODS, options),
                &kind,
            )
            .await
        }
        "packed" => {
            measure(
                &informers,
                &informers.projected::<Packed>(PODS, options),
                &kind,
            )
            .await
        }
        "compact" => {
            let pods = informers.compact::<DynamicObject>(PODS, options);
            measure(&informers, &pods, &kind).await
        }
        other => Err(format!("no such kind: {other}").into()),
    }
}

fn builder(client: Client) -> InformersBuilder {
    Informers::builder(client).seed(1)
}

async fn measure<K>(
    informers: &Informers,
    informer: &Informer<K>,
    kind: &str,
) -> Result<(), Box<dyn std::error::Error>>
where
    K: Object + Send + Sync + 'static,
{
    let before = resident()?;
    let started = Instant::now();
    informers.start();
    informer.synced().await?;
    let took = started.elapsed();
    // What is left of the page that was last is dropped in the next turn.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let grown = resident()?.saturating_sub(before);
    let objects = informer.store().len().max(1);
    writeln!(
        std::io::stdout(),
        "{kind}: {objects} objects, {} B resident each, synced in {:.2} s, the making of the JSON included",
        grown / objects,
        took.as_secs_f64(),
    )?;
    informers.shutdown().await;
    Ok(())
}

/// Resident memory in bytes.
fn resident() -> Result<usize, Box<dyn std::error::Error>> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: usize = statm.split(' ').nth(1).ok_or("statm")?.parse()?;
    Ok(pages * 4096)
}

/// Answers lists with `count` pods, and leaves watches open.
struct Replayer {
    count: usize,
    /// With spec and status.
    whole: bool,
}

impl Transport for Replayer {
    fn send(
        &self,
        _: Lane,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<ByteStream>, TransportError>> {
        let query = request.uri().query().unwrap_or_default();
        let (count, whole) = (self.count, self.whole);
        let (code, body): (u16, ByteStream) = if query.contains("sendInitialEvents") {
            let text = r#"{"kind":"Status","status":"Failure","reason":"Invalid","code":422}"#;
            (422, stream::iter([Ok(Bytes::from(text))]).boxed())
        } else if query.contains("watch=true") {
            (200, stream::pending().boxed())
        } else {
            let head = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"987654321"},"items":["#;
            let pods = Pods {
                whole,
                ..Pods::default()
            };
            let items = pods.take(count).enumerate().map(|(n, pod)| {
                let comma = if n == 0 { "" } else { "," };
                Bytes::from(format!("{comma}{pod}"))
            });
            let chunks = std::iter::once(Bytes::from(head)).chain(items);
            let chunks = chunks.chain(std::iter::once(Bytes::from("]}")));
            (200, stream::iter(chunks.map(Ok)).boxed())
        };
        let answer = http::Response::builder()
            .status(code)
            .header("content-type", "application/json")
            .body(body)
            .map_err(|error| {
                TransportError::with_detail(TransportErrorKind::Other, &error.to_string())
            });
        async { answer }.boxed()
    }
}

/// Pods as a server sends their metadata, Deployment by Deployment.
#[derive(Default)]
struct Pods {
    whole: bool,
    made: u64,
    deployment: u64,
    left: u64,
}

impl Iterator for Pods {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        if self.left == 0 {
            self.deployment += 1;
            self.left = 3 + mix(self.deployment) % 28;
        }
        self.left -= 1;
        self.made += 1;
        let mut pod = pod(self.made, self.deployment);
        if self.whole {
            pod.pop();
            pod.push_str(&spec_and_status(self.made, self.deployment));
        }
        Some(pod)
    }
}

fn pod(n: u64, deployment: u64) -> String {
    let (app, namespace) = (deployment % 5000, deployment % 200);
    let hash = &format!("{:x}", mix(deployment ^ 0xabcd))[..9];
    let suffix = &format!("{:x}", mix(n ^ 0x77))[..6];
    let (uid, owner) = (uuid(n | 1 << 40), uuid(deployment | 1 << 50));
    let checksum = format!("{:016x}{:016x}", mix(deployment), mix(deployment + 1));
    let version = 900_000_000 + n;
    let managed = managed_fields(&owner);
    format!(
        r#"{{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{{"name":"service-{app}-{hash}-{suffix}","generateName":"service-{app}-{hash}-","namespace":"team-{namespace}","uid":"{uid}","resourceVersion":"{version}","creationTimestamp":"2026-05-04T03:02:01Z","labels":{{"app.kubernetes.io/component":"backend","app.kubernetes.io/instance":"service-{app}","app.kubernetes.io/name":"service-{app}","app.kubernetes.io/version":"1.{}.3","pod-template-hash":"{hash}"}},"annotations":{{"checksum/config":"{checksum}{checksum}","kubectl.kubernetes.io/restartedAt":"2026-05-04T03:02:00Z","prometheus.io/port":"8080","prometheus.io/scrape":"true"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"service-{app}-{hash}","uid":"{owner}","controller":true,"blockOwnerDeletion":true}}],"managedFields":{managed}}}}}"#,
        deployment % 40
    )
}

/// The fields after the metadata, and the end of the object.
fn spec_and_status(n: u64, deployment: u64) -> String {
    let app = deployment % 5000;
    let (node, ip) = (
        mix(n) % 1000,
        format!("10.{}.{}.{}", n >> 16 & 255, n >> 8 & 255, n & 255),
    );
    let (image, container) = (uuid(deployment), uuid(n));
    let token = &format!("{:x}", mix(n ^ 0x99))[..5];
    format!(
        r#","spec":{{"volumes":[{{"name":"kube-api-access-{token}","projected":{{"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,"path":"token"}}}},{{"configMap":{{"name":"kube-root-ca.crt","items":[{{"key":"ca.crt","path":"ca.crt"}}]}}}},{{"downwardAPI":{{"items":[{{"path":"namespace","fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.namespace"}}}}]}}}}],"defaultMode":420}}}}],"containers":[{{"name":"app","image":"registry.example.com/team/service-{app}:1.{}.3","ports":[{{"name":"http","containerPort":8080,"protocol":"TCP"}}],"env":[{{"name":"LOG_LEVEL","value":"info"}},{{"name":"POD_IP","valueFrom":{{"fieldRef":{{"apiVersion":"v1","fieldPath":"status.podIP"}}}}}}],"resources":{{"limits":{{"cpu":"500m","memory":"512Mi"}},"requests":{{"cpu":"100m","memory":"128Mi"}}}},"volumeMounts":[{{"name":"kube-api-access-{token}","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}],"livenessProbe":{{"httpGet":{{"path":"/healthz","port":"http","scheme":"HTTP"}},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"service-{app}","nodeName":"node-{node}","securityContext":{{}},"schedulerName":"default-scheduler","tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}},{{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"}},"status":{{"phase":"Running","conditions":[{{"type":"Initialized","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-05-04T03:02:01Z"}},{{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-05-04T03:02:09Z"}},{{"type":"PodScheduled","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-05-04T03:02:01Z"}}],"hostIP":"192.168.{}.{}","podIP":"{ip}","podIPs":[{{"ip":"{ip}"}}],"startTime":"2026-05-04T03:02:01Z","containerStatuses":[{{"name":"app","state":{{"running":{{"startedAt":"2026-05-04T03:02:07Z"}}}},"lastState":{{}},"ready":true,"restartCount":0,"image":"registry.example.com/team/service-{app}:1.{}.3","imageID":"registry.example.com/team/service-{app}@sha256:{image}{image}","containerID":"containerd://{container}{container}","started":true}}],"qosClass":"Burstable"}}}}"#,
        deployment % 40,
        node / 250,
        node % 250,
        deployment % 40
    )
}

fn managed_fields(uid: &str) -> String {
    format!(
        r#"[{{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-05-04T03:02:01Z","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":{{"f:annotations":{{".":{{}},"f:checksum/config":{{}},"f:prometheus.io/port":{{}}}},"f:generateName":{{}},"f:labels":{{".":{{}},"f:app.kubernetes.io/name":{{}},"f:pod-template-hash":{{}}}},"f:ownerReferences":{{".":{{}},"k:{{\"uid\":\"{uid}\"}}":{{}}}}}},"f:spec":{{"f:containers":{{"k:{{\"name\":\"app\"}}":{{".":{{}},"f:image":{{}},"f:imagePullPolicy":{{}},"f:name":{{}},"f:resources":{{}}}}}},"f:dnsPolicy":{{}},"f:restartPolicy":{{}}}}}}}},{{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2026-05-04T03:02:09Z","fieldsType":"FieldsV1","fieldsV1":{{"f:status":{{"f:conditions":{{"k:{{\"type\":\"Ready\"}}":{{".":{{}},"f:lastProbeTime":{{}},"f:status":{{}}}}}},"f:containerStatuses":{{}},"f:hostIP":{{}},"f:phase":{{}},"f:podIP":{{}}}}}},"subresource":"status"}}]"#
    )
}

fn uuid(n: u64) -> String {
    let (a, b) = (mix(n), mix(n ^ 0x5555_0000_1111));
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        a >> 32,
        a >> 16 & 0xffff,
        a & 0xfff,
        b >> 52,
        b & 0xffff_ffff_ffff
    )
}

/// Scatters the bits of a number.
fn mix(n: u64) -> u64 {
    let n = (n ^ n >> 30).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (n ^ n >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1 << 63
}
