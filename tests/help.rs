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

/// Examples that need what a test does not have: a package that was fetched, a cluster, an image, functions that cargo has to
/// build first, the reader of manuals, an editor; and a server, which does not end.
const NOT_HERE: [&str; 8] = [
    "my-package",
    "openapi fetch",
    "example.com/set-label",
    "examples/website --enable-exec",
    "examples/functions/run",
    "man -l",
    "nvim",
    "krm serve",
];

/// A repository with the examples, on a branch that is one commit ahead of `main`.
fn repository(folder: &Path) {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let script = "
        cp -r \"$1\" . && git init -q -b main && git add . && git commit -q -m examples && git checkout -q -b feature &&
        sed -i 's/count: 3/count: 4/' examples/shop/overlays/production/kustomization.yaml && git commit -q -a -m replicas";
    std::fs::create_dir_all(folder).expect("a folder for the repository");
    let done = Command::new("bash")
        .args(["-c", script, "-"])
        .arg(examples)
        .current_dir(folder)
        .envs([("GIT_AUTHOR_NAME", "krm"), ("GIT_AUTHOR_EMAIL", "krm@example.com")])
        .envs([("GIT_COMMITTER_NAME", "krm"), ("GIT_COMMITTER_EMAIL", "krm@example.com")])
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .status();
    assert!(done.expect("bash starts").success());
}

#[test]
fn every_command_has_examples_that_run() {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("help");
    drop(std::fs::remove_dir_all(&scratch));
    std::fs::create_dir_all(&scratch).expect("a folder for the copies");
    let original = scratch.join("original");
    repository(&original);
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
            let done = Command::new("cp").arg("-r").args([&original, &copy]).status();
            assert!(done.expect("cp starts").success());
            let output = Command::new("bash")
                .args(["-o", "pipefail", "-c", script])
                .current_dir(copy.join(&folder))
                .env("PATH", &path)
                .env("XDG_CACHE_HOME", scratch.join(format!("{ran}-cache")))
                .output()
                .expect("bash starts");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{script}\n{said}");
            ran += 1;
        }
    }
    assert!(ran > 20, "only {ran} examples were run");
}

/// Of what does something, the long help, and so the book and the manual, shows every flag; others are there for scripts.
#[test]
fn flags_that_do_something_are_in_the_long_help() {
    let build = help(&["build"]);
    for flag in ["--reorder", "--enable-managedby-label", "--once"] {
        assert!(build.contains(&format!("      {flag}")), "{flag}");
    }
    assert!(!build.contains("--stack-trace"), "it has no effect");
    assert!(help(&["version"]).contains("--short"));
}
