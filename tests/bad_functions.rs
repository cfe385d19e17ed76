//! Functions that misbehave, each a real program: what is reported, and that no file changes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

/// A package of a few resources and one function that goes wrong.
struct Package {
    dir: Scratch,
}

const RESOURCES: [(&str, &str); 3] = [
    (
        "pkg/web.yaml",
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: web # kept\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n",
    ),
    (
        "pkg/sub/db.json",
        "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"db\"}}\n",
    ),
    ("pkg/notes.txt", "no resource\n"),
];

const DECLARATION: &str = "\
apiVersion: example.com/v1
kind: Bad
metadata:
  name: bad
  annotations:
    config.kubernetes.io/function: |
      exec: {path: ./bad}
";

impl Package {
    /// `program` is a script, with its first line. A function that does well and would change every file goes before it.
    fn new(name: &str, program: &str) -> Self {
        let dir = Scratch::new(&format!("bad-{name}"));
        fs::create_dir_all(dir.join("pkg/sub")).expect("the temporary folder can be written to");
        let package = Self { dir };
        package.executable("bad", program);
        package.executable(
            "good",
            "#!/bin/sh\nexec sed 's/^\\( *\\)annotations:/\\1annotations:\\n\\1  seen: \"yes\"/'\n",
        );
        RESOURCES.iter().for_each(|(path, text)| package.write(path, text));
        let first = DECLARATION.replace("./bad", "./good").replace("name: bad", "name: a-good-one");
        package.write("pkg/a-first.yaml", &first);
        package.write("pkg/bad.yaml", DECLARATION);
        package
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.dir.join(path), text).expect("the folder is ours");
    }

    fn executable(&self, path: &str, text: &str) {
        self.write(path, text);
        fs::set_permissions(self.dir.join(path), fs::Permissions::from_mode(0o755))
            .expect("the file is ours");
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        krm.args(["fn", "run", "pkg", "--enable-exec"]).args(args);
        krm.current_dir(&self.dir).output().expect("krm starts")
    }

    /// Everything in the package: its text, and whether it is still the same file.
    fn files(&self) -> BTreeMap<PathBuf, (Vec<u8>, u64, i64)> {
        let mut files = BTreeMap::new();
        let mut waiting = vec![self.dir.to_path_buf()];
        while let Some(dir) = waiting.pop() {
            for entry in fs::read_dir(dir).expect("the folder is ours") {
                let path = entry.expect("the folder can be read").path();
                match path.is_dir() {
                    true => waiting.push(path),
                    false => {
                        let meta = path.metadata().expect("the file is there");
                        let text = fs::read(&path).expect("the file can be read");
                        files.insert(path, (text, meta.ino(), meta.mtime_nsec()));
                    }
                }
            }
        }
        files
    }
}

/// Runs a bad function and checks that it is reported in these words, by its name, and that nothing changed.
fn refused(name: &str, program: &str, args: &[&str], messages: &[&str]) -> String {
    let package = Package::new(name, program);
    let before = package.files();
    let output = package.run(args);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    for words in messages.iter().chain(&["function `./bad` failed: "]) {
        assert!(stderr.contains(words), "`{words}` is not in\n{stderr}");
    }
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(stderr.len() < 20_000, "{} bytes are too many to read", stderr.len());
    assert!(package.files() == before, "no file changes");
    stderr
}

#[test]
fn one_that_does_well_changes_files() {
    let package = Package::new("well", "#!/bin/sh\nexec cat\n");
    let output = package.run(&[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(package.dir.join("pkg/web.yaml")).expect("the file is there");
    assert_eq!(text.matches("seen: \"yes\"").count(), 2, "the test of bad ones can fail: {text}");
}

#[test]
fn a_crash() {
    let script = "#!/usr/bin/env python3\nimport sys\nsys.stdin.read()\nraise RuntimeError('lost my way')\n";
    refused("crash", script, &[], &["error[function-failed]", "exit status 1", "RuntimeError: lost my way"]);
    let signal = "#!/bin/bash\ncat >/dev/null\necho about to fall >&2\nkill -SEGV $$\n";
    let messages = ["error[function-stopped]", "killed by signal 11 (SIGSEGV)", "about to fall"];
    refused("signal", signal, &[], &messages);
}

#[test]
fn a_crash_after_all_was_printed() {
    let script = "#!/bin/bash\ncat\necho the disk is full >&2\nexit 74\n";
    refused("late-crash", script, &[], &["error[function-failed]", "exit status 74", "the disk is full"]);
}

#[test]
fn a_hang() {
    let script = "#!/bin/bash\ncat\necho looking for the answer >&2\nwhile true; do sleep 1; done\n";
    let messages = ["error[function-stopped]", "stopped after 1 s, its time limit", "looking for the answer"];
    refused("hang", script, &["--timeout", "1s"], &messages);
    let deaf = "#!/usr/bin/env python3\nimport signal, time\nfor s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\ntime.sleep(600)\n";
    refused("deaf", deaf, &["--timeout", "1s"], &["error[function-stopped]", "stopped after 1 s"]);
}

#[test]
fn half_a_document() {
    // Cut within a value: what was printed before is whole, and must not count.
    let script = "#!/usr/bin/env python3\nimport sys\ntext = sys.stdin.read()\nsys.stdout.write(text[:text.index('\"db\"') + 2])\n";
    let messages =
        ["error[function-output-malformed]", "its output is not a list of resources", "exit status 0"];
    refused("half", script, &[], &messages);
}

#[test]
fn megabytes_of_garbage() {
    let script = "#!/usr/bin/env python3\nimport random, sys\nsys.stdin.read()\nsys.stdout.buffer.write(random.Random(1).randbytes(20_000_000))\n";
    refused(
        "garbage",
        script,
        &[],
        &["error[function-output-malformed]", "this is not UTF-8 text", "exit status 0"],
    );
    let words = "#!/bin/bash\ncat >/dev/null\nyes 'one word after the other' | head -c 20000000\n";
    refused("words", words, &[], &["error[function-output-malformed]"]);
    let noise =
        "#!/bin/bash\ncat >/dev/null\nyes 'noise' | head -c 20000000 >&2\necho the reason >&2\nexit 2\n";
    refused("noise", noise, &[], &["error[function-failed]", "exit status 2", "the reason\n"]);
}

#[test]
fn output_without_end() {
    let messages = ["error[function-stopped]", "stopped for printing too much"];
    refused("endless", "#!/bin/bash\nexec yes 'kind: ConfigMap'\n", &["--timeout", "100s"], &messages);
}

#[test]
fn a_resource_without_a_kind() {
    let script = "#!/bin/bash\nsed 's/^  kind: Secret$/  knid: Secret/'\n";
    refused(
        "kindless",
        script,
        &[],
        &["error[function-item-without-kind]", "it returned resource `s` without a kind"],
    );
}

#[test]
fn input_left_unread_and_output_closed() {
    let package = Package::new("unread", "#!/bin/bash\nexec <&-\nexit 9\n");
    // More than a pipe holds, so that writing to the closed one fails.
    package.write(
        "pkg/big.yaml",
        &format!("kind: Big\nmetadata:\n  name: big\ntext: {}\n", "x".repeat(1_000_000)),
    );
    let before = package.files();
    let output = package.run(&[]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("function `./bad` failed: exit status 9"), "{stderr}");
    assert!(package.files() == before, "no file changes");

    let closed = "#!/usr/bin/env python3\nimport os, sys\ntext = sys.stdin.read()\nos.close(1)\nos.write(1, text.encode())\n";
    refused("closed", closed, &[], &["error[function-failed]", "exit status 1", "Bad file descriptor"]);
    let broken =
        "#!/usr/bin/env python3\nimport os\nread, write = os.pipe()\nos.close(read)\nos.write(write, b'x')\n";
    refused("broken", broken, &[], &["error[function-failed]", "exit status 1", "BrokenPipeError"]);
}

#[test]
fn forks() {
    let daemon = "#!/bin/bash\ncat\n(sleep 300) &\n";
    refused(
        "daemon",
        daemon,
        &[],
        &["error[function-stopped]", "a process it had started kept its output open"],
    );
    let many = "#!/usr/bin/env python3\nimport os, time\nfor _ in range(40):\n    if os.fork() == 0:\n        time.sleep(600)\ntime.sleep(600)\n";
    let package = Package::new("many", many);
    let before = package.files();
    let output = package.run(&["--timeout", "1s"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("stopped after 1 s"));
    assert!(package.files() == before, "no file changes");
    assert_eq!(processes_of(&package.dir.join("bad")), Vec::<String>::new(), "none of them is left");
}

/// Processes whose command line names a file.
fn processes_of(program: &Path) -> Vec<String> {
    let folder = program.parent().expect("it lies in a folder");
    let entries = fs::read_dir("/proc").expect("this is Linux").filter_map(Result::ok);
    let ours = entries.filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder));
    ours.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn input_ignored() {
    let script = "#!/bin/bash\ncat >/dev/null\nprintf 'kind: ConfigMap\\nmetadata:\\n  name: new\\n'\n";
    refused("ignored", script, &[], &["error[function-ignored-input]", "it returned none of the resources"]);
    let empty = "#!/bin/bash\ncat >/dev/null\necho 'kind: ResourceList'\necho 'items: []'\n";
    let package = Package::new("emptied", empty);
    let before = package.files();
    let output = package.run(&[]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && stderr.contains("--allow-empty"), "{stderr}");
    assert!(package.files() == before, "no file changes");
    refused("silent", "#!/bin/bash\ncat >/dev/null\n", &[], &["error[function-printed-nothing]"]);
}

#[test]
fn what_is_not_a_program() {
    let stderr = {
        let package = Package::new("no-program", "just text, and no way to run it\n");
        let before = package.files();
        let output = package.run(&[]);
        assert!(package.files() == before, "no file changes");
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(stderr.contains("`./bad` cannot be started"), "{stderr}");
}
