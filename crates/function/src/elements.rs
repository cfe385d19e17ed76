//! Which element of a list is which: by a key, else by its value, and never by its position alone.

use std::collections::{HashMap, HashSet, VecDeque};

use krm_yaml::Node;

/// The fields that identify the elements of a list if no schema says which one does, the strongest first.
pub const ASSOCIATIVE_KEYS: [&str; 7] =
    ["mountPath", "devicePath", "ip", "type", "topologyKey", "name", "containerPort"];

/// Fields that identify elements of lists which are not merged by one of the [`ASSOCIATIVE_KEYS`].
pub const FURTHER_KEYS: [&str; 2] = ["port", "key"];

/// The first of the [`ASSOCIATIVE_KEYS`] that every element has a value for; `None` if there is none, or no element.
///
/// ```
/// let list = krm_yaml::parse_str("[{name: a, ip: 10.0.0.1}, {name: b}]")?.remove(0).root;
/// assert_eq!(krm_function::elements::common_key(list.items().iter()), Some("name"));
/// # Ok::<(), krm_yaml::Diagnostic>(())
/// ```
pub fn common_key<'n>(elements: impl Iterator<Item = &'n Node> + Clone) -> Option<&'static str> {
    elements.clone().next()?;
    ASSOCIATIVE_KEYS.into_iter().find(|key| elements.clone().all(|element| key_of(element, key).is_some()))
}

/// The first of the [`ASSOCIATIVE_KEYS`] that every element of some lists has a value for, and no two elements of one list the
/// same: what such lists are merged by if no schema says it.
pub fn inferred_key(lists: &[&[Node]]) -> Option<&'static str> {
    let all = || lists.iter().copied().flatten();
    all().next()?;
    let distinct = |list: &[Node], key: &str| {
        let mut seen = HashSet::with_capacity(list.len());
        list.iter().all(|element| seen.insert(key_of(element, key)))
    };
    ASSOCIATIVE_KEYS.into_iter().find(|key| {
        all().all(|element| key_of(element, key).is_some()) && lists.iter().all(|list| distinct(list, key))
    })
}

fn key_of<'n>(element: &'n Node, key: &str) -> Option<&'n str> {
    element.get(key).filter(|value| value.is_scalar() && !value.is_null()).and_then(Node::text)
}

/// Finds for each element of a list the one it was before: the one with the same key if every element has one and no two
/// share it, else an equal one. Each is found once: a copy is a new element.
///
/// ```
/// let list = |text| krm_yaml::parse_str(text).map(|mut documents| documents.remove(0).root);
/// let found = |before, now| {
///     Ok::<_, krm_yaml::Diagnostic>(krm_function::elements::identify(list(before)?.items(), list(now)?.items()))
/// };
/// assert_eq!(found("[{name: a}, {name: b}]", "[{name: b, tty: true}, {name: c}]")?, [Some(1), None]);
/// assert_eq!(found("[x, y, x]", "[z, y, x, x]")?, [None, Some(1), Some(0), Some(2)]);
/// # Ok::<(), krm_yaml::Diagnostic>(())
/// ```
pub fn identify(before: &[Node], now: &[Node]) -> Vec<Option<usize>> {
    by_key(before, now).unwrap_or_else(|| by_value(before, now))
}

fn by_key(before: &[Node], now: &[Node]) -> Option<Vec<Option<usize>>> {
    let all = before.iter().chain(now);
    if all.clone().any(|element| !element.is_map()) {
        return None;
    }
    let carried = |key: &&str| all.clone().all(|element| key_of(element, key).is_some());
    ASSOCIATIVE_KEYS.iter().filter(|key| carried(key)).find_map(|key| {
        let mut places = HashMap::with_capacity(before.len());
        for (at, element) in before.iter().enumerate() {
            if places.insert(key_of(element, key), at).is_some() {
                return None;
            }
        }
        Some(now.iter().map(|element| places.remove(&key_of(element, key))).collect())
    })
}

/// Finds for each element the first equal one that is not taken yet.
pub fn by_value(before: &[Node], now: &[Node]) -> Vec<Option<usize>> {
    let unchanged = before.iter().zip(now).take_while(|(a, b)| a.same(b)).count();
    let mut found: Vec<Option<usize>> = (0..unchanged).map(Some).collect();
    if unchanged == now.len() || unchanged == before.len() {
        found.resize(now.len(), None);
        return found;
    }
    let mut known: HashMap<String, VecDeque<usize>> = HashMap::new();
    for (at, element) in before.iter().enumerate().skip(unchanged) {
        known.entry(krm_yaml::json::compact(element)).or_default().push_back(at);
    }
    found.extend(now[unchanged..].iter().map(|element| {
        let equal = known.get_mut(&krm_yaml::json::compact(element))?;
        equal.front().filter(|at| before[**at] == *element)?;
        equal.pop_front()
    }));
    found
}
