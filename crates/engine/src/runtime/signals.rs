//! Functions do not outlive us: when a signal ends this process, it ends the functions it started first.
//!
//! They run in process groups of their own, so that a time limit can end one with all it started; the price is that
//! Ctrl-C in a terminal no longer reaches them by itself.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, Once};

use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// The groups alive, and the commands that stop what is theirs outside. A signal is an affair of the whole process, hence
/// so is this list.
static ALIVE: Mutex<Vec<(Pid, Vec<String>)>> = Mutex::new(Vec::new());
/// Folders to be removed.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static WATCHING: Once = Once::new();

pub(super) fn add(group: Pid, stop: &[String]) {
    WATCHING.call_once(watch);
    alive(|groups| groups.push((group, stop.to_vec())));
}

pub(super) fn remove(group: Pid) {
    alive(|groups| groups.retain(|(g, _)| *g != group));
}

pub(super) fn add_folder(path: &Path) {
    WATCHING.call_once(watch);
    folders(|all| all.push(path.to_owned()));
}

pub(super) fn remove_folder(path: &Path) {
    folders(|all| all.retain(|folder| folder != path));
}

fn folders<T>(look: impl FnOnce(&mut Vec<PathBuf>) -> T) -> T {
    look(&mut FOLDERS.lock().expect("no one panics while holding the list of folders"))
}

/// Runs the command that stops a container, and waits for it.
pub(super) fn stop(command: &[String]) {
    let Some((binary, args)) = command.split_first() else { return };
    let mut command = Command::new(binary);
    // It fails where the container ended by itself in the meantime.
    let _ = command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

fn alive<T>(look: impl FnOnce(&mut Vec<(Pid, Vec<String>)>) -> T) -> T {
    look(&mut ALIVE.lock().expect("no one panics while holding the list of groups"))
}

fn watch() {
    // Without a handler the default stays in force: the process ends, and its functions may go on for a while.
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM]) else { return };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            for (group, command) in alive(std::mem::take) {
                stop(&command);
                let _ = kill_process_group(group, Signal::KILL);
            }
            for folder in folders(std::mem::take) {
                let _ = std::fs::remove_dir_all(folder);
            }
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
}
