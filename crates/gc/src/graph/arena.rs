/// Marks "no entry" in the links between entries.
pub(crate) const NONE: u32 = u32::MAX;

/// A slab of `T` addressed by `u32`, which tells a reused place from the entry that was there before.
///
/// Entries link to each other by bare index, which is safe because the graph unlinks an entry
/// before it removes it. What leaves the graph carries the generation too, so a handle that
/// waited in a queue for too long resolves to nothing instead of to a stranger.
#[derive(Debug)]
pub(crate) struct Arena<T> {
    slots: Vec<Slot<T>>,
    first_free: u32,
    len: usize,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    state: State<T>,
}

#[derive(Debug)]
enum State<T> {
    Full(T),
    Free { next: u32 },
}

impl<T> Arena<T> {
    pub(crate) fn new() -> Self {
        Self {
            slots: Vec::new(),
            first_free: NONE,
            len: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn insert(&mut self, value: T) -> u32 {
        self.len += 1;
        if let Some(slot) = self.slots.get_mut(self.first_free as usize)
            && let State::Free { next } = slot.state
        {
            slot.state = State::Full(value);
            return std::mem::replace(&mut self.first_free, next);
        }
        // A graph of 2^32 objects does not fit into memory long before it fits here.
        let index = u32::try_from(self.slots.len()).unwrap_or(NONE);
        assert_ne!(index, NONE, "the graph is full");
        if self.slots.len() == self.slots.capacity() {
            // By an eighth: doubling would leave up to half of the largest allocation empty.
            self.slots.reserve_exact((self.slots.len() / 8).max(16));
        }
        self.slots.push(Slot {
            generation: 0,
            state: State::Full(value),
        });
        index
    }

    pub(crate) fn remove(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let free = State::Free {
            next: self.first_free,
        };
        if let State::Full(_) = std::mem::replace(&mut slot.state, free) {
            slot.generation = slot.generation.wrapping_add(1);
            self.first_free = index;
            self.len -= 1;
        } else {
            unreachable!("an entry is removed once");
        }
    }

    /// The generation of a present entry, for a handle.
    pub(crate) fn generation(&self, index: u32) -> u32 {
        self.slots[index as usize].generation
    }

    /// The index behind a handle, if its entry is still the one that the handle was made for.
    pub(crate) fn resolve(&self, index: u32, generation: u32) -> Option<u32> {
        let slot = self.slots.get(index as usize)?;
        let same = slot.generation == generation && matches!(slot.state, State::Full(_));
        same.then_some(index)
    }

    pub(crate) fn contains(&self, index: u32) -> bool {
        let slot = self.slots.get(index as usize);
        slot.is_some_and(|slot| matches!(slot.state, State::Full(_)))
    }

    pub(crate) fn indices(&self) -> impl Iterator<Item = u32> {
        let full = |(index, slot): (usize, &Slot<T>)| {
            matches!(slot.state, State::Full(_)).then_some(index as u32)
        };
        self.slots.iter().enumerate().filter_map(full)
    }

    /// Bytes that the slab itself has allocated.
    pub(crate) fn allocated(&self) -> usize {
        self.slots.capacity() * size_of::<Slot<T>>()
    }
}

impl<T> std::ops::Index<u32> for Arena<T> {
    type Output = T;

    fn index(&self, index: u32) -> &T {
        match &self.slots[index as usize].state {
            State::Full(value) => value,
            State::Free { .. } => unreachable!("links lead to present entries"),
        }
    }
}

impl<T> std::ops::IndexMut<u32> for Arena<T> {
    fn index_mut(&mut self, index: u32) -> &mut T {
        match &mut self.slots[index as usize].state {
            State::Full(value) => value,
            State::Free { .. } => unreachable!("links lead to present entries"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_by_an_eighth() {
        let mut arena = Arena::new();
        let mut sizes = std::collections::BTreeSet::new();
        for n in 0..100_000_usize {
            arena.insert(n);
            sizes.insert(arena.allocated());
            let used = (n + 1) * size_of::<Slot<usize>>();
            let spare = (used / 8).max(16 * size_of::<Slot<usize>>());
            let allocated = arena.allocated();
            assert!((used..=used + spare).contains(&allocated), "{n}");
        }
        assert!(sizes.len() < 80, "{} times", sizes.len());
    }

    #[test]
    fn a_reused_place_does_not_answer_to_the_old_handle() {
        let mut arena = Arena::new();
        let first = arena.insert("a");
        let old = arena.generation(first);
        arena.remove(first);
        assert_eq!(arena.resolve(first, old), None);
        let second = arena.insert("b");
        assert_eq!((second, arena.len()), (first, 1));
        assert_eq!(arena.resolve(first, old), None);
        assert_eq!(
            arena.resolve(second, arena.generation(second)),
            Some(second)
        );
        assert_eq!(arena.indices().collect::<Vec<_>>(), [second]);
    }
}
