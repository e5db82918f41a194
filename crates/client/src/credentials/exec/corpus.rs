//! Answers of plugins that are broken in every way.

use super::answer::parse;
use super::config::ExecVersion;
use crate::corpus::{SECRET, deep, mixtures, small_changes, within_memory};

const SEEDS: &[&str] = &[
    include_str!("../../../tests/corpus/exec_answer/token.json"),
    include_str!("../../../tests/corpus/exec_answer/certificate.json"),
];

const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "null",
    "true",
    "1e999",
    "-",
    "0.1",
    "99999999999999999999",
    "\u{feff}",
    "\u{0}",
    "ü",
    "\"status\":",
    "\"token\":",
    "\"kind\":",
    "\"expirationTimestamp\":",
    "9999-99-99T99:99:99Z",
    "+999999-12-31T23:59:60Z",
];

#[test]
fn rc15_no_small_change_makes_an_answer_tell_its_secrets() {
    small_changes(SEEDS, |text| {
        for version in [ExecVersion::V1, ExecVersion::V1Beta1] {
            let shown = format!("{:?}", parse(text, version));
            assert!(!shown.contains(SECRET), "{shown}");
        }
    });
}

#[test]
fn no_mixture_of_answers_panics_or_takes_much_memory() {
    let both = |text: &[u8]| {
        let _ = parse(text, ExecVersion::V1);
        let _ = parse(text, ExecVersion::V1Beta1);
    };
    within_memory(200 << 20, || {
        mixtures(SEEDS, WORDS, 10_000, both);
        let parts = [
            "[",
            "{\"status\":",
            "{\"a\":",
            "\"",
            "1",
            "[[],",
            "{\"kind\":{\"kind\":",
        ];
        deep(&parts, both);
    });
}
