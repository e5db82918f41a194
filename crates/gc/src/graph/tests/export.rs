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
fn gc_g49_only_the_neighbourhood_of_some_uids() {
    let mut f = Fixture::new();
    f.map(&Object::new("a").owned_by("b"))
        .map(&Object::new("c").owned_by("d"));
    assert!(f.graph.to_dot(&["d"]).ends_with("  \"c\" -> \"d\";\n}\n"));
    assert!(!f.graph.to_dot(&["d"]).contains("\"a\""));
    assert_eq!(f.graph.to_dot(&["nobody"]), "strict digraph full {\n}\n");
}
