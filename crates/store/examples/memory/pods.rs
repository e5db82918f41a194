//! Pods as a server sends them: those of Deployments with three to thirty replicas, each made from its
//! number, some 4.4 kB of JSON a pod, of which 1.8 kB are metadata.

/// The pods, Deployment by Deployment.
#[derive(Default)]
pub(crate) struct Pods {
    metadata_only: bool,
    /// The resource version before the first pod's.
    version: u64,
    made: u64,
    deployment: u64,
    left: u64,
}

impl Pods {
    pub(crate) fn new(metadata_only: bool, version: u64) -> Self {
        Self {
            metadata_only,
            version,
            ..Self::default()
        }
    }
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
        let metadata = metadata(self.made, self.deployment, self.version + self.made);
        Some(if self.metadata_only {
            let types = r#""kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1""#;
            format!("{{{types},{metadata}}}")
        } else {
            let rest = spec_and_status(self.made, self.deployment);
            format!(r#"{{"kind":"Pod","apiVersion":"v1",{metadata}{rest}"#)
        })
    }
}

fn metadata(n: u64, deployment: u64, version: u64) -> String {
    let (app, namespace) = (deployment % 5000, deployment % 200);
    let hash = &format!("{:x}", mix(deployment ^ 0xabcd))[..9];
    let suffix = &format!("{:x}", mix(n ^ 0x77))[..9];
    let (uid, owner) = (uuid(n | 1 << 40), uuid(deployment | 1 << 50));
    let checksum = format!("{:016x}{:016x}", mix(deployment), mix(deployment + 1));
    let managed = managed_fields(&owner);
    format!(
        r#""metadata":{{"name":"service-{app}-{hash}-{suffix}","generateName":"service-{app}-{hash}-","namespace":"team-{namespace}","uid":"{uid}","resourceVersion":"{version}","creationTimestamp":"2026-05-04T03:02:01Z","labels":{{"app.kubernetes.io/component":"backend","app.kubernetes.io/instance":"service-{app}","app.kubernetes.io/name":"service-{app}","app.kubernetes.io/version":"1.{}.3","pod-template-hash":"{hash}"}},"annotations":{{"checksum/config":"{checksum}{checksum}","kubectl.kubernetes.io/restartedAt":"2026-05-04T03:02:00Z","prometheus.io/port":"8080","prometheus.io/scrape":"true"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"service-{app}-{hash}","uid":"{owner}","controller":true,"blockOwnerDeletion":true}}],"managedFields":{managed}}}"#,
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
