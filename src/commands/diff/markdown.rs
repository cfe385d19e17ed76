//! Differences as a comment on a pull request: a summary that always fits, and below it as much as there is room for.

use std::fmt::Write as _;

use krm_engine::diff::{Cause, Change, Diff, Flag, Status, TargetDiff};

use super::text::{and_in, counted, label, place, short_names, similar, summary, targets, values};
use crate::report::sanitize;

/// How much is shown. What costs most and says least goes first.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Detail {
    Everything,
    /// Long values are cut.
    ShortValues,
    /// Fields are counted.
    NoFields,
    /// Resources are counted.
    NoResources,
    /// Overlays are counted.
    NoOverlays,
    /// As many causes as there is room for, each in a line.
    SomeCauses,
    /// Causes are counted.
    Summary,
    /// Not even which folders fail, and whose pods restart.
    Counts,
}

impl Detail {
    /// What is missing, in words.
    fn left_out(self) -> &'static str {
        match self {
            Detail::Everything => "",
            Detail::ShortValues => "Values over 200 characters are cut.",
            Detail::NoFields => "Fields are left out.",
            Detail::NoResources => "Resources and fields are left out.",
            Detail::NoOverlays => "Overlays, resources and fields are left out.",
            Detail::SomeCauses => "What each of them does is left out.",
            Detail::Summary | Detail::Counts => "All but the summary is left out.",
        }
    }
}

/// The whole comment, no longer than `most` bytes.
///
/// `in_full` is the command that shows what is left out.
pub fn text(diff: &Diff, most: usize, in_full: &str) -> String {
    let diff = &diff.folded();
    let all = [
        Detail::Everything,
        Detail::ShortValues,
        Detail::NoFields,
        Detail::NoResources,
        Detail::NoOverlays,
        Detail::SomeCauses,
        Detail::Summary,
        Detail::Counts,
    ];
    let mut texts = all.into_iter().map(|detail| comment(diff, detail, in_full, most));
    let fitting = texts.find(|text| text.len() <= most);
    // What is shorter than a sentence cannot say anything.
    fitting.unwrap_or_else(|| "krm diff\n".get(..most).unwrap_or("krm diff\n").to_owned())
}

fn comment(diff: &Diff, detail: Detail, in_full: &str, most: usize) -> String {
    let names: Vec<String> = short_names(diff);
    let mut out = heading_of(diff, detail);
    let overlays = |of: &[usize]| match detail >= Detail::NoOverlays {
        true => counted(of.len(), "overlay", "overlays"),
        false => escaped(&targets(of, diff, &names)),
    };
    out.push_str(&warnings(diff, detail, &overlays));
    out.push_str(&images(diff, detail, &overlays));
    let end = ending(diff, detail, in_full);
    match detail {
        Detail::SomeCauses => out.push_str(&some_causes(diff, most.saturating_sub(out.len() + end.len()))),
        Detail::Summary | Detail::Counts => {}
        _ => {
            for cause in &diff.causes {
                out.push('\n');
                out.push_str(&details(cause, diff, detail, &overlays));
            }
        }
    }
    sanitize::inert(&(out + &end)).into_owned()
}

fn heading_of(diff: &Diff, detail: Detail) -> String {
    if detail == Detail::Counts {
        let changed = diff.targets.iter().filter(|target| target.status != Status::Same).count();
        return format!("{changed} overlays change (of {}).\n", diff.targets.len());
    }
    let (from, to) = (code(&diff.from), code(&diff.to));
    let heading = match diff.overlays {
        true => format!("### How {from} and {to} differ"),
        false => format!("### What changes from {from} to {to}"),
    };
    format!("{heading}\n\n{}\n", escaped(summary(diff).trim_end()))
}

/// What a cluster will make of it.
fn warnings(diff: &Diff, detail: Detail, overlays: &dyn Fn(&[usize]) -> String) -> String {
    let all: Vec<&Flag> = diff.warnings().collect();
    if all.is_empty() {
        return String::new();
    }
    if detail >= Detail::SomeCauses {
        return format!("\n⚠️ {}\n", counted(all.len(), "warning", "warnings"));
    }
    const MOST: usize = 20;
    let most = if detail >= Detail::NoResources { MOST.min(all.len()) } else { all.len() };
    let mut out = String::from("\n");
    for flag in &all[..most] {
        let at = flag.place.as_ref().map(|at| format!(" ({})", code(&place(at)))).unwrap_or_default();
        let reached = overlays(&diff.changes[flag.change].targets);
        let _ = writeln!(out, "- ⚠️ {}{at}: {reached}", escaped(&flag.message));
    }
    if all.len() > most {
        let _ = writeln!(out, "- and {} more of these", all.len() - most);
    }
    out
}

fn images(diff: &Diff, detail: Detail, overlays: &dyn Fn(&[usize]) -> String) -> String {
    if diff.images.is_empty() || detail >= Detail::SomeCauses {
        return String::new();
    }
    let mut out = String::from("\n| image | from | to | overlays |\n| --- | --- | --- | --- |\n");
    for image in &diff.images {
        let (name, before, after) = (code(&image.name), code(&image.before), code(&image.after));
        let _ = writeln!(out, "| {name} | {before} | {after} | {} |", overlays(&image.targets));
    }
    out
}

/// As many causes as there is room for, and how many others there are.
fn some_causes(diff: &Diff, room: usize) -> String {
    let mut out = String::from("\n");
    for (number, cause) in diff.causes.iter().enumerate() {
        let line = format!("- {}\n", head(cause, diff, &changes_of(cause, diff)));
        let more = format!("- and {} more causes\n", diff.causes.len() - number);
        if out.len() + line.len() + more.len() > room {
            out.push_str(&more);
            break;
        }
        out.push_str(&line);
    }
    out
}

/// What cannot be built, and what was left out.
fn ending(diff: &Diff, detail: Detail, in_full: &str) -> String {
    let mut out = String::new();
    let failed: Vec<&TargetDiff> =
        diff.targets.iter().filter(|target| target.status == Status::Failed).collect();
    if !failed.is_empty() {
        let most = match detail {
            Detail::Counts => 0,
            Detail::Summary | Detail::SomeCauses => 2,
            _ => 20,
        };
        let mut shown: Vec<String> = failed.iter().take(most).map(|target| code(&target.directory)).collect();
        let more = failed.len() - shown.len();
        if more > 0 {
            shown.push(counted(more, "overlay", "overlays"));
        }
        let _ = writeln!(out, "\nCannot be built: {}", shown.join(", "));
    }
    if detail != Detail::Everything {
        let command = if in_full.contains('`') { code(in_full) } else { format!("`{in_full}`") };
        let _ = writeln!(out, "\n{} {command} shows everything.", detail.left_out());
    }
    out
}

fn changes_of<'d>(cause: &Cause, diff: &'d Diff) -> Vec<&'d Change> {
    cause.changes.iter().map(|id| &diff.changes[*id]).collect()
}

/// Where a cause is, and how much it does.
fn head(cause: &Cause, diff: &Diff, changes: &[&Change]) -> String {
    let at = match (&cause.place, &cause.what) {
        (Some(at), None) => code(&place(at)),
        (Some(at), Some(what)) => format!("{} {}", code(&place(at)), escaped(what)),
        (None, what) => escaped(what.as_deref().unwrap_or_default()),
    };
    let whole = changes.iter().filter(|change| change.field.is_empty()).count();
    let counts = [
        (whole, "resource", "resources"),
        (changes.len() - whole, "field", "fields"),
        (reached(changes, diff).len(), "overlay", "overlays"),
    ];
    let counts = counts.into_iter().filter(|(count, _, _)| *count > 0);
    let counts = counts.map(|(count, one, many)| counted(count, one, many)).collect::<Vec<_>>().join(", ");
    let also = and_in(cause);
    let also = if also.is_empty() { also } else { format!(" {}", escaped(also.trim())) };
    format!("{at}{also}: {counts}")
}

/// The overlays that some changes are in.
fn reached(changes: &[&Change], diff: &Diff) -> Vec<usize> {
    let mut is_reached = vec![false; diff.targets.len()];
    changes.iter().flat_map(|change| &change.targets).for_each(|at| is_reached[*at] = true);
    (0..is_reached.len()).filter(|at| is_reached[*at]).collect()
}

fn details(cause: &Cause, diff: &Diff, detail: Detail, overlays: &dyn Fn(&[usize]) -> String) -> String {
    let changes = changes_of(cause, diff);
    let own: Vec<&&Change> = changes.iter().filter(|change| change.follows.is_none()).collect();
    let follow = changes.len() - own.len();
    let reached = reached(&changes, diff);
    let mut resources: Vec<String> = changes.iter().map(|change| label(change)).collect();
    resources.sort();
    resources.dedup();
    let mut out = format!("<details><summary>{}</summary>\n\n", head(cause, diff, &changes));
    let lines = [('-', &cause.before), ('+', &cause.after)];
    let lines: Vec<String> = lines
        .into_iter()
        .filter_map(|(sign, line)| line.as_ref().map(|line| format!("{sign} {}\n", cut(line, detail))))
        .collect();
    if !lines.is_empty() {
        let fence = fence(&lines.concat());
        let _ = write!(out, "{fence}diff\n{}{fence}\n\n", lines.concat());
    }
    match detail {
        Detail::Everything | Detail::ShortValues => {
            out.push_str(
                "| resource | field | before | after | overlays |\n| --- | --- | --- | --- | --- |\n",
            );
            for change in own {
                let (before, after) = match change.field.is_empty() {
                    true => (String::new(), change.kind.name().to_owned()),
                    false => {
                        let (before, after) = values(change);
                        (code(&cut(&before, detail)), code(&cut(&after, detail)) + similar(change))
                    }
                };
                let _ = writeln!(
                    out,
                    "| {} | {} | {before} | {after} | {} |",
                    escaped(&label(change)),
                    if change.field.is_empty() { String::new() } else { code(&change.field) },
                    overlays(&change.targets)
                );
            }
            if follow > 0 {
                let _ = writeln!(out, "\n{follow} more follow from these.");
            }
        }
        Detail::NoFields => {
            let _ = writeln!(out, "{} in {}", escaped(&resources.join(", ")), overlays(&reached));
        }
        _ => {
            let count = counted(resources.len(), "resource", "resources");
            let _ = writeln!(out, "{count} in {}", overlays(&reached));
        }
    }
    out.push_str("\n</details>\n");
    out
}

/// A fence that nothing in a text ends.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

fn cut(text: &str, detail: Detail) -> String {
    const MOST: usize = 200;
    match detail >= Detail::ShortValues && text.chars().count() > MOST {
        true => format!("{}…", text.chars().take(MOST).collect::<String>()),
        false => text.to_owned(),
    }
}

/// A text that is nothing but text.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '|' => out.push_str("&#124;"),
            '`' => out.push_str("&#96;"),
            '@' => out.push_str("&#64;"),
            '*' | '_' | '[' | ']' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A text as code, also within a table.
fn code(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let mut out = String::from("<code>");
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '|' => out.push_str("&#124;"),
            '*' => out.push_str("&#42;"),
            '_' => out.push_str("&#95;"),
            '`' => out.push_str("&#96;"),
            '@' => out.push_str("&#64;"),
            '[' => out.push_str("&#91;"),
            '\\' => out.push_str("&#92;"),
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out + "</code>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_users_stay_texts() {
        assert_eq!(code("a|b</code>"), "<code>a&#124;b&lt;/code&gt;</code>");
        assert_eq!(escaped("@you *a* [b]"), "&#64;you \\*a\\* \\[b\\]");
    }
}
