//! The pages of the book that are made from the code and its cases cannot go stale.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

#[path = "support/scratch.rs"]
mod scratch;
#[path = "support/session.rs"]
mod session;

use scratch::Scratch;

/// The lines that a page shows of a message: some name every layer that leads to a location.
const MOST_LINES: usize = 40;

/// `docs/reference/codes.md` is made of the cases of every code; `UPDATE=1` writes it again.
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

/// A reader who makes the files of an example and types its commands sees the message that the page shows.
#[test]
fn every_example_reproduces_from_its_page() {
    let page = codes(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"));
    let mut examples = examples(&page);
    examples.retain(|(_, example)| !example.commands.is_empty());
    assert!(examples.len() > 400, "only {} examples were found", examples.len());
    // Not within the repository, whose files some commands would find.
    let scratch = Scratch::new("codes");
    let failed: Vec<String> = examples
        .par_iter()
        .filter_map(|(code, example)| {
            let got = shown(&example.run(&scratch.join(code)), code);
            let differs = got.trim_end() != example.shown.trim_end();
            differs.then(|| format!("{code}\n--- the page\n{}--- krm\n{got}", example.shown))
        })
        .collect();
    assert!(failed.is_empty(), "{} examples differ\n\n{}", failed.len(), failed.join("\n\n"));
}

/// What a page shows of one code.
#[derive(Default)]
struct Example {
    files: Vec<(String, String)>,
    commands: String,
    shown: String,
}

impl Example {
    /// Makes the files and types the commands; gives what they say.
    fn run(&self, home: &Path) -> String {
        fs::create_dir_all(home).unwrap();
        for (name, content) in &self.files {
            let path = home.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let output = session::bash(&self.commands, home).output().expect("bash starts");
        session::plain(&output.stderr, home)
    }
}

/// The codes of the page with their examples.
fn examples(page: &str) -> Vec<(&str, Example)> {
    let mut found: Vec<(&str, Example)> = Vec::new();
    let mut name = "";
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(code) = line.strip_prefix("## ") {
            found.push((code, Example::default()));
        } else if let Some(file) = line.strip_prefix('`').and_then(|line| line.strip_suffix("`:")) {
            name = file;
        } else if let Some(language) = line.strip_prefix("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let (_, example) = found.last_mut().expect("an example is below the title of its code");
            if language == "console" {
                let (typed, said): (Vec<&str>, Vec<&str>) =
                    block.iter().partition(|line| line.starts_with("$ "));
                example.commands = typed.iter().map(|line| format!("{}\n", &line[2..])).collect();
                example.shown = said.iter().map(|line| format!("{line}\n")).collect();
            } else if !name.is_empty() {
                example.files.push((name.to_owned(), block.iter().map(|line| format!("{line}\n")).collect()));
            }
            name = "";
        }
    }
    found
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
         here: what it means, what to do, and an example that causes it.\n\nMake the files of an example, type its commands, and you see the \
         message shown, without others that the same command prints. Examples that need a server, a full disk, another user or a program \
         that uses krm as a library show only how the message comes about.\n",
    );
    for (code, mut paths) in by_code {
        paths.sort();
        let about = paths.iter().find_map(|path| fs::read_to_string(path.join("about")).ok());
        let about =
            about.unwrap_or_else(|| panic!("tests/cases/errors/{code}/about is missing: what does it mean?"));
        page.push_str(&format!("\n## {code}\n\n{}\n", about.trim()));
        match fs::read_to_string(paths[0].join("example")) {
            Ok(example) => page.push_str(&format!("\n{}\n", example.trim())),
            Err(_) => page.push_str(&example(&paths[0], &code)),
        }
    }
    page
}

/// The files of a case, the commands that make what a page cannot show, the command itself, and what it says about the code.
fn example(case: &Path, code: &str) -> String {
    let read = |name: &str| fs::read_to_string(case.join(name)).ok();
    let mut files = Vec::new();
    collect(&case.join("in"), &mut files);
    files.sort();
    if case.join("stdin").is_file() {
        files.push(case.join("stdin"));
    }
    let mut text = String::new();
    let mut commands: Vec<String> = Vec::new();
    for file in &files {
        let path = file.strip_prefix(case).unwrap();
        let name = path.display();
        let folder = match path.parent().unwrap().display().to_string() {
            folder if folder.is_empty() => String::new(),
            folder => format!("mkdir -p {folder} && "),
        };
        if path.ends_with(".keep") {
            // It is there only because git keeps no empty folders.
            commands.push(folder.trim_end_matches(" && ").to_owned());
            continue;
        }
        if let Ok(target) = fs::read_link(file) {
            commands.push(format!("{folder}ln -s {} {name}", target.display()));
            continue;
        }
        let bytes = fs::read(file).unwrap();
        match showable(&bytes) {
            Some(content) => text.push_str(&format!("\n`{name}`:\n\n{}", fenced(language(path), content))),
            None if bytes.is_empty() => commands.push(format!("{folder}touch {name}")),
            None => commands.push(format!("{folder}printf '{}' > {name}", escaped(&bytes))),
        }
        if fs::metadata(file).unwrap().permissions().mode() & 0o111 != 0 {
            commands.push(format!("chmod +x {name}"));
        }
    }
    match read("script") {
        Some(script) => commands.extend(script.lines().map(str::to_owned)),
        None => {
            let args = shlex::split(&read("args").unwrap_or_else(|| "build in".to_owned())).unwrap();
            if args.iter().any(|arg| arg == "out" || arg.starts_with("out/")) {
                commands.push("mkdir out".to_owned());
            }
            let args = shlex::try_join(args.iter().map(String::as_str)).unwrap();
            let input = if case.join("stdin").is_file() { " < stdin" } else { "" };
            commands.push(format!("{}krm {args}{input}", variables(case)));
        }
    }
    commands.dedup();
    let typed: String = commands.iter().map(|command| format!("$ {command}\n")).collect();
    let said = read("stderr").unwrap_or_default();
    text.push_str(&format!("\n{}", fenced("console", &format!("{typed}{}", shown(&said, code)))));
    text
}

/// The variables that the runner of cases sets.
fn variables(case: &Path) -> String {
    let mut set = String::new();
    for (folder, name, value) in [
        ("in/plugins", "KUSTOMIZE_PLUGIN_HOME", "in/plugins"),
        ("in/config/krm", "XDG_CONFIG_HOME", "in/config"),
    ] {
        if case.join(folder).is_dir() {
            set.push_str(&format!("{name}=$PWD/{value} "));
        }
    }
    for line in fs::read_to_string(case.join("env")).unwrap_or_default().lines() {
        let (name, value) = line.split_once('=').expect("a line of `env` is `NAME=value`");
        set.push_str(&format!("{name}={} ", shlex::try_quote(value).unwrap()));
    }
    set
}

/// Text that looks on a page as it is in its file.
fn showable(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let plain = text.chars().all(|c| c == '\n' || !c.is_control());
    (plain && !text.trim().is_empty() && !text.contains("```")).then_some(text)
}

/// Bytes as the format of `printf` writes them.
fn escaped(bytes: &[u8]) -> String {
    let escape = |byte: &u8| match byte {
        b'\n' => "\\n".to_owned(),
        b'%' => "%%".to_owned(),
        b'\\' | b'\'' => format!("\\{byte:03o}"),
        b' '..=b'~' => char::from(*byte).to_string(),
        _ => format!("\\{byte:03o}"),
    };
    bytes.iter().map(escape).collect()
}

fn language(path: &Path) -> &'static str {
    match path.extension().and_then(|end| end.to_str()) {
        Some("yaml" | "yml") => "yaml",
        Some("json") => "json",
        _ => "text",
    }
}

/// The part of what was said that is about the code; of a long one, the beginning.
fn shown(said: &str, code: &str) -> String {
    let mut wanted = false;
    let about_code = said.lines().filter(|line| {
        let begins = line.starts_with("error") || line.starts_with("warning");
        wanted = if begins { line.contains(&format!("[{code}]")) } else { wanted };
        wanted
    });
    let mut lines: Vec<&str> = about_code.collect();
    if lines.is_empty() {
        lines = said.lines().collect();
    }
    if lines.len() > MOST_LINES {
        lines.truncate(MOST_LINES);
        lines.push("...");
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn fenced(language: &str, text: &str) -> String {
    format!("```{language}\n{}\n```\n", text.trim_end())
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        // A link is shown, not followed: it may lead anywhere, even in circles.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&entry.path(), files),
            Ok(_) => files.push(entry.path()),
            Err(_) => {}
        }
    }
}
