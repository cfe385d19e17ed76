//! How layers, files, steps and resources are connected: what uses what, as nodes and edges, and the paths between them.

mod inputs;
mod steps;
mod ways;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use krm_yaml::{Diagnostic, Span};

use crate::files::relative;
use crate::resource::ResourceId;
use crate::workspace::{Layer, LayerKind, Reference, ReferenceTarget, Workspace};

pub use inputs::{Inputs, InputsOptions, Reached};
pub use steps::{
    Branch, Content, Effect, StepKind, StepView, Surroundings, Touched, changed_fields, outline,
};
pub use ways::{Hop, Users, ways};

/// The JSON Schema of a graph as data.
pub const JSON_SCHEMA: &str = include_str!("../../data/graph.schema.json");
/// The JSON Schema of the list of what a change reaches.
pub const AFFECTED_SCHEMA: &str = include_str!("../../data/affected.schema.json");

/// Nodes and edges, each in a fixed order: the same files give the same graph.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Graph {
    /// Layers, files, steps and resources, each once.
    pub nodes: Vec<Node>,
    /// Who uses whom, by index in `nodes`.
    pub edges: Vec<Edge>,
    ids: BTreeMap<String, usize>,
}

/// A layer, a file, a step or a resource.
#[derive(Clone, Debug)]
pub struct Node {
    /// Stable: it changes only when what it names is moved or renamed.
    pub id: String,
    /// What it is.
    pub kind: NodeKind,
    /// What to call it: a path, an address, `images[0]`, `Deployment web`.
    pub label: String,
    /// Where it is written; `NONE` for a file.
    pub place: Span,
}

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeKind {
    /// A folder with a kustomization.
    Kustomization,
    /// A folder with a component.
    Component,
    /// A folder with a Composition.
    Composition,
    /// A file that a layer names.
    File,
    /// A folder that is not a layer: charts, mounts.
    Folder,
    /// Something that is fetched, by its address.
    Remote,
    /// A path that leads nowhere.
    Missing,
    /// A step that ran.
    Step,
    /// A resource that a step touched, of one target.
    Resource,
}

impl NodeKind {
    /// The word for it in JSON, such as `kustomization`.
    pub fn name(self) -> &'static str {
        match self {
            NodeKind::Kustomization => "kustomization",
            NodeKind::Component => "component",
            NodeKind::Composition => "composition",
            NodeKind::File => "file",
            NodeKind::Folder => "folder",
            NodeKind::Remote => "remote",
            NodeKind::Missing => "missing",
            NodeKind::Step => "step",
            NodeKind::Resource => "resource",
        }
    }

    /// Whether it is a folder with a kustomization or a Composition.
    pub fn is_layer(self) -> bool {
        self <= NodeKind::Composition
    }
}

/// One uses the other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Edge {
    /// The index of the node that uses.
    pub from: usize,
    /// The index of the node that is used.
    pub to: usize,
    /// The field that names it, without positions: `resources`, `configMapGenerator.files`; of steps `step` and `next`; of
    /// resources `adds`, `changes`, `removes`.
    pub kind: String,
    /// Where it is named.
    pub place: Span,
}

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Kustomizations, components, Compositions and what is fetched from elsewhere.
    Layers,
    /// The files that these name, too.
    Files,
    /// What each of them does, in order.
    Steps,
    /// Which resources each step adds, changes or removes.
    Resources,
}

impl Graph {
    /// The layers and files that some layers are built from.
    pub fn of(workspace: &Workspace, roots: &[&Layer], level: Level, here: &Path) -> Self {
        let mut graph = Self::default();
        let mut known = BTreeSet::new();
        for root in roots {
            for layer in workspace.closure(root) {
                if known.insert(&layer.folder) {
                    graph.add_layer(workspace, layer, level, here);
                }
            }
        }
        let order = |edge: &Edge| (edge.from, edge.place.start, edge.to);
        graph.edges.sort_by_key(order);
        graph.edges.dedup();
        graph
    }

    fn add_layer(&mut self, workspace: &Workspace, layer: &Layer, level: Level, here: &Path) {
        let from = self.layer(layer);
        for reference in &layer.references {
            let to = match &reference.target {
                ReferenceTarget::Layer(folder) => workspace.layer(folder).map(|layer| self.layer(layer)),
                ReferenceTarget::Remote(address) => {
                    Some(self.node(address, NodeKind::Remote, address, Span::NONE))
                }
                ReferenceTarget::File(path)
                | ReferenceTarget::Folder(path)
                | ReferenceTarget::Missing(path) => {
                    let kind = match &reference.target {
                        ReferenceTarget::File(_) => NodeKind::File,
                        ReferenceTarget::Folder(_) => NodeKind::Folder,
                        _ => NodeKind::Missing,
                    };
                    let shown = relative(path, here);
                    (level >= Level::Files).then(|| self.node(&shown, kind, &shown, Span::NONE))
                }
            };
            let Some(to) = to else { continue };
            self.edges.push(Edge { from, to, kind: field_of(reference), place: reference.span });
        }
    }

    fn layer(&mut self, layer: &Layer) -> usize {
        let place = layer.source.as_ref().map_or(Span::NONE, |source| source.span(0, 0));
        self.node(&layer.shown, NodeKind::of(layer), &layer.shown, place)
    }

    /// The index of a node, which is added if it does not exist.
    fn node(&mut self, id: &str, kind: NodeKind, label: &str, place: Span) -> usize {
        if let Some(known) = self.ids.get(id) {
            return *known;
        }
        self.ids.insert(id.to_owned(), self.nodes.len());
        self.nodes.push(Node { id: id.to_owned(), kind, label: label.to_owned(), place });
        self.nodes.len() - 1
    }

    /// The node with an id.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.ids.get(id).copied()
    }

    /// The steps of a target that was outlined, and, if wanted, the resources they touch.
    pub fn add_steps(&mut self, target: &str, branch: &Branch, level: Level) {
        let layer = self.node(&branch.label, NodeKind::Kustomization, &branch.label, Span::NONE);
        for below in &branch.layers {
            self.add_steps(target, below, level);
        }
        let mut before: Option<usize> = None;
        for step in branch.content.iter().filter_map(Content::step).chain(&branch.steps) {
            let id = step.name.to_string();
            if self.ids.contains_key(&id) && level < Level::Resources {
                before = self.find(&id);
                continue;
            }
            let at = self.node(&id, NodeKind::Step, &step.name.entry(), step.place);
            self.edge(layer, at, "step", step.place);
            if let Some(before) = before {
                self.edge(before, at, "next", Span::NONE);
            }
            before = Some(at);
            if level >= Level::Resources {
                for touched in &step.touched {
                    let name = resource_label(&touched.id);
                    let resource =
                        self.node(&format!("{target}:{name}"), NodeKind::Resource, &name, touched.place);
                    self.edge(at, resource, touched.effect.name(), Span::NONE);
                }
            }
        }
    }

    fn edge(&mut self, from: usize, to: usize, kind: &str, place: Span) {
        let edge = Edge { from, to, kind: kind.to_owned(), place };
        if !self.edges.contains(&edge) {
            self.edges.push(edge);
        }
    }

    /// Keeps some nodes, and the edges between them.
    pub(crate) fn retain(&mut self, mut keeps: impl FnMut(usize, &Node) -> bool) {
        let kept: Vec<bool> = self.nodes.iter().enumerate().map(|(at, node)| keeps(at, node)).collect();
        let mut moved = vec![0; kept.len()];
        let mut next = 0;
        for (at, kept) in kept.iter().enumerate() {
            moved[at] = next;
            next += usize::from(*kept);
        }
        let mut index = 0;
        self.nodes.retain(|_| {
            index += 1;
            kept[index - 1]
        });
        self.edges.retain(|edge| kept[edge.from] && kept[edge.to]);
        for edge in &mut self.edges {
            (edge.from, edge.to) = (moved[edge.from], moved[edge.to]);
        }
        self.ids = self.nodes.iter().enumerate().map(|(at, node)| (node.id.clone(), at)).collect();
    }

    /// Keeps some nodes and everything that leads to them.
    pub fn retain_users(&mut self, nodes: Vec<usize>) {
        let mut reached = vec![false; self.nodes.len()];
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        self.edges.iter().for_each(|edge| users[edge.to].push(edge.from));
        let mut open = nodes;
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut reached[at], true) {
                open.extend(&users[at]);
            }
        }
        self.retain(|at, _| reached[at]);
    }
}

impl NodeKind {
    fn of(layer: &Layer) -> Self {
        match layer.kind {
            LayerKind::Kustomization => NodeKind::Kustomization,
            LayerKind::Component => NodeKind::Component,
            LayerKind::Composition => NodeKind::Composition,
        }
    }
}

/// The name of a resource as people write it.
pub(crate) fn resource_label(id: &ResourceId) -> String {
    match id.namespace.as_str() {
        "" => format!("{} {}", id.gvk.kind, id.name),
        namespace => format!("{} {namespace}/{}", id.gvk.kind, id.name),
    }
}

/// The field that names something, without positions.
fn field_of(reference: &Reference) -> String {
    let mut field = String::new();
    let mut within = false;
    for c in reference.field.chars() {
        match c {
            '[' => within = true,
            ']' => within = false,
            c if !within => field.push(c),
            _ => {}
        }
    }
    field
}

/// Layers that include each other in a circle: an error for each circle, with every entry that is part of it.
pub fn cycles(workspace: &Workspace, roots: &[&Layer]) -> Vec<Diagnostic> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        Open,
        Done,
    }
    fn visit<'w>(
        workspace: &'w Workspace,
        layer: &'w Layer,
        states: &mut BTreeMap<&'w Path, State>,
        way: &mut Vec<(&'w Layer, &'w Reference)>,
        found: &mut Vec<Diagnostic>,
    ) {
        states.insert(&layer.folder, State::Open);
        for (reference, folder) in layer.layers_named() {
            let Some(below) = workspace.layer(folder) else { continue };
            way.push((layer, reference));
            match states.get(folder) {
                Some(State::Done) => {}
                Some(State::Open) => {
                    let from = way.iter().position(|(layer, _)| layer.folder == below.folder).unwrap_or(0);
                    let names: Vec<&str> = way[from..]
                        .iter()
                        .map(|(layer, _)| layer.shown.as_str())
                        .chain([&*below.shown])
                        .collect();
                    let message = format!("these layers include each other: {}", names.join(" → "));
                    let mut error = Diagnostic::error("layers-cycle", message).at(way[from].1.span);
                    for (layer, reference) in &way[from + 1..] {
                        error = error
                            .note(format!("`{}` includes the next one here", layer.shown), reference.span);
                    }
                    found.push(error.help("remove one of these entries"));
                }
                // Deeper than any build, and within what the stack has room for.
                None if way.len() < 500 => visit(workspace, below, states, way, found),
                None => {}
            }
            way.pop();
        }
        states.insert(&layer.folder, State::Done);
    }
    let mut states = BTreeMap::new();
    let mut found = Vec::new();
    for root in roots {
        if !states.contains_key(&*root.folder) {
            visit(workspace, root, &mut states, &mut Vec::new(), &mut found);
        }
    }
    found
}
