//! `krm fn render`: the pipelines of a package.

use std::path::Path;
use std::sync::Arc;

use krm_engine::explain::difference_without_secrets;
use krm_engine::kpt::{self, Images, Outcome, Render, Settings, Tree};
use krm_engine::package::Surroundings;
use krm_engine::runtime::Runtime;
use krm_engine::{Diagnostic, Result, Schema};

use crate::cli::FnRenderArgs;
use crate::commands::function::packages::{self, CallPrinter, Destination};
use crate::commands::function::progress::summary;
use crate::commands::function::run::write;
use crate::os::{self, Changes, Disk};
use crate::report::{Report, sanitize};

pub fn run(args: &FnRenderArgs, report: &Report) -> Result<()> {
    let dir = packages::follow_link(&args.dir)?;
    if !args.others.is_empty() {
        let others: Vec<String> = args.others.iter().map(|other| format!("`{}`", other.display())).collect();
        let message = format!("only `{}` is rendered, not {}", dir.display(), others.join(", "));
        let warning = Diagnostic::warning("render-one-folder", message);
        report.show(&warning.help("a render takes one folder: run the command once for each"));
    }
    let to = Destination::parse(args.to.output.as_deref())?;
    let targets = vec![dir.to_string_lossy().into_owned()];
    let disk = args.images.fetch.disk(&targets);
    let images = Images::new(&args.images.prefix())?;
    let offline = args.images.fetch.offline;
    let policy = args.images.fetch.restrict(args.policy(), &disk)?;
    let policy = args.shared.apply(policy, args.cache, &args.images.remote, offline)?;
    let runtime = Arc::new(Runtime::new(args.images.remote.apply(policy, offline)?));
    // Before anything is read: what another krm changes at the same time comes before or after.
    let in_place = to.is_in_place() && !args.check;
    let changing = in_place.then(|| Changes::in_packages(&[&dir])).transpose()?;
    let kptfile = kpt::root_kptfile(&disk, &dir, &report.sources)?;
    let tree = match Tree::read(&disk, &dir, kptfile, &report.sources) {
        Ok(tree) => Arc::new(tree),
        Err(error) => {
            changing.map_or(Ok(()), |changing| could_not_be_read(changing, &dir, &error, &disk, report))?;
            return Err(error);
        }
    };
    let settings = Settings {
        runtime: runtime.clone(),
        dir: os::current_dir()?,
        allow_empty: args.to.allow_empty,
        images,
        tags: Arc::new(packages::local_tags),
    };
    let printer = CallPrinter::with_packages();
    let with = Surroundings {
        world: &disk,
        sources: &report.sources,
        runtime: &runtime,
        observer: Some(&printer),
        trace: None,
    };
    let outcome = Render::plan(&tree, settings).run(with);
    finish(args, &to, changing, &tree, outcome, &disk, report)
}

fn finish(
    args: &FnRenderArgs,
    to: &Destination,
    changing: Option<Changes>,
    tree: &Tree,
    mut outcome: Outcome,
    disk: &Disk,
    report: &Report,
) -> Result<()> {
    let failed = outcome.failure.is_some();
    packages::report_calls(&outcome.calls, report);
    let mut written = Vec::new();
    if to.is_in_place() {
        // A package that never had a status is rendered all the same if its resources are.
        let root = outcome.resources.iter().find(|r| kpt::path(r) == kpt::FILE);
        let has_status = root.is_some_and(|root| root.node().get("status").is_some());
        if changing.is_some() || has_status {
            record(&mut outcome, tree, report);
        }
        let mut changes = tree.changes(&outcome.resources, disk)?;
        let Some(changing) = changing else { return check(outcome.failure, &changes) };
        // What a failed run keeps is what it changed; nothing goes.
        changes.retain(|change| !failed || change.text.is_some());
        write(changing, tree.package().root(), &changes)?;
        written = changes.clone();
        if !failed {
            packages::tell_removed(tree, &outcome.resources, &changes);
        }
    } else if !failed {
        to.deliver(tree, &outcome.resources, disk)?;
    }
    let ran = outcome.calls.iter().filter(|call| call.exit_code == 0).count();
    let packages = outcome.packages;
    match failed {
        false if to.is_in_place() => {
            eprintln!("");
            eprintln!("Successfully executed {ran} function(s) in {packages} package(s).");
        }
        true if outcome.saves && ran > 0 => {
            eprintln!("Partially executed {ran} function(s) in {packages} package(s).")
        }
        true if outcome.saves => eprintln!("Failed to execute any functions in {packages} package(s)."),
        _ => {}
    }
    // A run that fails writes its status, and nothing else unless the Kptfile asks for it.
    if !args.quiet && !written.is_empty() && (!failed || outcome.saves) {
        eprintln!("{}", summary(&written));
    }
    packages::save_results(args.to.results_dir.as_deref(), &outcome.calls, failed)?;
    outcome.failure.map_or(Ok(()), |failure| Err(packages::without_stderr_shown(failure)))
}

/// Writes into the root Kptfile how it went.
fn record(outcome: &mut Outcome, tree: &Tree, report: &Report) {
    let why = outcome.failure.as_ref().map(|failure| why(failure, tree.package().root(), report));
    if let Some(root) = outcome.resources.iter_mut().find(|r| kpt::path(r) == kpt::FILE) {
        root.edit(&Schema::builtin(), |node| kpt::record(node, &outcome.calls, why.as_deref()));
    }
}

/// Why a render failed, with the file that is to blame unless that is the root Kptfile itself. Its path begins at the package,
/// so that it is the same wherever the command runs.
fn why(failure: &Diagnostic, package: &Path, report: &Report) -> String {
    let source = report.sources.get(failure.place().file);
    let shown = package.strip_prefix(".").unwrap_or(package);
    let file = source.as_ref().and_then(|source| Path::new(source.name()).strip_prefix(shown).ok());
    match file.filter(|file| *file != Path::new(kpt::FILE) && package.join(file).is_file()) {
        Some(file) => format!("{}: {}", file.display(), failure.message()),
        None => failure.message().to_owned(),
    }
}

/// Says what a render would change; an error if that is anything.
fn check(failure: Option<Diagnostic>, changes: &[krm_engine::package::Change]) -> Result<()> {
    if let Some(failure) = failure {
        return Err(packages::without_stderr_shown(failure));
    }
    if changes.is_empty() {
        return Ok(());
    }
    for change in changes {
        let before = change.before.as_ref().map_or("", |source| source.text());
        let after = change.text.as_deref().unwrap_or_default();
        let text = difference_without_secrets(&change.path, before, after);
        text.lines().for_each(|line| eprintln!("{}", sanitize::inert(line)));
    }
    let message = format!("a render would change {}", packages::changed_paths(changes));
    Err(Diagnostic::error("render-check", message).help("run `krm fn render` and commit what it changes"))
}

/// A file could not be read, but the root Kptfile could: it says so.
fn could_not_be_read(
    changing: Changes,
    dir: &Path,
    error: &Diagnostic,
    disk: &Disk,
    report: &Report,
) -> Result<()> {
    let tree = Tree::read_kptfile(disk, dir, &report.sources)?;
    let mut outcome = Outcome {
        resources: tree.resources(),
        calls: Vec::new(),
        packages: 0,
        failure: Some(error.clone()),
        saves: false,
    };
    record(&mut outcome, &tree, report);
    write(changing, tree.package().root(), &tree.changes(&outcome.resources, disk)?)
}
