//! A trace and those of the bases in it as one list of steps, and every resource on its way through them.

use std::sync::Arc;

use krm_yaml::{Node, Sources, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use super::model::{Layer, LayerKind, PageStep};
use super::tables::Tables;
use crate::composition::FILE_NAMES as COMPOSITIONS;
use crate::explain::{Hidden, Labels, Moment};
use crate::pipeline::trace::{Change, Seen, Traced};
use crate::pipeline::{StepField, Trace};
use crate::resource::Track;

/// Everything that ran, in one order: what a base does comes before what is done with it.
pub(super) struct Flat<'t> {
    pub runs: Vec<Run<'t>>,
    layers: Vec<Layer>,
    rows: Vec<Row<'t>>,
    pub chains: Vec<Chain<'t>>,
}

/// The run of a pipeline: that of the target, or of a base.
pub(super) struct Run<'t> {
    pub trace: &'t Trace,
    /// The row of each of its steps.
    rows: Vec<u32>,
}

/// One step, or several that read files for the same layer.
struct Row<'t> {
    layer: u32,
    run: u32,
    since: u32,
    steps: Vec<&'t Traced>,
    detail: String,
}

/// A resource in all the runs it went through.
#[derive(Default)]
pub(super) struct Chain<'t> {
    /// The runs, innermost first, and what it is called in them.
    pub lineage: Vec<(usize, Track)>,
    /// What it was after each row that changed it.
    pub versions: Vec<(u32, &'t Seen)>,
    /// The run and the step in it that took it away, and its row.
    pub gone: Option<(usize, usize, u32)>,
}

impl Chain<'_> {
    /// Whether it is the one that is called this in the target.
    pub(crate) fn is_root(&self, track: Track) -> bool {
        self.lineage.last() == Some(&(0, track))
    }

    /// The run it was last in, and its track there.
    pub(crate) fn last(&self) -> (usize, Track) {
        *self.lineage.last().expect("it came with a run")
    }
}

impl<'t> Flat<'t> {
    pub(crate) fn new(trace: &'t Trace, labels: &Labels, sources: &Sources, hidden: &Hidden) -> Self {
        let (runs, layers, rows, chains) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let flat = Self { runs, layers, rows, chains };
        let mut flattening = Flattening { flat, labels, sources, hidden, seen: FxHashSet::default() };
        flattening.run(trace, 0);
        let mut flat = flattening.flat;
        let order: FxHashMap<Track, usize> =
            trace.result.iter().enumerate().map(|(at, (track, _))| (*track, at)).collect();
        // In the order of the result; then what is not in it, in the order in which it came.
        flat.chains.sort_by_key(|chain| match (chain.last(), chain.gone) {
            ((0, track), None) => order.get(&track).copied().unwrap_or(usize::MAX),
            _ => usize::MAX,
        });
        flat
    }

    /// The row in which something happened to a resource.
    pub(crate) fn row(&self, moment: Moment, chain: &Chain) -> u32 {
        let own = chain.lineage.iter().map(|(run, _)| &self.runs[*run]);
        let run = own.chain(&self.runs).find(|run| moment.is_in(run.trace));
        run.and_then(|run| run.rows.get(moment.index)).copied().unwrap_or_default()
    }

    /// The row of a step of a run.
    pub(crate) fn row_of(&self, run: usize, step: usize) -> u32 {
        self.runs[run].rows[step]
    }

    /// The row that an entry of a kustomization asked for.
    pub(crate) fn row_at(&self, place: Span) -> Option<u32> {
        let holds = |span: Span| !span.is_none() && span.holds(place);
        let asked = |row: &Row| {
            row.steps.iter().any(|step| holds(step.place) || step.entries.iter().any(|entry| holds(*entry)))
        };
        self.rows.iter().position(asked).map(|at| at as u32)
    }

    /// Layers and steps as they are shown.
    pub(crate) fn rows(self, tables: &mut Tables) -> (Vec<Layer>, Vec<PageStep>) {
        let steps = self.rows.into_iter().map(|row| {
            let first = row.steps[0];
            let label = match row.steps.len() {
                1 => first.name.entry(),
                _ => first.name.field.to_string(),
            };
            let id = match row.steps.len() {
                1 => first.name.to_string(),
                _ => format!("{}#{label}", first.name.folder),
            };
            PageStep {
                id: tables.local(&id),
                layer: row.layer,
                label: tables.local(&label),
                detail: tables.local(&row.detail),
                place: tables.place(first.place),
                role: first.role.name(),
                run: row.run,
                since: row.since,
            }
        });
        let steps = steps.collect();
        let local = |layer: Layer| Layer { name: tables.local(&layer.name), ..layer };
        (self.layers.into_iter().map(local).collect(), steps)
    }
}

struct Flattening<'t, 'l> {
    flat: Flat<'t>,
    labels: &'l Labels<'l>,
    sources: &'l Sources,
    hidden: &'l Hidden,
    /// Bases that were there before.
    seen: FxHashSet<(usize, Arc<str>)>,
}

impl<'t> Flattening<'t, '_> {
    /// Adds a run; returns which resource is which.
    fn run(&mut self, trace: &'t Trace, depth: u32) -> FxHashMap<Track, usize> {
        let run = self.flat.runs.len();
        let since = self.flat.rows.len() as u32;
        self.flat.runs.push(Run { trace, rows: vec![0; trace.steps.len()] });
        let mut chains = FxHashMap::default();
        let mut layers: FxHashMap<Arc<str>, u32> = FxHashMap::default();
        let mut parts = Vec::new();
        for index in in_order(trace) {
            let step = &trace.steps[index];
            if step.is_part {
                parts.push(index);
                continue;
            }
            let within = step.within.as_deref().map(|within| self.run(within, depth + 1));
            // What a base gives is what it had at its end: there is nothing more to see.
            let is_all = within.is_some() && step.role.loads() && self.flat.rows.len() as u32 > since;
            let row = match is_all || is_idle(step) {
                true => (self.flat.rows.len() as u32).saturating_sub(1),
                false => self.row(step, run as u32, since, depth, &mut layers),
            };
            for index in parts.drain(..).chain([index]) {
                self.flat.runs[run].rows[index] = row;
                for change in &trace.steps[index].changes {
                    let from = change.from.and_then(|from| within.as_ref()?.get(&from).copied());
                    self.change(change, from, (run, index, row), &mut chains);
                }
            }
        }
        chains
    }

    /// The row of a step: files that are read one after the other for the same layer share one.
    fn row(
        &mut self,
        step: &'t Traced,
        run: u32,
        since: u32,
        depth: u32,
        layers: &mut FxHashMap<Arc<str>, u32>,
    ) -> u32 {
        let is_read = |step: &Traced| step.role.loads() && step.within.is_none();
        if let Some(last) = self.flat.rows.last_mut().filter(|last| last.run == run && is_read(step)) {
            let before = last.steps[0];
            if is_read(before)
                && before.name.folder == step.name.folder
                && before.name.field == step.name.field
            {
                last.steps.push(step);
                last.detail = format!("{} files", last.steps.len());
                return self.flat.rows.len() as u32 - 1;
            }
        }
        let layer = *layers.entry(step.name.folder.clone()).or_insert_with(|| {
            let kind = self.kind(step);
            let trace = std::ptr::from_ref(self.flat.runs[run as usize].trace) as usize;
            let again = !self.seen.insert((trace, step.name.folder.clone()));
            let name = match kind {
                LayerKind::Finish => "finish".to_owned(),
                LayerKind::Package if step.name.folder.is_empty() => "files".to_owned(),
                _ => step.name.folder.to_string(),
            };
            self.flat.layers.push(Layer { name, kind, depth, again });
            self.flat.layers.len() as u32 - 1
        });
        let detail = self.detail(step);
        self.flat.rows.push(Row { layer, run, since, steps: vec![step], detail });
        self.flat.rows.len() as u32 - 1
    }

    fn kind(&self, step: &Traced) -> LayerKind {
        if step.name.folder.is_empty() && !step.role.loads() {
            return LayerKind::Finish;
        }
        // The resources of a package are read because they are there, not because an entry names them.
        let Some(source) = self.sources.get(step.place.file) else { return LayerKind::Package };
        let name = source.name().rsplit('/').next().unwrap_or_default();
        let kind = self.labels.root(step.place.file);
        let kind = kind.as_ref().and_then(|root| root.get("kind")?.text());
        match kind {
            Some("Component") => LayerKind::Component,
            Some("Composition") => LayerKind::Composition,
            Some("Kptfile") => LayerKind::Package,
            _ if COMPOSITIONS.contains(&name) => LayerKind::Composition,
            _ => LayerKind::Kustomization,
        }
    }

    /// What an entry says, in a few words: its value, the file it names, or what it is about.
    fn detail(&self, step: &Traced) -> String {
        let entry = self.labels.node(step.place);
        let named = entry.as_ref().and_then(|entry| {
            ["path", "newTag", "name", "kind"].into_iter().find_map(|key| self.value(entry.get(key)?))
        });
        if let Some(named) = named {
            return named;
        }
        if let Some(target) = entry.as_ref().and_then(|entry| entry.get("target")) {
            let part = |key: &str| target.get(key).and_then(|part| self.value(part)).unwrap_or_default();
            return format!("{} {}", part("kind"), part("name")).trim().to_owned();
        }
        let text = match &entry {
            Some(entry) => self.value(entry).unwrap_or_default(),
            None => self.hidden.slice(step.place),
        };
        const MOST: usize = 60;
        let is_short = !text.contains('\n') && text.chars().count() <= MOST;
        if is_short { text } else { String::new() }
    }

    /// A scalar as it may be shown.
    fn value(&self, node: &Node) -> Option<String> {
        let text = node.text()?;
        let written = self.sources.get(node.span().file)?;
        let shown = self.hidden.slice(node.span());
        Some(if shown == written.slice(node.span()) { text.to_owned() } else { shown })
    }

    fn change(
        &mut self,
        change: &'t Change,
        from: Option<usize>,
        (run, index, row): (usize, usize, u32),
        chains: &mut FxHashMap<Track, usize>,
    ) {
        let at = match chains.get(&change.resource) {
            Some(at) => *at,
            None => {
                let at = from.unwrap_or_else(|| {
                    self.flat.chains.push(Chain::default());
                    self.flat.chains.len() - 1
                });
                self.flat.chains[at].lineage.push((run, change.resource));
                chains.insert(change.resource, at);
                at
            }
        };
        let chain = &mut self.flat.chains[at];
        match &change.after {
            Some(after) => {
                let last = chain.versions.last();
                if last.is_none_or(|(_, last)| !last.node.same(&after.node) || last.id != after.id) {
                    // Of what the entries of one step did, the page shows where it ends.
                    chain.versions.pop_if(|(last, _)| *last == row);
                    chain.versions.push((row, after));
                }
                chain.gone = None;
            }
            None => {
                if chain.versions.is_empty() {
                    chain.versions.extend(change.before.as_ref().map(|before| (row, before)));
                }
                chain.gone = Some((run, index, row));
            }
        }
    }
}

/// Whether nobody would miss a step: it changed nothing, and no entry asked for it, or one whose work other steps do.
fn is_idle(step: &Traced) -> bool {
    let is_asked =
        !step.place.is_none() && !step.name.folder.is_empty() && step.name.field != StepField::Components;
    step.changes.is_empty() && !is_asked
}

/// The steps of a trace. Those that load know nothing about each other: bases come first, so that what a layer reads and does
/// itself is in one piece.
fn in_order(trace: &Trace) -> Vec<usize> {
    let mut order = Vec::with_capacity(trace.steps.len());
    let mut at = 0;
    while at < trace.steps.len() {
        let loads = trace.steps[at..].iter().take_while(|step| step.role.loads()).count();
        let (bases, files): (Vec<usize>, Vec<usize>) =
            (at..at + loads).partition(|at| trace.steps[*at].within.is_some());
        order.extend(bases.into_iter().chain(files));
        at += loads;
        if at < trace.steps.len() {
            order.push(at);
            at += 1;
        }
    }
    order
}
