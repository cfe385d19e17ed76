//! What was read and not touched comes out as the same bytes; what has no text is written as the reference writes it.
//! The files lie beside the repository; without them these tests say so and pass.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

use std::path::{Path, PathBuf};

use krm_yaml::emit::preserve;
use krm_yaml::{Node, parse_str};
use serde_json::Value;

fn shared() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    if !path.is_dir() {
        println!("left out: the conformance files are not there");
        return None;
    }
    Some(path)
}

fn rows(file: &Path) -> Vec<Value> {
    serde_json::from_str(&std::fs::read_to_string(file).expect("a file of rows")).expect("a list of rows")
}

fn yaml_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            yaml_files(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "yaml" || ext == "yml") {
            found.push(path);
        }
    }
}

/// Whether a text that can be read comes out again as it went in; `None` where it cannot be read.
fn survives(text: &str) -> Option<bool> {
    let docs = parse_str(text).ok()?;
    let joined: String = docs.iter().map(|doc| doc.text()).collect();
    Some(joined == text && preserve::stream(&docs) == text)
}

#[test]
fn every_file_comes_out_as_it_went_in() {
    let Some(shared) = shared() else { return };
    let mut files = Vec::new();
    yaml_files(&shared, &mut files);
    let mut read = 0;
    for file in &files {
        let Ok(text) = std::fs::read_to_string(file) else { continue };
        match survives(&text) {
            Some(same) => assert!(same || text.is_empty(), "{}", file.display()),
            None => continue,
        }
        read += 1;
    }
    assert!(read > 3000, "only {read} of {} files could be read", files.len());
}

#[test]
fn every_accepted_row_of_the_suite_comes_out_as_it_went_in() {
    let Some(shared) = shared() else { return };
    let mut read = 0;
    for row in rows(&shared.join("yaml/suite.json")) {
        let text = row["yaml"].as_str().expect("every row has its text");
        if let Some(same) = survives(text) {
            assert!(same || text.is_empty(), "{} {text:?}", row["id"]);
            read += 1;
        }
    }
    assert!(read > 250, "only {read} rows could be read");
}

/// What the reference writes without quotes or escapes, and some other reader refuses or takes for something else; see
/// `readers.rs`.
const UNSAFE: [&str; 7] = [".", "=", "<<", "1e400", "2001-12-14 21:59:43.10 -5", "\u{2028}", "\u{2029}"];

#[test]
fn strings_without_a_text_are_written_as_the_reference_writes_them() {
    let Some(shared) = shared() else { return };
    let rows = rows(&shared.join("yaml/scalars.json"));
    let mut wrong = Vec::new();
    for row in &rows {
        let (value, expected) =
            (row["value"].as_str().expect("a value"), row["lossless"].as_str().expect("its text"));
        let text = preserve::fresh(&Node::from_iter([("k", value)]));
        // Nor can the reference read a block that begins with a tab, which it writes all the same.
        let unreadable = UNSAFE.contains(&value) || value.starts_with('\t');
        if text != expected && !unreadable {
            wrong.push(format!("{value:?}\n   expected {expected:?}\n   got      {text:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    assert!(rows.len() > 1000, "only {} rows", rows.len());
}
