//! What somebody else made of the same folders: rendered files, or the output of another program.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use krm_engine::diff::{self, Given, Outcome, Rendered, Side};
use krm_engine::files::Repository;
use krm_engine::policy::Limits;
use krm_engine::runtime::{Argument, Permission, Tool, run_tool};
use krm_engine::workspace::Workspace;
use krm_engine::{
    Diagnostic, Node, Resource, ResourceId, Resources, Result, Schema, Session, Source, World,
    for_each_resource,
};
use krm_yaml::Failure;
use rayon::prelude::*;

use super::text::Form;
use super::{Compared, DiffArgs, meant, no_target};
use crate::commands::{build, input};
use crate::os::{self, Disk};
use crate::report::Report;

/// Rendered files against what is built now.
pub fn against(args: &DiffArgs, path: &str, report: &Report) -> Result<Compared> {
    let is_folder = Path::new(path).is_dir();
    let targets = match is_folder {
        _ if args.named().next().is_some() => named(args)?,
        true => roots(report)?,
        false => vec![".".to_owned()],
    };
    if targets.len() > 1 && !is_folder {
        let message = format!("{} folders are to be compared with one result", targets.len());
        return Err(Diagnostic::error("diff-against-one", message).help(
            "name one folder, or pass `--against` a folder with a file for each, as `krm build -o DIR` writes it",
        ));
    }
    let schema = Schema::of(build::options(&args.flags)?.kubernetes);
    let read = |path: &str| -> Result<Outcome> {
        let files = input::read(path, input::YAML_AND_JSON, &report.sources)?;
        let documents = files.iter().flat_map(|file| &file.documents);
        Ok(Outcome::Rendered(resources(documents.map(|document| &document.root), &schema)))
    };
    let one_for_all = targets.len() == 1 && !is_folder;
    let outcome = |target: &String| -> Result<Outcome> {
        if one_for_all {
            return read(path);
        }
        match rendered_as(path, target) {
            Some(file) => read(&file),
            // A folder of files, one for each resource, as `krm build -o DIR/` writes them.
            None if targets.len() == 1 => read(path),
            None => Ok(Outcome::Missing),
        }
    };
    let from = targets.iter().map(outcome).collect::<Result<Vec<_>>>()?;
    let name = if path == "-" { "standard input" } else { path };
    compare(args, report, targets, from, name, format!("{name} says otherwise"))
}

/// What a change did to the results of some targets, each as it was and as it is, in words.
pub fn of_results(
    results: Vec<(String, [Resources; 2])>,
    cause: String,
    world: &dyn World,
    report: &Report,
) -> String {
    let rendered = |resources: &Resources| {
        let of = |r: &Resource| {
            let original = Some(r.original_id().clone());
            Rendered { id: r.id().clone(), original, node: r.node().clone() }
        };
        Outcome::Rendered(resources.iter().map(of).collect())
    };
    let given = |(directory, [from, to]): (String, [Resources; 2])| {
        let (changed, lock) = Default::default();
        Given { directory, from: rendered(&from), to: rendered(&to), changed, lock }
    };
    let given: Vec<Given> = results.into_iter().map(given).collect();
    let side = |name: &str| Side { name: name.to_owned(), world, sources: &report.sources, root: None };
    let options = diff::Options { opaque: Some(cause), ..diff::Options::default() };
    let compared = Compared::new(&side("before"), &side("now"), given, &options);
    let text = super::text::diff(&compared.diff, Form { full: false, columns: None });
    if report.colours.on_stdout() { super::colour::text(&text) } else { text }
}

/// The file or folder that holds the result of a target.
fn rendered_as(folder: &str, target: &str) -> Option<String> {
    let target = target.trim_end_matches('/');
    let last = target.rsplit('/').next().unwrap_or(target);
    let flat = target.replace('/', "_");
    let names = [
        format!("{target}.yaml"),
        format!("{flat}.yaml"),
        target.to_owned(),
        format!("{last}.yaml"),
        last.to_owned(),
    ];
    let paths = names.iter().map(|name| Path::new(folder).join(name));
    paths.filter(|path| path.exists()).map(|path| path.display().to_string()).next()
}

/// The output of another program for the same folders.
pub fn with(args: &DiffArgs, command: &str, report: &Report) -> Result<Compared> {
    let targets = match args.named().next() {
        None => roots(report)?,
        Some(_) => named(args)?,
    };
    let wrong = |message: &str| {
        Diagnostic::error("diff-with", message)
            .help("write it as you would in a shell: `--with 'kustomize build'`")
    };
    let words = shlex::split(command).ok_or_else(|| wrong("a quote in the command is never closed"))?;
    let Some((program, words)) = words.split_first() else {
        return Err(wrong("no program is named to compare with"));
    };
    let schema = Schema::of(build::options(&args.flags)?.kubernetes);
    let run = |target: &String| -> Result<Outcome> {
        Ok(match output(program, words, target) {
            Ok(text) => {
                let source = Source::detached(command, text.as_str());
                match krm_yaml::parse(&source) {
                    Ok(documents) => {
                        let roots = || documents.iter().map(|document| &document.root);
                        match roots().all(|root| root.is_map() || root.is_empty()) {
                            true => Outcome::Rendered(resources(roots(), &schema)),
                            false => {
                                let why = "what it prints is not a resource";
                                Outcome::Failed(failed(command, target, why))
                            }
                        }
                    }
                    Err(error) => Outcome::Failed(failed(command, target, error.message())),
                }
            }
            // It would be the same for every folder.
            Err(error) if error.failure() == Some(Failure::NoSuchProgram) => return Err(error),
            Err(error) => Outcome::Failed(error),
        })
    };
    let from = targets.par_iter().map(run).collect::<Result<Vec<Outcome>>>()?;
    compare(args, report, targets, from, command, format!("the other program, `{command}`"))
}

fn other_program(message: String) -> Diagnostic {
    Diagnostic::error("diff-other-program", message)
}

fn failed(command: &str, target: &str, why: &str) -> Diagnostic {
    other_program(format!("`{command} {target}` failed: {}", why.trim()))
}

fn no_program(program: &str) -> Diagnostic {
    let message = match program.contains('/') {
        true => format!("there is no program `{program}`"),
        false => format!("there is no program `{program}` on the path"),
    };
    let error = other_program(message).failing(Failure::NoSuchProgram);
    match program {
        "kustomize" => error.help("`--with 'kubectl kustomize'` asks the one that kubectl has"),
        _ => error.help("name it as you would in a shell: `--with 'kustomize build'`"),
    }
}

fn output(program: &str, words: &[String], target: &str) -> Result<String> {
    let tool = Tool {
        program: program.to_owned(),
        args: words.iter().map(String::as_str).chain([target]).map(Argument::from).collect(),
        env: Vec::new(),
        dir: None,
        files: Vec::new(),
        needs: Permission::Given,
        timeout: None,
    };
    let shown =
        std::iter::once(program).chain(words.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    let output =
        run_tool(&tool, Vec::new(), &Limits::default(), os::supervisor().as_deref())?.map_err(|error| {
            match error.kind() {
                ErrorKind::NotFound => no_program(program),
                _ => failed(&shown, target, &error.to_string()),
            }
        })?;
    match output.status.is_success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            // kustomize warns ahead of saying what went wrong.
            let said =
                said.lines().skip_while(|line| line.starts_with("# Warning")).collect::<Vec<_>>().join("\n");
            let said = if said.trim().is_empty() { output.status.to_string() } else { said };
            Err(failed(&shown, target, &said))
        }
    }
}

fn resources<'n>(roots: impl Iterator<Item = &'n Node>, schema: &Schema) -> Vec<Rendered> {
    let mut all = Vec::new();
    for root in roots.filter(|root| !root.is_empty()) {
        for_each_resource(root, &mut |_, node, _| {
            all.push(Rendered { id: ResourceId::of(node, schema), original: None, node: node.clone() });
        });
    }
    all
}

/// The folders that were named, by themselves or by those around them, each once.
fn named(args: &DiffArgs) -> Result<Vec<String>> {
    let disk = Disk::default();
    let mut all: Vec<String> = Vec::new();
    for name in args.named() {
        let found = match Repository::parse(name) {
            Some(_) => vec![name.clone()],
            None => meant(&disk, name)?,
        };
        if found.is_empty() {
            return Err(no_target(name, ""));
        }
        for target in found {
            if !all.contains(&target) {
                all.push(target);
            }
        }
    }
    Ok(all)
}

/// All folders that no other includes.
fn roots(report: &Report) -> Result<Vec<String>> {
    let workspace = Workspace::scan(&Disk::default(), &report.sources, Path::new("."))?;
    let here = os::absolute(Path::new("."))?;
    let inside = workspace.roots().into_iter().filter(|layer| layer.folder.starts_with(&here));
    Ok(inside.map(|layer| layer.shown.clone()).collect())
}

fn compare(
    args: &DiffArgs,
    report: &Report,
    targets: Vec<String>,
    from: Vec<Outcome>,
    name: &str,
    cause: String,
) -> Result<Compared> {
    let (disk, options) = build::world_and_options(&args.flags, &targets)?;
    let disk = Arc::new(disk);
    let session = Session::new(disk.clone(), report.sources.clone(), options);
    let to: Vec<Outcome> = targets
        .par_iter()
        .map(|target| match session.trace(target) {
            (Ok(_), trace) => Outcome::Built(trace),
            (Err(error), _) => Outcome::Failed(error.located(&report.sources)),
        })
        .collect();
    let given: Vec<Given> = targets
        .into_iter()
        .zip(from.into_iter().zip(to))
        .map(|(directory, (from, to))| Given { directory, from, to, changed: Vec::new(), lock: None })
        .collect();
    let side =
        |name: &str| Side { name: name.to_owned(), world: &*disk, sources: &report.sources, root: None };
    let options = diff::Options { opaque: Some(cause), ..super::options(args)? };
    Ok(Compared::new(&side(name), &side("krm build"), given, &options))
}
