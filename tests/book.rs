//! The pages of the book that are made from the code and its cases cannot go stale.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// More than this of an example's files is not read anyway.
const MOST_LINES: usize = 30;

/// `docs/reference/codes.md` is what the cases of every code show; `UPDATE=1` writes it anew.
#[test]
fn every_code_has_its_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = root.join("docs/reference/codes.md");
    let made = codes(&root.join("tests"));
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&page, &made).unwrap();
    }
    let there = fs::read_to_string(&page).unwrap_or_default();
    assert!(there == made, "docs/reference/codes.md is out of date: UPDATE=1 cargo test --test book");
}

/// The page of a code is what `krm help CODE` prints.
#[test]
fn help_prints_the_page_of_a_code() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_krm"))
        .args(["help", "patch-target-no-match"])
        .output()
        .expect("krm starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("patch-target-no-match\n\n"), "{text}");
    assert!(text.contains("\n    help: did you mean `web`?\n"), "{text}");
    assert!(!text.contains("```") && !text.contains("## "), "for people, and one page only: {text}");
}

fn codes(tests: &Path) -> String {
    let mut by_code: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for folder in ["cases/errors", "out_of_reach"] {
        for entry in fs::read_dir(tests.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let code = name.split('.').next().unwrap().to_owned();
            by_code.entry(code).or_default().push(path);
        }
    }
    let mut page = String::from(
        "# Errors and warnings\n\nEvery error and warning has a code: the word in brackets. `krm help CODE` prints what is \
         here: what it means and what to do, and an example.\n",
    );
    for (code, mut paths) in by_code {
        paths.sort();
        let about = paths.iter().find_map(|path| {
            let file = if path.is_dir() { path.join("about") } else { path.clone() };
            fs::read_to_string(file).ok()
        });
        let about =
            about.unwrap_or_else(|| panic!("tests/cases/errors/{code}/about is missing: what does it mean?"));
        page.push_str(&format!("\n## {code}\n\n{}\n", about.trim()));
        if paths[0].is_dir() {
            page.push_str(&example(&paths[0], &code));
        }
    }
    page
}

/// The smallest example that shows a code, in the words of its case.
fn example(case: &Path, code: &str) -> String {
    let read = |name: &str| fs::read_to_string(case.join(name)).ok();
    let mut text = String::new();
    let mut files = Vec::new();
    collect(&case.join("in"), &mut files);
    files.sort();
    let texts: Vec<(String, String)> = files
        .iter()
        .filter_map(|file| {
            let name = file.strip_prefix(case).ok()?.display().to_string();
            Some((name, fs::read_to_string(file).ok()?))
        })
        .filter(|(_, text)| !text.trim().is_empty() && text.chars().all(|c| c == '\n' || !c.is_control()))
        .collect();
    if texts.iter().map(|(_, text)| text.lines().count()).sum::<usize>() <= MOST_LINES {
        for (name, content) in &texts {
            text.push_str(&format!("\n`{name}`:\n\n{}", fenced("yaml", content)));
        }
    }
    let args = read("args").unwrap_or_else(|| "build in".to_owned());
    let said = read("stderr").unwrap_or_default();
    let said = shown(&said, code);
    text.push_str(&format!("\n{}", fenced("text", &format!("$ krm {}\n{said}", args.trim()))));
    text
}

/// Of all that was said, what is about the code.
fn shown(said: &str, code: &str) -> String {
    let mut shown = String::new();
    let mut wanted = false;
    for line in said.lines() {
        let begins = line.starts_with("error") || line.starts_with("warning");
        wanted = if begins { line.contains(&format!("[{code}]")) } else { wanted };
        if wanted {
            shown.push_str(line);
            shown.push('\n');
        }
    }
    if shown.is_empty() { said.to_owned() } else { shown }
}

fn fenced(language: &str, text: &str) -> String {
    format!("```{language}\n{}\n```\n", text.trim_end().replace("```", "` ` `"))
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        // A link may lead anywhere, also round in circles.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&entry.path(), files),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
}
