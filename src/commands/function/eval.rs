//! `krm fn eval`: one function, on a folder or on a list.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_engine::functions::{Function, from_list};
use krm_engine::kpt::{self, Call, Entry, Images, Item, Observer, SEQ_INDENT, Selector, Step, Tree};
use krm_engine::runtime::{Image, Program, Runtime};
use krm_engine::{Diagnostic, Home, Node, Resource, Result, Schema, Span};
use krm_function::{Object, ResourceList};

use crate::cli::{FnEvalArgs, FunctionType, MatchArgs};
use crate::commands::function::packages::{self, Destination, Told};
use crate::commands::function::run::{from_arguments, read_config, stdin, write};
use crate::os::{self, Disk};
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
    let runtime = Arc::new(Runtime::new(args.policy()?));
    let function = Function::new(program, Some(config), &runtime)?;
    let options = kpt::Options {
        world: &Disk::default(),
        sources: &report.sources,
        runtime: &runtime,
        dir: &dir,
        allow_exec: true,
        network: args.network,
        images,
        tags: &packages::local_tags,
    };
    let mut step = Step::of(&shown, args.image.is_none());
    match args.dirs[0].as_os_str() == "-" {
        true => on_list(args, &to, &function, &options, &mut step, report),
        false => on_folder(args, &to, &function, &options, &mut step, report),
    }
}

fn check_flags(args: &FnEvalArgs) -> Result<()> {
    let usage = |message: &str, help: &str| Err(Diagnostic::error("eval-flags", message).help(help));
    if args.dirs.len() > 1 {
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
    function: &Function,
    options: &kpt::Options<'_>,
    step: &mut Step,
    report: &Report,
) -> Result<()> {
    let dir = packages::follow_link(&args.dirs[0])?;
    let saved_config = saved_config(args, &dir)?;
    // Before anything is read: what another krm changes at the same time comes before or after.
    let changing = to.is_in_place().then(|| os::Changes::in_packages(&[&dir])).transpose()?;
    let tree = Tree::read_folder(options.world, &dir, &report.sources)?;
    let mut entries = tree.entries();
    // What configures the function is not for it to change.
    let apart = config_entries(args, &dir, &mut entries);
    let (entries, failure) = match call(args, &tree, function, entries, options, step) {
        Ok(entries) => (entries, None),
        Err(failure) => (tree.entries(), Some(failure)),
    };
    packages::save_results(args.to.results_dir.as_deref(), std::slice::from_ref(step), failure.is_some())?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    let mut entries: Vec<Entry> = entries.into_iter().chain(apart).collect();
    let Some(changing) = changing else {
        entries.sort_by(|a, b| a.item.home.cmp(&b.item.home));
        return to.deliver(&tree, &entries, options.world);
    };
    let said = if args.save { save(args, step, saved_config, &mut entries)? } else { None };
    let changes = tree.changes(&entries, options.world)?;
    write(changing, tree.package().root(), &changes)?;
    said.iter().for_each(|said| eprintln!("{said}"));
    Ok(())
}

/// Calls the function, and says so.
fn call(
    args: &FnEvalArgs,
    tree: &Tree,
    function: &Function,
    entries: Vec<Entry>,
    options: &kpt::Options<'_>,
    step: &mut Step,
) -> Result<Vec<Entry>> {
    let (selectors, exclude) = (selectors(&args.matching, true), selectors(&args.matching, false));
    let count = (!selectors.is_empty() || !exclude.is_empty()).then(|| {
        let picks = |entry: &&Entry| kpt::selects(&selectors, &exclude, &entry.item.node);
        entries.iter().filter(picks).count()
    });
    let mut told = Told::default();
    told.starts(step.shown(), "", count);
    let call = Call { member: 0, selectors: &selectors, exclude: &exclude, span: Span::NONE };
    let result = kpt::call(tree, &call, function, entries, options, step);
    if result.is_err() && step.exit_code == 0 {
        step.exit_code = 1;
    }
    told.ended(step);
    result
}

/// Takes the function's own configuration out of what it works on.
fn config_entries(args: &FnEvalArgs, dir: &Path, entries: &mut Vec<Entry>) -> Vec<Entry> {
    let Some(file) = args.fn_config.as_ref().and_then(|file| file.canonicalize().ok()) else {
        return Vec::new();
    };
    let Some(path) =
        dir.canonicalize().ok().and_then(|dir| file.strip_prefix(dir).ok().map(Path::to_path_buf))
    else {
        return Vec::new();
    };
    let (apart, rest) =
        std::mem::take(entries).into_iter().partition(|entry| Path::new(entry.path()) == path);
    *entries = rest;
    apart
}

fn selectors(args: &MatchArgs, matching: bool) -> Vec<Selector> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default().into();
    let map = |pairs: &[(String, String)]| {
        pairs.iter().map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect()
    };
    let selector = match matching {
        true => Selector {
            api_version: text(&args.match_api_version),
            kind: text(&args.match_kind),
            name: text(&args.match_name),
            namespace: text(&args.match_namespace),
            labels: map(&args.match_labels),
            annotations: map(&args.match_annotations),
        },
        false => Selector {
            api_version: text(&args.exclude_api_version),
            kind: text(&args.exclude_kind),
            name: text(&args.exclude_name),
            namespace: text(&args.exclude_namespace),
            labels: map(&args.exclude_labels),
            annotations: map(&args.exclude_annotations),
        },
    };
    if selector.is_empty() { Vec::new() } else { vec![selector] }
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
    step: &Step,
    config: Option<String>,
    entries: &mut [Entry],
) -> Result<Option<String>> {
    let Some(kptfile) = entries.iter_mut().find(|entry| entry.path() == kpt::FILE) else {
        return Ok(Some("The folder has no Kptfile, so the function was not saved.".into()));
    };
    let (list, word) = match args.r#type {
        Some(FunctionType::Validator) => ("validators", "validator"),
        _ => ("mutators", "mutator"),
    };
    let mut function = Node::map();
    let field = if step.is_exec { "exec" } else { "image" };
    function.set(field, step.shown());
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
    for (key, selectors) in
        [("selectors", selectors(&args.matching, true)), ("exclude", selectors(&args.matching, false))]
    {
        if !selectors.is_empty() {
            function.set(key, Node::from(selectors.iter().map(Selector::to_node).collect::<Vec<_>>()));
        }
    }
    let added = kpt::add_function(&mut kptfile.item.node, list, field, function)?;
    let did = if added { "Added" } else { "Updated" };
    Ok(Some(format!("{did} \"{}\" as {word} in the Kptfile.", step.shown())))
}

/// What a resource of a list said of itself.
struct Listed {
    before: Node,
    seq_indent: String,
    had_path: bool,
}

fn on_list(
    args: &FnEvalArgs,
    to: &Destination,
    function: &Function,
    options: &kpt::Options<'_>,
    step: &mut Step,
    report: &Report,
) -> Result<()> {
    let list = ResourceList::decode(&stdin(&report.sources)?)?;
    let mut listed = Vec::new();
    let mut items = Vec::new();
    for (number, mut object) in list.items.into_iter().enumerate() {
        let seq_indent = object.remove_annotation(SEQ_INDENT);
        let seq_indent = seq_indent.as_ref().and_then(Node::text).unwrap_or("compact").to_owned();
        let mut item = Item::from(from_list(object)?);
        item.document = Some(number);
        let had_path = item.home.is_some();
        let node = &item.node;
        item.home.get_or_insert_with(|| Home::new(kpt::new_path(node), number));
        listed.push(Listed { before: item.node.clone(), seq_indent, had_path });
        items.push(item);
    }
    let (tree, entries) = Tree::of_list(items);
    let result = call(args, &tree, function, entries, options, step);
    packages::save_results(args.to.results_dir.as_deref(), std::slice::from_ref(step), result.is_err())?;
    let entries = result?;
    match to {
        Destination::InPlace | Destination::List => {
            let items = entries.into_iter().map(|entry| stated(entry.item, &listed)).collect();
            os::print(ResourceList::new(items, None).to_string().as_bytes())
        }
        Destination::Unwrapped => {
            let items = entries.into_iter().map(|entry| Object::from(entry.item.node)).collect();
            os::print(ResourceList::bare(items).to_string().as_bytes())
        }
        Destination::Folder(dir) => {
            let mut changes = os::Changes::to_output(dir)?;
            let schema = Schema::builtin();
            let made = |entry: Entry| Item { document: None, ..entry.item }.to_resource(&schema);
            let items: Vec<Resource> = entries.into_iter().map(made).collect();
            for change in krm_engine::package::Package::empty(dir).changes(&items, options.world)? {
                changes.write(&dir.join(&change.path), change.text.unwrap_or_default().as_bytes())?;
            }
            changes.commit()
        }
    }
}

/// A resource for printing, with what it said of itself where it said it.
fn stated(mut item: Item, listed: &[Listed]) -> Object {
    let before = item.document.and_then(|number| listed.get(number).map(|listed| (number, listed)));
    let Some((number, listed)) = before else { return kpt::stated(&item, None, "compact", true) };
    if let (false, Some(home)) = (listed.had_path, &mut item.home) {
        // Where it came in the input.
        home.index = number;
    }
    kpt::stated(&item, Some(&listed.before), &listed.seq_indent, listed.had_path)
}
