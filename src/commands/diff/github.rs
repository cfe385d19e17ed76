//! Differences as annotations of a workflow, beside the lines of the sources that cause them.

use std::fmt::Write as _;

use krm_engine::diff::{Change, Diff};

use super::text::{counted, label, targets, values};
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
        // A line that is gone cannot be annotated; its file can.
        let line = if cause.removed { 1 } else { at.line };
        let _ = writeln!(
            out,
            "::notice file={},line={line},title=krm diff::{}",
            annotation_property(&at.file),
            annotation_data(&lines.join("\n"))
        );
    }
    for flag in &diff.flags {
        let at =
            flag.place.as_ref().map(|at| format!("file={},line={},", annotation_property(&at.file), at.line));
        let reached = targets(&diff.changes[flag.change].targets, diff, &names);
        let message = format!("{} ({reached})", flag.message);
        let title = format!("title=krm diff {}", annotation_property(flag.rule));
        let _ = writeln!(out, "::warning {}{title}::{}", at.unwrap_or_default(), annotation_data(&message));
    }
    out
}

fn line(change: &Change, diff: &Diff, names: &[String]) -> String {
    let reached = targets(&change.targets, diff, names);
    if change.field.is_empty() {
        return format!("{} {} ({reached})", label(change), change.kind.name());
    }
    let (before, after) = values(change);
    format!("{} {}: {before} → {after} ({reached})", label(change), change.field)
}
