//! Which element of a list is which: by a key, else by its value, and never by its position alone.
//!
//! Here are all fields by which elements are known, and [`Pairing`], which finds the elements of one list in another. What
//! its users differ in are the stages they ask for, and what they take a repeated key or a copy for.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use krm_yaml::Node;

/// The fields by which elements are known, whatever for: the [`ASSOCIATIVE_KEYS`], then others that identify the elements of
/// lists which are not merged by one of these.
pub const USUAL_KEYS: [&str; 9] =
    ["mountPath", "devicePath", "ip", "type", "topologyKey", "name", "containerPort", "port", "key"];

/// The fields that identify the elements of a list if no schema says which one does, the strongest first: kustomize merges
/// lists by these, and in this order.
pub const ASSOCIATIVE_KEYS: [&str; 7] = *USUAL_KEYS.first_chunk().expect("there are two more");

/// Fields that tell elements apart which share one of the [`USUAL_KEYS`], or say what a name in them means: the same port
/// number may be there once for each protocol, the same name once for each kind.
pub const DISTINGUISHING_KEYS: [&str; 6] =
    ["protocol", "kind", "apiGroup", "apiVersion", "namespace", "host"];

/// The fields by which people mean an element that they write down by hand: what it is called, whatever else identifies it.
pub const NAMES: [&str; 2] = ["name", "key"];

/// Keys that are numbers of ports, which have names as well.
pub const PORT_KEYS: [&str; 2] = ["port", "containerPort"];

/// What identifies an object that an element refers to, the key that every such element has first.
pub const OBJECT_KEYS: [&str; 3] = ["name", "kind", "namespace"];

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
///     let (before, now) = (list(before)?, list(now)?);
///     Ok::<_, krm_yaml::Diagnostic>(krm_function::elements::identify(before.items(), now.items()).into_found())
/// };
/// assert_eq!(found("[{name: a}, {name: b}]", "[{name: b, tty: true}, {name: c}]")?, [Some(1), None]);
/// assert_eq!(found("[x, y, x]", "[z, y, x, x]")?, [None, Some(1), Some(0), Some(2)]);
/// # Ok::<(), krm_yaml::Diagnostic>(())
/// ```
pub fn identify<'n>(before: &'n [Node], now: &'n [Node]) -> Pairing<'n> {
    let mut pairing = Pairing::new(before, now);
    let keys = Keys { declared: &[], usual: &ASSOCIATIVE_KEYS, repeated: Repeated::IsNew };
    if pairing.by_key(&keys).is_none() {
        pairing.by_value(Copies::AreNew);
    }
    pairing
}

/// Finds for each element the first equal one that is not taken yet.
pub fn by_value(before: &[Node], now: &[Node]) -> Vec<Option<usize>> {
    let mut pairing = Pairing::new(before, now);
    pairing.by_value(Copies::AreNew);
    pairing.into_found()
}

/// Which fields may be the key of two lists.
#[derive(Clone, Copy, Debug)]
pub struct Keys<'k> {
    /// Those that a schema names, all of them together. An element may lack any but the first.
    pub declared: &'k [Cow<'static, str>],
    /// Those of which one alone may be the key, the first that is, if the schema names none that is.
    pub usual: &'k [&'static str],
    /// What a key is that an element repeats.
    pub repeated: Repeated,
}

/// What it means that two elements of the later list have the same key. In the earlier list it means that this is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeated {
    /// The second of them is a new element.
    IsNew,
    /// It is no key of that list either.
    IsNoKey,
}

/// What an element is that is equal to another of its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// There is one more of them if there was none for it before.
    AreNew,
    /// It was what the other was. Better than an equal one is the same node, and then the one in the same place.
    Follow,
}

/// Finds the elements of one list in another, one stage after the other. A stage leaves alone what is found.
#[derive(Clone, Debug)]
pub struct Pairing<'n> {
    before: &'n [Node],
    now: &'n [Node],
    found: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl<'n> Pairing<'n> {
    /// Two lists of which no element is found yet.
    pub fn new(before: &'n [Node], now: &'n [Node]) -> Self {
        Self { before, now, found: vec![None; now.len()], taken: vec![false; before.len()] }
    }

    /// For each element of the later list the one it was.
    pub fn found(&self) -> &[Option<usize>] {
        &self.found
    }

    /// The same, as a list of its own.
    pub fn into_found(self) -> Vec<Option<usize>> {
        self.found
    }

    /// Whether an element of the earlier list is found in the later.
    pub fn is_taken(&self, before: usize) -> bool {
        self.taken[before]
    }

    /// The elements of both lists that are left.
    pub fn left(&self) -> (Vec<usize>, Vec<usize>) {
        let before = (0..self.before.len()).filter(|at| !self.taken[*at]).collect();
        (before, (0..self.now.len()).filter(|at| self.found[*at].is_none()).collect())
    }

    /// Takes an element for another.
    pub fn pair(&mut self, before: usize, now: usize) {
        (self.found[now], self.taken[before]) = (Some(before), true);
    }

    /// Pairs by the first key that all elements have and no two of a list share. Returns it, or `None` if there is none.
    pub fn by_key<'k>(&mut self, keys: &Keys<'k>) -> Option<Vec<&'k str>> {
        let declared: Vec<&str> = keys.declared.iter().map(AsRef::as_ref).collect();
        let usual = keys.usual.iter().map(|key| vec![*key]);
        let (key, found) = std::iter::once(declared).chain(usual).find_map(|key| {
            let mut places = distinct(self.before, &key)?;
            if keys.repeated == Repeated::IsNoKey {
                distinct(self.now, &key)?;
            }
            let found = self.now.iter().map(|element| Some(places.remove(&text(element, &key)?)));
            let found: Option<Vec<Option<usize>>> = found.collect();
            Some((key, found?))
        })?;
        for (now, before) in found.into_iter().enumerate() {
            before.into_iter().for_each(|before| self.pair(before, now));
        }
        Some(key)
    }

    /// Pairs those that have the same value in a field, which no other that is left has.
    pub fn by_field(&mut self, key: &str) {
        fn places<'n>(list: &'n [Node], left: &[usize], key: &str) -> HashMap<&'n str, Option<usize>> {
            let mut places: HashMap<&str, Option<usize>> = HashMap::new();
            for at in left {
                if let Some(text) = list[*at].get(key).and_then(Node::text) {
                    places.entry(text).and_modify(|only| *only = None).or_insert(Some(*at));
                }
            }
            places
        }
        let (before, now) = self.left();
        let before = places(self.before, &before, key);
        for (text, now) in places(self.now, &now, key) {
            if let (Some(Some(before)), Some(now)) = (before.get(text), now) {
                self.pair(*before, now);
            }
        }
    }

    /// Pairs those that are equal.
    pub fn by_value(&mut self, copies: Copies) {
        let (before, now) = (self.before, self.now);
        let here = before.len().min(now.len());
        match copies {
            Copies::AreNew => {
                let unchanged = (0..here).take_while(|at| before[*at].same(&now[*at]));
                unchanged.for_each(|at| self.pair(at, at));
            }
            Copies::Follow => {
                self.by_address();
                for at in 0..here {
                    if self.found[at].is_none() && before[at] == now[at] {
                        self.pair(at, at);
                    }
                }
            }
        }
        if self.found.iter().all(Option::is_some) {
            return;
        }
        let mut known: HashMap<String, VecDeque<usize>> = HashMap::new();
        for (at, element) in before.iter().enumerate() {
            if copies == Copies::Follow || !self.taken[at] {
                known.entry(krm_yaml::json::compact(element)).or_default().push_back(at);
            }
        }
        for (at, element) in now.iter().enumerate() {
            if known.is_empty() || self.found[at].is_some() {
                continue;
            }
            let Some(equals) = known.get_mut(&krm_yaml::json::compact(element)) else { continue };
            let Some(first) = equals.iter().position(|other| before[*other] == *element) else { continue };
            self.pair(equals[first], at);
            if copies == Copies::AreNew {
                equals.remove(first);
            }
        }
    }

    /// Pairs maps and lists that are the same node: the one in the same place, else the first.
    fn by_address(&mut self) {
        let mut known = None;
        for (at, element) in self.now.iter().enumerate() {
            let Some(address) = address(element).filter(|_| self.found[at].is_none()) else { continue };
            if self.before.get(at).is_some_and(|here| here.same(element)) {
                self.pair(at, at);
                continue;
            }
            let known: &HashMap<usize, usize> = known.get_or_insert_with(|| {
                // Backwards, so that the first of several is the one that is found.
                let places = self.before.iter().enumerate().rev();
                places.filter_map(|(at, element)| Some((self::address(element)?, at))).collect()
            });
            if let Some(before) = known.get(&address) {
                self.pair(*before, at);
            }
        }
    }

    /// Pairs those that come after the same neighbour and are taken for one. Returns their positions in the later list.
    pub fn between_neighbours(&mut self, is_one: impl Fn(&Node, &Node) -> bool) -> Vec<usize> {
        let (mut next, mut paired) = (0, Vec::new());
        for at in 0..self.now.len() {
            match self.found[at] {
                Some(before) => next = before + 1,
                None if next < self.before.len()
                    && !self.taken[next]
                    && is_one(&self.before[next], &self.now[at]) =>
                {
                    self.pair(next, at);
                    paired.push(at);
                    next += 1;
                }
                None => {}
            }
        }
        paired
    }
}

/// What is the same for two maps or lists only if they are one.
pub fn address(element: &Node) -> Option<usize> {
    let map = element.as_map().map(|map| std::ptr::from_ref(map) as usize);
    map.or_else(|| element.as_seq().map(|list| std::ptr::from_ref(list) as usize))
}

/// The values of some fields as one text; the first of them must be there.
fn text<'n>(element: &'n Node, key: &[&str]) -> Option<Cow<'n, str>> {
    let (first, rest) = key.split_first()?;
    let first = key_of(element, first)?;
    if rest.is_empty() {
        return Some(Cow::Borrowed(first));
    }
    let rest = rest.iter().map(|key| key_of(element, key).unwrap_or_default());
    Some(Cow::Owned(std::iter::once(first).chain(rest).collect::<Vec<_>>().join("\0")))
}

/// The elements by the values of some fields; `None` if one has no value, or two have the same.
fn distinct<'n>(list: &'n [Node], key: &[&str]) -> Option<HashMap<Cow<'n, str>, usize>> {
    let mut places = HashMap::with_capacity(list.len());
    for (at, element) in list.iter().enumerate() {
        if places.insert(text(element, key)?, at).is_some() {
            return None;
        }
    }
    Some(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Node {
        krm_yaml::parse_str(text).expect("it is YAML").remove(0).root
    }

    #[test]
    fn keys_of_a_schema_come_before_the_usual_ones() {
        let (before, now) = (
            list("[{port: 53, protocol: TCP}, {port: 53}]"),
            list("[{port: 53}, {port: 53, protocol: UDP}]"),
        );
        let declared = ["port", "protocol"].map(Cow::Borrowed);
        let keys = Keys { declared: &declared, usual: &USUAL_KEYS, repeated: Repeated::IsNoKey };
        let mut pairing = Pairing::new(before.items(), now.items());
        assert_eq!(pairing.by_key(&keys), Some(vec!["port", "protocol"]));
        assert_eq!((pairing.found(), pairing.left()), (&[Some(1), None][..], (vec![0], vec![1])));
        assert_eq!(Pairing::new(before.items(), now.items()).by_key(&Keys { declared: &[], ..keys }), None);
    }

    #[test]
    fn a_key_that_is_repeated_is_a_new_element_or_no_key() {
        let (before, now) = (list("[{name: a}, {name: b}]"), list("[{name: b}, {name: b}]"));
        let keys = Keys { declared: &[], usual: &ASSOCIATIVE_KEYS, repeated: Repeated::IsNew };
        let mut pairing = Pairing::new(before.items(), now.items());
        assert_eq!(pairing.by_key(&keys), Some(vec!["name"]));
        assert_eq!(pairing.found(), [Some(1), None]);
        let keys = Keys { repeated: Repeated::IsNoKey, ..keys };
        assert_eq!(Pairing::new(before.items(), now.items()).by_key(&keys), None);
    }

    #[test]
    fn a_copy_is_new_or_follows() {
        let (before, now) = (list("[x, y]"), list("[y, y, x]"));
        for (copies, found) in
            [(Copies::AreNew, [Some(1), None, Some(0)]), (Copies::Follow, [Some(1), Some(1), Some(0)])]
        {
            let mut pairing = Pairing::new(before.items(), now.items());
            pairing.by_value(copies);
            assert_eq!(pairing.into_found(), found, "{copies:?}");
        }
    }

    #[test]
    fn what_is_left_may_be_known_by_another_field_or_by_its_neighbours() {
        let (before, now) = (list("[{name: a}, {name: b, x: 1}]"), list("[{name: a}, {name: c, x: 1}]"));
        let mut pairing = identify(before.items(), now.items());
        assert_eq!(pairing.found(), [Some(0), None]);
        let mut by_field = pairing.clone();
        by_field.by_field("x");
        assert_eq!(by_field.into_found(), [Some(0), Some(1)]);
        assert_eq!(pairing.between_neighbours(|a, b| a.get("x") == b.get("x")), [1]);
        assert_eq!(pairing.into_found(), [Some(0), Some(1)]);
    }
}
