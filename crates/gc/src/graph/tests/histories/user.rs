//! What users do between collections.

use evenkeel_meta::PropagationPolicy;
use fastrand::Rng;

use super::super::model::{Reference, Stored, Type, Uid, World};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const NAMESPACES: [&str; 2] = ["m", "n"];

pub(crate) struct User {
    last_uid: Uid,
    /// Every object that ever was, for references to what is gone.
    known: Vec<(Uid, Type, &'static str, Option<&'static str>)>,
}

impl User {
    pub(crate) fn new() -> Self {
        Self {
            last_uid: 0,
            known: Vec::new(),
        }
    }

    pub(crate) fn act(&mut self, world: &mut World, rng: &mut Rng) {
        match rng.u8(..12) {
            0..=4 => self.create(world, rng),
            5..=7 => {
                let policies = [
                    PropagationPolicy::Background,
                    PropagationPolicy::Foreground,
                    PropagationPolicy::Orphan,
                ];
                if let Some(uid) = any(world, rng) {
                    world.delete(uid, *rng.choice(&policies).unwrap());
                }
            }
            8..=9 => {
                if let Some(uid) = any(world, rng) {
                    let stored = world.get(uid).unwrap();
                    let owners = self.references(stored.namespace, stored.uid, rng);
                    world.set_owners(uid, owners);
                }
            }
            10 => {
                if let Some(uid) = any(world, rng) {
                    world.remove_finalizer(uid, "example.com/f");
                }
            }
            _ => touch(world, rng),
        }
    }

    fn create(&mut self, world: &mut World, rng: &mut Rng) {
        self.last_uid += 1;
        let kind = *rng
            .choice(&[Type::Map, Type::Map, Type::Secret, Type::Node, Type::Broken])
            .unwrap();
        let namespace = kind
            .is_namespaced()
            .then(|| *rng.choice(&NAMESPACES).unwrap());
        let name = *rng.choice(&NAMES).unwrap();
        let finalizers = match rng.u8(..12) {
            0 => vec!["example.com/f"],
            1 => vec!["orphan"],
            2 => vec!["foregroundDeletion"],
            _ => vec![],
        };
        let owners = self.references(namespace, self.last_uid, rng);
        world.create(Stored {
            kind,
            namespace,
            name,
            uid: self.last_uid,
            version: 0,
            terminating: false,
            finalizers,
            owners,
        });
        if world.get(self.last_uid).is_some() {
            self.known.push((self.last_uid, kind, name, namespace));
        }
    }

    /// Mostly right references, some to what is gone, some wrong in one way or another.
    fn references(
        &self,
        namespace: Option<&'static str>,
        own: Uid,
        rng: &mut Rng,
    ) -> Vec<Reference> {
        let mut references: Vec<Reference> = Vec::new();
        for _ in 0..*rng.choice(&[0, 1, 1, 1, 2, 2, 3]).unwrap() {
            let near: Vec<_> = self
                .known
                .iter()
                .filter(|(.., other)| other.is_none() || *other == namespace)
                .collect();
            let Some((uid, kind, name, _)) = (match rng.u8(..10) {
                0 => rng.choice(&self.known),
                _ => rng.choice(near),
            }) else {
                continue;
            };
            let mut reference = Reference {
                kind: *kind,
                name,
                uid: *uid,
                block: rng.bool(),
            };
            match rng.u8(..20) {
                0 => reference.kind = Type::Secret,
                1 => reference.name = "z",
                2 => reference.kind = Type::Unserved,
                3 | 4 if reference.kind == Type::Map => reference.kind = Type::Alias,
                5 => reference.uid = own,
                6 => reference.uid = 900_000 + own,
                _ => {}
            }
            if !references.contains(&reference) {
                references.push(reference);
            }
        }
        references
    }
}

/// A change that means nothing to the collector.
pub(crate) fn touch(world: &mut World, rng: &mut Rng) {
    if let Some(uid) = any(world, rng) {
        world.bump(uid);
    }
}

fn any(world: &World, rng: &mut Rng) -> Option<Uid> {
    let uids: Vec<Uid> = world.objects().map(|stored| stored.uid).collect();
    rng.choice(uids)
}
