//! `krm cfg fmt` changes no build: every kustomization of the examples and the cases is built, formatted, and built again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

fn krm(args: &[&str], dir: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_krm")).args(args).current_dir(dir).output().expect("krm starts")
}

fn folders_with(file: &str, dir: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for path in entries.map(|entry| entry.expect("readable").path()) {
        if path.is_dir() && !path.is_symlink() {
            folders_with(file, &path, found);
        } else if path.file_name().is_some_and(|name| name == file) {
            found.push(dir.to_owned());
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a new folder");
    for entry in fs::read_dir(from).expect("a folder of ours") {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).expect("readable");
        if path.is_symlink() {
            let target = fs::read_link(&path).expect("a link");
            std::os::unix::fs::symlink(target, to.join(name)).expect("a new link");
        } else if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            // A file that nobody may read is not formatted either.
            let _ = fs::copy(&path, to.join(name));
        }
    }
}

/// Formats a copy of a folder, and compares what the kustomizations in it build before and after.
fn check(folder: &Path, faults: &mut Vec<String>) -> usize {
    let mut roots = Vec::new();
    folders_with("kustomization.yaml", folder, &mut roots);
    if roots.is_empty() {
        return 0;
    }
    let scratch = Scratch::new("fmt-builds");
    copy(folder, &scratch);
    let built = |root: &PathBuf| {
        let root = scratch.join(root.strip_prefix(folder).expect("within the folder"));
        krm(&["build", ".", "--load-restrictor", "LoadRestrictionsNone"], &root)
    };
    let before: Vec<Output> = roots.iter().map(built).collect();
    let formatted = krm(&["cfg", "fmt", "."], &scratch);
    if !formatted.status.success() {
        // What cannot be read is not formatted.
        return 0;
    }
    for (root, before) in roots.iter().zip(&before).filter(|(_, before)| before.status.success()) {
        let after = built(root);
        if after.stdout != before.stdout {
            faults.push(format!("{}\n{}", root.display(), String::from_utf8_lossy(&after.stderr)));
        }
    }
    let again = krm(&["cfg", "fmt", "--check", "."], &scratch);
    if !again.status.success() {
        faults.push(format!(
            "{}: formatting twice\n{}",
            folder.display(),
            String::from_utf8_lossy(&again.stderr)
        ));
    }
    before.iter().filter(|before| before.status.success()).count()
}

#[test]
fn formatting_changes_no_build() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut builds, mut faults) = (0, Vec::new());
    for cases in ["examples", "tests/cases/build", "tests/cases/composition"] {
        for case in
            fs::read_dir(root.join(cases)).expect("the cases").map(|entry| entry.expect("readable").path())
        {
            builds += check(&case, &mut faults);
        }
    }
    assert!(faults.is_empty(), "{} builds change:\n{}", faults.len(), faults.join("\n"));
    assert!(builds > 100, "only {builds} builds were tried");
}

#[test]
fn the_examples_are_formatted() {
    let output = krm(&["cfg", "fmt", "--check", "examples"], Path::new(env!("CARGO_MANIFEST_DIR")));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
