use std::hash::{BuildHasher, Hash};

use evenkeel_meta::Scope;
use hashbrown::{DefaultHashBuilder, Equivalent, HashTable};

use super::arena::Arena;

/// Values that many nodes and claims share, each stored once, counted, and freed with its last user.
#[derive(Debug)]
pub(crate) struct Interner<T> {
    entries: Arena<Counted<T>>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

#[derive(Debug)]
struct Counted<T> {
    value: T,
    users: u32,
}

impl<T: Hash + Eq> Interner<T> {
    pub(crate) fn new() -> Self {
        Self {
            entries: Arena::new(),
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }

    pub(crate) fn find<Q: Hash + Equivalent<T> + ?Sized>(&self, value: &Q) -> Option<u32> {
        let hash = self.hasher.hash_one(value);
        let same = |&symbol: &u32| value.equivalent(&self.entries[symbol].value);
        self.index.find(hash, same).copied()
    }

    /// The symbol of `value`, for one more user.
    pub(crate) fn acquire<Q>(&mut self, value: &Q, make: impl FnOnce() -> T) -> u32
    where
        Q: Hash + Equivalent<T> + ?Sized,
    {
        if let Some(symbol) = self.find(value) {
            self.entries[symbol].users += 1;
            return symbol;
        }
        let hash = self.hasher.hash_one(value);
        let value = make();
        let symbol = self.entries.insert(Counted { value, users: 1 });
        let (entries, hasher) = (&self.entries, &self.hasher);
        let rehash = |&symbol: &u32| hasher.hash_one(&entries[symbol].value);
        self.index.insert_unique(hash, symbol, rehash);
        symbol
    }

    /// One user more of a value that is there.
    pub(crate) fn share(&mut self, symbol: u32) {
        self.entries[symbol].users += 1;
    }

    /// One user less.
    pub(crate) fn release(&mut self, symbol: u32) {
        let entry = &mut self.entries[symbol];
        entry.users -= 1;
        if entry.users > 0 {
            return;
        }
        let hash = self.hasher.hash_one(&entry.value);
        if let Ok(found) = self.index.find_entry(hash, |&other| other == symbol) {
            found.remove();
        }
        self.entries.remove(symbol);
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    #[cfg(test)]
    pub(crate) fn users(&self, symbol: u32) -> u32 {
        self.entries[symbol].users
    }
}

impl<T> std::ops::Index<u32> for Interner<T> {
    type Output = T;

    fn index(&self, symbol: u32) -> &T {
        &self.entries[symbol].value
    }
}

impl<T> std::ops::IndexMut<u32> for Interner<T> {
    /// For what the hash does not cover.
    fn index_mut(&mut self, symbol: u32) -> &mut T {
        &mut self.entries[symbol].value
    }
}

/// A kind as references write it, with the scope where discovery has told it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) api_version: Box<str>,
    pub(crate) kind: Box<str>,
    pub(crate) scope: Option<Scope>,
}

/// The borrowed form of a [`Kind`]'s identity.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct KindName<'a> {
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
}

impl Kind {
    pub(crate) fn name(&self) -> KindName<'_> {
        KindName {
            api_version: &self.api_version,
            kind: &self.kind,
        }
    }
}

impl Hash for Kind {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl Equivalent<Kind> for KindName<'_> {
    fn equivalent(&self, kind: &Kind) -> bool {
        *self == kind.name()
    }
}

impl From<KindName<'_>> for Kind {
    fn from(name: KindName<'_>) -> Self {
        Self {
            api_version: name.api_version.into(),
            kind: name.kind.into(),
            scope: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shared_and_freed_with_their_last_user() {
        let mut names: Interner<Box<str>> = Interner::new();
        let a = names.acquire("a", || "a".into());
        assert_eq!(names.acquire("a", || unreachable!()), a);
        let b = names.acquire("b", || "b".into());
        assert_ne!(a, b);
        names.release(a);
        assert_eq!(names.find("a"), Some(a));
        names.release(a);
        assert_eq!((names.find("a"), names.len()), (None, 1));
        assert_eq!(&*names[b], "b");
    }
}
