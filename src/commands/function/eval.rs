//! `krm fn eval`: one function, on a folder or on a list.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_engine::functions::{Function, from_list, without_lists};
use krm_engine::kpt::{self, Before, Evaluation, Images, SEQ_INDENT, Selector, Settings, Tree};
use krm_engine::package::Surroundings;
use krm_engine::runtime::{Image, Program, Runtime};
use krm_engine::{Called, Diagnostic, Home, Node, Resource, Result, Schema, Span};
use krm_function::{Object, ResourceList};
use krm_yaml::{Failure, Spanned, Text};

use crate::cli::{FnEvalArgs, FunctionType, MatchArgs, is_pair, pair_advice};
use crate::commands::function::packages::{self, CallPrinter, Destination};
use crate::commands::function::run::{from_arguments, read_config, stdin, write};
use crate::os;
use crate::report::Report;

pub fn run(args: &FnEvalArgs, report: &Report) -> Result<()> {
    check_flags(args)?;
    let dir = os::current_dir()?;
    let images = Images::new(&args.images.prefix())?;
    let to = Destination::parse(args.to.output.as_deref())?;
    let (program, shown) = program(args, &images, &dir)?;
    let config = match &args.fn_config {
        Some(file) => read_config(file, &report.sources)?,
        None => from_arguments(&args.arguments)?,
    };
    let targets: Vec<String> = match args.dir.as_os_str() == "-" {
        true => Vec::new(),
        false => vec![args.dir.to_string_lossy().into_owned()],
    };
    let disk = args.images.fetch.disk(&targets);
    let mut policy = args.images.fetch.restrict(args.policy()?, &disk)?;
    policy.pinned.accept_images_of_the_user();
    let runtime = Arc::new(Runtime::new(args.images.remote.apply(policy, args.images.fetch.offline)?));
    let function = Function::new(program, Some(config), &runtime)?;
    let tags = Arc::new(packages::local_tags);
    let settings = Settings { runtime: runtime.clone(), dir, allow_empty: args.to.allow_empty, images, tags };
    let printer = CallPrinter::default();
    let with = Surroundings {
        world: &disk,
        sources: &report.sources,
        runtime: &runtime,
        observer: Some(&printer),
        trace: None,
    };
    let evaluation = Evaluation {
        function,
        shown,
        is_exec: args.image.is_none(),
        selectors: matched(&args.matching),
        exclude: excluded(&args.matching),
    };
    match args.dir.as_os_str() == "-" {
        true => on_list(args, &to, evaluation, &settings, with, report),
        false => on_folder(args, &to, evaluation, &settings, with, report),
    }
}

fn check_flags(args: &FnEvalArgs) -> Result<()> {
    let usage = |message: &str, help: &str| {
        Err(Diagnostic::error("eval-flags", message).failing(Failure::CommandLine).help(help))
    };
    let is_missing_pair = |dir: &&PathBuf| !dir.exists() && dir.to_str().is_some_and(is_pair);
    let mut dirs = std::iter::once(&args.dir).chain(&args.others);
    if let Some(pair) = dirs.find(is_missing_pair).map(|dir| dir.to_string_lossy()) {
        return usage(&format!("there is no folder `{pair}`"), &pair_advice(&pair));
    }
    if !args.others.is_empty() {
        return usage("more than one folder is named", "name one; arguments of the function come after `--`");
    }
    if args.image.is_none() && args.exec.is_none() {
        return usage("no function is named", "name one: `--image IMAGE` or `--exec COMMAND`");
    }
    if args.include_meta_resources {
        return usage(
            "`--include-meta-resources` is no longer needed",
            "leave it out: Kptfiles are always included",
        );
    }
    let kind = args.arguments.first().filter(|first| !first.contains('=') && *first != "ConfigMap");
    if let (true, Some(kind)) = (args.save, kind) {
        return usage(
            &format!("`--save` cannot keep a configuration of kind `{kind}`"),
            "what a Kptfile says itself is a ConfigMap: write the configuration to a file of the package, and name that with `--fn-config`",
        );
    }
    let container = args.network || args.as_current_user || !args.mount.is_empty() || !args.env.is_empty();
    if args.image.is_none() && container {
        return usage(
            "`--network`, `--mount`, `--env` and `--as-current-user` are for containers",
            "a program has your rights, your files and your environment anyway: leave them out",
        );
    }
    Ok(())
}

/// What to run, and what it is called.
fn program(args: &FnEvalArgs, images: &Images, dir: &Path) -> Result<(Program, String)> {
    let Some(image) = &args.image else {
        let exec = args.exec.as_deref().unwrap_or_default();
        return Ok((kpt::program_of(exec, dir, Span::NONE)?, exec.to_owned()));
    };
    if !kpt::is_reference(image) {
        return Err(Diagnostic::error("image-name", format!("`{image}` is not the name of an image"))
            .help("write it as `registry.example.com/name:tag`, the name in lower case"));
    }
    let whole = images.whole(image);
    let run = images.resolve(image, "", Span::NONE, &packages::local_tags)?;
    Ok((Program::Image(Image { image: run, network: args.network, ..Image::default() }), whole))
}

fn on_folder(
    args: &FnEvalArgs,
    to: &Destination,
    evaluation: Evaluation,
    settings: &Settings,
    with: Surroundings<'_>,
    report: &Report,
) -> Result<()> {
    let dir = packages::follow_link(&args.dir)?;
    let saved_config = saved_config(args, &dir)?;
    // Before anything is read: what another krm changes at the same time comes before or after.
    let changing = to.is_in_place().then(|| os::Changes::in_packages(&[&dir])).transpose()?;
    let tree = Arc::new(Tree::read_folder(with.world, &dir, &report.sources)?);
    // What configures the function is not for it to change.
    let (apart, given) = config_apart(args, &dir, tree.resources());
    let (result, called) = kpt::evaluate(&tree, evaluation, given, settings, with);
    let mut resources: Vec<Resource> =
        finished(args, result, &called, report)?.into_iter().chain(apart).collect();
    let Some(changing) = changing else {
        resources.sort_by(|a, b| a.home.cmp(&b.home));
        return to.deliver(&tree, &resources, with.world);
    };
    let said = if args.save { save(args, &called, saved_config, &mut resources)? } else { None };
    let changes = tree.changes(&resources, with.world)?;
    write(changing, tree.package().root(), &changes)?;
    packages::tell_removed(&tree, &resources, &changes);
    said.iter().for_each(|said| eprintln!("{said}"));
    Ok(())
}

/// Reports how the call went, and saves its results.
fn finished(
    args: &FnEvalArgs,
    result: Result<Vec<Resource>>,
    called: &Called,
    report: &Report,
) -> Result<Vec<Resource>> {
    let called = std::slice::from_ref(called);
    packages::report_calls(called, report);
    packages::save_results(args.to.results_dir.as_deref(), called, result.is_err())?;
    result.map_err(packages::without_stderr_shown)
}

/// Takes the function's own configuration out of what it works on.
fn config_apart(args: &FnEvalArgs, dir: &Path, resources: Vec<Resource>) -> (Vec<Resource>, Vec<Resource>) {
    let file = args.fn_config.as_ref().and_then(|file| file.canonicalize().ok());
    let path = file.and_then(|file| Some(file.strip_prefix(dir.canonicalize().ok()?).ok()?.to_path_buf()));
    match path {
        Some(config) => resources.into_iter().partition(|r| Path::new(kpt::path(r)) == config),
        None => (Vec::new(), resources),
    }
}

/// The resources that the function works on; all of them if no option selects any.
fn matched(args: &MatchArgs) -> Vec<Spanned<Selector>> {
    unless_empty(Selector {
        api_version: text(&args.match_api_version),
        kind: text(&args.match_kind),
        name: text(&args.match_name),
        namespace: text(&args.match_namespace),
        labels: texts(&args.match_labels),
        annotations: texts(&args.match_annotations),
    })
}

/// The resources that the function leaves alone.
fn excluded(args: &MatchArgs) -> Vec<Spanned<Selector>> {
    unless_empty(Selector {
        api_version: text(&args.exclude_api_version),
        kind: text(&args.exclude_kind),
        name: text(&args.exclude_name),
        namespace: text(&args.exclude_namespace),
        labels: texts(&args.exclude_labels),
        annotations: texts(&args.exclude_annotations),
    })
}

fn unless_empty(selector: Selector) -> Vec<Spanned<Selector>> {
    if selector.is_empty() { Vec::new() } else { vec![selector.into()] }
}

fn text(given: &Option<String>) -> Text {
    given.as_deref().unwrap_or_default().into()
}

fn texts(given: &[(String, String)]) -> BTreeMap<Text, Text> {
    given.iter().map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect()
}

/// The path of the configuration as a Kptfile names it.
fn saved_config(args: &FnEvalArgs, dir: &Path) -> Result<Option<String>> {
    let Some(file) = args.fn_config.as_ref().filter(|_| args.save) else { return Ok(None) };
    let (file, dir): (PathBuf, PathBuf) = (os::absolute(file)?, os::absolute(dir)?);
    match file.strip_prefix(&dir) {
        Ok(path) => Ok(Some(path.to_string_lossy().into_owned())),
        Err(_) => {
            let message = "a Kptfile can name only files of its package, and `--fn-config` is elsewhere";
            Err(Diagnostic::error("save-config-outside", message).help("copy it into the package first"))
        }
    }
}

/// Adds the function to the Kptfile. Says what was done.
fn save(
    args: &FnEvalArgs,
    called: &Called,
    config: Option<String>,
    resources: &mut [Resource],
) -> Result<Option<String>> {
    let Some(kptfile) = resources.iter_mut().find(|r| kpt::path(r) == kpt::FILE) else {
        return Ok(Some("The folder has no Kptfile, so the function was not saved.".into()));
    };
    let (list, word) = match args.r#type {
        Some(FunctionType::Validator) => ("validators", "validator"),
        _ => ("mutators", "mutator"),
    };
    let mut function = Node::map();
    let field = if called.is_exec { "exec" } else { "image" };
    function.set(field, called.shown());
    if let Some(path) = config {
        function.set("configPath", path);
    } else if !args.arguments.is_empty() {
        let config = from_arguments(&args.arguments)?;
        if let Some(data) = config.get("data").filter(|data| !data.is_empty()) {
            function.set("configMap", data.clone());
        }
    }
    if let Some(tag) = &args.tag {
        function.set("tag", tag.as_str());
    }
    for (key, selectors) in [("selectors", matched(&args.matching)), ("exclude", excluded(&args.matching))] {
        if !selectors.is_empty() {
            function.set(
                key,
                Node::from(selectors.iter().map(|selector| selector.to_node()).collect::<Vec<_>>()),
            );
        }
    }
    let add = |node: &mut Node| kpt::add_function(node, list, field, function);
    let added = kptfile.edit(&Schema::builtin(), add)?;
    let did = if added { "Added" } else { "Updated" };
    Ok(Some(format!("{did} \"{}\" as {word} in the Kptfile.", called.shown())))
}

fn on_list(
    args: &FnEvalArgs,
    to: &Destination,
    evaluation: Evaluation,
    settings: &Settings,
    with: Surroundings<'_>,
    report: &Report,
) -> Result<()> {
    let list = ResourceList::decode(&stdin(&report.sources)?)?;
    let mut listed = Vec::new();
    let mut given = Vec::new();
    for (number, mut object) in without_lists(list.items).into_iter().enumerate() {
        let seq_indent = object.remove_annotation(SEQ_INDENT);
        let seq_indent = seq_indent.as_ref().and_then(Node::text).map(str::to_owned);
        let mut r = from_list(object)?;
        let had_path = r.home.is_some();
        if !had_path {
            r.home = Some(Box::new(Home::new(kpt::new_path(r.node()), number)));
        }
        listed.push(Before { node: Some(r.node().clone()), seq_indent, had_path });
        given.push(r);
    }
    let tree = Arc::new(Tree::of_list(given));
    let (result, called) = kpt::evaluate(&tree, evaluation, tree.resources(), settings, with);
    let mut resources = finished(args, result, &called, report)?;
    match to {
        Destination::InPlace | Destination::List => {
            let items = resources.into_iter().map(|r| stated(r, &listed)).collect();
            os::print(ResourceList::new(items, None).to_string().as_bytes())
        }
        Destination::Unwrapped => {
            let items = resources.into_iter().map(|r| Object::from(r.into_node())).collect();
            os::print(ResourceList::bare(items).to_string().as_bytes())
        }
        Destination::Folder(dir) => {
            let mut changes = os::Changes::to_output(dir)?;
            // None of them was read from that folder.
            resources.iter_mut().filter_map(|r| r.home.as_mut()).for_each(|home| home.number = None);
            for change in krm_engine::package::Package::empty(dir).changes(&resources, with.world)? {
                changes.write(&dir.join(&change.path), change.text.unwrap_or_default().as_bytes())?;
            }
            changes.commit()
        }
    }
}

/// A resource for printing, with what it said of itself where it said it.
fn stated(mut resource: Resource, listed: &[Before]) -> Object {
    let number = resource.home.as_ref().and_then(|home| home.number);
    let before = number.and_then(|number| listed.get(number).map(|before| (number, before)));
    let Some((number, before)) = before else { return kpt::stated(&resource, &Before::default()) };
    if let (false, Some(home)) = (before.had_path, &mut resource.home) {
        // Where it came in the input.
        home.index = number;
    }
    kpt::stated(&resource, before)
}
