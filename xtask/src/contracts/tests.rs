use std::collections::{BTreeMap, BTreeSet};

use super::log::Outcome;
use super::*;

fn set(items: &[&str]) -> BTreeSet<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}

fn numbers(test: &str) -> Vec<String> {
    claims::claimed(test)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn a_name_claims_by_its_crate_or_by_the_document() {
    assert_eq!(
        numbers("evenkeel_workqueue::core::tests::w1_w3_adds_coalesce"),
        ["client-go W1", "client-go W3"]
    );
    assert_eq!(
        numbers("evenkeel_store::t::client_go_r7_and_kube_rs_d1_falls_back"),
        ["client-go R7", "kube-rs D1"]
    );
    assert_eq!(numbers("evenkeel_gc::graph::g32_solid"), ["gc G32"]);
    assert_eq!(numbers("evenkeel_gc::incident_5_one_kind"), ["incident 5"]);
    assert_eq!(numbers("evenkeel_meta::t::v1_is_a_version"), [""; 0]);
    assert_eq!(numbers("evenkeel_gc::graph::pods_2_go"), [""; 0]);
}

#[test]
fn tests_are_found_by_attribute_and_module() {
    let text = r##"
        fn helper() { let brace = "{ #[test] fn no() {}"; let c = '{'; let r = r#"{"#; }
        // #[test] fn commented() {}
        mod tests {
            use super::*;
            #[test]
            fn w1_plain<'a>() { let l: &'a str = "'"; }
            #[tokio::test(start_paused = true)]
            async fn w2_async() {}
            mod inner { proptest! { #[test] fn w3_deep(x in 0..3) {} } }
            #[derive(Debug)]
            struct NotATest;
            #[cfg(test)]
            fn neither() {}
        }
        #[test]
        fn at_the_root() {}
    "##;
    assert_eq!(
        scan::in_source(text, &["krate".to_owned(), "file".to_owned()]),
        [
            "krate::file::tests::w1_plain",
            "krate::file::tests::w2_async",
            "krate::file::tests::inner::w3_deep",
            "krate::file::at_the_root",
        ]
    );
}

#[test]
fn a_scenario_is_a_test() {
    let text = "pub(crate) async fn incident_3_lost_lease(env: Env) -> Result<()> {}";
    assert_eq!(
        scan::in_source(text, &["scenarios".to_owned()]),
        ["scenarios::incident_3_lost_lease"]
    );
}

#[test]
fn the_log_of_a_run_names_binary_and_outcome() {
    let log = "\
     Running unittests src/lib.rs (target/debug/deps/evenkeel_gc-00ff00ff00ff00ff)
test graph::tests::g1_x ... ok
test graph::tests::g2_x - should panic ... ok
test graph::tests::g3_x ... FAILED
     Running tests/scenarios/main.rs (target/debug/deps/scenarios-0123456789abcdef)
test embedded::leadership::kill ... ok
test [skipped: run cargo xtask envtest] real::leadership::kill ... ignored
test [skipped: kubectl is not installed] real::other::one      ... ignored
   Doc-tests evenkeel_gc
test crates/gc/src/lib.rs - (line 3) ... ok
";
    let ran = log::parse(log);
    assert_eq!(ran["evenkeel_gc::graph::tests::g1_x"], Outcome::Passed);
    assert_eq!(ran["evenkeel_gc::graph::tests::g2_x"], Outcome::Passed);
    assert_eq!(ran["evenkeel_gc::graph::tests::g3_x"], Outcome::Failed);
    assert_eq!(ran["scenarios::leadership::kill"], Outcome::Passed);
    assert_eq!(ran["scenarios::other::one"], Outcome::Skipped);
    assert_eq!(ran.len(), 5);
}

#[test]
fn filling_the_page_keeps_prose_and_reasons() {
    let text = "# Contracts\n\n| contract | shown by |\n|---|---|\n\
        | gc G1 | open |\n\
        | gc G2 | `evenkeel_gc::by_hand`, `evenkeel_gc::gone` |\n\
        | gc G3 | different: ours reads once |\n\
        | gc G4 | `evenkeel_gc::gone` |\n";
    let mut page = Page::parse(text).expect("parses");
    assert_eq!(page.to_string(), text);

    let tests = set(&["evenkeel_gc::g1_solid", "evenkeel_gc::by_hand"]);
    let claims = claims::of(&tests, &page.contracts());
    page.fill(&claims, &tests);
    assert_eq!(
        page.to_string(),
        "# Contracts\n\n| contract | shown by |\n|---|---|\n\
        | gc G1 | `evenkeel_gc::g1_solid` |\n\
        | gc G2 | `evenkeel_gc::by_hand` |\n\
        | gc G3 | different: ours reads once |\n\
        | gc G4 | open |\n"
    );
}

#[test]
fn a_claim_that_is_not_true_is_reported() {
    let page = Page::parse("| gc G1 | `evenkeel_gc::g1_gone` |\n| gc G2 | open |\n").expect("page");
    let tests = set(&["evenkeel_gc::g2_new"]);
    let claims = claims::of(&tests, &page.contracts());
    let complaints = existence(&page, &tests, &claims);
    assert_eq!(complaints.len(), 2, "{complaints:?}");

    let ran = BTreeMap::from([("evenkeel_gc::g1_gone".to_owned(), Outcome::Ignored)]);
    assert_eq!(
        execution(&page, &ran),
        ["gc G1: evenkeel_gc::g1_gone was ignored"]
    );
    assert_eq!(
        execution(&page, &BTreeMap::new()),
        ["gc G1: evenkeel_gc::g1_gone did not run"]
    );
}

#[test]
fn a_row_that_cannot_be_read_is_an_error() {
    assert!(Page::parse("| gc G1 | maybe |").is_err());
    assert!(Page::parse("| gc | open |").is_err());
    assert!(Page::parse("| gc G1 | open |\n| gc G1 | open |").is_err());
    assert!(Page::parse("| gc G1 | different: |").is_err());
}
