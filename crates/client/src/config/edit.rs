#[cfg(test)]
mod tests;

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::kubeconfig::{self, title};
use super::load::LARGEST_FILE;
use super::{Config, ConfigError, entries, file};

/// A kubeconfig file that is being changed (client-go K10).
///
/// While it lives, a file with `.lock` behind its name keeps other writers away, kubectl among
/// them. What it does not know in the file stays as it is; comments do not, and neither does
/// the order of keys.
///
/// It blocks on the file system; in async code, use it on a thread that may.
///
/// ```
/// use evenkeel_client::{Config, KubeconfigFile};
///
/// # let folder = std::env::temp_dir().join(format!("evenkeel-doc-{}", std::process::id()));
/// # let path = folder.join("config");
/// let config = Config::new("https://127.0.0.1:6443")?.token("s3cret").insecure();
/// let mut file = KubeconfigFile::open(&path)?;
/// file.put("test", &config)?;
/// file.use_context("test")?;
/// file.save()?;
/// assert_eq!(Config::from_kubeconfig(&path, None)?.server(), config.server());
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct KubeconfigFile {
    path: PathBuf,
    document: Document,
    _lock: Lock,
}

/// The contents, which nobody may print.
struct Document(Map<String, Value>);

impl KubeconfigFile {
    /// Locks and reads a file. One that is not there yet is taken for an empty one; its folder
    /// is made, with mode 0755.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Locked`] if somebody else is changing it; if it is no kubeconfig or not
    /// to be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        if let Some(folder) = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            make_folder(folder).map_err(|error| unwritable(path, &error))?;
        }
        let lock = Lock::take(path)?;
        // The file that a link leads to is the one that is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let text = match file::read_text(&path, LARGEST_FILE) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(ConfigError::Unreadable {
                    what: "kubeconfig".into(),
                    path,
                    reason: error.to_string(),
                });
            }
        };
        let malformed = |reason| ConfigError::Malformed {
            file: title(&path),
            reason,
        };
        // What cannot be used is not made worse.
        kubeconfig::Kubeconfig::default().add(&text, &path)?;
        let document: Option<Map<String, Value>> =
            kubeconfig::parse_as(&text).map_err(malformed)?;
        Ok(Self {
            path,
            document: Document(document.unwrap_or_default()),
            _lock: lock,
        })
    }

    /// Adds a cluster, a user and a context of this name, or replaces them.
    ///
    /// # Errors
    ///
    /// If the configuration names files whose paths cannot be made absolute.
    pub fn put(&mut self, name: &str, config: &Config) -> Result<(), ConfigError> {
        self.set("clusters", "cluster", name, &entries::cluster(config)?)?;
        self.set("users", "user", name, &entries::user(config)?)?;
        let namespace = config.default_namespace();
        let context = json!({"cluster": name, "user": name, "namespace": namespace});
        self.set("contexts", "context", name, &context)
    }

    /// Makes a context the current one.
    ///
    /// # Errors
    ///
    /// If there is none of this name.
    pub fn use_context(&mut self, name: &str) -> Result<(), ConfigError> {
        let contexts = self.document.0.get("contexts").and_then(Value::as_array);
        if !contexts.is_some_and(|all| all.iter().any(|entry| entry["name"] == name)) {
            return Err(ConfigError::UnknownContext {
                files: title(&self.path),
                name: name.to_owned(),
            });
        }
        self.document
            .0
            .insert("current-context".into(), name.into());
        Ok(())
    }

    /// Removes the cluster, the user and the context of this name; a current context of this
    /// name is no longer set.
    pub fn remove(&mut self, name: &str) {
        for section in ["clusters", "users", "contexts"] {
            if let Some(all) = self
                .document
                .0
                .get_mut(section)
                .and_then(Value::as_array_mut)
            {
                all.retain(|entry| entry["name"] != name);
            }
        }
        if self
            .document
            .0
            .get("current-context")
            .is_some_and(|current| current == name)
        {
            self.document.0.insert("current-context".into(), "".into());
        }
    }

    /// Replaces the file. A new one gets mode 0600, an old one keeps its mode. It is there
    /// whole or as it was before.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn save(mut self) -> Result<(), ConfigError> {
        let document = &mut self.document.0;
        document.entry("apiVersion").or_insert_with(|| "v1".into());
        document.entry("kind").or_insert_with(|| "Config".into());
        let failed = |error: &dyn std::fmt::Display| ConfigError::Unwritable {
            path: self.path.clone(),
            reason: error.to_string(),
        };
        let text = serde_saphyr::to_string(document).map_err(|error| failed(&error))?;
        replace(&self.path, &text).map_err(|error| failed(&error))
    }

    fn set(
        &mut self,
        section: &'static str,
        kind: &str,
        name: &str,
        entry: &Value,
    ) -> Result<(), ConfigError> {
        let all = self.document.0.entry(section).or_insert(Value::Null);
        if all.is_null() {
            *all = Value::Array(Vec::new());
        }
        let Some(all) = all.as_array_mut() else {
            return Err(ConfigError::Malformed {
                file: title(&self.path),
                reason: format!("{section} is no list"),
            });
        };
        let named = json!({"name": name, kind: entry});
        match all.iter_mut().find(|entry| entry["name"] == name) {
            Some(old) => *old = named,
            None => all.push(named),
        }
        Ok(())
    }
}

/// The right to write a file; the file that stands for it goes when it is dropped.
#[derive(Debug)]
struct Lock(PathBuf);

impl Lock {
    fn take(path: &Path) -> Result<Self, ConfigError> {
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let lock = PathBuf::from(name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0);
        match options.open(&lock) {
            Ok(_) => Ok(Self(lock)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(ConfigError::Locked { lock })
            }
            Err(error) => Err(unwritable(path, &error)),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            tracing::warn!(lock = %self.0.display(), %error, "the lock of a kubeconfig stays");
        }
    }
}

fn make_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o755);
    builder.create(folder)
}

/// Writes beside the file, then takes its place. The lock keeps others from the same name.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let beside = PathBuf::from(name);
    let written = write_private(&beside, text, fs::metadata(path).ok().as_ref())
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // It may not be there at all.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn write_private(path: &Path, text: &str, old: Option<&fs::Metadata>) -> std::io::Result<()> {
    // What an earlier writer left behind when it was killed.
    let _ = fs::remove_file(path);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    if let Some(old) = old {
        file.set_permissions(old.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn unwritable(path: &Path, error: &std::io::Error) -> ConfigError {
    ConfigError::Unwritable {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}

impl std::fmt::Debug for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[secret]")
    }
}
