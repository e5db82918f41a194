//! Bytes of every kind, and many small changes to them: nothing panics, and nothing depends on
//! where they are cut. `fuzz` beside this folder has the same targets for cargo-fuzz, which starts from the same texts.

#![expect(clippy::expect_used, reason = "what fails here is a failed test")]

#[path = "corpus/targets.rs"]
mod targets;

use evenkeel_pace::Rng;

const EVENTS: &str = include_str!("corpus/watch/events.json");

const LISTS: &[&str] = &[
    include_str!("corpus/list/pods.json"),
    include_str!("corpus/list/mixed_items.json"),
    include_str!("corpus/list/status.json"),
    include_str!("corpus/list/null_items.json"),
    include_str!("corpus/list/array.json"),
    include_str!("corpus/list/html.html"),
];

const STATUSES: &[&str] = &[
    include_str!("corpus/error_answer/not_found.json"),
    include_str!("corpus/error_answer/timeout.json"),
    include_str!("corpus/error_answer/bare.json"),
    include_str!("corpus/error_answer/success.json"),
    include_str!("corpus/error_answer/odd_numbers.json"),
    include_str!("corpus/error_answer/aggregated_discovery.json"),
    include_str!("corpus/error_answer/versions.json"),
    include_str!("corpus/error_answer/byte_order_mark.json"),
    include_str!("corpus/error_answer/empty.txt"),
];

const SELECTORS: &[&str] = &[
    include_str!("corpus/selector/all_operators.txt"),
    include_str!("corpus/selector/double_equals.txt"),
    include_str!("corpus/selector/prefixed.txt"),
    include_str!("corpus/selector/fields.txt"),
    include_str!("corpus/selector/commas.txt"),
    include_str!("corpus/selector/keywords.txt"),
];

const KUBECONFIGS: &[&str] = &[
    include_str!("corpus/kubeconfig/block.yaml"),
    include_str!("corpus/kubeconfig/flow.yaml"),
    include_str!("corpus/kubeconfig/self_reference.yaml"),
    include_str!("corpus/kubeconfig/cut.yaml"),
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
