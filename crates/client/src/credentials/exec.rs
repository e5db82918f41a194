//! Credentials that a program of the user's prints: `aws`, `gke-gcloud-auth-plugin`, `kubelogin`.

mod answer;
mod config;
#[cfg(test)]
mod corpus;
mod mask;
mod plugin;
mod process;
mod request;
#[cfg(test)]
mod tests;

#[cfg(fuzzing)]
pub use self::answer::read_exec_answer;
pub use self::config::{ExecConfig, ExecPolicy, ExecVersion, InteractiveMode};

pub(crate) use self::plugin::ExecPlugin;
pub(crate) use self::request::ClusterInfo;
