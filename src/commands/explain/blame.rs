//! The whole result, each line with the place it comes from.

use krm_engine::explain::lines::{key_place, lines};
use krm_engine::explain::text::line_of;
use krm_engine::explain::{Site, changes_value, configured_at, json, read_from};
use krm_engine::trace::{EventKind, Segment, at};
use krm_engine::{Node, Result};

use super::{Answerer, Format, Traced, colour};
use crate::os;
use crate::report::columns::{folded, padded, width};
use crate::report::{self, sanitize};

pub fn print(answerer: &Answerer, one: &Traced, format: Format) -> Result<()> {
    let mut rows: Vec<(String, String)> = Vec::new();
    for (number, (track, seen)) in one.trace.result.iter().enumerate() {
        if number > 0 {
            rows.push((String::new(), "---".to_owned()));
        }
        for line in lines(&answerer.hidden.tree(&seen.node))? {
            rows.push((origin(answerer, one, *track, &seen.node, &line.path), line.text));
        }
    }
    if format == Format::Json {
        let line = |(origin, text): &(String, String)| {
            let mut object = Node::map();
            object.set("text", text.as_str());
            object.set("origin", origin.as_str());
            object
        };
        let text = json::list(Some(("directory", &one.target)), "lines", rows.iter().map(line));
        answerer.show(&sanitize::inert(&text), format)?;
        return one.failure();
    }
    let column = rows.iter().map(|(place, _)| width(place)).max().unwrap_or(0);
    // At a terminal that is too narrow for both, the line matters more than the way to its file.
    let longest = rows.iter().map(|(_, line)| width(line)).max().unwrap_or(0);
    let column = match os::terminal_width() {
        Some(room) if column + 3 + longest > room => {
            let most = room.saturating_sub(longest + 3).max(room * 2 / 5).min(column);
            rows.iter_mut().for_each(|(place, _)| *place = shortened(place, most));
            most
        }
        _ => column,
    };
    let line = |(place, line): &(String, String)| format!("{} │ {line}\n", padded(place, column));
    let text: String = rows.iter().map(line).collect();
    let text = sanitize::inert(&text);
    // The places are shortened, and so lead nowhere.
    match answerer.report.colours.on_stdout() {
        true => report::show(&colour::blame(&text), answerer.no_pager)?,
        false => report::show(&text, answerer.no_pager)?,
    }
    one.failure()
}

/// A place without the first folders of its path, as far as there is no room for them.
fn shortened(place: &str, room: usize) -> String {
    let mut rest = place;
    while width(rest) + 2 > room
        && width(place) > room
        && let Some((_, shorter)) = rest.split_once('/')
    {
        rest = shorter;
    }
    let short = if rest.len() == place.len() { place.to_owned() } else { format!("…/{rest}") };
    folded(&short, room, 0..0)
}

/// Where a line comes from: the last place that set it, and how many steps did before.
fn origin(
    answerer: &Answerer,
    one: &Traced,
    track: krm_engine::Track,
    root: &Node,
    path: &[Segment],
) -> String {
    let value = at(root, path);
    // A line that only opens a map or a list is as old as its key.
    let is_leaf = value.is_some_and(|value| value.is_scalar() || value.is_empty());
    let events = one.trace.history(track, path);
    let counted = events.iter().filter(|event| changes_value(event));
    let event = match is_leaf {
        true => counted.clone().next_back(),
        false => counted.clone().next(),
    };
    let Some(event) = event else { return String::new() };
    let more = if is_leaf { counted.count().saturating_sub(1) } else { 0 };
    let place = match event.kind {
        EventKind::Followed => event.causes.iter().find_map(|cause| match cause {
            krm_engine::trace::Cause::Followed { kind, before, .. } => {
                Some(format!("→ {} {before}", kind.kind))
            }
            _ => None,
        }),
        EventKind::Hashed => Some("→ hash".to_owned()),
        EventKind::Copied => event.causes.iter().find_map(|cause| match cause {
            krm_engine::trace::Cause::Copied { path, .. } => line_of(*path, &answerer.report.sources),
            _ => None,
        }),
        EventKind::ByFunction => {
            let place = line_of(configured_at(event), &answerer.report.sources);
            Some(format!("function {}", place.unwrap_or_else(|| event.step.name.to_string())))
        }
        EventKind::Inflated => line_of(event.asked, &answerer.report.sources).map(|at| format!("chart {at}")),
        EventKind::Generated => read_from(event, &answerer.report.sources).and_then(|site| match site {
            Site::File(path) => Some(path.to_string_lossy().into_owned()),
            Site::Line(path, line) => Some(format!("{}:{line}", path.to_string_lossy())),
            Site::Text(_) => None,
        }),
        _ => None,
    };
    // A map or a list begins where its key is written, not where its first value is.
    let key = (!is_leaf).then(|| key_place(root, path)).flatten();
    let place = place
        .or_else(|| line_of(key?, &answerer.report.sources))
        .or_else(|| line_of(event.written, &answerer.report.sources))
        .or_else(|| line_of(event.asked, &answerer.report.sources))
        .unwrap_or_else(|| event.step.name.to_string());
    match more {
        0 => place,
        more => format!("{place} *{more}"),
    }
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn a_place_is_shortened_from_the_left() {
        let place = "overlays/production/kustomization.yaml:43 *2";
        assert_eq!(shortened(place, 50), place);
        assert_eq!(shortened(place, 37), "…/production/kustomization.yaml:43 *2");
        assert_eq!(shortened(place, 30), "…/kustomization.yaml:43 *2");
        assert_eq!(shortened(place, 12), "…/kus…:43 *2");
    }
}
