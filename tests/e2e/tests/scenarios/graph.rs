//! The owner graph, as the manager's debug page and the command line show it.

use anyhow::ensure;
use evenkeel_e2e::Env;

use crate::family::{Families, NAMESPACE, nobody};

pub(crate) async fn gc_g49_g50_the_graph_of_the_running_collector(env: Env) -> anyhow::Result<()> {
    let f = Families::prepare(&env).await?;
    let manager = env.start_manager("manager", &[])?;
    let owner = f.map("owner", &[]).await?;
    let part = f.map("part", &[owner.owner(false)]).await?;
    let other = f.map("other-owner", &[]).await?;
    f.map("other-part", &[other.owner(false)]).await?;
    f.caught_up().await?;
    let edge = format!("  \"{}\" -> \"{}\";", part.uid(), owner.uid());
    for name in ["garbage-collector-controller", "garbagecollector"] {
        let path = format!("/debug/controllers/{name}/graph");
        let (code, media_type, all) = manager.page(&path).await?;
        ensure!(
            (code, &*media_type) == (200, "text/vnd.graphviz"),
            "{code} {media_type}"
        );
        ensure!(
            all.starts_with("strict digraph full {\n") && all.contains(&edge),
            "{all}"
        );
        ensure!(all.contains(&other.uid()));
        let (_, _, some) = manager.page(&format!("{path}?uid={}", owner.uid())).await?;
        ensure!(
            some.contains(&edge) && !some.contains(&other.uid()),
            "{some}"
        );
        let both = format!("{path}?uid={}&uid={}&format=json", owner.uid(), other.uid());
        let (_, media_type, json) = manager.page(&both).await?;
        ensure!(media_type == "application/json", "{media_type}");
        let graph: serde_json::Value = serde_json::from_str(&json)?;
        ensure!(
            graph["nodes"]
                .as_array()
                .is_some_and(|nodes| nodes.len() == 4),
            "{json}"
        );
        let (code, ..) = manager.page(&format!("{path}/more")).await?;
        ensure!(code == 404, "{code}");
    }
    Ok(())
}

pub(crate) async fn the_graph_of_a_live_cluster(env: Env) -> anyhow::Result<()> {
    let f = Families::prepare(&env).await?;
    let owner = f.map("owner", &[]).await?;
    let part = f.map("part", &[owner.owner(true)]).await?;
    f.map("leaf", &[part.owner(true), nobody()]).await?;
    let show = async |arguments: &[&str]| {
        let mut command = env.evenkeel(&["graph", "--kubeconfig"]);
        command.arg(env.kubeconfig()).args(arguments);
        let output = tokio::process::Command::from(command).output().await?;
        ensure!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?)
    };
    let tree = "configmap/owner -n family
└─ configmap/part
   └─ configmap/leaf
configmap/never-was -n family (missing)
└─ configmap/leaf
";
    // No manager runs, so what is missing stays named.
    for arguments in [&["-n", NAMESPACE][..], &["configmap/part", "-n", NAMESPACE]] {
        let shown = show(arguments).await?;
        ensure!(shown == tree, "{arguments:?}: {shown}");
    }
    let svg = show(&["-A", "-o", "svg"]).await?;
    ensure!(
        svg.starts_with("<svg ") && svg.contains(&part.uid()),
        "{svg}"
    );
    let dot = show(&["cm/owner", "-n", NAMESPACE, "-o", "dot"]).await?;
    ensure!(dot.matches(" -> ").count() == 3, "{dot}");
    let json: serde_json::Value = serde_json::from_str(&show(&["-A", "-o", "json"]).await?)?;
    ensure!(
        json["edges"]
            .as_array()
            .is_some_and(|edges| edges.len() >= 3),
        "{json}"
    );
    Ok(())
}
