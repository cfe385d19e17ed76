//! How scalars are read and written, against what the reference does.
//!
//! The large tables live beside the project and are left out where they are absent; the small ones here always run.

use krm_yaml::{Node, Span, Style, Tag, canonical, json, resolve};

const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/conformance/yaml/");

/// The rows of a table of the reference's answers.
fn shared(name: &str) -> Option<Vec<serde_json::Value>> {
    let path = format!("{SHARED}{name}");
    let Ok(text) = std::fs::read(&path) else {
        eprintln!("left out: there is no {path}");
        return None;
    };
    Some(serde_json::from_slice(&text).expect("the table is JSON"))
}

#[test]
fn strings_are_written_as_the_reference_writes_them() {
    let Some(rows) = shared("scalars.json") else { return };
    let mut wrong = Vec::new();
    for row in &rows {
        let value = row["value"].as_str().expect("a string");
        let check = |tree: Node, column: &str, wrong: &mut Vec<String>| {
            let expected = row[column].as_str().expect("a string");
            let got = canonical(&tree);
            if !expected.starts_with("ERROR") && got != expected {
                wrong.push(format!("{value:?} in {column}:\n{expected}{got}"));
            }
        };
        check(Node::from_iter([("k", value)]), "build", &mut wrong);
        check(Node::from_iter([(value, "v")]), "buildKey", &mut wrong);
    }
    assert!(wrong.is_empty(), "{} of {} rows differ:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn plain_scalars_mean_what_the_reference_takes_them_for() {
    let Some(rows) = shared("plain.json") else { return };
    let mut wrong = Vec::new();
    let mut checked = 0;
    for row in &rows {
        let plain = row["plain"].as_str().expect("a string");
        let Some(tag) = row["tag"].as_str() else { continue };
        // Rows with an indicator are about syntax, not about types.
        if plain.starts_with(['#', '&', '*', '!', '[', '{', '"', '\'', '|', '>']) || plain.contains(" #") {
            continue;
        }
        checked += 1;
        let node = Node::scalar(plain, resolve::plain(plain), Style::Plain, Span::NONE);
        let name = match node.tag() {
            Tag::Null => "!!null",
            Tag::Bool => "!!bool",
            Tag::Int => "!!int",
            Tag::Float => "!!float",
            Tag::Str => "!!str",
            Tag::Timestamp => "!!timestamp",
            Tag::Merge => "!!merge",
            other => panic!("{plain:?} cannot be {other:?}"),
        };
        let tree = Node::from_iter([("k", node)]);
        let answers = [(tag, name.to_owned())].into_iter();
        let written = [(&row["json"], json::compact(&tree)), (&row["build"], canonical(&tree))];
        let written =
            written.iter().map(|(expected, got)| (expected.as_str().expect("a string"), got.clone()));
        for (expected, got) in answers.chain(written) {
            let refused = row["build"].as_str() == Some("");
            if got != expected && !refused {
                wrong.push(format!("{plain:?}: {expected:?}, not {got:?}"));
            }
        }
    }
    assert!(checked > 300, "only {checked} rows were about types");
    assert!(wrong.is_empty(), "{} of {checked} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}
