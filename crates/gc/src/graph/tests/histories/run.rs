//! A collector on the model server, one random step at a time.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_meta::{DeleteOptions, MetaView};
use fastrand::Rng;

use super::super::super::{ClaimId, Graph, KindId, NodeId, Verdict, Work};
use super::super::model::{Event, Found, Refused, Stored, Type, Uid, World, uid_number, uid_text};
use super::super::naive::{self, Bias};
use super::user::{self, User};
use crate::decide::{AfterConflict, Decision, Deletion, FinalizerRemoval, Release};
use crate::patch::{OwnersChange, OwnersPatch};

/// A way in which the collector is broken, to see that it would be noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    VanishedMeansDeleted,
    NoPreconditions,
    UnservedMeansAbsent,
    LookupsForgotten,
    AnswersNotTakenOver,
}

/// A request that was decided on and has not reached the server yet.
enum Request {
    Delete(Deletion),
    Patch(OwnersPatch),
    Finish(FinalizerRemoval),
    Verify(ClaimId),
}

pub(crate) struct Run {
    rng: Rng,
    fault: Fault,
    world: World,
    user: User,
    graph: Graph,
    kinds: BTreeMap<Type, KindId>,
    informers: BTreeMap<Type, Informer>,
    pending: BTreeSet<Work>,
    in_flight: Vec<(Work, Request)>,
    /// Work that will not get anywhere before the world changes, and is tried again then.
    parked: BTreeSet<Work>,
    /// Owners that have been found waiting since users last acted.
    found_waiting: BTreeSet<ClaimId>,
    wrong: Option<String>,
}

#[derive(Default)]
struct Informer {
    position: usize,
    known: BTreeMap<Uid, Stored>,
}

impl Run {
    pub(crate) fn new(seed: u64, fault: Fault) -> Self {
        let mut run = Self {
            rng: Rng::with_seed(seed),
            fault,
            world: World::default(),
            user: User::new(),
            graph: Graph::new(),
            kinds: BTreeMap::new(),
            informers: BTreeMap::new(),
            pending: BTreeSet::new(),
            in_flight: Vec::new(),
            parked: BTreeSet::new(),
            found_waiting: BTreeSet::new(),
            wrong: None,
        };
        run.restart();
        run
    }

    /// As after a change of leader: nothing is remembered, everything is listed.
    fn restart(&mut self) {
        self.graph = Graph::new();
        for kind in Type::WATCHED {
            let (api_version, name) = kind.names();
            let scope = match kind.is_namespaced() {
                true => evenkeel_meta::Scope::Namespaced,
                false => evenkeel_meta::Scope::Cluster,
            };
            let id = self.graph.kind(api_version, name, Some(scope));
            self.kinds.insert(kind, id);
            self.informers.insert(kind, Informer::default());
        }
        self.pending.clear();
        self.in_flight.clear();
        self.parked.clear();
    }

    /// Users act, then the collector runs until it has nothing more to do.
    pub(crate) fn round(&mut self) -> Result<(), String> {
        if self.rng.u8(..4) == 0 {
            self.restart();
        }
        for _ in 0..self.rng.u8(3..25) {
            let (world, rng) = (&mut self.world, &mut self.rng);
            self.user.act(world, rng);
            if self.rng.bool() {
                self.inform();
            }
        }
        self.found_waiting.clear();
        let before = self.world.copy();
        let mut least = self.world.copy();
        naive::collect(&mut least, Bias::Goes);
        // With all caught up, hardly anything is left to chance.
        let informed = self.rng.bool();
        let mut most = self.world.copy();
        naive::collect(
            &mut most,
            match informed {
                true => Bias::Stays,
                false => Bias::StaysUnseen,
            },
        );
        while informed && !self.is_informed() {
            self.inform();
        }
        let compared = self.run_to_rest().and_then(|()| match informed {
            true => self.compare_exactly(&least, &most),
            false => self.compare(&least, &most),
        });
        compared.map_err(|error| {
            let before: Vec<&Stored> = before.objects().collect();
            format!("{error}\nbefore: {before:#?}")
        })
    }

    /// Users act while the collector runs. What is left then depends on who was first; what must
    /// never happen is a deletion of what an owner holds at that moment.
    pub(crate) fn meddle(&mut self) -> Result<(), String> {
        for _ in 0..40 {
            let (world, rng) = (&mut self.world, &mut self.rng);
            self.user.act(world, rng);
            self.found_waiting.clear();
            for _ in 0..self.rng.u8(..12) {
                self.step();
            }
            if let Some(wrong) = self.wrong.take() {
                return Err(wrong);
            }
        }
        self.run_to_rest()
    }

    fn step(&mut self) {
        match self.rng.u8(..11) {
            0..=3 => self.inform(),
            4..=7 => self.start(),
            _ => self.arrive(),
        }
    }

    fn run_to_rest(&mut self) -> Result<(), String> {
        self.pending.append(&mut self.parked);
        for _ in 0..20_000 {
            if let Some(wrong) = self.wrong.take() {
                return Err(wrong);
            }
            if self.rng.u8(..12) == 0 {
                user::touch(&mut self.world, &mut self.rng);
            }
            self.step();
            if self.is_at_rest() {
                self.graph.assert_consistent();
                let unsettled = self.graph.unsettled();
                return match unsettled.is_empty() {
                    true => Ok(()),
                    false => Err(format!("nobody works on {unsettled:?}")),
                };
            }
        }
        Err("does not come to rest".into())
    }

    fn is_at_rest(&mut self) -> bool {
        self.take_work();
        self.is_informed() && self.pending.is_empty() && self.in_flight.is_empty()
    }

    fn is_informed(&self) -> bool {
        self.informers.iter().all(|(kind, informer)| {
            informer.position == self.world.log.get(kind).map_or(0, Vec::len)
        })
    }

    fn take_work(&mut self) {
        let work = self.graph.take_work();
        let lookups_forgotten = self.fault == Fault::LookupsForgotten;
        self.pending
            .extend(work.into_iter().filter(|work| match work {
                Work::Misplaced { .. } => false,
                Work::Verify(_) => !lookups_forgotten,
                _ => true,
            }));
    }

    fn inform(&mut self) {
        let kind = *self.rng.choice(&Type::WATCHED).unwrap();
        match self.rng.u8(..8) {
            0 => self.relist(kind),
            1 => self.repeat(kind),
            _ => self.deliver(kind),
        }
    }

    fn deliver(&mut self, kind: Type) {
        let informer = self.informers.get_mut(&kind).unwrap();
        let Some(event) = self
            .world
            .log
            .get(&kind)
            .and_then(|log| log.get(informer.position))
        else {
            return;
        };
        informer.position += 1;
        match event {
            Event::Shown(stored) => {
                informer.known.insert(stored.uid, stored.clone());
                self.graph.observe(self.kinds[&kind], &stored.meta());
            }
            Event::Deleted(stored) => {
                // What was added and removed in a gap was never told to the handler.
                if informer.known.remove(&stored.uid).is_some() {
                    self.graph.deleted(&uid_text(stored.uid));
                }
            }
        }
    }

    /// The watch broke; what happened in between shows only as a difference.
    fn relist(&mut self, kind: Type) {
        let informer = self.informers.get_mut(&kind).unwrap();
        informer.position = self.world.log.get(&kind).map_or(0, Vec::len);
        let listed: BTreeMap<Uid, Stored> = self
            .world
            .objects()
            .filter(|stored| stored.kind == kind)
            .map(|stored| (stored.uid, stored.clone()))
            .collect();
        for (uid, stored) in &listed {
            if informer.known.get(uid) != Some(stored) {
                self.graph.observe(self.kinds[&kind], &stored.meta());
            }
        }
        for uid in informer
            .known
            .keys()
            .filter(|uid| !listed.contains_key(uid))
        {
            self.graph.vanished(&uid_text(*uid));
            if self.fault == Fault::VanishedMeansDeleted {
                // Broken in the other direction: it is not asked about either.
                let _ = self.graph.take_work();
            }
        }
        informer.known = listed;
    }

    fn repeat(&mut self, kind: Type) {
        let known: Vec<&Stored> = self.informers[&kind].known.values().collect();
        if let Some(stored) = self.rng.choice(known) {
            self.graph.observe(self.kinds[&kind], &stored.meta());
        }
    }

    /// A worker takes an item and decides; its request is on the way.
    fn start(&mut self) {
        self.take_work();
        let busy: BTreeSet<Work> = self.in_flight.iter().map(|(work, _)| *work).collect();
        let free: Vec<Work> = self.pending.difference(&busy).copied().collect();
        let Some(work) = self.rng.choice(free) else {
            return;
        };
        self.pending.remove(&work);
        match work {
            Work::Misplaced { .. } => {}
            Work::Verify(claim) => {
                if self.graph.lookup(claim).is_some() {
                    self.in_flight.push((work, Request::Verify(claim)));
                }
            }
            Work::Collect(node) | Work::Orphan(node) => self.decide(work, node),
        }
    }

    fn decide(&mut self, work: Work, node: NodeId) {
        let decision = self.graph.decide(node);
        let old = |claim: &&ClaimId| !self.found_waiting.contains(claim);
        let old: Vec<&ClaimId> = decision.waiting_owners().iter().filter(old).collect();
        if !old.is_empty() {
            old.into_iter().for_each(|claim| self.graph.doubt(*claim));
            return;
        }
        let request = match decision {
            Decision::Settled => return,
            Decision::Delete(deletion) => Request::Delete(deletion),
            Decision::Patch(patch) => Request::Patch(patch),
            Decision::RemoveFinalizer(removal) => Request::Finish(removal),
            Decision::Release(release) => match self.release(&release, node) {
                Some(finish) => Request::Finish(finish),
                None => {
                    self.pending.insert(work);
                    return;
                }
            },
        };
        self.in_flight.push((work, request));
    }

    /// What remains to be done once all dependents of an orphaning owner are released.
    fn release(&mut self, release: &Release, node: NodeId) -> Option<FinalizerRemoval> {
        // The wish may have been taken back; the server is asked.
        let owner = &release.finish.target;
        self.answer(uid_number(owner.uid.as_str()), owner.kind_id);
        if self.world.get(uid_number(owner.uid.as_str())).is_none() {
            self.graph.absent(owner.node, owner.kind_id);
        }
        let Decision::Release(release) = self.graph.decide(node) else {
            return None;
        };
        let patches = release.dependents.iter();
        let done: Vec<bool> = patches.map(|patch| self.patch(patch)).collect();
        if done.contains(&false) {
            return None;
        }
        self.graph.released(release.finish.target.node);
        Some(release.finish)
    }

    /// A request reaches the server, and its answer comes back, or not.
    fn arrive(&mut self) {
        if self.in_flight.is_empty() {
            return;
        }
        let at = self.rng.usize(..self.in_flight.len());
        let (work, request) = self.in_flight.swap_remove(at);
        if self.rng.u8(..16) == 0 {
            // Lost on the way.
            self.pending.insert(work);
            return;
        }
        let done = match &request {
            Request::Delete(deletion) => self.delete(deletion),
            Request::Patch(patch) => self.patch(patch),
            Request::Finish(removal) => self.finish(removal),
            Request::Verify(claim) => self.verify(*claim),
        };
        if !done {
            self.pending.insert(work);
        }
    }

    fn delete(&mut self, deletion: &Deletion) -> bool {
        let uid = uid_number(deletion.target.uid.as_str());
        let mut options = deletion.options();
        if self.fault == Fault::NoPreconditions {
            options.preconditions = None;
        }
        let mut version = deletion.target.resource_version.clone();
        let mut conflicts = 0;
        loop {
            match self.try_delete(uid, deletion, &options) {
                Ok(()) => {
                    if self.rng.u8(..16) == 0 {
                        return false;
                    }
                    self.meanwhile();
                    self.graph.accepted(deletion.target.node, &version);
                    return true;
                }
                Err(Refused::NotFound) => break,
                Err(Refused::Conflict) => conflicts += 1,
            }
            let target = &deletion.target;
            let kind = Type::from_names(&target.api_version, &target.kind);
            let Some(live) = self
                .world
                .by_name(kind, target.namespace.as_deref(), &target.name)
            else {
                break;
            };
            match deletion.after_conflict(&live.meta(), conflicts) {
                AfterConflict::Retry(retry) => {
                    options = retry;
                    version = live.version.into();
                }
                AfterConflict::Gone => break,
                AfterConflict::Stop => return false,
            }
        }
        self.graph
            .absent(deletion.target.node, deletion.target.kind_id);
        true
    }

    fn try_delete(
        &mut self,
        uid: Uid,
        deletion: &Deletion,
        options: &DeleteOptions,
    ) -> Result<(), Refused> {
        let target = &deletion.target;
        let kind = Type::from_names(&target.api_version, &target.kind);
        let live = self
            .world
            .by_name(kind, target.namespace.as_deref(), &target.name);
        let live = live.map(Stored::meta).ok_or(Refused::NotFound)?;
        let preconditions = options.preconditions.clone().unwrap_or_default();
        let wrong_uid = preconditions
            .uid
            .is_some_and(|uid| Some(uid.as_str()) != live.uid());
        let wrong_version = preconditions
            .resource_version
            .is_some_and(|version| Some(version) != live.resource_version);
        if wrong_uid || wrong_version {
            return Err(Refused::Conflict);
        }
        let live_uid = uid_number(live.uid().unwrap());
        if live_uid != uid || !self.world.may_collect(live_uid) {
            self.wrong = Some(format!("{live:?} was deleted though something holds it"));
        }
        self.world
            .delete(live_uid, options.propagation_policy.unwrap());
        Ok(())
    }

    fn patch(&mut self, patch: &OwnersPatch) -> bool {
        let uid = uid_number(patch.target.uid.as_str());
        let Some(live) = self.world.get(uid).map(Stored::meta) else {
            self.graph.absent(patch.target.node, patch.target.kind_id);
            return true;
        };
        let strategic = patch.strategic();
        let by_uid = strategic.is_some() && patch.change == OwnersChange::Remove;
        let body = strategic.unwrap_or_else(|| patch.merge());
        if !body["metadata"]["resourceVersion"].is_null()
            && live.resource_version.as_ref() != Some(&patch.target.resource_version)
        {
            return false;
        }
        let selected: BTreeSet<Uid> = patch
            .selected()
            .map(|uid| uid_number(uid.as_str()))
            .collect();
        let kept = patch.merge()["metadata"]["ownerReferences"].clone();
        self.world.update(uid, |stored| match patch.change {
            OwnersChange::Remove if by_uid => {
                stored.owners.retain(|owner| !selected.contains(&owner.uid));
            }
            OwnersChange::Remove => stored.owners.retain(|owner| {
                let (api_version, kind) = owner.kind.names();
                kept.as_array().is_some_and(|kept| {
                    kept.iter().any(|kept| {
                        kept["uid"] == uid_text(owner.uid)
                            && kept["kind"] == kind
                            && kept["apiVersion"] == api_version
                            && kept["name"] == owner.name
                    })
                })
            }),
            OwnersChange::Unblock => {
                for owner in &mut stored.owners {
                    owner.block &= !selected.contains(&owner.uid);
                }
            }
        });
        self.answer(
            uid,
            self.kinds[&Type::from_names(&patch.target.api_version, &patch.target.kind)],
        );
        self.rng.u8(..16) != 0
    }

    fn finish(&mut self, removal: &FinalizerRemoval) -> bool {
        let uid = uid_number(removal.target.uid.as_str());
        let Some(live) = self.world.get(uid) else {
            self.graph
                .absent(removal.target.node, removal.target.kind_id);
            return true;
        };
        let stale = live.meta().resource_version.as_ref() != Some(&removal.target.resource_version);
        if stale && self.rng.bool() {
            return false;
        }
        self.world.remove_finalizer(uid, removal.finalizer);
        self.meanwhile();
        self.graph
            .accepted(removal.target.node, &removal.target.resource_version);
        self.answer(uid, removal.target.kind_id);
        true
    }

    /// Informers may be faster than answers.
    fn meanwhile(&mut self) {
        for _ in 0..self.rng.u8(..4) {
            self.inform();
        }
    }

    fn answer(&mut self, uid: Uid, kind: KindId) {
        if let Some(stored) = self.world.get(uid)
            && self.fault != Fault::AnswersNotTakenOver
        {
            self.graph.written(kind, &stored.meta());
        }
    }

    fn verify(&mut self, claim: ClaimId) -> bool {
        let Some(lookup) = self.graph.lookup(claim) else {
            return true;
        };
        let kind = Type::from_names(&lookup.api_version, &lookup.kind);
        let uid = uid_number(lookup.uid.as_str());
        let found = self
            .world
            .find_in(lookup.namespace.as_deref(), kind, &lookup.name, uid);
        if found == Found::Waiting {
            self.found_waiting.insert(claim);
        }
        self.graph.verified(
            claim,
            match found {
                Found::Solid => Verdict::Alive,
                Found::Waiting => Verdict::DeletingDependents,
                Found::Absent => Verdict::Absent,
                Found::Unresolvable => Verdict::Unresolvable,
                Found::Unserved if self.fault == Fault::UnservedMeansAbsent => Verdict::Absent,
                Found::Unserved => Verdict::Unanswered,
            },
        );
        if self.graph.lookup(claim).is_some() {
            self.parked.insert(Work::Verify(claim));
        }
        true
    }

    /// Where both outcomes of every race are the same, there is only one.
    fn compare_exactly(&mut self, least: &World, most: &World) -> Result<(), String> {
        self.compare(least, most)?;
        let (least, most, actual) = (least.describe(), most.describe(), self.world.describe());
        match least == most && actual != least {
            true => Err(format!("left: {actual:#?}\nexpected: {least:#?}")),
            false => Ok(()),
        }
    }

    fn compare(&mut self, least: &World, most: &World) -> Result<(), String> {
        // Owners that no informer shows are asked about again and again.
        if !self.parked.is_empty() {
            self.run_to_rest()?;
        }
        // An owner may cease to wait before what blocks it has been seen.
        let missing: Vec<Uid> = least
            .objects()
            .filter(|stored| !stored.is_deleting_dependents())
            .map(|stored| stored.uid)
            .filter(|uid| self.world.get(*uid).is_none())
            .collect();
        let surplus: Vec<Uid> = self
            .world
            .objects()
            .filter(|stored| !stored.terminating)
            .map(|stored| stored.uid)
            .filter(|uid| most.get(*uid).is_none())
            .collect();
        match (missing.is_empty(), surplus.is_empty()) {
            (true, true) => Ok(()),
            _ => Err(format!(
                "missing {missing:?}, surplus {surplus:?}\nleft: {:#?}\nleast: {:#?}\nmost: {:#?}",
                self.world.describe(),
                least.describe(),
                most.describe()
            )),
        }
    }
}
