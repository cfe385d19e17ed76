//! Oddities of kustomize that krm imitates on purpose.
//!
//! Each is marked in the code, where it is imitated, by a comment
//!
//! ```text
//! // quirk(name-of-it): What happens. (the function it comes from)
//! ```
//!
//! Comments elsewhere refer to it by `See quirk(name-of-it)`.
//!
//! `tests/tidy/quirks` names a case for each, and `docs/quirks.md` is written from both: `UPDATE=1 cargo test --test tidy`.

use std::collections::{BTreeMap, BTreeSet};
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

/// A comment about what the reference does leaves open whether that is right, or an oddity that is imitated on purpose. It
/// marks the oddity, names the mark, or says what happens and why without the reference.
#[test]
fn imitations_are_marked() {
    let sources = all_sources();
    let marks = sources.iter().flat_map(|file| marked(&file.text));
    let known: BTreeSet<String> = marks.map(|(name, _)| name).collect();
    let mut faults = Vec::new();
    for file in &sources {
        for (number, text) in paragraphs(&file.text) {
            let names = text.split("quirk(").skip(1).filter_map(|after| after.split(')').next());
            let names: Vec<&str> = names.collect();
            let unknown = names.iter().filter(|name| !known.contains(**name));
            faults.extend(unknown.map(|name| format!("{}:{number}: nothing marks quirk({name})", file.path)));
            if names.is_empty() && says_reference(&text) {
                faults.push(format!("{}:{number}: \"the reference\", but no quirk(name)", file.path));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

fn says_reference(text: &str) -> bool {
    let text = text.to_lowercase();
    text.split("the reference").skip(1).any(|after| !after.starts_with(char::is_alphanumeric))
}

/// Comment lines that follow each other, as one text, and the number of the first.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut within = false;
    for (at, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            within = false;
            continue;
        };
        let comment = comment.trim_start_matches(['/', '!']).trim();
        match found.last_mut().filter(|_| within) {
            Some((_, text)) => *text = format!("{text} {comment}"),
            None => found.push((at + 1, comment.to_owned())),
        }
        within = true;
    }
    found
}

#[test]
fn comments_are_read_by_paragraphs() {
    let text = "/// As the\n/// reference does.\n// quirk(a): b. (c)\nfn d() {}\n    // The references.\n";
    let found = paragraphs(text);
    assert_eq!(found[0], (1, "As the reference does. quirk(a): b. (c)".to_owned()));
    assert_eq!(found[1], (5, "The references.".to_owned()));
    assert_eq!(found.iter().map(|(_, text)| says_reference(text)).collect::<Vec<_>>(), [true, false]);
}

fn page(quirks: &BTreeMap<String, Quirk>, list: &str) -> String {
    let mut page = String::from(
        "# Oddities of kustomize that krm reproduces\n\n\
         krm prints what `kustomize build` prints, byte for byte, even when that is surprising. Each of these is imitated on\n\
         purpose, marked in the code by `quirk(name)`, and has a case that shows it. The few that are of kpt say so.\n\n\
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
