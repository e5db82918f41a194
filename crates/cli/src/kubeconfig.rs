//! The administrator's kubeconfig of an embedded server, as a file.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use evenkeel_apiserver::Listener;

/// Every kubeconfig of an embedded server has this line.
const MARK: &str = "current-context: evenkeel";

/// Writes the kubeconfig with mode 0600 and returns its absolute path.
///
/// The file appears whole or not at all, and nobody else can ever read it. A file that is not
/// from an earlier server is left alone: somebody may need it.
pub(crate) fn write(path: &Path, listener: &Listener) -> anyhow::Result<PathBuf> {
    refuse_foreign(path)?;
    let name = path
        .file_name()
        .with_context(|| format!("{} names no file", path.display()))?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let beside = folder.join(format!(
        ".{}.{}",
        name.to_string_lossy(),
        std::process::id()
    ));
    let written = fs::create_dir_all(folder)
        .and_then(|()| write_private(&beside, &listener.kubeconfig()))
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // It may not be there at all.
        let _ = fs::remove_file(&beside);
    }
    written.with_context(|| format!("cannot write kubeconfig {}", path.display()))?;
    fs::canonicalize(path).with_context(|| format!("cannot find {}", path.display()))
}

fn refuse_foreign(path: &Path) -> anyhow::Result<()> {
    match fs::read_to_string(path) {
        Ok(text) if text.trim().is_empty() || text.lines().any(|line| line == MARK) => Ok(()),
        Ok(_) => bail!(
            "{} is not from evenkeel and will not be overwritten: choose another file with --kubeconfig-out",
            path.display()
        ),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())
}

/// The line for a shell in which kubectl shall find the server.
pub(crate) fn export_line(path: &Path) -> String {
    let path = path.to_string_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@%:,".contains(c);
    if path.chars().all(is_plain) {
        format!("export KUBECONFIG={path}")
    } else {
        format!("export KUBECONFIG='{}'", path.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_survives_any_path() {
        assert_eq!(export_line(Path::new("/a/b.c")), "export KUBECONFIG=/a/b.c");
        assert_eq!(
            export_line(Path::new("/my files/it's")),
            r"export KUBECONFIG='/my files/it'\''s'"
        );
    }
}
