//! Differences as a comment on a pull request: a summary that always fits, and below it as much as there is room for.

use std::fmt::Write as _;

use krm_engine::diff::{Cause, Change, Diff};

use super::text::{counted, label, place, similar, summary, targets, values};
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
    /// Causes are counted.
    Summary,
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
            Detail::Summary => "All but the summary is left out.",
        }
    }
}

/// The whole comment, no longer than `most` bytes as long as the summary fits.
///
/// `in_full` is the command that shows what is left out.
pub fn text(diff: &Diff, most: usize, in_full: &str) -> String {
    let all = [
        Detail::Everything,
        Detail::ShortValues,
        Detail::NoFields,
        Detail::NoResources,
        Detail::NoOverlays,
        Detail::Summary,
    ];
    let texts = all.into_iter().map(|detail| sanitize::inert(&comment(diff, detail, in_full)).into_owned());
    let mut last = String::new();
    for text in texts {
        last = text;
        if last.len() <= most {
            break;
        }
    }
    last
}

fn comment(diff: &Diff, detail: Detail, in_full: &str) -> String {
    let names: Vec<String> = diff.short_names();
    let (from, to) = (code(&diff.from), code(&diff.to));
    let mut out = match diff.overlays {
        true => format!("### How {from} and {to} differ\n\n"),
        false => format!("### What changes from {from} to {to}\n\n"),
    };
    let _ = writeln!(out, "{}", escaped(summary(diff).trim_end()));
    let overlays = |of: &[usize]| match detail >= Detail::NoOverlays {
        true => counted(of.len(), "overlay", "overlays"),
        false => escaped(&targets(of, diff, &names)),
    };
    if !diff.flags.is_empty() && detail == Detail::Summary {
        let _ = writeln!(out, "\n⚠️ {}", counted(diff.flags.len(), "warning", "warnings"));
    } else if !diff.flags.is_empty() {
        out.push('\n');
        const MOST: usize = 20;
        let most = if detail >= Detail::NoResources { MOST } else { usize::MAX };
        for flag in diff.flags.iter().take(most) {
            let at = flag.place.as_ref().map(|at| format!(" ({})", code(&place(at)))).unwrap_or_default();
            let _ = writeln!(
                out,
                "- ⚠️ {}{at}: {}",
                escaped(&flag.message),
                overlays(&diff.changes[flag.change].targets)
            );
        }
        if diff.flags.len() > most {
            let _ = writeln!(out, "- and {} more of these", diff.flags.len() - most);
        }
    }
    if !diff.images.is_empty() && detail < Detail::Summary {
        out.push_str("\n| image | from | to | overlays |\n| --- | --- | --- | --- |\n");
        for image in &diff.images {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} |",
                code(&image.name),
                code(&image.before),
                code(&image.after),
                overlays(&image.targets)
            );
        }
    }
    if detail < Detail::Summary {
        for cause in &diff.causes {
            out.push('\n');
            out.push_str(&details(cause, diff, detail, &overlays));
        }
    }
    let failed: Vec<&str> = diff
        .targets
        .iter()
        .filter(|target| target.errors.iter().any(Option::is_some))
        .map(|target| target.directory.as_str())
        .collect();
    if !failed.is_empty() {
        let shown: Vec<String> = failed
            .iter()
            .take(if detail == Detail::Summary { 2 } else { 20 })
            .map(|target| code(target))
            .collect();
        let _ = writeln!(out, "\nCannot be built: {}", shown.join(", "));
    }
    if detail != Detail::Everything {
        let command = if in_full.contains('`') { code(in_full) } else { format!("`{in_full}`") };
        let _ = writeln!(out, "\n{} {command} shows everything.", detail.left_out());
    }
    out
}

fn details(cause: &Cause, diff: &Diff, detail: Detail, overlays: &dyn Fn(&[usize]) -> String) -> String {
    let changes: Vec<&Change> = cause.changes.iter().map(|id| &diff.changes[*id]).collect();
    let own: Vec<&&Change> = changes.iter().filter(|change| change.follows.is_none()).collect();
    let follow = changes.len() - own.len();
    let mut reached: Vec<usize> = changes.iter().flat_map(|change| change.targets.iter().copied()).collect();
    reached.sort_unstable();
    reached.dedup();
    let mut resources: Vec<String> = changes.iter().map(|change| label(change)).collect();
    resources.sort();
    resources.dedup();
    let head = match (&cause.place, &cause.what) {
        (Some(at), None) => code(&place(at)),
        (Some(at), Some(what)) => format!("{} {}", code(&place(at)), escaped(what)),
        (None, what) => escaped(what.as_deref().unwrap_or_default()),
    };
    let whole = changes.iter().filter(|change| change.field.is_empty()).count();
    let counts = [
        (whole, "resource", "resources"),
        (changes.len() - whole, "field", "fields"),
        (reached.len(), "overlay", "overlays"),
    ];
    let counts = counts.into_iter().filter(|(count, _, _)| *count > 0);
    let counts = counts.map(|(count, one, many)| counted(count, one, many)).collect::<Vec<_>>().join(", ");
    let mut out = format!("<details><summary>{head}: {counts}</summary>\n\n");
    // A fence longer than any in the lines themselves.
    if cause.before.is_some() || cause.after.is_some() {
        out.push_str("````diff\n");
        for (sign, line) in [('-', &cause.before), ('+', &cause.after)] {
            if let Some(line) = line {
                let _ = writeln!(out, "{sign} {}", cut(&line.replace('`', "'"), detail));
            }
        }
        out.push_str("````\n\n");
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
