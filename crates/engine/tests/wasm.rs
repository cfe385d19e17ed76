//! Modules, run for real: what they can do, what they cannot, and what stops them.
#![cfg(feature = "wasm")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use krm_engine::Policy;
use krm_engine::pipeline::policy::Keep;
use krm_engine::runtime::{EnvVar, Module, Output, Program, Runtime, Status};

/// A folder of this test alone, emptied.
fn folder(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("krm-wasm-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("the temporary folder can be written to");
    dir
}

fn policy() -> Policy {
    Policy { functions: true, ..Policy::default() }
}

fn start(name: &str, body: &str, policy: Policy, input: &[u8]) -> (Output, PathBuf) {
    let dir = folder(name);
    let text = format!(
        r#"(module
          (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
          (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
          (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
          (import "wasi_snapshot_preview1" "path_open"
            (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
          (import "wasi_snapshot_preview1" "sock_accept" (func $sock_accept (param i32 i32 i32) (result i32)))
          (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
          (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
          (import "wasi_snapshot_preview1" "environ_get" (func $environ_get (param i32 i32) (result i32)))
          (memory (export "memory") 2)
          (data (i32.const 200) "/etc/passwd")
          (func $print (param $fd i32) (param $at i32) (param $length i32)
            (i32.store (i32.const 100) (local.get $at))
            (i32.store (i32.const 104) (local.get $length))
            (drop (call $fd_write (local.get $fd) (i32.const 100) (i32.const 1) (i32.const 108))))
          (func (export "_start") {body}))"#
    );
    let path = dir.join("fn.wasm");
    std::fs::write(&path, wat::parse_str(text).expect("the module is well formed"))
        .expect("it can be written");
    let policy = Policy { cache_dir: Some(dir.join("cache")), ..policy };
    let module = Module {
        path: path.to_str().expect("the temporary folder has a name in UTF-8").into(),
        args: vec![],
        env: vec![EnvVar::parse("A=1")],
    };
    let output = Runtime::new(policy).run(&Program::Wasm(module), input.to_vec()).expect("the module starts");
    (output, dir)
}

const COPY: &str = "(loop $more
    (i32.store (i32.const 0) (i32.const 1000))
    (i32.store (i32.const 4) (i32.const 4096))
    (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
    (call $print (i32.const 1) (i32.const 1000) (i32.load (i32.const 8)))
    (br_if $more (i32.load (i32.const 8))))";

#[test]
fn a_module_reads_stdin_and_writes_stdout() {
    let input = vec![b'x'; 100_000];
    let (output, _) = start("copy", COPY, policy(), &input);
    assert_eq!(output.status, Status::Exited(0));
    assert!(output.stdout == input);
}

#[test]
fn compiled_code_is_kept_and_used_again() {
    let (_, dir) = start("kept", COPY, policy(), b"a");
    let kept: Vec<_> = std::fs::read_dir(dir.join("cache/modules")).expect("it was made").collect();
    assert_eq!(kept.len(), 1);
    let file = kept[0].as_ref().expect("it can be read").path();
    let written = file.metadata().expect("it is there").modified().expect("it has a time");
    let module = Module { path: dir.join("fn.wasm").to_str().unwrap().into(), args: vec![], env: vec![] };
    let policy = Policy { cache_dir: Some(dir.join("cache")), ..policy() };
    let output = Runtime::new(policy.clone()).run(&Program::Wasm(module.clone()), b"b".to_vec()).unwrap();
    assert_eq!(output.stdout, b"b");
    assert_eq!(file.metadata().unwrap().modified().unwrap(), written, "it was not compiled again");
    // Half a file, as of a disk that was full, is no reason to fail.
    std::fs::write(&file, b"half").unwrap();
    let output = Runtime::new(policy).run(&Program::Wasm(module), b"c".to_vec()).unwrap();
    assert_eq!(output.stdout, b"c");
}

#[test]
fn outputs_are_kept_only_on_demand() {
    let (_, dir) = start("outputs", COPY, policy(), b"a");
    assert!(!dir.join("cache/outputs").exists());
    let module = Module { path: dir.join("fn.wasm").to_str().unwrap().into(), args: vec![], env: vec![] };
    let policy = Policy { cache_dir: Some(dir.join("cache")), cache: Keep::Sandboxed, ..policy() };
    let run = |input: &[u8], module: &Module| {
        Runtime::new(policy.clone()).run(&Program::Wasm(module.clone()), input.to_vec()).unwrap()
    };
    assert!(!run(b"a", &module).cached);
    let again = run(b"a", &module);
    assert!(again.cached && again.stdout == b"a");
    assert!(!run(b"b", &module).cached);
    assert!(!run(b"a", &Module { args: vec!["x".into()], ..module }).cached);
}

#[test]
fn files_and_sockets_are_refused() {
    let body = "(if (i32.ne (i32.const 76)
        (call $path_open (i32.const 3) (i32.const 0) (i32.const 200) (i32.const 11) (i32.const 0)
          (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 300)))
        (then (call $proc_exit (i32.const 1))))
      (if (i32.ne (i32.const 76) (call $sock_accept (i32.const 3) (i32.const 0) (i32.const 300)))
        (then (call $proc_exit (i32.const 2))))
      (call $proc_exit (i32.const 7))";
    assert_eq!(start("files", body, policy(), b"").0.status, Status::Exited(7));
}

#[test]
fn chance_and_time_are_the_same_every_time() {
    let body = "(drop (call $random_get (i32.const 400) (i32.const 16)))
      (drop (call $clock (i32.const 0) (i64.const 0) (i32.const 416)))
      (call $print (i32.const 1) (i32.const 400) (i32.const 24))";
    let (first, _) = start("chance-1", body, policy(), b"");
    let (second, _) = start("chance-2", body, policy(), b"");
    assert_eq!(first.stdout.len(), 24);
    assert_eq!(first.stdout, second.stdout);
}

#[test]
fn a_loop_is_stopped() {
    let mut policy = policy();
    policy.limits.timeout = Duration::from_millis(200);
    let start_time = Instant::now();
    let (output, _) = start("loop", "(loop $for_ever (br $for_ever))", policy, b"");
    assert_eq!(output.status, Status::TimedOut(Duration::from_millis(200)));
    assert!(start_time.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_glutton_is_stopped() {
    let mut policy = policy();
    policy.limits.memory = 16 << 20;
    let body = "(loop $more (drop (memory.grow (i32.const 16))) (br $more))";
    let (output, _) = start("memory", body, policy, b"");
    assert_eq!(output.status, Status::Trapped("it wanted more than 16 MiB of memory".into()));
}

#[test]
fn endless_output_is_cut_off() {
    let mut policy = policy();
    policy.limits.output = 1 << 20;
    let body = "(loop $more (call $print (i32.const 1) (i32.const 0) (i32.const 65536)) (br $more))";
    assert_eq!(start("endless", body, policy, b"").0.status, Status::TooMuchOutput);
}

#[test]
fn a_trap_tells_its_reason_and_stderr() {
    let body = "(call $print (i32.const 2) (i32.const 205) (i32.const 6)) unreachable";
    let (output, _) = start("trap", body, policy(), b"");
    assert!(
        matches!(&output.status, Status::Trapped(why) if why.contains("unreachable")),
        "{:?}",
        output.status
    );
    assert_eq!(output.stderr, b"passwd");
}

#[test]
fn addresses_outside_the_memory_are_no_way_out() {
    let body = "(i32.store (i32.const 100) (i32.const -16))
      (i32.store (i32.const 104) (i32.const -1))
      (call $proc_exit (call $fd_write (i32.const 1) (i32.const 100) (i32.const 1) (i32.const 108)))";
    assert_eq!(start("outside", body, policy(), b"").0.status, Status::Exited(21));
    let body = "(call $proc_exit (call $environ_get (i32.const -4) (i32.const -4)))";
    assert_eq!(start("outside-env", body, policy(), b"").0.status, Status::Exited(21));
}

#[test]
fn what_is_no_module_is_told() {
    let dir = folder("no-module");
    std::fs::write(dir.join("fn.wasm"), b"not wasm").unwrap();
    for (name, told) in
        [("fn.wasm", "is no module we can run"), ("none.wasm", "cannot be read: No such file")]
    {
        let module = Module { path: dir.join(name).to_str().unwrap().into(), args: vec![], env: vec![] };
        let error = Runtime::new(policy()).run(&Program::Wasm(module), vec![]).unwrap_err();
        assert_eq!(error.code(), "wasm-not-loaded");
        assert!(error.to_string().contains(told), "{error}");
    }
}
