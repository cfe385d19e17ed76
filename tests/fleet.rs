//! Many targets: what changed is built, the rest is taken from the cache, and files have names that stay.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

struct Place(Scratch);

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\n";

impl Place {
    /// Two clusters on one base, each with a folder of its own for settings.
    fn new(name: &str) -> Self {
        let place = Self(Scratch::new(&format!("fleet-{name}")));
        place.write("base/kustomization.yaml", "resources: [cm.yaml]\n");
        place.write("base/cm.yaml", CONFIG_MAP);
        for cluster in ["eu", "us"] {
            let text = format!(
                "namePrefix: {cluster}-\nresources: [../../base]\nconfigMapGenerator:\n- name: s\n  files: [s.txt]\n"
            );
            place.write(&format!("clusters/{cluster}/kustomization.yaml"), &text);
            place.write(&format!("clusters/{cluster}/s.txt"), cluster);
        }
        place
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn krm(&self, args: &[&str]) -> (bool, String, String) {
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        krm.current_dir(&self.0).args(args).env("XDG_CACHE_HOME", self.0.join("cache"));
        let output = krm.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.success(), text(output.stdout), text(output.stderr))
    }

    /// Builds both clusters with the cache, checks the output against a build without it, and gives what was built and why.
    fn build(&self) -> Vec<String> {
        let targets = ["clusters/eu", "clusters/us"];
        let (good, plain, _) = self.krm(&["build", targets[0], targets[1]]);
        assert!(good);
        let (good, cached, said) = self.krm(&["build", targets[0], targets[1], "--cache", "--explain-cache"]);
        assert!(good, "{said}");
        assert_eq!(cached, plain, "the cache must not change the output");
        said.lines().filter(|line| !line.contains("unchanged")).map(str::to_owned).collect()
    }
}

#[test]
fn what_changed_is_built_and_nothing_else() {
    let place = Place::new("changed");
    let first = place.build();
    assert_eq!(first.len(), 2, "{first:?}");
    assert!(first[0].contains("it was not built before"), "{first:?}");
    let nothing: [String; 0] = [];
    assert_eq!(place.build(), nothing);
    place.write("clusters/eu/s.txt", "other");
    assert_eq!(place.build(), ["clusters/eu: built, because `clusters/eu/s.txt` changed"]);
    assert_eq!(place.build(), nothing);
    // As it was: that build is still known.
    place.write("clusters/eu/s.txt", "eu");
    assert_eq!(place.build(), nothing);
    place.write("base/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\n");
    assert_eq!(place.build().len(), 2);
    // What was looked for and not found counts as well.
    place.write("clusters/us/kustomization.yml", "namePrefix: two-\n");
    let (good, _, said) = place.krm(&["build", "clusters/us", "--cache", "--explain-cache"]);
    assert!(!good && said.contains("built, because"), "{said}");
    fs::remove_file(place.0.join("clusters/us/kustomization.yml")).unwrap();
    assert_eq!(place.build(), nothing);
    // A file that is gone.
    fs::remove_file(place.0.join("clusters/us/s.txt")).unwrap();
    let (good, _, said) = place.krm(&["build", "clusters/us", "--cache"]);
    assert!(!good && said.contains("[file-not-found]"), "{said}");
    place.write("clusters/us/s.txt", "us");
    // Options count.
    let (_, _, said) =
        place.krm(&["build", "clusters/us", "--cache", "--explain-cache", "--kube-version", "1.37"]);
    assert!(said.contains("built, because"), "{said}");
}

#[test]
fn a_link_that_leads_elsewhere_is_a_change() {
    let place = Place::new("link");
    place.write("clusters/eu/a.txt", "a");
    place.write("clusters/eu/b.txt", "b");
    fs::remove_file(place.0.join("clusters/eu/s.txt")).unwrap();
    std::os::unix::fs::symlink("a.txt", place.0.join("clusters/eu/s.txt")).unwrap();
    place.build();
    assert!(place.build().is_empty());
    fs::remove_file(place.0.join("clusters/eu/s.txt")).unwrap();
    std::os::unix::fs::symlink("b.txt", place.0.join("clusters/eu/s.txt")).unwrap();
    assert_eq!(place.build().len(), 1);
}

#[test]
fn a_damaged_cache_costs_time() {
    let place = Place::new("damaged");
    place.build();
    let entries = |kind: &str| -> Vec<PathBuf> {
        let shelves = fs::read_dir(place.0.join("cache/krm/store/v1").join(kind)).unwrap();
        shelves
            .flat_map(|shelf| fs::read_dir(shelf.unwrap().path()).unwrap())
            .map(|entry| entry.unwrap().path())
            .collect()
    };
    for kind in ["files", "targets"] {
        for file in entries(kind) {
            let mut bytes = fs::read(&file).unwrap();
            let middle = bytes.len() / 2;
            if let Some(byte) = bytes.get_mut(middle) {
                *byte ^= 1;
            }
            fs::write(&file, bytes).unwrap();
        }
        assert_eq!(place.build().len(), 2, "{kind}");
        assert!(place.build().is_empty(), "{kind}: it was mended");
    }
    // Half a record, as a full disk leaves it.
    for file in entries("targets") {
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    }
    assert_eq!(place.build().len(), 2);
    // A cache that others can write to is not believed.
    let open = |mode| {
        fs::set_permissions(place.0.join("cache/krm"), fs::Permissions::from_mode(mode)).unwrap();
    };
    open(0o777);
    let said = place.build();
    assert!(said.len() == 2 && said[0].contains("yours alone"), "{said:?}");
    open(0o755);
    assert!(place.build().is_empty());
}

#[test]
fn a_full_disk_costs_time() {
    let place = Place::new("full");
    place.write("base/cm.yaml", &format!("{CONFIG_MAP}data:\n  a: {}\n", "x".repeat(8000)));
    // No file may have more than some blocks; standard output is a pipe.
    let krm = env!("CARGO_BIN_EXE_krm");
    let mut shell = Command::new("bash");
    let command = format!("ulimit -f 2; {krm} build clusters/eu --cache --explain-cache");
    shell.args(["-c", &command]).current_dir(&place.0);
    let output = shell.env("XDG_CACHE_HOME", place.0.join("cache")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("the cache cannot be written to"), "{said}");
    let (_, plain, _) = place.krm(&["build", "clusters/eu"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), plain);
    assert_eq!(place.build().len(), 2, "nothing was kept");
    assert!(place.build().is_empty());
}

#[test]
fn a_clock_that_is_wrong_does_not_matter() {
    let place = Place::new("clock");
    place.build();
    let date = |path: &Path, seconds: u64| {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        fs::File::open(path).unwrap().set_modified(time).unwrap();
    };
    let date_all = |seconds| {
        let mut open = vec![place.0.to_path_buf()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    date(&path, seconds);
                }
            }
        }
    };
    for (year, seconds) in [("1970", 1), ("2099", 4_070_908_800)] {
        date_all(seconds);
        assert!(place.build().is_empty(), "{year}: times do not count");
        place.write("clusters/eu/s.txt", year);
        date(&place.0.join("clusters/eu/s.txt"), seconds);
        assert_eq!(place.build().len(), 1, "{year}: content does");
        assert!(place.build().is_empty(), "{year}: and it was kept");
    }
}

#[test]
fn two_versions_share_a_cache() {
    let place = Place::new("versions");
    place.build();
    // What comes after the end of a program does not matter to the system.
    let mut other = fs::read(env!("CARGO_BIN_EXE_krm")).unwrap();
    other.extend(b"another version");
    let path = place.0.join("krm");
    fs::write(&path, other).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let build = || {
        let mut krm = Command::new(&path);
        krm.current_dir(&place.0).args(["build", "clusters/eu", "--cache", "--explain-cache"]);
        let output = krm.env("XDG_CACHE_HOME", place.0.join("cache")).output().unwrap();
        assert!(output.status.success());
        let (_, plain, _) = place.krm(&["build", "clusters/eu"]);
        assert_eq!(String::from_utf8(output.stdout).unwrap(), plain);
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(build().contains("it was not built before"), "one does not take what the other made");
    assert!(build().contains("unchanged"), "each has its own");
    assert!(place.build().is_empty(), "neither loses anything");
}

#[test]
fn what_cannot_be_known_is_not_kept() {
    let place = Place::new("unknown");
    place.write("clusters/eu/f.sh", "#!/bin/sh\nexec cat\n");
    fs::set_permissions(place.0.join("clusters/eu/f.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    place.write(
        "clusters/eu/f.yaml",
        "apiVersion: example.com/v1\nkind: F\nmetadata:\n  name: f\nruntime:\n  exec: {path: ./f.sh}\n",
    );
    place.write("clusters/eu/kustomization.yaml", "resources: [../../base]\ntransformers: [f.yaml]\n");
    for _ in 0..2 {
        let (good, _, said) = place.krm(&[
            "build",
            "clusters/eu",
            "--enable-alpha-plugins",
            "--enable-exec",
            "--cache",
            "--explain-cache",
        ]);
        assert!(good && said.contains("not kept, because it runs `./f.sh`"), "{said}");
    }
}

#[test]
fn warnings_are_shown_again() {
    let place = Place::new("warnings");
    place.write(
        "clusters/eu/kustomization.yaml",
        "resources: [../../base]\nimages: [{name: none, newTag: v1}]\n",
    );
    let build = |more: &[&str]| place.krm(&[&["build", "clusters/eu", "--cache"], more].concat());
    let (good, _, first) = build(&[]);
    assert!(good && first.contains("warning["), "{first}");
    assert_eq!(build(&[]).2, first);
    assert!(build(&["--error-format", "json"]).2.contains("\"warning\""));
    assert!(!build(&["--strict"]).0);
}

#[test]
fn names_of_files_do_not_depend_on_other_targets() {
    let place = Place::new("names");
    place.write("clusters/eu/prod/kustomization.yaml", "resources: [../../../base]\n");
    let all = ["build", "clusters/eu/prod", "clusters/us", "clusters/eu", "-o", "rendered", "--cache"];
    assert!(place.krm(&all).0);
    let files = || {
        let mut found = Vec::new();
        let mut open = vec![place.0.join("rendered")];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => open.push(path),
                    false => found.push(path.strip_prefix(&place.0).unwrap().display().to_string()),
                }
            }
        }
        found.sort();
        found
    };
    let three = ["rendered/clusters/eu.yaml", "rendered/clusters/eu/prod.yaml", "rendered/clusters/us.yaml"];
    assert_eq!(files(), three);
    // A pattern that matches one is no different.
    place.write("rendered/README.md", "kept");
    let (good, _, said) = place.krm(&["build", "./clusters/us/", "-o", "rendered", "--prune"]);
    assert!(
        good && said.ends_with("removed 2 files from `rendered`: clusters/eu/prod.yaml, clusters/eu.yaml\n"),
        "{said}"
    );
    assert_eq!(files(), ["rendered/README.md", "rendered/clusters/us.yaml"]);
    assert!(!place.0.join("rendered/clusters/eu").exists(), "folders that are empty go");
    let text = fs::read_to_string(place.0.join("rendered/clusters/us.yaml")).unwrap();
    assert_eq!(text, place.krm(&["build", "clusters/us"]).1);
    // From another folder the name is that from there.
    let (good, _, said) = place.krm(&["build", "clusters/us", "-o", "clusters", "--prune"]);
    assert!(!good && said.contains("[prune-sources]"), "{said}");
    assert!(Path::new(&place.0.join("clusters/us/kustomization.yaml")).exists());
    let (good, _, said) = place.krm(&["build", "clusters/us", "-o", "base", "--prune"]);
    assert!(!good && said.contains("[prune-kustomization]"), "{said}");
}

#[test]
fn a_file_per_resource_comes_from_the_cache_too() {
    let place = Place::new("resources");
    place.write("clusters/eu/extra.yaml", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n");
    place.write(
        "clusters/eu/kustomization.yaml",
        "resources: [../../base, extra.yaml]\nconfigMapGenerator:\n- name: s\n  namespace: shop\n  files: [s.txt]\n",
    );
    assert!(place.krm(&["build", "clusters/eu", "-o", "plain/"]).0);
    let build = |folder: &str| place.krm(&["build", "clusters/eu", "-o", folder, "--explain-cache"]).2;
    let first = build("first/");
    assert!(
        first.starts_with("clusters/eu: built, because it was not built before\nwrote 3 files to `first/`: "),
        "{first}"
    );
    let second = build("second/");
    assert!(second.starts_with("clusters/eu: unchanged, ") && second.contains("wrote 3 files"), "{second}");
    let files = |folder: &str| -> Vec<(String, String)> {
        let entries = fs::read_dir(place.0.join(folder)).unwrap().map(|entry| entry.unwrap());
        let mut files: Vec<_> = entries
            .map(|entry| {
                (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())
            })
            .collect();
        files.sort();
        files
    };
    assert_eq!(files("first"), files("plain"));
    assert_eq!(files("second"), files("plain"));
    assert!(build("second/").ends_with("nothing changed in `second/`\n"));
    // A stream is something else.
    let (good, stream, said) = place.krm(&["build", "clusters/eu", "--cache", "--explain-cache"]);
    assert!(good && said.contains("built, because"), "{said}");
    assert_eq!(stream, place.krm(&["build", "clusters/eu"]).1);
}
