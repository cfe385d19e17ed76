//! What a build looked at, so that it is known what to build again when files change.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use krm_yaml::{Diagnostic, Result};
use rustc_hash::FxHashMap;

use crate::files::repository::Repository;
use crate::files::world::{DirEntry, Download, Fetched, World};

/// Every file, listing and look-up that one kustomization depended on, and the kustomizations it was made of.
///
/// A look-up that found nothing counts as well: the file may be there tomorrow. Warnings are kept here because they are
/// part of what planning and running it gave: anyone who uses the result again shows them again.
#[derive(Debug, Default)]
pub struct Dependencies {
    /// The folder it was planned for.
    folder: PathBuf,
    seen: Mutex<Seen>,
    /// Bases, and whatever else has its own dependencies.
    within: Mutex<Vec<Arc<Dependencies>>>,
    pub(crate) warnings: Mutex<Vec<Diagnostic>>,
}

/// Look-ups as they came: noting one must cost next to nothing, since most sessions never ask.
#[derive(Debug)]
struct Seen {
    paths: Vec<(PathBuf, Found)>,
    listed: Vec<PathBuf>,
    remotes: Vec<String>,
    programs: Programs,
    /// The same in order, once that was asked for.
    index: Option<Index>,
    /// From this many look-ups on, it is worth dropping duplicates.
    most: usize,
}

/// What the programs it runs depend on.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    /// Folders that they see with everything in them.
    pub folders: Vec<PathBuf>,
    /// Images, by name.
    pub images: Vec<String>,
    /// Why the dependencies of one of them are unknown.
    pub unknown: Vec<String>,
}

/// This many look-ups are kept without looking for duplicates.
const MANY: usize = 4096;

impl Default for Seen {
    fn default() -> Self {
        let (paths, listed, remotes) = (Vec::new(), Vec::new(), Vec::new());
        Self { paths, listed, remotes, programs: Programs::default(), index: None, most: MANY }
    }
}

#[derive(Debug)]
struct Index {
    paths: BTreeMap<PathBuf, Found>,
    listed: BTreeSet<PathBuf>,
}

impl Seen {
    fn index(&mut self) -> &Index {
        let Self { paths, listed, index, .. } = self;
        index.get_or_insert_with(|| {
            let mut found: BTreeMap<PathBuf, Found> = BTreeMap::new();
            for (path, what) in paths.iter() {
                let known = found.entry(path.clone()).or_insert(*what);
                // Once missing, it stays worth watching: the answer may have been used before the file appeared.
                if *what == Found::Nothing {
                    *known = Found::Nothing;
                }
            }
            Index { paths: found, listed: listed.iter().cloned().collect() }
        })
    }
}

/// What a look-up found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A file or a folder.
    Something,
    /// Nothing, so it matters if something appears there.
    Nothing,
}

impl Dependencies {
    pub(crate) fn new(folder: &Path) -> Arc<Self> {
        Arc::new(Self { folder: folder.to_owned(), ..Self::default() })
    }

    /// The folder it was planned for.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Notes that it is built from another one.
    pub(crate) fn add(&self, part: Arc<Dependencies>) {
        self.within.lock().expect(HELD).push(part);
    }

    /// Notes a look-up.
    pub(crate) fn looked(&self, path: &Path, found: Found) {
        let mut seen = self.seen.lock().expect(HELD);
        seen.paths.push((path.to_owned(), found));
        seen.index = None;
        if seen.paths.len() > seen.most {
            // A run that is repeated looks at the same files.
            let paths: Vec<_> =
                seen.index().paths.iter().map(|(path, found)| (path.clone(), *found)).collect();
            seen.most = 2 * paths.len() + MANY;
            seen.paths = paths;
        }
    }

    pub(crate) fn warn(&self, warnings: impl IntoIterator<Item = Diagnostic>) {
        self.warnings.lock().expect(HELD).extend(warnings);
    }

    /// Keeps one of several equal warnings: a run that is repeated finds them again.
    pub(crate) fn drop_repeated_warnings(&self) {
        let mut seen = FxHashMap::default();
        let is_new = |w: &Diagnostic| seen.insert((w.place(), w.message().to_owned()), ()).is_none();
        self.warnings.lock().expect(HELD).retain(is_new);
    }

    /// Notes that the names in a folder were listed.
    fn listing(&self, folder: &Path) {
        let mut seen = self.seen.lock().expect(HELD);
        seen.listed.push(folder.to_owned());
        seen.index = None;
    }

    /// Notes that an address was fetched.
    pub(crate) fn fetched(&self, address: &str) {
        self.seen.lock().expect(HELD).remotes.push(address.to_owned());
    }

    /// Notes what a program depends on.
    pub(crate) fn runs(&self, note: impl FnOnce(&mut Programs)) {
        note(&mut self.seen.lock().expect(HELD).programs);
    }

    /// What the programs it runs depend on.
    pub fn programs(&self) -> Programs {
        self.seen.lock().expect(HELD).programs.clone()
    }

    /// Every path that was read or looked for, in order, and whether it was there.
    pub fn paths(&self) -> Vec<(PathBuf, Found)> {
        let mut seen = self.seen.lock().expect(HELD);
        seen.index().paths.iter().map(|(path, found)| (path.clone(), *found)).collect()
    }

    /// Every folder whose names were listed, in order.
    pub fn listed(&self) -> Vec<PathBuf> {
        self.seen.lock().expect(HELD).index().listed.iter().cloned().collect()
    }

    /// Every address that was fetched, in order.
    pub fn remotes(&self) -> Vec<String> {
        let mut remotes = self.seen.lock().expect(HELD).remotes.clone();
        remotes.sort();
        remotes.dedup();
        remotes
    }

    /// The bases and other parts that have their own dependencies.
    pub(crate) fn within(&self) -> Vec<Arc<Dependencies>> {
        self.within.lock().expect(HELD).clone()
    }

    /// This one and all its parts, each once.
    pub fn all(self: &Arc<Self>) -> Vec<Arc<Dependencies>> {
        let mut known = FxHashMap::default();
        let mut all = vec![self.clone()];
        let mut next = 0;
        while let Some(one) = all.get(next).cloned() {
            next += 1;
            if known.insert(Arc::as_ptr(&one), ()).is_none() {
                all.extend(one.within());
            }
        }
        let mut once = FxHashMap::default();
        all.retain(|one| once.insert(Arc::as_ptr(one), ()).is_none());
        all
    }

    /// Whether it must be planned and built again if this file or folder came, went or changed; without its parts.
    fn depends_on(&self, changed: &Path) -> bool {
        let mut seen = self.seen.lock().expect(HELD);
        let is_seen = |folder: &PathBuf| changed.starts_with(folder) || folder.starts_with(changed);
        if seen.programs.folders.iter().any(is_seen) {
            return true;
        }
        let seen = seen.index();
        // If a folder changed as a whole, so did everything below it.
        let below = |path: Option<&PathBuf>| path.is_some_and(|path| path.starts_with(changed));
        let from = (Bound::Included(changed), Bound::Unbounded);
        if below(seen.paths.range::<Path, _>(from).next().map(|(path, _)| path))
            || below(seen.listed.range::<Path, _>(from).next())
        {
            return true;
        }
        // A new file may come with the folders that lead to it.
        let mut above = changed.ancestors().skip(1);
        above.clone().next().is_some_and(|parent| seen.listed.contains(parent))
            || above.any(|folder| seen.paths.get(folder) == Some(&Found::Nothing))
    }

    /// The same, its parts included. `known` remembers the answers: parts are shared.
    pub fn affected_by(
        self: &Arc<Self>,
        changed: &[PathBuf],
        known: &mut FxHashMap<*const Dependencies, bool>,
    ) -> bool {
        if let Some(answer) = known.get(&Arc::as_ptr(self)) {
            return *answer;
        }
        let mut affected = changed.iter().any(|path| self.depends_on(path));
        for part in self.within() {
            affected |= part.affected_by(changed, known);
        }
        known.insert(Arc::as_ptr(self), affected);
        affected
    }
}

const HELD: &str = "no one panics while holding what was looked at";

/// A world that notes what it is asked for.
pub(crate) struct Watched<'a> {
    pub world: &'a dyn World,
    pub dependencies: &'a Dependencies,
}

impl Watched<'_> {
    fn note(&self, path: &Path, found: bool) {
        self.dependencies.looked(path, if found { Found::Something } else { Found::Nothing });
    }
}

impl World for Watched<'_> {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        let read = self.world.read(path);
        self.note(path, read.is_ok());
        read
    }

    fn is_dir(&self, path: &Path) -> bool {
        let found = self.world.is_dir(path);
        self.note(path, found);
        found
    }

    fn is_file(&self, path: &Path) -> bool {
        let found = self.world.is_file(path);
        self.note(path, found);
        found
    }

    fn list(&self, dir: &Path) -> std::io::Result<Vec<DirEntry>> {
        let listed = self.world.list(dir);
        self.dependencies.listing(dir);
        if listed.is_err() {
            self.dependencies.looked(dir, Found::Nothing);
        }
        listed
    }

    fn real_path(&self, path: &Path) -> std::io::Result<PathBuf> {
        let real = self.world.real_path(path);
        self.note(path, real.is_ok());
        real
    }

    fn below(&self) -> Option<&dyn World> {
        Some(self.world)
    }

    fn fetch(&self, repository: &Repository) -> Result<Fetched> {
        self.dependencies.fetched(&repository.address);
        self.world.fetch(repository)
    }

    fn get(&self, address: &str) -> Result<Download> {
        self.dependencies.fetched(address);
        self.world.get(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::memory_world::MemoryWorld;

    #[test]
    fn what_was_looked_at_decides() {
        let world = MemoryWorld::new([("/a/b/c.yaml", "x: 1"), ("/a/d/e.yaml", "x: 2")]);
        let dependencies = Dependencies::new(Path::new("/a"));
        let watched = Watched { world: &world, dependencies: &dependencies };
        watched.read(Path::new("/a/b/c.yaml")).expect("it is there");
        assert!(!watched.is_file(Path::new("/a/new/file.yaml")));
        assert!(!watched.is_dir(Path::new("/a/later")));
        watched.list(Path::new("/a/d")).expect("it is there");
        dependencies.runs(|programs| programs.folders.push("/a/mounted".into()));
        for (changed, affects) in [
            ("/a/b/c.yaml", true),
            ("/a/b", true),
            ("/a/b/other.yaml", false),
            ("/a/new/file.yaml", true),
            ("/a/new", true),
            ("/a/later/x/y.yaml", true),
            ("/a/d/new.yaml", true),
            ("/a/d/deep/new.yaml", false),
            ("/a/bb", false),
            ("/a/mounted/deep/file", true),
        ] {
            let answer = dependencies.affected_by(&[changed.into()], &mut FxHashMap::default());
            assert_eq!(answer, affects, "{changed}");
        }
    }
}
