//! The modes of an informer.

use std::io::BufRead;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use evenkeel_client::{Client, Config};
use evenkeel_meta::{ApiResource, DynamicObject, MetaView, Object, ObjectKey, Scope};
use evenkeel_store::{Event, Informer, InformerOptions, Informers};
use k8s_openapi::api::core::v1::Pod;

use super::events::Events;
use super::projection;

const PODS: ApiResource = ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced);
/// What an idle process watches.
const IDLE: usize = 30;
/// Not once has it been more than a minute.
const LONG: Duration = Duration::from_secs(300);

pub(crate) fn run(mode: &str, url: &str, ca: &str) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let _inside = runtime.enter();
    let config = Config::new(url)?.ca_file(ca).no_proxy();
    let informers = Informers::new(Client::connect(&config)?);
    let options = InformerOptions::default();
    let events = Events::new();
    match mode {
        "typed" => follow(&informers, &informers.typed::<Pod>(options), &events),
        "typed-managed-fields" => {
            let pods = informers.typed::<Pod>(options.with_managed_fields());
            follow(&informers, &pods, &events)
        }
        "typed-exact" => {
            let pods = informers.typed::<Pod>(options.with_exact_capacities());
            follow(&informers, &pods, &events)
        }
        "metadata" => follow(&informers, &informers.metadata(PODS, options), &events),
        "projection" => {
            let pods = informers.projected::<projection::Pod>(PODS, options);
            follow(&informers, &pods, &events)
        }
        "compact" => {
            let pods = informers.compact::<DynamicObject>(PODS, options);
            follow(&informers, &pods, &events)
        }
        "idle" => {
            for number in 0..IDLE {
                let plural = format!("things{number}").into();
                let kind = format!("Thing{number}").into();
                let resource = ApiResource {
                    plural,
                    kind,
                    ..ApiResource::new_static("bench", "v1", "", "", Scope::Namespaced)
                };
                let _ = informers.dynamic(resource, options.clone());
            }
            begin(&informers)?;
            runtime.block_on(informers.wait_for_sync(LONG))?;
            println!("synced 0");
            events.obey()
        }
        _ => bail!("no mode `{mode}`"),
    }
}

fn follow<K>(informers: &Informers, informer: &Informer<K>, events: &Events) -> anyhow::Result<()>
where
    K: Object + Send + Sync + 'static,
{
    let noted = events.clone();
    let handler = informer.add_handler(move |_: &ObjectKey, event: &Event<K>| {
        let object = event.object().context("no object").ok();
        let version = object.and_then(|object| object.metadata().resource_version());
        noted.note(version.and_then(|version| version.as_number()));
    })?;
    let start = begin(informers)?;
    tokio::runtime::Handle::current().block_on(handler.synced_within(LONG))?;
    println!("synced {}", start.elapsed().as_micros() as f64 / 1000.0);
    events.obey()
}

/// Waits for the word, then starts.
fn begin(informers: &Informers) -> anyhow::Result<Instant> {
    println!("ready");
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    anyhow::ensure!(line.trim() == "start", "expected `start`");
    let start = Instant::now();
    informers.start();
    Ok(start)
}
