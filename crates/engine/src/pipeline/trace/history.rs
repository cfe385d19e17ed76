//! What happened to one field, from where it was first written to the result.

use krm_function::elements::USUAL_KEYS;
use krm_yaml::path::{self, Path};
use krm_yaml::{Node, Span, Text};
use rustc_hash::FxHashMap;

use super::elements::places_before;
use super::resolved::{Segment, at};
use super::{Cause, Seen, Trace, Traced};
use crate::merge::{Alignment, Meant};
use crate::pipeline::{Role, StepField};
use crate::resource::{ResourceId, Track};
use crate::schema::Type;

/// Something that happened to a field.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Event<'t> {
    /// The trace it is in: that of the target, or of a base.
    pub trace: &'t Trace,
    /// Which step of that trace it is. With it, [`Trace::history_until`] gives the history of a cause.
    pub index: usize,
    /// The step, as it ran.
    pub step: &'t Traced,
    /// The resource in that trace.
    pub resource: Track,
    /// What kind of thing happened.
    pub kind: EventKind,
    /// What was there before; `None` if nothing was.
    pub before: Option<&'t Node>,
    /// What was there afterwards; `None` if it was removed.
    pub after: Option<&'t Node>,
    /// The path to it after the step (before it, if it was removed).
    pub path: Vec<Segment>,
    /// The entry or field that asked for it.
    pub asked: Span,
    /// Where the new value is written; `NONE` if it is not written anywhere.
    pub written: Span,
    /// What cannot be seen from the values: what was followed, copied, matched or run.
    pub causes: Vec<&'t Cause>,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
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
    /// The hash was appended to the name.
    Hashed,
    /// A name followed the resource it means.
    Followed,
    /// It is written in another way; the value is the same.
    Normalised,
    /// It was removed.
    Removed,
    /// The whole resource was removed.
    Deleted,
    /// The resource is only for tools, and is left out of the result.
    Dropped,
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
            EventKind::Normalised => "normalised",
            EventKind::Removed => "removed",
            EventKind::Deleted => "deleted",
            EventKind::Dropped => "dropped",
        }
    }
}

impl Trace {
    /// All that happened to a field, oldest first. The path is that in the result or, if the field or the resource is gone,
    /// the last one it had. An empty path is the resource as a whole.
    pub fn history(&self, resource: Track, path: &[Segment]) -> Vec<Event<'_>> {
        self.history_until(self.steps.len(), resource, path)
    }

    /// The same as it was before a step ran: the history of a value that was copied from there.
    pub fn history_until(&self, step: usize, resource: Track, path: &[Segment]) -> Vec<Event<'_>> {
        let mut events = Vec::new();
        self.collect(step, resource, path.to_vec(), &mut events);
        events.reverse();
        events
    }

    /// All that happened to a field that a step removed, the removal last. The path is the one it had before that step.
    pub(crate) fn history_of_removed(
        &self,
        step: usize,
        resource: Track,
        path: &[Segment],
    ) -> Vec<Event<'_>> {
        let mut events = self.history_until(step, resource, path);
        let traced = &self.steps[step];
        let Some(change) = traced.change(resource) else { return events };
        let before = change.before.as_ref().and_then(|seen| at(&seen.node, path));
        events.extend(before.map(|before| match &change.after {
            Some(_) => removed(Place { trace: self, index: step }, resource, before, path.to_vec()),
            None => gone(Place { trace: self, index: step }, resource, before, path.to_vec()),
        }));
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
        for (index, traced) in self.concerning(resource, until).rev() {
            let step = Place { trace: self, index };
            let Some(change) = traced.change(resource) else {
                let tree = self.touching(resource, index).next_back();
                let tree = tree.and_then(|(_, traced)| traced.change(resource)?.after.as_ref());
                events.extend(tree.and_then(|tree| set_again(step, resource, &tree.node, &path)));
                continue;
            };
            match (&change.before, &change.after) {
                (None, after) => {
                    let after = after.as_ref().and_then(|seen| at(&seen.node, &path));
                    return match (&step.step().within, change.from) {
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
                    if let Some((after, of_list)) = copied_by(step, resource, &after.node, &path) {
                        let before = at(&before.node, &path).filter(|_| !of_list);
                        events.push(set(step, resource, before, after, path.clone()));
                        match before {
                            Some(_) => continue,
                            None => return,
                        }
                    }
                    let Some(was) = self.path_before(before, after, &path) else {
                        // An element of a list that this step added, with everything in it.
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
                            } else if let Some(again) = set_again(step, resource, &after.node, &path) {
                                events.push(again);
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
        for (_, step) in self.touching(resource, self.steps.len()) {
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

/// A step of a trace.
#[derive(Clone, Copy)]
struct Place<'t> {
    trace: &'t Trace,
    index: usize,
}

impl<'t> Place<'t> {
    fn step(self) -> &'t Traced {
        &self.trace.steps[self.index]
    }

    fn causes(self, resource: Track, written: Span) -> impl Iterator<Item = &'t Cause> {
        self.step().causes(resource, written)
    }
}

fn event(at: Place<'_>, resource: Track, kind: EventKind, path: Vec<Segment>) -> Event<'_> {
    let (before, after, asked, written) = (None, None, at.step().place, Span::NONE);
    let (trace, index, step, causes) = (at.trace, at.index, at.step(), Vec::new());
    Event { trace, index, step, resource, kind, before, after, path, asked, written, causes }
}

/// The first event of a field: it came with its resource.
fn origin<'t>(
    step: Place<'t>,
    resource: Track,
    after: &'t Node,
    root: Span,
    path: Vec<Segment>,
) -> Event<'t> {
    let mut causes: Vec<&Cause> = step.causes(resource, after.span()).collect();
    if root != after.span() {
        let of_all = step.step().notes.iter().filter(|note| !root.is_none() && note.written == root);
        causes.extend(of_all.map(|note| &note.cause));
    }
    let kind = match step.step().role {
        Role::Load | Role::Include => EventKind::Written,
        _ if causes.iter().any(|cause| matches!(cause, Cause::Inflated { .. })) => EventKind::Inflated,
        _ if causes.iter().any(|cause| matches!(cause, Cause::Called { .. })) => EventKind::ByFunction,
        Role::Generate => EventKind::Generated,
        _ => EventKind::Set,
    };
    Event { after: Some(after), written: after.span(), causes, ..event(step, resource, kind, path) }
}

fn set<'t>(
    step: Place<'t>,
    resource: Track,
    before: Option<&'t Node>,
    after: &'t Node,
    path: Vec<Segment>,
) -> Event<'t> {
    let mut causes: Vec<&Cause> = step.causes(resource, after.span()).collect();
    keep_own(&mut causes, &path);
    add_variables(step, resource, before, &mut causes);
    let is_name = matches!(&path[..], [Segment::Key(a), Segment::Key(b)] if a == "metadata" && b == "name");
    let by_cause = causes.iter().find_map(|cause| match cause {
        Cause::Followed { .. } => Some(EventKind::Followed),
        Cause::Copied { .. } | Cause::Expanded { .. } => Some(EventKind::Copied),
        Cause::Patched { operation } if operation.source_of(&path).is_some() => Some(EventKind::Copied),
        Cause::Hashed { .. } if is_name => Some(EventKind::Hashed),
        Cause::Called { .. } => Some(EventKind::ByFunction),
        Cause::Generated { inputs } if inputs.iter().any(|input| input.entry == after.span()) => {
            Some(EventKind::Generated)
        }
        _ => None,
    });
    let both_composite = before.is_some_and(|before| !before.is_scalar()) && !after.is_scalar();
    let is_same_text = before.is_some_and(|before| {
        before.is_scalar() && before.text() == after.text() && before.span() == after.span()
    });
    let kind = match by_cause {
        _ if is_same_text => EventKind::Normalised,
        Some(kind) => kind,
        None if both_composite => EventKind::Merged,
        None if is_name && before.is_some() => EventKind::Renamed,
        None => EventKind::Set,
    };
    Event { before, after: Some(after), written: after.span(), causes, ..event(step, resource, kind, path) }
}

/// A field that an operation of a JSON patch copied or moved here, and whether that put in an element of a list: then it has
/// the history of where it came from, though the element is the very same.
fn copied_by<'t>(
    step: Place<'t>,
    resource: Track,
    tree: &'t Node,
    path: &[Segment],
) -> Option<(&'t Node, bool)> {
    let operation = step.causes(resource, Span::NONE).find_map(|cause| match cause {
        Cause::Patched { operation } => operation.source_of(path).map(|_| operation),
        _ => None,
    })?;
    let depth = operation.path.matches('/').count();
    let of_list = path.get(..depth).is_some_and(|way| matches!(way.last(), Some(Segment::Index(_))));
    Some((at(tree, path)?, of_list))
}

/// A patch that gives a field the value it already has. It will matter once the value is changed elsewhere.
fn set_again<'t>(step: Place<'t>, resource: Track, tree: &'t Node, path: &[Segment]) -> Option<Event<'t>> {
    let value = at(tree, path).filter(|value| value.is_scalar())?;
    let written = step.causes(resource, Span::NONE).find_map(|cause| match cause {
        Cause::Merged { patch, aligned } => in_patch(patch, aligned, tree, path),
        _ => None,
    })?;
    let is_same = written.is_scalar() && written.text() == value.text() && !written.span().is_none();
    let kind = EventKind::Set;
    is_same.then(|| Event {
        before: Some(value),
        after: Some(value),
        written: written.span(),
        causes: step.causes(resource, Span::NONE).collect(),
        ..event(step, resource, kind, path.to_vec())
    })
}

/// What a patch says of a field. What only says which element of a list, or which resource, is meant is not said of it.
fn in_patch<'n>(patch: &'n Node, aligned: &Alignment, tree: &Node, path: &[Segment]) -> Option<&'n Node> {
    let key = |segment: &Segment| matches!(segment, Segment::Key(key) if key == "metadata");
    if path.len() < 2 || path.len() == 2 && key(&path[0]) {
        return None;
    }
    if matches!(path, [.., Segment::Index(_), Segment::Key(key)] if USUAL_KEYS.contains(&key.as_str())) {
        return None;
    }
    nodes_in_patch(patch, aligned, tree, path).get(path.len()).copied().filter(|said| !aligned.is_key(said))
}

/// The nodes of a patch on the way to a field, from its root as far down as it goes.
pub(crate) fn nodes_in_patch<'n>(
    patch: &'n Node,
    aligned: &Alignment,
    tree: &Node,
    path: &[Segment],
) -> Vec<&'n Node> {
    let way = path_in_patch(patch, aligned, tree, path);
    let below = way.iter().scan(patch, |node, segment| {
        *node = at(node, std::slice::from_ref(segment))?;
        Some(*node)
    });
    std::iter::once(patch).chain(below).collect()
}

/// The path to a field in a patch, as far down as the patch goes. The tree is the resource before the patch was merged, or
/// after it. Elements of lists are those that were merged, or if that is not known, those that the patch seems to mean.
pub(crate) fn path_in_patch(
    patch: &Node,
    aligned: &Alignment,
    tree: &Node,
    path: &[Segment],
) -> Vec<Segment> {
    let (mut node, mut tree) = (patch, tree);
    let mut way = Vec::new();
    for segment in path {
        let in_patch = match segment {
            Segment::Key(_) => Some(segment.clone()),
            Segment::Index(index) => tree.items().get(*index).and_then(|element| {
                let seems = || node.items().iter().position(|item| is_meant(item, element));
                let meant = match aligned.meant(node.items(), element) {
                    Meant::At(at) => Some(at),
                    Meant::Nothing => None,
                    Meant::Unknown => seems(),
                };
                meant.map(Segment::Index)
            }),
        };
        let Some(in_patch) = in_patch else { break };
        let below = at(node, std::slice::from_ref(&in_patch)).zip(at(tree, std::slice::from_ref(segment)));
        let Some(below) = below else { break };
        (node, tree) = below;
        way.push(in_patch);
    }
    way
}

/// Whether an element of a patch seems to be about an element of a list: all keys that both have are equal.
fn is_meant(element: &Node, of: &Node) -> bool {
    let mut shared =
        USUAL_KEYS.iter().filter_map(|key| Some((element.get(key)?.text(), of.get(key)?.text()))).peekable();
    shared.peek().is_some() && shared.all(|(a, b)| a == b)
}

/// Of the names that a step followed in a resource, those that are about this field. Several names may be written in the same place: that of the prefix they share.
fn keep_own(causes: &mut Vec<&Cause>, path: &[Segment]) {
    let keys: Vec<&str> = path
        .iter()
        .filter_map(|segment| match segment {
            Segment::Key(key) => Some(key.as_str()),
            Segment::Index(_) => None,
        })
        .collect();
    let is_own = |cause: &&Cause| match cause {
        Cause::Followed { field, .. } => {
            let spec = Path::slashed_loosely(field);
            let field: Vec<&str> = spec.segments().iter().filter_map(name_in_spec).collect();
            keys == field || keys.len() == field.len() + 1 && keys.starts_with(&field)
        }
        _ => true,
    };
    if causes.iter().any(|cause| matches!(cause, Cause::Followed { .. }) && is_own(cause)) {
        causes.retain(is_own);
    }
}

fn name_in_spec(segment: &path::Segment) -> Option<&str> {
    match segment {
        path::Segment::Field(name) => Some(name),
        _ => None,
    }
}

/// The variables that were replaced in a text: the value is written where the last of them is.
fn add_variables<'t>(step: Place<'t>, resource: Track, before: Option<&Node>, causes: &mut Vec<&'t Cause>) {
    if !causes.iter().any(|cause| matches!(cause, Cause::Expanded { .. })) {
        return;
    }
    let text = before.and_then(Node::text).unwrap_or_default();
    let mut known: Vec<&Text> = Vec::new();
    causes.retain(|cause| !matches!(cause, Cause::Expanded { .. }));
    for note in step.step().notes.iter().filter(|note| note.resource == resource) {
        let Cause::Expanded { name, .. } = &note.cause else { continue };
        if !known.contains(&name) && (text.is_empty() || text.contains(&format!("$({name})"))) {
            known.push(name);
            causes.push(&note.cause);
        }
    }
}

fn moved<'t>(
    step: Place<'t>,
    resource: Track,
    before: Option<&'t Node>,
    after: &'t Node,
    path: Vec<Segment>,
) -> Event<'t> {
    let moved = event(step, resource, EventKind::Moved, path);
    Event { before, after: Some(after), written: after.span(), ..moved }
}

fn removed<'t>(step: Place<'t>, resource: Track, before: &'t Node, path: Vec<Segment>) -> Event<'t> {
    let causes = step.causes(resource, Span::NONE).collect();
    Event { before: Some(before), causes, ..event(step, resource, EventKind::Removed, path) }
}

fn gone<'t>(step: Place<'t>, resource: Track, before: &'t Node, path: Vec<Segment>) -> Event<'t> {
    let kind = match step.step().name.field == StepField::LocalConfig {
        true => EventKind::Dropped,
        false => EventKind::Deleted,
    };
    Event { kind, ..removed(step, resource, before, path) }
}

/// Whether nothing happened to a value: the same content, with every scalar written in the same place. A step may copy what
/// it does not change, as JSON patches do.
fn is_as_it_was(old: &Node, new: &Node) -> bool {
    if old.is_scalar() || new.is_scalar() {
        return old.same(new) && old.span() == new.span();
    }
    let same_entries = || match (old.as_map(), new.as_map()) {
        (Some(a), Some(b)) => {
            let same = |(key, value): (&Node, &Node)| {
                key.text().and_then(|key| b.get(key)).is_some_and(|other| is_as_it_was(value, other))
            };
            a.len() == b.len() && a.iter().map(|entry| (&entry.key, &entry.value)).all(same)
        }
        (None, None) => {
            let (a, b) = (old.items(), new.items());
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_as_it_was(a, b))
        }
        _ => false,
    };
    old.same(new) || same_entries()
}

impl Trace {
    /// The path to a field before a step, given the one after it. Fields keep their names; elements of lists are followed, by
    /// what the schema says they are known by, and `None` says that there was no such element.
    pub(crate) fn path_before(&self, before: &Seen, after: &Seen, path: &[Segment]) -> Option<Vec<Segment>> {
        self.path_in_tree_before(&before.node, (&after.node, &after.id), path)
    }

    /// The same, given the trees, and what the resource is.
    pub(crate) fn path_in_tree_before(
        &self,
        before: &Node,
        (after, id): (&Node, &ResourceId),
        path: &[Segment],
    ) -> Option<Vec<Segment>> {
        let (mut old, mut new) = (Some(before), Some(after));
        let mut of = self.type_of(id);
        let mut way = Vec::with_capacity(path.len());
        for segment in path {
            match segment {
                Segment::Key(key) => {
                    way.push(segment.clone());
                    old = old.and_then(|old| old.get(key));
                    new = new.and_then(|new| new.get(key));
                    of = of.and_then(|of| of.field(key));
                }
                Segment::Index(index) => {
                    let was = match (old.map(Node::items), new.map(Node::items)) {
                        (Some(old), Some(new)) if *index < new.len() => {
                            self.lists.place_before(old, new, of, self.merged(), *index)?
                        }
                        // It is gone: then the path is that of what was there.
                        _ => *index,
                    };
                    way.push(Segment::Index(was));
                    old = old.and_then(|old| old.items().get(was));
                    new = new.and_then(|new| new.items().get(*index));
                    of = of.and_then(Type::items);
                }
            }
        }
        Some(way)
    }

    /// Where each element of a list was before a step, given the list before and after it.
    pub(crate) fn places_before(
        &self,
        before: &[Node],
        after: &[Node],
        of: Option<Type>,
    ) -> Vec<Option<usize>> {
        places_before(before, after, of, self.merged())
    }

    /// The type of a resource, if it is known.
    pub(crate) fn type_of(&self, id: &ResourceId) -> Option<Type<'_>> {
        self.schema.as_ref().and_then(|schema| schema.type_of(&id.gvk))
    }
}
