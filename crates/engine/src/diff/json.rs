//! A difference as data. A new minor of the format adds fields and changes none.

use krm_yaml::Node;

use super::{Cause, Change, Diff, Flag, ImageChange, Named, Place, Tail, TargetDiff};

const FORMAT: &str = "krm.diff/1";

pub fn diff(diff: &Diff) -> Node {
    let mut object = Node::map();
    object.set("format", FORMAT);
    object.set("from", diff.from.as_str());
    object.set("to", diff.to.as_str());
    let names: Vec<&str> = diff.targets.iter().map(|target| target.directory.as_str()).collect();
    object.set("targets", list(&diff.targets, target));
    object.set("causes", list(&diff.causes, cause));
    object.set("changes", list(&diff.changes, |one| change(one, &names)));
    object.set("images", list(&diff.images, |one| image(one, &names)));
    object.set("flags", list(&diff.flags, flag));
    let restarts = list(&diff.restarts, |(workload, targets)| {
        let mut object = Node::map();
        object.set("workload", workload.as_str());
        object.set("targets", *targets as i64);
        object
    });
    object.set("restarts", restarts);
    object.set("ignored", diff.ignored as i64);
    object
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

fn cause(cause: &Cause) -> Node {
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
    object.set("changes", list(&cause.changes, |id| Node::from(*id as i64)));
    object
}

pub fn place(place: &Place) -> Node {
    let mut object = Node::map();
    object.set("file", place.file.as_str());
    object.set("line", place.line as i64);
    object.set("column", place.column as i64);
    object
}

fn change(change: &Change, names: &[&str]) -> Node {
    let mut object = Node::map();
    object.set("id", change.id as i64);
    object.set("kind", change.kind.name());
    object.set("resource", named(&change.resource));
    object.set("field", change.field.as_str());
    for (key, value) in [("before", &change.before), ("after", &change.after)] {
        if let Some(value) = value {
            object.set(key, value.clone());
        }
    }
    object.set("targets", list(&change.targets, |at| Node::from(names[*at])));
    for (key, tail) in [("from", &change.from), ("to", &change.to)] {
        if let Some(tail) = tail {
            object.set(key, self::tail(tail));
        }
    }
    object.set("follows", change.follows.map_or_else(Node::null, |id| Node::from(id as i64)));
    object.set("masked", change.masked);
    if change.guessed {
        object.set("guessed", true);
    }
    object
}

fn named(named: &Named) -> Node {
    let mut object = Node::map();
    object.set("apiVersion", named.api_version.as_str());
    object.set("kind", named.kind.as_str());
    object.set("name", named.name.as_str());
    for (key, side) in [("from", &named.from), ("to", &named.to)] {
        if let Some((namespace, name)) = side {
            let mut data = Node::map();
            data.set("namespace", namespace.as_str());
            data.set("name", name.as_str());
            object.set(key, data);
        }
    }
    object
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

fn flag(flag: &Flag) -> Node {
    let mut object = Node::map();
    object.set("rule", flag.rule);
    object.set("change", flag.change as i64);
    if let Some(at) = &flag.place {
        object.set("place", place(at));
    }
    object.set("message", flag.message.as_str());
    object
}
