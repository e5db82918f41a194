//! The watchers of kube-rs, as a process that says what its stores hold.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::process::Stdio;

use anyhow::Context;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::env::Env;
use crate::program::{self, Unbuilt};

/// `namespace/name` and resource version of each object, by view.
pub type Stores = BTreeMap<String, BTreeMap<String, String>>;

/// The process. It ends with the handle.
#[derive(Debug)]
pub struct KubeRs {
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    _process: Child,
}

impl KubeRs {
    /// Starts the watchers on the scenario's server.
    ///
    /// # Errors
    /// The program is not there, or cannot be started.
    pub fn start(env: &Env) -> anyhow::Result<Self> {
        let program = match program::kube_rs() {
            Ok(program) => program,
            Err(Unbuilt::Missing(reason) | Unbuilt::Broken(reason)) => anyhow::bail!(reason),
        };
        let log = env.folder().join("kube-rs.log");
        let log = OpenOptions::new().create(true).append(true).open(log)?;
        let mut process = Command::new(program)
            .env("KUBECONFIG", env.kubeconfig())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        let questions = process.stdin.take().context("no standard input")?;
        let answers = process.stdout.take().context("no standard output")?;
        Ok(Self {
            questions,
            answers: BufReader::new(answers),
            _process: process,
        })
    }

    /// What its stores hold now.
    ///
    /// # Errors
    /// It has ended.
    pub async fn stores(&mut self) -> anyhow::Result<Stores> {
        self.questions.write_all(b"\n").await?;
        let mut line = String::new();
        self.answers.read_line(&mut line).await?;
        serde_json::from_str(&line).with_context(|| format!("kube-rs said {line:?}"))
    }
}
