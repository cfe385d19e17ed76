//! `krm merge --write` and `krm merge3 --write` change all files or none.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

struct Folder(Scratch);

impl Folder {
    fn new(name: &str) -> Self {
        Self(Scratch::new(&format!("merge-write-{name}")))
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("within the folder")).expect("a new folder");
        fs::write(path, text).expect("a new file");
    }

    fn files(&self) -> Vec<(PathBuf, String)> {
        fn visit(dir: &Path, files: &mut Vec<(PathBuf, String)>) {
            for entry in fs::read_dir(dir).expect("a folder of ours") {
                let path = entry.expect("readable").path();
                match path.is_dir() {
                    true => visit(&path, files),
                    false => files.push((path.clone(), fs::read_to_string(path).expect("text"))),
                }
            }
        }
        let mut files = Vec::new();
        visit(&self.0, &mut files);
        files.sort();
        files
    }

    fn krm(&self, args: &[&str]) -> i32 {
        let status = Command::new(env!("CARGO_BIN_EXE_krm")).args(args).current_dir(&self.0).output();
        status.expect("krm starts").status.code().expect("no signal")
    }
}

fn config_map(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  value: {value}\n")
}

#[test]
fn a_merge_that_fails_changes_no_file() {
    let folder = Folder::new("fails");
    folder.write("source/a.yaml", &config_map("a", "new"));
    folder.write("source/sub/b.yaml", &config_map("b", "new"));
    folder.write("dest/a.yaml", &config_map("a", "old"));
    // A file where the folder for the new resource would have to be.
    folder.write("dest/sub", "in the way\n");
    let before = folder.files();
    assert_eq!(folder.krm(&["merge", "--write", "source", "dest"]), 1);
    assert_eq!(folder.files(), before);
}

#[test]
fn a_conflict_that_fails_changes_no_file() {
    let folder = Folder::new("conflict");
    for (side, value) in [("original", "1"), ("updated", "2"), ("dest", "3")] {
        folder.write(&format!("{side}/a.yaml"), &config_map("a", value));
        folder.write(&format!("{side}/b.yaml"), &config_map("b", if side == "updated" { "2" } else { "1" }));
    }
    let before = folder.files();
    let sets = ["--original", "original", "--updated", "updated", "--dest", "dest"];
    let args: Vec<&str> = ["merge3", "--write", "--on-conflict", "fail"].into_iter().chain(sets).collect();
    assert_eq!(folder.krm(&args), 1);
    assert_eq!(folder.files(), before);
    let args: Vec<&str> = ["merge3", "--write"].into_iter().chain(sets).collect();
    assert_eq!(folder.krm(&args), 0);
    assert_eq!(fs::read_to_string(folder.0.join("dest/b.yaml")).expect("it is there"), config_map("b", "2"));
}

#[test]
fn files_without_a_change_are_not_written() {
    let folder = Folder::new("untouched");
    folder.write("source/a.yaml", &config_map("a", "same"));
    // Odd, but nothing is to change: not a byte, nor the time of the last change.
    folder.write("dest/a.yaml", &format!("\n\n{}", config_map("a", "same").trim_end()));
    let time = || fs::metadata(folder.0.join("dest/a.yaml")).and_then(|m| m.modified()).expect("it is there");
    let (before, then) = (folder.files(), time());
    assert_eq!(folder.krm(&["merge", "--write", "source", "dest"]), 0);
    assert_eq!((folder.files(), time()), (before, then));
}
