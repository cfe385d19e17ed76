//! Every place that a field of the result depends on: those that decide its value, those that made a step apply, and those
//! whose text was overwritten.
//!
//! Two promises come with it, and tests hold it to them by changing one scalar of the source after the other. Changing what
//! decides a field changes the field. Changing anything that is neither listed as deciding nor as a condition does not.

mod conditions;
mod events;

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use krm_function::annotations::LOCAL_CONFIG;
use krm_function::elements::{DISTINGUISHING_KEYS, USUAL_KEYS};
use krm_yaml::{Node, Span, Text};
use rustc_hash::{FxHashMap, FxHashSet};

use super::find::{FieldPath, Where, each_scalar, in_patch};
use super::labels::Labels;
use crate::pipeline::Trace;
use crate::pipeline::trace::{Cause, EventKind, Segment, at, nodes_in_patch, pointer};
use crate::resource::Track;

use conditions::of_patch;

/// Where something is written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Site {
    /// A part of a text that was read as YAML.
    Text(Span),
    /// A whole file: one that a generator takes in, or one that says which fields hold what.
    File(PathBuf),
    /// A line of an env file, from 1.
    Line(PathBuf, usize),
}

/// What a place has to do with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// It is the value, or a part of it.
    Decides,
    /// A step applied because of it.
    Condition,
    /// It was the value before a step replaced it.
    Overwritten,
}

impl Part {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Part::Decides => "decides",
            Part::Condition => "condition",
            Part::Overwritten => "overwritten",
        }
    }
}

/// Finds the places that fields depend on, for many fields of one session.
pub struct Sites<'s> {
    labels: &'s Labels<'s>,
    fields: RefCell<FxHashMap<Key, Rc<Found>>>,
    /// The files that say which fields hold what, by trace.
    configurations: RefCell<FxHashMap<usize, Rc<[Site]>>>,
    /// What generators made, by trace and name.
    generated: RefCell<FxHashMap<usize, FxHashMap<String, Vec<Track>>>>,
}

/// A field of a resource, as it was before a step of a trace.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    trace: usize,
    until: usize,
    resource: Track,
    pointer: String,
    elements: Elements,
}

/// Whether a field also depends on what identifies the elements of lists on the way to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Elements {
    With,
    Without,
}

#[derive(Clone, Default)]
struct Found {
    decides: Vec<(Site, Piece)>,
    conditions: FxHashSet<Site>,
    overwritten: Vec<Site>,
}

/// Which part of a value a place decides: steps may work on one part and leave the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    All,
    /// The name of an image.
    Name,
    /// Its tag and digest.
    Tail,
}

/// Fields of an entry whose texts are not conditions: they are values, or examined more closely elsewhere.
const VALUES: [&str; 8] = ["patch", "literals", "files", "envs", "env", "pairs", "labels", "annotations"];

impl<'s> Sites<'s> {
    /// Sites of what these labels are about. What is found once is kept.
    pub fn new(labels: &'s Labels<'s>) -> Self {
        let (fields, configurations, generated) = Default::default();
        Self { labels, fields, configurations, generated }
    }

    /// All places that a field depends on, in the order of [`Part`], each once.
    pub fn of(&self, place: &Where) -> Vec<(Part, Site)> {
        let mut found = Found::default();
        match place.removed {
            false => self.add_below(place.trace, place.until, place.track, &place.path, &mut found),
            true => {
                let events = place.trace.history_of_removed(place.until - 1, place.track, &place.path);
                events.iter().for_each(|event| self.event(event, &mut found));
            }
        }
        let decides = found.decides.into_iter().map(|(site, _)| (Part::Decides, site));
        let mut conditions: Vec<Site> = found.conditions.into_iter().collect();
        conditions.sort_by_key(|site| self.position(site));
        let conditions = conditions.into_iter().map(|site| (Part::Condition, site));
        let overwritten = found.overwritten.into_iter().map(|site| (Part::Overwritten, site));
        let mut seen = FxHashSet::default();
        let all = decides.chain(conditions).chain(overwritten);
        all.filter(|(part, site)| seen.insert((*part, site.clone()))).collect()
    }

    /// Where the parts of a map or a list are written, each place once. A key that a patch repeats to find
    /// an element counts where it was first written.
    pub fn parts(&self, place: &Where) -> Vec<Site> {
        let Some(value) = place.value().filter(|_| !place.removed) else { return Vec::new() };
        let (mut all, mut seen) = (Vec::new(), FxHashSet::default());
        each_scalar(value, &mut place.path.clone(), &mut |_, path| {
            let found = self.field(place.trace, place.until, place.track, path, Elements::With);
            let decides = found.decides.iter().map(|(site, _)| site.clone());
            let events = place.trace.history_until(place.until, place.track, path);
            let written = events.iter().rev().map(|event| event.written).find(|span| !span.is_none());
            let written = written.filter(|_| found.decides.is_empty()).map(Site::Text);
            all.extend(decides.chain(written).filter(|site| seen.insert(site.clone())));
        });
        all
    }

    fn position(&self, site: &Site) -> (String, usize) {
        match site {
            Site::Text(span) => {
                let name = self.labels.sources.get(span.file).map(|source| source.name().to_owned());
                (name.unwrap_or_default(), span.start as usize)
            }
            Site::File(path) => (path.to_string_lossy().into_owned(), 0),
            Site::Line(path, line) => (path.to_string_lossy().into_owned(), *line),
        }
    }

    /// Takes in what a field depends on, or all fields below it.
    fn add_below(&self, trace: &Trace, until: usize, track: Track, path: &[Segment], found: &mut Found) {
        self.add(trace, until, track, path, Elements::With, found);
    }

    /// The same without what elements of lists are known by.
    fn add_plain(&self, trace: &Trace, until: usize, track: Track, path: &[Segment], found: &mut Found) {
        self.add(trace, until, track, path, Elements::Without, found);
    }

    fn add(
        &self,
        trace: &Trace,
        until: usize,
        track: Track,
        path: &[Segment],
        elements: Elements,
        found: &mut Found,
    ) {
        let node = tree(trace, until, track).and_then(|root| at(root, path));
        match node {
            Some(node) if !node.is_scalar() && !node.is_empty() => {
                let keys = node.as_map().into_iter().flatten();
                let keys = keys.filter_map(|entry| Some(Segment::Key(entry.key.text()?.into())));
                for segment in keys.chain((0..node.items().len()).map(Segment::Index)) {
                    let path = [path, &[segment]].concat();
                    self.add(trace, until, track, &path, elements, found);
                }
            }
            _ => {
                let one = self.field(trace, until, track, path, elements);
                found.decides.extend(one.decides.iter().cloned());
                found.conditions.extend(one.conditions.iter().cloned());
                found.overwritten.extend(one.overwritten.iter().cloned());
            }
        }
    }

    /// What a field depends on, as it was before a step. With elements, also by what the elements of lists on the way to it
    /// are known.
    fn field(
        &self,
        trace: &Trace,
        until: usize,
        resource: Track,
        path: &[Segment],
        elements: Elements,
    ) -> Rc<Found> {
        // Steps that left the resource alone make no difference to its history.
        let all = until;
        let until = trace.concerning(resource, until).next_back().map_or(0, |(step, _)| step + 1);
        let trace_id = std::ptr::from_ref(trace) as usize;
        let key = Key {
            trace: trace_id,
            until: if elements == Elements::With { all } else { until },
            resource,
            pointer: pointer(path),
            elements,
        };
        if let Some(known) = self.fields.borrow().get(&key) {
            return known.clone();
        }
        let mut found = Found::default();
        for event in &trace.history_until(until, resource, path) {
            self.event(event, &mut found);
        }
        // What a field means depends on what the resource is.
        for key in ["apiVersion", "kind"] {
            let type_path = [Segment::Key(key.into())];
            if path != type_path && !is_identity(path) {
                let of_type = self.field(trace, until, resource, &type_path, Elements::Without);
                found.conditions.extend(of_type.all());
            }
        }
        found.conditions.extend(self.configurations(trace).iter().cloned());
        if elements == Elements::With {
            self.elements(trace, until, resource, path, &mut found);
            self.patched_elements(trace, all, resource, path, &mut found);
            self.left_out(trace, all, resource, path, &mut found);
        }
        let found = Rc::new(found);
        self.fields.borrow_mut().insert(key, found.clone());
        found
    }

    /// By what the elements of lists on the way to a field are known.
    fn elements(&self, trace: &Trace, until: usize, track: Track, path: &[Segment], found: &mut Found) {
        let Some(root) = tree(trace, until, track) else { return };
        for (depth, _) in path.iter().enumerate().filter(|(_, segment)| matches!(segment, Segment::Index(_)))
        {
            let element = &path[..=depth];
            self.keys(trace, until, track, root, element, found);
        }
    }

    /// Patches that name the element of a list which a field is in, and what changes positions in it: whether a step by
    /// position meets this element depends on them. If the field is what the element is known by, a patch brings it along.
    fn patched_elements(
        &self,
        trace: &Trace,
        until: usize,
        track: Track,
        path: &[Segment],
        found: &mut Found,
    ) {
        let Some(depth) = path.iter().rposition(|segment| matches!(segment, Segment::Index(_))) else {
            return;
        };
        let root = tree(trace, until, track);
        let node = root.and_then(|root| at(root, path));
        let (value, written) = (node.and_then(Node::text), node.map(Node::span));
        let is_key = path.last().is_some_and(|last| {
            USUAL_KEYS.into_iter().chain(DISTINGUISHING_KEYS).any(|key| last.is_key(key))
        });
        for (_, step) in trace.touching(track, until) {
            if let (Some(within), Some(from)) =
                (&step.within, step.change(track).and_then(|change| change.from))
            {
                self.patched_elements(within, within.steps.len(), from, path, found);
            }
        }
        if let (Some(value), Some(Segment::Key(key))) =
            (value, path.last().filter(|_| path.len() == depth + 2))
            && self.is_selected_by(trace, until, track, &format!("[{key}={value}]"))
        {
            let own = std::mem::take(&mut found.decides);
            found.conditions.extend(own.into_iter().map(|(site, _)| site));
        }
        for step in trace.steps.iter().take(until) {
            for cause in step.causes(track, Span::NONE) {
                match cause {
                    Cause::Merged { patch, aligned } => {
                        let is_named = |node: &&Node| value.is_some() && node.text() == value;
                        let meant = root.map(|root| nodes_in_patch(patch, aligned, root, path));
                        let brings = match meant.and_then(|nodes| nodes.get(path.len()).copied()) {
                            // The element by its usual key: of its other fields, the patch may write what they are.
                            Some(node) => is_named(&node) && (is_key || Some(node.span()) != written),
                            None => in_patch(patch, path).iter().any(is_named),
                        };
                        if path.len() == depth + 2 && brings {
                            let own = std::mem::take(&mut found.decides);
                            found.conditions.extend(own.into_iter().map(|(site, _)| site));
                        }
                        of_patch(patch, &path[..=depth], &mut found.conditions);
                    }
                    Cause::Patched { operation } => {
                        found.conditions.extend(operation.asked.iter().map(|span| Site::Text(*span)));
                    }
                    _ => continue,
                }
                self.matched(step, track, &mut found.conditions);
            }
        }
    }

    /// Steps that might have touched the field and did not: a name that would follow if a generated resource got a hash,
    /// a resource that a replacement rejects, one that is kept because it is not local configuration.
    fn left_out(&self, trace: &Trace, until: usize, track: Track, path: &[Segment], found: &mut Found) {
        let Some(root) = tree(trace, until, track) else { return };
        if let Some(name) = at(root, path).and_then(Node::text).filter(|name| !name.is_empty()) {
            for other in self.generated_names(trace, name).iter().filter(|other| **other != track) {
                let path = [Segment::Key("metadata".into()), Segment::Key("name".into())];
                found.conditions.extend(self.field(trace, until, *other, &path, Elements::Without).all());
            }
        }
        let local = ["metadata", "annotations", LOCAL_CONFIG].map(|key| Segment::Key(key.into()));
        if at(root, &local).is_some() {
            found.conditions.extend(self.field(trace, until, track, &local, Elements::Without).all());
        }
        let value = at(root, path).map_or(Span::NONE, Node::span);
        for step in trace.steps.iter().take(until) {
            for cause in step.causes(track, value) {
                if let Cause::Elsewhere { target, .. } = cause {
                    self.identity(trace, until, *target, found);
                    self.identity(trace, until, track, found);
                }
                let Cause::Rejected { asked, paths } = cause else { continue };
                let leads = |(_, text): &(Span, Text)| {
                    let field = FieldPath::parse(text).ok();
                    field.is_some_and(|field| {
                        field.ways(root).iter().any(|way| way.starts_with(path) || path.starts_with(way))
                    })
                };
                if paths.iter().any(leads) {
                    found.conditions.extend(self.within(*asked));
                    self.identity(trace, until, track, found);
                    for field in ["labels", "annotations"] {
                        let path = [Segment::Key("metadata".into()), Segment::Key(field.into())];
                        let mut labels = Found::default();
                        self.add_plain(trace, until, track, &path, &mut labels);
                        found.conditions.extend(labels.all());
                    }
                }
            }
        }
    }

    /// The resources that a generator made and that are called this now.
    fn generated_names(&self, trace: &Trace, name: &str) -> Vec<Track> {
        let id = std::ptr::from_ref(trace) as usize;
        let mut all = self.generated.borrow_mut();
        let names = all.entry(id).or_insert_with(|| {
            let mut names: FxHashMap<String, Vec<Track>> = FxHashMap::default();
            for (track, seen) in &trace.result {
                let path = [Segment::Key("metadata".into()), Segment::Key("name".into())];
                let first = trace.history(*track, &path).first().map(|event| event.kind);
                if first == Some(EventKind::Generated) {
                    names.entry(seen.id.name.to_string()).or_default().push(*track);
                }
            }
            names
        });
        names.get(name).cloned().unwrap_or_default()
    }

    /// The fields of a map by which it, or what it names, is known.
    fn keys(
        &self,
        trace: &Trace,
        until: usize,
        track: Track,
        root: &Node,
        path: &[Segment],
        found: &mut Found,
    ) {
        let Some(map) = at(root, path) else { return };
        for key in USUAL_KEYS.into_iter().chain(DISTINGUISHING_KEYS) {
            if map.get(key).is_some_and(Node::is_scalar) {
                let path = [path, &[Segment::Key(key.into())]].concat();
                found.conditions.extend(self.field(trace, until, track, &path, Elements::Without).all());
            }
        }
    }
}

impl Found {
    /// A step replaced the value.
    fn overwrite(&mut self) {
        self.overwritten.extend(self.decides.drain(..).map(|(site, _)| site));
    }

    /// Everything that, if it were another, might make another thing of it.
    fn all(&self) -> impl Iterator<Item = Site> {
        self.decides
            .iter()
            .map(|(site, _)| site)
            .chain(&self.conditions)
            .cloned()
            .collect::<Vec<_>>()
            .into_iter()
    }
}

/// A resource as it was before a step.
fn tree(trace: &Trace, until: usize, track: Track) -> Option<&Node> {
    let (_, step) = trace.touching(track, until).next_back()?;
    let change = step.change(track)?;
    change.after.as_ref().or(change.before.as_ref()).map(|seen| &seen.node)
}

fn is_identity(path: &[Segment]) -> bool {
    matches!(path, [Segment::Key(only)] if only == "apiVersion" || only == "kind")
}

fn scalars(node: &Node, see: &mut dyn FnMut(Span)) {
    if node.is_scalar() {
        return see(node.span());
    }
    let values = node.as_map().into_iter().flatten().map(|entry| &entry.value);
    values.chain(node.items()).for_each(|node| scalars(node, see));
}
