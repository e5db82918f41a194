//! Who owns whom, as lines of text.

use std::collections::HashMap;
use std::sync::Arc;

use evenkeel_meta::MetaView;

use super::cluster::{Objects, kind_name};
use super::observed::Observed;
use super::standing::pod_state;

/// How many children of one parent are shown.
const SHOWN_CHILDREN: usize = 10;

/// An object and what it controls.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) label: String,
    pub(crate) detail: String,
    /// Whether all that is wanted of it is there.
    pub(crate) is_settled: bool,
    /// Whether nobody controls it, not even somebody who is gone.
    pub(crate) is_free: bool,
    children: Vec<Branch>,
}

/// The trees of objects that nobody else controls.
pub(crate) fn build(kinds: &[Objects]) -> Vec<Branch> {
    let known: HashMap<&str, ()> = all(kinds)
        .filter_map(|(_, object)| Some((object.metadata.uid()?, ())))
        .collect();
    let mut roots = Vec::new();
    let mut owned: HashMap<&str, Vec<(&Objects, &Arc<Observed>)>> = HashMap::new();
    for (kind, object) in all(kinds) {
        // An owner that is not shown, or gone, makes a root of what it owned.
        match object.metadata.controller() {
            Some(owner) if known.contains_key(owner.uid) => {
                owned.entry(owner.uid).or_default().push((kind, object));
            }
            _ => roots.push((kind, object)),
        }
    }
    branches(roots, &owned)
}

fn all(kinds: &[Objects]) -> impl Iterator<Item = (&Objects, &Arc<Observed>)> {
    kinds
        .iter()
        .flat_map(|kind| kind.objects.iter().map(move |object| (kind, object)))
}

fn branches(
    mut objects: Vec<(&Objects, &Arc<Observed>)>,
    owned: &HashMap<&str, Vec<(&Objects, &Arc<Observed>)>>,
) -> Vec<Branch> {
    objects.sort_by_key(|(_, object)| (&object.metadata.namespace, &object.metadata.name));
    let branch = |(kind, object): (&Objects, &Arc<Observed>)| {
        let below = object.metadata.uid().and_then(|uid| owned.get(uid));
        let children = branches(below.cloned().unwrap_or_default(), owned);
        // What a rollout has left behind says nothing.
        let is_leftover = kind.resource.kind == "ReplicaSet" && object.wanted() == 0;
        if is_leftover && children.is_empty() && object.metadata.controller().is_some() {
            return None;
        }
        let (detail, is_settled) = describe(&kind.resource.kind, object);
        Some(Branch {
            label: label(kind, object),
            detail,
            is_settled,
            is_free: object.metadata.controller().is_none(),
            children,
        })
    };
    objects.into_iter().filter_map(branch).collect()
}

fn label(kind: &Objects, object: &Observed) -> String {
    let name = kind_name(&kind.resource.group, &kind.resource.kind);
    let namespace = match object.metadata.namespace() {
        None | Some("default") => String::new(),
        Some(namespace) => format!(" -n {namespace}"),
    };
    format!("{name}/{}{namespace}", object.metadata.name)
}

fn describe(kind: &str, object: &Observed) -> (String, bool) {
    if kind == "Pod" {
        return (pod_state(object), object.is_ready_pod());
    }
    let wanted = object.wanted();
    let ready = object.status.ready_replicas.unwrap_or(0);
    let mut detail = format!("{ready}/{wanted} ready");
    let replicas = object.status.replicas.unwrap_or(0);
    let mut is_settled = ready == wanted && replicas == wanted && object.is_up_to_date();
    if kind == "Deployment" {
        let updated = object.status.updated_replicas.unwrap_or(0);
        if updated != replicas {
            detail.push_str(&format!(", {updated} of {replicas} updated"));
            is_settled = false;
        }
    }
    if object.metadata.is_terminating() {
        detail.push_str(", being deleted");
        is_settled = false;
    }
    (detail, is_settled)
}

/// The trees as lines.
pub(crate) fn render(branches: &[Branch]) -> Vec<String> {
    let mut rows = Vec::new();
    for branch in branches {
        rows.push((branch.label.clone(), branch.detail.as_str()));
        rows_below(branch, "", &mut rows);
    }
    let width = rows
        .iter()
        .map(|(label, _)| label.chars().count())
        .max()
        .unwrap_or(0);
    let line = |(label, detail): (String, &str)| {
        let padding = " ".repeat(width - label.chars().count());
        format!("{label}{padding}  {detail}").trim_end().to_owned()
    };
    rows.into_iter().map(line).collect()
}

fn rows_below<'a>(branch: &'a Branch, indent: &str, rows: &mut Vec<(String, &'a str)>) {
    // Those that are worth a look come first when there are too many.
    let mut children: Vec<_> = branch.children.iter().collect();
    let hidden = children.len().saturating_sub(SHOWN_CHILDREN);
    if hidden > 0 {
        children.sort_by_key(|child| child.is_settled);
    }
    let unsettled = children
        .iter()
        .skip(SHOWN_CHILDREN)
        .filter(|child| !child.is_settled)
        .count();
    children.truncate(SHOWN_CHILDREN);
    let count = children.len();
    for (at, child) in children.into_iter().enumerate() {
        let is_last = at + 1 == count && hidden == 0;
        let (fork, below) = if is_last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        rows.push((format!("{indent}{fork}{}", child.label), &child.detail));
        rows_below(child, &format!("{indent}{below}"), rows);
    }
    if hidden > 0 {
        rows.push((
            format!(
                "{indent}└─ {hidden} more, {} of them ready",
                hidden - unsettled
            ),
            "",
        ));
    }
}

/// How many objects of the trees there are, and how many of them are settled.
pub(crate) fn count(branches: &[Branch]) -> (usize, usize) {
    branches.iter().fold((0, 0), |(all, settled), branch| {
        let (all_below, settled_below) = count(&branch.children);
        (
            all + 1 + all_below,
            settled + usize::from(branch.is_settled) + settled_below,
        )
    })
}

#[cfg(test)]
mod tests {
    use evenkeel_meta::{ApiResource, Scope};
    use serde_json::{Value, json};

    use super::*;

    fn kind(group: &'static str, kind: &'static str, objects: Vec<Value>) -> Objects {
        let objects = objects
            .into_iter()
            .map(|object| Arc::new(serde_json::from_value(object).unwrap()));
        Objects {
            resource: ApiResource::new_static(group, "v1", kind, "", Scope::Namespaced),
            objects: objects.collect(),
        }
    }

    fn owned(name: &str, owner: &str, rest: &Value) -> Value {
        let mut object = json!({"metadata": {"name": name, "uid": name, "namespace": "default",
            "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": owner, "uid": owner, "controller": true}]}});
        object
            .as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        object
    }

    fn pod(name: &str, owner: &str, ready: bool) -> Value {
        let ready = if ready { "True" } else { "False" };
        owned(
            name,
            owner,
            &json!({"spec": {"nodeName": "n"}, "status": {"phase": "Running",
            "conditions": [{"type": "Ready", "status": ready}]}}),
        )
    }

    fn lines(pods: Vec<Value>) -> Vec<String> {
        let web = json!({"metadata": {"name": "web", "uid": "web", "namespace": "shop"},
            "spec": {"replicas": 2}, "status": {"readyReplicas": 1, "replicas": 3, "updatedReplicas": 2}});
        render(&build(&[
            kind("apps", "Deployment", vec![web]),
            kind(
                "apps",
                "ReplicaSet",
                vec![
                    owned("web-1", "web", &json!({"spec": {"replicas": 0}})),
                    owned(
                        "web-2",
                        "web",
                        &json!({"spec": {"replicas": 2}, "status": {"readyReplicas": 2}}),
                    ),
                ],
            ),
            kind("", "Pod", pods),
        ]))
    }

    #[test]
    fn owners_stand_above_what_they_own() {
        let pods = vec![
            pod("a", "web-2", true),
            pod("b", "web-2", false),
            pod("c", "gone", true),
        ];
        let lines = lines(pods);
        let words: Vec<Vec<&str>> = lines
            .iter()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(words[0], ["pod/c", "Running", "on", "n"]);
        assert_eq!(
            words[1],
            [
                "deployment.apps/web",
                "-n",
                "shop",
                "1/2",
                "ready,",
                "2",
                "of",
                "3",
                "updated"
            ]
        );
        assert_eq!(words[2], ["└─", "replicaset.apps/web-2", "2/2", "ready"]);
        assert_eq!(words[3], ["├─", "pod/a", "Running", "on", "n"]);
        assert_eq!(
            words[4],
            ["└─", "pod/b", "Running", "on", "n,", "not", "ready"]
        );
        assert_eq!(lines.len(), 5, "the old ReplicaSet is left out: {lines:#?}");
    }

    #[test]
    fn many_children_are_counted_and_the_unready_shown() {
        let mut pods: Vec<_> = (0..20)
            .map(|at| pod(&format!("p{at:02}"), "web-2", true))
            .collect();
        pods.push(pod("z", "web-2", false));
        let lines = lines(pods);
        assert!(
            lines.iter().any(|line| line.contains("pod/z")),
            "{lines:#?}"
        );
        assert!(
            lines
                .last()
                .unwrap()
                .contains("└─ 11 more, 11 of them ready"),
            "{lines:#?}"
        );
    }
}
