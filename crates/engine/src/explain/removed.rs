//! Fields that were there once and are not in the result.

use krm_yaml::Node;
use rustc_hash::{FxHashMap, FxHashSet};

use super::find::{Where, each_scalar};
use crate::pipeline::Trace;
use crate::pipeline::trace::Segment;
use crate::schema::Type;

/// Calls a function with every scalar that a step took away, in a run or in one of its bases.
pub fn removed_fields<'t>(trace: &'t Trace, see: &mut dyn FnMut(Where<'t>)) {
    visit(trace, &mut FxHashSet::default(), see);
}

fn visit<'t>(trace: &'t Trace, known: &mut FxHashSet<*const Trace>, see: &mut dyn FnMut(Where<'t>)) {
    if !known.insert(trace) {
        return;
    }
    for (index, step) in trace.steps.iter().enumerate() {
        if let Some(within) = &step.within {
            visit(within, known, see);
        }
        for change in &step.changes {
            let Some(before) = &change.before else { continue };
            let after = change.after.as_ref().map(|after| &after.node);
            let of = trace.type_of(&before.id);
            taken_away(trace, &before.node, after, of, &mut Vec::new(), &mut |path| {
                let (path, track, until) = (path.to_vec(), change.resource, index + 1);
                see(Where { trace, track, resource: None, until, path, removed: true });
            });
        }
    }
}

fn taken_away(
    trace: &Trace,
    before: &Node,
    after: Option<&Node>,
    of: Option<Type>,
    path: &mut Vec<Segment>,
    see: &mut dyn FnMut(&[Segment]),
) {
    let Some(after) = after else { return each_scalar(before, path, &mut |_, path| see(path)) };
    if before.same(after) || before.is_scalar() && after.is_scalar() {
        return;
    }
    match (before.as_map(), after.as_map()) {
        (Some(old), Some(new)) => {
            for entry in old {
                let Some(key) = entry.key.text() else { continue };
                path.push(Segment::Key(key.into()));
                taken_away(trace, &entry.value, new.get(key), of.and_then(|of| of.field(key)), path, see);
                path.pop();
            }
        }
        _ if before.is_seq() && after.is_seq() => {
            let mut now: FxHashMap<usize, &Node> = FxHashMap::default();
            let places = trace.places_before(before.items(), after.items(), of);
            for (item, was) in after.items().iter().zip(places) {
                if let Some(was) = was {
                    now.insert(was, item);
                }
            }
            for (index, item) in before.items().iter().enumerate() {
                path.push(Segment::Index(index));
                taken_away(trace, item, now.get(&index).copied(), of.and_then(Type::items), path, see);
                path.pop();
            }
        }
        _ => each_scalar(before, path, &mut |_, path| see(path)),
    }
}
