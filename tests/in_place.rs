//! Changing files in place: the files meant and no others, all of them or none, and with the rights they had.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

/// Whom nothing belongs to but what is given to him.
const NOBODY: u32 = 65534;

struct Place(Scratch);

impl Place {
    /// A folder with functions: `grow` makes each `value: 1` a 2, and `move` puts what is in `sub` into `moved.yaml`, too.
    fn new(name: &str) -> Self {
        let place = Self(Scratch::new(&format!("in-place-{name}")));
        for (name, script) in
            [("grow", "s/value: 1/value: 2/"), ("move", "s/value: 1/value: 2/;s,sub/[a-z]*.yaml,moved.yaml,")]
        {
            place.write(name, &format!("#!/bin/sh\nexec sed '{script}'\n"));
            place.set_mode(name, 0o755);
        }
        place
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("within the folder")).expect("a new folder");
        fs::write(path, text).expect("a new file");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).expect("it is there")
    }

    fn link(&self, to: &str, name: &str) {
        symlink(to, self.0.join(name)).expect("a new link");
    }

    fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.0.join(name), Permissions::from_mode(mode)).expect("the file is ours");
    }

    /// Runs a function on `pkg`, as someone rights mean something to.
    fn run(&self, function: &str) -> (i32, String) {
        self.krm(&["fn", "run", "pkg", "--enable-exec", "--quiet", "--exec-path", &format!("./{function}")])
    }

    fn krm(&self, args: &[&str]) -> (i32, String) {
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        krm.args(args).current_dir(&self.0);
        if is_root() {
            give(&self.0, NOBODY);
            krm.uid(NOBODY);
            // Under `cargo llvm-cov` the profile goes to a folder that this user cannot write to.
            krm.env("LLVM_PROFILE_FILE", "/dev/null");
        }
        let output = krm.output().expect("krm starts");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code().expect("no signal"), stderr)
    }

    /// Every file and folder, but for the functions.
    fn everything(&self) -> Vec<(PathBuf, Option<String>)> {
        let mut found = Vec::new();
        let mut waiting = vec![self.0.join("pkg")];
        while let Some(path) = waiting.pop() {
            let text = fs::read_to_string(&path).ok();
            if let Ok(entries) = fs::read_dir(&path) {
                waiting.extend(entries.map(|entry| entry.expect("readable").path()));
            }
            found.push((path, text));
        }
        found.sort();
        found
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::set_permissions(self.0.join("pkg/sub"), Permissions::from_mode(0o755));
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

fn give(path: &Path, user: u32) {
    let is_link = path.is_symlink();
    if !is_link {
        chown(path, Some(user), None).expect("root may");
    }
    for entry in fs::read_dir(path).into_iter().flatten().filter(|_| !is_link) {
        give(&entry.expect("readable").path(), user);
    }
}

fn config_map(name: &str, value: u32) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  value: {value}\n")
}

#[test]
fn a_file_nobody_may_write_to_stays() {
    let place = Place::new("read-only");
    place.write("pkg/a.yaml", &config_map("a", 1));
    place.write("pkg/b.yaml", &config_map("b", 1));
    place.set_mode("pkg/b.yaml", 0o444);
    let before = place.everything();
    let (code, stderr) = place.run("grow");
    assert_eq!(code, 1);
    assert!(stderr.contains("error[file-not-written]: cannot write `"), "{stderr}");
    assert!(stderr.contains("pkg/b.yaml`: Permission denied"), "{stderr}");
    assert_eq!(place.everything(), before);
}

#[test]
fn where_a_file_cannot_be_removed_none_is_written() {
    let place = Place::new("no-removal");
    place.write("pkg/a.yaml", &config_map("a", 1));
    place.write("pkg/sub/b.yaml", &config_map("b", 1));
    place.set_mode("pkg/sub", 0o555);
    let before = place.everything();
    let (code, stderr) = place.run("move");
    assert_eq!(code, 1);
    assert!(
        stderr.contains("error[file-not-written]: cannot write `pkg/sub/b.yaml`: Permission"),
        "{stderr}"
    );
    assert_eq!(place.everything(), before);
    place.set_mode("pkg/sub", 0o755);
    assert_eq!(place.run("move"), (0, String::new()));
    assert_eq!(
        (place.read("pkg/a.yaml"), place.read("pkg/moved.yaml")),
        (config_map("a", 2), config_map("b", 2))
    );
}

#[test]
fn owner_group_and_mode_stay() {
    let place = Place::new("mode");
    place.write("pkg/a.yaml", &config_map("a", 1));
    place.set_mode("pkg/a.yaml", 0o640);
    let file = || fs::metadata(place.0.join("pkg/a.yaml")).expect("it is there");
    if is_root() {
        chown(place.0.join("pkg/a.yaml"), Some(NOBODY), Some(NOBODY)).expect("root may");
    }
    let before = (file().uid(), file().gid(), file().mode());
    // As the user this is: only root may give files away, and must not take them.
    let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
    krm.args(["fn", "run", "pkg", "--enable-exec", "--exec-path", "./grow"]).current_dir(&place.0);
    assert!(krm.output().expect("krm starts").status.success());
    assert_eq!(place.read("pkg/a.yaml"), config_map("a", 2));
    assert_eq!((file().uid(), file().gid(), file().mode()), before);
}

#[test]
fn a_link_within_the_package_stays_one() {
    let place = Place::new("twins");
    place.write("pkg/a.yaml", &config_map("a", 1));
    place.link("a.yaml", "pkg/b.yaml");
    assert_eq!(place.run("grow"), (0, String::new()));
    assert_eq!(place.read("pkg/a.yaml"), config_map("a", 2));
    assert!(place.0.join("pkg/b.yaml").is_symlink());
    // Under each name it is to hold something else: neither comes about.
    place.write("uneven", "#!/bin/sh\nexec awk '/value: 2/ { n++; sub(2, 6 + n) } { print }'\n");
    place.set_mode("uneven", 0o755);
    let (code, stderr) = place.run("uneven");
    assert_eq!(code, 1);
    assert!(stderr.contains("error[file-of-two-texts]"), "{stderr}");
    assert_eq!(place.read("pkg/a.yaml"), config_map("a", 2));
}

#[test]
fn no_command_writes_through_a_link_that_leads_out() {
    let place = Place::new("outside");
    place.write("new/a.yaml", &config_map("a", 2));
    place.write("outside/a.yaml", &config_map("a", 1).replace("  name", "     name"));
    place.write("pkg/z.yaml", &config_map("z", 1));
    place.link("../outside/a.yaml", "pkg/a.yaml");
    let (outside, before) = (place.read("outside/a.yaml"), place.everything());
    for args in [&["merge", "--write", "new", "pkg"][..], &["cfg", "fmt", "pkg"]] {
        let (code, stderr) = place.krm(args);
        assert_eq!(code, 1, "{args:?}");
        assert!(stderr.contains("error[package-file-outside]"), "{stderr}");
        assert_eq!((place.read("outside/a.yaml"), place.everything()), (outside.clone(), before.clone()));
    }
    // Anyone who names the link itself means the file.
    assert_eq!(
        place.krm(&["merge", "--write", "new/a.yaml", "pkg/a.yaml"]),
        (0, "wrote pkg/a.yaml\n".to_owned())
    );
    assert!(place.read("outside/a.yaml").contains("value: 2"));
    assert!(place.0.join("pkg/a.yaml").is_symlink());
}

#[test]
fn no_command_makes_files_in_a_folder_outside() {
    let place = Place::new("outside-folder");
    place.write("new/sub/deep/n.yaml", &config_map("n", 1));
    place.write("outside/kept", "");
    place.write("pkg/z.yaml", &config_map("z", 1));
    place.link("../outside", "pkg/sub");
    let (code, stderr) = place.krm(&["merge", "--write", "new", "pkg"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("error[link-leads-outside]"), "{stderr}");
    assert_eq!(fs::read_dir(place.0.join("outside")).expect("it is there").count(), 1);
}

#[test]
fn a_build_writes_into_its_output_folder_only() {
    let place = Place::new("output");
    place.write("k/kustomization.yaml", "resources: [a.yaml]\n");
    place.write("k/a.yaml", &config_map("a", 1));
    place.write("pkg/kept", "");
    place.write("outside", "mine\n");
    place.link("../outside", "pkg/v1_configmap_a.yaml");
    let (code, stderr) = place.krm(&["build", "k", "-o", "pkg"]);
    assert!(code == 1 && stderr.contains("error[link-leads-outside]"), "{stderr}");
    assert_eq!(place.read("outside"), "mine\n");
    place.write("k/a.yaml", &config_map("/../../../b", 1));
    let before = place.everything();
    let (code, stderr) = place.krm(&["build", "k", "-o", "pkg"]);
    assert!(code == 1 && stderr.contains("error[output-file-name]"), "{stderr}");
    assert_eq!(place.everything(), before);
}

#[test]
fn a_trap_in_the_place_of_a_prepared_file_is_passed_over() {
    let place = Place::new("trap");
    place.write("pkg/a.yaml", &config_map("a", 1));
    place.write("outside", "mine\n");
    // The shell becomes krm, with its number.
    let script =
        r#"ln -s ../outside pkg/.a.yaml.$$.krm; ln -s ../outside pkg/.a.yaml.$$-0.krm; exec "$0" "$@""#;
    let mut shell = Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_krm"), "fn", "run", "pkg", "--enable-exec", "--exec-path"]);
    shell.arg("./grow").current_dir(&place.0);
    assert!(shell.output().expect("a shell is there").status.success());
    assert_eq!((place.read("pkg/a.yaml"), place.read("outside")), (config_map("a", 2), "mine\n".to_owned()));
}

#[test]
fn a_name_may_be_as_long_as_names_can_be() {
    let place = Place::new("long");
    let name = format!("pkg/{}.yaml", "é".repeat(125));
    place.write(&name, &config_map("a", 1));
    assert_eq!(place.run("grow"), (0, String::new()));
    assert_eq!(place.read(&name), config_map("a", 2));
}

#[test]
fn a_file_that_may_not_grow_is_reported() {
    let place = Place::new("limit");
    place.write("pkg/a.yaml", &config_map("a", 1));
    place.write("pkg/b.yaml", &format!("{}  more: {}\n", config_map("b", 1), "x".repeat(9000)));
    let before = place.everything();
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"ulimit -f 4; exec "$0" "$@""#, env!("CARGO_BIN_EXE_krm"), "fn", "run", "pkg"]);
    shell.args(["--enable-exec", "--exec-path", "./grow"]).current_dir(&place.0);
    let output = shell.output().expect("a shell is there");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("cannot write `pkg/b.yaml`: File too large"), "{stderr}");
    assert_eq!(place.everything(), before);
}

#[test]
fn a_name_that_is_not_text_is_reported() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new("no-text");
    place.write("pkg/a.yaml", &config_map("a", 1));
    let name = std::ffi::OsStr::from_bytes(b"pkg/caf\xe9.yaml");
    fs::write(place.0.join(name), config_map("b", 1)).expect("a new file");
    for args in [&["cfg", "count", "pkg"][..], &["merge", "pkg/a.yaml", "pkg"], &["fn", "source", "pkg"]] {
        let (code, stderr) = place.krm(args);
        assert!(code == 1 && stderr.contains("error[package-file-name]"), "{args:?}: {stderr}");
    }
    place.write("pkg/.krmignore", "caf*.yaml\n");
    assert_eq!(place.krm(&["cfg", "count", "pkg"]).0, 0);
}

#[test]
fn folders_made_for_nothing_go_again() {
    let place = Place::new("folders");
    place.write("new/a/b/n.yaml", &config_map("n", 1));
    place.write("new/z.yaml", &config_map("z", 2));
    place.write("pkg/z.yaml", &config_map("z", 1));
    place.set_mode("pkg/z.yaml", 0o444);
    let before = place.everything();
    assert_eq!(place.krm(&["merge", "--write", "new", "pkg"]).0, 1);
    assert_eq!(place.everything(), before);
}

#[test]
fn a_file_with_a_second_name_is_refused() {
    let place = Place::new("hard-link");
    place.write("pkg/a.yaml", &config_map("a", 1));
    place.write("pkg/z.yaml", &config_map("z", 1));
    fs::hard_link(place.0.join("pkg/z.yaml"), place.0.join("other")).expect("a new link");
    let before = place.everything();
    let (code, stderr) = place.run("grow");
    assert_eq!(code, 1);
    assert!(
        stderr.contains("error[file-not-kept]: `pkg/z.yaml` cannot be replaced: it has a second name"),
        "{stderr}"
    );
    assert_eq!((place.everything(), place.read("other")), (before, config_map("z", 1)));
}

#[test]
#[cfg(target_os = "linux")]
fn extended_attributes_stay() {
    let place = Place::new("attributes");
    place.write("pkg/a.yaml", &config_map("a", 1));
    let path = place.0.join("pkg/a.yaml");
    let c_path = std::ffi::CString::new(path.to_str().expect("a plain path")).expect("no zero byte");
    let attribute = |write: bool| {
        let mut value = *b"mine";
        let name = c"user.krm-test".as_ptr();
        #[allow(unsafe_code)]
        // SAFETY: path and name end in a zero byte, and the length is that of the value.
        let done = unsafe {
            match write {
                true => libc::setxattr(c_path.as_ptr(), name, value.as_ptr().cast(), 4, 0) as isize,
                false => {
                    value = [0; 4];
                    libc::getxattr(c_path.as_ptr(), name, value.as_mut_ptr().cast(), 4)
                }
            }
        };
        (done >= 0).then_some(value)
    };
    // Not every file system has them.
    if attribute(true).is_none() {
        return;
    }
    assert_eq!(place.run("grow"), (0, String::new()));
    assert_eq!(place.read("pkg/a.yaml"), config_map("a", 2));
    assert_eq!(attribute(false), Some(*b"mine"));
}

#[test]
fn one_of_two_packages_is_not_written_when_the_other_is_refused() {
    let place = Place::new("two-packages");
    let unformatted = config_map("a", 1).replace("  name", "     name");
    place.write("pkg/one/a.yaml", &unformatted);
    place.write("pkg/two/b.yaml", &unformatted);
    place.set_mode("pkg/two/b.yaml", 0o444);
    let before = place.everything();
    let (code, stderr) = place.krm(&["cfg", "fmt", "pkg/one", "pkg/two"]);
    assert!(code == 1 && stderr.contains("pkg/two/b.yaml`: Permission denied"), "{stderr}");
    assert_eq!(place.everything(), before);
}

/// A package may come with a journal. Whatever reads the package finishes it, but installs no program for git to run.
#[test]
fn a_journal_from_elsewhere_does_not_reach_into_git() {
    for target in [".git/hooks/post-checkout", "sub/.GIT/config", "../outside.yaml", "link/x.yaml"] {
        let place = Place::new("journal");
        place.write("pkg/a.yaml", &config_map("a", 1));
        place.write("pkg/.git/hooks/kept", "");
        place.write("pkg/sub/.GIT/kept", "");
        place.write("elsewhere/kept", "");
        place.link("../elsewhere", "pkg/link");
        let digest = "0".repeat(64);
        let journal = ["krm changes 1", "create", target, &digest, &digest, "end", ""].join("\0");
        place.write("pkg/.krm-changes/journal", &journal);
        place.write("pkg/.krm-changes/0", "#!/bin/sh\n");
        let before = place.everything();
        for args in [&["cfg", "tree", "pkg"][..], &["fn", "source", "pkg"], &["cfg", "fmt", "pkg"]] {
            let (code, stderr) = place.krm(args);
            assert!(
                code == 1 && stderr.contains("its journal names files it may not change"),
                "{target} {args:?}: {stderr}"
            );
            assert_eq!(place.everything(), before, "{target} {args:?}");
        }
    }
}
