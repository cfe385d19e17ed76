//! Every command shows examples, and they run as they are.

use std::path::Path;
use std::process::{Command, Output};

fn krm(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_krm")).args(args).output().expect("krm starts")
}

fn help(command: &[&str]) -> String {
    let output = krm(&[command, &["--help"]].concat());
    assert!(output.status.success(), "{command:?}");
    String::from_utf8(output.stdout).expect("krm writes text")
}

/// The commands a help lists.
fn subcommands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    lines
        .take_while(|line| !line.is_empty())
        // Further lines of a description are indented more.
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect()
}

/// All commands: `krm` itself, those it lists, and those below them.
fn commands() -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut next = 0;
    while let Some(command) = all.get(next).cloned() {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let below = subcommands(&help(&words)).into_iter();
        all.extend(below.map(|name| [command.clone(), vec![name]].concat()));
        next += 1;
    }
    all
}

/// What is under `Examples`: the folder to be in, and the scripts.
fn examples(help: &str) -> Option<(String, Vec<String>)> {
    let mut lines = help.lines().skip_while(|line| !line.starts_with("Example"));
    let heading = lines.next()?;
    let folder = heading.trim_end_matches(':').split_once("within ").map_or(".", |(_, folder)| folder);
    let mut scripts: Vec<String> = Vec::new();
    for line in lines.take_while(|line| line.starts_with("  ")) {
        match (line.starts_with("    "), scripts.last_mut()) {
            (true, Some(script)) => script.push_str(&format!("\n{line}")),
            _ => scripts.push(line.trim().to_owned()),
        }
    }
    Some((folder.to_owned(), scripts))
}

/// What is only there to put one's own in place of; what takes a repository; functions that cargo has to build first, the reader of manuals
/// and an editor.
const NOT_HERE: [&str; 11] = [
    "krm diff main",
    "krm diff HEAD",
    "my-package",
    "openapi fetch",
    "example.com/set-label",
    "my-function",
    "./check.sh",
    "examples/website --enable-exec",
    "examples/functions/run",
    "man -l",
    "nvim",
];

#[test]
fn every_command_has_examples_that_run() {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("help");
    drop(std::fs::remove_dir_all(&scratch));
    std::fs::create_dir_all(&scratch).expect("a folder for the copies");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let bin = Path::new(env!("CARGO_BIN_EXE_krm")).parent().expect("the program is in a folder");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let mut ran = 0;
    for command in commands() {
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let (folder, scripts) = examples(&help(&command))
            .unwrap_or_else(|| panic!("`krm {}` has no examples", command.join(" ")));
        assert!(!scripts.is_empty(), "`krm {}` has no examples", command.join(" "));
        let runnable = |script: &&String| !NOT_HERE.iter().any(|name| script.contains(name));
        for script in scripts.iter().filter(runnable) {
            let copy = scratch.join(ran.to_string());
            std::fs::create_dir(&copy).expect("a folder of its own");
            let done = Command::new("cp").arg("-r").arg(root.join("examples")).arg(&copy).status();
            assert!(done.expect("cp starts").success());
            let output = Command::new("bash")
                .args(["-o", "pipefail", "-c", script])
                .current_dir(copy.join(&folder))
                .env("PATH", &path)
                .env("XDG_CACHE_HOME", copy.join("cache"))
                .output()
                .expect("bash starts");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{script}\n{said}");
            ran += 1;
        }
    }
    assert!(ran > 20, "only {ran} examples were run");
}
