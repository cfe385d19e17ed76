//! `krm graph`: how layers and files hang together.

mod dot;
mod html;
mod json;
mod layout;
mod lists;
mod mermaid;
mod svg;
mod tree;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use krm_engine::files::{clean, relative};
use krm_engine::graph::{self, Branch, Graph, Inputs, InputsOptions, Level, Surroundings, Users};
use krm_engine::runtime::Runtime;
use krm_engine::workspace::{Layer, Workspace};
use krm_engine::{Diagnostic, Result, Session, Span, World};

use crate::cli::{BuildFlags, FormatArg, OutputFormat, examples};
use crate::commands::targets::Targets;
use crate::commands::{affected, build};
use crate::os::{self, Disk};
use crate::report::{Report, say};

/// Show which bases, components and files a build is made of, and what uses a file
///
/// As a tree: the layers of each target, what they bring, and what each step does to the resources. With `--level layers` or
/// `files` nothing is built. A folder without a kustomization stands for every target below it. Functions and charts run only
/// with the flags that allow it; otherwise they are skipped, and the tree says so.
#[derive(Debug, Args)]
#[command(after_help = examples::GRAPH)]
pub struct GraphArgs {
    /// Folders with a kustomization or a Composition, or folders that have such folders below them
    #[arg(value_name = "DIR")]
    dirs: Vec<String>,

    #[command(flatten)]
    output: FormatArg<Format>,

    /// How much to show; without it `steps` in a tree, and `files` elsewhere
    #[arg(long, value_enum, value_name = "LEVEL")]
    level: Option<LevelArg>,

    /// Write a page instead: of one target its steps, resources and histories, of several what uses what
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "level", "reverse", "why", "affected_by"])]
    html: Option<PathBuf>,

    /// The other direction: what uses this file or folder, and what uses that in turn
    #[arg(long, value_name = "FILE", conflicts_with = "why")]
    reverse: Option<String>,

    /// Why this file is part of the targets: the entries that lead to it
    #[arg(long, value_name = "FILE")]
    why: Option<String>,

    /// What uses the files that differ between a revision and the working tree, or between two (`A..B`, `A...B`)
    #[arg(long, value_name = "REV", conflicts_with_all = ["reverse", "why"])]
    affected_by: Option<String>,

    #[command(flatten)]
    flags: BuildFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Tree,
    /// For Graphviz
    Dot,
    /// For Markdown pages
    Mermaid,
    /// Nodes and edges as data
    Json,
    /// A picture
    Svg,
    /// The files that decide the result, one per line; a folder that is taken whole ends in `/`
    Paths,
    /// The same as a rule for make or ninja
    Depfile,
    /// The value of Argo CD's annotation `argocd.argoproj.io/manifest-generate-paths`
    Argocd,
}

impl OutputFormat for Format {
    const DEFAULT: &'static str = "tree";
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LevelArg {
    /// Kustomizations, components, Compositions, remote bases
    Layers,
    /// The files they name, too
    Files,
    /// What each layer does, in order
    Steps,
    /// Also which resources each file brings and each step changes
    Resources,
}

pub fn run(args: GraphArgs, report: &Report) -> Result<()> {
    let disk = Disk::around(&args.dirs);
    let here = disk.real_path(Path::new(".")).unwrap_or_default();
    if let Some(path) = &args.reverse {
        return reverse(&args, path, &disk, &here, report);
    }
    if let Some(range) = &args.affected_by {
        return affected_by(&args, range, report);
    }
    let targets = Targets::find(&disk, &report.sources, &args.dirs)?;
    if targets.names.is_empty() {
        let folders = if args.dirs.is_empty() { ".".to_owned() } else { args.dirs.join("`, `") };
        let message = format!("there is no kustomization in or below `{folders}`");
        return Err(Diagnostic::error("graph-no-target", message).help(
            "name folders with a kustomization or a Composition, or folders that have such below them",
        ));
    }
    let problems = graph::cycles(&targets.workspace, &targets.layers());
    if let Some(path) = &args.why {
        return why(&args, path, &targets, &disk, &here, report);
    }
    if let Some(file) = &args.html {
        return html::write(&args, &targets, disk, &here, report, file);
    }
    match args.output.format {
        Format::Paths | Format::Depfile | Format::Argocd => {
            let options = InputsOptions { trusted_catalogs: args.flags.trusted_catalog.clone() };
            let world: Arc<dyn World> = Arc::new(disk);
            let inputs =
                Inputs::of(world.clone(), &report.sources, &targets.workspace, &targets.names, options);
            let text = match args.output.format {
                Format::Paths => lists::paths(&inputs, &targets, &*world, &here),
                Format::Depfile => lists::depfile(&inputs, &targets, &*world, &here),
                _ => lists::argocd(&inputs, &targets, &*world, report),
            };
            os::print(text.as_bytes())?;
            let failures = (0..targets.names.len()).filter_map(|at| inputs.failure(at).cloned());
            return Diagnostic::join(problems.into_iter().chain(failures)).map_or(Ok(()), Err);
        }
        _ => {}
    }
    let level = args.level(match args.output.format {
        Format::Tree => Level::Steps,
        _ => Level::Files,
    });
    if level <= Level::Files {
        let text = match args.output.format {
            Format::Tree => tree::layers(&targets, level, &here),
            _ => drawn(&Graph::of(&targets.workspace, &targets.layers(), level, &here), &args, report),
        };
        os::print(text.as_bytes())?;
        return Diagnostic::join(problems.into_iter().chain(unread(&targets))).map_or(Ok(()), Err);
    }
    let (outlined, errors) = outlined(&args, &targets, report)?;
    let text = match args.output.format {
        Format::Tree => tree::steps(&outlined, level),
        _ => {
            let mut graph = Graph::of(&targets.workspace, &targets.layers(), Level::Files, &here);
            for branch in &outlined {
                graph.add_steps(&branch.label, branch, level);
            }
            drawn(&graph, &args, report)
        }
    };
    os::print(text.as_bytes())?;
    Diagnostic::join(problems.into_iter().chain(errors)).map_or(Ok(()), Err)
}

impl GraphArgs {
    /// All layers below the folders that are named, and what else is to be looked at.
    fn workspace(&self, world: &dyn World, more: &[PathBuf], report: &Report) -> Result<Workspace> {
        let current = [".".to_owned()];
        let dirs = if self.dirs.is_empty() { &current[..] } else { &self.dirs };
        let mut folders = more.to_vec();
        for dir in dirs {
            folders.extend(Workspace::folders_below(world, Path::new(dir))?);
        }
        Ok(Workspace::of(world, &report.sources, folders))
    }

    fn level(&self, default: Level) -> Level {
        match self.level {
            None => default,
            Some(LevelArg::Layers) => Level::Layers,
            Some(LevelArg::Files) => Level::Files,
            Some(LevelArg::Steps) => Level::Steps,
            Some(LevelArg::Resources) => Level::Resources,
        }
    }
}

/// Why layers of the targets cannot be read, each once.
fn unread(targets: &Targets) -> Vec<Diagnostic> {
    let layers = targets.layers().into_iter().flat_map(|layer| targets.workspace.closure(layer));
    let mut unread: Vec<(&Path, &Diagnostic)> =
        layers.filter_map(|layer| Some((&*layer.folder, layer.error.as_ref()?))).collect();
    unread.dedup_by_key(|(folder, _)| *folder);
    unread.into_iter().map(|(_, error)| error.clone()).collect()
}

fn drawn(graph: &Graph, args: &GraphArgs, report: &Report) -> String {
    match args.output.format {
        Format::Dot => dot::text(graph),
        Format::Mermaid => mermaid::text(graph),
        Format::Svg => svg::text(graph),
        _ => json::graph(graph, report),
    }
}

/// Builds every target with a trace; what fails is outlined as far as it goes.
fn outlined(args: &GraphArgs, targets: &Targets, report: &Report) -> Result<(Vec<Branch>, Vec<Diagnostic>)> {
    let (disk, options) = build::world_and_options(&args.flags, &targets.names)?;
    let allowed = options.policy.clone();
    let (runtime, _) = Runtime::skipping(options.policy.clone());
    let world: Arc<dyn World> = Arc::new(disk);
    let session = Session::with_runtime(world.clone(), report.sources.clone(), options, Arc::new(runtime));
    let runs = |runs_as: &str| match runs_as {
        "helm" => allowed.helm.is_some(),
        "exec" => allowed.functions && allowed.exec,
        _ => allowed.functions,
    };
    let layer_at = |folder: &Path| targets.workspace.layer(folder);
    let layer = |folder: &str| -> Option<&Layer> { layer_at(&world.real_path(Path::new(folder)).ok()?) };
    let (mut branches, mut errors) = (Vec::new(), Vec::new());
    for (at, target) in targets.names.iter().enumerate() {
        let own = targets.layer(at);
        if own.is_some_and(|layer| !graph::cycles(&targets.workspace, &[layer]).is_empty()) {
            // No build of it ends.
            continue;
        }
        let (built, trace) = session.trace(target);
        let warnings = session.warnings_of(target);
        let around = Surroundings {
            sources: &report.sources,
            layer: &layer,
            layer_at: &layer_at,
            warnings: &warnings,
            runs: &runs,
        };
        let label = own.map_or(target.as_str(), |layer| &layer.shown);
        let mut branch = graph::outline(&trace, label, &around);
        if let Err(error) = built {
            errors.push(error.located(&report.sources));
            if trace.steps.is_empty() {
                branch = tree::unbuilt(targets, at);
            }
            branch.resources = None;
        }
        branches.push(branch);
    }
    Ok((branches, errors))
}

/// The real path of a file that was named. It need not exist: something may have looked for it.
fn named(path: &str, disk: &Disk, here: &Path) -> PathBuf {
    let whole = clean(&here.join(path));
    disk.real_path(&whole).unwrap_or(whole)
}

/// Who uses a file or a folder.
fn reverse(args: &GraphArgs, path: &str, disk: &Disk, here: &Path, report: &Report) -> Result<()> {
    let real = named(path, disk, here);
    let workspace = args.workspace(disk, std::slice::from_ref(&real), report)?;
    let known = workspace.layer(&real).is_some() || workspace.users(&real).next().is_some();
    if !known && disk.real_path(&real).is_err() {
        let error = Diagnostic::error(
            "graph-no-file",
            format!("there is no file or folder `{path}`, and nothing names it"),
        );
        return Err(os::with_near_path(error, Path::new(path))
            .help("name a file or folder as seen from the current folder"));
    }
    os::print(users(args, &workspace, &[real], here, report)?.as_bytes())
}

/// Who uses the files that changed; those that nobody uses are only counted.
fn affected_by(args: &GraphArgs, range: &str, report: &Report) -> Result<()> {
    let (world, changed) = affected::changed_files(range)?;
    let here = world.real_path(Path::new(".")).unwrap_or_default();
    let workspace = args.workspace(&*world, &[], report)?;
    let is_used =
        |path: &PathBuf| owner(&workspace, path).is_some() || !Users::of(&workspace, path).is_empty();
    let (used, unused): (Vec<PathBuf>, Vec<PathBuf>) = changed.into_iter().partition(is_used);
    os::print(users(args, &workspace, &used, &here, report)?.as_bytes())?;
    match &unused[..] {
        [] => {}
        [one] => say(&format!("no target uses `{}`, which changed\n", relative(one, &here))),
        many => say(&format!("no target uses {} of the files that changed\n", many.len())),
    }
    Ok(())
}

/// The layer whose own file a path is.
fn owner<'w>(workspace: &'w Workspace, path: &Path) -> Option<&'w Layer> {
    workspace.layers().find(|layer| layer.file == path)
}

/// Who uses some paths, in the form that is asked for.
fn users(
    args: &GraphArgs,
    workspace: &Workspace,
    paths: &[PathBuf],
    here: &Path,
    report: &Report,
) -> Result<String> {
    let shown = |path: &Path| match relative(path, here) {
        empty if empty.is_empty() => ".".to_owned(),
        shown => shown,
    };
    match args.output.format {
        Format::Tree => {
            let label = |path: &PathBuf| match (owner(workspace, path), path.file_name()) {
                (Some(layer), Some(file)) => format!("{} ({})", shown(&layer.folder), file.display()),
                _ => shown(path),
            };
            let tree = |path: &PathBuf| tree::users(&label(path), &Users::of(workspace, path), report);
            Ok(paths.iter().map(tree).collect::<Vec<_>>().join("\n"))
        }
        Format::Paths | Format::Depfile | Format::Argocd => Err(Diagnostic::error(
            "graph-format",
            "this format lists what a target is made of, not who uses it",
        )
        .help("print users as `tree`, `dot`, `mermaid`, `json` or `svg`")),
        _ => {
            // The file of a kustomization is drawn as its folder.
            let drawn_as = |path: &PathBuf| match owner(workspace, path) {
                Some(layer) => layer.folder.clone(),
                None => path.clone(),
            };
            let paths: Vec<PathBuf> = paths.iter().map(drawn_as).collect();
            let level = match paths.iter().all(|path| workspace.layer(path).is_some()) {
                true => Level::Layers,
                false => Level::Files,
            };
            let all: Vec<&Layer> = workspace.layers().collect();
            let mut graph = Graph::of(workspace, &all, level, here);
            graph.retain_users(paths.iter().filter_map(|path| graph.find(&shown(path))).collect());
            Ok(drawn(&graph, args, report))
        }
    }
}

fn why(
    args: &GraphArgs,
    path: &str,
    targets: &Targets,
    disk: &Disk,
    here: &Path,
    report: &Report,
) -> Result<()> {
    let real = named(path, disk, here);
    let mut shown = relative(&real, here);
    if shown.is_empty() {
        shown = ".".to_owned();
    }
    let mut all = Vec::new();
    for layer in targets.layers() {
        let ways = graph::ways(&targets.workspace, layer, &real);
        all.extend(ways.into_iter().map(|hops| (layer, hops)));
    }
    if all.is_empty() {
        let message = match &targets.names[..] {
            [one] => format!("`{path}` is not part of `{one}`"),
            names => format!("`{path}` is not part of any of {} targets", names.len()),
        };
        let error = Diagnostic::error("graph-not-part", message);
        return Err(match disk.real_path(&real).is_err() {
            true => error.help("there is no such file, and nothing looks for it"),
            false => error.help(format!("`krm graph --reverse {path}` shows who uses it")),
        });
    }
    let text = match args.output.format {
        Format::Json => json::ways(&all, &shown, report),
        Format::Tree => {
            let line = |span: Span| {
                let source = report.sources.get(span.file)?;
                Some(format!("{}:{}", source.name(), source.position(span.start as usize).line))
            };
            let one = |(layer, hops): &(&Layer, Vec<graph::Hop>)| {
                let mut parts: Vec<String> = hops.iter().filter_map(|hop| line(hop.place)).collect();
                if parts.is_empty() {
                    parts.push(layer.shown.clone());
                }
                parts.push(shown.clone());
                parts.join(" → ") + "\n"
            };
            all.iter().map(one).collect()
        }
        _ => {
            return Err(Diagnostic::error("graph-format", "`--why` prints only text or `json`")
                .help("leave out `--format`, or pass `--format json`"));
        }
    };
    os::print(text.as_bytes())
}
