//! Whatever is done in whatever order, no getter sleeps while a key is ready.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use proptest::prelude::*;
use tokio::task::yield_now;

use super::super::*;

type Key = u8;

#[derive(Clone, Copy, Debug)]
enum Step {
    Get,
    /// Drops a getter, woken or not.
    Drop(usize),
    /// Polls a getter that was not woken.
    Poll(usize),
    /// Polls who was woken, once.
    PollWoken,
    /// Polls who was woken until nobody is.
    Settle,
    Add(Key),
    AddAfter(Key, u64),
    Done(usize),
    Retry(usize),
    RetryAfter(usize, u64),
    Park(Key, u64),
    Unpark(Key),
    Pass(u64),
    Len,
    ShutDown,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (key, at, time) = (|| 0..6u8, any::<usize>, || 0..30u64);
    let step = prop_oneof![
        12 => Just(Step::Get),
        4 => at().prop_map(Step::Drop),
        2 => at().prop_map(Step::Poll),
        4 => Just(Step::PollWoken),
        6 => Just(Step::Settle),
        12 => key().prop_map(Step::Add),
        8 => (key(), time()).prop_map(|(key, delay)| Step::AddAfter(key, delay)),
        10 => at().prop_map(Step::Done),
        3 => at().prop_map(Step::Retry),
        3 => (at(), time()).prop_map(|(at, delay)| Step::RetryAfter(at, delay)),
        4 => (key(), time()).prop_map(|(key, bound)| Step::Park(key, bound)),
        4 => key().prop_map(Step::Unpark),
        8 => time().prop_map(Step::Pass),
        1 => Just(Step::Len),
        1 => Just(Step::ShutDown),
    ];
    prop::collection::vec(step, 0..120)
}

struct Getter {
    future: Pin<Box<dyn Future<Output = Option<Item<Key>>>>>,
    woken: Arc<Flag>,
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

struct World {
    queue: Queue<Key>,
    getters: Vec<Getter>,
    items: Vec<Item<Key>>,
    ended: usize,
}

impl World {
    fn get(&mut self) {
        let queue = self.queue.clone();
        let future = Box::pin(async move { queue.get().await });
        self.getters.push(Getter {
            future,
            woken: Arc::new(Flag(AtomicBool::new(true))),
        });
        self.poll(self.getters.len() - 1);
    }

    fn poll(&mut self, at: usize) {
        let getter = &mut self.getters[at];
        getter.woken.0.store(false, Ordering::SeqCst);
        let waker = Waker::from(Arc::clone(&getter.woken));
        if let Poll::Ready(got) = getter
            .future
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
        {
            self.getters.swap_remove(at);
            match got {
                Some(item) => self.items.push(item),
                None => self.ended += 1,
            }
        }
    }

    fn woken(&self) -> Option<usize> {
        self.getters
            .iter()
            .position(|getter| getter.woken.0.load(Ordering::SeqCst))
    }

    async fn settle(&mut self) {
        loop {
            yield_now().await;
            match self.woken() {
                Some(at) => self.poll(at),
                None => break,
            }
        }
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let (runnable, is_finished) = self
            .queue
            .shared()
            .read(|state| (state.machine.runnable(), state.machine.is_finished()));
        if !self.getters.is_empty() {
            prop_assert_eq!(
                (runnable, is_finished),
                (0, false),
                "with {} asleep",
                self.getters.len()
            );
        }
        prop_assert_eq!(self.queue.in_flight(), self.items.len());
        Ok(())
    }
}

async fn run(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut world = World {
        queue: Queue::new(),
        getters: Vec::new(),
        items: Vec::new(),
        ended: 0,
    };
    let millis = Duration::from_millis;
    for step in steps {
        let getters = world.getters.len().max(1);
        let items = world.items.len().max(1);
        match step {
            Step::Get => world.get(),
            Step::Drop(at) if !world.getters.is_empty() => {
                drop(world.getters.swap_remove(at % getters));
            }
            Step::Poll(at) if !world.getters.is_empty() => world.poll(at % getters),
            Step::PollWoken => {
                if let Some(at) = world.woken() {
                    world.poll(at);
                }
            }
            Step::Settle => {
                world.settle().await;
                world.check()?;
            }
            Step::Add(key) => world.queue.add(key),
            Step::AddAfter(key, delay) => world.queue.add_after(key, millis(delay)),
            Step::Done(at) if !world.items.is_empty() => world.items.swap_remove(at % items).done(),
            Step::Retry(at) if !world.items.is_empty() => {
                world.items.swap_remove(at % items).retry();
            }
            Step::RetryAfter(at, delay) if !world.items.is_empty() => {
                world
                    .items
                    .swap_remove(at % items)
                    .retry_after(millis(delay));
            }
            Step::Park(key, bound) => world.queue.park(&key, millis(bound)),
            Step::Unpark(key) => world.queue.unpark(&key),
            Step::Pass(time) => tokio::time::advance(millis(time)).await,
            Step::Len => drop(world.queue.len()),
            Step::ShutDown => world.queue.shut_down(),
            _ => {}
        }
    }
    world.settle().await;
    world.check()?;
    // With one getter and time, everything comes out.
    world.items.clear();
    world.queue.shut_down();
    while !world
        .queue
        .shared()
        .read(|state| state.machine.is_drained())
    {
        if world.getters.is_empty() {
            world.get();
        }
        world.settle().await;
        world.check()?;
        world.items.clear();
        tokio::time::advance(millis(10)).await;
    }
    world.settle().await;
    prop_assert!(world.getters.is_empty(), "everybody was told of the end");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_getter_sleeps_while_a_key_is_ready(steps in steps()) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(run(steps))?;
    }
}
