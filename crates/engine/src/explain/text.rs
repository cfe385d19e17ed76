//! Histories as text for people.

use std::fmt::Write as _;

use krm_function::annotations::LOCAL_CONFIG;
use krm_yaml::{Node, Sources, Span, Tag, sanitize};

use super::answer::{Because, Explanation, HistoryEntry, Moves, State};
use super::find::shown;
use super::hidden::Hidden;
use super::labels::Labels;
use super::sites::{Part, Site};
use crate::compare::ChangeKind;
use crate::compare::fields::{Difference, differences};
use crate::pipeline::trace::{EventKind, Inflation, Input, InputKind, at};

/// What is shown in the place of a value that is hidden.
pub const MASK: &str = "•••";

/// What follows a place that decides the value.
const EDIT: &str = "   ← edit here to change it\n";

/// `file:line:column`.
pub fn place(span: Span, sources: &Sources) -> Option<String> {
    let source = sources.get(span.file)?;
    let position = source.position(span.start as usize);
    Some(format!("{}:{}:{}", source.name(), position.line, position.column))
}

/// `file:line`.
pub fn line_of(span: Span, sources: &Sources) -> Option<String> {
    let source = sources.get(span.file)?;
    Some(format!("{}:{}", source.name(), source.position(span.start as usize).line))
}

/// A value in one line: scalars as they are, others as JSON. A text that would be read as a number or as a truth value is
/// in quotes, as in the result.
pub fn value(node: &Node) -> String {
    let text = match node.text() {
        Some(text) if let Some(quoted) = in_quotes(node, text) => quoted,
        Some(text) => text.trim_end_matches('\n').replace('\n', "\\n"),
        None => krm_yaml::json::compact(node),
    };
    sanitize::inert(&sanitize::beginning(&text)).into_owned()
}

/// A text as the build prints it, if that takes quotes so that it is not read as something else.
fn in_quotes(node: &Node, text: &str) -> Option<String> {
    let is_text = node.tag() == Tag::Str && !text.is_empty();
    if !is_text || text.len() > SHORT || text.contains(['\n', '"', '\\']) {
        return None;
    }
    let mut printed = String::new();
    krm_yaml::try_canonical_into(node, &mut printed).ok()?;
    let printed = printed.trim_end_matches('\n');
    printed.starts_with('"').then(|| printed.to_owned())
}

/// A history. Of what a step did to a map or a list, up to `most` parts are listed.
pub fn explanation(answer: &Explanation, sources: &Sources, most: usize) -> String {
    let mut text = format!("{} {}", answer.gvk.kind, answer.name);
    if !answer.namespace.is_empty() {
        let _ = write!(text, ", namespace {}", answer.namespace);
    }
    text.push('\n');
    match (answer.field.is_empty(), answer.state) {
        (true, State::Present) => {}
        (true, state) => {
            let _ = writeln!(text, "  {}", how_it_went(answer, state, sources));
        }
        (false, State::Present) => {
            let now = answer.value.as_ref().map(value).unwrap_or_default();
            match answer.value.as_ref().filter(|node| !node.is_scalar() && !is_short(&now)) {
                Some(node) => {
                    let _ = writeln!(text, "  {}:", answer.field);
                    text.push_str(&block(node, 4));
                }
                None => {
                    let _ = writeln!(text, "  {}: {now}", answer.field);
                }
            }
        }
        (false, state) => {
            let by = answer.history.last().and_then(|last| place(last.place, sources));
            let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
            let _ = writeln!(text, "  {}: not in the result, {}{by}", answer.field, state.name());
        }
    }
    text.push('\n');
    let width = width(&answer.history, sources);
    for (number, entry) in answer.history.iter().enumerate() {
        let lead = format!("  {:<2} ", number + 1);
        let shown = Shown::of(entry);
        text.push_str(&line(entry, &shown, &lead, width, sources));
        if entry.decides && answer.history.len() > 1 && is_editable(entry) {
            text.pop();
            text.push_str(EDIT);
        }
        text.push_str(&values(entry, &shown, most));
        for because in &entry.because {
            // Of a resource as a whole, the step has done something to its name.
            let is_of_part = entry.event == EventKind::Merged && matches!(because, Because::Hash { .. });
            if is_of_part {
                text.push_str("       the hash is that of\n");
            }
            text.push_str(&reason(because, if is_of_part { 9 } else { 7 }, sources));
            if matches!(because, Because::Also { .. }) && entry.decides {
                text.pop();
                text.push_str(EDIT);
            }
        }
    }
    for moves in &answer.elements {
        text.push_str(&element(moves, sources));
    }
    text.push_str(&dead_writes(answer));
    for miss in &answer.misses {
        let at = place(miss.place, sources).map(|at| format!("{at}  ")).unwrap_or_default();
        let said = [std::slice::from_ref(&miss.message), &miss.advice].concat().join("; ");
        let _ = writeln!(text, "  near: {at}{said}");
    }
    text
}

/// How a resource came to be missing from the result.
fn how_it_went(answer: &Explanation, state: State, sources: &Sources) -> String {
    let last = answer.history.last();
    let by = last.and_then(|last| place(last.place, sources));
    let written = line_of(answer.origin, sources).map(|at| format!("; written at {at}")).unwrap_or_default();
    if state == State::Dropped {
        let by = by.map(|by| format!(" ({by})")).unwrap_or_default();
        return format!("dropped: the annotation `{LOCAL_CONFIG}`{by} keeps it out of the result{written}");
    }
    let label = last.map(|last| last.label.trim_end_matches(", deleted")).unwrap_or_default();
    match by {
        Some(by) => format!("deleted by {by} ({label}){written}"),
        None => format!("deleted by {label}{written}"),
    }
}

/// The places that decide the parts of a map or a list, up to `most`.
pub fn below(answer: &Explanation, sources: &Sources, most: usize) -> String {
    let is_composite = answer.value.as_ref().is_some_and(|value| !value.is_scalar() && !value.is_empty());
    let places: Vec<String> = answer.parts.iter().filter_map(|one| site(one, sources)).collect();
    if !is_composite || places.is_empty() || answer.field.is_empty() {
        return String::new();
    }
    let mut text = "\n  Its parts are written at\n".to_owned();
    places.iter().take(most).for_each(|place| text.push_str(&format!("     {place}\n")));
    if places.len() > most {
        let _ = writeln!(text, "     and {} more (`--max N` shows N)", places.len() - most);
    }
    text
}

/// The conditions under which steps acted, and the steps that left the field alone.
pub fn steps(answer: &Explanation, sources: &Sources, labels: &Labels, hidden: &Hidden) -> String {
    let mut text = String::new();
    let conditions: Vec<(String, &Site)> = answer
        .sites
        .iter()
        .filter(|(part, _)| *part == Part::Condition)
        .filter_map(|(_, one)| Some((site(one, sources)?, one)))
        .collect();
    let width = conditions.iter().map(|(place, _)| place.chars().count()).max().unwrap_or(0);
    if !conditions.is_empty() {
        text.push_str("\n  It has this value because of\n");
    }
    let named = |site: &Site| match site {
        Site::Text(span) => labels.condition(*span).unwrap_or_default(),
        _ => String::new(),
    };
    let names: Vec<String> = conditions.iter().map(|(_, one)| named(one)).collect();
    let second = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    for ((place, one), what) in conditions.iter().zip(&names) {
        let said = if let Site::Text(span) = one { quoted(*span, hidden) } else { String::new() };
        let said = sanitize::inert(&sanitize::beginning(&said)).into_owned();
        let line = format!("     {place:<width$}  {what:<second$}  {said}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if !answer.left_alone.is_empty() {
        text.push_str("\n  These steps left it alone\n");
    }
    let width = answer.left_alone.iter().map(|(step, _)| step.chars().count()).max().unwrap_or(0);
    for (step, at) in &answer.left_alone {
        let line = format!("     {step:<width$}  {}", place(*at, sources).unwrap_or_default());
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// What is written at a condition, if that is a word or two.
fn quoted(span: Span, hidden: &Hidden) -> String {
    let said = hidden.slice(span);
    if said.contains('\n') { String::new() } else { said }
}

/// Where something is written.
fn site(site: &Site, sources: &Sources) -> Option<String> {
    match site {
        Site::Text(span) => place(*span, sources),
        Site::File(path) => Some(path.display().to_string()),
        Site::Line(path, line) => Some(format!("{}:{line}", path.display())),
    }
}

/// Whether changing the place changes the value as one would expect.
pub(crate) fn is_editable(entry: &HistoryEntry) -> bool {
    matches!(entry.event, EventKind::Set | EventKind::Written | EventKind::Generated | EventKind::Renamed)
        && !entry.place.is_none()
}

/// How long the values of an event may be to fit on its line.
const SHORT: usize = 52;

/// What is shown of the values of an event: all of them, or what changed of a map or a list.
#[derive(Default)]
struct Shown {
    before: Option<String>,
    after: Option<String>,
    parts: Vec<Difference>,
}

impl Shown {
    fn of(entry: &HistoryEntry) -> Self {
        let parts = match (&entry.before, &entry.after) {
            (Some(before), Some(after)) if !before.is_scalar() && !after.is_scalar() => {
                let mut parts = differences(before, after);
                parts.extend(entry.hidden_changes.iter().map(|path| Difference {
                    kind: ChangeKind::Changed,
                    old_path: path.clone(),
                    new_path: path.clone(),
                    before: at(before, path).cloned(),
                    after: at(after, path).cloned(),
                }));
                parts
            }
            _ => Vec::new(),
        };
        // A resource as a whole is too long to be shown at each step.
        let is_whole =
            |node: &Option<Node>| node.as_ref().is_some_and(|node| node.get("apiVersion").is_some());
        if is_whole(&entry.before) || is_whole(&entry.after) || !parts.is_empty() {
            return Self { parts, ..Self::default() };
        }
        Self { before: entry.before.as_ref().map(value), after: entry.after.as_ref().map(value), parts }
    }
}

fn are_short(before: &Option<String>, after: &Option<String>) -> bool {
    let length = |text: &Option<String>| text.as_ref().map_or(0, |text| text.chars().count());
    length(before) + length(after) <= SHORT
}

fn is_short(text: &str) -> bool {
    text.chars().count() <= SHORT
}

/// Lines for the parts of a map or a list that a step changed: the field, then what became of it.
fn parts(entry: &HistoryEntry, changed: &[Difference], most: usize) -> String {
    let (Some(before), Some(after)) = (&entry.before, &entry.after) else { return String::new() };
    let said =
        |node: &Option<Node>| node.as_ref().map(value).filter(|text| is_short(text)).unwrap_or_default();
    let part = |part: &Difference| {
        let field = match part.after.is_some() {
            true => shown(after, &part.new_path),
            false => shown(before, &part.old_path),
        };
        let what = match (part.kind, said(&part.before), said(&part.after)) {
            (ChangeKind::Added, _, now) => format!("added {now}"),
            (ChangeKind::Removed, was, _) => format!("removed {was}"),
            (ChangeKind::Moved, _, _) => "in another order".to_owned(),
            (_, was, now) if was.is_empty() || now.is_empty() => "changed".to_owned(),
            (_, was, now) if was == now => format!("{was} → {now} (changed)"),
            (_, was, now) => format!("{was} → {now}"),
        };
        let field = if field.is_empty() { "the elements" } else { &field };
        (sanitize::inert(field).into_owned(), what)
    };
    let all: Vec<(String, String)> = changed.iter().map(part).collect();
    let width = all.iter().take(most).map(|(field, _)| field.chars().count()).max().unwrap_or(0);
    let line = |(field, what): &(String, String)| {
        let line = format!("       {field:<width$}  {what}");
        format!("{}\n", line.trim_end())
    };
    let mut text: String = all.iter().take(most).map(line).collect();
    if all.len() > most {
        let _ = writeln!(text, "       and {} more (`--max N` shows N)", all.len() - most);
    }
    text
}

/// A map or a list as YAML. Of one that nobody would read to its end, the beginning.
fn block(node: &Node, indent: usize) -> String {
    const MOST: usize = 40;
    let mut yaml = String::new();
    if krm_yaml::try_canonical_into(node, &mut yaml).is_err() {
        yaml = krm_yaml::json::compact(node);
    }
    let yaml = sanitize::inert(&yaml);
    let pad = " ".repeat(indent);
    let mut text: String = yaml.lines().take(MOST).map(|line| format!("{pad}{line}\n")).collect();
    let more = yaml.lines().count().saturating_sub(MOST);
    if more > 0 {
        let _ = writeln!(text, "{pad}… {more} more lines; `--format json` has them");
    }
    text
}

/// Where an event is shown to have happened: in the file that was read, or else in the entry.
fn shown_at(entry: &HistoryEntry, sources: &Sources) -> Option<String> {
    entry.read_from.as_ref().and_then(|file| site(file, sources)).or_else(|| place(entry.place, sources))
}

/// How wide the places of a history are.
fn width(history: &[HistoryEntry], sources: &Sources) -> usize {
    let places = history.iter().filter_map(|entry| shown_at(entry, sources));
    places.map(|place| place.chars().count()).max().unwrap_or(0)
}

/// Text padded to a column of this width, with at least two spaces before what follows.
fn padded(text: &str, width: usize) -> String {
    format!("{text:<0$}", width.max(text.chars().count() + 1))
}

fn line(entry: &HistoryEntry, shown: &Shown, lead: &str, width: usize, sources: &Sources) -> String {
    let at = shown_at(entry, sources);
    let values = match (&shown.before, &shown.after) {
        (before, after) if !are_short(before, after) => String::new(),
        (Some(before), Some(after)) if entry.masked && before == after => {
            format!("{before} → {after} ({})", if entry.changed { "changed" } else { "same" })
        }
        (Some(before), Some(after)) => format!("{before} → {after}"),
        (Some(before), None) => format!("was {before}"),
        (None, Some(after)) => after.clone(),
        (None, None) => String::new(),
    };
    let named = entry.read_from.as_ref().and_then(|_| place(entry.place, sources));
    let label = match named {
        Some(named) => format!("{} ({named})", entry.label),
        None => entry.label.clone(),
    };
    let label = match at {
        Some(at) => format!("{at:<width$}  {}", padded(&label, 24)),
        // What has no place of its own says in words what happened.
        None => padded(&label, width + 26),
    };
    let line = format!("{lead}{label} {values}");
    format!("{}\n", line.trim_end())
}

/// The values of an event that are too long to fit on its line, or what it changed of a map or a list.
fn values(entry: &HistoryEntry, shown: &Shown, most: usize) -> String {
    if are_short(&shown.before, &shown.after) {
        return parts(entry, &shown.parts, most);
    }
    match (&entry.before, &entry.after, &shown.before, &shown.after) {
        (_, _, Some(before), Some(after)) => format!("       {before}\n     → {after}\n"),
        (Some(node), None, ..) | (None, Some(node), ..) if !node.is_scalar() => block(node, 7),
        (_, _, None, Some(text)) | (_, _, Some(text), None) => format!("       {text}\n"),
        (_, _, None, None) => String::new(),
    }
}

fn reason(because: &Because, indent: usize, sources: &Sources) -> String {
    let pad = " ".repeat(indent);
    let entries = |entries: &[HistoryEntry]| {
        let width = width(entries, sources);
        let mut text = String::new();
        for entry in entries {
            text.push_str(&line(entry, &Shown::of(entry), &format!("{pad}  "), width, sources));
            for because in &entry.because {
                text.push_str(&reason(because, indent + 4, sources));
            }
        }
        text
    };
    match because {
        Because::Followed { kind, by, field, rule, target, renames, is_namespace } => {
            let rule = match place(*rule, sources) {
                Some(rule) => format!("the rule at {rule}"),
                None => "the built-in rule".to_owned(),
            };
            let kind = &kind.kind;
            let was = target.split(' ').next().unwrap_or(kind);
            let why = if *is_namespace { "is in that namespace" } else { "was renamed" };
            format!(
                "{pad}by {rule} {kind} ← {by} {field}\n{pad}because the {was} {why}\n{}",
                entries(renames)
            )
        }
        // Causes are followed only so far.
        Because::Copied { resource, field, history } if history.is_empty() => {
            format!("{pad}copied from {resource}, {field} (`--depth 0` follows it)\n")
        }
        Because::Copied { resource, field, history } => {
            format!("{pad}copied from {resource}, {field}, which at this point was\n{}", entries(history))
        }
        Because::Hash { inputs } => {
            let named = |input: &Input| place(input.entry, sources).unwrap_or_default();
            let read = |input: &Input| input.site(sources).and_then(|file| site(&file, sources));
            let places: Vec<String> =
                inputs.iter().map(|input| read(input).unwrap_or_else(|| named(input))).collect();
            let width = places.iter().map(|place| place.chars().count()).max().unwrap_or(0);
            let line = |(input, at): (&Input, &String)| match input.kind {
                InputKind::Literal => format!("{pad}{at:<width$}  {}\n", self::input(input)),
                _ => format!("{pad}{at:<width$}  {} ({})\n", self::input(input), named(input)),
            };
            inputs.iter().zip(&places).map(line).collect()
        }
        Because::Also { label, place: at } => {
            place(*at, sources).map_or_else(String::new, |at| format!("{pad}and {at}  {label}\n"))
        }
        Because::Through { what, place: at } => {
            place(*at, sources).map_or_else(String::new, |at| format!("{pad}through the {what} at {at}\n"))
        }
        Because::Condition { .. } | Because::Met { .. } => String::new(),
        Because::Chart { chart: one } => {
            let chart = chart(one);
            let chart = sanitize::inert(&chart);
            format!("{pad}by the chart {chart}; what happens inside is not known here\n")
        }
        Because::Program { program, digest, guess } => {
            let digest = digest.as_ref().map(|digest| format!(" ({})", digest.get(..19).unwrap_or(digest)));
            let program = format!("{program}{}", digest.unwrap_or_default());
            let guess = guess.and_then(|at| place(at, sources));
            let guess = guess.map(|at| format!("{pad}probably from {at}, which says the same\n"));
            let guess = guess.unwrap_or_default();
            format!("{pad}by the function {program}; what happens inside is not known here\n{guess}")
        }
    }
}

/// A chart that was inflated, in words.
pub(crate) fn chart(one: &Inflation) -> String {
    let said = |before: &str, text: &str| match text.is_empty() {
        true => String::new(),
        false => format!("{before}{text}"),
    };
    let (version, repository) = (said(" ", &one.version), said(" of ", &one.repository));
    let (template, values) =
        (said(", template ", &one.template), said(", values of ", &one.values.join(", ")));
    format!("{}{version}{repository}{template}{values}", one.chart)
}

/// An input of a generator in words.
pub(crate) fn input(input: &Input) -> String {
    let merged = if input.merged { " (merged)" } else { "" };
    match &input.kind {
        InputKind::Literal => format!("literal {}{merged}", input.key),
        InputKind::File(path) => format!("file {path}{merged}"),
        InputKind::Env(path, line) => format!("{} in line {line} of {path}{merged}", input.key),
    }
}

fn element(moves: &Moves, sources: &Sources) -> String {
    let Moves { key, place: at, first, moves, .. } = moves;
    let who = match key {
        Some((key, value)) => {
            let at = place(*at, sources).map(|at| format!(" ({at})")).unwrap_or_default();
            format!("The element is known by `{key}: {value}`{at}. Its index: {first}, then\n")
        }
        None => format!("The index of the element: {first}, then\n"),
    };
    let places: Vec<String> =
        moves.iter().map(|moved| place(moved.place, sources).unwrap_or_default()).collect();
    let width = places.iter().map(|place| place.chars().count()).max().unwrap_or(0);
    let lines = moves
        .iter()
        .zip(&places)
        .map(|(moved, place)| format!("     {}  {place:<width$}  {}\n", moved.to, moved.why));
    format!("\n  {who}{}", lines.collect::<String>())
}

/// What a step writes and a later one takes away again is never seen.
fn dead_writes(answer: &Explanation) -> String {
    let lines = answer.history.iter().enumerate().filter_map(|(at, entry)| {
        let by = entry.never_seen?;
        let what = match answer.history.get(by)?.after.is_some() {
            true => "overwrites",
            false => "removes",
        };
        let (at, by) = (at + 1, by + 1);
        Some(format!("  note: what step {at} writes is never seen: step {by} {what} it\n"))
    });
    lines.collect()
}

/// A line of the table of resources.
#[non_exhaustive]
pub struct Row {
    /// `Kind/name`.
    pub resource: String,
    /// `file:line`; `-` if it is not written in a file.
    pub origin: String,
    /// How many things happened to it.
    pub events: usize,
    /// Whether it is in the result.
    pub state: State,
}

impl Row {
    /// The line about a resource as a whole.
    pub fn new(answer: &Explanation, sources: &Sources) -> Self {
        Self {
            resource: format!("{}/{}", answer.gvk.kind, answer.name),
            origin: line_of(answer.origin, sources).unwrap_or_else(|| "-".into()),
            events: answer.history.len(),
            state: answer.state,
        }
    }
}

/// The lines, in columns, each with a line break.
pub fn table(rows: &[Row]) -> String {
    let width = |of: &dyn Fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let (resource, origin) = (width(&|row| row.resource.len()), width(&|row| row.origin.len()));
    let line = |row: &Row| {
        let events = if row.events == 1 { "1 event".to_owned() } else { format!("{} events", row.events) };
        let gone = match row.state {
            State::Present => String::new(),
            state => format!(", {}", state.name()),
        };
        format!("{:<resource$}  {:<origin$}  {events}{gone}\n", row.resource, row.origin)
    };
    rows.iter().map(line).collect()
}

/// What one target says about a field that several are asked for.
pub enum Cell {
    /// It has one.
    Answer(Box<Explanation>),
    /// It has no such resource or field.
    Absent,
    /// It does not build.
    Fails,
}

/// A line for each target.
pub fn side_by_side(answers: &[(&str, Cell)], sources: &Sources) -> String {
    // A field with `*` may be several of a folder, which only their paths tell apart.
    let is_several = answers.windows(2).any(|pair| pair[0].0 == pair[1].0);
    let rows: Vec<[String; 4]> = answers
        .iter()
        .map(|(target, cell)| {
            let alone = |text: &str| [(*target).to_owned(), text.to_owned(), String::new(), String::new()];
            let answer = match cell {
                Cell::Answer(answer) => answer,
                Cell::Absent => return alone("–"),
                Cell::Fails => return alone("does not build"),
            };
            let now = match (answer.state, &answer.value) {
                (State::Present, Some(node)) => value(node),
                _ => "–".to_owned(),
            };
            let last = answer.history.last();
            let at = last.and_then(|last| place(last.place, sources)).unwrap_or_default();
            let now = if is_several { format!("{}: {now}", answer.field) } else { now };
            [(*target).to_owned(), now, at, last.map(|last| last.label.clone()).unwrap_or_default()]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second, third) = (width(0), width(1), width(2));
    let line = |[a, b, c, d]: &[String; 4]| {
        let line = format!("{a:<first$}   {b:<second$}   {c:<third$}   {d}");
        line.trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}
