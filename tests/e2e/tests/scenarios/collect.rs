//! The collector on built-in kinds: who goes, who stays.

use anyhow::ensure;
use evenkeel_e2e::Env;
use evenkeel_e2e::manifest::{CONFIG_MAPS, PODS};
use evenkeel_meta::PropagationPolicy::{Background, Foreground, Orphan};
use evenkeel_meta::{ApiResource, Scope};
use serde_json::{Value, json};

use crate::family::{Families, Made, nobody};

const CONTROLLERS: ApiResource = ApiResource::new_static(
    "",
    "v1",
    "ReplicationController",
    "replicationcontrollers",
    Scope::Namespaced,
);
const ROLES: ApiResource = ApiResource::new_static(
    "rbac.authorization.k8s.io",
    "v1",
    "ClusterRole",
    "clusterroles",
    Scope::Cluster,
);

/// A controller of no pods: nobody here makes any for it.
fn controller() -> Value {
    let labels = json!({"app": "rc"});
    json!({"spec": {"replicas": 0, "selector": labels,
        "template": {"metadata": {"labels": labels}, "spec": pod_spec()}}})
}

fn pod_spec() -> Value {
    json!({"containers": [{"name": "c", "image": "i"}], "automountServiceAccountToken": false})
}

async fn pods(f: &Families<'_>, owner: &Made, count: usize) -> anyhow::Result<Vec<Made>> {
    let mut pods = Vec::new();
    for n in 0..count {
        let name = format!("{}-{n}", owner.name());
        let pod = f
            .make(
                &PODS,
                &name,
                &[owner.owner(true)],
                json!({"spec": pod_spec()}),
            )
            .await?;
        pods.push(pod);
    }
    Ok(pods)
}

pub(crate) async fn gc_t1_t2_background_takes_what_has_no_other_owner(
    env: Env,
) -> anyhow::Result<()> {
    let f = Families::prepare(&env).await?;
    let before = f.map("before", &[nobody()]).await?;
    let _manager = env.start_manager("manager", &[])?;
    f.gone(&before).await?;
    let a = f.map("a", &[]).await?;
    let b = f.map("b", &[]).await?;
    let of_a = f.map("of-a", &[a.owner(false)]).await?;
    let of_both = f.map("of-both", &[a.owner(false), b.owner(false)]).await?;
    let free = f.map("free", &[]).await?;
    f.delete(&a, Some(Background)).await?;
    f.gone(&of_a).await?;
    f.eventually("the reference to what is gone goes", async || {
        Ok(f.owners(&of_both).await? == [b.uid()])
    })
    .await?;
    ensure!(f.is_there(&free).await?);
    Ok(())
}

pub(crate) async fn gc_t3_many_owners_each_by_its_own_policy(env: Env) -> anyhow::Result<()> {
    let f = Families::prepare(&env).await?;
    let _manager = env.start_manager("manager", &["--concurrent-gc-syncs=5"])?;
    f.caught_up().await?;
    let orphan = json!({"metadata": {"finalizers": ["orphan"]}});
    let mut groups = Vec::new();
    for (group, with_finalizer, policy, stays) in [
        ("default", false, None, true),
        ("finalizer", true, None, true),
        ("against-finalizer", true, Some(Background), false),
        ("explicit", false, Some(Orphan), true),
    ] {
        for n in 0..3 {
            let mut body = controller();
            if with_finalizer {
                body["metadata"] = orphan["metadata"].clone();
            }
            let owner = f
                .make(&CONTROLLERS, &format!("{group}-{n}"), &[], body)
                .await?;
            let pods = pods(&f, &owner, 3).await?;
            groups.push((owner, pods, policy, stays));
        }
    }
    for (owner, _, policy, _) in &groups {
        f.delete(owner, *policy).await?;
    }
    for (owner, pods, _, stays) in &groups {
        f.gone(owner).await?;
        for pod in pods {
            match stays {
                true => ensure!(f.owners(pod).await?.is_empty(), "{} is owned", pod.name()),
                false => f.gone(pod).await?,
            }
        }
    }
    f.caught_up().await
}

pub(crate) async fn gc_t4_t5_t6_t7_t8_orphan_and_foreground(env: Env) -> anyhow::Result<()> {
    let f = Families::prepare(&env).await?;
    let _manager = env.start_manager("manager", &[])?;
    f.caught_up().await?;

    let owner = f.map("orphaning", &[]).await?;
    let mut parts = Vec::new();
    for n in 0..3 {
        parts.push(f.map(&format!("orphan-{n}"), &[owner.owner(true)]).await?);
    }
    // At once: the collector cannot have seen them all.
    f.delete(&owner, Some(Orphan)).await?;
    f.gone(&owner).await?;
    for part in &parts {
        ensure!(f.owners(part).await?.is_empty(), "{} is owned", part.name());
    }

    let (a, b) = (f.map("a", &[]).await?, f.map("b", &[]).await?);
    let shared = f.map("shared", &[a.owner(true), b.owner(false)]).await?;
    f.delete(&a, Some(Foreground)).await?;
    f.gone(&a).await?;
    ensure!(f.owners(&shared).await? == [b.uid()], "not B's alone");

    let owner = f.map("not-blocked", &[]).await?;
    let parts = [
        f.slow_map("free-1", &[owner.owner(false)]).await?,
        f.slow_map("free-2", &[owner.owner(false)]).await?,
    ];
    f.delete(&owner, Some(Foreground)).await?;
    f.gone(&owner).await?;
    for part in &parts {
        f.eventually("it is being deleted", async || {
            let object = f.get(part).await?;
            Ok(object.is_some_and(|object| object.metadata.deletion_timestamp.is_some()))
        })
        .await?;
    }

    let owner = f.slow_map("blocked", &[]).await?;
    let part = f.slow_map("blocking", &[owner.owner(true)]).await?;
    f.delete(&owner, Some(Foreground)).await?;
    f.caught_up().await?;
    ensure!(f.is_there(&owner).await? && f.is_there(&part).await?);
    f.without_finalizers(&part).await?;
    f.gone(&part).await?;
    let waits = async || {
        let finalizers = f
            .get(&owner)
            .await?
            .map(|object| object.metadata.finalizers);
        anyhow::Ok(finalizers.is_some_and(|all| all.contains(&"foregroundDeletion".to_owned())))
    };
    f.eventually("it waits no longer", async || Ok(!waits().await?))
        .await?;
    f.delete(&owner, Some(Foreground)).await?;
    f.eventually("nor after a second deletion", async || Ok(!waits().await?))
        .await?;
    f.without_finalizers(&owner).await?;
    f.gone(&owner).await
}

pub(crate) async fn gc_t12_t14_t30_t31_false_references(env: Env) -> anyhow::Result<()> {
    let f = Families::prepare(&env).await?;
    env.create_namespace("elsewhere").await?;
    let parent = f.map("parent", &[]).await?;
    let child = f.map("child", &[parent.owner(false)]).await?;
    let role = f
        .make(&ROLES, "owner-role", &[], json!({"rules": []}))
        .await?;
    let cluster_child = [parent.owner(false)];
    let kept_role = f
        .make(&ROLES, "kept-role", &cluster_child, json!({"rules": []}))
        .await?;
    let of_role = f.map("of-role", &[role.owner(false)]).await?;
    let false_role = role.owner_but("uid", "5f8a4f3e-0000-4000-8000-000000000001");
    for turn in ["before", "after", "again"] {
        let manager = env.start_manager(&format!("manager-{turn}"), &["--leader-elect=false"])?;
        let mut invalid = vec![
            f.map(&format!("{turn}-role"), std::slice::from_ref(&false_role))
                .await?,
        ];
        for (what, reference) in [
            ("namespace", parent.owner(false)),
            ("name", parent.owner_but("name", "z")),
            ("kind", parent.owner_but("kind", "Secret")),
        ] {
            let name = format!("{turn}-{what}");
            let false_owner = std::slice::from_ref(&reference);
            let made = f
                .make_in("elsewhere", &CONFIG_MAPS, &name, false_owner, json!({}))
                .await?;
            invalid.push(made);
            if what != "namespace" {
                invalid.push(f.map(&name, &[reference]).await?);
            }
        }
        for made in &invalid {
            f.gone(made).await?;
        }
        f.caught_up().await?;
        for (made, owner) in [(&child, &parent), (&kept_role, &parent), (&of_role, &role)] {
            ensure!(
                f.owners(made).await? == [owner.uid()],
                "{} changed",
                made.name()
            );
        }
        drop(manager);
    }
    let _manager = env.start_manager("last", &["--leader-elect=false"])?;
    f.delete(&role, Some(Background)).await?;
    f.gone(&of_role).await
}

pub(crate) async fn gc_t15_t16_t17_t18_t21_t22_controllers_and_pods(
    env: Env,
) -> anyhow::Result<()> {
    let f = Families::prepare(&env).await?;
    let _manager = env.start_manager("manager", &[])?;
    // Pods need the account that the manager makes.
    f.caught_up().await?;
    f.eventually("pods may be made", async || {
        let accounts = ApiResource::new_static(
            "",
            "v1",
            "ServiceAccount",
            "serviceaccounts",
            Scope::Namespaced,
        );
        let api = env
            .client()
            .dynamic(accounts, Some(crate::family::NAMESPACE));
        Ok(api.get_opt("default").await?.is_some())
    })
    .await?;
    for (name, count, policy, stay) in [
        ("background", 2, Some(Background), false),
        ("orphan", 10, Some(Orphan), true),
        ("default", 2, None, true),
        ("foreground", 10, Some(Foreground), false),
    ] {
        let owner = f.make(&CONTROLLERS, name, &[], controller()).await?;
        let pods = pods(&f, &owner, count).await?;
        f.delete(&owner, policy).await?;
        f.gone(&owner).await?;
        for pod in &pods {
            match stay {
                true => ensure!(f.owners(pod).await?.is_empty(), "{} is owned", pod.name()),
                // Nothing of a foreground deletion is left behind its owner.
                false if policy == Some(Foreground) => ensure!(!f.is_there(pod).await?),
                false => f.gone(pod).await?,
            }
        }
    }
    let (first, second) = (
        f.make(&CONTROLLERS, "first", &[], controller()).await?,
        f.make(&CONTROLLERS, "second", &[], controller()).await?,
    );
    let own = pods(&f, &first, 5).await?;
    let mut shared = Vec::new();
    for n in 0..5 {
        let owners = [first.owner(true), second.owner(true)];
        let pod = f
            .make(
                &PODS,
                &format!("shared-{n}"),
                &owners,
                json!({"spec": pod_spec()}),
            )
            .await?;
        shared.push(pod);
    }
    f.delete(&first, Some(Foreground)).await?;
    f.gone(&first).await?;
    for pod in &own {
        ensure!(!f.is_there(pod).await?, "{} is left", pod.name());
    }
    for pod in &shared {
        ensure!(f.owners(pod).await? == [second.uid()], "{}", pod.name());
        let object = f.get(pod).await?;
        ensure!(object.is_some_and(|pod| pod.metadata.deletion_timestamp.is_none()));
    }
    Ok(())
}

pub(crate) async fn gc_t23_t26_circles_and_chains(env: Env) -> anyhow::Result<()> {
    let f = Families::prepare(&env).await?;
    let _manager = env.start_manager("manager", &[])?;
    let one = f.map("one", &[]).await?;
    let two = f.map("two", &[one.owner(true)]).await?;
    let three = f.map("three", &[two.owner(true)]).await?;
    let close = json!({"metadata": {"ownerReferences": [three.owner(true)]}});
    env.client()
        .dynamic(CONFIG_MAPS, Some(crate::family::NAMESPACE))
        .patch(
            "one",
            &evenkeel_client::Patch::merge(&close),
            &Default::default(),
        )
        .await?;
    f.caught_up().await?;
    f.delete(&one, Some(Foreground)).await?;
    for made in [&one, &two, &three] {
        f.gone(made).await?;
    }

    let batch =
        |kind, plural| ApiResource::new_static("batch", "v1", kind, plural, Scope::Namespaced);
    let mut template = json!({"spec": pod_spec()});
    template["spec"]["restartPolicy"] = json!("Never");
    let cron =
        json!({"spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": template}}}});
    let cron = f
        .make(&batch("CronJob", "cronjobs"), "cron", &[], cron)
        .await?;
    let job = json!({"spec": {"template": template}});
    let job = f
        .make(&batch("Job", "jobs"), "job", &[cron.owner(true)], job)
        .await?;
    let pods = pods(&f, &job, 2).await?;
    f.delete(&cron, Some(Background)).await?;
    f.gone(&job).await?;
    for pod in &pods {
        f.gone(pod).await?;
    }
    Ok(())
}
