//! Where the elements of a list were before a step.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Mutex;

use krm_function::elements::{ASSOCIATIVE_KEYS, FURTHER_KEYS};
use krm_yaml::{Node, Span, Text, Value, json};
use rustc_hash::FxHashMap;

use crate::schema::Type;

/// Where the elements of lists were before a step, for lists that were asked about: a list of thousands of elements is asked
/// about for each of them. A list is known by its address, which is its own as long as the trace holds it.
#[derive(Debug, Default)]
pub(super) struct Lists(Mutex<FxHashMap<(usize, usize), Places>>);

type Places = Vec<Option<usize>>;

/// A copy of a trace finds out again: the lists may be its own.
impl Clone for Lists {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Lists {
    /// Where an element was; `None` if there was no such element.
    pub(super) fn place_before(
        &self,
        before: &[Node],
        after: &[Node],
        of: Option<Type>,
        index: usize,
    ) -> Option<usize> {
        if before.as_ptr() == after.as_ptr() {
            return Some(index);
        }
        let key = (before.as_ptr() as usize, after.as_ptr() as usize);
        let mut known = self.0.lock().expect("no one panics while looking for elements");
        let places = known.entry(key).or_insert_with(|| {
            let elements = Elements::new(before, after, of);
            (0..after.len()).map(|index| elements.place_before(index)).collect()
        });
        places.get(index).copied().flatten()
    }
}

/// A list before and after a step. The tables are made only when an element is not where it was, and only once: all
/// elements of a long list may be asked for.
pub(crate) struct Elements<'n> {
    before: &'n [Node],
    after: &'n [Node],
    /// By which fields the elements are known, if a schema says so.
    keys: &'n [Cow<'static, str>],
    by_address: OnceCell<FxHashMap<usize, usize>>,
    by_key: OnceCell<Option<ByKey<'n>>>,
    by_value: OnceCell<FxHashMap<String, Vec<usize>>>,
    spans_after: OnceCell<FxHashMap<Span, Vec<usize>>>,
}

/// The elements by fields that all of them have, with different values in each.
struct ByKey<'n> {
    keys: Vec<&'n str>,
    before: FxHashMap<Text, usize>,
    after: FxHashMap<Text, usize>,
}

impl<'n> ByKey<'n> {
    fn new(keys: Vec<&'n str>, before: &[Node], after: &[Node]) -> Option<Self> {
        let (before, after) = (distinct(before, &keys)?, distinct(after, &keys)?);
        Some(Self { keys, before, after })
    }
}

impl<'n> Elements<'n> {
    pub(crate) fn new(before: &'n [Node], after: &'n [Node], of: Option<Type<'n>>) -> Self {
        Self {
            before,
            after,
            keys: of.and_then(Type::merge_keys).unwrap_or_default(),
            by_address: OnceCell::new(),
            by_key: OnceCell::new(),
            by_value: OnceCell::new(),
            spans_after: OnceCell::new(),
        }
    }

    /// Where an element was: the very same one, the one with the same key, an equal one, or, in a list without keys that
    /// has as many elements as before, the one in the same place that did not move elsewhere.
    pub(crate) fn place_before(&self, index: usize) -> Option<usize> {
        let element = &self.after[index];
        // Equal elements may be there several times: the one in the same place is the best.
        let here = self.before.get(index);
        if !element.is_scalar() {
            if here.is_some_and(|here| here.same(element)) {
                return Some(index);
            }
            if let Some(at) = address(element).and_then(|address| self.by_address().get(&address)) {
                return Some(*at);
            }
        }
        let as_long = self.before.len() == self.after.len();
        if let Some(keys) = self.by_key() {
            let found = text(element, &keys.keys).and_then(|value| keys.before.get(&value).copied());
            // An element with a new key is a new one, unless only its key was written: then it is still the one that was
            // written in this place of the source. What a program printed has no such place.
            let renamed = || {
                let is_it = |here: &&Node| here.span() == element.span();
                let here = here.filter(is_it).filter(|here| as_long || !here.span().is_none())?;
                (!keys.after.contains_key(&text(here, &keys.keys)?)).then_some(index)
            };
            return found.or_else(renamed);
        }
        let is_equal = |other: &Node| match (element.value(), other.value()) {
            (Value::Scalar(_), Value::Scalar(_)) => element.same(other),
            _ => element == other,
        };
        if here.is_some_and(is_equal) {
            return Some(index);
        }
        let mut equals = self.by_value().get(&json::compact(element)).into_iter().flatten();
        if let Some(at) = equals.find(|at| is_equal(&self.before[**at])) {
            return Some(*at);
        }
        (as_long && !self.has_moved(&self.before[index])).then_some(index)
    }

    /// Whether an element is elsewhere now: it took its place in the source with it.
    fn has_moved(&self, element: &Node) -> bool {
        let spans = self.spans_after.get_or_init(|| {
            let mut spans: FxHashMap<Span, Vec<usize>> = FxHashMap::default();
            for (at, after) in self.after.iter().enumerate() {
                spans.entry(after.span()).or_default().push(at);
            }
            spans
        });
        let mut candidates = spans.get(&element.span()).into_iter().flatten();
        candidates.any(|at| self.after[*at].same(element))
    }

    fn by_address(&self) -> &FxHashMap<usize, usize> {
        self.by_address.get_or_init(|| {
            // Backwards, so that the first of several is the one that is found.
            let places = self.before.iter().enumerate().rev();
            places.filter_map(|(at, element)| Some((address(element)?, at))).collect()
        })
    }

    fn by_key(&self) -> Option<&ByKey<'n>> {
        let by_key = self.by_key.get_or_init(|| {
            let declared = self.keys.iter().map(|key| &**key).collect();
            let usual = ASSOCIATIVE_KEYS.into_iter().chain(FURTHER_KEYS).map(|key| vec![key]);
            let mut all = std::iter::once(declared).chain(usual);
            all.find_map(|keys| ByKey::new(keys, self.before, self.after))
        });
        by_key.as_ref()
    }

    fn by_value(&self) -> &FxHashMap<String, Vec<usize>> {
        self.by_value.get_or_init(|| {
            let mut places: FxHashMap<String, Vec<usize>> = FxHashMap::default();
            for (at, element) in self.before.iter().enumerate() {
                places.entry(json::compact(element)).or_default().push(at);
            }
            places
        })
    }
}

/// What is the same for two maps or lists only if they are one.
fn address(element: &Node) -> Option<usize> {
    let map = element.as_map().map(|map| std::ptr::from_ref(map) as usize);
    map.or_else(|| element.as_seq().map(|list| std::ptr::from_ref(list) as usize))
}

/// The values of some fields as one text; the first of them must be there.
fn text(element: &Node, keys: &[&str]) -> Option<Text> {
    let value = |key: &&str| element.get(key).filter(|value| value.is_scalar()).and_then(Node::text);
    let (first, rest) = keys.split_first()?;
    let first = value(first)?;
    if rest.is_empty() {
        return Some(Text::from(first));
    }
    let rest: String = rest.iter().map(|key| format!("\0{}", value(key).unwrap_or_default())).collect();
    Some(Text::from(format!("{first}{rest}")))
}

/// The elements by the values of some fields; `None` if one has no value, or two have the same.
fn distinct(list: &[Node], keys: &[&str]) -> Option<FxHashMap<Text, usize>> {
    let mut places = FxHashMap::default();
    for (at, element) in list.iter().enumerate() {
        if places.insert(text(element, keys)?, at).is_some() {
            return None;
        }
    }
    Some(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(before: &str, after: &str) -> Vec<Option<usize>> {
        let list = |text: &str| krm_yaml::parse_str(text).unwrap().remove(0).root;
        let (before, after) = (list(before), list(after));
        let elements = Elements::new(before.items(), after.items(), None);
        (0..after.items().len()).map(|index| elements.place_before(index)).collect()
    }

    #[test]
    fn elements_are_followed_by_key_then_by_value_then_by_place() {
        let by_key = places("[{name: a, x: 1}, {name: b}]", "[{name: c}, {name: b, x: 2}, {name: a}]");
        assert_eq!(by_key, [None, Some(1), Some(0)]);
        assert_eq!(places("[{name: a}, {name: b}]", "[{name: b}, {name: c}]"), [Some(1), None]);
        assert_eq!(places("[{name: a}, {name: b}]", "[ {name: a}, {name: c}]"), [Some(0), None]);
        assert_eq!(places("[x, y, x]", "[y, x, x]"), [Some(1), Some(0), Some(2)]);
        assert_eq!(places("[x, y]", "[x, z]"), [Some(0), Some(1)]);
        assert_eq!(places("[]", "[x]"), [None]);
    }

    #[test]
    fn an_element_whose_key_is_written_in_place_is_the_same_one() {
        let source = krm_yaml::Sources::new().add("list.yaml", "[{name: a, x: 1}, {name: b}]");
        let list = krm_yaml::parse(&source).unwrap().remove(0).root;
        let mut renamed: Vec<Node> = list.items().to_vec();
        renamed[0].set("name", "c");
        let elements = Elements::new(list.items(), &renamed, None);
        assert_eq!(elements.place_before(0), Some(0));
        renamed.push("{name: d}".parse().unwrap());
        let elements = Elements::new(list.items(), &renamed, None);
        assert_eq!((elements.place_before(0), elements.place_before(2)), (Some(0), None));
    }

    #[test]
    fn a_list_that_is_moved_as_a_whole_is_followed_by_its_address() {
        let list = krm_yaml::parse_str("[{a: 1}, {a: 1}, [], []]").unwrap().remove(0).root;
        let reversed: Vec<Node> = list.items().iter().rev().cloned().collect();
        let elements = Elements::new(list.items(), &reversed, None);
        let found: Vec<_> = (0..4).map(|index| elements.place_before(index)).collect();
        assert_eq!(found[2..], [Some(1), Some(0)]);
    }
}
