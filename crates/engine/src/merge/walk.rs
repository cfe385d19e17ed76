//! The walk down several trees at once.

use std::borrow::Cow;

use krm_function::elements::{OBJECT_KEYS, inferred_key};
use krm_yaml::{Diagnostic, Entry, Map, Node, Result, Style, Tag, Text};
use rustc_hash::FxHashSet;

use super::two_way::DIRECTIVE;
use super::{Alignment, Options, comments, kustomize, lists};
use crate::resource::Gvk;
use crate::schema::{Schema, Type};

/// The same place in every tree. In a merge of two, `origin` is what is merged in; in a merge of three, `origin` and
/// `updated` are the states whose difference is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sources<'n> {
    pub dest: Option<&'n Node>,
    pub origin: Option<&'n Node>,
    pub updated: Option<&'n Node>,
}

/// What becomes of a place in the destination.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It stays as it is, even if there is nothing.
    Keep,
    Clear,
    Set(Node),
}

/// What a collection is merged from.
pub(super) enum Start<'n> {
    Keep,
    Clear,
    /// Merge into `dest` (into an empty one if there is none), with `origin` rid of its directives.
    From {
        dest: Option<Cow<'n, Node>>,
        origin: Option<Cow<'n, Node>>,
    },
}

/// Decides what becomes of each place.
pub(super) trait Visitor {
    fn map<'n>(&mut self, s: &Sources<'n>, walk: &Walk) -> Result<Start<'n>>;

    /// The same of a list that is merged element by element.
    fn list<'n>(&mut self, s: &Sources<'n>, walk: &Walk) -> Result<Start<'n>>;

    /// Of scalars, of lists that are replaced as a whole, and of places where the trees hold different kinds of things.
    fn value(&mut self, s: &Sources, walk: &Walk) -> Outcome;

    /// After the elements or fields were merged: the last word on the collection.
    fn done(&mut self, s: &Sources, outcome: Outcome, walk: &Walk) -> Outcome;

    /// After an element of a list was merged: the last word on the fields that identify it.
    fn element(&mut self, _: &Sources, _keys: &[&str], outcome: Outcome) -> Outcome {
        outcome
    }

    /// What becomes of an element that one of the lists lacks, before anything in it is merged; `None` to merge it as a new
    /// one. The list is the destination's, if it has one.
    fn missing_element(&mut self, _: &Sources, _list: Option<&Node>, _: &Walk) -> Option<Outcome> {
        None
    }

    /// The comments of a field's key: the key to put in place of the destination's, or the key of a new field.
    fn key(&mut self, keys: &Sources, walk: &Walk) -> Option<Node>;
}

/// What the walk knows besides the trees.
pub(super) struct Walk<'a> {
    pub schema: &'a Schema,
    pub options: Options,
    /// Where it is: field names, and `[name=web]` for list elements. Kept only for visitors that ask for it.
    pub path: Option<Vec<Text>>,
    /// Which elements were merged into which, if someone asks for it.
    pub aligned: Option<&'a mut Alignment>,
}

impl Walk<'_> {
    /// Does something one step further down.
    pub(crate) fn within<T>(&mut self, step: impl FnOnce() -> Text, work: impl FnOnce(&mut Self) -> T) -> T {
        if let Some(path) = &mut self.path {
            path.push(step());
        }
        let result = work(self);
        if let Some(path) = &mut self.path {
            path.pop();
        }
        result
    }
}

impl<'n> Sources<'n> {
    pub(crate) fn iter(self) -> impl Iterator<Item = &'n Node> {
        [self.dest, self.origin, self.updated].into_iter().flatten()
    }

    fn present(self) -> impl Iterator<Item = &'n Node> {
        self.iter().filter(|node| !node.is_null())
    }

    fn entry(self, name: &str) -> Entries<'n> {
        let entry = |node: Option<&'n Node>| node.and_then(Node::as_map).and_then(|map| map.entry(name));
        Entries { dest: entry(self.dest), origin: entry(self.origin), updated: entry(self.updated) }
    }
}

/// The same field in every tree.
#[derive(Clone, Copy)]
struct Entries<'n> {
    dest: Option<&'n Entry>,
    origin: Option<&'n Entry>,
    updated: Option<&'n Entry>,
}

impl<'n> Entries<'n> {
    fn values(self) -> Sources<'n> {
        let value = |entry: Option<&'n Entry>| entry.map(|entry| &entry.value);
        Sources { dest: value(self.dest), origin: value(self.origin), updated: value(self.updated) }
    }

    fn keys(self) -> Sources<'n> {
        let key = |entry: Option<&'n Entry>| entry.map(|entry| &entry.key);
        Sources { dest: key(self.dest), origin: key(self.origin), updated: key(self.updated) }
    }

    fn iter(self) -> impl Iterator<Item = &'n Entry> {
        [self.dest, self.origin, self.updated].into_iter().flatten()
    }
}

/// Goes down the trees from here.
pub(super) fn walk(
    visitor: &mut dyn Visitor,
    s: Sources,
    declared: Option<Type>,
    walk: &mut Walk,
) -> Result<Outcome> {
    let schema = walk.schema;
    let commented = s.present().find_map(|node| comments::schema(schema, node));
    let ty = commented.as_ref().map(|schema| schema.root()).or(declared).or_else(|| {
        // Only a place nothing is known about is asked what it says it is.
        s.present().find_map(|node| known_kind(schema, node))
    });
    let Some(first) = s.present().next() else { return walk_map(visitor, s, ty, walk) };
    if let Some(other) = s.present().find(|node| shape(node) != shape(first)) {
        if walk.options.as_reference {
            return Err(mismatch(first, other));
        }
        return value(visitor, s, ty, walk);
    }
    if first.is_map() {
        return walk_map(visitor, s, ty, walk);
    }
    if first.is_seq()
        && let Some(keys) = merge_keys(&s, ty, walk.options)
    {
        return walk_list(visitor, s, &keys, ty.and_then(Type::items), walk);
    }
    value(visitor, s, ty, walk)
}

/// What becomes of a value as a whole. One that takes the place of another comes as it would where nothing was: rid of the
/// nulls and directives within.
fn value(visitor: &mut dyn Visitor, s: Sources, ty: Option<Type>, walk: &mut Walk) -> Result<Outcome> {
    let outcome = visitor.value(&s, walk);
    match &outcome {
        Outcome::Set(node) if s.dest.is_some() && !walk.options.as_reference && speaks_to_merge(node) => {
            let alone = match s.updated {
                Some(_) => Sources { updated: Some(node), ..Sources::default() },
                None => Sources { origin: Some(node), ..Sources::default() },
            };
            self::walk(visitor, alone, ty, walk)
        }
        _ => Ok(outcome),
    }
}

/// Whether a collection holds what is said to the merge: nulls, or directives.
fn speaks_to_merge(node: &Node) -> bool {
    let says = |node: &Node| node.is_null() || speaks_to_merge(node);
    node.as_map().into_iter().flatten().any(|entry| entry.key.text() == Some(DIRECTIVE) || says(&entry.value))
        || node.items().iter().any(says)
}

fn shape(node: &Node) -> u8 {
    if node.is_map() { 2 } else { u8::from(node.is_seq()) }
}

fn known_kind<'s>(schema: &'s Schema, node: &Node) -> Option<Type<'s>> {
    let map = node.as_map()?;
    let text = |key| map.get(key).and_then(Node::text).filter(|text| !text.is_empty());
    schema.type_of(&Gvk::new(text("apiVersion")?, text("kind")?))
}

fn mismatch(first: &Node, other: &Node) -> Diagnostic {
    let message = format!("cannot merge {} into {}", other.kind_name(), first.kind_name());
    Diagnostic::error("merge-mismatch", message)
        .at(other.span())
        .note(format!("{} is here", first.kind_name()), first.span())
        .help("write the same kind of value as the resource has, or clear the field with `null` first")
}

fn walk_map(visitor: &mut dyn Visitor, s: Sources, ty: Option<Type>, walk: &mut Walk) -> Result<Outcome> {
    let (dest, origin) = match visitor.map(&s, walk)? {
        Start::Keep => return Ok(Outcome::Keep),
        Start::Clear => return Ok(Outcome::Clear),
        Start::From { dest, origin } => (dest, origin),
    };
    let dest = dest.map(|dest| without_merge_key(dest, [origin.as_deref(), s.updated])).transpose()?;
    let from = Sources { dest: dest.as_deref(), origin: origin.as_deref(), updated: s.updated };
    let mut edits: Vec<Edit> = Vec::new();
    let dests = from.dest.and_then(Node::as_map).map_or(&[][..], Map::entries);
    for (at, entry) in dests.iter().enumerate() {
        let Some(name) = entry.key.text() else { continue };
        let entries = Entries { dest: Some(entry), ..from.entry(name) };
        let edit = walk_field(visitor, name, entries, ty, walk)?;
        if !matches!(edit, (None, Outcome::Keep)) {
            edits.push(Edit { at, key: edit.0, value: edit.1 });
        }
    }
    let added = new_fields(&from);
    let mut fields = Vec::with_capacity(added.len());
    for entries in added {
        let entry = entries.iter().next().expect("a field is new because some tree has it");
        let name = entry.key.text().expect("fields whose name is not a scalar are passed over");
        let (key, value) = walk_field(visitor, name, entries, ty, walk)?;
        if let Outcome::Set(value) = value {
            // A key of its own: comments are the visitor's to give.
            let key = key
                .unwrap_or_else(|| Node::scalar(name, entry.key.tag(), entry.key.style(), entry.key.span()));
            fields.push((key, value));
        }
    }
    let same = dest.as_deref().zip(s.dest).is_some_and(|(now, then)| std::ptr::eq(now, then));
    let outcome = match same && edits.is_empty() && fields.is_empty() {
        true => Outcome::Keep,
        false => Outcome::Set(edited(dest.as_deref(), edits, fields)),
    };
    Ok(visitor.done(&s, outcome, walk))
}

/// The destination with the fields of its merge key (`<<: *base`) written out, if another tree has something to say about one
/// of them that a field beside the merge key cannot: that it is to go, what is in it, or which value it had before.
fn without_merge_key<'n>(dest: Cow<'n, Node>, others: [Option<&Node>; 2]) -> Result<Cow<'n, Node>> {
    let Some(map) = dest.as_map().filter(|map| map.iter().any(|entry| entry.key.tag() == Tag::Merge)) else {
        return Ok(dest);
    };
    let mut resolved = dest.clone().into_owned();
    krm_yaml::merge_keys::resolve(&mut resolved)?;
    let [origin, updated] = others;
    let speaks_of = |entry: &Entry| {
        let is_inherited = |name: &&str| !map.contains(name) && resolved.get(name).is_some();
        let Some(name) = entry.key.text().filter(is_inherited) else { return false };
        match updated {
            // Of three trees, the difference between the others is what counts.
            Some(updated) => origin.and_then(|origin| origin.get(name)) != updated.get(name),
            None => !entry.value.is_scalar() || entry.value.is_null(),
        }
    };
    let reached = others.into_iter().flatten().filter_map(Node::as_map).flatten().any(speaks_of);
    Ok(if reached { Cow::Owned(resolved) } else { dest })
}

/// A change of the field at a position.
struct Edit {
    at: usize,
    key: Option<Node>,
    value: Outcome,
}

fn walk_field(
    visitor: &mut dyn Visitor,
    name: &str,
    entries: Entries,
    ty: Option<Type>,
    walk: &mut Walk,
) -> Result<(Option<Node>, Outcome)> {
    let schema = walk.schema;
    let commented = entries.iter().find_map(|entry| comments::schema_of_field(schema, entry));
    let field = commented.as_ref().map(|schema| schema.root()).or_else(|| ty?.field(name));
    let value = walk.within(|| name.into(), |walk| self::walk(visitor, entries.values(), field, walk));
    let mut value = value?;
    let result = match &value {
        Outcome::Set(value) => Some(value),
        _ => entries.dest.map(|entry| &entry.value),
    };
    let is_block = !walk.options.as_reference && result.is_some_and(|value| !is_on_a_line(value));
    // What is after a value on a line is after the key of a block; what is after the key of a block is about what is
    // below.
    let moved = [entries.dest, entries.origin, entries.updated].map(|entry| match entry? {
        entry if is_block => comments::key_with_line_comment(entry),
        entry if walk.options.as_reference || is_on_a_line(&entry.value) => None,
        entry => comments::without_line(&entry.key),
    });
    let of = entries.keys();
    let keys = Sources {
        dest: moved[0].as_ref().or(of.dest),
        origin: moved[1].as_ref().or(of.origin),
        updated: moved[2].as_ref().or(of.updated),
    };
    let mut key = visitor.key(&keys, walk);
    if let Outcome::Set(new) = &mut value
        && !walk.options.as_reference
    {
        match is_block {
            true if !new.trivia().line.is_empty() => new.trivia_mut().line = Text::new(),
            false if !new.trivia().line.is_empty() => {
                key = key.map(|key| comments::without_line(&key).unwrap_or(key));
            }
            _ => {}
        }
        key = key.or_else(|| moved[0].clone());
    }
    if let (Some(dest), Outcome::Set(new)) = (entries.dest, &value)
        && is_on_a_line(new)
        && !is_on_a_line(&dest.value)
    {
        // The comment after the key described a value that is gone.
        key = comments::without_line(key.as_ref().unwrap_or(&dest.key)).or(key);
    }
    Ok((key, value))
}

/// The fields the destination lacks, in alphabetical order, as kyaml adds them.
fn new_fields<'n>(s: &Sources<'n>) -> Vec<Entries<'n>> {
    let map = |node: Option<&'n Node>| node.and_then(Node::as_map);
    let (dest, origin) = (map(s.dest), map(s.origin));
    if dest.is_some() && dest.map(std::ptr::from_ref) == origin.map(std::ptr::from_ref) && s.updated.is_none()
    {
        return Vec::new();
    }
    let lacks = |map: Option<&Map>, name: &str| map.is_none_or(|map| map.position(name).is_none());
    let mut new: Vec<(&str, Entries)> = Vec::new();
    for entry in origin.into_iter().flatten() {
        if let Some(name) = entry.key.text().filter(|name| lacks(dest, name)) {
            new.push((name, s.entry(name)));
        }
    }
    for entry in map(s.updated).into_iter().flatten() {
        if let Some(name) = entry.key.text().filter(|name| lacks(dest, name) && lacks(origin, name)) {
            new.push((name, s.entry(name)));
        }
    }
    new.sort_by(|a, b| a.0.cmp(b.0));
    new.into_iter().map(|(_, entries)| entries).collect()
}

fn edited(dest: Option<&Node>, edits: Vec<Edit>, fields: Vec<(Node, Node)>) -> Node {
    let mut node = dest.cloned().unwrap_or_else(Node::map);
    if edits.is_empty() && fields.is_empty() {
        return node;
    }
    let set = edits.iter().filter_map(|edit| match &edit.value {
        Outcome::Set(value) => Some(value),
        _ => None,
    });
    make_room(&mut node, set.chain(fields.iter().map(|(_, value)| value)));
    let commented = |(key, value): &(Node, Node)| !comments::has_none(key) || !comments::has_none(value);
    if node.style() == Style::Flow && fields.iter().any(commented) {
        node.set_style(Style::Block);
    }
    let map = node.as_map_mut().expect("only maps are merged field by field");
    let mut gone = Vec::new();
    for Edit { at, key, value } in edits {
        if let Some(key) = key {
            *map.key_at_mut(at) = key;
        }
        match value {
            Outcome::Keep => {}
            Outcome::Clear => gone.push(at),
            Outcome::Set(value) => *map.value_at_mut(at) = value,
        }
    }
    match gone.as_slice() {
        [] => {}
        [at] => drop(map.remove_at(*at)),
        _ => {
            let (mut at, mut next) = (0, gone.iter().peekable());
            map.retain(|_| {
                let keep = next.next_if_eq(&&at).is_none();
                at += 1;
                keep
            });
        }
    }
    fields.into_iter().for_each(|(key, value)| map.push(key, value));
    node
}

/// Whether a value is written after its key, not below.
pub(super) fn is_on_a_line(node: &Node) -> bool {
    node.is_scalar() || node.is_empty() || node.style() == Style::Flow
}

/// Makes a collection in brackets one of lines where it takes in such a one, which has no place in brackets.
pub(super) fn make_room<'n>(node: &mut Node, mut new: impl Iterator<Item = &'n Node>) {
    if node.style() == Style::Flow && new.any(|value| !is_on_a_line(value)) {
        node.set_style(Style::Block);
    }
}

/// A destination to fill from another collection: an empty one is only written as it is (`{}`) because it is empty, so it
/// takes the other's style.
pub(super) fn to_fill<'n>(dest: &'n Node, from: Option<&Node>) -> Cow<'n, Node> {
    match from {
        Some(from) if dest.is_empty() && !from.is_empty() && dest.style() != from.style() => {
            Cow::Owned(dest.clone().with_style(from.style()))
        }
        _ => Cow::Borrowed(dest),
    }
}

/// The keys a list is merged by; `None` if it is replaced as a whole.
fn merge_keys<'s>(
    s: &Sources,
    ty: Option<Type<'s>>,
    options: Options,
) -> Option<Cow<'s, [Cow<'static, str>]>> {
    if let Some(keys) = ty.and_then(Type::merge_keys) {
        return Some(Cow::Borrowed(keys));
    }
    // A type that says nothing about a list leaves it to what the elements say.
    if !options.infer || ty.is_some_and(Type::is_atomic) {
        return None;
    }
    let lists: Vec<&[Node]> = s.present().map(Node::items).collect();
    let key = inferred_key(&lists);
    // What refers to objects, such as the subjects of a role, is distinguished by their kinds, too: a user is not the group of
    // the same name.
    if matches!(key, None | Some("name")) && !options.as_reference && refer_to_objects(&lists) {
        return Some(Cow::Owned(OBJECT_KEYS.map(Cow::Borrowed).to_vec()));
    }
    Some(Cow::Owned(vec![Cow::Borrowed(key?)]))
}

/// Whether every element names an object by its kind, and no two of a list the same one.
fn refer_to_objects(lists: &[&[Node]]) -> bool {
    let names = |element: &Node| {
        let [name, kind, namespace] = OBJECT_KEYS.map(|key| lists::key_value(element, key).to_owned());
        (!name.is_empty() && !kind.is_empty()).then_some((name, kind, namespace))
    };
    lists.iter().all(|list| {
        let mut seen = FxHashSet::default();
        list.iter().all(|element| names(element).is_some_and(|object| seen.insert(object)))
    })
}

fn walk_list(
    visitor: &mut dyn Visitor,
    s: Sources,
    keys: &[Cow<'static, str>],
    items: Option<Type>,
    walk: &mut Walk,
) -> Result<Outcome> {
    let (dest, origin) = match visitor.list(&s, walk)? {
        Start::Keep => return Ok(Outcome::Keep),
        Start::Clear => return Ok(Outcome::Clear),
        Start::From { dest, origin } => (dest, origin),
    };
    let from = Sources { dest: dest.as_deref(), origin: origin.as_deref(), updated: s.updated };
    let merged = match lists::is_regular(&from, keys) || !walk.options.as_reference {
        true => lists::merge(visitor, from, s.dest, keys, items, walk)?,
        false => kustomize::merge(visitor, from, keys, items, walk)?,
    };
    let same = dest.as_deref().zip(s.dest).is_some_and(|(now, then)| std::ptr::eq(now, then));
    let outcome = match merged {
        None if same => Outcome::Keep,
        None => Outcome::Set(dest.map_or_else(Node::seq, Cow::into_owned)),
        Some(elements) => {
            let mut node = dest.map_or_else(Node::seq, Cow::into_owned);
            make_room(&mut node, elements.iter());
            *node.as_seq_mut().expect("only lists are merged element by element") = elements;
            Outcome::Set(node)
        }
    };
    Ok(visitor.done(&s, outcome, walk))
}
