//! `krm pkg update`: what changed upstream, merged into a package.

use std::path::{Path, PathBuf};

use krm_engine::edit::diff;
use krm_engine::kpt::{self, Files, Kptfile, States, Strategy};
use krm_engine::merge::Conflict;
use krm_engine::{Diagnostic, Node, Result, Span};
use krm_yaml::emit::preserve;

use super::upstream::{Upstream, read_files};
use crate::cli::{OnUpdateConflict, PkgUpdateArgs};
use crate::os::{self, Changes, Disk};
use crate::report::{Report, sanitize};

pub fn run(args: &PkgUpdateArgs, report: &Report) -> Result<()> {
    let [package] = args.package.as_slice() else {
        return Err(Diagnostic::error("update-one", "an update takes one package")
            .help("name one folder, with `@REF` after it; `--all` updates all packages below a folder"));
    };
    let (dir, reference) = package.rsplit_once('@').unwrap_or((package, ""));
    let dir = Path::new(if dir.is_empty() { "." } else { dir });
    let here = os::current_dir()?;
    if dir.exists() && !os::absolute(dir)?.starts_with(os::absolute(&here)?) {
        let message = format!("`{}` is not below the current folder", dir.display());
        return Err(Diagnostic::error("update-outside", message).help("change to a folder above the package"));
    }
    let disk = Disk::default();
    let mut dirs = vec![dir.to_path_buf()];
    if args.all {
        dirs = kpt::files::listed(&disk, dir)?
            .into_iter()
            .filter(|path| path.rsplit('/').next() == Some(kpt::FILE))
            .filter_map(|path| dir.join(path).parent().map(Path::to_path_buf))
            .filter(|dir| {
                let kptfile = kpt::files::read(&disk, &dir.join(kpt::FILE), &report.sources);
                kptfile
                    .and_then(|source| Kptfile::read(&source))
                    .is_ok_and(|(kptfile, _)| kptfile.git().is_some())
            })
            .collect();
    }
    for dir in &dirs {
        update(args, dir, reference, &disk, report)?;
    }
    eprintln!("Updated {} package(s).", dirs.len());
    Ok(())
}

fn update(args: &PkgUpdateArgs, dir: &Path, reference: &str, disk: &Disk, report: &Report) -> Result<()> {
    let changing = (!args.diff).then(|| Changes::in_packages(&[dir])).transpose()?;
    kpt::files::is_folder(disk, dir)?;
    let source = kpt::files::read(disk, &dir.join(kpt::FILE), &report.sources)?;
    let (kptfile, mut document) = Kptfile::read(&source)?;
    let mut upstream = Upstream::of(&kptfile, dir, document.root.span())?;
    let declared = kptfile.upstream.as_ref().and_then(|upstream| upstream.update_strategy.as_ref());
    let strategy = match (&args.strategy, declared.filter(|word| !word.is_empty())) {
        (Some(word), _) => kpt::parse_strategy(word, Span::NONE)?,
        (None, Some(word)) => kpt::parse_strategy(word, word.span())?,
        (None, None) => Strategy::default(),
    };
    if !reference.is_empty() {
        upstream.reference = reference.to_owned();
    }
    let name = os::absolute(dir)?.file_name().unwrap_or_default().to_string_lossy().into_owned();
    eprintln!("Package \"{name}\":");
    let fetched = upstream.fetch(disk)?;
    let origin = match kptfile.lock() {
        Some(lock) => upstream.at(&lock.commit, disk)?.files,
        None => Files::new(),
    };
    let (mut local, _) = read_files(dir, disk)?;
    let apart = independent(&mut local, report);
    eprintln!("Updating package \"{name}\" with strategy \"{}\".", strategy.word());
    let states = States { origin: &origin, updated: &fetched.files, local: &local };
    let (mut merged, conflicts) = kpt::update(&states, strategy, &report.sources)?;
    conflicts.iter().for_each(|conflict| say(conflict, report));
    if !conflicts.is_empty() && args.on_conflict == OnUpdateConflict::Fail {
        let message = format!("{} field(s) were changed both here and upstream", conflicts.len());
        return Err(Diagnostic::error("update-conflicts", message).help("nothing was written"));
    }
    let read = |files: &Files, side: &str| -> Result<Option<Node>> {
        let Some(bytes) = files.get(kpt::FILE) else { return Ok(None) };
        let source = report.sources.add_bytes(format!("{} ({side})", kpt::FILE), bytes.clone())?;
        Ok(Some(Kptfile::read(&source)?.1.root))
    };
    if let Some(theirs) = read(&fetched.files, "upstream")? {
        document.root =
            kpt::merge_kptfile(read(&origin, "upstream, before")?.as_ref(), &theirs, &document.root)?;
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
    merged.insert(kpt::FILE.to_owned(), preserve::document(&document).into_bytes());
    merged.extend(apart.clone());
    local.extend(apart);
    let Some(changing) = changing else {
        show(&local, &merged);
        return Ok(());
    };
    write(changing, dir, &local, &merged)?;
    let new =
        fetched.executable.iter().filter(|path| !local.contains_key(*path) && merged.contains_key(*path));
    new.into_iter().try_for_each(|path| os::make_executable(&dir.join(path)))
}

/// Takes out the files of subpackages that have an upstream: they are updated by themselves.
fn independent(local: &mut Files, report: &Report) -> Files {
    let folders: Vec<String> = local
        .iter()
        .filter_map(|(path, bytes)| {
            let folder = path.strip_suffix(kpt::FILE).filter(|folder| !folder.is_empty())?;
            let source = report.sources.add_bytes(path.as_str(), bytes.clone()).ok()?;
            Kptfile::read(&source).ok()?.0.upstream.map(|_| folder.to_owned())
        })
        .collect();
    let (apart, rest) = std::mem::take(local)
        .into_iter()
        .partition(|(path, _)| folders.iter().any(|folder| path.starts_with(folder.as_str())));
    *local = rest;
    apart
}

/// Says that a field was changed on both sides.
fn say(conflict: &Conflict, report: &Report) {
    let path: Vec<&str> = conflict.path.iter().map(|part| part.as_str()).collect();
    let value = |node: &Option<Node>| {
        let text = node.as_ref().map_or_else(|| "nothing".to_owned(), krm_yaml::json::compact);
        sanitize::inert(&text).into_owned()
    };
    let message = format!("`{}` was changed here and upstream; upstream's value is taken", path.join("."));
    let ours = conflict.dest.as_ref().map_or(conflict.near, Node::span);
    let theirs = conflict.updated.as_ref().map_or(Span::NONE, Node::span);
    report.show(
        &Diagnostic::warning("update-conflict", message)
            .at(ours)
            .note(format!("here it is {}", value(&conflict.dest)), Span::NONE)
            .note(format!("upstream it is {}", value(&conflict.updated)), theirs),
    );
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
    for path in local.keys().filter(|path| !merged.contains_key(*path)) {
        changing.remove(&dir.join(path), None)?;
    }
    changing.commit()
}
