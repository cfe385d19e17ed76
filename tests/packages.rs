//! Packages from git repositories: fetched, changed here, updated.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

/// A repository with two versions of a package, and a folder to work in.
struct Place(Scratch);

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
        let place = Self(Scratch::new(&format!("packages-{name}")));
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

    /// The commit of a tag.
    fn revision(&self, tag: &str) -> String {
        let name = format!("{tag}^{{commit}}");
        let output = Command::new("git").args(["rev-parse", &name]).current_dir(self.0.join("up")).output();
        String::from_utf8(output.expect("git starts").stdout).expect("it is text").trim().to_owned()
    }

    fn krm(&self, args: &[&str]) -> Output {
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        krm.args(args).current_dir(&self.0).env("HOME", &self.0).output().expect("krm starts")
    }

    /// What a command that must succeed says.
    fn says(&self, args: &[&str]) -> String {
        let output = self.krm(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {said}");
        said
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
fn pointers_of_git_lfs_are_named() {
    let place = Place::new("lfs");
    place.write("up/app/logo.png", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n");
    place.commit("v3");
    let output = place.krm(&["pkg", "update", "got@v3"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("[WARN] `logo.png` is a Git LFS pointer"), "{said}");
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
fn a_reference_is_text_even_if_it_looks_like_a_number() {
    let place = Place::new("number");
    place.git(&["tag", "1.1", "v1"]);
    place.git(&["tag", "1.10", "v2"]);
    // The first is what was asked for; the other is in the lock.
    let kptfile = place.read("got/Kptfile").replacen("ref: v1\n", "ref: 1.10\n", 1);
    assert!(kptfile.contains("ref: 1.10\n"), "{kptfile}");
    place.write("got/Kptfile", &kptfile);
    let output = place.krm(&["pkg", "update", "got"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let updated = place.read("got/Kptfile");
    assert!(
        updated.contains("1.10") && !updated.contains("1.1\n") && !updated.contains("1.1\""),
        "{updated}"
    );
    assert!(updated.contains(&place.revision("v2")), "{updated}");
    assert!(place.read("got/dep.yaml").contains("app:2"));
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
fn what_one_side_removed_and_the_other_changed_is_a_conflict() {
    let place = Place::new("removed");
    let config =
        |data: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: new\ndata:\n  a: {data}\n");
    place.write("up/app/notes.txt", "one\n");
    place.commit("v3");
    place.write("up/app/new.yaml", &config("2"));
    fs::remove_file(place.0.join("up/app/dep.yaml")).unwrap();
    place.write("up/app/notes.txt", "two\n");
    place.commit("v4");
    assert!(place.krm(&["pkg", "update", "got@v3"]).status.success());
    place.write("got/dep.yaml", &place.read("got/dep.yaml").replace("replicas: 4", "replicas: 7"));
    fs::remove_file(place.0.join("got/new.yaml")).unwrap();
    place.write("got/notes.txt", "mine\n");
    let clashes = [
        "Deployment `app` was changed here and removed upstream; it stays as it is here",
        "ConfigMap `new` was removed here and changed upstream; it stays removed",
        "`notes.txt` was changed both here and upstream; it stays as it is here",
    ];
    let said = place.refused(&["pkg", "update", "got@v4", "--on-conflict", "fail"]);
    let is_said = |clash: &&str| said.contains(clash.split(';').next().expect("there is a first part"));
    assert!(clashes.iter().all(is_said) && said.contains("3 change(s)") && !said.contains("stays"), "{said}");
    let output = place.krm(&["pkg", "update", "got@v4"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && clashes.iter().all(|clash| said.contains(clash)), "{said}");
    assert!(place.read("got/dep.yaml").contains("replicas: 7"));
    assert!(!place.0.join("got/new.yaml").exists());
    assert_eq!(place.read("got/notes.txt"), "mine\n");
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
    assert!(said.contains("update-local-changes") && said.contains(" --> got/more.yaml\n"), "{said}");
    let said = place.refused(&["pkg", "get", &place.address().replace("/app", "/no"), "other"]);
    assert!(said.contains("upstream-path"), "{said}");
}

#[test]
fn a_preview_writes_nothing() {
    let place = Place::new("preview");
    let before = files(&place.0.join("got"));
    let output = place.krm(&["pkg", "update", "got@v2", "--diff"]);
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("Nothing was written") && !said.contains("Updated"), "{said}");
    assert_eq!(files(&place.0.join("got")), before);
}

#[test]
fn a_preview_is_a_patch() {
    let place = Place::new("patch");
    place.write("up/app/old.txt", "old\n");
    place.commit("v3");
    place.git(&["rm", "-q", "app/old.txt"]);
    place.write("up/app/new.txt", "new");
    place.commit("v4");
    assert!(place.krm(&["pkg", "update", "got@v3"]).status.success());
    let before = files(&place.0.join("got"));
    let preview = place.krm(&["pkg", "update", "got@v4", "--diff"]);
    let text = String::from_utf8_lossy(&preview.stdout).into_owned();
    assert!(text.contains("--- a/got/old.txt\n+++ /dev/null\n"), "{text}");
    assert!(text.contains("--- /dev/null\n+++ b/got/new.txt\n"), "{text}");
    let said = String::from_utf8_lossy(&preview.stderr);
    assert!(said.contains("Removed 1 file(s): got/old.txt."), "{said}");
    let output = place.krm(&["pkg", "update", "got@v4"]);
    assert!(output.status.success());
    let after = files(&place.0.join("got"));
    // From where it was, the patch leads to the same files.
    for (path, _) in &after {
        fs::remove_file(path).expect("it is there");
    }
    for (path, bytes) in &before {
        fs::write(path, bytes).expect("it can be written");
    }
    place.write("update.patch", &text);
    let apply = Command::new("git").args(["apply", "-p1", "update.patch"]).current_dir(&place.0).status();
    assert!(apply.expect("git starts").success(), "{text}");
    assert_eq!(files(&place.0.join("got")), after);
}

#[test]
fn all_packages_are_updated_or_none() {
    let place = Place::new("all");
    for name in ["a", "b", "c"] {
        assert!(
            place
                .krm(&["pkg", "get", &format!("{}@v1", place.address()), &format!("got/{name}")])
                .status
                .success()
        );
        let kptfile = place.read(&format!("got/{name}/Kptfile")).replacen("ref: v1", "ref: v2", 1);
        place.write(&format!("got/{name}/Kptfile"), &kptfile);
    }
    fs::remove_file(place.0.join("got/Kptfile")).expect("it is there");
    let edited = place.read("got/b/dep.yaml").replace("replicas: 3", "replicas: 7");
    place.write("got/b/dep.yaml", &edited);
    let all = ["pkg", "update", "got", "--all"];
    let before = ["a", "b", "c"].map(|name| files(&place.0.join("got").join(name)));
    let said = place.refused(&[&all[..], &["--on-conflict", "fail"]].concat());
    assert!(said.contains("\"c\"") && said.contains("1 change(s)"), "{said}");
    assert!(!said.contains("is taken"), "{said}");
    assert_eq!(["a", "b", "c"].map(|name| files(&place.0.join("got").join(name))), before);
    // One that cannot be updated keeps the others as they are, too.
    place.write("got/c/Kptfile", &place.read("got/c/Kptfile").replacen("ref: v2", "ref: v9", 1));
    let before = ["a", "b", "c"].map(|name| files(&place.0.join("got").join(name)));
    place.refused(&all);
    assert_eq!(["a", "b", "c"].map(|name| files(&place.0.join("got").join(name))), before);
    place.write("got/c/Kptfile", &place.read("got/c/Kptfile").replacen("ref: v9", "ref: v2", 1));
    let output = place.krm(&all);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("Updated 3 package(s)."), "{said}");
    let again = place.krm(&all);
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(said.contains("3 package(s) had nothing to update.") && !said.contains("Updated"), "{said}");
}

#[test]
fn conflicts_in_a_kptfile_are_reported() {
    let place = Place::new("kptfile");
    let kptfile = |description: &str, image: &str| {
        format!(
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\ninfo:\n  description: {description}\n\
             pipeline:\n  mutators:\n    - image: example.com/set-labels:{image}\n"
        )
    };
    place.write("up/app/Kptfile", &kptfile("first", "v1"));
    place.commit("v3");
    place.write("up/app/Kptfile", &kptfile("theirs", "v3"));
    place.commit("v4");
    assert!(place.krm(&["pkg", "update", "got@v3"]).status.success());
    let mine = place.read("got/Kptfile").replace("first", "mine").replace("labels:v1", "labels:v2");
    place.write("got/Kptfile", &mine);
    let said = place.refused(&["pkg", "update", "got@v4", "--on-conflict", "fail"]);
    assert!(said.contains("2 change(s)") && said.contains("`info.description`"), "{said}");
    assert!(said.contains("image`") && said.contains("--> got/Kptfile:"), "{said}");
    assert!(place.krm(&["pkg", "update", "got@v4", "--on-conflict", "ours"]).status.success());
    let kept = place.read("got/Kptfile");
    assert!(kept.contains("mine") && kept.contains("labels:v2") && kept.contains("ref: v4"), "{kept}");
}

#[test]
fn what_has_no_name_is_updated_with_its_file() {
    let place = Place::new("unnamed");
    let item =
        "apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: item\n  data:\n    value: upstream-1\n";
    let mixed = format!("{DEPLOYMENT}---\napiVersion: v1\nkind: List\nitems:\n- {item}");
    let settings = "{\n  // comments are not JSON\n  \"target\": \"upstream-1\",\n}\n";
    for version in ["1", "2"] {
        place.write("up/app/mixed.yaml", &mixed.replace("upstream-1", &format!("upstream-{version}")));
        place.write("up/app/tsconfig.json", &settings.replace("upstream-1", &format!("upstream-{version}")));
        place.commit(&format!("unnamed-{version}"));
    }
    assert!(place.krm(&["pkg", "update", "got@unnamed-1"]).status.success());
    let files = ["mixed.yaml", "tsconfig.json"];
    let fetched = files.map(|file| place.read(&format!("got/{file}")));
    for (file, text) in files.iter().zip(&fetched) {
        place.write(&format!("got/{file}"), &text.replace("upstream-1", "mine"));
    }
    let said = place.refused(&["pkg", "update", "got@unnamed-2", "--on-conflict", "fail"]);
    for what in ["the documents without a name in `mixed.yaml` were", "`tsconfig.json` was"] {
        assert!(said.contains(&format!("{what} changed both here and upstream")), "{said}");
    }
    for (file, text) in files.iter().zip(&fetched) {
        place.write(&format!("got/{file}"), text);
    }
    assert!(place.krm(&["pkg", "update", "got@unnamed-2"]).status.success());
    for file in files {
        let text = place.read(&format!("got/{file}"));
        assert!(text.contains("upstream-2"), "{file}: {text}");
    }
}

#[test]
fn files_and_subpackages_changed_on_both_sides_are_conflicts() {
    let place = Place::new("whole");
    let sub = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n";
    for name in ["both.txt", "gone-here.txt", "gone-there.txt"] {
        place.write(&format!("up/app/{name}"), "first\n");
    }
    for name in ["sub-gone-here", "sub-gone-there"] {
        place.write(&format!("up/app/{name}/Kptfile"), sub);
        place.write(&format!("up/app/{name}/dep.yaml"), DEPLOYMENT);
    }
    place.write("up/app/values.yaml", "a: 1\n");
    place.commit("v3");
    place.write("up/app/both.txt", "theirs\n");
    place.write("up/app/gone-here.txt", "theirs\n");
    place.write("up/app/values.yaml", "a: 2\n");
    place.write("up/app/new.txt", "theirs\n");
    place.write("up/app/sub-gone-here/dep.yaml", &DEPLOYMENT.replace("app:1", "app:9"));
    place.git(&["rm", "-qr", "app/gone-there.txt", "app/sub-gone-there"]);
    place.commit("v4");
    assert!(place.krm(&["pkg", "update", "got@v3"]).status.success());
    for name in ["both.txt", "gone-there.txt", "new.txt"] {
        place.write(&format!("got/{name}"), "mine\n");
    }
    place.write("got/values.yaml", "a: 3\n");
    fs::remove_file(place.0.join("got/gone-here.txt")).expect("it is there");
    fs::remove_dir_all(place.0.join("got/sub-gone-here")).expect("it is there");
    let edited = place.read("got/sub-gone-there/dep.yaml").replace("app:1", "app:7");
    place.write("got/sub-gone-there/dep.yaml", &edited);
    let said = place.refused(&["pkg", "update", "got@v4", "--on-conflict", "fail"]);
    for (conflict, file) in [
        ("`both.txt` was changed both here and upstream", "both.txt"),
        ("`gone-here.txt` was removed here and changed upstream", "gone-here.txt"),
        ("`gone-there.txt` was changed here and removed upstream", "gone-there.txt"),
        ("`new.txt` was added both here and upstream", "new.txt"),
        ("`values.yaml` was changed both here and upstream", "values.yaml"),
        ("the subpackage `sub-gone-here` was removed here and changed upstream", "sub-gone-here/Kptfile"),
        ("the subpackage `sub-gone-there` was changed here and removed upstream", "sub-gone-there/Kptfile"),
    ] {
        assert!(said.contains(&format!("{conflict}\n --> got/{file}\n")), "{conflict}: {said}");
    }
    assert!(said.contains("7 change(s)"), "{said}");
    let update = ["pkg", "update", "got@v4", "--on-conflict", "fail", "--error-format"];
    for (format, wanted) in [
        ("json", r#""place":{"file":"got/both.txt"}"#),
        ("github", "::warning file=got/both.txt,title=update-conflict::"),
        ("junit", r#"classname="got/both.txt" name="update-conflict at got/both.txt""#),
        ("sarif", r#""uri": "got/both.txt""#),
        ("gitlab", r#""path": "got/both.txt""#),
    ] {
        let said = place.refused(&[&update[..], &[format]].concat());
        assert!(said.contains(wanted), "{format}: {said}");
    }
    let output = place.krm(&["pkg", "update", "got@v4"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(place.read("got/both.txt"), "mine\n");
    assert_eq!(place.read("got/gone-here.txt"), "theirs\n", "as kpt, what was removed here comes back");
    assert_eq!(place.read("got/gone-there.txt"), "mine\n");
    assert_eq!(place.read("got/values.yaml"), "a: 3\n");
    assert!(place.read("got/sub-gone-there/dep.yaml").contains("app:7"));
}

#[test]
fn files_that_copy_merge_replaces_are_conflicts() {
    let place = Place::new("copy");
    place.write("got/dep.yaml", &place.read("got/dep.yaml").replace("replicas: 3", "replicas: 7"));
    let update = ["pkg", "update", "got@v2", "--strategy", "copy-merge"];
    let said = place.refused(&[&update[..], &["--on-conflict", "fail"]].concat());
    assert!(said.contains("`dep.yaml` was changed both here and upstream\n --> got/dep.yaml\n"), "{said}");
    let said = place.krm(&update);
    let said = String::from_utf8_lossy(&said.stderr);
    assert!(said.contains("`dep.yaml` was changed both here and upstream; upstream's is taken"), "{said}");
}

#[test]
fn resources_that_an_update_removes_are_listed() {
    let place = Place::new("listed");
    let two = "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: two\n";
    place.write("up/app/dep.yaml", &format!("{DEPLOYMENT}{two}"));
    place.commit("v3");
    place.write("up/app/dep.yaml", DEPLOYMENT);
    place.commit("v4");
    assert!(place.krm(&["pkg", "update", "got@v3"]).status.success());
    let output = place.krm(&["pkg", "update", "got@v4"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("Removed 1 resource(s): ConfigMap `two` of got/dep.yaml."), "{said}");
}

#[test]
fn the_value_here_may_be_kept() {
    let place = Place::new("ours");
    place.write("got/dep.yaml", &place.read("got/dep.yaml").replace("replicas: 3", "replicas: 7"));
    let output = place.krm(&["pkg", "update", "got@v2", "--on-conflict", "ours"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("the value here is kept") && said.contains("--> got/dep.yaml:"), "{said}");
    let text = place.read("got/dep.yaml");
    assert!(text.contains("replicas: 7") && text.contains("app:2"), "{text}");
}

#[test]
fn a_resource_that_was_moved_is_not_called_removed() {
    for name in ["renamed.yaml", "put-aside.txt"] {
        let place = Place::new(&format!("moved-{name}"));
        fs::rename(place.0.join("got/dep.yaml"), place.0.join("got").join(name)).expect("a file");
        let output = place.krm(&["pkg", "update", "got@v2"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(said.contains(&format!("was moved to `{name}` here and changed upstream")), "{said}");
    }
}

#[test]
fn a_folder_without_a_kptfile_is_not_a_package() {
    let place = Place::new("elsewhere");
    for command in ["update", "diff"] {
        let said = place.refused(&["pkg", command, "."]);
        assert!(said.contains("[kptfile-missing]: there is no Kptfile in `.`"), "{said}");
        assert!(said.contains("change to the folder of a package"), "{said}");
    }
    fs::create_dir(place.0.join("empty")).expect("a new folder");
    let output = place.krm(&["pkg", "update", "empty", "--all"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("No package in or below `empty` has an upstream"),
        "{said}"
    );
}

#[test]
fn a_conflict_in_what_has_no_name_does_not_keep_resources_from_being_updated() {
    let place = Place::new("mixed");
    let mixed = |image: &str, value: &str| {
        format!("{}---\nvalue: {value}\n", DEPLOYMENT.replace("app:1", &format!("app:{image}")))
    };
    place.write("up/app/mixed.yaml", &mixed("1", "first"));
    place.commit("v3");
    place.write("up/app/mixed.yaml", &mixed("9", "theirs"));
    place.commit("v4");
    assert!(place.krm(&["pkg", "update", "got@v3"]).status.success());
    place.write("got/mixed.yaml", &place.read("got/mixed.yaml").replace("value: first", "value: mine"));
    let said = place.says(&["pkg", "update", "got@v4"]);
    let wanted = "the documents without a name in `mixed.yaml` were changed both here and upstream; they stay as they are here";
    assert!(said.contains(wanted), "{said}");
    let text = place.read("got/mixed.yaml");
    assert!(text.contains("app:9") && text.contains("value: mine") && !text.contains("theirs"), "{text}");
}

#[test]
fn a_field_that_a_side_removed_is_called_removed() {
    let place = Place::new("field");
    place.write("got/dep.yaml", &place.read("got/dep.yaml").replace("  replicas: 3 # enough\n", ""));
    let said = place.refused(&["pkg", "update", "got@v2", "--on-conflict", "fail"]);
    assert!(
        said.contains("`spec.replicas` of Deployment `app` was removed here and changed upstream"),
        "{said}"
    );
    let said = place.says(&["pkg", "update", "got@v2", "--on-conflict", "ours"]);
    assert!(said.contains("was removed here and changed upstream; it stays removed"), "{said}");
    assert!(!place.read("got/dep.yaml").contains("replicas"));
}

#[test]
fn a_resource_that_was_moved_here_and_removed_upstream_stays() {
    let place = Place::new("moved-and-removed");
    fs::rename(place.0.join("got/dep.yaml"), place.0.join("got/moved.yaml")).expect("a file");
    place.git(&["rm", "-q", "app/dep.yaml"]);
    place.commit("v3");
    let said = place.refused(&["pkg", "update", "got@v3", "--on-conflict", "fail"]);
    let wanted = "Deployment `app` was moved to `moved.yaml` here and removed upstream; it stays\n --> got/moved.yaml:1:1";
    assert!(said.contains(wanted), "{said}");
    assert!(place.says(&["pkg", "update", "got@v3"]).contains(wanted));
    assert!(place.read("got/moved.yaml").contains("name: app"));
}

#[test]
fn a_file_that_upstream_moves_is_not_in_conflict() {
    let place = Place::new("moved-upstream");
    assert!(place.krm(&["pkg", "update", "got@v2"]).status.success());
    fs::create_dir(place.0.join("up/app/dir")).expect("a new folder");
    place.git(&["mv", "app/dep.yaml", "app/dir/dep.yaml"]);
    place.commit("v3");
    let said = place.says(&["pkg", "update", "got@v3", "--on-conflict", "fail"]);
    assert!(!said.contains("warning"), "{said}");
    assert!(place.read("got/dir/dep.yaml").contains("name: app") && !place.0.join("got/dep.yaml").exists());
}

#[test]
fn a_file_that_was_changed_here_and_moved_upstream_is_in_conflict() {
    let place = Place::new("changed-and-moved");
    fs::create_dir(place.0.join("up/app/dir")).expect("a new folder");
    place.git(&["mv", "app/dep.yaml", "app/dir/dep.yaml"]);
    place.commit("v3");
    place.write("got/dep.yaml", &place.read("got/dep.yaml").replace("app:1", "app:7"));
    let said = place.says(&["pkg", "update", "got@v3"]);
    assert!(said.contains("upstream adds Deployment `app`, which is in `dep.yaml` here"), "{said}");
}

#[cfg(unix)]
#[test]
fn an_update_takes_the_executable_bit_of_upstream() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new("modes");
    let set_mode = |path: &str, mode: u32| {
        fs::set_permissions(place.0.join(path), fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    let may_run = |path: &str| {
        let meta = fs::metadata(place.0.join(path)).expect("it is there");
        meta.permissions().mode() & 0o111 != 0
    };
    let names = ["on.sh", "off.sh", "mine.sh", "new.sh"];
    for name in &names[..3] {
        place.write(&format!("up/app/{name}"), "#!/bin/sh\n");
    }
    set_mode("up/app/off.sh", 0o755);
    place.commit("v3");
    place.write("up/app/new.sh", "#!/bin/sh\n");
    for (name, mode) in names.iter().zip([0o755, 0o644, 0o644, 0o755]) {
        set_mode(&format!("up/app/{name}"), mode);
    }
    place.commit("v4");
    assert!(place.krm(&["pkg", "update", "got@v3"]).status.success());
    set_mode("got/mine.sh", 0o755);
    let shown = place.krm(&["pkg", "update", "got@v4", "--diff"]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(
        shown.contains("diff --git a/got/on.sh b/got/on.sh\nold mode 100644\nnew mode 100755\n"),
        "{shown}"
    );
    assert!(
        shown.contains("diff --git a/got/new.sh b/got/new.sh\nnew file mode 100755\n--- /dev/null"),
        "{shown}"
    );
    assert!(place.says(&["pkg", "update", "got@v4"]).contains("Updated 1 package(s)."));
    assert_eq!(names.map(|name| may_run(&format!("got/{name}"))), [true, false, true, true]);
    // What is replaced is replaced with its mode.
    place.says(&["pkg", "update", "got@v4", "--strategy", "force-delete-replace"]);
    assert_eq!(names.map(|name| may_run(&format!("got/{name}"))), [true, false, false, true]);
}

#[test]
fn files_of_a_subpackage_without_its_kptfile_stay() {
    for upstream in
        ["", "upstream:\n  type: git\n  git: {repo: 'https://example.com/x', directory: /, ref: v1}\n"]
    {
        let place = Place::new(&format!("dissolved-{}", upstream.len()));
        let sub = format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n{upstream}");
        place.write("up/app/sub/Kptfile", &sub);
        place.write("up/app/sub/dep.yaml", DEPLOYMENT);
        place.commit("v3");
        place.write("up/app/README.md", "hello\n");
        place.commit("v4");
        fs::remove_dir_all(place.0.join("got")).expect("it is ours");
        let address = format!("{}@v3", place.address());
        if upstream.is_empty() {
            place.says(&["pkg", "get", &address, "got"]);
        } else {
            // Nothing is fetched for the subpackage: it is as upstream has it.
            place.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
            place.write("got/Kptfile", &format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: got\nupstream:\n  type: git\n  git: {{repo: 'file://{0}/up', directory: /app, ref: v3}}\nupstreamLock:\n  type: git\n  git: {{repo: 'file://{0}/up', directory: /app, ref: v3, commit: {1}}}\n", place.0.display(), place.revision("v3")));
            place.write("got/dep.yaml", &place.read("up/app/dep.yaml"));
            place.write("got/sub/dep.yaml", DEPLOYMENT);
        }
        let _ = fs::remove_file(place.0.join("got/sub/Kptfile"));
        place.write("got/sub/dep.yaml", &place.read("got/sub/dep.yaml").replace("app:1", "app:7"));
        place.write("got/sub/mine.txt", "precious\n");
        place.says(&["pkg", "update", "got@v4"]);
        assert_eq!(place.read("got/README.md"), "hello\n");
        assert_eq!(place.read("got/sub/mine.txt"), "precious\n");
        assert!(place.read("got/sub/dep.yaml").contains("app:7"));
        assert!(!place.0.join("got/sub/Kptfile").exists());
    }
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link() {
    for strategy in ["resource-merge", "copy-merge", "force-delete-replace"] {
        let place = Place::new(&format!("links-{strategy}"));
        place.write("up/app/README.md", "1\n");
        place.write("up/app/dir/notes.txt", "1\n");
        place.commit("v3");
        place.write("up/app/README.md", "2\n");
        place.write("up/app/dir/notes.txt", "2\n");
        place.commit("v4");
        place.says(&["pkg", "update", "got@v3"]);
        fs::remove_file(place.0.join("got/README.md")).expect("a file");
        fs::remove_dir_all(place.0.join("got/dir")).expect("a folder");
        place.write("got/docs/readme.txt", "mine\n");
        place.write("got/docs/notes.txt", "mine\n");
        std::os::unix::fs::symlink("docs/readme.txt", place.0.join("got/README.md")).expect("a new link");
        std::os::unix::fs::symlink("docs", place.0.join("got/dir")).expect("a new link");
        let update = ["pkg", "update", "got@v4", "--strategy", strategy];
        let said = place.says(&update);
        for link in ["README.md", "dir"] {
            let wanted = format!("`{link}` was changed both here and upstream; it stays as it is here");
            assert!(said.contains(&wanted), "{strategy}: {said}");
            assert!(place.0.join("got").join(link).is_symlink(), "{strategy}");
        }
        if strategy != "force-delete-replace" {
            assert_eq!(place.read("got/docs/readme.txt"), "mine\n", "{strategy}");
            assert_eq!(place.read("got/docs/notes.txt"), "mine\n", "{strategy}");
        }
    }
}

#[test]
fn what_was_commented_out_here_stays() {
    let place = Place::new("commented");
    let commented: String = place.read("got/dep.yaml").lines().map(|line| format!("# {line}\n")).collect();
    place.write("got/dep.yaml", &commented);
    place.says(&["pkg", "update", "got@v2"]);
    assert_eq!(place.read("got/dep.yaml"), commented);
    place.git(&["rm", "-q", "app/dep.yaml"]);
    place.commit("v3");
    place.says(&["pkg", "update", "got@v3"]);
    assert_eq!(place.read("got/dep.yaml"), commented);
}

#[test]
fn a_lock_file_is_not_about_packages() {
    let place = Place::new("lock-file");
    place.write("krm.lock", "version: 1\n");
    place.write("kustomization.yaml", "resources: []\n");
    let said = place.says(&["pkg", "get", &format!("{}@v1", place.address()), "other"]);
    assert!(!said.contains("remote-not-locked"), "{said}");
    for args in [&["pkg", "diff", "got@v2"][..], &["pkg", "update", "got@v2"]] {
        let said = place.says(args);
        assert!(!said.contains("remote-not-locked"), "{args:?}: {said}");
    }
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

/// A subpackage that has an upstream below that of the package follows it; one that was changed here is merged.
#[test]
fn subpackages_with_an_upstream_are_updated_too() {
    let place = Place::new("independent");
    let sub = format!(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: db\nupstream:\n  type: git\n  git:\n    \
         repo: file://{}/up\n    directory: /app/parts\n    ref: v3\n",
        place.0.display()
    );
    place.write("up/app/parts/db.yaml", &DEPLOYMENT.replace("app", "db"));
    place.write("up/whole/web.yaml", &DEPLOYMENT.replace("app", "web"));
    place.write("up/whole/db/Kptfile", &sub.replace("/app/parts", "/whole/parts"));
    place.write("up/whole/parts/db.yaml", &DEPLOYMENT.replace("app", "db"));
    place.commit("v3");
    place.write("up/whole/parts/db.yaml", &DEPLOYMENT.replace("app", "db").replace("db:1", "db:2"));
    place.write("up/whole/web.yaml", &DEPLOYMENT.replace("app", "web").replace("web:1", "web:2"));
    place.commit("v4");
    let address = place.address().replace("/app", "/whole");
    let got = place.krm(&["pkg", "get", &format!("{address}@v3"), "whole"]);
    assert!(got.status.success(), "{}", String::from_utf8_lossy(&got.stderr));
    let db = place.read("whole/db/db.yaml");
    assert!(db.contains("image: db:1"), "{db}");
    place.write("whole/db/db.yaml", &db.replace("replicas: 3", "replicas: 5"));
    let preview = place.krm(&["pkg", "update", "whole@v4", "--diff"]);
    assert!(String::from_utf8_lossy(&preview.stdout).contains("db:2"), "the preview shows subpackages");
    let output = place.krm(&["pkg", "update", "whole@v4"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("Updated 2 package(s)."), "{said}");
    let db = place.read("whole/db/db.yaml");
    assert!(db.contains("image: db:2") && db.contains("replicas: 5 # enough"), "{db}");
    assert!(place.read("whole/web.yaml").contains("web:2"));
    assert!(place.read("whole/db/Kptfile").contains("ref: v4"), "{}", place.read("whole/db/Kptfile"));
    // A subpackage is updated with the package that holds it, and not once more.
    let again = place.krm(&["pkg", "update", "whole", "--all"]);
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(again.status.success() && said.contains("2 package(s) had nothing to update."), "{said}");
    // The flag is about the package that is named: what a subpackage declares holds.
    place.write("whole/db/mine.yaml", &DEPLOYMENT.replace("app", "mine"));
    place.says(&["pkg", "update", "whole", "--strategy", "force-delete-replace"]);
    assert!(place.read("whole/db/mine.yaml").contains("name: mine"));
    assert!(!place.read("whole/db/Kptfile").contains("force-delete-replace"));
}

/// A subpackage that was removed here stays removed; one that upstream removed goes, unless it was changed here.
#[test]
fn removed_subpackages_with_an_upstream() {
    let place = Place::new("removed");
    let sub = |name: &str| {
        format!(
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\nupstream:\n  type: git\n  git:\n    \
             repo: file://{0}/up\n    directory: /app\n    ref: v1\nupstreamLock:\n  type: git\n  git:\n    \
             repo: file://{0}/up\n    directory: /app\n    ref: v1\n    commit: {1}\n",
            place.0.display(),
            place.revision("v1"),
        )
    };
    for name in ["gone", "edited", "mine"] {
        place.write(&format!("up/whole/{name}/Kptfile"), &sub(name));
        place.write(&format!("up/whole/{name}/a.yaml"), DEPLOYMENT);
    }
    place.commit("v3");
    for name in ["gone", "edited"] {
        fs::remove_dir_all(place.0.join("up/whole").join(name)).expect("it is there");
    }
    place.commit("v4");
    let address = place.address().replace("/app", "/whole");
    assert!(place.krm(&["pkg", "get", &format!("{address}@v3"), "whole"]).status.success());
    place.write(
        "whole/edited/a.yaml",
        &place.read("whole/edited/a.yaml").replace("replicas: 3", "replicas: 5"),
    );
    fs::remove_dir_all(place.0.join("whole/mine")).expect("it is there");
    let output = place.krm(&["pkg", "update", "whole@v4"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!place.0.join("whole/gone/a.yaml").exists(), "upstream removed it, and it was not changed here");
    assert!(place.read("whole/edited/a.yaml").contains("replicas: 5"), "it was changed here");
    assert!(!place.0.join("whole/mine/a.yaml").exists(), "it was removed here");
}

#[test]
fn folders_that_an_update_empties_go() {
    let place = Place::new("emptied");
    for file in ["Kptfile", "own/deep/a.txt", "shared/b.txt"] {
        place.write(
            &format!("up/app/gone/{file}"),
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: gone\n",
        );
    }
    place.commit("v3");
    fs::remove_dir_all(place.0.join("up/app/gone")).expect("it is ours");
    place.write("up/app/last.txt", "");
    place.commit("v4");
    for strategy in ["resource-merge", "force-delete-replace", "fast-forward"] {
        let _ = fs::remove_dir_all(place.0.join("got"));
        let get = place.krm(&["pkg", "get", &format!("{}@v3", place.address()), "got"]);
        assert!(get.status.success(), "{}", String::from_utf8_lossy(&get.stderr));
        let update = place.krm(&["pkg", "update", "got@v4", "--strategy", strategy]);
        assert!(update.status.success(), "{}", String::from_utf8_lossy(&update.stderr));
        assert!(!place.0.join("got/gone").exists(), "{strategy}");
        assert!(place.0.join("got/last.txt").exists(), "{strategy}");
    }
}

#[test]
fn the_folder_of_a_package_may_have_an_at_sign_in_its_name() {
    let place = Place::new("at-sign");
    fs::rename(place.0.join("got"), place.0.join("got@home")).expect("it is ours");
    for (package, reference) in [("got@home@v2", "v2"), ("got@home", "v2"), ("got@home@v1", "v1")] {
        let update = place.krm(&["pkg", "update", package]);
        assert!(update.status.success(), "{}", String::from_utf8_lossy(&update.stderr));
        assert!(place.read("got@home/Kptfile").contains(&format!("ref: {reference}")), "{package}");
    }
    assert!(place.krm(&["pkg", "diff", "got@home"]).status.success());
}

#[test]
fn a_comment_written_here_keeps_a_resource_that_upstream_removes() {
    let place = Place::new("comment");
    fs::remove_file(place.0.join("up/app/dep.yaml")).unwrap();
    place.commit("v3");
    place.write("got/dep.yaml", &format!("# mine: see the wiki\n{}", place.read("got/dep.yaml")));
    let said = place.refused(&["pkg", "update", "got@v3", "--on-conflict", "fail"]);
    assert!(said.contains("Deployment `app` was changed here and removed upstream"), "{said}");
    assert!(place.krm(&["pkg", "update", "got@v3"]).status.success());
    assert!(place.read("got/dep.yaml").starts_with("# mine: see the wiki\n"));
}

#[test]
fn an_element_that_one_side_removes_is_never_half_there() {
    let place = Place::new("half");
    place.write("up/app/dep.yaml", &format!("{DEPLOYMENT}      - name: side\n        image: side:1\n"));
    place.commit("v3");
    place.write("up/app/dep.yaml", DEPLOYMENT);
    place.commit("v4");
    assert!(place.krm(&["pkg", "update", "got@v3"]).status.success());
    let both = place.read("got/dep.yaml");
    place.write("got/dep.yaml", &both.replace("side:1\n", "side:1\n        args: [mine]\n"));
    let said = place.refused(&["pkg", "update", "got@v4", "--on-conflict", "fail"]);
    assert!(said.contains("`spec.template.spec.containers[name=side]`"), "{said}");
    assert!(place.krm(&["pkg", "update", "got@v4", "--on-conflict", "ours"]).status.success());
    assert!(place.read("got/dep.yaml").contains("image: side:1\n        args: [mine]"));
    place.write(
        "got/Kptfile",
        &place.read("got/Kptfile").replace("v4", "v3").replace(&place.revision("v4"), &place.revision("v3")),
    );
    assert!(place.krm(&["pkg", "update", "got@v4"]).status.success());
    let text = place.read("got/dep.yaml");
    assert!(!text.contains("side") && !text.contains("mine"), "{text}");
}

#[test]
fn a_document_that_became_the_first_was_not_changed() {
    let place = Place::new("first");
    let map = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n");
    place.write("up/app/two.yaml", &format!("{}---\n{}---\n{}", map("a"), map("b"), map("c")));
    place.commit("v3");
    place.write("up/app/two.yaml", &format!("{}---\n{}", map("a"), map("c")));
    place.commit("v4");
    assert!(place.krm(&["pkg", "update", "got@v3"]).status.success());
    let text = place.read("got/two.yaml");
    let (_, rest) = text.split_once("---\n").expect("there are three");
    place.write("got/two.yaml", rest);
    let output = place.krm(&["pkg", "update", "got@v4", "--on-conflict", "fail"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!place.read("got/two.yaml").contains("name: b"));
}

#[test]
fn json_stays_json() {
    let place = Place::new("json");
    let map = |name: &str| {
        format!(
            "{{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {{\"name\": \"{name}\"}}}}\n"
        )
    };
    place.write("up/app/x.json", &map("a"));
    place.commit("v3");
    place.write("up/app/x.json", &map("b"));
    place.commit("v4");
    assert!(place.krm(&["pkg", "update", "got@v3"]).status.success());
    place.write("got/x.json", &map("a").replace("\"}", "\", \"labels\": {\"mine\": \"yes\"}}"));
    assert!(place.krm(&["pkg", "update", "got@v4"]).status.success());
    let text = place.read("got/x.json");
    let read: serde_json::Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(read["items"].as_array().map(Vec::len), Some(2), "{text}");
}

#[test]
fn values_of_a_secret_are_not_in_messages() {
    let place = Place::new("secret");
    let secret = |value: &str| {
        format!("apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  password: {value}\n")
    };
    place.write("up/app/secret.yaml", &secret("before-1"));
    place.commit("v3");
    place.write("up/app/secret.yaml", &secret("theirs-2"));
    place.commit("v4");
    assert!(place.krm(&["pkg", "update", "got@v3"]).status.success());
    place.write("got/secret.yaml", &place.read("got/secret.yaml").replace("before-1", "ours-3"));
    for format in ["text", "json", "github"] {
        let said =
            place.refused(&["pkg", "update", "got@v4", "--on-conflict", "fail", "--error-format", format]);
        assert!(said.contains("stringData.password"), "{said}");
        let leaks = ["before-1", "theirs-2", "ours-3"].iter().any(|value| said.contains(value));
        assert!(!leaks, "{said}");
    }
}

#[test]
fn a_resource_with_metadata_in_brackets_may_be_renamed() {
    let place = Place::new("brackets");
    let service = |port: u16| {
        format!(
            "---\napiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec:\n  ports:\n  - port: {port}\n"
        )
    };
    place.write("up/app/service.yaml", &service(80));
    place.commit("v3");
    place.write("up/app/service.yaml", &service(81));
    place.commit("v4");
    assert!(place.krm(&["pkg", "update", "got@v3"]).status.success());
    let renamed = place.read("got/service.yaml").replace("name: web", "name: mine");
    place.write("got/service.yaml", &renamed);
    let output = place.krm(&["pkg", "update", "got@v4", "--on-conflict", "fail"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = place.read("got/service.yaml");
    assert!(text.starts_with("---\n") && text.contains("name: mine") && text.contains("port: 81"), "{text}");
    assert!(text.contains("|Service|default|web"), "{text}");
}

#[test]
fn a_fast_forward_refuses_a_kptfile_that_was_edited() {
    let place = Place::new("edited");
    place.write("got/Kptfile", &format!("{}info:\n  description: ours\n", place.read("got/Kptfile")));
    let said = place.refused(&["pkg", "update", "got@v2", "--strategy", "fast-forward"]);
    assert!(said.contains("update-local-changes") && said.contains("Kptfile"), "{said}");
}

#[test]
fn a_template_does_not_keep_a_package_from_being_updated() {
    let place = Place::new("template");
    place.write("up/app/chart/one.yaml", "{{ if .Values.on }}\na: {{ .Values.a }}\n{{ end }}\n");
    place.commit("v3");
    place.write("up/app/chart/one.yaml", "{{ if .Values.on }}\na: {{ .Values.b }}\n{{ end }}\n");
    place.write("up/app/dep.yaml", &DEPLOYMENT.replace("app:1", "app:4"));
    place.commit("v4");
    assert!(place.krm(&["pkg", "update", "got@v3"]).status.success());
    assert!(place.read("got/dep.yaml").contains("# kpt-merge: /app"));
    place.write("got/dep.yaml", &place.read("got/dep.yaml").replace("name: app\n  ann", "name: mine\n  ann"));
    let output = place.krm(&["pkg", "update", "got@v4", "--on-conflict", "fail"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(place.read("got/chart/one.yaml").contains(".Values.b"));
    let text = place.read("got/dep.yaml");
    assert!(text.contains("name: mine") && text.contains("app:4"), "{text}");
}

#[test]
fn a_resource_that_both_sides_added_in_different_files_is_reported() {
    let place = Place::new("twice");
    place.write("got/mine.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: new\n");
    let said = place.refused(&["pkg", "update", "got@v2", "--on-conflict", "fail"]);
    assert!(said.contains("upstream adds ConfigMap `new`, which is in `mine.yaml` here"), "{said}");
}

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n")
}

impl Place {
    /// The Kptfile of a subpackage that comes from a folder of the repository, with the lock of a version that was fetched.
    fn subpackage(&self, directory: &str, version: &str, is_locked: bool) -> String {
        let git = format!("repo: file://{}/up, directory: {directory}, ref: {version}", self.0.display());
        let lock = match is_locked {
            true => {
                format!("upstreamLock:\n  type: git\n  git: {{{git}, commit: {}}}\n", self.revision(version))
            }
            false => String::new(),
        };
        format!(
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: db\nupstream:\n  type: git\n  git: {{{git}}}\n{lock}"
        )
    }

    /// Adds a subpackage `db` with an upstream to the package, as version 4.
    fn add_subpackage(&self) {
        self.write("up/parts/db.yaml", &DEPLOYMENT.replace("app", "db"));
        self.commit("v3");
        self.write("up/app/db/Kptfile", &self.subpackage("/parts", "v3", false));
        self.write("up/app/db/notes.txt", "theirs\n");
        self.commit("v4");
    }
}

#[test]
fn files_here_stay_if_upstream_adds_a_subpackage_in_their_folder() {
    let place = Place::new("around");
    place.add_subpackage();
    place.write("got/db/mine.yaml", &config_map("mine"));
    place.write("got/db/notes.txt", "mine\n");
    let said = place.refused(&["pkg", "update", "got@v4", "--strategy", "fast-forward"]);
    assert!(said.contains("update-local-changes") && said.contains(" --> got/db/mine.yaml\n"), "{said}");
    let said = place.says(&["pkg", "update", "got@v4"]);
    let wanted =
        "`notes.txt` was added both here and upstream; it stays as it is here\n --> got/db/notes.txt\n";
    assert!(said.contains(wanted) && !said.contains("Removed"), "{said}");
    assert!(place.read("got/db/mine.yaml").contains("name: mine"));
    assert_eq!(place.read("got/db/notes.txt"), "mine\n");
    assert!(place.read("got/db/db.yaml").contains("name: db"));
    assert!(place.read("got/db/Kptfile").contains("upstreamLock"));
}

#[cfg(unix)]
#[test]
fn a_new_subpackage_is_not_written_through_a_link() {
    let place = Place::new("subpackage-link");
    place.add_subpackage();
    place.write("got/docs/readme.txt", "mine\n");
    std::os::unix::fs::symlink("docs", place.0.join("got/db")).expect("a new link");
    let docs = files(&place.0.join("got/docs"));
    let said = place.says(&["pkg", "update", "got@v4"]);
    let wanted = "`db` was added both here and upstream; it stays as it is here\n --> got/db\n";
    assert!(said.contains(wanted) && said.contains("Updated 1 package(s)."), "{said}");
    assert!(place.0.join("got/db").is_symlink());
    assert_eq!(files(&place.0.join("got/docs")), docs);

    let place = Place::new("link-in-subpackage");
    place.add_subpackage();
    place.write("got/docs/readme.txt", "mine\n");
    fs::create_dir(place.0.join("got/db")).expect("a new folder");
    std::os::unix::fs::symlink("../docs/readme.txt", place.0.join("got/db/notes.txt")).expect("a new link");
    let said = place.says(&["pkg", "update", "got@v4"]);
    assert!(said.contains("`notes.txt` was added both here and upstream; it stays as it is here"), "{said}");
    assert!(place.0.join("got/db/notes.txt").is_symlink());
    assert_eq!(place.read("got/docs/readme.txt"), "mine\n");
    assert!(place.read("got/db/Kptfile").contains("upstreamLock"));
}

#[test]
fn a_strategy_on_the_command_line_is_not_for_subpackages_with_a_lock() {
    let place = Place::new("locked-subpackage");
    place.write("up/parts/db.yaml", &DEPLOYMENT.replace("app", "db"));
    place.commit("v3");
    place.write("up/whole/db/Kptfile", &place.subpackage("/parts", "v3", true));
    place.write("up/whole/db/db.yaml", &DEPLOYMENT.replace("app", "db"));
    place.commit("v4");
    let address = place.address().replace("/app", "/whole");
    place.says(&["pkg", "get", &format!("{address}@v4"), "whole"]);
    place.write("whole/db/mine.yaml", &config_map("mine"));
    place.says(&["pkg", "update", "whole", "--strategy", "force-delete-replace"]);
    assert!(place.read("whole/db/mine.yaml").contains("name: mine"));
}

#[cfg(unix)]
#[test]
fn a_file_that_stays_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new("own-mode");
    place.write("up/app/run.sh", "#!/bin/sh\necho theirs\n");
    place.commit("v3");
    place.write("got/run.sh", "#!/bin/sh\necho mine\n");
    let script = place.0.join("got/run.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let said = place.says(&["pkg", "update", "got@v3"]);
    assert!(said.contains("`run.sh` was added both here and upstream; it stays as it is here"), "{said}");
    assert!(place.read("got/run.sh").contains("mine"));
    assert_eq!(fs::metadata(&script).expect("it is there").permissions().mode() & 0o777, 0o755);
}

#[test]
fn a_licence_that_upstream_replaces_is_there_once() {
    let place = Place::new("licence");
    let (a, b, c) = (config_map("a"), config_map("b"), config_map("c"));
    place.write("up/app/replaced.yaml", &format!("# Copyright 2024\n\n{a}"));
    place.write("up/app/shorter.yaml", &format!("# Copyright 2024\n\n{a}---\n# about b\n\n{b}"));
    place.write("up/app/bare.yaml", &format!("# Copyright 2024\n\n{a}---\n{b}"));
    place.commit("v3");
    place.write("up/app/replaced.yaml", &format!("# Copyright 2025\n\n{c}"));
    place.write("up/app/shorter.yaml", &format!("# Copyright 2024\n\n# about b\n\n{b}"));
    place.write("up/app/bare.yaml", &format!("# Copyright 2024\n\n{b}"));
    place.commit("v4");
    place.says(&["pkg", "update", "got@v3"]);
    place.says(&["pkg", "update", "got@v4", "--on-conflict", "fail"]);
    let heads = ["replaced", "shorter", "bare"].map(|name| {
        let text = place.read(&format!("got/{name}.yaml"));
        text.split("apiVersion").next().unwrap_or_default().to_owned()
    });
    assert_eq!(heads, ["# Copyright 2025\n\n", "# Copyright 2024\n\n# about b\n\n", "# Copyright 2024\n\n"]);
}

#[test]
fn a_base_that_upstream_moves_is_not_in_conflict_with_patches_of_it() {
    let place = Place::new("base-and-patch");
    let patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app\nspec:\n  replicas: 1\n";
    place.write("up/app/base/dep.yaml", DEPLOYMENT);
    place.write("up/app/overlay/patch.yaml", patch);
    place.git(&["rm", "-q", "app/dep.yaml"]);
    place.commit("v3");
    place.git(&["mv", "app/base/dep.yaml", "app/base/deployment.yaml"]);
    place.commit("v4");
    place.says(&["pkg", "update", "got@v3"]);
    place.write("got/prod/mine.yaml", patch);
    let said = place.says(&["pkg", "update", "got@v4", "--on-conflict", "fail"]);
    assert!(!said.contains("warning"), "{said}");
    assert!(!place.0.join("got/base/dep.yaml").exists());
    assert!(place.read("got/base/deployment.yaml").contains("name: app"));
    assert!(place.read("got/overlay/patch.yaml").contains("replicas: 1"));
}

#[test]
fn a_resource_in_two_files_upstream_is_not_called_moved() {
    let place = Place::new("two-files");
    for name in ["a", "b"] {
        place.write(&format!("up/app/{name}.yaml"), &config_map("same"));
    }
    place.commit("v3");
    for name in ["a", "b"] {
        place.write(&format!("up/app/{name}.yaml"), &format!("{}data:\n  key: value\n", config_map("same")));
    }
    place.commit("v4");
    place.git(&["rm", "-q", "app/a.yaml", "app/b.yaml"]);
    place.commit("v5");
    place.says(&["pkg", "update", "got@v3"]);
    fs::remove_file(place.0.join("got/a.yaml")).expect("it is there");
    let said = place.says(&["pkg", "update", "got@v5", "--diff", "--on-conflict", "fail"]);
    assert!(!said.contains("was moved") && said.contains("Removed 1 file(s): got/b.yaml."), "{said}");
    let said = place.says(&["pkg", "update", "got@v4"]);
    assert!(
        said.contains("ConfigMap `same` was removed here and changed upstream; it stays removed"),
        "{said}"
    );
}

#[test]
fn utf_16_stays_utf_16() {
    let place = Place::new("utf-16");
    let utf_16 = |text: &str| -> Vec<u8> {
        std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    let write = |path: &str, text: &str| {
        place.write(path, "");
        fs::write(place.0.join(path), utf_16(text)).expect("it can be written");
    };
    let read = |path: &str| {
        let bytes = fs::read(place.0.join(path)).expect("it is there");
        krm_yaml::decode(bytes.clone()).ok().filter(|text| utf_16(text) == bytes)
    };
    for (tag, data) in [("v3", "one"), ("v4", "two")] {
        write("up/app/map.yaml", &format!("---\n{}data:\n  key: {data}\n", config_map("map")));
        write("up/app/values.yaml", &format!("key: {data}\n"));
        write("up/app/same.yaml", &config_map("same"));
        write(
            "up/app/sub/Kptfile",
            &format!(
                "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\ninfo:\n  description: {data}\n"
            ),
        );
        place.commit(tag);
    }
    place.says(&["pkg", "update", "got@v3"]);
    let files = ["map.yaml", "values.yaml", "same.yaml", "sub/Kptfile"];
    for name in files {
        assert!(read(&format!("got/{name}")).is_some(), "{name}");
    }
    for name in ["map.yaml", "same.yaml"] {
        let mine = read(&format!("got/{name}"))
            .expect("it is UTF-16")
            .replace("  name: ", "  labels: {mine: 'yes'}\n  name: ");
        write(&format!("got/{name}"), &mine);
    }
    let mine = read("got/sub/Kptfile").expect("it is UTF-16").replace("info:\n", "info:\n  site: mine\n");
    write("got/sub/Kptfile", &mine);
    let kptfile = place.read("got/Kptfile");
    write("got/Kptfile", &kptfile);
    place.says(&["pkg", "update", "got@v4", "--on-conflict", "fail"]);
    for (name, wanted) in files.into_iter().zip(["key: two", "key: two", "mine", "description: two"]) {
        let text = read(&format!("got/{name}")).unwrap_or_else(|| panic!("{name} is not UTF-16"));
        assert!(text.contains(wanted), "{name}: {text}");
    }
    let map = read("got/map.yaml").unwrap_or_default();
    assert!(map.starts_with("---\n") && map.contains("mine"), "{map}");
    assert!(read("got/Kptfile").is_some_and(|text| text.contains("ref: v4")));
}

#[test]
fn a_new_file_is_as_upstream_wrote_it() {
    let place = Place::new("verbatim");
    let text = "# about this file\n---\napiVersion: v1\nkind: List\nitems: []\n---\n# nothing here yet\n---\n{a: 1}\n";
    let text = format!("{text}---\n{}", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n");
    place.write("up/app/all.yaml", &text);
    place.commit("v3");
    place.says(&["pkg", "update", "got@v3"]);
    let got = place.read("got/all.yaml");
    assert!(got.starts_with(text.split("metadata").next().expect("there is a first part")), "{got}");
}

#[test]
fn a_preview_refuses_what_an_update_refuses() {
    let place = Place::new("preview-refused");
    place.write("up/app/notes/one.txt", "theirs\n");
    place.commit("v3");
    place.write("got/notes", "mine\n");
    for more in [&[][..], &["--diff"]] {
        let args = [&["pkg", "update", "got@v3"][..], more].concat();
        let said = place.refused(&args);
        assert!(said.contains("[update-file-and-folder]: `got/notes` is a file here"), "{said}");
    }
    assert!(place.krm(&["pkg", "update", "got@v3", "--diff"]).stdout.is_empty());
}
