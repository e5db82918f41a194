use std::sync::Arc;

use evenkeel_client::{Client, Error, ListOptions};
use evenkeel_meta::{ApiResource, Scope};
use futures_util::{StreamExt, stream};

use crate::driver::{Kinds, deletable, ignored_by_default, look_up};
use crate::error::WorkError;
use crate::graph::{Graph, Work};

/// How many kinds are listed, and owners looked up, at once.
const AT_ONCE: usize = 8;

/// The owner graph of a cluster at one moment, read without a collector and without a change.
///
/// ```
/// # use evenkeel_client::Client;
/// # use evenkeel_gc::Snapshot;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), evenkeel_client::Error> {
/// # let client = Client::from_service(evenkeel_apiserver::Server::new());
/// let snapshot = Snapshot::read(&client, Some("default")).await?;
/// println!("{}", snapshot.graph.export(&[]).to_json());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Snapshot {
    /// What was read. Owners that no list shows have been looked up.
    pub graph: Graph,
    /// What could not be read, and so is missing, or is shown as virtual though it may be there.
    pub gaps: Vec<Gap>,
}

/// Something that could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Gap {
    /// A part of the discovery.
    #[error("cannot find out what is served in {group_version}")]
    Discovery {
        /// Such as `metrics.k8s.io/v1beta1`.
        group_version: String,
    },
    /// All objects of a kind.
    #[error("cannot list {resource}: {error}")]
    List {
        /// The kind.
        resource: ApiResource,
        /// Why.
        error: Error,
    },
    /// One owner.
    #[error("cannot look {kind} {name} up: {error}")]
    Owner {
        /// Its kind as references write it.
        kind: String,
        /// Its name.
        name: String,
        /// Why.
        error: String,
    },
}

impl Snapshot {
    /// Reads the metadata of all objects that a collector would watch: one list a kind, eight at
    /// once, and one GET for each owner that no list shows.
    ///
    /// With a namespace, what is in other namespaces is left out.
    ///
    /// # Errors
    ///
    /// The server does not tell what it serves. All else that fails is a [`Gap`].
    ///
    /// # Cancel safety
    ///
    /// Dropping it gives the reading up.
    pub async fn read(client: &Client, namespace: Option<&str>) -> Result<Self, Error> {
        let discovery = client.discover().await?;
        let kinds = Kinds::default();
        kinds.update(&discovery);
        let mut graph = Graph::new();
        for resource in kinds.all() {
            graph.kind(
                &resource.api_version(),
                &resource.kind,
                Some(resource.scope),
            );
        }
        let mut gaps: Vec<Gap> = discovery
            .failures
            .iter()
            .map(|failure| Gap::Discovery {
                group_version: failure.group_version.clone(),
            })
            .collect();
        let watched = deletable(&discovery, &ignored_by_default());
        let mut lists = stream::iter(watched)
            .map(|resource| list(client, resource, namespace))
            .buffer_unordered(AT_ONCE);
        while let Some((resource, listed)) = lists.next().await {
            let kind = graph.kind(
                &resource.api_version(),
                &resource.kind,
                Some(resource.scope),
            );
            match listed {
                Ok(objects) => objects.iter().for_each(|meta| graph.observe(kind, meta)),
                Err(error) => gaps.push(Gap::List { resource, error }),
            }
        }
        look_all_up(client, &kinds, &mut graph, &mut gaps).await;
        Ok(Self { graph, gaps })
    }
}

async fn list(
    client: &Client,
    resource: ApiResource,
    namespace: Option<&str>,
) -> (ApiResource, Result<Vec<evenkeel_meta::PackedMeta>, Error>) {
    let namespace = namespace.filter(|_| resource.scope == Scope::Namespaced);
    let listed = client
        .metadata(resource.clone(), namespace)
        .list(&ListOptions::default())
        .await;
    let objects = listed.map(|list| {
        let broken = list.undecodable.into_iter();
        let broken = broken.map(|broken| Arc::unwrap_or_clone(broken.metadata));
        let objects = list.items.into_iter().chain(broken);
        objects.map(|object| object.metadata).collect()
    });
    (resource, objects)
}

async fn look_all_up(client: &Client, kinds: &Kinds, graph: &mut Graph, gaps: &mut Vec<Gap>) {
    let mut claims: Vec<_> = graph
        .take_work()
        .into_iter()
        .filter_map(|work| match work {
            Work::Verify(claim) => Some(claim),
            _ => None,
        })
        .collect();
    claims.sort_unstable();
    claims.dedup();
    let wanted: Vec<_> = claims
        .into_iter()
        .filter_map(|claim| Some((claim, graph.lookup(claim)?)))
        .collect();
    let mut answers = stream::iter(wanted)
        .map(async |(claim, lookup)| {
            let answer = look_up(client, kinds, &lookup).await;
            (claim, lookup, answer)
        })
        .buffer_unordered(AT_ONCE);
    while let Some((claim, lookup, answer)) = answers.next().await {
        match answer {
            Ok(verdict) => graph.verified(claim, verdict),
            // What nobody can look up is drawn as such, and not a failure to read.
            Err(WorkError::NotServed { .. }) => {}
            Err(error) => gaps.push(Gap::Owner {
                kind: lookup.kind,
                name: lookup.name,
                error: error.to_string(),
            }),
        }
    }
}
