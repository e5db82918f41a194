//! `evenkeel graph`: who owns whom in a live cluster.

mod layers;
mod svg;
mod tree;

use evenkeel_client::{Client, Config};
use evenkeel_gc::{Exported, Snapshot};
use evenkeel_meta::MetaView;
use tokio_util::sync::CancellationToken;

use crate::args::{GraphArgs, GraphFormat};
use crate::connection::{config_in, connect};
use crate::error::Failure;
use crate::output::Output;

pub(crate) async fn run(
    args: &GraphArgs,
    output: &Output,
    stop: CancellationToken,
) -> Result<(), Failure> {
    let client = connect(&config(args)?, "graph")?;
    let read = async {
        let graph = read(&client, args).await?;
        output.line(render(&graph, args.output).trim_end());
        Ok(())
    };
    stop.run_until_cancelled(read).await.unwrap_or(Ok(()))
}

/// Where kubectl would go, unless the flags say otherwise.
fn config(args: &GraphArgs) -> Result<Config, Failure> {
    let context = args.context.as_deref();
    let connection = &args.connection;
    if connection.kubeconfig.is_some() || connection.master.is_some() {
        return config_in(connection, context);
    }
    match context {
        Some(context) => Config::infer_context(context),
        None => Config::infer(),
    }
    .map_err(Failure::failed)
}

async fn read(client: &Client, args: &GraphArgs) -> Result<Exported, Failure> {
    let object = match &args.object {
        Some(object) => Some(find(client, object, &args.namespace).await?),
        None => None,
    };
    // A cluster-scoped object may own things anywhere.
    let everywhere = args.all_namespaces || object.as_ref().is_some_and(|found| found.is_cluster);
    let namespace = (!everywhere).then_some(args.namespace.as_str());
    let snapshot = Snapshot::read(client, namespace)
        .await
        .map_err(Failure::failed)?;
    for gap in &snapshot.gaps {
        tracing::warn!("the graph may be incomplete: {gap}");
    }
    Ok(match (object, namespace) {
        (Some(object), _) => snapshot.graph.export(&[&object.uid]),
        (None, Some(namespace)) => snapshot.graph.export(&[]).within(&[namespace]),
        (None, None) => snapshot.graph.export(&[]),
    })
}

struct Found {
    uid: String,
    is_cluster: bool,
}

async fn find(client: &Client, object: &str, namespace: &str) -> Result<Found, Failure> {
    let Some((kind, name)) = object.split_once('/').filter(|(_, name)| !name.is_empty()) else {
        return Err(Failure::usage(format!("{object}: expected KIND/NAME")));
    };
    let discovery = client.discover().await.map_err(Failure::failed)?;
    let Some(resource) = discovery.find(kind) else {
        return Err(Failure::failed(format!("the server serves no kind {kind}")));
    };
    let is_cluster = !resource.is_namespaced();
    let namespace = (!is_cluster).then_some(namespace);
    let api = client.metadata(resource.api_resource.clone(), namespace);
    let object = api.get(name).await.map_err(Failure::failed)?;
    Ok(Found {
        uid: object.metadata.uid().unwrap_or_default().to_owned(),
        is_cluster,
    })
}

fn render(graph: &Exported, format: GraphFormat) -> String {
    match format {
        GraphFormat::Tree => tree::render(graph),
        GraphFormat::Dot => graph.to_dot(),
        GraphFormat::Svg => svg::render(graph),
        GraphFormat::Json => graph.to_json(),
    }
}

#[cfg(test)]
mod fixture;
