//! Maps that a kustomization has under several spellings of one field.

use krm_yaml::Node;

/// The tree with one map for all spellings of a field, under the spelling that is read; `None` if there is nothing to join.
// quirk(maps-in-several-spellings-are-joined): Case does not matter in the fields of a kustomization. If one of them is written
// in several spellings and holds maps, such as `commonLabels`, the entries of all of them count. If two have the same
// key, the spelling that sorts last wins. (Go `encoding/json`, which reads each into the map that is there)
pub(super) fn joined(root: &Node) -> Option<Node> {
    let map = root.as_map()?;
    let maps = map.iter().filter(|entry| entry.value.is_map());
    let mut keys: Vec<&str> = maps.filter_map(|entry| entry.key.text()).collect();
    keys.sort_unstable();
    let mut joined = None;
    while let Some(last) = keys.pop() {
        let (same, others): (Vec<&str>, Vec<&str>) =
            keys.into_iter().partition(|key| key.eq_ignore_ascii_case(last));
        keys = others;
        let Some((first, rest)) = same.split_first() else { continue };
        let mut all = map.get(first)?.clone();
        rest.iter().chain([&last]).filter_map(|key| map.get(key)).for_each(|next| overlay(&mut all, next));
        *joined.get_or_insert_with(|| root.clone()).get_mut(last)? = all;
    }
    joined
}

/// Puts the entries of a map over those of another.
fn overlay(map: &mut Node, over: &Node) {
    for entry in over.as_map().into_iter().flatten() {
        let Some(there) = entry.key.text().and_then(|key| map.get_mut(key)) else {
            let Some(map) = map.as_map_mut() else { return };
            map.insert_at(map.len(), entry.key.clone(), entry.value.clone());
            continue;
        };
        match there.is_map() && entry.value.is_map() {
            true => overlay(there, &entry.value),
            false => *there = entry.value.clone(),
        }
    }
}
