//! Under which conditions a step acts: what its entry, its patch and its configuration ask for.

use std::rc::Rc;

use krm_yaml::{Node, Span};
use rustc_hash::FxHashSet;

use super::{Elements, Found, Site, Sites, VALUES, scalars};
use crate::explain::find::in_patch;
use crate::explain::labels::is_kustomization;
use crate::pipeline::trace::{Cause, Event, Segment, Traced};
use crate::pipeline::{Role, StepField, Trace};
use crate::resource::Track;

impl Sites<'_> {
    /// What a resource is: what patches, selectors and references know it by.
    pub(super) fn identity(&self, trace: &Trace, until: usize, track: Track, found: &mut Found) {
        for path in [&["apiVersion"][..], &["kind"], &["metadata", "name"], &["metadata", "namespace"]] {
            let path: Vec<Segment> = path.iter().map(|key| Segment::Key((*key).into())).collect();
            found.conditions.extend(self.field(trace, until, track, &path, Elements::Without).all());
        }
    }

    /// Under which conditions the step of an event acted.
    pub(super) fn step(&self, event: &Event, found: &mut Found) {
        let step = event.step;
        let mut causes: Vec<&Cause> = step.causes(event.resource, event.written).collect();
        causes.extend(event.causes.iter().filter(|cause| matches!(cause, Cause::Expanded { .. })));
        let conditions = &mut found.conditions;
        let mut by_labels = Vec::new();
        for cause in &causes {
            match cause {
                Cause::Merged { patch, .. } => of_patch(patch, &event.path, conditions),
                Cause::Patched { operation } => {
                    conditions.extend(operation.asked.iter().map(|span| Site::Text(*span)));
                }
                Cause::Matched { asked, .. } => {
                    let is_patch = |cause: &&Cause| matches!(cause, Cause::Merged { patch, .. } if patch.span() == *asked);
                    if !causes.iter().any(is_patch) {
                        conditions.extend(self.within(*asked));
                        let text =
                            self.labels.sources.get(asked.file).map(|source| source.slice(*asked).to_owned());
                        let text = text.unwrap_or_default();
                        by_labels.extend(text.contains("labelSelector").then_some("labels"));
                        by_labels.extend(text.contains("annotationSelector").then_some("annotations"));
                    }
                }
                Cause::Copied { entry, .. } => conditions.extend(self.within(*entry)),
                Cause::Expanded { variable, .. } => {
                    if let Some(entry) = self.entry_with(*variable, "name") {
                        conditions.extend(self.within(entry.span()));
                    }
                    conditions.insert(Site::Text(*variable));
                }
                Cause::Called { config, place, .. } => {
                    conditions.extend(self.within(*place));
                    let written = self.with_span(*place).zip(config.as_ref());
                    if let Some((written, config)) = written {
                        overridden(&written, config, &mut |span| {
                            conditions.remove(&Site::Text(span));
                        });
                    }
                    config.iter().for_each(|config| {
                        scalars(config, &mut |at| {
                            conditions.extend((!at.is_none()).then_some(Site::Text(at)))
                        });
                    });
                }
                _ => {}
            }
        }
        self.entry(event, conditions);
        if step.name.field == StepField::BuildMetadata {
            // It says which steps there were.
            for earlier in event.trace.history_until(event.index, event.resource, &[]) {
                self.entry(&earlier, conditions);
                self.matched(earlier.step, earlier.resource, conditions);
            }
        }
        for field in by_labels {
            let path = [Segment::Key("metadata".into()), Segment::Key(field.into())];
            let mut labels = Found::default();
            self.add_plain(event.trace, event.index, event.resource, &path, &mut labels);
            found.conditions.extend(labels.all());
        }
    }

    /// What else the entry says that asked for the step.
    pub(super) fn entry(&self, event: &Event, conditions: &mut FxHashSet<Site>) {
        let step = event.step;
        let place = step.entries.first().copied().unwrap_or(step.place);
        let Some(source) = self.labels.sources.get(place.file) else { return };
        let documents = self.labels.documents(place.file);
        if !is_kustomization(source.name()) {
            if let Some(config) = documents.iter().find(|node| node.span().holds(place)) {
                match config.get("kind").and_then(Node::text) {
                    // The other entries of a list of functions are other steps.
                    Some(kind @ (COMPOSITION | KPTFILE)) => {
                        for key in ["apiVersion", "kind", "transformersFrom", "transformerOrder"] {
                            let node = config.get(key).filter(|_| kind == COMPOSITION || key.len() < 11);
                            conditions.extend(node.into_iter().flat_map(|node| self.within(node.span())));
                        }
                        let mut called = step.causes(event.resource, event.written);
                        let pipeline = config.get("pipeline");
                        let lists =
                            ["mutators", "validators"].into_iter().filter_map(|key| pipeline?.get(key));
                        let mut functions = lists.flat_map(Node::items);
                        match functions.find(|function| function.span().holds(place)) {
                            Some(function) => conditions.extend(self.within(function.span())),
                            // What a function of a Composition gets is known with what overrides make of it.
                            None if called.any(|cause| matches!(cause, Cause::Called { .. })) => {}
                            None => conditions.extend(self.within(place)),
                        }
                    }
                    _ => scalars(config, &mut |span| conditions.extend([Site::Text(span)])),
                }
                let path = config.get("targetFilePath").and_then(Node::text);
                conditions.extend(path.and_then(|path| self.file(place, path)));
            }
            return;
        }
        let Some(root) = documents.first() else { return };
        let name = step.name_of(event.written);
        let node = root.get(name.field.as_str()).map(|list| match name.index {
            Some(index) => list.items().get(index as usize).unwrap_or(list),
            None => list,
        });
        if name.folder.is_empty()
            && let Some(options) = root.get("buildMetadata")
        {
            conditions_of(options, conditions);
        }
        let is_pairs = matches!(name.field, StepField::CommonLabels | StepField::CommonAnnotations);
        if let Some(node) = node.filter(|_| !is_pairs) {
            conditions_of(node, conditions);
            // A configuration that is written here may name a file of its own.
            let named = node.text().unwrap_or_default().lines();
            let named = named.filter_map(|line| line.trim().strip_prefix("targetFilePath:"));
            conditions.extend(named.filter_map(|path| self.file(place, path.trim())));
        }
        if step.role == Role::Generate
            && let Some(options) = root.get("generatorOptions")
        {
            conditions_of(options, conditions);
        }
    }

    /// What resources a step chose.
    pub(super) fn matched(&self, step: &Traced, track: Track, conditions: &mut FxHashSet<Site>) {
        for cause in step.causes(track, Span::NONE) {
            let is_patch = |asked: Span| {
                step.causes(track, Span::NONE)
                    .any(|cause| matches!(cause, Cause::Merged { patch, .. } if patch.span() == asked))
            };
            if let Cause::Matched { asked, .. } = cause
                && !is_patch(*asked)
            {
                conditions.extend(self.within(*asked));
            }
        }
    }

    /// Whether a path under `fieldPaths` names an element so: if there is none, it may be made.
    pub(super) fn is_selected_by(&self, trace: &Trace, until: usize, track: Track, text: &str) -> bool {
        trace.steps.iter().take(until).any(|step| {
            let notes = step.notes.iter().filter(|note| note.resource == track);
            let mut paths = notes.filter_map(|note| match note.cause {
                Cause::Copied { path, .. } => {
                    self.labels.sources.get(path.file).map(|source| source.slice(path).to_owned())
                }
                _ => None,
            });
            paths.any(|path| path.contains(text))
        })
    }

    /// The files that say which fields hold names, images and so on, in the kustomizations of a trace and of its bases.
    pub(super) fn configurations(&self, trace: &Trace) -> Rc<[Site]> {
        let id = std::ptr::from_ref(trace) as usize;
        if let Some(known) = self.configurations.borrow().get(&id) {
            return known.clone();
        }
        let mut all: Vec<Site> = Vec::new();
        let mut files = FxHashSet::default();
        for step in &trace.steps {
            if let Some(within) = &step.within {
                all.extend(self.configurations(within).iter().cloned());
            }
            let Some(source) =
                self.labels.sources.get(step.place.file).filter(|_| files.insert(step.place.file))
            else {
                continue;
            };
            if !is_kustomization(source.name()) {
                continue;
            }
            let documents = self.labels.documents(step.place.file);
            let Some(root) = documents.first() else { continue };
            let lists = ["configurations", "crds"].into_iter().filter_map(|key| root.get(key));
            let schema = root.get("openapi").and_then(|openapi| openapi.get("path"));
            for path in lists.flat_map(Node::items).chain(schema) {
                all.extend(path.text().and_then(|text| self.file(path.span(), text)));
            }
        }
        let mut seen = FxHashSet::default();
        all.retain(|site| seen.insert(site.clone()));
        let all: Rc<[Site]> = all.into();
        self.configurations.borrow_mut().insert(id, all.clone());
        all
    }

    /// The scalars of a file within a span.
    pub(super) fn within(&self, span: Span) -> Vec<Site> {
        let mut all = Vec::new();
        if span.is_none() {
            return all;
        }
        for document in self.labels.documents(span.file).iter() {
            scalars(document, &mut |scalar| {
                if span.holds(scalar) {
                    all.push(Site::Text(scalar));
                }
            });
        }
        if all.is_empty() {
            all.push(Site::Text(span));
        }
        all
    }

    /// The map or list that is written at a place.
    pub(super) fn with_span(&self, span: Span) -> Option<Node> {
        fn find(node: &Node, span: Span) -> Option<Node> {
            if node.span() == span {
                return Some(node.clone());
            }
            let values = node.as_map().into_iter().flatten().map(|entry| &entry.value);
            values.chain(node.items()).find_map(|node| find(node, span))
        }
        self.labels.documents(span.file).iter().find_map(|document| find(document, span))
    }

    /// The innermost map that has a value with this span under a key.
    pub(super) fn entry_with(&self, span: Span, key: &str) -> Option<Node> {
        fn find(node: &Node, span: Span, key: &str) -> Option<Node> {
            if node.get(key).is_some_and(|value| value.span() == span) {
                return Some(node.clone());
            }
            let values = node.as_map().into_iter().flatten().map(|entry| &entry.value);
            values.chain(node.items()).find_map(|node| find(node, span, key))
        }
        self.labels.documents(span.file).iter().find_map(|document| find(document, span, key))
    }
}

/// What of a strategic merge patch decides whether it applies to a field: what it is a patch of, by what it knows elements of
/// lists, and its directives.
pub(super) fn of_patch(patch: &Node, path: &[Segment], conditions: &mut FxHashSet<Site>) {
    for keys in [&["apiVersion"][..], &["kind"], &["metadata", "name"], &["metadata", "namespace"]] {
        conditions.extend(patch.at(keys.iter().copied()).map(|node| Site::Text(node.span())));
    }
    for depth in 1..=path.len() {
        let is_element = matches!(path[depth - 1], Segment::Index(_));
        for node in in_patch(patch, &path[..depth]) {
            // Which field of an element is its key is for schemas to say: any may be.
            let keys = node.as_map().into_iter().flatten().filter(|_| is_element).map(|entry| &entry.value);
            conditions.extend(keys.filter(|key| key.is_scalar()).map(|key| Site::Text(key.span())));
            if depth == path.len() && !node.is_scalar() {
                scalars(node, &mut |span| conditions.extend([Site::Text(span)]));
            }
        }
    }
    directives(patch, conditions);
}

pub(super) fn directives(node: &Node, conditions: &mut FxHashSet<Site>) {
    for entry in node.as_map().into_iter().flatten() {
        match entry.key.text().is_some_and(|key| key.starts_with('$')) {
            true => scalars(&entry.value, &mut |span| conditions.extend([Site::Text(span)])),
            false => directives(&entry.value, conditions),
        }
    }
    node.items().iter().for_each(|item| directives(item, conditions));
}

/// The kinds of documents that list functions.
const COMPOSITION: &str = "Composition";
const KPTFILE: &str = "Kptfile";

/// What is written of a configuration and is not what its program gets, since something else took its place.
fn overridden(written: &Node, config: &Node, see: &mut dyn FnMut(Span)) {
    for entry in written.as_map().into_iter().flatten() {
        let Some(now) = entry.key.text().and_then(|key| config.get(key)) else { continue };
        match (entry.value.is_map() && now.is_map(), entry.value.span() == now.span()) {
            (true, _) => overridden(&entry.value, now, see),
            (false, false) if !now.span().is_none() => scalars(&entry.value, see),
            _ => {}
        }
    }
}

/// The scalars of an entry apart from those that are values.
pub(super) fn conditions_of(node: &Node, conditions: &mut FxHashSet<Site>) {
    if node.is_scalar() {
        conditions.insert(Site::Text(node.span()));
    }
    for entry in node.as_map().into_iter().flatten() {
        if !entry.key.text().is_some_and(|key| VALUES.contains(&key)) {
            conditions_of(&entry.value, conditions);
        }
    }
    node.items().iter().for_each(|item| conditions_of(item, conditions));
}
