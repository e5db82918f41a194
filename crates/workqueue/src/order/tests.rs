use std::cell::Cell;
use std::num::NonZeroU32;
use std::rc::Rc;

use super::*;

fn number(value: u32) -> NonZeroU32 {
    NonZeroU32::new(value).unwrap()
}

fn order(patience: u32) -> Priority {
    Priority::new(number(patience))
}

fn push(order: &mut impl Order<u32>, id: u32, priority: i32) {
    order.push(Id(id), &id, priority);
}

fn pop_all(order: &mut impl Order<u32>) -> Vec<u32> {
    std::iter::from_fn(|| order.pop()).map(|id| id.0).collect()
}

#[test]
fn controller_runtime_t54_priority_first_then_first_come() {
    let mut order = order(u32::MAX);
    for (id, priority) in [(0, 0), (1, -100), (2, 5), (3, 0), (4, 5), (5, -100)] {
        push(&mut order, id, priority);
    }
    assert_eq!(pop_all(&mut order), [2, 4, 0, 3, 1, 5]);
}

#[test]
fn an_order_in_a_box_is_that_order() {
    let mut order: Box<dyn Order<u32>> = Box::new(order(u32::MAX));
    for (id, priority) in [(0, 0), (1, -100), (2, 5)] {
        order.push(Id(id), &id, priority);
    }
    order.raise(Id(1), &1, 7);
    order.push_first(Id(3), &3, 0);
    assert_eq!(pop_all(&mut order), [1, 2, 3, 0]);

    struct Told(Rc<Cell<bool>>);

    impl Order<u32> for Told {
        fn push(&mut self, _: Id, _: &u32, _: i32) {}
        fn push_first(&mut self, _: Id, _: &u32, _: i32) {}
        fn raise(&mut self, _: Id, _: &u32, _: i32) {}
        fn pop(&mut self) -> Option<Id> {
            None
        }
        fn shrink(&mut self) {
            self.0.set(true);
        }
    }

    let told = Rc::new(Cell::new(false));
    let mut order: Box<dyn Order<u32>> = Box::new(Told(Rc::clone(&told)));
    order.shrink();
    assert!(told.get());
}

#[test]
fn controller_runtime_t55_f4_a_raised_key_goes_behind_its_new_peers() {
    let mut order = order(u32::MAX);
    for (id, priority) in [(0, -100), (1, -100), (2, 0)] {
        push(&mut order, id, priority);
    }
    order.raise(Id(1), &1u32, 0);
    push(&mut order, 3, 0);
    assert_eq!(pop_all(&mut order), [2, 1, 3, 0]);
}

#[test]
fn one_priority_is_first_come_first_served() {
    let mut order = order(3);
    for id in 0..100 {
        push(&mut order, id, 0);
    }
    assert_eq!(pop_all(&mut order), (0..100).collect::<Vec<_>>());
}

/// The starvation of controller-runtime#3496: a steady load at priority 0 and a backlog at -100.
#[test]
fn ageing_bounds_the_wait_behind_a_steady_urgent_load() {
    let patience = 10;
    let mut order = order(patience);
    for id in 0..20 {
        push(&mut order, id, -100);
    }
    let mut came_out = Vec::new();
    for turn in 0..patience * 20 {
        push(&mut order, 100 + turn, 0);
        came_out.extend(order_pop(&mut order));
    }
    for id in 0..20 {
        let turn = came_out.iter().position(|out| *out == id).unwrap() as u32;
        assert!(turn < patience * (id + 1), "{id} came out at {turn}");
    }
}

#[test]
fn urgent_keys_pass_a_backlog_of_any_length() {
    let mut order = order(10);
    for id in 0..100_000 {
        push(&mut order, id, -100);
    }
    for id in 200_000..201_000 {
        push(&mut order, id, 0);
        let waited = std::iter::from_fn(|| order_pop(&mut order))
            .position(|out| out == id)
            .unwrap();
        assert!(waited <= 1, "at most one aged key goes ahead");
    }
}

#[test]
fn what_is_pushed_first_goes_before_its_equals_only() {
    let mut order = order(u32::MAX);
    for (id, priority) in [(0, 0), (1, 0), (2, 7)] {
        push(&mut order, id, priority);
    }
    order.push_first(Id(3), &3u32, 0);
    assert_eq!(pop_all(&mut order), [2, 3, 0, 1]);
}

#[test]
fn fair_groups_take_turns_by_weight() {
    let weight = |group: &u32| if *group == 0 { number(3) } else { number(1) };
    let mut order = Fair::new(|key: &u32| key / 1000).weights(weight);
    for id in (0..1000).chain(1000..1010).chain(2000..2010) {
        push(&mut order, id, 0);
    }
    let came_out: Vec<_> = (0..15).filter_map(|_| order_pop(&mut order)).collect();
    assert_eq!(
        came_out,
        [
            0, 1, 2, 1000, 2000, 3, 4, 5, 1001, 2001, 6, 7, 8, 1002, 2002
        ]
    );
}

#[test]
fn a_flood_in_one_group_delays_no_other() {
    let mut order = Fair::new(|key: &u32| key / 100_000);
    for id in 0..50_000 {
        push(&mut order, id, 0);
    }
    for round in 0..100 {
        push(&mut order, 100_000 + round, 0);
        let waited = std::iter::from_fn(|| order_pop(&mut order))
            .position(|out| out >= 100_000)
            .unwrap();
        assert!(waited <= 1);
    }
    order.push_first(Id(99_999), &99_999, 0);
    order.push_first(Id(200_000), &200_000, 0);
    assert_eq!(
        (order_pop(&mut order), order_pop(&mut order)),
        (Some(200_000), Some(99_999))
    );
}

fn order_pop(order: &mut impl Order<u32>) -> Option<u32> {
    order.pop().map(|id| id.0)
}
