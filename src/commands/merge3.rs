//! `krm merge3`.

use std::path::Path;

use krm_engine::merge::{Conflict, File, ResourceConflict, merge3_files};
use krm_engine::{Diagnostic, Node, Result, Schema};

use super::input::read;
use super::merge::{Target, options, refuse_two_inputs};
use crate::cli::{Merge3Args, OnConflict};
use crate::report::Report;

pub fn run(args: Merge3Args, report: &Report) -> Result<()> {
    refuse_two_inputs(&[&args.original, &args.updated, &args.dest])?;
    let mut target = Target::new(&args.dest, args.write)?;
    let [original, updated, dest] =
        [&args.original, &args.updated, &args.dest].map(|path| read(path, &report.sources));
    let (original, updated, dest) = (original?, updated?, dest?);
    refuse_nothing(&args.updated, &original, &updated)?;
    let (merged, conflicts) = merge3_files(
        &original,
        &updated,
        dest,
        target.is_one_file(),
        &Schema::of(args.lists.kube_version.into()),
        options(&args.lists),
    )?;
    let mut conflicts = conflicts.iter().map(diagnostic);
    if args.on_conflict == OnConflict::Fail
        && let Some(conflicts) = Diagnostic::join(conflicts.by_ref().map(Diagnostic::into_error))
    {
        return Err(conflicts);
    }
    if args.report.is_some() {
        conflicts.for_each(|conflict| report.show(&conflict));
    }
    target.finish(&merged)
}

/// Refuses an update that would remove everything, because its folder is another than the one that was meant.
fn refuse_nothing(path: &str, original: &[File], updated: &[File]) -> Result<()> {
    let holds_any =
        |files: &[File]| files.iter().any(|file| file.documents.iter().any(|d| !d.root.is_null()));
    if !Path::new(path).is_dir() || holds_any(updated) || !holds_any(original) {
        return Ok(());
    }
    let message = format!("there is no resource in `{path}`: as an update it would remove every one");
    Err(Diagnostic::error("merge-update-empty", message)
        .help("name the folder that holds the new version; to remove a package, delete it"))
}

fn diagnostic(conflict: &ResourceConflict) -> Diagnostic {
    let ResourceConflict { resource, conflict: Conflict { path, original, dest, updated, near } } = conflict;
    let field = match path.is_empty() {
        true => resource.clone(),
        false => format!("`{}` of {resource}", path.join(".").replace(".[", "[")),
    };
    let message = format!("{field} was changed both here and in the update");
    let says = |who: &str, value: &Option<Node>| match value.as_ref().map(Node::text) {
        Some(Some(text)) => format!("{who} has `{text}`"),
        Some(None) => format!("{who} has this"),
        None => format!("{who} has nothing here"),
    };
    let span = |value: &Option<Node>| value.as_ref().map_or(Default::default(), Node::span);
    let mut diagnostic = Diagnostic::warning("merge-conflict", message);
    diagnostic = match dest {
        Some(dest) => diagnostic.at(dest.span()),
        None => diagnostic.at(*near).note(says("the destination", dest), span(dest)),
    };
    diagnostic
        .note(says("the update", updated), span(updated))
        .note(says("the original", original), span(original))
}
