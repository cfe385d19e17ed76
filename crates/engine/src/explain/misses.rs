//! What almost happened to a field.

use krm_yaml::{Node, Span};

use super::find::{FieldPath, Where};
use crate::pipeline::Trace;
use crate::pipeline::trace::{Cause, Segment};
use crate::resource::Track;
use crate::select::near_miss::with_article;

/// An entry that might have changed a field and did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// Why it did not.
    pub message: String,
    /// What to do about it.
    pub advice: Vec<String>,
    /// The entry, or what is in its way: a resource of another namespace, a `reject`.
    pub place: Span,
    /// Where the resource says what the entry does not match.
    pub met: Option<Span>,
}

impl Miss {
    /// What a warning says.
    pub fn new(message: &str, advice: &[String], place: Span) -> Self {
        Self { message: message.to_owned(), advice: advice.to_vec(), place, met: None }
    }
}

/// What steps said that they did not do: a name that did not follow the resource of another namespace, a replacement that
/// rejects the resource.
pub fn misses(place: &Where) -> Vec<Miss> {
    let mut found = Vec::new();
    let value = place.value().filter(|value| value.is_scalar()).map_or(Span::NONE, Node::span);
    collect(place.trace, place.until, place.track, &place.path, value, &mut found);
    found.dedup();
    found
}

fn collect(trace: &Trace, until: usize, track: Track, path: &[Segment], value: Span, found: &mut Vec<Miss>) {
    for (_, step) in trace.touching(track, until) {
        if let (Some(within), Some(from)) = (&step.within, step.change(track).and_then(|change| change.from))
        {
            collect(within, within.steps.len(), from, path, value, found);
        }
    }
    for (index, step) in trace.steps.iter().enumerate().take(until) {
        let root = || {
            let (_, last) = trace.touching(track, index + 1).next_back()?;
            last.change(track)?.after.as_ref().map(|seen| &seen.node)
        };
        for note in step.notes_of(track) {
            match &note.cause {
                Cause::Elsewhere { kind, name, now, namespace, place, .. }
                    if path.is_empty() || note.written == value && !value.is_none() =>
                {
                    let place = *place;
                    let message = format!(
                        "the {} `{name}` of namespace `{namespace}` is called `{now}` now, but a name means only what is in its own namespace",
                        kind.kind
                    );
                    found.push(Miss { message, advice: Vec::new(), place, met: None });
                }
                Cause::OtherKind { wanted, kind, name, now, place }
                    if path.is_empty() || note.written == value && !value.is_none() =>
                {
                    let (wanted, kind) = (with_article(&wanted.kind), &kind.kind);
                    let message = format!(
                        "this field names {wanted}: the {kind} `{name}`, which is called `{now}` now, is not one"
                    );
                    found.push(Miss { message, advice: Vec::new(), place: *place, met: Some(note.written) });
                }
                Cause::Rejected { asked, paths } => {
                    let leads = |(_, text): &(Span, krm_yaml::Text)| {
                        let ways =
                            FieldPath::parse(text).ok().zip(root()).map(|(field, root)| field.ways(root));
                        ways.unwrap_or_default()
                            .iter()
                            .any(|way| way.starts_with(path) || !path.is_empty() && path.starts_with(way))
                    };
                    if paths.iter().any(leads) {
                        let message =
                            "this replacement would write it, but its `reject` leaves the resource out";
                        let (message, place) = (message.to_owned(), *asked);
                        found.push(Miss { message, advice: Vec::new(), place, met: None });
                    }
                }
                _ => {}
            }
        }
    }
}
