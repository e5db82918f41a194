use std::path::PathBuf;

use crate::error::CredentialError;
use crate::transport::TransportError;

/// Why there is no usable configuration. The text names the file and the entry at fault, and
/// never quotes a credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("cannot read {what} {}: {reason}", path.display())]
    Unreadable {
        /// Such as `kubeconfig`, or the entry that names the file.
        what: String,
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A file is no kubeconfig.
    #[error("{file} is no kubeconfig: {reason}")]
    Malformed {
        /// The file.
        file: String,
        /// Where and why.
        reason: String,
    },
    /// One file defines a name twice.
    #[error("{file}: {section} defines {name:?} twice")]
    DuplicateName {
        /// The file.
        file: String,
        /// `clusters`, `contexts` or `users`.
        section: &'static str,
        /// The name.
        name: String,
    },
    /// The context that was asked for is not there.
    #[error("{files}: there is no context {name:?}")]
    UnknownContext {
        /// The files that were read.
        files: String,
        /// The context.
        name: String,
    },
    /// No context is current and none was asked for.
    #[error("{files}: no current-context is set")]
    NoCurrentContext {
        /// The files that were read.
        files: String,
    },
    /// A context names a cluster or a user that is not there.
    #[error("{origin}: there is no {kind} {name:?}")]
    UnknownEntry {
        /// The file and the context.
        origin: String,
        /// `cluster` or `user`.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// An entry is wrong.
    #[error("{origin}: {reason}")]
    Invalid {
        /// The file and the entry.
        origin: String,
        /// What is wrong.
        reason: String,
    },
    /// An entry asks for something that this version cannot do.
    #[error("{origin}: {what} is not supported yet")]
    NotSupported {
        /// The file and the entry.
        origin: String,
        /// The feature.
        what: &'static str,
    },
    /// The policy of the program does not let it run this exec plugin.
    #[error("{origin}: exec plugin {} is not allowed here", command.display())]
    ExecNotAllowed {
        /// The file and the entry.
        origin: String,
        /// The program.
        command: PathBuf,
    },
    /// Somebody else is changing the file, or was killed while doing so.
    #[error("somebody else is writing: {} is there", lock.display())]
    Locked {
        /// The file that stands for the lock. It may be removed if nobody is writing.
        lock: PathBuf,
    },
    /// The kubeconfig cannot be written.
    #[error("cannot write kubeconfig {}: {reason}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// There is neither a kubeconfig nor a pod around us.
    #[error("no cluster is configured: {tried}")]
    NoConfiguration {
        /// What was looked at.
        tried: String,
    },
    /// The program does not run in a pod.
    #[error("not running in a pod: {reason}")]
    NotInCluster {
        /// What is missing.
        reason: String,
    },
}

impl ConfigError {
    pub(crate) fn invalid(origin: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Invalid {
            origin: origin.into(),
            reason: reason.into(),
        }
    }
}

/// Why a client cannot be made of a configuration.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// A certificate, a key or another entry cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The credentials cannot be obtained.
    #[error("{origin}: {error}")]
    Credential {
        /// The file and the entry.
        origin: String,
        /// What is wrong.
        #[source]
        error: CredentialError,
    },
    /// Neither of the features `ring` and `aws-lc-rs` is on, and the process has no default provider.
    #[error("there is no TLS provider: turn on the feature `ring` or `aws-lc-rs`")]
    NoTlsProvider,
    /// The transport could not be set up.
    #[error("{0}")]
    Transport(#[source] TransportError),
}
