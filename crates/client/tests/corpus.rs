//! Bytes of every kind, and many small changes to them: nothing panics, and nothing depends on
//! where they are cut. `fuzz` beside this folder has the same targets for cargo-fuzz.

#![expect(clippy::expect_used, reason = "what fails here is a failed test")]

#[path = "corpus/targets.rs"]
mod targets;

use evenkeel_pace::Rng;

const EVENTS: &str = concat!(
    r#"{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a","uid":"u","resourceVersion":"4","labels":{"x":"}\n\\\"ü"}}}}"#,
    "\n",
    r#"{"object":{"metadata":{"name":"b"}}, "type" : "MODIFIED"}"#,
    "\n",
    r#"{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}"#,
    "\n",
    r#"{"type":"MODIFIED","object":{"metadata":{"name":"bad","labels":7}}}{"type":"DELETED","object":{"metadata":{"name":"a"}}}"#,
    "\n",
    r#"{"type":"ERROR","object":{"kind":"Status","status":"Failure","reason":"Expired","code":410}}"#,
    "\n",
);

const LISTS: &[&str] = &[
    r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"t"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b","labels":{"x":"}],\"items\":["}}}]}"#,
    r#"{"items":[{"metadata":{"name":"a","labels":3}},7,null,"x",[1,{"a":[]}]],"metadata":{"resourceVersion":"7","remainingItemCount":3}}"#,
    r#"{"kind":"Status","status":"Failure","code":410,"reason":"Expired"}"#,
    r#"{"kind":"PodList","items":null}"#,
    "[]",
    "<html><body>502</body></html>",
];

const STATUSES: &[&str] = &[
    r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods \"a\" not found","reason":"NotFound","details":{"name":"a","kind":"pods"},"code":404}"#,
    r#"{"kind":"Status","status":"Failure","reason":"Timeout","code":504,"details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1}}"#,
    r#"{"kind":"Status","status":"Failure"}"#,
    r#"{"kind":"Status","status":"Success","code":200}"#,
    r#"{"kind":"Status","status":"Failure","code":99999,"details":{"retryAfterSeconds":-1}}"#,
    r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"apps"},"versions":[{"version":"v1"}]}]}"#,
    r#"{"kind":"APIVersions","versions":["v1"]}"#,
    "\u{feff}{}",
    "",
];

const SELECTORS: &[&str] = &[
    "app=web,tier!=db,env in (a,b),zone notin (c),!gone,there",
    "app==web",
    "a/b=c",
    "metadata.name=a,spec.nodeName!=n\\,\\=x",
    " , ,",
    "in in (in)",
];

const KUBECONFIGS: &[&str] = &[
    "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters:\n- name: k\n  cluster: {server: 'https://h:6443', insecure-skip-tls-verify: true}\nusers:\n- name: u\n  user: {token: t}\ncontexts:\n- name: c\n  context: {cluster: k, user: u, namespace: n}\n",
    "clusters: [{name: k, cluster: {server: 'http://[::1]:8080'}}]\ncontexts: [{name: c, context: {cluster: k}}]\ncurrent-context: c\n",
    "a: &a [*a]",
    "{",
];

/// The bytes with a few changes: some other, some less, some twice.
fn changed(bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let mut below = |limit: usize| (rng.next_u64() % limit.max(1) as u64) as usize;
    for _ in 0..=below(3) {
        let at = below(bytes.len());
        let end = (at + below(12)).min(bytes.len());
        match below(5) {
            0 if at < bytes.len() => bytes[at] = below(256) as u8,
            1 if at < bytes.len() => bytes[at] = b"{}[]\",:\\ \n0e-"[below(13)],
            2 => drop(bytes.drain(at..end)),
            3 => {
                let twice = bytes[at..end].to_vec();
                bytes.splice(at..at, twice);
            }
            _ => bytes.truncate(end),
        }
    }
    bytes
}

/// Each text as it is, and then changed `times` times.
fn with_changes(texts: &[&str], times: u64, mut check: impl FnMut(&[u8], usize)) {
    for text in texts {
        let mut rng = Rng::seeded(7);
        check(text.as_bytes(), 1);
        for _ in 0..times {
            let bytes = changed(text.as_bytes(), &mut rng);
            let piece = 1 + (rng.next_u64() % 40) as usize;
            check(&bytes, piece);
        }
    }
}

#[test]
fn rc11_watches_of_any_bytes() {
    with_changes(&[EVENTS], 3000, targets::watch);
}

#[test]
fn watches_split_at_every_byte() {
    for piece in 1..=EVENTS.len() {
        targets::watch(EVENTS.as_bytes(), piece);
    }
}

#[test]
fn lists_of_any_bytes() {
    with_changes(LISTS, 600, targets::list);
}

#[test]
fn rc9_error_answers_of_any_bytes() {
    let mut code = 0;
    with_changes(STATUSES, 300, |bytes, piece| {
        code += 1;
        targets::error_answer(code, bytes, piece);
    });
    let deep = "[".repeat(100_000);
    targets::error_answer(4, deep.as_bytes(), 4096);
    let deep = format!(r#"{{"kind":"Status","status":"Failure","details":{}"#, deep);
    targets::error_answer(4, deep.as_bytes(), 4096);
}

#[test]
fn selectors_of_any_text() {
    with_changes(SELECTORS, 2000, |bytes, _| {
        targets::selector(&String::from_utf8_lossy(bytes));
    });
}

#[test]
fn kubeconfigs_of_any_text() {
    with_changes(KUBECONFIGS, 200, |bytes, _| {
        targets::kubeconfig(&String::from_utf8_lossy(bytes));
    });
}
