//! Differences as a page: by cause, with the line that does it. There is nothing to compute, so there is no script either.

use std::fmt::Write as _;
use std::ops::Range;

use krm_engine::diff::{Cause, Change, ChangeKind, Diff, Flag, Status, TargetDiff};

use super::text::{and_in, heading, label, place, similar, summary, values};
use crate::page::{counted, escaped, plain_page};
use crate::report::columns::changed_words;
use crate::report::sanitize;

/// Longer lists are closed.
const MOST_OPEN: usize = 12;
/// So many warnings are seen at once.
const MOST_WARNINGS: usize = 5;

/// The text of the page.
pub fn page(diff: &Diff) -> String {
    let diff = &diff.folded();
    let names = diff.short_names();
    let changed = diff.targets.iter().filter(|target| target.status != Status::Same).count();
    let facts = match changed {
        0 => format!("{}, none differs", counted(diff.targets.len(), "overlay")),
        _ => format!("{} · {}", counted(changed, "overlay"), counted(diff.causes.len(), "cause")),
    };
    let title = format!("{} → {}", sanitize::left_to_right(&diff.from), sanitize::left_to_right(&diff.to));
    let mut nav = String::new();
    lists(diff, &mut nav);
    let class = if diff.differs() { "lead" } else { "empty" };
    let mut body = format!("<p class=\"{class}\">{}</p>\n", shown(summary(diff).trim_end()));
    warnings(diff, &names, &mut body);
    images(diff, &names, &mut body);
    for (number, cause) in diff.causes.iter().enumerate() {
        write_cause(number, cause, diff, &names, &mut body);
    }
    targets_of(diff, &mut body);
    plain_page(&title, &facts, ("Causes and overlays", &nav), ("What changes", &body))
}

/// What can be jumped to.
fn lists(diff: &Diff, out: &mut String) {
    let mut list = |heading: &str, rows: Vec<(String, String, String)>| {
        if rows.is_empty() {
            return;
        }
        let open = if rows.len() <= 60 { " open" } else { "" };
        let _ = writeln!(out, "<details class=\"list\"{open}><summary>{heading}</summary><ol>");
        for (to, text, badge) in rows {
            // Of a place too long for its row, the file is cut, not the line.
            let (text, line) = match text.rfind(':') {
                Some(at) if text[at + 1..].bytes().all(|byte| byte.is_ascii_digit()) => text.split_at(at),
                _ => (text.as_str(), ""),
            };
            let _ = writeln!(
                out,
                "<li><a class=\"row\" href=\"#{to}\"><span class=\"label\"><bdi>{}</bdi></span><span class=\"at\">{line}</span>\
                 <span class=\"badges\">{badge}</span></a></li>",
                shown(text)
            );
        }
        out.push_str("</ol></details>\n");
    };
    let cause = |(at, cause): (usize, &Cause)| {
        (format!("c{at}"), heading(cause), format!("~{}", cause.changes.len()))
    };
    list("Causes", diff.causes.iter().enumerate().map(cause).collect());
    let changed = diff.targets.iter().enumerate().filter(|(_, target)| target.status != Status::Same);
    let target = changed.map(|(at, target)| {
        let badge = match target.status {
            Status::Changed => format!("~{}", target.whole + target.fields + target.follow),
            status => status.name().to_owned(),
        };
        (format!("t{at}"), target.directory.clone(), badge)
    });
    list("Overlays", target.collect());
}

/// What a cluster will make of it, together: the changes themselves are what the page is about.
fn warnings(diff: &Diff, names: &[String], out: &mut String) {
    let all: Vec<&Flag> = diff.warnings().collect();
    if all.is_empty() {
        return;
    }
    let item = |flag: &&Flag| {
        let at =
            flag.place.as_ref().map(|at| format!(" <code>{}</code>", shown(&place(at)))).unwrap_or_default();
        let overlays = overlays(&diff.changes[flag.change].targets, names);
        format!("<li><p><b>{}</b>{at}</p>{overlays}</li>\n", shown(&flag.message))
    };
    let (first, more) = all.split_at(all.len().min(MOST_WARNINGS));
    let list = |flags: &[&Flag]| format!("<ul>\n{}</ul>", flags.iter().map(item).collect::<String>());
    let more = match more.len() {
        0 => String::new(),
        count => format!("<details><summary>and {count} more</summary>{}</details>", list(more)),
    };
    let _ = writeln!(out, "<div class=\"warned-box\">{}{more}</div>", list(first));
}

fn images(diff: &Diff, names: &[String], out: &mut String) {
    if diff.images.is_empty() {
        return;
    }
    out.push_str("<article class=\"card node\" id=\"images\"><h2>Images</h2>\n<ul class=\"effects\">\n");
    for image in &diff.images {
        let _ = writeln!(
            out,
            "<li><h3><code>{}</code></h3>{}{}</li>",
            shown(&image.name),
            two(Some(&image.before), Some(&image.after)),
            overlays(&image.targets, names)
        );
    }
    out.push_str("</ul></article>\n");
}

fn write_cause(number: usize, cause: &Cause, diff: &Diff, names: &[String], out: &mut String) {
    let changes: Vec<&Change> = cause.changes.iter().map(|id| &diff.changes[*id]).collect();
    let mut reached: Vec<usize> = changes.iter().flat_map(|change| change.targets.iter().copied()).collect();
    reached.sort_unstable();
    reached.dedup();
    let _ = writeln!(
        out,
        "<article class=\"card node\" id=\"c{number}\"><h2><code class=\"rname\">{}</code> <span class=\"facts\">{} · {}</span>\
         </h2>",
        shown(&(heading(cause) + &and_in(cause))),
        counted(changes.len(), "change"),
        counted(reached.len(), "overlay")
    );
    if cause.before.is_some() || cause.after.is_some() {
        out.push_str(&two(cause.before.as_deref(), cause.after.as_deref()));
    }
    out.push_str("<ul class=\"effects\">\n");
    let (own, follow): (Vec<&Change>, Vec<&Change>) =
        changes.iter().partition(|change| change.follows.is_none());
    own.iter().for_each(|change| write_change(change, names, out));
    out.push_str("</ul>\n");
    if !follow.is_empty() {
        let _ = writeln!(
            out,
            "<details><summary>and {} from that</summary><ul class=\"effects\">",
            match follow.len() {
                1 => "1 more follows".to_owned(),
                more => format!("{more} more follow"),
            }
        );
        follow.iter().for_each(|change| write_change(change, names, out));
        out.push_str("</ul></details>\n");
    }
    out.push_str("</article>\n");
}

fn write_change(change: &Change, names: &[String], out: &mut String) {
    let (class, sign) = match change.kind {
        ChangeKind::Added => ("add", "+"),
        ChangeKind::Removed => ("del", "−"),
        _ => ("mod", "~"),
    };
    let field = match change.field.is_empty() {
        true => format!(" <span class=\"facts\">{}</span>", change.kind.name()),
        false => format!(" <code>{}</code>", shown(&change.field)),
    };
    let _ = write!(
        out,
        "<li><h3><span class=\"sign {class}\" aria-hidden=\"true\">{sign}</span> <bdi class=\"rname\">{}</bdi>{field}</h3>",
        shown(&label(change))
    );
    if !change.field.is_empty() {
        let (before, after) = values(change);
        let after = after + similar(change);
        let given = |text: String, there: bool| there.then_some(text);
        let (before, after) = (given(before, change.before.is_some()), given(after, change.after.is_some()));
        out.push_str(&two(before.as_deref(), after.as_deref()));
        if change.masked {
            out.push_str("<p class=\"facts\">The values are not shown; they differ.</p>");
        }
    }
    out.push_str(&overlays(&change.targets, names));
    out.push_str("</li>\n");
}

/// Each overlay, with what could not be built.
fn targets_of(diff: &Diff, out: &mut String) {
    for (at, target) in diff.targets.iter().enumerate().filter(|(_, target)| target.status != Status::Same) {
        let _ = writeln!(
            out,
            "<article class=\"card node\" id=\"t{at}\"><h2><bdi class=\"rname\">{}</bdi> <span class=\"facts\">{}</span></h2>\
             <p class=\"facts\">{}</p>",
            shown(&target.directory),
            target.status.name(),
            size(target)
        );
        for error in target.errors.iter().flatten() {
            let _ = writeln!(out, "<div class=\"failure\"><pre>{}</pre></div>", shown(error.message()));
        }
        let own = |cause: &&(usize, &Cause)| {
            cause.1.changes.iter().any(|id| diff.changes[*id].targets.contains(&at))
        };
        let causes: Vec<(usize, &Cause)> = diff.causes.iter().enumerate().collect();
        let causes: Vec<_> = causes.iter().filter(own).collect();
        if !causes.is_empty() {
            out.push_str("<h3>caused by</h3><ul class=\"fields\">");
            for (number, cause) in causes {
                let _ =
                    write!(out, "<li><a href=\"#c{number}\"><bdi>{}</bdi></a></li>", shown(&heading(cause)));
            }
            out.push_str("</ul>");
        }
        out.push_str("</article>\n");
    }
}

/// How much of a target differs.
fn size(target: &TargetDiff) -> String {
    let mut parts = vec![counted(target.resources, "resource")];
    if target.status == Status::Changed && target.whole > 0 {
        parts.push(format!("{} added or removed", target.whole));
    }
    if target.fields > 0 {
        parts.push(counted(target.fields, "field"));
    }
    if target.follow > 0 {
        parts.push(format!("{} more follow", target.follow));
    }
    parts.join(", ")
}

/// What was and what is, one below the other, with the words that differ marked.
fn two(before: Option<&str>, after: Option<&str>) -> String {
    let [old, new] = match (before, after) {
        (Some(before), Some(after)) if before != after => changed_words(before, after),
        _ => [0..before.unwrap_or_default().len(), 0..after.unwrap_or_default().len()],
    };
    let line = |tag: &str, sign: &str, word: &str, text: &str, part: Range<usize>| {
        let (head, tail) = (shown(&text[..part.start]), shown(&text[part.end..]));
        let part = match &text[part] {
            "" => String::new(),
            part => format!("<{tag}>{}</{tag}>", shown(part)),
        };
        format!(
            "<div><span aria-hidden=\"true\">{sign}</span><span class=\"sr\">{word}: </span><bdi>{head}{part}{tail}</bdi></div>"
        )
    };
    let before = before.map(|text| line("del", "−", "before", text, old)).unwrap_or_default();
    let after = after.map(|text| line("ins", "+", "after", text, new)).unwrap_or_default();
    format!("<div class=\"change\">{before}{after}</div>")
}

fn overlays(of: &[usize], names: &[String]) -> String {
    let mut of = of.to_vec();
    of.sort_unstable();
    let links: Vec<String> =
        of.iter().map(|at| format!("<a href=\"#t{at}\"><bdi>{}</bdi></a>", shown(&names[*at]))).collect();
    match links.len() <= MOST_OPEN {
        true => format!("<p class=\"facts\">in {}</p>", links.join(", ")),
        false => format!(
            "<details><summary>in {}</summary><p>{}</p></details>",
            counted(links.len(), "overlay"),
            links.join(", ")
        ),
    }
}

/// A text of the user as HTML in which nothing turns the direction of writing.
fn shown(text: &str) -> String {
    escaped(&sanitize::left_to_right(text))
}
