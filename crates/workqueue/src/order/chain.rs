//! Doubly linked lists of ids, with the links in a vector.

use super::KEPT;
use crate::Id;

const NONE: u32 = u32::MAX;

/// The links of any number of [`Chain`]s; an id is in at most one of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Links(Vec<Link>);

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

/// The ends of one list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    first: u32,
    last: u32,
}

/// Where a new member goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    First,
    Last,
}

impl Chain {
    pub(super) const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };

    pub(super) fn is_empty(&self) -> bool {
        self.first == NONE
    }

    pub(super) fn first(&self) -> Option<Id> {
        (self.first != NONE).then_some(Id(self.first))
    }

    pub(super) fn push(&mut self, links: &mut Links, id: Id, end: End) {
        match end {
            End::First => self.push_first(links, id),
            End::Last => self.push_last(links, id),
        }
    }

    fn push_last(&mut self, links: &mut Links, id: Id) {
        *links.at(id) = Link {
            before: self.last,
            after: NONE,
        };
        match self.last {
            NONE => self.first = id.0,
            last => links.at(Id(last)).after = id.0,
        }
        self.last = id.0;
    }

    fn push_first(&mut self, links: &mut Links, id: Id) {
        *links.at(id) = Link {
            before: NONE,
            after: self.first,
        };
        match self.first {
            NONE => self.last = id.0,
            first => links.at(Id(first)).before = id.0,
        }
        self.first = id.0;
    }

    pub(super) fn remove(&mut self, links: &mut Links, id: Id) {
        let Link { before, after } = *links.at(id);
        match before {
            NONE => self.first = after,
            before => links.at(Id(before)).after = after,
        }
        match after {
            NONE => self.last = before,
            after => links.at(Id(after)).before = before,
        }
    }
}

impl Links {
    pub(super) fn shrink(&mut self) {
        if self.0.len() > KEPT {
            self.0 = Vec::new();
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    fn at(&mut self, id: Id) -> &mut Link {
        if id.index() >= self.0.len() {
            self.0.resize(
                id.index() + 1,
                Link {
                    before: NONE,
                    after: NONE,
                },
            );
        }
        &mut self.0[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_for_many_are_given_back() {
        for (count, kept) in [(10, 10), (KEPT, KEPT), (KEPT + 1, 0), (2 * KEPT, 0)] {
            let (mut chain, mut links) = (Chain::EMPTY, Links::default());
            for id in 0..count as u32 {
                chain.push(&mut links, Id(id), End::Last);
            }
            links.shrink();
            assert_eq!(links.len(), kept);
        }
    }
}
