//! `krm affected`: what a change reaches, and nothing less.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use krm_engine::graph::{Inputs, InputsOptions};
use krm_engine::workspace::Workspace;
use krm_engine::{BuildOptions, MemoryWorld, Session, Sources, World, emit};

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("affected").join(name);
    drop(std::fs::remove_dir_all(&dir));
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn write(dir: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn git(dir: &Path, args: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"])
        .args(args)
        .current_dir(dir)
        .output()
        .expect("git starts");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn krm(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_krm")).args(args).current_dir(dir).output().expect("krm starts")
}

fn answer(dir: &Path, args: &[&str]) -> String {
    let output = krm(dir, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("krm writes text")
}

const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n";

/// Two overlays of a base, a third target on its own, and one that is broken.
fn repository(name: &str) -> PathBuf {
    let dir = folder(name);
    write(
        &dir,
        &[
            (
                "base/kustomization.yaml",
                "resources: [web.yaml]\nconfigMapGenerator:\n- name: c\n  files: [a.txt]\n",
            ),
            ("base/web.yaml", SERVICE),
            ("base/a.txt", "a"),
            ("staging/kustomization.yaml", "resources: [../base]\nnamePrefix: s-\n"),
            ("production/kustomization.yaml", "resources: [../base]\nnamePrefix: p-\n"),
            ("alone/kustomization.yaml", "resources: [web.yaml]\n"),
            ("alone/web.yaml", SERVICE),
            ("unrelated.txt", "x"),
        ],
    );
    git(&dir, &["init", "-q", "-b", "main"]);
    git(&dir, &["add", "."]);
    git(&dir, &["commit", "-qm", "first"]);
    dir
}

#[test]
fn files_with_odd_names_count() {
    let dir = folder("odd-names");
    let files = ["a\nb.txt", "{a}.txt", "a: b.txt", "a \"b\" ä.txt"];
    for (at, file) in files.iter().enumerate() {
        let named = serde_json::to_string(file).expect("a text is JSON");
        let text = format!("configMapGenerator:\n- name: c\n  files: [{}]\n", named.replacen('"', "\"x=", 1));
        write(&dir, &[(&format!("{at}/kustomization.yaml"), &text), (&format!("{at}/{file}"), "before")]);
    }
    git(&dir, &["init", "-q", "-b", "main"]);
    git(&dir, &["add", "."]);
    git(&dir, &["commit", "-qm", "first"]);
    for (at, file) in files.iter().enumerate() {
        write(&dir, &[(&format!("{at}/{file}"), "after")]);
        assert_eq!(answer(&dir, &["affected"]), format!("{at}\n"), "{file:?}");
        assert!(answer(&dir, &["diff"]).contains("before"), "{file:?}");
        git(&dir, &["commit", "-qam", "after"]);
    }
}

#[test]
fn a_revision_is_compared_with_the_files_that_are_there() {
    let dir = repository("revision");
    assert_eq!(answer(&dir, &["affected"]), "");
    write(&dir, &[("unrelated.txt", "y")]);
    assert_eq!(answer(&dir, &["affected"]), "");
    write(&dir, &[("base/a.txt", "b")]);
    assert_eq!(answer(&dir, &["affected"]), "production\nstaging\n");
    assert_eq!(answer(&dir, &["affected", "HEAD", "staging", "alone"]), "staging\n");
    assert_eq!(answer(&dir, &["affected", "-o", "null"]), "production\0staging\0");
    // A file that nobody has added counts.
    git(&dir, &["checkout", "-q", "."]);
    write(&dir, &[("alone/kustomization.yml", "resources: []\n")]);
    assert_eq!(answer(&dir, &["affected"]), "alone\n");
    std::fs::remove_file(dir.join("alone/kustomization.yml")).unwrap();
    assert_eq!(answer(&dir, &["affected"]), "");
    std::fs::remove_file(dir.join("alone/web.yaml")).unwrap();
    assert_eq!(answer(&dir, &["affected"]), "alone\n");
    let json = answer(&dir, &["affected", "-o", "json"]);
    assert!(json.contains("\"reason\": \"fails\"") && json.contains("alone/web.yaml"), "{json}");
    // From a folder below, paths are seen from there.
    assert_eq!(answer(&dir.join("alone"), &["affected", "--since", "HEAD"]), ".\n");
}

#[test]
fn two_revisions_are_compared_without_a_checkout() {
    let dir = repository("revisions");
    git(&dir, &["checkout", "-qb", "change"]);
    write(&dir, &[("staging/kustomization.yaml", "resources: [../base]\nnamePrefix: t-\n")]);
    std::fs::remove_dir_all(dir.join("alone")).unwrap();
    write(&dir, &[("new/kustomization.yaml", "resources: [../base]\n")]);
    git(&dir, &["add", "-A"]);
    git(&dir, &["commit", "-qm", "second"]);
    git(&dir, &["checkout", "-q", "main"]);
    write(&dir, &[("production/kustomization.yaml", "resources: [../base]\nnamePrefix: q-\n")]);
    git(&dir, &["commit", "-qam", "third"]);
    assert_eq!(answer(&dir, &["affected", "main..change"]), "new\nproduction\nstaging\n");
    assert_eq!(answer(&dir, &["affected", "main...change"]), "new\nstaging\n");
    let json = answer(&dir, &["affected", "main...change", "-o", "json"]);
    assert!(json.contains("\"removed\": [\n    \"alone\"\n  ]"), "{json}");
    // A clone without files answers the same.
    let bare = folder("bare");
    git(&bare, &["clone", "-q", "--bare", dir.to_str().unwrap(), "x.git"]);
    assert_eq!(answer(&bare.join("x.git"), &["affected", "main...change"]), "new\nstaging\n");
}

#[test]
fn only_what_changed_is_built() {
    let dir = repository("build");
    write(&dir, &[("production/kustomization.yaml", "resources: [../base]\nnamePrefix: q-\n")]);
    let built = answer(&dir, &["build", "--changed-since", "HEAD"]);
    assert!(built.contains("name: q-web") && !built.contains("s-web"), "{built}");
    answer(&dir, &["build", "--changed-since", "HEAD", "-o", "rendered/"]);
    let names = || -> Vec<String> {
        let entries = std::fs::read_dir(dir.join("rendered")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    // Files are named as if all targets were built.
    assert_eq!(names(), ["production.yaml"]);
    git(&dir, &["checkout", "-q", "."]);
    let output = krm(&dir, &["build", "--changed-since", "HEAD"]);
    assert!(output.status.success() && output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("no target changed since HEAD"));
}

#[test]
fn a_broken_target_counts_and_hides_no_other() {
    let dir = repository("broken");
    write(&dir, &[("torn/kustomization.yaml", "resources: [\n")]);
    git(&dir, &["add", "."]);
    git(&dir, &["commit", "-qm", "torn"]);
    assert_eq!(answer(&dir, &["affected"]), "");
    write(&dir, &[("alone/web.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: w}\n")]);
    assert_eq!(answer(&dir, &["affected"]), "alone\ntorn\n");
    let output = krm(&dir, &["affected"]);
    let said = String::from_utf8_lossy(&output.stderr);
    let wanted = "`torn` is always listed, because it cannot be read (torn/kustomization.yaml:";
    assert!(said.starts_with(wanted) && said.lines().count() == 1, "{said}");
}

#[test]
fn files_come_from_the_command_line_or_standard_input() {
    let dir = repository("files");
    assert_eq!(answer(&dir, &["affected", "--files", "base/web.yaml"]), "production\nstaging\n");
    assert_eq!(answer(&dir, &["affected", "--files", "base/web.yaml", "--", "staging"]), "staging\n");
    // Neither a file that does not exist nor one outside of everything is wrong.
    assert_eq!(answer(&dir, &["affected", "--files", "gone.txt", "../../../etc/passwd", "/etc/passwd"]), "");
    for (input, reached) in [
        ("alone/web.yaml\nunrelated.txt\n", "alone\n"),
        ("alone/web.yaml\r\n", "alone\n"),
        ("alone/web.yaml\0base/a.txt\0", "alone\nproduction\nstaging\n"),
        ("", ""),
    ] {
        let script = format!(
            "printf '{}' | {} affected --files -",
            input.replace('\0', "\\000"),
            env!("CARGO_BIN_EXE_krm")
        );
        let output = Command::new("sh").args(["-c", &script]).current_dir(&dir).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), reached, "{input:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_that_changes_counts() {
    let dir = folder("links");
    write(
        &dir,
        &[("app/kustomization.yaml", "resources: [web.yaml]\n"), ("a.yaml", SERVICE), ("b.yaml", SERVICE)],
    );
    std::os::unix::fs::symlink("../a.yaml", dir.join("app/web.yaml")).unwrap();
    assert_eq!(answer(&dir, &["affected", "--files", "app/web.yaml"]), "app\n");
    assert_eq!(answer(&dir, &["affected", "--files", "a.yaml"]), "app\n");
    assert_eq!(answer(&dir, &["affected", "--files", "b.yaml"]), "");
}

/// The law: a change that leaves every input as it is leaves the result as it is. Every file of every case is changed in a
/// few ways; whenever the result changes, the target must be among those reached.
#[test]
fn no_change_of_a_result_goes_unnoticed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut cases = Vec::new();
    for theme in ["build", "composition"] {
        find_cases(&root.join(theme), &mut cases);
    }
    cases.sort();
    let (mut changes, mut differences) = (0, 0);
    for case in &cases {
        let mut files = BTreeMap::new();
        read_tree(&case.join("in"), Path::new("in"), &mut files);
        if files.len() > 40 || !files.keys().any(|path| path.parent() == Some(Path::new("in"))) {
            continue;
        }
        let before = built(&files);
        let paths: Vec<PathBuf> = files.keys().cloned().collect();
        for path in &paths {
            for changed in mutations(&files, path) {
                changes += 1;
                if built(&changed) == before {
                    continue;
                }
                differences += 1;
                let changed_paths: Vec<PathBuf> = changed
                    .keys()
                    .chain(files.keys())
                    .filter(|path| changed.get(*path) != files.get(*path))
                    .map(|path| Path::new("/").join(path))
                    .collect();
                assert!(
                    reached(&changed, &changed_paths)
                        && (before.is_none() || reached(&files, &changed_paths)),
                    "{}: {changed_paths:?} changes the result and is not among its inputs",
                    case.display()
                );
            }
        }
    }
    assert!(changes > 1000 && differences > 300, "{changes} changes, {differences} differences");
}

fn find_cases(dir: &Path, found: &mut Vec<PathBuf>) {
    if dir.join("in").is_dir() {
        return found.push(dir.to_owned());
    }
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find_cases(&path, found);
        }
    }
}

fn read_tree(dir: &Path, shown: &Path, files: &mut BTreeMap<PathBuf, String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let (path, shown) = (entry.path(), shown.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            read_tree(&path, &shown, files);
        } else if kind.is_file()
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            files.insert(shown, text);
        }
    }
}

/// A file that goes, is empty, has another last letter or digit, or gets a neighbour that may come before it.
fn mutations(files: &BTreeMap<PathBuf, String>, path: &Path) -> Vec<BTreeMap<PathBuf, String>> {
    let with = |path: PathBuf, text: Option<String>| {
        let mut files = files.clone();
        match text {
            Some(text) => files.insert(path, text),
            None => files.remove(&path),
        };
        files
    };
    let text = &files[path];
    let mut all = vec![with(path.to_owned(), None), with(path.to_owned(), Some(String::new()))];
    if let Some((at, _)) = text.char_indices().rev().find(|(_, c)| c.is_ascii_alphanumeric()) {
        let other = if &text[at..=at] == "7" { "8" } else { "7" };
        all.push(with(path.to_owned(), Some(format!("{}{other}{}", &text[..at], &text[at + 1..]))));
    }
    if path.ends_with("kustomization.yaml") {
        all.push(with(path.with_file_name("kustomization.yml"), Some("namePrefix: z-\n".to_owned())));
    }
    all
}

fn world(files: &BTreeMap<PathBuf, String>) -> Arc<MemoryWorld> {
    Arc::new(MemoryWorld::new(files.iter().map(|(path, text)| (path.to_str().unwrap(), text.as_str()))))
}

fn built(files: &BTreeMap<PathBuf, String>) -> Option<String> {
    let options = BuildOptions { unrestricted: true, ..BuildOptions::default() };
    let session = Session::new(world(files), Sources::new(), options);
    let built = session.build_once(&["in".into()]).into_result().ok()?;
    emit(&built).ok().map(|texts| texts.concat())
}

fn reached(files: &BTreeMap<PathBuf, String>, changed: &[PathBuf]) -> bool {
    let world: Arc<dyn World> = world(files);
    let sources = Sources::new();
    let workspace = Workspace::of(&*world, &sources, vec!["/in".into()]);
    let inputs = Inputs::of(world.clone(), &sources, &workspace, &["in".into()], InputsOptions::default());
    !inputs.reached(changed).is_empty()
}
