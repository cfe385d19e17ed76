//! A process fed, drained, watched and, if need be, stopped with everything it started.

use std::io;
#[cfg(unix)]
use std::os::fd::{AsFd, OwnedFd};
#[cfg(unix)]
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[cfg(unix)]
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::streams::Streams;
use super::{Output, Status, signals};
use crate::runtime::policy::Limits;

/// How long the output may stay open once the program itself has ended: what still holds it then is not the function
/// any more.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// How long a supervisor may take to end everything: stopping a container takes a moment.
#[cfg(unix)]
pub(super) const TO_END: Duration = Duration::from_secs(10);

/// How much of stderr is kept: its end, where the reason is.
const STDERR_KEPT: usize = 64 * 1024;

/// Runs a command to its end: `input` goes to its stdin, stdout and the end of stderr come back.
///
/// Nothing it starts outlives this call, nor this process: a supervisor, if there is one, ends all of it, also what left
/// the process group; without one, what stayed in the group ends. `stop` is a command that stops what is not below this
/// process at all, as a container is not; it runs when the process has to be stopped.
pub(super) fn run(
    command: Command,
    stop: &[String],
    input: Arc<Vec<u8>>,
    limits: &Limits,
    supervisor: Option<&Path>,
) -> io::Result<Output> {
    match supervisor {
        #[cfg(target_os = "linux")]
        Some(supervisor) => super::supervisor::run(supervisor, &command, stop, input, limits),
        // Elsewhere there is no way to keep watch over what a process starts.
        #[cfg(not(target_os = "linux"))]
        Some(_) => unreachable!("a policy for this system names no supervisor"),
        None => run_alone(command, stop, input, limits),
    }
}

fn run_alone(
    mut command: Command,
    stop: &[String],
    input: Arc<Vec<u8>>,
    limits: &Limits,
) -> io::Result<Output> {
    let start = Instant::now();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut group = Group::start(&mut command, stop)?;
    let keep = kept(&input, limits);
    #[cfg(unix)]
    let streams = Streams::new(streams_of(&mut group.child), input, keep)?;
    #[cfg(not(unix))]
    let streams = Streams::new(&mut group.child, input, keep);
    let mut watch = Watch::new(streams, group.end()?, deadline(start, limits.timeout));
    watch.until_done();
    if watch.verdict.is_some() {
        signals::stop(stop);
    }
    group.kill();
    watch.collect_rest(GRACE);
    let status = group.child.wait()?;
    Ok(watch.output(ended(status), start.elapsed(), limits))
}

#[cfg(unix)]
fn streams_of(child: &mut Child) -> [OwnedFd; 3] {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let piped = "all three are pipes";
    [stdin.expect(piped).into(), stdout.expect(piped).into(), stderr.expect(piped).into()]
}

/// The moment after which something takes too long. Further off than the clock reaches means never.
pub(super) fn deadline(start: Instant, timeout: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
    start.checked_add(timeout).unwrap_or(start + YEAR)
}

/// The processes started for one program.
struct Group {
    child: Child,
    #[cfg(unix)]
    pid: Pid,
}

#[cfg(unix)]
impl Group {
    fn start(command: &mut Command, stop: &[String]) -> io::Result<Self> {
        // Before anything is started, so that no signal comes too early.
        signals::watch();
        let child = command.process_group(0).spawn()?;
        let group = Self { pid: Pid::from_child(&child), child };
        signals::add(group.pid, signals::Ending::Command(stop.to_vec()));
        Ok(group)
    }

    fn end(&self) -> io::Result<End> {
        let (end, open) = io::pipe()?;
        let watched = self.pid;
        std::thread::spawn(move || {
            // Without reaping it: as long as the dead process is there its number names this group and no other.
            let _ = waitid(WaitId::Pid(watched), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
            drop(open);
        });
        Ok(end.into())
    }

    fn kill(&mut self) {
        // An error says that there is nobody left.
        let _ = kill_process_group(self.pid, Signal::KILL);
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        signals::remove(self.pid);
    }
}

#[cfg(not(unix))]
impl Group {
    fn start(command: &mut Command, _stop: &[String]) -> io::Result<Self> {
        Ok(Self { child: command.spawn()? })
    }

    fn end(&self) -> io::Result<End> {
        Ok(())
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
    }
}

/// What becomes readable, or is closed, when a process has ended.
#[cfg(unix)]
pub(super) type End = OwnedFd;
/// Elsewhere the end of a process is known by that of its streams.
#[cfg(not(unix))]
type End = ();

/// Follows a process until it has ended and its output is complete, or until it has to be stopped.
pub(super) struct Watch {
    streams: Streams,
    #[cfg_attr(not(unix), expect(dead_code, reason = "the streams say when it ends"))]
    end: End,
    deadline: Instant,
    ended: bool,
    pub(super) verdict: Option<Verdict>,
}

/// Why a process was stopped.
#[derive(Clone, Copy)]
pub(super) enum Verdict {
    TimedOut,
    TooMuchOutput,
    LeftOpen,
}

impl Watch {
    pub(super) fn new(streams: Streams, end: End, deadline: Instant) -> Self {
        Self { streams, end, deadline, ended: false, verdict: None }
    }

    fn done(&self) -> bool {
        self.ended && self.streams.are_closed()
    }

    /// Waits for the next thing to happen, but not longer than that.
    #[cfg(unix)]
    fn wait(&mut self, patience: Duration) {
        let end = (!self.ended).then(|| self.end.as_fd());
        let ended = self.streams.pass(end, patience).unwrap_or_else(|_| {
            // The system is short of memory: that may pass.
            std::thread::sleep(Duration::from_millis(5));
            false
        });
        if ended {
            self.ended = true;
            self.deadline = self.deadline.min(Instant::now() + GRACE);
        }
    }

    #[cfg(not(unix))]
    fn wait(&mut self, patience: Duration) {
        self.streams.pass(patience);
        self.ended = self.streams.are_closed();
    }

    pub(super) fn until_done(&mut self) {
        while !self.done() && self.verdict.is_none() {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.verdict = Some(if self.ended { Verdict::LeftOpen } else { Verdict::TimedOut });
                break;
            }
            self.wait(left);
            if self.streams.have_too_much() {
                self.verdict = Some(Verdict::TooMuchOutput);
            }
        }
        signals::stop_if_ending();
    }

    /// What was in the pipes when the group died. A process that left the group may hold them open forever; it is not
    /// waited for.
    pub(super) fn collect_rest(&mut self, patience: Duration) {
        let deadline = Instant::now() + patience;
        while !self.done() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            self.wait(left);
        }
    }

    pub(super) fn output(self, status: Status, elapsed: Duration, limits: &Limits) -> Output {
        let status = match self.verdict {
            Some(Verdict::TimedOut) => Status::TimedOut(limits.timeout),
            Some(Verdict::TooMuchOutput) => Status::TooMuchOutput,
            Some(Verdict::LeftOpen) => Status::LeftOpen,
            None => status,
        };
        let [stdout, stderr] = self.streams.captured();
        Output {
            stdout: stdout.bytes,
            stderr: stderr.bytes,
            stderr_dropped: stderr.dropped,
            status,
            elapsed,
            cached: false,
            fault: None,
        }
    }
}

#[cfg(unix)]
pub(super) fn ended(status: ExitStatus) -> Status {
    match (status.code(), status.signal()) {
        (Some(code), _) => Status::Exited(code),
        (None, signal) => Status::Killed(signal.unwrap_or_default()),
    }
}

#[cfg(not(unix))]
fn ended(status: ExitStatus) -> Status {
    Status::Exited(status.code().unwrap_or_default())
}

/// What to keep of a stream.
#[derive(Clone, Copy)]
pub(super) enum Keep {
    /// All of it; more bytes than this are too many.
    All(usize),
    /// This many bytes at the end.
    End(usize),
}

/// What to keep of the output of a program and of what it says on stderr.
pub(super) fn kept(input: &[u8], limits: &Limits) -> [Keep; 2] {
    [Keep::All(limits.output_for(input.len())), Keep::End(STDERR_KEPT)]
}

/// What was kept of a stream.
#[derive(Default)]
pub(super) struct Capture {
    bytes: Vec<u8>,
    /// How many bytes came before the ones kept.
    dropped: u64,
    pub(super) is_too_much: bool,
}

impl Capture {
    /// Takes what was read; `false` if that is too much.
    pub(super) fn add(&mut self, read: &[u8], keep: Keep) -> bool {
        match keep {
            Keep::All(most) if self.bytes.len() + read.len() > most => self.is_too_much = true,
            Keep::All(_) => self.bytes.extend_from_slice(read),
            Keep::End(most) => {
                self.bytes.extend_from_slice(read);
                // Cut back only now and then, so that each byte is moved a bounded number of times.
                if self.bytes.len() > 2 * most {
                    let cut = self.bytes.len() - most;
                    self.bytes.drain(..cut);
                    self.dropped += cut as u64;
                }
            }
        }
        !self.is_too_much
    }
}
