//! A package and its subpackages, brought up to date with their upstreams: in memory, so that all of it is written or none.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use krm_engine::kpt::{self, Clash, Did, Files, Git, Kept, Kptfile, States, Strategy};
use krm_engine::merge::Side;
use krm_engine::{Node, Result, Span};
use krm_yaml::emit::preserve;
use krm_yaml::{Document, Failure};

use super::update::say;
use super::upstream::{Fetched, Upstream};
use crate::cli::{OnUpdateConflict, PkgUpdateArgs};
use crate::os::{self, Disk};
use crate::report::Report;

pub struct Updating<'a> {
    args: &'a PkgUpdateArgs,
    dir: &'a Path,
    disk: &'a Disk,
    report: &'a Report,
    /// The links in the package.
    links: Vec<String>,
    /// How many packages were updated.
    pub count: usize,
    /// Whether files that upstream has may be run.
    pub modes: BTreeMap<String, Mode>,
    /// How much was changed both here and upstream.
    pub conflicts: usize,
    /// The resources that went from files that stay.
    pub removed: Vec<String>,
}

/// Whether a file may be run.
pub struct Mode {
    pub upstream: bool,
    /// As it was when the package was fetched, if it was in it. Someone who changed it here keeps it so.
    pub before: Option<bool>,
    /// Whether upstream's file replaces the one here.
    pub is_replaced: bool,
}

/// The states of a package, each by the paths of its files.
struct Sides {
    origin: Files,
    updated: Files,
    local: Files,
    /// The links that are here.
    links: Vec<String>,
}

impl Sides {
    fn all(&self) -> [&Files; 3] {
        [&self.origin, &self.updated, &self.local]
    }

    /// What is in a folder and in none of the subpackages below that have an upstream themselves.
    fn part(&self, folder: &str, apart: &BTreeSet<String>) -> Sides {
        let part = |files: &Files| -> Files {
            let inside = files.iter().filter_map(|(path, bytes)| Some((below(path, folder)?, bytes)));
            let is_apart = |path: &str| {
                let ends = path.match_indices('/').map(|(end, _)| joined(folder, &path[..end]));
                ends.into_iter().any(|folder| apart.contains(&folder))
            };
            inside
                .filter(|(path, _)| !is_apart(path))
                .map(|(path, bytes)| (path.to_owned(), bytes.clone()))
                .collect()
        };
        let links = self.links.iter().filter_map(|path| below(path, folder)).map(str::to_owned).collect();
        Sides { origin: part(&self.origin), updated: part(&self.updated), local: part(&self.local), links }
    }
}

/// The path within a folder.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    match folder {
        "" => Some(path),
        _ => path.strip_prefix(folder)?.strip_prefix('/'),
    }
}

fn joined(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}

impl<'a> Updating<'a> {
    pub fn new(
        args: &'a PkgUpdateArgs,
        dir: &'a Path,
        links: Vec<String>,
        disk: &'a Disk,
        report: &'a Report,
    ) -> Self {
        let (modes, removed) = Default::default();
        Self { args, dir, disk, report, links, count: 0, modes, conflicts: 0, removed }
    }

    /// Updates the package, then its subpackages that have an upstream, each to what its own Kptfile says. Those that come
    /// from below the package's own upstream, and from the same reference, follow it.
    pub fn tree(&mut self, local: &Files, asked: &str) -> Result<Files> {
        let mut files = local.clone();
        let first = self.kptfile(&files, "")?.0.git().cloned();
        let mut waiting = vec![(String::new(), asked.to_owned())];
        while let Some((folder, reference)) = waiting.pop() {
            self.package(&mut files, &folder, &reference)?;
            self.count += 1;
            let apart = self.independent([&files]);
            let mut direct: Vec<String> =
                apart.iter().filter(|sub| is_direct(sub, &folder, &apart)).cloned().collect();
            direct.reverse();
            for sub in direct {
                let git = self.kptfile(&files, &sub)?.0.git().cloned();
                let follows = git.zip(first.as_ref()).is_some_and(|(git, first)| follows(&git, first));
                waiting.push((sub, if follows { asked.to_owned() } else { String::new() }));
            }
        }
        Ok(files)
    }

    /// The Kptfile in a folder of the package.
    fn kptfile(&self, files: &Files, folder: &str) -> Result<(Kptfile, Document)> {
        self.read_kptfile(folder, files.get(&joined(folder, kpt::FILE)))
    }

    fn read_kptfile(&self, folder: &str, bytes: Option<&Vec<u8>>) -> Result<(Kptfile, Document)> {
        let name = kpt::shown(self.dir, &joined(folder, kpt::FILE));
        Kptfile::read(&self.report.sources.add_bytes(name, bytes.cloned().unwrap_or_default())?)
    }

    /// The folders below the package with a Kptfile that names an upstream, on any side.
    fn independent<'f>(&self, sides: impl IntoIterator<Item = &'f Files>) -> BTreeSet<String> {
        let mut folders = BTreeSet::new();
        for (path, bytes) in sides.into_iter().flatten() {
            let Some(folder) = path.strip_suffix(kpt::FILE).and_then(|folder| folder.strip_suffix('/'))
            else {
                continue;
            };
            let source = self.report.sources.add_bytes(path.as_str(), bytes.clone());
            let kptfile = source.and_then(|source| Kptfile::read(&source));
            if kptfile.is_ok_and(|(kptfile, _)| kptfile.upstream.is_some()) {
                folders.insert(folder.to_owned());
            }
        }
        folders
    }

    /// Updates one package and what comes with it from its upstream.
    fn package(&mut self, files: &mut Files, folder: &str, reference: &str) -> Result<()> {
        let (kptfile, mut document) = self.kptfile(files, folder)?;
        let dir = if folder.is_empty() { self.dir.to_path_buf() } else { self.dir.join(folder) };
        let mut upstream = Upstream::of(&kptfile, &dir, document.root.span())?;
        let strategy = self.strategy(&kptfile, folder)?;
        if !reference.is_empty() {
            upstream.reference = reference.to_owned();
        }
        let name = os::absolute(&dir)?.file_name().unwrap_or_default().to_string_lossy().into_owned();
        eprintln!("Package \"{name}\":");
        let (fetched, origin) = self.fetch(&mut upstream, &kptfile)?;
        eprintln!("Updating package \"{name}\" with strategy \"{}\".", strategy.word());
        let local =
            files.iter().filter_map(|(path, bytes)| Some((below(path, folder)?.to_owned(), bytes.clone())));
        let (origin, could_run) = origin.map(|origin| (origin.files, origin.executable)).unwrap_or_default();
        let links: Vec<String> =
            self.links.iter().filter_map(|path| below(path, folder)).map(str::to_owned).collect();
        let sides = Sides { origin, local: local.collect(), updated: fetched.files.clone(), links };
        let mut apart = self.independent(sides.all());
        // A link stays, whatever upstream has there.
        apart.retain(|sub| !sides.links.iter().any(|link| sub == link || below(sub, link).is_some()));
        let own = sides.part("", &apart);
        let is_replaced = |path: &str| strategy != Strategy::ResourceMerge && own.updated.contains_key(path);
        self.note_modes(folder, &sides, [&could_run, &fetched.executable], is_replaced);
        let mut merged = self.merged(&own, &dir, strategy)?;
        if let Some(theirs) = self.other_kptfile(&own.updated, "upstream")? {
            let was = self.other_kptfile(&own.origin, "upstream, before")?;
            document.root = self.merged_kptfile(was.as_ref(), &theirs, &document.root)?;
        }
        let source = kpt::Source {
            repo: &upstream.repo,
            directory: &upstream.directory,
            reference: &upstream.reference,
            found: &fetched.found,
            commit: &fetched.commit,
            strategy,
        };
        kpt::set_upstream(&mut document.root, &source);
        if strategy == Strategy::FastForward {
            // What a render said of the files that were replaced.
            document.root.remove("status");
        }
        merged.insert(kpt::FILE.to_owned(), encoded(&document, &sides.local));
        for sub in &apart {
            let part = sides.part(sub, &apart);
            let kept = self.subpackage(&joined(folder, sub), part, strategy)?;
            merged.extend(kept.into_iter().map(|(path, bytes)| (joined(sub, &path), bytes)));
        }
        files.retain(|path, _| below(path, folder).is_none());
        files.extend(merged.into_iter().map(|(path, bytes)| (joined(folder, &path), bytes)));
        Ok(())
    }

    /// Remembers which files of a package could be run when it was fetched, and which may be upstream now.
    fn note_modes(
        &mut self,
        folder: &str,
        sides: &Sides,
        executable: [&[String]; 2],
        is_replaced: impl Fn(&str) -> bool,
    ) {
        let [before, upstream] = executable.map(|paths| paths.iter().collect::<HashSet<&String>>());
        for path in sides.updated.keys() {
            let before = sides.origin.contains_key(path).then(|| before.contains(path));
            let (upstream, is_replaced) = (upstream.contains(path), is_replaced(path));
            self.modes.insert(joined(folder, path), Mode { upstream, before, is_replaced });
        }
    }

    /// What the Kptfile declares; of the package that the user named, what the flag says.
    fn strategy(&self, kptfile: &Kptfile, folder: &str) -> Result<Strategy> {
        let declared = kptfile.upstream.as_ref().and_then(|upstream| upstream.update_strategy.as_ref());
        let asked = self.args.strategy.as_ref().filter(|_| folder.is_empty());
        match (asked, declared.filter(|word| !word.is_empty())) {
            (Some(word), _) => {
                kpt::parse_strategy(word, Span::NONE).map_err(|error| error.failing(Failure::CommandLine))
            }
            (None, Some(word)) => kpt::parse_strategy(word, word.span()),
            (None, None) => Ok(Strategy::default()),
        }
    }

    /// What the package is upstream now, and what it was when it was fetched: both at once.
    fn fetch(&self, upstream: &mut Upstream, kptfile: &Kptfile) -> Result<(Fetched, Option<Fetched>)> {
        let (disk, before) = (self.disk, upstream.clone());
        std::thread::scope(|scope| {
            let origin = kptfile.lock().map(|lock| scope.spawn(move || before.at(&lock.commit, disk)));
            let fetched = upstream.fetch(disk);
            let origin = origin.map(|origin| origin.join().expect("fetching does not panic"));
            Ok((fetched?, origin.transpose()?))
        })
    }

    /// Whose value is taken if both sides changed a field.
    fn side(&self) -> Side {
        match self.args.on_conflict {
            OnUpdateConflict::Ours => Side::Ours,
            OnUpdateConflict::Upstream | OnUpdateConflict::Fail => Side::Theirs,
        }
    }

    fn merged(&mut self, sides: &Sides, folder: &Path, strategy: Strategy) -> Result<Files> {
        let Sides { origin, updated, local, links } = sides;
        let states = States { origin, updated, local, folder, links };
        let updated = kpt::update(&states, strategy, self.side(), &self.report.sources)?;
        self.note(&updated.clashes, folder);
        self.removed.extend(updated.removed);
        Ok(updated.files)
    }

    fn merged_kptfile(&mut self, was: Option<&Node>, theirs: &Node, ours: &Node) -> Result<Node> {
        let mut clashes = Vec::new();
        let merged = kpt::merge_kptfile(was, theirs, ours, self.side(), &mut clashes)?;
        self.note(&clashes, self.dir);
        Ok(merged)
    }

    /// Reports what was changed on both sides of the package in a folder, and counts it.
    fn note(&mut self, clashes: &[Clash], folder: &Path) {
        clashes.iter().for_each(|clash| say(clash, folder, self.args.on_conflict, self.report));
        self.conflicts += clashes.len();
    }

    fn other_kptfile(&self, files: &Files, side: &str) -> Result<Option<Node>> {
        let Some(bytes) = files.get(kpt::FILE) else { return Ok(None) };
        let source = self.report.sources.add_bytes(format!("{} ({side})", kpt::FILE), bytes.clone())?;
        Ok(Some(Kptfile::read(&source)?.1.root))
    }

    /// What becomes of a subpackage with an upstream of its own when the package around it is updated, by that one's strategy.
    fn subpackage(&mut self, folder: &str, sides: Sides, around: Strategy) -> Result<Files> {
        let there = sides.all().map(|files| files.contains_key(kpt::FILE));
        match there {
            // New upstream, or only here, or removed here.
            [false, true, false] => {
                // What is in its folder here belongs to the package around it.
                let mut merged = self.merged(&sides, &self.dir.join(folder), around)?;
                let kptfile = sides.updated.get_key_value(kpt::FILE);
                let kptfile = kptfile.filter(|(path, _)| !sides.links.contains(path));
                merged.extend(kptfile.map(|(path, bytes)| (path.clone(), bytes.clone())));
                Ok(merged)
            }
            [false, false, _] => Ok(sides.local),
            [true, is_upstream, false] => {
                // Without its Kptfile, what is left of it belongs to the package around it.
                let kept = if sides.local.is_empty() { Kept::Nothing } else { Kept::Here };
                if is_upstream && sides.origin != sides.updated {
                    let clash = Clash::of_subpackage(folder, Did::Remove, Did::Change, kept);
                    self.note(&[clash], self.dir);
                }
                Ok(sides.local)
            }
            [false, true, true] => Err(kpt::added_twice(self.dir, folder)),
            [true, false, true] => {
                if kpt::noted(&sides.origin) == kpt::noted(&sides.local) {
                    return Ok(Files::new());
                }
                let clash = Clash::of_subpackage(folder, Did::Change, Did::Remove, Kept::Here);
                self.note(&[clash], self.dir);
                Ok(sides.local)
            }
            [true, true, true] => self.merged_subpackage(folder, sides),
        }
    }

    /// Follows where upstream takes the subpackage from now, unless that was changed here.
    fn merged_subpackage(&mut self, folder: &str, sides: Sides) -> Result<Files> {
        let (kptfile, mut document) = self.read_kptfile(folder, sides.local.get(kpt::FILE))?;
        let read = |files: &Files, side: &str| self.other_kptfile(files, side);
        let (was, theirs) = (read(&sides.origin, "upstream, before")?, read(&sides.updated, "upstream")?);
        let (Some(was), Some(theirs)) = (was, theirs) else { return Ok(sides.local) };
        if document.root.get("upstream") != was.get("upstream") {
            return Ok(sides.local);
        }
        document.root = self.merged_kptfile(Some(&was), &theirs, &document.root)?;
        let is_fetched = theirs.get("upstreamLock").is_some();
        for key in ["upstream", "upstreamLock"] {
            // Without a lock it says what is to be fetched; what was fetched is here.
            if let Some(value) = theirs.get(key).filter(|_| is_fetched || key == "upstream") {
                document.root.set(key, value.clone());
            }
        }
        let text = encoded(&document, &sides.local);
        let mut merged = match is_fetched {
            true => self.merged(&sides, &self.dir.join(folder), self.strategy(&kptfile, folder)?)?,
            false => sides.local,
        };
        merged.insert(kpt::FILE.to_owned(), text);
        Ok(merged)
    }
}

/// The text of the Kptfile, in the encoding that it has among these files.
fn encoded(kptfile: &Document, files: &Files) -> Vec<u8> {
    let before = files.get(kpt::FILE).map_or(&[][..], Vec::as_slice);
    krm_yaml::encode_like(before, &preserve::document(kptfile))
}

/// Whether no other subpackage is between a subpackage and the folder.
fn is_direct(sub: &str, folder: &str, all: &BTreeSet<String>) -> bool {
    let Some(inside) = below(sub, folder) else { return false };
    let mut between = inside.match_indices('/').map(|(end, _)| joined(folder, &inside[..end]));
    !between.any(|above| all.contains(&above))
}

/// Whether a subpackage comes from below the upstream of the package, at the same reference.
fn follows(sub: &Git, package: &Git) -> bool {
    let repo = |git: &Git| git.repo.trim_end_matches(".git").to_owned();
    let folder = |git: &Git| git.directory.trim_matches('/').to_owned();
    let (sub_folder, package_folder) = (folder(sub), folder(package));
    repo(sub) == repo(package) && sub.r#ref == package.r#ref && below(&sub_folder, &package_folder).is_some()
}
