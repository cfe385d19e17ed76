//! What each step changed: the answer to where a value comes from.
//!
//! When a [`Context`](super::Context) has a [`Tracer`], the executor compares every resource with what it was before the
//! step. The tree is copied on write, so keeping what was there costs a counter and comparing costs a pointer. What
//! pointers cannot tell, a transformer says itself ([`Context::note`](super::Context::note)). Without a tracer none of
//! this happens: it costs one check per group of steps.
//!
//! A [`Trace`] is the result of a run: the steps in order, each with what it changed. A base has its own trace, which the
//! step that loads it holds, so that a value can be followed through bases down to the file. On top of it,
//! [`Trace::history`] follows one field from the result back to where it was first written.

mod elements;
mod history;
mod positions;
mod resolved;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use krm_yaml::{Node, Span, Text};
use rustc_hash::{FxHashMap, FxHashSet};

use super::step::{Made, entry_of};
use super::{Role, Step, StepField, StepName, Work};
use crate::merge::Alignment;
use crate::patch;
use crate::resource::list::Resources;
use crate::resource::{Gvk, Resource, ResourceId, Track};
use crate::schema::Schema;

use elements::Lists;

pub use crate::patch::Applied;
pub use history::{Event, EventKind};
pub(crate) use history::{nodes_in_patch, path_in_patch};
pub(crate) use positions::{Position, positions};
pub use resolved::{Segment, at};
pub(crate) use resolved::{at_mut, holds, pointer};

/// Records what steps change while they run.
#[derive(Debug, Default)]
pub struct Tracer(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    trace: Trace,
    /// The trees as they are now, by track.
    now: Vec<Option<Seen>>,
    /// Those that the running steps do not see.
    aside: FxHashSet<Track>,
    /// What transformers said since the last step ended, by resource.
    notes: FxHashMap<Track, Vec<Note>>,
    /// What the entries of the running step have done so far, in the order of the entries.
    parts: BTreeMap<(usize, Track), (Change, Vec<Note>)>,
    /// What the running step has made, if it is a pipeline itself: its trace, and which resource is which in it.
    made: Option<(Arc<Trace>, FxHashMap<Track, Track>)>,
}

/// A resource as it was at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Seen {
    /// The tree, which is shared with the run: keeping it costs a counter.
    pub node: Node,
    /// What it was called.
    pub id: ResourceId,
    /// Its position in the order of resources.
    pub position: usize,
}

/// Everything that happened in a run, in order.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Trace {
    /// In the order in which they ran, each after its parts; see [`whole_steps`](Self::whole_steps).
    pub steps: Vec<Traced>,
    /// The resources at the end, in order; if the run failed, those it had by then.
    pub result: Vec<(Track, Seen)>,
    /// What was known of types.
    schema: Option<Arc<Schema>>,
    lists: Lists,
    /// What elements of lists were before a patch was merged into them, by their addresses; `None` if they are new.
    merged: OnceLock<FxHashMap<usize, Option<usize>>>,
    /// Which steps changed which resource: a history asks for these, and a run may have thousands of steps.
    touched: OnceLock<FxHashMap<Track, Vec<u32>>>,
    /// The steps with all that their parts did; empty if no step has parts.
    whole: OnceLock<Vec<Traced>>,
    /// Which steps changed a resource or merged a patch into it, whether or not that changed anything.
    concerned: OnceLock<FxHashMap<Track, Vec<u32>>>,
}

/// A step that ran.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Traced {
    /// What it is called: `overlays/production#images[0]`.
    pub name: StepName,
    /// The entry or field that asked for it.
    pub place: Span,
    /// Its role.
    pub role: Role,
    /// The entries it represents: see [`Step::entries`].
    pub entries: Arc<[Span]>,
    /// One of several entries of a step did this. The parts of a step come right before it, and it has what the last entry did.
    pub is_part: bool,
    /// How many resources it was given.
    pub given: usize,
    /// For a base: what happened in it.
    pub within: Option<Arc<Trace>>,
    /// In the order of resources; those that went come last.
    pub changes: Vec<Change>,
    /// By resource.
    pub notes: Vec<Note>,
    /// Which of the changes is whose.
    by_resource: OnceLock<FxHashMap<Track, usize>>,
}

/// What a step did to one resource.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Change {
    /// Which resource it is; the same number in all steps of a trace.
    pub resource: Track,
    /// `None` for one that this step added.
    pub before: Option<Seen>,
    /// `None` for one that this step removed.
    pub after: Option<Seen>,
    /// For one that came from a base: which one it is in the trace [`within`](Traced::within).
    pub from: Option<Track>,
}

/// Calls a function with every step, those of bases included, each base once. Steps are [whole](Trace::whole_steps).
pub fn each_step<'t>(trace: &'t Arc<Trace>, call: &mut dyn FnMut(&'t Traced)) {
    visit(trace, &Trace::whole_steps, &mut FxHashSet::default(), call);
}

/// The same with the parts of steps.
fn each_part<'t>(trace: &'t Arc<Trace>, call: &mut dyn FnMut(&'t Traced)) {
    visit(trace, &|trace| &trace.steps, &mut FxHashSet::default(), call);
}

fn visit<'t>(
    trace: &'t Arc<Trace>,
    steps: &dyn Fn(&'t Trace) -> &'t [Traced],
    known: &mut FxHashSet<*const Trace>,
    call: &mut dyn FnMut(&'t Traced),
) {
    if !known.insert(Arc::as_ptr(trace)) {
        return;
    }
    for step in steps(trace) {
        if let Some(within) = &step.within {
            visit(within, steps, known, call);
        }
        call(step);
    }
}

/// A cause that cannot be seen from what changed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Note {
    /// The resource that was changed; `NONE` for any that was.
    pub resource: Track,
    /// The value that was written has this span, and by that it is known which one it is; `NONE` if the note is about the
    /// resource as a whole.
    pub written: Span,
    /// What cannot be seen from the change.
    pub cause: Cause,
}

/// Why a value became what it is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// A name followed the resource it means.
    Followed {
        /// The kind of resource the field names.
        kind: Gvk,
        /// The field of the rule, with slashes.
        field: Text,
        /// Where the rule is written; `NONE` for one that is built in.
        rule: Span,
        /// The resource that is meant. Why its name changed is in its own history.
        target: Track,
        /// The name before.
        before: Text,
        /// The name since.
        after: Text,
    },
    /// A replacement copied it.
    Copied {
        /// The entry of `replacements:`.
        entry: Span,
        /// Where from; `None` if the value is written in the entry itself.
        source: Option<(Track, Text)>,
        /// The path under `fieldPaths` that led here.
        path: Span,
    },
    /// A variable was replaced by it.
    Expanded {
        /// As in `$(NAME)`.
        name: Text,
        /// The entry of `vars:`.
        variable: Span,
        /// The resource its value comes from.
        source: Track,
        /// The field its value comes from.
        field: Text,
    },
    /// The hash of the content was appended to the name.
    Hashed {
        /// What was appended, without the dash.
        hash: Text,
    },
    /// Data of a generated resource.
    Generated {
        /// Everything that went into it, in order.
        inputs: Vec<Input>,
    },
    /// It came out of a helm chart.
    Inflated {
        /// The chart, and what went into it.
        chart: Box<Inflation>,
    },
    /// A strategic merge patch was merged into the resource: what it says of a field is at the same path in it, and of an
    /// element of a list where the merge says.
    Merged {
        /// The patch as it was merged.
        patch: Node,
        /// Which of its elements was merged into which of the resource.
        aligned: Arc<Alignment>,
    },
    /// An operation of a JSON patch was applied to the resource.
    Patched {
        /// The operation.
        operation: Applied,
    },
    /// A program returned it. Parts of its configuration may come from other places than the whole: overrides.
    Called {
        /// The image or the path.
        program: Text,
        /// `sha256:` and the digest of an executable or a module; `None` for an image.
        digest: Option<Text>,
        /// The `functionConfig`; `None` if it has none.
        config: Option<Node>,
        /// The configuration, or else where the program is declared.
        place: Span,
    },
    /// A replacement left the resource alone since its target rejects it: where that is written, and the fields it is about.
    Rejected {
        /// The entry of `reject:`.
        asked: Span,
        /// Each path under `fieldPaths`: where it is written, and its text.
        paths: Vec<(Span, Text)>,
    },
    /// A name did not follow a resource that once was called so, since that is in another namespace.
    Elsewhere {
        /// The kind of that resource.
        kind: Gvk,
        /// That resource.
        target: Track,
        /// The name that is written.
        name: Text,
        /// What that resource is called now.
        now: Text,
        /// The namespace it is in.
        namespace: Text,
        /// Where it is written.
        place: Span,
    },
    /// A name did not follow a resource that once was called so, since that is of another kind than the field means.
    OtherKind {
        /// The kind that the field means.
        wanted: Gvk,
        /// The kind of that resource.
        kind: Gvk,
        /// The name that is written.
        name: Text,
        /// What that resource is called now.
        now: Text,
        /// Where it is written.
        place: Span,
    },
    /// A condition under which the step acted: what was asked for, and the text that met it.
    Matched {
        /// The criterion, such as the name of an image.
        asked: Span,
        /// What met it.
        met: Span,
    },
}

/// A chart that was inflated, and what went into it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Inflation {
    /// Its name.
    pub chart: Text,
    /// As the entry says it; empty for the newest.
    pub version: Text,
    /// Its address; empty for a chart that is in the tree.
    pub repository: Text,
    /// The template that the resource comes from, as helm names it.
    pub template: Text,
    /// The files with values, as they are written in the entry.
    pub values: Vec<Text>,
    /// The entry.
    pub entry: Span,
}

impl Applied {
    /// Where it took a field from, as a JSON pointer, if it copied or moved it or what holds it.
    pub(crate) fn source_of(&self, path: &[Segment]) -> Option<String> {
        let from = self.from.as_ref().filter(|_| matches!(&*self.name, "copy" | "move"))?;
        let names: Vec<Text> = patch::names(&self.path).ok()?.collect();
        let fits = |(name, segment): (&Text, &Segment)| match segment {
            Segment::Key(key) => key == name,
            Segment::Index(index) => name.parse() == Ok(*index),
        };
        let is_within = names.len() <= path.len() && names.iter().zip(path).all(fits);
        is_within.then(|| format!("{from}{}", pointer(&path[names.len()..])))
    }
}

/// Where data of a generated resource comes from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Input {
    /// The key of the value in the resource.
    pub key: Text,
    /// What was read.
    pub kind: InputKind,
    /// The entry that names it.
    pub entry: Span,
    /// The generator adds it to what is there.
    pub merged: bool,
}

/// What data of a generated resource is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputKind {
    /// A literal, written in the entry itself.
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
        self.0.lock().expect(HELD).notes.entry(note.resource).or_default().push(note);
    }

    /// Keeps what one of several entries of the running step left of a resource, before the next one goes on with it.
    pub(super) fn part(&self, entry: usize, resource: Track, node: &Node, id: &ResourceId) {
        let state = &mut *self.0.lock().expect(HELD);
        let now = if resource == Track::NONE { None } else { state.now.get_mut(resource.index()) };
        let Some(now) = now.and_then(Option::as_mut) else { return };
        if now.node.same(node) && now.node.span() == node.span() {
            return;
        }
        let after = Seen { node: node.clone(), id: id.clone(), position: now.position };
        let before = std::mem::replace(now, after.clone());
        let change = Change { resource, before: Some(before), after: Some(after.clone()), from: None };
        let (change, notes) = state.parts.entry((entry, resource)).or_insert((change, Vec::new()));
        change.after = Some(after);
        notes.extend(state.notes.remove(&resource).unwrap_or_default());
    }

    /// The steps that run now know these types.
    pub(super) fn knows(&self, schema: &Arc<Schema>) {
        self.0.lock().expect(HELD).trace.schema = Some(schema.clone());
    }

    /// Starts from resources that are there before any step runs.
    pub(crate) fn given(&self, items: &mut Resources) {
        let step =
            Step::new(StepName::of_root(StepField::named("given")), Span::NONE, Role::Load, Work::Nothing);
        self.ended(&step, 0, items);
    }

    /// From here on steps do not see these resources.
    pub(super) fn aside<'r>(&self, others: impl Iterator<Item = &'r Resource>) {
        self.0.lock().expect(HELD).aside = others.map(|r| r.track).collect();
    }

    /// Compares everything with what it was before a step.
    pub(super) fn ended(&self, step: &Step, given: usize, items: &mut Resources) {
        let state = &mut *self.0.lock().expect(HELD);
        let mut traced = Traced::new(step, given);
        let (within, from) = state.made.take().unzip();
        state.compare(items, &mut traced, &from.unwrap_or_default());
        traced.within = within;
        traced.notes = std::mem::take(&mut state.notes).into_values().flatten().collect();
        traced.notes.sort_by_key(|note| note.resource);
        let mut parts: Vec<Traced> = Vec::new();
        let mut last = None;
        for ((entry, _), (change, notes)) in std::mem::take(&mut state.parts) {
            if last != Some(entry) {
                parts.push(Traced { is_part: true, ..Traced::new(step, given) });
                last = Some(entry);
            }
            if let Some(part) = parts.last_mut() {
                part.changes.push(change);
                part.notes.extend(notes);
            }
        }
        if traced.changes.is_empty() && traced.notes.is_empty() && traced.within.is_none() {
            traced = parts.pop().map_or(traced, |part| Traced { is_part: false, ..part });
        }
        state.trace.steps.extend(parts);
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
        // What the step that failed had done by then is as if it had not been.
        for ((_, resource), (change, _)) in std::mem::take(&mut state.parts).into_iter().rev() {
            state.now[resource.index()] = change.before;
        }
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
        let is_gone = |(at, there): &(usize, &bool)| !**there && !self.aside.contains(&Track::new(*at));
        let gone: Vec<usize> = there.iter().enumerate().filter(is_gone).map(|(at, _)| at).collect();
        for at in gone {
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

impl Trace {
    /// The steps as they are written: what the entries of one did one after the other is together.
    pub fn whole_steps(&self) -> &[Traced] {
        if !self.steps.iter().any(|step| step.is_part) {
            return &self.steps;
        }
        self.whole.get_or_init(|| {
            let steps = self.steps.chunk_by(|step, _| step.is_part);
            steps.filter_map(|parts| parts.iter().cloned().reduce(Traced::then)).collect()
        })
    }

    /// What elements of lists were before a patch was merged into them, here or in a base.
    fn merged(&self) -> &FxHashMap<usize, Option<usize>> {
        self.merged.get_or_init(|| {
            let mut merged = FxHashMap::default();
            for step in &self.steps {
                for note in &step.notes {
                    if let Cause::Merged { aligned, .. } = &note.cause {
                        merged.extend(aligned.before());
                    }
                }
                merged.extend(step.within.iter().flat_map(|within| within.merged()));
            }
            merged
        })
    }

    /// The steps before one that changed a resource, oldest first.
    pub(crate) fn touching(
        &self,
        resource: Track,
        until: usize,
    ) -> impl DoubleEndedIterator<Item = (usize, &Traced)> {
        let index = || {
            let mut touched: FxHashMap<Track, Vec<u32>> = FxHashMap::default();
            for (at, step) in self.steps.iter().enumerate() {
                for change in &step.changes {
                    touched.entry(change.resource).or_default().push(at as u32);
                }
            }
            touched
        };
        self.before(self.touched.get_or_init(index).get(&resource), until)
    }

    /// The steps before one that changed a resource or had a patch for it, oldest first.
    pub(crate) fn concerning(
        &self,
        resource: Track,
        until: usize,
    ) -> impl DoubleEndedIterator<Item = (usize, &Traced)> {
        let index = || {
            let mut concerned: FxHashMap<Track, Vec<u32>> = FxHashMap::default();
            for (at, step) in self.steps.iter().enumerate() {
                let merged = step.notes.iter().filter(|note| matches!(note.cause, Cause::Merged { .. }));
                let changed = step.changes.iter().map(|change| change.resource);
                for resource in changed.chain(merged.map(|note| note.resource)) {
                    let steps = concerned.entry(resource).or_default();
                    if steps.last() != Some(&(at as u32)) {
                        steps.push(at as u32);
                    }
                }
            }
            concerned
        };
        self.before(self.concerned.get_or_init(index).get(&resource), until)
    }

    fn before<'t>(
        &'t self,
        steps: Option<&'t Vec<u32>>,
        until: usize,
    ) -> impl DoubleEndedIterator<Item = (usize, &'t Traced)> {
        let all = steps.map_or(&[][..], Vec::as_slice);
        let those = &all[..all.partition_point(|at| (*at as usize) < until)];
        those.iter().map(|at| (*at as usize, &self.steps[*at as usize]))
    }
}

impl Traced {
    fn new(step: &Step, given: usize) -> Self {
        Self {
            name: step.name.clone(),
            place: step.place,
            role: step.role,
            entries: step.entries.clone(),
            is_part: false,
            given,
            within: None,
            changes: Vec::new(),
            notes: Vec::new(),
            by_resource: OnceLock::new(),
        }
    }

    /// A step and what comes after it as one.
    fn then(mut self, next: Traced) -> Traced {
        let mut at: FxHashMap<Track, usize> =
            self.changes.iter().enumerate().map(|(at, change)| (change.resource, at)).collect();
        for change in next.changes {
            match at.get(&change.resource) {
                Some(at) => self.changes[*at].after = change.after,
                None => {
                    at.insert(change.resource, self.changes.len());
                    self.changes.push(change);
                }
            }
        }
        self.notes.extend(next.notes);
        self.notes.sort_by_key(|note| note.resource);
        Traced { changes: self.changes, notes: self.notes, by_resource: OnceLock::new(), ..next }
    }

    /// What the entry is called that wrote a value, given where the value was written.
    pub fn name_of(&self, written: Span) -> StepName {
        StepName {
            index: self.entry_of(written).map(|at| at as u32).or(self.name.index),
            ..self.name.clone()
        }
    }

    /// Which of its entries wrote a value.
    pub(crate) fn entry_of(&self, written: Span) -> Option<usize> {
        entry_of(&self.entries, written)
    }

    /// What it did to a resource.
    pub fn change(&self, resource: Track) -> Option<&Change> {
        let index = || self.changes.iter().enumerate().map(|(at, change)| (change.resource, at)).collect();
        self.by_resource.get_or_init(index).get(&resource).map(|at| &self.changes[*at])
    }

    /// What was noted about a resource.
    pub(crate) fn notes_of(&self, resource: Track) -> impl Iterator<Item = &Note> {
        let from = self.notes.partition_point(|note| note.resource < resource);
        self.notes[from..].iter().take_while(move |note| note.resource == resource)
    }

    /// The causes of a value it wrote, and those that are about the resource as a whole.
    pub(crate) fn causes(&self, resource: Track, written: Span) -> impl Iterator<Item = &Cause> {
        let fits = move |note: &&Note| note.written.is_none() || note.written == written;
        self.notes_of(Track::NONE).chain(self.notes_of(resource)).filter(fits).map(|note| &note.cause)
    }
}
