//! A program on kube-rs and informers of ours, on one server.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::ensure;
use evenkeel_apiserver::{Fault, Server, Verb, When};
use evenkeel_client::{ListOptions, Patch, PatchOptions};
use evenkeel_e2e::kube_rs::KubeRs;
use evenkeel_e2e::manifest::{CONFIG_MAPS, DEFINITIONS};
use evenkeel_e2e::mirror::{Mirror, Versions};
use evenkeel_e2e::{Env, ServerKind, eventually, poll, server};
use evenkeel_meta::{ApiResource, DeleteOptions, Scope};
use futures_util::future::try_join_all;
use serde_json::json;

/// kube-rs waits up to half a minute after failures.
const SOON: Duration = Duration::from_secs(60);
const OBJECTS: usize = 80;

/// As the program has it.
const WIDGETS: ApiResource = ApiResource::new_static(
    "interop.example",
    "v1",
    "Widget",
    "widgets",
    Scope::Namespaced,
);

/// Objects come, change, go and come again; then, unseen by anybody, the same happens while the
/// watches are down and the history is lost. Every view of either is the server's each time.
pub(crate) async fn both_see_the_same_set(env: Env) -> anyhow::Result<()> {
    let (mut env, faults) = match env.kind() {
        ServerKind::Embedded => {
            let (env, server) = env.with_faults().await?;
            (env, Some(server))
        }
        ServerKind::Real => (env, None),
    };
    define_widgets(&env).await?;
    let mut both = Both {
        peer: KubeRs::start(&env)?,
        ours: Mirror::new(env.client()),
    };
    both.ours.watch([CONFIG_MAPS, WIDGETS]).await?;

    write(&env, 0..OBJECTS, Write::Create).await?;
    both.see_the_same("created").await?;
    ensure!(both.ours.versions(&WIDGETS).len() == OBJECTS);
    write(&env, 0..OBJECTS / 2, Write::Change).await?;
    write(&env, OBJECTS / 4..OBJECTS * 3 / 4, Write::Delete).await?;
    both.see_the_same("changed and deleted").await?;

    unseen(&mut env, faults.as_ref()).await?;
    both.see_the_same("after a gap").await?;
    ensure!(both.ours.versions(&WIDGETS).len() == OBJECTS / 2 - OBJECTS / 16);

    write(&env, OBJECTS..OBJECTS + 20, Write::Create).await?;
    both.see_the_same("live again").await
}

/// Some are changed, some deleted, and some deleted and created again.
async fn unseen(env: &mut Env, faults: Option<&Server>) -> anyhow::Result<()> {
    let refused = faults.map(|server| {
        let refused = Fault::too_many_requests(1);
        let injected = server.faults().inject(When::verb(Verb::Watch), refused);
        server.faults().cut_watches();
        injected
    });
    if let server::Server::Real(real) = env.server_mut() {
        // What watches it has, it forgets; the history before its start it never had.
        real.kill_server().await?;
        real.start_server().await?;
    }
    write(env, 0..OBJECTS / 4, Write::Change).await?;
    write(env, 0..OBJECTS / 8, Write::Delete).await?;
    write(env, OBJECTS / 16..OBJECTS / 4, Write::Create).await?;
    if let (Some(server), Some(refused)) = (faults, refused) {
        server.compact();
        refused.lift();
    }
    Ok(())
}

struct Both {
    peer: KubeRs,
    ours: Mirror,
}

impl Both {
    async fn see_the_same(&mut self, when: &str) -> anyhow::Result<()> {
        eventually(SOON, &format!("all see the same, {when}"), async || {
            if let Err(reason) = self.ours.is_current().await? {
                return Ok(Err(reason));
            }
            let maps = texts(self.ours.versions(&CONFIG_MAPS));
            let widgets = texts(self.ours.versions(&WIDGETS));
            let stores = self.peer.stores().await?;
            ensure!(stores.len() == 4, "{:?}", stores.keys());
            for (view, store) in stores {
                let ours = if view == "custom" { &widgets } else { &maps };
                if store != *ours {
                    let (theirs, ours) = (store.len(), ours.len());
                    return Ok(Err(format!(
                        "kube-rs, {view}: {theirs} objects, ours {ours}"
                    )));
                }
            }
            Ok(Ok(()))
        })
        .await
    }
}

fn texts(versions: Versions) -> BTreeMap<String, String> {
    let texts = versions.into_iter();
    texts
        .map(|(key, version)| (key.to_string(), version))
        .collect()
}

#[derive(Clone, Copy)]
enum Write {
    Create,
    Change,
    Delete,
}

/// To a ConfigMap and a widget of each number; what is there already stays, or is gone already.
async fn write(env: &Env, numbers: std::ops::Range<usize>, write: Write) -> anyhow::Result<()> {
    for number in numbers {
        let name = format!("n{number}");
        let one = async |resource: ApiResource| -> anyhow::Result<()> {
            let api = env.client().dynamic(resource.clone(), Some("default"));
            match write {
                Write::Create if api.get(&name).await.is_ok() => {}
                Write::Create => {
                    let object = json!({
                        "apiVersion": resource.api_version(), "kind": resource.kind,
                        "metadata": {"name": name}
                    });
                    env.create(&resource, Some("default"), object).await?;
                }
                Write::Change => {
                    let change = Patch::merge(&json!({"metadata": {"labels": {"changed": "yes"}}}));
                    api.patch(&name, &change, &PatchOptions::default()).await?;
                }
                Write::Delete => {
                    api.delete(&name, &DeleteOptions::default()).await?;
                }
            }
            Ok(())
        };
        try_join_all([one(CONFIG_MAPS), one(WIDGETS)]).await?;
    }
    Ok(())
}

async fn define_widgets(env: &Env) -> anyhow::Result<()> {
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.interop.example"},
        "spec": {
            "group": WIDGETS.group, "scope": "Namespaced",
            "names": {"plural": WIDGETS.plural, "kind": WIDGETS.kind},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        }
    });
    env.create(&DEFINITIONS, None, definition).await?;
    let widgets = env.client().dynamic(WIDGETS, None);
    poll::until(SOON, "widgets are served", async || {
        Ok(widgets.list(&ListOptions::default()).await.ok())
    })
    .await?;
    Ok(())
}
