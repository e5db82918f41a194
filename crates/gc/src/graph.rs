//! The owner graph: who depends on whom, and what is to be done about it. Pure: no I/O, no clock.

pub(crate) mod arena;
mod decisions;
mod dot;
mod events;
mod export;
mod intern;
mod judge;
mod links;
mod node;
#[cfg(test)]
mod tests;
mod uid;

use std::collections::VecDeque;
use std::hash::BuildHasher;

use evenkeel_meta::{Scope, Uid};
use hashbrown::{DefaultHashBuilder, HashTable};

use arena::{Arena, NONE};
use intern::{Interner, Kind, KindName};
use node::{Claim, Edge, Node};
use uid::CompactUid;

use crate::decide::Target;

pub(crate) use events::{FOREGROUND_FINALIZER, ORPHAN_FINALIZER};
pub use export::{Exported, ExportedEdge, ExportedNode};
pub use node::Verdict;

/// How many released owners are remembered after they are gone, for dependents that the
/// informers show late.
const RELEASED_KEPT: usize = 4096;

/// A graph of all objects and the owners that they name, fed by informers.
///
/// It holds 150 bytes an object or less, beside its references: no object, no labels. Feed it what
/// informers and the server say ([`observe`](Self::observe), [`deleted`](Self::deleted),
/// [`vanished`](Self::vanished), [`verified`](Self::verified), ...), take what it wants done
/// from [`take_work`](Self::take_work), and ask what exactly with [`decide`](Self::decide) at
/// the time when you do it: the answer is of that moment, so work may be late, doubled or done
/// in any order.
///
/// ```
/// use evenkeel_gc::{Decision, Graph, Work};
/// use evenkeel_meta::{Meta, Scope};
///
/// let mut graph = Graph::new();
/// let maps = graph.kind("v1", "ConfigMap", Some(Scope::Namespaced));
/// let object = |json: &str| serde_json::from_str::<Meta>(json).unwrap();
/// graph.observe(maps, &object(r#"{"namespace":"n","name":"owner","uid":"1","resourceVersion":"7"}"#));
/// graph.observe(maps, &object(
///     r#"{"namespace":"n","name":"part","uid":"2","resourceVersion":"8","ownerReferences":[
///         {"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"1"}]}"#,
/// ));
/// assert!(graph.take_work().is_empty());
///
/// graph.deleted("1");
/// let [Work::Collect(part)] = graph.take_work()[..] else { panic!() };
/// let Decision::Delete(deletion) = graph.decide(part) else { panic!() };
/// assert_eq!(deletion.target.name, "part");
/// ```
#[derive(Debug)]
pub struct Graph {
    nodes: Arena<Node>,
    by_uid: HashTable<u32>,
    claims: Arena<Claim>,
    by_claim: HashTable<u32>,
    edges: Arena<Edge>,
    kinds: Interner<Kind>,
    namespaces: Interner<Box<str>>,
    hasher: DefaultHashBuilder,
    released: VecDeque<NodeId>,
    work: Vec<Work>,
}

/// A node, as a queue key: eight bytes, which name nothing once the node is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId {
    index: u32,
    generation: u32,
}

impl NodeId {
    /// Of an object that the graph does not hold.
    pub(crate) const NOWHERE: Self = Self {
        index: NONE,
        generation: 0,
    };
}

/// What references say about an owner, as a queue key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClaimId {
    index: u32,
    generation: u32,
}

/// A kind that informers observe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KindId(pub(crate) u32);

/// What the graph wants done. Doing it twice does no harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Work {
    /// Ask [`Graph::decide`] and carry the answer out.
    Collect(NodeId),
    /// The same; releasing all dependents may take long, so it is a queue of its own.
    Orphan(NodeId),
    /// Look the owner up ([`Graph::lookup`]) and report the [`Verdict`] to [`Graph::verified`].
    Verify(ClaimId),
    /// Tell the user that a reference points into another namespace ([`Graph::misplaced`]).
    Misplaced {
        /// The object with the reference.
        dependent: NodeId,
        /// What the reference says.
        claim: ClaimId,
    },
}

/// An owner to look up: by the coordinates that references give, in their namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// `group/version`, or `version` for the core group.
    pub api_version: String,
    /// The owner's kind.
    pub kind: String,
    /// The dependents' namespace; to be ignored for a cluster-scoped kind.
    pub namespace: Option<String>,
    /// The owner's name.
    pub name: String,
    /// The UID that it must have.
    pub uid: Uid,
}

/// Sizes of the graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Size {
    /// Observed objects.
    pub observed: usize,
    /// UIDs that only references name.
    pub virtual_nodes: usize,
    /// Owners that are gone, remembered for dependents that are to be kept should they show up.
    pub remembered: usize,
    /// Owner references.
    pub references: usize,
    /// Different identities that references give to owners.
    pub claims: usize,
    /// Bytes of the nodes: entries, names and index.
    pub node_bytes: usize,
    /// Bytes of the references and claims.
    pub reference_bytes: usize,
}

impl Default for Graph {
    fn default() -> Self {
        Self::new()
    }
}

impl Graph {
    /// An empty graph.
    #[must_use]
    pub fn new() -> Self {
        Self {
            nodes: Arena::new(),
            by_uid: HashTable::new(),
            claims: Arena::new(),
            by_claim: HashTable::new(),
            edges: Arena::new(),
            kinds: Interner::new(),
            namespaces: Interner::new(),
            hasher: DefaultHashBuilder::default(),
            released: VecDeque::new(),
            work: Vec::new(),
        }
    }

    /// Makes a kind known. `scope` is what discovery says, `None` where it does not know the kind.
    ///
    /// The handle stays valid for the life of the graph; asking again gives the same one.
    pub fn kind(&mut self, api_version: &str, kind: &str, scope: Option<Scope>) -> KindId {
        let name = KindName { api_version, kind };
        let symbol = self.kinds.acquire(&name, || name.into());
        self.kinds[symbol].scope = scope;
        KindId(symbol)
    }

    /// Takes everything that is to be done since the last call.
    #[must_use = "work that is dropped is not done"]
    pub fn take_work(&mut self) -> Vec<Work> {
        std::mem::take(&mut self.work)
    }

    /// What to look up for a claim: `None` when nobody needs the answer any more.
    ///
    /// Ask again after [`verified`](Self::verified): while it still answers, no informer shows
    /// the owner, and it has to be looked up again later (G39).
    #[must_use]
    pub fn lookup(&self, claim: ClaimId) -> Option<Lookup> {
        let index = self.resolve_claim(claim)?;
        self.wants_lookup(index).then(|| self.describe_claim(index))
    }

    /// The object and the reference of a [`Work::Misplaced`], unless one of them is gone.
    #[must_use]
    pub fn misplaced(&self, dependent: NodeId, claim: ClaimId) -> Option<(Target, Lookup)> {
        let dependent = self.resolve_node(dependent)?;
        let claim = self.resolve_claim(claim)?;
        let observed = self.nodes[dependent].is_observed();
        observed.then(|| (self.target(dependent), self.describe_claim(claim)))
    }

    /// Whether an informer shows the object of this UID.
    #[must_use]
    pub fn contains(&self, uid: &str) -> bool {
        self.find(&CompactUid::parse(uid))
            .is_some_and(|index| self.nodes[index].is_observed())
    }

    /// How large the graph is. Walks all nodes.
    #[must_use]
    pub fn size(&self) -> Size {
        let (mut observed, mut remembered, mut names) = (0, 0, 0);
        for index in self.nodes.indices() {
            let node = &self.nodes[index];
            names += node.name.len();
            if node.is_observed() {
                observed += 1;
            } else if node.first_claim == NONE {
                remembered += 1;
            }
        }
        Size {
            observed,
            virtual_nodes: self.nodes.len() - observed - remembered,
            remembered,
            references: self.edges.len(),
            claims: self.claims.len(),
            node_bytes: self.nodes.allocated() + self.by_uid.allocation_size() + names,
            reference_bytes: self.edges.allocated()
                + self.claims.allocated()
                + self.by_claim.allocation_size(),
        }
    }

    fn describe_claim(&self, index: u32) -> Lookup {
        let claim = &self.claims[index];
        let kind = self.kinds[claim.kind].name();
        Lookup {
            api_version: kind.api_version.to_owned(),
            kind: kind.kind.to_owned(),
            namespace: self.namespace(claim.namespace).map(str::to_owned),
            name: claim.name.to_string(),
            uid: self.nodes[claim.owner].uid.to_uid(),
        }
    }

    fn namespace(&self, symbol: u32) -> Option<&str> {
        (symbol != NONE).then(|| &*self.namespaces[symbol])
    }

    fn find(&self, uid: &CompactUid) -> Option<u32> {
        let hash = self.hasher.hash_one(uid);
        let same = |&node: &u32| self.nodes[node].uid == *uid;
        self.by_uid.find(hash, same).copied()
    }

    /// The node of this UID, observed or not.
    pub(crate) fn node_of(&self, uid: &str) -> Option<NodeId> {
        let index = self.find(&CompactUid::parse(uid))?;
        Some(self.node_id(index))
    }

    fn node_id(&self, index: u32) -> NodeId {
        let generation = self.nodes.generation(index);
        NodeId { index, generation }
    }

    fn claim_id(&self, index: u32) -> ClaimId {
        let generation = self.claims.generation(index);
        ClaimId { index, generation }
    }

    fn resolve_node(&self, id: NodeId) -> Option<u32> {
        self.nodes.resolve(id.index, id.generation)
    }

    fn resolve_claim(&self, id: ClaimId) -> Option<u32> {
        self.claims.resolve(id.index, id.generation)
    }
}
