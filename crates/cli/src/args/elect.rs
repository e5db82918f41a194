use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use evenkeel::args::{TimingArgs, parse_duration};

use super::Connection;

/// `evenkeel elect`.
#[derive(Debug, Args)]
pub(crate) struct ElectArgs {
    #[command(flatten)]
    pub(crate) connection: Connection,
    /// Context of the kubeconfig; the current one unless given.
    #[arg(long, value_name = "NAME", requires = "kubeconfig")]
    pub(crate) context: Option<String>,
    /// The Lease: its name, or namespace/name. It is created when it is not there.
    #[arg(long, value_name = "[NAMESPACE/]NAME", value_parser = lease)]
    pub(crate) lease: LeaseName,
    /// Who this is; unique among all processes, restarted ones included. The host's name and a
    /// nonce unless given.
    #[arg(long, value_name = "NAME")]
    pub(crate) identity: Option<String>,
    #[command(flatten)]
    pub(crate) timing: TimingArgs,
    /// How long the command may take to end after this process was told to stop; it keeps the
    /// lease meanwhile.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_duration)]
    pub(crate) grace: Duration,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeaseName {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

fn lease(text: &str) -> Result<LeaseName, String> {
    let (namespace, name) = text.split_once('/').unwrap_or(("default", text));
    if namespace.is_empty() || name.is_empty() || name.contains('/') {
        return Err("expected a name, or a namespace and a name with a / between".to_owned());
    }
    Ok(LeaseName {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })
}

/// What `elect` starts: itself again, to tie its end to its parent's, and then the command.
#[derive(Debug, Args)]
pub(crate) struct TiedArgs {
    /// Who must be the parent.
    pub(crate) parent: u32,
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

#[cfg(test)]
mod tests {
    use super::super::tests::parse;
    use super::super::{Cli, Command};

    #[test]
    fn a_lease_and_a_command_are_named() {
        let elect = |args: &[&str]| match parse(&[&["elect"], args].concat()) {
            Ok(Cli {
                command: Command::Elect(args),
                ..
            }) => Ok(args),
            other => Err(format!("{other:?}")),
        };
        let args = elect(&["--lease=prod/job", "--", "sh", "-c", "--a_b"]).unwrap();
        assert_eq!((&*args.lease.namespace, &*args.lease.name), ("prod", "job"));
        assert_eq!(args.command, ["sh", "-c", "--a_b"]);
        assert_eq!(args.timing.leader_elect_lease_duration.as_secs(), 15);
        let args = elect(&["--lease=job", "--", "true"]).unwrap();
        assert_eq!(args.lease.namespace, "default");
        for (bad, word) in [
            (&["--lease=job"][..], "COMMAND"),
            (&["--", "true"], "--lease"),
            (&["--lease=a/b/c", "--", "true"], "expected a name"),
            (&["--lease=/b", "--", "true"], "expected a name"),
            (&["--lease=b", "--context=c", "--", "true"], "--kubeconfig"),
        ] {
            let error = elect(bad).unwrap_err();
            assert!(error.contains(word), "{bad:?}: {error}");
        }
    }
}
