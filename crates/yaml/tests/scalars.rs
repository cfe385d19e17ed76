//! How scalars are read and written, against what the reference does.
//!
//! The large tables live beside the project and are left out where they are absent; the small ones always run.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

use krm_yaml::{Node, Span, Style, Tag, canonical, json, parse_str, resolve, try_canonical_into};

/// The rows of a table of the reference's answers.
fn shared(name: &str) -> Option<Vec<serde_json::Value>> {
    let path = format!("{}/../../../shared/conformance/yaml/{name}", env!("CARGO_MANIFEST_DIR"));
    let Ok(text) = std::fs::read(&path) else {
        eprintln!("left out: {name} is not there");
        return None;
    };
    Some(serde_json::from_slice(&text).expect("the table is JSON"))
}

/// What is written, or `ERROR`.
fn written(tree: &Node) -> String {
    let mut out = String::new();
    match try_canonical_into(tree, &mut out) {
        Ok(()) => out,
        Err(_) => "ERROR".into(),
    }
}

fn all_hold(wrong: Vec<String>, checked: usize) {
    assert!(wrong.is_empty(), "{} of {checked} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn strings_are_written_as_the_reference_writes_them() {
    let Some(rows) = shared("scalars.json") else { return };
    let mut wrong = Vec::new();
    for row in &rows {
        let value = row["value"].as_str().expect("a string");
        let (as_value, as_key) = (Node::from_iter([("k", value)]), Node::from_iter([(value, "v")]));
        for (tree, column) in [(as_value, "build"), (as_key, "buildKey")] {
            let expected = row[column].as_str().expect("a string");
            let expected = if expected.starts_with("ERROR") { "ERROR" } else { expected };
            let got = written(&tree);
            if got != expected {
                wrong.push(format!("{value:?} in {column}:\n{expected}{got}"));
            }
        }
    }
    all_hold(wrong, rows.len());
}

#[test]
fn plain_scalars_mean_what_the_reference_takes_them_for() {
    let Some(rows) = shared("plain.json") else { return };
    let mut wrong = Vec::new();
    let mut checked = 0;
    for row in &rows {
        let plain = row["plain"].as_str().expect("a string");
        let Some(tag) = row["tag"].as_str() else { continue };
        checked += 1;
        let documents = match parse_str(&format!("k: {plain}\n")) {
            Ok(documents) => documents,
            Err(error) => {
                wrong.push(format!("{plain:?}: {error:?}"));
                continue;
            }
        };
        let tree = &documents[0].root;
        let refused = row["build"].as_str() == Some("");
        let expected = if refused { Some("ERROR") } else { row["build"].as_str() };
        let got = written(tree);
        if Some(&*got) != expected {
            wrong.push(format!("{plain:?}: {expected:?}, not {got:?}"));
        }
        // The reference makes its JSON of what it would write, where an empty value in braces has become a string.
        let again = parse_str(&got).ok().filter(|_| !refused);
        if let Some(json) = again.map(|documents| json::compact(&documents[0].root))
            && Some(json.as_str()) != row["json"].as_str()
        {
            wrong.push(format!("{plain:?}: {}, not {json}", row["json"]));
        }
        let value = tree.get("k").expect("the key is there");
        if name(value.tag()).is_some_and(|name| name != tag) {
            wrong.push(format!("{plain:?}: {tag}, not {:?}", value.tag()));
        }
    }
    assert!(checked > 300, "only {checked} rows");
    all_hold(wrong, checked);
}

fn name(tag: Tag) -> Option<&'static str> {
    Some(match tag {
        Tag::Null => "!!null",
        Tag::Bool => "!!bool",
        Tag::Int => "!!int",
        Tag::Float => "!!float",
        Tag::Str => "!!str",
        Tag::Timestamp => "!!timestamp",
        Tag::Binary => "!!binary",
        Tag::Merge => "!!merge",
        Tag::Seq => "!!seq",
        Tag::Map => "!!map",
        Tag::Other => return None,
    })
}

/// Our own rows: a plain scalar, its type, and how it is written back.
#[test]
fn plain_scalars_by_our_own_table() {
    use Tag::*;
    let rows = [
        ("web", Str, "web"),
        ("", Null, "null"),
        ("~", Null, "null"),
        ("NULL", Null, "null"),
        ("nULL", Str, "nULL"),
        ("TRUE", Bool, "true"),
        ("tRUE", Str, "tRUE"),
        ("off", Str, "\"off\""),
        ("8080", Int, "8080"),
        ("-0", Int, "0"),
        ("+7", Int, "7"),
        ("0x1f", Int, "31"),
        ("0O17", Int, "15"),
        ("0b-11", Int, "-3"),
        ("-0b11", Int, "-3"),
        ("-0b-11", Str, "-0b-11"),
        ("08", Float, "8"),
        ("1_2_3", Int, "123"),
        ("1e400", Str, "1e400"),
        ("1e-400", Float, "0"),
        ("123456789.25", Float, "1.2345678925e+08"),
        ("99999999999999999999", Float, "1e+20"),
        ("+18446744073709551615", Float, "1.8446744073709552e+19"),
        (".5_5", Float, "0.55"),
        ("._5", Str, "._5"),
        ("1.2.3", Str, "1.2.3"),
        ("10Mi", Str, "10Mi"),
        ("0xyz", Str, "0xyz"),
        ("12:30", Str, "\"12:30\""),
        ("12:60", Str, "12:60"),
        ("2024-02-29", Timestamp, "\"2024-02-29T00:00:00Z\""),
        ("2023-02-29", Str, "2023-02-29"),
        ("2024-2-3 4:05:06.70", Timestamp, "\"2024-02-03T04:05:06.7Z\""),
        ("2024-02-03T04:05:06+00:30", Timestamp, "\"2024-02-03T04:05:06+00:30\""),
        ("2024-02-03T04:05", Str, "2024-02-03T04:05"),
    ];
    let mut wrong = Vec::new();
    for (plain, tag, expected) in rows {
        let got = resolve::plain(plain);
        let tree = Node::scalar(plain, got, Style::Plain, Span::NONE);
        let text = canonical(&tree);
        if (got, text.as_str()) != (tag, format!("{expected}\n").as_str()) {
            wrong.push(format!("{plain:?}: {tag:?} {expected}, not {got:?} {text}"));
        }
    }
    all_hold(wrong, rows.len());
}
