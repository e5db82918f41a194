//! The control plane: API server, nodes and controller managers, each talking to the server
//! over the network as it would anywhere else.

use std::sync::Arc;
use std::time::Duration;

use evenkeel::{Election, ManagerError, Registry};
use evenkeel_apiserver::{Listener, Server};
use evenkeel_client::Config;
use evenkeel_controllers::Options;
use evenkeel_election::{Elector, LeaderWatch, unique_identity};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::apiserver::listen;
use crate::args::UpArgs;
use crate::connection::connect;
use crate::error::Failure;
use crate::nodes;
use crate::replica::{Replica, Settings};

/// How long running reconciles may take to finish once the plane stops.
const GRACE: Duration = Duration::from_secs(5);

/// A running control plane. Dropping it ends everything at once.
pub(crate) struct Plane {
    listener: Listener,
    config: Config,
    leaders: Leaders,
    managers: JoinSet<(String, Result<(), ManagerError>)>,
    stop_managers: CancellationToken,
    nodes: JoinSet<anyhow::Result<()>>,
    stop_nodes: CancellationToken,
}

impl Plane {
    pub(crate) async fn start(args: &UpArgs) -> Result<Self, Failure> {
        let listener = listen(&Server::new(), args.listening.port, false).await?;
        let config =
            Config::from_kubeconfig_text(&listener.kubeconfig(), None).map_err(Failure::failed)?;
        let mut plane = Self {
            listener,
            leaders: Leaders::default(),
            managers: JoinSet::new(),
            stop_managers: CancellationToken::new(),
            nodes: JoinSet::new(),
            stop_nodes: CancellationToken::new(),
            config,
        };
        for number in 1..=args.replicas {
            plane.start_manager(&format!("controller-manager-{number}"))?;
        }
        let client = connect(&plane.config, "nodes")?;
        let stop = plane.stop_nodes.clone();
        let nodes = nodes::simulate(client, args.nodes, args.pod_start_delay, stop);
        plane.nodes.spawn(nodes);
        Ok(plane)
    }

    fn start_manager(&mut self, name: &str) -> Result<(), Failure> {
        let mut election = Election::new("kube-system", "kube-controller-manager");
        election.identity = Some(identity(name));
        let replica = Replica::build(Settings {
            client: connect(&self.config, name)?,
            lease_client: connect(&self.config, &format!("{name}/leader-election"))?,
            election: Some(election),
            controllers: Options::default(),
            grace: GRACE,
        })?;
        let manager = replica.manager();
        if let Some(elector) = manager.elector() {
            self.leaders
                .add(elector.clone(), manager.registry().clone());
        }
        let (name, stop) = (name.to_owned(), self.stop_managers.clone());
        self.managers
            .spawn(async move { (name, replica.run(stop).await) });
        Ok(())
    }

    pub(crate) fn listener(&self) -> &Listener {
        &self.listener
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn leaders(&self) -> Leaders {
        self.leaders.clone()
    }

    /// Waits until a part ends by itself, which none should.
    pub(crate) async fn failed(&mut self) -> Failure {
        tokio::select! {
            Some(ended) = self.managers.join_next() => match ended {
                Ok((name, Ok(()))) => Failure::failed(format!("{name} ended")),
                Ok((name, Err(error))) => anyhow::Error::new(error).context(name).into(),
                Err(error) => Failure::failed(format!("a controller manager ended: {error}")),
            },
            Some(ended) = self.nodes.join_next() => match ended {
                Ok(Ok(())) => Failure::failed("the simulated nodes ended"),
                Ok(Err(error)) => error.into(),
                Err(error) => Failure::failed(format!("the simulated nodes ended: {error}")),
            },
            else => std::future::pending().await,
        }
    }

    /// Stops in order: controllers (running reconciles finish, the lease is given back), nodes,
    /// server. Goes on when a part fails, and returns the first failure.
    pub(crate) async fn stop(mut self) -> Result<(), Failure> {
        let mut stopped = Ok(());
        self.stop_managers.cancel();
        while let Some(ended) = self.managers.join_next().await {
            if let Ok((name, Err(error))) = ended {
                stopped = stopped.and(Err(anyhow::Error::new(error).context(name).into()));
            }
        }
        self.stop_nodes.cancel();
        while let Some(ended) = self.nodes.join_next().await {
            if let Ok(Err(error)) = ended {
                stopped = stopped.and(Err(error.into()));
            }
        }
        self.listener.shutdown().await;
        stopped
    }
}

/// The replica's name and a nonce: unique, and still telling which replica it is.
fn identity(name: &str) -> String {
    let unique = unique_identity();
    let nonce = unique
        .rsplit_once('_')
        .map_or(unique.as_str(), |(_, nonce)| nonce);
    format!("{name}_{nonce}")
}

/// Who leads, and how much work waits there.
#[derive(Clone, Default)]
pub(crate) struct Leaders {
    candidates: Vec<(Elector, Registry)>,
    /// Any candidate sees every change of leader.
    watch: Option<LeaderWatch>,
}

impl Leaders {
    fn add(&mut self, elector: Elector, registry: Registry) {
        self.watch.get_or_insert_with(|| elector.watch_leader());
        self.candidates.push((elector, registry));
    }

    fn leading(&self) -> Option<&(Elector, Registry)> {
        self.candidates
            .iter()
            .find(|(elector, _)| elector.is_leading())
    }

    /// Whether one of them leads.
    pub(crate) fn is_led(&self) -> bool {
        self.leading().is_some()
    }

    /// The name of the leader.
    pub(crate) fn current(&self) -> Option<String> {
        let seen = || self.watch.as_ref().and_then(LeaderWatch::current);
        let identity: Option<Arc<str>> = self
            .leading()
            .map(|(elector, _)| elector.identity().into())
            .or_else(seen);
        let identity = identity?;
        let name = identity
            .rsplit_once('_')
            .map_or(&*identity, |(name, _)| name);
        Some(name.to_owned())
    }

    /// How many keys wait in the leader's queues.
    pub(crate) fn queued(&self) -> u64 {
        self.leading()
            .map_or(0, |(_, registry)| queued(&registry.encode()))
    }

    /// Waits until somebody else leads.
    pub(crate) async fn changed(&mut self) {
        match &mut self.watch {
            Some(watch) => drop(watch.changed().await),
            None => std::future::pending().await,
        }
    }
}

/// The sum over all queues, from the metrics as an operator would read them.
fn queued(metrics: &str) -> u64 {
    let depths = metrics
        .lines()
        .filter(|line| line.starts_with("workqueue_depth{"));
    let values = depths.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    values.sum::<f64>() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_added_up() {
        let text = "# TYPE workqueue_depth gauge\nworkqueue_depth{name=\"a\"} 2.0\n\
                    workqueue_depth{name=\"b\"} 3\nworkqueue_depth_other{name=\"b\"} 9\n";
        assert_eq!(queued(text), 5);
    }

    #[test]
    fn identities_tell_the_replica_and_differ() {
        let one = identity("controller-manager-1");
        assert!(one.starts_with("controller-manager-1_"));
        assert_ne!(one, identity("controller-manager-1"));
    }
}
