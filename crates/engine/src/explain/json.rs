//! Histories as data. A new minor of the format adds fields and changes none.

use krm_yaml::{Node, Sources, Span};

use super::answer::{Because, Explanation, HistoryEntry, Moves};
use super::hidden::Hidden;
use super::sites::{Part, Site};
use super::text::Row;
use crate::pipeline::trace::{Input, InputKind};

const FORMAT: &str = "krm.explain/1";

/// JSON for a file or a terminal: indented, with a line break at the end.
pub fn pretty(node: &Node) -> String {
    krm_yaml::json::pretty(node) + "\n"
}

/// Several answers of one kind, and what they are about.
pub fn list(about: Option<(&str, &str)>, key: &str, all: impl Iterator<Item = Node>) -> String {
    let mut object = Node::map();
    object.set("format", FORMAT);
    if let Some((key, value)) = about {
        object.set(key, value);
    }
    object.set(key, Node::from(all.collect::<Vec<_>>()));
    pretty(&object)
}

/// A target that has no such resource or field, or does not build, beside others that have an answer.
pub fn without_answer(target: &str, state: &str) -> Node {
    let mut object = Node::map();
    object.set("format", FORMAT);
    object.set("directory", target);
    object.set("state", state);
    object
}

/// An answer about one field, in the format of [`JSON_SCHEMA`](super::JSON_SCHEMA). `target` is the folder that was built.
pub fn explanation(answer: &Explanation, target: &str, sources: &Sources, hidden: &Hidden) -> Node {
    let mut object = Node::map();
    object.set("format", FORMAT);
    object.set("directory", target);
    let mut resource = Node::map();
    resource.set("apiVersion", answer.gvk.api_version());
    resource.set("kind", &*answer.gvk.kind);
    resource.set("namespace", &*answer.namespace);
    resource.set("name", &*answer.name);
    resource
        .set("names", Node::from(answer.names.iter().map(|name| Node::from(&**name)).collect::<Vec<_>>()));
    set_place(&mut resource, "origin", answer.origin, sources);
    object.set("resource", resource);
    object.set("field", answer.field.as_str());
    object.set("pointer", answer.pointer.as_str());
    object.set("state", answer.state.name());
    if let Some(value) = &answer.value {
        object.set("value", value.clone());
    }
    object.set("history", entries(&answer.history, sources, hidden));
    object.set(
        "elements",
        Node::from(answer.elements.iter().map(|moves| element(moves, sources)).collect::<Vec<_>>()),
    );
    let misses = answer.misses.iter().map(|miss| {
        let mut object = Node::map();
        object.set("message", miss.message.as_str());
        if !miss.advice.is_empty() {
            let advice = miss.advice.iter().map(|advice| Node::from(advice.as_str()));
            object.set("advice", Node::from(advice.collect::<Vec<_>>()));
        }
        set_place(&mut object, "place", miss.place, sources);
        set_place(&mut object, "met", miss.met.unwrap_or(Span::NONE), sources);
        object
    });
    object.set("misses", Node::from(misses.collect::<Vec<_>>()));
    if !answer.sites.is_empty() {
        let places = answer.sites.iter().map(|(part, one)| site(*part, one, sources));
        object.set("places", Node::from(places.collect::<Vec<_>>()));
    }
    if !answer.left_alone.is_empty() {
        let steps = answer.left_alone.iter().map(|(step, at)| {
            let mut one = Node::map();
            one.set("step", step.as_str());
            set_place(&mut one, "place", *at, sources);
            one
        });
        object.set("leftAlone", Node::from(steps.collect::<Vec<_>>()));
    }
    object.set("masked", answer.masked);
    object
}

fn site(part: Part, site: &Site, sources: &Sources) -> Node {
    let mut object = Node::map();
    object.set("part", part.name());
    match site {
        Site::Text(span) => set_place(&mut object, "place", *span, sources),
        Site::File(_) | Site::Line(..) => add_file(&mut object, site),
    }
    object
}

fn file(site: &Site) -> Node {
    let mut object = Node::map();
    add_file(&mut object, site);
    object
}

fn add_file(object: &mut Node, site: &Site) {
    if let Site::File(path) | Site::Line(path, _) = site {
        object.set("file", &*path.to_string_lossy());
    }
    if let Site::Line(_, line) = site {
        object.set("line", *line as i64);
    }
}

fn entries(all: &[HistoryEntry], sources: &Sources, hidden: &Hidden) -> Node {
    Node::from(all.iter().map(|one| entry(one, sources, hidden)).collect::<Vec<_>>())
}

fn entry(entry: &HistoryEntry, sources: &Sources, hidden: &Hidden) -> Node {
    let mut object = Node::map();
    object.set("event", entry.event.name());
    if let Some(before) = &entry.before {
        object.set("before", before.clone());
    }
    if let Some(after) = &entry.after {
        object.set("after", after.clone());
    }
    if entry.masked && entry.before.is_some() {
        object.set("changed", entry.changed);
    }
    set_place(&mut object, "place", entry.place, sources);
    if let Some(read_from) = &entry.read_from {
        object.set("readFrom", file(read_from));
    }
    object.set("label", entry.label.as_str());
    object.set("layer", entry.layer.as_str());
    if let Some(step) = &entry.step {
        let mut data = Node::map();
        data.set("id", step.id.as_str());
        data.set("field", step.field.as_str());
        if let Some(index) = step.entry {
            data.set("entry", i64::from(index));
        }
        data.set("role", step.role);
        set_place(&mut data, "place", step.place, sources);
        object.set("step", data);
    } else {
        object.set("step", Node::null());
    }
    // An entry as a whole says less than what in it is asked for.
    let is_split = |whole: &Because| {
        let Because::Condition { text: whole, .. } = whole else { return false };
        entry.because.iter().any(|one| matches!(one, Because::Met { text, .. } if whole.holds(*text)))
    };
    let conditions = entry.because.iter().filter(|because| !is_split(because));
    let conditions: Vec<Node> =
        conditions.filter_map(|because| condition(because, sources, hidden)).collect();
    if !conditions.is_empty() {
        object.set("conditions", Node::from(conditions));
    }
    let also: Vec<Node> = entry.because.iter().filter_map(|because| also(because, sources)).collect();
    if !also.is_empty() {
        object.set("also", Node::from(also));
    }
    let through: Vec<Node> = entry.because.iter().filter_map(|because| through(because, sources)).collect();
    if !through.is_empty() {
        object.set("through", Node::from(through));
    }
    for because in &entry.because {
        reason(&mut object, because, sources, hidden);
    }
    if let Some(opaque) = entry.opaque {
        object.set("opaque", opaque.name());
    }
    if entry.decides {
        object.set("decides", true);
    }
    if let Some(by) = entry.never_seen {
        object.set("neverSeen", by as i64);
    }
    object
}

fn also(because: &Because, sources: &Sources) -> Option<Node> {
    let Because::Also { label, place } = because else { return None };
    let mut object = Node::map();
    object.set("label", label.as_str());
    set_place(&mut object, "place", *place, sources);
    Some(object)
}

fn through(because: &Because, sources: &Sources) -> Option<Node> {
    let Because::Through { what, place } = because else { return None };
    let mut object = Node::map();
    object.set("what", *what);
    set_place(&mut object, "place", *place, sources);
    Some(object)
}

fn condition(because: &Because, sources: &Sources, hidden: &Hidden) -> Option<Node> {
    let none = Span::NONE;
    let (what, text, met) = match because {
        Because::Condition { what, text } => (what.as_ref(), text, &none),
        Because::Met { what, text, met } => (Some(what), text, met),
        _ => return None,
    };
    sources.get(text.file)?;
    let mut object = Node::map();
    if let Some(what) = what {
        object.set("what", what.as_str());
    }
    object.set("text", hidden.slice(*text));
    set_place(&mut object, "place", *text, sources);
    set_place(&mut object, "met", *met, sources);
    Some(object)
}

fn reason(object: &mut Node, because: &Because, sources: &Sources, hidden: &Hidden) {
    match because {
        Because::Followed { kind, field, rule, target, renames, .. } => {
            let mut data = Node::map();
            data.set("kind", &*kind.kind);
            data.set("field", &**field);
            set_place(&mut data, "place", *rule, sources);
            object.set("rule", data);
            object.set("target", target.as_str());
            object.set("because", entries(renames, sources, hidden));
        }
        Because::Copied { resource, field, history } => {
            let mut data = Node::map();
            data.set("resource", resource.as_str());
            data.set("field", &**field);
            data.set("history", entries(history, sources, hidden));
            object.set("from", data);
        }
        Because::Hash { inputs } => {
            object
                .set("inputs", Node::from(inputs.iter().map(|one| input(one, sources)).collect::<Vec<_>>()));
        }
        Because::Chart { chart } => {
            let mut data = Node::map();
            data.set("name", &*chart.chart);
            data.set("version", &*chart.version);
            data.set("repository", &*chart.repository);
            data.set("template", &*chart.template);
            let values = chart.values.iter().map(|path| Node::from(&**path));
            data.set("values", Node::from(values.collect::<Vec<_>>()));
            object.set("chart", data);
        }
        Because::Program { program, digest, guess } => {
            object.set("program", &**program);
            if let Some(digest) = digest {
                object.set("digest", &**digest);
            }
            set_place(object, "probablyFrom", guess.unwrap_or(Span::NONE), sources);
        }
        Because::Condition { .. } | Because::Met { .. } | Because::Through { .. } | Because::Also { .. } => {}
    }
}

fn input(input: &Input, sources: &Sources) -> Node {
    let mut data = Node::map();
    data.set("key", &*input.key);
    match &input.kind {
        InputKind::Literal => data.set("kind", "literal"),
        InputKind::File(path) => {
            data.set("kind", "file");
            data.set("path", &**path);
        }
        InputKind::Env(path, line) => {
            data.set("kind", "env");
            data.set("path", &**path);
            data.set("line", *line as i64);
        }
    }
    if input.merged {
        data.set("merged", true);
    }
    set_place(&mut data, "place", input.entry, sources);
    data
}

fn element(moves: &Moves, sources: &Sources) -> Node {
    let mut object = Node::map();
    object.set("path", moves.path.as_str());
    if let Some((key, value)) = &moves.key {
        object.set("key", [(&**key, &**value)].into_iter().collect::<Node>());
    }
    set_place(&mut object, "place", moves.place, sources);
    let moved = moves.moves.iter().map(|moved| {
        let mut one = Node::map();
        one.set("from", moved.from as i64);
        one.set("to", moved.to as i64);
        one.set("step", moved.step.as_str());
        one.set("why", moved.why.as_str());
        set_place(&mut one, "place", moved.place, sources);
        one
    });
    object.set("moves", Node::from(moved.collect::<Vec<_>>()));
    object
}

/// A line of the table of resources as an object.
pub fn row(row: &Row) -> Node {
    let mut object = Node::map();
    object.set("resource", row.resource.as_str());
    object.set("origin", row.origin.as_str());
    object.set("events", row.events as i64);
    object.set("state", row.state.name());
    object
}

/// A place as `--error-format json` gives it.
pub fn set_place(object: &mut Node, key: &str, span: Span, sources: &Sources) {
    let Some(source) = sources.get(span.file) else { return };
    let (from, to) = (source.position(span.start as usize), source.position(span.end as usize));
    let mut data = Node::map();
    data.set("file", source.name());
    data.set("line", from.line as i64);
    data.set("column", from.column as i64);
    data.set("endLine", to.line as i64);
    data.set("endColumn", to.column as i64);
    object.set(key, data);
}
