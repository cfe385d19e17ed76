//! The questions of `examples/answers`, and what krm answers.
//!
//! Each file in `tests/answers` begins with a command line; what follows is what must be printed, errors last. It runs in
//! `examples/answers` with the flags that this example needs. `UPDATE=1 cargo test --test answers` writes what is printed;
//! read the difference before you commit it.

use std::path::Path;
use std::process::Command;

const FLAGS: [&str; 3] =
    ["--enable-alpha-plugins", "--enable-exec", "--load-restrictor=LoadRestrictionsNone"];

#[test]
fn questions_are_answered() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> =
        std::fs::read_dir(root.join("tests/answers")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut faults = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let (command, wanted) = text.split_once('\n').unwrap_or((&text, ""));
        let words = split(command.strip_prefix("$ krm ").expect("a command"));
        let output = Command::new(env!("CARGO_BIN_EXE_krm"))
            .args(&words[..1])
            .args(if words[0] == "affected" { &[][..] } else { &FLAGS })
            .args(&words[1..])
            .current_dir(root.join("examples/answers"))
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
