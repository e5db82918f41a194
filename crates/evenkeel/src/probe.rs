//! Health checks by name, answered the way Kubernetes' own binaries answer them.

use std::borrow::Cow;
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

    /// Answers a request for `path` (`/readyz`, `/readyz/leaderElection`) with this query; `None` when
    /// there is no such path.
    ///
    /// The query may hold `verbose`, which lists the checks that passed as well, and any number of
    /// `exclude=<check>`. A path of one check answers for that check alone. Without any check
    /// every endpoint is well: `ping` passes.
    ///
    /// The words are controller-runtime's, but for the reasons: it withholds them where several
    /// checks are listed, and whoever runs this at night needs them there.
    #[must_use]
    pub fn answer(&self, path: &str, query: &str) -> Option<Answer> {
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
        if checks.is_empty() {
            checks.push(ping(wanted[0]));
        }
        let query = Query::parse(query);
        match parts.next() {
            Some(name) => {
                checks.retain(|entry| entry.name == name);
                single(endpoint, &checks, &query)
            }
            None => {
                checks.sort_by(|a, b| a.name.cmp(&b.name));
                Some(all(endpoint, &checks, &query))
            }
        }
    }
}

/// The check that is there when there is no other.
fn ping(probe: Probe) -> Entry {
    Entry {
        name: "ping".to_owned(),
        probe,
        check: Arc::new(|| Ok(())),
    }
}

/// What a request for a probe asks besides.
struct Query<'a> {
    verbose: bool,
    excluded: Vec<Cow<'a, str>>,
}

impl<'a> Query<'a> {
    fn parse(query: &'a str) -> Self {
        let mut parsed = Self {
            verbose: false,
            excluded: Vec::new(),
        };
        for term in query.split('&') {
            let (key, value) = term.split_once('=').unwrap_or((term, ""));
            match key {
                // That it is there is enough, as for Kubernetes' own binaries.
                "verbose" => parsed.verbose = true,
                "exclude" => parsed.excluded.push(unescape(value)),
                _ => {}
            }
        }
        parsed
    }
}

/// One check's own path; under `/healthz` a name may have checks of both probes.
fn single(endpoint: &str, checks: &[Entry], query: &Query<'_>) -> Option<Answer> {
    let name = &checks.first()?.name;
    let failed = checks.iter().find_map(|entry| (entry.check)().err());
    let body = match &failed {
        Some(why) => format!("internal server error: {why}\n"),
        None if query.verbose => format!("[+]{name} ok\n{endpoint} check passed\n"),
        None => "ok".to_owned(),
    };
    Some(Answer {
        passed: failed.is_none(),
        body,
    })
}

fn all(endpoint: &str, checks: &[Entry], query: &Query<'_>) -> Answer {
    let is_excluded = |name: &str| query.excluded.iter().any(|excluded| excluded == name);
    let mut body = String::new();
    let mut passed = true;
    for Entry { name, check, .. } in checks {
        // Writing to a `String` cannot fail.
        let _ = if is_excluded(name) {
            writeln!(body, "[+]{name} excluded: ok")
        } else {
            match check() {
                Ok(()) => writeln!(body, "[+]{name} ok"),
                Err(why) => {
                    passed = false;
                    writeln!(body, "[-]{name} failed: {why}")
                }
            }
        };
    }
    if passed && !query.verbose {
        return Answer {
            passed,
            body: "ok".to_owned(),
        };
    }
    let unknown = query.excluded.iter();
    let unknown = unknown.filter(|excluded| checks.iter().all(|entry| entry.name != **excluded));
    let unknown: Vec<String> = unknown.map(|name| format!("{name:?}")).collect();
    if !unknown.is_empty() {
        let names = unknown.join(",");
        let warning = "warn: some health checks cannot be excluded: no matches for";
        let _ = writeln!(body, "{warning} {names}");
    }
    let outcome = if passed { "passed" } else { "failed" };
    let _ = writeln!(body, "{endpoint} check {outcome}");
    Answer { passed, body }
}

/// A query's value with its `%2F` and the like taken back; as it is where that makes no text.
fn unescape(value: &str) -> Cow<'_, str> {
    if !value.contains(['%', '+']) {
        return value.into();
    }
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        bytes.push(match (first, tail) {
            (b'+', _) => b' ',
            (b'%', [high, low, after @ ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                let (Some(high), Some(low)) = (digit(high), digit(low)) else {
                    return value.into();
                };
                rest = after;
                (high * 16 + low) as u8
            }
            _ => *first,
        });
    }
    match String::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => value.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probes() -> Probes {
        let probes = Probes::new();
        probes.add(Probe::Ready, "good", || Ok(()));
        probes.add(Probe::Ready, "bad", || Err("it broke".into()));
        probes.add(Probe::Live, "alive", || Ok(()));
        probes
    }

    fn body(path: &str, query: &str) -> String {
        probes().answer(path, query).unwrap().body
    }

    #[test]
    fn incident_16_a_failing_check_names_itself_and_why() {
        let probes = Probes::new();
        probes.add(Probe::Live, "ping", || Ok(()));
        probes.add(Probe::Ready, "informers", || {
            Err("list pods: 403 Forbidden".into())
        });
        let ready = probes.answer("/readyz", "").unwrap();
        assert!(!ready.passed);
        assert_eq!(
            ready.body,
            "[-]informers failed: list pods: 403 Forbidden\nreadyz check failed\n"
        );
        assert!(probes.answer("/livez", "").unwrap().passed);
        assert!(!probes.answer("/healthz", "").unwrap().passed);
    }

    #[test]
    fn t13_roots_checks_and_slashes() {
        assert_eq!(body("/livez", ""), "ok");
        assert_eq!(body("/livez/", ""), "ok");
        assert_eq!(body("/readyz/good", ""), "ok");
        assert_eq!(body("/readyz/good/", ""), "ok");
        let verbose = body("/healthz/alive", "verbose");
        assert_eq!(verbose, "[+]alive ok\nhealthz check passed\n");
        for unknown in [
            "/",
            "/metrics",
            "/readyz/alive",
            "/readyz/nobody",
            "/readyz/good/x",
        ] {
            assert_eq!(probes().answer(unknown, ""), None, "{unknown}");
        }
        let failing = probes().answer("/readyz/bad", "verbose").unwrap();
        assert!(!failing.passed);
        assert_eq!(failing.body, "internal server error: it broke\n");
    }

    #[test]
    fn t13_lines_are_in_the_order_of_their_names_and_say_what_was_left_out() {
        let bad = "[-]bad failed: it broke\n[+]good ok\nreadyz check failed\n";
        assert_eq!(body("/readyz", ""), bad);
        assert_eq!(body("/readyz", "verbose=false"), bad);
        assert_eq!(body("/readyz", "exclude=bad"), "ok");
        assert_eq!(
            body("/readyz", "exclude=bad&verbose&exclude=a%2Fb&exclude=c"),
            "[+]bad excluded: ok\n[+]good ok\n\
             warn: some health checks cannot be excluded: no matches for \"a/b\",\"c\"\n\
             readyz check passed\n"
        );
    }

    #[test]
    fn without_checks_everything_is_well() {
        let answer = |path: &str, query: &str| Probes::new().answer(path, query).unwrap();
        assert_eq!(answer("/readyz", "").body, "ok");
        let verbose = answer("/healthz", "verbose").body;
        assert_eq!(verbose, "[+]ping ok\nhealthz check passed\n");
        assert_eq!(answer("/livez/ping", "").body, "ok");
    }

    #[test]
    fn a_later_check_of_the_same_name_replaces_the_earlier() {
        let probes = Probes::new();
        probes.add(Probe::Ready, "a", || Err("not yet".into()));
        probes.add(Probe::Ready, "a", || Ok(()));
        assert_eq!(
            probes.answer("/readyz", "verbose").unwrap().body,
            "[+]a ok\nreadyz check passed\n"
        );
    }

    #[test]
    fn what_is_no_escape_stays() {
        for (text, meant) in [
            ("a%2Fb+c", "a/b c"),
            ("a%2", "a%2"),
            ("%zz", "%zz"),
            ("%ff", "%ff"),
        ] {
            assert_eq!(unescape(text), meant);
        }
    }
}
