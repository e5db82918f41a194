//! One owner, its dependents, and what happens to them.

use std::collections::VecDeque;

use evenkeel_client::WriteOptions;
use evenkeel_meta::PropagationPolicy::{self, Background, Foreground, Orphan};
use evenkeel_meta::{DeleteOptions, OwnerReference};
use fastrand::Rng;
use serde_json::json;

use super::State;
use crate::cluster::{Cluster, MAPS, Made, SECRETS, nobody};

/// What becomes of a family. Each has one right end, however the collector and the users race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Kept,
    Background,
    Foreground,
    Orphaned,
    /// Its owner never was.
    Lost,
    /// All dependents find another owner before theirs goes.
    Reowned,
    /// The owner goes and comes back under its name.
    Recreated,
}

impl Fate {
    pub(crate) const ALL: [Self; 7] = [
        Self::Kept,
        Self::Background,
        Self::Foreground,
        Self::Orphaned,
        Self::Lost,
        Self::Reowned,
        Self::Recreated,
    ];

    fn policy(self) -> Option<PropagationPolicy> {
        match self {
            Self::Kept | Self::Lost => None,
            Self::Background | Self::Reowned | Self::Recreated => Some(Background),
            Self::Foreground => Some(Foreground),
            Self::Orphaned => Some(Orphan),
        }
    }
}

/// How a dependent is bound.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bond {
    /// To the owner alone.
    Owner,
    /// To the keeper of the namespace too.
    OwnerAndKeeper,
    /// To the first dependent.
    First,
}

enum Step {
    Owner,
    Part(usize),
    Reown(usize),
    Delete(PropagationPolicy),
    Recreate,
    NewPart(usize),
}

pub(crate) struct Family {
    namespace: String,
    name: String,
    fate: Fate,
    keeper: OwnerReference,
    bonds: Vec<Bond>,
    steps: VecDeque<Step>,
    owner: Option<Made>,
    parts: Vec<Made>,
    new_parts: Vec<Made>,
}

impl Family {
    pub(crate) fn new(
        namespace: &str,
        n: usize,
        fate: Fate,
        parts: usize,
        keeper: &Made,
        rng: &mut Rng,
    ) -> Self {
        let bond = |n: usize, rng: &mut Rng| match (n, rng.u8(..5)) {
            (0, _) | (_, 0..=2) => Bond::Owner,
            (_, 3) => Bond::OwnerAndKeeper,
            _ => Bond::First,
        };
        let bonds: Vec<Bond> = (0..parts).map(|n| bond(n, rng)).collect();
        let mut steps = VecDeque::new();
        if fate != Fate::Lost {
            steps.push_back(Step::Owner);
        }
        steps.extend((0..parts).map(Step::Part));
        if fate == Fate::Reowned {
            steps.extend((0..parts).map(Step::Reown));
        }
        steps.extend(fate.policy().map(Step::Delete));
        if fate == Fate::Recreated {
            steps.push_back(Step::Recreate);
            steps.extend((0..parts).map(Step::NewPart));
        }
        Self {
            namespace: namespace.to_owned(),
            name: format!("family-{n}"),
            fate,
            keeper: keeper.owner(false),
            bonds,
            steps,
            owner: None,
            parts: Vec::new(),
            new_parts: Vec::new(),
        }
    }

    /// Does what comes next; says whether there was anything.
    pub(crate) async fn step(&mut self, cluster: &Cluster) -> bool {
        let Some(step) = self.steps.pop_front() else {
            return false;
        };
        match step {
            Step::Owner | Step::Recreate => {
                let owner = cluster.map_in(&self.namespace, &self.name, &[], &[]).await;
                self.owner = Some(owner);
            }
            Step::Part(n) => self.create_part(cluster, n).await,
            Step::Reown(n) => self.reown(cluster, n).await,
            Step::Delete(policy) => {
                let api = cluster.api(&MAPS, Some(&self.namespace));
                let options = DeleteOptions::with_policy(policy);
                api.delete(&self.name, &options).await.unwrap();
            }
            Step::NewPart(n) => {
                let owners = [self.owner_reference()];
                let name = format!("{}-new-{n}", self.name);
                let part = cluster.map_in(&self.namespace, &name, &owners, &[]).await;
                self.new_parts.push(part);
            }
        }
        true
    }

    fn owner_reference(&self) -> OwnerReference {
        match &self.owner {
            Some(owner) => owner.owner(true),
            None => nobody(),
        }
    }

    async fn create_part(&mut self, cluster: &Cluster, n: usize) {
        let owners = match self.bonds[n] {
            Bond::Owner => vec![self.owner_reference()],
            Bond::OwnerAndKeeper => vec![self.owner_reference(), self.keeper.clone()],
            Bond::First => vec![self.parts[0].owner(true)],
        };
        let resource = if n.is_multiple_of(3) { &SECRETS } else { &MAPS };
        let name = format!("{}-{n}", self.name);
        let body = json!({"metadata": {"name": name, "ownerReferences": owners}});
        let part = cluster.create(resource, Some(&self.namespace), body).await;
        self.parts.push(part);
    }

    async fn reown(&mut self, cluster: &Cluster, n: usize) {
        if self.bonds[n] == Bond::First {
            return;
        }
        let part = &self.parts[n];
        let api = cluster.api(&part.resource, Some(&self.namespace));
        let mut object = api.get(part.name()).await.unwrap();
        object.metadata.owner_references = vec![self.keeper.clone()];
        api.update(&object, &WriteOptions::default()).await.unwrap();
    }

    /// What of it should be there in the end.
    pub(crate) fn expect(&self, state: &mut State) {
        let survives = matches!(self.fate, Fate::Kept | Fate::Recreated);
        if let Some(owner) = self.owner.as_ref().filter(|_| survives) {
            state.insert(super::key(owner), Vec::new());
            for part in &self.new_parts {
                state.insert(super::key(part), vec![owner.uid()]);
            }
        }
        for (part, bond) in self.parts.iter().zip(&self.bonds) {
            if let Some(owners) = self.owners_in_the_end(*bond) {
                state.insert(super::key(part), owners);
            }
        }
    }

    /// `None` for what is collected.
    fn owners_in_the_end(&self, bond: Bond) -> Option<Vec<String>> {
        let keeper = self.keeper.uid.to_string();
        let owner = self.owner_reference().uid.to_string();
        let first = self.parts[0].uid();
        let mut owners = match (self.fate, bond) {
            (Fate::Kept, Bond::Owner) => vec![owner],
            (Fate::Kept, Bond::OwnerAndKeeper) => vec![owner, keeper],
            (Fate::Orphaned, Bond::Owner) => vec![],
            (Fate::Reowned, Bond::Owner) | (_, Bond::OwnerAndKeeper) => vec![keeper],
            (Fate::Kept | Fate::Orphaned | Fate::Reowned, Bond::First) => vec![first],
            (Fate::Background | Fate::Foreground | Fate::Lost | Fate::Recreated, _) => return None,
        };
        owners.sort();
        Some(owners)
    }
}
