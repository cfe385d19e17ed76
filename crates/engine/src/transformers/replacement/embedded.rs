//! Values within a text that is JSON or YAML itself: a `config.json` in a ConfigMap.

use krm_yaml::path::{Leaf, Segment};
use krm_yaml::{Diagnostic, Node, Result, Tag, json};

use super::field::{self, Edit, FieldPath, Ways};

/// The tree a text holds.
// quirk(embedded-first-document-only): A replacement that reaches into a text of several documents changes the first
// and drops the others. (`replacement.setValueInStructuredData`)
pub(super) fn parse(text: &str) -> Result<Node> {
    let document = krm_yaml::parse_str(text)?.into_iter().next();
    document
        .map(|d| d.root)
        .ok_or_else(|| Diagnostic::error("replacement-field", "the text to look into is empty"))
}

/// What came of looking into a text.
pub(super) enum Outcome {
    /// The text is rewritten; what was made under a null is lost all the same.
    Written { lost: bool },
    /// The path does not lead into a text, or to nothing in there.
    No,
}

/// Sets a value within a text on the path, if there is one that can be read, and rewrites the text.
pub(super) fn set(
    root: &mut Node,
    path: &FieldPath,
    create: Option<Leaf>,
    set: &mut dyn FnMut(&mut Node) -> Result<bool>,
) -> Result<Outcome> {
    let Some((places, mut inner, rest)) = find(root, path.ways()?) else { return Ok(Outcome::No) };
    let scalar = field::at_mut(root, &places);
    let text = scalar.text().unwrap_or_default().to_owned();
    let is_json = text.trim_start().starts_with(['{', '[']);
    // YAML says in so many words that a value is not of its field's type; JSON cannot.
    let mut set_tagged = |node: &mut Node| {
        let fits = set(node)?;
        if is_json && node.is_null() && node.text() == Some("") {
            // quirk(embedded-nothing-in-brackets): An empty text that replaces a null within JSON is written as `""`.
            // (`replacement.serializeAsJSON`)
            *node = Node::string("");
        }
        if !fits && !is_json {
            node.trivia_mut().tag = tag_word(node.tag()).map(Into::into);
        }
        Ok(fits)
    };
    let mut edit = Edit::new(create, path.span(), &mut set_tagged);
    // quirk(embedded-paths-fall-back): If a path cannot be followed inside a text, it is taken as the path of an
    // ordinary field. (`replacement.setValueInStructuredData`)
    if !edit.walk(&mut inner, rest).is_ok_and(|found| found > 0) || (is_json && edit.misfit) {
        return Ok(Outcome::No);
    }
    let lost = edit.lost;
    let new = match is_json {
        true if text.contains('\n') && text.contains("  ") => json::indented(&inner),
        true => json::compact(&inner),
        false => krm_yaml::emit::preserve::fresh(&inner).trim().to_owned(),
    };
    scalar.set_span(path.span());
    field::set_text(scalar, &new);
    Ok(Outcome::Written { lost })
}

/// The first text on the path that can be read as a tree: where it is, the tree, and the rest of the path.
fn find<'s>(root: &Node, ways: &'s Ways) -> Option<(Vec<usize>, Node, &'s [Segment])> {
    let (get, edit) = (ways.get.segments(), ways.edit.segments());
    (1..edit.len()).find_map(|end| {
        let (places, scalar) = field::locate(root, &get[..end]).ok()??;
        let inner = parse(scalar.text()?).ok()?;
        Some((places, inner, &edit[end..]))
    })
}

fn tag_word(tag: Tag) -> Option<&'static str> {
    Some(match tag {
        Tag::Null => "!!null",
        Tag::Bool => "!!bool",
        Tag::Int => "!!int",
        Tag::Float => "!!float",
        Tag::Timestamp => "!!timestamp",
        _ => return None,
    })
}
