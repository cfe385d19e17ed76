//! Starting programs: bytes in, bytes out.
//!
//! A [`Program`] says what to start; a [`Runtime`] starts it, within what its [`Policy`] allows and its limits leave
//! room for. This is the one place of the engine that touches processes, the environment and files of its own (the
//! caches), and it knows nothing of resources.

// Everywhere else in the engine these are forbidden.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod cache;
pub mod container;
mod digests;
pub mod exec;
pub mod plugin;
mod process;
mod signals;
mod tool;
#[cfg(feature = "wasm")]
mod wasi;
pub mod wasm;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use krm_yaml::{Diagnostic, Result};
use rustc_hash::FxHashMap;

use crate::pipeline::policy::Policy;
pub use container::{Image, Mount};
use digests::Digests;
pub use exec::Exec;
pub use tool::{Scratch, run_tool};
pub use wasm::Module;

/// What to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// A container image, through the docker, podman or nerdctl at hand.
    Image(Image),
    /// An executable of this machine.
    Exec(Exec),
    /// A WebAssembly module that speaks WASI preview 1.
    Wasm(Module),
}

impl Program {
    /// What the program is called in messages: the image, the path.
    pub fn name(&self) -> &str {
        match self {
            Program::Image(image) => &image.image,
            Program::Exec(exec) => &exec.path,
            Program::Wasm(module) => &module.path,
        }
    }
}

/// A variable for a function's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvVar {
    pub name: String,
    /// `None` passes on the value it has here.
    pub value: Option<String>,
}

impl EnvVar {
    /// Reads `NAME=value` or `NAME`.
    pub fn parse(text: &str) -> Self {
        match text.split_once('=') {
            Some((name, value)) => Self { name: name.into(), value: Some(value.into()) },
            None => Self { name: text.into(), value: None },
        }
    }

    /// The value it has, here if it is passed on.
    fn resolve(&self) -> Option<String> {
        self.value.clone().or_else(|| std::env::var(&self.name).ok())
    }
}

/// Variables every function gets: what the catalog's functions read to behave.
const STANDARD_ENV: [&str; 2] = ["LOG_TO_STDERR=true", "STRUCTURED_RESULTS=true"];

/// The variables set for a function, by name. Later ones win: ours, the function's own, the user's.
fn environment(own: &[EnvVar], policy: &Policy) -> Vec<EnvVar> {
    let standard = STANDARD_ENV.map(EnvVar::parse);
    let all = standard.iter().chain(own).chain(&policy.env);
    let by_name: std::collections::BTreeMap<&str, &EnvVar> =
        all.map(|var| (var.name.as_str(), var)).collect();
    by_name.into_values().cloned().collect()
}

/// What a program left behind.
#[derive(Clone, Debug)]
pub struct Output {
    pub stdout: Vec<u8>,
    /// The end of it, where it is long.
    pub stderr: Vec<u8>,
    /// How many bytes of stderr came before the ones kept.
    pub stderr_dropped: u64,
    pub status: Status,
    pub elapsed: Duration,
    /// Taken from the cache: nothing was started.
    pub cached: bool,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Exited(i32),
    /// By a signal.
    Killed(i32),
    /// Stopped by us, after this long.
    TimedOut(Duration),
    /// Stopped by us.
    TooMuchOutput,
    /// It ended, but a process it had started kept its output open.
    LeftOpen,
    /// A module did what it must not: ran out of memory, touched memory it does not have, executed `unreachable`.
    Trapped(String),
}

impl Status {
    pub fn is_success(&self) -> bool {
        *self == Status::Exited(0)
    }

    /// The exit status as a number, where it has one.
    pub fn code(&self) -> Option<i32> {
        match self {
            Status::Exited(code) => Some(*code),
            _ => None,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Exited(code) => write!(f, "exit status {code}"),
            Status::Killed(signal) => match rustix::process::Signal::from_named_raw(*signal) {
                Some(named) => write!(f, "killed by signal {signal} ({})", signal_name(named)),
                None => write!(f, "killed by signal {signal}"),
            },
            Status::TimedOut(after) => write!(f, "stopped after {} s, its time limit", after.as_secs_f64()),
            Status::TooMuchOutput => write!(f, "stopped for printing too much"),
            Status::LeftOpen => {
                write!(f, "it ended, but a process it had started kept its output open and was stopped")
            }
            Status::Trapped(why) => write!(f, "trapped: {why}"),
        }
    }
}

fn signal_name(signal: rustix::process::Signal) -> &'static str {
    use rustix::process::Signal as S;
    match signal {
        S::HUP => "SIGHUP",
        S::INT => "SIGINT",
        S::QUIT => "SIGQUIT",
        S::ILL => "SIGILL",
        S::ABORT => "SIGABRT",
        S::BUS => "SIGBUS",
        S::FPE => "SIGFPE",
        S::KILL => "SIGKILL",
        S::SEGV => "SIGSEGV",
        S::PIPE => "SIGPIPE",
        S::TERM => "SIGTERM",
        _ => "another signal",
    }
}

/// Starts programs. Made once for a run: it remembers the container engine it found and the modules it compiled.
pub struct Runtime {
    policy: Policy,
    engine: OnceLock<Result<container::Engine>>,
    wasm: OnceLock<Result<wasm::Engine>>,
    digests: Digests,
    locks: Mutex<FxHashMap<PathBuf, Arc<Mutex<()>>>>,
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Runtime {
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            engine: OnceLock::new(),
            wasm: OnceLock::new(),
            digests: Digests::default(),
            locks: Mutex::default(),
        }
    }

    /// What the user allows.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The lock for a folder that programs fill, so that two do not fill it at once.
    pub fn lock_of(&self, folder: &Path) -> Arc<Mutex<()>> {
        let mut all = self.locks.lock().expect("no one panics while holding the list of locks");
        all.entry(folder.to_owned()).or_default().clone()
    }

    /// Refuses what the user did not allow. Nothing is started; meant for planning, so that a pipeline does not stop
    /// half-way over a missing flag.
    pub fn check(&self, program: &Program) -> Result<()> {
        let policy = &self.policy;
        let name = program.name();
        if !policy.functions {
            return Err(Diagnostic::error(
                "functions-not-enabled",
                format!("`{name}` is a function, and functions are not enabled"),
            )
            .help(
                "functions run programs: where you trust this configuration, pass `--enable-alpha-plugins`",
            ));
        }
        match program {
            Program::Exec(_) if !policy.exec => {
                let message = format!("`{name}` is an executable, and executables are not enabled");
                Err(Diagnostic::error("exec-not-enabled", message).help(
                    "it would run with your rights: where you trust this configuration, pass `--enable-exec`",
                ))
            }
            Program::Image(image) if image.image.starts_with('-') => {
                // It would stand where the engine takes options.
                Err(Diagnostic::error("image-is-an-option", format!("no image can be called `{name}`"))
                    .help("name an image, as `registry.example.com/name:tag`"))
            }
            Program::Image(image) if image.network && !policy.network => {
                let message = format!("`{name}` asks for the network, which is not enabled");
                Err(Diagnostic::error("network-not-enabled", message)
                    .help("where you trust the function with it, pass `--network`"))
            }
            _ => Ok(()),
        }
    }

    /// Runs a program to its end, or takes its output from the cache. An error says that it could not be started; how
    /// it ended is in the output.
    pub fn run(&self, program: &Program, input: impl Into<Arc<Vec<u8>>>) -> Result<Output> {
        let input = input.into();
        self.check(program)?;
        let key = cache::key(self, program, &input);
        if let Some(output) = key.as_ref().and_then(cache::Key::load) {
            return Ok(output);
        }
        let output = match program {
            Program::Image(image) => self.engine()?.run(image, &self.policy, input),
            Program::Exec(exec) => exec.run(&self.policy, input),
            Program::Wasm(module) => self.wasm()?.run(module, &self.policy, &self.digests, input),
        }?;
        if let Some(key) = key.filter(|_| output.status.is_success()) {
            key.store(&output);
        }
        Ok(output)
    }

    fn engine(&self) -> Result<&container::Engine> {
        self.engine.get_or_init(|| container::Engine::find(&self.policy)).as_ref().map_err(Clone::clone)
    }

    fn wasm(&self) -> Result<&wasm::Engine> {
        self.wasm.get_or_init(|| wasm::Engine::new(&self.policy)).as_ref().map_err(Clone::clone)
    }
}
