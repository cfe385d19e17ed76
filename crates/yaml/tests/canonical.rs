//! The canonical form, case by case: a tree as JSON, and the text the reference writes for it.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

use krm_yaml::{Node, canonical, json, parse_str, try_canonical_into};

const CASES: &str = include_str!("tables/canonical.txt");

struct Case<'t> {
    name: &'t str,
    tree: Node,
    expected: &'t str,
}

/// A case is a line `=== what it shows`, a line of JSON, and the expected text.
fn cases() -> Vec<Case<'static>> {
    let cases: Vec<Case> = CASES
        .split("=== ")
        .skip(1)
        .map(|case| {
            let (name, rest) = case.split_once('\n').expect("a case has a name");
            let (json, expected) = rest.split_once('\n').expect("a case has a tree");
            let mut documents = parse_str(json).unwrap_or_else(|error| panic!("{name}: {error:?}"));
            Case { name, tree: documents.remove(0).root, expected }
        })
        .collect();
    assert!(cases.len() > 20, "only {} cases were found", cases.len());
    cases
}

#[test]
fn trees_are_written_as_the_reference_writes_them() {
    let wrong: Vec<String> = cases()
        .iter()
        .filter_map(|case| {
            let got = canonical(&case.tree);
            (got != case.expected).then(|| format!("{}:\n{}--- not\n{got}", case.name, case.expected))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_written_reads_back_as_the_same_tree_and_is_written_the_same() {
    for case in cases() {
        let again =
            &parse_str(case.expected).unwrap_or_else(|error| panic!("{}: {error:?}", case.name))[0].root;
        assert_eq!(json::compact(again), json::compact(&case.tree), "{}", case.name);
        assert_eq!(canonical(again), case.expected, "{}", case.name);
    }
}

#[test]
fn keys_in_any_order_give_one_order() {
    let mut keys = ["a10", "a2", "a", "B", "_x", "1", "10", "é", "a-b", "a.b", "ab", "A1", "2"];
    let expected = ["_x", "1", "2", "10", "A1", "B", "a", "a-b", "a.b", "a2", "a10", "ab", "é"];
    for _ in 0..keys.len() {
        keys.rotate_left(1);
        keys.swap(3, 8);
        let text = canonical(&keys.iter().map(|key| (*key, Node::null())).collect());
        let order: Vec<&str> =
            text.lines().map(|line| line.trim_end_matches(": null").trim_matches('"')).collect();
        assert_eq!(order, expected);
    }
}

#[test]
fn keys_that_run_in_a_circle_do_no_harm() {
    // `1a` comes before `2`, that before `10`, and that before `1a` again.
    let keys = (0..2000).map(|i| (format!("{}x{i}", ["1a", "2", "10"][i % 3]), Node::null()));
    assert_eq!(canonical(&keys.collect()).lines().count(), 2000);
}

#[test]
fn deep_trees_are_written() {
    let tree = (0..500).fold(Node::from("x"), |tree, i| match i % 2 {
        0 => Node::from(vec![tree]),
        _ => Node::from_iter([("k", tree)]),
    });
    assert!(canonical(&tree).ends_with("- x\n"));
}

#[test]
fn what_json_cannot_say_is_refused_but_written() {
    let rows = [
        ("a: .inf\n", "number-not-finite", "a: .inf\n"),
        ("a:\n  1: b\n", "key-not-string", "a:\n  \"1\": b\n"),
        ("? [a, b]\n: c\n", "key-not-string", "? - a\n  - b\n: c\n"),
        ("a: \"\\x7f\"\n", "control-character", "a: \"\\x7F\"\n"),
    ];
    for (yaml, code, expected) in rows {
        let mut out = String::new();
        let tree = &parse_str(yaml).unwrap_or_else(|error| panic!("{yaml}: {error:?}"))[0].root;
        let error = try_canonical_into(tree, &mut out).expect_err(yaml);
        assert_eq!((error.code(), out.as_str()), (code, expected));
        assert!(!error.place().is_empty(), "{yaml}: the place is shown");
    }
    // The outermost map is read as one whose keys are strings.
    let mut out = String::new();
    try_canonical_into(&parse_str("1: b\n").expect("it is YAML")[0].root, &mut out).expect("it is written");
    assert_eq!(out, "\"1\": b\n");
}
