//! `krm fn wrap` and `krm fn xargs`: programs that know nothing about the protocol as functions.

use std::io::Write;
use std::process::{Command, ExitStatus, Stdio};

use krm_engine::functions::{Tells, from_list, to_list, without_lists};
use krm_engine::merge::{Merged, Options, two_way};
use krm_engine::package::{self, Package};
use krm_engine::{Diagnostic, Node, Resource, Result, Schema, cfg};
use krm_function::{KIND, Object, ResourceList};
use rustc_hash::FxHashMap;

use crate::cli::{FnWrapArgs, FnXargsArgs, WrapInputArgs};
use crate::commands::function::run::stdin;
use crate::os::{self, Disk};
use crate::report::Report;

/// Runs the program on the list, and leaves its output and its exit status as they are.
pub fn xargs(args: FnXargsArgs, report: &Report) -> Result<()> {
    let list = ResourceList::decode(&stdin(&report.sources)?)?;
    let (status, _) = call(&args.command, args.env_only, &args.input, &list, Stdio::inherit())?;
    match status.success() {
        true => Ok(()),
        false => std::process::exit(status.code().unwrap_or(1)),
    }
}

/// Runs the program, and merges what it prints into the list. The answer has the form of the question: the version and kind
/// of its list, and JSON if it came as JSON.
pub fn wrap(args: FnWrapArgs, report: &Report) -> Result<()> {
    let mut list = ResourceList::decode(&stdin(&report.sources)?)?;
    let (status, stdout) = call(&args.command, args.env_only, &args.input, &list, Stdio::piped())?;
    let name = &args.command[0];
    let printed = report.sources.add_bytes(format!("output of {name}"), stdout);
    let printed = printed.and_then(|printed| ResourceList::decode(&printed));
    list.function_config = None;
    if !status.success() {
        // What it found wrong is worth more than that it failed.
        if let Some(printed) = printed.ok().filter(|printed| !printed.results.is_empty()) {
            list.results = printed.results;
            os::print(list.to_string().as_bytes())?;
        }
        return Err(Diagnostic::error("wrapped-failed", format!("`{name}` failed: {status}")));
    }
    let printed = printed?;
    list.results.extend(printed.results);
    let given = std::mem::take(&mut list.items);
    let printed = without_lists(printed.items);
    let wants_merge =
        os::variable("KUST_MERGE").is_none_or(|value| matches!(value.as_str(), "" | "true" | "1"));
    let mut items = match wants_merge {
        true => merge(given.into_iter().chain(printed))?,
        false => printed,
    };
    if let Some(dir) = os::setting("KUST_OVERRIDE_DIR") {
        let patches = Package::read(&Disk::default(), dir.as_ref(), &report.sources)?.resources();
        items = merge(items.into_iter().chain(patches.into_iter().map(|r| Object::from(r.into_node()))))?;
    }
    let mut items = items.into_iter().map(from_list).collect::<Result<Vec<_>>>()?;
    package::give_homes(&mut items, "")?;
    for item in &mut items {
        format(item)?;
    }
    items.sort_by(|a, b| a.home.cmp(&b.home));
    list.items = items.into_iter().map(|r| to_list(r, Tells::FileAndIndex)).collect();
    os::print(list.to_string().as_bytes())
}

/// Starts the program with what the functionConfig says, feeds it the list, and waits.
fn call(
    command: &[String],
    env_only: bool,
    input: &WrapInputArgs,
    list: &ResourceList,
    stdout: Stdio,
) -> Result<(ExitStatus, Vec<u8>)> {
    let config = list.function_config.as_ref();
    let mut program = Command::new(&command[0]);
    program.args(&command[1..]).stdin(Stdio::piped()).stdout(stdout);
    if let Some(config) = config {
        program.env("KUST_FUNCTION_CONFIG", config.to_string());
        for (key, value) in scalars(config) {
            program.env(variable(key, config)?, value);
            if !env_only {
                program.arg(format!("--{key}={value}"));
            }
        }
        if !env_only {
            program.args(config.get("items").map_or(&[][..], Node::items).iter().filter_map(Node::text));
        }
    }
    let config = config.filter(|_| input.wrap_kind == KIND).cloned();
    let sent =
        ResourceList::wrapped(&input.wrap_version, &input.wrap_kind, list.items.clone(), config).to_string();
    let failed = |error: std::io::Error| {
        Diagnostic::error("wrapped-not-started", format!("`{}` cannot be started: {error}", command[0]))
    };
    let mut child = program.spawn().map_err(failed)?;
    let stdin = child.stdin.take();
    let writer = std::thread::spawn(move || {
        // It need not read its input.
        if let Some(mut stdin) = stdin {
            let _ = stdin.write_all(sent.as_bytes());
        }
    });
    let output = child.wait_with_output().map_err(failed)?;
    let _ = writer.join();
    Ok((output.status, output.stdout))
}

/// The fields of a functionConfig whose scalars become variables; `key=value` on the command line is in `data`.
const MAPS: [&str; 3] = ["metadata", "spec", "data"];

/// What of a functionConfig can be in a variable. Keys of `data` may be names of files, which cannot.
fn scalars(config: &Object) -> Vec<(&str, &str)> {
    let is_name = |key: &str| key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let maps = MAPS.into_iter().filter_map(|map| Some((map, config.get(map)?.as_map()?)));
    let entries = maps.flat_map(|(map, entries)| entries.into_iter().map(move |entry| (map, entry)));
    let texts = entries.filter_map(|(map, entry)| Some((map, entry.key.text()?, entry.value.text()?)));
    texts.filter(|(map, key, _)| *map != "data" || is_name(key)).map(|(_, key, value)| (key, value)).collect()
}

/// The variable a field becomes. A field must not change which programs run, or how they are linked.
fn variable(key: &str, config: &Object) -> Result<String> {
    const TAKEN: [&str; 12] = [
        "PATH",
        "HOME",
        "SHELL",
        "USER",
        "LOGNAME",
        "PWD",
        "TMPDIR",
        "IFS",
        "ENV",
        "CDPATH",
        "PS4",
        "NODE_OPTIONS",
    ];
    const PREFIXES: [&str; 8] = ["LD_", "DYLD_", "BASH_", "PYTHON", "PERL5", "RUBY", "GIT_", "KUST_"];
    let name = key.to_uppercase();
    if TAKEN.contains(&name.as_str()) || PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
        let message = format!("`{key}` would set the variable `{name}`, which means something to the system");
        let field = MAPS.into_iter().find_map(|map| config.get(map)?.get(key));
        return Err(Diagnostic::error("wrapped-variable", message)
            .at(field.map_or_else(Default::default, Node::span))
            .help("rename the field; the program can read the whole config from `KUST_FUNCTION_CONFIG`"));
    }
    Ok(name)
}

/// Merges later resources into earlier ones of the same name.
fn merge(all: impl Iterator<Item = Object>) -> Result<Vec<Object>> {
    let schema = Schema::builtin();
    let options = Options { infer: true, ..Options::default() };
    let mut merged: Vec<Option<Object>> = Vec::new();
    let mut places: FxHashMap<[String; 4], usize> = FxHashMap::default();
    for object in all {
        let key = [object.api_version(), object.kind(), object.namespace(), object.name()].map(str::to_owned);
        let Some(place) = places.get(&key).copied() else {
            places.insert(key, merged.len());
            merged.push(Some(object));
            continue;
        };
        let Some(below) = &merged[place] else { continue };
        match two_way(&object, below, &schema, options)? {
            Merged::Same => {}
            Merged::Changed(node) => merged[place] = Some(Object::from(node)),
            Merged::Deleted => merged[place] = None,
        }
    }
    Ok(merged.into_iter().flatten().collect())
}

/// Puts fields into their usual order.
fn format(r: &mut Resource) -> Result<()> {
    let home = r.home.clone().unwrap_or_default();
    let of_node = cfg::Item::of(r.node().clone());
    let mut formatted = cfg::Item { path: home.path, index: home.index, ..of_node };
    cfg::format::format(&mut formatted)?;
    r.edit(&Schema::builtin(), |node| *node = formatted.node);
    Ok(())
}
