//! Bad input gets one line that names what is wrong and where, and an exit code
//! that tells a mistake in the call (2) from a refused object (1).

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context, ensure};
use evenkeel_e2e::{Env, Process, eventually};
use evenkeel_meta::Timestamp;

const SOON: Duration = Duration::from_secs(30);

const GOOD: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: good}
";

/// What `up -f` says of a manifest that cannot be applied.
pub(crate) async fn a_manifest_is_refused_by_name_and_line(env: Env) -> anyhow::Result<()> {
    let cases: [(&str, &str, i32, &[&str]); 4] = [
        (
            "broken.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [unclosed\n",
            1,
            &["broken.yaml", "document 2", "line"],
        ),
        (
            "kind.yaml",
            "apiVersion: example.com/v1\nkind: Gizmo\nmetadata: {name: unknown}\n",
            1,
            &["kind.yaml", "document 2", "Gizmo", "example.com/v1"],
        ),
        (
            "type.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: typed}\nspec: {replicas: many}\n",
            1,
            &["type.yaml", "document 2", "Deployment", "spec.replicas"],
        ),
        (
            "field.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fielded}\ndatta: {key: value}\n",
            1,
            &["field.yaml", "document 2", "ConfigMap", "datta"],
        ),
    ];
    for (name, text, code, words) in cases {
        let path = env.folder().join(name);
        fs::write(&path, format!("{GOOD}---\n{text}"))?;
        let mut command = up(&env);
        command.arg("-f").arg(&path);
        let output = finished(command).await?;
        refused(&output, code, words).with_context(|| name.to_owned())?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(
            stdout.contains("configmap/good") || stderr.contains("nothing was applied"),
            "{name}: unclear what of it was applied: {stdout}{stderr}"
        );
    }

    let mut command = up(&env);
    command.args(["-f", "nowhere.yaml"]);
    refused(
        &finished(command).await?,
        2,
        &["nowhere.yaml", "No such file"],
    )
}

/// A port that another program has is an error that names it, not another port.
pub(crate) async fn a_port_in_use_is_named(env: Env) -> anyhow::Result<()> {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = taken.local_addr()?.port().to_string();
    for subcommand in ["up", "apiserver"] {
        let output = finished(env.evenkeel(&[subcommand, "--port", &port])).await?;
        refused(&output, 1, &[&port, "in use"]).with_context(|| subcommand.to_owned())?;
    }
    let mut command = env.evenkeel(&["controller-manager", "--http-port", &port, "--kubeconfig"]);
    command.arg(env.kubeconfig());
    refused(&finished(command).await?, 1, &[&port, "in use"])
}

/// What the manager says when it cannot get to the server.
pub(crate) async fn a_manager_says_why_it_cannot_connect(env: Env) -> anyhow::Result<()> {
    let output = finished(env.evenkeel(&["controller-manager", "--kubeconfig=nowhere"])).await?;
    refused(&output, 1, &["nowhere", "No such file"])?;

    let kubeconfig = fs::read_to_string(env.kubeconfig())?;
    let token = altered(&env, "token", &kubeconfig, |config| {
        config["users"][0]["user"] = serde_json::json!({"token": "not-a-token"});
    })?;
    let manager = manager(&env, "wrong-token", &token)?;
    says(&manager, &["Unauthorized", "401"]).await?;

    let other_ca = rcgen::generate_simple_self_signed(["elsewhere".to_owned()])?;
    let path = env.folder().join("elsewhere.crt");
    fs::write(&path, other_ca.cert.pem())?;
    let ca = altered(&env, "ca", &kubeconfig, |config| {
        let cluster = &mut config["clusters"][0]["cluster"];
        cluster["certificate-authority"] = path.to_string_lossy().into();
        if let Some(cluster) = cluster.as_object_mut() {
            cluster.remove("certificate-authority-data");
        }
    })?;
    let manager = self::manager(&env, "wrong-ca", &ca)?;
    says(&manager, &["certificate"]).await
}

/// A token that expires while the manager runs is reported as what it is.
pub(crate) async fn an_expired_token_is_reported(env: Env) -> anyhow::Result<()> {
    let (env, server) = env.with_faults().await?;
    let soon = Timestamp::from_second(jiff::Timestamp::now().as_second() + 2);
    server.tokens().add(
        "short-lived",
        evenkeel_apiserver::Identity::admin(),
        Some(soon),
    );
    let kubeconfig = fs::read_to_string(env.kubeconfig())?;
    let path = altered(&env, "expiring", &kubeconfig, |config| {
        config["users"][0]["user"] = serde_json::json!({"token": "short-lived"});
    })?;
    let manager = manager(&env, "expiring", &path)?;
    says(&manager, &["Unauthorized", "401"]).await
}

fn up(env: &Env) -> Command {
    let mut command = env.evenkeel(&["up", "--once", "--timeout=20s", "--kubeconfig-out"]);
    command.arg(env.folder().join("up.kubeconfig"));
    command
}

fn manager(env: &Env, name: &str, kubeconfig: &Path) -> anyhow::Result<Process> {
    let mut command = env.evenkeel(&["controller-manager", "--secure-port=0", "--kubeconfig"]);
    command.arg(kubeconfig);
    Process::start(name, command, env.folder())
}

async fn finished(command: Command) -> anyhow::Result<Output> {
    let mut command = tokio::process::Command::from(command);
    command.kill_on_drop(true);
    tokio::time::timeout(SOON, command.output())
        .await
        .context("it does not end")?
        .context("it does not start")
}

fn refused(output: &Output, code: i32, words: &[&str]) -> anyhow::Result<()> {
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.code() == Some(code),
        "{} instead of exit code {code}: {errors}",
        output.status
    );
    ensure!(
        errors
            .lines()
            .any(|line| words.iter().all(|word| line.contains(word))),
        "no line with {words:?}: {errors}"
    );
    ensure!(!errors.contains("panicked"), "{errors}");
    Ok(())
}

async fn says(process: &Process, words: &[&str]) -> anyhow::Result<()> {
    eventually(
        SOON,
        &format!("{} says {words:?}", process.name()),
        async || {
            let output = process.output();
            let said = output
                .lines()
                .any(|line| words.iter().all(|word| line.contains(word)));
            Ok(if said { Ok(()) } else { Err(output) })
        },
    )
    .await
}

/// The scenario's kubeconfig with a change. JSON is YAML.
fn altered(
    env: &Env,
    name: &str,
    kubeconfig: &str,
    change: impl FnOnce(&mut serde_json::Value),
) -> anyhow::Result<PathBuf> {
    let mut config: serde_json::Value = serde_saphyr::from_str(kubeconfig)?;
    change(&mut config);
    let path = env.folder().join(format!("{name}.kubeconfig"));
    fs::write(&path, config.to_string())?;
    Ok(path)
}
