//! Credentials of an exec plugin that expire while they are used.

use std::fs;
use std::time::Duration;

use anyhow::ensure;
use evenkeel_apiserver::{Identity, Server};
use evenkeel_client::{Client, WriteOptions};
use evenkeel_e2e::exec_plugin::ExecPlugin;
use evenkeel_e2e::manifest::{CONFIG_MAPS, NAMESPACES};
use evenkeel_e2e::mirror::Mirror;
use evenkeel_e2e::{Env, account_token, eventually, poll, server};
use evenkeel_meta::{ApiResource, DynamicObject, Scope, Timestamp};
use futures_util::future::try_join_all;
use serde_json::json;

const SOON: Duration = Duration::from_secs(60);

/// How many write at the same time.
const WRITERS: usize = 4;
/// How often each writes after the last call.
const LAST: usize = 20;

/// Seconds from the beginning: when the plugin says that its tokens expire, and when the token that
/// comes next, of which it says nothing, is taken no more.
const SAID: [i64; 3] = [2, 4, 6];
const UNSAID: i64 = 9;
/// Longer than the scenario takes.
const LONG: i64 = 600;

const ACCOUNTS: ApiResource = ApiResource::new_static(
    "",
    "v1",
    "ServiceAccount",
    "serviceaccounts",
    Scope::Namespaced,
);
const BINDINGS: ApiResource = ApiResource::new_static(
    "rbac.authorization.k8s.io",
    "v1",
    "ClusterRoleBinding",
    "clusterrolebindings",
    Scope::Cluster,
);

/// The plugin says of three tokens when they expire; a fourth is refused one day. Writes and watches
/// go on through all of it, and the plugin is called once a token.
pub(crate) async fn tokens_expire_under_writes_and_watches(env: Env) -> anyhow::Result<()> {
    let (env, server) = match env.server() {
        server::Server::Embedded(_) => {
            let (env, server) = env.with_faults().await?;
            (env, Some(server))
        }
        server::Server::Real(_) => (env, None),
    };
    let issuer = Issuer::of(&env, server.clone()).await?;
    let now = jiff::Timestamp::now().as_second();
    let at = |seconds: i64| Timestamp::from_second(now + seconds);
    let mut tokens = Vec::new();
    for said in SAID {
        tokens.push((issuer.until(at(LONG), tokens.len())?, Some(at(said))));
    }
    tokens.push((issuer.until(at(UNSAID), tokens.len())?, None));
    tokens.push((issuer.until(at(LONG), tokens.len())?, None));
    let plugin = ExecPlugin::write(&env, &tokens)?;
    let client = Client::connect(&plugin.config(env.kubeconfig())?)?;

    let mut mirror = Mirror::new(&client);
    mirror.watch([CONFIG_MAPS]).await?;
    let writing = (0..WRITERS).map(|writer| write(&client, &plugin, writer, tokens.len()));
    let written: usize = try_join_all(writing).await?.into_iter().sum();
    ensure!(plugin.calls()? == tokens.len(), "{} calls", plugin.calls()?);

    // Watches that are opened now need a token too: the last one does.
    if let Some(server) = server {
        server.faults().cut_watches();
    }
    mirror.watch([NAMESPACES]).await?;
    eventually(SOON, "the informers show what was written", async || {
        mirror.is_current().await
    })
    .await?;
    let seen = mirror.versions(&CONFIG_MAPS);
    let seen = seen.keys().filter(|key| key.name().starts_with("written-"));
    ensure!(seen.count() == written);
    ensure!(plugin.calls()? == tokens.len(), "{} calls", plugin.calls()?);
    Ok(())
}

/// Writes until the plugin has been called so often, and a little longer. No write may fail.
async fn write(
    client: &Client,
    plugin: &ExecPlugin,
    writer: usize,
    calls: usize,
) -> anyhow::Result<usize> {
    let api = client.dynamic(CONFIG_MAPS, Some("default"));
    let (mut written, mut left) = (0, LAST);
    poll::until(SOON, "the plugin is called for each token", async || {
        let object: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": format!("written-{writer}-{written}")}
        }))?;
        api.create(&object, &WriteOptions::default()).await?;
        written += 1;
        left -= usize::from(plugin.calls()? >= calls);
        Ok((left == 0).then_some(written))
    })
    .await
}

/// Who makes tokens that the server takes.
enum Issuer {
    Embedded(Server),
    Real {
        account: Box<DynamicObject>,
        key: String,
    },
}

impl Issuer {
    async fn of(env: &Env, embedded: Option<Server>) -> anyhow::Result<Self> {
        let real = match (embedded, env.server()) {
            (Some(server), _) => return Ok(Self::Embedded(server)),
            (None, server::Server::Real(real)) => real,
            (None, server::Server::Embedded(_)) => anyhow::bail!("in another process"),
        };
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "roving"}
        });
        let account = env.create(&ACCOUNTS, Some("default"), account).await?;
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "roving"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"
            },
            "subjects": [{"kind": "ServiceAccount", "name": "roving", "namespace": "default"}],
        });
        env.create(&BINDINGS, None, binding).await?;
        Ok(Self::Real {
            account: Box::new(account),
            key: fs::read_to_string(real.account_key())?,
        })
    }

    fn until(&self, end: Timestamp, number: usize) -> anyhow::Result<String> {
        match self {
            Self::Embedded(server) => {
                let token = format!("token-{number}");
                server
                    .tokens()
                    .add(token.clone(), Identity::admin(), Some(end));
                Ok(token)
            }
            Self::Real { account, key } => account_token::until(account, key, end),
        }
    }
}
