use super::super::Verdict;
use super::fixture::{Fixture, Object};

#[test]
fn gc_g49_the_graph_as_dot() {
    let mut f = Fixture::new();
    f.map(&Object::new("alone")).map(&Object::new("b"));
    f.map(
        &Object::new("a")
            .owned_by("b")
            .refers("apps/v1", "Deployment", "c\"", "c", true),
    );
    f.answer(|_| Verdict::Absent);
    let dot = f.graph.to_dot(&[]);
    let lines: Vec<&str> = dot.lines().collect();
    assert_eq!(lines[0], "strict digraph full {");
    assert_eq!(lines[1], r#"  "a" ["#);
    assert_eq!(
        lines[2],
        r#"    label="uid=a\nnamespace=n\nConfigMap.v1/a\n""#
    );
    assert!(!dot.contains("alone"));
    assert!(dot.contains(r#"    label="uid=c\nnamespace=n\nDeployment.v1.apps/c\"\nvirtual\n""#));
    assert_eq!(dot.matches(r#"missing="true""#).count(), 1);
    assert!(dot.ends_with("  \"a\" -> \"b\";\n  \"a\" -> \"c\";\n}\n"));
}

#[test]
fn gc_g49_two_missing_owners_are_two_vertices() {
    let mut f = Fixture::new();
    f.map(&Object::new("a").owned_by("b").owned_by("c"));
    f.answer(|_| Verdict::Absent);
    let dot = f.graph.to_dot(&[]);
    assert_eq!(dot.matches(r#"missing="true""#).count(), 2);
    assert!(dot.ends_with("  \"a\" -> \"b\";\n  \"a\" -> \"c\";\n}\n"));
}

#[test]
fn what_references_say_does_no_harm_to_a_terminal() {
    let mut f = Fixture::new();
    f.map(&Object::new("a").owned_by("\u{1b}[31m"));
    let dot = f.graph.to_dot(&[]);
    assert!(!dot.contains('\u{1b}'), "{dot}");
    assert!(dot.contains("\"a\" -> \"\u{fffd}[31m\";"), "{dot}");
    assert!(!f.graph.export(&[]).to_json().contains('\u{1b}'));
}

#[test]
fn the_graph_as_json_has_the_names_of_dot() {
    let mut f = Fixture::new();
    f.map(
        &Object::new("a\"")
            .uid("1")
            .refers("apps/v1", "Deployment", "c", "2", true),
    );
    let json: serde_json::Value = serde_json::from_str(&f.graph.export(&[]).to_json()).unwrap();
    assert_eq!(
        json["nodes"][0],
        serde_json::json!({
            "uid": "1", "group": "", "version": "v1", "kind": "ConfigMap", "namespace": "n", "name": "a\"",
            "missing": false, "beingDeleted": false, "deletingDependents": false, "virtual": false,
        })
    );
    assert_eq!(json["nodes"][1]["virtual"], true);
    // Nobody has looked it up yet.
    assert_eq!(json["nodes"][1]["missing"], false);
    assert_eq!(
        json["edges"],
        serde_json::json!([{"dependent": "1", "owner": "2", "controller": false,
            "blockOwnerDeletion": true, "dangling": false}])
    );
}

#[test]
fn a_namespace_is_shown_with_what_it_is_connected_to() {
    let mut f = Fixture::new();
    f.node(&Object::new("node").cluster());
    for (name, namespace) in [("a", "n"), ("b", "m")] {
        f.map(
            &Object::new(name)
                .within(namespace)
                .refers("v1", "Node", "node", "node", false),
        );
    }
    f.map(&Object::new("c").within("m").owned_by("b"));
    let names = |namespaces: &[&str]| {
        let part = f.graph.export(&[]).within(namespaces);
        let names = part.nodes.into_iter().map(|node| node.name);
        (names.collect::<Vec<_>>(), part.edges.len())
    };
    assert_eq!(names(&["n"]), (vec!["a".to_owned(), "node".to_owned()], 1));
    assert_eq!(names(&["m"]).1, 2);
    assert_eq!(names(&["none"]), (vec![], 0));
}

#[test]
fn gc_g49_only_the_neighbourhood_of_some_uids() {
    let mut f = Fixture::new();
    f.map(&Object::new("a").owned_by("b"))
        .map(&Object::new("c").owned_by("d"));
    assert!(f.graph.to_dot(&["d"]).ends_with("  \"c\" -> \"d\";\n}\n"));
    assert!(!f.graph.to_dot(&["d"]).contains("\"a\""));
    assert_eq!(f.graph.to_dot(&["nobody"]), "strict digraph full {\n}\n");
}
