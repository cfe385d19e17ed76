//! From a line of a source file to where it ends up.

use krm_engine::explain::{Found, changes_value, each_scalar, json, text};
use krm_engine::trace::{Cause, EventKind, Segment};
use krm_engine::{Diagnostic, Node, Result, Span};

use super::{Answerer, Format, Traced};
use crate::os;
use crate::report::sanitize;

/// Where a scalar of the line ends up in a target.
struct Arrival {
    target: String,
    resource: String,
    /// The field it decides, or what became of it.
    outcome: String,
    reached: bool,
}

pub(super) fn explain(answerer: &Answerer, place: &str, all: &[Traced], format: Format) -> Result<()> {
    let (file, line) = parse(place)?;
    let mut arrivals = Vec::new();
    let mut written = String::new();
    for one in all {
        let before = arrivals.len();
        for (track, seen, present) in one.trace.resources() {
            let found = Found { track, seen, present };
            each_scalar(&seen.node, &mut Vec::new(), &mut |_, path| {
                let events = one.trace.history(track, path);
                let is_here = |span: Span| on_line(answerer, span, &file, line);
                let Some(at) = events.iter().rposition(|event| is_here(event.written)) else { return };
                written = written_text(answerer, events[at].written);
                let changed = events[at + 1..].iter().find(|event| changes_value(event));
                let resource = format!("{} {}", seen.id.gvk.kind, seen.id.name);
                arrivals.push(match changed {
                    None if present => Arrival {
                        target: one.target.clone(),
                        resource,
                        outcome: shown(answerer, one, &found, path),
                        reached: true,
                    },
                    None => Arrival {
                        target: one.target.clone(),
                        resource,
                        outcome: "nothing: the resource is not in the result".to_owned(),
                        reached: false,
                    },
                    Some(event) => {
                        // What a program printed is nowhere to be found.
                        let is_function = event.kind == EventKind::ByFunction;
                        let written = if is_function { Span::NONE } else { event.written };
                        let by = text::place(written, &answerer.report.sources)
                            .or_else(|| text::place(event.asked, &answerer.report.sources))
                            .unwrap_or_else(|| event.step.name.to_string());
                        let how = match event.kind {
                            EventKind::ByFunction => format!("changed by the function at {by}"),
                            EventKind::Set => format!("overwritten by {by}"),
                            kind => format!("{} by {by}", kind.name()),
                        };
                        Arrival {
                            target: one.target.clone(),
                            resource,
                            outcome: format!("{}, then {how}", shown(answerer, one, &found, path)),
                            reached: event.kind != EventKind::Set,
                        }
                    }
                });
            });
        }
        if arrivals.len() == before {
            arrivals.push(vanished(answerer, one, &file, line));
        }
    }
    let text = match format {
        Format::Text => {
            let width = |of: &dyn Fn(&Arrival) -> usize| arrivals.iter().map(of).max().unwrap_or(0);
            let (first, second) = (width(&|a| a.target.len()), width(&|a| a.resource.len()));
            let head = if written.is_empty() { place.to_owned() } else { written };
            let lines = arrivals.iter().map(|a| {
                let line = format!("  {:<first$}   {:<second$}   {}", a.target, a.resource, a.outcome);
                format!("{}\n", line.trim_end())
            });
            format!("{head}  reaches\n{}", lines.collect::<String>())
        }
        Format::Json => json::list(arrivals.iter().map(|a| {
            let mut object = Node::map();
            object.set("directory", a.target.as_str());
            object.set("resource", a.resource.as_str());
            object.set("outcome", a.outcome.as_str());
            object.set("reached", a.reached);
            object
        })),
    };
    os::print(sanitize::inert(&text).as_bytes())?;
    Diagnostic::join(all.iter().filter_map(|one| one.failure().err())).map_or(Ok(()), Err)
}

/// What became of a line that is nowhere in the result: the steps that overwrote or removed what it wrote.
fn vanished(answerer: &Answerer, one: &Traced, file: &str, line: usize) -> Arrival {
    let mut by = Vec::new();
    collect(answerer, &one.trace, file, line, &mut by);
    by.dedup();
    let outcome = match by.is_empty() {
        true => "nothing".to_owned(),
        false => format!("nothing: {}", by.join(", then ")),
    };
    Arrival { target: one.target.clone(), resource: String::new(), outcome, reached: false }
}

fn collect(answerer: &Answerer, trace: &krm_engine::Trace, file: &str, line: usize, by: &mut Vec<String>) {
    for step in &trace.steps {
        if let Some(within) = &step.within {
            collect(answerer, within, file, line, by);
        }
        for change in &step.changes {
            let Some(before) = &change.before else { continue };
            each_scalar(&before.node, &mut Vec::new(), &mut |node, path| {
                if !on_line(answerer, node.span(), file, line) {
                    return;
                }
                let after = change.after.as_ref();
                let is_there = after.is_some_and(|after| contains(&after.node, node.span()));
                if is_there {
                    return;
                }
                let is_function = step.notes.iter().any(|note| matches!(note.cause, Cause::Called { .. }));
                let now = after.filter(|_| !is_function);
                let now = now.and_then(|after| krm_engine::trace::at(&after.node, path));
                let asked = text::place(step.place, &answerer.report.sources)
                    .unwrap_or_else(|| step.name.to_string());
                by.push(match now.and_then(|now| text::place(now.span(), &answerer.report.sources)) {
                    Some(place) => format!("overwritten by {place}"),
                    None if after.is_none() => format!("its resource is deleted by {asked}"),
                    None if is_function => format!("changed by the function at {asked}"),
                    None => format!("removed by {asked}"),
                });
            });
        }
    }
}

fn contains(node: &Node, span: Span) -> bool {
    let mut found = false;
    each_scalar(node, &mut Vec::new(), &mut |node, _| found |= node.span() == span);
    found
}

fn shown(answerer: &Answerer, one: &Traced, found: &Found, path: &[Segment]) -> String {
    let place = krm_engine::explain::Where::in_result(&one.trace, found, path.to_vec());
    answerer.explain(&place).field
}

/// `key: value` as it is written.
fn written_text(answerer: &Answerer, span: Span) -> String {
    let Some(source) = answerer.report.sources.get(span.file) else { return String::new() };
    let line = source.position(span.start as usize).line;
    let text = answerer.hidden.lines(&source).line(&source, line);
    let text = text.trim();
    text.split(" #").next().unwrap_or(text).trim_end().to_owned()
}

fn on_line(answerer: &Answerer, span: Span, file: &str, line: usize) -> bool {
    let Some(source) = answerer.report.sources.get(span.file) else { return false };
    same_file(source.name(), file) && {
        let (from, to) = (source.position(span.start as usize).line, source.position(span.end as usize).line);
        from <= line && line <= to
    }
}

fn same_file(a: &str, b: &str) -> bool {
    let plain = |path: &str| krm_engine::files::clean(std::path::Path::new(path));
    plain(a) == plain(b)
}

/// `FILE:LINE[:COLUMN]`.
fn parse(place: &str) -> Result<(String, usize)> {
    let wrong = || {
        Diagnostic::error("explain-source-line", format!("`{place}` does not name a line of a file"))
            .help("write `FILE:LINE`, as in `base/web.yaml:17`")
    };
    let (file, line) = place.rsplit_once(':').ok_or_else(wrong)?;
    let (file, line) = match file.rsplit_once(':') {
        Some((name, number)) if number.parse::<usize>().is_ok() => (name, number),
        _ => (file, line),
    };
    let line = line.parse().map_err(|_| wrong())?;
    if !std::path::Path::new(file).is_file() {
        return Err(Diagnostic::error("explain-source-file", format!("there is no file `{file}`")));
    }
    Ok((file.to_owned(), line))
}
