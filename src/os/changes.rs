//! Changes to files: all of them or none.
//!
//! ```ignore
//! let mut changes = Changes::in_packages(&[dir])?;          // waits for other krms, finishes what one of them left undone
//! let before = read(path);                                  // read only now
//! changes.edit(path, before.text(), new.as_bytes())?;       // refuses a file that someone else changed since
//! changes.write(new_path, bytes)?;                          // whatever is there; folders are made
//! changes.remove(old_path, Some(before.text()))?;
//! changes.commit()?;                                        // dropped instead, nothing has changed
//! ```
//!
//! New files wait in a folder `.krm-changes` of the package, see [`super::journal`], and take their places together. When
//! krm is killed in between, the next krm that reads or writes there finishes the change or undoes it. Signals that ask it
//! to end are held back while files are written, so that they leave nothing behind.
//!
//! Several packages named on one command line change together if a folder around them is the user's own; otherwise one after
//! the other, each of them all or nothing.
//!
//! Files in packages are written to disk before they replace others, and so are the names in folders. Output
//! ([`Changes::to_output`]) is not: it can be made again, and a new folder of 200 files should not take a second. A new
//! folder takes its place in one step, without a journal.

use std::collections::BTreeMap;
use std::fs::{self, Metadata, OpenOptions};
use std::io::{ErrorKind, Write};
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use krm_engine::files::clean;
use krm_engine::runtime::{Uninterrupted, on_interrupt, uninterrupted};
use krm_engine::{Diagnostic, Result};
use krm_yaml::encode_like;

use super::journal::{self, ChangeKind, Digest, Fault, Journal, JournalEntry, Survive, digest};
use super::lock::Lock;
use super::system::{self, HoldSignals};
#[cfg(not(unix))]
use super::system::{MetadataExt, fchown};
use super::{NEW_FILE, create_new, not_written};

/// Files that are to change together.
pub struct Changes {
    roots: Vec<Root>,
    /// What the user named. Nothing else is changed: a link that leads elsewhere is not followed.
    named: Vec<PathBuf>,
    survive: Survive,
    /// The folder of the last file, as given and as it is: most files share theirs.
    last_folder: Option<(PathBuf, Folder)>,
    /// From the first file that is put aside. In this order: a signal that came in between takes effect when both are gone.
    hold: Option<(Uninterrupted, HoldSignals)>,
}

/// A folder, and the changes below it.
struct Root {
    path: PathBuf,
    device: u64,
    journal: Option<Journal>,
    /// The paths as the user would write them, for each entry of the journal.
    shown: Vec<PathBuf>,
    /// Where each changed file waits; nothing for one that is removed.
    aside: BTreeMap<PathBuf, Option<PathBuf>>,
    /// The entries of new folders.
    new_folders: BTreeMap<PathBuf, usize>,
    // Last, so that it is dropped when everything is cleared away.
    lock: Lock,
}

/// A folder by its real path.
#[derive(Clone)]
struct Folder {
    path: PathBuf,
    /// The topmost part of it that does not exist yet.
    missing: Option<PathBuf>,
    /// Of what exists of it.
    device: u64,
    /// The group that new files in it get, if the folder decides that.
    group: Option<u32>,
}

impl Changes {
    /// Changes to packages: folders, or single files. Call it before reading them. It waits until no other krm changes them,
    /// and finishes or undoes what one left unfinished.
    pub fn in_packages(paths: &[&Path]) -> Result<Self> {
        on_interrupt(|| eprintln!("interrupted; nothing was written"));
        Self::begin(paths, Survive::PowerLoss)
    }

    /// Output to a file or a folder, which need not exist.
    pub fn to_output(path: &Path) -> Result<Self> {
        Self::begin(&[path], Survive::ProcessEnd)
    }

    fn begin(paths: &[&Path], survive: Survive) -> Result<Self> {
        let mut named: Vec<PathBuf> = paths.iter().map(|path| real(path)).collect();
        named.sort();
        // A change of a folder around one of them concerns it as well.
        named.iter().flat_map(|path| path.ancestors()).try_for_each(journal::settle)?;
        let roots = roots_of(&named).iter().map(|folder| Root::new(folder)).collect::<Result<_>>()?;
        Ok(Self { roots, named, survive, last_folder: None, hold: None })
    }

    /// Prepares a file with this content, whatever it holds now; missing folders are made. A file that holds it already is
    /// left alone. Returns whether it changes.
    pub fn write(&mut self, path: &Path, bytes: &[u8]) -> Result<bool> {
        self.prepare(path, None, bytes, NEW_FILE)
    }

    /// The same with the mode that a file gets if it is new.
    pub fn write_with_mode(&mut self, path: &Path, bytes: &[u8], mode: u32) -> Result<bool> {
        self.prepare(path, None, bytes, mode)
    }

    /// The same for a file that was read before: `before` is its text, as decoded. If someone changed it since, that is an
    /// error. The new text is written in the encoding that the file has.
    pub fn edit(&mut self, path: &Path, before: &str, text: &[u8]) -> Result<()> {
        self.prepare(path, Some(before), text, NEW_FILE).map(drop)
    }

    /// Prepares the removal of a file; `before` as for [`Changes::edit`].
    pub fn remove(&mut self, path: &Path, before: Option<&str>) -> Result<()> {
        let folder = self.folder_of(path)?;
        let place = folder.path.join(path.file_name().unwrap_or_default());
        let failed = |error: std::io::Error| not_written(path, &error);
        let old = match place.is_symlink() {
            true => digest(place.read_link().map_err(failed)?.as_os_str().as_encoded_bytes()),
            false => {
                let there = super::read(&place).map_err(failed)?;
                let old = digest(&there);
                refuse_changed(path, before, there)?;
                old
            }
        };
        self.may_change(path, &place)?;
        let root = self.root_of(path, &place, &folder)?;
        if root.aside.insert(place.clone(), None).is_some() {
            return Err(two_texts(path));
        }
        root.add(path, ChangeKind::Remove, &place, old, Digest::default())?;
        self.hold();
        Ok(())
    }

    /// Makes the changes. If one of them fails, none is made.
    pub fn commit(mut self) -> Result<()> {
        for root in &mut self.roots {
            self.hold.as_ref().map_or(Ok(()), |_| refuse_interrupted())?;
            let Some(journal) = &mut root.journal else { continue };
            journal.commit(self.survive).map_err(|(number, fault)| match fault {
                Fault::Changed => changed_meanwhile(&root.shown[number]),
                Fault::Failed(error) => not_written(&root.shown[number], &error),
            })?;
            on_interrupt(|| eprintln!("interrupted; the changes were written before"));
        }
        Ok(())
    }

    /// Returns whether the file changes.
    fn prepare(&mut self, path: &Path, before: Option<&str>, bytes: &[u8], mode: u32) -> Result<bool> {
        let encoded;
        let mut bytes = bytes;
        let folder = self.folder_of(path)?;
        // Through a link, so that it stays one.
        let name = folder.path.join(path.file_name().unwrap_or_default());
        let (folder, place) = match name.is_symlink() {
            true => {
                let place = name.canonicalize().map_err(|error| not_written(path, &error))?;
                (Folder::of(place.parent().unwrap_or(&place)), place)
            }
            false => (folder, name),
        };
        let failed = |error: std::io::Error| not_written(path, &error);
        let there = match fs::symlink_metadata(&place) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound) => None,
            there => Some(there.map_err(failed)?),
        };
        let old = match &there {
            None if before.is_some() => return Err(changed_meanwhile(path)),
            None => None,
            Some(_) => {
                let old = super::read(&place).map_err(failed)?;
                if old == bytes && before.is_none() {
                    return Ok(false);
                }
                let old_digest = digest(&old);
                if let (Some(_), Ok(text)) = (before, str::from_utf8(bytes)) {
                    encoded = encode_like(&old, text);
                    bytes = &encoded;
                }
                refuse_changed(path, before, old)?;
                Some(old_digest)
            }
        };
        self.may_change(path, &place)?;
        self.hold();
        refuse_interrupted()?;
        let root = self.root_of(path, &place, &folder)?;
        if let Some(aside) = root.aside.get(&place) {
            return match aside.as_ref().is_some_and(|aside| fs::read(aside).is_ok_and(|there| there == bytes))
            {
                true => Ok(true),
                false => Err(two_texts(path)),
            };
        }
        let aside = match (old, folder.missing.as_ref()) {
            (Some(old), _) => root.add(path, ChangeKind::Replace, &place, old, digest(bytes))?,
            (None, None) => root.add(path, ChangeKind::Create, &place, Digest::default(), digest(bytes))?,
            (None, Some(missing)) => root.add_below(path, missing, &place)?,
        };
        put_aside(&aside, &place, there.as_ref(), folder.group, bytes, mode).map_err(
            |fault| match fault {
                NotKept::Io(error) => not_written(path, &error),
                NotKept::Refused(why, help) => Diagnostic::error(
                    "file-not-kept",
                    format!("`{}` cannot be replaced: {why}", path.display()),
                )
                .help(help),
            },
        )?;
        root.aside.insert(place, Some(aside));
        Ok(true)
    }

    fn hold(&mut self) {
        self.hold.get_or_insert_with(|| (uninterrupted(), HoldSignals::new()));
    }

    fn folder_of(&mut self, path: &Path) -> Result<Folder> {
        let given = path.parent().unwrap_or(Path::new(""));
        if let Some((last, folder)) = &self.last_folder
            && last == given
        {
            return Ok(folder.clone());
        }
        let folder = Folder::of(given);
        self.last_folder = Some((given.to_owned(), folder.clone()));
        Ok(folder)
    }

    /// Refuses a file that is elsewhere, by way of a link to it or to a folder above.
    fn may_change(&self, path: &Path, place: &Path) -> Result<()> {
        if self.named.iter().any(|named| place.starts_with(named)) {
            return Ok(());
        }
        let message =
            format!("`{}` is a link, or below a link, that leads out of its folder", path.display());
        Err(Diagnostic::error("link-leads-outside", message)
            .help("replace the link by the file itself, or name the link in .krmignore"))
    }

    fn root_of(&mut self, path: &Path, place: &Path, folder: &Folder) -> Result<&mut Root> {
        let root = self.roots.iter_mut().find(|root| place.starts_with(&root.path));
        let root = root.expect("what may be changed is below a root");
        if root.device != folder.device {
            // It could not take its place in one step.
            let error = std::io::Error::from(ErrorKind::CrossesDevices);
            return Err(not_written(path, &error).help(format!(
                "name the folder that is mounted within `{}` by itself",
                root.path.display()
            )));
        }
        Ok(root)
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.roots.iter().filter_map(|root| root.journal.as_ref()).for_each(Journal::abandon);
    }
}

impl Root {
    fn new(path: &Path) -> Result<Self> {
        let lock = Lock::new(path)?;
        journal::recover(path, &lock)?;
        let device = fs::metadata(path).map_or(0, |root| root.dev());
        let (shown, aside, new_folders) = Default::default();
        Ok(Self { path: path.to_owned(), device, journal: None, shown, aside, new_folders, lock })
    }

    /// Adds an entry; returns where its file waits.
    fn add(
        &mut self,
        shown: &Path,
        kind: ChangeKind,
        place: &Path,
        old: Digest,
        new: Digest,
    ) -> Result<PathBuf> {
        if self.journal.is_none() {
            self.journal = Some(Journal::begin(&self.path, &self.lock, shown)?);
        }
        let journal = self.journal.as_mut().expect("made above");
        let target = place.strip_prefix(&self.path).expect("found below the root").to_owned();
        journal.entries.push(JournalEntry { kind, target, old, new });
        self.shown.push(shown.to_owned());
        Ok(journal.aside(journal.entries.len() - 1))
    }

    /// The same for a file in a folder that does not exist yet.
    fn add_below(&mut self, shown: &Path, missing: &Path, place: &Path) -> Result<PathBuf> {
        let number = match self.new_folders.get(missing) {
            Some(number) => *number,
            None => {
                self.add(shown, ChangeKind::CreateFolder, missing, Digest::default(), Digest::default())?;
                let number = self.shown.len() - 1;
                self.new_folders.insert(missing.to_owned(), number);
                number
            }
        };
        let below = place.strip_prefix(missing).expect("missing is above it");
        let aside = self.journal.as_ref().expect("it has an entry").aside(number).join(below);
        let folder = aside.parent().expect("within the folder that is made");
        fs::create_dir_all(folder).map_err(|error| not_written(shown, &error))?;
        Ok(aside)
    }
}

impl Folder {
    fn of(given: &Path) -> Self {
        let path = real(given);
        let (mut missing, mut there) = (None, None);
        for above in path.ancestors() {
            match fs::metadata(above) {
                Ok(found) => {
                    there = Some(found);
                    break;
                }
                Err(_) => missing = Some(above.to_owned()),
            }
        }
        let group = there.as_ref().filter(|there| there.mode() & 0o2000 != 0).map(Metadata::gid);
        Self { device: there.map_or(0, |there| there.dev()), path, missing, group }
    }
}

/// The folders that journals are in. One for all, if there is a folder around them that is the user's own: only then do they
/// change together.
fn roots_of(named: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for path in named {
        let folder = path.ancestors().find(|above| above.is_dir()).unwrap_or(Path::new("/"));
        if !folders.iter().any(|above| folder.starts_with(above)) {
            folders.push(folder.to_owned());
        }
    }
    let around = folders.split_first().and_then(|(first, others)| {
        first.ancestors().find(|above| others.iter().all(|folder| folder.starts_with(above)))
    });
    match around {
        Some(around) if folders.len() > 1 && is_own(around, &folders) => vec![around.to_owned()],
        _ => folders,
    }
}

/// Whether a folder is the user's own, and on one file system with those below.
fn is_own(around: &Path, folders: &[PathBuf]) -> bool {
    let Ok(there) = fs::metadata(around) else { return false };
    let is_there = |folder: &PathBuf| fs::metadata(folder).is_ok_and(|folder| folder.dev() == there.dev());
    around.parent().is_some()
        && there.uid() == system::user()
        // Everyone may make files there.
        && there.mode() & 0o1002 == 0
        && folders.iter().all(is_there)
}

/// The path without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    let path = clean(&std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    let found = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match found {
        Some((above, real)) => real.join(path.strip_prefix(above).expect("it is above")),
        None => path,
    }
}

/// What of a file cannot be kept when another takes its place.
enum NotKept {
    Io(std::io::Error),
    Refused(String, &'static str),
}

impl From<std::io::Error> for NotKept {
    fn from(error: std::io::Error) -> Self {
        NotKept::Io(error)
    }
}

/// Writes a new file aside, with the rights, owner and attributes of the one it replaces; with this mode if there is none.
fn put_aside(
    aside: &Path,
    place: &Path,
    there: Option<&Metadata>,
    group: Option<u32>,
    bytes: &[u8],
    mode: u32,
) -> Result<(), NotKept> {
    // Replacing a file does not require the right to write to it. Anyone who took that right away meant it.
    let before = there.map(|_| OpenOptions::new().read(true).write(true).open(place)).transpose()?;
    if there.is_some_and(|there| there.nlink() > 1) {
        let why = "it has a second name, a hard link, which would keep the old text".to_owned();
        return Err(NotKept::Refused(why, "replace the link by a copy"));
    }
    let mut file = create_new(aside, mode)?;
    file.write_all(bytes)?;
    let (Some(there), Some(before)) = (there, before) else {
        // As if it had been made in its place.
        group.map(|group| fchown(&file, None, Some(group)));
        return Ok(());
    };
    let now = file.metadata()?;
    if (now.uid(), now.gid()) != (there.uid(), there.gid())
        // Only root may give files away; others keep at least the group if they are in it.
        && fchown(&file, Some(there.uid()), Some(there.gid())).is_err()
    {
        let _ = fchown(&file, None, Some(there.gid()));
    }
    if now.mode() != there.mode() {
        file.set_permissions(there.permissions())?;
    }
    let wanted = system::attributes(&before)?;
    if wanted.is_empty() {
        return Ok(());
    }
    let has = system::attributes(&file)?;
    for (name, value) in wanted.iter().filter(|attribute| !has.contains(attribute)) {
        system::set_attribute(&file, name, value).map_err(|error| {
            let name = name.to_string_lossy();
            let why = format!("its extended attribute `{name}` cannot be kept: {error}");
            NotKept::Refused(why, "remove the attribute, or run as a user who may set it")
        })?;
    }
    Ok(())
}

/// Refuses a file whose text is not the one that was read.
fn refuse_changed(path: &Path, before: Option<&str>, now: Vec<u8>) -> Result<()> {
    match before {
        Some(before) if krm_yaml::decode(now).ok().as_deref() != Some(before) => Err(changed_meanwhile(path)),
        _ => Ok(()),
    }
}

fn changed_meanwhile(path: &Path) -> Diagnostic {
    let message =
        format!("`{}` was changed by someone else in the meantime; nothing was written", path.display());
    Diagnostic::error("file-changed-meanwhile", message).help("run the command again")
}

fn refuse_interrupted() -> Result<()> {
    match HoldSignals::came() {
        // Nobody reads this: the signal takes effect first.
        true => Err(Diagnostic::error("interrupted", "interrupted; nothing was written")),
        false => Ok(()),
    }
}

/// One file under two names, of which one is a link to the other, cannot hold two texts.
fn two_texts(path: &Path) -> Diagnostic {
    let message = format!(
        "`{}` would have to hold two texts: it is the same file as another, by a link",
        path.display()
    );
    Diagnostic::error("file-of-two-texts", message).help("replace the link by a copy of the file")
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use krm_engine::runtime::Scratch;

    use super::*;
    use crate::os::mode_for_copy;

    fn modes(folder: &Path) -> Vec<u32> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let below = entries.flat_map(|path| match path.is_dir() {
            true => modes(&path),
            false => vec![fs::metadata(&path).unwrap().permissions().mode() & 0o777],
        });
        below.collect()
    }

    #[test]
    fn a_private_file_is_private_before_it_takes_its_place() {
        let scratch = Scratch::new("krm-changes-test").unwrap();
        let original = scratch.write("key.pem", b"secret").unwrap();
        fs::set_permissions(&original, fs::Permissions::from_mode(0o400)).unwrap();
        let out = scratch.path().join("out");
        fs::create_dir(&out).unwrap();
        let mut changes = Changes::to_output(&out).unwrap();
        let mode = mode_for_copy(&original).unwrap();
        changes.write_with_mode(&out.join("key.pem"), b"secret", mode).unwrap();
        assert!(modes(&out).contains(&0o600) && !modes(&out).contains(&0o644), "{:?}", modes(&out));
        changes.commit().unwrap();
        assert_eq!(modes(&out), [0o600]);
    }

    #[test]
    fn an_original_that_is_gone_is_named() {
        let error = mode_for_copy(Path::new("/nowhere/key.pem")).unwrap_err();
        assert!(error.to_string().contains("cannot read `/nowhere/key.pem`"), "{error}");
    }
}
