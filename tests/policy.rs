//! What the command line allows reaches a container the same way from `build`, `fn run` and `fn eval`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

const FUNCTION: &str = "apiVersion: example.com/v1
kind: Probe
metadata:
  name: probe
  annotations:
    config.kubernetes.io/local-config: 'true'
    config.kubernetes.io/function: |
      container:
        image: example.com/probe:v1
        network: true
";

/// A folder with a kustomization, a package, and a container engine that only notes how it was called.
fn place(name: &str) -> Scratch {
    let dir = Scratch::new(&format!("policy-{name}"));
    fs::create_dir(dir.join("bin")).unwrap();
    fs::write(dir.join("kustomization.yaml"), "resources: [a.yaml]\ntransformers: [fn.yaml]\n").unwrap();
    fs::write(dir.join("a.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n").unwrap();
    fs::write(dir.join("fn.yaml"), FUNCTION).unwrap();
    let engine = dir.join("bin/podman");
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > {}/called\nexec cat\n", dir.display());
    fs::write(&engine, script).unwrap();
    fs::set_permissions(&engine, fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

/// The arguments the engine was called with, without those that differ from call to call.
fn called(dir: &Path, args: &[&str]) -> Vec<String> {
    let path = format!("{}:{}", dir.join("bin").display(), std::env::var("PATH").unwrap());
    let mut krm = Command::new(env!("CARGO_BIN_EXE_krm"));
    krm.current_dir(dir).args(args).env("PATH", path).env("KRM_FN_RUNTIME", "podman");
    let output = krm.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let called = fs::read_to_string(dir.join("called")).unwrap();
    called.lines().filter(|line| !line.starts_with("krm-fn-")).map(str::to_owned).collect()
}

#[test]
fn build_and_fn_run_give_a_container_the_same() {
    let dir = place("same");
    let flags =
        ["--network", "--network-name", "lab", "--mount", "type=bind,src=data,dst=/data", "-e", "A=b"];
    let build = called(&dir, &[&["build", ".", "--enable-alpha-plugins"], &flags[..]].concat());
    let run = called(&dir, &[&["fn", "run", ".", "--dry-run"], &flags[..]].concat());
    assert_eq!(build, run);
    let pair = |a: &str, b: &str| build.windows(2).any(|two| two == [a, b]);
    assert!(pair("--network", "lab"), "{build:?}");
    let mount = format!("type=bind,source={}/data,target=/data,readonly", dir.display());
    assert!(pair("--mount", &mount), "{build:?}");
    assert!(pair("-e", "A=b"), "{build:?}");
}

#[test]
fn fn_eval_reads_mounts_and_variables_in_the_same_way() {
    let dir = place("eval");
    let flags = ["--network", "--mount", "type=bind,src=data,dst=/data", "-e", "A=b"];
    let eval = ["fn", "eval", ".", "--output", "stdout", "--image", "example.com/probe:v1"];
    let eval = called(&dir, &[&eval, &flags[..]].concat());
    let pair = |a: &str, b: &str| eval.windows(2).any(|two| two == [a, b]);
    let mount = format!("type=bind,source={}/data,target=/data,readonly", dir.display());
    assert!(pair("--mount", &mount) && pair("-e", "A=b") && pair("--network", "host"), "{eval:?}");
}

#[test]
fn the_network_is_none_unless_allowed_and_of_the_machine_unless_named() {
    let dir = place("network");
    let network = |args: &[&str]| {
        let called = called(&dir, args);
        let at = called.iter().position(|arg| arg == "--network").unwrap();
        called[at + 1].clone()
    };
    assert_eq!(network(&["build", ".", "--enable-alpha-plugins", "--network"]), "host");
    fs::write(dir.join("fn.yaml"), FUNCTION.replace("        network: true\n", "")).unwrap();
    assert_eq!(network(&["build", ".", "--enable-alpha-plugins", "--network"]), "none");
}
