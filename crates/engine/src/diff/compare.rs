//! Compares the results of targets, each by itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Diagnostic, Node, Sources};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::causes::{Causes, Histories, Target, Which};
use super::follows::Origins;
use super::pair::{Item, Pair, pairs, split_hash};
use super::{Cause, Change, ChangeKind, Diff, Named, Status, Tail, TargetDiff, group, images};
use crate::compare::fields::{Difference, differences};
use crate::explain::{
    self, FieldPath, FoundResource, Hidden, HistoryEntry, HistoryOptions, ResourceName, Where,
};
use crate::files::world::World;
use crate::pipeline::Trace;
use crate::pipeline::trace::{EventKind, Seen, Segment, at as node_at};
use crate::resource::{ResourceId, Track};

/// Where the files of a side are, and the texts that spans of its traces point into.
pub struct Side<'a> {
    /// What to call it: a revision, a folder, `the other program`.
    pub name: String,
    /// Reads its files, to find the lines that changed.
    pub world: &'a dyn World,
    /// The texts its spans point into.
    pub sources: &'a Sources,
    /// The folder with everything that can differ. What is elsewhere was fetched.
    pub root: Option<&'a Path>,
}

/// A target with its results on both sides.
pub struct Given {
    /// The folder, as the user names it.
    pub directory: String,
    /// Its result on the first side.
    pub from: Outcome,
    /// Its result on the second side.
    pub to: Outcome,
    /// The changed files it reads: what is to blame if nothing better is known.
    pub changed: Vec<String>,
    /// The lock file, if it changed.
    pub lock: Option<String>,
}

/// What came of a target on one side.
pub enum Outcome {
    /// Built here, with everything that happened on the way.
    Built(Arc<Trace>),
    /// Read as it is: nothing is known about how it came about.
    Rendered(Vec<Rendered>),
    /// Not built, and why.
    Failed(Diagnostic),
    /// There is no such folder.
    Missing,
}

/// A resource that somebody else made.
pub struct Rendered {
    /// The resource.
    pub node: Node,
    /// What it is called.
    pub id: ResourceId,
    /// The id it was first written with, if that is known.
    pub original: Option<ResourceId>,
}

/// What to compare, and what to show.
#[derive(Default)]
pub struct Options {
    /// Two folders of one tree: their names differ by design.
    pub overlays: bool,
    /// Compare these resources alone; `None` compares all.
    pub only: Option<ResourceName>,
    /// Kind (`*` for any, or with its group as in `Deployment.apps`) and field.
    pub ignore: Vec<(String, FieldPath)>,
    /// Fields whose values are not shown.
    pub mask: Vec<FieldPath>,
    /// Show the values of Secrets.
    pub show_secrets: bool,
    /// What is to blame if nobody can look inside: `the other program`.
    pub opaque: Option<String>,
}

/// A change in one target.
pub(super) struct Local {
    /// With the values as they are, to see which changes are the same.
    pub change: Change,
    /// The values as they may be seen.
    pub shown: [Option<Node>; 2],
    pub cause: Option<Cause>,
    /// The change of this target that it follows from.
    pub follows: Option<usize>,
}

/// What differs in one target.
pub(super) struct Compared {
    pub target: TargetDiff,
    pub changes: Vec<Local>,
    pub ignored: usize,
}

/// What is not to be shown of either side.
pub fn hidden(from: &Side, to: &Side, given: &[Given], options: &Options) -> [Hidden; 2] {
    let of = |side: &Side, outcome: fn(&Given) -> &Outcome| {
        let traces = given.iter().filter_map(|one| match outcome(one) {
            Outcome::Built(trace) => Some(&**trace),
            _ => None,
        });
        Hidden::of(traces, side.sources, options.show_secrets, &options.mask)
    };
    [of(from, |given| &given.from), of(to, |given| &given.to)]
}

/// Compares the results of all targets.
pub fn compare(from: &Side, to: &Side, given: &[Given], options: &Options, hidden: &[Hidden; 2]) -> Diff {
    let folders: Vec<PathBuf> = given.iter().map(|one| PathBuf::from(&one.directory)).collect();
    let changed = given.iter().flat_map(|one| one.changed.iter().cloned()).collect();
    let causes = Causes::new(from, to, hidden, folders, changed);
    let one = |given: &Given| {
        let target = Target::new(&given.directory);
        Comparison { causes: &causes, options, given, target }.run()
    };
    let compared: Vec<Compared> = given.par_iter().map(one).collect();
    let (from, to) = (from.name.clone(), to.name.clone());
    let mut diff = Diff { from, to, overlays: options.overlays, ..Diff::default() };
    group::merge(compared, options, &mut diff);
    diff.images = images::of(&diff.changes);
    diff
}

/// The hash a name ends in; the name if it has none.
pub fn ending(name: &str) -> String {
    split_hash(name.trim_matches('"')).map_or_else(|| name.to_owned(), |(_, hash)| format!("…-{hash}"))
}

/// One target.
struct Comparison<'c> {
    causes: &'c Causes<'c>,
    options: &'c Options,
    given: &'c Given,
    target: Target,
}

impl Comparison<'_> {
    fn run(&self) -> Compared {
        let failed = |outcome: &Outcome| match outcome {
            Outcome::Failed(error) => Some(error.clone()),
            _ => None,
        };
        let errors = [failed(&self.given.from), failed(&self.given.to)];
        let is_there = |outcome: &Outcome| !matches!(outcome, Outcome::Missing);
        let there = [is_there(&self.given.from), is_there(&self.given.to)];
        let status = match there {
            _ if errors.iter().any(Option::is_some) => Status::Failed,
            [false, true] => Status::Added,
            [true, false] => Status::Removed,
            _ => Status::Same,
        };
        let mut target = TargetDiff {
            directory: self.given.directory.clone(),
            status,
            there,
            errors,
            resources: 0,
            whole: 0,
            fields: 0,
            follow: 0,
        };
        if status == Status::Failed {
            return Compared { target, changes: Vec::new(), ignored: 0 };
        }
        let (old, new) = (items(&self.given.from), items(&self.given.to));
        let pairs = pairs(&old, &new, self.options.overlays);
        let (mut changes, mut wanted, mut ignored) = (Vec::new(), Vec::new(), Vec::new());
        let found: Vec<(Pair, Vec<Difference>)> = pairs
            .into_iter()
            .map(|pair| (pair, differences_of(&pair, &old, &new)))
            .filter(|(_, differences)| !differences.is_empty())
            .collect();
        let mut origins = Origins::default();
        let mut next = 0;
        for (pair, differences) in &found {
            let track =
                |at: Option<usize>, items: &[Item]| at.and_then(|at| items[at].track).map(|(_, track)| track);
            let (before, after) = (track(pair.old, &old), track(pair.new, &new));
            for difference in differences {
                origins.add(before, after, difference, next);
                next += 1;
            }
        }
        for (pair, differences) in &found {
            let resource =
                Matched { pair, old: pair.old.map(|at| &old[at]), new: pair.new.map(|at| &new[at]) };
            let named = resource.named();
            let first = changes.len();
            let change =
                |difference| self.change(&resource, &named, difference, differences, first, &origins);
            changes.extend(differences.iter().map(change));
            wanted.resize(changes.len(), is_meant(self.options, pair, &old, &new));
            let fields = Ignored::of(self.options, &resource);
            ignored.extend(differences.iter().map(|difference| fields.has(difference)));
        }
        let kept: Vec<bool> =
            ignored.iter().zip(&wanted).map(|(ignored, wanted)| !ignored && *wanted).collect();
        let ignored = ignored.iter().zip(&wanted).filter(|(ignored, wanted)| **ignored && **wanted).count();
        let changes = keep(changes, &kept);
        let mut resources: Vec<&Named> = changes.iter().map(|local| &local.change.resource).collect();
        resources.sort();
        resources.dedup();
        target.resources = resources.len();
        target.follow = changes.iter().filter(|local| local.change.derived).count();
        target.whole = changes.iter().filter(|local| local.change.field.is_empty()).count();
        target.fields = changes.len() - target.follow - target.whole;
        if target.status == Status::Same && !changes.is_empty() {
            target.status = Status::Changed;
        }
        Compared { target, changes, ignored }
    }

    fn change(
        &self,
        resource: &Matched,
        named: &Named,
        difference: &Difference,
        siblings: &[Difference],
        first: usize,
        origins: &Origins,
    ) -> Local {
        let field = resource.field(difference);
        let (follows, elided) = origins.of(resource, difference, siblings, first);
        let histories = self.histories(resource, difference, &field);
        let is_whole = difference.old_path.is_empty() && difference.new_path.is_empty();
        let ends = is_whole.then(|| histories.ends());
        let deciding = ends.as_ref().unwrap_or(&histories);
        let tail = |which: Which, history: &[HistoryEntry]| {
            history.last().map(|entry| Tail {
                event: entry.event.name(),
                label: entry.label.clone(),
                layer: entry.layer.clone(),
                place: self.causes.place(which, entry.place),
            })
        };
        let cause = match (follows, self.given_status()) {
            (Some(_), _) => None,
            (None, Some(cause)) => Some(cause),
            (None, None) if self.options.overlays => {
                let by_name = is_name(&difference.new_path) || is_namespace(&difference.new_path);
                Some(if by_name { by_names() } else { self.causes.between(deciding) })
            }
            (None, None) => {
                let came_or_went = ends.as_ref().and_then(|ends| self.causes.of(&self.target, ends));
                let by_lock = || self.causes.of_lock(self.given.lock.as_deref()?);
                let found = came_or_went.or_else(|| self.causes.of(&self.target, &histories));
                found.or_else(by_lock).or_else(|| self.read_cause())
            }
        };
        let shown = |which: Which, item: Option<&Item>, path: &[Segment], value: &Option<Node>| {
            let value = item.zip(value.as_ref());
            value.map(|(item, value)| self.causes.hidden[which as usize].shown(item.node, path, value))
        };
        let before = shown(Which::From, resource.old, &difference.old_path, &difference.before);
        let after = shown(Which::To, resource.new, &difference.new_path, &difference.after);
        let is_masked = [&before, &after].into_iter().flatten().any(|(_, masked)| *masked);
        // Of what somebody else made nothing is known but what is beside it.
        let shown = match (before, after) {
            (Some((a, _)), Some((b, _))) if is_masked => {
                let before = explain::hidden_as(&b, &a);
                [Some(before), Some(explain::hidden_as(&a, &b))]
            }
            sides => <[_; 2]>::from(sides).map(|side| side.map(|(value, _)| value)),
        };
        let change = Change {
            id: 0,
            cause: 0,
            kind: difference.kind,
            resource: named.clone(),
            field,
            before: difference.before.clone(),
            after: difference.after.clone(),
            elided,
            targets: Vec::new(),
            own: Vec::new(),
            from: tail(Which::From, &deciding.from),
            to: tail(Which::To, &deciding.to),
            follows: None,
            derived: false,
            masked: is_masked,
            guessed: resource.pair.guessed,
            replaced: named.from.as_ref().zip(named.to.as_ref()).is_some_and(|(from, to)| from != to),
        };
        Local { change, shown, cause, follows }
    }

    /// What explains everything in a target that is on one side only, or of which nobody knows how it came about.
    fn given_status(&self) -> Option<Cause> {
        let cause = |what: String| Cause { what: Some(what), ..Cause::default() };
        match (&self.given.from, &self.given.to) {
            (Outcome::Missing, _) => Some(cause(format!("{} is new", self.given.directory))),
            (_, Outcome::Missing) => Some(cause(format!("{} is gone", self.given.directory))),
            _ => self.options.opaque.clone().map(cause),
        }
    }

    /// The last resort: a changed file that the target reads.
    fn read_cause(&self) -> Option<Cause> {
        match &self.given.changed[..] {
            [] => None,
            [one] => self.causes.of_file(one),
            several => Some(Cause {
                what: Some(format!("one of the changed files {}", several.join(", "))),
                ..Cause::default()
            }),
        }
    }

    /// How a field came about on both sides, or went.
    fn histories(&self, resource: &Matched, difference: &Difference, field: &str) -> Histories {
        let (from, to) = (resource.old, resource.new);
        Histories {
            from: self.history(Which::From, from, to, difference, field),
            to: self.history(Which::To, to, from, difference, field),
            order: difference.kind == ChangeKind::Moved,
        }
    }

    fn history(
        &self,
        which: Which,
        item: Option<&Item>,
        other: Option<&Item>,
        difference: &Difference,
        field: &str,
    ) -> Vec<HistoryEntry> {
        let moved = difference.kind == ChangeKind::Moved;
        let (path, is_there) = match which {
            Which::From => (&difference.old_path, difference.before.is_some()),
            Which::To => (&difference.new_path, difference.after.is_some()),
        };
        const DEPTH: usize = 3;
        let outcome = match which {
            Which::From => &self.given.from,
            Which::To => &self.given.to,
        };
        let Outcome::Built(trace) = outcome else { return Vec::new() };
        let with = HistoryOptions { depth: DEPTH, ..self.causes.history_options(which) };
        let explained = |place: &Where| explain::explain(place, with).history;
        let Some((_, track)) = item.and_then(|item| item.track) else {
            // Perhaps it was there, and a step deleted it.
            let wanted = other.map(Item::original);
            let gone = trace.resources().into_iter().find(|(track, _, present)| {
                !present && trace.ids(*track).first().copied() == wanted.as_ref()
            });
            return gone.map_or_else(Vec::new, |(track, seen, present)| {
                explained(&Where::whole(trace, &FoundResource { track, seen, present }))
            });
        };
        let Some(seen) = seen(trace, track) else { return Vec::new() };
        let found = FoundResource { track, seen, present: true };
        if is_there && moved {
            return moves(trace, &found, path, HistoryOptions { depth: 0, ..with });
        }
        if is_there {
            return explained(&Where::in_result(trace, &found, path.to_vec()));
        }
        let Ok(field) = FieldPath::parse(field) else { return Vec::new() };
        explain::locate(trace, &found, &field).first().map(explained).unwrap_or_default()
    }
}

/// Whether the user asked for a resource.
pub(super) fn is_meant(options: &Options, pair: &Pair, old: &[Item], new: &[Item]) -> bool {
    let Some(only) = &options.only else { return true };
    pair.old.is_some_and(|at| item_is(&old[at], only)) || pair.new.is_some_and(|at| item_is(&new[at], only))
}

/// Whether a resource has, or once had, this name.
pub(super) fn item_is(item: &Item, name: &ResourceName) -> bool {
    match item.track {
        Some((trace, track)) => name.means(&trace.ids(track)),
        None => name.means(&[item.id, &item.original()]),
    }
}

/// The fields of a resource that the user does not want to see, on both sides.
pub(super) struct Ignored([FxHashSet<Vec<Segment>>; 2]);

impl Ignored {
    pub(super) fn of(options: &Options, resource: &Matched) -> Self {
        let is_kind = |wanted: &str, item: &Item| {
            let gvk = &item.id.gvk;
            let (kind, group) =
                wanted.split_once('.').map_or((wanted, None), |(kind, group)| (kind, Some(group)));
            wanted == "*"
                || (kind.eq_ignore_ascii_case(&gvk.kind) && group.is_none_or(|group| *group == *gvk.group))
        };
        let ways = |item: Option<&Item>| {
            let item = item.into_iter();
            let fields = item.flat_map(|item| {
                let own = options.ignore.iter().filter(|(kind, _)| is_kind(kind, item));
                own.flat_map(|(_, field)| field.ways(item.node)).collect::<Vec<_>>()
            });
            fields.collect()
        };
        Self([ways(resource.old), ways(resource.new)])
    }

    /// Whether a difference is in one of them.
    pub(super) fn has(&self, difference: &Difference) -> bool {
        let [old, new] = &self.0;
        let is_in = |fields: &FxHashSet<Vec<Segment>>, path: &[Segment]| {
            !fields.is_empty() && (0..=path.len()).any(|length| fields.contains(&path[..length]))
        };
        is_in(old, &difference.old_path) || is_in(new, &difference.new_path)
    }
}

/// What differs between two resources.
pub(super) fn differences_of(pair: &Pair, old: &[Item], new: &[Item]) -> Vec<Difference> {
    let whole = |kind, before: Option<&Item>, after: Option<&Item>| Difference {
        kind,
        old_path: Vec::new(),
        new_path: Vec::new(),
        before: before.map(|item| item.node.clone()),
        after: after.map(|item| item.node.clone()),
    };
    match (pair.old.map(|at| &old[at]), pair.new.map(|at| &new[at])) {
        (Some(a), Some(b)) => {
            let mut found = differences(a.node, b.node);
            for difference in found.iter_mut().filter(|d| is_name(&d.new_path)) {
                difference.kind = ChangeKind::Renamed;
            }
            found
        }
        (None, Some(item)) => vec![whole(ChangeKind::Added, None, Some(item))],
        (Some(item), None) => vec![whole(ChangeKind::Removed, Some(item), None)],
        (None, None) => Vec::new(),
    }
}

/// How the order of a list came about: what moved its elements, and what made them.
fn moves(trace: &Trace, found: &FoundResource, path: &[Segment], with: HistoryOptions) -> Vec<HistoryEntry> {
    let count = node_at(&found.seen.node, path).map_or(0, |list| list.items().len());
    // The first elements say what came before what.
    const MOST: usize = 32;
    let explained = (0..count.min(MOST)).map(|index| {
        let path = path.iter().cloned().chain([Segment::Index(index)]).collect();
        explain::explain(&Where::in_result(trace, found, path), with)
    });
    let mut entries = Vec::new();
    for answer in explained {
        let last = answer.elements.last().and_then(|element| element.moves.last().cloned());
        let moved = answer.history.first().cloned().zip(last).map(|(entry, moved)| HistoryEntry {
            event: EventKind::Moved,
            place: moved.place,
            label: moved.step,
            ..entry
        });
        entries.extend(answer.history.into_iter().chain(moved));
    }
    // What moved an element decides over what wrote one.
    entries.sort_by_key(|entry| entry.event == EventKind::Moved);
    entries
}

fn seen(trace: &Trace, track: Track) -> Option<&Seen> {
    trace.result.iter().find(|(other, _)| *other == track).map(|(_, seen)| seen)
}

/// The changes that are kept; what followed from one that is not has no cause now.
fn keep(changes: Vec<Local>, kept: &[bool]) -> Vec<Local> {
    let mut next = 0;
    let places: Vec<Option<usize>> = kept
        .iter()
        .map(|kept| {
            let at = next;
            next += usize::from(*kept);
            kept.then_some(at)
        })
        .collect();
    let mut kept = kept.iter();
    let mut left: Vec<Local> = changes.into_iter().filter(|_| *kept.next().expect("one each")).collect();
    left.iter_mut().for_each(|local| {
        local.change.derived = local.follows.is_some();
        local.follows = local.follows.and_then(|at| places[at]);
    });
    left
}

/// Two resources that are one.
pub(super) struct Matched<'r> {
    pub pair: &'r Pair,
    pub old: Option<&'r Item<'r>>,
    pub new: Option<&'r Item<'r>>,
}

impl Matched<'_> {
    fn named(&self) -> Named {
        let item = self.new.or(self.old).expect("one of the two is there");
        // People know a resource by the name it was first given, unless it got one that has nothing to do with that.
        let first = item.original().name;
        let name = if item.id.name.contains(&*first) { first } else { item.id.name.clone() };
        let names = |item: &Item| (item.id.namespace.to_string(), item.id.name.to_string());
        Named {
            api_version: item.id.gvk.api_version().to_string(),
            kind: item.id.gvk.kind.to_string(),
            name: name.to_string(),
            from: self.old.map(names),
            to: self.new.map(names),
        }
    }

    /// The field as it is shown: with the keys of the side it is on.
    pub(super) fn field(&self, difference: &Difference) -> String {
        let on_new = difference.after.is_some() || difference.before.is_none();
        let (item, path) = match on_new {
            true => (self.new, &difference.new_path),
            false => (self.old, &difference.old_path),
        };
        item.map(|item| explain::shown_path(item.node, path)).unwrap_or_default()
    }
}

pub(super) fn is_name(path: &[Segment]) -> bool {
    matches!(path, [Segment::Key(a), Segment::Key(b)] if a == "metadata" && b == "name")
}

fn is_namespace(path: &[Segment]) -> bool {
    matches!(path, [Segment::Key(a), Segment::Key(b)] if a == "metadata" && b == "namespace")
}

/// What two overlays differ in by design.
fn by_names() -> Cause {
    Cause { what: Some("prefix and namespace".to_owned()), ..Cause::default() }
}

pub(super) fn is_metadata(path: &[Segment]) -> bool {
    matches!(path.first(), Some(Segment::Key(key)) if key == "metadata")
}

pub(super) fn items(outcome: &Outcome) -> Vec<Item<'_>> {
    match outcome {
        Outcome::Built(trace) => {
            let all = trace.result.iter();
            all.map(|(track, seen)| Item {
                node: &seen.node,
                id: &seen.id,
                written: None,
                track: Some((trace, *track)),
            })
            .collect()
        }
        Outcome::Rendered(all) => {
            let all = all.iter().map(|one| (one, one.original.as_ref()));
            all.map(|(one, written)| Item { node: &one.node, id: &one.id, written, track: None }).collect()
        }
        Outcome::Failed(_) | Outcome::Missing => Vec::new(),
    }
}
