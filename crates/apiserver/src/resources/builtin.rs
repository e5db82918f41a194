//! The built-in resources, one row each, in the order of discovery.

use std::borrow::Cow;
use std::sync::Arc;

use evenkeel_meta::{ApiResource, Scope};

use serde_json::Value;

use super::{Resource, Rules, ScalePaths, SelectableField, Subresource};
use crate::schema::{Schema, Schemas};
use crate::storage::Shard;
use crate::view::View;

/// A row of the table.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    scope: Scope,
    short: &'static [Cow<'static, str>],
    categories: &'static [Cow<'static, str>],
    rules: Rules,
    subresources: &'static [Subresource],
    fields: &'static [SelectableField],
    deprecation: Option<&'static str>,
}

const STANDARD: Rules = Rules {
    counts_generation: false,
    unconditional_update: true,
    create_on_update: false,
    deletion_answers_object: false,
    orphans_by_default: false,
    never_collected: false,
    deletable_as_collection: true,
    is_question: false,
};

const fn namespaced(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> Row {
    Row {
        group,
        version,
        kind,
        plural,
        scope: Scope::Namespaced,
        short: &[],
        categories: &[],
        rules: STANDARD,
        subresources: &[],
        fields: &[],
        deprecation: None,
    }
}

const fn cluster(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> Row {
    let mut row = namespaced(group, version, kind, plural);
    row.scope = Scope::Cluster;
    row
}

const fn question(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> Row {
    let mut row = cluster(group, version, kind, plural);
    row.rules.is_question = true;
    row
}

impl Row {
    const fn short(mut self, names: &'static [Cow<'static, str>]) -> Self {
        self.short = names;
        self
    }

    /// Listed by `kubectl get all`.
    const fn all(mut self) -> Self {
        self.categories = &[Cow::Borrowed("all")];
        self
    }

    const fn category(mut self, categories: &'static [Cow<'static, str>]) -> Self {
        self.categories = categories;
        self
    }

    const fn sub(mut self, subresources: &'static [Subresource]) -> Self {
        self.subresources = subresources;
        self
    }

    const fn fields(mut self, fields: &'static [SelectableField]) -> Self {
        self.fields = fields;
        self
    }

    const fn generation(mut self) -> Self {
        self.rules.counts_generation = true;
        self
    }

    const fn conditional(mut self) -> Self {
        self.rules.unconditional_update = false;
        self
    }

    const fn upsert(mut self) -> Self {
        self.rules.create_on_update = true;
        self
    }

    const fn answers_object(mut self) -> Self {
        self.rules.deletion_answers_object = true;
        self
    }

    const fn orphans(mut self) -> Self {
        self.rules.orphans_by_default = true;
        self
    }

    const fn never_collected(mut self) -> Self {
        self.rules.never_collected = true;
        self
    }

    const fn deprecated(mut self, warning: &'static str) -> Self {
        self.deprecation = Some(warning);
        self
    }

    const fn one_by_one(mut self) -> Self {
        self.rules.deletable_as_collection = false;
        self
    }

    pub(crate) const fn plural(&self) -> &'static str {
        self.plural
    }

    /// The row as a served resource over `shard`.
    pub(crate) fn resource(&self, shard: Arc<Shard>) -> Resource {
        let api =
            ApiResource::new_static(self.group, self.version, self.kind, self.plural, self.scope);
        let kind = api.group_version_kind();
        let schema = Schemas::builtin().kind(&kind).cloned();
        Resource {
            schema: schema.unwrap_or_else(|| Schema::custom(kind, &Value::Null)),
            head: Resource::head(&api),
            api,
            singular: self.kind.to_ascii_lowercase().into(),
            list_kind: format!("{}List", self.kind).into(),
            short_names: Cow::Borrowed(self.short),
            categories: Cow::Borrowed(self.categories),
            rules: self.rules,
            subresources: Cow::Borrowed(self.subresources),
            fields: Cow::Borrowed(self.fields),
            custom: false,
            view: if self.group == "events.k8s.io" {
                View::NewEvents
            } else {
                View::Own
            },
            columns: None,
            deprecation: self.deprecation,
            scale: ScalePaths::default(),
            shard,
        }
    }
}

macro_rules! names {
    ($($name:literal),*) => { &[$(Cow::Borrowed($name)),*] };
}

macro_rules! fields {
    ($($label:literal => [$($part:literal),+] $(or $default:literal)?),* $(,)?) => {
        &[$(SelectableField {
            label: Cow::Borrowed($label),
            path: Cow::Borrowed(&[$(Cow::Borrowed($part)),+]),
            default: fields!(@default $($default)?),
        }),*]
    };
    (@default) => { "" };
    (@default $default:literal) => { $default };
}

const STATUS: &[Subresource] = &[Subresource::Status];
const STATUS_SCALE: &[Subresource] = &[Subresource::Status, Subresource::Scale];

const POD_FIELDS: &[SelectableField] = fields![
    "spec.nodeName" => ["spec", "nodeName"],
    "spec.restartPolicy" => ["spec", "restartPolicy"],
    "spec.schedulerName" => ["spec", "schedulerName"],
    "spec.serviceAccountName" => ["spec", "serviceAccountName"],
    "spec.hostNetwork" => ["spec", "hostNetwork"] or "false",
    "status.phase" => ["status", "phase"],
    "status.podIP" => ["status", "podIP"],
    "status.nominatedNodeName" => ["status", "nominatedNodeName"],
];
const EVENT_FIELDS: &[SelectableField] = fields![
    "involvedObject.kind" => ["involvedObject", "kind"],
    "involvedObject.namespace" => ["involvedObject", "namespace"],
    "involvedObject.name" => ["involvedObject", "name"],
    "involvedObject.uid" => ["involvedObject", "uid"],
    "involvedObject.apiVersion" => ["involvedObject", "apiVersion"],
    "involvedObject.resourceVersion" => ["involvedObject", "resourceVersion"],
    "involvedObject.fieldPath" => ["involvedObject", "fieldPath"],
    "reason" => ["reason"],
    "reportingComponent" => ["reportingComponent"],
    "source" => ["source", "component"],
    "type" => ["type"],
];
const NAMESPACE_FIELDS: &[SelectableField] = fields!["status.phase" => ["status", "phase"]];
const NODE_FIELDS: &[SelectableField] =
    fields!["spec.unschedulable" => ["spec", "unschedulable"] or "false"];
const SECRET_FIELDS: &[SelectableField] = fields!["type" => ["type"]];
const REPLICAS_FIELDS: &[SelectableField] =
    fields!["status.replicas" => ["status", "replicas"] or "0"];
const SERVICE_FIELDS: &[SelectableField] = fields![
    "spec.clusterIP" => ["spec", "clusterIP"],
    "spec.type" => ["spec", "type"],
];
const JOB_FIELDS: &[SelectableField] =
    fields!["status.successful" => ["status", "succeeded"] or "0"];

/// Every built-in resource.
pub(crate) const BUILTIN: &[Row] = &[
    namespaced("", "v1", "ConfigMap", "configmaps").short(names!["cm"]),
    namespaced("", "v1", "Endpoints", "endpoints")
        .short(names!["ep"])
        .upsert()
        .deprecated("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
    namespaced("", "v1", "Event", "events")
        .short(names!["ev"])
        .upsert()
        .never_collected()
        .fields(EVENT_FIELDS),
    namespaced("", "v1", "LimitRange", "limitranges")
        .short(names!["limits"])
        .upsert(),
    cluster("", "v1", "Namespace", "namespaces")
        .short(names!["ns"])
        .sub(&[Subresource::Finalize, Subresource::Status])
        .fields(NAMESPACE_FIELDS)
        .one_by_one(),
    cluster("", "v1", "Node", "nodes")
        .short(names!["no"])
        .sub(STATUS)
        .fields(NODE_FIELDS),
    namespaced("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
        .short(names!["pvc"])
        .sub(STATUS)
        .answers_object(),
    cluster("", "v1", "PersistentVolume", "persistentvolumes")
        .short(names!["pv"])
        .sub(STATUS)
        .answers_object(),
    namespaced("", "v1", "Pod", "pods")
        .short(names!["po"])
        .all()
        .sub(&[
            Subresource::Binding,
            Subresource::Eviction,
            Subresource::Status,
        ])
        .generation()
        .answers_object()
        .fields(POD_FIELDS),
    namespaced("", "v1", "PodTemplate", "podtemplates")
        .generation()
        .answers_object(),
    namespaced("", "v1", "ReplicationController", "replicationcontrollers")
        .short(names!["rc"])
        .all()
        .sub(&[Subresource::Scale, Subresource::Status])
        .generation()
        .orphans()
        .fields(REPLICAS_FIELDS),
    namespaced("", "v1", "ResourceQuota", "resourcequotas")
        .short(names!["quota"])
        .sub(STATUS)
        .answers_object(),
    namespaced("", "v1", "Secret", "secrets").fields(SECRET_FIELDS),
    namespaced("", "v1", "ServiceAccount", "serviceaccounts")
        .short(names!["sa"])
        .sub(&[Subresource::Token])
        .answers_object(),
    namespaced("", "v1", "Service", "services")
        .short(names!["svc"])
        .all()
        .sub(STATUS)
        .upsert()
        .answers_object()
        .fields(SERVICE_FIELDS),
    namespaced("apps", "v1", "ControllerRevision", "controllerrevisions"),
    namespaced("apps", "v1", "DaemonSet", "daemonsets")
        .short(names!["ds"])
        .all()
        .sub(STATUS)
        .generation(),
    namespaced("apps", "v1", "Deployment", "deployments")
        .short(names!["deploy"])
        .all()
        .sub(STATUS_SCALE)
        .generation(),
    namespaced("apps", "v1", "ReplicaSet", "replicasets")
        .short(names!["rs"])
        .all()
        .sub(STATUS_SCALE)
        .generation()
        .fields(REPLICAS_FIELDS),
    namespaced("apps", "v1", "StatefulSet", "statefulsets")
        .short(names!["sts"])
        .all()
        .sub(STATUS_SCALE)
        .generation(),
    namespaced("events.k8s.io", "v1", "Event", "events")
        .short(names!["ev"])
        .upsert()
        .never_collected()
        .fields(EVENT_FIELDS),
    question(
        "authentication.k8s.io",
        "v1",
        "SelfSubjectReview",
        "selfsubjectreviews",
    ),
    question("authentication.k8s.io", "v1", "TokenReview", "tokenreviews"),
    question(
        "authorization.k8s.io",
        "v1",
        "SelfSubjectAccessReview",
        "selfsubjectaccessreviews",
    ),
    question(
        "authorization.k8s.io",
        "v1",
        "SelfSubjectRulesReview",
        "selfsubjectrulesreviews",
    ),
    question(
        "authorization.k8s.io",
        "v1",
        "SubjectAccessReview",
        "subjectaccessreviews",
    ),
    namespaced(
        "autoscaling",
        "v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
    )
    .short(names!["hpa"])
    .all()
    .sub(STATUS)
    .generation(),
    namespaced("batch", "v1", "CronJob", "cronjobs")
        .short(names!["cj"])
        .all()
        .sub(STATUS)
        .generation(),
    namespaced("batch", "v1", "Job", "jobs")
        .all()
        .sub(STATUS)
        .generation()
        .orphans()
        .fields(JOB_FIELDS),
    cluster("networking.k8s.io", "v1", "IngressClass", "ingressclasses").generation(),
    namespaced("networking.k8s.io", "v1", "Ingress", "ingresses")
        .short(names!["ing"])
        .sub(STATUS)
        .generation(),
    namespaced(
        "networking.k8s.io",
        "v1",
        "NetworkPolicy",
        "networkpolicies",
    )
    .short(names!["netpol"])
    .generation(),
    namespaced(
        "policy",
        "v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
    )
    .short(names!["pdb"])
    .sub(STATUS)
    .generation()
    .conditional(),
    cluster(
        "rbac.authorization.k8s.io",
        "v1",
        "ClusterRoleBinding",
        "clusterrolebindings",
    )
    .upsert(),
    cluster(
        "rbac.authorization.k8s.io",
        "v1",
        "ClusterRole",
        "clusterroles",
    )
    .upsert(),
    namespaced(
        "rbac.authorization.k8s.io",
        "v1",
        "RoleBinding",
        "rolebindings",
    )
    .upsert(),
    namespaced("rbac.authorization.k8s.io", "v1", "Role", "roles").upsert(),
    cluster("storage.k8s.io", "v1", "StorageClass", "storageclasses")
        .short(names!["sc"])
        .answers_object(),
    cluster(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    )
    .short(names!["crd", "crds"])
    .category(names!["api-extensions"])
    .sub(STATUS)
    .generation()
    .conditional(),
    cluster(
        "scheduling.k8s.io",
        "v1",
        "PriorityClass",
        "priorityclasses",
    )
    .short(names!["pc"])
    .generation(),
    namespaced("coordination.k8s.io", "v1", "Lease", "leases")
        .upsert()
        .conditional(),
    namespaced("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices").generation(),
];
