//! YAML held in a scalar of another document, read in place.

use std::sync::Arc;

use crate::diag::Result;
use crate::node::{Node, Style};
use crate::source::{Source, Span};

/// Reads the documents a scalar holds. Their places are those in the file the scalar is in, if that is given and
/// the scalar is a literal block (`|`); otherwise they all are the scalar's own.
///
/// ```
/// use krm_yaml::{Source, Sources};
/// let sources = Sources::new();
/// let file = sources.add("k.yaml", "patch: |\n  a: 1\n  b: 2\n");
/// let outer = krm_yaml::parse(&file)?;
/// let Some(patch) = outer.first().and_then(|document| document.root.get("patch")) else { return Ok(()) };
/// for inner in krm_yaml::embedded::parse(patch, Some(&file))? {
///     assert_eq!(inner.get("b").map(|b| file.slice(b.span())), Some("2"));
/// }
/// # Ok::<(), krm_yaml::Diagnostic>(())
/// ```
pub fn parse(scalar: &Node, file: Option<&Arc<Source>>) -> Result<Vec<Node>> {
    let text = scalar.text().unwrap_or_default();
    read(scalar, text, 0, file)
}

/// The same, of the text without the white space around it.
pub fn parse_trimmed(scalar: &Node, file: Option<&Arc<Source>>) -> Result<Vec<Node>> {
    let text = scalar.text().unwrap_or_default();
    read(scalar, text.trim(), text.len() - text.trim_start().len(), file)
}

fn read(scalar: &Node, part: &str, offset: usize, file: Option<&Arc<Source>>) -> Result<Vec<Node>> {
    let text = scalar.text().unwrap_or_default();
    let file = file.filter(|file| scalar.style() == Style::Literal && file.id() == scalar.span().file);
    let lines = file.and_then(|file| line_starts(text, scalar.span(), file));
    let places = Places { text: Source::detached("", text), offset, whole: scalar.span(), lines };
    let inner = Source::detached("", part);
    let documents = crate::parse::parse(&inner).map_err(|d| d.relocate(&|place| places.find(place)))?;
    let roots = documents.into_iter().map(|document| document.root);
    Ok(roots
        .map(|mut root| {
            places.relocate(&mut root);
            root
        })
        .collect())
}

/// Where each line of a literal block begins in its file, its indentation left out.
fn line_starts(text: &str, span: Span, file: &Source) -> Option<Vec<usize>> {
    let header = file.slice(span).find('\n')? + 1;
    let mut at = span.start as usize + header;
    let mut starts = Vec::new();
    for line in text.lines() {
        let written = file.text().get(at..)?.lines().next()?;
        if !written.ends_with(line) {
            return None;
        }
        starts.push(at + written.len() - line.len());
        at += written.len();
        at += if file.text()[at..].starts_with("\r\n") { 2 } else { 1 };
    }
    Some(starts)
}

/// Translates places in the inner text to places in the file.
struct Places {
    text: Arc<Source>,
    /// Where in the text the part begins that was read.
    offset: usize,
    whole: Span,
    lines: Option<Vec<usize>>,
}

impl Places {
    fn find(&self, place: Span) -> Span {
        if place.file != self.text.id() {
            return place;
        }
        let Some(lines) = &self.lines else { return self.whole };
        let offset = |at: u32| {
            let at = at as usize + self.offset;
            let line = self.text.position(at).line;
            Some(lines.get(line - 1)? + (at - self.text.line_start(line)?))
        };
        match (offset(place.start), offset(place.end)) {
            (Some(start), Some(end)) => Span::new(self.whole.file, start, end),
            (Some(start), None) => Span::new(self.whole.file, start, self.whole.end as usize),
            _ => self.whole,
        }
    }

    fn relocate(&self, node: &mut Node) {
        node.set_span(self.find(node.span()));
        if let Some(map) = node.as_map_mut() {
            for at in 0..map.len() {
                self.relocate(map.key_at_mut(at));
                self.relocate(map.value_at_mut(at));
            }
        } else if let Some(items) = node.as_seq_mut() {
            items.iter_mut().for_each(|item| self.relocate(item));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Sources;

    #[test]
    fn mistakes_are_shown_where_they_were_written() {
        let sources = Sources::new();
        let file = sources.add("k.yaml", "patches:\n- patch: |-\n    a: 1\n    b: [\n  path: x\n");
        let outer = crate::parse::parse(&file).unwrap().remove(0).root;
        let patch = outer.get("patches").unwrap().items()[0].get("patch").unwrap();
        let error = parse(patch, Some(&file)).unwrap_err();
        assert_eq!(file.position(error.place().start as usize).line, 4);
        // Without the file, or of a scalar whose lines are not those of the file: the scalar as a whole.
        assert_eq!(parse(patch, None).unwrap_err().place(), patch.span());
    }
}
