//! A process fed, drained, watched and, where need be, stopped with all it started.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::{Output, Status, signals};
use crate::pipeline::policy::Limits;

/// How long the output may stay open once the program itself has ended: whoever still holds it then is no longer the
/// function.
const GRACE: Duration = Duration::from_secs(2);

/// How much of stderr is kept: its end, where the reason stands.
const STDERR_KEPT: usize = 64 * 1024;

/// What the threads around a process have to tell.
enum Event {
    Stdout(io::Result<Capture>),
    Stderr(io::Result<Capture>),
    TooMuch,
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
/// The process leads a group of its own, and nothing of the group outlives this call. `stop` is a command that stops what
/// is not in the group, as a container is not; it runs when the process has to be stopped.
pub(super) fn run(
    mut command: Command,
    stop: &[String],
    input: Arc<Vec<u8>>,
    limits: &Limits,
) -> io::Result<Output> {
    let start = Instant::now();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let group = Group::of(&child, stop);
    let (tell, events) = mpsc::channel();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let most = limits.output_for(input.len());

    drain(stdout, Keep::All(most), tell.clone(), Event::Stdout);
    drain(stderr, Keep::End(STDERR_KEPT), tell.clone(), Event::Stderr);
    let watched = group.pid;
    thread::spawn(move || {
        // Without reaping it: as long as the dead process is there its number names this group and no other.
        let _ = waitid(WaitId::Pid(watched), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        let _ = tell.send(Event::Ended);
    });

    let stdin = child.stdin.take();
    thread::spawn(move || {
        // A program may leave its input unread: a closed pipe is no error.
        if let Some(mut stdin) = stdin {
            let _ = stdin.write_all(&input);
        }
    });

    let mut watch = Watch::new(events, start + limits.timeout);
    watch.until_done();
    if watch.verdict.is_some() {
        signals::stop(stop);
    }
    group.kill();
    watch.collect_rest();
    let status = child.wait()?;
    Ok(watch.output(status, start.elapsed(), limits))
}

/// The processes started for one function.
struct Group {
    pid: Pid,
}

impl Group {
    fn of(child: &Child, stop: &[String]) -> Self {
        let group = Self { pid: Pid::from_child(child) };
        signals::add(group.pid, stop);
        group
    }

    fn kill(&self) {
        // An error says that there is nobody left.
        let _ = kill_process_group(self.pid, Signal::KILL);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        signals::remove(self.pid);
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
        self.ended && self.stdout.is_some() && self.stderr.is_some()
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
    fn collect_rest(&mut self) {
        let deadline = Instant::now() + GRACE;
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
            None => match (status.code(), status.signal()) {
                (Some(code), _) => Status::Exited(code),
                (None, signal) => Status::Killed(signal.unwrap_or_default()),
            },
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
        }
    }
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
        // Whoever asked may have given up already.
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
