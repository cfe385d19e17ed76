//! `krm build`.

mod after_change;
mod cached;
mod output;
pub mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_engine::lint::warnings::Strictness;
use krm_engine::policy::Helm;
use krm_engine::{BuildOptions, Built, Diagnostic, Policy, Resources, Result, Session, emit, lint};
use krm_yaml::Severity;
use rayon::prelude::*;

use crate::cli::{BuildArgs, BuildFlags, LoadRestrictor, Reorder};
use crate::commands::{affected, patterns};
use crate::os::locked::Fetching;
use crate::os::{self, Disk};
use crate::report::{Report, Spinner};

/// How many outputs are asked of a shared cache at once.
const WAITING: usize = 16;

pub fn run(mut args: Box<BuildArgs>, report: &Report) -> Result<()> {
    args.targets = patterns::expanded(args.targets);
    // This thread works as well, instead of waiting for others that do. The pool ends when the process does.
    let pool = rayon::ThreadPoolBuilder::new().use_current_thread();
    // Functions that run elsewhere only make threads wait: how many depends on the server, not on the cores of this machine.
    // So do outputs that come from a server. With more targets than that, each waits in a thread that the session starts.
    let jobs = args.flags.access.remote.jobs()?.filter(|jobs| args.targets.len() < *jobs);
    let waiting = jobs.or(args.shared.is_asked().then_some(WAITING));
    let pool = match waiting {
        Some(jobs) => pool.num_threads(jobs.max(std::thread::available_parallelism().map_or(1, usize::from))),
        None => pool,
    };
    std::mem::forget(pool.build());
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
    let (disk, mut options) = world_and_options(&args.flags, &args.targets)?;
    args.cache = args.shared.kept(args.cache).or(args.explain_cache.then_some(crate::cli::Cache::Sandboxed));
    options.policy =
        args.shared.apply(options.policy, args.cache, &args.flags.access.remote, args.flags.fetch.offline)?;
    let shared = options.policy.shared_cache.clone();
    let disk = Arc::new(disk);
    let session = Session::new(disk.clone(), report.sources.clone(), options);
    let spinner = Spinner::start(match &args.targets[..] {
        [target] => format!("building {target}"),
        targets => format!("building {} targets", targets.len()),
    });
    let to = Destination::of(&args, &all)?;
    if args.cache.is_some() {
        let form = match to {
            Destination::FilePerResource(_) => cached::Form::FilePerResource,
            _ => cached::Form::Stream,
        };
        let cached::Built { texts, warnings, failed } =
            cached::build(&args, form, &disk, session, shared, report)?;
        drop(spinner);
        judge(&args, warnings, failed, report)?;
        return match to {
            Destination::FilePerTarget(dir) => output::write_targets(dir, &args, &all, &texts),
            Destination::FilePerResource(dir) => {
                output::write_into(dir, &args, &output::unpacked(dir, &texts[0]), &[])
            }
            Destination::File(file) => os::write(file, &joined(&texts)),
            Destination::Printed => os::print(&joined(&texts)),
        };
    }
    let Built { targets: built, warnings } = session.build_once(&args.targets);
    drop(spinner);
    let mut done: Vec<Resources> = Vec::with_capacity(built.len());
    let mut failed = Vec::new();
    for (target, built) in args.targets.iter().zip(built) {
        match built {
            Ok(resources) => done.push(resources),
            Err(error) => failed.push((&**target, error)),
        }
    }
    judge(&args, warnings, report.joined(failed), report)?;
    match to {
        Destination::Printed => os::print_all(&emit(&done)?),
        Destination::FilePerTarget(dir) => {
            let texts: Vec<String> =
                done.par_iter().map(|items| Ok(emit([items])?.concat())).collect::<Result<_>>()?;
            output::write_targets(dir, &args, &all, &texts)
        }
        Destination::FilePerResource(dir) => {
            output::write_into(dir, &args, &output::resource_files(dir, &done[0])?, &[])
        }
        Destination::File(file) => os::write(file, emit(&done)?.concat().as_bytes()),
    }?;
    // The process ends here: the system takes the memory back faster than we could free every node.
    std::mem::forget(done);
    Ok(())
}

/// Shows warnings, as `krm.toml` and comments want them; under `--strict` they are errors. Fails with these, and with what
/// failed by itself, which goes last: the last line on the screen is the one that matters.
fn judge(
    args: &BuildArgs,
    warnings: Vec<Diagnostic>,
    failed: Option<Diagnostic>,
    report: &Report,
) -> Result<()> {
    let strictness = if args.flags.strict { Strictness::Strict } else { Strictness::Lenient };
    let judged = lint::warnings::judge(&Disk::default(), &report.sources, warnings, strictness);
    let (errors, warnings): (Vec<_>, Vec<_>) =
        judged.into_iter().partition(|warning| warning.severity() == Severity::Error);
    warnings.iter().for_each(|warning| report.show(warning));
    Diagnostic::join(errors.into_iter().chain(failed)).map_or(Ok(()), Err)
}

/// Texts of several targets as one stream.
fn joined(texts: &[Vec<u8>]) -> Vec<u8> {
    let some: Vec<&[u8]> = texts.iter().map(Vec::as_slice).filter(|text| !text.is_empty()).collect();
    some.join(&b"---\n"[..])
}

/// Where the output goes.
enum Destination<'a> {
    Printed,
    File(&'a Path),
    FilePerResource(&'a Path),
    FilePerTarget(&'a Path),
}

impl<'a> Destination<'a> {
    /// Of several targets, or of those that are some of several, each has a file.
    fn of(args: &'a BuildArgs, all: &[String]) -> Result<Self> {
        let Some(path) = &args.output else { return Ok(Self::Printed) };
        // A name that ends so can only be meant as a folder, there or not.
        let is_folder = path.is_dir() || path.to_string_lossy().ends_with('/');
        Ok(match all.len() > 1 || args.mirror || args.prune {
            true => {
                output::file_names(all)?;
                Self::FilePerTarget(path)
            }
            false if is_folder => Self::FilePerResource(path),
            false => Self::File(path),
        })
    }
}

/// The files that results are written to. Of several targets each has a file; of one, a folder gets a file for each resource.
fn files(path: &Path, args: &BuildArgs, done: &[Resources]) -> Result<Vec<(PathBuf, String)>> {
    match Destination::of(args, &args.targets)? {
        Destination::FilePerTarget(_) => {
            let names = output::file_names(&args.targets)?.into_iter().map(|name| path.join(name));
            let texts: Vec<String> =
                done.iter().map(|items| Ok(emit([items])?.concat())).collect::<Result<_>>()?;
            Ok(names.zip(texts).collect())
        }
        Destination::FilePerResource(_) => output::resource_files(path, &done[0]),
        _ => Ok(vec![(path.to_owned(), emit(done)?.concat())]),
    }
}

/// The files, and how to build, by the flags that every command takes which builds.
pub fn world_and_options(flags: &BuildFlags, targets: &[String]) -> Result<(Disk, BuildOptions)> {
    let disk = Disk::fetching(Fetching { strict: flags.strict, ..flags.fetch.fetching(targets) });
    let options = options_for(flags, &disk)?;
    Ok((disk, options))
}

/// How to build, by the flags and by the lock file that counts.
pub fn options_for(flags: &BuildFlags, disk: &Disk) -> Result<BuildOptions> {
    let options = options(flags)?;
    let policy = flags.fetch.restrict(options.policy, disk)?;
    let policy = flags.access.remote.apply(policy, flags.fetch.offline)?;
    Ok(BuildOptions { policy, ..options })
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
