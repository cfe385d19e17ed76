//! Resources and fields by the names people use.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use krm_function::elements::ASSOCIATIVE_KEYS;
use krm_yaml::path::{self, Path, Rules, child, visit};
use krm_yaml::{Diagnostic, Failure, Node, Result, Text, distance, nearest};

use crate::pipeline::Trace;
use crate::pipeline::trace::{Seen, Segment, at};
use crate::resource::{ResourceId, Track};
use crate::schema::Type;

/// `Kind/name`, `Kind/namespace/name`, `Kind.group/name` or a bare name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceName {
    kind: Option<String>,
    group: Option<String>,
    namespace: Option<String>,
    name: String,
}

impl ResourceName {
    /// Reads one of these forms. Kinds may also be short or plural, as `kubectl` takes them: `deploy/web`.
    pub fn parse(text: &str) -> Result<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        let (kind, namespace, name) = match parts[..] {
            [name] if !name.is_empty() => (None, None, name),
            [kind, name] if !kind.is_empty() && !name.is_empty() => (Some(kind), None, name),
            [kind, namespace, name] if !kind.is_empty() && !name.is_empty() => {
                (Some(kind), Some(namespace), name)
            }
            _ => {
                let message = format!("`{text}` does not name a resource");
                return Err(Diagnostic::error("explain-resource-name", message).help(
                    "write `Kind/name`, `Kind/namespace/name` or `Kind.group/name`, as in `Deployment/web`",
                ));
            }
        };
        let (kind, group) = match kind.and_then(|kind| kind.split_once('.')) {
            Some((kind, group)) => (Some(kind), Some(group)),
            None => (kind, None),
        };
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let (kind, group, namespace) = (owned(kind), owned(group), owned(namespace));
        Ok(Self { kind, group, namespace, name: name.to_owned() })
    }

    /// Whether a resource that had these ids is meant: by any name it ever had.
    pub(crate) fn means(&self, ids: &[&ResourceId]) -> bool {
        let is = |wanted: &Option<String>, text: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(text))
        };
        let is_kind = |id: &ResourceId| {
            is(&self.kind, &id.gvk.kind)
                || self.kind.as_ref().is_some_and(|kind| is_short_for(kind, &id.gvk.kind))
        };
        let of_kind = |id: &&&ResourceId| is_kind(id) && is(&self.group, &id.gvk.group);
        let in_namespace = |id: &&&ResourceId| is(&self.namespace, &id.namespace);
        ids.iter().any(|id| of_kind(&id))
            && ids.iter().any(|id| in_namespace(&id))
            && ids.iter().any(|id| id.name == self.name)
    }
}

impl fmt::Display for ResourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, group, namespace, name } = self;
        if let Some(kind) = kind {
            write!(f, "{kind}")?;
            group.iter().try_for_each(|group| write!(f, ".{group}"))?;
            f.write_str("/")?;
        }
        namespace.iter().try_for_each(|namespace| write!(f, "{namespace}/"))?;
        f.write_str(name)
    }
}

/// The names that `kubectl` takes for kinds.
const SHORT_NAMES: [(&str, &str); 26] = [
    ("cj", "CronJob"),
    ("cm", "ConfigMap"),
    ("crd", "CustomResourceDefinition"),
    ("csr", "CertificateSigningRequest"),
    ("deploy", "Deployment"),
    ("ds", "DaemonSet"),
    ("ep", "Endpoints"),
    ("ev", "Event"),
    ("hpa", "HorizontalPodAutoscaler"),
    ("ing", "Ingress"),
    ("limits", "LimitRange"),
    ("netpol", "NetworkPolicy"),
    ("no", "Node"),
    ("ns", "Namespace"),
    ("pc", "PriorityClass"),
    ("pdb", "PodDisruptionBudget"),
    ("po", "Pod"),
    ("pv", "PersistentVolume"),
    ("pvc", "PersistentVolumeClaim"),
    ("quota", "ResourceQuota"),
    ("rc", "ReplicationController"),
    ("rs", "ReplicaSet"),
    ("sa", "ServiceAccount"),
    ("sc", "StorageClass"),
    ("sts", "StatefulSet"),
    ("svc", "Service"),
];

/// Whether a word is what `kubectl` takes for a kind: a short name, or the kind as a plural.
fn is_short_for(word: &str, kind: &str) -> bool {
    let word = word.to_lowercase();
    let kind = kind.to_lowercase();
    let plural = match kind.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o']) => format!("{stem}ies"),
        _ if kind.ends_with(['s', 'x']) => format!("{kind}es"),
        _ => format!("{kind}s"),
    };
    word == plural || SHORT_NAMES.iter().any(|(short, of)| word == *short && kind == of.to_lowercase())
}

/// A resource of a trace.
#[derive(Clone, Copy, Debug)]
pub struct FoundResource<'t> {
    /// Which resource of the trace it is.
    pub track: Track,
    /// As it was last.
    pub seen: &'t Seen,
    /// It is in the result.
    pub present: bool,
}

/// The resources that a name means. None is an error that names near ones.
pub fn resources<'t>(trace: &'t Trace, name: &ResourceName) -> Result<Vec<FoundResource<'t>>> {
    meant(trace, name, false)
}

/// The same, with those that once had a name that another has now.
pub fn all_resources<'t>(trace: &'t Trace, name: &ResourceName) -> Result<Vec<FoundResource<'t>>> {
    meant(trace, name, true)
}

fn meant<'t>(trace: &'t Trace, name: &ResourceName, all_of_them: bool) -> Result<Vec<FoundResource<'t>>> {
    let all: Vec<FoundResource> = trace
        .resources()
        .into_iter()
        .map(|(track, seen, present)| FoundResource { track, seen, present })
        .collect();
    let meant = |found: &&FoundResource| name.means(&trace.ids(found.track));
    let mut found: Vec<FoundResource> = all.iter().filter(meant).copied().collect();
    // A resource that was deleted or dropped is meant only if nothing that is there is.
    if found.iter().any(|found| found.present) {
        found.retain(|found| found.present);
    }
    // What is called so now is meant before what once was: else it could not be named at all.
    let is_final = |found: &FoundResource| name.means(&[&found.seen.id]);
    if found.iter().filter(|found| is_final(found)).count() == 1 && !all_of_them {
        found.retain(is_final);
    }
    if !found.is_empty() {
        return Ok(found);
    }
    // What a name that says more than kind and name gets wrong may be what it says more.
    let shown = |found: &FoundResource| {
        let id = &found.seen.id;
        let group = name.group.as_ref().map(|_| format!(".{}", id.gvk.group)).filter(|group| group != ".");
        let namespace = name.namespace.as_ref().map(|_| format!("{}/", id.namespace));
        let namespace = namespace.filter(|namespace| namespace != "/");
        let [group, namespace] = [group, namespace].map(Option::unwrap_or_default);
        format!("{}{group}/{namespace}{}", id.gvk.kind, id.name)
    };
    let wanted = match &name.kind {
        Some(kind) => format!("{kind}/{}", name.name),
        None => name.name.clone(),
    };
    let error =
        Diagnostic::error("explain-no-resource", format!("there is no resource `{name}`, and never was"))
            .failing(Failure::NoMatch);
    // By any name it ever had, as those that are found.
    let called = |found: &FoundResource| -> Vec<String> {
        let ids = trace.ids(found.track);
        let called = ids.iter().map(|id| match &name.kind {
            Some(_) => format!("{}/{}", id.gvk.kind, id.name),
            None => id.name.to_string(),
        });
        called.collect()
    };
    let slips = |found: &FoundResource| called(found).iter().map(|other| distance(&wanted, other)).min();
    let mut near = all;
    near.sort_by_cached_key(slips);
    let is_near =
        |found: &&FoundResource| nearest(&wanted, called(found).iter().map(String::as_str)).is_some();
    Err(match near.first() {
        Some(_) if let Some(found) = near.iter().find(is_near) => {
            error.help(format!("did you mean `{}`?", shown(found)))
        }
        Some(_) => {
            let names: Vec<String> = near.iter().map(shown).collect();
            error.help(format!("there are: {}", listed(&names)))
        }
        None => error.help("nothing is built here"),
    })
}

/// Fields of a resource that were perhaps meant by one that it does not have, as they are written.
pub fn near_fields(root: &Node, field: &FieldPath) -> Vec<String> {
    let mut all: Vec<Vec<Segment>> = Vec::new();
    each_node(root, &mut Vec::new(), &mut |_, path| {
        if let Some(Segment::Key(_)) = path.last() {
            all.push(path.to_vec());
        }
    });
    // Without elements of lists: leaving them out means all of them.
    let keys = field.path.segments().iter().filter_map(|segment| match segment {
        path::Segment::Key(key) if !key.is_empty() && key.parse::<usize>().is_err() => Some(key.as_str()),
        _ => None,
    });
    let wanted: Vec<&str> = keys.collect();
    let Some(last) = wanted.last().copied() else { return Vec::new() };
    let wanted = wanted.join(".");
    let keys = |path: &[Segment]| -> String {
        let keys = path.iter().filter_map(|segment| match segment {
            Segment::Key(key) => Some(&**key),
            Segment::Index(_) => None,
        });
        keys.collect::<Vec<_>>().join(".")
    };
    let texts: Vec<String> = all.iter().map(|path| keys(path)).collect();
    let of = |is_meant: &dyn Fn(&str) -> bool| -> Vec<String> {
        let meant = all.iter().zip(&texts).filter(|(_, text)| is_meant(text));
        meant.take(3).map(|(path, _)| shown(root, path)).collect()
    };
    let last_of = |text: &str| text.rsplit('.').next().unwrap_or_default().to_owned();
    let near = nearest(&wanted, texts.iter().map(String::as_str));
    match near {
        Some(near) => of(&|text| text == near),
        None => of(&|text| last_of(text).eq_ignore_ascii_case(last)),
    }
}

fn listed(names: &[String]) -> String {
    const MOST: usize = 8;
    let shown = names.iter().take(MOST).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// A field as people write it: `spec.containers.[name=web].image`, `containers[0]`, `/spec/replicas`, `*`.
#[derive(Clone, Debug)]
pub struct FieldPath {
    text: String,
    path: Path,
}

impl FieldPath {
    /// Reads `spec.containers[name=web].image`, or a JSON pointer if it begins with `/`.
    pub fn parse(text: &str) -> Result<Self> {
        let path = match text.starts_with('/') {
            true => Path::pointer(text)?,
            false => Path::bracketed(text)?,
        };
        Ok(Self { text: text.to_owned(), path })
    }

    /// As it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The keys of a field that is in no list.
    pub(super) fn keys(&self) -> Option<Vec<&str>> {
        let keys = self.path.segments().iter().map(|segment| match segment {
            path::Segment::Key(key) => Some(&**key),
            _ => None,
        });
        keys.collect()
    }

    /// How many steps down it leads.
    pub(crate) fn length(&self) -> usize {
        self.path.segments().len()
    }

    /// Whether it is the other field, or one that holds it or is within it.
    pub fn leads_to(&self, other: &FieldPath) -> bool {
        let (a, b) = (self.path.segments(), other.path.segments());
        let shared = a.len().min(b.len());
        shared > 0 && a[..shared] == b[..shared]
    }

    /// The element of a list that it leads to in a tree before it ends, and what is left of it: a position may have been
    /// another element's before. `None` if it leads to no element, or to several.
    fn element_in(&self, root: &Node) -> Option<(Vec<Segment>, Self)> {
        let all = self.path.segments();
        let part = |path: &[path::Segment]| Self { text: self.text.clone(), path: Path(path.to_vec()) };
        let (length, way) = (1..all.len()).rev().find_map(|length| {
            let ways = part(&all[..length]).ways(root);
            (ways.len() == 1).then(|| (length, ways.into_iter().next().unwrap_or_default()))
        })?;
        let is_element = way.iter().any(|segment| matches!(segment, Segment::Index(_)));
        is_element.then(|| (way, part(&all[length..])))
    }

    /// Every way it leads to in a tree.
    pub fn ways(&self, root: &Node) -> Vec<Vec<Segment>> {
        let mut ways = Vec::new();
        let visited =
            visit(&Look, self.path.segments(), root, &mut Vec::new(), &mut |_, trail: &Vec<usize>| {
                ways.push(segments(root, trail));
                Ok(ControlFlow::Continue(()))
            });
        visited.map_or_else(|_| Vec::new(), |_| ways)
    }
}

/// Looks, and finds nothing where path and tree part.
struct Look;

impl Rules for Look {
    const KEYS_INDEX: bool = true;
}

/// Positions in a tree as keys and indexes.
fn segments(root: &Node, trail: &[usize]) -> Vec<Segment> {
    let mut node = root;
    let segment = |at: &usize| {
        let segment = match node.as_map().and_then(|map| map.iter().nth(*at)) {
            Some(entry) => Segment::Key(entry.key.text().unwrap_or_default().into()),
            None => Segment::Index(*at),
        };
        node = child(node, *at);
        segment
    };
    trail.iter().map(segment).collect()
}

/// Sees every scalar of a tree, and the way to it.
pub fn each_scalar(node: &Node, path: &mut Vec<Segment>, see: &mut dyn FnMut(&Node, &[Segment])) {
    each_node(node, path, &mut |node, path| {
        if node.is_scalar() {
            see(node, path);
        }
    });
}

/// Sees every node of a tree, parents first, and the way to it. Keys that are not scalars have no way to them.
fn each_node(node: &Node, path: &mut Vec<Segment>, see: &mut dyn FnMut(&Node, &[Segment])) {
    see(node, path);
    for entry in node.as_map().into_iter().flatten() {
        let Some(key) = entry.key.text() else { continue };
        path.push(Segment::Key(key.into()));
        each_node(&entry.value, path, see);
        path.pop();
    }
    for (index, item) in node.items().iter().enumerate() {
        path.push(Segment::Index(index));
        each_node(item, path, see);
        path.pop();
    }
}

/// Where in a trace a field was last seen.
#[derive(Clone, Debug)]
pub struct Where<'t> {
    /// The trace: that of the target, or of a base it went missing in.
    pub(crate) trace: &'t Trace,
    pub(crate) track: Track,
    /// What the resource is called in the end.
    pub(crate) resource: Option<&'t ResourceId>,
    /// The steps that count: of a field that is gone, up to the one that removed it.
    pub(crate) until: usize,
    /// Where the field is in the resource at that moment; empty for the resource as a whole.
    pub path: Vec<Segment>,
    /// The step before `until` removed it.
    pub(crate) removed: bool,
}

/// Every place a field means in a resource: in the result, or, if it is gone, where it was last.
pub fn locate<'t>(trace: &'t Arc<Trace>, found: &FoundResource<'t>, field: &FieldPath) -> Vec<Where<'t>> {
    if found.present {
        let ways = field.ways(&found.seen.node).into_iter();
        let ways: Vec<Where> = ways.map(|path| Where::in_result(trace, found, path)).collect();
        if !ways.is_empty() {
            return ways;
        }
    }
    let element = if found.present { field.element_in(&found.seen.node) } else { None };
    let mut places = match element {
        Some((element, rest)) => before_in(trace, found.track, element, &rest),
        None => before(trace, found.track, field),
    };
    places.iter_mut().for_each(|place| place.resource = Some(&found.seen.id));
    places
}

/// Where a field was before it went.
fn before<'t>(trace: &'t Trace, track: Track, field: &FieldPath) -> Vec<Where<'t>> {
    for (number, step) in trace.touching(track, trace.steps.len()).rev() {
        let Some(change) = step.change(track) else { continue };
        if let Some(seen) = &change.before {
            let ways = field.ways(&seen.node);
            if !ways.is_empty() {
                let there =
                    |path| Where { trace, track, resource: None, until: number + 1, path, removed: true };
                return ways.into_iter().map(there).collect();
            }
        } else if let (Some(within), Some(from)) = (&step.within, change.from) {
            return before(within, from, field);
        }
    }
    Vec::new()
}

/// Where a field of an element was before it went, given the path to the element in the end.
fn before_in<'t>(
    trace: &'t Trace,
    track: Track,
    mut element: Vec<Segment>,
    field: &FieldPath,
) -> Vec<Where<'t>> {
    for (number, step) in trace.touching(track, trace.steps.len()).rev() {
        match step.change(track).map(|change| (&change.before, &change.after, change.from)) {
            Some((Some(before), Some(after), _)) => {
                let Some(was) = trace.path_before(before, after, &element) else { break };
                let ways = at(&before.node, &was).map(|node| field.ways(node)).unwrap_or_default();
                if !ways.is_empty() {
                    let there = |way: Vec<Segment>| Where {
                        trace,
                        track,
                        resource: None,
                        until: number + 1,
                        path: was.iter().cloned().chain(way).collect(),
                        removed: true,
                    };
                    return ways.into_iter().map(there).collect();
                }
                element = was;
            }
            Some((None, _, Some(from))) if let Some(within) = &step.within => {
                return before_in(within, from, element, field);
            }
            _ => {}
        }
    }
    Vec::new()
}

impl<'t> Where<'t> {
    /// A field of the result.
    pub fn in_result(trace: &'t Trace, found: &FoundResource<'t>, path: Vec<Segment>) -> Self {
        let (track, resource) = (found.track, Some(&found.seen.id));
        Self { trace, track, resource, until: trace.steps.len(), path, removed: false }
    }

    /// A resource as a whole, in the result or as it was when it went.
    pub fn whole(trace: &'t Trace, found: &FoundResource<'t>) -> Self {
        let whole = Self::in_result(trace, found, Vec::new());
        if found.present {
            return whole;
        }
        let went = |step: &crate::pipeline::trace::Traced| {
            step.change(found.track).is_some_and(|change| change.after.is_none())
        };
        let until = trace.steps.iter().rposition(went).map_or(trace.steps.len(), |at| at + 1);
        Self { until, removed: true, ..whole }
    }

    /// The value, as it is or as it last was.
    pub fn value(&self) -> Option<&Node> {
        let (_, step) = self.trace.touching(self.track, self.until).next_back()?;
        let change = step.change(self.track)?;
        let seen = if self.removed { change.before.as_ref() } else { change.after.as_ref() };
        at(&seen?.node, &self.path)
    }
}

/// A path with merge keys for indexes where elements have a name of their own, so that it can be pasted back.
pub fn shown(root: &Node, path: &[Segment]) -> String {
    shown_of(root, None, path)
}

/// The same of a resource whose type may say by what the elements of its lists are known.
pub(super) fn shown_of(root: &Node, of: Option<Type>, path: &[Segment]) -> String {
    let mut text = String::new();
    let mut node = Some(root);
    let mut of = of;
    for segment in path {
        match segment {
            Segment::Key(key) => {
                if !text.is_empty() {
                    text.push('.');
                }
                match key.contains(['.', '[', '/']) {
                    true if key.contains('.') => text.push_str(&key.replace('.', "\\.")),
                    _ => text.push_str(key),
                }
                node = node.and_then(|node| node.get(key));
                of = of.and_then(|of| of.field(key));
            }
            Segment::Index(index) => {
                let item = node.and_then(|node| node.items().get(*index));
                match item.zip(node).and_then(|(item, list)| key_of(list, item, of)) {
                    Some((key, value)) => text.push_str(&format!("[{key}={value}]")),
                    None => text.push_str(&format!("[{index}]")),
                }
                node = item;
                of = of.and_then(Type::items);
            }
        }
    }
    text
}

/// The field by which an element of a list is known.
pub(super) fn key_of<'k>(list: &Node, item: &Node, of: Option<Type<'k>>) -> Option<(&'k str, Text)> {
    // People know elements by their names, also if something else identifies them, too.
    // One of several keys says too little.
    let declared = of.and_then(Type::merge_keys).filter(|keys| keys.len() == 1).unwrap_or_default();
    let declared = declared.iter().map(|key| &**key);
    std::iter::once("name").chain(ASSOCIATIVE_KEYS).chain(declared).find_map(|key| {
        let text = |item: &Node| {
            item.get(key).filter(|value| value.is_scalar()).and_then(Node::text).map(Text::from)
        };
        let value = text(item)?;
        let alike = list.items().iter().filter(|other| text(other).as_ref() == Some(&value)).count();
        (alike == 1 && list.items().iter().all(|item| text(item).is_some())).then_some((key, value))
    })
}

/// The nodes of a patch that a path leads to. A patch names elements of lists in an order of its own, so each is tried.
pub(super) fn in_patch<'n>(patch: &'n Node, path: &[Segment]) -> Vec<&'n Node> {
    path.iter().fold(vec![patch], |nodes, segment| {
        let below = |node: &'n Node| match segment {
            Segment::Key(key) => node.get(key).into_iter().collect::<Vec<_>>(),
            Segment::Index(_) => node.items().iter().collect(),
        };
        nodes.into_iter().flat_map(below).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_however_they_are_written() {
        let text = "spec: {containers: [{name: a, x: 1}, {name: b, x: 2}], k.d: 3}";
        let root = krm_yaml::parse_str(text).unwrap().remove(0).root;
        for (field, shown_as) in [
            ("spec.containers[1].x", "spec.containers[name=b].x"),
            ("spec.containers.1.x", "spec.containers[name=b].x"),
            ("spec.containers.[name=b].x", "spec.containers[name=b].x"),
            ("spec.containers[name=b].x", "spec.containers[name=b].x"),
            ("/spec/containers/1/x", "spec.containers[name=b].x"),
            ("spec.k\\.d", "spec.k\\.d"),
            ("spec.[k.d]", "spec.k\\.d"),
        ] {
            let ways = FieldPath::parse(field).unwrap().ways(&root);
            assert_eq!(ways.iter().map(|way| shown(&root, way)).collect::<Vec<_>>(), [shown_as], "{field}");
        }
        assert_eq!(FieldPath::parse("spec.containers.*.x").unwrap().ways(&root).len(), 2);
    }
}
