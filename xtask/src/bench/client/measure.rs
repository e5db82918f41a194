//! One subject, from its start to its relist.

use std::time::{Duration, Instant};

use anyhow::Context;

use super::{Kind, Maker, Stage};
use crate::bench::subject::pause;
use crate::bench::table::Samples;

/// Events a second, when they are paced.
pub(super) const RATE: u32 = 5000;
/// What allocators and collectors do after the work is done.
const AFTERMATH: Duration = Duration::from_secs(2);

#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) objects: usize,
    /// How many paced events.
    pub(super) paced: u32,
}

/// What is found out about a subject: figures of one run, or of several.
#[derive(Default)]
pub(super) struct Measured<T> {
    /// Kilobytes a pod, synced; and what is left of them after a garbage collection.
    pub(super) resident: T,
    pub(super) collected: T,
    /// Seconds.
    pub(super) synced: T,
    pub(super) synced_cpu: T,
    /// Microseconds of CPU an event.
    pub(super) paced_cpu: T,
    pub(super) flat_cpu: T,
    /// Events a second.
    pub(super) flat_rate: T,
    /// Milliseconds from the server to the handler, at the paced rate.
    pub(super) p50: T,
    pub(super) p99: T,
    pub(super) p999: T,
    /// The largest memory during a relist, to the memory before it.
    pub(super) relist: T,
    /// CPU seconds of a relist.
    pub(super) relist_cpu: T,
}

impl Measured<Samples> {
    pub(super) fn push(&mut self, run: &Measured<f64>) {
        for (samples, value) in [
            (&mut self.resident, run.resident),
            (&mut self.collected, run.collected),
            (&mut self.synced, run.synced),
            (&mut self.synced_cpu, run.synced_cpu),
            (&mut self.paced_cpu, run.paced_cpu),
            (&mut self.flat_cpu, run.flat_cpu),
            (&mut self.flat_rate, run.flat_rate),
            (&mut self.p50, run.p50),
            (&mut self.p99, run.p99),
            (&mut self.p999, run.p999),
            (&mut self.relist, run.relist),
            (&mut self.relist_cpu, run.relist_cpu),
        ] {
            samples.push(value);
        }
    }
}

pub(super) fn measure(stage: &Stage, kind: &Kind, sizes: Sizes) -> anyhow::Result<Measured<f64>> {
    let (mut server, url) = stage.serve(kind.form, sizes.objects)?;
    let mut client = stage.client(kind.maker, kind.allocator, kind.mode, &url)?;
    let empty = client.resident()?;
    let mut measured = Measured::default();

    let before = client.cpu()?;
    measured.synced = client.ask("start", "synced")?.parse::<f64>()? / 1e3;
    measured.synced_cpu = client.cpu()? - before;
    client.settle()?;
    pause(AFTERMATH);
    let objects = sizes.objects as f64;
    let a_pod = |bytes: f64| (bytes - empty) / objects / 1e3;
    measured.resident = a_pod(client.resident()?);
    measured.collected = measured.resident;
    if kind.maker == Maker::ClientGo {
        client.ask("collect", "ok")?;
        measured.collected = a_pod(client.resident()?);
    }

    // Caches warm up.
    server.ask(&format!("paced {RATE} {}", RATE / 2), "sent")?;
    client.settle()?;
    client.ask("reset", "ok")?;
    let before = client.cpu()?;
    server.ask(&format!("paced {RATE} {}", sizes.paced), "sent")?;
    let times = client.ask(&format!("wait {}", sizes.paced), "events")?;
    measured.paced_cpu = (client.cpu()? - before) * 1e6 / f64::from(sizes.paced);
    let mut times = times.split(' ').map(|text| Ok(text.parse::<f64>()? / 1e3));
    let mut next = || -> anyhow::Result<f64> { times.next().context("three percentiles")? };
    (measured.p50, measured.p99, measured.p999) = (next()?, next()?, next()?);

    client.settle()?;
    client.ask("reset", "ok")?;
    let (before, start) = (client.cpu()?, now());
    server.tell(&format!("flat {}", sizes.objects))?;
    client.ask(&format!("wait {}", sizes.objects), "events")?;
    measured.flat_rate = objects / start.elapsed().as_secs_f64();
    measured.flat_cpu = (client.cpu()? - before) * 1e6 / objects;
    server.expect("sent")?;

    if kind.maker == Maker::ClientGo {
        client.ask("collect", "ok")?;
    }
    client.settle()?;
    let (steady, before) = (client.resident()?, client.cpu()?);
    client.forget_peak()?;
    server.ask("expire", "relisted")?;
    client.settle()?;
    measured.relist = client.peak()? / steady;
    measured.relist_cpu = client.cpu()? - before;
    Ok(measured)
}

#[expect(clippy::disallowed_methods, reason = "it measures real time")]
fn now() -> Instant {
    Instant::now()
}
