//! `krm build`.

pub mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_engine::lint;
use krm_engine::pipeline::Helm;
use krm_engine::{BuildOptions, Built, Diagnostic, Policy, Resource, Resources, Result, Session, emit};
use krm_yaml::Severity;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::cli::{BuildArgs, BuildFlags, LoadRestrictor, Reorder};
use crate::commands::affected;
use crate::os::{self, Disk};
use crate::report::Report;
use crate::spinner::Spinner;

pub fn run(mut args: Box<BuildArgs>, report: &Report) -> Result<()> {
    // This thread works as well, instead of waiting for others that do. The pool ends when the process does.
    std::mem::forget(rayon::ThreadPoolBuilder::new().use_current_thread().build());
    if args.watch {
        watch::refuse_addresses(&args.targets)?;
        return watch::run(&args, report);
    }
    let all = match &args.changed_since {
        None => args.targets.clone(),
        Some(revision) => {
            let (all, changed) = affected::changed_since(revision, &args.targets, &report.sources)?;
            if changed.is_empty() {
                eprintln!("nothing to build: no target changed since {revision}");
                return Ok(());
            }
            args.targets = changed;
            all
        }
    };
    let (disk, options) = world_and_options(&args.flags, &args.targets)?;
    let session = Session::new(Arc::new(disk), report.sources.clone(), options);
    let spinner = Spinner::start(format!("building {}", args.targets.join(", ")));
    let Built { targets: built, warnings } = session.build_once(&args.targets);
    drop(spinner);
    if built.iter().any(Result::is_err) {
        // What is merely odd goes first: the last line on the screen is the one that matters.
        warnings.iter().for_each(|warning| report.show(warning));
        let errors = built.into_iter().filter_map(Result::err);
        return Err(Diagnostic::join(errors).expect("there is an error"));
    }
    let (errors, warnings): (Vec<_>, Vec<_>) = match args.flags.strict {
        true => lint::strict::judge(&Disk::default(), &report.sources, warnings),
        false => warnings,
    }
    .into_iter()
    .partition(|warning| warning.severity() == Severity::Error);
    warnings.iter().for_each(|warning| report.show(warning));
    Diagnostic::join(errors).map_or(Ok(()), Err)?;
    let done: Vec<Resources> = built.into_iter().filter_map(Result::ok).collect();
    match &args.output {
        None => os::print_all(&emit(&done)?),
        Some(path) => write(path, files(path, &all, &args.targets, &done)?, Vec::new()),
    }?;
    // The process ends here: the system takes the memory back faster than we could free every node.
    std::mem::forget(done);
    Ok(())
}

/// The files, and how to build, by the flags that every command takes which builds.
pub fn world_and_options(flags: &BuildFlags, targets: &[String]) -> Result<(Disk, BuildOptions)> {
    let disk = flags.fetch.disk(targets);
    let options = options(flags)?;
    let policy = flags.fetch.restrict(options.policy, &disk)?;
    Ok((disk, BuildOptions { policy, ..options }))
}

/// How to build, whatever may be fetched.
pub fn options(args: &BuildFlags) -> Result<BuildOptions> {
    let helm = Helm {
        command: args.helm_command.clone(),
        api_versions: args.helm_api_versions.clone(),
        kube_version: args.helm_kube_version.clone(),
        debug: args.helm_debug,
    };
    let policy = Policy {
        functions: args.enable_alpha_plugins,
        helm: args.enable_helm.then_some(helm),
        ..args.access.policy()?
    };
    let labels_by_environment = || os::variable("KUSTOMIZE_ENABLE_MANAGEDBY_LABEL").as_deref() == Some("on");
    Ok(BuildOptions {
        policy,
        unrestricted: args.load_restrictor == LoadRestrictor::None,
        keep_order: args.reorder == Reorder::None,
        managed_by_label: args.enable_managedby_label || labels_by_environment(),
        kubernetes: args.kube_version.into(),
        trusted_catalogs: args.trusted_catalog.clone(),
    })
}

/// The files that results are written to. Of several targets, or of those that are some of several, each has a file; of one, a
/// folder gets a file for each resource.
fn files(
    path: &Path,
    all: &[String],
    targets: &[String],
    done: &[Resources],
) -> Result<Vec<(PathBuf, String)>> {
    // A name that ends so can only be meant as a folder, there or not.
    let is_folder = path.is_dir() || path.to_string_lossy().ends_with('/');
    match done {
        _ if all.len() > 1 => target_files(path, all, targets, done),
        [one] if is_folder => resource_files(path, one),
        _ => Ok(vec![(path.to_owned(), emit(done)?.concat())]),
    }
}

/// Writes files to a path, all of them or none, and removes others.
fn write(path: &Path, files: Vec<(PathBuf, String)>, gone: Vec<PathBuf>) -> Result<()> {
    if let [(file, text)] = &files[..]
        && file == path
    {
        return os::write(file, text.as_bytes());
    }
    let mut changes = os::Changes::to_output(path)?;
    files.iter().try_for_each(|(file, text)| changes.write(file, text.as_bytes()))?;
    gone.iter().try_for_each(|file| changes.remove(file, None))?;
    changes.commit()
}

/// A file per resource, named as the reference names them.
fn resource_files(dir: &Path, items: &Resources) -> Result<Vec<(PathBuf, String)>> {
    let namespaced = || items.iter().filter(|r| !r.id().cluster_scoped);
    let namespaces: FxHashSet<&str> = namespaced().map(|r| r.id().effective_namespace()).collect();
    // quirk(output-files-overwrite): With `--output` of a folder, of two resources that get the same file name the last
    // one is kept. (kustomize `build.Writer.WriteIndividualFiles`)
    let mut files = BTreeMap::new();
    for r in items.iter() {
        let mut name = file_name(r);
        if namespaces.len() > 1 && !r.id().cluster_scoped {
            name = format!("{}_{name}", r.id().effective_namespace().to_lowercase());
        }
        if name.contains(['/', '\0']) {
            let message = format!("no file can be called `{name}`");
            return Err(Diagnostic::error("output-file-name", message)
                .at(r.node().span())
                .help("write all resources to one file, or give this one a name that may be a file's"));
        }
        let mut text = String::new();
        krm_yaml::try_canonical_whole_into(r.node(), &mut text)?;
        files.insert(name, text);
    }
    Ok(files.into_iter().map(|(name, text)| (dir.join(name), text)).collect())
}

fn file_name(r: &Resource) -> String {
    let gvk = r.gvk();
    let parts = [&gvk.group, &gvk.version, &gvk.kind].into_iter().filter(|part| !part.is_empty());
    let kind: Vec<&str> = parts.map(|part| part.as_str()).collect();
    format!("{}_{}.yaml", kind.join("_"), r.name()).to_lowercase()
}

/// A file per target, named after its folder; with as many folders above as it takes to tell them apart, but none of those
/// that all of them are in.
fn target_files(
    dir: &Path,
    all: &[String],
    targets: &[String],
    built: &[Resources],
) -> Result<Vec<(PathBuf, String)>> {
    let Some(names) = output_names(all.iter().map(|target| path_parts(target)).collect()) else {
        return Err(Diagnostic::error(
            "targets-alike",
            "a folder is named twice, and would be written twice",
        )
        .help("name each target once"));
    };
    let texts: Vec<String> =
        built.par_iter().map(|items| Ok(emit([items])?.concat())).collect::<Result<_>>()?;
    let name_of = |target: &String| {
        let at = all.iter().position(|one| one == target).expect("all targets hold those that were built");
        dir.join(format!("{}.yaml", names[at]))
    };
    Ok(targets.iter().map(name_of).zip(texts).collect())
}

/// What the files of several targets are called, given the folders that lead to each; `None` if two are the same.
pub fn output_names(mut parts: Vec<Vec<String>>) -> Option<Vec<String>> {
    let common = common_folders(&parts);
    parts.iter_mut().for_each(|parts| drop(parts.drain(..common)));
    let most = parts.iter().map(Vec::len).max().unwrap_or_default();
    let name = |parts: &Vec<String>, count: usize| parts[parts.len().saturating_sub(count)..].join("_");
    let named = |count: usize| parts.iter().map(|parts| name(parts, count)).collect::<Vec<String>>();
    (1..=most).map(named).find(|names| names.iter().collect::<FxHashSet<_>>().len() == names.len())
}

/// How many folders all paths begin with; of each at least its last name is left.
fn common_folders(paths: &[Vec<String>]) -> usize {
    let Some((first, others)) = paths.split_first() else { return 0 };
    let above = |path: &Vec<String>| path.len().saturating_sub(1);
    let shared =
        |path: &Vec<String>| first.iter().zip(&path[..above(path)]).take_while(|(a, b)| a == b).count();
    others.iter().map(shared).fold(above(first), usize::min)
}

/// The names of the folders that lead to a target.
fn path_parts(target: &str) -> Vec<String> {
    let real = std::fs::canonicalize(target).unwrap_or_else(|_| target.into());
    let parts = real.components().filter_map(|part| match part {
        std::path::Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    });
    parts.collect()
}
