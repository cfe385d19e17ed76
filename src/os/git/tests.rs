use std::fs;
use std::path::{Path, PathBuf};

use krm_engine::files::EntryKind;
use krm_engine::runtime::Scratch;

use super::*;

/// A repository with two revisions, `one` and `two`, and changes that are not committed.
struct Fixture(Scratch);

impl Fixture {
    fn new() -> Self {
        let fixture = Self(Scratch::new("krm-git-test").unwrap());
        fixture.git(&["init", "--quiet", "--initial-branch=main"]);
        fixture.write("base/web.yaml", "kind: Deployment\n");
        fixture.write("base/deep/er/a.txt", "a\n");
        fixture.write("sub/kustomization.yaml", "resources: [../base]\n");
        #[cfg(unix)]
        std::os::unix::fs::symlink("../base/web.yaml", fixture.path("sub/link.yaml")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/hostname", fixture.path("sub/out")).unwrap();
        fixture.commit("one");
        fixture.write("base/web.yaml", "kind: StatefulSet\n");
        fs::remove_dir_all(fixture.path("base/deep")).unwrap();
        fixture.write("big.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\n");
        fixture.commit("two");
        fixture.write(".gitignore", "ignored.yaml\n");
        fixture.write("ignored.yaml", "x: 1\n");
        fixture.write("base/web.yaml", "kind: Job\n");
        fixture
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn commit(&self, tag: &str) {
        self.git(&["add", "--all"]);
        let user = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
        self.git(&[&user[..], &["commit", "--quiet", "--message", tag]].concat());
        self.git(&["tag", tag]);
    }

    fn git(&self, args: &[&str]) {
        run(self.0.path(), args).unwrap();
    }
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}

#[test]
fn a_revision_is_a_world_of_its_own() {
    let fixture = Fixture::new();
    let git = Git::open(&fixture.path("sub")).unwrap();
    let range = git.range("one..two").unwrap();
    let SideFiles { world: old, root, .. } = git.files(&range.from, Fetching::default()).unwrap();
    let new = git.files(&range.to, Fetching::default()).unwrap().world;
    let web = Path::new("../base/web.yaml");
    assert_eq!(old.read(web).unwrap(), b"kind: Deployment\n");
    assert_eq!(new.read(web).unwrap(), b"kind: StatefulSet\n");
    assert_eq!(
        old.read(&fixture.path("base/web.yaml")).unwrap(),
        b"kind: Deployment\n",
        "absolute paths too"
    );
    assert_eq!(old.real_path(Path::new(".")).unwrap(), root.join("sub"));
    assert!(old.is_dir(Path::new("../base/deep/er")) && !new.is_dir(Path::new("../base/deep/er")));
    let listed = old.list(Path::new("../base")).unwrap();
    let listed: Vec<_> = listed.iter().map(|entry| (entry.name.to_str().unwrap(), entry.kind)).collect();
    assert_eq!(listed, [("deep", EntryKind::Folder), ("web.yaml", EntryKind::File)]);
    assert!(!root.join("base").exists(), "nothing is checked out");
    let pointer = new.read(Path::new("../big.bin")).unwrap_err();
    assert!(pointer.to_string().contains("Git LFS"), "{pointer}");
    assert!(old.read(Path::new("../../elsewhere")).is_err());
}

#[cfg(unix)]
#[test]
fn links_are_followed_within_the_repository() {
    let fixture = Fixture::new();
    let git = Git::open(&fixture.path("sub")).unwrap();
    let one = git.range("one").unwrap().from;
    let SideFiles { world: old, root, .. } = git.files(&one, Fetching::default()).unwrap();
    assert_eq!(old.real_path(Path::new("link.yaml")).unwrap(), root.join("base/web.yaml"));
    assert_eq!(old.read(Path::new("link.yaml")).unwrap(), b"kind: Deployment\n");
    assert!(old.read(Path::new("out")).unwrap_err().to_string().contains("not in the repository"));
}

#[test]
fn changed_files_are_listed() {
    let fixture = Fixture::new();
    let git = Git::open(&fixture.path("sub")).unwrap();
    let changed = |range: &str| names(&git.changed(&git.range(range).unwrap()).unwrap());
    assert_eq!(changed("one..two"), ["base/deep/er/a.txt", "base/web.yaml", "big.bin"]);
    assert_eq!(changed("two..one"), changed("one..two"));
    assert_eq!(changed("one..one"), [""; 0]);
    assert_eq!(changed("HEAD"), [".gitignore", "base/web.yaml"]);
    assert_eq!(changed("one...two"), changed("one..two"));
    assert_eq!(changed("two...one"), [""; 0], "nothing happened there since they parted");
    for (range, code) in
        [("three", "revision-unknown"), ("one..three", "revision-unknown"), ("--all", "revision-unknown")]
    {
        assert_eq!(git.range(range).unwrap_err().code(), code, "{range}");
    }
}

#[test]
fn a_revision_that_git_cannot_look_up_is_unknown() {
    let fixture = Fixture::new();
    let git = Git::open(&fixture.path("sub")).unwrap();
    for (name, reason) in [("@{u}..", "no upstream"), ("HEAD@{9}", "log for 'HEAD'")] {
        let error = git.range(name).unwrap_err();
        assert_eq!(error.code(), "revision-unknown", "{name}");
        assert!(error.notes()[0].message.contains(reason), "{name}: {:?}", error.notes());
    }
    assert_eq!(git.range("HEAD^{/one}..two").unwrap().from.name(), "HEAD^{/one}");
}

#[test]
fn bare_and_missing_repositories() {
    let fixture = Fixture::new();
    let bare = Scratch::new("krm-git-test").unwrap();
    let from = fixture.0.path().to_str().unwrap();
    // Not by what `run` starts: that one reaches no other repository.
    let clone = Command::new("git")
        .current_dir(bare.path())
        .args(["clone", "--quiet", "--bare", from, "x.git"])
        .status();
    assert!(clone.unwrap().success());
    let git = Git::open(&bare.path().join("x.git")).unwrap();
    assert_eq!(names(&git.changed(&git.range("one..two").unwrap()).unwrap()).len(), 3);
    let one = git.range("one..").unwrap().from;
    let old = git.files(&one, Fetching::default()).unwrap().world;
    assert_eq!(old.read(Path::new("base/web.yaml")).unwrap(), b"kind: Deployment\n");
    assert_eq!(git.range("one").unwrap_err().code(), "no-work-tree");
    assert_eq!(Git::open(bare.path()).map(drop).unwrap_err().code(), "no-repository");
}
