//! What a cached object costs: lists pods from a stream of bytes that is made as it is read, and
//! prints the growth of the resident memory.
//!
//! ```console
//! cargo run --release -p evenkeel-store --example memory -- metadata 100000
//! ```
//!
//! The kinds: `metadata` (what `Informers::metadata` keeps), `meta` (a projection with the
//! unpacked `Meta`), `packed` (one with `PackedMeta`, whose parts are not shared), `compact`
//! (`Informers::compact`). The objects are pods of Deployments with three to thirty replicas, 2 kB
//! of metadata each, `managedFields` included; for `compact`, whole pods.

mod pods;

use std::io::Write as _;
use std::time::Duration;

use bytes::Bytes;
use evenkeel_client::{
    ByteStream, Client, ClientOptions, Lane, Transport, TransportError, TransportErrorKind,
};
use evenkeel_meta::{ApiResource, DynamicObject, Meta, Object, PackedMeta, Scope};
use evenkeel_store::{Informer, InformerOptions, Informers, InformersBuilder};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use tokio::time::Instant;

use pods::Pods;

/// The resource version before the first pod's.
const FIRST_VERSION: u64 = 900_000_000;
const PODS: ApiResource = ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced);

#[derive(serde::Deserialize)]
struct Unpacked {
    metadata: Meta,
}

impl Object for Unpacked {
    type Meta = Meta;

    fn metadata(&self) -> &Meta {
        &self.metadata
    }
}

#[derive(serde::Deserialize)]
struct Packed {
    metadata: PackedMeta,
}

impl Object for Packed {
    type Meta = PackedMeta;

    fn metadata(&self) -> &PackedMeta {
        &self.metadata
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().unwrap_or_else(|| "metadata".to_owned());
    let count: usize = arguments.next().map_or(Ok(100_000), |text| text.parse())?;
    let whole = kind == "compact";
    let client = Client::new(Replayer { count, whole }, ClientOptions::default());
    let informers = builder(client).build();
    let options = InformerOptions::default();
    match kind.as_str() {
        "metadata" => measure(&informers, &informers.metadata(PODS, options), &kind).await,
        "meta" => {
            measure(
                &informers,
                &informers.projected::<Unpacked>(PODS, options),
                &kind,
            )
            .await
        }
        "packed" => {
            measure(
                &informers,
                &informers.projected::<Packed>(PODS, options),
                &kind,
            )
            .await
        }
        "compact" => {
            let pods = informers.compact::<DynamicObject>(PODS, options);
            measure(&informers, &pods, &kind).await
        }
        other => Err(format!("no such kind: {other}").into()),
    }
}

fn builder(client: Client) -> InformersBuilder {
    Informers::builder(client).seed(1)
}

async fn measure<K>(
    informers: &Informers,
    informer: &Informer<K>,
    kind: &str,
) -> Result<(), Box<dyn std::error::Error>>
where
    K: Object + Send + Sync + 'static,
{
    let before = resident()?;
    let started = Instant::now();
    informers.start();
    informer.synced().await?;
    let took = started.elapsed();
    // What is left of the page that was last is dropped in the next turn.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let grown = resident()?.saturating_sub(before);
    let objects = informer.store().len().max(1);
    writeln!(
        std::io::stdout(),
        "{kind}: {objects} objects, {} B resident each, synced in {:.2} s, the making of the JSON included",
        grown / objects,
        took.as_secs_f64(),
    )?;
    informers.shutdown().await;
    Ok(())
}

/// Resident memory in bytes.
fn resident() -> Result<usize, Box<dyn std::error::Error>> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: usize = statm.split(' ').nth(1).ok_or("statm")?.parse()?;
    Ok(pages * 4096)
}

/// Answers lists with `count` pods, and leaves watches open.
struct Replayer {
    count: usize,
    /// With spec and status.
    whole: bool,
}

impl Transport for Replayer {
    fn send(
        &self,
        _: Lane,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<ByteStream>, TransportError>> {
        let query = request.uri().query().unwrap_or_default();
        let (count, whole) = (self.count, self.whole);
        let (code, body): (u16, ByteStream) = if query.contains("sendInitialEvents") {
            let text = r#"{"kind":"Status","status":"Failure","reason":"Invalid","code":422}"#;
            (422, stream::iter([Ok(Bytes::from(text))]).boxed())
        } else if query.contains("watch=true") {
            (200, stream::pending().boxed())
        } else {
            let head = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"987654321"},"items":["#;
            let pods = Pods::new(!whole, FIRST_VERSION);
            let items = pods.take(count).enumerate().map(|(n, pod)| {
                let comma = if n == 0 { "" } else { "," };
                Bytes::from(format!("{comma}{pod}"))
            });
            let chunks = std::iter::once(Bytes::from(head)).chain(items);
            let chunks = chunks.chain(std::iter::once(Bytes::from("]}")));
            (200, stream::iter(chunks.map(Ok)).boxed())
        };
        let answer = http::Response::builder()
            .status(code)
            .header("content-type", "application/json")
            .body(body)
            .map_err(|error| {
                TransportError::with_detail(TransportErrorKind::Other, &error.to_string())
            });
        async { answer }.boxed()
    }
}
