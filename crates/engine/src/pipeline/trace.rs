//! What each step changed, for those who ask how a value came about.
//!
//! When a [`Context`](super::Context) has a [`Tracer`], the executor compares every resource with what it was before the
//! step. The tree is copied on write, so keeping what was there costs a counter and comparing costs a pointer. What
//! pointers cannot tell, a transformer says itself ([`Context::note`](super::Context::note)). Without a tracer nothing of
//! this happens: one question per group of steps.
//!
//! A [`Trace`] is what is left when the run is over: the steps in order, each with what it changed. A base has a trace of
//! its own, which the step that loads it holds, so that the way of a value leads through bases down to the file. On top of
//! it, [`Trace::history`] follows one field from the result back to where it was first written.

use std::sync::{Arc, Mutex};

use krm_function::elements::ASSOCIATIVE_KEYS;
use krm_yaml::{Node, Span, Text, Value};
use rustc_hash::FxHashMap;

use super::step::{Made, entry_of};
use super::{Role, Step, StepName};
use crate::resource::list::Resources;
use crate::resource::{Gvk, Resource, ResourceId, Track};

/// Takes note of what steps change while they run.
#[derive(Debug, Default)]
pub struct Tracer(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    trace: Trace,
    /// The trees as they are now, by track.
    now: Vec<Option<Seen>>,
    /// What transformers said since the last step ended.
    notes: Vec<Note>,
    /// What the step that runs has made, if it is a pipeline itself: its trace, and which resource is which in there.
    made: Option<(Arc<Trace>, FxHashMap<Track, Track>)>,
}

/// A resource as it was at one moment.
#[derive(Clone, Debug)]
pub struct Seen {
    pub node: Node,
    pub id: ResourceId,
    /// Which one in the order of resources it was.
    pub position: usize,
}

/// Everything that happened in a run, in order.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    pub steps: Vec<Traced>,
    /// The resources at the end, in order; of a run that failed, those it had.
    pub result: Vec<(Track, Seen)>,
}

/// A step that ran.
#[derive(Clone, Debug)]
pub struct Traced {
    pub name: StepName,
    /// The entry or field that asked for it.
    pub place: Span,
    pub role: Role,
    /// The entries it stands for: see [`Step::entries`].
    pub entries: Arc<[Span]>,
    /// How many resources it was given.
    pub given: usize,
    /// Of a base: what happened in there.
    pub within: Option<Arc<Trace>>,
    /// In the order of resources; those that went come last.
    pub changes: Vec<Change>,
    pub notes: Vec<Note>,
}

/// What a step did to one resource.
#[derive(Clone, Debug)]
pub struct Change {
    pub resource: Track,
    /// `None` of one that came with this step.
    pub before: Option<Seen>,
    /// `None` of one that is gone since this step.
    pub after: Option<Seen>,
    /// Of one that came from a base: which one it is in the trace [`within`](Traced::within).
    pub from: Option<Track>,
}

/// A cause that cannot be seen from what changed.
#[derive(Clone, Debug)]
pub struct Note {
    /// The resource that was changed; `NONE` of any that was.
    pub resource: Track,
    /// The value that was written has this span, and by that it is known which one it is; `NONE` if the note is about the
    /// resource as a whole.
    pub written: Span,
    pub cause: Cause,
}

/// Why a value became what it is.
#[derive(Clone, Debug)]
pub enum Cause {
    /// A name followed the resource it means.
    Followed {
        /// The kind of resource the field names.
        kind: Gvk,
        /// The field of the rule, with slashes.
        field: Text,
        /// Where the rule is written; `NONE` of one that is built in.
        rule: Span,
        /// The resource that is meant. Why its name changed is in its own history.
        target: Track,
        before: Text,
        after: Text,
    },
    /// A replacement copied it.
    Copied {
        /// The entry of `replacements:`.
        entry: Span,
        /// Where from; `None` where the value is written in the entry itself.
        source: Option<(Track, Text)>,
        /// The path under `fieldPaths` that led here.
        path: Span,
    },
    /// A variable stood for it.
    Expanded { name: Text, variable: Span, source: Track, field: Text },
    /// The hash of the content went behind the name.
    Hashed { hash: Text },
    /// Data of a generated resource.
    Generated { inputs: Vec<Input> },
    /// It came out of a helm chart.
    Inflated { chart: Text, version: Text, repository: Text },
    /// A program returned it.
    Called { program: Text, config: Span },
    /// A condition under which the step acted: what was asked for, and the text that met it.
    Matched { asked: Span, met: Span },
}

/// Where data of a generated resource comes from.
#[derive(Clone, Debug)]
pub struct Input {
    pub key: Text,
    pub kind: InputKind,
    /// The entry that names it.
    pub entry: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputKind {
    Literal,
    /// The path, as it is written.
    File(Text),
    /// The path of an env file, and the line, from 1.
    Env(Text, usize),
}

const HELD: &str = "no one panics while holding a trace";

impl Tracer {
    /// Keeps what a transformer says.
    pub(super) fn note(&self, note: Note) {
        self.0.lock().expect(HELD).notes.push(note);
    }

    /// Compares everything with what it was before a step.
    pub(super) fn ended(&self, step: &Step, given: usize, items: &mut Resources) {
        let state = &mut *self.0.lock().expect(HELD);
        let mut traced = Traced::new(step, given);
        let (within, from) = state.made.take().unzip();
        state.compare(items, &mut traced, &from.unwrap_or_default());
        traced.within = within;
        traced.notes = std::mem::take(&mut state.notes);
        state.trace.steps.push(traced);
    }

    /// Takes in what a step has loaded, before it is put together with what others have.
    pub(super) fn loaded(&self, step: &Step, (loaded, within): &mut Made) {
        let state = &mut *self.0.lock().expect(HELD);
        let mut traced = Traced::new(step, 0);
        for r in loaded.iter_mut().flat_map(Resources::iter_mut_unindexed) {
            let from = (r.track != Track::NONE).then_some(r.track);
            r.track = state.next();
            let seen = Seen { node: r.node().clone(), id: r.id().clone(), position: state.now.len() };
            state.now.push(Some(seen.clone()));
            traced.changes.push(Change { resource: r.track, before: None, after: Some(seen), from });
        }
        traced.within = within.take();
        state.trace.steps.push(traced);
    }

    /// Takes in what a generator has made, before it is absorbed.
    pub(super) fn made(&self, made: &mut Resources, within: Option<Arc<Trace>>) {
        let state = &mut *self.0.lock().expect(HELD);
        let mut from = FxHashMap::default();
        for r in made.iter_mut_unindexed() {
            let track = state.next();
            state.now.push(None);
            if r.track != Track::NONE {
                from.insert(track, r.track);
            }
            r.track = track;
        }
        state.made = within.map(|within| (within, from));
    }

    /// Ends the trace: with the resources of the run, or after a failure.
    pub fn finish(&self, items: &Resources) -> Trace {
        let state = &mut *self.0.lock().expect(HELD);
        let mut trace = std::mem::take(&mut state.trace);
        let seen = |(at, r): (usize, &Resource)| {
            (r.track, Seen { node: r.node().clone(), id: r.id().clone(), position: at })
        };
        trace.result = items.iter().enumerate().map(seen).collect();
        trace
    }

    /// Ends the trace of a run that failed: the resources are those of the last step that ended.
    pub fn finish_failed(&self) -> Trace {
        let state = &mut *self.0.lock().expect(HELD);
        let mut trace = std::mem::take(&mut state.trace);
        let now = state.now.iter().enumerate();
        trace.result = now.filter_map(|(at, seen)| Some((Track::new(at), seen.clone()?))).collect::<Vec<_>>();
        trace.result.sort_by_key(|(_, seen)| seen.position);
        trace
    }
}

impl State {
    fn next(&self) -> Track {
        Track::new(self.now.len())
    }

    fn compare(&mut self, items: &mut Resources, traced: &mut Traced, from: &FxHashMap<Track, Track>) {
        let mut there = vec![false; self.now.len()];
        for (position, r) in items.iter_mut_unindexed().enumerate() {
            let seen = |r: &Resource| Seen { node: r.node().clone(), id: r.id().clone(), position };
            if r.track == Track::NONE {
                r.track = self.next();
                self.now.push(None);
            }
            if self.now[r.track.index()].is_none() {
                self.now[r.track.index()] = Some(seen(r));
                if let Some(there) = there.get_mut(r.track.index()) {
                    *there = true;
                }
                let from = from.get(&r.track).copied();
                let change = Change { resource: r.track, before: None, after: Some(seen(r)), from };
                traced.changes.push(change);
                continue;
            }
            let at = r.track.index();
            if let Some(there) = there.get_mut(at) {
                *there = true;
            }
            let before = self.now[at].as_mut().expect("those that were not there are dealt with");
            if !before.node.same(r.node()) || before.node.span() != r.node().span() {
                let after = seen(r);
                let before = std::mem::replace(before, after.clone());
                traced.changes.push(Change {
                    resource: r.track,
                    before: Some(before),
                    after: Some(after),
                    from: None,
                });
            } else {
                before.position = position;
            }
        }
        for (at, _) in there.iter().enumerate().filter(|(_, there)| !**there) {
            if let Some(before) = self.now[at].take() {
                traced.changes.push(Change {
                    resource: Track::new(at),
                    before: Some(before),
                    after: None,
                    from: None,
                });
            }
        }
    }
}

impl Traced {
    fn new(step: &Step, given: usize) -> Self {
        Self {
            name: step.name.clone(),
            place: step.place,
            role: step.role,
            entries: step.entries.clone(),
            given,
            within: None,
            changes: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// What the entry is called that wrote a value, given where the value was written.
    pub fn name_of(&self, written: Span) -> StepName {
        StepName {
            index: self.entry_of(written).map(|at| at as u32).or(self.name.index),
            ..self.name.clone()
        }
    }

    /// Which of its entries wrote a value.
    pub fn entry_of(&self, written: Span) -> Option<usize> {
        entry_of(&self.entries, written)
    }

    /// What it did to a resource.
    pub fn change(&self, resource: Track) -> Option<&Change> {
        self.changes.iter().find(|change| change.resource == resource)
    }

    /// The causes of a value it wrote, and those that are about the resource as a whole.
    pub fn causes(&self, resource: Track, written: Span) -> impl Iterator<Item = &Cause> {
        let fits = move |note: &&Note| {
            (note.resource == resource || note.resource == Track::NONE)
                && (note.written.is_none() || note.written == written)
        };
        self.notes.iter().filter(fits).map(|note| &note.cause)
    }
}

/// A way into a tree, one step down.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    Key(Text),
    /// A position in a list. It is a position at one moment: see [`Event::path`].
    Index(usize),
}

/// Something that happened to a field.
#[derive(Clone, Debug)]
pub struct Event<'t> {
    /// The step, and the trace it is in.
    pub step: &'t Traced,
    /// The resource in that trace.
    pub resource: Track,
    pub kind: EventKind,
    /// What was there; `None` of what was not.
    pub before: Option<&'t Node>,
    /// What was there then; `None` of what was removed.
    pub after: Option<&'t Node>,
    /// The way to it after the step (before it, if it was removed).
    pub path: Vec<Segment>,
    /// The entry or field that asked for it.
    pub asked: Span,
    /// Where the new value is written; `NONE` where nobody wrote it.
    pub written: Span,
    pub causes: Vec<&'t Cause>,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// It is in a file of resources.
    Written,
    /// A generator made it.
    Generated,
    /// It came out of a helm chart.
    Inflated,
    /// A program made or changed it.
    ByFunction,
    /// A step set it.
    Set,
    /// A map or a list of which parts were set.
    Merged,
    /// An element of a list changed its position.
    Moved,
    /// A replacement or a variable copied it from elsewhere.
    Copied,
    /// The name of the resource changed.
    Renamed,
    /// The hash went behind the name.
    Hashed,
    /// A name followed the resource it means.
    Followed,
    /// It was taken away.
    Removed,
    /// The whole resource was taken away.
    Deleted,
}

impl EventKind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::Written => "written",
            EventKind::Generated => "generated",
            EventKind::Inflated => "inflated",
            EventKind::ByFunction => "by function",
            EventKind::Set => "set",
            EventKind::Merged => "merged",
            EventKind::Moved => "moved",
            EventKind::Copied => "copied",
            EventKind::Renamed => "renamed",
            EventKind::Hashed => "hashed",
            EventKind::Followed => "followed",
            EventKind::Removed => "removed",
            EventKind::Deleted => "deleted",
        }
    }
}

impl Trace {
    /// All that happened to a field, oldest first. The path is that in the result, or, of a field or a resource that is no
    /// longer there, the one it last had. An empty path is the resource as a whole.
    pub fn history(&self, resource: Track, path: &[Segment]) -> Vec<Event<'_>> {
        self.history_until(self.steps.len(), resource, path)
    }

    /// The same as it was before a step ran: what a value that was copied from there has behind it.
    pub fn history_until(&self, step: usize, resource: Track, path: &[Segment]) -> Vec<Event<'_>> {
        let mut events = Vec::new();
        self.collect(step, resource, path.to_vec(), &mut events);
        events.reverse();
        events
    }

    /// Newest first.
    fn collect<'t>(
        &'t self,
        until: usize,
        resource: Track,
        mut path: Vec<Segment>,
        events: &mut Vec<Event<'t>>,
    ) {
        for step in self.steps[..until].iter().rev() {
            let Some(change) = step.change(resource) else { continue };
            match (&change.before, &change.after) {
                (None, after) => {
                    let after = after.as_ref().and_then(|seen| at(&seen.node, &path));
                    return match (&step.within, change.from) {
                        (Some(within), Some(from)) => {
                            within.collect(within.steps.len(), from, path, events);
                        }
                        _ => {
                            let root = change.after.as_ref().map_or(Span::NONE, |seen| seen.node.span());
                            events.extend(after.map(|after| origin(step, resource, after, root, path)));
                        }
                    };
                }
                (Some(before), None) => {
                    let before = at(&before.node, &path);
                    events.extend(before.map(|before| gone(step, resource, before, path.clone())));
                }
                (Some(before), Some(after)) => {
                    let Some(was) = path_before(&before.node, &after.node, &path) else {
                        // An element of a list that came with this step: what it is made of came with it.
                        let after = at(&after.node, &path);
                        events.extend(after.map(|after| set(step, resource, None, after, path)));
                        return;
                    };
                    let (old, new) = (at(&before.node, &was), at(&after.node, &path));
                    match (old, new) {
                        (None, None) => {}
                        (Some(old), None) => events.push(removed(step, resource, old, was.clone())),
                        (old, Some(new)) => {
                            if old.is_none_or(|old| !is_as_it_was(old, new)) {
                                events.push(set(step, resource, old, new, path));
                            } else if was != path {
                                events.push(moved(step, resource, old, new, path));
                            }
                        }
                    }
                    path = was;
                }
            }
        }
    }

    /// Every resource that was ever there, as it was last, and whether it is in the result.
    pub fn resources(&self) -> Vec<(Track, &Seen, bool)> {
        let mut last: FxHashMap<Track, (&Seen, bool)> = FxHashMap::default();
        for change in self.steps.iter().flat_map(|step| &step.changes) {
            match (&change.before, &change.after) {
                (_, Some(after)) => last.insert(change.resource, (after, true)),
                (Some(before), None) => last.insert(change.resource, (before, false)),
                (None, None) => None,
            };
        }
        last.extend(self.result.iter().map(|(track, seen)| (*track, (seen, true))));
        let mut all: Vec<_> = last.into_iter().map(|(track, (seen, there))| (track, seen, there)).collect();
        all.sort_by_key(|(track, seen, there)| (!there, seen.position, *track));
        all
    }

    /// Every id a resource had, oldest first, down through bases.
    pub fn ids(&self, resource: Track) -> Vec<&ResourceId> {
        let mut ids: Vec<&ResourceId> = Vec::new();
        for step in &self.steps {
            let Some(change) = step.change(resource) else { continue };
            if let (Some(within), Some(from)) = (&step.within, change.from) {
                ids.extend(within.ids(from));
            }
            ids.extend(change.before.iter().chain(&change.after).map(|seen| &seen.id));
        }
        ids.dedup_by(|a, b| a == b);
        ids
    }
}

fn event<'t>(step: &'t Traced, resource: Track, kind: EventKind, path: Vec<Segment>) -> Event<'t> {
    let (before, after, asked, written) = (None, None, step.place, Span::NONE);
    Event { step, resource, kind, before, after, path, asked, written, causes: Vec::new() }
}

/// The first event of a field: it came with its resource.
fn origin<'t>(
    step: &'t Traced,
    resource: Track,
    after: &'t Node,
    root: Span,
    path: Vec<Segment>,
) -> Event<'t> {
    let mut causes: Vec<&Cause> = step.causes(resource, after.span()).collect();
    if root != after.span() {
        let of_all = step.notes.iter().filter(|note| !root.is_none() && note.written == root);
        causes.extend(of_all.map(|note| &note.cause));
    }
    let kind = match step.role {
        Role::Load => EventKind::Written,
        _ if causes.iter().any(|cause| matches!(cause, Cause::Inflated { .. })) => EventKind::Inflated,
        _ if causes.iter().any(|cause| matches!(cause, Cause::Called { .. })) => EventKind::ByFunction,
        Role::Generate => EventKind::Generated,
        _ => EventKind::Set,
    };
    Event { after: Some(after), written: after.span(), causes, ..event(step, resource, kind, path) }
}

fn set<'t>(
    step: &'t Traced,
    resource: Track,
    before: Option<&'t Node>,
    after: &'t Node,
    path: Vec<Segment>,
) -> Event<'t> {
    let causes: Vec<&Cause> = step.causes(resource, after.span()).collect();
    let is_name = matches!(&path[..], [Segment::Key(a), Segment::Key(b)] if a == "metadata" && b == "name");
    let by_cause = causes.iter().find_map(|cause| match cause {
        Cause::Followed { .. } => Some(EventKind::Followed),
        Cause::Copied { .. } | Cause::Expanded { .. } => Some(EventKind::Copied),
        Cause::Hashed { .. } if is_name => Some(EventKind::Hashed),
        Cause::Called { .. } => Some(EventKind::ByFunction),
        _ => None,
    });
    let both_composite = before.is_some_and(|before| !before.is_scalar()) && !after.is_scalar();
    let kind = match by_cause {
        Some(kind) => kind,
        None if both_composite => EventKind::Merged,
        None if is_name && before.is_some() => EventKind::Renamed,
        None => EventKind::Set,
    };
    Event { before, after: Some(after), written: after.span(), causes, ..event(step, resource, kind, path) }
}

fn moved<'t>(
    step: &'t Traced,
    resource: Track,
    before: Option<&'t Node>,
    after: &'t Node,
    path: Vec<Segment>,
) -> Event<'t> {
    let moved = event(step, resource, EventKind::Moved, path);
    Event { before, after: Some(after), written: after.span(), ..moved }
}

fn removed<'t>(step: &'t Traced, resource: Track, before: &'t Node, path: Vec<Segment>) -> Event<'t> {
    let causes = step.causes(resource, Span::NONE).collect();
    Event { before: Some(before), causes, ..event(step, resource, EventKind::Removed, path) }
}

fn gone<'t>(step: &'t Traced, resource: Track, before: &'t Node, path: Vec<Segment>) -> Event<'t> {
    Event { kind: EventKind::Deleted, ..removed(step, resource, before, path) }
}

/// Whether nothing happened to a value: the same content, written in the same place.
fn is_as_it_was(old: &Node, new: &Node) -> bool {
    old.same(new) && old.span() == new.span() || old.same(new) && !old.is_scalar()
}

/// The node a path leads to.
pub fn at<'n>(root: &'n Node, path: &[Segment]) -> Option<&'n Node> {
    path.iter().try_fold(root, |node, segment| match segment {
        Segment::Key(key) => node.get(key),
        Segment::Index(index) => node.items().get(*index),
    })
}

/// The way to a field before a step, given the one after it. Fields keep their names; elements of lists are followed, and
/// `None` says that there was no such element.
pub fn path_before(before: &Node, after: &Node, path: &[Segment]) -> Option<Vec<Segment>> {
    let (mut old, mut new) = (Some(before), Some(after));
    let mut way = Vec::with_capacity(path.len());
    for segment in path {
        match segment {
            Segment::Key(key) => {
                way.push(segment.clone());
                old = old.and_then(|old| old.get(key));
                new = new.and_then(|new| new.get(key));
            }
            Segment::Index(index) => {
                let index = match (old.map(Node::items), new.map(Node::items)) {
                    (Some(old), Some(new)) if *index < new.len() => element_before(old, new, *index)?,
                    // It is gone: then the path speaks of what was there.
                    _ => *index,
                };
                way.push(Segment::Index(index));
                old = old.and_then(|old| old.items().get(index));
                new = match segment {
                    Segment::Index(index) => new.and_then(|new| new.items().get(*index)),
                    Segment::Key(_) => None,
                };
            }
        }
    }
    Some(way)
}

/// Fields by which the elements of a list are known again besides the usual ones.
const FURTHER_KEYS: [&str; 2] = ["port", "key"];

/// Where an element of a list was before: the very same one, the one with the same key, an equal one, or, in a list that
/// has as many elements as before, the one in the same place that is not another's.
fn element_before(old: &[Node], new: &[Node], index: usize) -> Option<usize> {
    let element = &new[index];
    // Looked for in its own place first, since equal elements may be there several times.
    let find = |is_it: &dyn Fn(&Node) -> bool| match old.get(index).is_some_and(is_it) {
        true => Some(index),
        false => old.iter().position(is_it),
    };
    if !element.is_scalar()
        && let Some(same) = find(&|other| element.same(other))
    {
        return Some(same);
    }
    let text =
        |node: &Node, key: &str| node.get(key).filter(|n| n.is_scalar()).and_then(Node::text).map(Text::from);
    let is_key = |key: &&str| {
        let distinct = |list: &[Node]| {
            let mut seen = FxHashMap::default();
            list.iter().all(|item| text(item, key).is_some_and(|value| seen.insert(value, ()).is_none()))
        };
        distinct(old) && distinct(new)
    };
    if let Some(key) = ASSOCIATIVE_KEYS.iter().chain(&FURTHER_KEYS).find(|key| is_key(key)) {
        let value = text(element, key);
        return old.iter().position(|other| text(other, key) == value);
    }
    let equal = |other: &Node| match (element.value(), other.value()) {
        (Value::Scalar(_), Value::Scalar(_)) => element.same(other),
        _ => element == other,
    };
    if let Some(equal) = find(&equal) {
        return Some(equal);
    }
    let taken = |other: &Node| new.iter().any(|new| new.same(other));
    (old.len() == new.len() && !taken(&old[index])).then_some(index)
}
