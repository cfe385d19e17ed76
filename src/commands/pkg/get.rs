//! `krm pkg get`: a package from a git repository.

use std::path::{Path, PathBuf};

use krm_engine::kpt::{self, Files, Kptfile, Strategy};
use krm_engine::{Diagnostic, Node, Result, Span};
use krm_function::Object;
use krm_yaml::Failure;
use krm_yaml::emit::preserve;

use super::upstream::{Fetched, Upstream};
use crate::cli::PkgGetArgs;
use crate::os::{self, Changes, Disk};
use crate::report::Report;

pub fn run(args: &PkgGetArgs, report: &Report) -> Result<()> {
    let strategy = kpt::parse_strategy(&args.strategy, Span::NONE)
        .map_err(|error| error.failing(Failure::CommandLine))?;
    let mut upstream = Upstream::parse(&args.address)?;
    let dir = destination(args.dir.as_deref(), upstream.name())?;
    let name = package_name(&dir)?;
    eprintln!("Package \"{name}\":");
    let disk = Disk::without_lock();
    let fetched = upstream.fetch(&disk)?;
    let mut count = 1;
    let mut files = prepared(&upstream, &fetched, &name, strategy, report)?;
    let mut executable = fetched.executable;
    subpackages(&mut files, &mut executable, &mut count, &disk, report)?;
    files = kpt::noted(&files);
    if args.for_deployment {
        let text = preserve::fresh(&kpt::package_context(&name));
        files.insert(kpt::CONTEXT_FILE.to_owned(), text.into_bytes());
    }
    let mut changes = Changes::to_output(&dir)?;
    for (path, bytes) in &files {
        changes.write(&dir.join(path), bytes)?;
    }
    changes.commit()?;
    os::make_dir(&dir)?;
    executable.iter().try_for_each(|path| os::make_executable(&dir.join(path)))?;
    eprintln!("Fetched {count} package(s).");
    Ok(())
}

/// The folder to make: the one named, or one of the package's name in one that exists.
fn destination(dir: Option<&Path>, name: &str) -> Result<PathBuf> {
    let taken = |dir: &Path| {
        Err(Diagnostic::error("get-destination", format!("`{}` exists already", dir.display()))
            .help("name a folder that does not exist; `krm pkg update` updates a package"))
    };
    let dir = match dir {
        None => PathBuf::from(name),
        Some(dir) if dir == Path::new(".") => {
            let is_empty = std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
            return if is_empty { Ok(dir.to_path_buf()) } else { taken(dir) };
        }
        Some(dir) if dir.is_dir() => dir.join(name),
        Some(dir) => dir.to_path_buf(),
    };
    if dir.exists() {
        return taken(&dir);
    }
    match dir.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.is_dir()) {
        Some(parent) => {
            let message = format!("there is no folder `{}` to put the package in", parent.display());
            Err(Diagnostic::error("get-parent", message).help("make it first"))
        }
        None => Ok(dir),
    }
}

fn package_name(dir: &Path) -> Result<String> {
    let whole = if dir == Path::new(".") { os::current_dir()? } else { dir.to_path_buf() };
    Ok(whole.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

/// The files of a package with a Kptfile that says where they come from.
fn prepared(
    upstream: &Upstream,
    fetched: &Fetched,
    name: &str,
    strategy: Strategy,
    report: &Report,
) -> Result<Files> {
    let mut files = fetched.files.clone();
    let source = kpt::Source {
        repo: &upstream.repo,
        directory: &upstream.directory,
        reference: &upstream.reference,
        found: &fetched.found,
        commit: &fetched.commit,
        strategy,
    };
    let text = match files.get(kpt::FILE) {
        Some(bytes) => {
            let shown = format!("{}{}/{}", upstream.repo, upstream.directory, kpt::FILE);
            let (_, mut document) = Kptfile::read(&report.sources.add_bytes(shown, bytes.clone())?)?;
            let mut object = Object::from(document.root.clone());
            if let Some(metadata) = object.map_at("metadata") {
                metadata.set("name", Node::string(name));
            }
            document.root = object.into_node();
            kpt::set_upstream(&mut document.root, &source);
            preserve::document(&document)
        }
        None => {
            let mut kptfile = Object::new(kpt::API_VERSION, kpt::FILE, name).into_node();
            kpt::set_upstream(&mut kptfile, &source);
            preserve::fresh(&kptfile)
        }
    };
    files.insert(kpt::FILE.to_owned(), text.into_bytes());
    Ok(files)
}

/// Fetches subpackages that say where they come from and have not been fetched.
fn subpackages(
    files: &mut Files,
    executable: &mut Vec<String>,
    count: &mut usize,
    disk: &Disk,
    report: &Report,
) -> Result<()> {
    loop {
        let wanted = files.iter().find_map(|(path, bytes)| {
            let folder = path.strip_suffix(kpt::FILE)?.strip_suffix('/')?.to_owned();
            let source = report.sources.add_bytes(path.as_str(), bytes.clone()).ok()?;
            let (kptfile, _) = Kptfile::read(&source).ok()?;
            let git = kptfile.git().cloned().filter(|_| kptfile.lock().is_none())?;
            let word = kptfile.upstream.as_ref().and_then(|upstream| upstream.update_strategy.clone());
            Some((folder, git, word.map_or_else(String::new, |word| word.to_string())))
        });
        let Some((folder, git, word)) = wanted else { return Ok(()) };
        let mut upstream = Upstream {
            repo: git.repo.trim_end_matches(".git").to_owned(),
            directory: git.directory.to_string(),
            reference: git.r#ref.to_string(),
        };
        let fetched = upstream.fetch(disk)?;
        let strategy =
            if word.is_empty() { Strategy::default() } else { kpt::parse_strategy(&word, Span::NONE)? };
        let name = folder.rsplit('/').next().unwrap_or_default().to_owned();
        for (path, bytes) in prepared(&upstream, &fetched, &name, strategy, report)? {
            files.insert(format!("{folder}/{path}"), bytes);
        }
        executable.extend(fetched.executable.iter().map(|path| format!("{folder}/{path}")));
        *count += 1;
    }
}
