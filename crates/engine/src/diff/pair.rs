//! Which resource of one result is which of the other.

use krm_yaml::Node;
use rustc_hash::FxHashMap;

use crate::compare::fields::{ALIKE, similarity};
use crate::pipeline::Trace;
use crate::resource::{ResourceId, Track};

/// A resource of a result.
pub(crate) struct Item<'r> {
    pub node: &'r Node,
    pub id: &'r ResourceId,
    /// The id it was first written with, of one that was not traced and of which it is known.
    pub written: Option<&'r ResourceId>,
    /// Of one whose build was traced.
    pub track: Option<(&'r Trace, Track)>,
}

impl Item<'_> {
    /// The id it was first written with. Of a rendered one nothing is known but that generated names end in a hash.
    pub(crate) fn original(&self) -> ResourceId {
        if let Some(written) = self.written {
            return written.clone();
        }
        let mut id = match self.track {
            Some((trace, track)) => trace.ids(track).first().map_or(self.id, |id| id).clone(),
            None => self.id.clone(),
        };
        if self.track.is_none()
            && matches!(id.gvk.kind.as_str(), "ConfigMap" | "Secret")
            && let Some((stem, _)) = split_hash(&id.name)
        {
            id.name = stem.into();
        }
        id
    }
}

/// A generated name without its hash, and the hash.
pub(crate) fn split_hash(name: &str) -> Option<(&str, &str)> {
    let (stem, hash) = name.rsplit_once('-')?;
    // Letters that look like others, and vowels, are not in a hash.
    let is_hash = hash.len() == 10 && hash.bytes().all(|byte| b"2456789bcdfghkmt".contains(&byte));
    is_hash.then_some((stem, hash))
}

/// Two resources that are one, or one that is on one side only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pair {
    pub old: Option<usize>,
    pub new: Option<usize>,
    /// They are taken for one because they are alike.
    pub guessed: bool,
}

/// The most leftovers to compare each with each.
const MOST: usize = 200;

/// Pairs resources: by their final ids, by the ids they were written with, by what they have in common. Of two overlays
/// the names differ by design: there what was written comes first.
pub(crate) fn pairs(old: &[Item], new: &[Item], overlays: bool) -> Vec<Pair> {
    let mut of_new: Vec<Option<usize>> = vec![None; new.len()];
    let mut taken = vec![false; old.len()];
    let mut guessed = vec![false; new.len()];
    type Key = (String, String, String, String);
    let final_key = |item: &Item| -> Key {
        let id = item.id;
        let namespace = id.effective_namespace().to_owned();
        (id.gvk.group.to_string(), id.gvk.kind.to_string(), namespace, id.name.to_string())
    };
    let original_key = |item: &Item| -> Key {
        let id = item.original();
        let namespace = id.effective_namespace().to_owned();
        (id.gvk.group.to_string(), id.gvk.kind.to_string(), namespace, id.name.to_string())
    };
    let name_key = |item: &Item| -> Key {
        let id = item.original();
        (id.gvk.group.to_string(), id.gvk.kind.to_string(), String::new(), id.name.to_string())
    };
    let by_final: &dyn Fn(&Item) -> Key = &final_key;
    let keys = match overlays {
        true => [&original_key as &dyn Fn(&Item) -> Key, by_final, &name_key],
        false => [by_final, &original_key, &name_key],
    };
    for key in keys {
        // A key that several have says nothing.
        let mut places: FxHashMap<Key, Option<usize>> = FxHashMap::default();
        for at in (0..old.len()).filter(|at| !taken[*at]) {
            places.entry(key(&old[at])).and_modify(|place| *place = None).or_insert(Some(at));
        }
        let mut wanted: FxHashMap<Key, Vec<usize>> = FxHashMap::default();
        for at in (0..new.len()).filter(|at| of_new[*at].is_none()) {
            wanted.entry(key(&new[at])).or_default().push(at);
        }
        for (key, at) in wanted {
            if let (&[at], Some(Some(place))) = (&at[..], places.get(&key)) {
                (of_new[at], taken[*place]) = (Some(*place), true);
            }
        }
    }
    let rest_old: Vec<usize> = (0..old.len()).filter(|at| !taken[*at]).collect();
    let rest_new: Vec<usize> = (0..new.len()).filter(|at| of_new[*at].is_none()).collect();
    if rest_old.len() <= MOST && rest_new.len() <= MOST {
        let mut alike: Vec<(f64, usize, usize)> = Vec::new();
        for (x, y) in rest_old.iter().flat_map(|x| rest_new.iter().map(move |y| (*x, *y))) {
            let (a, b) = (&old[x].id.gvk, &new[y].id.gvk);
            if (&a.group, &a.kind) == (&b.group, &b.kind) {
                alike.push((similarity(old[x].node, new[y].node), x, y));
            }
        }
        alike.retain(|(alike, _, _)| *alike >= ALIKE);
        alike.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        for (_, x, y) in alike {
            if !taken[x] && of_new[y].is_none() {
                (of_new[y], taken[x], guessed[y]) = (Some(x), true, true);
            }
        }
    }
    let pair = |(at, old): (usize, Option<usize>)| Pair { old, new: Some(at), guessed: guessed[at] };
    let mut pairs: Vec<Pair> = of_new.iter().copied().enumerate().map(pair).collect();
    let gone = (0..old.len()).filter(|at| !taken[*at]);
    pairs.extend(gone.map(|at| Pair { old: Some(at), new: None, guessed: false }));
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_known_by_their_letters() {
        assert_eq!(split_hash("settings-72c8d89976"), Some(("settings", "72c8d89976")));
        assert_eq!(split_hash("settings-production1"), None);
        assert_eq!(split_hash("settings"), None);
    }
}
