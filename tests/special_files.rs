//! Pipes and devices instead of files: krm says what they are, and does not wait for them.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

struct Place(Scratch);

impl Place {
    fn new(name: &str) -> Self {
        let dir = Scratch::new(&format!("special-{name}"));
        let made = Command::new("mkfifo").arg(dir.join("pipe")).status().expect("mkfifo is there");
        assert!(made.success());
        symlink("/dev/zero", dir.join("device")).expect("a new link");
        Self(dir)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("within the folder")).expect("a new folder");
        fs::write(path, text).expect("a new file");
    }

    /// Runs krm, and gives it a time within which it must end.
    fn fails(&self, args: &str) -> String {
        let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
        krm.args(args.split(' ')).current_dir(&self.0).stdin(Stdio::null());
        let mut krm = krm.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("krm starts");
        let start = Instant::now();
        let status = loop {
            if let Some(status) = krm.try_wait().expect("it is ours") {
                break status;
            }
            if start.elapsed() > Duration::from_secs(20) {
                krm.kill().expect("it is ours");
                panic!("`krm {args}` waits for ever");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let mut stderr = String::new();
        krm.stderr.take().expect("piped").read_to_string(&mut stderr).expect("text");
        assert_eq!(status.code(), Some(1), "`krm {args}`: {stderr}");
        stderr
    }
}

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";

#[test]
fn a_kustomization_that_names_one() {
    for special in ["pipe", "device"] {
        for field in [
            "resources: [SPECIAL]",
            "crds: [SPECIAL]",
            "configurations: [SPECIAL]",
            "transformers: [SPECIAL]",
            "generators: [SPECIAL]",
            "patches: [{path: SPECIAL}]",
            "patchesStrategicMerge: [SPECIAL]",
            "replacements: [{path: SPECIAL}]",
            "openapi: {path: SPECIAL}",
            "configMapGenerator: [{name: a, files: [SPECIAL]}]",
            "configMapGenerator: [{name: a, envs: [SPECIAL]}]",
            "secretGenerator: [{name: a, files: [key=SPECIAL]}]",
        ] {
            let place = Place::new("named");
            place.write("kustomization.yaml", &field.replace("SPECIAL", special));
            let stderr = place.fails("build . --load-restrictor LoadRestrictionsNone");
            assert!(stderr.contains(special) && stderr.contains("not a file"), "{field} {special}: {stderr}");
            assert!(stderr.contains("kustomization.yaml:1:"), "{field} {special}: {stderr}");
        }
    }
}

#[test]
fn a_kustomization_that_is_one() {
    let place = Place::new("itself");
    fs::rename(place.0.join("pipe"), place.0.join("kustomization.yaml")).expect("both are ours");
    let stderr = place.fails("build .");
    assert!(stderr.contains("kustomization.yaml"), "{stderr}");
}

#[test]
fn an_argument_that_is_one() {
    let place = Place::new("argument");
    place.write("pkg/a.yaml", CONFIG_MAP);
    place.write("fn", "#!/bin/sh\ncat\n");
    fs::set_permissions(place.0.join("fn"), fs::Permissions::from_mode(0o755)).expect("it is ours");
    for special in ["pipe", "device"] {
        for args in [
            "cfg fmt SPECIAL",
            "cfg fmt --check SPECIAL",
            "cfg count SPECIAL",
            "cfg tree SPECIAL",
            "cfg cat pkg --wrap-kind List --function-config SPECIAL",
            "merge SPECIAL pkg",
            "merge --write pkg/a.yaml SPECIAL",
            "merge3 --original pkg --updated pkg --dest SPECIAL",
            "fn source SPECIAL",
            "fn run SPECIAL --enable-exec --exec-path ./fn",
            "fn run pkg --enable-exec --exec-path ./fn --fn-config SPECIAL",
            "fn run pkg --enable-exec --exec-path ./SPECIAL",
            "fn run pkg --wasm ./SPECIAL",
            "fn run pkg --fn-path SPECIAL",
            "build SPECIAL",
            "plan SPECIAL",
        ] {
            let stderr = place.fails(&args.replace("SPECIAL", special));
            assert!(stderr.contains(special), "{args} {special}: {stderr}");
        }
    }
    assert_eq!(fs::read_dir(&place.0).expect("it is there").count(), 4, "something is left over");
}

#[test]
fn one_in_a_package_is_not_of_it() {
    let place = Place::new("package");
    place.write("pkg/a.yaml", CONFIG_MAP);
    fs::rename(place.0.join("pipe"), place.0.join("pkg/b.yaml")).expect("both are ours");
    let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
    let output = krm.args(["cfg", "count", "pkg"]).current_dir(&place.0).output().expect("krm starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "pkg/\nConfigMap: 1\n");
}

#[test]
fn what_the_shell_hands_over_is_read() {
    let place = Place::new("handed-over");
    place.write("pkg/a.yaml", CONFIG_MAP);
    let krm = Path::new(env!("CARGO_BIN_EXE_krm")).display().to_string();
    let script =
        format!("cat pkg/a.yaml | {krm} cfg count /dev/stdin; {krm} merge <(cat pkg/a.yaml) pkg/a.yaml");
    let Ok(output) = Command::new("bash").args(["-c", &script]).current_dir(&place.0).output() else {
        return;
    };
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.ends_with(CONFIG_MAP), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
}
