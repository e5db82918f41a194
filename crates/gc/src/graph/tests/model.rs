//! A model API server: objects, finalizers, preconditions, and the events that it sends.

use std::collections::BTreeMap;

use evenkeel_meta::{Meta, OwnerReference, PropagationPolicy, Timestamp};

pub(crate) type Uid = u32;

/// The kinds of the model. `Alias` is another served version of `Map`; `Unserved` is no kind
/// at all; `Broken` can be read one by one, but never listed or watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Type {
    Map,
    Secret,
    Node,
    Broken,
    Alias,
    Unserved,
}

impl Type {
    pub(crate) const WATCHED: [Self; 3] = [Self::Map, Self::Secret, Self::Node];

    pub(crate) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Map => ("v1", "ConfigMap"),
            Self::Secret => ("v1", "Secret"),
            Self::Node => ("v1", "Node"),
            Self::Broken => ("x.io/v1", "Broken"),
            Self::Alias => ("v1beta1", "ConfigMap"),
            Self::Unserved => ("nope.io/v1", "Nope"),
        }
    }

    pub(crate) fn from_names(api_version: &str, kind: &str) -> Self {
        let all = [
            Self::Map,
            Self::Secret,
            Self::Node,
            Self::Broken,
            Self::Alias,
            Self::Unserved,
        ];
        let same = |candidate: &Self| candidate.names() == (api_version, kind);
        all.into_iter().find(same).unwrap()
    }

    pub(crate) fn is_namespaced(self) -> bool {
        self != Self::Node
    }

    /// The kind under which the server stores it.
    fn stored(self) -> Option<Self> {
        match self {
            Self::Alias => Some(Self::Map),
            Self::Unserved => None,
            other => Some(other),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) kind: Type,
    pub(crate) name: &'static str,
    pub(crate) uid: Uid,
    pub(crate) block: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) kind: Type,
    pub(crate) namespace: Option<&'static str>,
    pub(crate) name: &'static str,
    pub(crate) uid: Uid,
    pub(crate) version: u64,
    pub(crate) terminating: bool,
    pub(crate) finalizers: Vec<&'static str>,
    pub(crate) owners: Vec<Reference>,
}

impl Stored {
    pub(crate) fn is_orphaning(&self) -> bool {
        self.terminating && self.finalizers.contains(&"orphan")
    }

    pub(crate) fn is_deleting_dependents(&self) -> bool {
        self.terminating && self.finalizers.contains(&"foregroundDeletion") && !self.is_orphaning()
    }

    pub(crate) fn meta(&self) -> Meta {
        let owner = |reference: &Reference| {
            let (api_version, kind) = reference.kind.names();
            OwnerReference {
                api_version: api_version.into(),
                kind: kind.into(),
                name: reference.name.to_owned(),
                uid: uid_text(reference.uid).into(),
                controller: None,
                block_owner_deletion: Some(reference.block),
            }
        };
        Meta {
            name: self.name.to_owned(),
            namespace: self.namespace.map(str::to_owned),
            uid: Some(uid_text(self.uid).into()),
            resource_version: Some(self.version.into()),
            deletion_timestamp: self.terminating.then(|| Timestamp::from_second(1)),
            finalizers: self
                .finalizers
                .iter()
                .map(|&text| text.to_owned())
                .collect(),
            owner_references: self.owners.iter().map(owner).collect(),
            ..Meta::default()
        }
    }
}

pub(crate) fn uid_text(uid: Uid) -> String {
    format!("00000000-0000-4000-8000-{uid:012x}")
}

pub(crate) fn uid_number(text: &str) -> Uid {
    Uid::from_str_radix(text.rsplit('-').next().unwrap(), 16).unwrap()
}

/// What a live lookup of a reference finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Solid,
    Waiting,
    Absent,
    Unresolvable,
    Unserved,
}

#[derive(Clone, Debug)]
pub(crate) enum Event {
    Shown(Stored),
    Deleted(Stored),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    NotFound,
    Conflict,
}

/// The server.
#[derive(Debug, Default)]
pub(crate) struct World {
    objects: BTreeMap<Uid, Stored>,
    revision: u64,
    /// One log a kind, from which informers read.
    pub(crate) log: BTreeMap<Type, Vec<Event>>,
    /// Who has ever been deleted in foreground: deleting their dependents is never wrong.
    pub(crate) ever_waiting: Vec<Uid>,
    /// Who has ever been deleted with the wish to keep its dependents.
    pub(crate) ever_orphaned: Vec<Uid>,
}

impl World {
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Stored> {
        self.objects.values()
    }

    /// The same state for a naive collector, which needs no past.
    pub(crate) fn copy(&self) -> Self {
        Self {
            objects: self.objects.clone(),
            revision: self.revision,
            log: BTreeMap::new(),
            ever_waiting: self.ever_waiting.clone(),
            ever_orphaned: self.ever_orphaned.clone(),
        }
    }

    pub(crate) fn get(&self, uid: Uid) -> Option<&Stored> {
        self.objects.get(&uid)
    }

    pub(crate) fn is_visible(&self, stored: &Stored) -> bool {
        Type::WATCHED.contains(&stored.kind)
    }

    pub(crate) fn by_name(
        &self,
        kind: Type,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<&Stored> {
        let kind = kind.stored()?;
        let namespace = namespace.filter(|_| kind.is_namespaced());
        self.objects().find(|stored| {
            stored.kind == kind && stored.namespace == namespace && stored.name == name
        })
    }

    pub(crate) fn find(&self, dependent: &Stored, reference: &Reference) -> Found {
        self.find_in(
            dependent.namespace,
            reference.kind,
            reference.name,
            reference.uid,
        )
    }

    pub(crate) fn find_in(
        &self,
        namespace: Option<&str>,
        kind: Type,
        name: &str,
        uid: Uid,
    ) -> Found {
        if kind.stored().is_none() {
            return Found::Unserved;
        }
        if namespace.is_none() && kind.is_namespaced() {
            return Found::Unresolvable;
        }
        match self.by_name(kind, namespace, name) {
            Some(owner) if owner.uid == uid && owner.is_deleting_dependents() => Found::Waiting,
            Some(owner) if owner.uid == uid => Found::Solid,
            _ => Found::Absent,
        }
    }

    pub(crate) fn create(&mut self, mut stored: Stored) {
        if self
            .by_name(stored.kind, stored.namespace, stored.name)
            .is_some()
        {
            return;
        }
        self.revision += 1;
        stored.version = self.revision;
        self.push(Event::Shown(stored.clone()));
        self.objects.insert(stored.uid, stored);
    }

    fn push(&mut self, event: Event) {
        let (Event::Shown(stored) | Event::Deleted(stored)) = &event;
        self.log.entry(stored.kind).or_default().push(event);
    }

    /// Every write goes through here; an object with nothing left to wait for goes.
    pub(crate) fn update(&mut self, uid: Uid, change: impl FnOnce(&mut Stored)) {
        let Some(stored) = self.objects.get_mut(&uid) else {
            return;
        };
        let before = stored.clone();
        change(stored);
        if *stored == before {
            return;
        }
        self.revision += 1;
        stored.version = self.revision;
        let stored = stored.clone();
        if stored.is_deleting_dependents() && !self.ever_waiting.contains(&uid) {
            self.ever_waiting.push(uid);
        }
        if stored.is_orphaning() && !self.ever_orphaned.contains(&uid) {
            self.ever_orphaned.push(uid);
        }
        if stored.terminating && stored.finalizers.is_empty() {
            self.objects.remove(&uid);
            self.push(Event::Deleted(stored));
        } else {
            self.push(Event::Shown(stored));
        }
    }

    /// A write that changes nothing that the collector looks at.
    pub(crate) fn bump(&mut self, uid: Uid) {
        self.update(uid, |stored| stored.version = 0);
    }

    pub(crate) fn delete(&mut self, uid: Uid, policy: PropagationPolicy) {
        self.update(uid, |stored| {
            stored
                .finalizers
                .retain(|f| !matches!(*f, "orphan" | "foregroundDeletion"));
            match policy {
                PropagationPolicy::Background => {}
                PropagationPolicy::Foreground => stored.finalizers.push("foregroundDeletion"),
                PropagationPolicy::Orphan => stored.finalizers.push("orphan"),
            }
            stored.terminating = true;
        });
    }

    /// The policy as the collector chooses it (G35, G36).
    pub(crate) fn delete_as_collector(&mut self, uid: Uid, waited_for: bool) {
        let Some(stored) = self.get(uid) else { return };
        let policy = if stored.finalizers.contains(&"orphan") {
            PropagationPolicy::Orphan
        } else if waited_for || stored.finalizers.contains(&"foregroundDeletion") {
            PropagationPolicy::Foreground
        } else {
            PropagationPolicy::Background
        };
        self.delete(uid, policy);
    }

    pub(crate) fn set_owners(&mut self, uid: Uid, owners: Vec<Reference>) {
        self.update(uid, |stored| stored.owners = owners);
    }

    pub(crate) fn unblock_all(&mut self, uid: Uid) {
        self.update(uid, |stored| {
            for owner in &mut stored.owners {
                owner.block = false;
            }
        });
    }

    pub(crate) fn remove_finalizer(&mut self, uid: Uid, finalizer: &str) {
        self.update(uid, |stored| {
            stored.finalizers.retain(|other| *other != finalizer);
        });
    }

    /// Whether deleting the object now is what its owners say: none holds it.
    pub(crate) fn may_collect(&self, uid: Uid) -> bool {
        self.get(uid).is_none_or(|stored| {
            stored.terminating
                || !stored.owners.is_empty()
                    && stored.owners.iter().all(|owner| {
                        self.find(stored, owner) == Found::Absent
                            || self.ever_waiting.contains(&owner.uid)
                    })
        })
    }

    /// What has to be the same in the end: which objects stay, and by which references. Not the
    /// versions, nor what blocks whom, nor whether a reference to what is gone or going has been
    /// cleared away.
    pub(crate) fn describe(&self) -> BTreeMap<Uid, String> {
        let line = |stored: &Stored| {
            let holds = |owner: &&Reference| {
                let going = self.get(owner.uid).is_some_and(|owner| owner.terminating);
                !going && self.find(stored, owner) == Found::Solid
            };
            let owner =
                |owner: &Reference| format!("{:?}/{}#{}", owner.kind, owner.name, owner.uid);
            let owners: Vec<String> = stored.owners.iter().filter(holds).map(owner).collect();
            let namespace = stored.namespace.unwrap_or_default();
            format!(
                "{:?}/{namespace}/{} owners={owners:?}",
                stored.kind, stored.name
            )
        };
        self.objects()
            .filter(|stored| !stored.terminating)
            .map(|stored| (stored.uid, line(stored)))
            .collect()
    }
}
