//! What goes wrong meanwhile.

use std::time::Duration;

use evenkeel_apiserver::{Fault, Injected, Verb, When};
use fastrand::Rng;

use crate::cluster::Cluster;

/// So many faults at once.
const AT_ONCE: usize = 4;

#[derive(Default)]
pub(crate) struct Trouble {
    injected: Vec<Injected>,
}

impl Trouble {
    /// Something goes wrong, or is right again.
    pub(crate) async fn change(&mut self, cluster: &mut Cluster, rng: &mut Rng) {
        if self.injected.len() >= AT_ONCE {
            let at = rng.usize(..self.injected.len());
            self.injected.swap_remove(at).lift();
        }
        match rng.u8(..24) {
            0..=3 => cluster.server.faults().cut_watches(),
            4 => {
                // Who watches from before has to list again.
                cluster.server.faults().cut_watches();
                cluster.server.compact();
            }
            5 => {
                cluster.stop().await;
                cluster.start_without_waiting();
            }
            _ => {
                let (when, fault) = random(rng);
                let injected = cluster.server.faults().inject(when, fault);
                self.injected.push(injected);
            }
        }
    }

    /// All is well again.
    pub(crate) fn end(self, cluster: &Cluster) {
        cluster.server.faults().clear();
        cluster.server.faults().cut_watches();
    }
}

fn random(rng: &mut Rng) -> (When, Fault) {
    let of_collector = |verb| When::verb(verb).user_agent("collector");
    let write = *rng.choice(&[Verb::Delete, Verb::Patch]).unwrap();
    let any = *rng
        .choice(&[
            Verb::Get,
            Verb::List,
            Verb::Watch,
            Verb::Delete,
            Verb::Patch,
        ])
        .unwrap();
    let times = rng.u64(1..6);
    match rng.u8(..8) {
        0..=2 => (of_collector(write).times(times), Fault::LoseAnswer),
        3 => (of_collector(any).times(times), Fault::internal_error()),
        4 => (of_collector(any).times(times), Fault::too_many_requests(1)),
        5 => {
            let delay = Duration::from_millis(rng.u64(1..2000));
            (of_collector(any).times(times), Fault::Delay(delay))
        }
        6 => (of_collector(Verb::Watch).times(times), Fault::expired()),
        _ => (of_collector(Verb::Watch).times(times), Fault::NoBookmarks),
    }
}
