//! The machine: standard output and error, changes to files, and a [`World`] of real files.

mod browser;
pub mod certificates;
mod changes;
pub mod content;
pub mod credentials;
mod disk;
mod environment;
pub mod git;
mod git_files;
mod http;
mod http_cache;
#[cfg(target_os = "linux")]
mod images;
mod journal;
mod lock;
pub mod locked;
pub mod lockfile;
mod pager;
mod read;
pub mod registry;
mod remote;
pub mod shared_cache;
mod states;
pub mod store;
#[cfg_attr(not(unix), path = "not_unix.rs")]
mod system;
pub mod targets;
mod threads;
pub mod user_settings;
mod watch;

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use krm_engine::files::{near_path, unreadable_because};
use krm_engine::{Diagnostic, Result};

pub use browser::open as open_in_browser;
pub use changes::Changes;
pub use disk::Disk;
pub use environment::{
    cache_dir, container_engine, limits_of_each_process, plugin_homes, setting, supervisor,
};
pub use git_files::RepositoryFiles;
pub use http_cache::HttpCache;
pub use pager::{page, terminal_width};
pub use read::{read, read_with_metadata};
#[cfg(all(target_os = "linux", feature = "remote"))]
pub use system::use_small_pages;
pub use system::{clock, exit, survive_file_limits};
pub use watch::Watch;

/// Writes to standard output. A reader that went away (`krm build | head`) wanted no more: that is success.
pub fn print(bytes: &[u8]) -> Result<()> {
    print_all(&[bytes])
}

/// Writes pieces to standard output, one after the other.
pub fn print_all(pieces: &[impl AsRef<[u8]>]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match pieces.iter().try_for_each(|piece| out.write_all(piece.as_ref())).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Diagnostic::error("output-not-written", format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes to standard error. When it is closed or full, nobody is left to read it.
pub fn say(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Warnings from code that has no report available: see [`note`] and [`take_notes`].
static NOTES: Mutex<Vec<Diagnostic>> = Mutex::new(Vec::new());

/// Keeps a warning to be shown before the command ends, once however often it is given.
pub fn note(diagnostic: Diagnostic) {
    let mut notes = NOTES.lock().expect("no one panics while holding the notes");
    let is_known =
        |other: &Diagnostic| (other.code(), other.message()) == (diagnostic.code(), diagnostic.message());
    if !notes.iter().any(is_known) {
        notes.push(diagnostic);
    }
}

/// Warnings about the machine, to be shown before the command ends.
pub fn take_notes() -> Vec<Diagnostic> {
    std::mem::take(&mut NOTES.lock().expect("no one panics while holding the notes"))
}

/// Writes a file of a folder, whole or not at all. It was not named by the user: a link there that leads out of the folder is
/// refused.
pub fn write_into(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let mut changes = Changes::to_output(folder)?;
    changes.write(&folder.join(name), bytes)?;
    changes.commit()
}

/// Writes an output file that the user named, whole or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    // A pipe or a device cannot be replaced; it can only be written to.
    if std::fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return std::fs::write(path, bytes).map_err(|error| not_written(path, &error));
    }
    // A folder that is missing is more likely misspelt than wanted.
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::metadata(folder).map_err(|error| {
            not_written(path, &error).help(format!("make the folder `{}` first", folder.display()))
        })?;
    }
    let mut changes = Changes::to_output(path)?;
    changes.write(path, bytes)?;
    changes.commit()
}

pub fn not_written(path: &Path, error: &std::io::Error) -> Diagnostic {
    Diagnostic::error("file-not-written", format!("cannot write `{}`: {error}", path.display()))
}

/// Who has the files of images, for sandboxes; only Linux has those. A credential helper is asked for their registries.
pub fn images(credential_helper: Option<String>) -> Option<std::sync::Arc<dyn krm_engine::runtime::Images>> {
    #[cfg(target_os = "linux")]
    {
        Some(std::sync::Arc::new(images::LocalImages::new(credential_helper)))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = credential_helper;
        None
    }
}

/// Makes a folder, and those above.
pub fn make_dir(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|error| not_written(path, &error))
}

/// Puts a new folder in the place of another, which need not exist, in one step if the system can.
pub fn replace_folder(new: &Path, folder: &Path) -> Result<()> {
    let failed = |error: std::io::Error| not_written(folder, &error);
    if !folder.exists() {
        return std::fs::rename(new, folder).map_err(failed);
    }
    match system::rename(new, folder, system::Rename::Exchange) {
        Ok(()) => {}
        Err(error) if system::is_unsupported(&error) => {
            let old = new.with_extension("old");
            std::fs::rename(folder, &old).map_err(failed)?;
            if let Err(error) = std::fs::rename(new, folder) {
                let _ = std::fs::rename(&old, folder);
                return Err(failed(error));
            }
            std::fs::rename(&old, new).map_err(failed)?;
        }
        Err(error) => return Err(failed(error)),
    }
    std::fs::remove_dir_all(new).map_err(failed)
}

/// The folder the command was given in.
pub fn current_dir() -> Result<PathBuf> {
    std::env::current_dir().map_err(|error| {
        Diagnostic::error("no-current-folder", format!("the folder this runs in cannot be found: {error}"))
    })
}

/// The same path from whatever folder.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|error| {
        let message = format!("cannot find `{}`: {}", path.display(), unreadable_because(&error));
        with_near_path(Diagnostic::error("folder-not-found", message), path)
    })
}

/// An error about a path, with the one that was perhaps meant if it does not exist.
pub fn with_near_path(error: Diagnostic, path: &Path) -> Diagnostic {
    match near_path(&Disk::default(), &path.to_string_lossy()) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error,
    }
}

/// A name as the system has it, which need not be UTF-8.
pub fn os_string(bytes: &[u8]) -> std::ffi::OsString {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        std::ffi::OsStr::from_bytes(bytes).to_owned()
    }
    #[cfg(not(unix))]
    {
        String::from_utf8_lossy(bytes).into_owned().into()
    }
}

/// A text that nobody can guess: 32 hexadecimal digits.
pub fn secret() -> Result<String> {
    #[cfg(unix)]
    {
        use std::io::Read;
        let mut bytes = [0; 16];
        let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
        read.map_err(|error| {
            Diagnostic::error("no-random", format!("the system gives no random bytes: {error}"))
        })?;
        Ok(krm_engine::files::hex(&bytes))
    }
    #[cfg(not(unix))]
    {
        // The keys of these come from the system.
        use std::hash::{BuildHasher, RandomState};
        let number = || RandomState::new().hash_one(0);
        Ok(format!("{:016x}{:016x}", number(), number()))
    }
}

/// An environment variable.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Whether a file may be run.
pub fn is_executable(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o100 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Lets a file be run by those who may read it.
pub fn make_executable(path: &Path) -> Result<()> {
    set_executable(path, true)
}

/// The mode for a copy of a file: it may be read and run by those who may do so with the original, and by no one else. Its
/// owner may write to it.
pub fn mode_for_copy(original: &Path) -> Result<u32> {
    let meta = std::fs::metadata(original).map_err(|error| {
        Diagnostic::error("file-unreadable", format!("cannot read `{}`: {error}", original.display()))
    })?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        Ok((meta.permissions().mode() & 0o777) | 0o200)
    }
    #[cfg(not(unix))]
    {
        let _ = meta;
        Ok(NEW_FILE)
    }
}

/// The mode of a new file, before the system takes away what the user wants no one to have.
pub const NEW_FILE: u32 = 0o666;

/// Makes a file that does not exist yet. It has this mode from the start, so that nobody reads a private one in between.
pub fn create_new(path: &Path, mode: u32) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options.open(path)
}

/// Says whether a file may be run: by those who may read it, or by nobody.
pub fn set_executable(path: &Path, may_run: bool) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let changed = std::fs::metadata(path).and_then(|meta| {
            let mode = meta.permissions().mode();
            let mode = if may_run { mode | ((mode & 0o444) >> 2) } else { mode & !0o111 };
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
        });
        changed.map_err(|error| not_written(path, &error))
    }
    #[cfg(not(unix))]
    {
        let _ = (path, may_run);
        Ok(())
    }
}
