//! Oddities of kustomize that krm imitates on purpose.
//!
//! Each is marked in the code, where it is imitated, by a comment
//!
//! ```text
//! // quirk(name-of-it): What happens. (the function it comes from)
//! ```
//!
//! `tests/tidy/quirks` names a case for each, and `docs/quirks.md` is written from both: `UPDATE=1 cargo test --test tidy`.

use std::collections::BTreeMap;
use std::fs;

use super::{all_sources, root};

const LIST: &str = "tests/tidy/quirks";
const PAGE: &str = "docs/quirks.md";

struct Quirk {
    text: String,
    source: String,
    file: String,
}

#[test]
fn every_quirk_has_a_case_and_is_documented() {
    let (mut quirks, mut faults) = (BTreeMap::new(), Vec::new());
    for file in all_sources() {
        for (name, text) in marked(&file.text) {
            let (text, source) = match text.strip_suffix(')').and_then(|text| text.rsplit_once(" (")) {
                Some((text, source)) => (text.to_owned(), source.to_owned()),
                None => {
                    faults.push(format!(
                        "{}: quirk({name}) does not end with its source in parentheses",
                        file.path
                    ));
                    continue;
                }
            };
            // One that shows in several files is described in one of them.
            if !text.starts_with("See ") {
                let quirk = Quirk { text, source, file: file.path.clone() };
                if let Some(other) = quirks.insert(name.clone(), quirk) {
                    faults.push(format!("quirk({name}) is described in {} and in {}", other.file, file.path));
                }
            }
        }
    }
    let list = fs::read_to_string(root().join(LIST)).expect("the list is there");
    let cases: BTreeMap<&str, &str> = list.lines().filter_map(|line| line.split_once(": ")).collect();
    for name in quirks.keys().filter(|name| !cases.contains_key(name.as_str())) {
        faults.push(format!("quirk({name}): {LIST} names no case for it"));
    }
    for (name, case) in cases {
        if !quirks.contains_key(name) {
            faults.push(format!("{LIST}: no comment says `quirk({name})`"));
        }
        if !root().join("tests/cases").join(case).join("in").is_dir() {
            faults.push(format!("{LIST}: there is no case `{case}`"));
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));

    let page = page(&quirks, &list);
    let file = root().join(PAGE);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, &page).expect("docs are writable");
    }
    let written = fs::read_to_string(file).unwrap_or_default();
    assert!(written == page, "{PAGE} is out of date: run `UPDATE=1 cargo test --test tidy`");
}

/// Name and text of every comment that marks a quirk: up to the end of the comment.
fn marked(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut within = false;
    for line in text.lines() {
        let comment = line.trim_start().strip_prefix("// ");
        match comment {
            Some(comment) if comment.starts_with("quirk(") => {
                if let Some((name, text)) = comment["quirk(".len()..].split_once("): ") {
                    found.push((name.to_owned(), text.to_owned()));
                    within = true;
                }
            }
            Some(more) if within => {
                let (_, text) = found.last_mut().expect("one was found");
                text.push(' ');
                text.push_str(more);
            }
            _ => within = false,
        }
    }
    found
}

fn page(quirks: &BTreeMap<String, Quirk>, list: &str) -> String {
    let mut page = String::from(
        "# Oddities of kustomize that krm reproduces\n\n\
         krm prints what `kustomize build` prints, byte for byte, even when that is surprising. Each of these is imitated on\n\
         purpose, marked in the code by `quirk(name)`, and has a case that shows it.\n\n\
         This page is written from those comments by `UPDATE=1 cargo test --test tidy`.\n",
    );
    for (name, quirk) in quirks {
        let case = list.lines().find_map(|line| line.strip_prefix(&format!("{name}: "))).unwrap_or_default();
        page += &format!(
            "\n## {name}\n\n{}\n\nFrom {}. Case: [`{case}`](../tests/cases/{case}). Code: [`{file}`](../{file}).\n",
            quirk.text,
            quirk.source,
            file = quirk.file
        );
    }
    page
}
