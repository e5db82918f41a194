//! `cargo xtask bench client`: informers of ours and of others, each in a process of its own, in
//! turn, on a server of recorded bytes.

mod goals;
mod measure;
mod report;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use self::measure::{Measured, Sizes};
use super::peers;
use super::subject::Subject;
use super::table::Samples;
use crate::workspace::Workspace;

/// How much to measure.
#[derive(clap::Args)]
pub(super) struct Options {
    /// How often each subject is run.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// How many pods there are.
    #[arg(long, default_value_t = 100_000)]
    objects: usize,
    /// For how many seconds 5,000 events a second are sent.
    #[arg(long, default_value_t = 10)]
    seconds: u32,
    /// Only ours, without Go and without the network.
    #[arg(long)]
    ours: bool,
    /// Only subjects with one of these words in their names.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

/// Who is measured.
#[derive(Clone, Copy)]
struct Kind {
    title: &'static str,
    maker: Maker,
    mode: &'static str,
    /// What the server sends.
    form: &'static str,
    allocator: Allocator,
}

/// Whose memory allocator the program has. Those of Go have their own in any case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Allocator {
    System,
    Mimalloc,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Maker {
    Evenkeel,
    ClientGo,
    KubeRs,
}

const KINDS: [Kind; 17] = [
    ours("evenkeel typed", "typed", "json"),
    ours(
        "evenkeel typed, managedFields too",
        "typed-managed-fields",
        "json",
    ),
    ours("evenkeel typed, exact capacities", "typed-exact", "json"),
    ours("evenkeel metadata", "metadata", "metadata-json"),
    ours("evenkeel projection", "projection", "json"),
    ours("evenkeel compact", "compact", "json"),
    mimalloc("evenkeel typed, mimalloc", ours("", "typed", "json")),
    mimalloc(
        "evenkeel metadata, mimalloc",
        ours("", "metadata", "metadata-json"),
    ),
    client_go("client-go typed, protobuf", "typed-protobuf", "protobuf"),
    client_go("client-go typed, JSON", "typed-json", "json"),
    client_go(
        "client-go metadata, protobuf",
        "metadata-protobuf",
        "metadata-protobuf",
    ),
    kube_rs("kube-rs typed", "typed", "json"),
    kube_rs("kube-rs typed, streaming", "typed-streaming", "json"),
    kube_rs("kube-rs metadata", "metadata", "metadata-json"),
    kube_rs(
        "kube-rs metadata, streaming",
        "metadata-streaming",
        "metadata-json",
    ),
    mimalloc("kube-rs typed, mimalloc", kube_rs("", "typed", "json")),
    mimalloc(
        "kube-rs metadata, mimalloc",
        kube_rs("", "metadata", "metadata-json"),
    ),
];

const fn ours(title: &'static str, mode: &'static str, form: &'static str) -> Kind {
    let maker = Maker::Evenkeel;
    Kind {
        title,
        maker,
        mode,
        form,
        allocator: Allocator::System,
    }
}

const fn client_go(title: &'static str, mode: &'static str, form: &'static str) -> Kind {
    let maker = Maker::ClientGo;
    Kind {
        title,
        maker,
        mode,
        form,
        allocator: Allocator::System,
    }
}

const fn kube_rs(title: &'static str, mode: &'static str, form: &'static str) -> Kind {
    let maker = Maker::KubeRs;
    Kind {
        title,
        maker,
        mode,
        form,
        allocator: Allocator::System,
    }
}

const fn mimalloc(title: &'static str, kind: Kind) -> Kind {
    Kind {
        title,
        allocator: Allocator::Mimalloc,
        ..kind
    }
}

/// The programs, and where they leave files.
pub(super) struct Stage {
    replayer: PathBuf,
    evenkeel: PathBuf,
    /// `None` if only ours are measured.
    others: Option<Others>,
    folder: PathBuf,
}

struct Others {
    go: PathBuf,
    kube_rs: PathBuf,
}

/// Builds the programs, then measures.
///
/// # Errors
/// A program that could not be built, or did not do what it was told.
pub(super) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<()> {
    let is_chosen = |kind: &&Kind| {
        let named = |word: &String| kind.title.contains(word.as_str());
        (!options.ours || kind.maker == Maker::Evenkeel)
            && (options.only.is_empty() || options.only.iter().any(named))
    };
    let kinds: Vec<_> = KINDS.iter().filter(is_chosen).collect();
    ensure!(!kinds.is_empty(), "no such subject");
    let stage = Stage::build(workspace, options.ours)?;
    let forms: Vec<_> = kinds.iter().map(|kind| kind.form).collect();
    stage.encode(&forms, options.objects)?;
    let sizes = Sizes {
        objects: options.objects,
        paced: options.seconds * measure::RATE,
    };
    let mut results: Vec<_> = kinds
        .iter()
        .map(|kind| (kind.title, Measured::<Samples>::default()))
        .collect();
    for round in 1..=options.rounds {
        for (kind, (title, samples)) in kinds.iter().zip(&mut results) {
            eprintln!("round {round} of {}: {title}", options.rounds);
            let figures = measure::measure(&stage, kind, sizes)
                .with_context(|| format!("{title} could not be measured"))?;
            samples.push(&figures);
        }
    }
    stage.forget_files()?;
    println!("{}", report::Report(&results));
    println!("{}", goals::Goals(&results));
    Ok(())
}

impl Stage {
    pub(super) fn build(workspace: &Workspace, ours_alone: bool) -> anyhow::Result<Self> {
        peers::build_ours(workspace)?;
        let others = match ours_alone {
            true => None,
            false => Some(Others {
                go: peers::build_go(workspace, "client")?,
                kube_rs: peers::build_kube_rs(workspace, "client")?,
            }),
        };
        let folder = workspace.target.join("bench-client");
        std::fs::create_dir_all(&folder)?;
        let programs = workspace.target.join("release");
        Ok(Self {
            replayer: programs.join("bench-replayer"),
            evenkeel: programs.join("bench-client"),
            others,
            folder,
        })
    }

    /// Makes the files that those of these forms are served from which are protobuf.
    pub(super) fn encode(&self, forms: &[&str], objects: usize) -> anyhow::Result<()> {
        for (form, argument) in [("protobuf", "pods"), ("metadata-protobuf", "metadata")] {
            let (true, Some(others)) = (forms.contains(&form), &self.others) else {
                continue;
            };
            let mut print = Command::new(&self.replayer);
            print.args(["--print", "--objects", &objects.to_string()]);
            if argument == "metadata" {
                print.args(["--form", "metadata-json"]);
            }
            let mut printing = print.stdout(Stdio::piped()).spawn()?;
            let lines = printing.stdout.take().context("no pipe")?;
            let status = Command::new(&others.go)
                .args(["encode", argument])
                .stdin(lines)
                .stdout(File::create(self.protobuf(form))?)
                .status()?;
            ensure!(status.success(), "the pods could not be encoded: {status}");
            ensure!(printing.wait()?.success(), "the pods could not be printed");
        }
        Ok(())
    }

    fn protobuf(&self, form: &str) -> PathBuf {
        self.folder.join(form)
    }

    pub(super) fn ca(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    /// They are as large as the pods together.
    pub(super) fn forget_files(&self) -> anyhow::Result<()> {
        Ok(std::fs::remove_dir_all(&self.folder)?)
    }

    /// Starts a server of this form; answers its URL too.
    pub(super) fn serve(&self, form: &str, objects: usize) -> anyhow::Result<(Subject, String)> {
        Subject::start(&mut self.server(form, objects))
    }

    /// The same, with the pods' ReplicaSets.
    pub(super) fn serve_owners(
        &self,
        form: &str,
        objects: usize,
    ) -> anyhow::Result<(Subject, String)> {
        Subject::start(self.server(form, objects).arg("--owners"))
    }

    fn server(&self, form: &str, objects: usize) -> Command {
        let mut command = Command::new(&self.replayer);
        command
            .args(["--form", form, "--objects", &objects.to_string()])
            .arg("--protobuf")
            .arg(self.protobuf(form))
            .arg("--ca")
            .arg(self.ca());
        command
    }

    pub(super) fn program(&self, maker: Maker) -> anyhow::Result<&Path> {
        let others = self.others.as_ref();
        match maker {
            Maker::Evenkeel => Some(self.evenkeel.as_path()),
            Maker::ClientGo => others.map(|others| others.go.as_path()),
            Maker::KubeRs => others.map(|others| others.kube_rs.as_path()),
        }
        .context("the others were not built")
    }

    /// Prepares a client in this mode; it begins when it is told to.
    pub(super) fn client(
        &self,
        maker: Maker,
        allocator: Allocator,
        mode: &str,
        url: &str,
    ) -> anyhow::Result<Subject> {
        let mut program = self.program(maker)?.as_os_str().to_owned();
        if allocator == Allocator::Mimalloc {
            program.push("-mimalloc");
        }
        let mut command = Command::new(program);
        command.args([mode, url]).arg(self.ca());
        Ok(Subject::start(&mut command)?.0)
    }
}
