//! A server of pods for measurements: LIST and WATCH over TLS, answered with bytes that were made
//! before. It knows as much of the API as reflectors ask for, and does as little as it can.
//!
//! Standard input takes commands, one a line, and standard output answers each with a line:
//!
//! | command | does | answer |
//! |---|---|---|
//! | `paced RATE COUNT` | sends events one by one, `RATE` a second | `sent` |
//! | `flat COUNT` | sends events as fast as they are taken | `sent` |
//! | `expire` | ends every watch with 410; waits until a client has its pods again | `relisted` |
//!
//! Each event is a new state of another pod. Its resource version is the time at which it was sent,
//! in microseconds since 1970, so that who gets it can tell how long it took.

#![expect(clippy::print_stdout, reason = "answers are its output")]

mod answer;
mod encoding;
mod feed;
mod owners;
mod serve;
mod state;
// What the example of the store measures with, too.
#[path = "../../../../../crates/store/examples/memory/pods.rs"]
mod pods;

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::{Parser, ValueEnum};

use self::answer::Served;
use self::encoding::Encoding;
use self::state::{FIRST_VERSION, State};

#[derive(Parser)]
struct Options {
    /// How many pods there are.
    #[arg(long, default_value_t = 100_000)]
    objects: usize,
    /// What is served.
    #[arg(long, value_enum, default_value_t = Form::Json)]
    form: Form,
    /// The pods in protobuf, as the Go program writes them.
    #[arg(long)]
    protobuf: Option<PathBuf>,
    /// Serves the pods' ReplicaSets too: their metadata, in JSON.
    #[arg(long)]
    owners: bool,
    /// Writes the certificate that clients are to trust here.
    #[arg(long)]
    ca: Option<PathBuf>,
    /// Prints the pods, one a line, and serves nothing.
    #[arg(long)]
    print: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    Json,
    MetadataJson,
    Protobuf,
    MetadataProtobuf,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let (encoding, metadata) = match options.form {
        Form::Json => (Encoding::Json, false),
        Form::MetadataJson => (Encoding::Json, true),
        Form::Protobuf => (Encoding::Protobuf, false),
        Form::MetadataProtobuf => (Encoding::Protobuf, true),
    };
    if options.print {
        return print(options.objects, metadata);
    }
    let texts = match (encoding, &options.protobuf) {
        (Encoding::Json, _) => pods::Pods::new(metadata, FIRST_VERSION)
            .take(options.objects)
            .map(String::into_bytes)
            .collect(),
        (Encoding::Protobuf, Some(file)) => state::read_protobuf(file, options.objects)?,
        (Encoding::Protobuf, None) => bail!("protobuf is served from a file: --protobuf"),
    };
    let state = Arc::new(State::new(encoding, metadata, texts)?);
    let owners = match options.owners {
        true => Some(Arc::new(owners::of(options.objects)?)),
        false => None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (listener, tls) = runtime.block_on(serve::listen(options.ca.as_deref()))?;
    println!("ready https://localhost:{}", listener.local_addr()?.port());
    let served = Served {
        pods: Arc::clone(&state),
        owners,
    };
    std::thread::spawn(move || runtime.block_on(serve::run(listener, tls, served)));
    for line in std::io::stdin().lock().lines() {
        println!("{}", carry_out(&state, &line?)?);
    }
    Ok(())
}

fn carry_out(state: &State, line: &str) -> anyhow::Result<&'static str> {
    let words: Vec<_> = line.split_whitespace().collect();
    Ok(match words[..] {
        ["paced", rate, count] => {
            feed::paced(state, rate.parse()?, count.parse()?);
            "sent"
        }
        ["flat", count] => {
            feed::flat(state, count.parse()?);
            "sent"
        }
        ["expire"] => {
            feed::expire(state)?;
            "relisted"
        }
        _ => bail!("no such command: {line}"),
    })
}

fn print(objects: usize, metadata: bool) -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for pod in pods::Pods::new(metadata, FIRST_VERSION).take(objects) {
        writeln!(out, "{pod}").context("nobody reads the pods")?;
    }
    Ok(out.flush()?)
}
