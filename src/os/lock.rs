//! One krm at a time changes a folder.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use krm_engine::{Diagnostic, Result};

/// How long to wait for another krm. Functions may take minutes.
const PATIENCE: Duration = Duration::from_secs(300);

/// The folders this process has locked: asking for one of them again would wait for itself.
static OURS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The right to change a folder. It leaves no file behind, whatever ends the process: the lock is on the folder itself.
pub struct Lock {
    path: PathBuf,
    folder: Option<File>,
}

impl Lock {
    /// Waits for the lock on a folder, given by its real path. File systems without locks go without.
    pub fn new(path: &Path) -> Result<Self> {
        // What holds the lock already need not ask for it.
        let folder = if is_ours(path) { None } else { File::open(path).ok() };
        let folder = folder.map(|folder| wait(path, folder)).transpose()?.flatten();
        ours(|all| all.push(path.to_owned()));
        Ok(Self { path: path.to_owned(), folder })
    }

    /// Whether other processes are kept out.
    pub fn is_effective(&self) -> bool {
        self.folder.is_some() || ours(|all| all.iter().filter(|path| **path == self.path).count() > 1)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        ours(|all| {
            let at = all.iter().rposition(|path| *path == self.path);
            at.map(|at| all.swap_remove(at))
        });
    }
}

/// Whether this process has locked a folder.
pub fn is_ours(path: &Path) -> bool {
    ours(|all| all.iter().any(|ours| ours == path))
}

fn ours<T>(look: impl FnOnce(&mut Vec<PathBuf>) -> T) -> T {
    look(&mut OURS.lock().expect("no one panics while holding the list of locks"))
}

fn wait(path: &Path, folder: File) -> Result<Option<File>> {
    let start = Instant::now();
    let mut said = false;
    loop {
        match folder.try_lock() {
            Ok(()) => return Ok(Some(folder)),
            Err(TryLockError::Error(_)) => return Ok(None),
            Err(TryLockError::WouldBlock) => {}
        }
        if start.elapsed() > PATIENCE {
            let message = format!("`{}` is still being changed by another krm", path.display());
            return Err(Diagnostic::error("package-in-use", message)
                .help("wait for it to end, or end it, and run this command again"));
        }
        if !said && start.elapsed() > Duration::from_secs(1) {
            eprintln!("waiting for another krm that is changing `{}`", path.display());
            said = true;
        }
        std::thread::sleep(Duration::from_millis(if said { 50 } else { 2 }));
    }
}
