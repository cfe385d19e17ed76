#![no_main]
//! A module that makes the calls its input asks for, with any arguments: the host neither panics nor hangs, touches nothing
//! but the module's own memory, and answers the same a second time.

use std::sync::LazyLock;
use std::time::Duration;

use krm_engine::Policy;
use krm_engine::runtime::{EnvVar, Module, Output, Program, Runtime, Status};

/// The calls, by the number that stands for them, and how many `i32`s each takes. An `L` in a type is an `i64`, made of one of them.
const CALLS: &[(&str, &str)] = &[
    ("fd_read", "iiii"),
    ("fd_write", "iiii"),
    ("args_get", "ii"),
    ("args_sizes_get", "ii"),
    ("environ_get", "ii"),
    ("environ_sizes_get", "ii"),
    ("clock_time_get", "iLi"),
    ("clock_res_get", "ii"),
    ("random_get", "ii"),
    ("poll_oneoff", "iiii"),
    ("fd_fdstat_get", "ii"),
    ("fd_filestat_get", "ii"),
    ("fd_close", "i"),
    ("fd_sync", "i"),
    ("fd_fdstat_set_flags", "ii"),
    ("fd_seek", "iLii"),
    ("fd_tell", "ii"),
    ("fd_prestat_get", "ii"),
    ("fd_prestat_dir_name", "iii"),
    ("sched_yield", ""),
    ("path_open", "iiiiiLLii"),
    ("path_filestat_get", "iiiii"),
    ("fd_readdir", "iiiLi"),
    ("fd_pread", "iiiLi"),
    ("sock_recv", "iiiiii"),
];

/// One call in the input: its number, then four numbers, which calls of more than four arguments use again.
const RECORD: usize = 17;
/// Where the calls are kept, and for how many bytes of the input. What is left of it can be read by `fd_read`.
const CALLS_AT: usize = 1024;
const CALLS_READ: usize = 2048;

fn module() -> String {
    let mut imports = String::new();
    let mut arms = String::new();
    for (number, (name, arguments)) in CALLS.iter().enumerate() {
        let types = arguments.chars().map(|c| if c == 'L' { " i64" } else { " i32" }).collect::<String>();
        let params = if types.is_empty() { String::new() } else { format!("(param{types})") };
        imports += &format!(
            "(import \"wasi_snapshot_preview1\" \"{name}\" (func ${name} {params} (result i32)))\n"
        );
        let values: String = arguments
            .chars()
            .enumerate()
            .map(|(i, c)| {
                let load = format!("(i32.load offset={} (local.get $p))", 1 + 4 * (i % 4));
                if c == 'L' { format!("(i64.extend_i32_s {load})") } else { load }
            })
            .collect();
        arms += &format!(
            "(if (i32.eq (local.get $call) (i32.const {number}))
               (then (i32.store8 (i32.const 16) (call ${name} {values}))))\n"
        );
    }
    format!(
        r#"(module {imports}
          (memory (export "memory") 2)
          (func (export "_start") (local $p i32) (local $end i32) (local $call i32)
            (i32.store (i32.const 0) (i32.const {CALLS_AT}))
            (i32.store (i32.const 4) (i32.const {CALLS_READ}))
            (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
            (local.set $p (i32.const {CALLS_AT}))
            (local.set $end (i32.add (i32.const {CALLS_AT}) (i32.load (i32.const 8))))
            (block $done (loop $next
              (br_if $done (i32.gt_u (i32.add (local.get $p) (i32.const {RECORD})) (local.get $end)))
              (local.set $call (i32.rem_u (i32.load8_u (local.get $p)) (i32.const {count})))
              {arms}
              (local.set $p (i32.add (local.get $p) (i32.const {RECORD})))
              (br $next)))
            ;; All that the calls left in memory.
            (i32.store (i32.const 0) (i32.const 16))
            (i32.store (i32.const 4) (i32.const 131000))
            (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#,
        count = CALLS.len(),
    )
}

static PROGRAM: LazyLock<(Runtime, Program)> = LazyLock::new(|| {
    let path = std::env::temp_dir().join(format!("krm-fuzz-wasi-{}.wasm", std::process::id()));
    std::fs::write(&path, wat::parse_str(module()).expect("the module is well formed")).expect("it is written");
    let mut policy = Policy { functions: true, ..Policy::default() };
    policy.limits.timeout = Duration::from_secs(10);
    let path = path.to_str().expect("the temporary folder has a name in UTF-8").to_owned();
    let env = vec![EnvVar::parse("A=1"), EnvVar::parse("LONGER=some words")];
    (Runtime::new(policy), Program::Wasm(Module { path, args: vec!["one".into(), "two words".into()], env }))
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let (runtime, program) = &*PROGRAM;
    let run = || -> Output { runtime.run(program, input.to_vec()).expect("the module starts") };
    let (first, second) = (run(), run());
    assert!(!matches!(first.status, Status::TimedOut(_)), "it took too long");
    assert_eq!(first.stdout, second.stdout);
    assert_eq!(first.stderr, second.stderr);
});
