use std::sync::Arc;

use evenkeel::client::{Error, ListOptions};
use evenkeel::meta::{LabelSelector, MetaView, ObjectKey, Uid};
use evenkeel::store::{Index, InformerOptions, Store};
use evenkeel::{
    BoxError, Clock, Context, Controller, Manager, ObjectReconciler, Outcome, ReconcileError,
    ReconcileResult, Watch, changed,
};
use k8s_openapi::api::core::v1::{LimitRange, Namespace, ResourceQuota};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::rbac::v1::RoleBinding;

use crate::api::{NamespaceStatus, Phase, Tenant};
use crate::applied::{Applied, Left};
use crate::parts::{self, MANAGED_BY};
use crate::round::{self, Failure, Round};
use crate::status;

/// A tenant has it as long as there may be namespaces of its.
pub const FINALIZER: &str = "example.evenkeel.dev/namespaces";

/// Makes the namespaces of tenants and what is in them, and keeps them as they should be.
#[derive(Debug)]
pub struct Tenants {
    namespaces: Store<Namespace>,
    policies: Store<NetworkPolicy>,
    quotas: Store<ResourceQuota>,
    limits: Store<LimitRange>,
    bindings: Store<RoleBinding>,
    applied: Applied,
    clock: Clock,
}

/// Adds the operator to a Manager, whose client must have a field manager.
///
/// # Errors
/// There is a controller named `tenant` already.
pub fn install(manager: &mut Manager, clock: Clock) -> Result<(), BoxError> {
    let tenants = manager.watch::<Tenant>();
    // All of them: one that is not ours may have the name that a tenant asks for.
    let namespaces = manager.watch::<Namespace>();
    let ours = InformerOptions::default().labels(&LabelSelector::from_labels([MANAGED_BY]));
    let policies = manager.informers().typed::<NetworkPolicy>(ours.clone());
    let quotas = manager.informers().typed::<ResourceQuota>(ours.clone());
    let limits = manager.informers().typed::<LimitRange>(ours.clone());
    let bindings = manager.informers().typed::<RoleBinding>(ours);
    namespaces.add_index(Index::controller_uid())?;
    policies.add_index(Index::controller_uid())?;
    quotas.add_index(Index::controller_uid())?;
    limits.add_index(Index::controller_uid())?;
    bindings.add_index(Index::controller_uid())?;
    let by_namespace = Index::new("namespace", |tenant: &Tenant| {
        tenant.spec.namespaces.clone()
    });
    tenants.add_index(by_namespace.clone())?;

    let reconciler = Tenants {
        namespaces: namespaces.store().clone(),
        policies: policies.store().clone(),
        quotas: quotas.store().clone(),
        limits: limits.store().clone(),
        bindings: bindings.store().clone(),
        applied: Applied::default(),
        clock,
    };
    // The status of a quota changes with every pod.
    let bound = changed::value(|quota: &ResourceQuota| quota.spec.clone())
        .or(changed::labels())
        .or(changed::value(|quota: &ResourceQuota| {
            quota.metadata.owner_references.clone()
        }));
    manager.add(
        Controller::builder("tenant")
            .for_(Watch::of(&tenants).when(changed::generation()))
            .owns(&namespaces)
            .owns(&policies)
            .owns(Watch::of(&quotas).when(bound))
            .owns(&limits)
            .owns(&bindings)
            // Whoever's they are: a name that was taken may be free now.
            .watches_by(&namespaces, &by_namespace, |namespace| {
                namespace.metadata.name.clone()
            })
            .concurrency(4)
            .object_reconciler(reconciler),
    )?;
    Ok(())
}

impl ObjectReconciler<Tenant> for Tenants {
    async fn reconcile(&self, context: &Context, tenant: Arc<Tenant>) -> ReconcileResult {
        if tenant.metadata.is_terminating() {
            return self.clean_up(context, &tenant).await;
        }
        // Before there is anything to clean up.
        let (tenant, _) = context.add_finalizer(&tenant, FINALIZER).await?;
        let now = self.clock.now();
        if let Err(why) = parts::check(&tenant) {
            let why_not = why.to_string();
            let refused = |tenant: &mut Tenant| {
                status::provided(tenant, Vec::new(), Some(&why_not), now);
            };
            context.write_status(&*tenant, refused).await?;
            return Err(ReconcileError::permanent(why));
        }
        let uid = Uid::from(tenant.metadata.uid().unwrap_or_default());
        let mut round = Round {
            context,
            tenant: &tenant,
            marks: parts::marks(&tenant)?,
            before: self.applied.take(&uid),
            after: Left::new(),
        };
        let mut namespaces = Vec::new();
        let provided = match self.claim(&mut round, &mut namespaces).await {
            Ok(()) => self.furnish(&mut round, &namespaces).await,
            Err(failure) => Err(failure),
        };
        self.applied.put(uid, round.after);
        let refusal = match provided {
            Ok(()) => None,
            Err(failure) => Some(failure.refusal()?),
        };
        let refused = refusal.as_deref();
        let provided =
            |tenant: &mut Tenant| status::provided(tenant, namespaces, refused, self.clock.now());
        context.write_status(&*tenant, provided).await?;
        match refusal {
            // No retry will mend what somebody wrote.
            Some(why) => Err(ReconcileError::permanent(why)),
            None => Ok(Outcome::Done),
        }
    }
}

impl Tenants {
    /// Sees to it that there are the tenant's namespaces and no more of them. Enters which there
    /// are.
    async fn claim(
        &self,
        round: &mut Round<'_>,
        all: &mut Vec<NamespaceStatus>,
    ) -> Result<(), Failure> {
        let tenant = round.tenant;
        for name in &tenant.spec.namespaces {
            let phase = match self.namespaces.get(&ObjectKey::cluster(name)) {
                None => {
                    // The one write that fails if there is such a namespace: an apply would take
                    // over what somebody else has just made.
                    let claim = parts::claim(name, &round.marks);
                    let made = round.context.create(&claim).await?;
                    let wanted = parts::namespace(&made, &round.marks);
                    round.keep(Some(&made), &wanted).await?;
                    Phase::Active
                }
                Some(there) if !is_of(&there, tenant) => Phase::Taken,
                Some(there) if there.metadata.is_terminating() => Phase::Terminating,
                Some(there) => {
                    let wanted = parts::namespace(&there, &round.marks);
                    round.keep(Some(&*there), &wanted).await?;
                    Phase::Active
                }
            };
            all.push(NamespaceStatus {
                name: name.clone(),
                phase,
            });
        }
        let names = &tenant.spec.namespaces;
        let mut own = round.own(&self.namespaces);
        own.retain(|one| !names.iter().any(|name| name == one.metadata.name()));
        all.extend(self.remove(round.context, &own).await?);
        Ok(())
    }

    /// Puts into each namespace what belongs there. Who may come in comes last, when the walls
    /// stand.
    async fn furnish(
        &self,
        round: &mut Round<'_>,
        namespaces: &[NamespaceStatus],
    ) -> Result<(), Failure> {
        let (tenant, marks) = (round.tenant, round.marks.clone());
        // Nothing can be made in one that is on its way out.
        let active = namespaces.iter().filter(|one| one.phase == Phase::Active);
        let places: Vec<String> = active.map(|one| one.name.clone()).collect();

        let wanted = places
            .iter()
            .filter_map(|place| parts::policy(place, tenant, &marks));
        round
            .keep_all(&self.policies, &places, wanted.collect())
            .await?;
        let wanted = places
            .iter()
            .filter_map(|place| parts::quota(place, tenant, &marks));
        round
            .keep_all(&self.quotas, &places, wanted.collect())
            .await?;
        let wanted = places
            .iter()
            .filter_map(|place| parts::limits(place, tenant, &marks));
        round
            .keep_all(&self.limits, &places, wanted.collect())
            .await?;

        let wanted = places
            .iter()
            .flat_map(|place| parts::bindings(place, tenant, &marks));
        let wanted: Vec<_> = wanted.collect();
        for binding in &wanted {
            let there = self.bindings.get(&binding.metadata.key());
            if let Some(there) = there.filter(|there| there.role_ref != binding.role_ref) {
                // It can be made anew and not changed.
                round::remove(round.context, &*there).await?;
            }
        }
        round.keep_all(&self.bindings, &places, wanted).await
    }

    /// Deletes namespaces, and says which were there to delete.
    async fn remove(
        &self,
        context: &Context,
        namespaces: &[Arc<Namespace>],
    ) -> Result<Vec<NamespaceStatus>, Error> {
        for namespace in namespaces {
            if !namespace.metadata.is_terminating() {
                round::remove(context, &**namespace).await?;
            }
        }
        let left = namespaces.iter().map(|namespace| NamespaceStatus {
            name: namespace.metadata.name().to_owned(),
            phase: Phase::Terminating,
        });
        Ok(left.collect())
    }

    /// Deletes the tenant's namespaces, and lets the tenant go when they are gone.
    async fn clean_up(&self, context: &Context, tenant: &Arc<Tenant>) -> ReconcileResult {
        if !tenant.metadata.has_finalizer(FINALIZER) {
            return Ok(Outcome::Done);
        }
        let uid = Uid::from(tenant.metadata.uid().unwrap_or_default());
        let own = self
            .namespaces
            .by_index(&Index::controller_uid(), uid.as_str());
        let left = self.remove(context, &own).await?;
        if !left.is_empty() {
            // Each that goes is an event.
            let now = self.clock.now();
            let leaving = |tenant: &mut Tenant| status::leaving(tenant, left, now);
            context.write_status(&**tenant, leaving).await?;
            return Ok(Outcome::Done);
        }
        // After this nobody looks again, so the store's word is not enough: what an earlier leader
        // has made last may not be in it yet. When it is, that is an event.
        let all = context.client().all::<Namespace>();
        let all = all.list(&ListOptions::default()).await?;
        if !all.items.iter().any(|one| is_of(one, tenant)) {
            context.remove_finalizer(tenant, FINALIZER).await?;
            self.applied.take(&uid);
        }
        Ok(Outcome::Done)
    }
}

/// Whether it is the tenant's: of this one, and not of a namesake that is gone.
fn is_of(namespace: &Namespace, tenant: &Tenant) -> bool {
    let owner = namespace.metadata.controller();
    owner.is_some_and(|owner| Some(owner.uid) == tenant.metadata.uid())
}
