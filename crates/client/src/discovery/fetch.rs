use futures_util::StreamExt;
use http::{HeaderValue, Method};
use serde::de::DeserializeOwned;

use super::plain::{CoreVersions, Group, GroupVersion, ResourceList, group_version};
use super::{DiscoveredResource, Discovery, DiscoveryFailure, aggregated, plain};
use crate::client::{Client, Outgoing, Subject};
use crate::error::{DecodeError, Result};
use crate::transport::Lane;

const AGGREGATED: HeaderValue = HeaderValue::from_static(
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
);
const PLAIN: HeaderValue = HeaderValue::from_static("application/json");
/// How many group versions are asked for at once.
const AT_ONCE: usize = 16;

impl Client {
    /// Asks what the server serves: in two requests where it knows aggregated discovery, in
    /// one for each group version where it does not.
    ///
    /// # Errors
    ///
    /// Only if nothing at all can be found out. A group version that fails is listed in
    /// [`Discovery::failures`].
    pub async fn discover(&self) -> Result<Discovery> {
        let mut discovery = Discovery::default();
        let mut versions = Vec::new();
        match self.ask("/api", AGGREGATED).await {
            Ok(Answer::Aggregated(list)) => list.add_to(&mut discovery),
            Ok(Answer::Plain(body)) => {
                let core: CoreVersions = read("/api", &body)?;
                let core = core.versions.into_iter();
                versions.extend(core.enumerate().map(|(at, version)| Wanted {
                    group: String::new(),
                    version,
                    preferred: at == 0,
                }));
            }
            // A server that only extends another one has no core group.
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
        match self.ask("/apis", AGGREGATED).await? {
            Answer::Aggregated(list) => {
                self.fetch_versions(versions, &mut discovery).await;
                list.add_to(&mut discovery);
            }
            Answer::Plain(body) => {
                let list: plain::GroupList = read("/apis", &body)?;
                versions.extend(list.groups.into_iter().flat_map(wanted));
                self.fetch_versions(versions, &mut discovery).await;
            }
        }
        Ok(discovery)
    }

    /// Asks for each version, several at a time, and keeps their order.
    async fn fetch_versions(&self, versions: Vec<Wanted>, discovery: &mut Discovery) {
        let mut answers = futures_util::stream::iter(versions)
            .map(|wanted| async move {
                let resources = self.fetch_version(&wanted).await;
                (wanted, resources)
            })
            .buffered(AT_ONCE);
        while let Some((wanted, answer)) = answers.next().await {
            match answer {
                Ok(resources) => discovery.resources.extend(resources),
                Err(error) => discovery.failures.push(DiscoveryFailure {
                    group_version: group_version(&wanted.group, &wanted.version),
                    error: Some(error),
                    place: discovery.resources.len(),
                    preferred: wanted.preferred,
                }),
            }
        }
    }

    /// Asks once more for what failed and may have come back, and puts what it gets in its place.
    pub(super) async fn discover_failures(&self, discovery: &mut Discovery) {
        let failures = std::mem::take(&mut discovery.failures);
        let mut answers = futures_util::stream::iter(failures)
            .map(|failure| async move {
                if !failure.may_pass() {
                    return (failure, None);
                }
                let wanted = Wanted::from(&failure);
                let answer = self.fetch_version(&wanted).await;
                (failure, Some(answer))
            })
            .buffered(AT_ONCE);
        let mut added = 0;
        while let Some((mut failure, answer)) = answers.next().await {
            failure.place += added;
            match answer {
                Some(Ok(resources)) => {
                    added += resources.len();
                    let place = failure.place..failure.place;
                    discovery.resources.splice(place, resources);
                }
                Some(Err(error)) => {
                    failure.error = Some(error);
                    discovery.failures.push(failure);
                }
                None => discovery.failures.push(failure),
            }
        }
    }

    async fn fetch_version(&self, wanted: &Wanted) -> Result<Vec<DiscoveredResource>> {
        let path = match wanted.group.as_str() {
            "" => format!("/api/{}", wanted.version),
            group => format!("/apis/{group}/{}", wanted.version),
        };
        let list: ResourceList = match self.ask(&path, PLAIN).await? {
            Answer::Plain(body) => read(&path, &body)?,
            Answer::Aggregated(_) => {
                let what = format!("the answer to request {path}");
                return Err(DecodeError::new(what, "it is aggregated").into());
            }
        };
        Ok(list.found(&wanted.group, &wanted.version, wanted.preferred))
    }

    async fn ask(&self, path: &str, accept: HeaderValue) -> Result<Answer> {
        let subject = Subject::path(path);
        let request =
            Outgoing::new(Lane::List, Method::GET, path.to_owned(), subject).accept(accept);
        let (head, body) = self.fetch(&request).await?.into_parts();
        // The type of the answer tells the form, not the status.
        let is_aggregated = head
            .headers
            .get(http::header::CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .is_some_and(|kind| kind.contains("as=APIGroupDiscoveryList"));
        if is_aggregated {
            Ok(Answer::Aggregated(read(path, &body)?))
        } else {
            Ok(Answer::Plain(body))
        }
    }
}

enum Answer {
    Aggregated(aggregated::GroupList),
    Plain(bytes::Bytes),
}

struct Wanted {
    group: String,
    version: String,
    preferred: bool,
}

impl From<&DiscoveryFailure> for Wanted {
    fn from(failure: &DiscoveryFailure) -> Self {
        let version = failure.group_version.rsplit('/').next();
        Self {
            group: failure.group().to_owned(),
            version: version.unwrap_or_default().to_owned(),
            preferred: failure.preferred,
        }
    }
}

/// The versions of a group, the preferred one first.
fn wanted(group: Group) -> Vec<Wanted> {
    let Group {
        name,
        versions,
        preferred_version,
    } = group;
    let preferred = match preferred_version {
        Some(GroupVersion { version }) => version,
        None => versions
            .first()
            .map(|v| v.version.clone())
            .unwrap_or_default(),
    };
    let mut wanted: Vec<_> = versions
        .into_iter()
        .map(|GroupVersion { version }| Wanted {
            group: name.clone(),
            preferred: version == preferred,
            version,
        })
        .collect();
    wanted.sort_by_key(|wanted| !wanted.preferred);
    wanted
}

fn read<T: DeserializeOwned>(path: &str, body: &[u8]) -> Result<T> {
    serde_json::from_slice(body)
        .map_err(|error| DecodeError::new(format!("the answer to request {path}"), &error).into())
}
