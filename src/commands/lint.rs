//! `krm lint`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use krm_engine::edit::overlay::Overlay;
use krm_engine::files::{Offline, relative};
use krm_engine::lint::fix::{Fixed, Trial};
use krm_engine::lint::stated::By;
use krm_engine::lint::tree::Tree;
use krm_engine::lint::{self, Lint, Options, Outcome};
use krm_engine::workspace::Workspace;
use krm_engine::{BuildOptions, Diagnostic, Result, Session, World, edit};
use krm_yaml::{Failure, Fix, Severity};

use super::build;
use super::help::{codes, did_you_mean};
use crate::cli::{BuildFlags, examples};
use crate::os;
use crate::report::{Report, counted, names};

/// Find what is silently wrong in a tree of kustomizations
///
/// Shows everything a build warns of, and what no single build can see: files that nothing names, patches that every root
/// overwrites, names that nothing has, remote bases that may change, fields and values that Kubernetes refuses. A finding
/// holds in every root that uses the file. `docs/lint.md` explains every code.
///
/// Nothing is fetched, and no program is started, unless flags allow it. Copies of what `krm.lock` names are used if they are
/// on this machine.
#[derive(Debug, Args)]
#[command(after_help = examples::LINT)]
pub struct LintArgs {
    /// Files and folders to look at; the repository around them decides what is used
    #[arg(default_value = ".", value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Apply the fixes that leave the output of every root as it is, byte for byte
    #[arg(long)]
    fix: bool,

    /// With `--fix`: apply the other fixes too, which may change outputs
    #[arg(long, requires = "fix")]
    r#unsafe: bool,

    /// With `--fix`: show what would change, and change nothing
    #[arg(long, requires = "fix")]
    diff: bool,

    /// Look for this code alone; may be given several times
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = code)]
    select: Vec<String>,

    /// Leave out this code; may be given several times
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = code)]
    ignore: Vec<String>,

    /// Fetch remote bases and files, as a build does
    #[arg(long, conflicts_with = "offline")]
    fetch: bool,

    /// Report nothing but findings
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    flags: BuildFlags,
}

/// Reads a code, which must be one that exists: a misspelled one would select nothing.
fn code(text: &str) -> Result<String, String> {
    if codes().any(|code| code == text) {
        return Ok(text.to_owned());
    }
    let advice = did_you_mean(text).unwrap_or_else(|| "`docs/lint.md` lists them".to_owned());
    Err(format!("there is no code `{text}`; {advice}"))
}

/// Says whether there was an error among the findings.
pub fn run(args: LintArgs, report: &Report) -> Result<bool> {
    let paths: Vec<PathBuf> = args.paths.iter().map(|path| os::absolute(path)).collect::<Result<_>>()?;
    let root = common_root(&paths);
    // Before anything is read, so that nobody else changes it in between.
    let changes = (args.fix && !args.diff).then(|| os::Changes::in_packages(&[&root])).transpose()?;
    let targets: Vec<String> = args.paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let (disk, build) = build::world_and_options(&args.flags, &targets)?;
    let disk: Arc<dyn World> = Arc::new(disk);
    let world: Arc<dyn World> = if args.fetch { disk } else { Arc::new(Offline(disk)) };
    let only = paths.into_iter().filter(|path| *path != root).collect();
    let options = Options {
        only,
        select: args.select.clone(),
        ignore: args.ignore.clone(),
        strict: args.flags.strict,
        quick: false,
    };
    let outcome = match changes {
        None if !args.fix => look(&world, report, &root, &options, &build)?.outcome,
        changes => fix(&args, world, report, &root, &options, &build, changes)?,
    };
    Ok(show(&args, outcome, report))
}

/// The repository around all paths; else the folder around them.
fn common_root(paths: &[PathBuf]) -> PathBuf {
    let folder =
        |path: &PathBuf| if path.is_dir() { path.clone() } else { path.parent().unwrap_or(path).to_owned() };
    let mut folders = paths.iter().map(folder);
    let first = folders.next().unwrap_or_default();
    let common = folders.fold(first, |common, other| {
        let shared = common.ancestors().find(|above| other.starts_with(above));
        shared.unwrap_or(Path::new("/")).to_owned()
    });
    let repository = common.ancestors().find(|above| above.join(".git").exists()).map(Path::to_owned);
    repository.unwrap_or(common)
}

/// One look at the tree, and what it needed.
struct Look {
    outcome: Outcome,
    workspace: Workspace,
    options: BuildOptions,
}

fn look(
    world: &Arc<dyn World>,
    report: &Report,
    root: &Path,
    options: &Options,
    build: &BuildOptions,
) -> Result<Look> {
    let sources = &report.sources;
    let workspace = Workspace::scan(&**world, sources, root)?;
    let tree = Tree::read(&**world, root);
    let mut build = build.clone();
    // Flux builds without the restrictions of `kustomize build`.
    build.unrestricted |= tree.stated().any(|stated| stated.by == By::Flux);
    let session = Session::new(world.clone(), sources.clone(), build.clone());
    let lint = Lint { world, sources, session: &session, workspace: &workspace, tree: &tree };
    let outcome = lint::check(&lint, options);
    Ok(Look { outcome, workspace, options: build })
}

/// So often a fix may make way for another.
const ROUNDS: usize = 8;

/// Looks and fixes until there is nothing left to fix, then writes all of it at once.
fn fix(
    args: &LintArgs,
    disk: Arc<dyn World>,
    report: &Report,
    root: &Path,
    options: &Options,
    build: &BuildOptions,
    changes: Option<os::Changes>,
) -> Result<Outcome> {
    let mut texts: BTreeMap<PathBuf, (String, String)> = BTreeMap::new();
    let mut applied = 0;
    let mut rebuilt: BTreeSet<String> = BTreeSet::new();
    let mut left;
    let mut refused;
    let mut rounds = 0;
    loop {
        let new = texts.iter().map(|(path, (_, text))| (path.clone(), Some(text.clone().into_bytes())));
        let world: Arc<dyn World> = Arc::new(Overlay::new(disk.clone(), new.collect()));
        left = look(&world, report, root, options, build)?;
        let trial = Trial {
            world: &world,
            sources: &report.sources,
            workspace: &left.workspace,
            options: &left.options,
            with_unsafe: args.r#unsafe,
        };
        let Fixed { texts: new, applied: now, refused: not, changed } = trial.apply(&left.outcome.findings);
        refused = not;
        rounds += 1;
        if new.is_empty() || rounds > ROUNDS {
            break;
        }
        applied += now;
        rebuilt.extend(changed);
        for (path, (before, after)) in new {
            let first = texts.remove(&path).map_or(before, |(first, _)| first);
            texts.insert(path, (first, after));
        }
    }
    for (finding, why) in &refused {
        let location = finding.location().map(|location| format!(" at {location}")).unwrap_or_default();
        eprintln!("not fixed: `{}`{location}: {why}", finding.code());
    }
    let here = os::current_dir()?;
    let mut changes = changes;
    for (path, (before, after)) in texts.iter().filter(|(_, (before, after))| before != after) {
        if args.diff {
            os::print(edit::diff(&relative(path, &here), before, after).as_bytes())?;
        }
        if let Some(changes) = &mut changes {
            changes.edit(path, before, after.as_bytes())?;
        }
    }
    changes.map_or(Ok(()), os::Changes::commit)?;
    let fixed = if args.diff { "can be fixed" } else { "fixed" };
    if !args.quiet {
        eprintln!("{} {fixed} in {}", counted(applied, "finding"), counted(texts.len(), "file"));
    }
    if !rebuilt.is_empty() {
        let names = names(rebuilt.into_iter());
        match args.diff {
            true => eprintln!("output would change: {names}"),
            false => eprintln!("output changed: {names}; `krm diff` shows how"),
        }
    }
    Ok(left.outcome)
}

/// Shows everything, and says whether there was an error.
fn show(args: &LintArgs, outcome: Outcome, report: &Report) -> bool {
    let Outcome { findings, unbuilt, roots } = outcome;
    let (mut errors, mut warnings) = (0, 0);
    let advice = fixable(&findings, args);
    for finding in findings {
        let finding = if args.flags.strict { finding.into_error() } else { finding };
        match finding.severity() {
            Severity::Error => errors += 1,
            Severity::Warning => warnings += 1,
        }
        report.show(&finding);
    }
    for (root, why) in &unbuilt {
        let hint = if why.failure() == Some(Failure::Offline) { " (`--fetch` allows it)" } else { "" };
        eprintln!("not built: `{root}`: {}{hint}", why.message());
    }
    let within = match roots + unbuilt.len() {
        0 => String::new(),
        roots => format!(" in {}", counted(roots, "root")),
    };
    if errors + warnings > 0 || !unbuilt.is_empty() {
        eprintln!("{} and {}{within}{advice}", counted(errors, "error"), counted(warnings, "warning"));
    } else if !args.quiet {
        eprintln!("nothing found{}", if within.is_empty() { ": there is nothing to build" } else { &within });
    }
    errors > 0
}

/// How many findings have a fix, as the end of a sentence.
fn fixable(findings: &[Diagnostic], args: &LintArgs) -> String {
    let fixes = |safe: bool| {
        let is_fixed = |finding: &&Diagnostic| {
            let is_safe = finding.fixes().iter().any(Fix::is_safe);
            !finding.fixes().is_empty() && is_safe == safe
        };
        findings.iter().filter(is_fixed).count()
    };
    // What is left after `--fix` has no safe fix, or one that was refused.
    let is_tried = |safe: bool| args.fix && (safe || args.r#unsafe);
    let left = |safe: bool| if is_tried(safe) { 0 } else { fixes(safe) };
    match (left(true), left(false)) {
        (0, 0) => String::new(),
        (safe, 0) => format!("; {safe} fixable with `--fix`"),
        (0, others) => format!("; {others} fixable with `--fix --unsafe`"),
        (safe, others) => format!("; {safe} fixable with `--fix`, {others} more with `--fix --unsafe`"),
    }
}
