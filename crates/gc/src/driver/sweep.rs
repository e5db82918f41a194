use std::sync::Arc;

use evenkeel_client::{Client, Error as ClientError, ListOptions};
use evenkeel_meta::{ApiResource, MetaView, Metadata, Scope, Uid};
use evenkeel_store::MetadataView;
use futures_util::{StreamExt, stream};
use hashbrown::{HashMap, HashSet};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::{Duration, Instant};

/// How many kinds are listed at once.
const LISTED_AT_ONCE: usize = 8;
/// For how long a kind that cannot be listed holds up the owners whose dependents may be of it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Finds the dependents of orphaning owners on the server (G41): informers show them late, and
/// what is not released before its owner goes is collected by whoever comes next.
///
/// Versions of one resource say nothing about another's, so no store can tell by itself that it
/// has seen enough; the most recent list of each kind can. One look at a namespace serves all
/// owners that asked before it began.
#[derive(Default)]
pub(crate) struct Sweeps {
    watched: Mutex<Vec<MetadataView>>,
    places: Mutex<HashMap<Option<String>, Arc<Place>>>,
    failing_since: Mutex<HashMap<ApiResource, Instant>>,
}

/// A namespace, or all of them for cluster-scoped owners.
struct Place {
    turn: Semaphore,
    asked: Mutex<HashSet<Uid>>,
    answers: Mutex<HashMap<Uid, Vec<Dependent>>>,
}

/// An object that names an owner, as the server has it.
#[derive(Clone)]
pub(crate) struct Dependent {
    pub(crate) resource: ApiResource,
    pub(crate) object: Metadata,
}

impl Sweeps {
    /// Takes over what is watched now.
    pub(crate) fn watch(&self, watched: Vec<MetadataView>) {
        *self.watched.lock() = watched;
    }

    /// The objects that name `owner` among their owners: all that were made before this call.
    ///
    /// # Errors
    ///
    /// A kind could not be listed. One that never could, or for half a minute could not, is left
    /// out instead: it must not hold up everything else.
    pub(crate) async fn dependents_of(
        &self,
        client: &Client,
        owner: &Uid,
        namespace: Option<&str>,
    ) -> Result<Vec<Dependent>, ClientError> {
        let place = self.place(namespace);
        place.asked.lock().insert(owner.clone());
        let answer = self.answer(&place, client, owner, namespace).await;
        let mut places = self.places.lock();
        if Arc::strong_count(&place) == 2 {
            places.remove(&namespace.map(str::to_owned));
        }
        answer
    }

    fn place(&self, namespace: Option<&str>) -> Arc<Place> {
        let mut places = self.places.lock();
        let place = places.entry(namespace.map(str::to_owned));
        Arc::clone(place.or_insert_with(|| {
            Arc::new(Place {
                turn: Semaphore::new(1),
                asked: Mutex::default(),
                answers: Mutex::default(),
            })
        }))
    }

    async fn answer(
        &self,
        place: &Place,
        client: &Client,
        owner: &Uid,
        namespace: Option<&str>,
    ) -> Result<Vec<Dependent>, ClientError> {
        // It is never closed.
        let _turn = place.turn.acquire().await;
        if let Some(found) = place.answers.lock().remove(owner) {
            return Ok(found);
        }
        let mut owners = std::mem::take(&mut *place.asked.lock());
        owners.insert(owner.clone());
        let mut found = self.look(client, namespace, &owners).await?;
        let own = found.remove(owner).unwrap_or_default();
        owners.remove(owner);
        *place.answers.lock() = owners
            .into_iter()
            .map(|other| {
                let dependents = found.remove(&other).unwrap_or_default();
                (other, dependents)
            })
            .collect();
        Ok(own)
    }

    async fn look(
        &self,
        client: &Client,
        namespace: Option<&str>,
        owners: &HashSet<Uid>,
    ) -> Result<HashMap<Uid, Vec<Dependent>>, ClientError> {
        // A namespaced owner has its dependents in its own namespace.
        let is_wanted = |view: &&MetadataView| {
            namespace.is_none() || view.resource().scope == Scope::Namespaced
        };
        let views: Vec<MetadataView> = {
            let watched = self.watched.lock();
            watched.iter().filter(is_wanted).cloned().collect()
        };
        let mut lists = stream::iter(views)
            .map(|view| self.list(client, namespace, owners, view))
            .buffer_unordered(LISTED_AT_ONCE);
        let mut found: HashMap<Uid, Vec<Dependent>> = HashMap::new();
        while let Some(listed) = lists.next().await {
            for (owner, dependent) in listed? {
                found.entry(owner).or_default().push(dependent);
            }
        }
        Ok(found)
    }

    async fn list(
        &self,
        client: &Client,
        namespace: Option<&str>,
        owners: &HashSet<Uid>,
        view: MetadataView,
    ) -> Result<Vec<(Uid, Dependent)>, ClientError> {
        let resource = view.resource();
        let error = match list(client, resource, namespace, owners).await {
            Ok(found) => {
                self.failing_since.lock().remove(resource);
                return Ok(found);
            }
            Err(error) => error,
        };
        let now = Instant::now();
        let mut failing = self.failing_since.lock();
        let since = *failing.entry(resource.clone()).or_insert(now);
        if error.is_not_found() || !view.has_synced() || now.duration_since(since) >= PATIENCE {
            tracing::warn!(%resource, %error, "cannot be listed: orphans of this kind may be missed");
            return Ok(Vec::new());
        }
        Err(error)
    }
}

/// Page by page, so that only what is wanted is ever held.
async fn list(
    client: &Client,
    resource: &ApiResource,
    namespace: Option<&str>,
    owners: &HashSet<Uid>,
) -> Result<Vec<(Uid, Dependent)>, ClientError> {
    let api = client.metadata(resource.clone(), namespace);
    let mut found = Vec::new();
    let mut options = ListOptions::default();
    loop {
        let page = api.list_page(&options).await?;
        let undecodable = page.undecodable.iter().map(|broken| &*broken.metadata);
        for object in page.items.iter().chain(undecodable) {
            let mut named: Vec<Uid> = Vec::new();
            for reference in object.metadata.owners() {
                let uid = Uid::from(reference.uid);
                if owners.contains(&uid) && !named.contains(&uid) {
                    named.push(uid);
                }
            }
            found.extend(named.into_iter().map(|owner| {
                let (resource, object) = (resource.clone(), object.clone());
                (owner, Dependent { resource, object })
            }));
        }
        if page.info.continue_token.is_empty() {
            return Ok(found);
        }
        options = options.continue_from(page.info.continue_token);
    }
}
