//! An operator that scales Deployments by numbers from outside the cluster: an [`Autoscaler`] says which number, and how
//! much of it a pod is to have.
//!
//! What is in it that an operator of one's own will need too:
//!
//! - a source that is polled: each run says when the next one is ([`Source`]);
//! - a source that sends of its own accord, through a channel into the controller's queue ([`Push`]): what is
//!   sent is kept as a level, and the channel only tells where to look;
//! - a source that is down: a condition, a delay of its own, and nothing scaled;
//! - the `scale` subresource, written only to change something, and only in the state that was judged;
//! - memory that the outcome does not depend on: what is forgotten makes it slower to scale down;
//! - Deployments as a projection of a few fields.
//!
//! # Rules
//!
//! - As many pods as the number asks for, at once if these are more. Fewer when that many would have done for the whole of
//!   `stabilizationSeconds`.
//! - A Deployment at 0 is left alone: somebody wants no pods. It is scaled again when somebody has set it to 1 or more. The
//!   operator itself never goes to 0. A user who is faster than the operator wins, since it writes only to the state that it
//!   has seen.
//! - Who scales it by hand to anything else has asked for that many pods, like a number: fewer than are needed
//!   are mended at once, more stay for `stabilizationSeconds`; the bounds hold at once.
//! - While there is no number nothing is scaled, except into the bounds. The source is asked again after
//!   [`AFTER_FAILURE`], or when a number is sent.
//! - A number that was sent holds for `intervalSeconds`; the source is not asked meanwhile.
//! - Of several autoscalers for one Deployment the oldest scales it; the others say so in their status.
//!
//! What is decided is in pure functions ([`window`], [`status`]).
//!
//! # To run it
//!
//! ```console
//! $ cargo run -- apiserver &                      # these three not for a cluster
//! $ export KUBECONFIG=$PWD/.evenkeel/kubeconfig
//! $ cargo run -- controller-manager &
//! $ mkdir -p /tmp/numbers && echo 45 > /tmp/numbers/orders
//! $ python3 -m http.server --directory /tmp/numbers 8000 &
//! $ cargo run -p autoscaler -- --source http://127.0.0.1:8000 &
//! $ kubectl create deployment web --image web
//! $ kubectl apply -f examples/autoscaler/orders.yaml
//! $ kubectl get autoscalers,deployments           # 5, at 10 orders a pod
//! $ echo "orders 80" > /dev/udp/127.0.0.1/8125    # bash; 8, at once
//! ```

mod api;
mod push;
mod reconciler;
mod source;
pub mod status;
mod target;
pub mod window;

pub use api::{Autoscaler, AutoscalerSpec, AutoscalerStatus};
pub use push::Push;
pub use reconciler::{AFTER_FAILURE, Autoscalers, SLOWEST, install};
pub use source::{HttpSource, Reading, Source, SourceError};
