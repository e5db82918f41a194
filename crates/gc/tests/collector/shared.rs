//! Beside loops that have informers already.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use evenkeel_client::{ByteStream, Lane, Transport, TransportError};
use evenkeel_gc::GarbageCollector;
use evenkeel_meta::PropagationPolicy;
use evenkeel_store::{InformerOptions, Informers};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::cluster::{Cluster, MAPS};

/// Notes the lists and watches of ConfigMaps.
struct Noting {
    inner: Arc<dyn Transport>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Transport for Noting {
    fn send(
        &self,
        lane: Lane,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<ByteStream>, TransportError>> {
        if lane != Lane::Write && request.uri().path().ends_with("/configmaps") {
            self.asked.lock().push(request.uri().to_string());
        }
        self.inner.send(lane, request)
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_somebody_mirrors_already_gets_no_second_watch() {
    let cluster = Cluster::new().await;
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let client = cluster.client.with_transport(|inner| Noting {
        inner,
        asked: Arc::clone(&asked),
    });
    let informers = Informers::new(client.clone());
    let theirs = informers.dynamic(MAPS, InformerOptions::default());
    informers.start();
    theirs.synced().await.unwrap();
    let collector = GarbageCollector::builder(client).informers(informers.clone());
    let stop = CancellationToken::new();
    let running = tokio::spawn(collector.build().run(stop.clone()));
    tokio::time::sleep(Duration::from_secs(5)).await;
    let owner = cluster.map("owner", &[]).await;
    let dependent = cluster.map("dependent", &[owner.owner(false)]).await;
    cluster.delete(&owner, PropagationPolicy::Background).await;
    cluster.gone(&dependent).await;
    assert_eq!(asked.lock().len(), 1, "{:?}", asked.lock());
    stop.cancel();
    running.await.unwrap();
    // It is theirs, and goes on without the collector.
    assert!(theirs.freshness().watching);
}
