//! Ready-made flags for programs that read their command line with clap (feature `clap`).
//!
//! Names and defaults are those of Kubernetes' own programs, and of operators that are made with
//! kubebuilder.
//!
//! ```
//! use clap::Parser;
//! use evenkeel::args::{ElectionArgs, LoggingArgs};
//! use evenkeel::{BoxError, Manager, ManagerOptions, client::Client};
//!
//! #[derive(Parser)]
//! struct Args {
//!     #[command(flatten)]
//!     logging: LoggingArgs,
//!     #[command(flatten)]
//!     election: ElectionArgs,
//!     /// Address of the probes and the metrics.
//!     #[arg(long, default_value = "0.0.0.0:8081")]
//!     health_probe_bind_address: std::net::SocketAddr,
//! }
//!
//! fn build(client: Client, args: &Args) -> Result<Manager, BoxError> {
//!     // For `tracing_subscriber::EnvFilter`; `-v` says more.
//!     let directives = args.logging.directives(LoggingArgs::INFO, &["my_operator"]);
//!     assert_eq!(directives, "warn,evenkeel=info,my_operator=info");
//!     let mut options = ManagerOptions::default();
//!     options.election = args.election.election("default", "my-operator")?;
//!     Ok(Manager::builder(client).options(options).build()?)
//! }
//!
//! let args = Args::parse_from(["my-operator", "--leader-elect-lease-duration=30s"]);
//! # let client = Client::from_service(evenkeel_apiserver::Server::new());
//! build(client, &args)?;
//! # Ok::<(), BoxError>(())
//! ```

mod duration;
mod election;
mod logging;

pub use duration::{InvalidDuration, parse_duration};
pub use election::{ElectionArgs, ElectionArgsError, TimingArgs};
pub use logging::{LogFormat, LoggingArgs};
