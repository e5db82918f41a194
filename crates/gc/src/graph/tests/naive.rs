//! What should be left of a set of objects, by the plainest means: look at everything, again and
//! again, until nothing changes.

use super::model::{Found, Reference, Stored, Uid, World};

/// In which order to take what may happen in any order.
///
/// An object that an orphaning owner still holds may lose its dangling references first, and
/// stay, or be released first, and go for them. An owner in foreground deletion that something
/// else keeps alive may cease to wait before a dependent is seen, which then stays with it. Both
/// outcomes of such a race are right in any collector, and all outcomes lie between these two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bias {
    /// What may go, goes.
    Goes,
    /// What may stay, stays.
    Stays,
    /// The same where informers are behind. A dependent is released by the UID that it names, in
    /// whatever state it is by then: one that has named an orphaning owner rightly, and names it
    /// falsely since, is released with the others.
    StaysUnseen,
}

pub(crate) fn collect(world: &mut World, bias: Bias) {
    loop {
        let steps: &[fn(&mut World) -> bool] = match bias {
            Bias::Goes => &[
                |world| release(world, |found| found != Found::Absent),
                |world| judge_dependents(world, &Judge::strict(true)),
                finish_foreground,
                |world| judge_dependents(world, &Judge::strict(false)),
            ],
            Bias::Stays => &[
                give_up_waiting,
                |world| judge_dependents(world, &Judge::reluctant(false)),
                |world| judge_dependents(world, &Judge::reluctant(true)),
                release_true_ones,
                finish_foreground,
            ],
            Bias::StaysUnseen => &[
                give_up_waiting,
                |world| judge_dependents(world, &Judge::reluctant(false).by_uid()),
                |world| judge_dependents(world, &Judge::reluctant(true).by_uid()),
                release_true_ones,
                finish_foreground,
            ],
        };
        if !steps.iter().any(|step| step(world)) && !cut_circles(world) {
            return;
        }
    }
}

fn give_up_waiting(world: &mut World) -> bool {
    let waits = |uid: &Uid| {
        let held = |stored: &Stored| stored.is_deleting_dependents() && stored.finalizers.len() > 1;
        world.get(*uid).is_some_and(held)
    };
    let waiting = visible(world).into_iter().find(waits);
    if let Some(uid) = waiting {
        world.remove_finalizer(uid, "foregroundDeletion");
    }
    waiting.is_some()
}

fn visible(world: &World) -> Vec<Uid> {
    let visible = |stored: &&Stored| world.is_visible(stored);
    world
        .objects()
        .filter(visible)
        .map(|stored| stored.uid)
        .collect()
}

fn release_true_ones(world: &mut World) -> bool {
    release(world, |found| {
        matches!(found, Found::Solid | Found::Waiting)
    })
}

/// Takes the references to orphaning owners away that are found to be so.
fn release(world: &mut World, released: fn(Found) -> bool) -> bool {
    let mut changed = false;
    for owner in visible(world) {
        if !world.get(owner).is_some_and(Stored::is_orphaning) {
            continue;
        }
        for dependent in visible(world) {
            let Some(stored) = world.get(dependent).cloned() else {
                continue;
            };
            let keep = |reference: &Reference| {
                let found = world.find(&stored, reference);
                reference.uid != owner || !released(found)
            };
            let owners = stored
                .owners
                .iter()
                .filter(|owner| keep(owner))
                .cloned()
                .collect();
            world.set_owners(dependent, owners);
        }
        world.remove_finalizer(owner, "orphan");
        changed = true;
    }
    changed
}

/// One pass over all dependents: either deletes what is to go, or clears away the references
/// of what stays.
struct Judge {
    deletes: bool,
    /// Whoever was once to keep its dependents still does.
    believes_old_wishes: bool,
    /// And who is to keep them when it goes keeps those, too, that name it falsely.
    by_uid: bool,
}

impl Judge {
    fn strict(deletes: bool) -> Self {
        Self {
            deletes,
            believes_old_wishes: false,
            by_uid: false,
        }
    }

    fn reluctant(deletes: bool) -> Self {
        Self {
            deletes,
            believes_old_wishes: true,
            by_uid: false,
        }
    }

    fn by_uid(self) -> Self {
        Self {
            by_uid: true,
            ..self
        }
    }

    fn keeps(&self, world: &World, owner: Uid) -> bool {
        let will_keep = |owner: &Stored| owner.finalizers.contains(&"orphan");
        self.believes_old_wishes && world.ever_orphaned.contains(&owner)
            || self.by_uid && world.get(owner).is_some_and(will_keep)
    }

    fn find(&self, world: &World, dependent: &Stored, owner: &Reference) -> Found {
        match world.find(dependent, owner) {
            Found::Absent | Found::Waiting if self.keeps(world, owner.uid) => Found::Solid,
            found => found,
        }
    }
}

fn judge_dependents(world: &mut World, judge: &Judge) -> bool {
    for uid in visible(world) {
        let Some(stored) = world.get(uid).cloned() else {
            continue;
        };
        if stored.terminating || stored.owners.is_empty() {
            continue;
        }
        let find = |owner: &Reference| judge.find(world, &stored, owner);
        let found: Vec<Found> = stored.owners.iter().map(find).collect();
        let goes = |found: &Found| matches!(found, Found::Absent | Found::Waiting);
        let held = found
            .iter()
            .any(|found| matches!(found, Found::Solid | Found::Unresolvable));
        if !judge.deletes && held && found.iter().any(goes) {
            let owners = stored.owners.iter().zip(&found);
            let kept = owners
                .filter(|(_, found)| !goes(found))
                .map(|(owner, _)| owner.clone());
            world.set_owners(uid, kept.collect());
            return true;
        }
        if judge.deletes && found.iter().all(goes) {
            let waited_for = found.contains(&Found::Waiting) && has_dependents(world, uid);
            world.delete_as_collector(uid, waited_for);
            return true;
        }
    }
    false
}

fn finish_foreground(world: &mut World) -> bool {
    for uid in visible(world) {
        let waits = world.get(uid).is_some_and(Stored::is_deleting_dependents);
        if waits && blockers(world, uid).next().is_none() {
            world.remove_finalizer(uid, "foregroundDeletion");
            return true;
        }
    }
    false
}

/// Only when nothing else moves: what waits for itself over any number of steps.
fn cut_circles(world: &mut World) -> bool {
    for start in visible(world) {
        if !world.get(start).is_some_and(Stored::is_deleting_dependents) {
            continue;
        }
        let mut reached: Vec<Uid> = blockers(world, start).collect();
        let mut at = 0;
        while at < reached.len() {
            let uid = reached[at];
            at += 1;
            let waits = world.get(uid).is_some_and(Stored::is_deleting_dependents);
            for next in waits.then(|| blockers(world, uid)).into_iter().flatten() {
                if !reached.contains(&next) {
                    reached.push(next);
                }
            }
        }
        if reached.contains(&start) {
            world.unblock_all(start);
            return true;
        }
    }
    false
}

fn claimants(world: &World, owner: Uid) -> impl Iterator<Item = (Uid, bool)> {
    let mut claimants = Vec::new();
    for stored in world.objects().filter(|stored| world.is_visible(stored)) {
        for reference in stored
            .owners
            .iter()
            .filter(|reference| reference.uid == owner)
        {
            let found = world.find(stored, reference);
            if !matches!(found, Found::Absent | Found::Unresolvable) {
                claimants.push((stored.uid, reference.block));
            }
        }
    }
    claimants.into_iter()
}

fn blockers(world: &World, owner: Uid) -> impl Iterator<Item = Uid> {
    claimants(world, owner).filter_map(|(uid, block)| block.then_some(uid))
}

fn has_dependents(world: &World, owner: Uid) -> bool {
    claimants(world, owner).next().is_some()
}
