//! Waiting for files to change: by what the system says, or, where it cannot, by looking at them again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

use krm_engine::Diagnostic;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

/// After a change, so much quiet ends it: an editor writes in several steps.
const QUIET: Duration = Duration::from_millis(20);
/// A change that does not end is taken as it is by then.
const LONGEST: Duration = Duration::from_millis(200);
/// How often files are looked at, if the system does not say when they change.
pub const POLL: Duration = Duration::from_millis(500);

/// Waits for changes to some paths.
pub struct Watch {
    way: Way,
    /// What was looked at and not found counts too: it may come.
    paths: BTreeSet<PathBuf>,
    stamps: BTreeMap<PathBuf, Stamp>,
}

enum Way {
    System {
        watcher: RecommendedWatcher,
        events: Receiver<notify::Result<notify::Event>>,
        folders: BTreeSet<PathBuf>,
    },
    Poll(Duration),
}

/// What shows that a file is another one, or has other content.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    is_dir: bool,
    /// Zero if files have no number.
    inode: u64,
}

impl Stamp {
    /// `None` for what is not there.
    fn of(path: &Path) -> Option<Self> {
        let meta = std::fs::metadata(path).ok()?;
        Some(Self {
            modified: meta.modified().ok(),
            length: if meta.is_dir() { 0 } else { meta.len() },
            is_dir: meta.is_dir(),
            #[cfg(unix)]
            inode: std::os::unix::fs::MetadataExt::ino(&meta),
            #[cfg(not(unix))]
            inode: 0,
        })
    }
}

impl Watch {
    /// With an interval, files are looked at that often; otherwise the system says when they change, if it can. The warning
    /// says that it cannot.
    pub fn new(poll: Option<Duration>) -> (Self, Option<Diagnostic>) {
        let (way, warning) = match poll {
            Some(interval) => (Way::Poll(interval), None),
            None => match system() {
                Ok(way) => (way, None),
                Err(error) => (Way::Poll(POLL), Some(polls(&error))),
            },
        };
        (Self { way, paths: BTreeSet::new(), stamps: BTreeMap::new() }, warning)
    }

    /// Says which paths matter from now on. Gives those that changed since `since`, which nobody else would notice: they were
    /// read before they were watched.
    pub fn set(&mut self, paths: BTreeSet<PathBuf>, since: SystemTime) -> (Vec<PathBuf>, Option<Diagnostic>) {
        let before = std::mem::replace(&mut self.paths, paths);
        let mut warning = None;
        if let Way::System { watcher, folders, .. } = &mut self.way
            && let Err(error) = follow(watcher, folders, folders_of(&self.paths))
        {
            self.way = Way::Poll(POLL);
            warning = Some(polls(&error));
        }
        // What a clock of the file system says may be a tick older than ours.
        let since = since.checked_sub(Duration::from_millis(10)).unwrap_or(since);
        let now: BTreeMap<PathBuf, Stamp> =
            self.paths.iter().filter_map(|path| Some((path.clone(), Stamp::of(path)?))).collect();
        let is_newer = |path: &&PathBuf| match (self.stamps.get(*path), now.get(*path)) {
            // What is in a folder is a separate matter.
            (Some(old), Some(new)) => old.inode != new.inode || (!new.is_dir && old != new),
            (None, Some(new)) if !before.contains(*path) => {
                !new.is_dir && new.modified.is_some_and(|modified| modified >= since)
            }
            (old, new) => before.contains(*path) && old.is_some() != new.is_some(),
        };
        let newer: Vec<PathBuf> = self.paths.iter().filter(is_newer).cloned().collect();
        self.stamps = now;
        if !newer.is_empty() {
            // The program that changed them may not be done.
            std::thread::sleep(QUIET);
            self.note(&newer);
        }
        (newer, warning)
    }

    /// Waits until paths have changed and nothing more happens, or until the timeout.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Vec<PathBuf> {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            let changed = match &mut self.way {
                Way::Poll(interval) => {
                    std::thread::sleep(*interval);
                    self.look()
                }
                Way::System { events, folders, watcher } => match gather(events, deadline) {
                    Some((mut changed, is_lost)) => {
                        if is_lost {
                            // More happened than the system could tell.
                            changed.extend(different(&self.paths, &self.stamps));
                        }
                        // A folder that was made again is another one, though its name is the same.
                        for path in changed.iter().filter(|path| folders.contains(*path)) {
                            let _ = watcher.unwatch(path);
                            let _ = watcher.watch(path, RecursiveMode::NonRecursive);
                        }
                        let matters = |path: &PathBuf| {
                            let parent_is_listed =
                                path.parent().is_some_and(|parent| self.paths.contains(parent));
                            let leads = self.paths.range(path.clone()..).next();
                            parent_is_listed || leads.is_some_and(|path_below| path_below.starts_with(path))
                        };
                        changed.into_iter().filter(matters).collect()
                    }
                    None => Vec::new(),
                },
            };
            if !changed.is_empty() || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                // Whatever changes from here on is another change.
                self.note(&changed);
                return changed;
            }
        }
    }

    /// The paths that are not as they were.
    fn look(&self) -> Vec<PathBuf> {
        different(&self.paths, &self.stamps)
    }

    fn note(&mut self, changed: &[PathBuf]) {
        for path in changed {
            match Stamp::of(path) {
                Some(now) => self.stamps.insert(path.clone(), now),
                None => self.stamps.remove(path),
            };
        }
    }
}

fn different(paths: &BTreeSet<PathBuf>, stamps: &BTreeMap<PathBuf, Stamp>) -> Vec<PathBuf> {
    paths.iter().filter(|path| stamps.get(*path) != Stamp::of(path).as_ref()).cloned().collect()
}

fn system() -> notify::Result<Way> {
    let (send, events) = channel();
    let watcher = notify::recommended_watcher(move |event| drop(send.send(event)))?;
    Ok(Way::System { watcher, events, folders: BTreeSet::new() })
}

/// Watches these folders and no others.
fn follow(
    watcher: &mut RecommendedWatcher,
    watched: &mut BTreeSet<PathBuf>,
    wanted: BTreeSet<PathBuf>,
) -> notify::Result<()> {
    for folder in watched.difference(&wanted) {
        let _ = watcher.unwatch(folder);
    }
    for folder in wanted.difference(watched) {
        match watcher.watch(folder, RecursiveMode::NonRecursive) {
            // It went meanwhile; the folder above it will say when it comes back.
            Err(notify::Error { kind: notify::ErrorKind::PathNotFound, .. }) => {}
            Err(notify::Error { kind: notify::ErrorKind::Io(error), .. })
                if error.kind() == std::io::ErrorKind::NotFound => {}
            result => result?,
        }
    }
    *watched = wanted;
    Ok(())
}

/// The folders to watch: those the paths are in, and those above up to the one that all have in common, since a folder may be
/// renamed or made again.
fn folders_of(paths: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let mut folders = BTreeSet::new();
    let mut top: Option<PathBuf> = None;
    for path in paths {
        let parent = path.parent().unwrap_or(path);
        top = Some(match top {
            None => parent.to_owned(),
            Some(top) => {
                top.ancestors().find(|above| parent.starts_with(above)).unwrap_or(Path::new("/")).to_owned()
            }
        });
    }
    let top = top.unwrap_or_default();
    for path in paths {
        let own = path.is_dir().then_some(&**path);
        for folder in own.into_iter().chain(path.ancestors().skip(1)) {
            if !folder.starts_with(&top) || (!folders.contains(folder) && !folder.is_dir()) {
                continue;
            }
            if !folders.insert(folder.to_owned()) && own != Some(folder) {
                break;
            }
        }
    }
    // If the folder at the top is gone, the nearest that is there.
    if folders.is_empty() {
        folders.extend(top.ancestors().find(|above| above.is_dir()).map(Path::to_owned));
    }
    folders
}

/// The paths of one change: what comes until it is quiet for a moment. `None` if nothing came in time.
fn gather(
    events: &Receiver<notify::Result<notify::Event>>,
    deadline: Option<Instant>,
) -> Option<(BTreeSet<PathBuf>, bool)> {
    let first = match deadline {
        None => events.recv().ok()?,
        Some(deadline) => match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        },
    };
    let end = Instant::now() + LONGEST;
    let (mut changed, mut is_lost) = (BTreeSet::new(), false);
    is_lost |= add(&mut changed, first);
    while let Ok(event) = events.recv_timeout(QUIET.min(end.saturating_duration_since(Instant::now()))) {
        is_lost |= add(&mut changed, event);
        if Instant::now() >= end {
            break;
        }
    }
    Some((changed, is_lost))
}

/// Adds the paths of an event; says whether others were lost.
fn add(changed: &mut BTreeSet<PathBuf>, event: notify::Result<notify::Event>) -> bool {
    // An error is about a folder that went, which is an event of the folder above.
    let Ok(event) = event else { return false };
    let is_lost = event.need_rescan();
    if !matches!(event.kind, EventKind::Access(_)) {
        changed.extend(event.paths);
    }
    is_lost
}

/// What to say when the system does not tell.
fn polls(error: &notify::Error) -> Diagnostic {
    let why = match &error.kind {
        notify::ErrorKind::MaxFilesWatch => "the system's limit of watched folders is reached".to_owned(),
        notify::ErrorKind::Io(error) => error.to_string(),
        _ => error.to_string(),
    };
    let message =
        format!("files are looked at every {} ms instead of being watched: {why}", POLL.as_millis());
    Diagnostic::warning("watch-polls", message).help(
        "on Linux, `sysctl fs.inotify.max_user_watches` and `fs.inotify.max_user_instances` are the limits",
    )
}
