//! Fixes that change a kustomization as `krm edit` would, or take a value out of a patch.

use std::sync::Arc;

use krm_yaml::emit::preserve;
use krm_yaml::{Fix, Node, Source, Sources, Span};

use super::Check;
use super::fix::as_edits;
use crate::edit::File;
use crate::files::texts::Files;
use crate::pipeline::trace::{Segment, at, at_mut};
use crate::workspace::Layer;

/// The layer whose file a span is in.
pub(super) fn layer_of<'a>(cx: &Check<'a>, span: Span) -> Option<&'a Layer> {
    let path = cx.path_of(span)?;
    cx.lint.workspace.layer(path.parent()?).filter(|layer| layer.file == path)
}

/// A fix that holds what `edit` changes in the file of a layer; `None` if it changes nothing.
pub(super) fn edited(cx: &Check, layer: &Layer, edit: impl FnOnce(&mut File) -> Option<Fix>) -> Option<Fix> {
    // Texts that are only tried need not be kept among those of the run.
    let files = Files::new(cx.lint.world.clone(), Sources::new());
    let mut file = File::open(&files, &layer.shown).ok()?;
    let source = layer.source.as_ref().filter(|source| source.text() == file.source().text())?;
    let fix = edit(&mut file)?;
    Some(as_edits(fix, source, &file.text())).filter(|fix| !fix.edits().is_empty())
}

/// The fix that removes the entry of a list of a kustomization in which a span begins; the field goes with its last entry.
pub(super) fn without_entry(cx: &Check, span: Span, fix: Fix) -> Option<Fix> {
    edited(cx, layer_of(cx, span)?, |file| file.remove_entry_at(span.start).then_some(fix))
}

/// The fix that removes a value from a patch, and the fields around it that would be left empty. `None` for an element of a
/// list, and of a part that an operation of a JSON patch cannot do without.
pub(super) fn without_value(cx: &Check, span: Span) -> Option<Fix> {
    let source = cx.lint.sources.get(span.file)?;
    let text = text_without(&source, span)?;
    Some(as_edits(Fix::needs_review("remove it"), &source, &text))
}

fn text_without(source: &Arc<Source>, span: Span) -> Option<String> {
    let mut documents = krm_yaml::parse(source).ok()?;
    let document = documents.iter_mut().find(|document| document.span().holds(span))?;
    let path = path_to(&document.root, span)?;
    let value = at(&document.root, &path)?;
    if value.span() == span {
        remove(&mut document.root, &path)?;
    } else {
        // A patch within a kustomization: the same in the text that the literal holds.
        let patches = krm_yaml::embedded::parse(value, Some(source)).ok()?;
        let (which, within) =
            patches.iter().enumerate().find_map(|(which, patch)| Some((which, path_to(patch, span)?)))?;
        let mut inner = krm_yaml::parse_str(value.text()?).ok()?;
        remove(&mut inner.get_mut(which)?.root, &within)?;
        let mut text = preserve::stream(&inner);
        if !value.text()?.ends_with('\n') {
            text.truncate(text.trim_end().len());
        }
        let text = Node::from(text).with_style(value.style());
        at_mut(&mut document.root, &path)?.assign(text);
    }
    Some(preserve::stream(&documents))
}

/// The way to the scalar that a span is, or is part of.
fn path_to(root: &Node, span: Span) -> Option<Vec<Segment>> {
    let mut path = Vec::new();
    let mut node = root;
    while !node.is_scalar() {
        let field = node.as_map().into_iter().flatten().find(|entry| entry.value.span().holds(span));
        node = match field {
            Some(entry) => {
                path.push(Segment::Key(entry.key.text()?.into()));
                &entry.value
            }
            None => {
                let (at, item) = node.items().iter().enumerate().find(|(_, item)| item.span().holds(span))?;
                path.push(Segment::Index(at));
                item
            }
        };
    }
    node.span().holds(span).then_some(path)
}

/// Removes a field, and those around it that have no other.
fn remove(root: &mut Node, path: &[Segment]) -> Option<()> {
    let mut path = path;
    let (key, parent) = loop {
        let (last, parent) = path.split_last()?;
        let Segment::Key(key) = last else { return None };
        // The items of a JSON patch need all they have.
        if matches!(parent, [Segment::Index(_)]) {
            return None;
        }
        if at(root, parent)?.as_map()?.len() > 1 {
            break (key, parent);
        }
        path = parent;
    };
    at_mut(root, parent)?.remove(key)?;
    Some(())
}

#[cfg(test)]
mod tests {
    use krm_yaml::Sources;

    use super::text_without;

    /// The text without the value that is marked.
    fn without(text: &str) -> Option<String> {
        let (start, end) = (text.find('<')?, text.find('>')? - 1);
        let source = Sources::new().add("patch.yaml", text.replace(['<', '>'], ""));
        text_without(&source, source.span(start, end))
    }

    #[test]
    fn fields_that_are_left_empty_go_too() {
        for (text, left) in [
            ("a: 1\nspec:\n  b: <2>\n  c: 3\n", "a: 1\nspec:\n  c: 3\n"),
            ("a: 1\nspec:\n  b: <2> # why\n", "a: 1\n"),
            ("a: 1\nspec:\n  x:\n    b: <2>\nz: 1\n", "a: 1\nz: 1\n"),
            ("a: 1\nspec:\n      x:\n       b: <2>\n      y: 1\n", "a: 1\nspec:\n      y: 1\n"),
            ("a: {b: <1>, c: 2}\n", "a: {c: 2}\n"),
            ("l:\n- name: x\n  image: <y>\n", "l:\n- name: x\n"),
            ("l:\n  - image: <y>\n    name: x\n", "l:\n  - name: x\n"),
            ("a: 1\n---\nb: 2\nc: <3>\n", "a: 1\n---\nb: 2\n"),
            ("patch: |-\n  a: 1\n  b:\n    c: <2>\nz: 1\n", "patch: |-\n  a: 1\nz: 1\n"),
            ("- op: add\n  path: /a\n  value: {b: <1>, c: 2}\n", "- op: add\n  path: /a\n  value: {c: 2}\n"),
        ] {
            assert_eq!(without(text).as_deref(), Some(left), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_left_out_stays() {
        for text in ["l:\n- <x>\n", "l:\n- a: <x>\n", "a: <1>\n", "- op: replace\n  path: /a\n  value: <1>\n"]
        {
            assert_eq!(without(text), None, "{text}");
        }
    }
}
