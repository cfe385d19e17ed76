//! Values of Secrets are in no answer unless someone asks for them: not in the text, not in the data, not in the page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// In a Secret as text and in base64, in a patch, in a generator's literal and file, and in a patch that matches nothing.
const VALUES: [&str; 9] = [
    "hunter-one",
    "aHVudGVyLXR3bw==",
    "hunter-two",
    "hunter-three",
    "hunter-four",
    "aHVudGVyLWZvdXI=",
    "hunter-five",
    "aHVudGVyLWZpdmUK",
    "hunter-six",
];

const FILES: [(&str, &str); 5] = [
    (
        "base/secret.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: keys, labels: {a: b}}\nstringData:\n  one: hunter-one\ndata: {two: aHVudGVyLXR3bw==}\n",
    ),
    ("base/kustomization.yaml", "resources: [secret.yaml]\n"),
    ("live/five.txt", "hunter-five\n"),
    (
        "live/kustomization.yaml",
        "resources: [../base]
secretGenerator:
- name: made
  literals: [four=hunter-four]
  files: [five.txt]
patches:
- patch: |-
    apiVersion: v1
    kind: Secret
    metadata: {name: keys, labels: {c: d}}
    stringData: {one: hunter-three}
- target: {kind: Secret, name: keys}
  patch: |-
    - op: add
      path: /stringData/six
      value: hunter-six
",
    ),
    ("live/.gitkeep", ""),
];

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("krm-secrets-{name}-{}", std::process::id()));
        for (path, text) in FILES {
            fs::create_dir_all(folder.join(path).parent().unwrap()).unwrap();
            fs::write(folder.join(path), text).unwrap();
        }
        Self(folder)
    }

    fn krm(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_krm")).args(args).current_dir(&self.0).output().expect("krm starts")
    }

    fn git(&self, args: &[&str]) {
        let user = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
        let output =
            Command::new("git").args(user).args(args).current_dir(&self.0).output().expect("git starts");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn leaks(text: &[u8]) -> Vec<&'static str> {
    let text = String::from_utf8_lossy(text);
    VALUES.into_iter().filter(|value| text.contains(value)).collect()
}

fn leaks_of(output: &Output) -> Vec<&'static str> {
    let mut all = leaks(&output.stdout);
    all.extend(leaks(&output.stderr));
    all
}

const QUESTIONS: [&[&str]; 18] = [
    &["Secret/keys"],
    &["Secret/keys", "stringData.one"],
    &["Secret/keys", "stringData.six"],
    &["Secret/keys", "stringData"],
    &["Secret/keys", "data.two"],
    &["Secret/keys", "metadata.labels.c"],
    &["Secret/made"],
    &["Secret/made", "data.four"],
    &["Secret/keys", "stringData.one", "--steps"],
    &["Secret/keys", "stringData", "--steps", "--max", "1"],
    &["Secret/made", "data.four", "--steps"],
    &["Secret/made", "metadata.name", "--steps"],
    &["--blame"],
    &["--source", "base/secret.yaml:5"],
    &["--source", "base/secret.yaml:6"],
    &["--source", "live/kustomization.yaml:4"],
    &["--source", "live/kustomization.yaml:11"],
    &["--source", "live/kustomization.yaml:16"],
];

#[test]
fn explain_shows_none() {
    let folder = Folder::new("explain");
    let mut faults = Vec::new();
    for question in QUESTIONS {
        for format in ["text", "json"] {
            let args = [&["explain", "live", "-o", format], question].concat();
            let output = folder.krm(&args);
            if !output.status.success() || !leaks_of(&output).is_empty() {
                faults.push(format!(
                    "{args:?}: {:?} {}",
                    leaks_of(&output),
                    String::from_utf8_lossy(&output.stderr)
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    for asked in [&["--blame"][..], &["Secret/keys", "stringData.one"], &["Secret/keys", "-o", "json"]] {
        let output = folder.krm(&[&["explain", "live", "--show-secrets"], asked].concat());
        assert!(leaks_of(&output).contains(&"hunter-three"), "{asked:?}");
    }
}

#[test]
fn pages_hold_none() {
    let folder = Folder::new("pages");
    for command in ["explain", "graph"] {
        let output = folder.krm(&[command, "live", "--html", "page.html"]);
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(leaks(&page(&folder.0)), [""; 0], "{command}");
        assert_eq!(leaks_of(&output), [""; 0], "{command}");
    }
}

fn page(folder: &Path) -> Vec<u8> {
    fs::read(folder.join("page.html")).expect("a page")
}

#[test]
fn differences_show_none() {
    let folder = Folder::new("diff");
    folder.git(&["init", "--quiet", "--initial-branch=main"]);
    folder.git(&["add", "--all"]);
    folder.git(&["commit", "--quiet", "--message", "first"]);
    for (path, text) in FILES {
        fs::write(folder.0.join(path), text.replace("hunter-", "hunter-no-").replace("aHV", "bHV")).unwrap();
    }
    for format in ["text", "json", "markdown", "github", "unified", "html"] {
        let output = folder.krm(&["diff", "-o", format, "HEAD"]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("keys"), "{format}: {said}");
        assert_eq!(leaks_of(&output), [""; 0], "{format}: {said}");
        assert!(!said.contains("hunter-") && !said.contains("bHV"), "{format}: {said}");
    }
}
