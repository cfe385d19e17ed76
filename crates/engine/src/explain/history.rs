//! The history of a field: every event with its place, the entry that asked for it, and its cause.

use krm_function::annotations::LOCAL_CONFIG;
use krm_yaml::{Node, Sources, Span, Tag, Text};
use rustc_hash::FxHashSet;

use super::answer::{Because, ChangingStep, Explanation, HistoryEntry, Moment, Move, Moves, Opaque, State};
use super::find::{FieldPath, Where, each_scalar, key_of, shown, shown_of};
use super::hidden::Hidden;
use super::labels::Labels;
use super::patched::{merged_at, removed_by, why_moved};
use super::references::references;
use super::sites::Site;
use super::text::MASK;
use crate::pipeline::trace::{
    Applied, Cause, Event, EventKind, Input, InputKind, Segment, at, nodes_in_patch, pointer,
};
use crate::pipeline::{StepField, Trace};
use crate::resource::{ResourceId, Track};
use crate::schema::Type;
use crate::transformers::decoded;

/// How histories are put together.
#[derive(Clone, Copy)]
pub struct HistoryOptions<'a> {
    /// Says what to call entries and fields of the sources.
    pub labels: &'a Labels<'a>,
    /// Says which values must not be shown.
    pub hidden: &'a Hidden,
    /// How far causes are followed.
    pub depth: usize,
    /// Whether to say of each event what met the conditions of its entry.
    pub conditions: bool,
}

/// The history of a field.
pub fn explain(place: &Where, with: HistoryOptions) -> Explanation {
    let events = events(place);
    let ids = place.trace.ids(place.track);
    let root = last_seen(place).cloned().unwrap_or_else(Node::null);
    let last_id = || ids.last().map(|id| (*id).clone()).unwrap_or_default();
    let id: ResourceId = place.resource.map_or_else(last_id, Clone::clone);
    let of = place.trace.type_of(&id);
    let mut names: Vec<Text> = ids.iter().map(|id| id.name.clone()).collect();
    names.dedup();
    let state = match events.last().map(|event| event.kind) {
        Some(EventKind::Deleted) => State::Deleted,
        Some(EventKind::Dropped) => State::Dropped,
        _ if place.removed => State::Removed,
        _ => State::Present,
    };
    let mut history: Vec<HistoryEntry> =
        events.iter().filter(|e| changes_value(e)).map(|e| entry(e, with)).collect();
    if let Some(last) = history.last_mut().filter(|_| state == State::Present) {
        last.decides = true;
    }
    mark_dead_writes(place, &events, &mut history);
    let origin = events.first().map_or(Span::NONE, |first| origin_of(first));
    let value = place.value().map(|value| with.hidden.shown(&root, &place.path, value));
    let (mut value, masked) = value.map_or((None, false), |(value, masked)| (Some(value), masked));
    if state == State::Present && !masked && is_base64(&id, &place.path) {
        encode_last(&mut history);
    }
    if let (Some(now), Some(last)) = (&mut value, history.last().filter(|_| state == State::Present).cloned())
        && let Some(printed) = printed(now)
    {
        let is_written = now.text().is_some_and(|text| !text.is_empty());
        let before = std::mem::replace(now, printed.clone());
        history.extend(is_written.then(|| HistoryEntry {
            event: EventKind::Normalised,
            before: Some(before),
            after: Some(printed),
            changed: true,
            read_from: None,
            label: "normalised".to_owned(),
            because: Vec::new(),
            opaque: None,
            decides: false,
            ..last
        }));
    }
    Explanation {
        field: shown_of(&root, of, &place.path),
        pointer: pointer(&place.path),
        value,
        masked,
        gvk: id.gvk.clone(),
        namespace: id.namespace,
        name: id.name,
        names,
        origin,
        state,
        history,
        elements: elements(place, &root, of, &events),
        sites: Vec::new(),
        parts: Vec::new(),
        left_alone: Vec::new(),
        misses: Vec::new(),
    }
}

/// Marks what steps wrote and nothing uses, since a later one takes it away, or one of the same kustomization writes over all
/// of it. That an overlay writes over what its base wrote is what overlays are for.
fn mark_dead_writes(place: &Where, events: &[Event], history: &mut [HistoryEntry]) {
    let Some((last, earlier)) = history.split_last_mut().filter(|_| !place.path.is_empty()) else { return };
    let writes = |entry: &HistoryEntry| {
        matches!(entry.event, EventKind::Set | EventKind::Merged | EventKind::Copied) && entry.step.is_some()
    };
    let end = earlier.len();
    if matches!(last.event, EventKind::Removed | EventKind::Deleted | EventKind::Dropped) {
        earlier.iter_mut().filter(|entry| writes(entry)).for_each(|entry| entry.never_seen = Some(end));
        return;
    }
    let changing: Vec<&Event> = events.iter().filter(|event| changes_value(event)).collect();
    for (at, pair) in changing.windows(2).enumerate() {
        let [first, second] = pair else { continue };
        let is_write = history.get(at).is_some_and(|entry| writes(entry) && entry.event != EventKind::Merged);
        if is_write
            && std::ptr::eq(first.trace, second.trace)
            && replaces_all(second)
            && !is_read_between(first, second)
        {
            history[at].never_seen = Some(at + 1);
        }
    }
}

/// Whether nothing of the scalar that was there is left: an image is set in parts, and a replacement may be.
fn replaces_all(event: &Event) -> bool {
    let is_scalar = |node: Option<&Node>| node.is_some_and(Node::is_scalar);
    event.kind == EventKind::Set
        && is_scalar(event.before)
        && is_scalar(event.after)
        && event.causes.iter().any(|cause| matches!(cause, Cause::Merged { .. } | Cause::Patched { .. }))
        || event.kind == EventKind::Set && event.step.name.field == StepField::Replicas
}

/// Whether a step between two events of a resource copies something from it.
fn is_read_between(first: &Event, second: &Event) -> bool {
    let between = first.trace.steps.get(first.index + 1..second.index).unwrap_or_default();
    let mut notes = between.iter().flat_map(|step| &step.notes);
    notes.any(|note| match &note.cause {
        Cause::Copied { source: Some((track, _)), .. } => *track == first.resource,
        Cause::Expanded { source, .. } => *source == first.resource,
        _ => false,
    })
}

/// Whether a field holds what a Secret encodes.
fn is_base64(id: &ResourceId, path: &[Segment]) -> bool {
    let is_data = matches!(path, [Segment::Key(key), Segment::Key(_)] if key == "data");
    is_data && &*id.gvk.kind == "Secret" && id.gvk.group.is_empty()
}

/// A generator reads a text, and a Secret holds it in base64: two events, so that each shows what was there.
fn encode_last(history: &mut Vec<HistoryEntry>) {
    let text = |node: &Option<Node>| decoded(node.as_ref()?.text()?).map(Node::from);
    if !history.iter().all(|entry| entry.event == EventKind::Generated) {
        return;
    }
    let texts: Option<Vec<Node>> = history.iter().map(|entry| text(&entry.after)).collect();
    let (Some(texts), Some(last)) = (texts, history.last().cloned()) else { return };
    let mut before = None;
    for (entry, text) in history.iter_mut().zip(&texts) {
        entry.before = before.replace(text.clone());
        entry.after = Some(text.clone());
    }
    history.push(HistoryEntry {
        event: EventKind::Normalised,
        before,
        after: last.after.clone(),
        changed: true,
        label: "base64".to_owned(),
        because: Vec::new(),
        opaque: None,
        decides: false,
        ..last
    });
}

/// A scalar as the build prints it, if that is another text than the one that was written.
fn printed(node: &Node) -> Option<Node> {
    let is_rewritten =
        matches!(node.tag(), Tag::Int | Tag::Float | Tag::Bool | Tag::Null | Tag::Timestamp | Tag::Binary);
    if !node.is_scalar() || !is_rewritten {
        return None;
    }
    let mut text = String::new();
    krm_yaml::try_canonical_into(node, &mut text).ok()?;
    let printed = krm_yaml::parse_str(&text).ok()?.into_iter().next()?.root;
    (printed.text() != node.text()).then(|| printed.with_span(node.span()))
}

/// The steps that did nothing to a field, in the order in which they ran.
pub fn left_alone(place: &Where) -> Vec<(String, Span)> {
    fn collect(trace: &Trace, until: usize, track: Track, events: &[Event], all: &mut Vec<(String, Span)>) {
        // What one of its entries changed, a step did not leave alone.
        let mut acted = false;
        for (index, step) in trace.steps.iter().enumerate().take(until) {
            let from = step.change(track).and_then(|change| change.from);
            if let (Some(within), Some(from)) = (&step.within, from) {
                collect(within, within.steps.len(), from, events, all);
            }
            let is_in = |event: &Event| std::ptr::eq(event.trace, trace) && event.index == index;
            acted |= events.iter().any(is_in);
            if step.is_part {
                continue;
            }
            if !step.role.loads() && !step.place.is_none() && !acted {
                all.push((step.name.to_string(), step.place));
            }
            acted = false;
        }
    }
    let mut all = Vec::new();
    collect(place.trace, place.until, place.track, &events(place), &mut all);
    all
}

/// What happened, oldest first; of a field that is gone, its removal last.
fn events<'t>(place: &Where<'t>) -> Vec<Event<'t>> {
    match place.removed {
        false => {
            place.trace.history_until(place.until.min(place.trace.steps.len()), place.track, &place.path)
        }
        true => place.trace.history_of_removed(place.until - 1, place.track, &place.path),
    }
}

/// The resource as it was when the field was last there.
fn last_seen<'t>(place: &Where<'t>) -> Option<&'t Node> {
    let (_, step) = place.trace.touching(place.track, place.until).next_back()?;
    let change = step.change(place.track)?;
    let seen = if place.removed { change.before.as_ref() } else { change.after.as_ref() };
    seen.map(|seen| &seen.node)
}

/// Whether an event changes the value. Moves are listed with the element that moved, and neither writing the same text in
/// another style nor printing all of it again, as functions do, counts as a change.
pub fn changes_value(event: &Event) -> bool {
    let text = |node: Option<&Node>| node.and_then(Node::text).map(str::to_owned);
    match event.kind {
        EventKind::Moved => false,
        EventKind::Normalised => text(event.before) != text(event.after),
        EventKind::ByFunction => event.before != event.after,
        _ => true,
    }
}

/// Where the resource that an event belongs to came from. What a program printed is in no file: that is where it is asked for.
fn origin_of(first: &Event) -> Span {
    match first.kind {
        EventKind::ByFunction => return configured_at(first),
        EventKind::Inflated => return first.asked,
        _ => {}
    }
    let change = first.step.change(first.resource);
    change
        .and_then(|change| change.after.as_ref().or(change.before.as_ref()))
        .map_or(Span::NONE, |seen| seen.node.span())
}

fn entry(event: &Event, with: HistoryOptions) -> HistoryEntry {
    let is_origin = event.kind == EventKind::Written;
    let mut conditions = FxHashSet::default();
    let because = event.causes.iter().filter_map(|cause| reason(cause, event, with));
    // Several resources or notes may meet one condition.
    let is_new = |because: &Because| match because {
        Because::Condition { text, .. } => conditions.insert(*text),
        _ => true,
    };
    let through = references(event, with.labels).into_iter();
    let through = through.map(|(what, place)| Because::Through { what, place });
    let met = if with.conditions { met(event, with.labels) } else { Vec::new() };
    let because =
        also_set(event, with.labels).into_iter().chain(because.filter(is_new)).chain(met).chain(through);
    let because = because.collect();
    let copied_at = event.causes.iter().find_map(|cause| match cause {
        Cause::Copied { path, .. } => Some(*path),
        Cause::Expanded { .. } => Some(event.written),
        _ => None,
    });
    let copying = copying(event);
    let copied_at = copied_at.or(copying.map(|operation| operation.span));
    let removed_by = removed_by(event);
    let place = match event.kind {
        EventKind::Removed | EventKind::Deleted => {
            removed_by.as_ref().map_or(event.asked, |removal| removal.place)
        }
        EventKind::Merged => merged_at(event).unwrap_or(event.asked),
        EventKind::Dropped => local_config(event),
        EventKind::Followed | EventKind::Hashed => Span::NONE,
        // What a program printed is gone; where it is configured can be looked at.
        EventKind::ByFunction => configured_at(event),
        // Nor is what helm printed a file: the entry is where people begin to look.
        EventKind::Inflated => event.asked,
        _ => copied_at.or(Some(event.written)).filter(|span| !span.is_none()).unwrap_or(event.asked),
    };
    let name = event.step.name_of(event.written);
    let entry_name = || name.entry();
    let gone = |how: &str| format!("{}, {}", name.entry(), removed_by.as_ref().map_or(how, |by| &by.how));
    let label = match event.kind {
        EventKind::Written => "written".to_owned(),
        EventKind::Generated => input_of(event).map(input_label).unwrap_or_else(entry_name),
        EventKind::Merged => match name.field {
            StepField::NameReferences => "references to renamed resources".to_owned(),
            StepField::VarReferences => "variables".to_owned(),
            StepField::Patches
            | StepField::PatchesStrategicMerge
            | StepField::PatchesJson6902
            | StepField::ConfigMapGenerator
            | StepField::SecretGenerator => format!("{}, merged", entry_name()),
            _ => entry_name(),
        },
        EventKind::Removed if is_generator(event) => gone("behavior: replace"),
        EventKind::Removed => gone("removed"),
        EventKind::Deleted => gone("deleted"),
        EventKind::Dropped => format!("{}, dropped", entry_name()),
        EventKind::Copied => match copying {
            Some(operation) => format!("{}, op: {}", entry_name(), operation.name),
            // The step expands all variables; the entry is the one of this.
            None if event.step.name.field == StepField::VarReferences => {
                let name = with.labels.field(place);
                name.map_or_else(entry_name, |name| name.trim_end_matches(".name").to_owned())
            }
            None => entry_name(),
        },
        EventKind::Followed => followed_label(event),
        EventKind::Hashed => "the hash of its content".to_owned(),
        _ => with.labels.field(place).unwrap_or_else(entry_name),
    };
    let opaque = match event.kind {
        EventKind::Inflated => Some(Opaque::Chart),
        EventKind::ByFunction => Some(Opaque::Function),
        // The parts of a map have histories of their own.
        EventKind::Merged => None,
        _ if place.is_none() && !is_origin && event.causes.is_empty() => Some(Opaque::Default),
        _ => None,
    };
    let step = (!is_origin).then(|| ChangingStep {
        id: name.to_string(),
        field: name.field.clone(),
        entry: name.index,
        role: event.step.role.name(),
        place: event.asked,
    });
    let Values { before, after, masked } = values(event, with.hidden);
    let hidden_changes = if masked { hidden_changes(event, &before, &after) } else { Vec::new() };
    let layer = name.folder.to_string();
    let moment = Moment::new(event.trace, event.index);
    HistoryEntry {
        event: event.kind,
        moment,
        before,
        after,
        masked,
        changed: event.before != event.after,
        hidden_changes,
        place,
        read_from: read_from(event, with.labels.sources),
        label,
        layer,
        step,
        because,
        opaque,
        decides: false,
        never_seen: None,
    }
}

/// What the target of a patch, a patch itself or the `select` of a replacement asks for, one by one, with what met it.
fn met(event: &Event, labels: &Labels) -> Vec<Because> {
    let tree = tree_before(event.trace, event.index, event.resource);
    let of_resource = |key: &str| {
        let path: &[&str] = match key {
            "kind" => &["kind"],
            "apiVersion" | "group" | "version" => &["apiVersion"],
            "name" => &["metadata", "name"],
            "namespace" => &["metadata", "namespace"],
            "labelSelector" => &["metadata", "labels"],
            "annotationSelector" => &["metadata", "annotations"],
            _ => return Span::NONE,
        };
        tree.and_then(|tree| tree.at(path.iter().copied())).map_or(Span::NONE, Node::span)
    };
    let mut all: Vec<Because> = Vec::new();
    let mut add = |what: Option<String>, key: &str, text: Span| {
        let what = what.unwrap_or_else(|| key.to_owned());
        let is_known = |one: &Because| matches!(one, Because::Met { text: known, .. } if *known == text);
        if !text.is_none() && !all.iter().any(is_known) {
            all.push(Because::Met { what, text, met: of_resource(key) });
        }
    };
    let entry = event.step.name_of(event.written).entry();
    let mut has_target = false;
    for cause in &event.causes {
        match cause {
            Cause::Matched { asked, .. } => {
                let Some(node) = labels.node(*asked).filter(Node::is_map) else { continue };
                // A patch without a target says itself what it is for.
                if node.get("metadata").is_some() {
                    continue;
                }
                let target = node.get("target").filter(|_| node.get("kind").is_none());
                has_target |= target.is_some();
                let is_patch =
                    target.is_none() && (node.get("patch").is_some() || node.get("path").is_some());
                let selector = target.unwrap_or(&node);
                for field in selector.as_map().into_iter().flatten().filter(|_| !is_patch) {
                    if let Some(key) = field.key.text().filter(|_| field.value.is_scalar()) {
                        add(labels.path(field.value.span()), key, field.value.span());
                    }
                }
            }
            Cause::Copied { path, .. } => add(labels.path(*path), "fieldPaths", *path),
            _ => {}
        }
    }
    for cause in &event.causes {
        let Cause::Merged { patch, aligned } = cause else { continue };
        for (path, key) in [
            (&["apiVersion"][..], "apiVersion"),
            (&["kind"], "kind"),
            (&["metadata", "name"], "name"),
            (&["metadata", "namespace"], "namespace"),
        ] {
            let node = patch.at(path.iter().copied()).filter(|_| !has_target);
            let what = format!("{entry}: {}", path.join("."));
            node.into_iter().for_each(|node| add(Some(what.clone()), key, node.span()));
        }
        let change = event.step.change(event.resource).and_then(|change| change.after.as_ref());
        let Some(after) = change else { continue };
        let nodes = nodes_in_patch(patch, aligned, &after.node, &event.path);
        for (depth, segment) in event.path.iter().enumerate() {
            let (Segment::Index(_), Some(list), Some(item)) =
                (segment, nodes.get(depth), nodes.get(depth + 1))
            else {
                continue;
            };
            if let Some((key, _)) = key_of(list, item, None)
                && let Some(value) = item.get(key)
            {
                let list = shown(&after.node, &event.path[..depth]);
                add(Some(format!("{entry}: {list}[{key}]")), "", value.span());
            }
        }
    }
    all
}

/// Whether a generator of data did it. What one takes away was in the data that it replaces.
fn is_generator(event: &Event) -> bool {
    matches!(event.step.name.field, StepField::ConfigMapGenerator | StepField::SecretGenerator)
}

/// What else an entry of `images:` sets: one part of an image is its name, another its tag or digest.
fn also_set(event: &Event, labels: &Labels) -> Vec<Because> {
    if event.step.name.field != StepField::Images || event.written.is_none() {
        return Vec::new();
    }
    let Some(entry) = labels.entry(event.written) else { return Vec::new() };
    let set = |key: &&str| entry.get(key).and_then(Node::text).is_some_and(|text| !text.is_empty());
    let tail = ["newTag", "digest"].iter().any(set);
    let keys = ["newName", "newTag", "digest", "tagSuffix"].into_iter();
    let keys = keys.filter(set).filter(|key| *key != "tagSuffix" || !tail);
    let places = keys.filter_map(|key| entry.get(key)).map(Node::span);
    let others = places.filter(|place| *place != event.written);
    others.map(|place| Because::Also { label: labels.field(place).unwrap_or_default(), place }).collect()
}

/// The operation of a JSON patch that copied or moved a field here.
fn copying<'t>(event: &Event<'t>) -> Option<&'t Applied> {
    event.causes.iter().filter(|_| event.kind == EventKind::Copied).find_map(|cause| match cause {
        Cause::Patched { operation } => operation.source_of(&event.path).map(|_| operation),
        _ => None,
    })
}

/// Where the program is configured that made a value, or else the entry that asked for it.
pub fn configured_at(event: &Event) -> Span {
    let configured = event.causes.iter().find_map(|cause| match cause {
        Cause::Called { place, .. } => Some(*place).filter(|place| !place.is_none()),
        _ => None,
    });
    configured.unwrap_or(event.asked)
}

/// The file, or the line of it, that a generator read a value from.
pub fn read_from(event: &Event, sources: &Sources) -> Option<Site> {
    input_of(event)?.site(sources)
}

/// What was and what is there, as it may be seen.
struct Values {
    before: Option<Node>,
    after: Option<Node>,
    masked: bool,
}

fn values(event: &Event, hidden: &Hidden) -> Values {
    let (old, new) = match event.step.change(event.resource) {
        Some(change) => (change.before.as_ref(), change.after.as_ref()),
        None => (None, None),
    };
    // A step that left the resource as it was found it as the one before left it.
    let unchanged = last_change(event.trace, event.index, event.resource);
    let old = old.map(|seen| &seen.node).or(unchanged.map(|(_, node)| node));
    let new = new.map(|seen| (&seen.id, &seen.node)).or(unchanged);
    let was = old.zip(new.filter(|_| event.after.is_some()));
    let was = was.and_then(|(old, (id, new))| event.trace.path_in_tree_before(old, (new, id), &event.path));
    let new = new.map(|(_, node)| node);
    let shown = |root: Option<&Node>, path: &[Segment], value: Option<&Node>| match (root, value) {
        (Some(root), Some(value)) => {
            let (value, masked) = hidden.shown(root, path, value);
            (Some(value), masked)
        }
        (None, value) => (value.cloned(), false),
        (Some(_), None) => (None, false),
    };
    let (before, of_before) = shown(old, was.as_deref().unwrap_or(&event.path), event.before);
    let (after, of_after) = shown(new, &event.path, event.after);
    Values { before, after, masked: of_before || of_after }
}

/// The fields that are hidden before and after an event, and that it changed.
fn hidden_changes(event: &Event, before: &Option<Node>, after: &Option<Node>) -> Vec<Vec<Segment>> {
    let (Some(was), Some(now)) = (event.before, event.after) else { return Vec::new() };
    let is_hidden = |shown: &Option<Node>, path: &[Segment]| {
        shown.as_ref().and_then(|shown| at(shown, path)).and_then(Node::text) == Some(MASK)
    };
    let mut changed = Vec::new();
    each_scalar(now, &mut Vec::new(), &mut |value, path| {
        let is_same = at(was, path).is_none_or(|old| old == value);
        if !is_same && is_hidden(before, path) && is_hidden(after, path) {
            changed.push(path.to_vec());
        }
    });
    changed
}

/// What a generator made a value from.
fn input_of<'t>(event: &Event<'t>) -> Option<&'t Input> {
    let Some(Segment::Key(key)) = event.path.last().filter(|_| event.kind == EventKind::Generated) else {
        return None;
    };
    event.causes.iter().find_map(|cause| match cause {
        Cause::Generated { inputs } => inputs.iter().find(|input| input.key == *key),
        _ => None,
    })
}

fn input_label(input: &Input) -> String {
    match &input.kind {
        InputKind::Literal => format!("literal {}", input.key),
        InputKind::File(path) => format!("file {path}"),
        InputKind::Env(path, line) => format!("line {line} of {path}"),
    }
}

/// Where a resource says that it is only there for tools.
fn local_config(event: &Event) -> Span {
    let seen = event.step.change(event.resource).and_then(|change| change.before.as_ref());
    let annotation = seen.and_then(|seen| seen.node.at(["metadata", "annotations", LOCAL_CONFIG]));
    annotation.map_or(Span::NONE, Node::span)
}

fn followed_label(event: &Event) -> String {
    let text = event.causes.iter().find_map(|cause| match cause {
        Cause::Followed { kind, before, .. } => Some(format!("followed {} {before}", kind.kind)),
        _ => None,
    });
    text.unwrap_or_else(|| "followed".to_owned())
}

fn reason(cause: &Cause, event: &Event, with: HistoryOptions) -> Option<Because> {
    // Whatever a cause names is in the trace of the step: that of a base, if the step is one of a base.
    let (trace, step) = (event.trace, event.index);
    let history = |track: Track, path: &[Segment], until: usize| -> Vec<HistoryEntry> {
        let Some(depth) = with.depth.checked_sub(1) else { return Vec::new() };
        let events = trace.history_until(until, track, path);
        let changes = events.iter().filter(|e| changes_value(e));
        changes.map(|e| entry(e, HistoryOptions { depth, ..with })).collect()
    };
    let copied = |track: Track, field: &str| {
        let seen = seen_before(trace, step, track);
        let resource =
            seen.map_or_else(String::new, |id| format!("{} {}", id.gvk.kind, first_name(trace, track, id)));
        let root = tree_before(trace, step, track);
        let path = FieldPath::parse(field).ok();
        let way = root.zip(path).and_then(|(root, path)| Some((root, path.ways(root).into_iter().next()?)));
        // A pointer is shown as other paths are.
        let field = match &way {
            Some((root, way)) if field.starts_with('/') => shown(root, way).into(),
            _ => field.into(),
        };
        let history = way.map(|(_, way)| history(track, &way, step)).unwrap_or_default();
        Because::Copied { resource, field, history }
    };
    match cause {
        Cause::Followed { kind, field, rule, target, before, .. } => {
            let is_namespace = matches!(event.path.last(), Some(Segment::Key(key)) if key == "namespace");
            let key = if is_namespace { "namespace" } else { "name" };
            let path = [Segment::Key("metadata".into()), Segment::Key(key.into())];
            let mut renames = history(*target, &path, step);
            renames.retain(|entry| is_namespace || entry.before.is_some());
            let seen = seen_before(trace, step, *target);
            let target = seen.map_or_else(|| before.to_string(), |id| format!("{} {before}", id.gvk.kind));
            let by =
                seen_before(trace, step, event.resource).map(|id| id.gvk.kind.clone()).unwrap_or_default();
            Some(Because::Followed {
                kind: kind.clone(),
                by,
                field: field.clone(),
                rule: *rule,
                target,
                renames,
                is_namespace,
            })
        }
        Cause::Copied { source: Some((track, field)), .. } | Cause::Expanded { source: track, field, .. } => {
            Some(copied(*track, field))
        }
        Cause::Patched { operation } => {
            let from = operation.source_of(&event.path).filter(|_| event.kind == EventKind::Copied);
            from.map(|from| copied(event.resource, &from))
        }
        Cause::Copied { source: None, .. } | Cause::Merged { .. } => None,
        Cause::Rejected { .. } | Cause::Elsewhere { .. } | Cause::OtherKind { .. } => None,
        // The place and the label of the event say it.
        Cause::Generated { .. } => None,
        Cause::Matched { asked, .. } => {
            Some(Because::Condition { what: with.labels.path(*asked), text: *asked })
        }
        Cause::Inflated { chart } => Some(Because::Chart { chart: chart.clone() }),
        Cause::Called { program, digest, config, place } => {
            let written = Some(*place).filter(|place| !place.is_none()).unwrap_or(event.asked);
            let guess = event.after.and_then(|value| {
                let configured = config.as_ref().and_then(|config| same_in(config, value, |_| true));
                configured.or_else(|| {
                    let documents = with.labels.documents(written.file);
                    documents.iter().find_map(|root| same_in(root, value, |span| written.holds(span)))
                })
            });
            Some(Because::Program { program: program.clone(), digest: digest.clone(), guess })
        }
        Cause::Hashed { .. } => Some(Because::Hash { inputs: inputs_of(trace, event.resource) }),
    }
}

/// The first place in a tree that has the same text as a value and that counts.
fn same_in(root: &Node, value: &Node, counts: impl Fn(Span) -> bool) -> Option<Span> {
    let text = value.text().filter(|text| value.is_scalar() && !text.is_empty())?;
    let mut found = None;
    each_scalar(root, &mut Vec::new(), &mut |scalar, _| {
        let span = scalar.span();
        if found.is_none() && !span.is_none() && scalar.text() == Some(text) && counts(span) {
            found = Some(span);
        }
    });
    found
}

/// Everything that generators put into a resource, down through bases; what a later one replaced or dropped is left out.
fn inputs_of(trace: &Trace, resource: Track) -> Vec<Input> {
    let mut all: Vec<Input> = Vec::new();
    for (_, step) in trace.touching(resource, trace.steps.len()) {
        let Some(change) = step.change(resource) else { continue };
        let below = match (&step.within, change.from) {
            (Some(within), Some(from)) => inputs_of(within, from),
            _ => Vec::new(),
        };
        let own = step.notes.iter().filter_map(|note| match &note.cause {
            Cause::Generated { inputs } => Some(inputs.clone()),
            _ => None,
        });
        for input in below.into_iter().chain(own.flatten()) {
            all.retain(|known| known.key != input.key);
            all.push(input);
        }
        if let Some(seen) = &change.after {
            let is_there = |input: &Input| {
                ["data", "binaryData", "stringData"]
                    .iter()
                    .any(|map| seen.node.at([*map, &input.key]).is_some())
            };
            all.retain(is_there);
        }
    }
    all
}

/// The first name of a resource: what people call it.
fn first_name(trace: &Trace, track: Track, now: &ResourceId) -> Text {
    trace.ids(track).first().map_or_else(|| now.name.clone(), |id| id.name.clone())
}

fn seen_before(trace: &Trace, step: usize, track: Track) -> Option<&ResourceId> {
    last_change(trace, step, track).map(|(id, _)| id)
}

fn tree_before(trace: &Trace, step: usize, track: Track) -> Option<&Node> {
    last_change(trace, step, track).map(|(_, node)| node)
}

fn last_change(trace: &Trace, step: usize, track: Track) -> Option<(&ResourceId, &Node)> {
    let (_, step) = trace.touching(track, step).next_back()?;
    let change = step.change(track)?;
    change.after.as_ref().or(change.before.as_ref()).map(|seen| (&seen.id, &seen.node))
}

/// How the elements on the way to a field moved.
fn elements(place: &Where, root: &Node, of: Option<Type>, events: &[Event]) -> Vec<Moves> {
    let mut all = Vec::new();
    for (depth, segment) in place.path.iter().enumerate() {
        let Segment::Index(now) = segment else { continue };
        let list = at(root, &place.path[..depth]);
        let item = list.and_then(|list| list.items().get(*now));
        let of_list = place.path[..depth].iter().try_fold(of, |of, segment| {
            Some(match segment {
                Segment::Key(key) => of?.field(key),
                Segment::Index(_) => of?.items(),
            })
        });
        let key = list.zip(item).and_then(|(list, item)| key_of(list, item, of_list.flatten()));
        let written = item.map(Node::span).filter(|span| !span.is_none());
        let key_place = written.or_else(|| Some(item?.get(key.as_ref()?.0)?.span()));
        let mut moves = Vec::new();
        let mut first = *now;
        let mut previous: Option<usize> = None;
        for event in events {
            let Some(Segment::Index(index)) = event.path.get(depth) else { continue };
            match previous {
                None => first = *index,
                Some(was) if was != *index => {
                    let step = event.step.name_of(event.written).to_string();
                    let (place, why) = why_moved(event, &event.path[..depth], was, *index);
                    let place = if place.is_none() { event.asked } else { place };
                    moves.push(Move { from: was, to: *index, step, place, why });
                }
                Some(_) => {}
            }
            previous = Some(*index);
        }
        if !moves.is_empty() {
            all.push(Moves {
                path: shown_of(root, of, &place.path[..depth]),
                key: key.map(|(key, value)| (key.into(), value)),
                place: key_place.unwrap_or(Span::NONE),
                first,
                moves,
            });
        }
    }
    all
}
