//! The questions of `examples/answers`, and what krm answers.
//!
//! Each file in `tests/answers` begins with a command line; what follows is what must be printed, errors last. It runs in
//! `examples/answers` with the flags that this example needs. `UPDATE=1 cargo test --test answers` writes what is printed;
//! read the difference before you commit it.
//!
//! Questions about revisions (`main...HEAD`) are asked in a repository that holds the example: `main` is the example as it
//! is, and on it is a change of three lines.

use std::fs;
use std::path::Path;
use std::process::Command;

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

const FLAGS: [&str; 3] =
    ["--enable-alpha-plugins", "--enable-exec", "--load-restrictor=LoadRestrictionsNone"];

#[test]
fn questions_are_answered() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> =
        std::fs::read_dir(root.join("tests/answers")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut faults = Vec::new();
    let example: &Path = &root.join("examples/answers");
    let repository = Repository::new(example);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let (command, wanted) = text.split_once('\n').unwrap_or((&text, ""));
        let words = split(command.strip_prefix("$ krm ").expect("a command"));
        let output = Command::new(env!("CARGO_BIN_EXE_krm"))
            .args(&words[..1])
            .args(if words[0] == "affected" { &[][..] } else { &FLAGS })
            .args(&words[1..])
            .current_dir(if command.contains("...") { &repository.0 } else { example })
            .output()
            .expect("krm starts");
        let got = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&file, format!("{command}\n{got}")).unwrap();
        } else if wanted != got {
            faults.push(format!("{}\n{command}\n--- expected\n{wanted}--- got\n{got}", file.display()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A repository with the example, gone at the end of the test.
struct Repository(Scratch);

impl Repository {
    fn new(example: &Path) -> Self {
        let repository = Self(Scratch::new("answers"));
        copy(example, &repository.0);
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.commit();
        repository.git(&["checkout", "--quiet", "-b", "change"]);
        repository.replace("base/kustomization.yaml", "GREETING=hello", "GREETING=welcome");
        repository.replace("base/web.yaml", "port: 80\n", "port: 8080\n");
        repository.replace("overlays/production/kustomization.yaml", "newTag: 1.4.2", "newTag: 1.5.0");
        repository.commit();
        repository
    }

    fn replace(&self, file: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.0.join(file)).unwrap();
        assert!(text.contains(from), "{file}");
        fs::write(self.0.join(file), text.replace(from, to)).unwrap();
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        let user = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
        self.git(&[&user[..], &["commit", "--quiet", "--message", "change"]].concat());
    }

    fn git(&self, args: &[&str]) {
        let status = Command::new("git").args(args).current_dir(&self.0).status().expect("git starts");
        assert!(status.success(), "git {args:?}");
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(fs::copy(&path, &target).unwrap()),
        }
    }
}

/// The words of a command line; single quotes hold a word together.
fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in line.split('\'').enumerate() {
        match at % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}
