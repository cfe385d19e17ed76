//! `krm merge3`.

use std::collections::HashSet;
use std::path::Path;

use krm_engine::merge::{Conflict, File, ResourceConflict, Side, merge3_files};
use krm_engine::{Diagnostic, Node, Result, Schema, package};
use krm_function::elements::by_value;
use krm_yaml::Style;

use super::input::{YAML_AND_JSON, read, read_resources};
use super::merge::{MergeOutput, options, refuse_two_inputs};
use crate::cli::{Merge3Args, OnConflict};
use crate::os;
use crate::report::{Report, names};

pub fn run(args: Merge3Args, report: &Report) -> Result<()> {
    refuse_two_inputs(&[&args.original, &args.updated, &args.dest])?;
    let mut output = MergeOutput::new(&args.dest, args.write)?;
    let [original, updated] =
        [&args.original, &args.updated].map(|path| read_resources(path, &report.sources));
    let (original, updated, dest) = (original?, updated?, read(&args.dest, YAML_AND_JSON, &report.sources)?);
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
    merged.warnings.iter().for_each(|warning| report.show(warning));
    not_merged(&args, &[original, updated].concat()).iter().for_each(|warning| report.show(warning));
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

/// Warns about other files that the update changes. Only resources are merged, but a kustomization may read files too, such as
/// those of a generator: without them the update is incomplete.
fn not_merged(args: &Merge3Args, merged: &[File]) -> Option<Diagnostic> {
    let folders = [&args.original, &args.updated, &args.dest].map(Path::new);
    if !folders.iter().all(|folder| folder.is_dir()) {
        return None;
    }
    let [original, updated, dest] = folders;
    let disk = os::Disk::default();
    // A folder that cannot be listed was reported when its resources were read.
    let paths = |folder| package::files(&disk, folder, &[""]).unwrap_or_default();
    let mut others: Vec<String> = paths(original).into_iter().chain(paths(updated)).collect();
    others.sort();
    others.dedup();
    let merged: HashSet<&str> = merged.iter().map(|file| file.path.as_str()).collect();
    others.retain(|name| !merged.contains(name.as_str()));
    let content = |folder: &Path, name: &str| os::read(&folder.join(name)).ok();
    others.retain(|name| {
        let theirs = content(updated, name);
        theirs != content(original, name) && theirs != content(dest, name)
    });
    if others.is_empty() {
        return None;
    }
    let names = names(others.iter().map(|name| format!("`{name}`")));
    let help = format!(
        "only resources in YAML and JSON are merged: compare the files with those in `{}`, and copy what you want",
        args.updated
    );
    Some(Diagnostic::warning("merge-other-files", format!("the update also changes {names}")).help(help))
}

/// How many entries of a list are named.
const MOST_SHOWN: usize = 8;

/// What became of a field that one of the sides removed; `None` if the value of a side is taken as it is.
pub(super) fn outcome_of_removal(conflict: &Conflict) -> Option<&'static str> {
    let Conflict { path, dest, updated, taken, .. } = conflict;
    // Fields of a map are merged one by one; a resource and an element of a list are there or not.
    let is_part = path.last().is_none_or(|last| last.starts_with('['));
    let is_merged = |value: &Option<Node>| value.as_ref().is_some_and(Node::is_map) && !is_part;
    match taken {
        Side::Theirs if updated.is_none() && is_merged(dest) => Some("only what was added here stays"),
        Side::Theirs if updated.is_none() => Some("it is removed"),
        Side::Theirs if dest.is_none() && is_merged(updated) => {
            Some("what the update changed in it is added")
        }
        Side::Ours if dest.is_none() => Some("it stays removed"),
        _ => None,
    }
}

fn diagnostic(conflict: &ResourceConflict, on_conflict: OnConflict) -> Diagnostic {
    let ResourceConflict { resource, conflict, is_secret } = conflict;
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
    let outcome = match (on_conflict, outcome_of_removal(conflict), taken) {
        (OnConflict::Fail, ..) => String::new(),
        (_, Some(outcome), _) => format!(": {outcome}"),
        (_, None, Side::Theirs) => ": the update's is taken".to_owned(),
        (_, None, Side::Ours) => ": the destination's is kept".to_owned(),
    };
    let says = |who: &str, value: &Option<Node>| match value.as_ref().map(Node::text) {
        Some(_) if *is_secret => format!("{who} has a secret"),
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
    if let (Some(dest), Some(updated)) = (dest, updated) {
        let (kept, lost, who) = match taken {
            Side::Theirs => (updated, dest, "the update"),
            Side::Ours => (dest, updated, "the destination"),
        };
        // A caret shows where a list begins, and a list in brackets whole.
        let items = if lost.style() == Style::Flow || *is_secret { &[] } else { lost.items() };
        let pairs = items.iter().zip(by_value(kept.items(), items));
        let lost = pairs.filter(|(_, equal)| equal.is_none()).map(|(entry, _)| entry);
        for entry in lost.take(MOST_SHOWN) {
            let name = entry.text().map_or_else(|| "this".to_owned(), |text| format!("`{text}`"));
            diagnostic = diagnostic.note(format!("{who} does not have {name}"), entry.span());
        }
    }
    match on_conflict {
        OnConflict::Fail => diagnostic
            .help("settle it in the destination, or choose a side with `--on-conflict theirs` or `ours`"),
        _ => diagnostic,
    }
}
