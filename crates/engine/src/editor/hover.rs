//! What is known about the text under the cursor.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use krm_yaml::{Node, Span};

use super::complete::builtin_at;
use super::cursor::Cursor;
use super::facts::Role;
use super::fields::FileKind;
use super::problems::FileSpan;
use super::{Editor, builtins};
use crate::explain::{
    self, Explanation, FieldPath, FoundResource, Hidden, HistoryOptions, Labels, ResourceName, Where, text,
};
use crate::files::relative;
use crate::pipeline::Trace;
use crate::workspace::{Reference, ReferenceTarget};

/// A text in Markdown, and what it is about.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Hover {
    /// In Markdown.
    pub text: String,
    /// The text it is about.
    pub place: FileSpan,
}

/// The most builds to describe; the rest are only counted.
pub(super) const MOST_BUILDS: usize = 5;

impl Editor {
    /// What is known about the text at a byte of a file.
    pub fn hover(&mut self, path: &Path, offset: usize) -> Option<Hover> {
        self.sync();
        let path = self.world.place(path);
        let role = self.role(&path);
        let cursor = self.cursor(&path, offset)?;
        let text = match role {
            _ if cursor.outer.is_some() => self.histories(&path, &cursor),
            Role::Ours(kind) => self.meaning(&path, &cursor, kind, offset),
            Role::Resource | Role::Patch => self.histories(&path, &cursor),
            Role::Replacement | Role::Named | Role::Stranger => None,
        }?;
        Some(Hover { text, place: FileSpan { path, source: cursor.source.clone(), span: cursor.span } })
    }

    /// What a field of a kustomization, a Composition or a Kptfile means, and what its entry does.
    fn meaning(&mut self, path: &Path, cursor: &Cursor, kind: FileKind, offset: usize) -> Option<String> {
        let mut parts: Vec<String> = Vec::new();
        let keys = cursor.keys();
        let of_builtin = builtin_at(cursor, kind, &keys, 0)
            .and_then(|(builtin, path)| self.schemas.description_of_builtin(builtin, path));
        if let Some(description) = self.schemas.description(kind, &keys).or(of_builtin) {
            let name = keys.iter().rev().find(|key| **key != "*").copied().unwrap_or_default();
            parts.push(format!("**{name}**: {description}"));
        }
        let value = cursor.node.text().unwrap_or_default();
        if keys.last() == Some(&"kind")
            && let Some(description) = builtins::description(value)
        {
            parts.push(format!("**{value}**: {description}"));
        }
        if let Some(reference) = self.reference_at(path, offset).cloned() {
            parts.push(self.target(&reference));
        } else if kind == FileKind::Kustomization {
            parts.extend(self.effects(path, cursor));
        }
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }

    /// What a path leads to.
    fn target(&mut self, reference: &Reference) -> String {
        match reference.target.clone() {
            ReferenceTarget::File(file) => {
                let defined = self.defined_in(&file);
                let names: Vec<String> =
                    defined.iter().map(|d| format!("- {} `{}`", d.kind, d.name)).collect();
                listed(&format!("The file `{}`", relative(&file, self.root())), &names)
            }
            ReferenceTarget::Layer(folder) => {
                let shown = relative(&folder, self.root());
                let Some(layer) = self.workspace.layer(&folder) else {
                    return format!("The folder `{shown}`");
                };
                let what = format!("The {} in `{shown}`", layer.kind.name());
                let folders: Vec<PathBuf> =
                    self.workspace.closure(layer).into_iter().map(|layer| layer.folder.clone()).collect();
                let defined = self.definitions(&folders);
                let names: Vec<String> =
                    defined.iter().map(|d| format!("- {} `{}`", d.kind, d.name)).collect();
                listed(&what, &names)
            }
            ReferenceTarget::Folder(folder) => format!("The folder `{}`", relative(&folder, self.root())),
            ReferenceTarget::Remote(address) => format!("`{address}` is not fetched for an editor."),
            ReferenceTarget::Missing(file) => {
                format!("There is nothing at `{}`.", relative(&file, self.root()))
            }
        }
    }

    /// What an entry of a kustomization did in the builds that use it.
    fn effects(&mut self, path: &Path, cursor: &Cursor) -> Option<String> {
        let file = self.session.text_of(path)?.id();
        let steps = if cursor.path.len() > 1 { 2 } else { 1 };
        let entry = crate::pipeline::trace::at(&cursor.root, &cursor.path[..steps.min(cursor.path.len())])?;
        let entry = Span { file, ..entry.span() };
        let roots = self.roots_using(path);
        let mut lines = Vec::new();
        for root in roots.iter().take(MOST_BUILDS) {
            let Some(trace) = self.trace(root) else { continue };
            let mut effect = Effect::default();
            effect.collect(&trace, entry);
            if effect.ran {
                lines.push(format!("- {} in `{}`", effect.text(), self.shown(root)));
            }
        }
        if lines.is_empty() {
            return None;
        }
        more(&mut lines, roots.len());
        Some(lines.join("\n"))
    }

    /// The history of the value under the cursor, in each build that uses it.
    fn histories(&mut self, path: &Path, cursor: &Cursor) -> Option<String> {
        let (kind, name, field) = subject(cursor)?;
        let resource = ResourceName::parse(&format!("{kind}/{name}")).ok()?;
        let field = FieldPath::parse(&field).ok()?;
        let roots = self.roots_using(path);
        let mut parts = Vec::new();
        for root in roots.iter().take(MOST_BUILDS) {
            let Some(trace) = self.trace(root) else { continue };
            let Ok(found) = explain::resources(&trace, &resource) else { continue };
            // The build has read the file by now.
            let file = self.session.text_of(path).map_or(cursor.span.file, |source| source.id());
            let written = Span { file, ..cursor.span };
            let labels = Labels::new(&self.sources);
            let hidden = Hidden::secrets([&*trace], &self.sources);
            for found in found.iter().take(2) {
                // A position in this file may be another element's in the result.
                let by_path = || explain::locate(&trace, found, &field).into_iter().next();
                if let Some(place) = written_at(&trace, found, written).or_else(by_path) {
                    let answer = explain::explain(
                        &place,
                        HistoryOptions { labels: &labels, hidden: &hidden, depth: 2, conditions: false },
                    );
                    parts.push(self.history(&answer, &self.shown(root)));
                }
            }
        }
        if parts.is_empty() {
            return None;
        }
        more(&mut parts, roots.len());
        Some(format!("**{kind} {name}** {}\n\n{}", code(field.text()), parts.join("\n\n")))
    }

    fn history(&self, answer: &Explanation, root: &str) -> String {
        let shown = |node: &Node| code(&text::value(node));
        let now = match (answer.state, &answer.value) {
            (explain::State::Present, Some(value)) => shown(value),
            (state, _) => state.name().to_owned(),
        };
        let mut part = format!("In `{root}`: {now}");
        for entry in &answer.history {
            let place = text::line_of(entry.place, &self.sources)
                .map(|place| format!("`{place}` "))
                .unwrap_or_default();
            let _ = write!(part, "\n- {place}{}", entry.label);
            let whole = |node: &Option<Node>| node.as_ref().is_some_and(|node| !node.is_scalar());
            if whole(&entry.before) || whole(&entry.after) {
                continue;
            }
            match (&entry.before, &entry.after) {
                (Some(before), Some(after)) => {
                    let _ = write!(part, ": {} → {}", shown(before), shown(after));
                }
                (None, Some(value)) => {
                    let _ = write!(part, ": {}", shown(value));
                }
                _ => {}
            }
        }
        part
    }

    pub(super) fn shown(&self, folder: &Path) -> String {
        match relative(folder, self.root()) {
            shown if shown.is_empty() => ".".to_owned(),
            shown => shown,
        }
    }
}

fn listed(what: &str, names: &[String]) -> String {
    const MOST: usize = 20;
    if names.is_empty() {
        return what.to_owned();
    }
    let mut text = format!("{what}:\n\n{}", names.iter().take(MOST).cloned().collect::<Vec<_>>().join("\n"));
    if names.len() > MOST {
        let _ = write!(text, "\n- and {} more", names.len() - MOST);
    }
    text
}

fn more(parts: &mut Vec<String>, builds: usize) {
    if builds > MOST_BUILDS {
        parts.push(format!("and in {} more builds", builds - MOST_BUILDS));
    }
}

/// A text as code, whatever is in it.
fn code(text: &str) -> String {
    match text.contains('`') {
        true => format!("`` {text} ``"),
        false => format!("`{text}`"),
    }
}

/// The kind, the name and the field that the cursor is about.
fn subject(cursor: &Cursor) -> Option<(String, String, String)> {
    let target = cursor.outer.as_ref().and_then(|outer| outer.above(1)?.get("target"));
    let of =
        |node: Option<&Node>| node.and_then(Node::text).filter(|text| !text.is_empty()).map(str::to_owned);
    let root = &cursor.root;
    let kind = of(target.and_then(|target| target.get("kind"))).or_else(|| of(root.get("kind")))?;
    let name =
        of(target.and_then(|target| target.get("name"))).or_else(|| of(root.at(["metadata", "name"])))?;
    if root.is_seq() {
        // An operation of a JSON patch.
        let operation = crate::pipeline::trace::at(root, cursor.path.get(..1)?)?;
        return Some((kind, name, of(operation.get("path"))?));
    }
    cursor.node.is_scalar().then(|| (kind, name, explain::shown_path(root, &cursor.path)))
}

/// The field of the result that a value written at a place is in, or was in before it was overwritten.
fn written_at<'t>(trace: &'t Trace, found: &FoundResource<'t>, written: Span) -> Option<Where<'t>> {
    let mut way = None;
    explain::each_scalar(&found.seen.node, &mut Vec::new(), &mut |_, path| {
        let is_it = || trace.history(found.track, path).iter().any(|event| event.written == written);
        if found.present && way.is_none() && is_it() {
            way = Some(path.to_vec());
        }
    });
    Some(Where::in_result(trace, found, way?))
}

/// What an entry of a kustomization did in a build.
#[derive(Default)]
struct Effect {
    ran: bool,
    resources: usize,
    fields: usize,
}

impl Effect {
    fn collect(&mut self, trace: &Trace, entry: Span) {
        for step in trace.whole_steps() {
            if let Some(within) = &step.within {
                self.collect(within, entry);
            }
            let own = step.entries.iter().position(|span| entry.holds(*span));
            if own.is_none() && !entry.holds(step.place) {
                continue;
            }
            self.ran = true;
            for change in &step.changes {
                let (Some(before), Some(after)) = (&change.before, &change.after) else {
                    self.resources += 1;
                    continue;
                };
                let mut fields = 0;
                differences(&before.node, &after.node, &mut |written| {
                    let is_own = step.entries.len() < 2 || step.entry_of(written) == own;
                    fields += usize::from(is_own);
                });
                self.resources += usize::from(fields > 0);
                self.fields += fields;
            }
        }
    }

    fn text(&self) -> String {
        let count = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            _ => format!("{count} {what}s"),
        };
        match (self.fields, self.resources) {
            (0, 0) => "changes nothing".to_owned(),
            (0, resources) => format!("brings or removes {}", count(resources, "resource")),
            (fields, resources) => {
                format!("changes {} of {}", count(fields, "field"), count(resources, "resource"))
            }
        }
    }
}

/// Every scalar that is not what it was: where the new one was written.
fn differences(before: &Node, after: &Node, see: &mut dyn FnMut(Span)) {
    if before.same(after) && before.span() == after.span() {
        return;
    }
    if let (Some(old), Some(new)) = (before.as_map(), after.as_map()) {
        for entry in new {
            match entry.key.text().and_then(|key| old.get(key)) {
                Some(before) => differences(before, &entry.value, see),
                None => see(entry.value.span()),
            }
        }
        let gone = old.iter().filter(|entry| entry.key.text().is_some_and(|key| new.get(key).is_none()));
        gone.for_each(|_| see(Span::NONE));
    } else if before.is_seq() && after.is_seq() {
        let (old, new) = (before.items(), after.items());
        new.iter().zip(old).for_each(|(after, before)| differences(before, after, see));
        new.iter().skip(old.len()).for_each(|item| see(item.span()));
        old.iter().skip(new.len()).for_each(|_| see(Span::NONE));
    } else if !before.same(after) {
        see(after.span());
    }
}
