//! Health checks by name, answered the way Kubernetes' own binaries answer them.

use std::fmt::Write as _;
use std::sync::Arc;

use parking_lot::RwLock;

/// Which question a check belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Probe {
    /// Is the process able to go on? A failing answer asks for a restart.
    Live,
    /// Is it able to do its work now? A failing answer asks for patience.
    Ready,
}

type Check = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// The checks behind `/livez`, `/readyz` and `/healthz` (which is both).
///
/// A check is a question that is answered at once, from state that somebody else keeps; it
/// must not block. Its error text says what is wrong, for people: "list pods: 403 Forbidden".
#[derive(Clone, Default)]
pub struct Probes {
    checks: Arc<RwLock<Vec<Entry>>>,
}

#[derive(Clone)]
struct Entry {
    name: String,
    probe: Probe,
    check: Check,
}

/// The answer to a probe request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether every check passed.
    pub passed: bool,
    /// `ok`, or a line a check.
    pub body: String,
}

impl Probes {
    /// No checks: every probe passes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a check. A later check of the same name and probe replaces the earlier one.
    pub fn add(
        &self,
        probe: Probe,
        name: impl Into<String>,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) {
        let entry = Entry {
            name: name.into(),
            probe,
            check: Arc::new(check),
        };
        let mut checks = self.checks.write();
        checks.retain(|other| (&other.name, other.probe) != (&entry.name, entry.probe));
        checks.push(entry);
    }

    /// Answers a request for `path` (`/readyz`, `/readyz/leaderElection`); `None` when there
    /// is no such path. `verbose` lists the checks that passed as well.
    #[must_use]
    pub fn answer(&self, path: &str, verbose: bool) -> Option<Answer> {
        let mut parts = path.trim_matches('/').splitn(2, '/');
        let endpoint = parts.next()?;
        let wanted: &[Probe] = match endpoint {
            "livez" => &[Probe::Live],
            "readyz" => &[Probe::Ready],
            "healthz" => &[Probe::Live, Probe::Ready],
            _ => return None,
        };
        // The checks run outside the lock: one of them may add or replace another.
        let mut checks = self.checks.read().clone();
        checks.retain(|entry| wanted.contains(&entry.probe));
        if let Some(name) = parts.next() {
            checks.retain(|entry| entry.name == name);
            if checks.is_empty() {
                return None;
            }
        }
        Some(run(endpoint, &checks, verbose))
    }
}

fn run(endpoint: &str, checks: &[Entry], verbose: bool) -> Answer {
    let mut body = String::new();
    let mut passed = true;
    for Entry { name, check, .. } in checks {
        // Writing to a `String` cannot fail.
        let _ = match check() {
            Ok(()) => writeln!(body, "[+]{name} ok"),
            Err(why) => {
                passed = false;
                writeln!(body, "[-]{name} failed: {why}")
            }
        };
    }
    match (passed, verbose) {
        (true, false) => "ok".clone_into(&mut body),
        (true, true) => body.push_str(&format!("{endpoint} check passed\n")),
        (false, _) => body.push_str(&format!("{endpoint} check failed\n")),
    }
    Answer { passed, body }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_check_names_itself_and_why() {
        let probes = Probes::new();
        assert_eq!(probes.answer("/healthz", false).unwrap().body, "ok");
        probes.add(Probe::Live, "ping", || Ok(()));
        probes.add(Probe::Ready, "informers", || {
            Err("list pods: 403 Forbidden".into())
        });
        let ready = probes.answer("/readyz", false).unwrap();
        assert!(!ready.passed);
        assert_eq!(
            ready.body,
            "[-]informers failed: list pods: 403 Forbidden\nreadyz check failed\n"
        );
        assert!(probes.answer("/livez", false).unwrap().passed);
        assert!(!probes.answer("/healthz", false).unwrap().passed);
        assert!(probes.answer("/healthz/ping", true).unwrap().passed);
        assert_eq!(probes.answer("/readyz/ping", false), None);
        assert_eq!(probes.answer("/metrics", false), None);
    }

    #[test]
    fn a_later_check_of_the_same_name_replaces_the_earlier() {
        let probes = Probes::new();
        probes.add(Probe::Ready, "a", || Err("not yet".into()));
        probes.add(Probe::Ready, "a", || Ok(()));
        assert_eq!(
            probes.answer("/readyz", true).unwrap().body,
            "[+]a ok\nreadyz check passed\n"
        );
    }
}
