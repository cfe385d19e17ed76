//! From a line of a source file to where it ends up.

use std::path::{Path, PathBuf};

use krm_engine::explain::{
    Because, Explanation, FoundResource, HistoryEntry, Part, Site, State, Where, each_scalar, json,
    removed_fields, text,
};
use krm_engine::files::{clean, relative};
use krm_engine::trace::{EventKind, each_step};
use krm_engine::{Diagnostic, Node, Result, Source};
use krm_yaml::{Failure, FileId, decode_lossy};

use super::{Answerer, Format, Traced};
use crate::os;
use crate::report::columns::{padded, width};
use crate::report::sanitize;

/// What becomes of the line in a target.
struct Arrival {
    target: String,
    /// The one it ends up in, if any.
    resource: String,
    /// The one it was written into.
    written_into: String,
    field: String,
    /// The field it ends up in, or why it does not.
    outcome: String,
    reached: bool,
}

/// `FILE:LINE[:COLUMN]`, as it was asked for.
pub(super) struct Asked {
    here: PathBuf,
    /// The full path.
    pub file: PathBuf,
    line: usize,
    column: Option<usize>,
    /// All of the file.
    text: String,
}

pub(super) fn explain(answerer: &Answerer, asked: &Asked, all: &[Traced], format: Format) -> Result<()> {
    let mut arrivals: Vec<Arrival> = Vec::new();
    for one in all {
        let found = asked.arrivals(answerer, one);
        match found.is_empty() {
            true => arrivals.push(Arrival::nowhere(one, asked.why_nothing(answerer))),
            false => arrivals.extend(found),
        }
    }
    let text = match format {
        Format::Text => {
            let column =
                |of: &dyn Fn(&Arrival) -> &str| arrivals.iter().map(|a| width(of(a))).max().unwrap_or(0);
            let (first, second) = (column(&|a| &a.target), column(&|a| &a.resource));
            let lines = arrivals.iter().map(|a| {
                let (target, resource) = (padded(&a.target, first), padded(&a.resource, second));
                format!("{}\n", format!("  {target}   {resource}   {}", a.outcome).trim_end())
            });
            let lines = match all.is_empty() {
                true => "  nothing: no kustomization below this folder reads the file\n".to_owned(),
                false => lines.collect(),
            };
            format!("{}  reaches\n{lines}", asked.written(answerer))
        }
        Format::Json => json::list(
            Some(("source", &asked.written(answerer))),
            "reaches",
            arrivals.iter().map(|a| {
                let mut object = Node::map();
                object.set("directory", a.target.as_str());
                object.set("resource", a.resource.as_str());
                object.set("field", a.field.as_str());
                object.set("outcome", a.outcome.as_str());
                object.set("reached", a.reached);
                object
            }),
        ),
    };
    answerer.show(&sanitize::inert(&text), format)?;
    Diagnostic::join(all.iter().filter_map(|one| one.failure().err())).map_or(Ok(()), Err)
}

impl Arrival {
    fn nowhere(one: &Traced, outcome: &str) -> Self {
        Self {
            target: one.target.clone(),
            resource: String::new(),
            written_into: String::new(),
            field: String::new(),
            outcome: outcome.to_owned(),
            reached: false,
        }
    }
}

impl Asked {
    pub fn parse(place: &str) -> Result<Self> {
        let wrong = |message: String| Diagnostic::error("explain-source-line", message);
        let no_line = || {
            wrong(format!("`{place}` does not name a line of a file"))
                .failing(Failure::CommandLine)
                .help("write `FILE:LINE`, as in `base/web.yaml:17`")
        };
        let (file, last) = place.rsplit_once(':').ok_or_else(no_line)?;
        let (file, line, column) = match file.rsplit_once(':') {
            Some((name, line)) if line.parse::<usize>().is_ok() => (name, line, Some(last)),
            _ => (file, last, None),
        };
        let number = |text: &str| text.parse::<usize>().map_err(|_| no_line());
        let (line, column) = (number(line)?, column.map(number).transpose()?);
        if !Path::new(file).is_file() {
            return Err(Diagnostic::error("explain-source-file", format!("there is no file `{file}`")));
        }
        let text = os::read(Path::new(file)).map_err(|error| {
            Diagnostic::error("file-unreadable", format!("cannot read `{file}`: {error}"))
        })?;
        let text = decode_lossy(text);
        let count = text.lines().count();
        if line == 0 || line > count {
            let lines = if count == 1 { "1 line".to_owned() } else { format!("{count} lines") };
            return Err(wrong(format!("there is no line {line} in `{file}`, which has {lines}")));
        }
        let here = os::current_dir()?;
        Ok(Self { file: clean(&here.join(file)), here, line, column, text })
    }

    /// The line as it is written, without a comment at its end.
    fn written(&self, answerer: &Answerer) -> String {
        let source = Source::detached(relative(&self.file, &self.here), self.text.as_str());
        let line = answerer.hidden.lines(&source).line(&source, self.line);
        let text = line.split(" #").next().unwrap_or(&line).trim();
        if text.is_empty() { format!("line {}", self.line) } else { text.to_owned() }
    }

    /// What to say of a line that no field depends on.
    fn why_nothing(&self, answerer: &Answerer) -> &'static str {
        let sources = &answerer.report.sources;
        let read = sources
            .after(FileId::default())
            .into_iter()
            .find(|source| self.is_file(Path::new(source.name())));
        let documents = read.and_then(|source| krm_yaml::parse(&source).ok());
        let Some(documents) = documents.filter(|documents| !documents.is_empty()) else { return "nothing" };
        let mut has_value = false;
        for document in &documents {
            each_scalar(&document.root, &mut Vec::new(), &mut |value, _| {
                let is_written = !value.span().is_none() && value.text().is_some();
                has_value |= is_written && self.is_at(answerer, &Site::Text(value.span()));
            });
        }
        match (has_value, self.column) {
            (true, _) => "nothing",
            (false, None) => "nothing: no value is written in this line",
            (false, Some(_)) => "nothing: no value is written in this column",
        }
    }

    fn is_file(&self, name: &Path) -> bool {
        clean(&self.here.join(name)) == self.file
    }

    fn is_at(&self, answerer: &Answerer, site: &Site) -> bool {
        let span = match site {
            Site::File(path) => return self.is_file(path),
            Site::Line(path, line) => return *line == self.line && self.is_file(path),
            Site::Text(span) => span,
        };
        let Some(source) = answerer.report.sources.get(span.file) else { return false };
        let (from, to) = (source.position(span.start as usize), source.position(span.end as usize));
        let is_near = match self.column {
            Some(column) => {
                (from.line, from.column) <= (self.line, column) && (self.line, column) <= (to.line, to.column)
            }
            None => from.line <= self.line && self.line <= to.line,
        };
        is_near && self.is_file(Path::new(source.name()))
    }

    /// Whether an event wrote what is at the line.
    fn wrote(&self, answerer: &Answerer, entry: &HistoryEntry) -> bool {
        // What a program makes of its configuration is not known, but for a value that is in it as it is.
        if matches!(entry.event, EventKind::ByFunction | EventKind::Inflated) {
            return entry.because.iter().any(|because| match because {
                Because::Program { guess: Some(guess), .. } => self.is_at(answerer, &Site::Text(*guess)),
                _ => false,
            });
        }
        let place = Site::Text(entry.place);
        let is_here = || {
            entry.read_from.as_ref().is_some_and(|file| self.is_at(answerer, file))
                || self.is_at(answerer, &place)
                || entry.because.iter().any(|because| match because {
                    Because::Through { place, .. } | Because::Also { place, .. } => {
                        self.is_at(answerer, &Site::Text(*place))
                    }
                    _ => false,
                })
        };
        entry.after.is_some() && is_here()
    }

    /// Everything that the line writes or wrote once in a target, or else what depends on it.
    fn arrivals(&self, answerer: &Answerer, one: &Traced) -> Vec<Arrival> {
        let mut all = Vec::new();
        let mut depending: Vec<(String, Vec<String>)> = Vec::new();
        for (track, seen, present) in one.trace.resources() {
            if !present {
                continue;
            }
            let found = FoundResource { track, seen, present };
            let mut fields = Vec::new();
            each_scalar(&seen.node, &mut Vec::new(), &mut |_, path| {
                let place = Where::in_result(&one.trace, &found, path.to_vec());
                let sites = answerer.sites.of(&place);
                let here = sites.iter().filter(|(_, site)| self.is_at(answerer, site));
                let Some(part) = here.map(|(part, _)| *part).min_by_key(|part| *part == Part::Condition)
                else {
                    return;
                };
                let answer = answerer.explain(&place);
                let wrote = answer.history.iter().any(|entry| self.wrote(answerer, entry));
                match part == Part::Condition && !wrote {
                    true => fields.push(answer.field),
                    false => all.push(self.arrival(answerer, one, answer, part)),
                }
            });
            if !fields.is_empty() {
                depending.push((format!("{} {}", seen.id.gvk.kind, seen.id.name), fields));
            }
        }
        removed_fields(&one.trace, &mut |place| {
            let answer = answerer.explain(&place);
            let into = name(&answer);
            let is_known = |known: &Arrival| known.field == answer.field && known.written_into == into;
            if answer.history.iter().any(|entry| self.wrote(answerer, entry)) && !all.iter().any(is_known) {
                all.push(self.arrival(answerer, one, answer, Part::Overwritten));
            }
        });
        // Several values of a line often share what becomes of them.
        let is_shared = |a: &Arrival, b: &Arrival| a.written_into == b.written_into && a.outcome == b.outcome;
        all.dedup_by(|a, b| !a.reached && !b.reached && is_shared(a, b));
        // Beside others, what it does not reach needs a name.
        if all.iter().any(|arrival| arrival.reached) {
            let lost = all.iter_mut().filter(|arrival| !arrival.reached);
            lost.for_each(|arrival| arrival.resource.clone_from(&arrival.written_into));
        }
        match (all.is_empty(), self.brought(answerer, one)) {
            (false, _) => all,
            (true, 0) => {
                let depending = depending.into_iter();
                depending.map(|(resource, fields)| condition(one, resource, &fields)).collect()
            }
            (true, 1) => vec![Arrival { reached: true, ..Arrival::nowhere(one, "brings 1 resource") }],
            (true, count) => {
                vec![Arrival { reached: true, ..Arrival::nowhere(one, &format!("brings {count} resources")) }]
            }
        }
    }

    /// How many resources come with the file or the folder that the line names.
    fn brought(&self, answerer: &Answerer, one: &Traced) -> usize {
        let mut count = 0;
        each_step(&one.trace, &mut |step| {
            if step.role.loads() && self.is_at(answerer, &Site::Text(step.place)) {
                count += step.changes.len();
            }
        });
        count
    }

    /// What became of a value that the line wrote, or has a part in.
    fn arrival(&self, answerer: &Answerer, one: &Traced, answer: Explanation, part: Part) -> Arrival {
        let at = answer.history.iter().rposition(|entry| self.wrote(answerer, entry));
        let later = at.map_or(&[][..], |at| &answer.history[at + 1..]);
        // What a function makes of a value is not known.
        let by_function = later.iter().any(|entry| entry.event == EventKind::ByFunction);
        let reached = part != Part::Overwritten || by_function && answer.state == State::Present;
        let fates: Vec<String> = match at {
            Some(_) => later.iter().map(|entry| fate(answerer, entry, reached)).collect(),
            // It is a part of another value, which came here.
            None => answer.history.iter().rev().find_map(|entry| way(answerer, entry)).into_iter().collect(),
        };
        let fates = fates.join(", then ");
        let written_into = name(&answer);
        let (resource, outcome) = match (reached, at) {
            (false, _) => (String::new(), format!("nothing: {fates}")),
            (true, _) if fates.is_empty() => (name(&answer), answer.field.clone()),
            (true, Some(_)) => (name(&answer), format!("{}, then {fates}", answer.field)),
            (true, None) => (name(&answer), format!("{}, {fates}", answer.field)),
        };
        Arrival { target: one.target.clone(), resource, written_into, field: answer.field, outcome, reached }
    }
}

fn name(answer: &Explanation) -> String {
    format!("{} {}", answer.gvk.kind, answer.name)
}

/// A line that only decides which steps apply.
fn condition(one: &Traced, resource: String, fields: &[String]) -> Arrival {
    let field = if let [only] = fields { only.clone() } else { String::new() };
    let what = match fields {
        [only] => only.clone(),
        _ => format!("{} fields", fields.len()),
    };
    let outcome = format!("no value, but a condition of {what}");
    let written_into = resource.clone();
    Arrival { target: one.target.clone(), resource, written_into, field, outcome, reached: false }
}

/// What an event did to a value that was there before it.
fn fate(answerer: &Answerer, entry: &HistoryEntry, reached: bool) -> String {
    let by = by(answerer, entry);
    match entry.event {
        EventKind::ByFunction => format!("changed by the function at {by}"),
        EventKind::Set | EventKind::Copied if reached => format!("overwritten in part by {by}"),
        EventKind::Set | EventKind::Copied | EventKind::Generated => format!("overwritten by {by}"),
        EventKind::Followed => entry.label.clone(),
        EventKind::Hashed => "given the hash of the content".to_owned(),
        EventKind::Deleted => format!("its resource is deleted by {by}"),
        EventKind::Dropped => format!("its resource is dropped by {by}"),
        kind => format!("{} by {by}", kind.name()),
    }
}

/// How a value came to a field that it was not written for.
fn way(answerer: &Answerer, entry: &HistoryEntry) -> Option<String> {
    match entry.event {
        EventKind::Hashed => Some("through the hash of the content".to_owned()),
        EventKind::Followed => Some(format!("which {}", entry.label)),
        EventKind::Copied => Some(format!("copied by {}", by(answerer, entry))),
        _ => None,
    }
}

fn by(answerer: &Answerer, entry: &HistoryEntry) -> String {
    let step = || entry.step.as_ref().map_or_else(|| entry.label.clone(), |step| step.id.clone());
    text::place(entry.place, &answerer.report.sources).unwrap_or_else(step)
}
