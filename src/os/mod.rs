//! The machine: standard output, and a [`World`] of real files.

mod environment;
mod remote;

use std::collections::BTreeMap;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

use krm_engine::files::repository::Repository;
use krm_engine::files::world::{DirEntry, Download, EntryKind, Fetched};
use krm_engine::{Diagnostic, Result, World};

pub use environment::{cache_dir, container_engine, plugin_homes};
use remote::Remote;

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

/// Ends the process, and nothing else: what was to be written has been.
pub fn exit(status: i32) -> ! {
    #[cfg(unix)]
    #[allow(unsafe_code)]
    // SAFETY: it takes a number, and does not come back.
    unsafe {
        libc::_exit(status)
    }
    #[cfg(not(unix))]
    std::process::exit(status)
}

/// Has a file that grows beyond what the system allows be an error, as a full disk is: by itself it would end the process
/// on the spot, and leave behind what is prepared.
pub fn survive_file_limits() {
    #[allow(unsafe_code)]
    // SAFETY: to ignore a signal runs no code of ours, and no other thread is there yet.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Writes a file, whole or not at all.
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
    let mut changes = Changes::default();
    changes.write(path.to_owned(), bytes)?;
    changes.commit()
}

fn not_written(path: &Path, error: &std::io::Error) -> Diagnostic {
    Diagnostic::error("file-not-written", format!("cannot write `{}`: {error}", path.display()))
}

/// Changes to files that are made together: each is prepared beside its place first, and only when all are ready do they
/// take their places. What was prepared is removed again where that does not come about.
#[derive(Default)]
pub struct Changes {
    /// The folder that no link may lead out of, where there is one.
    root: Option<PathBuf>,
    /// Where a prepared file goes, and where it waits.
    written: BTreeMap<PathBuf, PathBuf>,
    removed: Vec<PathBuf>,
    /// Folders that were not there before, those above first.
    made: Vec<PathBuf>,
}

impl Changes {
    /// What is written from now on is of this folder alone: a link that leads out of it is not followed. A file instead of
    /// a folder may be a link to anywhere: whoever names it means what it leads to.
    pub fn stay_in(&mut self, root: &Path) {
        self.root = root.canonicalize().ok().filter(|root| root.is_dir());
    }

    /// Prepares a file with this content; missing folders are made. A file that has it already is left alone.
    pub fn write(&mut self, path: PathBuf, bytes: &[u8]) -> Result<()> {
        if std::fs::read(&path).is_ok_and(|there| there == bytes) {
            return Ok(());
        }
        self.refuse_leaving(&path)?;
        // Through links, so that a link stays one.
        let place = path.canonicalize().unwrap_or_else(|_| path.clone());
        if let Some(prepared) = self.written.get(&place) {
            return match std::fs::read(prepared).is_ok_and(|there| there == bytes) {
                true => Ok(()),
                false => Err(two_texts(&path)),
            };
        }
        let there = std::fs::metadata(&place).ok();
        self.prepare(&place, there.as_ref(), bytes).map_err(|error| not_written(&path, &error))
    }

    fn prepare(&mut self, path: &Path, there: Option<&Metadata>, bytes: &[u8]) -> std::io::Result<()> {
        if there.is_some_and(Metadata::is_file) {
            // Replacing a file asks for no right to write to it. Whoever has taken that right away means it.
            OpenOptions::new().write(true).open(path)?;
        }
        if let Some(folder) = path.parent() {
            let missing =
                folder.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.exists());
            let missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
            self.made.extend(missing.into_iter().rev());
            std::fs::create_dir_all(folder)?;
        }
        // What nobody may read, nobody may read while it waits, either.
        let (prepared, mut file) = make_beside(path, there.map_or(0o666, |there| there.mode() & 0o600))?;
        self.written.insert(path.to_owned(), prepared);
        file.write_all(bytes)?;
        if let Some(there) = there {
            // Only root may give files away; others keep at least the group where they are in it.
            if fchown(&file, Some(there.uid()), Some(there.gid())).is_err() {
                let _ = fchown(&file, None, Some(there.gid()));
            }
            file.set_permissions(there.permissions())?;
        }
        Ok(())
    }

    /// A file that is to go. Where its folder cannot be changed that is told now, while nothing is.
    pub fn remove(&mut self, path: PathBuf) -> Result<()> {
        let probe = make_beside(&path, 0o600).and_then(|(probe, _)| std::fs::remove_file(probe));
        probe.map_err(|error| not_written(&path, &error))?;
        self.removed.push(path);
        Ok(())
    }

    /// Makes the changes.
    pub fn commit(mut self) -> Result<()> {
        while let Some(next) = self.written.first_entry() {
            let (path, prepared) = (next.key(), next.get());
            // Where one fails, it and those behind it are what drops.
            std::fs::rename(prepared, path).map_err(|error| not_written(path, &error))?;
            next.remove();
        }
        for path in &self.removed {
            std::fs::remove_file(path).map_err(|error| not_written(path, &error))?;
        }
        self.made.clear();
        Ok(())
    }

    /// Refuses a file that is elsewhere, by way of a link to it or to a folder above.
    fn refuse_leaving(&self, path: &Path) -> Result<()> {
        let Some(root) = &self.root else { return Ok(()) };
        let real = path.ancestors().find_map(|above| above.canonicalize().ok());
        if real.is_none_or(|real| real.starts_with(root)) {
            return Ok(());
        }
        let message = format!("`{}` would be written to, by way of a link out of its folder", path.display());
        Err(Diagnostic::error("link-leads-outside", message)
            .help("put the file itself in the place of the link, or name the link in .krmignore"))
    }
}

/// One file under two names, of which one is a link to the other, cannot hold two texts.
fn two_texts(path: &Path) -> Diagnostic {
    let message = format!(
        "`{}` would have to hold two texts: it is the same file as another, by a link",
        path.display()
    );
    Diagnostic::error("file-of-two-texts", message).help("put a file of its own in the place of the link")
}

/// Makes a file beside another. One that is there already, left over or put there for us to fall over, is neither
/// followed nor written to.
fn make_beside(path: &Path, mode: u32) -> std::io::Result<(PathBuf, File)> {
    let mut name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // Names may have 255 bytes, and ours must fit.
    name.truncate(name.floor_char_boundary(200));
    let mut count = 0;
    loop {
        let place = path.with_file_name(format!(".{name}.{}-{count}.krm", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(mode).open(&place) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && count < 1000 => count += 1,
            made => return made.map(|file| (place, file)),
        }
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        for prepared in self.written.values() {
            // It may not have come into being.
            let _ = std::fs::remove_file(prepared);
        }
        for folder in self.made.iter().rev() {
            // Only one that is empty goes.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Makes a folder, and those above.
pub fn make_dir(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|error| not_written(path, &error))
}

/// The folder the command was given in.
pub fn current_dir() -> Result<PathBuf> {
    std::env::current_dir().map_err(|error| {
        Diagnostic::error("no-current-folder", format!("the folder this runs in cannot be found: {error}"))
    })
}

/// The same place, whatever folder it is looked at from.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|error| {
        Diagnostic::error("folder-not-found", format!("cannot find `{}`: {error}", path.display()))
    })
}

/// An environment variable.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Real files, and what is fetched from elsewhere.
#[derive(Default)]
pub struct Disk {
    remote: Remote,
}

impl World for Disk {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn is_dir(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn is_file(&self, path: &Path) -> bool {
        path.is_file()
    }

    fn list(&self, dir: &Path) -> std::io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            let kind = match entry.file_type()? {
                kind if kind.is_dir() => EntryKind::Folder,
                kind if kind.is_file() => EntryKind::File,
                kind if kind.is_symlink() => EntryKind::Link,
                _ => EntryKind::Other,
            };
            entries.push(DirEntry { name: entry.file_name(), kind });
        }
        entries.sort();
        Ok(entries)
    }

    fn real_path(&self, path: &Path) -> std::io::Result<PathBuf> {
        path.canonicalize()
    }

    fn fetch(&self, repository: &Repository) -> Result<Fetched> {
        self.remote.fetch(repository)
    }

    fn get(&self, address: &str) -> Result<Download> {
        self.remote.get(address)
    }
}
