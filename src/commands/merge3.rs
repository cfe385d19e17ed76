//! `krm merge3`.

use std::path::Path;

use krm_engine::merge::{Conflict, File, ResourceConflict, Side, merge3_files};
use krm_engine::{Diagnostic, Node, Result, Schema};

use super::input::{read, read_resources};
use super::merge::{MergeOutput, options, refuse_two_inputs};
use crate::cli::{Merge3Args, OnConflict};
use crate::report::Report;

pub fn run(args: Merge3Args, report: &Report) -> Result<()> {
    refuse_two_inputs(&[&args.original, &args.updated, &args.dest])?;
    let mut output = MergeOutput::new(&args.dest, args.write)?;
    let [original, updated] =
        [&args.original, &args.updated].map(|path| read_resources(path, &report.sources));
    let (original, updated, dest) = (original?, updated?, read(&args.dest, &report.sources)?);
    refuse_nothing(&args.updated, &original, &updated)?;
    let side = match args.on_conflict {
        OnConflict::Ours => Side::Ours,
        OnConflict::Theirs | OnConflict::Fail => Side::Theirs,
    };
    let merged = merge3_files(
        &original,
        &updated,
        dest,
        output.destination(),
        side,
        &Schema::of(args.lists.kube_version.into()),
        options(&args.lists),
    )?;
    let conflicts = merged.conflicts.iter().map(|conflict| diagnostic(conflict, args.on_conflict));
    let conflicts = conflicts.chain(merged.not_renamed.iter().map(|(old, new)| not_renamed(old, new)));
    if args.on_conflict == OnConflict::Fail {
        let conflicts = Diagnostic::join(conflicts.map(Diagnostic::into_error));
        if let Some(conflicts) = conflicts {
            return Err(conflicts);
        }
    } else {
        conflicts.for_each(|conflict| report.show(&conflict));
    }
    output.finish(&merged, report)
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

/// Nothing is lost, but a kustomization that follows the update now names another file.
fn not_renamed(old: &str, new: &str) -> Diagnostic {
    let message =
        format!("the update renames `{old}` to `{new}`, which is another file here: `{old}` keeps its name");
    Diagnostic::warning("merge-rename-taken", message)
        .help(format!("rename your `{new}`, or check which of the two a kustomization means"))
}

fn diagnostic(conflict: &ResourceConflict, on_conflict: OnConflict) -> Diagnostic {
    let ResourceConflict { resource, conflict } = conflict;
    let Conflict { path, original, dest, updated, near, taken } = conflict;
    let field = match path.is_empty() {
        true => resource.clone(),
        false => format!("`{}` of {resource}", path.join(".").replace(".[", "[")),
    };
    let did = match (original, dest, updated) {
        (_, None, _) => "removed here and changed in the update",
        (_, _, None) => "changed here and removed in the update",
        (None, ..) => "added both here and in the update, with different values",
        _ => "changed both here and in the update",
    };
    let outcome = match (on_conflict, taken) {
        (OnConflict::Fail, _) => "",
        (_, Side::Theirs) if updated.is_none() => ": it is removed",
        (_, Side::Theirs) => ": the update's is taken",
        (_, Side::Ours) if dest.is_none() => ": it stays removed",
        (_, Side::Ours) => ": the destination's is kept",
    };
    let says = |who: &str, value: &Option<Node>| match value.as_ref().map(Node::text) {
        Some(Some(text)) => format!("{who} has `{text}`"),
        Some(None) => format!("{who} has this"),
        None => format!("{who} has nothing here"),
    };
    let span = |value: &Option<Node>| value.as_ref().map_or(Default::default(), Node::span);
    let mut diagnostic = Diagnostic::warning("merge-conflict", format!("{field} was {did}{outcome}"));
    diagnostic = match dest {
        Some(dest) if dest.is_scalar() => {
            diagnostic.at(dest.span()).note(says("the destination", &Some(dest.clone())), Default::default())
        }
        Some(dest) => diagnostic.at(dest.span()),
        None => diagnostic.at(*near).note(says("the destination", dest), span(dest)),
    };
    diagnostic = diagnostic
        .note(says("the update", updated), span(updated))
        .note(says("the original", original), span(original));
    match on_conflict {
        OnConflict::Fail => diagnostic
            .help("settle it in the destination, or choose a side with `--on-conflict theirs` or `ours`"),
        _ => diagnostic,
    }
}
