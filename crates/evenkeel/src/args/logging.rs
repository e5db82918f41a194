use clap::{ArgAction, Args, ValueEnum};

/// What is logged, and how it is written.
#[derive(Clone, Debug, Args)]
pub struct LoggingArgs {
    /// How log lines are written, on standard error.
    #[arg(long, global = true, value_enum, default_value = "text")]
    pub log_format: LogFormat,
    /// Logs more; -v=4 and --v=4 as well as -vv. RUST_LOG overrides it.
    #[arg(
        short = 'v',
        long = "v",
        global = true,
        value_name = "LEVEL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1",
        action = ArgAction::Append
    )]
    v: Vec<u8>,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// An object a line.
    Json,
}

impl LoggingArgs {
    /// Warnings only: the verbosity of programs that have more to show than a log.
    pub const WARN: u8 = 0;
    /// What operators expect to read.
    pub const INFO: u8 = 1;

    /// How much more than usual was asked for: the sum of all `-v`.
    #[must_use]
    pub fn verbosity(&self) -> u8 {
        let sum = |sum: u8, level: &u8| sum.saturating_add(*level);
        self.v.iter().fold(0, sum)
    }

    /// Directives for `tracing_subscriber::EnvFilter`, `usual` being the verbosity without flags.
    ///
    /// `targets` are the crates of the program itself; they are as verbose as evenkeel's, and all
    /// others a step less. Nothing is installed, and the variable `RUST_LOG` is not read: the
    /// program does both.
    #[must_use]
    pub fn directives(&self, usual: u8, targets: &[&str]) -> String {
        let (others, ours) = match usual.saturating_add(self.verbosity()) {
            Self::WARN => ("error", "warn"),
            Self::INFO => ("warn", "info"),
            2..=4 => ("info", "debug"),
            _ => ("debug", "trace"),
        };
        // A target is matched by its beginning: `evenkeel` names all crates of that family.
        let all = ["evenkeel"].into_iter().chain(targets.iter().copied());
        all.fold(others.to_owned(), |text, target| {
            format!("{text},{target}={ours}")
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Flags {
        #[command(flatten)]
        logging: LoggingArgs,
    }

    fn logging(flags: &[&str]) -> LoggingArgs {
        let flags = Flags::try_parse_from(["test"].iter().chain(flags));
        flags.unwrap().logging
    }

    #[test]
    fn verbosity_is_taken_in_every_spelling() {
        for (flags, level) in [
            (&[][..], 0),
            (&["-v"], 1),
            (&["-vv"], 2),
            (&["-v", "-v"], 2),
            (&["-v=4"], 4),
            (&["--v=4"], 4),
            (&["-v=200", "-v=200"], 255),
        ] {
            assert_eq!(logging(flags).verbosity(), level, "{flags:?}");
        }
    }

    #[test]
    fn the_programs_own_crates_are_as_verbose_as_ours_and_others_a_step_less() {
        for (flags, directives) in [
            (&[][..], "warn,evenkeel=info,mine=info"),
            (&["-v"], "info,evenkeel=debug,mine=debug"),
            (&["-v=3"], "info,evenkeel=debug,mine=debug"),
            (&["-v=9"], "debug,evenkeel=trace,mine=trace"),
        ] {
            let logging = logging(flags);
            assert_eq!(logging.directives(LoggingArgs::INFO, &["mine"]), directives);
        }
        let quiet = logging(&[]).directives(LoggingArgs::WARN, &[]);
        assert_eq!(quiet, "error,evenkeel=warn");
        assert_eq!(logging(&["--log-format=json"]).log_format, LogFormat::Json);
    }
}
