//! A process that stands between this one and a program, and sees to it that nothing the program starts is left.
//!
//! What a program starts may leave its process group, and even be given up by it; the kernel then hands it to the nearest
//! ancestor that asked for it, which is the supervisor. When the program ends, or this process does (by whatever signal),
//! the supervisor ends all that is below it, and the container with it.
//!
//! It is this very program, started with [`COMMAND`] as its first argument: `main` calls [`main`].

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process,
    set_child_subreaper, set_dumpable_behavior, set_parent_process_death_signal, wait,
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::process::GRACE;
use super::sandbox::Confinement;
use super::{Output, Status, signals};

/// The first argument of a process that is to be a supervisor.
pub const COMMAND: &str = "__supervise";

/// Whether the program is to be confined before it starts, by what this variable says.
const CONFINED: &str = "confined";
const FREE: &str = "free";
const CONFINEMENT: &str = "KRM_CONFINEMENT";

/// How a supervisor ends, to say what no exit status can: by signals that nothing else sends.
const LEFT_OPEN: i32 = 30;
const NOT_STARTED: i32 = 16;

/// The command that runs another one under supervision.
pub(super) fn wrap(
    supervisor: &Path,
    command: &Command,
    confinement: Option<&Confinement>,
    stop: &[String],
) -> Command {
    let mut wrapped = Command::new(supervisor);
    wrapped.arg0("krm").arg(COMMAND).arg(getpid().as_raw_nonzero().to_string());
    wrapped.arg(stop.len().to_string()).args(stop);
    wrapped.arg(if confinement.is_some() { CONFINED } else { FREE });
    wrapped.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        wrapped.current_dir(dir);
    }
    // Not by an argument: those of a process can be read by everyone.
    if let Some(confinement) = confinement {
        wrapped.env(CONFINEMENT, confinement.text());
    }
    wrapped
}

/// What became of the program itself.
pub(super) fn read(output: Output) -> io::Result<Output> {
    let number = || std::str::from_utf8(&output.stderr).ok()?.trim().parse().ok();
    match output.status {
        Status::Killed(LEFT_OPEN) => Ok(Output { status: Status::LeftOpen, ..output }),
        Status::Killed(NOT_STARTED) => match number() {
            Some(number) => Err(io::Error::from_raw_os_error(number)),
            None => Ok(output),
        },
        _ => Ok(output),
    }
}

/// Supervises a program, and ends as it does. The arguments are those after [`COMMAND`].
pub fn main(args: impl IntoIterator<Item = OsString>) -> ! {
    let Some(order) = Order::read(args) else {
        eprintln!("krm: this command is for krm itself");
        std::process::exit(2);
    };
    match order.start() {
        Ok(mut supervisor) => {
            let end = supervisor.watch();
            if let Some(confinement) = &supervisor.confinement {
                confinement.remove();
            }
            end_as(end)
        }
        Err(error) => {
            eprint!("{}", error.raw_os_error().unwrap_or_default());
            let _ = io::stderr().flush();
            end_as(End::Signal(NOT_STARTED))
        }
    }
}

/// What a supervisor is asked to do.
struct Order {
    parent: i32,
    /// The command that stops what is not below this process: a container.
    stop: Vec<String>,
    confinement: Option<Confinement>,
    program: OsString,
    args: Vec<OsString>,
}

/// How a program ended.
#[derive(Clone, Copy)]
enum End {
    Exit(i32),
    Signal(i32),
}

impl From<WaitStatus> for End {
    fn from(status: WaitStatus) -> Self {
        match status.exit_status() {
            Some(code) => End::Exit(code),
            None => End::Signal(status.terminating_signal().unwrap_or(9)),
        }
    }
}

impl Order {
    fn read(args: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut args = args.into_iter();
        let mut number = || args.next()?.to_str()?.parse::<i32>().ok();
        let (parent, count) = (number()?, number()?);
        let stop = (0..count).map(|_| args.next()?.into_string().ok()).collect::<Option<_>>()?;
        let confinement = match args.next()?.to_str()? {
            CONFINED => Some(Confinement::read(&std::env::var(CONFINEMENT).ok()?)?),
            _ => None,
        };
        Some(Self { parent, stop, confinement, program: args.next()?, args: args.collect() })
    }

    fn start(self) -> io::Result<Supervisor> {
        // Set before anything is started, so that no signal is missed.
        let signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD])?;
        // A system that forbids these protects less; the program runs all the same.
        let _ = set_child_subreaper(Some(getpid()));
        let _ = set_parent_process_death_signal(Some(Signal::TERM));
        // It passes on how the program ended; there is nothing of its own worth a core dump.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        if getppid().map(Pid::as_raw_pid) != Some(self.parent) {
            // Too late: nobody waits for it any more.
            std::process::exit(1);
        }
        let streams = [1, 2].map(|number| fs::read_link(format!("/proc/self/fd/{number}")).ok());
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        let child = match &self.confinement {
            Some(confinement) => confinement.spawn(command)?,
            None => command.spawn()?,
        };
        // Only the program keeps the streams open: that it closes them must be noticed.
        let nowhere = fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdin(&nowhere)?;
        rustix::stdio::dup2_stdout(&nowhere)?;
        rustix::stdio::dup2_stderr(&nowhere)?;
        let child = Pid::from_child(&child);
        let streams = streams.into_iter().flatten().collect();
        Ok(Supervisor { child, stop: self.stop, confinement: self.confinement, signals, streams })
    }
}

struct Supervisor {
    child: Pid,
    stop: Vec<String>,
    confinement: Option<Confinement>,
    signals: Signals,
    /// What the program prints to, by what the system calls it.
    streams: Vec<PathBuf>,
}

impl Supervisor {
    /// Waits until the program ends or is to end.
    fn watch(&mut self) -> End {
        loop {
            if let Some(end) = self.reap() {
                return self.after(end);
            }
            let asked = self.signals.wait().any(|signal| signal != SIGCHLD);
            if asked {
                return self.end_all();
            }
        }
    }

    /// How the program ended, if it did.
    fn reap(&self) -> Option<End> {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == self.child {
                return Some(status.into());
            }
        }
        None
    }

    /// The program has ended. What it left is given a moment if it may still print something.
    fn after(&mut self, end: End) -> End {
        // An engine's own processes clean up after a container, and are not the function's.
        if !self.stop.is_empty() {
            return end;
        }
        let deadline = Instant::now() + GRACE;
        while has_children() && self.holds_streams() && Instant::now() < deadline {
            if self.signals.pending().any(|signal| signal != SIGCHLD) {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let end = if has_children() && self.holds_streams() { End::Signal(LEFT_OPEN) } else { end };
        sweep();
        end
    }

    /// Ends the program and everything it started.
    fn end_all(&mut self) -> End {
        if !self.stop.is_empty() {
            signals::stop(&self.stop);
            // The container is gone; what is here ends by itself, and tidies up on the way.
            let deadline = Instant::now() + GRACE;
            while Instant::now() < deadline {
                if let Some(end) = self.reap() {
                    return end;
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
        sweep();
        End::Signal(9)
    }

    /// Whether anything below still holds what the program printed to.
    fn holds_streams(&self) -> bool {
        let holds = |pid: i32| {
            let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            open.filter_map(|fd| fs::read_link(fd.path()).ok()).any(|to| self.streams.contains(&to))
        };
        descendants().into_iter().any(holds)
    }
}

/// Whether there is anything below. Whatever is, is the child of a child of this process, or its own.
fn has_children() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Ends everything below. First all are stopped, so that none can start another while the next one is ended.
fn sweep() {
    let deadline = Instant::now() + GRACE;
    while has_children() && Instant::now() < deadline {
        let below = descendants();
        for signal in [Signal::STOP, Signal::KILL] {
            for pid in below.iter().filter_map(|pid| Pid::from_raw(*pid)) {
                let _ = kill_process(pid, signal);
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Everything below this process.
fn descendants() -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if let Some(parent) = parent_of(&entry.path()) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut below = Vec::new();
    let mut waiting = vec![getpid().as_raw_pid()];
    while let Some(pid) = waiting.pop() {
        let next = children.remove(&pid).unwrap_or_default();
        below.extend(&next);
        waiting.extend(next);
    }
    below
}

/// The parent of a process: the second field after its name, which is in parentheses and may hold anything.
fn parent_of(process: &Path) -> Option<i32> {
    let stat = fs::read(process.join("stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Ends this process as the program ended.
fn end_as(end: End) -> ! {
    match end {
        End::Exit(code) => std::process::exit(code),
        End::Signal(signal) => {
            // For a signal that a handler may be set for, the default is restored first.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            if let Some(signal) = Signal::from_named_raw(signal) {
                let _ = kill_process(getpid(), signal);
            }
            std::process::exit(128 + signal)
        }
    }
}

/// Whether a command line is a supervisor's.
pub fn is_asked_for(first: Option<&OsStr>) -> bool {
    first.is_some_and(|first| first == COMMAND)
}
