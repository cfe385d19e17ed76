//! `krm fn sink`: a list to files.

use std::collections::BTreeMap;

use krm_engine::functions::{from_list, without_lists};
use krm_engine::package::{self, Package};
use krm_engine::{Diagnostic, Home, Node, Resource, Result, kpt};
use krm_function::ResourceList;

use crate::cli::FnSinkArgs;
use crate::commands::function::progress::summary;
use crate::commands::function::run::stdin;
use crate::os::{self, Changes, Disk};
use crate::report::Report;

pub fn run(args: FnSinkArgs, report: &Report) -> Result<()> {
    let in_use = match std::fs::read_dir(&args.dir) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => args.dir.exists(),
    };
    if in_use {
        let message = format!("`{}` is there already", args.dir.display());
        return Err(Diagnostic::error("sink-in-use", message).help(
            "name a folder that does not exist, or is empty; to change one in place use `krm fn run`",
        ));
    }
    let input = stdin(&report.sources)?;
    if input.text().trim().is_empty() {
        // As with kpt, this is not an error.
        let message = "there is nothing on standard input, so nothing was written";
        report.show(&Diagnostic::warning("sink-no-input", message).help(
            "the command that should print the resources may have failed; a list without resources has `items: []`",
        ));
        return Ok(());
    }
    let list = ResourceList::decode(&input)?;
    list.require_items()?;
    let items = without_lists(list.items).into_iter().map(from_list);
    let mut items: Vec<Resource> = items.collect::<Result<_>>()?;
    items
        .iter()
        .try_for_each(|r| kpt::check_type(r.node(), r.home.as_ref().map_or("", |home| &home.path)))?;
    if items.iter().any(is_kptfile) {
        name_files_as_kpt(&mut items);
    }
    count_missing_indexes_as_first(&mut items);
    package::give_homes(&mut items, "")?;
    let mut changes = Changes::to_output(&args.dir)?;
    let written = Package::empty(&args.dir).changes(&items, &Disk::default())?;
    for change in &written {
        let text = change.text.as_deref().unwrap_or_default();
        changes.write(&args.dir.join(&change.path), text.as_bytes())?;
    }
    changes.commit()?;
    if !args.quiet && !written.is_empty() {
        eprintln!("{}", summary(&written));
    }
    // There may have been nothing to write.
    os::make_dir(&args.dir)
}

fn is_kptfile(r: &Resource) -> bool {
    let text = |key| r.node().get(key).and_then(Node::text);
    text("kind") == Some(kpt::FILE) && text("apiVersion") == Some(kpt::API_VERSION)
}

/// Gives resources of a package with a Kptfile that name no file the one that kpt would give them.
fn name_files_as_kpt(items: &mut [Resource]) {
    for r in items.iter_mut().filter(|r| r.home.is_none()) {
        let path = if is_kptfile(r) { kpt::FILE.to_owned() } else { kpt::new_path(r.node()) };
        r.home = Some(Box::new(Home::new(path, usize::MAX)));
    }
}

/// Gives resources that name a file and no index there the index 0, as the specification has it: after one that says so
/// itself, before those with a higher one.
fn count_missing_indexes_as_first(items: &mut [Resource]) {
    let mut files: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, home) in items.iter().enumerate().filter_map(|(at, item)| Some((at, item.home.as_ref()?))) {
        files.entry(home.path.clone()).or_default().push(at);
    }
    for (_, mut order) in files {
        let index = |items: &[Resource], at: usize| items[at].home.as_ref().map_or(0, |home| home.index);
        if order.iter().all(|at| index(items, *at) != usize::MAX) {
            continue;
        }
        order.sort_by_key(|at| match index(items, *at) {
            usize::MAX => 0,
            index => index,
        });
        for (index, at) in order.into_iter().enumerate() {
            if let Some(home) = &mut items[at].home {
                home.index = index;
            }
        }
    }
}
