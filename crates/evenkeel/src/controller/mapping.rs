//! Which keys an event concerns.

use std::sync::Arc;

use evenkeel_meta::{ApiResource, MetaView, Object, ObjectKey, OwnerView, Scope};
use evenkeel_store::{Event, Index, Store};

/// Turns an event into the keys that it concerns.
pub(super) type Map<T, K> = dyn Fn(&ObjectKey, &Event<T>, &mut dyn FnMut(K)) + Send + Sync;

/// The object itself.
pub(super) fn itself<T>() -> Arc<Map<T, ObjectKey>> {
    Arc::new(|key, _, add| add(key.clone()))
}

/// What `map` says for the object, as it was and as it is (contract controller-runtime F6).
pub(super) fn objects<T: 'static, K: 'static, I: IntoIterator<Item = K>>(
    map: impl Fn(&T) -> I + Send + Sync + 'static,
) -> Arc<Map<T, K>> {
    Arc::new(move |_, event, add| {
        each_state(event, |object| map(object).into_iter().for_each(&mut *add));
    })
}

/// Its owners of one resource: all of them, or the managing controller alone.
pub(super) fn owners<T: Object + 'static>(owner: ApiResource, all: bool) -> Arc<Map<T, ObjectKey>> {
    Arc::new(move |_, event, add| {
        each_state(event, |object| {
            let meta = object.metadata();
            let owners = meta.owners();
            owners
                .filter(|reference| (all || reference.controller) && is_of(*reference, &owner))
                .for_each(|reference| add(owner_key(&owner, meta.namespace(), reference.name)));
        });
    })
}

/// The objects of `stores` that `index` finds under the values that `values` gives.
pub(super) fn indexed<T: 'static, F, I>(
    stores: Vec<Store<F>>,
    index: Index<F>,
    values: impl Fn(&T) -> I + Send + Sync + 'static,
) -> Arc<Map<T, ObjectKey>>
where
    F: Object + Send + Sync + 'static,
    I: IntoIterator,
    I::Item: AsRef<str>,
{
    Arc::new(move |_, event, add| {
        each_state(event, |object| {
            for value in values(object) {
                let found = stores
                    .iter()
                    .flat_map(|store| store.by_index(&index, value.as_ref()));
                found.for_each(|object| add(object.metadata().key()));
            }
        });
    })
}

/// The states that an event tells of. Keys that both give are added twice, which is once.
fn each_state<T>(event: &Event<T>, mut each: impl FnMut(&T)) {
    match event {
        Event::Updated { old, new } => {
            if !Arc::ptr_eq(old, new) {
                each(old);
            }
            each(new);
        }
        event => event.object().into_iter().for_each(|object| each(object)),
    }
}

/// Whether a reference is to an object of this resource, in whatever version.
fn is_of(reference: OwnerView<'_>, resource: &ApiResource) -> bool {
    let (group, version) = reference
        .api_version
        .split_once('/')
        .unwrap_or(("", reference.api_version));
    reference.kind == resource.kind && group == resource.group && !version.contains('/')
}

fn owner_key(owner: &ApiResource, namespace: Option<&str>, name: &str) -> ObjectKey {
    match owner.scope {
        Scope::Namespaced => ObjectKey::new(namespace, name),
        Scope::Cluster => ObjectKey::cluster(name),
    }
}
