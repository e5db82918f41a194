use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

fn contents(trie: &Trie<u32, u32>) -> HashMap<u32, u32> {
    trie.iter().map(|(k, v)| (*k, *v)).collect()
}

fn differences(old: &Trie<u32, u32>, new: &Trie<u32, u32>) -> Vec<(u32, Option<u32>, Option<u32>)> {
    let mut found = Vec::new();
    old.diff(
        new,
        |a, b| a == b,
        |difference| {
            found.push(match difference {
                Difference::Removed(k, old) => (*k, Some(*old), None),
                Difference::Added(k, new) => (*k, None, Some(*new)),
                Difference::Changed(k, old, new) => (*k, Some(*old), Some(*new)),
            });
        },
    );
    found.sort_unstable();
    found
}

#[test]
fn a_clone_does_not_see_later_writes() {
    let mut trie = Trie::with_seed(7);
    for n in 0..1000 {
        trie.insert(n, n);
    }
    let before = trie.clone();
    for n in 0..1000 {
        trie.insert(n, n + 1);
    }
    for n in 0..500 {
        trie.remove(&n);
    }
    assert_eq!(before.len(), 1000);
    assert!((0..1000).all(|n| before.get(&n) == Some(&n)));
    assert_eq!(trie.len(), 500);
    assert!((500..1000).all(|n| trie.get(&n) == Some(&(n + 1))));
}

#[test]
fn an_emptied_map_keeps_no_node() {
    let mut trie = Trie::with_seed(7);
    for n in 0..5000 {
        trie.insert(n, ());
    }
    for n in 0..5000 {
        assert!(trie.remove(&n).is_some());
    }
    assert!(trie.root.is_none() && trie.is_empty());
}

#[test]
fn equal_hashes_share_a_leaf_of_any_size() {
    #[derive(Clone, PartialEq, Eq, Debug)]
    struct Colliding(u32);
    impl Hash for Colliding {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            state.write_u8(0);
        }
    }
    let mut trie = Trie::with_seed(1);
    for n in 0..100 {
        trie.insert(Colliding(n), n);
    }
    assert!((0..100).all(|n| trie.get(&Colliding(n)) == Some(&n)));
    for n in 0..100 {
        assert_eq!(trie.remove(&Colliding(n)), Some(n));
    }
    assert!(trie.is_empty());
}

#[test]
fn a_sweep_finds_what_it_did_not_mark_in_shared_nodes_too() {
    let mut trie = Trie::with_seed(3);
    for n in 0..200 {
        trie.insert(n, n);
    }
    let published = trie.clone();
    for n in 0..150 {
        trie.mark(&n, 9);
    }
    trie.insert_marked(150, 1, 9);
    let mut unmarked = trie.unmarked(9);
    unmarked.sort_unstable();
    assert_eq!(unmarked, (151..200).collect::<Vec<_>>());
    assert_eq!(published.get(&150), Some(&150));
}

#[test]
fn a_cursor_outlives_the_map() {
    let mut trie = Trie::with_seed(3);
    for n in 0..300 {
        trie.insert(n, n);
    }
    let mut cursor = trie.cursor();
    drop(trie);
    assert_eq!(cursor.remaining(), 300);
    let mut seen: Vec<u32> = cursor.by_ref().map(|(k, _)| k).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..300).collect::<Vec<_>>());
    assert_eq!(cursor.remaining(), 0);
}

#[derive(Clone, Debug)]
enum Op {
    Insert(u32, u32),
    Remove(u32),
    Change(u32, u32),
    Keep,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0..400u32, 0..4u32).prop_map(|(k, v)| Op::Insert(k, v)),
        6 => (0..400u32).prop_map(Op::Remove),
        2 => (0..400u32, 0..4u32).prop_map(|(k, v)| Op::Change(k, v)),
        1 => Just(Op::Keep),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn behaves_as_a_hash_map(seed: u64, ops in prop::collection::vec(op(), 0..1500)) {
        let mut trie = Trie::with_seed(seed);
        let mut model = HashMap::new();
        let mut kept: Vec<(Trie<u32, u32>, HashMap<u32, u32>)> = vec![(trie.clone(), model.clone())];
        for op in ops {
            match op {
                Op::Insert(k, v) => prop_assert_eq!(trie.insert(k, v), model.insert(k, v)),
                Op::Remove(k) => prop_assert_eq!(trie.remove(&k), model.remove(&k)),
                Op::Change(k, v) => match (trie.get_mut(&k), model.get_mut(&k)) {
                    (Some(a), Some(b)) => { *a = v; *b = v; }
                    (a, b) => prop_assert!(a.is_none() && b.is_none()),
                },
                Op::Keep => kept.push((trie.clone(), model.clone())),
            }
            prop_assert_eq!(trie.len(), model.len());
        }
        prop_assert_eq!(&contents(&trie), &model);
        for (old, old_model) in kept {
            prop_assert_eq!(&contents(&old), &old_model);
            let mut expected: Vec<_> = old_model
                .keys()
                .chain(model.keys())
                .copied()
                .collect::<std::collections::BTreeSet<_>>()
                .into_iter()
                .map(|k| (k, old_model.get(&k).copied(), model.get(&k).copied()))
                .filter(|(_, a, b)| a != b)
                .collect();
            expected.sort_unstable();
            prop_assert_eq!(differences(&old, &trie), expected);
        }
    }
}
