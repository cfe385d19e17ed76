//! `krm lint --fix` changes no build, changes nothing the second time, and is all or nothing when it is killed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

fn krm(args: &[&str], dir: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_krm")).args(args).current_dir(dir).output().expect("krm starts")
}

fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn visit(dir: &Path, root: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for path in fs::read_dir(dir).expect("it is there").map(|entry| entry.expect("readable").path()) {
            if path.is_dir() && !path.is_symlink() {
                visit(&path, root, found);
            } else if let Ok(bytes) = fs::read(&path) {
                found.insert(path.strip_prefix(root).expect("below the root").to_owned(), bytes);
            }
        }
    }
    let mut found = BTreeMap::new();
    visit(root, root, &mut found);
    found
}

fn write(root: &Path, files: &BTreeMap<PathBuf, Vec<u8>>) {
    for (path, bytes) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("it is in the tree")).expect("a new folder");
        fs::write(path, bytes).expect("a new file");
    }
}

/// Fixes a copy of a folder, and compares what the kustomizations in it build before and after. Says how many builds were
/// compared.
fn check(folder: &Path, faults: &mut Vec<String>) -> usize {
    let before = files(folder);
    let is_kustomization = |path: &&PathBuf| path.ends_with("kustomization.yaml");
    let roots: Vec<&Path> = before.keys().filter(is_kustomization).filter_map(|path| path.parent()).collect();
    if roots.is_empty() {
        return 0;
    }
    let scratch = Scratch::new("lint-fixed");
    write(&scratch, &before);
    krm(&["lint", ".", "--fix"], &scratch);
    let after = files(&scratch);
    if after == before {
        return 0;
    }
    // A copy of its own, so that both are built under the same conditions.
    let original = Scratch::new("lint-original");
    write(&original, &before);
    for root in &roots {
        let [old, new] = [&original, &scratch].map(|tree| krm(&["build", "."], &tree.join(root)));
        if old.status.success() && (!new.status.success() || old.stdout != new.stdout) {
            let said = String::from_utf8_lossy(&new.stderr).into_owned();
            faults.push(format!("{}/{} builds to something else\n{said}", folder.display(), root.display()));
        }
    }
    krm(&["lint", ".", "--fix"], &scratch);
    if files(&scratch) != after {
        faults.push(format!("{}: a second run changes something", folder.display()));
    }
    roots.len()
}

/// The `in` of every case below a folder.
fn inputs(dir: &Path, found: &mut Vec<PathBuf>) {
    if dir.join("in").is_dir() {
        return found.push(dir.join("in"));
    }
    let below = fs::read_dir(dir).into_iter().flatten().map(|entry| entry.expect("readable").path());
    below.filter(|path| path.is_dir()).for_each(|path| inputs(&path, found));
}

#[test]
fn safe_fixes_change_no_build() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut builds, mut faults) = (0, Vec::new());
    let mut folders = vec![root.join("examples/shop"), root.join("examples/answers")];
    for cases in ["tests/cases/build", "tests/cases/composition", "tests/cases/errors", "tests/cases/lint"] {
        inputs(&root.join(cases), &mut folders);
    }
    for folder in folders {
        builds += check(&folder, &mut faults);
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert!(builds > 10, "only {builds} builds were compared");
}

const OVERLAYS: usize = 30;

fn deprecated() -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    files.insert(
        "base/kustomization.yaml".into(),
        b"resources: [web.yaml]\ncommonLabels: {team: shop}\n".to_vec(),
    );
    let service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web # the front\n";
    files.insert("base/web.yaml".into(), service.into());
    for at in 0..OVERLAYS {
        let text =
            format!("# {at}\nbases:\n- ../../base # below\ncommonLabels:\n  number: \"{at}\" # its own\n");
        files.insert(format!("overlays/{at}/kustomization.yaml").into(), text.into());
    }
    files
}

/// `KRM_KILLS=500 cargo test --test lint` is the long run.
#[test]
fn a_fix_that_is_killed_is_all_or_nothing() {
    let root = Scratch::new("lint-killed");
    let old = deprecated();
    write(&root, &old);
    let begun = Instant::now();
    assert!(krm(&["lint", ".", "--fix"], &root).status.success());
    let takes = begun.elapsed();
    let new = files(&root);
    assert_eq!(new.len(), old.len());
    assert!(
        old.iter().all(|(path, text)| path.ends_with("web.yaml") || new[path] != *text),
        "every file has a fix"
    );
    let kills = std::env::var("KRM_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(40);
    let mut seen = [0, 0];
    for kill in 0..kills {
        write(&root, &old);
        let mut child = Command::new(env!("CARGO_BIN_EXE_krm"));
        let child = child.args(["lint", ".", "--fix"]).current_dir(&root);
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("krm starts");
        // Files are written at the end, so that is where most kills are.
        let part = 1.05 - ((kill * 7 % kills) as f64 / kills as f64).powi(2);
        std::thread::sleep(takes.mul_f64(part) + Duration::from_micros(kill as u64));
        let _ = child.kill();
        let _ = child.wait();
        // The next to come finishes what was begun, or undoes it.
        assert!(krm(&["cfg", "count", "."], &root).status.success());
        let now = files(&root);
        match () {
            () if now == old => seen[0] += 1,
            () if now == new => seen[1] += 1,
            () => panic!("after kill {kill} the files are neither old nor new: {now:#?}"),
        }
    }
    assert!(seen[0] > 0, "the moments were ill chosen: {seen:?}");
}
