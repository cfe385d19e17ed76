//! Graphs as trees for a terminal.

use std::collections::BTreeSet;
use std::path::Path;

use krm_engine::files::relative;
use krm_engine::graph::{Branch, Content, Effect, Level, StepKind, StepView, Touched, Users};
use krm_engine::workspace::{Layer, LayerKind, ReferenceTarget};

use crate::commands::targets::Targets;
use crate::report::columns::width;
use crate::report::{Report, counted, sanitize};

/// A line of a tree and what is below it.
#[derive(Default)]
struct Line {
    label: String,
    /// What is said of it, in a column; the first in its line, the others below.
    details: Vec<String>,
    /// Lines that are part of it rather than branches.
    notes: Vec<String>,
    below: Vec<Line>,
}

/// Between a label and what is said of it.
const GAP: usize = 3;

impl Line {
    fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    fn text(&self) -> String {
        // One column for the root and its branches; what is deeper starts where it can.
        let of_branch = |line: &Line| if line.details.is_empty() { 0 } else { 3 + width(&line.label) };
        let own = if self.details.is_empty() { 0 } else { width(&self.label) };
        let column = self.below.iter().map(of_branch).fold(own, usize::max) + GAP;
        let mut text = String::new();
        self.write("", "", column, &mut text);
        text
    }

    fn write(&self, first: &str, rest: &str, column: usize, text: &mut String) {
        let mut head = format!("{first}{}", self.label);
        let continued = if self.below.is_empty() { rest.to_owned() } else { format!("{rest}│") };
        for (at, detail) in self.details.iter().enumerate() {
            let mut line = if at == 0 { std::mem::take(&mut head) } else { continued.trim_end().to_owned() };
            let gap = column.saturating_sub(width(&line)).max(if at == 0 { GAP } else { 1 });
            line.push_str(&" ".repeat(gap));
            push_line(text, &(line + detail));
        }
        if self.details.is_empty() {
            push_line(text, &head);
        }
        for (at, below) in self.below.iter().enumerate() {
            // What is said at the end keeps the line of branches going.
            let is_last = at + 1 == self.below.len() && self.notes.is_empty();
            let (branch, bar) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            below.write(&format!("{rest}{branch}"), &format!("{rest}{bar}"), column, text);
        }
        let lead = if self.below.is_empty() { "  " } else { "│    " };
        self.notes.iter().for_each(|note| push_line(text, &format!("{rest}{lead}{note}")));
    }
}

/// Names of files and resources are the user's: none may move the cursor.
fn push_line(text: &mut String, line: &str) {
    text.push_str(&sanitize::inert(line));
    text.push('\n');
}

/// Trees of targets that were built, one after the other. A layer that was drawn is marked and not drawn again.
pub fn steps(branches: &[Branch], level: Level) -> String {
    let mut tree = Tree { drawn: BTreeSet::new(), names_resources: level == Level::Resources };
    let trees: Vec<String> = branches.iter().map(|branch| tree.root(branch).text()).collect();
    trees.join("\n")
}

struct Tree {
    /// The layers that were drawn.
    drawn: BTreeSet<String>,
    /// Every resource that a file brings or a step touches is named.
    names_resources: bool,
}

impl Tree {
    fn root(&mut self, branch: &Branch) -> Line {
        let mut line = Line::new(branch.label.as_str());
        let count = branch.resources.map_or_else(|| "does not build".to_owned(), resources);
        let content = in_order(self.contents(branch));
        line.details.push(if content.is_empty() { count } else { format!("{count}   {content}") });
        line.below = branch.layers.iter().map(|below| self.layer(below)).collect();
        if self.names_resources {
            line.below.extend(branch.steps.iter().map(with_resources));
            return line;
        }
        let mut simple: Vec<&StepView> = Vec::new();
        let mut patches: Vec<&StepView> = Vec::new();
        for step in &branch.steps {
            match &step.kind {
                StepKind::Patch(_) => {
                    line.below.extend(joined(&mut simple));
                    patches.push(step);
                }
                StepKind::Function { .. } | StepKind::Configured(_) => {
                    line.below.extend(patched(&mut patches));
                    line.below.extend(joined(&mut simple));
                    line.below.push(program(step));
                }
                _ => {
                    line.below.extend(patched(&mut patches));
                    simple.push(step);
                }
            }
        }
        line.below.extend(patched(&mut patches));
        line.below.extend(joined(&mut simple));
        line
    }

    /// A layer below another: what it brings in its line, what it does in lines of its own.
    fn layer(&mut self, branch: &Branch) -> Line {
        let mut line = Line::new(branch.label.as_str());
        if !self.drawn.insert(branch.label.clone()) {
            line.label.push_str(" (*)");
            line.details.extend(branch.resources.map(|(_, given)| resources((given, given))));
            return line;
        }
        let is_component = branch.kind == LayerKind::Component;
        let mut content = self.contents(branch);
        if is_component && !self.names_resources {
            let patches = branch.steps.iter().filter(|step| matches!(step.kind, StepKind::Patch(_)));
            content.extend(
                patches.map(|step| (step.place.start, format!("{} {}", step.name.field, patch(step)))),
            );
        }
        let content = in_order(content);
        let count = branch.resources.filter(|_| !is_component).map(resources);
        let detail = match (count, content.is_empty()) {
            (Some(count), true) => Some(count),
            (Some(count), false) => Some(format!("{count}   {content}")),
            (None, false) => Some(content),
            (None, true) => None,
        };
        line.details.extend(detail);
        line.below = branch.layers.iter().map(|below| self.layer(below)).collect();
        if self.names_resources {
            for step in &branch.steps {
                let Line { label, details, below, .. } = with_resources(step);
                line.notes.push(format!("{label}  {}", details.join(" ")).trim_end().to_owned());
                line.notes.extend(below.into_iter().map(|resource| format!("  {}", resource.label)));
            }
            return line;
        }
        let mut simple: Vec<&StepView> = Vec::new();
        let flush = |simple: &mut Vec<&StepView>, notes: &mut Vec<String>| {
            notes.extend(joined(simple).map(|line| match line.details.first() {
                Some(detail) => format!("{}  {detail}", line.label),
                None => line.label,
            }));
        };
        for step in &branch.steps {
            match &step.kind {
                StepKind::Patch(_) if is_component => {}
                StepKind::Patch(_) => {
                    flush(&mut simple, &mut line.notes);
                    line.notes.push(format!("{}  {}", step.name.field, patch(step)));
                }
                StepKind::Function { .. } | StepKind::Configured(_) => {
                    flush(&mut simple, &mut line.notes);
                    let program = program(step);
                    line.notes.push(format!("{}  {}", program.label, program.details.join(" ")));
                }
                _ => simple.push(step),
            }
        }
        flush(&mut simple, &mut line.notes);
        line
    }

    /// What a layer brings, each with its position in the file.
    fn contents(&self, branch: &Branch) -> Vec<(u32, String)> {
        let content = branch.contents().into_iter();
        content.map(|content| (content.place().start, brought(content, self.names_resources))).collect()
    }
}

/// How many resources a layer was made of, and how many are left.
fn resources((all, left): (usize, usize)) -> String {
    let count = counted(all, "resource");
    if all == left { count } else { format!("{count} → {left}") }
}

/// A step, and below it every resource that it touches.
fn with_resources(step: &StepView) -> Line {
    let mut line = match &step.kind {
        StepKind::Patch(name) => Line::new(format!("{} {name}", step.name.field)),
        StepKind::Function { .. } | StepKind::Configured(_) => program(step),
        _ => Line::new(words(step)),
    };
    line.details.extend(step.misses.iter().map(|miss| format!("! {miss}")));
    let touched = |touched: &Touched| {
        let name = format!("{} {}", touched.id.gvk.kind, touched.id.name);
        Line::new(match touched.effect {
            Effect::Added => format!("{name}, added"),
            Effect::Removed => format!("{name}, deleted"),
            Effect::Changed => format!("{name}, {}", counted(touched.fields, "field")),
        })
    };
    line.below = step.touched.iter().map(touched).collect();
    line
}

/// Patches that follow each other.
fn patched(patches: &mut Vec<&StepView>) -> Option<Line> {
    let first = patches.first()?;
    let mut line = Line::new(first.name.field.to_string());
    line.details = patches.drain(..).map(patch).collect();
    Some(line)
}

/// Steps that take a few words each.
fn joined(steps: &mut Vec<&StepView>) -> Option<Line> {
    let line = match &steps[..] {
        [] => return None,
        [one] => {
            let mut line = Line::new(words(one));
            line.details.extend(fields(one));
            line.details.extend(one.misses.iter().map(|miss| format!("! {miss}")));
            line
        }
        several => {
            let mut line =
                Line::new(several.iter().map(|step| words_with_count(step)).collect::<Vec<_>>().join(" · "));
            let misses = several.iter().flat_map(|step| step.misses.iter().map(move |miss| (step, miss)));
            line.notes = misses.map(|(step, miss)| format!("{}: ! {miss}", step.name.field)).collect();
            line
        }
    };
    steps.clear();
    Some(line)
}

fn in_order(mut all: Vec<(u32, String)>) -> String {
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(" · ")
}

fn brought(content: &Content, names_resources: bool) -> String {
    match content {
        Content::File { path, resources, .. } if names_resources => {
            let names: Vec<String> =
                resources.iter().map(|id| format!("{} {}", id.gvk.kind, id.name)).collect();
            format!("{path} ({})", names.join(", "))
        }
        Content::File { path, resources, .. } => format!("{path} ({})", resources.len()),
        Content::Generated(step) => {
            match &step.kind {
                StepKind::Function { name, ran: false, .. } => {
                    return format!("{name} ({}, not run)", step.name.field);
                }
                StepKind::Function { name, ran: true, .. } => {
                    return format!("{name} ({}, {})", step.name.field, step.touched.len());
                }
                _ => {}
            }
            match &step.touched[..] {
                [one] => match (one.effect, &step.kind) {
                    (Effect::Added, _) => format!("{} ({})", one.id.name, step.name.field),
                    (_, StepKind::Generator { replaces: true }) => format!("{} replaced", one.id.name),
                    _ => format!("{} merged", one.id.name),
                },
                all => format!("{} ({})", step.name.field, all.len()),
            }
        }
    }
}

/// What a patch is and what it does.
fn patch(step: &StepView) -> String {
    let StepKind::Patch(name) = &step.kind else { return String::new() };
    let mut text = format!("{name} → {}", targets(step));
    step.misses.iter().for_each(|miss| text.push_str(&format!("   ! {miss}")));
    text
}

/// How many resources are named before the rest is counted.
const MOST: usize = 3;

fn targets(step: &StepView) -> String {
    if step.touched.is_empty() {
        return if step.misses.is_empty() { "no change".to_owned() } else { "nothing".to_owned() };
    }
    let name = |touched: &Touched| {
        let name = format!("{} {}", touched.id.gvk.kind, touched.id.name);
        match touched.effect {
            Effect::Removed => name + ", deleted",
            Effect::Added => name + ", added",
            Effect::Changed => name,
        }
    };
    let mut names: Vec<String> = step.touched.iter().take(MOST).map(name).collect();
    if step.touched.len() > MOST {
        names.push(format!("{} more", step.touched.len() - MOST));
    }
    names.join(", ")
}

fn program(step: &StepView) -> Line {
    let changed = step.touched.iter().filter(|touched| touched.effect != Effect::Added).count();
    let added = step.touched.len() - changed;
    let mut said = match changed {
        1 => format!("1 of {} resources changed", step.given),
        _ => format!("{changed} of {} resources changed", step.given),
    };
    if added > 0 {
        said.push_str(&format!(", {added} added"));
    }
    let (name, said) = match &step.kind {
        StepKind::Function { name, runs_as, ran: true } => (name, format!("function, {runs_as}: {said}")),
        StepKind::Function { name, runs_as, ran: false } => (name, format!("function, {runs_as}: not run")),
        StepKind::Configured(name) => (name, said),
        _ => return Line::default(),
    };
    Line { details: vec![said], ..Line::new(name.as_str()) }
}

/// A step in a few words: its field and its value.
fn words(step: &StepView) -> String {
    let field = &step.name.field;
    match &step.kind {
        StepKind::Value(value) => format!("{field} {value}"),
        _ => field.to_string(),
    }
}

/// The same, and how many fields it changes.
fn words_with_count(step: &StepView) -> String {
    match &step.kind {
        StepKind::Fields => format!("{} ({})", step.name.field, counted(count(step), "field")),
        _ => words(step),
    }
}

fn count(step: &StepView) -> usize {
    step.touched.iter().map(|touched| touched.fields).sum()
}

fn fields(step: &StepView) -> Option<String> {
    (step.kind == StepKind::Fields).then(|| counted(count(step), "field"))
}

/// A target that cannot even be planned: its layers, as far as names tell.
pub fn unbuilt(targets: &Targets, at: usize) -> Branch {
    fn of(targets: &Targets, layer: &Layer, known: &mut BTreeSet<String>) -> Branch {
        let is_new = known.insert(layer.shown.clone());
        let below = layer.layers_named().filter(|_| is_new);
        let below: Vec<&Layer> = below.filter_map(|(_, folder)| targets.workspace.layer(folder)).collect();
        let layers = below.into_iter().map(|below| of(targets, below, known)).collect();
        let (content, steps) = (Vec::new(), Vec::new());
        Branch { label: layer.shown.clone(), kind: layer.kind, resources: None, content, layers, steps }
    }
    match targets.layer(at) {
        Some(layer) => of(targets, layer, &mut BTreeSet::new()),
        None => Branch {
            label: targets.names[at].clone(),
            kind: LayerKind::Kustomization,
            resources: None,
            content: Vec::new(),
            layers: Vec::new(),
            steps: Vec::new(),
        },
    }
}

/// Trees of layers, and of the files they name, as they are written.
pub fn layers(targets: &Targets, level: Level, here: &Path) -> String {
    let mut drawn = BTreeSet::new();
    let mut trees = Vec::new();
    for layer in targets.layers() {
        trees.push(named(targets, layer, level, here, &mut drawn).text());
    }
    trees.join("\n")
}

fn named(targets: &Targets, layer: &Layer, level: Level, here: &Path, drawn: &mut BTreeSet<String>) -> Line {
    let mut line = Line::new(layer.shown.as_str());
    if layer.kind != LayerKind::Kustomization {
        line.details.push(layer.kind.name().to_owned());
    }
    if !drawn.insert(layer.shown.clone()) {
        if !layer.references.is_empty() {
            line.label.push_str(" (*)");
        }
        return line;
    }
    if layer.error.is_some() {
        line.details.push("cannot be read".to_owned());
    }
    for reference in &layer.references {
        let file = |path: &Path, said: &str| {
            let mut line = Line::new(relative(path, here));
            line.details.push(format!("{}{said}", reference.field));
            line
        };
        match &reference.target {
            ReferenceTarget::Layer(folder) => {
                let below = targets.workspace.layer(folder);
                line.below.extend(below.map(|below| named(targets, below, level, here, drawn)));
            }
            ReferenceTarget::Remote(address) => {
                let mut remote = Line::new(sanitize::without_passwords(address));
                remote.details.push(format!("{}, remote", reference.field));
                line.below.push(remote);
            }
            ReferenceTarget::Missing(path) => line.below.push(file(path, ", missing")),
            ReferenceTarget::File(path) if level >= Level::Files => line.below.push(file(path, "")),
            ReferenceTarget::Folder(path) if level >= Level::Files => {
                line.below.push(file(path, ", a folder"))
            }
            _ => {}
        }
    }
    line
}

/// Who uses something.
pub fn users(shown: &str, users: &[Users], report: &Report) -> String {
    fn line(user: &Users, report: &Report) -> Line {
        let source = report.sources.get(user.place.file);
        let place = source.map(|source| {
            let name = source.name().rsplit('/').next().unwrap_or_default().to_owned();
            format!(" ({name}:{})", source.position(user.place.start as usize).line)
        });
        let mark = if user.repeated { " (*)" } else { "" };
        let label = format!("{}{}{mark}", user.layer.shown, place.unwrap_or_default());
        Line { below: user.users.iter().map(|user| line(user, report)).collect(), ..Line::new(label) }
    }
    Line { below: users.iter().map(|user| line(user, report)).collect(), ..Line::new(shown) }.text()
}
