//! `krm fn run`.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_engine::functions::{Function, Tells, from_list, to_list, without_lists};
use krm_engine::package::{self, Change, Limits, Package, Planned, Surroundings};
use krm_engine::runtime::{Exec, Image, Module, Program, Runtime};
use krm_engine::{Diagnostic, Node, Resource, Result, Scope, Source, Sources};
use krm_function::{Object, ResourceList};

use crate::cli::{FnOutput, FnRunArgs, ProgramArgs, is_pair, pair_advice};
use crate::commands::function::progress::{Progress, Written};
use crate::commands::input::tell_templates;
use crate::os::{self, Changes, Disk};
use crate::report::Report;

pub fn run(args: Box<FnRunArgs>, report: &Report) -> Result<()> {
    let dir = os::current_dir()?;
    let targets: Vec<String> = args.dir.iter().map(|dir| dir.to_string_lossy().into_owned()).collect();
    let disk = args.sandbox.fetch.disk(&targets);
    let mut policy = args.sandbox.fetch.restrict(args.sandbox.policy()?, &disk)?;
    if args.program.image.is_some() {
        policy.pinned.accept_images_of_the_user();
    }
    let (servers, offline) = (&args.sandbox.access.remote, args.sandbox.fetch.offline);
    let policy = servers.apply(args.shared.apply(policy, args.cache, servers, offline)?, offline)?;
    let runtime = Arc::new(Runtime::new(policy));
    let prints = args.dry_run || args.dir.is_none();
    // Before anything is read: what another krm changes at the same time comes before or after.
    let in_place = args.dir.as_deref().filter(|_| !prints);
    let changing = in_place.map(|dir| Changes::in_packages(&[dir])).transpose()?;
    let input = RunInput::read(args.dir.as_deref(), &disk, &report.sources)?;
    if let Some(package) = input.package().filter(|_| !args.quiet) {
        tell_templates(package.templates());
    }
    let planned = plan(&args, &input, &dir, &runtime, &disk, report)?;
    let progress = Progress::new(report, args.output, args.quiet, args.results_dir.as_deref())?;
    let resources = input.resources()?;
    let in_files = args.dir.is_some() || resources.iter().any(|r| r.home.is_some());
    let limits = Limits { allow_empty: args.allow_empty, in_files, package: input.package().cloned() };
    let nothing_to_run = planned.is_empty();
    let with = Surroundings {
        world: &disk,
        sources: &report.sources,
        runtime: &runtime,
        observer: Some(&progress),
        trace: None,
    };
    let outcome = package::run(package::pipeline(planned, &limits), resources, with);
    let (resources, deferred) = match outcome.finished() {
        Ok(finished) => finished,
        Err(error) => {
            progress.finish(if prints { Written::ToStdout } else { Written::ToFiles(&[]) })?;
            return Err(error);
        }
    };
    if prints {
        os::print(input.text(resources).as_bytes())?;
        progress.finish(Written::ToStdout)?;
    } else if let (Some(package), Some(changing)) = (input.package(), changing) {
        let changes = package.changes(&resources, &disk)?;
        write(changing, package.root(), &changes)?;
        progress.finish(Written::ToFiles(&changes))?;
    }
    if nothing_to_run && args.output == FnOutput::Text && !args.quiet {
        eprintln!("no functions to run");
    }
    match Diagnostic::join(deferred) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// What functions work on.
enum RunInput {
    Folder(Arc<Package>),
    Stream(ResourceList),
}

impl RunInput {
    fn read(dir: Option<&Path>, disk: &Disk, sources: &Sources) -> Result<Self> {
        match dir {
            Some(dir) => {
                let package = Package::read(disk, dir, sources).map_err(|error| match dir.to_str() {
                    Some(pair) if is_pair(pair) && !dir.exists() => error.help(pair_advice(pair)),
                    _ => error,
                })?;
                Ok(RunInput::Folder(Arc::new(package)))
            }
            None => {
                let list = ResourceList::decode(&stdin(sources)?)?;
                list.require_items()?;
                Ok(RunInput::Stream(list))
            }
        }
    }

    fn package(&self) -> Option<&Arc<Package>> {
        match self {
            RunInput::Folder(package) => Some(package),
            RunInput::Stream(_) => None,
        }
    }

    fn resources(&self) -> Result<Vec<Resource>> {
        match self {
            RunInput::Folder(package) => Ok(package.resources()),
            RunInput::Stream(list) => without_lists(list.items.clone()).into_iter().map(from_list).collect(),
        }
    }

    /// The resources for printing: as a list if they came as one.
    fn text(&self, resources: Vec<Resource>) -> String {
        let mut list = match self {
            RunInput::Folder(_) => ResourceList::bare(Vec::new()),
            RunInput::Stream(list) => list.clone(),
        };
        let tells = if list.kind().is_some() { Tells::FileAndIndex } else { Tells::File };
        list.items = resources.into_iter().map(|r| to_list(r, tells)).collect();
        list.to_string()
    }
}

/// The functions to run, in order.
fn plan(
    args: &FnRunArgs,
    input: &RunInput,
    dir: &Path,
    runtime: &Arc<Runtime>,
    disk: &Disk,
    report: &Report,
) -> Result<Vec<Planned>> {
    if let Some(mut program) = program(&args.program, dir, args.sandbox.access.network) {
        let config = config(args, input, report)?;
        if let (Program::Image(image), Some(file)) = (&mut program, &args.fn_config) {
            image.local = os::absolute(file)?.parent().map(Path::to_path_buf);
        }
        return Ok(vec![Planned::on_everything(Function::new(program, config, runtime)?, None)]);
    }
    let mut planned = Vec::new();
    if args.fn_path.is_empty() {
        let root = input.package().map(|package| os::absolute(package.root())).transpose()?;
        planned = Planned::declared(&input.resources()?, dir, root.as_deref(), runtime)?;
        if !args.global_scope {
            return Ok(planned);
        }
    }
    for path in &args.fn_path {
        let package = Package::read(disk, path, &report.sources)?;
        let root = os::absolute(package.root())?;
        // In the order of their files: they are a list, not a part of what is worked on.
        for resource in package.resources() {
            let home = resource.home.as_deref();
            let folder = home.and_then(|home| Path::new(&home.path).parent());
            let local = folder.map(|folder| root.join(folder));
            if let Some(function) = Function::from_resource(&resource, dir, local.as_deref(), runtime)? {
                planned.push(Planned::on_everything(function, home));
            }
        }
    }
    planned.iter_mut().for_each(|planned| planned.scope = Scope::Everything);
    Ok(planned)
}

/// The program named on the command line. An image named there has no other way to ask for the network than `--network`.
pub(super) fn program(args: &ProgramArgs, dir: &Path, network: bool) -> Option<Program> {
    if let Some(image) = &args.image {
        return Some(Program::Image(Image { image: image.clone(), network, ..Image::default() }));
    }
    if let Some(path) = &args.exec_path {
        let (args, env) = (Vec::new(), Vec::new());
        return Some(Program::Exec(Exec { path: path.clone(), args, env, dir: dir.to_path_buf() }));
    }
    let path = args.wasm.clone()?;
    Some(Program::Wasm(Module { path, args: Vec::new(), env: Vec::new() }))
}

/// The configuration of the function named on the command line: a file, arguments, or what came with the list.
fn config(args: &FnRunArgs, input: &RunInput, report: &Report) -> Result<Option<Node>> {
    if let Some(file) = &args.fn_config {
        return read_config(file, &report.sources).map(Some);
    }
    if let (true, RunInput::Stream(list)) = (args.arguments.is_empty(), input)
        && let Some(config) = &list.function_config
    {
        return Ok(Some(Node::clone(config)));
    }
    from_arguments(&args.arguments).map(Some)
}

/// The one resource of a file.
pub(super) fn read_config(file: &Path, sources: &Sources) -> Result<Node> {
    let unreadable = |why: String| {
        Diagnostic::error("function-config-unreadable", format!("cannot read `{}`: {why}", file.display()))
    };
    let bytes = os::read(file).map_err(|e| unreadable(e.to_string()))?;
    let mut list = ResourceList::decode(&sources.add_bytes(file.display().to_string(), bytes)?)?;
    match list.items.len() {
        1 => Ok(list.items.remove(0).into_node()),
        n => Err(unreadable(format!("it holds {n} resources, and a function takes one"))),
    }
}

/// `[Kind] key=value...`
pub(super) fn from_arguments(arguments: &[String]) -> Result<Node> {
    let (kind, pairs) = match arguments.split_first() {
        Some((kind, pairs)) if !kind.contains('=') => (kind.as_str(), pairs),
        _ => ("ConfigMap", arguments),
    };
    let mut config = Object::new("v1", kind, "function-input");
    let mut data = Node::map();
    for pair in pairs {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(Diagnostic::error(
                "function-argument",
                format!("`{pair}` is not of the form `key=value`"),
            )
            .help("arguments for the function come as `-- [KIND] key=value ...`"));
        };
        // The data of a ConfigMap is text; elsewhere a value means what it would mean in a file.
        data.set(key, if kind == "ConfigMap" { Node::from(value) } else { plain(value) });
    }
    config.set("data", data);
    Ok(config.into_node())
}

fn plain(text: &str) -> Node {
    Node::scalar(text, krm_yaml::resolve::plain(text), krm_yaml::Style::Any, krm_engine::Span::NONE)
}

/// Standard input as a source.
pub(super) fn stdin(sources: &Sources) -> Result<Arc<Source>> {
    if std::io::stdin().is_terminal() {
        eprintln!("waiting for a ResourceList on standard input; end it with Ctrl-D");
    }
    let mut bytes = Vec::new();
    let unreadable =
        |why: String| Diagnostic::error("input-unreadable", format!("cannot read standard input: {why}"));
    std::io::stdin().lock().read_to_end(&mut bytes).map_err(|e| unreadable(e.to_string()))?;
    sources.add_bytes("<stdin>", bytes)
}

/// Writes what changed, all of it or nothing.
pub(super) fn write(mut changing: Changes, root: &Path, changes: &[Change]) -> Result<()> {
    for Change { path, text, before } in changes {
        let path: PathBuf = root.join(path);
        let before = before.as_ref().map(|source| source.text());
        match (text, before) {
            (Some(text), Some(before)) => changing.edit(&path, before, text.as_bytes())?,
            (Some(text), None) => drop(changing.write(&path, text.as_bytes())?),
            (None, before) => changing.remove(&path, before)?,
        }
    }
    changing.commit()
}
