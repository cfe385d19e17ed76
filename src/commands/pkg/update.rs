//! `krm pkg update`: what changed upstream, merged into a package.

use std::path::{Path, PathBuf};

use krm_engine::edit::diff;
use krm_engine::kpt::{self, Clash, Did, Files, Kptfile, kptfile_source};
use krm_engine::merge::ResourceConflict;
use krm_engine::{Diagnostic, Node, Result, Span};
use krm_yaml::Failure;

use super::updating::Updating;
use super::upstream::{NO_PACKAGE, folder_and_reference, read_files};
use crate::cli::{OnUpdateConflict, PkgUpdateArgs};
use crate::os::{self, Changes, Disk};
use crate::report::{Report, sanitize};

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
    let disk = Disk::default();
    let dirs = match args.all {
        true => all_packages(dir, &disk, report)?,
        false => vec![dir.to_path_buf()],
    };
    let mut count = 0;
    for dir in &dirs {
        count += update(args, dir, reference, &disk, report)?;
    }
    match args.diff {
        _ if dirs.is_empty() => eprintln!("No package in or below `{}` has an upstream.", dir.display()),
        true => eprintln!("Nothing was written: this is a preview of an update of {count} package(s)."),
        false => eprintln!("Updated {count} package(s)."),
    }
    Ok(())
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

/// Updates a package and those below it, all or none; how many they were.
fn update(args: &PkgUpdateArgs, dir: &Path, reference: &str, disk: &Disk, report: &Report) -> Result<usize> {
    let changing = (!args.diff).then(|| Changes::in_packages(&[dir])).transpose()?;
    kptfile_source(disk, dir, &report.sources, NO_PACKAGE)?;
    let (local, _) = read_files(dir, disk)?;
    let mut updating = Updating::new(args, dir, disk, report);
    let updated = updating.tree(&local, reference)?;
    let Some(changing) = changing else {
        show(&local, &updated);
        return Ok(updating.count);
    };
    write(changing, dir, &local, &updated)?;
    let is_new = |path: &&String| !local.contains_key(*path) && updated.contains_key(*path);
    let new = updating.executable.iter().filter(is_new);
    new.into_iter().try_for_each(|path| os::make_executable(&dir.join(path)))?;
    Ok(updating.count)
}

/// Says what was changed on both sides.
pub(super) fn say(clash: &Clash, on_conflict: OnUpdateConflict, report: &Report) {
    report.show(&match clash {
        Clash::Field(conflict) => field(conflict, on_conflict),
        Clash::Whole { what, place, moved_to: Some(path), .. } => {
            let message = format!("{what} was moved to `{path}` here and changed upstream; it is not updated");
            Diagnostic::warning("update-conflict", message).at(*place).help(
                "an update merges YAML and JSON files of the same path: move it back before the update, or make the change there",
            )
        }
        Clash::Whole { what, here, upstream, place, moved_to: None } => {
            let stays = if *here == Did::Change { "as it is here" } else { "removed" };
            let (here, upstream) = (here.participle(), upstream.participle());
            let message = format!("{what} was {here} here and {upstream} upstream; it stays {stays}");
            Diagnostic::warning("update-conflict", message)
                .at(*place)
                .help("compare the two, and keep what is right")
        }
    });
}

fn field(conflict: &ResourceConflict, on_conflict: OnUpdateConflict) -> Diagnostic {
    let ResourceConflict { resource, conflict } = conflict;
    let value = |node: &Option<Node>| {
        let text = node.as_ref().map_or_else(|| "nothing".to_owned(), krm_yaml::json::compact);
        sanitize::inert(&text).into_owned()
    };
    let path = conflict.path.join(".").replace(".[", "[");
    let (outcome, advice) = match on_conflict {
        OnUpdateConflict::Upstream => {
            ("; upstream's value is taken", "`--on-conflict ours` keeps the value here")
        }
        OnUpdateConflict::Ours => {
            ("; the value here is kept", "`--on-conflict upstream` takes upstream's value")
        }
        OnUpdateConflict::Fail => {
            ("", "settle it here, or choose a side with `--on-conflict upstream` or `ours`")
        }
    };
    let message = format!("`{path}` of {resource} was changed here and upstream{outcome}");
    let ours = conflict.dest.as_ref().map_or(conflict.near, Node::span);
    let theirs = conflict.updated.as_ref().map_or(Span::NONE, Node::span);
    Diagnostic::warning("update-conflict", message)
        .at(ours)
        .note(format!("here it is {}", value(&conflict.dest)), Span::NONE)
        .note(format!("upstream it is {}", value(&conflict.updated)), theirs)
        .note(format!("it was {} before", value(&conflict.original)), Span::NONE)
        .help(advice)
}

fn show(local: &Files, merged: &Files) {
    let mut paths: Vec<&String> = local.keys().chain(merged.keys()).collect();
    paths.sort();
    paths.dedup();
    for path in paths.into_iter().filter(|path| local.get(*path) != merged.get(*path)) {
        let text = |files: &Files| {
            files.get(path).map_or_else(String::new, |bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        let text = diff(path, &text(local), &text(merged));
        text.lines().for_each(|line| eprintln!("{}", sanitize::inert(line)));
    }
}

fn write(mut changing: Changes, dir: &Path, local: &Files, merged: &Files) -> Result<()> {
    for (path, bytes) in merged {
        let file: PathBuf = dir.join(path);
        match local.get(path) {
            Some(before) if before == bytes => {}
            _ => changing.write(&file, bytes)?,
        }
    }
    let gone = || local.keys().filter(|path| !merged.contains_key(*path)).map(|path| dir.join(path));
    gone().try_for_each(|file| changing.remove(&file, None))?;
    changing.commit()?;
    gone().for_each(|file| remove_emptied(&file, dir));
    Ok(())
}

/// Removes the folders below the package that held nothing but this file.
fn remove_emptied(file: &Path, dir: &Path) {
    let above = file.ancestors().skip(1).take_while(|folder| *folder != dir);
    // One that holds anything else is not removed, nor are those above it.
    let _ = above.map(std::fs::remove_dir).take_while(std::io::Result::is_ok).count();
}
