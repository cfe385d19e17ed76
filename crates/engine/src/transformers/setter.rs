//! Writing values: what becomes of types, quotes and nulls.

use krm_yaml::{Diagnostic, Node, Result, Span, Style, Tag, Text};

/// Writes a string, whatever it looks like.
pub(crate) fn string(node: &mut Node, text: &Text, place: Span) -> Result<()> {
    expect_scalar(node)?;
    put(node, text.clone(), Tag::Str, place);
    Ok(())
}

/// Writes a text whose type is what it would be if it were there in place of the old one: between quotes a string,
/// without them whatever it looks like. A name of digits alone thus becomes a number, as in the reference.
// quirk(names-of-digits-become-numbers): A text written over a plain scalar takes the type it looks like: a name of
// digits alone becomes a number. (kyaml `FieldSetter.Filter`)
pub(crate) fn untyped(node: &mut Node, text: &str, place: Span) -> Result<()> {
    expect_scalar(node)?;
    let tag = match node.style() {
        Style::SingleQuoted | Style::DoubleQuoted | Style::Literal | Style::Folded => Tag::Str,
        _ if text.contains('\n') => Tag::Str,
        // Nobody wrote the old one; had it been written, it would have been in quotes.
        Style::Any
            if node.tag() == Tag::Str && node.text().map(krm_yaml::resolve::plain) != Some(Tag::Str) =>
        {
            Tag::Str
        }
        _ => krm_yaml::resolve::plain(text),
    };
    put(node, text.into(), tag, place);
    Ok(())
}

/// Writes a string under a key, and says whether the key is new. A null that nobody turned into a map is left alone;
/// anything else that is not a map is a mistake.
pub(crate) fn entry(node: &mut Node, key: &str, text: &Text, place: Span) -> Result<bool> {
    if node.is_null() {
        return Ok(false);
    }
    let found = node.kind_name();
    let span = node.span();
    let Some(map) = node.as_map_mut() else {
        let message = format!("expected a map to set `{key}` in, found {found}");
        return Err(Diagnostic::error("field-not-a-map", message)
            .at(span)
            .help("correct the value here, or the path of the field spec"));
    };
    match map.get_mut(key) {
        Some(value) => put(value, text.clone(), Tag::Str, place),
        None => {
            map.push(Node::from(key), Node::string(text.clone()).with_span(place));
            return Ok(true);
        }
    }
    Ok(false)
}

/// A string for a field that does not exist yet: quoted where it would otherwise be read as something else, so that later
/// [`untyped`] writes keep it a string.
pub(crate) fn fresh(text: &str) -> Node {
    let style = match krm_yaml::resolve::plain(text) {
        Tag::Str => Style::Any,
        _ => Style::DoubleQuoted,
    };
    Node::scalar(text, Tag::Str, style, Span::NONE)
}

fn put(node: &mut Node, text: Text, tag: Tag, place: Span) {
    let style = if node.is_scalar() { node.style() } else { Style::Any };
    node.assign(Node::scalar(text, tag, style, place));
}

fn expect_scalar(node: &Node) -> Result<()> {
    if node.is_scalar() {
        return Ok(());
    }
    let message = format!("expected a single value, found {}", node.kind_name());
    Err(Diagnostic::error("field-not-a-scalar", message)
        .at(node.span())
        .help("correct the value here, or the path of the field spec"))
}
