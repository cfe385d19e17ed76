//! Values that must not be shown: those of Secrets, and of the fields that the user names.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};

use krm_function::annotations::LAST_APPLIED;
use krm_yaml::{Node, Source, Sources, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use super::find::{FieldPath, each_scalar};
use super::text::MASK;
use crate::compare::lines;
use crate::files::world::clean;
use crate::patch;
use crate::pipeline::Trace;
use crate::pipeline::trace::{Cause, Input, InputKind, Note, Segment, Traced, at, at_mut, holds, pointer};
use crate::resource::{SECRET_DATA as DATA, Track};

/// Where kubectl keeps a copy of everything that was applied, the values of a Secret included.
const APPLIED_COPY: [&str; 3] = ["metadata", "annotations", LAST_APPLIED];

/// Whether a field of a resource is a value of a Secret.
pub(crate) fn is_secret_value(kind: &str, path: &[Segment]) -> bool {
    kind == "Secret" && secret_fields().any(|field| path.starts_with(&field))
}

/// The fields of Secrets that are not shown.
fn secret_fields() -> impl Iterator<Item = Vec<Segment>> {
    let path = |keys: &[&str]| keys.iter().map(|key| Segment::Key((*key).into())).collect();
    DATA.into_iter().map(move |key| path(&[key])).chain([path(&APPLIED_COPY)])
}

/// The values that must not be shown.
///
/// A value is known by the field it is in and by where it is written. So it stays hidden in earlier versions of the resource,
/// in fields that a replacement or a variable copies it to, and in the lines of source files.
pub struct Hidden {
    sources: Sources,
    /// The values of Secrets are hidden.
    secrets: bool,
    /// The values of these fields are.
    fields: Vec<FieldPath>,
    /// Where values that are hidden were written.
    spans: FxHashSet<Span>,
    /// Texts that hold such values, by the name of the file.
    texts: FxHashMap<String, Vec<Range<usize>>>,
    /// Files that are such values, by name.
    files: FxHashSet<String>,
    lines: Mutex<FxHashMap<String, Arc<HiddenLines>>>,
}

impl Hidden {
    /// Everything is shown.
    pub fn nothing() -> Self {
        Self::of([], &Sources::new(), true, &[])
    }

    /// The Secrets of some builds are hidden.
    pub fn secrets<'t>(traces: impl IntoIterator<Item = &'t Trace>, sources: &Sources) -> Self {
        Self::of(traces, sources, false, &[])
    }

    /// What is hidden in some builds.
    pub fn of<'t>(
        traces: impl IntoIterator<Item = &'t Trace>,
        sources: &Sources,
        show_secrets: bool,
        fields: &[FieldPath],
    ) -> Self {
        let (sources, fields) = (sources.clone(), fields.to_vec());
        let (spans, texts, files, lines) = Default::default();
        let mut hidden = Self { sources, secrets: !show_secrets, fields, spans, texts, files, lines };
        if !hidden.is_nothing() {
            let mut seen = FxHashSet::default();
            traces.into_iter().for_each(|trace| hidden.learn(trace, &mut seen));
        }
        hidden
    }

    fn is_nothing(&self) -> bool {
        !self.secrets && self.fields.is_empty()
    }

    /// Whether nothing of a field is shown.
    pub(crate) fn covers(&self, root: &Node, path: &[Segment]) -> bool {
        self.is_within(&self.covered(root, root), path, at(root, path))
    }

    fn is_within(&self, covered: &[Vec<Segment>], path: &[Segment], value: Option<&Node>) -> bool {
        covered.iter().any(|way| path.starts_with(way))
            || value.is_some_and(|value| value.is_scalar() && self.spans.contains(&value.span()))
    }

    /// A field as it may be shown, and whether any of it is hidden.
    pub(crate) fn shown(&self, root: &Node, path: &[Segment], value: &Node) -> (Node, bool) {
        if self.is_nothing() {
            return (value.clone(), false);
        }
        let covered = self.covered(root, root);
        if self.is_within(&covered, path, Some(value)) {
            return (mask(value), true);
        }
        let covered = covered.iter().filter(|way| way.starts_with(path));
        let covered: Vec<Vec<Segment>> = covered.map(|way| way[path.len()..].to_vec()).collect();
        let leaves = self.leaves_in(value, &covered);
        (replaced(value, &leaves, &mut |_, leaf| mask(leaf)), !leaves.is_empty())
    }

    /// A resource as it may be shown.
    pub fn tree(&self, root: &Node) -> Node {
        replaced(root, &self.leaves(root), &mut |_, leaf| mask(leaf))
    }

    /// What is written at a span, as it may be shown.
    pub(crate) fn slice(&self, span: Span) -> String {
        let Some(source) = self.sources.get(span.file) else { return String::new() };
        self.lines(&source).part(source.text(), span.range())
    }

    /// The lines of a file as they may be shown.
    pub fn lines(&self, source: &Source) -> Arc<HiddenLines> {
        let mut known = self.lines.lock().expect("no one panics while holding the files");
        let lines = || Arc::new(self.lines_of(source.name(), source.text()));
        known.entry(source.name().to_owned()).or_insert_with(lines).clone()
    }

    /// The same for a file with this name and text.
    pub(crate) fn lines_of(&self, name: &str, text: &str) -> HiddenLines {
        if self.files.contains(name) {
            return HiddenLines(std::iter::once(0..text.len()).collect());
        }
        let mut ranges = self.texts.get(name).cloned().unwrap_or_default();
        if self.secrets {
            // This covers text that never reached a Secret, too, such as a patch that matched nothing.
            ranges.extend(secrets_in(text));
        }
        ranges.sort_by_key(|range| (range.start, range.end));
        // Ranges that overlap become one: `HiddenLines` relies on that.
        ranges.dedup_by(|next, range| {
            let overlaps = next.start < range.end;
            range.end = if overlaps { range.end.max(next.end) } else { range.end };
            overlaps
        });
        HiddenLines(ranges)
    }

    /// The fields of a tree that are hidden as a whole. Those of a patch are hidden as in the resource it is for.
    fn covered(&self, resource: &Node, tree: &Node) -> Vec<Vec<Segment>> {
        let is_secret = self.secrets && resource.get("kind").and_then(Node::text) == Some("Secret");
        let data = is_secret.then(secret_fields).into_iter().flatten();
        data.chain(self.fields.iter().flat_map(|field| field.ways(tree))).collect()
    }

    /// The paths of all scalars of a resource that are hidden.
    pub fn leaves(&self, root: &Node) -> Vec<Vec<Segment>> {
        self.leaves_in(root, &self.covered(root, root))
    }

    /// The same for a tree in which these fields are hidden.
    fn leaves_in(&self, tree: &Node, covered: &[Vec<Segment>]) -> Vec<Vec<Segment>> {
        let mut leaves = Vec::new();
        // Most resources hide nothing, and finding that out needs no paths.
        if covered.is_empty() && !self.holds_hidden(tree) {
            return leaves;
        }
        each_scalar(tree, &mut Vec::new(), &mut |leaf, path| {
            if self.spans.contains(&leaf.span()) || covered.iter().any(|way| path.starts_with(way)) {
                leaves.push(path.to_vec());
            }
        });
        leaves
    }

    /// Whether a scalar of a tree was written where something is hidden.
    fn holds_hidden(&self, tree: &Node) -> bool {
        let values = || tree.as_map().into_iter().flatten().map(|entry| &entry.value);
        !self.spans.is_empty()
            && match tree.is_scalar() {
                true => self.spans.contains(&tree.span()),
                false => values().chain(tree.items()).any(|value| self.holds_hidden(value)),
            }
    }

    /// Adds the locations where the hidden values of a build are written.
    fn learn(&mut self, trace: &Trace, seen: &mut FxHashSet<usize>) {
        if !seen.insert(std::ptr::from_ref(trace) as usize) {
            return;
        }
        for (index, step) in trace.steps.iter().enumerate() {
            if let Some(within) = &step.within {
                self.learn(within, seen);
            }
            // What is written at these places is the name of something else, not the value.
            let mut names: FxHashSet<Span> = FxHashSet::default();
            for note in &step.notes {
                match &note.cause {
                    Cause::Copied { .. } | Cause::Expanded { .. } => {
                        names.insert(note.written);
                    }
                    Cause::Generated { inputs } => {
                        names.extend(inputs.iter().map(|input| input.entry));
                        inputs.iter().for_each(|input| self.input(input, step));
                    }
                    Cause::Merged { patch, .. } => self.patch(patch, tree(trace, index, note.resource)),
                    Cause::Patched { operation } => {
                        let Some(root) = tree(trace, index, note.resource) else { continue };
                        let covered: Vec<String> =
                            self.covered(root, root).iter().map(|way| pointer(way)).collect();
                        let touches =
                            |path: &str| covered.iter().any(|way| holds(way, path) || holds(path, way));
                        if let Some(value) = operation.value.as_ref().filter(|_| touches(&operation.path)) {
                            self.hide_all(value);
                        }
                    }
                    _ => {}
                }
            }
            for seen in step.changes.iter().filter_map(|change| change.after.as_ref()) {
                let covered = self.covered(&seen.node, &seen.node);
                for value in covered.iter().filter_map(|way| at(&seen.node, way)) {
                    each_scalar(value, &mut Vec::new(), &mut |leaf, _| {
                        let span = leaf.span();
                        let is_new = !span.is_none() && !span.is_empty() && self.spans.insert(span);
                        if is_new && !names.contains(&span) {
                            self.hide(span);
                        }
                    });
                }
            }
            self.copies(trace, index, step);
        }
    }

    /// Fields that hidden values are copied to, from one to the next.
    fn copies(&mut self, trace: &Trace, index: usize, step: &Traced) {
        loop {
            let known = self.spans.len();
            for note in &step.notes {
                let (source, field) = match &note.cause {
                    Cause::Copied { source: Some((source, field)), .. }
                    | Cause::Expanded { source, field, .. } => (*source, field),
                    _ => continue,
                };
                let root = tree(trace, index, source);
                if root.is_some_and(|root| self.is_in(root, field)) {
                    // Of several variables in one text, the value is written where the last one is.
                    let before = index.checked_sub(1).and_then(|step| tree(trace, step, note.resource));
                    let is_alike = |other: &&Note| match (&note.cause, &other.cause) {
                        (Cause::Expanded { name, .. }, Cause::Expanded { name: second, .. }) => {
                            other.resource == note.resource
                                && before.is_none_or(|root| are_in_one_text(root, name, second))
                        }
                        _ => false,
                    };
                    self.spans.insert(note.written);
                    if matches!(note.cause, Cause::Expanded { .. }) {
                        self.spans.extend(step.notes.iter().filter(is_alike).map(|other| other.written));
                    }
                }
            }
            if self.spans.len() == known {
                return;
            }
        }
    }

    /// Whether a field holds, or is part of, what is hidden.
    fn is_in(&self, root: &Node, field: &str) -> bool {
        let ways = FieldPath::parse(field).map(|field| field.ways(root)).unwrap_or_default();
        let leaves = self.leaves(root);
        ways.iter().any(|way| leaves.iter().any(|leaf| leaf.starts_with(way) || way.starts_with(leaf)))
    }

    /// What a generator takes in.
    fn input(&mut self, input: &Input, step: &Traced) {
        let way = |key: &str| [Segment::Key(key.into()), Segment::Key(input.key.clone())];
        let is_hidden = step
            .changes
            .iter()
            .filter_map(|change| change.after.as_ref())
            .any(|seen| ["data", "binaryData"].into_iter().any(|key| self.covers(&seen.node, &way(key))));
        let Some(source) = self.sources.get(input.entry.file).filter(|_| is_hidden) else { return };
        match &input.kind {
            InputKind::Literal => {
                let value = source.slice(input.entry).find('=').map_or(0, |at| at + 1);
                self.hide(Span { start: input.entry.start + value as u32, ..input.entry });
            }
            InputKind::File(path) | InputKind::Env(path, _) => {
                let folder = Path::new(source.name()).parent().unwrap_or(Path::new(""));
                self.files.insert(clean(&folder.join(path)).to_string_lossy().into_owned());
            }
        }
    }

    /// What a strategic merge patch says of hidden fields.
    fn patch(&mut self, patch: &Node, resource: Option<&Node>) {
        for way in self.covered(resource.unwrap_or(patch), patch) {
            if let Some(value) = at(patch, &way) {
                self.hide_all(value);
            }
        }
    }

    fn hide_all(&mut self, value: &Node) {
        each_scalar(value, &mut Vec::new(), &mut |leaf, _| {
            if !leaf.span().is_none() && !leaf.span().is_empty() {
                self.spans.insert(leaf.span());
                self.hide(leaf.span());
            }
        });
    }

    fn hide(&mut self, span: Span) {
        if let Some(source) = self.sources.get(span.file) {
            self.texts.entry(source.name().to_owned()).or_default().push(span.range());
        }
    }
}

/// What is hidden in one file: ranges in order, none of which overlaps another.
pub struct HiddenLines(Vec<Range<usize>>);

impl HiddenLines {
    /// A line, counted from 1, as it may be shown.
    pub fn line(&self, source: &Source, line: usize) -> String {
        let start = source.line_start(line).unwrap_or_default();
        self.part(source.text(), start..start + source.line(line).len())
    }

    /// A part of the text as it may be shown.
    fn part(&self, text: &str, part: Range<usize>) -> String {
        let mut shown = String::with_capacity(part.len());
        let mut at = part.start;
        let first = self.0.partition_point(|range| range.end <= part.start);
        for range in self.0[first..].iter().take_while(|range| range.start < part.end) {
            let (from, to) = (range.start.max(at), range.end.min(part.end));
            let Some(value) = text.get(from..to).filter(|value| !value.is_empty()) else { continue };
            shown.push_str(&text[at..from]);
            shown.push_str(&value[..value.len() - value.trim_start().len()]);
            if !value.trim().is_empty() {
                shown.push_str(MASK);
            }
            at = to;
        }
        shown.push_str(text.get(at..part.end).unwrap_or_default());
        shown
    }
}

/// What changed in a file, in the form of `diff -u`, with the values of Secrets masked.
pub fn difference_without_secrets(name: &str, old: &str, new: &str) -> String {
    let (before, after) = (lines::split(old), lines::split(new));
    let masked = |text: &str, lines: &[&str]| -> Vec<String> {
        let hidden = Hidden::secrets([], &Sources::new()).lines_of("", text);
        let mut end = 0;
        let part = |line: &&str| {
            let start = end;
            end += line.len();
            // The end of a line is part of a hidden value of several lines, and has to stay.
            let ending = &line[line.trim_end_matches(['\n', '\r']).len()..];
            hidden.part(text, start..end - ending.len()) + ending
        };
        lines.iter().map(part).collect()
    };
    let (old, new) = (masked(old, &before), masked(new, &after));
    let hunks = lines::print(&lines::hunks(&before, &after), &old, &new, 3);
    format!("--- {name}\n+++ {name}\n{hunks}")
}

/// Whether a text of a resource uses two variables.
fn are_in_one_text(root: &Node, first: &str, second: &str) -> bool {
    let (first, second) = (format!("$({first})"), format!("$({second})"));
    let mut found = false;
    let mut look = |text: Option<&str>| {
        found |= text.is_some_and(|text| text.contains(&first) && text.contains(&second));
    };
    each_scalar(root, &mut Vec::new(), &mut |leaf, _| look(leaf.text()));
    found
}

/// A resource as it was after a step.
fn tree(trace: &Trace, step: usize, track: Track) -> Option<&Node> {
    let (_, step) = trace.touching(track, step + 1).next_back()?;
    let change = step.change(track)?;
    change.after.as_ref().or(change.before.as_ref()).map(|seen| &seen.node)
}

fn mask(value: &Node) -> Node {
    Node::string(MASK).with_span(value.span())
}

/// A value without what is hidden in another one, which is shown beside it.
pub(crate) fn hidden_as(shown: &Node, value: &Node) -> Node {
    if shown.is_scalar() && shown.text() == Some(MASK) {
        return mask(value);
    }
    let mut leaves = Vec::new();
    each_scalar(shown, &mut Vec::new(), &mut |leaf, path| {
        if leaf.text() == Some(MASK) {
            leaves.push(path.to_vec());
        }
    });
    replaced(value, &leaves, &mut |_, leaf| mask(leaf))
}

/// A copy with some of its scalars replaced.
pub fn replaced(
    root: &Node,
    leaves: &[Vec<Segment>],
    with: &mut dyn FnMut(&[Segment], &Node) -> Node,
) -> Node {
    let mut copy = root.clone();
    for leaf in leaves {
        if let Some(place) = at_mut(&mut copy, leaf) {
            *place = with(leaf, place);
        }
    }
    copy
}

/// The values of Secrets in a text, recognized by their form.
pub fn secrets_in(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    // Without one of these words a text has none, and need not be parsed. A patch need not say that it is for a Secret.
    let has = |word: &str| text.contains(word);
    let may_be_patch = || has("data") && (has("patch") || has("op") && has("path"));
    if ["Secret", "secretGenerator", "stringData"].into_iter().any(has) || may_be_patch() {
        match krm_yaml::parse_str(text) {
            Ok(documents) => {
                documents.iter().for_each(|document| written_secrets(text, &document.root, &mut ranges));
            }
            Err(_) => unreadable_secrets(text, &mut ranges),
        }
    }
    ranges
}

/// Everything that may be a value in a document that may be a Secret, for text that is not YAML.
fn unreadable_secrets(text: &str, ranges: &mut Vec<Range<usize>>) {
    let mut start = 0;
    for document in text.split_inclusive("\n---") {
        let may_be_secret = document.contains("Secret") || document.contains("secretGenerator");
        for line in document.split_inclusive('\n') {
            let value = line.find(": ").or_else(|| line.find("- ")).filter(|_| may_be_secret);
            ranges.extend(value.map(|at| start + at + 2..start + line.trim_end().len().max(at + 2)));
            start += line.len();
        }
    }
}

/// In resources and patches, in generators, in texts within them.
fn written_secrets(text: &str, node: &Node, ranges: &mut Vec<Range<usize>>) {
    // A JSON patch in a file does not say what it is for: it may be a Secret.
    let is_operation = |item: &Node| {
        let op = item.get("op").and_then(Node::text);
        item.get("path").is_some() && op.is_some_and(|op| patch::OPERATIONS.contains(&op))
    };
    let holds = if node.items().iter().any(is_operation) { Holds::Secret } else { Holds::ByItsKind };
    secret_values(text, node, holds, &mut |value| ranges.push(value));
    // The kind of a target is a regular expression, and a target without one has any kind.
    let is_aimed = node.get("target").is_some_and(|target| {
        let kind = target.get("kind").and_then(Node::text);
        kind.is_none_or(|kind| kind.split(['|', '(', ')', '^', '$']).any(|kind| kind == "Secret"))
    });
    for entry in node.as_map().into_iter().flatten() {
        let is_patch = is_aimed && entry.key.text() == Some("patch");
        match entry.value.text() {
            Some(inner) if is_patch || inner.contains("Secret") => {
                let holds = if is_patch { Holds::Secret } else { Holds::ByItsKind };
                secrets_within(text, &entry.value, inner, holds, ranges)
            }
            _ => written_secrets(text, &entry.value, ranges),
        }
    }
    for item in node.items() {
        match item.text() {
            Some(inner) if inner.contains("Secret") => {
                secrets_within(text, item, inner, Holds::ByItsKind, ranges)
            }
            _ => written_secrets(text, item, ranges),
        }
    }
}

/// What is known about a value before anything in it is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// It is a Secret or a patch for one, even if it does not say so.
    Secret,
    /// It is a Secret if its `kind` says so.
    ByItsKind,
}

/// Calls `hide` with the ranges of the values in a Secret, in a patch for one, or in what generates one.
fn secret_values(text: &str, node: &Node, holds: Holds, hide: &mut dyn FnMut(Range<usize>)) {
    let kind = node.get("kind").and_then(Node::text);
    let standalone = (kind == Some("SecretGenerator")).then_some(node);
    let generators = node.get("secretGenerator").map(Node::items).unwrap_or_default();
    let literals = generators.iter().chain(standalone).filter_map(|generator| generator.get("literals"));
    for literal in literals.flat_map(Node::items) {
        let range = literal.span().range();
        let value = text.get(range.clone()).and_then(|literal| literal.find('=')).map_or(0, |at| at + 1);
        hide(range.start + value..range.end);
    }
    // Items of a list for Secrets need not say what they are.
    let items = node.get("items").filter(|_| kind == Some("SecretList")).map(Node::items).unwrap_or_default();
    for item in items.iter().filter(|item| item.get("kind").is_none()) {
        secret_values(text, item, Holds::Secret, hide);
    }
    let mut hide_all =
        |node: &Node| each_scalar(node, &mut Vec::new(), &mut |leaf, _| hide(leaf.span().range()));
    if holds == Holds::Secret || kind == Some("Secret") {
        DATA.into_iter().filter_map(|key| node.get(key)).for_each(&mut hide_all);
        node.at(APPLIED_COPY).into_iter().for_each(&mut hide_all);
    }
    // The operations of a JSON patch.
    for operation in node.items().iter().filter(|_| holds == Holds::Secret) {
        let Some(value) = operation.get("value") else { continue };
        let path = operation.get("path").and_then(Node::text).unwrap_or_default();
        // Of a path that leads nowhere, nobody knows what was meant.
        let Ok(names) = patch::names(path) else {
            hide_all(value);
            continue;
        };
        let field: Vec<Segment> = names.map(Segment::Key).collect();
        for data in secret_fields() {
            let is_within = field.starts_with(&data);
            let hidden = if is_within {
                Some(value)
            } else {
                data.strip_prefix(&*field).and_then(|way| at(value, way))
            };
            hidden.into_iter().for_each(&mut hide_all);
        }
    }
}

/// The same for YAML in a text of a file.
fn secrets_within(text: &str, node: &Node, inner: &str, holds: Holds, ranges: &mut Vec<Range<usize>>) {
    let source = Source::detached("", inner);
    let outer = node.span().range();
    let written = text.get(outer.clone()).unwrap_or_default();
    for document in krm_yaml::parse(&source).unwrap_or_default() {
        secret_values(inner, &document.root, holds, &mut |value| {
            if !written.starts_with('|') {
                return ranges.push(outer.clone());
            }
            // After the line with the `|`, each line is one of the text, indented.
            let mut start = outer.start;
            for (number, line) in written.split_inclusive('\n').enumerate() {
                let own = source.line(number);
                let begin = source.line_start(number).unwrap_or_default();
                let (from, to) = (value.start.max(begin), value.end.min(begin + own.len()));
                if number > 0 && from < to {
                    let indent = line.trim_end_matches(['\n', '\r']).len().saturating_sub(own.len());
                    ranges.push(start + indent + from - begin..start + indent + to - begin);
                }
                start += line.len();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_compared_by_segment() {
        assert!(holds("/data", "/data") && holds("/data", "/data/a") && holds("", "/data"));
        assert!(!holds("/data", "/database") && !holds("/data/a", "/data"));
    }

    #[test]
    fn only_the_values_of_a_secret_are_found_in_a_json_patch() {
        let text = "patches:
- target: {kind: Secret}
  patch: |-
    - {op: add, path: /database, value: seen}
    - {op: add, path: /data/x, value: one}
    - {op: add, path: /stringData, value: {y: two}}
    - {op: add, path: /metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration, value: three}
    - {op: add, path: /metadata/annotations, value: {a: seen, kubectl.kubernetes.io/last-applied-configuration: four}}
";
        let found: Vec<&str> = secrets_in(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["one", "two", "three", "four"]);
    }

    #[test]
    fn a_patch_may_be_for_a_secret_unless_it_says_otherwise() {
        let found = |text: &str| -> Vec<String> {
            secrets_in(text).into_iter().map(|range| text[range].to_owned()).collect()
        };
        let with_target = |target: &str| {
            format!("- target: {target}\n  patch: |-\n    - {{op: add, path: /data/x, value: one}}\n")
        };
        assert_eq!(found(&with_target("{name: s}")), ["one"]);
        assert_eq!(found(&with_target("{kind: Secret|ConfigMap}")), ["one"]);
        assert_eq!(found(&with_target("{kind: ConfigMap}")), [""; 0]);
        assert_eq!(found("- {op: add, path: /stringData/x, value: one}\n"), ["one"]);
        // Where the path leads is not clear, so nothing of the value is shown.
        assert_eq!(found("- {op: add, path: stringData, value: {y: two}}\n"), ["two"]);
        assert_eq!(found("- {op: add, path: data, value: {y: two}}\n"), ["two"]);
        assert_eq!(found("- target: {name: s}\n  patch: 'data: {x: one}'\n"), ["'data: {x: one}'"]);
        // Lists of other things have such fields, too.
        assert_eq!(found("- {op: in, path: data, value: {y: seen}}\n"), [""; 0]);
    }

    #[test]
    fn the_literals_of_secret_generators_are_found_wherever_they_are() {
        let text = "secretGenerator: [{literals: [a=one]}]
generators:
- |-
  kind: SecretGenerator
  literals:
  - b=two
---
kind: SecretGenerator
literals: [c=three]
envs: [seen]
---
kind: ConfigMapGenerator
literals: [d=seen]
";
        let found: Vec<&str> = secrets_in(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["one", "two", "three"]);
    }

    #[test]
    fn items_of_a_list_for_secrets_are_secrets() {
        let text = "kind: SecretList\nitems:\n- stringData: {a: one}\n- kind: Secret\n  data: {b: two}\n";
        let found: Vec<&str> = secrets_in(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["one", "two"]);
    }

    #[test]
    fn a_difference_shows_that_a_secret_changed_but_not_how() {
        let text = |value: &str| format!("kind: Secret\nstringData:\n  a: same\n  b: {value}\n");
        let wanted = "--- x\n+++ x\n@@ -1,4 +1,4 @@
 kind: Secret
 stringData:
   a: •••
-  b: •••
+  b: •••
";
        assert_eq!(difference_without_secrets("x", &text("old"), &text("new")), wanted);
    }

    #[test]
    fn a_difference_has_the_lines_of_a_hidden_value() {
        for ending in ["\n", "\r\n"] {
            let text = |name: &str| {
                let text = format!("kind: Secret\nstringData:\n  key: |\n    aaa\n\n    bbb\nname: {name}\n");
                text.replace('\n', ending)
            };
            let wanted = "@@ -4,4 +4,4 @@
     •••

     •••
-name: old
+name: new
";
            let shown = difference_without_secrets("x", &text("old"), &text("new"));
            let (_, shown) = shown.split_once("+++ x\n").expect("it has a heading");
            assert_eq!(shown.replace("\r\n", "\n").replace(" \n", "\n"), wanted);
        }
    }
}
