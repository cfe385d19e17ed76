//! What a program left behind.

use std::fmt;
use std::time::Duration;

use krm_yaml::Diagnostic;

/// What a program printed, and how it ended.
#[derive(Clone, Debug)]
pub struct Output {
    /// All it printed, within the limit.
    pub stdout: Vec<u8>,
    /// The end of it, if it is long.
    pub stderr: Vec<u8>,
    /// How many bytes of stderr came before the ones kept.
    pub stderr_dropped: u64,
    /// How it ended.
    pub status: Status,
    /// How long the call took.
    pub elapsed: Duration,
    /// Taken from the cache: nothing was started.
    pub cached: bool,
    /// Why the program was never started, though the engine that runs it was.
    pub fault: Option<Diagnostic>,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// By itself, with this status.
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
    /// Whether it ended by itself with status 0.
    pub fn is_success(&self) -> bool {
        *self == Status::Exited(0)
    }

    /// The exit status as a number, if it has one.
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
            Status::Killed(signal) => match signal_name(*signal) {
                Some(name) => write!(f, "killed by signal {signal} ({name})"),
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

fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => return None,
    })
}
