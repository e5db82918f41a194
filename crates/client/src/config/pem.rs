use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;

use super::{ConfigError, file};

/// The largest file of certificates that is read: a bundle of all public CAs has 220 kB.
const LARGEST_FILE: u64 = 4 << 20;

/// PEM text, or the file that it is in.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Pem {
    source: Source,
    /// The entry that it comes from.
    origin: Arc<str>,
}

#[derive(Clone, PartialEq, Eq)]
enum Source {
    Inline(Arc<[u8]>),
    File(PathBuf),
}

impl Pem {
    pub(crate) fn inline(text: Vec<u8>, origin: &str) -> Self {
        Self {
            source: Source::Inline(text.into()),
            origin: origin.into(),
        }
    }

    pub(crate) fn file(path: PathBuf, origin: &str) -> Self {
        Self {
            source: Source::File(path),
            origin: origin.into(),
        }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        match &self.source {
            Source::Inline(_) => None,
            Source::File(path) => Some(path),
        }
    }

    pub(super) fn base64(&self) -> Result<String, ConfigError> {
        Ok(base64::engine::general_purpose::STANDARD.encode(self.read()?))
    }

    /// Whether it may change while the program runs.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.source, Source::File(_))
    }

    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// The same with the contents of the file.
    pub(crate) fn loaded(&self) -> Result<Self, ConfigError> {
        Ok(Self {
            source: Source::Inline(self.read()?),
            origin: Arc::clone(&self.origin),
        })
    }

    pub(crate) fn read(&self) -> Result<Arc<[u8]>, ConfigError> {
        match &self.source {
            Source::Inline(text) => Ok(Arc::clone(text)),
            Source::File(path) => match file::read(path, LARGEST_FILE) {
                Ok(text) => Ok(text.into()),
                Err(error) => Err(ConfigError::Unreadable {
                    what: self.origin.to_string(),
                    path: path.clone(),
                    reason: error.to_string(),
                }),
            },
        }
    }
}

/// A path as it is written in a kubeconfig, which may lie elsewhere.
pub(super) fn absolute(path: &Path, what: &str) -> Result<String, ConfigError> {
    let absolute = std::path::absolute(path).map_err(|error| ConfigError::Unreadable {
        what: what.to_owned(),
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    Ok(absolute.to_string_lossy().into_owned())
}

impl std::fmt::Debug for Pem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.source {
            Source::Inline(_) => f.write_str("[pem]"),
            Source::File(path) => write!(f, "{path:?}"),
        }
    }
}
