//! `krm pkg update`: what changed upstream, merged into a package.

use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use krm_engine::diff::lines::unified;
use krm_engine::kpt::{self, Clash, Did, Files, Kept, Kptfile, kptfile_source};
use krm_engine::merge::ResourceConflict;
use krm_engine::{Diagnostic, Node, Result, Span};
use krm_yaml::Failure;

use super::updating::{Mode, Updating};
use super::upstream::{FolderFiles, NO_PACKAGE, folder_and_reference, read_files};
use crate::cli::{OnUpdateConflict, PkgUpdateArgs};
use crate::commands::function::packages::tell_removed_names as tell_removed;
use crate::commands::merge3::outcome_of_removal;
use crate::os::{self, Changes, Disk};
use crate::report::{Report, counted, names, sanitize};

pub fn run(args: &PkgUpdateArgs, report: &Report) -> Result<()> {
    let [package] = args.package.as_slice() else {
        return Err(Diagnostic::error("update-one", "an update takes one package")
            .failing(Failure::CommandLine)
            .help("name one folder, with `@REF` after it; `--all` updates all packages below a folder"));
    };
    let (dir, reference) = folder_and_reference(package);
    let here = os::current_dir()?;
    if dir.exists() && !os::absolute(dir)?.starts_with(os::absolute(&here)?) {
        let message = format!("`{}` is not below the current folder", dir.display());
        return Err(Diagnostic::error("update-outside", message).help("change to a folder above the package"));
    }
    let disk = Disk::without_lock();
    // One change for all packages, begun before anything is read.
    let changing = (!args.diff).then(|| Changes::in_packages(&[dir])).transpose()?;
    let dirs = match args.all {
        true => all_packages(dir, &disk, report)?,
        false => vec![dir.to_path_buf()],
    };
    let (mut updated, mut failures) = (Vec::new(), Vec::new());
    for dir in dirs {
        match update(args, dir, reference, &disk, report) {
            Ok(one) => updated.push(one),
            Err(failure) => failures.push(failure),
        }
    }
    if let Some(failure) = Diagnostic::join(failures) {
        return Err(failure);
    }
    let conflicts: usize = updated.iter().map(|one| one.conflicts).sum();
    if conflicts > 0 && args.on_conflict == OnUpdateConflict::Fail {
        let message = format!("{conflicts} change(s) here are in conflict with upstream's");
        return Err(Diagnostic::error("update-conflicts", message).help("nothing was written"));
    }
    updated.iter().try_for_each(Updated::refuse_file_and_folder)?;
    match changing {
        None => updated.iter().try_for_each(Updated::show)?,
        Some(changing) => write(changing, &updated)?,
    }
    tell(args, dir, &updated);
    Ok(())
}

/// Says what was done, or would be.
fn tell(args: &PkgUpdateArgs, dir: &Path, updated: &[Updated]) {
    let changed: usize = updated.iter().filter(|one| one.changes()).map(|one| one.count).sum();
    let same: usize = updated.iter().filter(|one| !one.changes()).map(|one| one.count).sum();
    tell_removed("file", updated.iter().flat_map(Updated::gone).map(|file| file.display().to_string()));
    tell_removed("resource", updated.iter().flat_map(|one| one.removed.clone()));
    if updated.is_empty() {
        eprintln!("No package in or below `{}` has an upstream.", dir.display());
    }
    if same > 0 {
        eprintln!("{same} package(s) had nothing to update.");
    }
    match args.diff {
        _ if changed == 0 => {}
        true => eprintln!("Nothing was written: this is a preview of an update of {changed} package(s)."),
        false => {
            eprintln!("Updated {changed} package(s).");
            let written: Vec<String> =
                updated.iter().flat_map(Updated::written).map(|file| file.display().to_string()).collect();
            if !args.quiet && !written.is_empty() {
                eprintln!("wrote {}: {}", counted(written.len(), "file"), names(written.into_iter()));
            }
        }
    }
}

/// The packages of a folder that have an upstream. Those below another are updated with it.
fn all_packages(dir: &Path, disk: &Disk, report: &Report) -> Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = Vec::new();
    for path in kpt::files::listed(disk, dir)? {
        let Some(folder) =
            path.strip_suffix(kpt::FILE).filter(|folder| folder.is_empty() || folder.ends_with('/'))
        else {
            continue;
        };
        let folder = dir.join(folder);
        let read = |source| Kptfile::read(&source).map(|(kptfile, _)| kptfile);
        let kptfile = kpt::files::read(disk, &folder.join(kpt::FILE), &report.sources).and_then(read);
        if kptfile.is_ok_and(|kptfile| kptfile.git().is_some()) {
            found.push(folder);
        }
    }
    let all = found.clone();
    let is_below =
        |folder: &PathBuf| folder.ancestors().skip(1).any(|above| all.iter().any(|other| other == above));
    found.retain(|folder| !is_below(folder));
    Ok(found)
}

/// A package and those below it, as they are and as they are to be.
struct Updated {
    dir: PathBuf,
    before: Files,
    after: Files,
    /// The files whose modes change, and whether they may be run afterwards.
    modes: BTreeMap<String, bool>,
    count: usize,
    conflicts: usize,
    /// The resources that go from files that stay.
    removed: Vec<String>,
}

/// Updates a package and those below it, in memory.
fn update(
    args: &PkgUpdateArgs,
    dir: PathBuf,
    reference: &str,
    disk: &Disk,
    report: &Report,
) -> Result<Updated> {
    kptfile_source(disk, &dir, &report.sources, NO_PACKAGE)?;
    let FolderFiles { files: before, executable, links } = read_files(&dir, disk)?;
    let mut updating = Updating::new(args, &dir, links, disk, report);
    let after = updating.tree(&before, reference)?;
    let Updating { count, modes, conflicts, removed, .. } = updating;
    let executable: BTreeSet<String> = executable.into_iter().collect();
    let new_mode = |(path, mode): (String, Mode)| {
        let here = executable.contains(&path);
        let is_ours = before.contains_key(&path) && !mode.is_replaced && mode.before != Some(here);
        let changes = after.contains_key(&path) && !is_ours && mode.upstream != here;
        changes.then_some((path, mode.upstream))
    };
    let modes = modes.into_iter().filter_map(new_mode).collect();
    Ok(Updated { dir, before, after, modes, count, conflicts, removed })
}

/// Says what was changed on both sides of the package in a folder.
pub(super) fn say(clash: &Clash, folder: &Path, on_conflict: OnUpdateConflict, report: &Report) {
    report.show(&match clash {
        Clash::Field(conflict) => field(conflict, on_conflict),
        Clash::Twice { what, here, place } => {
            let message = format!("upstream adds {what}, which is in `{here}` here: it is in two files");
            Diagnostic::warning("update-conflict", message).at(*place).help("keep one of the two")
        }
        Clash::Whole { what, place, upstream: Did::Remove, moved_to: Some(path), .. } => {
            let message = format!("{what} was moved to `{path}` here and removed upstream; it stays");
            Diagnostic::warning("update-conflict", message).at(*place).help("remove it if it is no longer needed")
        }
        Clash::Whole { what, place, moved_to: Some(path), .. } => {
            let message = format!("{what} was moved to `{path}` here and changed upstream; it is not updated");
            Diagnostic::warning("update-conflict", message).at(*place).help(
                "an update merges YAML and JSON files of the same path: move it back before the update, or make the change there",
            )
        }
        Clash::Whole { what, here, upstream, kept, place, moved_to: None } => {
            whole(what, ONE, [*here, *upstream], *kept, on_conflict).at(*place)
        }
        Clash::File { what, path, here, upstream, kept } => {
            whole(what, ONE, [*here, *upstream], *kept, on_conflict).in_file(&kpt::shown(folder, path))
        }
        Clash::Unnamed { path, here, upstream, kept } => {
            let what = format!("the documents without a name in `{path}`");
            whole(&what, SEVERAL, [*here, *upstream], *kept, on_conflict).in_file(&kpt::shown(folder, path))
        }
    });
}

/// The verbs of a message about one thing, or about several.
struct Verbs {
    was: &'static str,
    stays_here: &'static str,
    stays_removed: &'static str,
    is_removed: &'static str,
}

const ONE: Verbs = Verbs {
    was: "was",
    stays_here: "it stays as it is here",
    stays_removed: "it stays removed",
    is_removed: "it is removed",
};

const SEVERAL: Verbs = Verbs {
    was: "were",
    stays_here: "they stay as they are here",
    stays_removed: "they stay removed",
    is_removed: "they are removed",
};

fn whole(
    what: &str,
    verbs: Verbs,
    [here, upstream]: [Did; 2],
    kept: Kept,
    on_conflict: OnUpdateConflict,
) -> Diagnostic {
    let outcome = match kept {
        _ if on_conflict == OnUpdateConflict::Fail => String::new(),
        Kept::Here => format!("; {}", verbs.stays_here),
        Kept::Upstream => "; upstream's is taken".to_owned(),
        Kept::Nothing if here == Did::Remove => format!("; {}", verbs.stays_removed),
        Kept::Nothing => format!("; {}", verbs.is_removed),
    };
    let (was, did) = (verbs.was, here.participle());
    let message = match here == upstream {
        true => format!("{what} {was} {did} both here and upstream{outcome}"),
        false => format!("{what} {was} {did} here and {} upstream{outcome}", upstream.participle()),
    };
    Diagnostic::warning("update-conflict", message).help("compare the two, and keep what is right")
}

fn field(conflict: &ResourceConflict, on_conflict: OnUpdateConflict) -> Diagnostic {
    let ResourceConflict { resource, conflict, is_secret } = conflict;
    let value = |node: &Option<Node>| match node {
        None => "nothing".to_owned(),
        Some(_) if *is_secret => "a secret".to_owned(),
        Some(node) => sanitize::inert(&krm_yaml::json::compact(node)).into_owned(),
    };
    let path = conflict.path.join(".").replace(".[", "[");
    let (taken, advice) = match on_conflict {
        OnUpdateConflict::Upstream => {
            ("upstream's value is taken", "`--on-conflict ours` keeps the value here")
        }
        OnUpdateConflict::Ours => {
            ("the value here is kept", "`--on-conflict upstream` takes upstream's value")
        }
        OnUpdateConflict::Fail => {
            ("", "settle it here, or choose a side with `--on-conflict upstream` or `ours`")
        }
    };
    let outcome = match on_conflict {
        OnUpdateConflict::Fail => String::new(),
        _ => format!("; {}", outcome_of_removal(conflict).unwrap_or(taken)),
    };
    let did = |value: &Option<Node>| match (&conflict.original, value) {
        (None, _) => Did::Add,
        (_, Some(_)) => Did::Change,
        (_, None) => Did::Remove,
    };
    let did = match [did(&conflict.dest), did(&conflict.updated)] {
        [here, upstream] if here == upstream => format!("{} here and upstream", here.participle()),
        [here, upstream] => format!("{} here and {} upstream", here.participle(), upstream.participle()),
    };
    let message = format!("`{path}` of {resource} was {did}{outcome}");
    let ours = conflict.dest.as_ref().map_or(conflict.near, Node::span);
    let theirs = conflict.updated.as_ref().map_or(Span::NONE, Node::span);
    Diagnostic::warning("update-conflict", message)
        .at(ours)
        .note(format!("here it is {}", value(&conflict.dest)), Span::NONE)
        .note(format!("upstream it is {}", value(&conflict.updated)), theirs)
        .note(format!("it was {} before", value(&conflict.original)), Span::NONE)
        .help(advice)
}

impl Updated {
    fn changes(&self) -> bool {
        self.before != self.after || !self.modes.is_empty()
    }

    /// The files that go.
    fn gone(&self) -> impl Iterator<Item = PathBuf> {
        let gone = self.before.keys().filter(|path| !self.after.contains_key(*path));
        gone.map(|path| self.shown(path))
    }

    /// The files that get another content.
    fn changed(&self) -> impl Iterator<Item = (&String, &Vec<u8>)> {
        self.after.iter().filter(|(path, bytes)| self.before.get(*path) != Some(*bytes))
    }

    /// The same as the user would name them.
    fn written(&self) -> impl Iterator<Item = PathBuf> {
        self.changed().map(|(path, _)| self.shown(path))
    }

    /// A file as the user would name it.
    fn shown(&self, path: &str) -> PathBuf {
        kpt::shown(&self.dir, path).into()
    }

    /// Prints what would change, such that `patch -p1` in the current folder makes it so.
    fn show(&self) -> Result<()> {
        let paths: BTreeSet<&String> = self.before.keys().chain(self.after.keys()).collect();
        for path in paths {
            let (before, after) = (self.before.get(path), self.after.get(path));
            let file = self.shown(path);
            let mut shown = String::new();
            if let Some(may_run) = self.modes.get(path) {
                let [old, new] = if *may_run { ["100644", "100755"] } else { ["100755", "100644"] };
                shown = format!("diff --git a/{0} b/{0}\n", file.display());
                shown += &match before {
                    Some(_) => format!("old mode {old}\nnew mode {new}\n"),
                    None => format!("new file mode {new}\n"),
                };
            }
            let name = |side: &str, bytes: Option<&Vec<u8>>| match bytes {
                Some(_) => format!("{side}/{}", file.display()),
                None => "/dev/null".to_owned(),
            };
            let (old, new) = (name("a", before), name("b", after));
            let text = |bytes: Option<&Vec<u8>>| String::from_utf8(bytes.cloned().unwrap_or_default());
            shown += &match (text(before), text(after)) {
                _ if before == after => String::new(),
                (Ok(before), Ok(after)) => format!("--- {old}\n+++ {new}\n{}", unified(&before, &after, 3)),
                _ => format!("Binary files {old} and {new} differ\n"),
            };
            // On a terminal nothing in a file may pass for a command.
            match std::io::stdout().is_terminal() {
                true => os::print(sanitize::shown(&shown).as_bytes())?,
                false => os::print(shown.as_bytes())?,
            }
        }
        Ok(())
    }

    fn prepare(&self, changing: &mut Changes) -> Result<()> {
        for (path, bytes) in self.changed() {
            changing.write(&self.dir.join(path), bytes)?;
        }
        self.gone().try_for_each(|file| changing.remove(&file, None))
    }

    /// Refuses an update in which a file takes the place of a folder, or the other way: an update writes everything or nothing.
    fn refuse_file_and_folder(&self) -> Result<()> {
        for path in self.after.keys().filter(|path| !self.before.contains_key(*path)) {
            let place = self.shown(path);
            let above = place.ancestors().skip(1).take_while(|above| *above != self.dir);
            let (taken, here, upstream) = match above.into_iter().find(|above| above.is_file()) {
                Some(file) => (file.to_owned(), "file", "folder"),
                None if place.is_dir() => (place, "folder", "file"),
                None => continue,
            };
            let message = format!("`{}` is a {here} here and a {upstream} upstream", taken.display());
            return Err(Diagnostic::error("update-file-and-folder", message)
                .help("move it out of the package, and run the update again"));
        }
        Ok(())
    }
}

/// Writes what changed in all packages, or nothing.
fn write(mut changing: Changes, updated: &[Updated]) -> Result<()> {
    updated.iter().try_for_each(|one| one.prepare(&mut changing))?;
    changing.commit()?;
    for one in updated {
        one.gone().for_each(|file| remove_emptied(&file, &one.dir));
        one.modes.iter().try_for_each(|(path, may_run)| os::set_executable(&one.dir.join(path), *may_run))?;
    }
    Ok(())
}

/// Removes the folders below the package that held nothing but this file.
fn remove_emptied(file: &Path, dir: &Path) {
    let above = file.ancestors().skip(1).take_while(|folder| *folder != dir);
    // One that holds anything else is not removed, nor are those above it.
    let _ = above.map(std::fs::remove_dir).take_while(std::io::Result::is_ok).count();
}
