//! What makes changes to many files one change: the new files wait in a folder of the package, beside a journal of where
//! they go.
//!
//! ```text
//! pkg/.krm-changes/journal     what goes where; complete or not there
//! pkg/.krm-changes/0           the new text of a file, and once it has taken its place, the old one
//! pkg/.krm-changes/1 ...
//! ```
//!
//! Until the journal is complete nothing has changed, and the next krm that finds the folder deletes it. From then on the change is
//! decided: the next krm that finds the journal finishes it. Someone may have edited files between the end of the one krm and the
//! start of the next. Their text is never replaced: if the change cannot be finished without that, it is undone, and if
//! that is not possible either, an error says so.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
#[cfg(unix)]
use std::os::unix::ffi::OsStrExt;
#[cfg(unix)]
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use krm_engine::{Diagnostic, Result};
use sha2::{Digest as _, Sha256};

use super::lock::Lock;
use super::system::{self, Rename};
#[cfg(not(unix))]
use super::system::{MetadataExt, OsStrExt};
use super::threads::while_waiting;

/// The folder that holds the journal. Nobody writes a resource to it: its files have no ending.
pub const FOLDER: &str = ".krm-changes";
const JOURNAL: &str = "journal";
/// The first field of a journal: what it is, and the version of its format.
const MAGIC: &[u8] = b"krm changes 1";
const END: &[u8] = b"end";

pub type Digest = [u8; 32];

pub fn digest(bytes: &[u8]) -> Digest {
    Sha256::digest(bytes).into()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// A file that did not exist before.
    Create,
    /// A folder that did not exist before, with everything in it.
    CreateFolder,
    Replace,
    Remove,
}

const KINDS: [(ChangeKind, &str); 4] = [
    (ChangeKind::Create, "create"),
    (ChangeKind::CreateFolder, "create-folder"),
    (ChangeKind::Replace, "replace"),
    (ChangeKind::Remove, "remove"),
];

/// One file, or one new folder.
#[derive(Clone, Debug)]
pub struct JournalEntry {
    pub kind: ChangeKind,
    /// Relative to the root.
    pub target: PathBuf,
    /// The text that is replaced or removed.
    pub old: Digest,
    /// The text that is written.
    pub new: Digest,
}

/// The changes within one folder, from the first file that is put aside to the last that is cleared away.
#[derive(Debug)]
pub struct Journal {
    root: PathBuf,
    folder: PathBuf,
    pub entries: Vec<JournalEntry>,
    /// Whether files may have begun to take their places: then the folder is the journal's to clear, or to keep.
    is_decided: bool,
}

/// Why a change did not take place.
pub enum Fault {
    /// Someone else changed the file in the meantime.
    Changed,
    Failed(io::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::AlreadyExists | ErrorKind::NotFound => Fault::Changed,
            _ => Fault::Failed(error),
        }
    }
}

/// How far an entry has come, and whether nobody has touched its file since.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting {
        untouched: bool,
    },
    Done {
        untouched: bool,
    },
    /// What was put aside belongs to someone else, and has to go back.
    Misplaced {
        untouched: bool,
    },
}

/// What changes that are being made must survive, to be finished or undone by the next krm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survive {
    /// The end of the process.
    ProcessEnd,
    /// The loss of power too: files and folders are written to disk at each step that the next one relies on.
    PowerLoss,
}

impl Journal {
    /// Makes the folder for a root given by its real path, and deals with what an earlier krm left there.
    pub fn begin(root: &Path, lock: &Lock, shown: &Path) -> Result<Self> {
        let folder = folder_of(root);
        let made = match fs::create_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                recover(root, lock)?;
                fs::create_dir(&folder)
            }
            made => made,
        };
        made.and_then(|()| system::make_private(&folder)).map_err(|error| {
            super::not_written(shown, &error).help(format!(
                "new files are put aside in `{}` first, so krm must be able to write there",
                root.display()
            ))
        })?;
        Ok(Self { root: root.to_owned(), folder, entries: Vec::new(), is_decided: false })
    }

    /// Where the file of an entry waits.
    pub fn aside(&self, number: usize) -> PathBuf {
        self.folder.join(number.to_string())
    }

    fn target(&self, number: usize) -> PathBuf {
        self.root.join(&self.entries[number].target)
    }

    /// Makes the changes; on a fault, undoes those that were made and says which one it was.
    pub fn commit(&mut self, survive: Survive) -> Result<(), (usize, Fault)> {
        let durable = survive == Survive::PowerLoss;
        let first = |fault: io::Error| (0, Fault::Failed(fault));
        if durable {
            self.sync_aside().map_err(first)?;
        }
        // A single file takes its place in one step. But if it turns out that someone changed it in that moment, their
        // text waits aside until it is back in its place.
        if durable || self.entries.len() > 1 {
            self.write(survive).map_err(first)?;
        }
        if durable {
            sync(&self.folder).and_then(|()| sync(&self.root)).map_err(first)?;
        }
        self.is_decided = true;
        let order = self.order();
        for (at, number) in order.iter().enumerate() {
            let Err(fault) = self.apply(*number) else { continue };
            for number in order[..at].iter().rev() {
                // The journal stays, for the next krm to finish or to undo.
                self.revert(*number).map_err(|error| (*number, Fault::Failed(error)))?;
            }
            self.clear();
            return Err((*number, fault));
        }
        if durable {
            self.sync_targets().map_err(|error| (0, Fault::Failed(error)))?;
        }
        self.clear();
        if durable {
            // If this does not reach the disk, the next krm finds a change that is finished, and clears it away.
            let _ = sync(&self.root);
        }
        Ok(())
    }

    /// New folders take their places last: what people put into one since cannot be distinguished from what was in it, so this must
    /// not have to be undone.
    fn order(&self) -> Vec<usize> {
        let is_folder = |number: &usize| self.entries[*number].kind == ChangeKind::CreateFolder;
        let (folders, mut order): (Vec<_>, Vec<_>) = (0..self.entries.len()).partition(is_folder);
        order.extend(folders);
        order
    }

    /// Writes everything aside to disk.
    fn sync_aside(&self) -> io::Result<()> {
        let files = |number: usize| {
            let mut found = Vec::new();
            if self.entries[number].kind != ChangeKind::Remove {
                collect(&self.aside(number), &mut found)?;
            }
            Ok(found)
        };
        let files = (0..self.entries.len()).map(files).collect::<io::Result<Vec<_>>>()?;
        while_waiting(&files.concat(), |path| sync(path)).into_iter().collect()
    }

    /// Writes the folders in which a name changed to disk.
    fn sync_targets(&self) -> io::Result<()> {
        let folders: BTreeSet<PathBuf> =
            (0..self.entries.len()).filter_map(|n| Some(self.target(n).parent()?.to_owned())).collect();
        while_waiting(&Vec::from_iter(folders), |folder| sync(folder)).into_iter().collect()
    }

    /// Every field ends in a zero byte, which no path contains.
    fn write(&self, survive: Survive) -> io::Result<()> {
        let mut text = Vec::with_capacity(self.entries.len() * 200);
        let mut field = |bytes: &[u8]| {
            text.extend_from_slice(bytes);
            text.push(0);
        };
        field(MAGIC);
        for entry in &self.entries {
            let word = KINDS.iter().find(|(kind, _)| *kind == entry.kind).expect("all kinds have a word").1;
            field(word.as_bytes());
            field(entry.target.as_os_str().as_bytes());
            field(hex(&entry.old).as_bytes());
            field(hex(&entry.new).as_bytes());
        }
        field(END);
        let mut file = File::create_new(self.folder.join(JOURNAL))?;
        file.write_all(&text)?;
        match survive {
            Survive::PowerLoss => file.sync_all(),
            Survive::ProcessEnd => Ok(()),
        }
    }

    /// Reads the journal of an earlier krm; `None` if it is not complete.
    fn read(root: &Path) -> io::Result<Option<Self>> {
        let folder = folder_of(root);
        let text = match fs::read(folder.join(JOURNAL)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            text => text?,
        };
        let mut journal = Self { root: root.to_owned(), folder, entries: Vec::new(), is_decided: false };
        let mut fields = text.split(|byte| *byte == 0);
        if fields.next() != Some(MAGIC) {
            return Ok(None);
        }
        loop {
            let Some(word) = fields.next() else { return Ok(None) };
            if word == END {
                // With the zero byte after it, and nothing after that.
                return Ok((fields.next() == Some(b"")).then_some(journal));
            }
            let kind = KINDS.iter().find(|(_, name)| name.as_bytes() == word);
            let (Some((kind, _)), Some(target), Some(old), Some(new)) =
                (kind, fields.next(), fields.next().and_then(unhex), fields.next().and_then(unhex))
            else {
                return Ok(None);
            };
            let target = PathBuf::from(OsStr::from_bytes(target));
            journal.entries.push(JournalEntry { kind: *kind, target, old, new });
        }
    }

    /// Makes one change. What is replaced or removed must be what it was when the change was prepared: it is looked at
    /// once it has left its place, when nobody can change it by its name any more.
    fn apply(&self, number: usize) -> Result<(), Fault> {
        let (aside, target) = (self.aside(number), self.target(number));
        let entry = &self.entries[number];
        match entry.kind {
            ChangeKind::Create | ChangeKind::CreateFolder => move_to(&aside, &target)?,
            ChangeKind::Remove => {
                move_to(&target, &aside)?;
                if digest_of(&aside)? != entry.old {
                    move_to(&aside, &target)?;
                    return Err(Fault::Changed);
                }
            }
            ChangeKind::Replace => {
                exchange(&aside, &target)?;
                if digest_of(&aside)? != entry.old {
                    exchange(&aside, &target)?;
                    return Err(Fault::Changed);
                }
            }
        }
        Ok(())
    }

    /// Takes one change back.
    fn revert(&self, number: usize) -> io::Result<()> {
        let (aside, target) = (self.aside(number), self.target(number));
        match self.entries[number].kind {
            ChangeKind::Create | ChangeKind::CreateFolder => move_to(&target, &aside),
            ChangeKind::Remove => move_to(&aside, &target),
            ChangeKind::Replace => exchange(&aside, &target),
        }
    }

    fn state(&self, number: usize) -> io::Result<State> {
        let (aside, target) = (self.aside(number), self.target(number));
        let entry = &self.entries[number];
        settle_replacement(&aside)?;
        let waits = exists(&aside);
        let target_is = |text: Digest| digest_of(&target).is_ok_and(|there| there == text);
        Ok(match entry.kind {
            ChangeKind::Create | ChangeKind::CreateFolder if waits => {
                State::Waiting { untouched: !exists(&target) }
            }
            ChangeKind::Create => State::Done { untouched: target_is(entry.new) },
            // What people have put into a new folder since is theirs.
            ChangeKind::CreateFolder => State::Done { untouched: false },
            ChangeKind::Remove if waits => State::Done { untouched: !exists(&target) },
            ChangeKind::Remove if exists(&target) => State::Waiting { untouched: target_is(entry.old) },
            ChangeKind::Remove => State::Done { untouched: false },
            // It was cleared away already.
            ChangeKind::Replace if !waits => State::Done { untouched: false },
            ChangeKind::Replace => match digest_of(&aside)? {
                text if text == entry.new => State::Waiting { untouched: target_is(entry.old) },
                text if text == entry.old => State::Done { untouched: target_is(entry.new) },
                _ => State::Misplaced { untouched: target_is(entry.new) },
            },
        })
    }

    /// Finishes the change of an earlier krm, or undoes it. Returns what it did.
    fn settle(&self) -> io::Result<Option<&'static str>> {
        let states = (0..self.entries.len()).map(|n| self.state(n)).collect::<io::Result<Vec<_>>>()?;
        let can_finish = states
            .iter()
            .all(|state| matches!(state, State::Done { .. } | State::Waiting { untouched: true }));
        if can_finish {
            let waiting = |n: &usize| matches!(states[*n], State::Waiting { .. });
            let finished = self.order().into_iter().filter(waiting).try_for_each(|n| self.apply(n));
            if finished.is_ok() {
                self.sync_targets()?;
                return Ok(Some("finished"));
            }
        }
        let states = (0..self.entries.len()).map(|n| self.state(n)).collect::<io::Result<Vec<_>>>()?;
        let can_undo = states.iter().all(|state| {
            !matches!(state, State::Done { untouched: false } | State::Misplaced { untouched: false })
        });
        if !can_undo {
            return Ok(None);
        }
        let done = |n: &usize| !matches!(states[*n], State::Waiting { .. });
        self.order().into_iter().rev().filter(done).try_for_each(|n| self.revert(n))?;
        self.sync_targets()?;
        Ok(Some("undone"))
    }

    /// Removes what was put aside, unless that is where the next krm finds what is left to do.
    pub fn abandon(&self) {
        if !self.is_decided {
            self.clear();
        }
    }

    /// Removes the folder. The journal goes first: without it nobody takes the rest for a change to be made.
    fn clear(&self) {
        clear(&self.folder);
    }

    /// Whether every path is one that we would have written: below the root, not by way of a link, and not in `.git`. A
    /// journal may have come with a package, and a hook of git's is a program.
    fn is_ours(&self) -> bool {
        let is_git = |name: &OsStr| [".git", "git~1"].iter().any(|git| name.eq_ignore_ascii_case(git));
        self.entries.iter().all(|entry| {
            let mut parts = entry.target.components();
            let plain = parts.all(|part| matches!(part, Component::Normal(name) if !is_git(name)));
            let target = self.root.join(&entry.target);
            let folder = target.parent().and_then(|folder| folder.canonicalize().ok());
            let staging = entry.target.starts_with(FOLDER);
            plain && !staging && folder.as_deref() == target.parent() && !target.is_symlink()
        })
    }
}

/// Finishes or undoes what an earlier krm began in a folder. A krm that is still at work is waited
/// for. The common case, nothing to do, costs one question to the system.
pub fn settle(root: &Path) -> Result<()> {
    // Anyone may put a journal into a folder where everyone may make files.
    if !exists(&root.join(FOLDER)) || is_shared(root) {
        return Ok(());
    }
    let Ok(root) = root.canonicalize() else { return Ok(()) };
    match super::lock::is_ours(&root) {
        // Our own change is going on.
        true => Ok(()),
        false => recover(&root, &Lock::new(&root)?),
    }
}

/// The same for someone who has the lock.
pub fn recover(root: &Path, lock: &Lock) -> Result<()> {
    let folder = folder_of(root);
    let Ok(there) = fs::symlink_metadata(&folder) else { return Ok(()) };
    let unfinished = |why: &str| {
        let message = format!("another krm left changes to `{}` unfinished, and {why}", root.display());
        Err(Diagnostic::error("changes-unfinished", message)
            .help(format!("check the files; to keep them as they are, remove `{}`", folder.display())))
    };
    if !there.is_dir() {
        return unfinished("its folder was replaced by something else");
    }
    if there.uid() != system::user() {
        return unfinished("it ran as another user");
    }
    if !lock.is_effective() && is_recent(&there) {
        let message = format!("`{}` is being changed by another krm", root.display());
        return Err(Diagnostic::error("package-in-use", message)
            .help("wait for it to end, or end it, and run this command again"));
    }
    let journal = match Journal::read(root) {
        Ok(Some(journal)) => journal,
        Ok(None) => {
            clear(&folder);
            return Ok(());
        }
        Err(error) => return unfinished(&format!("its journal cannot be read: {error}")),
    };
    if !journal.is_ours() {
        return unfinished("its journal names files it may not change");
    }
    match journal.settle() {
        Ok(Some(what)) => {
            journal.clear();
            let message = format!("changes to `{}` that were interrupted are now {what}", root.display());
            super::note(Diagnostic::warning("changes-resumed", message));
            Ok(())
        }
        Ok(None) => unfinished("files were edited since"),
        Err(error) => unfinished(&format!("they can neither be finished nor undone: {error}")),
    }
}

/// Whether the change may still be going on, for all we know without locks.
fn is_recent(folder: &fs::Metadata) -> bool {
    let age = folder.modified().ok().and_then(|time| time.elapsed().ok());
    age.is_none_or(|age| age.as_secs() < 300)
}

/// In a folder where everyone may make files, such as `/tmp`, everyone has a folder of their own.
fn folder_of(root: &Path) -> PathBuf {
    match is_shared(root) {
        true => root.join(format!("{FOLDER}-{}", system::user())),
        false => root.join(FOLDER),
    }
}

fn is_shared(root: &Path) -> bool {
    fs::metadata(root).is_ok_and(|root| root.mode() & 0o1000 != 0)
}

fn clear(folder: &Path) {
    let _ = fs::remove_file(folder.join(JOURNAL));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    // New folders that did not take their places are left to the last line.
    while_waiting(&files, |file| fs::remove_file(file).ok());
    let _ = fs::remove_dir_all(folder);
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Gives a file or folder a name that nobody has.
fn move_to(from: &Path, to: &Path) -> io::Result<()> {
    match system::rename(from, to, Rename::NoReplace) {
        Err(error) if system::is_unsupported(&error) => {
            if exists(to) {
                return Err(ErrorKind::AlreadyExists.into());
            }
            fs::rename(from, to)
        }
        done => done,
    }
}

/// Swaps two files.
fn exchange(aside: &Path, target: &Path) -> io::Result<()> {
    match system::rename(aside, target, Rename::Exchange) {
        Err(error) if system::is_unsupported(&error) => exchange_by_link(aside, target),
        done => done,
    }
}

/// The same if the file system cannot do it in one step: the old file gets a second name first, so that the target exists
/// at any moment.
fn exchange_by_link(aside: &Path, target: &Path) -> io::Result<()> {
    let second = second_name(aside);
    fs::hard_link(target, &second).or_else(|_| fs::copy(target, &second).map(drop))?;
    fs::rename(aside, target)?;
    fs::rename(second, aside)
}

fn second_name(aside: &Path) -> PathBuf {
    aside.with_extension("old")
}

/// Ends an [`exchange`] that was interrupted.
fn settle_replacement(aside: &Path) -> io::Result<()> {
    let second = second_name(aside);
    match (exists(&second), exists(aside)) {
        (true, true) => fs::remove_file(second),
        (true, false) => fs::rename(second, aside),
        _ => Ok(()),
    }
}

/// The text of a link is where it leads.
fn digest_of(path: &Path) -> io::Result<Digest> {
    let there = path.symlink_metadata()?;
    if there.is_symlink() {
        return Ok(digest(path.read_link()?.as_os_str().as_bytes()));
    }
    if !there.is_file() {
        return Err(ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::with_capacity(there.len() as usize);
    File::open(path)?.read_to_end(&mut bytes)?;
    Ok(digest(&bytes))
}

fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// A file, or a folder and everything in it.
fn collect(path: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), found)?;
        }
    }
    found.push(path.to_owned());
    Ok(())
}

fn hex(digest: &Digest) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &[u8]) -> Option<Digest> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.is_ascii() && text.len() == 64)?;
    let mut digest = [0; 32];
    for (at, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// A package of three files that are to change and one that is to come, stopped after some of them have.
    struct Stopped {
        root: PathBuf,
        lock: Lock,
        _dir: TempDir,
    }

    impl Stopped {
        fn after(steps: usize) -> Self {
            let dir = tempfile::tempdir().expect("the temporary folder is writable");
            let root = dir.path().canonicalize().expect("it was just made");
            let lock = Lock::new(&root).expect("nobody else knows it");
            let mut journal = Journal::begin(&root, &lock, &root).expect("it is empty");
            let mut add = |kind, name: &str, old: &str, new: &str| {
                if kind != ChangeKind::Create {
                    fs::write(root.join(name), old).expect("a new file");
                }
                if kind != ChangeKind::Remove {
                    fs::write(journal.aside(journal.entries.len()), new).expect("a new file");
                }
                let (old, new) = (digest(old.as_bytes()), digest(new.as_bytes()));
                journal.entries.push(JournalEntry { kind, target: name.into(), old, new });
            };
            add(ChangeKind::Replace, "a", "old a", "new a");
            add(ChangeKind::Create, "b", "", "new b");
            add(ChangeKind::Remove, "c", "old c", "");
            add(ChangeKind::Replace, "d", "old d", "new d");
            journal.write(Survive::ProcessEnd).expect("the folder is ours");
            (0..steps).for_each(|n| assert!(journal.apply(n).is_ok()));
            Self { root, lock, _dir: dir }
        }

        fn settle(&self) -> Result<()> {
            recover(&self.root, &self.lock)
        }

        fn files(&self) -> String {
            let mut files: Vec<String> = fs::read_dir(&self.root)
                .expect("it is there")
                .map(|entry| entry.expect("readable").path())
                .map(|path| fs::read_to_string(path).unwrap_or_else(|_| "a folder".into()))
                .collect();
            files.sort();
            files.join(", ")
        }
    }

    const OLD: &str = "old a, old c, old d";
    const NEW: &str = "new a, new b, new d";

    #[test]
    fn what_was_begun_is_finished() {
        for steps in 0..=4 {
            let package = Stopped::after(steps);
            package.settle().expect("nobody touched it");
            assert_eq!(package.files(), NEW, "after {steps}");
        }
    }

    #[test]
    fn without_a_journal_nothing_changes() {
        for cut in [1, 20, 100] {
            let package = Stopped::after(0);
            let journal = package.root.join(FOLDER).join(JOURNAL);
            let text = fs::read(&journal).expect("it is there");
            fs::write(&journal, &text[..text.len() - cut]).expect("it is ours");
            package.settle().expect("nothing to do");
            assert_eq!(package.files(), OLD);
        }
    }

    #[test]
    fn an_edit_of_an_old_file_undoes_the_rest() {
        let package = Stopped::after(2);
        fs::write(package.root.join("d"), "edited").expect("it is ours");
        package.settle().expect("it can be undone");
        assert_eq!(package.files(), "edited, old a, old c");
    }

    #[test]
    fn an_edit_of_a_new_file_is_kept_when_the_rest_is_finished() {
        let package = Stopped::after(2);
        fs::write(package.root.join("a"), "edited").expect("it is ours");
        package.settle().expect("it can be finished");
        assert_eq!(package.files(), "edited, new b, new d");
    }

    #[test]
    fn edits_of_both_are_an_error_that_changes_nothing() {
        let package = Stopped::after(2);
        fs::write(package.root.join("a"), "edited a").expect("it is ours");
        fs::write(package.root.join("d"), "edited d").expect("it is ours");
        let before = package.files();
        assert_eq!(package.settle().unwrap_err().code(), "changes-unfinished");
        assert_eq!(package.files(), before);
    }

    #[test]
    fn files_are_swapped_also_without_the_means_to_do_it_at_once() {
        let package = Stopped::after(0);
        let (aside, target) = (package.root.join(FOLDER).join("0"), package.root.join("a"));
        exchange_by_link(&aside, &target).expect("both are ours");
        assert_eq!(
            (fs::read(&aside).unwrap(), fs::read(&target).unwrap()),
            (b"old a".into(), b"new a".into())
        );
        // Stopped before the last step.
        fs::rename(&aside, second_name(&aside)).expect("it is ours");
        package.settle().expect("nobody touched it");
        assert_eq!(package.files(), NEW);
        // Stopped after the first.
        let package = Stopped::after(0);
        let (aside, target) = (package.root.join(FOLDER).join("0"), package.root.join("a"));
        fs::hard_link(&target, second_name(&aside)).expect("a new link");
        package.settle().expect("nobody touched it");
        assert_eq!(package.files(), NEW);
    }

    #[test]
    fn a_journal_reaches_nothing_outside() {
        for target in ["../outside", "/etc/passwd", ".krm-changes/journal", "link/file"] {
            let package = Stopped::after(0);
            std::os::unix::fs::symlink("/tmp", package.root.join("link")).expect("a new link");
            let mut journal = Journal::read(&package.root).expect("readable").expect("complete");
            journal.entries[0].target = target.into();
            fs::remove_file(journal.folder.join(JOURNAL)).expect("it is ours");
            journal.write(Survive::ProcessEnd).expect("the folder is ours");
            assert_eq!(package.settle().unwrap_err().code(), "changes-unfinished", "{target}");
        }
    }

    #[test]
    fn what_failed_in_the_middle_is_undone() {
        let package = Stopped::after(0);
        let mut journal = Journal::read(&package.root).expect("readable").expect("complete");
        fs::remove_file(journal.folder.join(JOURNAL)).expect("it is ours");
        fs::write(package.root.join("d"), "edited").expect("it is ours");
        let Err((3, Fault::Changed)) = journal.commit(Survive::PowerLoss) else {
            panic!("it must not be replaced")
        };
        assert_eq!(package.files(), "edited, old a, old c");
    }
}
