//! One tree laid over another.

use krm_yaml::Node;

use crate::elements::common_key;

/// Lays one tree over another: what both have is taken from above, what only one has stays. A null above removes.
pub fn lay_over(below: &mut Node, above: &Node) {
    if below == above {
        return;
    }
    match (below.is_map() && above.is_map(), shared_key(below, above)) {
        (true, _) => {
            for entry in above.as_map().into_iter().flatten() {
                let Some(key) = entry.key.text() else { continue };
                if entry.value.is_null() {
                    below.remove(key);
                } else if let Some(field) = below.get_mut(key) {
                    lay_over(field, &entry.value);
                } else if let Some(map) = below.as_map_mut() {
                    map.push(entry.key.clone(), entry.value.clone());
                }
            }
        }
        (false, Some(key)) => {
            let items = below.as_seq_mut().expect("a list has keys");
            for new in above.items() {
                let id = new.get(key).and_then(Node::text);
                match items.iter_mut().find(|old| old.get(key).and_then(Node::text) == id) {
                    Some(old) => lay_over(old, new),
                    None => items.push(new.clone()),
                }
            }
        }
        (false, None) => below.assign(above.clone()),
    }
}

/// The field by which the items of both lists are known, where all of them have it.
fn shared_key(below: &Node, above: &Node) -> Option<&'static str> {
    let (below, above) = (below.as_seq()?, above.as_seq()?);
    if below.is_empty() || above.is_empty() {
        return None;
    }
    common_key(below.iter().chain(above))
}
