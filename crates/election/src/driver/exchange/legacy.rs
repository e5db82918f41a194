//! Locks that are, or have been, annotations of other objects (client-go L22-L24).

use evenkeel_client::{Api, Error, WriteOptions};
use evenkeel_meta::{ApiResource, DynamicObject, Meta, TypeMeta};

use super::{LeaseError, Leases};
use crate::lease::Beside;
use crate::machine::Operation;
use crate::{Lease, LeaseRecord, lock};

type Legacy = Api<DynamicObject>;

impl Leases {
    /// Reads the Lease, and what the legacy lock says.
    pub(super) async fn get_after(&self, legacy: &Legacy) -> Result<Lease, LeaseError> {
        let record = match legacy.get(&self.name).await {
            Ok(object) => lock::read(&object)?,
            Err(error) if error.is_not_found() => LeaseRecord::default(),
            Err(error) => return Err(error.into()),
        };
        let lease = match self.request_lease(Operation::Get).await {
            Err(LeaseError::Client(error))
                if error.is_not_found() && record != LeaseRecord::default() =>
            {
                // A Lease without a version: there is none yet.
                let namespace = self.api.namespace().unwrap_or_default();
                Lease::new(namespace, &self.name, LeaseRecord::default())
            }
            lease => lease?,
        };
        Ok(lease.with_beside(Beside::Legacy(Box::new(record))))
    }

    pub(super) async fn request_legacy(
        &self,
        legacy: &Legacy,
        operation: Operation,
    ) -> Result<Lease, LeaseError> {
        let object = match operation {
            Operation::Get => legacy.get(&self.name).await?,
            Operation::Create(lease) => create(legacy, &lease).await?,
            Operation::Update(lease) => update(legacy, &lease).await?,
        };
        let record = lock::read(&object)?;
        Ok(Lease::of_legacy(object, record, Beside::Nothing))
    }

    /// The legacy object first, then the Lease; either failing, the attempt has failed
    /// (client-go L23).
    ///
    /// Stricter than the old releases, which tolerate a legacy object that has appeared since
    /// it was missed, and write over a Lease whose holder they have not seen: a candidate of the
    /// next step may have taken either in the meantime. Both writes are compare-and-swap here.
    pub(super) async fn request_both(
        &self,
        legacy: &Legacy,
        operation: Operation,
    ) -> Result<Lease, LeaseError> {
        let (object, lease) = match operation {
            Operation::Get => (legacy.get(&self.name).await?, self.lease_of_pair().await?),
            Operation::Create(state) => {
                let object = create(legacy, &state).await?;
                let created = self.request_lease(Operation::Create(state)).await?;
                (object, Some(created))
            }
            Operation::Update(state) => {
                let object = update(legacy, &state).await?;
                let operation = self.second_write(&state);
                (object, Some(self.request_lease(operation).await?))
            }
        };
        let record = lock::read(&object)?;
        let joined = match &lease {
            Some(lease) => lock::joined(&record, &lease.record),
            None => record,
        };
        let beside = Beside::Lease(lease.map(Box::new));
        Ok(Lease::of_legacy(object, joined, beside))
    }

    async fn lease_of_pair(&self) -> Result<Option<Lease>, LeaseError> {
        match self.request_lease(Operation::Get).await {
            Ok(lease) => Ok(Some(lease)),
            Err(LeaseError::Client(error)) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The Lease of a pair whose legacy object has just been written.
    fn second_write(&self, state: &Lease) -> Operation {
        match state.beside() {
            Beside::Lease(Some(lease)) => {
                let record = LeaseRecord {
                    rest: lease.record.rest.clone(),
                    ..state.record.clone()
                };
                Operation::Update(Box::new(lease.with_record(record)))
            }
            _ => {
                let namespace = self.api.namespace().unwrap_or_default();
                let lease = Lease::new(namespace, &self.name, state.record.clone());
                Operation::Create(Box::new(lease))
            }
        }
    }
}

async fn create(legacy: &Legacy, state: &Lease) -> Result<DynamicObject, LeaseError> {
    let mut object = DynamicObject {
        types: types(legacy.resource()),
        metadata: Meta {
            namespace: state.metadata().namespace.clone(),
            name: state.metadata().name.clone(),
            labels: state.metadata().labels.clone(),
            ..Meta::default()
        },
        ..DynamicObject::default()
    };
    lock::write(&mut object, &state.record)?;
    Ok(legacy.create(&object, &WriteOptions::default()).await?)
}

async fn update(legacy: &Legacy, state: &Lease) -> Result<DynamicObject, LeaseError> {
    let mut object = state.object().clone();
    object.types = types(legacy.resource());
    lock::write(&mut object, &state.record)?;
    let options = WriteOptions::default();
    let result: Result<DynamicObject, Error> = legacy.update(&object, &options).await;
    Ok(result?)
}

fn types(resource: &ApiResource) -> TypeMeta {
    TypeMeta {
        api_version: resource.api_version().into_owned(),
        kind: resource.kind.clone().into_owned(),
    }
}
