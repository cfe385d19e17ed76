//! Differences as annotations of a workflow, beside the lines of the sources that cause them.

use std::fmt::Write as _;

use krm_engine::diff::{Cause, Change, Diff, Location};

use super::text::{counted, label, similar, targets, values};
use crate::report::{annotation_data, annotation_property};

/// A notice for each cause, and a warning for each flag.
pub fn text(diff: &Diff) -> String {
    let names = diff.short_names();
    let mut out = String::new();
    for cause in &diff.causes {
        let Some(at) = &cause.place else { continue };
        const MOST: usize = 5;
        let own: Vec<&Change> = cause
            .changes
            .iter()
            .map(|id| &diff.changes[*id])
            .filter(|change| change.follows.is_none())
            .collect();
        let mut lines: Vec<String> = own.iter().take(MOST).map(|change| line(change, diff, &names)).collect();
        let more = own.len().saturating_sub(MOST);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        let follow = cause.changes.len() - own.len();
        if follow > 0 {
            lines.push(format!("{} by this", counted(follow, "more changes", "more change")));
        }
        let line = line_now(cause, at);
        let _ = writeln!(
            out,
            "::notice file={},line={line},title=krm diff::{}",
            annotation_property(&at.file),
            annotation_data(&lines.join("\n"))
        );
    }
    for flag in diff.warnings() {
        let cause = &diff.causes[diff.changes[flag.change].cause];
        let at = flag.place.as_ref().map(|at| {
            let line = line_now(cause, at);
            format!("file={},line={line},", annotation_property(&at.file))
        });
        let reached = targets(&diff.changes[flag.change].targets, diff, &names);
        let message = format!("{} ({reached})", flag.message);
        let title = format!("title=krm diff {}", annotation_property(flag.rule));
        let _ = writeln!(out, "::warning {}{title}::{}", at.unwrap_or_default(), annotation_data(&message));
    }
    out
}

/// Where an annotation can be. A line that is gone has none: the one that took its place does.
fn line_now(cause: &Cause, at: &Location) -> usize {
    if cause.removed { cause.line_now.unwrap_or(1) } else { at.line }
}

fn line(change: &Change, diff: &Diff, names: &[String]) -> String {
    let reached = targets(&change.targets, diff, names);
    if change.field.is_empty() {
        return format!("{} {} ({reached})", label(change), change.kind.name());
    }
    let (before, after) = values(change);
    let similar = similar(change);
    format!("{} {}: {before} → {after}{similar} ({reached})", label(change), change.field)
}
