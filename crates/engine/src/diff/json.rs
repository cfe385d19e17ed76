//! A difference as data. A new minor of the format adds fields and changes none.

use krm_yaml::Node;

use super::{Cause, Change, Diff, Flag, ImageChange, Location, Named, Own, Tail, TargetDiff};

const FORMAT: &str = "krm.diff/1";

/// All of a difference, in the format of [`JSON_SCHEMA`](super::JSON_SCHEMA).
pub fn diff(diff: &Diff) -> Node {
    let mut object = Node::map();
    object.set("format", FORMAT);
    object.set("from", diff.from.as_str());
    object.set("to", diff.to.as_str());
    let names: Vec<&str> = diff.targets.iter().map(|target| target.directory.as_str()).collect();
    object.set("targets", list(&diff.targets, target));
    let parts = Parts::of(diff);
    object.set("causes", list(&diff.causes, |one| cause(one, &parts)));
    let changes = diff.changes.iter().flat_map(|one| parts.of[one.id].iter().map(move |part| (one, part)));
    object
        .set("changes", Node::from(changes.map(|(one, part)| change(one, part, &names)).collect::<Vec<_>>()));
    object.set("images", list(&diff.images, |one| image(one, &names)));
    object.set("flags", list(&diff.flags, |one| flag(one, &parts)));
    let restarts = list(&diff.restarts, |restart| {
        let mut object = Node::map();
        object.set("workload", restart.name.as_str());
        object.set("kind", restart.kind.as_str());
        object.set("targets", restart.targets as i64);
        object
    });
    object.set("restarts", restarts);
    object.set("ignored", diff.ignored as i64);
    object
}

/// The targets of a change in which it is the same in every respect.
struct Part<'d> {
    id: usize,
    own: Vec<&'d Own>,
    follows: Option<usize>,
}

/// Every change as it is for a program: what is shown once for all targets because it differs by a name or a hash only is
/// several here, each with its values.
struct Parts<'d> {
    /// By the number of the change.
    of: Vec<Vec<Part<'d>>>,
}

impl<'d> Parts<'d> {
    fn of(diff: &'d Diff) -> Self {
        // Of each change the part that each of its own is in. What others follow from comes first.
        let mut numbers: Vec<Vec<usize>> = vec![Vec::new(); diff.changes.len()];
        let mut open: Vec<usize> = (0..diff.changes.len()).rev().collect();
        while let Some(at) = open.pop() {
            let own = &diff.changes[at].own;
            let parent = diff.changes[at].follows.filter(|id| numbers[*id].is_empty() && *id != at);
            if !numbers[at].is_empty() || own.is_empty() {
                continue;
            }
            if let Some(parent) = parent.filter(|id| !diff.changes[*id].own.is_empty()) {
                open.extend([at, parent]);
                continue;
            }
            let part_of = |(id, index): (usize, usize)| (id, numbers[id].get(index).copied().unwrap_or(0));
            let key = |own: &Own| (own.follows.map(part_of), own.before.clone(), own.after.clone());
            let mut known: Vec<(&Own, _)> = Vec::new();
            let mut found = Vec::with_capacity(own.len());
            for one in own {
                let key = key(one);
                let same = |(other, its): &(&Own, _)| {
                    *its == key && (&other.from, &other.to) == (&one.from, &one.to)
                };
                found.push(known.iter().position(same).unwrap_or(known.len()));
                if found.last() == Some(&known.len()) {
                    known.push((one, key));
                }
            }
            numbers[at] = found;
        }
        let mut next = 0;
        let mut of: Vec<Vec<Part>> = Vec::with_capacity(diff.changes.len());
        for (change, numbers) in diff.changes.iter().zip(&numbers) {
            let mut parts: Vec<Part> = Vec::new();
            for (own, number) in change.own.iter().zip(numbers) {
                match parts.get_mut(*number) {
                    Some(part) => part.own.push(own),
                    None => {
                        parts.push(Part { id: next, own: vec![own], follows: None });
                        next += 1;
                    }
                }
            }
            of.push(parts);
        }
        let ids: Vec<Vec<usize>> =
            of.iter().map(|parts| parts.iter().map(|part| part.id).collect()).collect();
        for part in of.iter_mut().flatten() {
            part.follows = part.own[0].follows.map(|(id, index)| ids[id][numbers[id][index]]);
        }
        Self { of }
    }

    /// The numbers that a change has.
    fn ids(&self, change: usize) -> Vec<Node> {
        self.of[change].iter().map(|part| Node::from(part.id as i64)).collect()
    }
}

fn list<T>(all: &[T], one: impl Fn(&T) -> Node) -> Node {
    Node::from(all.iter().map(one).collect::<Vec<_>>())
}

fn target(target: &TargetDiff) -> Node {
    let mut object = Node::map();
    object.set("directory", target.directory.as_str());
    object.set("status", target.status.name());
    object.set("resources", target.resources as i64);
    object.set("fields", (target.whole + target.fields) as i64);
    object.set("follow", target.follow as i64);
    for (key, error) in ["fromError", "toError"].into_iter().zip(&target.errors) {
        if let Some(error) = error {
            let mut data = Node::map();
            data.set("code", error.code());
            data.set("message", error.message());
            object.set(key, data);
        }
    }
    object
}

fn cause(cause: &Cause, parts: &Parts) -> Node {
    let mut object = Node::map();
    object.set("place", cause.place.as_ref().map_or_else(Node::null, place));
    if let Some(before) = &cause.before {
        object.set("before", before.as_str());
    }
    if let Some(after) = &cause.after {
        object.set("after", after.as_str());
    }
    if let Some(what) = &cause.what {
        object.set("what", what.as_str());
    }
    object.set("removed", cause.removed);
    if cause.more > 0 {
        object.set("more", cause.more as i64);
    }
    let changes: Vec<Node> = cause.changes.iter().flat_map(|id| parts.ids(*id)).collect();
    object.set("changes", changes);
    object
}

pub(crate) fn place(place: &Location) -> Node {
    let mut object = Node::map();
    object.set("file", place.file.as_str());
    object.set("line", place.line as i64);
    object.set("column", place.column as i64);
    object.set("endLine", place.end_line as i64);
    object.set("endColumn", place.end_column as i64);
    object
}

fn change(change: &Change, part: &Part, names: &[&str]) -> Node {
    let own = part.own[0];
    let mut object = Node::map();
    object.set("id", part.id as i64);
    object.set("kind", change.kind.name());
    object.set("resource", named(&part.own, names));
    object.set("field", change.field.as_str());
    for (key, value) in [("before", &own.before), ("after", &own.after)] {
        if let Some(value) = value {
            object.set(key, value.clone());
        }
    }
    let mut targets: Vec<usize> = part.own.iter().map(|own| own.target).collect();
    targets.dedup();
    object.set("targets", list(&targets, |at| Node::from(names[*at])));
    for (key, tail) in [("from", &own.from), ("to", &own.to)] {
        if let Some(tail) = tail {
            object.set(key, self::tail(tail));
        }
    }
    object.set("follows", part.follows.map_or_else(Node::null, |id| Node::from(id as i64)));
    object.set("masked", change.masked);
    if change.guessed {
        object.set("guessed", true);
    }
    object
}

/// A resource, by the names it has in the first target and, if others give it other names, in each.
fn named(own: &[&Own], names: &[&str]) -> Node {
    let first = &own[0].resource;
    let mut object = Node::map();
    object.set("apiVersion", first.api_version.as_str());
    object.set("kind", first.kind.as_str());
    object.set("name", first.name.as_str());
    set_names(&mut object, first);
    if own.iter().all(|one| one.resource == *first) {
        return object;
    }
    let of_target = |one: &&Own| {
        let mut object = Node::map();
        object.set("target", names[one.target]);
        set_names(&mut object, &one.resource);
        object
    };
    object.set("names", list(own, of_target));
    object
}

fn set_names(object: &mut Node, named: &Named) {
    for (key, side) in [("from", &named.from), ("to", &named.to)] {
        if let Some((namespace, name)) = side {
            let mut data = Node::map();
            data.set("namespace", namespace.as_str());
            data.set("name", name.as_str());
            object.set(key, data);
        }
    }
}

fn tail(tail: &Tail) -> Node {
    let mut object = Node::map();
    object.set("event", tail.event);
    object.set("label", tail.label.as_str());
    object.set("layer", tail.layer.as_str());
    if let Some(at) = &tail.place {
        object.set("place", place(at));
    }
    object
}

fn image(image: &ImageChange, names: &[&str]) -> Node {
    let mut object = Node::map();
    object.set("name", image.name.as_str());
    object.set("before", image.before.as_str());
    object.set("after", image.after.as_str());
    object.set("targets", list(&image.targets, |at| Node::from(names[*at])));
    object
}

fn flag(flag: &Flag, parts: &Parts) -> Node {
    let mut object = Node::map();
    object.set("rule", flag.rule);
    let changes = parts.ids(flag.change);
    object.set("change", changes[0].clone());
    if changes.len() > 1 {
        object.set("changes", changes);
    }
    if let Some(at) = &flag.place {
        object.set("place", place(at));
    }
    object.set("message", flag.message.as_str());
    object
}
