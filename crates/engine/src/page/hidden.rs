//! Which parts of source files hold values of Secrets, and are not to be seen.

use std::ops::Range;

use krm_yaml::{FileId, Node, Source};
use rustc_hash::FxHashMap;

use super::flatten::Flat;
use crate::explain::masked;
use crate::explain::text::MASK;
use crate::pipeline::trace::Segment;

/// The values of Secrets in files.
pub(super) struct Hidden {
    /// Nothing is, since someone asked to see them.
    nothing: bool,
    /// Where values that came into Secrets are written.
    known: FxHashMap<FileId, Vec<Range<usize>>>,
}

impl Hidden {
    pub fn new(flat: &Flat, nothing: bool) -> Self {
        let mut known: FxHashMap<FileId, Vec<Range<usize>>> = FxHashMap::default();
        let all = flat.chains.iter().filter(|_| !nothing).flat_map(|chain| &chain.versions);
        for (_, seen) in all.filter(|(_, seen)| seen.id.gvk.kind == "Secret") {
            each_value(&seen.node, &mut |value| {
                if !value.span().is_none() {
                    known.entry(value.span().file).or_default().push(value.span().range());
                }
            });
        }
        Self { nothing, known }
    }

    /// The lines of a file as they may be seen.
    pub fn lines(&self, source: &Source) -> HiddenLines {
        let mut ranges = self.known.get(&source.id()).cloned().unwrap_or_default();
        if !self.nothing {
            // Also what never came into a Secret, such as a patch that matched nothing.
            for document in krm_yaml::parse_str(source.text()).unwrap_or_default() {
                written_secrets(&document.root, &mut ranges);
            }
        }
        ranges.sort_by_key(|range| (range.start, range.end));
        HiddenLines(ranges)
    }
}

/// What is hidden in one file.
pub(super) struct HiddenLines(Vec<Range<usize>>);

impl HiddenLines {
    /// A line, from 1, as it may be seen.
    pub fn line(&self, source: &Source, line: usize) -> String {
        let text = source.line(line);
        let start = source.line_start(line).unwrap_or_default();
        let end = start + text.len();
        let mut shown = String::with_capacity(text.len());
        let mut at = start;
        for range in self.0.iter().filter(|range| range.start < end && start < range.end) {
            let (from, to) = (range.start.max(at), range.end.min(end));
            if from >= to {
                continue;
            }
            shown.push_str(&source.text()[at..from]);
            let value = &source.text()[from..to];
            shown.push_str(&value[..value.len() - value.trim_start().len()]);
            if !value.trim().is_empty() {
                shown.push_str(MASK);
            }
            at = to;
        }
        shown.push_str(&source.text()[at..end]);
        shown
    }
}

fn each_value(root: &Node, see: &mut dyn FnMut(&Node)) {
    for entry in root.as_map().into_iter().flatten() {
        let Some(key) = entry.key.text() else { continue };
        if masked("Secret", &[Segment::Key(key.into())]) {
            each_scalar(&entry.value, see);
        }
    }
}

fn each_scalar(node: &Node, see: &mut dyn FnMut(&Node)) {
    if node.is_scalar() {
        see(node);
    }
    node.as_map().into_iter().flatten().for_each(|entry| each_scalar(&entry.value, see));
    node.items().iter().for_each(|item| each_scalar(item, see));
}

/// Values of Secrets by the look of them: in resources and patches, in generators, in texts within.
fn written_secrets(node: &Node, ranges: &mut Vec<Range<usize>>) {
    let mut hide = |node: &Node| ranges.push(node.span().range());
    if node.get("kind").and_then(Node::text) == Some("Secret") {
        each_value(node, &mut hide);
    }
    if let Some(generators) = node.get("secretGenerator") {
        let literals = generators.items().iter().filter_map(|generator| generator.get("literals"));
        literals.for_each(|literals| each_scalar(literals, &mut hide));
    }
    if node.text().is_some_and(|text| text.contains('\n') && text.contains("Secret")) {
        hide(node);
    }
    node.as_map().into_iter().flatten().for_each(|entry| written_secrets(&entry.value, ranges));
    node.items().iter().for_each(|item| written_secrets(item, ranges));
}
