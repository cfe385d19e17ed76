//! Packages from git repositories: fetched, changed here, updated.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A repository with two versions of a package, and a folder to work in.
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: app
spec:
  replicas: 3 # enough
  template:
    spec:
      containers:
      - name: app
        image: app:1
";

impl Place {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("krm-packages-{name}-{}", std::process::id()));
        let place = Self(root);
        place.write("up/app/dep.yaml", DEPLOYMENT);
        place.git(&["init", "-q"]);
        place.commit("v1");
        place.write(
            "up/app/dep.yaml",
            &DEPLOYMENT.replace("app:1", "app:2").replace("replicas: 3", "replicas: 4"),
        );
        place.write("up/app/new.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: new\n");
        place.commit("v2");
        let got = place.krm(&["pkg", "get", &format!("{}@v1", place.address()), "got"]);
        assert!(got.status.success(), "{}", String::from_utf8_lossy(&got.stderr));
        place
    }

    fn address(&self) -> String {
        format!("file://{}/up.git/app", self.0.display())
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("folders can be made");
        fs::write(path, text).expect("files can be written");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.join(path)).unwrap_or_default()
    }

    fn git(&self, args: &[&str]) {
        let who = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        let status = Command::new("git").args(who).args(args).current_dir(self.0.join("up")).status();
        assert!(status.expect("git starts").success(), "{args:?}");
    }

    fn commit(&self, version: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", version]);
        self.git(&["tag", "-a", "-m", version, version]);
    }

    fn krm(&self, args: &[&str]) -> Output {
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        krm.args(args).current_dir(&self.0).env("HOME", &self.0).output().expect("krm starts")
    }

    /// A command that must fail and change nothing; what it says.
    fn refused(&self, args: &[&str]) -> String {
        let before = files(&self.0.join("got"));
        let output = self.krm(args);
        assert!(!output.status.success());
        assert_eq!(files(&self.0.join("got")), before);
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(dir).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut all: Vec<_> =
        entries.filter(|path| path.is_file()).map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    all.sort();
    all
}

#[test]
fn an_update_merges_what_changed_on_both_sides() {
    let place = Place::new("merge");
    assert!(place.read("got/dep.yaml").contains("metadata: # kpt-merge: /app"));
    place.write("got/dep.yaml", &place.read("got/dep.yaml").replace("name: app\n  ann", "name: mine\n  ann"));
    let output = place.krm(&["pkg", "update", "got@v2"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = place.read("got/dep.yaml");
    assert!(
        text.contains("name: mine") && text.contains("app:2") && text.contains("replicas: 4 # enough"),
        "{text}"
    );
    assert!(place.read("got/new.yaml").contains("name: new"));
    assert!(place.read("got/Kptfile").contains("ref: v2"));
}

#[test]
fn the_lock_is_the_commit_of_an_annotated_tag() {
    let place = Place::new("lock");
    let commit =
        Command::new("git").args(["rev-parse", "v1^{commit}"]).current_dir(place.0.join("up")).output();
    let commit = String::from_utf8(commit.expect("git starts").stdout).expect("it is text");
    assert!(place.read("got/Kptfile").contains(commit.trim()));
}

#[test]
fn conflicts_are_reported_and_may_be_refused() {
    let place = Place::new("conflict");
    place.write("got/dep.yaml", &place.read("got/dep.yaml").replace("replicas: 3", "replicas: 7"));
    let said = place.refused(&["pkg", "update", "got@v2", "--on-conflict", "fail"]);
    assert!(said.contains("[update-conflict]") && said.contains("[update-conflicts]"), "{said}");
    assert!(said.contains("spec.replicas"), "{said}");
    assert!(place.krm(&["pkg", "update", "got@v2"]).status.success());
    assert!(place.read("got/dep.yaml").contains("replicas: 4"));
}

#[test]
fn an_update_that_cannot_be_made_changes_nothing() {
    let place = Place::new("refused");
    let said = place.refused(&["pkg", "update", "got@v9"]);
    assert!(said.contains("git-failed"), "{said}");
    place.write("got/more.yaml", &format!("{DEPLOYMENT}---\n{DEPLOYMENT}"));
    let said = place.refused(&["pkg", "update", "got@v2"]);
    assert!(said.contains("update-duplicate"), "{said}");
    let said = place.refused(&["pkg", "update", "got@v2", "--strategy", "fast-forward"]);
    assert!(said.contains("update-local-changes"), "{said}");
    let said = place.refused(&["pkg", "get", &place.address().replace("/app", "/no"), "other"]);
    assert!(said.contains("upstream-path"), "{said}");
}

#[test]
fn a_preview_writes_nothing() {
    let place = Place::new("preview");
    let before = files(&place.0.join("got"));
    let output = place.krm(&["pkg", "update", "got@v2", "--diff"]);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("+        image: app:2"));
    assert_eq!(files(&place.0.join("got")), before);
}

/// A Kptfile may come from others, and so may the repository: what is outside it is not there.
#[test]
fn a_package_does_not_reach_out_of_its_repository() {
    let place = Place::new("outside");
    #[cfg(unix)]
    std::os::unix::fs::symlink("/", place.0.join("up/root")).expect("a new link");
    place.commit("v3");
    let kptfile = place.read("got/Kptfile");
    assert!(kptfile.contains("directory: /app"), "{kptfile}");
    let before = files(&place.0.join("got"));
    for outside in ["/..", "/../../..", "/app/../..", "/root/etc", "/.git", "/app/../.git/hooks"] {
        place.write("got/Kptfile", &kptfile.replace("directory: /app", &format!("directory: {outside}")));
        for args in [&["pkg", "update", "got@v3"][..], &["pkg", "diff", "got@v3"]] {
            let said = place.refused(args);
            assert!(said.contains("upstream-path"), "{outside} {args:?}: {said}");
        }
        let address = place.address().replace("/app", outside);
        let said = place.refused(&["pkg", "get", &format!("{address}@v3"), "other"]);
        assert!(said.contains("upstream-path"), "{outside}: {said}");
    }
    place.write("got/Kptfile", &kptfile);
    assert_eq!(files(&place.0.join("got")), before);
}
