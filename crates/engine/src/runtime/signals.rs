//! Functions do not outlive us: when a signal ends this process, it ends the functions it started first.
//!
//! They run in process groups of their own, so that a time limit can end one with all it started; the price is that
//! Ctrl-C in a terminal no longer reaches them by itself.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
#[cfg(unix)]
use std::sync::Once;
use std::sync::{Condvar, Mutex, MutexGuard};

/// Folders to remove. Global, because a signal concerns the whole process.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

pub(super) fn add_folder(path: &Path) {
    watch();
    folders(|all| all.push(path.to_owned()));
}

pub(super) fn remove_folder(path: &Path) {
    folders(|all| all.retain(|folder| folder != path));
}

/// Removes the folders of every [`Scratch`](super::Scratch) that is still there: a process that ends without dropping all it
/// holds calls this last.
pub fn remove_scratch() {
    for folder in folders(std::mem::take) {
        // What cannot be removed now is left to whatever cleans up temporary files.
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// Coordinates signals and the threads that write files: a signal must not end the process halfway through a change.
static TURNS: Mutex<Turns> = Mutex::new(Turns { writers: 0, is_ending: false, farewell: None });
static WRITTEN: Condvar = Condvar::new();

struct Turns {
    /// The number of threads that are writing files.
    writers: usize,
    /// A signal came while no one was writing: functions are being ended, and then this process.
    is_ending: bool,
    /// Called before the process ends.
    farewell: Option<fn()>,
}

fn turns() -> MutexGuard<'static, Turns> {
    TURNS.lock().expect("no one panics while taking turns")
}

/// As long as this exists, no signal that we watch for ends the process.
pub struct Uninterrupted(());

/// Call this before writing files. After a signal it never returns.
pub fn uninterrupted() -> Uninterrupted {
    let mut turns = turns();
    if turns.is_ending {
        drop(turns);
        wait_for_the_end();
    }
    turns.writers += 1;
    Uninterrupted(())
}

impl Drop for Uninterrupted {
    fn drop(&mut self) {
        turns().writers -= 1;
        WRITTEN.notify_all();
    }
}

/// Sets a function to call before a signal ends the process. It runs on a separate thread.
pub fn on_interrupt(farewell: fn()) {
    turns().farewell = Some(farewell);
}

/// Does not return if a signal is ending this process: a program that ended because of it did not fail.
pub(super) fn stop_if_ending() {
    if turns().is_ending {
        wait_for_the_end();
    }
}

fn wait_for_the_end() -> ! {
    loop {
        std::thread::park();
    }
}

fn folders<T>(look: impl FnOnce(&mut Vec<PathBuf>) -> T) -> T {
    look(&mut FOLDERS.lock().expect("no one panics while holding the list of folders"))
}

/// Runs the command that stops a container, and waits for it.
pub(super) fn stop(command: &[String]) {
    let Some((binary, args)) = command.split_first() else { return };
    let mut command = Command::new(binary);
    // It fails if the container ended by itself in the meantime.
    let _ = command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// Sees to it that a signal ends what is alive first.
#[cfg(unix)]
pub(super) fn watch() {
    static WATCHING: Once = Once::new();
    WATCHING.call_once(unix::watch);
}

/// Elsewhere processes of a console end with it.
#[cfg(not(unix))]
pub(super) fn watch() {}

#[cfg(unix)]
pub(super) use unix::{Ending, add, remove};

#[cfg(unix)]
mod unix {
    use std::sync::Mutex;
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

    use super::super::process::TO_END;

    /// A group that is alive.
    struct Group {
        pid: Pid,
        ending: Ending,
    }

    /// How a group is asked to end before it is killed.
    pub(in super::super) enum Ending {
        /// By a command that stops what it started outside; an empty one asks nothing.
        Command(Vec<String>),
        /// By a signal to the supervisor that leads it, which ends the others.
        Supervisor,
    }

    static ALIVE: Mutex<Vec<Group>> = Mutex::new(Vec::new());

    pub(in super::super) fn add(pid: Pid, ending: Ending) {
        alive(|groups| groups.push(Group { pid, ending }));
    }

    pub(in super::super) fn remove(pid: Pid) {
        alive(|groups| groups.retain(|group| group.pid != pid));
    }

    fn alive<T>(look: impl FnOnce(&mut Vec<Group>) -> T) -> T {
        look(&mut ALIVE.lock().expect("no one panics while holding the list of groups"))
    }

    pub(super) fn watch() {
        // Without a handler the default stays in force: the process ends, and supervisors notice that.
        let all = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];
        let Ok(mut signals) = signal_hook::iterator::Signals::new(all) else { return };
        std::thread::spawn(move || {
            for signal in signals.forever() {
                let turns = super::turns();
                let mut turns = super::WRITTEN
                    .wait_while(turns, |turns| turns.writers > 0)
                    .expect("no one panics while taking turns");
                turns.is_ending = true;
                let farewell = turns.farewell;
                drop(turns);
                end(&alive(std::mem::take));
                super::remove_scratch();
                if let Some(farewell) = farewell {
                    farewell();
                }
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        });
    }

    fn end(groups: &[Group]) {
        // All are asked before the first is waited for.
        for group in groups {
            match &group.ending {
                Ending::Supervisor => drop(kill_process(group.pid, Signal::TERM)),
                Ending::Command(command) => super::stop(command),
            }
        }
        let deadline = Instant::now() + TO_END;
        for group in groups {
            let gone = || {
                let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
                !matches!(waitid(WaitId::Pid(group.pid), how), Ok(None))
            };
            while matches!(group.ending, Ending::Supervisor) && !gone() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(2));
            }
            let _ = kill_process_group(group.pid, Signal::KILL);
        }
    }
}
