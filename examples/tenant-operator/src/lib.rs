//! An operator of tenants: a [`Tenant`], which is in no namespace itself, becomes namespaces, and in each of them
//! a NetworkPolicy, a ResourceQuota, a LimitRange and RoleBindings.
//!
//! What is in it that an operator of one's own will need too:
//!
//! - an owner of the whole cluster whose parts are in namespaces: references in that direction hold;
//! - server-side apply ([`parts`] are whole configurations): what is no longer in a configuration goes, what others
//!   have set stays, and what they have set differently is taken back, with their names in an event;
//! - a name that somebody else has: told in the status ([`status`]), never taken over, tried again when it is free;
//! - parts that are not wanted any more, found by their owner reference and not by a list of what once was;
//! - a finalizer that waits until the namespaces are gone, which takes as long as what is in them;
//! - nothing sent for nothing, although server-side apply leaves no difference to compare.
//!
//! # Rules
//!
//! - A namespace is the tenant's if its controller reference names the tenant by UID. The tenant makes
//!   its namespaces itself; there is no way to give it one that was there before. Who takes the
//!   reference away takes the namespace out of the tenant.
//! - A namespace that is taken out of the spec is deleted with all that is in it.
//! - Inside, the names `tenant` and `tenant-ROLE` are the operator's, whoever has made what is
//!   there, unless another controller controls it.
//! - Access comes last: RoleBindings are made when policy, quota and limits are in place.
//!
//! # To run it
//!
//! ```console
//! $ cargo run -- apiserver &                      # these three not for a cluster
//! $ export KUBECONFIG=$PWD/.evenkeel/kubeconfig
//! $ cargo run -- controller-manager &
//! $ cargo run -p tenant-operator &
//! $ kubectl apply -f examples/tenant-operator/acme.yaml
//! $ kubectl get tenants,namespaces
//! ```
//!
//! In a cluster it needs to be allowed all verbs on what it makes, and `bind` for the roles that it gives.

mod api;
mod applied;
pub mod parts;
mod reconciler;
mod round;
pub mod status;

pub use api::{Member, MemberKind, NamespaceStatus, Phase, Role, Tenant, TenantSpec, TenantStatus};
pub use reconciler::{FINALIZER, Tenants, install};
