use std::collections::BTreeMap;

use super::*;
use crate::workspace::Dependency;

fn package(name: &str, dependencies: &[(&str, bool, bool)]) -> Package {
    Package {
        name: name.to_owned(),
        version: "0.1.0".to_owned(),
        folder: std::path::PathBuf::new(),
        publish: true,
        is_library: true,
        has_default_features: false,
        dependencies: dependencies
            .iter()
            .map(|(name, is_dev, has_version)| Dependency {
                name: (*name).to_owned(),
                is_dev: *is_dev,
                has_version: *has_version,
            })
            .collect(),
        manifest: serde_json::Value::Null,
    }
}

fn layers(pairs: &[(&str, i64)]) -> BTreeMap<String, i64> {
    pairs
        .iter()
        .map(|(name, layer)| ((*name).to_owned(), *layer))
        .collect()
}

#[test]
fn an_edge_descends_or_is_refused() {
    let map = layers(&[("a", 0), ("b", 1), ("c", 1)]);
    let down = [
        package("a", &[]),
        package("b", &[("a", false, true)]),
        package("c", &[]),
    ];
    assert!(check(&down, &map).is_empty());

    let sideways = [
        package("a", &[]),
        package("b", &[("c", false, true)]),
        package("c", &[]),
    ];
    assert_eq!(check(&sideways, &map).len(), 1);

    let up = [
        package("a", &[("b", false, true)]),
        package("b", &[]),
        package("c", &[]),
    ];
    assert_eq!(check(&up, &map).len(), 1);
}

#[test]
fn a_dev_dependency_may_point_up_and_carries_no_version() {
    let map = layers(&[("a", 0), ("b", 1)]);
    let by_path = [package("a", &[("b", true, false)]), package("b", &[])];
    assert!(check(&by_path, &map).is_empty());

    let by_version = [package("a", &[("b", true, true)]), package("b", &[])];
    assert_eq!(check(&by_version, &map).len(), 1);
}

#[test]
fn a_published_crate_has_a_layer_and_a_layer_has_a_crate() {
    let complaints = check(&[package("new", &[])], &layers(&[("gone", 0)]));
    assert_eq!(complaints.len(), 2, "{complaints:?}");
}

#[test]
fn the_drawing_leaves_out_what_a_longer_way_implies() {
    let map = layers(&[("a", 0), ("b", 1), ("c", 2)]);
    let packages = [
        package("a", &[]),
        package("b", &[("a", false, true)]),
        package("c", &[("a", false, true), ("b", false, true)]),
    ];
    assert_eq!(
        draw(&packages, &map),
        "```text\nL2  c -> b\n\nL1  b -> a\n\nL0  a\n```"
    );
}
