//! Log lines: where they go and how they look.

use std::io::IsTerminal;

use evenkeel::args::{LogFormat, LoggingArgs};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::error::Failure;
use crate::output::Output;

/// Installs the subscriber of this process.
pub(crate) fn init(logging: &LoggingArgs, usual: u8, output: &Output) -> Result<(), Failure> {
    let verbosity = usual.saturating_add(logging.verbosity());
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter(logging, usual)?)
        .with_writer(LogWriter(output.clone()));
    let installed = match logging.log_format {
        LogFormat::Text => builder
            .with_ansi(std::io::stderr().is_terminal())
            .with_target(verbosity > LoggingArgs::INFO)
            .try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    installed.map_err(|error| Failure::failed(format!("cannot start logging: {error}")))
}

/// `RUST_LOG` wins over the verbosity, since it says more.
fn filter(logging: &LoggingArgs, usual: u8) -> Result<EnvFilter, Failure> {
    if let Some(directives) = std::env::var_os("RUST_LOG") {
        let directives = directives.to_string_lossy();
        return EnvFilter::try_new(&directives)
            .map_err(|error| Failure::usage(format!("RUST_LOG: {error}")));
    }
    let mut directives = logging.directives(usual, &[]);
    if usual.saturating_add(logging.verbosity()) == LoggingArgs::WARN {
        // Informers of every kind there is draw the server's warnings about deprecated ones,
        // which nobody who runs `up` has asked for.
        directives.push_str(",evenkeel_client::client::warning=error");
    }
    Ok(EnvFilter::new(directives))
}

struct LogWriter(Output);

impl<'a> MakeWriter<'a> for LogWriter {
    type Writer = &'a Self;

    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

/// The subscriber writes each event with one call.
impl std::io::Write for &LogWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.log(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
