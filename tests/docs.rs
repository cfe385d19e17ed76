//! The commands in README and docs run as they are printed, from the root of the repository.
//!
//! A block marked `sh` is a script; of a block marked `console` the lines that begin with `$ ` are. All blocks of a page run one
//! after the other in one copy of the repository. What needs a cluster or a registry is marked `text`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The first block of the README builds krm and runs this very test.
const BUILDS_KRM: &str = "cargo run --release";

/// What the pages need of the repository; and one of the many kustomizations in it that cannot be built, which a command for
/// the whole repository would trip over.
const COPIED: [&str; 3] = ["examples", "docs", "tests/cases/errors/unknown-field"];

#[test]
fn every_page_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("README.md")];
    collect(&root.join("docs"), &mut pages);
    pages.sort();
    let mut ran = 0;
    let mut failed = Vec::new();
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        let scripts = scripts(&text);
        if scripts.is_empty() {
            continue;
        }
        ran += scripts.len();
        if let Err(fault) = run(root, page, &scripts) {
            failed.push(format!("{}: {fault}", page.strip_prefix(root).unwrap().display()));
        }
    }
    assert!(ran > 10, "only {ran} blocks were found");
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

fn collect(dir: &Path, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => collect(&path, pages),
            false if path.extension().is_some_and(|end| end == "md") => pages.push(path),
            false => {}
        }
    }
}

/// The blocks of a page that are commands.
fn scripts(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
        match language {
            "sh" => found.push(block.join("\n")),
            "console" => {
                let commands = block.iter().filter_map(|line| line.strip_prefix("$ "));
                found.push(commands.collect::<Vec<_>>().join("\n"));
            }
            _ => {}
        }
    }
    found.retain(|script| !script.contains(BUILDS_KRM));
    found
}

fn run(root: &Path, page: &Path, scripts: &[String]) -> Result<(), String> {
    let name = page.strip_prefix(root).unwrap().display().to_string().replace(['/', '.'], "-");
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("docs").join(name);
    let _ = fs::remove_dir_all(&home);
    let programs = home.join(".bin");
    fs::create_dir_all(&programs).unwrap();
    for folder in COPIED {
        copy(&root.join(folder), &home.join(folder));
    }
    commit(&home);
    // Who switches has both; here they are one.
    for name in ["krm", "kustomize"] {
        symlink(env!("CARGO_BIN_EXE_krm"), programs.join(name)).unwrap();
    }
    // There is no cluster to apply to.
    fs::write(programs.join("kubectl"), "#!/bin/sh\nexec cat >/dev/null\n").unwrap();
    fs::set_permissions(programs.join("kubectl"), fs::Permissions::from_mode(0o755)).unwrap();
    let script: String = scripts.iter().map(|script| format!("\n: '@@'\n{script}\n")).collect();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .args(["-e", "-o", "pipefail", "-v", "-c", &script])
        .current_dir(&home)
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("HOME", &home)
        .env("NO_COLOR", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CEILING_DIRECTORIES", home.parent().unwrap())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            let last: Vec<&str> = said.lines().rev().take(20).collect();
            Err(last.into_iter().rev().collect::<Vec<_>>().join("\n"))
        }
    }
}

/// Some commands compare revisions.
fn commit(home: &Path) {
    let identity = ["-c", "user.name=krm", "-c", "user.email=krm@example.com"];
    for args in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["add", "examples"],
        &["commit", "--quiet", "-m", "examples"],
    ] {
        let git = Command::new("git").args(identity).args(args).current_dir(home).status();
        assert!(git.is_ok_and(|status| status.success()), "git {args:?}");
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type().unwrap().is_dir() {
            true => copy(&from, &to),
            false => drop(fs::copy(&from, &to).unwrap()),
        }
    }
}
