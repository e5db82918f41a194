//! Simulated nodes: pods get bound, started and stopped without a kubelet.
//!
//! A control plane without nodes leaves every pod `Pending` for ever. [`Nodes`] stands in for
//! the scheduler and the kubelets: it registers Node objects, binds pods to them, runs each to
//! Ready after a settable delay, and finishes deletions within the grace period. Nothing is
//! executed; the nodes are labelled as what they are.
//!
//! **When to use it:** to try controllers against an API server, the embedded one or a real
//! one, without a cluster. **When not:** where the behaviour of a real kubelet matters: probes,
//! restarts, volumes and resource pressure do not exist here.
//!
//! ```
//! use evenkeel::Term;
//! use evenkeel_client::Client;
//! use evenkeel_store::Informers;
//! use evenkeel_testkit::Nodes;
//! use tokio_util::sync::CancellationToken;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let server = evenkeel_apiserver::Server::new();
//! let client = Client::from_service(server);
//! let informers = Informers::new(client.clone());
//! let nodes = Nodes::new(&informers).count(3);
//! informers.start();
//!
//! let stop = CancellationToken::new();
//! let term = Term::new(client, stop.clone());
//! let running = tokio::spawn(async move { nodes.run(term).await });
//! // ... create pods and watch them become ready ...
//! stop.cancel();
//! running.await??;
//! informers.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//!
//! A pod is bound once, started once and removed once, with its UID as precondition. What a
//! lost request leaves undone is done on the next event or retry: nodes are level-triggered
//! like everything else here.

mod kubelet;
mod node;
mod nodes;
mod pod;

pub use nodes::Nodes;
