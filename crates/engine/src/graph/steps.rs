//! A build as a tree: the layers it consists of, and what each of their steps did, in the order they ran.

use krm_yaml::{Diagnostic, Failure, Fix, Node, Sources, Span};

use crate::compare::fields::differences;
use crate::functions::FunctionSpec;
use crate::pipeline::trace::{Change, Traced};
use crate::pipeline::{Role, StepField, StepName, Trace};
use crate::resource::ResourceId;
use crate::workspace::{Layer, LayerKind, ReferenceTarget};

/// A layer, what it adds, the layers it is built on, and what it does to their resources.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Its folder or address.
    pub label: String,
    /// What kind of layer it is.
    pub kind: LayerKind,
    /// How many resources it was made of and how many it gives; a component gives none itself.
    pub resources: Option<(usize, usize)>,
    /// Its own files and generators, in the order of the file.
    pub content: Vec<Content>,
    /// The layers it is built on, in the order of the entries that name them.
    pub layers: Vec<Branch>,
    /// In the order they ran.
    pub steps: Vec<StepView>,
}

/// Something a layer adds.
#[derive(Clone, Debug)]
pub enum Content {
    /// A file, and the resources that are in it.
    File {
        /// As the entry names it.
        path: String,
        /// In the order of the file.
        resources: Vec<ResourceId>,
        /// The entry.
        place: Span,
    },
    /// A generator.
    Generated(StepView),
}

impl Content {
    pub(crate) fn step(&self) -> Option<&StepView> {
        match self {
            Content::File { .. } => None,
            Content::Generated(step) => Some(step),
        }
    }

    /// The entry that names the file or asks for the generator.
    pub fn place(&self) -> Span {
        match self {
            Content::File { place, .. } => *place,
            Content::Generated(step) => step.place,
        }
    }
}

/// A step that ran.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StepView {
    /// Its full name: `overlays/production#images[0]`.
    pub name: StepName,
    /// The entry or field that asked for it.
    pub place: Span,
    /// What it is.
    pub kind: StepKind,
    /// How many resources it was given.
    pub given: usize,
    /// What it added, changed or removed; a resource that it left as it was is not among them.
    pub touched: Vec<Touched>,
    /// Why it did not do what it was asked to.
    pub misses: Vec<String>,
}

/// What a step is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepKind {
    /// A patch: its file, or where it is written.
    Patch(String),
    /// One value for all resources: a namespace, a prefix.
    Value(String),
    /// The same for all resources: labels.
    Uniform,
    /// Individual fields: images, replicas, replacements.
    Fields,
    /// A generator.
    Generator {
        /// It replaces a resource that is there, by `behavior: replace`.
        replaces: bool,
    },
    /// A built-in with its own configuration, by its name.
    Configured(String),
    /// A function, or helm.
    Function {
        /// The name of its configuration, or of the charts that helm inflates.
        name: String,
        /// `exec`, `container`, `wasm` or `helm`.
        runs_as: &'static str,
        /// Whether it was allowed to run; if not, it was skipped.
        ran: bool,
    },
}

/// A resource that a step touched.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Touched {
    /// As it was before the step, unless the step added it.
    pub id: ResourceId,
    /// What happened to it.
    pub effect: Effect,
    /// How many values changed.
    pub fields: usize,
    /// Where the resource is written.
    pub place: Span,
}

/// What a step did to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It made the resource.
    Added,
    /// At least one value of it differs.
    Changed,
    /// It took the resource away.
    Removed,
}

impl Effect {
    /// The verb for it: `adds`, `changes`, `removes`.
    pub fn name(self) -> &'static str {
        match self {
            Effect::Added => "adds",
            Effect::Changed => "changes",
            Effect::Removed => "removes",
        }
    }
}

/// What an outline is made from besides the trace.
pub struct Surroundings<'a, 'w> {
    /// The texts that the spans of the trace point into.
    pub sources: &'a Sources,
    /// The layer in a folder, given as steps name it.
    pub layer: &'a dyn Fn(&str) -> Option<&'w Layer>,
    /// The layer in a folder, by its real path.
    pub layer_at: &'a dyn Fn(&std::path::Path) -> Option<&'w Layer>,
    /// The warnings of the build: those about a selection that matches nothing say why a step did nothing.
    pub warnings: &'a [Diagnostic],
    /// Whether a program may run: `exec`, `container`, `wasm` or `helm`.
    pub runs: &'a dyn Fn(&str) -> bool,
}

/// The outline of a target, given what happened when it was built.
pub fn outline(trace: &Trace, folder: &str, around: &Surroundings) -> Branch {
    let kind = (around.layer)(folder).map_or(LayerKind::Kustomization, |layer| layer.kind);
    let mut branch = Branch::new(folder, kind);
    branch.resources = Some((trace.resources().len(), trace.result.len()));
    let own = own_folders(trace, folder, around);
    let is_own = |step: &Traced| own.contains(&&*step.name.folder);
    // The steps of components join those of the layer that names them, right before its step `components`.
    let mut open: Vec<Branch> = Vec::new();
    for step in trace.whole_steps().iter().filter(|step| !step.name.folder.is_empty()) {
        if step.name.field == StepField::Components {
            let named = named_layer(step, around);
            let label =
                named.map(|layer| layer.shown.clone()).unwrap_or_else(|| text_at(step.place, around.sources));
            let is_it = |branch: &Branch| match named {
                Some(layer) => branch.label == layer.shown,
                None => branch.label.ends_with(label.trim_start_matches("../")),
            };
            let mut component = match open.iter().rposition(is_it) {
                Some(at) => open.remove(at),
                None => Branch::new(&label, LayerKind::Component),
            };
            component.label = label;
            match is_own(step) {
                true => branch.layers.push(component),
                false => open_for(&mut open, &step.name.folder, around).layers.push(component),
            }
            continue;
        }
        match is_own(step) {
            true => branch.add(step, around),
            false => open_for(&mut open, &step.name.folder, around).add(step, around),
        }
    }
    // What no step `components` claimed: the build failed before, or a Composition added it.
    branch.layers.extend(open);
    branch
}

/// The name that steps use for the folder of a layer: it may differ from the one in the file that includes it.
fn own_folders<'t>(trace: &'t Trace, folder: &'t str, around: &Surroundings) -> Vec<&'t str> {
    let mut named = trace.steps.iter().filter(|step| !step.name.folder.is_empty());
    match (around.layer)(folder) {
        Some(own) => {
            let is_own = |name: &&str| (around.layer)(name).is_some_and(|layer| layer.folder == own.folder);
            let mut names: Vec<&str> = named.map(|step| &*step.name.folder).collect();
            names.dedup();
            names.into_iter().filter(is_own).collect()
        }
        // One that was fetched: the last to name a component, or the one that runs last.
        None => {
            let by_component = named.clone().rev().find(|step| step.name.field == StepField::Components);
            by_component.or(named.next_back()).map(|step| &*step.name.folder).into_iter().collect()
        }
    }
}

/// The component in a folder whose steps are being gathered.
fn open_for<'b>(open: &'b mut Vec<Branch>, folder: &str, around: &Surroundings) -> &'b mut Branch {
    let label = (around.layer)(folder).map_or_else(|| folder.to_owned(), |layer| layer.shown.clone());
    let at = match open.iter().position(|branch| branch.label == label) {
        Some(at) => at,
        None => {
            open.push(Branch::new(&label, LayerKind::Component));
            open.len() - 1
        }
    };
    &mut open[at]
}

/// The layer that the entry of a step names.
fn named_layer<'w>(step: &Traced, around: &Surroundings<'_, 'w>) -> Option<&'w Layer> {
    let layer = (around.layer)(&step.name.folder)?;
    let names =
        layer.references.iter().find(|reference| same_entry(reference.span, step.place, around.sources))?;
    match &names.target {
        ReferenceTarget::Layer(folder) => (around.layer_at)(folder),
        _ => None,
    }
}

/// Whether two spans are the same text of the same file, though that may have been read twice.
fn same_entry(a: Span, b: Span, sources: &Sources) -> bool {
    let name = |span: Span| sources.get(span.file).map(|source| source.name().to_owned());
    a.start == b.start && (a.file == b.file || name(a) == name(b))
}

fn text_at(span: Span, sources: &Sources) -> String {
    sources.get(span.file).map(|source| source.slice(span).to_owned()).unwrap_or_default()
}

impl Branch {
    fn new(label: &str, kind: LayerKind) -> Self {
        let (content, layers, steps) = (Vec::new(), Vec::new(), Vec::new());
        let label = if label.is_empty() { "." } else { label };
        Self { label: label.to_owned(), kind, resources: None, content, layers, steps }
    }

    fn add(&mut self, step: &Traced, around: &Surroundings) {
        match (step.role, &step.within) {
            (Role::Load | Role::Include, Some(within)) => {
                let named = named_layer(step, around);
                let label =
                    named.map_or_else(|| text_at(step.place, around.sources), |layer| layer.shown.clone());
                let mut below = outline(within, &label, around);
                below.label = label;
                self.layers.push(below);
            }
            (Role::Load | Role::Include, None) => {
                let path = text_at(step.place, around.sources);
                let read = step.changes.iter().filter_map(|change| change.after.as_ref());
                let resources = read.map(|seen| seen.id.clone()).collect();
                self.content.push(Content::File { path, resources, place: step.place });
            }
            (Role::Generate, _) => self.content.push(Content::Generated(view(step, around))),
            (Role::Transform | Role::Validate | Role::Inspect, _) => {
                // A step that no field of its name asks for, as in a Composition, is shown if it does something.
                let layer = (around.layer)(&step.name.folder).and_then(|layer| layer.root.as_ref());
                let is_written = layer.is_none_or(|root| root.get(step.name.field.as_str()).is_some());
                if is_written || !step.changes.is_empty() {
                    self.steps.push(view(step, around));
                }
            }
        }
    }

    /// What it adds, in the order of the file.
    pub fn contents(&self) -> Vec<&Content> {
        let mut all: Vec<&Content> = self.content.iter().collect();
        all.sort_by_key(|content| content.place().start);
        all
    }
}

fn view(step: &Traced, around: &Surroundings) -> StepView {
    let layer = (around.layer)(&step.name.folder);
    let field = layer.and_then(|layer| layer.root.as_ref()?.get(step.name.field.as_str()));
    let index = step.name.index.map(|index| index as usize);
    let entry = field.and_then(|field| index.and_then(|index| field.items().get(index)).or(Some(field)));
    let kind = match step.name.field {
        StepField::Patches | StepField::PatchesJson6902 => {
            StepKind::Patch(patch_name(entry, step.place, around.sources))
        }
        StepField::PatchesStrategicMerge => {
            let names = field.map(Node::items).unwrap_or_default().iter();
            let names: Vec<String> =
                names.map(|entry| patch_name(Some(entry), step.place, around.sources)).collect();
            StepKind::Patch(names.join(", "))
        }
        StepField::Namespace | StepField::NamePrefix | StepField::NameSuffix => {
            StepKind::Value(field.and_then(Node::text).unwrap_or_default().to_owned())
        }
        StepField::Labels | StepField::CommonLabels | StepField::CommonAnnotations => StepKind::Uniform,
        StepField::Generators | StepField::Transformers | StepField::Validators => configured(step, around),
        StepField::HelmCharts => {
            let charts = field.map(Node::items).unwrap_or_default().iter();
            let names: Vec<&str> = charts.filter_map(|chart| chart.get("name")?.as_str()).collect();
            StepKind::Function { name: names.join(", "), runs_as: "helm", ran: (around.runs)("helm") }
        }
        _ if step.role == Role::Generate => {
            let behavior = entry.and_then(|entry| entry.get("behavior")).and_then(Node::as_str);
            StepKind::Generator { replaces: behavior == Some("replace") }
        }
        _ => StepKind::Fields,
    };
    let touched = step.changes.iter().filter_map(touched).collect();
    let within = |warning: &&Diagnostic| {
        let place = warning.place();
        let span = entry.map_or(step.place, Node::span);
        let is_miss = warning.failure() == Some(Failure::NoMatch);
        let same_file = place.file == step.place.file || same_name(place, step.place, around.sources);
        is_miss && same_file && span.start <= place.start && place.end <= span.end
    };
    let misses = around.warnings.iter().filter(within).map(|warning| miss(warning, around.sources)).collect();
    StepView { name: step.name.clone(), place: step.place, kind, given: step.given, touched, misses }
}

fn same_name(a: Span, b: Span, sources: &Sources) -> bool {
    let name = |span: Span| sources.get(span.file).map(|source| source.name().to_owned());
    name(a).is_some() && name(a) == name(b)
}

/// A patch by its file, or by the line it is written at.
fn patch_name(entry: Option<&Node>, place: Span, sources: &Sources) -> String {
    let path = entry.and_then(|entry| entry.get("path").or(entry.is_scalar().then_some(entry)));
    match path.and_then(Node::as_str).filter(|path| !path.contains('\n')) {
        Some(path) => path.to_owned(),
        None => {
            let span = entry.map_or(place, Node::span);
            let line = sources.get(span.file).map(|source| source.position(span.start as usize).line);
            format!("inline :{}", line.unwrap_or_default())
        }
    }
}

/// A step with its own configuration.
fn configured(step: &Traced, around: &Surroundings) -> StepKind {
    let source = around.sources.get(step.place.file);
    let documents = source.and_then(|source| krm_yaml::parse(&source).ok()).unwrap_or_default();
    let config = documents.iter().find_map(|document| innermost(&document.root, step.place));
    let config = config.as_ref();
    let text = |path: &[&str]| {
        let text = config.and_then(|config| config.at(path.iter().copied())).and_then(Node::text);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let name = text(&["metadata", "name"]).or_else(|| text(&["kind"]));
    let name = name.unwrap_or_else(|| step.name.to_string());
    let spec = config.and_then(|config| FunctionSpec::of(config).ok().flatten());
    match spec.and_then(|(spec, _)| spec.runs_as()) {
        Some(runs_as) => StepKind::Function { name, runs_as, ran: (around.runs)(runs_as) },
        None => StepKind::Configured(name),
    }
}

/// The smallest object with a `kind` that holds a span; it may be written inline, as a text within a text.
fn innermost(node: &Node, span: Span) -> Option<Node> {
    if !(node.span().start <= span.start && span.end <= node.span().end) {
        return None;
    }
    if let Some(text) = node.as_str().filter(|text| text.contains("kind")) {
        let documents = krm_yaml::parse_str(text).unwrap_or_default();
        return documents.into_iter().map(|document| document.root).find(|root| root.get("kind").is_some());
    }
    let fields = node.as_map().into_iter().flatten().map(|entry| &entry.value);
    let below = fields.chain(node.items()).find_map(|child| innermost(child, span));
    below.or_else(|| node.get("kind").is_some().then(|| node.clone()))
}

fn touched(change: &Change) -> Option<Touched> {
    let (effect, fields) = match (&change.before, &change.after) {
        (Some(before), Some(after)) => match changed_fields(&before.node, &after.node) {
            // A function returns new texts, and a patch may repeat what is there.
            0 => return None,
            fields => (Effect::Changed, fields),
        },
        (None, Some(_)) => (Effect::Added, 0),
        (Some(_), None) => (Effect::Removed, 0),
        (None, None) => return None,
    };
    let seen = change.before.as_ref().or(change.after.as_ref())?;
    Some(Touched { id: seen.id.clone(), effect, fields, place: seen.node.span() })
}

/// How many fields differ between two trees. An element of a list that moved is not another element.
pub fn changed_fields(before: &Node, after: &Node) -> usize {
    if before.same(after) { 0 } else { differences(before, after).len() }
}

/// Why nothing matched, in a few words.
fn miss(warning: &Diagnostic, sources: &Sources) -> String {
    let place = warning.place();
    let edits = warning.fixes().iter().flat_map(Fix::edits);
    let near = edits.filter(|edit| edit.span == place).map(|edit| &edit.text).next();
    let wanted = text_at(place, sources);
    let key = sources.get(place.file).and_then(|source| {
        let line = source.line(source.position(place.start as usize).line);
        let column = source.position(place.start as usize).column;
        let before: String = line.chars().take(column.saturating_sub(1)).collect();
        Some(before.trim_end().strip_suffix(':')?.trim_start_matches([' ', '-']).to_owned())
    });
    match (near, key) {
        (Some(near), Some(key)) if !wanted.is_empty() => format!("the {key} is `{near}`, not `{wanted}`"),
        _ => {
            let message = warning.message();
            message.split_once(": ").map_or(message, |(_, why)| why).to_owned()
        }
    }
}
