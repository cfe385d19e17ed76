//! The same without script: what each step changed, and the result with the place of every line.

use std::fmt::Write as _;

use krm_engine::page::{Field, FieldEvents, Page, Resource, Version};

use super::graph::label;
use super::{Counts, counted, escaped, prose};

/// The most changed lines to show in all.
const MOST_CHANGED: usize = 4000;
/// The lines to show around a change.
const AROUND: usize = 2;
/// A result that is longer is shown as the build prints it, without the places of its lines: they would be longer than it.
const MOST_PLACED: usize = 8000;
/// How many resources it then shows in one piece.
const PIECE: usize = 100;
/// How many resources are open at first.
const OPEN: usize = 12;

pub fn write(page: &Page, counts: &Counts, out: &mut String) {
    if let Some(failure) = &page.failure {
        let _ = writeln!(
            out,
            "<section class=\"failure\"><h2>The build failed</h2><pre>{}</pre></section>",
            escaped(failure)
        );
    }
    if !page.warnings.is_empty() {
        out.push_str("<section><h2>Warnings</h2>\n<ul class=\"warnings\">\n");
        for warning in &page.warnings {
            let place = warning.place.map(|place| format!(" <code>{}</code>", escaped(&page.place(place))));
            let advice: String =
                warning.advice.iter().map(|advice| format!("<br>{}", prose(advice))).collect();
            let _ =
                writeln!(out, "<li>{}{}{advice}</li>", prose(&warning.message), place.unwrap_or_default());
        }
        out.push_str("</ul></section>\n");
    }
    let all = replayed(page);
    write_steps(page, counts, &all, out);
    write_result(page, counts, &all, out);
}

/// The lines of every version of a resource.
type Lines = Vec<Vec<(u32, u32)>>;

fn replayed(page: &Page) -> Vec<Lines> {
    let versions = |resource: &Resource| {
        let mut lines: Lines = Vec::new();
        for version in &resource.versions {
            let before = lines.last().map_or(&[][..], Vec::as_slice);
            let mut now = Vec::with_capacity(before.len());
            let mut at = 0;
            for hunk in &version.hunks {
                now.extend_from_slice(&before[at..hunk.at as usize]);
                now.extend(hunk.added.iter().map(|line| (line.text, line.field)));
                at = (hunk.at + hunk.removed) as usize;
            }
            now.extend_from_slice(&before[at..]);
            lines.push(now);
        }
        lines
    };
    page.resources.iter().map(versions).collect()
}

fn name_of(page: &Page, resource: &Resource, version: &Version) -> String {
    let (kind, name) = (page.text(resource.kind), page.text(version.name));
    match page.text(version.namespace) {
        "" => format!("{} <bdi>{}</bdi>", escaped(kind), escaped(name)),
        namespace => {
            format!("{} <bdi>{}</bdi> <small>in {}</small>", escaped(kind), escaped(name), escaped(namespace))
        }
    }
}

fn write_steps(page: &Page, counts: &Counts, all: &[Lines], out: &mut String) {
    out.push_str("<section><h2>What each step did</h2>\n");
    let mut by_step: Vec<Vec<(usize, Option<usize>)>> = vec![Vec::new(); page.steps.len()];
    for (number, resource) in page.resources.iter().enumerate() {
        for (at, version) in resource.versions.iter().enumerate() {
            by_step[version.step as usize].push((number, Some(at)));
        }
        resource.gone.into_iter().for_each(|step| by_step[step as usize].push((number, None)));
    }
    let mut left = MOST_CHANGED;
    for (number, step) in page.steps.iter().enumerate() {
        let layer = &page.layers[step.layer as usize];
        let [came, changed, went] = counts.steps[number];
        let words: Vec<String> = [(came, "added"), (changed, "changed"), (went, "removed")]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{} {word}", counted(count, "resource")))
            .collect();
        let words = if words.is_empty() { "changes nothing".to_owned() } else { words.join(", ") };
        let place = step.place.map(|place| format!(" · <code>{}</code>", escaped(&page.place(place))));
        let _ = writeln!(
            out,
            "<section id=\"step-{number}\"><h3>{} · {}</h3><p>{words}{}</p>",
            escaped(&layer.name),
            escaped(&label(step, layer.kind)),
            place.unwrap_or_default()
        );
        for (resource, version) in &by_step[number] {
            let lines = &all[*resource];
            let resource = &page.resources[*resource];
            match version {
                // All of it is new: the result shows it.
                Some(0) => {}
                Some(version) if left > 0 => {
                    let before = &lines[*version - 1];
                    let version = &resource.versions[*version];
                    let _ = write!(out, "<h4>{}</h4><pre>", name_of(page, resource, version));
                    left = left.saturating_sub(write_hunks(page, before, version, out));
                    out.push_str("</pre>\n");
                }
                Some(_) => {}
                None => {
                    let last = resource.versions.last().expect("it was there before it went");
                    let _ = writeln!(out, "<p>removes {}</p>", name_of(page, resource, last));
                }
            }
        }
        out.push_str("</section>\n");
    }
    if left == 0 {
        out.push_str("<p>Further changes are shown with script only.</p>\n");
    }
    out.push_str("</section>\n");
}

fn write_hunks(page: &Page, before: &[(u32, u32)], version: &Version, out: &mut String) -> usize {
    let mut written = 0;
    let mut line = |class: &str, sign: char, text: u32, out: &mut String| {
        written += 1;
        let text = escaped(page.text(text));
        let _ = match class {
            "" => writeln!(out, "{sign} {text}"),
            class => writeln!(out, "<{class}>{sign} {text}</{class}>"),
        };
    };
    let mut shown = 0;
    for hunk in &version.hunks {
        let (at, end) = (hunk.at as usize, (hunk.at + hunk.removed) as usize);
        let from = at.saturating_sub(AROUND).max(shown);
        before[from.min(at)..at].iter().for_each(|(text, _)| line("", ' ', *text, out));
        before[at..end].iter().for_each(|(text, _)| line("del", '-', *text, out));
        hunk.added.iter().for_each(|added| line("ins", '+', added.text, out));
        let to = (end + AROUND).min(before.len());
        before[end..to].iter().for_each(|(text, _)| line("", ' ', *text, out));
        shown = to;
    }
    written
}

fn write_result(page: &Page, counts: &Counts, all: &[Lines], out: &mut String) {
    let _ = writeln!(out, "<section id=\"result\"><h2>Result: {}</h2>", counted(counts.result, "resource"));
    let there = || page.resources.iter().zip(all).filter(|(resource, _)| resource.gone.is_none());
    let total: usize = there().map(|(_, lines)| lines.last().map_or(0, Vec::len)).sum();
    match total <= MOST_PLACED {
        true => write_placed(page, counts, there(), out),
        false => write_pieces(page, there(), out),
    }
    out.push_str("</section>\n");
}

/// Each resource by itself, with the place of every line.
fn write_placed<'p>(
    page: &Page,
    counts: &Counts,
    all: impl Iterator<Item = (&'p Resource, &'p Lines)>,
    out: &mut String,
) {
    let open = if counts.result <= OPEN { " open" } else { "" };
    for (resource, lines) in all {
        let (Some(lines), Some(version)) = (lines.last(), resource.versions.last()) else { continue };
        let _ = write!(out, "<details{open}><summary>{}</summary><pre>", name_of(page, resource, version));
        for (text, field) in lines {
            let text = escaped(page.text(*text));
            let _ = match place_of(page, &resource.fields[*field as usize]) {
                Some(place) => writeln!(out, "{text}<i>{}</i>", escaped(&place)),
                None => writeln!(out, "{text}"),
            };
        }
        out.push_str("</pre></details>\n");
    }
}

/// As the build prints it, in pieces that a browser can skip.
fn write_pieces<'p>(page: &Page, all: impl Iterator<Item = (&'p Resource, &'p Lines)>, out: &mut String) {
    let all: Vec<_> = all.collect();
    for (number, piece) in all.chunks(PIECE).enumerate() {
        let from = number * PIECE + 1;
        let _ = write!(out, "<details><summary>{from} to {}</summary><pre>", from + piece.len() - 1);
        for (at, (_, lines)) in piece.iter().enumerate() {
            if at > 0 {
                out.push_str("---\n");
            }
            for (text, _) in lines.last().into_iter().flatten() {
                let _ = writeln!(out, "{}", escaped(page.text(*text)));
            }
        }
        out.push_str("</pre></details>\n");
    }
}

/// Where a line of the result comes from.
fn place_of(page: &Page, field: &Field) -> Option<String> {
    match &field.events {
        FieldEvents::Written(place) => Some(page.place(*place)),
        FieldEvents::Several(events) => {
            let event = if field.is_leaf { events.last() } else { events.first() };
            let event = &page.events[*event? as usize];
            Some(match event.place {
                Some(place) => page.place(place),
                None => page.text(event.label).to_owned(),
            })
        }
    }
}
