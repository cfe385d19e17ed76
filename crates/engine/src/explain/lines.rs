//! What a build prints, line by line, each with the field it shows.

use krm_yaml::{Diagnostic, Node, Result, Source, Span};

use super::find::FoundResource;
use crate::pipeline::Trace;
use crate::pipeline::trace::{Segment, at};

/// A line of the output, and the field that is in it.
pub struct Line {
    /// Without its line break.
    pub text: String,
    /// The deepest field that begins in the line, or the one that it goes on with.
    pub path: Vec<Segment>,
}

/// What `krm build` prints of a resource, line by line, each with the field it shows.
pub fn lines(root: &Node) -> Result<Vec<Line>> {
    let mut text = String::new();
    krm_yaml::try_canonical_into(root, &mut text)?;
    // What was printed is read again, so that each line is known by the place of the field in it.
    let source = Source::detached("output", text.as_str());
    let printed = krm_yaml::parse(&source)?.into_iter().next().map(|document| document.root);
    let mut starts: Vec<(usize, Vec<Segment>)> = Vec::new();
    if let Some(printed) = &printed {
        visit(printed, &mut Vec::new(), &mut |offset, path| starts.push((offset, path.to_vec())));
    }
    starts.sort_by_key(|(offset, path)| (*offset, path.len()));
    let mut offset = 0;
    let mut next = 0;
    let mut path = Vec::new();
    let lines = text.split_inclusive('\n').map(|line| {
        let end = offset + line.len();
        // The deepest field that begins in the line; a line of a long text belongs to the field it began in.
        while starts.get(next).is_some_and(|(start, _)| *start < end) {
            path = starts[next].1.clone();
            next += 1;
        }
        offset = end;
        Line { text: line.trim_end_matches('\n').to_owned(), path: path.clone() }
    });
    Ok(lines.collect())
}

/// Every field and element, with the offset of its key or dash.
fn visit(node: &Node, path: &mut Vec<Segment>, see: &mut dyn FnMut(usize, &[Segment])) {
    for entry in node.as_map().into_iter().flatten() {
        let Some(key) = entry.key.text() else { continue };
        path.push(Segment::Key(key.into()));
        see(entry.key.span().start as usize, path);
        visit(&entry.value, path, see);
        path.pop();
    }
    for (index, item) in node.items().iter().enumerate() {
        path.push(Segment::Index(index));
        if item.is_scalar() {
            see(item.span().start as usize, path);
        }
        visit(item, path, see);
        path.pop();
    }
}

/// Where the key of a field is written: a map or a list begins there, not where its first value is.
pub fn key_place(root: &Node, path: &[Segment]) -> Option<Span> {
    let (Segment::Key(last), above) = path.split_last()? else { return None };
    let map = at(root, above)?.as_map()?;
    map.iter().find(|entry| entry.key.text() == Some(last)).map(|entry| entry.key.span())
}

/// The resource and field that a line of the output shows, counted from 1.
pub fn at_line(trace: &Trace, wanted: usize) -> Result<(FoundResource<'_>, Vec<Segment>)> {
    let mut number = 0;
    for (at, (track, seen)) in trace.result.iter().enumerate() {
        if at > 0 {
            number += 1;
            if number == wanted {
                let message = format!("line {wanted} is the `---` between two resources");
                return Err(Diagnostic::error("explain-no-line", message)
                    .help("name a line of a resource: the one before or after it"));
            }
        }
        for line in lines(&seen.node)? {
            number += 1;
            if number == wanted {
                return Ok((FoundResource { track: *track, seen, present: true }, line.path));
            }
        }
    }
    let message = format!("there is no line {wanted} to explain: the output has {number}");
    Err(Diagnostic::error("explain-no-line", message).help("lines are counted from 1, as in an editor"))
}
