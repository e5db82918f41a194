mod legacy;

use evenkeel_client::{
    Api, Client, Error, TransportErrorKind, WatchOptions, WatchStream, WriteOptions,
};
use evenkeel_meta::DynamicObject;
use futures_util::future::BoxFuture;

use crate::lease::LEASES;
use crate::machine::{Candidate, Failure, Operation};
use crate::{FenceExpired, Lease, Lock, MalformedLease};

/// One lock on the server: a Lease, a legacy object, or both.
#[derive(Clone, Debug)]
pub(super) struct Leases {
    api: Api<DynamicObject>,
    legacy: Option<Api<DynamicObject>>,
    lock: Lock,
    name: String,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum LeaseError {
    #[error(transparent)]
    Client(#[from] Error),
    #[error(transparent)]
    Malformed(#[from] MalformedLease),
}

impl Leases {
    pub(super) fn new(client: &Client, candidate: &Candidate, lock: Lock) -> Self {
        let namespace = Some(&*candidate.namespace);
        let legacy = lock.legacy();
        Self {
            api: client.dynamic(LEASES, namespace),
            legacy: legacy.map(|legacy| client.dynamic(legacy.resource(), namespace)),
            lock,
            name: candidate.name.clone(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether a watch of the Lease shows the whole state of the lock.
    pub(super) fn can_watch(&self) -> bool {
        matches!(self.lock, Lock::Lease | Lock::LeaseAfter(_))
    }

    pub(super) fn carry_out(
        &self,
        operation: Operation,
    ) -> BoxFuture<'static, Result<Lease, Failure>> {
        let leases = self.clone();
        let is_read = operation == Operation::Get;
        Box::pin(async move {
            let result = leases.request(operation).await;
            result.map_err(|error| {
                let failure = classify(&error);
                report(&leases, is_read, failure, &error);
                failure
            })
        })
    }

    async fn request(&self, operation: Operation) -> Result<Lease, LeaseError> {
        match (self.lock, &self.legacy) {
            (Lock::LeaseAfter(_), Some(legacy)) if operation == Operation::Get => {
                self.get_after(legacy).await
            }
            (Lock::Legacy(_), Some(legacy)) => self.request_legacy(legacy, operation).await,
            (Lock::Both(_), Some(legacy)) => self.request_both(legacy, operation).await,
            _ => self.request_lease(operation).await,
        }
    }

    pub(super) async fn request_lease(&self, operation: Operation) -> Result<Lease, LeaseError> {
        let options = WriteOptions::default();
        let object = match operation {
            Operation::Get => self.api.get(&self.name).await?,
            Operation::Create(lease) => self.api.create(&lease.into_object(), &options).await?,
            Operation::Update(lease) => self.api.update(&lease.into_object(), &options).await?,
        };
        Ok(Lease::from_object(object)?)
    }

    /// A watch of this Lease alone, beginning with its present state.
    pub(super) fn watch(&self) -> BoxFuture<'static, Result<WatchStream<DynamicObject>, Error>> {
        let leases = self.clone();
        Box::pin(async move {
            let selector = format!("metadata.name={}", leases.name);
            leases
                .api
                .watch(&WatchOptions::default().fields(&selector))
                .await
        })
    }
}

/// What a failed request tells about the Lease. When in doubt, a write may have happened.
fn classify(error: &LeaseError) -> Failure {
    let error = match error {
        LeaseError::Client(error) => error,
        // The server did what it was asked, but what it answers is no Lease.
        LeaseError::Malformed(_) => return Failure::Unanswered,
    };
    if error.is_not_found() {
        return Failure::NotFound;
    }
    if error.is_conflict() || error.is_already_exists() {
        return Failure::Conflict;
    }
    match error {
        Error::Api(status) if (400..500).contains(&status.code) && status.code != 408 => {
            Failure::Rejected
        }
        Error::Encode(_) | Error::Request(_) | Error::Credential(_) => Failure::Rejected,
        Error::Transport(error) => match error.kind() {
            TransportErrorKind::Refused
            | TransportErrorKind::Dns
            | TransportErrorKind::Tls
            | TransportErrorKind::Connect
            | TransportErrorKind::Request => Failure::Rejected,
            _ => Failure::Unanswered,
        },
        _ => Failure::Unanswered,
    }
}

fn report(leases: &Leases, is_read: bool, failure: Failure, error: &LeaseError) {
    let namespace = leases.api.namespace().unwrap_or_default();
    let name = &leases.name;
    if FenceExpired::find(error).is_some() {
        // The election's own writes must not wait for the election.
        tracing::error!(namespace, name, %error, "the election was given a fenced client");
    } else if matches!(failure, Failure::Rejected | Failure::Unanswered)
        // There may be no Lease yet; but if one cannot be created, there is no namespace.
        || failure == Failure::NotFound && !is_read
    {
        tracing::warn!(namespace, name, %error, "request for the lease failed");
    } else {
        tracing::debug!(namespace, name, %error, "request for the lease failed");
    }
}
