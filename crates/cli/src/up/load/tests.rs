use std::sync::Arc;

use serde_json::json;

use super::*;

fn parse(text: &str) -> (Vec<Object>, Vec<String>) {
    let source = Arc::new(Source {
        name: "m.yaml".to_owned(),
        text: text.to_owned(),
    });
    let (mut objects, mut faults) = (Vec::new(), Vec::new());
    document::parse(&source, &mut objects, &mut faults);
    (objects, faults)
}

fn names(objects: &[Object]) -> Vec<&str> {
    objects.iter().map(|object| object.name.as_str()).collect()
}

#[test]
fn documents_and_lists_become_objects() {
    let (objects, faults) = parse(
        "# licence\n---\napiVersion: v1\nkind: A\nmetadata: {name: a}\n--- # two\n\n---\n\
         apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: B, metadata: {name: b}}\n\
         - apiVersion: v1\n  kind: ConfigMapList\n  items:\n  - apiVersion: v1\n    kind: C\n    metadata: {name: c, namespace: shop}\n\
         --- {apiVersion: v1, kind: D, metadata: {name: d}}\n",
    );
    assert_eq!(faults, Vec::<String>::new());
    assert_eq!(names(&objects), ["a", "b", "c", "d"]);
    assert_eq!(objects[2].namespace.as_deref(), Some("shop"));
    assert_eq!(objects[0].origin.to_string(), "m.yaml: document 1");
    assert_eq!(
        objects[0].origin.place("metadata"),
        "m.yaml: document 1, line 5"
    );
    assert_eq!(
        objects[1].origin.place("kind"),
        "m.yaml: document 2, items[0], line 12"
    );
    assert_eq!(
        objects[2].origin.place("metadata.name"),
        "m.yaml: document 2, items[1].items[0], line 18"
    );
    assert_eq!(objects[3].origin.place(""), "m.yaml: document 3, line 19");
}

#[test]
fn json_is_taken_with_tabs_and_lines() {
    let (objects, faults) = parse(
        "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"A\",\n\t\"metadata\": {\"name\": \"a\"}\n}\n",
    );
    assert_eq!((names(&objects), faults), (vec!["a"], vec![]));
}

#[test]
fn json_objects_may_follow_each_other() {
    let one = |name: &str| {
        format!("{{\"apiVersion\":\"v1\",\"kind\":\"A\",\"metadata\":{{\"name\":\"{name}\"}}}}")
    };
    let text = format!("\u{feff}{}\n\n {}{}\n", one("a"), one("b"), one("c"));
    let (objects, faults) = parse(&text);
    assert_eq!((names(&objects), faults), (vec!["a", "b", "c"], vec![]));
    assert_eq!(objects[1].origin.place(""), "m.yaml: document 2, line 3");
    let (objects, faults) = parse(&format!("{}\n{{\"kind\":\"B\"}}", one("a")));
    assert_eq!(names(&objects), ["a"]);
    assert!(
        faults[0].starts_with("m.yaml: document 2, line 2: B: apiVersion is missing"),
        "{faults:?}"
    );
}

#[test]
fn a_document_of_null_is_none() {
    let (objects, faults) =
        parse("null\n---\n~\n---\n{apiVersion: v1, kind: A, metadata: {name: a}}\n");
    assert_eq!((names(&objects), faults), (vec!["a"], vec![]));
    assert_eq!(objects[0].origin.to_string(), "m.yaml: document 1");
}

#[test]
fn an_integral_float_is_an_integer() {
    for text in [
        "{\"apiVersion\":\"v1\",\"kind\":\"A\",\"metadata\":{\"name\":\"a\"},\"x\":[1.0,1e2,1.5,-0.0]}",
        "{apiVersion: v1, kind: A, metadata: {name: a}, x: [1.0, 1e2, 1.5, -0.0]}",
    ] {
        let (objects, faults) = parse(text);
        assert_eq!(faults, Vec::<String>::new());
        assert_eq!(objects[0].value["x"], json!([1, 100, 1.5, 0]), "{text}");
    }
}

#[test]
fn a_long_list_is_read_and_what_multiplies_or_nests_without_end_is_not() {
    let item = "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a, labels: {b: c, d: e}}\n  data: {a: b, c: d, e: f}\n";
    let (objects, faults) = parse(&format!(
        "apiVersion: v1\nkind: List\nitems:\n{}",
        item.repeat(15_000)
    ));
    assert_eq!((objects.len(), faults), (15_000, vec![]));
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    for level in 1..12 {
        let before = format!("*a{},", level - 1).repeat(9);
        bomb += &format!("a{level}: &a{level} [{before}]\n");
    }
    let (objects, faults) = parse(&bomb);
    assert_eq!((objects.len(), faults.len()), (0, 1));
    // Deeper than any manifest, and as deep as a thread's stack carries in a debug build.
    let deep = format!("{}b{}", "{a: ".repeat(3000), "}".repeat(3000));
    let (objects, faults) = parse(&deep);
    assert_eq!((objects.len(), faults.len()), (0, 1));
}

#[test]
fn scalars_mean_what_they_mean_to_kubectl() {
    // Each as `kubectl create --dry-run=client -o json` shows it.
    for (scalar, expected) in [
        ("n", json!(false)),
        ("y", json!(true)),
        ("yes", json!(true)),
        ("off", json!(false)),
        ("0644", json!(420)),
        ("0o644", json!(420)),
        ("0x1f", json!(31)),
        ("0b11", json!(3)),
        ("1_000", json!(1000)),
        ("+12", json!(12)),
        ("\"0644\"", json!("0644")),
        ("!!str 5", json!("5")),
        ("2001-01-01", json!("2001-01-01")),
        ("12:30:45", json!("12:30:45")),
        ("~", json!(null)),
        ("", json!(null)),
        (".5", json!(0.5)),
        ("80Mi", json!("80Mi")),
    ] {
        let text = format!("apiVersion: v1\nkind: A\nmetadata: {{name: a}}\nx: {scalar}\n");
        let (objects, faults) = parse(&text);
        assert_eq!(faults, Vec::<String>::new(), "{scalar}");
        assert_eq!(objects[0].value["x"], expected, "{scalar}");
    }
}

#[test]
fn anchors_and_merge_keys_are_expanded() {
    let (objects, faults) = parse(
        "apiVersion: v1\nkind: A\nmetadata: {name: a}\nx: &x {k: v}\ny: *x\nz: {<<: *x, l: w}\n",
    );
    assert_eq!(faults, Vec::<String>::new());
    assert_eq!(objects[0].value["y"]["k"], "v");
    assert_eq!(objects[0].value["z"]["k"], "v");
}

#[test]
fn each_fault_names_file_document_and_line() {
    for (text, expected) in [
        ("a: [1\n", "m.yaml: document 1, line "),
        (
            "apiVersion: v1\nkind: A\nmetadata: {name: a}\n---\na: b\n c: d\n",
            "m.yaml: document 2, line 6",
        ),
        ("a: 1\na: 2\n", "m.yaml: document 1, line 2"),
        ("- a\n", "document 1, line 1: not an object: a list"),
        ("kind: A\n", "A: apiVersion is missing"),
        ("apiVersion: v1\n", "kind is missing"),
        (
            "\napiVersion: v1\nkind: A\n",
            "line 2: A: metadata.name is missing",
        ),
        (
            "apiVersion: v1\nkind: A\nmetadata:\n  name: 3\n",
            "line 4: metadata.name: expected a string, got a number",
        ),
        (
            "apiVersion: v1\nkind: A\nmetadata: {generateName: a-}\n",
            "metadata.name is missing",
        ),
    ] {
        let (_, faults) = parse(text);
        assert!(
            faults.iter().any(|fault| fault.contains(expected)),
            "{text:?}: {faults:?}"
        );
    }
}

#[test]
fn one_broken_document_hides_no_other() {
    let (objects, faults) =
        parse("a: [\n---\napiVersion: v1\nkind: A\nmetadata: {name: a}\n---\nb: ]\n");
    assert_eq!(names(&objects), ["a"]);
    assert_eq!(faults.len(), 2);
}
