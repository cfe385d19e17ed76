//! The whole result, each line with the place it comes from.

use krm_engine::explain::Found;
use krm_engine::pipeline::trace::{EventKind, Segment, at};
use krm_engine::{Diagnostic, Node, Result, Span};

use super::text::line_of;
use super::{Answerer, Traced};
use crate::os;

/// A line of the output, and the field that is in it.
struct Line {
    text: String,
    path: Vec<Segment>,
}

pub fn print(answerer: &Answerer, one: &Traced) -> Result<()> {
    let mut rows: Vec<(String, String)> = Vec::new();
    for (number, (track, seen)) in one.trace.result.iter().enumerate() {
        if number > 0 {
            rows.push((String::new(), "---".to_owned()));
        }
        for line in lines(&seen.node)? {
            rows.push((origin(answerer, one, *track, &seen.node, &line.path), line.text));
        }
    }
    let width = rows.iter().map(|(place, _)| place.chars().count()).max().unwrap_or(0);
    let text: String = rows.iter().map(|(place, line)| format!("{place:<width$} │ {line}\n")).collect();
    os::print(text.as_bytes())?;
    one.failure()
}

/// Where a line comes from: the last place that set it, and how many steps did before.
fn origin(
    answerer: &Answerer,
    one: &Traced,
    track: krm_engine::resource::Track,
    root: &Node,
    path: &[Segment],
) -> String {
    let value = at(root, path);
    // A line that only opens a map or a list is as old as its key.
    let is_leaf = value.is_some_and(|value| value.is_scalar() || value.is_empty());
    let events = one.trace.history(track, path);
    let counted = events.iter().filter(|event| event.kind != EventKind::Moved);
    let event = match is_leaf {
        true => counted.clone().next_back(),
        false => counted.clone().next(),
    };
    let Some(event) = event else { return String::new() };
    let more = if is_leaf { counted.count().saturating_sub(1) } else { 0 };
    let place = match event.kind {
        EventKind::Followed => event.causes.iter().find_map(|cause| match cause {
            krm_engine::pipeline::trace::Cause::Followed { kind, before, .. } => {
                Some(format!("→ {} {before}", kind.kind))
            }
            _ => None,
        }),
        EventKind::Hashed => Some("→ hash".to_owned()),
        EventKind::Copied => event.causes.iter().find_map(|cause| match cause {
            krm_engine::pipeline::trace::Cause::Copied { path, .. } => line_of(*path, answerer.report),
            _ => None,
        }),
        EventKind::ByFunction => Some(format!("function {}", event.step.name)),
        _ => None,
    };
    // A map or a list begins where its key is written, not where its first value is.
    let key = (!is_leaf).then(|| key_place(root, path)).flatten();
    let place = place
        .or_else(|| line_of(key?, answerer.report))
        .or_else(|| line_of(event.written, answerer.report))
        .or_else(|| line_of(event.asked, answerer.report))
        .unwrap_or_else(|| event.step.name.to_string());
    match more {
        0 => place,
        more => format!("{place} *{more}"),
    }
}

/// Where the key of a field is written.
fn key_place(root: &Node, path: &[Segment]) -> Option<Span> {
    let (Segment::Key(last), above) = path.split_last()? else { return None };
    let map = at(root, above)?.as_map()?;
    map.iter().find(|entry| entry.key.text() == Some(last)).map(|entry| entry.key.span())
}

/// What `krm build` prints of a resource, line by line, each with the field it shows.
fn lines(root: &Node) -> Result<Vec<Line>> {
    let mut text = String::new();
    krm_yaml::try_canonical_into(root, &mut text)?;
    // What was printed is read again, so that each line is known by the place of the field in it.
    let source = krm_engine::Source::detached("output", text.as_str());
    let printed = krm_yaml::parse(&source)?.into_iter().next().map(|document| document.root);
    let mut starts: Vec<(usize, Vec<Segment>)> = Vec::new();
    if let Some(printed) = &printed {
        visit(printed, &mut Vec::new(), &mut |offset, path| starts.push((offset, path.to_vec())));
    }
    starts.sort_by_key(|(offset, path)| (*offset, path.len()));
    let mut offset = 0;
    let mut next = 0;
    let mut path = Vec::new();
    let lines = text.split_inclusive('\n').map(|line| {
        let end = offset + line.len();
        // The deepest field that begins in the line; a line of a long text belongs to the field it began in.
        while starts.get(next).is_some_and(|(start, _)| *start < end) {
            path = starts[next].1.clone();
            next += 1;
        }
        offset = end;
        Line { text: line.trim_end_matches('\n').to_owned(), path: path.clone() }
    });
    Ok(lines.collect())
}

/// Every field and element, with the offset of its key or dash.
fn visit(node: &Node, path: &mut Vec<Segment>, see: &mut dyn FnMut(usize, &[Segment])) {
    for entry in node.as_map().into_iter().flatten() {
        let Some(key) = entry.key.text() else { continue };
        path.push(Segment::Key(key.into()));
        see(entry.key.span().start as usize, path);
        visit(&entry.value, path, see);
        path.pop();
    }
    for (index, item) in node.items().iter().enumerate() {
        path.push(Segment::Index(index));
        if item.is_scalar() {
            see(item.span().start as usize, path);
        }
        visit(item, path, see);
        path.pop();
    }
}

/// The resource and field that a line of the output shows, counted from 1.
pub fn at_line<'t>(one: &'t Traced, wanted: usize) -> Result<(Found<'t>, Vec<Segment>)> {
    one.failure()?;
    let mut number = 0;
    for (at, (track, seen)) in one.trace.result.iter().enumerate() {
        if at > 0 {
            number += 1;
        }
        for line in lines(&seen.node)? {
            number += 1;
            if number == wanted {
                return Ok((Found { track: *track, seen, present: true }, line.path));
            }
        }
    }
    let message = format!("there is no line {wanted} to explain: the output has {number}");
    Err(Diagnostic::error("explain-no-line", message).help("lines are counted from 1, as in an editor"))
}
