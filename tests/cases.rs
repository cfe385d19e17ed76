//! The one case runner: every folder under `tests/cases` that holds an `in/` or a `script` is a test.
//!
//! ```text
//! in/       what a user would have; the command runs in a copy of its parent. Plugins of the old kind are in `in/plugins`,
//!           and settings of the user in `in/config`
//! args      the command line, quoted as in a shell; `build in` if there is none
//! script    instead of `args`: commands for bash, one per line, for what a folder cannot hold, such as a git repository
//! env       variables for the command, a line `NAME=value` each
//! stdin     what is given on standard input; nothing if there is none
//! stdout    what must be printed, byte for byte; none if the command must fail
//! stderr    what must be said, byte for byte, apart from times; none if nothing may be
//! exit      the exit status; without it 0 if there is `stdout` or `out/`, else 1
//! out/      the whole tree that must be there afterwards: of `out/`, which exists if the command line names it,
//!           or else of `in/`, changed in place
//! ```
//!
//! `UPDATE=1 cargo test --test cases` writes what is expected; read the difference before you commit it. A case that
//! succeeded and now fails is reported instead: delete its `stdout` and `out/` if that is meant.
//! `CASE=word` runs those whose path contains the word.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

#[path = "support/scratch.rs"]
mod scratch;
#[path = "support/session.rs"]
mod session;

use scratch::Scratch;

const KNOWN: [&str; 10] =
    ["about", "args", "env", "exit", "in", "out", "script", "stderr", "stdin", "stdout"];

#[test]
fn cases() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut found = Vec::new();
    let mut faults = Vec::new();
    collect(&root, &mut found, &mut faults);
    if let Ok(word) = std::env::var("CASE") {
        found.retain(|case| case.to_string_lossy().contains(&word));
    }
    let update = std::env::var_os("UPDATE").is_some();
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(faults));
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(case) = found.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let name = case.strip_prefix(&root).expect("cases lie in the root").display().to_string();
                    if let Err(fault) = run(case, update) {
                        failed.lock().unwrap().push(format!("{name}: {fault}"));
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().unwrap();
    failed.sort();
    assert!(failed.is_empty(), "{} of {} cases fail\n\n{}", failed.len(), found.len(), failed.join("\n\n"));
}

/// Finds the cases, and complains about folders that are neither cases nor lead to any.
fn collect(dir: &Path, found: &mut Vec<PathBuf>, faults: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    names.sort();
    if dir.join("in").is_dir() || dir.join("script").is_file() {
        for name in &names {
            let known = name.file_name().and_then(|n| n.to_str()).is_some_and(|n| KNOWN.contains(&n));
            if !known {
                faults.push(format!("{}: a case has no such file", name.display()));
            }
        }
        return found.push(dir.to_owned());
    }
    let before = found.len();
    for name in &names {
        match name.is_dir() {
            true => collect(name, found, faults),
            false => faults.push(format!("{}: belongs to no case", name.display())),
        }
    }
    if found.len() == before && !names.is_empty() {
        faults.push(format!("{}: holds no case", dir.display()));
    }
}

fn run(case: &Path, update: bool) -> Result<(), String> {
    let scratch = Scratch::new("case");
    if case.join("in").is_dir() {
        copy(&case.join("in"), &scratch.join("in"));
    }
    if let Ok(script) = fs::read_to_string(case.join("script")) {
        let mut bash = session::bash(&script, &scratch);
        set_variables(&mut bash, case)?;
        let mut output = bash.output().expect("bash starts");
        output.stderr = session::plain(&output.stderr, &scratch).into_bytes();
        return finish(case, update, &output, &scratch.join("in"));
    }
    let args = fs::read_to_string(case.join("args")).unwrap_or_else(|_| "build in".into());
    let args = shlex::split(&args).ok_or("`args` has a quote that is not closed")?;
    let names_out = args.iter().any(|arg| arg == "out" || arg.starts_with("out/"));
    if names_out {
        fs::create_dir(scratch.join("out")).expect("the scratch folder is ours");
    }
    let stdin = fs::File::open(case.join("stdin")).map_or(Stdio::null(), Stdio::from);
    let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
    krm.args(&args).current_dir(&scratch).stdin(stdin);
    let plugins = scratch.join("in/plugins");
    if plugins.is_dir() {
        krm.env("KUSTOMIZE_PLUGIN_HOME", plugins);
    }
    let settings = scratch.join("in/config");
    if settings.join("krm").is_dir() {
        krm.env("XDG_CONFIG_HOME", settings);
    }
    set_variables(&mut krm, case)?;
    let mut output = krm.output().expect("krm starts");
    output.stderr = session::plain(&output.stderr, &scratch).into_bytes();
    finish(case, update, &output, &scratch.join(if names_out { "out" } else { "in" }))
}

/// Sets what the file `env` of a case says.
fn set_variables(command: &mut Command, case: &Path) -> Result<(), String> {
    for line in fs::read_to_string(case.join("env")).unwrap_or_default().lines() {
        let (name, value) = line.split_once('=').ok_or("a line of `env` is `NAME=value`")?;
        command.env(name, value);
    }
    Ok(())
}

fn finish(case: &Path, update: bool, output: &Output, tree: &Path) -> Result<(), String> {
    match update {
        true => write(case, output, tree),
        false => compare(case, output, tree),
    }
}

fn compare(case: &Path, output: &Output, tree: &Path) -> Result<(), String> {
    let (expected, code) = (status(case)?, output.status.code());
    if code != Some(expected) {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "expected exit status {expected} (see the file `exit`), but got {code:?}:\n{stderr}"
        ));
    }
    for (name, got) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        let wanted = fs::read(case.join(name)).unwrap_or_default();
        if wanted != *got {
            let (wanted, got) = (String::from_utf8_lossy(&wanted), String::from_utf8_lossy(got));
            return Err(format!("{name} differs\n--- expected\n{wanted}--- got\n{got}"));
        }
    }
    if case.join("out").exists() && files(&case.join("out")) != files(tree) {
        let (wanted, got) = (files(&case.join("out")), files(tree));
        return Err(format!("the files differ\n--- expected\n{wanted:#?}\n--- got\n{got:#?}"));
    }
    Ok(())
}

/// The exit status a case expects.
fn status(case: &Path) -> Result<i32, String> {
    match fs::read_to_string(case.join("exit")) {
        Ok(text) => text.trim().parse().map_err(|_| "`exit` is a number".to_owned()),
        Err(_) => Ok(i32::from(!case.join("stdout").exists() && !case.join("out").exists())),
    }
}

fn write(case: &Path, output: &Output, tree: &Path) -> Result<(), String> {
    let code = output.status.code();
    let has_exit = case.join("exit").exists();
    if status(case)? == 0 && code != Some(0) {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "succeeded before, and now gives {code:?}; delete its `stdout` and `out/` if that is meant\n{stderr}"
        ));
    }
    let place = |name: &str| case.join(name);
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        let wanted = match name {
            "stdout" => (code == Some(0) || has_exit && !bytes.is_empty()) && !case.join("out").exists(),
            _ => !bytes.is_empty(),
        };
        match wanted {
            true => fs::write(place(name), bytes).map_err(|e| e.to_string())?,
            false => drop(fs::remove_file(place(name))),
        }
    }
    if place("out").exists() {
        fs::remove_dir_all(place("out")).map_err(|e| e.to_string())?;
        copy(tree, &place("out"));
    }
    match code {
        Some(code @ 0..=2) if code != status(case)? => {
            fs::write(place("exit"), format!("{code}\n")).map_err(|e| e.to_string())
        }
        Some(0..=2) => Ok(()),
        code => Err(format!("gave {code:?}:\n{}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// Every file of a tree with its content; a link is followed.
fn files(root: &Path) -> BTreeMap<PathBuf, String> {
    fn visit(dir: &Path, root: &Path, files: &mut BTreeMap<PathBuf, String>) {
        for entry in fs::read_dir(dir).into_iter().flatten() {
            let path = entry.expect("a readable folder").path();
            match path.is_dir() {
                true => visit(&path, root, files),
                false => {
                    let bytes = fs::read(&path).unwrap_or_default();
                    let name = path.strip_prefix(root).expect("found below it").to_owned();
                    files.insert(name, String::from_utf8_lossy(&bytes).into_owned());
                }
            }
        }
    }
    let mut found = BTreeMap::new();
    visit(root, root, &mut found);
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a writable folder");
    for entry in fs::read_dir(from).expect("a readable folder") {
        let entry = entry.expect("a readable folder");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().expect("a readable folder");
        if kind.is_symlink() {
            let target = fs::read_link(&from).expect("a link");
            std::os::unix::fs::symlink(target, to).expect("a writable folder");
        } else if kind.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).expect("a readable file");
        }
    }
}
