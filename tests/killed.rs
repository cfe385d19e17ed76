//! Killed at any moment, `krm fn run` leaves the old or the new text of each file: never half of one, and never none.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const FILES: usize = 300;

struct Package(PathBuf);

impl Package {
    fn new() -> Self {
        let dir = std::env::temp_dir().join(format!("krm-killed-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).expect("the temporary folder can be written to");
        let package = Self(dir);
        for number in 0..FILES {
            fs::write(package.file(number), text("0", number)).expect("the folder is ours");
        }
        package
    }

    fn file(&self, number: usize) -> PathBuf {
        self.0.join(format!("{number:03}.yaml"))
    }

    /// Begins to turn one state into another.
    fn start(&self, from: &str, to: &str) -> Child {
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        krm.args(["fn", "run", "--quiet", "--enable-exec"]).arg(&self.0);
        krm.arg("--exec-path").arg(self.0.join(format!("{from}-to-{to}")));
        krm.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("krm starts")
    }

    /// Files that are prepared and wait for their turn.
    fn prepared(&self) -> usize {
        let names = fs::read_dir(&self.0).expect("it is there").filter_map(Result::ok);
        names.filter(|entry| entry.file_name().to_string_lossy().ends_with(".krm")).count()
    }

    /// The state of every file.
    fn states(&self) -> Vec<&'static str> {
        let state = |number| {
            let now = fs::read_to_string(self.file(number)).expect("it is there, in one state or the other");
            let state = ["0", "1"].into_iter().find(|state| now == text(state, number));
            state.unwrap_or_else(|| panic!("{number} is neither old nor new:\n{now}"))
        };
        (0..FILES).map(state).collect()
    }

    /// What a killed run left behind.
    fn tidy(&self) {
        for entry in fs::read_dir(&self.0).expect("it is there").filter_map(Result::ok) {
            if entry.file_name().to_string_lossy().ends_with(".krm") {
                fs::remove_file(entry.path()).expect("the file is ours");
            }
        }
    }
}

impl Drop for Package {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(state: &str, number: usize) -> String {
    let lines: String = (0..20).map(|line| format!("  key-{line}: state-{state} # of {number}\n")).collect();
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c-{number}\ndata:\n{lines}")
}

fn make_function(dir: &Path, from: &str, to: &str) {
    let script = dir.join(format!("{from}-to-{to}"));
    fs::write(&script, format!("#!/bin/sh\nexec sed s/state-{from}/state-{to}/\n"))
        .expect("the folder is ours");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).expect("the file is ours");
}

#[test]
fn each_file_is_old_or_new() {
    let package = Package::new();
    let (mut from, mut to) = ("0", "1");
    make_function(&package.0, from, to);
    make_function(&package.0, to, from);
    let (mut early, mut half, mut done) = (0, 0, 0);
    for attempt in 0..100 {
        if attempt >= 20 && early > 0 && half > 0 {
            break;
        }
        let mut krm = package.start(from, to);
        // Now while files are prepared, now when they begin to take their places, or some time after that.
        let wanted = [1 + attempt * 37 % FILES, FILES][attempt % 2];
        while package.prepared() < wanted && krm.try_wait().expect("it is ours").is_none() {}
        std::thread::sleep(Duration::from_micros((attempt * 97 % 2_000) as u64));
        let _ = krm.kill();
        krm.wait().expect("it is ours");
        let changed = package.states().iter().filter(|state| **state == to).count();
        package.tidy();
        match changed {
            0 => early += 1,
            FILES => {
                done += 1;
                (from, to) = (to, from);
            }
            _ => {
                // The rest is done by the next run: it finds files of both states, and needs to know of neither.
                half += 1;
                let finished = package.start(from, to).wait().expect("it is ours");
                assert!(finished.success());
                assert!(package.states().iter().all(|state| *state == to));
                (from, to) = (to, from);
            }
        }
    }
    eprintln!("{early} killed before the first change, {half} among them, {done} after the last");
    assert!(early > 0 && half > 0, "no kill came at the right time, so nothing was tested");
}
