//! `evenkeel up`: a control plane in one process, and what becomes of the manifests in it.

mod apply;
mod cluster;
mod load;
mod observed;
mod plane;
mod standing;
mod tree;
mod view;

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::apply::Applied;
use self::cluster::Cluster;
use self::load::Object;
use self::plane::{Leaders, Plane};
use self::view::{State, View};
use crate::args::UpArgs;
use crate::connection::connect;
use crate::error::Failure;
use crate::output::Output;
use crate::{duration, kubeconfig};

/// How often the view looks at what tells of no change, such as the depth of queues.
const LOOK: Duration = Duration::from_millis(250);
/// The least time between two looks, so that a flood of changes does not become one of drawing.
const PAUSE: Duration = Duration::from_millis(10);

pub(crate) async fn run(
    args: UpArgs,
    output: &Output,
    stop: CancellationToken,
) -> Result<(), Failure> {
    let started = Instant::now();
    let objects = load(&args, &stop).await?;
    let mut plane = Plane::start(&args).await?;
    let kubeconfig = kubeconfig::write(&args.listening.kubeconfig_out, plane.listener())?;
    output.line(&format!(
        "API server on {}, in memory: what is in it ends with this program",
        plane.listener().url()
    ));
    output.line(&kubeconfig::export_line(&kubeconfig));
    output.line(&format!(
        "{} simulated nodes: pods are ready {} after their creation, nothing is executed",
        args.nodes,
        duration::display(args.pod_start_delay)
    ));
    let mut session = Session {
        client: connect(plane.config(), "up")?,
        leaders: plane.leaders(),
        url: plane.listener().url(),
        output: output.clone(),
        started,
    };
    let ended = tokio::select! {
        ended = session.run(&args, objects, &stop) => ended,
        failure = plane.failed() => Err(failure),
    };
    if !args.once {
        output.finish();
    }
    let stopped = plane.stop().await;
    ended.and(stopped)
}

/// Reads the manifests. Standard input may have no end: the stop is heard meanwhile.
async fn load(args: &UpArgs, stop: &CancellationToken) -> Result<Vec<Object>, Failure> {
    let paths = args.filename.clone();
    let reading = tokio::task::spawn_blocking(move || load::load(&paths));
    tokio::select! {
        objects = reading => objects.map_err(Failure::failed)?,
        () = stop.cancelled() => Err(Failure::failed("interrupted before anything was started")),
    }
}

/// The part that a user does by hand against other clusters: apply, and look at what becomes of it.
struct Session {
    client: evenkeel_client::Client,
    leaders: Leaders,
    url: String,
    output: Output,
    started: Instant,
}

impl Session {
    async fn run(
        &mut self,
        args: &UpArgs,
        objects: Vec<Object>,
        stop: &CancellationToken,
    ) -> Result<(), Failure> {
        let mut cluster = Cluster::new(&self.client);
        let deadline = self.started + args.timeout;
        let applied = {
            // Applying is stopped rather than dropped, so that it says what was not tried.
            let enough = stop.child_token();
            let applying = apply::apply(
                &self.client,
                objects,
                &args.namespace,
                &self.output,
                &enough,
            );
            tokio::pin!(applying);
            tokio::select! {
                applied = &mut applying => applied?,
                () = tokio::time::sleep_until(deadline), if args.once => {
                    enough.cancel();
                    applying.await?
                }
            }
        };
        for object in &applied {
            if standing::is_known(&object.resource) {
                cluster.watch(&object.resource);
            }
        }
        let followed = tokio::select! {
            biased;
            () = stop.cancelled() => self.interrupted(args.once),
            () = tokio::time::sleep_until(deadline), if args.once => Err(self.late(&cluster, &applied, args.timeout)),
            followed = self.follow(&cluster, &applied, args.once) => followed,
        };
        cluster.shutdown().await;
        followed
    }

    /// Shows what becomes of the objects; with `once` until all have converged, or else for ever.
    async fn follow(
        &mut self,
        cluster: &Cluster,
        applied: &[Applied],
        once: bool,
    ) -> Result<(), Failure> {
        // A store that has not synced shows nothing, which looks like objects that are gone.
        cluster.synced().await?;
        let mut view = View::new(self.output.clone());
        let mut has_converged = false;
        loop {
            if view.is_due(self.started.elapsed()) {
                view.update(&self.state(cluster));
            }
            let is_done = || self.leaders.is_led() && standing::all_converged(cluster, applied);
            if !has_converged && is_done() {
                has_converged = true;
                view.converged(&self.state(cluster), applied.len(), once);
                if once {
                    return Ok(());
                }
            }
            tokio::select! {
                () = cluster.changed() => {}
                () = self.leaders.changed() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn state(&self, cluster: &Cluster) -> State {
        State {
            url: self.url.clone(),
            elapsed: self.started.elapsed(),
            leader: self.leaders.current(),
            queued: self.leaders.queued(),
            tree: tree::build(&cluster.workloads()),
        }
    }

    fn interrupted(&self, once: bool) -> Result<(), Failure> {
        self.output.line("stopping");
        if once {
            return Err(Failure::failed(
                "interrupted before everything had converged",
            ));
        }
        Ok(())
    }

    /// What has not converged, and why.
    fn late(&self, cluster: &Cluster, applied: &[Applied], timeout: Duration) -> Failure {
        let mut faults = vec![format!(
            "not converged after {}",
            duration::display(timeout)
        )];
        if !self.leaders.is_led() {
            faults.push("no controller manager leads".to_owned());
        }
        faults.extend(cluster.unsynced());
        faults.extend(standing::waiting(cluster, applied));
        Failure::Failed(faults)
    }
}
