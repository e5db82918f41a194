//! Two servers that are told the same, and the informers that watch them.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Context;
use evenkeel_client::{Client, Discovery, Error};
use evenkeel_e2e::comparison::{Known, differences};
use evenkeel_e2e::eventually;
use evenkeel_e2e::mirror::{Contents, Mirror};
use evenkeel_meta::{ApiResource, GroupVersionKind, ObjectKey, Scope};
use serde_json::Value;

use super::changes::{Item, Write};

const SOON: Duration = Duration::from_secs(60);

/// How many differences a failure shows.
const SHOWN: usize = 30;

/// One server.
struct Side {
    name: &'static str,
    client: Client,
    mirror: Mirror,
}

/// The servers, and what of them is compared.
pub(super) struct Both {
    real: Side,
    embedded: Side,
    /// What both serve.
    served: Vec<ApiResource>,
    /// What the real one had in it from the beginning and the embedded one had not.
    bootstrap: BTreeSet<(ApiResource, ObjectKey)>,
    known: &'static [Known],
    /// What the real one creates for itself later: a plural, and how the keys begin.
    its_own: &'static [(&'static str, &'static str)],
}

impl Both {
    /// Watches everything that the embedded server serves, on both.
    pub(super) async fn watch(
        real: &Client,
        embedded: &Client,
        known: &'static [Known],
        its_own: &'static [(&'static str, &'static str)],
    ) -> anyhow::Result<Self> {
        let side = |name, client: &Client| Side {
            name,
            client: client.clone(),
            mirror: Mirror::new(client),
        };
        let mut both = Self {
            real: side("the real server", real),
            embedded: side("the embedded server", embedded),
            served: Vec::new(),
            bootstrap: BTreeSet::new(),
            known,
            its_own,
        };
        both.watch_what_is_served().await?;
        let embedded = both.embedded.mirror.contents()?;
        let real = both.real.mirror.contents()?;
        let only_real = real.into_keys().filter(|key| !embedded.contains_key(key));
        both.bootstrap = only_real.collect();
        Ok(both)
    }

    /// Watches what has come to be served since.
    pub(super) async fn watch_what_is_served(&mut self) -> anyhow::Result<()> {
        let embedded = self.embedded.client.discover().await?;
        self.served = watchable(&embedded).collect();
        for side in [&mut self.real, &mut self.embedded] {
            let watching = side.mirror.watch(self.served.iter().cloned()).await;
            watching.context(side.name)?;
        }
        Ok(())
    }

    /// The resource of an object's kind, if it is served.
    pub(super) fn place(&self, value: Value) -> Result<Item, Value> {
        let text = |name: &str| value[name].as_str().unwrap_or_default();
        let kind = GroupVersionKind::from_api_version(text("apiVersion"), text("kind"));
        let found = self.served.iter().find(|resource| {
            resource.group == kind.group
                && resource.version == kind.version
                && resource.kind == kind.kind
        });
        let Some(resource) = found.cloned() else {
            return Err(value);
        };
        let text = |name: &str| value["metadata"][name].as_str().map(str::to_owned);
        let namespace = text("namespace").unwrap_or_else(|| "default".to_owned());
        Ok(Item {
            namespace: (resource.scope == Scope::Namespaced).then_some(namespace),
            name: text("name").unwrap_or_default(),
            resource,
            value,
        })
    }

    /// Does the same to the object on both servers. A kind that was just defined may not be
    /// served yet.
    pub(super) async fn write(&self, item: &Item, write: &Write) -> anyhow::Result<()> {
        let one = async |side: &Side| {
            let what = format!("{} {} on {}", item.resource.plural, item.name, side.name);
            let mut refused = None;
            let writing = eventually(SOON, &what, async || {
                match write.run(&side.client, item).await {
                    Err(error) if is_missing(&error) && matches!(write, Write::Apply(..)) => {
                        Err(error)
                    }
                    Err(error) => {
                        refused = Some(error);
                        Ok(Ok(()))
                    }
                    Ok(()) => Ok(Ok(())),
                }
            });
            writing.await?;
            match refused {
                Some(error) => Err(error).context(side.name),
                None => Ok(()),
            }
        };
        tokio::try_join!(one(&self.real), one(&self.embedded))?;
        Ok(())
    }

    /// Waits until the informers of either show what it holds, and both hold the same.
    pub(super) async fn settle(&self, after: &str) -> anyhow::Result<()> {
        let what = format!("both servers and their informers hold the same, {after}");
        eventually(SOON, &what, async || {
            for side in [&self.real, &self.embedded] {
                if let Err(reason) = side.mirror.is_current().await.context(side.name)? {
                    return Ok(Err(format!("{}: {reason}", side.name)));
                }
            }
            let whole = [&self.real, &self.embedded].map(|side| side.mirror.contents());
            let [real, embedded] = whole;
            let mut found = self.compare(real?, &embedded?);
            let typed = [&self.real, &self.embedded].map(|side| side.mirror.typed_contents());
            let [real, embedded] = typed;
            found.extend(self.compare(real, &embedded));
            let count = found.len();
            found.truncate(SHOWN);
            let shown = found.join("\n");
            Ok(if count == 0 {
                Ok(())
            } else {
                Err(format!("{count} differences (left: real):\n{shown}"))
            })
        })
        .await
    }

    /// How many objects are compared.
    pub(super) fn compared(&self) -> anyhow::Result<usize> {
        let mut real = self.real.mirror.contents()?;
        real.retain(|key, _| self.is_compared(key));
        Ok(real.len())
    }

    fn compare(&self, mut real: Contents, embedded: &Contents) -> Vec<String> {
        real.retain(|key, _| self.is_compared(key));
        differences(&real, embedded, self.known)
    }

    fn is_compared(&self, at: &(ApiResource, ObjectKey)) -> bool {
        let (resource, key) = at;
        let key = key.to_string();
        let own =
            |(plural, prefix): &(&str, &str)| resource.plural == *plural && key.starts_with(prefix);
        !self.bootstrap.contains(at) && !self.its_own.iter().any(own)
    }
}

fn watchable(discovery: &Discovery) -> impl Iterator<Item = ApiResource> {
    let usable = discovery
        .resources
        .iter()
        .filter(|found| found.can("list") && found.can("watch"));
    usable.map(|found| found.api_resource.clone())
}

fn is_missing(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<Error>()
        .is_some_and(Error::is_not_found)
}
