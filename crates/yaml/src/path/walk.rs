//! The one walker: where a path leads in a tree.
//!
//! Field specs, replacements, JSON pointers, queries and the SDK all step by [`step`]. What they do not agree on are
//! parameters: [`Rules`] for looking, [`Edits`] for changing.

use std::ops::ControlFlow;

use super::{Segment, Select, Signs, index};
use crate::diag::Result;
use crate::map::Map;
use crate::node::{Node, Value};
use crate::source::Span;

/// How a path is read against a tree. The defaults are the mildest: what does not match leads nowhere.
pub trait Rules {
    /// Whether a [`Segment::Key`] that is a number is the index of an item where it meets a list.
    const KEYS_INDEX: bool = false;
    /// What a sign before such an index means.
    const SIGNS: Signs = Signs::Refused;
    /// Whether `[k=v]` leads to the first item that matches only.
    const FIRST_MATCH: bool = false;
    /// Whether `*` is every value of a map as well as every item of a list.
    const ANY_VALUE: bool = true;
    /// Whether an empty key stays at the node it is asked of.
    const EMPTY_STAYS: bool = false;

    /// Called if a node is neither null nor of a kind that the segment leads on from. `Ok` passes it over.
    fn mismatch(&self, _segment: &Segment, _node: &Node) -> Result<()> {
        Ok(())
    }

    /// Called if a list has no item of an index. `Ok` passes it over.
    fn beyond(&self, _index: usize, _node: &Node) -> Result<()> {
        Ok(())
    }

    /// Called if a map has no such [`Segment::Field`], and before a [`Segment::Any`] is followed. An error refuses it.
    #[inline]
    fn allow(&self, _segment: &Segment) -> Result<()> {
        Ok(())
    }
}

/// What an edit does at the end of a path, and where the path ends too early.
pub trait Edits: Rules {
    /// Whether a null on the way becomes the map or list that the path goes on with, if anything is to be created.
    const FILLS_NULL: bool = false;
    /// Whether an index right after the last item creates one.
    const EXTENDS: bool = false;
    /// Whether `-` is a new item; otherwise it is the last.
    const APPENDS: bool = false;
    /// Whether `[=v]` is the end of the path, whatever follows it.
    const SCALAR_MATCH_ENDS: bool = false;

    /// Changes a node that the path leads to.
    fn leaf(&mut self, node: &mut Node) -> Result<()>;

    /// What to create at the end of the path if it is missing; `None` to create nothing.
    fn create(&self) -> Option<Leaf> {
        None
    }

    /// The path goes on from a null. Says how many nodes count as found.
    fn null(&mut self, segment: &Segment, node: &Node) -> Result<usize> {
        match segment {
            Segment::Index(at) => self.beyond(*at, node).map(|()| 0),
            _ => Ok(0),
        }
    }

    /// The path goes on from a scalar. `None` to step on, which is a [mismatch](Rules::mismatch), else how many nodes count
    /// as found.
    fn scalar(&mut self, _node: &Node, _rest: &[Segment]) -> Result<Option<usize>> {
        Ok(None)
    }

    /// The item to create if no item that `[k=v]` matches leads anywhere; `matched` says how many it matches.
    fn item(&mut self, select: &Select, matched: usize) -> Result<Option<Node>> {
        Ok((matched == 0).then(|| select.item(self.place())))
    }

    /// Where the path is written: the place of what is created for `[k=v]` alone.
    fn place(&self) -> Span {
        Span::NONE
    }

    /// The last word on an item that was created and edited.
    fn created(&mut self, _select: &Select, item: Node) -> Node {
        item
    }
}

/// What is created where the end of a path is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// An empty scalar, waiting for its value.
    Scalar,
    /// An empty map.
    Map,
    /// An empty list.
    Seq,
}

impl Leaf {
    fn node(self) -> Node {
        match self {
            Leaf::Scalar => Node::empty(),
            Leaf::Map => Node::map(),
            Leaf::Seq => Node::seq(),
        }
    }
}

/// Where a segment leads from a node: positions among its entries or items.
#[derive(Debug)]
pub enum Children {
    /// Nowhere.
    None,
    /// To one of them.
    One(usize),
    /// To all of them; how many that is.
    All(usize),
    /// To some of them.
    Some(Vec<usize>),
}

/// Takes one step. Names that look through lists ([`Segment::Field`]) and [`Segment::List`] are for the walk to handle.
#[inline]
pub fn step<R: Rules>(rules: &R, segment: &Segment, node: &Node) -> Result<Children> {
    let one = |at: Option<usize>| at.map_or(Children::None, Children::One);
    Ok(match (segment, node.value()) {
        (Segment::Field(name), Value::Map(map)) => one(field(rules, segment, name, map)?),
        (Segment::Key(name), Value::Map(map)) => one(map.position(name)),
        (Segment::Key(name), Value::Seq(items)) if R::KEYS_INDEX => {
            one(index(name, items.len(), R::SIGNS).filter(|at| *at < items.len()))
        }
        (Segment::Index(at), Value::Seq(items)) if *at < items.len() => Children::One(*at),
        (Segment::Index(at), Value::Seq(_)) => {
            rules.beyond(*at, node)?;
            Children::None
        }
        (Segment::Any, _) => {
            rules.allow(segment)?;
            match node.value() {
                Value::Seq(items) => Children::All(items.len()),
                Value::Map(map) if R::ANY_VALUE => Children::All(map.len()),
                _ => strays(rules, segment, node)?,
            }
        }
        (Segment::Last, Value::Seq(items)) => one(items.len().checked_sub(1)),
        (Segment::Last, Value::Map(map)) if R::KEYS_INDEX => one(map.position("-")),
        (Segment::Match(select), Value::Seq(items)) => matching::<R>(select, items)?,
        _ => strays(rules, segment, node)?,
    })
}

/// The step by which field specs go, and so most steps of a build.
#[inline]
pub fn field<R: Rules>(rules: &R, segment: &Segment, name: &str, map: &Map) -> Result<Option<usize>> {
    match map.position(name) {
        None => rules.allow(segment).map(|()| None),
        found => Ok(found),
    }
}

/// The path and the tree part here.
#[cold]
fn strays<R: Rules>(rules: &R, segment: &Segment, node: &Node) -> Result<Children> {
    match segment {
        _ if !node.is_null() => rules.mismatch(segment, node)?,
        Segment::Index(at) => rules.beyond(*at, node)?,
        _ => {}
    }
    Ok(Children::None)
}

fn matching<R: Rules>(select: &Select, items: &[Node]) -> Result<Children> {
    let mut found = Vec::new();
    for (at, item) in items.iter().enumerate() {
        if select.matches(item)? {
            if R::FIRST_MATCH {
                return Ok(Children::One(at));
            }
            found.push(at);
        }
    }
    Ok(Children::Some(found))
}

/// Records the positions that lead to a node.
pub trait Trail {
    /// One level down.
    fn push(&mut self, at: usize);
    /// One level up.
    fn pop(&mut self);
}

/// No note is taken.
impl Trail for () {
    #[inline]
    fn push(&mut self, _: usize) {}
    #[inline]
    fn pop(&mut self) {}
}

impl Trail for Vec<usize> {
    fn push(&mut self, at: usize) {
        self.push(at);
    }
    fn pop(&mut self) {
        self.pop();
    }
}

/// Calls `see` on every node the path leads to, and on a null where it expects a list, until that breaks off.
#[inline]
pub fn visit<'n, R: Rules, T: Trail>(
    rules: &R,
    mut path: &[Segment],
    mut node: &'n Node,
    trail: &mut T,
    see: &mut impl FnMut(&'n Node, &T) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    // Most paths are names in maps: for them this loop, which does nothing else.
    let mut depth = 0;
    let flow = loop {
        let (Some((segment @ Segment::Field(name), rest)), Value::Map(map)) =
            (path.split_first(), node.value())
        else {
            break if path.is_empty() {
                see(node, trail)
            } else {
                visit_further(rules, path, node, trail, see)
            };
        };
        match map.position(name) {
            Some(at) => {
                trail.push(at);
                depth += 1;
                (path, node) = (rest, &map.entries()[at].value);
            }
            None => break rules.allow(segment).map(|()| ControlFlow::Continue(())),
        }
    };
    (0..depth).for_each(|_| trail.pop());
    flow
}

/// The same for whatever is not a name in a map.
#[inline(never)]
fn visit_further<'n, R: Rules, T: Trail>(
    rules: &R,
    path: &[Segment],
    node: &'n Node,
    trail: &mut T,
    see: &mut impl FnMut(&'n Node, &T) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    let Some((segment, rest)) = path.split_first() else { return see(node, trail) };
    match (segment, node.value()) {
        (Segment::Field(_), Value::Seq(items)) => {
            return until_break(0..items.len(), |at| visit_child(rules, path, node, at, trail, see));
        }
        (Segment::List, _) if node.is_null() => return see(node, trail),
        (Segment::List, _) => return visit(rules, rest, node, trail, see),
        (Segment::Key(name), _) if R::EMPTY_STAYS && name.is_empty() => {
            return visit(rules, rest, node, trail, see);
        }
        _ => {}
    }
    match step(rules, segment, node)? {
        Children::None => Ok(ControlFlow::Continue(())),
        Children::One(at) => visit_child(rules, rest, node, at, trail, see),
        Children::All(count) => until_break(0..count, |at| visit_child(rules, rest, node, at, trail, see)),
        Children::Some(found) => {
            until_break(found.into_iter(), |at| visit_child(rules, rest, node, at, trail, see))
        }
    }
}

fn visit_child<'n, R: Rules, T: Trail>(
    rules: &R,
    rest: &[Segment],
    node: &'n Node,
    at: usize,
    trail: &mut T,
    see: &mut impl FnMut(&'n Node, &T) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    trail.push(at);
    let flow = visit(rules, rest, child(node, at), trail, see);
    trail.pop();
    flow
}

fn until_break(
    mut all: impl Iterator<Item = usize>,
    mut follow: impl FnMut(usize) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    all.find_map(|at| match follow(at) {
        Ok(ControlFlow::Continue(())) => None,
        other => Some(other),
    })
    .unwrap_or(Ok(ControlFlow::Continue(())))
}

/// The first node the path leads to.
pub fn first<'n, R: Rules>(rules: &R, path: &[Segment], node: &'n Node) -> Result<Option<&'n Node>> {
    let mut found = None;
    let flow = visit(rules, path, node, &mut (), &mut |node, ()| {
        found = Some(node);
        Ok(ControlFlow::Break(()))
    });
    flow.map(|_| found)
}

/// Whether the path leads anywhere or fails: asked before an edit copies what it goes through.
pub fn reaches<R: Rules>(rules: &R, path: &[Segment], node: &Node) -> bool {
    visit(rules, path, node, &mut (), &mut |_, _| Ok(ControlFlow::Break(())))
        .map_or(true, |flow| flow.is_break())
}

/// Lets every node the path leads to be changed, creates what is missing as the [`Edits`] say, and says how many there were.
/// What is not on the way to one of them stays shared with other copies of the tree.
pub fn edit<E: Edits>(edits: &mut E, path: &[Segment], node: &mut Node) -> Result<usize> {
    match edits.create().is_some() || reaches(edits, path, node) {
        true => descend(edits, path, node),
        false => Ok(0),
    }
}

/// The same, from a node that is known to be on the way.
fn descend<E: Edits>(edits: &mut E, mut path: &[Segment], mut node: &mut Node) -> Result<usize> {
    // As in [`visit`]: names in maps need no more than this.
    while let (Some((segment @ Segment::Field(name), rest)), Value::Map(map)) =
        (path.split_first(), node.value())
    {
        let Some(at) = field(edits, segment, name, map)? else {
            return if edits.create().is_some() { create(edits, segment, rest, node, 0) } else { Ok(0) };
        };
        node = node.as_map_mut().expect("just seen to be a map").value_at_mut(at);
        if let Some(count) = enter_value(edits, rest, node)? {
            return Ok(count);
        }
        path = rest;
    }
    match path.is_empty() {
        true => edits.leaf(node).map(|()| 1),
        false => descend_further(edits, path, node),
    }
}

/// The same for whatever is not a name in a map.
fn descend_further<E: Edits>(edits: &mut E, path: &[Segment], node: &mut Node) -> Result<usize> {
    let Some((segment, rest)) = path.split_first() else { return edits.leaf(node).map(|()| 1) };
    match segment {
        // `volumes[]` of a null ends in an empty list, whatever else the path says.
        Segment::List if node.is_null() => {
            node.assign(Node::seq());
            return Ok(0);
        }
        Segment::List => return descend(edits, rest, node),
        Segment::Field(_) if node.is_seq() => {
            let items = 0..node.items().len();
            return descend_into(edits, segment, path, node, items);
        }
        _ if node.is_null() => return edits.null(segment, node),
        _ => {}
    }
    if edits.create().is_some() && is_new_item::<E>(segment, node) {
        return extend(edits, rest, node);
    }
    let children = step(edits, segment, node)?;
    let rest = match segment {
        Segment::Match(select) if E::SCALAR_MATCH_ENDS && select.key.is_empty() => &[],
        _ => rest,
    };
    let (matched, count) = match children {
        Children::None => (0, 0),
        Children::One(at) => (1, follow(edits, segment, rest, node, at)?),
        Children::All(all) => (all, descend_into(edits, segment, rest, node, 0..all)?),
        Children::Some(found) => (found.len(), descend_into(edits, segment, rest, node, found.into_iter())?),
    };
    if count > 0 || edits.create().is_none() {
        return Ok(count);
    }
    create(edits, segment, rest, node, matched)
}

/// Goes on in several children. Where nothing is created, most are not concerned, and stay shared.
fn descend_into<E: Edits>(
    edits: &mut E,
    segment: &Segment,
    rest: &[Segment],
    node: &mut Node,
    positions: impl Iterator<Item = usize>,
) -> Result<usize> {
    let creates = edits.create().is_some();
    let mut count = 0;
    for at in positions {
        if creates || reaches(edits, rest, child(node, at)) {
            count += follow(edits, segment, rest, node, at)?;
        }
    }
    Ok(count)
}

/// Goes on in a child.
fn follow<E: Edits>(
    edits: &mut E,
    segment: &Segment,
    rest: &[Segment],
    node: &mut Node,
    at: usize,
) -> Result<usize> {
    let in_map = node.is_map();
    let looks_through = matches!(segment, Segment::Field(_)) && !in_map;
    let child = child_mut(node, at);
    if in_map {
        if let Some(count) = enter_value(edits, rest, child)? {
            return Ok(count);
        }
    } else if !looks_through {
        fill_null(edits, rest, child);
    }
    descend(edits, rest, child)
}

/// Before the path goes on from the value of a map: says how many nodes count as found if it ends here.
#[inline]
fn enter_value<E: Edits>(edits: &mut E, rest: &[Segment], value: &mut Node) -> Result<Option<usize>> {
    if value.is_scalar() {
        if !rest.is_empty()
            && let Some(count) = edits.scalar(value, rest)?
        {
            return Ok(Some(count));
        }
        fill_null(edits, rest, value);
    }
    Ok(None)
}

/// Makes a null the map or list that the path goes on with, if the edits want that.
#[inline]
fn fill_null<E: Edits>(edits: &E, rest: &[Segment], node: &mut Node) {
    if let (true, true, Some(leaf)) = (E::FILLS_NULL, node.is_null(), edits.create()) {
        match (rest.first(), leaf) {
            (None, Leaf::Scalar) | (Some(Segment::List), _) => {}
            (next, leaf) => node.assign(blank::<E>(next, leaf)),
        }
    }
}

/// Whether a segment leads right after the last item of a list, and an item is to be made there.
fn is_new_item<E: Edits>(segment: &Segment, node: &Node) -> bool {
    let Some(items) = node.as_seq() else { return false };
    match segment {
        Segment::Last => E::APPENDS,
        Segment::Index(at) => E::EXTENDS && *at == items.len(),
        Segment::Key(name) => {
            E::EXTENDS && E::KEYS_INDEX && index(name, items.len(), E::SIGNS) == Some(items.len())
        }
        _ => false,
    }
}

/// Makes the item after the last.
fn extend<E: Edits>(edits: &mut E, rest: &[Segment], node: &mut Node) -> Result<usize> {
    let mut made = blank::<E>(rest.first(), edits.create().unwrap_or(Leaf::Scalar));
    let count = descend(edits, rest, &mut made)?;
    node.as_seq_mut().expect("asked only of lists").push(made);
    Ok(count)
}

/// Makes what a segment does not lead to yet.
fn create<E: Edits>(
    edits: &mut E,
    segment: &Segment,
    rest: &[Segment],
    node: &mut Node,
    matched: usize,
) -> Result<usize> {
    let leaf = edits.create().unwrap_or(Leaf::Scalar);
    match (segment, node.value()) {
        // A list that a field spec expects is never made.
        (Segment::Field(_), Value::Map(_)) if matches!(rest.first(), Some(Segment::List)) => Ok(0),
        (Segment::Key(name) | Segment::Field(name), Value::Map(_)) if matched == 0 => {
            let mut made = blank::<E>(rest.first(), leaf);
            let count = descend(edits, rest, &mut made)?;
            node.set(name, made);
            Ok(count)
        }
        (Segment::Key(name), Value::Seq(items)) if matched == 0 && E::KEYS_INDEX => {
            match index(name, items.len(), E::SIGNS) {
                Some(at) => edits.beyond(at, node)?,
                None => edits.mismatch(segment, node)?,
            }
            Ok(0)
        }
        (Segment::Match(select), Value::Seq(_)) => {
            let Some(mut item) = edits.item(select, matched)? else { return Ok(0) };
            let count = descend(edits, rest, &mut item)?;
            let item = edits.created(select, item);
            node.as_seq_mut().expect("just seen to be a list").push(item);
            Ok(count)
        }
        _ => Ok(0),
    }
}

/// What a path goes on from where nothing is yet.
pub(super) fn blank<E: Edits>(next: Option<&Segment>, leaf: Leaf) -> Node {
    match next {
        None => leaf.node(),
        Some(Segment::Index(_) | Segment::Match(_) | Segment::List) => Node::seq(),
        Some(Segment::Last) if E::APPENDS => Node::seq(),
        Some(Segment::Key(name)) if E::KEYS_INDEX && index(name, 0, Signs::Refused).is_some() => Node::seq(),
        Some(_) => Node::map(),
    }
}

/// The child at a position that [`step`] gave.
#[inline]
pub fn child(node: &Node, at: usize) -> &Node {
    match node.value() {
        Value::Map(map) => &map.entries()[at].value,
        Value::Seq(items) => &items[at],
        Value::Scalar(_) => node,
    }
}

/// The same, to be changed.
pub fn child_mut(node: &mut Node, at: usize) -> &mut Node {
    if node.is_map() {
        return node.as_map_mut().expect("just seen to be a map").value_at_mut(at);
    }
    &mut node.as_seq_mut().expect("positions are of maps and lists")[at]
}
