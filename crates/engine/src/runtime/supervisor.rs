//! A process between this one and a program, which sees to it that nothing the program starts is left.
//!
//! What a program starts may leave its process group, and even lose its parent; the kernel then gives it to the nearest
//! ancestor that asked for it, which is the supervisor. When the program ends, or this process does (by whatever signal),
//! the supervisor ends everything that is below it, and the container with it.
//!
//! It is this very program, started with [`COMMAND`] as its first argument: `main` calls [`main`]. Its standard input is a
//! socket. It receives an order and the streams of the program over it, and answers how the program ended. It
//! ends when the socket is closed, for whatever reason, or when a signal asks it to; then it does not answer. A supervisor runs
//! one program at a time, so that everything below it belongs to that program; but it may run many in turn,
//! since starting a program as large as this one takes longer than most functions do.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group,
    set_child_subreaper, set_dumpable_behavior, wait,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM};

use super::process::{self, GRACE, TO_END, Watch};
use super::sandbox::Confinement;
use super::streams::Streams;
use super::{Output, Status, signals};
use crate::runtime::policy::Limits;

/// The first argument of a process that is to be a supervisor.
pub const COMMAND: &str = "__supervise";

/// What a supervisor is asked to do.
#[derive(Serialize, Deserialize)]
struct Order {
    /// The command that stops what is not below the supervisor: a container.
    stop: Vec<String>,
    /// How the program is confined before it starts.
    confinement: Option<Confinement>,
    dir: Option<OsString>,
    /// Variables to set, and those to remove.
    variables: Vec<(OsString, Option<OsString>)>,
    program: OsString,
    args: Vec<OsString>,
}

/// What a supervisor answers when a program has ended.
#[derive(Serialize, Deserialize)]
struct Answer {
    end: End,
    /// Whether the supervisor can run another program: nothing is left of this one, and what confined it does not confine
    /// the supervisor.
    may_run_another: bool,
}

/// How a program ended.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum End {
    Exit(i32),
    Signal(i32),
    /// It ended, but something it had started kept its output open.
    LeftOpen,
    /// The system's number for why.
    NotStarted(i32),
}

/// Runs a command under a new supervisor.
pub(super) fn run(
    itself: &Path,
    command: &Command,
    stop: &[String],
    input: Arc<Vec<u8>>,
    limits: &Limits,
) -> io::Result<Output> {
    Supervised::start(itself)?.run(&Order::of(command, stop, None), input, limits)
}

/// The same for a command that is confined before it starts.
pub(super) fn run_confined(
    itself: &Path,
    command: &Command,
    confinement: Confinement,
    input: Arc<Vec<u8>>,
    limits: &Limits,
) -> io::Result<Output> {
    Supervised::start(itself)?.run(&Order::of(command, &[], Some(confinement)), input, limits)
}

/// Supervisors that are idle.
#[derive(Default)]
pub(super) struct Supervisors(Mutex<Vec<Supervised>>);

impl Supervisors {
    /// Runs a command under a supervisor that has run others before, if one is idle.
    pub(super) fn run(
        &self,
        itself: &Path,
        command: &Command,
        input: Arc<Vec<u8>>,
        limits: &Limits,
    ) -> io::Result<Output> {
        let idle = || self.0.lock().expect("no one panics while holding the list of supervisors");
        // An idle one may have been killed.
        let known = std::iter::from_fn(|| idle().pop()).find_map(Supervised::if_alive);
        let mut supervisor = known.map_or_else(|| Supervised::start(itself), Ok)?;
        let output = supervisor.run(&Order::of(command, &[], None), input, limits)?;
        if supervisor.may_run_another {
            idle().push(supervisor);
        }
        Ok(output)
    }
}

/// A supervisor, as seen by the process that started it.
struct Supervised {
    process: Child,
    socket: UnixStream,
    may_run_another: bool,
    has_ended: bool,
}

impl Supervised {
    fn start(itself: &Path) -> io::Result<Self> {
        // Before anything is started, so that no signal comes too early.
        signals::watch();
        let (socket, theirs) = UnixStream::pair()?;
        let mut command = Command::new(itself);
        command.arg0("krm").arg(COMMAND).process_group(0);
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn()?;
        signals::add(Pid::from_child(&process), signals::Ending::Supervisor);
        Ok(Self { process, socket, may_run_another: false, has_ended: false })
    }

    fn if_alive(mut self) -> Option<Self> {
        self.has_ended = !matches!(self.process.try_wait(), Ok(None));
        (!self.has_ended).then_some(self)
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    fn run(&mut self, order: &Order, input: Arc<Vec<u8>>, limits: &Limits) -> io::Result<Output> {
        let start = Instant::now();
        let ((stdin, to_stdin), (from_stdout, stdout), (from_stderr, stderr)) =
            (io::pipe()?, io::pipe()?, io::pipe()?);
        self.may_run_another = false;
        send(&self.socket, order, [stdin.into(), stdout.into(), stderr.into()])?;
        let keep = process::kept(&input, limits);
        let streams = Streams::new([to_stdin.into(), from_stdout.into(), from_stderr.into()], input, keep)?;
        let answered = self.socket.as_fd().try_clone_to_owned()?;
        let mut watch = Watch::new(streams, answered, process::deadline(start, limits.timeout));
        watch.until_done();
        if watch.verdict.is_some() {
            let _ = kill_process(self.pid(), Signal::TERM);
            watch.collect_rest(TO_END);
            return Ok(watch.output(Status::LeftOpen, start.elapsed(), limits));
        }
        let status = match read::<Answer>(&self.socket) {
            Ok(answer) => {
                self.may_run_another = answer.may_run_another;
                match answer.end {
                    End::Exit(code) => Status::Exited(code),
                    End::Signal(signal) => Status::Killed(signal),
                    End::LeftOpen => Status::LeftOpen,
                    End::NotStarted(number) => return Err(io::Error::from_raw_os_error(number)),
                }
            }
            // A signal ended the supervisor, most likely one that the program sent, and with it the program.
            Err(_) => Status::Killed(self.end()?.signal().unwrap_or(SIGKILL)),
        };
        Ok(watch.output(status, start.elapsed(), limits))
    }

    /// Ends it, and what is left in its process group.
    fn end(&mut self) -> io::Result<ExitStatus> {
        // Before it is waited for: until then nobody else can have its number.
        let _ = kill_process_group(self.pid(), Signal::KILL);
        self.has_ended = true;
        self.process.wait()
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        signals::remove(self.pid());
        if self.has_ended {
            return;
        }
        match self.may_run_another {
            // It ends by itself once nothing can be sent to it any more.
            true => {
                let _ = self.socket.shutdown(Shutdown::Both);
                let _ = self.process.wait();
            }
            false => drop(self.end()),
        }
    }
}

impl Order {
    fn of(command: &Command, stop: &[String], confinement: Option<Confinement>) -> Self {
        let owned = |text: &OsStr| text.to_owned();
        Self {
            stop: stop.to_vec(),
            confinement,
            dir: command.get_current_dir().map(|dir| dir.as_os_str().to_owned()),
            variables: command.get_envs().map(|(name, value)| (owned(name), value.map(owned))).collect(),
            program: owned(command.get_program()),
            args: command.get_args().map(owned).collect(),
        }
    }

    /// Starts the program.
    fn start(&self, [stdin, stdout, stderr]: [OwnedFd; 3]) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command.args(&self.args).stdin(stdin).stdout(stdout).stderr(stderr);
        for (name, value) in &self.variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        match &self.confinement {
            Some(confinement) => confinement.spawn(command),
            None => command.spawn(),
        }
    }
}

/// Sends an order and the streams of the program, which are closed here.
fn send(socket: &UnixStream, order: &Order, streams: [OwnedFd; 3]) -> io::Result<()> {
    let streams = streams.each_ref().map(AsFd::as_fd);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut attached = SendAncillaryBuffer::new(&mut space);
    let fits = attached.push(SendAncillaryMessage::ScmRights(&streams));
    debug_assert!(fits, "there is room for three");
    // Descriptors can be sent only along with at least one byte.
    sendmsg(socket, &[IoSlice::new(&[0])], &mut attached, SendFlags::NOSIGNAL)?;
    write(socket, order)
}

/// Receives the streams of the next program; `None` if no more come.
fn receive_streams(socket: &UnixStream) -> io::Result<Option<[OwnedFd; 3]>> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut attached = RecvAncillaryBuffer::new(&mut space);
    let received =
        recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut attached, RecvFlags::CMSG_CLOEXEC)?;
    if received.bytes == 0 {
        return Ok(None);
    }
    let streams: Vec<OwnedFd> = attached
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(streams) => Some(streams),
            _ => None,
        })
        .flatten()
        .collect();
    match streams.try_into() {
        Ok(streams) => Ok(Some(streams)),
        Err(_) => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Writes a message: its length, then its text.
fn write(mut socket: &UnixStream, message: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    let length = (text.len() as u32).to_ne_bytes();
    socket.write_all(&[&length[..], &text].concat())
}

fn read<T: DeserializeOwned>(mut socket: &UnixStream) -> io::Result<T> {
    let mut length = [0; 4];
    socket.read_exact(&mut length)?;
    let mut text = vec![0; u32::from_ne_bytes(length) as usize];
    socket.read_exact(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Supervises programs until no more come.
pub fn main() -> ! {
    let done = Supervisor::new().and_then(|supervisor| supervisor.serve());
    if done.is_err() {
        eprintln!("krm: this command is for krm itself");
        std::process::exit(2);
    }
    std::process::exit(0)
}

/// A supervisor, as seen by itself.
struct Supervisor {
    socket: UnixStream,
    /// Becomes readable when something below has ended.
    something_ended: UnixStream,
    /// Becomes readable when a signal asks for the end.
    asked_to_end: UnixStream,
}

impl Supervisor {
    fn new() -> io::Result<Self> {
        // Set before anything is started, so that no signal is missed.
        let something_ended = on_signals(&[SIGCHLD])?;
        let asked_to_end = on_signals(&[SIGTERM, SIGINT, SIGHUP, SIGQUIT])?;
        // A system that forbids these protects less; the program runs all the same.
        let _ = set_child_subreaper(Some(getpid()));
        // It only passes on how the program ended: its own core dump would be of no use.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        Ok(Self { socket, something_ended, asked_to_end })
    }

    fn serve(&self) -> io::Result<()> {
        loop {
            if self.wait(&[&self.socket, &self.asked_to_end], None)[1] {
                return Ok(());
            }
            let Some(streams) = receive_streams(&self.socket)? else { return Ok(()) };
            let order: Order = read(&self.socket)?;
            let end = self.supervise(&order, streams);
            if let Some(confinement) = &order.confinement {
                confinement.remove();
            }
            let Some(end) = end else { return Ok(()) };
            let may_run_another = order.confinement.is_none() && !has_children();
            write(&self.socket, &Answer { end, may_run_another })?;
        }
    }

    /// Runs a program to its end: how it ended, unless it was stopped because the supervisor must end.
    fn supervise(&self, order: &Order, streams: [OwnedFd; 3]) -> Option<End> {
        let named = |stream: &OwnedFd| fs::read_link(format!("/proc/self/fd/{}", stream.as_raw_fd())).ok();
        let outputs: Vec<PathBuf> = streams[1..].iter().filter_map(named).collect();
        let child = match order.start(streams) {
            Ok(child) => Pid::from_child(&child),
            Err(error) => return Some(End::NotStarted(error.raw_os_error().unwrap_or_default())),
        };
        loop {
            if let Some(end) = reap(child) {
                return self.after(end, order, &outputs);
            }
            if self.is_asked_to_end(None) {
                end_all(child, order);
                return None;
            }
        }
    }

    /// Waits for something below to end, or until the time is up. Returns whether the supervisor must end, because of a signal
    /// or because no one waits for its answer any more.
    fn is_asked_to_end(&self, patience: Option<Duration>) -> bool {
        let awaited = [&self.something_ended, &self.asked_to_end, &self.socket];
        let [something_ended, by_signal, alone] = self.wait(&awaited, patience);
        if something_ended {
            // Asking shows what ended; the number of signals does not matter.
            let _ = (&self.something_ended).read(&mut [0; 64]);
        }
        by_signal || alone
    }

    /// Waits until one of these can be read, or until the time is up.
    fn wait<const N: usize>(&self, awaited: &[&UnixStream; N], patience: Option<Duration>) -> [bool; N] {
        let mut fds = awaited.map(|socket| PollFd::new(socket, PollFlags::IN));
        let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
        // A signal interrupts it, and can then be read.
        while poll(&mut fds, patience.as_ref()) == Err(rustix::io::Errno::INTR) {}
        fds.map(|fd| !fd.revents().is_empty())
    }

    /// The program has ended. What it left is given a moment if it may still print something.
    fn after(&self, end: End, order: &Order, outputs: &[PathBuf]) -> Option<End> {
        // An engine's own processes clean up after a container, and are not the function's.
        if !order.stop.is_empty() {
            return Some(end);
        }
        let deadline = Instant::now() + GRACE;
        let is_open = || has_children() && holds_one_of(outputs);
        while is_open() && Instant::now() < deadline {
            if self.is_asked_to_end(Some(Duration::from_millis(5))) {
                break;
            }
        }
        let end = if is_open() { End::LeftOpen } else { end };
        sweep();
        // What could send the supervisor a signal is gone: none comes between this and the answer.
        (!self.is_asked_to_end(Some(Duration::ZERO))).then_some(end)
    }
}

/// A socket that becomes readable when one of these signals comes.
fn on_signals(signals: &[i32]) -> io::Result<UnixStream> {
    let (here, handler) = UnixStream::pair()?;
    for signal in signals {
        signal_hook::low_level::pipe::register(*signal, handler.try_clone()?)?;
    }
    Ok(here)
}

/// How a program ended, if it did.
fn reap(child: Pid) -> Option<End> {
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        if pid == child {
            return Some(status.into());
        }
    }
    None
}

/// Ends the program and everything it started.
fn end_all(child: Pid, order: &Order) {
    if !order.stop.is_empty() {
        signals::stop(&order.stop);
        // The container is gone; what is here ends by itself, and tidies up on the way.
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline {
            if reap(child).is_some() {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
    sweep();
}

/// Whether anything below still has one of these open, by their names in `/proc`.
fn holds_one_of(outputs: &[PathBuf]) -> bool {
    let holds = |pid: i32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        open.filter_map(|fd| fs::read_link(fd.path()).ok()).any(|to| outputs.contains(&to))
    };
    descendants().into_iter().any(holds)
}

impl From<WaitStatus> for End {
    fn from(status: WaitStatus) -> Self {
        match status.exit_status() {
            Some(code) => End::Exit(code),
            None => End::Signal(status.terminating_signal().unwrap_or(SIGKILL)),
        }
    }
}

/// Whether there is anything below: children of this process, or descendants of them.
fn has_children() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Kills everything below. First all are stopped, so that none can start another while the next one is killed.
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

/// Whether a command line is a supervisor's.
pub fn is_asked_for(first: Option<&OsStr>) -> bool {
    first.is_some_and(|first| first == COMMAND)
}
