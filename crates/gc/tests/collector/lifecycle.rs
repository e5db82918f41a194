use evenkeel_apiserver::Server;
use evenkeel_client::Client;
use evenkeel_gc::GarbageCollector;
use evenkeel_meta::PropagationPolicy::Background;
use tokio::time::{Duration, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::cluster::Cluster;

#[tokio::test(start_paused = true)]
async fn gc_g9_a_stopped_collector_sends_nothing_more_and_is_back_after_a_restart() {
    let mut cluster = Cluster::collecting().await;
    let owner = cluster.map("owner", &[]).await;
    let part = cluster.map("part", &[owner.owner(false)]).await;
    cluster.stop().await;
    cluster.delete(&owner, Background).await;
    sleep(Duration::from_secs(60)).await;
    assert!(cluster.is_there(&part).await);
    cluster.start().await;
    cluster.gone(&part).await;
    assert_eq!(cluster.requests.brief(), ["GET owner", "DELETE part"]);
}

#[tokio::test(start_paused = true)]
async fn a_collector_can_be_stopped_before_it_found_a_server() {
    let server = Server::new();
    let down = evenkeel_apiserver::Fault::internal_error();
    server
        .faults()
        .inject(evenkeel_apiserver::When::any(), down);
    let collector = GarbageCollector::builder(Client::from_service(server)).build();
    let stop = CancellationToken::new();
    let task = tokio::spawn(collector.run(stop.clone()));
    sleep(Duration::from_secs(100)).await;
    stop.cancel();
    timeout(Duration::from_secs(5), task)
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn gc_g49_the_graph_can_be_drawn_while_it_runs() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map("owner", &[]).await;
    let part = cluster.map("part", &[owner.owner(false)]).await;
    cluster.settle().await;
    let dot = cluster.inspector().to_dot(&[&owner.uid()]);
    assert!(dot.contains(&format!("\"{}\" -> \"{}\"", part.uid(), owner.uid())));
}
