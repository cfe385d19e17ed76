//! Builds of many targets, of which few have changed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use krm_engine::lint::warnings::Strictness;
use krm_engine::runtime::Store;
use krm_engine::{Diagnostic, Result, Session, emit, lint};
use rayon::prelude::*;

use super::output;
use crate::cli::BuildArgs;
use crate::os::targets::{Found, Targets};
use crate::os::{Disk, content};
use crate::report::{ErrorFormat, Report};

/// What came of all targets, built now or before.
pub struct Built {
    pub texts: Vec<Vec<u8>>,
    /// Of those that were built now; others have been shown.
    pub warnings: Vec<Diagnostic>,
    /// What went wrong; then texts are missing.
    pub failed: Option<Diagnostic>,
}

/// In which form outputs are kept.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// As they are printed.
    Stream,
    /// As [`output::packed`] files.
    FilePerResource,
}

/// The outputs of all targets: those that changed are built, the others taken from the cache.
pub fn build(
    args: &BuildArgs,
    form: Form,
    disk: &Disk,
    session: Session,
    shared: Option<Arc<dyn Store>>,
    report: &Report,
) -> Result<Built> {
    // What is asked of a server is mostly waited for.
    let threads = if shared.is_some() { WAITING } else { 0 };
    // What helm reads nobody knows.
    let cache = match args.flags.enable_helm {
        true => Err("helm is enabled, and what it reads is not known"),
        false => Targets::open(disk, &options(args, form), shared)
            .ok_or("there is no folder for caches that is yours alone"),
    };
    let look_up = |target: &String| match &cache {
        Ok(cache) => cache.look_up(target),
        Err(why) => Found::Changed((*why).to_owned()),
    };
    // Warnings are kept as text: programs, and those who make errors of them, need more.
    let takes_text = report.format() == ErrorFormat::Text && !args.flags.strict;
    let found = look_up_all(&args.targets, threads, look_up);
    let with_warnings = |(found, target): (Found, &String)| with_warnings(found, target, takes_text);
    let found: Vec<Found> = found.into_iter().zip(&args.targets).map(with_warnings).collect();
    let is_open = |found: &Found| matches!(found, Found::Changed(_));
    let open = args.targets.iter().zip(&found).filter(|(_, found)| is_open(found));
    let open: Vec<String> = open.map(|(target, _)| target.clone()).collect();
    let built = if open.is_empty() { Vec::new() } else { session.build_each(&open) };
    let mut built = built.into_iter();
    let mut result = Built { texts: Vec::new(), warnings: Vec::new(), failed: None };
    let (mut errors, mut shown) = (Vec::new(), BTreeSet::new());
    for (target, found) in args.targets.iter().zip(found) {
        let why = match found {
            Found::Kept { output, warnings, inputs, is_from_elsewhere } => {
                let by = if is_from_elsewhere { ", from the shared cache" } else { "" };
                explain(args, || format!("{target}: unchanged, {inputs} inputs{by}"));
                if !warnings.is_empty() && shown.insert(warnings.clone()) {
                    crate::os::say(&warnings);
                }
                result.texts.push(output);
                continue;
            }
            Found::Changed(why) => why,
        };
        explain(args, || format!("{target}: built, because {why}"));
        let one = built.next().expect("what is not kept was built");
        let text = kept_warnings(target, &one.warnings, report);
        result.warnings.extend(one.warnings);
        let items = match one.result {
            Ok(items) => items,
            Err(error) => {
                errors.push((target.as_str(), error));
                continue;
            }
        };
        let output = match form {
            Form::Stream => emit([&items])?.concat(),
            Form::FilePerResource => output::packed(&items)?,
        };
        if let Ok(cache) = &cache
            && let Err(why) = cache.keep(target, &one.dependencies, &output, &text)
        {
            explain(args, || format!("{target}: not kept, because {why}"));
        }
        result.texts.push(output.into_bytes());
    }
    let mut known = BTreeSet::new();
    result.warnings.retain(|warning| known.insert(warning.render(&report.sources)));
    result.failed = report.joined(errors);
    Ok(result)
}

/// How many look-ups may wait for a server at once.
const WAITING: usize = 32;

/// Looks up all targets: on as many threads as there are cores, or on more if they wait for a server.
fn look_up_all(
    targets: &[String],
    threads: usize,
    look_up: impl Fn(&String) -> Found + Send + Sync,
) -> Vec<Found> {
    if threads == 0 || targets.len() < 2 {
        return targets.par_iter().map(look_up).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(target) = targets.get(at) else { return found };
            found.push((at, look_up(target)));
        }
    };
    let mut found: Vec<(usize, Found)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.min(targets.len())).map(|_| scope.spawn(work)).collect();
        let done = threads.into_iter().map(|thread| thread.join().expect("look-ups do not panic"));
        done.flatten().collect()
    });
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, found)| found).collect()
}

/// Warnings as they are kept: the settings they were shown by, and what was shown.
fn kept_warnings(target: &str, warnings: &[Diagnostic], report: &Report) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let shown =
        lint::warnings::judge(&Disk::default(), &report.sources, warnings.to_vec(), Strictness::Lenient);
    let text: String = shown.iter().map(|warning| warning.render(&report.sources)).collect();
    format!("{}\n{text}", settings(target))
}

/// A target whose warnings are needed otherwise than they were kept counts as changed.
fn with_warnings(found: Found, target: &str, takes_text: bool) -> Found {
    match found {
        Found::Kept { warnings, .. } if !warnings.is_empty() && !takes_text => {
            Found::Changed("its warnings are needed".into())
        }
        Found::Kept { output, warnings, inputs, is_from_elsewhere } if !warnings.is_empty() => {
            match warnings.split_once('\n') {
                Some((by, text)) if by == settings(target) => {
                    Found::Kept { output, warnings: text.to_owned(), inputs, is_from_elsewhere }
                }
                _ => Found::Changed("the settings for warnings changed".into()),
            }
        }
        other => other,
    }
}

/// A digest of each `krm.toml` that counts for a folder.
fn settings(target: &str) -> String {
    let here = std::fs::canonicalize(target).unwrap_or_default();
    let files = here.ancestors().filter_map(|folder| crate::os::read(&folder.join("krm.toml")).ok());
    files.map(|bytes| content::sha256(&bytes)).collect::<Vec<_>>().join(" ")
}

fn explain(args: &BuildArgs, text: impl FnOnce() -> String) {
    if args.explain_cache {
        eprintln!("{}", text());
    }
}

/// Everything on the command line and in the environment that an output depends on, and the form it is kept in.
fn options(args: &BuildArgs, form: Form) -> String {
    let flags = &args.flags;
    let access = &flags.access;
    let value = |name: &str| crate::os::variable(name).unwrap_or_default();
    let env = access.env.iter();
    let env = env.map(|var| (&var.name, var.value.clone().unwrap_or_else(|| value(&var.name))));
    format!(
        "{:?}",
        (
            (&flags.load_restrictor, &flags.reorder, &flags.kube_version, &flags.trusted_catalog),
            (flags.enable_managedby_label, value("KUSTOMIZE_ENABLE_MANAGEDBY_LABEL")),
            (flags.enable_alpha_plugins, access.network, &access.network_name, access.as_current_user),
            (&access.mount, env.collect::<Vec<_>>(), flags.fetch.locked, form),
            // What runs elsewhere runs in another sandbox.
            (&access.remote.remote_executor, crate::os::setting("KRM_REMOTE_EXECUTOR")),
        )
    )
}
