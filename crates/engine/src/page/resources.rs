//! One resource: its versions line by line, and what happened to each field.

use std::hash::{BuildHasher, BuildHasherDefault};

use krm_yaml::{Node, Span, Text};
use rustc_hash::{FxHashMap, FxHasher};

use super::flatten::{Chain, Flat};
use super::hunks::hunks;
use super::model::{self, EventId, FieldEvents, Hunk, Resource, Version};
use super::tables::Tables;
use crate::explain::lines::{key_place, lines};
use crate::explain::text::{chart, input, is_editable};
use crate::explain::{Because, Explanation, HistoryEntry, HistoryOptions, Where, explain};
use crate::pipeline::Trace;
use crate::pipeline::trace::{Change, Input, Segment, at};
use crate::resource::ResourceId;

/// A resource whose texts and places are not yet numbered.
pub(super) struct Draft {
    id: ResourceId,
    origin: Span,
    versions: Vec<DraftVersion>,
    gone: Option<u32>,
    whole: Vec<DraftEvent>,
    fields: Vec<DraftField>,
    /// The fields of the last version.
    last: Vec<(Vec<Segment>, u32)>,
}

struct DraftVersion {
    step: u32,
    namespace: Text,
    name: Text,
    hunks: Vec<(usize, usize, Vec<DraftLine>)>,
}

#[derive(Clone, PartialEq, Eq)]
struct DraftLine {
    text: String,
    field: u32,
    /// Of what is not shown: whether it is the same.
    value: u64,
}

struct DraftField {
    path: String,
    is_leaf: bool,
    events: Vec<DraftEvent>,
}

struct DraftEvent {
    kind: &'static str,
    step: u32,
    label: String,
    place: Span,
    before: Option<String>,
    after: Option<String>,
    decides: bool,
    masked: bool,
    why: Vec<DraftWhy>,
}

struct DraftWhy {
    text: String,
    place: Span,
    events: Vec<DraftEvent>,
}

/// A way to a field at a version of the resource.
type Paths = FxHashMap<Vec<Segment>, u32>;

pub(super) fn draft(chain: &Chain, flat: &Flat, with: HistoryOptions) -> Draft {
    let (_, last) = chain.versions.last().expect("it was seen when it came");
    let drafting = Drafting { chain, flat, with, id: &last.id };
    let nodes: Vec<&Node> = chain.versions.iter().map(|(_, seen)| &seen.node).collect();
    let mut fields = Vec::new();
    let mut all: Vec<Vec<DraftLine>> = Vec::new();
    let mut later: Option<(Paths, &Node)> = None;
    let mut of_last = Vec::new();
    for (number, node) in nodes.iter().enumerate().rev() {
        let (lines, paths) = drafting.version(number, node, later.as_ref(), &mut fields);
        if later.is_none() {
            of_last = paths.iter().map(|(path, field)| (path.clone(), *field)).collect();
        }
        all.push(lines);
        later = Some((paths, node));
    }
    all.reverse();
    let mut versions: Vec<DraftVersion> = Vec::new();
    for (number, (step, seen)) in chain.versions.iter().enumerate() {
        let before = number.checked_sub(1).map_or(&[][..], |before| &all[before]);
        let hunks = hunks(before, &all[number]).into_iter();
        let hunks = hunks.map(|(at, removed, added)| (at, removed, all[number][added].to_vec()));
        let (namespace, name) = (seen.id.namespace.clone(), seen.id.name.clone());
        let hunks: Vec<_> = hunks.collect();
        let is_alike = versions.last().is_some_and(|last| last.name == name && last.namespace == namespace);
        if is_alike && hunks.is_empty() {
            continue;
        }
        versions.push(DraftVersion { step: *step, namespace, name, hunks });
    }
    let whole = drafting.answer(&drafting.place(Vec::new(), None));
    Draft {
        id: last.id.clone(),
        origin: whole.origin,
        versions,
        gone: chain.gone.map(|(_, _, row)| row),
        whole: whole.history.iter().map(|entry| drafting.event(entry, Values::LeftOut)).collect(),
        fields,
        last: of_last,
    }
}

/// Whether an event comes with what the field was and what it became.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    Shown,
    LeftOut,
}

struct Drafting<'a> {
    chain: &'a Chain<'a>,
    flat: &'a Flat<'a>,
    with: HistoryOptions<'a>,
    id: &'a ResourceId,
}

impl Drafting<'_> {
    /// The lines of a version, each with its field: that of a later version, or one that went with the next step.
    fn version(
        &self,
        number: usize,
        node: &Node,
        later: Option<&(Paths, &Node)>,
        fields: &mut Vec<DraftField>,
    ) -> (Vec<DraftLine>, Paths) {
        let mut known = Paths::default();
        let trace = self.flat.runs[0].trace;
        if let Some((paths, after)) = later {
            for (path, field) in paths {
                if let Some(was) = trace.path_in_tree_before(node, (after, self.id), path)
                    && at(node, &was).is_some()
                {
                    known.insert(was, *field);
                }
            }
        }
        let shown = self.with.hidden.tree(node);
        let hides = !shown.same(node);
        let mut paths = Paths::default();
        let hasher = BuildHasherDefault::<FxHasher>::default();
        let lines = lines(&shown).unwrap_or_default().into_iter().map(|line| {
            let field = match paths.get(&line.path).or_else(|| known.get(&line.path)) {
                Some(field) => *field,
                None => {
                    fields.push(self.field(number, node, &line.path));
                    fields.len() as u32 - 1
                }
            };
            let value = match hides && self.with.hidden.covers(node, &line.path) {
                true => hasher.hash_one(at(node, &line.path).and_then(Node::text)),
                false => 0,
            };
            paths.insert(line.path, field);
            DraftLine { text: line.text, field, value }
        });
        let lines = lines.collect();
        (lines, paths)
    }

    /// A field that is there in the last version, or that went after the version with this number.
    fn field(&self, number: usize, root: &Node, path: &[Segment]) -> DraftField {
        let removed = (number + 1 < self.chain.versions.len()).then_some(number);
        let answer = self.answer(&self.place(path.to_vec(), removed));
        let is_leaf = at(root, path).is_none_or(|value| value.is_scalar() || value.is_empty());
        let values = if is_leaf { Values::Shown } else { Values::LeftOut };
        let mut events: Vec<DraftEvent> =
            answer.history.iter().map(|entry| self.event(entry, values)).collect();
        if let Some(first) = events.first_mut().filter(|first| !is_leaf && first.kind == "written") {
            first.place = key_place(root, path).filter(|key| !key.is_none()).unwrap_or(first.place);
        }
        DraftField { path: answer.field, is_leaf, events }
    }

    fn answer(&self, place: &Where) -> Explanation {
        explain(place, self.with)
    }

    /// Where a field was last: at the end, or before the step after a version.
    fn place(&self, path: Vec<Segment>, removed_after: Option<usize>) -> Where<'_> {
        let resource = Some(self.id);
        if let Some(number) = removed_after {
            let (row, _) = self.chain.versions[number + 1];
            for (run, track) in &self.chain.lineage {
                let trace = self.flat.runs[*run].trace;
                let mut steps = trace
                    .touching(*track, trace.steps.len())
                    .filter(|(index, _)| self.flat.row_of(*run, *index) == row)
                    .peekable();
                let first = steps.peek().copied();
                // If the step has several entries, find the one that removed the field.
                let step = steps
                    .find(|(_, step)| step.change(*track).is_some_and(|change| takes(trace, change, &path)));
                let step = step.or(first);
                if let Some((index, step)) = step
                    && step.change(*track).is_some_and(|change| change.before.is_some())
                {
                    return Where { trace, track: *track, resource, until: index + 1, path, removed: true };
                }
            }
        }
        let (run, track) = self.chain.last();
        let trace = self.flat.runs[run].trace;
        match self.chain.gone {
            Some((run, index, _)) => {
                let trace = self.flat.runs[run].trace;
                Where { trace, track, resource, until: index + 1, path, removed: true }
            }
            None => Where { trace, track, resource, until: trace.steps.len(), path, removed: false },
        }
    }

    fn event(&self, entry: &HistoryEntry, values: Values) -> DraftEvent {
        let with_values = values == Values::Shown;
        let shown = |node: &Option<Node>| node.as_ref().filter(|_| with_values).map(value);
        DraftEvent {
            kind: entry.event.name(),
            step: self.flat.row(entry.moment, self.chain),
            label: entry.label.clone(),
            place: entry.place,
            before: shown(&entry.before),
            after: shown(&entry.after),
            decides: entry.decides && is_editable(entry),
            masked: entry.masked && with_values && entry.before.is_some() && entry.changed,
            why: entry.because.iter().filter_map(|because| self.why(because)).collect(),
        }
    }

    fn why(&self, because: &Because) -> Option<DraftWhy> {
        let events =
            |all: &[HistoryEntry]| all.iter().map(|entry| self.event(entry, Values::Shown)).collect();
        Some(match because {
            Because::Followed { kind, by, field, rule, target, renames, is_namespace } => {
                let rule_is = if rule.is_none() { "built-in rule" } else { "rule" };
                let (why, what) = match is_namespace {
                    true => ("is in that namespace", "namespace"),
                    false => ("was renamed", "name"),
                };
                DraftWhy {
                    text: format!(
                        "{target} {why}, and the {rule_is} {} ← {by} {field} follows its {what}",
                        kind.kind
                    ),
                    place: *rule,
                    events: events(renames),
                }
            }
            Because::Copied { resource, field, history } => DraftWhy {
                text: format!("copied from {resource}, {field}, which at this point was"),
                place: Span::NONE,
                events: events(history),
            },
            Because::Hash { inputs } => {
                let event = |one: &Input| {
                    let label = input(one);
                    let (place, why) = (one.entry, Vec::new());
                    let (before, after, decides, masked) = (None, None, false, false);
                    let step = self.flat.row_at(place).unwrap_or_default();
                    DraftEvent { kind: "input", step, label, place, before, after, decides, masked, why }
                };
                let text = "the hash is made from".to_owned();
                DraftWhy { text, place: Span::NONE, events: inputs.iter().map(event).collect() }
            }
            Because::Also { label, place } => {
                DraftWhy { text: format!("and {label}"), place: *place, events: Vec::new() }
            }
            Because::Through { what, place } => {
                DraftWhy { text: format!("through the {what}"), place: *place, events: Vec::new() }
            }
            Because::Condition { text, .. } => {
                DraftWhy { text: "it acts because this matched".to_owned(), place: *text, events: Vec::new() }
            }
            // The whole entry is linked.
            Because::Met { .. } => return None,
            Because::Chart { chart: one } => {
                let text = format!("the chart {}; krm cannot look inside", chart(one));
                DraftWhy { text, place: Span::NONE, events: Vec::new() }
            }
            Because::Program { program, guess, .. } => {
                let guessed = if guess.is_some() { ", but its configuration says the same here" } else { "" };
                let text = format!("the function {program}; krm cannot look inside{guessed}");
                DraftWhy { text, place: guess.unwrap_or(Span::NONE), events: Vec::new() }
            }
        })
    }
}

/// A value in one text: scalars as they are, others as JSON.
fn value(node: &Node) -> String {
    let text = match node.text() {
        Some(text) => text.trim_end_matches('\n').to_owned(),
        None => krm_yaml::json::compact(node),
    };
    krm_yaml::sanitize::beginning(&text).into_owned()
}

impl Draft {
    /// Which field a path of the last version is.
    pub(crate) fn field_at(&self, path: &[Segment]) -> Option<u32> {
        self.last.iter().find(|(known, _)| known == path).map(|(_, field)| *field)
    }

    pub(crate) fn interned(self, tables: &mut Tables) -> Resource {
        let versions = self.versions.into_iter().map(|version| {
            let hunks = version.hunks.into_iter().map(|(at, removed, added)| {
                let added = added
                    .into_iter()
                    .map(|line| model::Line { text: tables.text(&line.text), field: line.field })
                    .collect();
                Hunk { at: at as u32, removed: removed as u32, added }
            });
            let hunks = hunks.collect();
            let (namespace, name) = (tables.text(&version.namespace), tables.text(&version.name));
            Version { step: version.step, namespace, name, hunks }
        });
        let versions: Vec<Version> = versions.collect();
        let first = versions.first().map_or(0, |first| first.step);
        let fields = self.fields.into_iter().map(|field| {
            let path = tables.text(&field.path);
            let events = match &field.events[..] {
                [only] if only.kind == "written" && only.step == first && only.why.is_empty() => {
                    tables.place(only.place).map(FieldEvents::Written)
                }
                _ => None,
            };
            let several = |events: Vec<DraftEvent>, tables: &mut Tables| {
                FieldEvents::Several(events.into_iter().map(|event| event.interned(tables)).collect())
            };
            let events = events.unwrap_or_else(|| several(field.events, tables));
            model::Field { path, events, is_leaf: field.is_leaf }
        });
        let fields = fields.collect();
        Resource {
            api_version: tables.text(&self.id.gvk.api_version()),
            kind: tables.text(&self.id.gvk.kind),
            origin: tables.place(self.origin),
            versions,
            gone: self.gone,
            whole: self.whole.into_iter().map(|event| event.interned(tables)).collect(),
            fields,
        }
    }
}

impl DraftEvent {
    fn interned(self, tables: &mut Tables) -> EventId {
        let why = self.why.into_iter().map(|why| model::Why {
            text: tables.text(&why.text),
            place: tables.place(why.place),
            events: why.events.into_iter().map(|event| event.interned(tables)).collect(),
        });
        let why = why.collect();
        let event = model::Event {
            kind: self.kind,
            step: self.step,
            label: tables.text(&self.label),
            place: tables.place(self.place),
            before: self.before.map(|text| tables.text(&text)),
            after: self.after.map(|text| tables.text(&text)),
            decides: self.decides,
            masked: self.masked,
            why,
        };
        tables.event(event)
    }
}

/// Whether a field is not where it was after a step.
fn takes(trace: &Trace, change: &Change, path: &[Segment]) -> bool {
    match (&change.before, &change.after) {
        (Some(before), Some(after)) => {
            at(&after.node, path).is_none() || trace.path_before(before, after, path).as_deref() != Some(path)
        }
        _ => true,
    }
}
