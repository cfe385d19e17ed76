//! `krm fn render`, `fn eval --save`, `fn sink`, `pkg update`, `merge3 --write`, `merge --write`, `cfg fmt` and `edit set`
//! killed at any moment: once the next command has run, the folder is as before or as after.
//!
//! `KRM_KILLS=1000 cargo test --test commands_killed` is the long run; without it there are 60 of each.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

#[path = "support/texts.rs"]
mod support;

use support::texts;

const FILES: usize = 40;

/// A folder that holds the package, and what else a command needs.
struct Place(TempDir);

impl Drop for Place {
    fn drop(&mut self) {
        // What a failure leaves is there to be looked at.
        self.0.disable_cleanup(std::thread::panicking());
    }
}

impl Place {
    fn new(name: &str) -> Self {
        let dir = tempfile::Builder::new().prefix(&format!("krm-commands-killed-{name}-")).tempdir();
        let place = Self(dir.expect("the temporary folder is writable"));
        fs::create_dir(place.package()).expect("a new folder");
        place
    }

    fn package(&self) -> PathBuf {
        self.0.path().join("package")
    }

    /// Writes resources in a state to a folder.
    fn resources(&self, folder: &str, state: usize) {
        for number in 0..FILES {
            let path = self
                .0
                .path()
                .join(folder)
                .join(format!("{}{number:03}.yaml", ["", "a/", "b/c/"][number % 3]));
            let text = format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c-{number}\ndata:\n  key: state-{state} # {number}\n"
            );
            fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a new folder");
            fs::write(path, text).expect("a new file");
        }
    }

    fn krm(&self, args: &[&str]) -> Command {
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        krm.args(args).current_dir(&self.0).env("HOME", self.0.path());
        let input = fs::File::open(self.0.path().join("stdin")).map_or_else(|_| Stdio::null(), Stdio::from);
        krm.stdin(input).stdout(Stdio::null()).stderr(Stdio::null());
        krm
    }

    fn must(&self, args: &[&str]) {
        let output = self.krm(args).stderr(Stdio::piped()).output().expect("krm starts");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Makes the package hold these files and no others.
    fn reset(&self, files: &BTreeMap<String, String>) {
        fs::remove_dir_all(self.package()).expect("it is ours");
        fs::create_dir(self.package()).expect("a new folder");
        for (path, text) in files {
            let path = self.package().join(path);
            fs::create_dir_all(path.parent().expect("it is in the package")).expect("a new folder");
            fs::write(path, text).expect("a new file");
        }
    }

    /// Kills the command at many moments of its time: half of them while it changes files.
    fn all_or_nothing(&self, args: &[&str]) {
        let old = texts(&self.package());
        let begun = Instant::now();
        self.must(args);
        let takes = begun.elapsed();
        let new = texts(&self.package());
        assert_ne!(old, new);
        let kills = std::env::var("KRM_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(60);
        let (mut seen, mut half) = ([0, 0], 0);
        for kill in 0..kills {
            self.reset(&old);
            let mut child = self.krm(args).spawn().expect("krm starts");
            let changes = self.package().join(".krm-changes");
            let pause = match kill % 2 {
                0 => takes.mul_f64((kill * 7 % kills) as f64 / kills as f64),
                _ => {
                    while !changes.exists() && child.try_wait().expect("it is ours").is_none() {}
                    Duration::from_micros((kill * 7919 % 12_000) as u64)
                }
            };
            let start = Instant::now();
            while start.elapsed() < pause {
                std::hint::spin_loop();
            }
            let _ = child.kill();
            child.wait().expect("it is ours");
            half += usize::from(changes.exists());
            // Any command that reads the folder finishes what was begun, or undoes it.
            self.must(&["cfg", "count", "package"]);
            let now = texts(&self.package());
            let is_old = now == old;
            assert!(is_old || now == new, "after kill {kill} the files are neither old nor new: {now:#?}");
            seen[usize::from(!is_old)] += 1;
        }
        eprintln!("{args:?}: {} as before, {} as after, {half} killed while files changed", seen[0], seen[1]);
        assert!(seen[0] > 0 && half > 0, "the moments were badly chosen: {seen:?}, {half}");
    }
}

const EXEC: &str = "sed s/state-0/state-1/";

fn kptfile(pipeline: &str) -> String {
    format!("apiVersion: kpt.dev/v1\nkind: Kptfile # mine\nmetadata:\n  name: package\n{pipeline}")
}

#[test]
fn a_render_is_all_or_nothing() {
    let place = Place::new("render");
    place.resources("package", 0);
    let pipeline = format!("pipeline:\n  mutators:\n    - exec: {EXEC}\n");
    fs::write(place.package().join("Kptfile"), kptfile(&pipeline)).expect("a new file");
    place.all_or_nothing(&["fn", "render", "package", "--allow-exec"]);
}

#[test]
fn an_evaluation_that_is_saved_is_all_or_nothing() {
    let place = Place::new("eval");
    place.resources("package", 0);
    fs::write(place.package().join("Kptfile"), kptfile("")).expect("a new file");
    place.all_or_nothing(&["fn", "eval", "package", "--exec", EXEC, "--save", "--type", "mutator"]);
}

#[test]
fn an_update_is_all_or_nothing() {
    let place = Place::new("update");
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        let git = Command::new("git").args(who).args(args).current_dir(place.0.path().join("up")).status();
        assert!(git.expect("git starts").success(), "{args:?}");
    };
    place.resources("up/app", 0);
    git(&["init", "-q"]);
    for state in 0..2 {
        place.resources("up/app", state);
        git(&["add", "-A"]);
        git(&["commit", "-q", "-m", "a state"]);
        git(&["tag", &format!("v{state}")]);
    }
    fs::remove_dir_all(place.package()).expect("it is ours");
    place.must(&["pkg", "get", &format!("file://{}/up.git/app@v0", place.0.path().display()), "package"]);
    place.all_or_nothing(&["pkg", "update", "package@v1"]);
}

#[test]
fn a_merge_is_all_or_nothing() {
    let place = Place::new("merge3");
    place.resources("package", 0);
    place.resources("before", 0);
    place.resources("after", 1);
    let merge = ["merge3", "--original", "before", "--updated", "after", "--dest", "package", "--write"];
    place.all_or_nothing(&merge);
}

#[test]
fn a_merge_of_two_is_all_or_nothing() {
    let place = Place::new("merge");
    place.resources("package", 0);
    place.resources("source", 1);
    place.all_or_nothing(&["merge", "source", "package", "--write"]);
}

#[test]
fn formatting_is_all_or_nothing() {
    let place = Place::new("fmt");
    place.resources("package", 0);
    for path in texts(&place.package()).into_keys() {
        let path = place.package().join(path);
        let text = fs::read_to_string(&path).expect("it was just written");
        fs::write(
            &path,
            text.replace("apiVersion: v1\nkind: ConfigMap\n", "kind: ConfigMap\napiVersion: v1\n"),
        )
        .expect("it is ours");
    }
    place.all_or_nothing(&["cfg", "fmt", "package"]);
}

#[test]
fn a_sink_is_all_or_nothing() {
    let place = Place::new("sink");
    place.resources("source", 1);
    let list = place.krm(&["fn", "source", "source"]).stdout(Stdio::piped()).output().expect("krm starts");
    fs::write(place.0.path().join("stdin"), list.stdout).expect("a new file");
    place.all_or_nothing(&["fn", "sink", "package"]);
}

#[test]
fn an_edit_of_many_kustomizations_is_all_or_nothing() {
    let place = Place::new("edit");
    for number in 0..FILES {
        let dir = place.package().join(format!("{number}"));
        fs::create_dir(&dir).expect("a new folder");
        fs::write(dir.join("kustomization.yaml"), "namespace: old # ours\n").expect("a new file");
    }
    place.all_or_nothing(&["edit", "-C", "package/*", "set", "namespace", "new"]);
}
