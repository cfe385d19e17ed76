//! Merging a source into a destination, the source winning where they differ.

use std::borrow::Cow;

use krm_yaml::{Diagnostic, Node, Result, Style, Tag};

use super::comments::between_nodes::Margins;
use super::comments::{self, Theirs, above_and_below};
use super::walk::{Outcome, Sources, Start, Visitor, Walk, is_on_a_line, to_fill, walk};
use super::{Alignment, Merged, Options};
use crate::schema::Schema;

/// Merges a source into a destination.
///
/// What only the destination has stays; what the source has wins, and `null` there clears. Maps are merged field by
/// field, lists element by element where the schema (or [`Options::infer`]) knows what distinguishes the elements. The
/// source may hold the directives of strategic merge patches: `$patch: delete`, `replace` or `merge` in a map, or in an
/// element of its own for the whole list.
///
/// ```
/// use krm_engine::merge::{Merged, Options, two_way};
/// use krm_engine::{Node, Schema};
/// let dest: Node = [("key2", "value0"), ("key3", "value3")].into_iter().collect();
/// let source: Node = [("key1", "value1"), ("key2", "value2")].into_iter().collect();
/// let Merged::Changed(node) = two_way(&source, &dest, &Schema::builtin(), Options::default())? else { panic!() };
/// let expected: Node = [("key1", "value1"), ("key2", "value2"), ("key3", "value3")].into_iter().collect();
/// assert_eq!(node, expected);
/// # Ok::<(), krm_engine::Diagnostic>(())
/// ```
pub fn two_way(source: &Node, dest: &Node, schema: &Schema, options: Options) -> Result<Merged> {
    two_way_within(Margins::default(), source, dest, schema, options)
}

/// The same for a destination in a document.
pub(super) fn two_way_within(
    margins: Margins,
    source: &Node,
    dest: &Node,
    schema: &Schema,
    options: Options,
) -> Result<Merged> {
    let merged = merged(source, dest, Walk { schema, options, path: None, aligned: None })?;
    match options.as_reference {
        true => Ok(merged),
        false => above_and_below::carried(merged, dest, margins, None, source, schema, options),
    }
}

/// Merges a patch of a build, and says which elements of its lists were merged into which.
pub(crate) fn two_way_aligned(
    patch: &Node,
    dest: &Node,
    schema: &Schema,
    aligned: &mut Alignment,
) -> Result<Merged> {
    let options = Options::PATCH;
    merged(patch, dest, Walk { schema, options, path: None, aligned: Some(aligned) })
}

fn merged(source: &Node, dest: &Node, mut state: Walk) -> Result<Merged> {
    let s = Sources { dest: Some(dest), origin: Some(source), updated: None };
    Ok(match walk(&mut TwoWay, s, None, &mut state)? {
        Outcome::Keep => Merged::Same,
        Outcome::Clear => Merged::Deleted,
        Outcome::Set(node) => Merged::Changed(node),
    })
}

struct TwoWay;

impl Visitor for TwoWay {
    fn map<'n>(&mut self, s: &Sources<'n>, _: &Walk) -> Result<Start<'n>> {
        let present = s.dest.filter(|dest| !dest.is_null());
        let Some(dest) = present else {
            return Ok(match (s.dest, s.origin) {
                // A null that was written out stays; one that is only a missing value goes.
                (Some(null), None) if null.text() != Some("") => Start::Keep,
                (_, Some(origin)) if origin.is_map() => match directive(origin) {
                    Ok(Some(Directive::Delete)) => Start::Clear,
                    Ok(Some(_)) => into_nothing(without_directive(origin)),
                    // An unknown directive is only a field if there is nothing to merge with.
                    Ok(None) | Err(_) => into_nothing(Cow::Borrowed(origin)),
                },
                _ => Start::Clear,
            });
        };
        let Some(origin) = s.origin else {
            return Ok(Start::From { dest: Some(Cow::Borrowed(dest)), origin: None });
        };
        if origin.is_null() {
            return Ok(Start::Clear);
        }
        Ok(match directive(origin)? {
            Some(Directive::Delete) => Start::Clear,
            Some(Directive::Merge) if !std::ptr::eq(dest, origin) => into(dest, without_directive(origin)),
            Some(_) => into_nothing(without_directive(origin)),
            None => into(dest, Cow::Borrowed(origin)),
        })
    }

    fn list<'n>(&mut self, s: &Sources<'n>, walk: &Walk) -> Result<Start<'n>> {
        let Some(origin) = s.origin else {
            return Ok(Start::From { dest: s.dest.map(Cow::Borrowed), origin: None });
        };
        if origin.is_null() {
            return Ok(Start::Clear);
        }
        let Some(dest) = s.dest.filter(|dest| !dest.is_null()) else {
            return Ok(match list_directive(origin)? {
                // quirk(directive-in-a-new-list-stays): In a list that the resource does not have yet, an element with
                // a directive is one like any other, but without a key: it stays, and the others go. (kyaml
                // `merge2.Merger.VisitList`)
                Some(_) if walk.options.as_reference => into_nothing(Cow::Borrowed(origin)),
                Some(Directive::Delete) => Start::Clear,
                Some(which) => into_nothing(without_list_directive(origin, which)),
                None => into_nothing(Cow::Borrowed(origin)),
            });
        };
        Ok(match list_directive(origin)? {
            Some(Directive::Delete) => Start::Clear,
            Some(Directive::Merge) if !std::ptr::eq(dest, origin) => {
                into(dest, without_list_directive(origin, Directive::Merge))
            }
            Some(which) => into_nothing(without_list_directive(origin, which)),
            None => into(dest, Cow::Borrowed(origin)),
        })
    }

    fn value(&mut self, s: &Sources, walk: &Walk) -> Outcome {
        match (s.dest, s.origin) {
            (_, None) => Outcome::Keep,
            (_, Some(origin)) if origin.is_null() => Outcome::Clear,
            (None, Some(origin)) => Outcome::Set(origin.clone()),
            (Some(dest), Some(origin)) if comments::same_throughout(dest, origin) => Outcome::Keep,
            (Some(dest), Some(origin))
                if walk.options.as_reference && origin.is_scalar() && is_quoted(dest) =>
            {
                // quirk(patched-values-keep-quotes): A value that a patch puts in place of one in quotes is written in
                // these quotes, which make it a string. (kyaml `FieldSetter.Filter`)
                let text = origin.text().unwrap_or_default();
                Outcome::Set(Node::scalar(text, Tag::Str, dest.style(), origin.span()))
            }
            (Some(dest), Some(origin))
                if !walk.options.as_reference && comments::same_values(dest, origin) =>
            {
                comments::with_line_comments(dest, None, origin, Theirs::Win)
                    .map_or(Outcome::Keep, Outcome::Set)
            }
            // The comment after the old value was about that, and goes with it.
            (Some(dest), Some(origin)) => {
                let value = dressed(origin, dest);
                if walk.options.as_reference {
                    return Outcome::Set(value);
                }
                let value = comments::with_equal_items_of(value, dest);
                Outcome::Set(comments::with_line_comments(&value, None, origin, Theirs::Win).unwrap_or(value))
            }
        }
    }

    fn done(&mut self, s: &Sources, outcome: Outcome, walk: &Walk) -> Outcome {
        // A collection takes the comments the source has of its own.
        let (Some(dest), Some(origin)) = (s.dest, s.origin) else { return outcome };
        let now = match &outcome {
            Outcome::Clear => return outcome,
            Outcome::Keep => dest,
            Outcome::Set(node) => node,
        };
        let commented = match (is_on_a_line(now), walk.options.as_reference) {
            (true, true) => comments::overridden(now, origin),
            (false, true) => comments::overridden_around(now, origin),
            (true, false) => comments::with_line_comment(now, None, origin, Theirs::Win),
            (false, false) => None,
        };
        match commented {
            Some(node) => Outcome::Set(node),
            None => outcome,
        }
    }

    fn element(&mut self, s: &Sources, keys: &[&str], outcome: Outcome) -> Outcome {
        // The field that names an element is taken as the source writes it: its comment too, or that it has none.
        let now = match (&outcome, s.dest) {
            (Outcome::Keep, Some(dest)) => dest,
            (Outcome::Set(node), Some(_)) => node,
            _ => return outcome,
        };
        let bare = |node: &Node, key: &str| {
            let entry = node.as_map()?.entry(key)?;
            entry.value.is_scalar().then(|| entry.value.trivia().line.is_empty())
        };
        let lost =
            |key: &&&str| bare(now, key) == Some(false) && s.origin.and_then(|o| bare(o, key)) == Some(true);
        let lost: Vec<&str> = keys.iter().filter(lost).copied().collect();
        if lost.is_empty() {
            return outcome;
        }
        let mut node = now.clone();
        for key in lost {
            if let Some(value) = node.get_mut(key) {
                value.trivia_mut().line = Default::default();
            }
        }
        Outcome::Set(node)
    }

    fn key(&mut self, keys: &Sources, walk: &Walk) -> Option<Node> {
        match (keys.dest, keys.origin) {
            // A comment that is a schema is said to the merge, not to people.
            (Some(_), Some(origin)) if comments::is_schema(origin) => None,
            (Some(dest), Some(origin)) if walk.options.as_reference => comments::joined(dest, origin),
            (Some(dest), Some(origin)) => comments::with_line_comment(dest, None, origin, Theirs::GiveWay),
            (None, origin) => origin.cloned(),
            _ => None,
        }
    }
}

fn into<'n>(dest: &'n Node, origin: Cow<'n, Node>) -> Start<'n> {
    Start::From { dest: Some(to_fill(dest, Some(&origin))), origin: Some(origin) }
}

/// The origin takes the place of the destination; it is still walked, for the nulls and directives within.
fn into_nothing<'n>(origin: Cow<'n, Node>) -> Start<'n> {
    Start::From { dest: Some(origin.clone()), origin: Some(origin) }
}

/// Whether a value is written in a way that makes it a string.
fn is_quoted(node: &Node) -> bool {
    match node.style() {
        Style::SingleQuoted | Style::DoubleQuoted | Style::Literal | Style::Folded => true,
        // Made by code: quoted where it has to be.
        Style::Any => {
            node.tag() == Tag::Str && krm_yaml::resolve::plain(node.text().unwrap_or_default()) != Tag::Str
        }
        _ => false,
    }
}

/// A value as it is written in the place of another: quoted or flowing as the one before was.
pub(super) fn dressed(value: &Node, like: &Node) -> Node {
    let mut node = value.clone();
    let alike = match value.is_scalar() {
        true => value.tag() == like.tag(),
        false => value.is_seq() == like.is_seq() && !like.is_scalar() && !like.is_empty(),
    };
    if alike && (like.style() != Style::Flow || fits_on_a_line(value)) {
        node.set_style(like.style());
    }
    node
}

/// Whether a collection can be written in brackets without harm.
fn fits_on_a_line(value: &Node) -> bool {
    let fits =
        |n: &Node| (n.is_scalar() || n.is_empty() || n.style() == Style::Flow) && comments::has_none(n);
    match value.as_map() {
        Some(map) => map.iter().all(|entry| fits(&entry.key) && fits(&entry.value)),
        None => value.items().iter().all(fits),
    }
}

pub(super) const DIRECTIVE: &str = "$patch";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Directive {
    Delete,
    Replace,
    Merge,
}

impl Directive {
    fn read(value: &Node) -> Result<Self> {
        match value.text() {
            Some("delete") => Ok(Self::Delete),
            Some("replace") => Ok(Self::Replace),
            Some("merge") => Ok(Self::Merge),
            _ => {
                let written = value.text().unwrap_or_else(|| value.kind_name());
                let message = format!("there is no patch directive `{written}`");
                let error = Diagnostic::error("patch-directive", message).at(value.span());
                let error = match krm_yaml::nearest(written, ["delete", "replace", "merge"]) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error,
                };
                Err(error.help("`$patch` is one of `delete`, `replace` and `merge`"))
            }
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Replace => "replace",
            Self::Merge => "merge",
        }
    }
}

fn directive(map: &Node) -> Result<Option<Directive>> {
    map.get(DIRECTIVE).map(Directive::read).transpose()
}

/// Whether a patch says that an element is to be replaced as a whole, and there is another one to replace.
pub(super) fn is_replaced(s: &Sources) -> bool {
    let (Some(dest), Some(origin)) = (s.dest, s.origin) else { return false };
    !std::ptr::eq(dest, origin)
        && origin.get(DIRECTIVE).and_then(Node::text) == Some(Directive::Replace.text())
}

fn without_directive(map: &Node) -> Cow<'_, Node> {
    let mut map = map.clone();
    map.remove(DIRECTIVE);
    Cow::Owned(map)
}

/// The directive for a whole list: an element that holds nothing else. Only the first element with one is looked at.
fn list_directive(list: &Node) -> Result<Option<Directive>> {
    let element = list.items().iter().find(|element| element.get(DIRECTIVE).is_some());
    match element.and_then(Node::as_map) {
        Some(map) if map.len() == 1 => directive(element.expect("just found")),
        _ => Ok(None),
    }
}

fn without_list_directive(list: &Node, which: Directive) -> Cow<'_, Node> {
    let mut list = list.clone();
    let items = list.as_seq_mut().expect("only lists have list directives");
    items.retain(|e| !e.is_empty_element() && e.get(DIRECTIVE).and_then(Node::text) != Some(which.text()));
    Cow::Owned(list)
}

trait Element {
    fn is_empty_element(&self) -> bool;
}

impl Element for Node {
    /// Null or an empty map: what lists of keyed elements have no place for.
    fn is_empty_element(&self) -> bool {
        !self.is_seq() && self.is_empty()
    }
}
