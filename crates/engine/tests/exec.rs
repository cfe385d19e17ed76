//! Executables, started for real: what comes back, and what happens to those that misbehave.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use krm_engine::Policy;
use krm_engine::policy::{Keep, Limits};
use krm_engine::runtime::reapi::Digest;
use krm_engine::runtime::{Action, Call, EnvVar, Exec, Identity, Output, Program, Runner, Runtime, Status};

fn policy() -> Policy {
    let limits = Limits { timeout: Duration::from_secs(20), ..Limits::default() };
    Policy { functions: true, exec: true, limits, ..Policy::default() }
}

fn shell(script: &str) -> Program {
    Program::Exec(Exec {
        path: "sh".into(),
        args: vec!["-c".into(), script.into()],
        env: vec![EnvVar::parse("GREETING=a=b")],
        dir: std::env::temp_dir(),
    })
}

fn run(script: &str, policy: Policy, input: &[u8]) -> Output {
    Runtime::new(policy).run(&shell(script), input.to_vec()).expect("sh can be started")
}

#[test]
fn bytes_go_in_and_come_out() {
    let input: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let output = run("cat; echo done >&2", policy(), &input);
    assert!(output.stdout == input, "12 MB come back as they went in");
    assert_eq!(output.stderr, b"done\n");
    assert_eq!(output.status, Status::Exited(0));
}

#[test]
fn the_exit_status_and_the_end_of_stderr_are_reported() {
    let output = run("yes noise | head -c 1000000 >&2; echo the reason >&2; exit 3", policy(), b"");
    assert_eq!(output.status, Status::Exited(3));
    assert!(output.stderr.ends_with(b"the reason\n"));
    assert!(output.stderr.len() < 200_000 && output.stderr_dropped > 800_000);
    assert_eq!(run("kill -9 $$", policy(), b"").status, Status::Killed(9));
    assert_eq!(Status::Killed(9).to_string(), "killed by signal 9 (SIGKILL)");
}

#[test]
fn a_time_limit_ends_all_that_was_started() {
    let dir = tempfile::tempdir().expect("the temporary folder is writable");
    let marker = dir.path().join("marker");
    let script = format!("(sleep 3; touch {}) & cat >/dev/null; sleep 60", marker.display());
    let mut policy = policy();
    policy.limits.timeout = Duration::from_millis(300);
    let start = Instant::now();
    let output = run(&script, policy, b"x");
    assert_eq!(output.status, Status::TimedOut(Duration::from_millis(300)));
    assert!(start.elapsed() < Duration::from_secs(3));
    std::thread::sleep(Duration::from_millis(3500));
    assert!(!marker.exists(), "the process in the background was ended too");
}

#[test]
fn endless_output_is_cut_off() {
    let mut policy = policy();
    policy.limits.output = 1 << 20;
    assert_eq!(run("yes", policy, b"").status, Status::TooMuchOutput);
}

#[test]
fn unread_input_is_not_an_error() {
    let input = vec![b'x'; 1 << 20];
    assert_eq!(run("exec <&-; echo ok", policy(), &input).stdout, b"ok\n");
}

#[test]
fn a_process_that_keeps_the_output_open_is_noticed() {
    let start = Instant::now();
    assert_eq!(run("sleep 30 & echo started", policy(), b"").status, Status::LeftOpen);
    assert!(start.elapsed() < Duration::from_secs(10));
    // One that drops it is merely ended.
    let output = run("sleep 30 >/dev/null 2>&1 & echo started", policy(), b"");
    assert_eq!((output.status, output.stdout.as_slice()), (Status::Exited(0), &b"started\n"[..]));
}

#[test]
fn the_environment_is_ours_and_what_was_declared() {
    let mut policy = policy();
    policy.env = vec![EnvVar::parse("GREETING=c=d"), EnvVar::parse("PATH")];
    assert_eq!(run("echo $GREETING", policy, b"").stdout, b"c=d\n");
    assert_eq!(run("echo $GREETING $PATH | cut -c1-5", self::policy(), b"").stdout, b"a=b /\n");
}

#[test]
fn what_cannot_be_started_is_reported() {
    let start = |path: &str, dir: &str| {
        let exec = Exec { path: path.into(), args: vec![], env: vec![], dir: dir.into() };
        Runtime::new(policy()).run(&Program::Exec(exec), vec![]).unwrap_err()
    };
    assert_eq!(
        start("no-such-program", "/tmp").message(),
        "`no-such-program` cannot be started: it is not in PATH"
    );
    assert!(start("./no/such", "/tmp").message().ends_with("there is no such file"));
    assert!(start("/etc/passwd", "/tmp").message().ends_with("it is not executable"));
    assert_eq!(start("cat", "/").code(), "exec-bad-folder");
}

#[test]
fn nothing_starts_that_was_not_allowed() {
    let refused = |policy| Runtime::new(policy).run(&shell("echo no"), vec![]).unwrap_err().code();
    assert_eq!(refused(Policy::default()), "functions-not-enabled");
    assert_eq!(refused(Policy { functions: true, ..Policy::default() }), "exec-not-enabled");
}

#[test]
fn outputs_of_executables_are_kept_only_when_all_are() {
    let top = tempfile::tempdir().expect("the temporary folder is writable");
    let dir = top.path().join("cache");
    let runs = |cache| {
        let policy = || Policy { cache_dir: Some(dir.clone()), cache, ..policy() };
        [run("cat; echo noted >&2", policy(), b"a"), run("cat; echo noted >&2", policy(), b"a")]
    };
    for cache in [Keep::Nothing, Keep::Sandboxed] {
        assert!(runs(cache).iter().all(|output| !output.cached), "{cache:?}");
    }
    let [first, second] = runs(Keep::Everything);
    assert!(!first.cached && second.cached);
    assert_eq!((second.stdout, second.stderr), (first.stdout, first.stderr));
    let failing =
        || run("exit 1", Policy { cache_dir: Some(dir.clone()), cache: Keep::Everything, ..policy() }, b"");
    assert!(!failing().cached && !failing().cached, "a failure is worth another try");
}

#[test]
fn a_time_limit_may_be_longer_than_the_clock_reaches() {
    let mut policy = policy();
    policy.limits.timeout = Duration::MAX;
    assert_eq!(run("echo ok", policy, b"").stdout, b"ok\n");
}

/// An engine elsewhere: it knows what a call is by its description.
struct Elsewhere;

impl Runner for Elsewhere {
    fn describe(&self, call: &Call) -> Option<Action> {
        let program = Identity::Executable(Digest::of(call.program.name().as_bytes()));
        Some(Action::new(program, &call.policy.limits, &call.input))
    }

    fn run(&self, call: &Call) -> krm_engine::Result<Output> {
        let action = self.describe(call).expect("it describes everything");
        Ok(Output {
            stdout: action.digest().hash.into_bytes(),
            stderr: Vec::new(),
            stderr_dropped: 0,
            status: Status::Exited(0),
            elapsed: Duration::ZERO,
            cached: false,
            fault: None,
        })
    }
}

#[test]
fn another_runner_gets_what_the_policy_allows_and_nothing_else() {
    let runtime = |policy| Runtime::with_runner(policy, Arc::new(Elsewhere));
    let output = runtime(policy()).run(&shell("never started here"), vec![]).unwrap();
    assert_eq!(output.stdout.len(), 64, "the digest of the description");
    assert_eq!(
        runtime(Policy::default()).run(&shell("echo no"), vec![]).unwrap_err().code(),
        "functions-not-enabled"
    );
}
