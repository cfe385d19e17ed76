//! Two revisions of a repository, or a revision and the working tree.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use krm_engine::diff::{Given, Outcome, Side};
use krm_engine::files::{KUSTOMIZATION_FILES, clean};
use krm_engine::workspace::Workspace;
use krm_engine::{COMPOSITION_FILES, Diagnostic, Result, Session, Sources, World};
use rayon::prelude::*;

use super::{Compared, DiffArgs, is_layer, meant, no_target};
use crate::commands::build;
use crate::os;
use crate::os::git::{Git, Range, Revision, SideFiles};
use crate::os::lockfile;
use crate::report::{self, Report};

/// One side: its files, and what builds them.
struct Built {
    name: String,
    world: Arc<dyn World>,
    /// The folder in which this world has the repository.
    root: PathBuf,
    sources: Sources,
    session: Session,
    /// All targets with everything they name.
    workspace: OnceLock<Workspace>,
    /// The revision, if it is one.
    revision: Option<Arc<Revision>>,
}

pub fn compare(args: &DiffArgs, report: &Report) -> Result<Compared> {
    let here = os::current_dir()?;
    let git = Git::open(&here)?;
    let (range, folders) = words(args, &git)?;
    let fetching = args.flags.fetch.fetching(&plain_parts(&folders));
    let side = |side: &os::git::Side, sources: Sources| -> Result<Built> {
        let SideFiles { world, root, disk, revision } = git.files(side, fetching.clone())?;
        let options = build::options_for(&args.flags, &disk)?;
        let session = Session::new(world.clone(), sources.clone(), options);
        let workspace = OnceLock::new();
        let name = short(side.name()).to_owned();
        Ok(Built { name, world, root, sources, session, workspace, revision })
    };
    let from = side(&range.from, report::sources())?;
    let to = side(&range.to, report.sources.clone())?;
    let changed = git.changed(&range)?;
    let mut targets = targets(&folders, [&from, &to])?;
    if folders.is_empty() {
        leave_out_ignored(&mut targets, [&from, &to], &git)?;
    }
    let lock = changed.iter().find(|path| path.file_name().is_some_and(|name| name == lockfile::NAME));
    // What addresses mean may be another thing now, in any target.
    let mut reached: BTreeSet<String> = match args.all || lock.is_some() {
        true => targets.iter().cloned().collect(),
        false => [&from, &to].into_iter().flat_map(|side| side.reached(&targets, &changed)).collect(),
    };
    // What comes or goes is a change, whatever git thinks of its files.
    let is_one_sided = |target: &&String| is_layer(&*from.world, target) != is_layer(&*to.world, target);
    reached.extend(targets.iter().filter(is_one_sided).cloned());
    let given: Vec<Given> = targets
        .par_iter()
        .map(|target| match reached.contains(target) {
            true => {
                let (from_outcome, to_outcome) = rayon::join(|| from.outcome(target), || to.outcome(target));
                let inputs = |side: &Built| side.changed_inputs(target, &targets, &changed);
                let changed = [&from, &to].into_iter().flat_map(inputs);
                let changed: BTreeSet<String> = changed.collect();
                let changed = changed.into_iter().collect();
                let lock = lock.map(|path| krm_engine::files::relative(&git.top().join(path), &here));
                Given { directory: target.clone(), from: from_outcome, to: to_outcome, changed, lock }
            }
            // Nothing it reads has changed.
            false => {
                let nothing = || Outcome::Rendered(Vec::new());
                let (changed, lock) = Default::default();
                Given { directory: target.clone(), from: nothing(), to: nothing(), changed, lock }
            }
        })
        .collect();
    let sides = [&from, &to].map(|side| Side {
        name: side.name.clone(),
        world: &*side.world,
        sources: &side.sources,
        root: Some(&side.root),
    });
    let compared = Compared::new(&sides[0], &sides[1], given, &super::options(args)?);
    // What the sessions hold is freed faster by the system, at the end.
    std::mem::forget((from.session, to.session));
    Ok(compared)
}

/// Shortens the full id of a commit, which takes the place of a name if `A...B` was asked for.
fn short(name: &str) -> &str {
    match name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => &name[..12],
        false => name,
    }
}

/// The revisions and the folders that were named.
fn words(args: &DiffArgs, git: &Git) -> Result<(Range, Vec<String>)> {
    let mut words = args.words.clone();
    let mut range = None;
    if let Some(first) = words.first() {
        let is_folder = Path::new(first).is_dir() && !git.is_bare();
        let is_range = first.contains("..") && !first.split('/').any(|part| part == "..");
        let is_revision = is_range || git.is_revision(first);
        match (is_folder, is_revision) {
            (true, true) if args.folders.is_empty() => {
                let message = format!("`{first}` is both a revision and a folder");
                return Err(Diagnostic::error("diff-ambiguous", message)
                    .help(format!("write `{first} --` for the revision, `-- {first}` for the folder")));
            }
            (_, true) => {
                if let Some(second) = words.get(1).filter(|second| !Path::new(second).exists())
                    && !is_range
                    && git.is_revision(second)
                {
                    let message = format!("`{first}` and `{second}` are two revisions");
                    return Err(Diagnostic::error("diff-two-revisions", message)
                        .help(format!("did you mean `{first}..{second}`?")));
                }
                range = Some(git.range(first)?);
                words.remove(0);
            }
            (true, false) => {}
            (false, false) if first.contains(['*', '?', '[']) => {}
            // What is neither is reported as the one that is more likely meant; a folder may be gone on one side.
            (false, false) if first.contains('/') => {}
            (false, false) => range = Some(git.range(first)?),
        }
    }
    words.extend(args.folders.iter().cloned());
    let range = range.map_or_else(|| git.range("HEAD"), Ok)?;
    Ok((range, words))
}

/// Paths and patterns as far as they name one folder.
fn plain_parts(folders: &[String]) -> Vec<String> {
    let plain = |folder: &String| {
        let parts = Path::new(folder).components();
        let plain: PathBuf =
            parts.take_while(|part| !part.as_os_str().to_string_lossy().contains(['*', '?', '['])).collect();
        match plain.as_os_str().is_empty() {
            true => ".".to_owned(),
            false => plain.to_string_lossy().into_owned(),
        }
    };
    folders.iter().map(plain).collect()
}

/// The folders to compare, in order: those named, also by patterns; or all that nobody includes.
fn targets(folders: &[String], sides: [&Built; 2]) -> Result<Vec<String>> {
    let mut targets: BTreeSet<String> = BTreeSet::new();
    if folders.is_empty() {
        for side in sides {
            let here = Path::new(".");
            if side.world.is_dir(here) {
                let workspace = Workspace::scan(&*side.world, &side.sources, here)?;
                let real = side.world.real_path(here).unwrap_or_default();
                let inside = workspace.roots().into_iter().filter(|layer| layer.folder.starts_with(&real));
                targets.extend(inside.map(|layer| layer.shown.clone()));
            }
        }
        // A folder that is included on one side is not a target on the other.
        return Ok(targets.into_iter().collect());
    }
    for folder in folders {
        let mut found = BTreeSet::new();
        let mut outside = 0;
        for side in sides {
            let all = meant(&*side.world, folder)?;
            let (inside, others): (Vec<String>, Vec<String>) = all.into_iter().partition(|target| {
                side.world.real_path(Path::new(target)).is_ok_and(|real| real.starts_with(&side.root))
            });
            found.extend(inside);
            outside += others.len();
        }
        if found.is_empty() && outside > 0 {
            let message = format!("`{folder}` is not in this repository");
            return Err(Diagnostic::error("diff-no-target", message)
                .help("revisions are compared inside a repository; folders are with `--overlays DIR DIR`"));
        }
        if found.is_empty() {
            return Err(no_target(folder, ", on neither side"));
        }
        targets.extend(found);
    }
    Ok(targets.into_iter().collect())
}

/// Leaves out targets that only the working tree has but that do not belong to it: those that git ignores, and those of another
/// repository in it.
fn leave_out_ignored(targets: &mut Vec<String>, [from, to]: [&Built; 2], git: &Git) -> Result<()> {
    let is_new = |target: &String| !is_layer(&*from.world, target);
    if to.revision.is_some() || !targets.iter().any(is_new) {
        return Ok(());
    }
    let ignored: BTreeSet<PathBuf> = git.ignored()?.into_iter().collect();
    let is_other = |target: &String| {
        let folder = to.world.real_path(Path::new(target)).unwrap_or_default();
        let files = KUSTOMIZATION_FILES.iter().chain(&COMPOSITION_FILES).map(|name| folder.join(name));
        let mut files = files.filter(|file| to.world.is_file(file));
        let above = || folder.ancestors().take_while(|above| *above != git.top());
        above().any(|folder| ignored.contains(folder) || folder.join(".git").exists())
            || files.all(|file| ignored.contains(&file))
    };
    targets.retain(|target| !is_new(target) || !is_other(target));
    Ok(())
}

impl Built {
    /// The targets that depend on a changed file: by what planning them looked at, and by what their files name.
    fn reached(&self, targets: &[String], changed: &[PathBuf]) -> Vec<String> {
        let changed: Vec<PathBuf> = changed.iter().map(|path| self.root.join(path)).collect();
        let here: Vec<&String> = targets.iter().filter(|target| is_layer(&*self.world, target)).collect();
        let folder = |target: &String| self.world.real_path(Path::new(target)).unwrap_or_default();
        let folders: Vec<PathBuf> = here.iter().map(|target| folder(target)).collect();
        let named = self.workspace(targets).reached_from(&changed);
        here.par_iter().for_each(|target| drop(self.session.pipeline(target)));
        let looked_at = self.session.affected_by(&changed).targets;
        let is_reached = |(target, folder): &(&&String, &PathBuf)| {
            named.contains(&***folder) || looked_at.binary_search(target).is_ok()
        };
        here.iter().zip(&folders).filter(is_reached).map(|(target, _)| (*target).clone()).collect()
    }

    fn workspace(&self, targets: &[String]) -> &Workspace {
        self.workspace.get_or_init(|| {
            let folders = targets.iter().filter(|target| is_layer(&*self.world, target));
            let folders = folders.filter_map(|target| self.world.real_path(Path::new(target)).ok());
            Workspace::of(&*self.world, &self.sources, folders.collect())
        })
    }

    fn outcome(&self, target: &str) -> Outcome {
        if !is_layer(&*self.world, target) {
            return Outcome::Missing;
        }
        match self.session.trace(target) {
            (Ok(_), trace) => Outcome::Built(trace),
            (Err(error), _) => {
                let error = self.in_submodule(&error).unwrap_or(error);
                Outcome::Failed(error.located(&self.sources))
            }
        }
    }

    /// What is wrong with an entry that names something in a submodule.
    fn in_submodule(&self, error: &Diagnostic) -> Option<Diagnostic> {
        let place = error.place();
        let source = self.sources.get(place.file)?;
        let named = source.slice(place).trim_matches(['"', '\'']);
        let path = clean(&Path::new(source.name()).parent()?.join(named));
        let folder = self.revision.as_ref()?.submodule(&path)?;
        // Without the name of the revision: it is the same on both sides.
        let message =
            format!("`{named}` is in the submodule `{}`, whose files no revision holds", folder.display());
        Some(Diagnostic::error("git-submodule", message).at(place).help(
            "a revision holds the commit of a submodule, not its files; include them by the address of their repository, with `?ref=`, to compare revisions",
        ))
    }

    /// The changed files that a target looked at or names, as seen from the current folder.
    fn changed_inputs(&self, target: &str, targets: &[String], changed: &[PathBuf]) -> Vec<String> {
        let Some(dependencies) = self.session.dependencies(target) else { return Vec::new() };
        let here = self.world.real_path(Path::new(".")).unwrap_or_else(|_| self.root.clone());
        let mut read: BTreeSet<PathBuf> = dependencies
            .all()
            .iter()
            .flat_map(|part| part.paths().into_iter().map(|(path, _)| path))
            .filter(|path| !self.world.is_dir(path))
            .collect();
        let workspace = self.workspace(targets);
        let folder = self.world.real_path(Path::new(target)).unwrap_or_default();
        let layers = workspace.layer(&folder).map(|layer| workspace.closure(layer)).unwrap_or_default();
        let named =
            layers.iter().flat_map(|layer| &layer.references).filter(|named| !named.target.is_layer());
        read.extend(named.filter_map(|named| named.target.path().map(Path::to_owned)));
        // A folder that is named as a whole brings everything that is in it.
        let is_read =
            |path: &PathBuf| path.ancestors().any(|path| path.starts_with(&self.root) && read.contains(path));
        let changed = changed.iter().map(|path| self.root.join(path)).filter(is_read);
        changed.map(|path| krm_engine::files::relative(&path, &here)).collect()
    }
}
