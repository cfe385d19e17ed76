//! Modules, run for real: what they can do, what they cannot, and what stops them.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]
#![cfg(feature = "wasm")]

use std::time::{Duration, Instant};

use krm_engine::Policy;
use krm_engine::policy::Keep;
use krm_engine::runtime::{EnvVar, Module, Output, Program, Runtime, Status};
use tempfile::TempDir;

/// A folder of this test alone.
fn folder() -> TempDir {
    tempfile::tempdir().expect("the temporary folder can be written to")
}

fn policy() -> Policy {
    Policy { functions: true, ..Policy::default() }
}

fn start(body: &str, policy: Policy, input: &[u8]) -> (Output, TempDir) {
    let dir = folder();
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
    let path = dir.path().join("fn.wasm");
    std::fs::write(&path, wat::parse_str(text).expect("the module is well formed"))
        .expect("it can be written");
    let policy = Policy { cache_dir: Some(dir.path().join("cache")), ..policy };
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
    let (output, _) = start(COPY, policy(), &input);
    assert_eq!(output.status, Status::Exited(0));
    assert!(output.stdout == input);
}

#[test]
fn outputs_are_kept_only_on_demand() {
    let (_, dir) = start(COPY, policy(), b"a");
    assert!(!dir.path().join("cache/outputs").exists());
    let module =
        Module { path: dir.path().join("fn.wasm").to_str().unwrap().into(), args: vec![], env: vec![] };
    let policy = Policy { cache_dir: Some(dir.path().join("cache")), cache: Keep::Sandboxed, ..policy() };
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
    assert_eq!(start(body, policy(), b"").0.status, Status::Exited(7));
}

#[test]
fn chance_and_time_are_the_same_every_time() {
    let body = "(drop (call $random_get (i32.const 400) (i32.const 16)))
      (drop (call $clock (i32.const 0) (i64.const 0) (i32.const 416)))
      (call $print (i32.const 1) (i32.const 400) (i32.const 24))";
    let (first, _) = start(body, policy(), b"");
    let (second, _) = start(body, policy(), b"");
    assert_eq!(first.stdout.len(), 24);
    assert_eq!(first.stdout, second.stdout);
}

#[test]
fn a_loop_is_stopped() {
    let mut policy = policy();
    policy.limits.timeout = Duration::from_millis(200);
    let start_time = Instant::now();
    let (output, _) = start("(loop $for_ever (br $for_ever))", policy, b"");
    assert_eq!(output.status, Status::TimedOut(Duration::from_millis(200)));
    assert!(start_time.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_glutton_is_stopped() {
    let mut policy = policy();
    policy.limits.memory = 16 << 20;
    let body = "(loop $more (drop (memory.grow (i32.const 16))) (br $more))";
    let (output, _) = start(body, policy, b"");
    assert_eq!(output.status, Status::Trapped("it wanted more than 16 MiB of memory".into()));
}

#[test]
fn endless_output_is_cut_off() {
    let mut policy = policy();
    policy.limits.output = 1 << 20;
    let body = "(loop $more (call $print (i32.const 1) (i32.const 0) (i32.const 65536)) (br $more))";
    assert_eq!(start(body, policy, b"").0.status, Status::TooMuchOutput);
}

#[test]
fn a_trap_tells_its_reason_and_stderr() {
    let body = "(call $print (i32.const 2) (i32.const 205) (i32.const 6)) unreachable";
    let (output, _) = start(body, policy(), b"");
    assert!(
        matches!(&output.status, Status::Trapped(why) if why.contains("unreachable")),
        "{:?}",
        output.status
    );
    assert_eq!(output.stderr, b"passwd");
}

#[test]
fn addresses_outside_the_memory_are_refused() {
    let body = "(i32.store (i32.const 100) (i32.const -16))
      (i32.store (i32.const 104) (i32.const -1))
      (call $proc_exit (call $fd_write (i32.const 1) (i32.const 100) (i32.const 1) (i32.const 108)))";
    assert_eq!(start(body, policy(), b"").0.status, Status::Exited(21));
    let body = "(call $proc_exit (call $environ_get (i32.const -4) (i32.const -4)))";
    assert_eq!(start(body, policy(), b"").0.status, Status::Exited(21));
}

#[test]
fn what_is_not_a_module_is_reported() {
    let dir = folder();
    std::fs::write(dir.path().join("fn.wasm"), b"not wasm").unwrap();
    for (name, message) in
        [("fn.wasm", "is not a module krm can run"), ("none.wasm", "cannot be read: No such file")]
    {
        let module =
            Module { path: dir.path().join(name).to_str().unwrap().into(), args: vec![], env: vec![] };
        let error = Runtime::new(policy()).run(&Program::Wasm(module), vec![]).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
}

/// A module that is text as it is, without what the others have in common.
fn run_text(text: &str, policy: Policy) -> Result<Output, krm_engine::Diagnostic> {
    let dir = folder();
    let path = dir.path().join("fn.wasm");
    std::fs::write(&path, wat::parse_str(text).expect("the module is well formed"))
        .expect("it can be written");
    let module = Module { path: path.to_str().unwrap().into(), args: vec![], env: vec![] };
    Runtime::new(policy).run(&Program::Wasm(module), vec![])
}

fn within(timeout: u64) -> Policy {
    let mut policy = policy();
    policy.limits.timeout = Duration::from_millis(timeout);
    policy
}

#[test]
fn a_time_limit_holds_within_calls_to_the_host() {
    // Each call asks for 8,000 buffers of a megabyte, to where it costs no memory; and that forever.
    let write = r#"(module
        (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 32)
        (func (export "_start") (local $i i32)
          (loop $fill
            (i32.store (i32.mul (local.get $i) (i32.const 8)) (i32.const 65536))
            (i32.store (i32.add (i32.mul (local.get $i) (i32.const 8)) (i32.const 4)) (i32.const 1048576))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $fill (i32.lt_u (local.get $i) (i32.const 8000))))
          (loop $for_ever
            (drop (call $write (i32.const 2) (i32.const 0) (i32.const 8000) (i32.const 65528)))
            (br $for_ever))))"#;
    let chance = r#"(module
        (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
        (memory (export "memory") 512)
        (func (export "_start")
          (loop $for_ever (drop (call $random (i32.const 0) (i32.const 16777216))) (br $for_ever))))"#;
    for (name, text) in [("writes", write), ("chance", chance)] {
        let start = Instant::now();
        let output = run_text(text, within(300)).expect("the module starts");
        assert_eq!(output.status, Status::TimedOut(Duration::from_millis(300)), "{name}");
        assert!(start.elapsed() < Duration::from_secs(5), "{name} took {:?}", start.elapsed());
    }
}

#[test]
fn one_call_cannot_make_the_host_fill_the_memory() {
    // A list of a hundred million buffers or events, of which each would take room.
    let text = r#"(module
        (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
        (memory (export "memory") 16384)
        (func (export "_start")
          (if (i32.ne (i32.const 0) (call $read (i32.const 0) (i32.const 0) (i32.const 100000000) (i32.const 0)))
            (then (call $exit (i32.const 1))))
          (if (i32.ne (i32.const 28) (call $poll (i32.const 0) (i32.const 0) (i32.const 20000000) (i32.const 0)))
            (then (call $exit (i32.const 2))))
          (if (i32.ne (i32.const 28) (call $random (i32.const 0) (i32.const 1000000000)))
            (then (call $exit (i32.const 3))))))"#;
    assert_eq!(run_text(text, policy()).unwrap().status, Status::Exited(0));
}

#[test]
fn memory_is_counted_for_the_module_as_a_whole() {
    let mut policy = policy();
    policy.limits.memory = 1 << 20;
    // What a module begins with counts as what it asks for later does.
    let output =
        run_text(r#"(module (memory (export "memory") 1000) (func (export "_start")))"#, policy.clone());
    assert_eq!(output.unwrap().status, Status::Trapped("it wanted more than 1 MiB of memory".into()));
    let two = r#"(module (memory 10) (memory 10) (func (export "_start")))"#;
    assert!(run_text(two, policy).is_err(), "one memory is all there is");
}

#[test]
fn what_is_set_up_counts_as_time() {
    let text =
        r#"(module (func $start (loop $for_ever (br $for_ever))) (start $start) (func (export "_start")))"#;
    let start = Instant::now();
    let output = run_text(text, within(300)).unwrap();
    assert_eq!(output.status, Status::TimedOut(Duration::from_millis(300)));
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn a_module_that_is_hard_to_translate_is_bounded() {
    // A table of jumps, each of which would move a thousand values.
    let types = "i64 ".repeat(900);
    let values = "(i64.const 0)".repeat(900);
    let targets = "0 ".repeat(60_000);
    let text = format!(
        "(module (func $f (result {types}) (block (result {types}) {values} (br_table {targets} (i32.const 1))))
         (func (export \"_start\") (call $f) {}))",
        "drop ".repeat(900)
    );
    let start = Instant::now();
    let output = run_text(&text, within(1000));
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}: {output:?}", start.elapsed());
}

#[test]
fn only_regular_files_are_read() {
    let dir = folder();
    let fifo = dir.path().join("fn.wasm");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for path in [fifo.to_str().unwrap(), "/dev/zero", "/"] {
        let module = Module { path: path.into(), args: vec![], env: vec![] };
        let error = Runtime::new(policy()).run(&Program::Wasm(module), vec![]).unwrap_err();
        assert_eq!(error.message(), format!("`{path}` cannot be read: it is not a regular file"));
    }
}
