//! The YAML test suite, held against what the reference makes of it. The suite lies beside the repository; without it
//! this test says so and passes.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

use std::path::Path;

use krm_yaml::{Source, documents, json, parse_str};
use serde_json::Value;

/// What we make of the first document: its JSON, or the error.
fn first(text: &str) -> Result<Option<String>, krm_yaml::Diagnostic> {
    let source = Source::detached("case", text);
    let mut all = documents(&source);
    let Some(document) = all.next().transpose()? else { return Ok(None) };
    Ok(Some(json::compact(&document.root)))
}

fn rows(file: &str) -> Option<Vec<Value>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance/yaml").join(file);
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(serde_json::from_str(&text).expect("a list of rows")),
        Err(_) => {
            println!("left out: {file} is not there");
            None
        }
    }
}

fn field<'n>(row: &'n Value, pointer: &str) -> Option<&'n str> {
    row.pointer(pointer).and_then(Value::as_str)
}

#[test]
fn where_the_reference_gives_json_so_do_we() {
    let Some(suite) = rows("suite.json") else { return };
    let mut wrong = Vec::new();
    let mut count = 0;
    for row in &suite {
        let Some(expected) = field(row, "/reference/json") else { continue };
        count += 1;
        let yaml = field(row, "/yaml").expect("every row has its text");
        let got = match first(yaml) {
            Ok(got) => got.unwrap_or_else(|| "nothing".to_owned()),
            Err(error) => format!("{error:?}"),
        };
        if got != expected {
            wrong.push(format!(
                "{} {yaml:?}\n   expected {expected}\n   got      {got}",
                field(row, "/id").unwrap_or("?")
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 200, "only {count} rows");
}

#[test]
fn what_is_invalid_and_refused_by_the_reference_is_refused() {
    let Some(suite) = rows("suite.json") else { return };
    let mut wrong = Vec::new();
    let mut count = 0;
    for row in &suite {
        if row["invalid"].as_bool() != Some(true) || field(row, "/reference/error").is_none() {
            continue;
        }
        count += 1;
        let yaml = field(row, "/yaml").expect("every row has its text");
        if let Ok(got) = first(yaml) {
            wrong.push(format!("{} {yaml:?} gives {got:?}", field(row, "/id").unwrap_or("?")));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} accepted:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 60, "only {count} rows");
}

#[test]
fn plain_scalars_the_reference_refuses_are_refused() {
    let Some(plain) = rows("plain.json") else { return };
    let mut wrong = Vec::new();
    for row in &plain {
        let text = field(row, "/plain").expect("every row has its text");
        let accepted = parse_str(&format!("k: {text}\n"));
        match (field(row, "/error"), accepted) {
            (Some(error), Ok(_)) => wrong.push(format!("accepts {text:?}: {error}")),
            (None, Err(error)) => wrong.push(format!("refuses {text:?}: {error:?}")),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
