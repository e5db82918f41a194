//! Which contracts a test's name claims.

use std::collections::{BTreeMap, BTreeSet};

use super::number::Contract;

/// How a document is spelled at the start of a test's name.
const DOCUMENTS: [(&str, &str); 6] = [
    ("client_go_", "client-go"),
    ("controller_runtime_", "controller-runtime"),
    ("kcm_", "kcm"),
    ("gc_", "gc"),
    ("kube_rs_", "kube-rs"),
    ("incident_", "incident"),
];

/// The document that a crate's bare numbers belong to.
fn document_of(test: &str) -> Option<&'static str> {
    let krate = test.split("::").next()?;
    Some(match krate {
        "evenkeel_workqueue" | "evenkeel_pace" | "evenkeel_observe" | "evenkeel_client"
        | "evenkeel_store" | "evenkeel_election" | "evenkeel_events" => "client-go",
        "evenkeel_gc" => "gc",
        "evenkeel_controllers" => "kcm",
        "evenkeel" => "controller-runtime",
        _ => return None,
    })
}

/// Every claim on a contract that `known` lists. A name may merely look like a
/// claim (`v1_...`), so a number that no document has is none.
pub(super) fn of(
    tests: &BTreeSet<String>,
    known: &BTreeSet<Contract>,
) -> BTreeMap<Contract, BTreeSet<String>> {
    let mut claims: BTreeMap<Contract, BTreeSet<String>> = BTreeMap::new();
    for test in tests {
        for contract in claimed(test) {
            if known.contains(&contract) {
                claims.entry(contract).or_default().insert(test.clone());
            }
        }
    }
    claims
}

/// Reads numbers from the start of the test's own name until a word that is
/// neither a document nor a number.
pub(super) fn claimed(test: &str) -> Vec<Contract> {
    let mut rest = test.rsplit("::").next().unwrap_or(test);
    let mut document = document_of(test);
    let mut found = Vec::new();
    loop {
        if let Some((prefix, name)) = DOCUMENTS.iter().find(|(p, _)| rest.starts_with(p)) {
            document = Some(name);
            rest = &rest[prefix.len()..];
        }
        let (word, tail) = rest.split_once('_').unwrap_or((rest, ""));
        let Some((letters, digits)) = number(word) else {
            return found;
        };
        if let Some(document) = document {
            found.push(Contract::new(document, &letters, digits));
        }
        rest = tail.strip_prefix("and_").unwrap_or(tail);
    }
}

/// `w1` is W1, `7` is 7, `pods` is none.
fn number(word: &str) -> Option<(String, u32)> {
    let start = word.find(|c: char| c.is_ascii_digit())?;
    let (letters, digits) = word.split_at(start);
    if letters.len() > 3 || !letters.chars().all(|c| c.is_ascii_lowercase()) {
        return None;
    }
    Some((letters.to_ascii_uppercase(), digits.parse().ok()?))
}
