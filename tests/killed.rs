//! Killed at any moment, a command that changes files leaves all of them old or all of them new once the next command has
//! run, and no other file. A signal that asks it to end leaves no other file even before that.
//!
//! `KRM_KILLS=2000 cargo test --test killed` is the long run; without it there are 320.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fastrand::Rng;
use tempfile::TempDir;

const FILES: usize = 40;
/// Where a resource is in one state and in the other: a file goes and another comes, with its folder.
const WANDERER: [&str; 2] = ["wanderer.yaml", "new/folder/wanderer.yaml"];

struct Package {
    top: TempDir,
    dir: PathBuf,
    functions: PathBuf,
}

impl Package {
    fn new(name: &str) -> Self {
        let top = tempfile::Builder::new().prefix(&format!("krm-killed-{name}-")).tempdir();
        let top = top.expect("the temporary folder is writable");
        let [dir, functions] = ["package", "functions"].map(|name| top.path().join(name));
        for dir in [&dir, &functions] {
            fs::create_dir(dir).expect("a new folder");
        }
        for (from, to) in [(0, 1), (1, 0)] {
            let script = functions.join(format!("{from}-to-{to}"));
            let (out, back) = (WANDERER[from], WANDERER[to]);
            let text =
                format!("#!/bin/sh\nexec sed 's/state-{from}/state-{to}/;s,path: .*{out}.*,path: {back},'\n");
            fs::write(&script, text).expect("the folder is ours");
            fs::set_permissions(script, fs::Permissions::from_mode(0o755)).expect("the file is ours");
        }
        let package = Self { top, dir, functions };
        for (path, text) in wanted(0) {
            let path = package.dir.join(path);
            fs::create_dir_all(path.parent().expect("it is in the package")).expect("a new folder");
            fs::write(path, text).expect("a new file");
        }
        package
    }

    /// Begins to turn one state into another.
    fn start(&self, from: usize) -> Child {
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        krm.args(["fn", "run", "--quiet", "--enable-exec"]).arg(&self.dir);
        krm.arg("--exec-path").arg(self.functions.join(format!("{from}-to-{}", 1 - from)));
        krm.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("krm starts")
    }

    /// How many files wait to take their places.
    fn waiting(&self) -> usize {
        fs::read_dir(self.dir.join(".krm-changes")).map_or(0, Iterator::count)
    }

    /// Every file, and its text.
    fn files(&self) -> BTreeMap<String, String> {
        fn visit(dir: &Path, root: &Path, found: &mut BTreeMap<String, String>) {
            for entry in fs::read_dir(dir).expect("it is there").map(|entry| entry.expect("readable").path())
            {
                match entry.is_dir() {
                    true => {
                        let before = found.len();
                        visit(&entry, root, found);
                        assert!(found.len() > before, "{entry:?} is left over");
                    }
                    false => {
                        let name = entry.strip_prefix(root).expect("below the root").display().to_string();
                        found.insert(name, fs::read_to_string(&entry).expect("a text"));
                    }
                }
            }
        }
        let mut found = BTreeMap::new();
        visit(&self.dir, &self.dir, &mut found);
        found
    }

    /// The state of all files; it must be one.
    fn state(&self, when: &str) -> usize {
        let files = self.files();
        (0..2).find(|state| files == wanted(*state)).unwrap_or_else(|| {
            let new = (0..2)
                .map(|state| files.iter().filter(|file| wanted(state).get(file.0) == Some(file.1)).count());
            panic!(
                "{when}: {:?} of {FILES} files are in each state: {:?}",
                new.collect::<Vec<_>>(),
                files.keys()
            )
        })
    }
}

impl Drop for Package {
    fn drop(&mut self) {
        // What a failure leaves is there to be looked at.
        self.top.disable_cleanup(std::thread::panicking());
    }
}

/// The files of the package in one state.
fn wanted(state: usize) -> BTreeMap<String, String> {
    let text = |name: &str, number: usize| {
        let lines: String =
            (0..20).map(|line| format!("  key-{line}: state-{state} # of {number}\n")).collect();
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n{lines}")
    };
    let name = |number: usize| format!("{}{number:03}.yaml", ["", "a/", "b/c/"][number % 3]);
    let mut files: BTreeMap<String, String> =
        (1..FILES).map(|number| (name(number), text(&format!("c-{number}"), number))).collect();
    files.insert(WANDERER[state].to_owned(), text("wanderer", 0));
    files
}

/// How many kills are wanted.
fn kills() -> usize {
    std::env::var("KRM_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(320)
}

#[test]
fn all_files_are_old_or_all_are_new() {
    let package = Package::new("state");
    let mut random = Rng::with_seed(1);
    let (mut state, mut early, mut half, mut late) = (0, 0, 0, 0);
    for attempt in 0..kills() {
        let mut krm = package.start(state);
        let first = package.dir.join("003.yaml");
        let before = fs::metadata(&first).expect("it is there").ino();
        let has_moved = || fs::metadata(&first).is_ok_and(|now| now.ino() != before);
        let journal = package.dir.join(".krm-changes/journal");
        let wanted = random.usize(..FILES);
        // Now while files are put aside, now when the change is decided, now when the first file has taken its place.
        let is_time = || match attempt % 3 {
            0 => package.waiting() >= wanted,
            1 => journal.exists(),
            _ => has_moved(),
        };
        while !is_time() && krm.try_wait().expect("it is ours").is_none() {}
        let pause = Duration::from_micros(random.u64(..[2_000, 6_000, 1_000][attempt % 3]));
        let start = Instant::now();
        while start.elapsed() < pause {
            std::hint::spin_loop();
        }
        let gentle = attempt % 4 == 3;
        let signal =
            if gentle { [libc::SIGHUP, libc::SIGINT, libc::SIGTERM][attempt / 4 % 3] } else { libc::SIGKILL };
        if krm.try_wait().expect("it is ours").is_none() {
            send(signal, &krm);
        }
        krm.wait().expect("it is ours");
        if gentle {
            assert!(
                !package.dir.join(".krm-changes").exists(),
                "signal {signal} left files, attempt {attempt}"
            );
        }
        let mixed = (0..2).all(|state| package_differs(&package, state));
        // Any command will do; this one only reads.
        let next = Command::new(env!("CARGO_BIN_EXE_krm")).args(["cfg", "count"]).arg(&package.dir).output();
        let next = next.expect("krm starts");
        assert!(next.status.success(), "{}", String::from_utf8_lossy(&next.stderr));
        // A folder that became empty stays. It would not be missing the next time.
        let _ = fs::remove_dir(package.dir.join("new/folder"));
        let _ = fs::remove_dir(package.dir.join("new"));
        let now = package.state(&format!("attempt {attempt}, signal {signal}"));
        match (mixed, now == state) {
            (true, _) => half += 1,
            (false, true) => early += 1,
            (false, false) => late += 1,
        }
        state = now;
    }
    eprintln!("{early} killed before the first change, {half} in between, {late} after the last");
    assert!(early > 0 && half > 0, "no kill came at the right time, so nothing was tested");
}

/// A process of its own would come too late.
fn send(signal: i32, child: &Child) {
    #[allow(unsafe_code)]
    // SAFETY: it takes numbers. The child has not been waited for, so its number is its own.
    unsafe {
        libc::kill(child.id() as i32, signal);
    }
}

fn package_differs(package: &Package, state: usize) -> bool {
    wanted(state)
        .iter()
        .any(|(path, text)| fs::read_to_string(package.dir.join(path)).ok().as_ref() != Some(text))
}

#[test]
fn two_at_once_lose_no_change() {
    let package = Package::new("two");
    for word in ["one", "two"] {
        let script = package.functions.join(word);
        let text = format!("#!/bin/sh\nsleep 0.2\nexec sed 's/^    name: c-.*/&\\n    {word}: x/'\n");
        fs::write(&script, text).expect("the folder is ours");
        fs::set_permissions(script, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    }
    let start = |word: &str| {
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        krm.args(["fn", "run", "--quiet", "--enable-exec"]).arg(&package.dir);
        krm.arg("--exec-path").arg(package.functions.join(word)).spawn().expect("krm starts")
    };
    let both = [start("one"), start("two")];
    for mut krm in both {
        assert!(krm.wait().expect("it is ours").success());
    }
    for (path, text) in package.files() {
        for word in ["one: x", "two: x"] {
            assert!(path == WANDERER[0] || text.contains(word), "{path} has lost `{word}`:\n{text}");
        }
    }
}

#[test]
fn a_file_that_someone_edits_meanwhile_is_left_alone() {
    let package = Package::new("edited");
    let script = package.functions.join("edits");
    let edited = package.dir.join("a/001.yaml");
    let text = format!("#!/bin/sh\necho '# mine' >> {}\nexec sed s/state-0/state-1/\n", edited.display());
    fs::write(&script, text).expect("the folder is ours");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    let before = package.files();
    let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
    krm.args(["fn", "run", "--quiet", "--enable-exec"]).arg(&package.dir).arg("--exec-path").arg(&script);
    let output = krm.output().expect("krm starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("error[file-changed-meanwhile]"), "{stderr}");
    let mut after = package.files();
    let text = after.get_mut("a/001.yaml").expect("it is there");
    assert!(text.ends_with("# mine\n"));
    text.truncate(text.len() - "# mine\n".len());
    assert_eq!(after, before);
}

/// Loss of power cannot be tried here. What can be seen is that files and folders are written to disk before the step that
/// relies on them.
#[test]
fn everything_reaches_the_disk_in_order() {
    let package = Package::new("order");
    let trace = package.functions.join("trace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-e", "trace=fsync,renameat2,unlink,unlinkat", "-o"]).arg(&trace);
    strace.arg(env!("CARGO_BIN_EXE_krm")).args(["fn", "run", "--quiet", "--enable-exec"]).arg(&package.dir);
    strace.arg("--exec-path").arg(package.functions.join("0-to-1"));
    // Not every machine has it, or lets it look.
    let Ok(output) = strace.output() else { return };
    let trace = fs::read_to_string(&trace).unwrap_or_default();
    if !output.status.success() || !trace.contains("renameat2") {
        return;
    }
    assert_eq!(package.state("under strace"), 1);
    let lines: Vec<&str> = trace.lines().collect();
    let all =
        |word: &str| -> Vec<usize> { (0..lines.len()).filter(|at| lines[*at].contains(word)).collect() };
    let dir = package.dir.canonicalize().expect("it is there").display().to_string();
    let (renames, journal) = (all("renameat2("), all("/.krm-changes/journal>"));
    let (first, last) = (renames[0], *renames.last().expect("there are some"));
    let staged: Vec<usize> = all("fsync(").into_iter().filter(|at| *at < first).collect();
    // The files, the journal, its folder, and the folder of that.
    assert!(staged.len() >= FILES + 3, "{} of {FILES} files before the first change:\n{trace}", staged.len());
    assert!(journal[0] < first && staged.contains(&journal[0]), "{trace}");
    let after: Vec<&str> = lines[last..].iter().copied().filter(|line| line.contains("fsync(")).collect();
    for folder in ["", "/a", "/b/c"] {
        assert!(after.iter().any(|line| line.contains(&format!("<{dir}{folder}>"))), "{folder}:\n{trace}");
    }
    let cleared = all("/.krm-changes/journal\"");
    assert!(cleared.iter().all(|at| *at > last), "{trace}");
}

/// The journal of several packages is in the folder around them.
#[test]
fn several_packages_change_together() {
    let package = Package::new("several");
    let crooked = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n      name: {name}\n");
    let names: Vec<String> = (0..2 * FILES).map(|n| format!("{}/{n:03}.yaml", ["a", "b"][n % 2])).collect();
    let (mut half, mut random) = (0, Rng::with_seed(7));
    for attempt in 0..kills() / 10 {
        let _ = fs::remove_dir_all(&package.dir);
        for name in &names {
            let path = package.dir.join(name);
            fs::create_dir_all(path.parent().expect("it is in the package")).expect("a folder");
            fs::write(path, crooked("x")).expect("a new file");
        }
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        krm.args(["cfg", "fmt"]).args([package.dir.join("a"), package.dir.join("b")]);
        let mut krm = krm.stderr(Stdio::null()).spawn().expect("krm starts");
        let first = package.dir.join(&names[0]);
        let is_new = |path: &Path| fs::read_to_string(path).is_ok_and(|text| text != crooked("x"));
        while !is_new(&first) && krm.try_wait().expect("it is ours").is_none() {}
        let (pause, start) = (Duration::from_micros(random.u64(..2_000)), Instant::now());
        while start.elapsed() < pause {
            std::hint::spin_loop();
        }
        krm.kill().expect("it is ours");
        krm.wait().expect("it is ours");
        let new = || names.iter().filter(|name| is_new(&package.dir.join(name))).count();
        half += usize::from(![0, names.len()].contains(&new()));
        // One that reads only one of them settles both.
        let next = Command::new(env!("CARGO_BIN_EXE_krm"))
            .args(["cfg", "count"])
            .arg(package.dir.join("b"))
            .output();
        assert!(next.expect("krm starts").status.success());
        assert!([0, names.len()].contains(&new()), "attempt {attempt}: {} of {} are new", new(), names.len());
        assert_eq!(fs::read_dir(&package.dir).expect("it is there").count(), 2, "something is left over");
    }
    eprintln!("{half} killed in between");
}
