//! A process fed, drained, watched and, if need be, stopped with everything it started.

use std::io::{self, ErrorKind, Read, Write};
#[cfg(unix)]
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

#[cfg(unix)]
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

use super::{Output, Status, signals};
use crate::pipeline::policy::Limits;

/// How long the output may stay open once the program itself has ended: what still holds it then is not the function
/// any more.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// How long a supervisor may take to end everything: stopping a container takes a moment.
pub(super) const TO_END: Duration = Duration::from_secs(10);

/// How much of stderr is kept: its end, where the reason is.
const STDERR_KEPT: usize = 64 * 1024;

/// What the threads around a process have to tell.
enum Event {
    Stdout(io::Result<Capture>),
    Stderr(io::Result<Capture>),
    TooMuch,
    #[cfg_attr(not(unix), expect(dead_code, reason = "elsewhere the streams tell"))]
    Ended,
}

#[derive(Default)]
struct Capture {
    bytes: Vec<u8>,
    /// How many bytes came before the ones kept.
    dropped: u64,
}

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
        Some(supervisor) => run_to_its_end(supervised(supervisor, &command, stop), &[], true, input, limits),
        None => run_to_its_end(command, stop, false, input, limits),
    }
}

/// The same for a command that a supervisor confines before it starts.
#[cfg(target_os = "linux")]
pub(super) fn run_confined(
    command: &Command,
    confinement: &super::sandbox::Confinement,
    input: Arc<Vec<u8>>,
    limits: &Limits,
    supervisor: &Path,
) -> io::Result<Output> {
    let command = super::supervisor::wrap(supervisor, command, Some(confinement), &[]);
    run_to_its_end(command, &[], true, input, limits)
}

fn run_to_its_end(
    mut command: Command,
    stop: &[String],
    is_supervised: bool,
    input: Arc<Vec<u8>>,
    limits: &Limits,
) -> io::Result<Output> {
    let start = Instant::now();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut group = Group::start(&mut command, stop, is_supervised)?;
    let (tell, events) = mpsc::channel();
    let (stdout, stderr) = (group.child.stdout.take(), group.child.stderr.take());
    let most = limits.output_for(input.len());

    drain(stdout, Keep::All(most), tell.clone(), Event::Stdout);
    drain(stderr, Keep::End(STDERR_KEPT), tell.clone(), Event::Stderr);
    group.tell_its_end(tell);

    let stdin = group.child.stdin.take();
    thread::spawn(move || {
        // A program may leave its input unread: a closed pipe is not an error.
        if let Some(mut stdin) = stdin {
            let _ = stdin.write_all(&input);
        }
    });

    let mut watch = Watch::new(events, deadline(start, limits.timeout));
    watch.until_done();
    if watch.verdict.is_some() {
        match is_supervised {
            true => {
                group.ask_to_end();
                watch.collect_rest(TO_END);
            }
            false => signals::stop(stop),
        }
    }
    group.kill();
    watch.collect_rest(GRACE);
    let status = group.child.wait()?;
    let output = watch.output(status, start.elapsed(), limits);
    #[cfg(target_os = "linux")]
    if is_supervised {
        return super::supervisor::read(output);
    }
    Ok(output)
}

/// The moment after which something takes too long. Further off than the clock reaches means never.
pub(super) fn deadline(start: Instant, timeout: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
    start.checked_add(timeout).unwrap_or(start + YEAR)
}

#[cfg(target_os = "linux")]
fn supervised(supervisor: &Path, command: &Command, stop: &[String]) -> Command {
    super::supervisor::wrap(supervisor, command, None, stop)
}

/// Elsewhere there is no way to keep watch over what a process starts.
#[cfg(not(target_os = "linux"))]
fn supervised(_supervisor: &Path, _command: &Command, _stop: &[String]) -> Command {
    unreachable!("a policy for this system names no supervisor")
}

/// The processes started for one program.
struct Group {
    child: Child,
    #[cfg(unix)]
    pid: Pid,
}

#[cfg(unix)]
impl Group {
    fn start(command: &mut Command, stop: &[String], is_supervised: bool) -> io::Result<Self> {
        // Before anything is started, so that no signal comes too early.
        signals::watch();
        let child = command.process_group(0).spawn()?;
        let group = Self { pid: Pid::from_child(&child), child };
        signals::add(group.pid, stop, is_supervised);
        Ok(group)
    }

    fn tell_its_end(&self, tell: Sender<Event>) {
        let watched = self.pid;
        thread::spawn(move || {
            // Without reaping it: as long as the dead process is there its number names this group and no other.
            let _ = waitid(WaitId::Pid(watched), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
            let _ = tell.send(Event::Ended);
        });
    }

    /// Has the supervisor end everything.
    fn ask_to_end(&self) {
        let _ = kill_process(self.pid, Signal::TERM);
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
    fn start(command: &mut Command, _stop: &[String], _is_supervised: bool) -> io::Result<Self> {
        Ok(Self { child: command.spawn()? })
    }

    /// The streams tell.
    fn tell_its_end(&self, _tell: Sender<Event>) {}

    fn ask_to_end(&self) {}

    fn kill(&mut self) {
        let _ = self.child.kill();
    }
}

/// Follows the events of one process.
struct Watch {
    events: Receiver<Event>,
    deadline: Instant,
    ended: bool,
    stdout: Option<io::Result<Capture>>,
    stderr: Option<io::Result<Capture>>,
    verdict: Option<Verdict>,
}

/// Why a process was stopped.
#[derive(Clone, Copy)]
enum Verdict {
    TimedOut,
    TooMuchOutput,
    LeftOpen,
}

impl Watch {
    fn new(events: Receiver<Event>, deadline: Instant) -> Self {
        Self { events, deadline, ended: false, stdout: None, stderr: None, verdict: None }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Stdout(result) => self.stdout = Some(result),
            Event::Stderr(result) => self.stderr = Some(result),
            Event::TooMuch => self.verdict = self.verdict.or(Some(Verdict::TooMuchOutput)),
            Event::Ended => {
                self.ended = true;
                self.deadline = self.deadline.min(Instant::now() + GRACE);
            }
        }
    }

    fn done(&self) -> bool {
        // Elsewhere the end of a process is known by that of its streams.
        (self.ended || cfg!(not(unix))) && self.stdout.is_some() && self.stderr.is_some()
    }

    fn until_done(&mut self) {
        while !self.done() && self.verdict.is_none() {
            match self.events.recv_timeout(self.deadline.saturating_duration_since(Instant::now())) {
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    self.verdict = Some(if self.ended { Verdict::LeftOpen } else { Verdict::TimedOut });
                }
            }
        }
    }

    /// What was in the pipes when the group died. A process that left the group may hold them open for ever; it is not
    /// waited for.
    fn collect_rest(&mut self, patience: Duration) {
        let deadline = Instant::now() + patience;
        while !self.done() {
            match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(event) => self.take(event),
                Err(_) => break,
            }
        }
    }

    fn output(self, status: ExitStatus, elapsed: Duration, limits: &Limits) -> Output {
        let status = match self.verdict {
            Some(Verdict::TimedOut) => Status::TimedOut(limits.timeout),
            Some(Verdict::TooMuchOutput) => Status::TooMuchOutput,
            Some(Verdict::LeftOpen) => Status::LeftOpen,
            None => ended(status),
        };
        let taken = |capture: Option<io::Result<Capture>>| capture.and_then(Result::ok).unwrap_or_default();
        let (stdout, stderr) = (taken(self.stdout), taken(self.stderr));
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
fn ended(status: ExitStatus) -> Status {
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
enum Keep {
    /// All of it; more than so many bytes is too much.
    All(usize),
    /// The last so many bytes.
    End(usize),
}

fn drain(
    stream: Option<impl Read + Send + 'static>,
    keep: Keep,
    tell: Sender<Event>,
    done: fn(io::Result<Capture>) -> Event,
) {
    thread::spawn(move || {
        let mut capture = Capture::default();
        let result = match stream {
            Some(stream) => read(stream, &keep, &mut capture, &tell),
            None => Ok(()),
        };
        // The one who asked may have given up already.
        let _ = tell.send(done(result.map(|()| capture)));
    });
}

fn read(mut stream: impl Read, keep: &Keep, capture: &mut Capture, tell: &Sender<Event>) -> io::Result<()> {
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let n = match stream.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(n) => n,
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        match *keep {
            Keep::All(most) if capture.bytes.len() + n > most => {
                let _ = tell.send(Event::TooMuch);
                return Ok(());
            }
            Keep::All(_) => capture.bytes.extend_from_slice(&chunk[..n]),
            Keep::End(most) => {
                capture.bytes.extend_from_slice(&chunk[..n]);
                // Cut back only now and then, so that each byte is moved a bounded number of times.
                if capture.bytes.len() > 2 * most {
                    let cut = capture.bytes.len() - most;
                    capture.bytes.drain(..cut);
                    capture.dropped += cut as u64;
                }
            }
        }
    }
}
