//! The same edit in several lines or files, as one cause: for people.
//!
//! Programs get every line by itself.

use rustc_hash::{FxHashMap, FxHashSet};

use super::differing::Differing;
use super::{Cause, Change, Diff};
use crate::explain::text::MASK;

impl Diff {
    /// The same, with each edit once: a label that is changed in three places of a file, a tag that is raised in every
    /// overlay.
    ///
    /// Changes that are the same in several overlays, each by a line of its own, become one. What each follows from is
    /// not kept in [`Own`](super::Own).
    pub fn folded(&self) -> Diff {
        let mut folded = Diff {
            from: self.from.clone(),
            to: self.to.clone(),
            overlays: self.overlays,
            targets: self.targets.clone(),
            images: self.images.clone(),
            restarts: self.restarts.clone(),
            ignored: self.ignored,
            ..Diff::default()
        };
        let mut in_file: FxHashMap<(&str, &str, &str), usize> = FxHashMap::default();
        let mut elsewhere: FxHashMap<(Edit, Vec<String>), usize> = FxHashMap::default();
        // The change that each became.
        let mut ids: Vec<usize> = vec![0; self.changes.len()];
        for cause in &self.causes {
            let in_this_file = edit(cause).and_then(|(before, after, file)| Some((file, before?, after?)));
            let everywhere = edit(cause).map(|(before, after, file)| {
                let name = file.rsplit('/').next().unwrap_or(file);
                ((before, after, cause.removed, name), self.signature(cause))
            });
            // What is several lines is not one line elsewhere.
            let is_line = |at: &usize| folded.causes[*at].changes.len() == cause.changes.len();
            let known = everywhere.as_ref().and_then(|key| elsewhere.get(key)).copied().filter(is_line);
            if let Some(at) = known {
                for (own, same) in cause.changes.iter().zip(folded.causes[at].changes.clone()) {
                    ids[*own] = same;
                    let (one, into) = (&self.changes[*own], &mut folded.changes[same]);
                    into.targets.extend(&one.targets);
                    into.replaced &= one.replaced;
                    into.own.extend(one.own.iter().cloned());
                }
                folded.causes[at].also.extend(cause.place.clone());
                continue;
            }
            let at = match in_this_file.and_then(|key| in_file.get(&key)).copied() {
                Some(at) => {
                    folded.causes[at].also.extend(cause.place.clone());
                    folded.causes[at].more += cause.more;
                    at
                }
                None => {
                    folded.causes.push(Cause { changes: Vec::new(), ..cause.clone() });
                    folded.causes.len() - 1
                }
            };
            in_file.extend(in_this_file.map(|key| (key, at)));
            elsewhere.extend(everywhere.map(|key| (key, at)));
            for id in &cause.changes {
                ids[*id] = folded.changes.len();
                folded.causes[at].changes.push(folded.changes.len());
                folded.changes.push(Change {
                    id: folded.changes.len(),
                    cause: at,
                    ..self.changes[*id].clone()
                });
            }
        }
        for change in &mut folded.changes {
            change.follows = change.follows.map(|id| ids[id]);
            change.targets.sort_unstable();
            change.targets.dedup();
            change.own.iter_mut().for_each(|own| own.follows = None);
        }
        let mut known = FxHashSet::default();
        for flag in &self.flags {
            let change = ids[flag.change];
            if known.insert((change, flag.rule)) {
                folded.flags.push(super::Flag { change, ..flag.clone() });
            }
        }
        folded
    }

    /// What a cause does, whatever it is called in each overlay.
    fn signature(&self, cause: &Cause) -> Vec<String> {
        let place = |id: usize| cause.changes.iter().position(|other| *other == id);
        let one = |change: &Change| {
            let text = |node: &Option<krm_yaml::Node>| {
                node.as_ref().map(krm_yaml::json::compact).unwrap_or_default()
            };
            let (before, after) = (text(&change.before), text(&change.after));
            let part = match change.field.is_empty() || change.elided {
                true => Differing::of("", ""),
                false => Differing::of(&before, &after),
            };
            let resource = &change.resource;
            format!(
                "{} {} {} {} {} {} {} {:?}",
                change.kind.name(),
                resource.api_version,
                resource.kind,
                resource.name,
                change.field,
                part.before,
                part.after,
                change.follows.map(place)
            )
        };
        cause.changes.iter().map(|id| one(&self.changes[*id])).collect()
    }
}

/// The line as it was and as it is, whether it is gone, and the name of the file.
type Edit<'c> = (Option<&'c str>, Option<&'c str>, bool, &'c str);

/// The line as it was and as it is, and its file. What may not be seen looks the same, and is not.
fn edit(cause: &Cause) -> Option<(Option<&str>, Option<&str>, &str)> {
    let file = &cause.place.as_ref()?.file;
    let (before, after) = (cause.before.as_deref(), cause.after.as_deref());
    let is_hidden = [before, after].into_iter().flatten().any(|text| text.contains(MASK));
    let is_edit = cause.what.is_none() && (before.is_some() || after.is_some()) && !is_hidden;
    is_edit.then_some((before, after, file))
}
