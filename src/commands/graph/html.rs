//! A graph as a page: of one target everything, of several who uses whom.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use krm_engine::graph::{self, Graph, Level};
use krm_engine::page::{Wanted, page};
use krm_engine::runtime::Runtime;
use krm_engine::{Diagnostic, Result, Session};

use super::{GraphArgs, svg, unread};
use crate::commands::build;
use crate::commands::targets::Targets;
use crate::os::{self, Disk};
use crate::page::{Mode, html, layers};
use crate::report::Report;

/// How far causes of causes are followed, as `krm explain` does.
const DEPTH: usize = 3;

/// A larger picture is not looked at.
const MOST_DRAWN: usize = 80;
/// More nodes than this that are connected to the same others are drawn as one.
const MOST_ALIKE: usize = 6;

/// The picture of a graph, if it is one that helps.
fn drawn(graph: &Graph) -> Option<String> {
    let folded = folded(graph);
    (folded.nodes.len() <= MOST_DRAWN).then(|| svg::text(&folded))
}

/// A fleet: many that use the same, and are used by the same, are one node that says how many there are.
fn folded(graph: &Graph) -> Graph {
    let mut around: Vec<Vec<(bool, usize, &str)>> = vec![Vec::new(); graph.nodes.len()];
    for edge in &graph.edges {
        around[edge.from].push((true, edge.to, &edge.kind));
        around[edge.to].push((false, edge.from, &edge.kind));
    }
    for neighbours in &mut around {
        neighbours.sort_unstable();
        neighbours.dedup();
    }
    let mut alike: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (at, node) in graph.nodes.iter().enumerate() {
        alike.entry((node.kind, &around[at])).or_default().push(at);
    }
    let mut first: Vec<usize> = (0..graph.nodes.len()).collect();
    let mut out = graph.clone();
    for group in alike.values().filter(|group| group.len() > MOST_ALIKE) {
        group.iter().for_each(|at| first[*at] = group[0]);
        let label = &graph.nodes[group[0]].label;
        out.nodes[group[0]].label = format!("{label} and {} like it", group.len() - 1);
    }
    let mut moved = vec![0; graph.nodes.len()];
    let mut kept = 0;
    for (at, first) in first.iter().enumerate() {
        moved[at] = if *first == at { kept } else { moved[*first] };
        kept += usize::from(*first == at);
    }
    let mut at = 0..;
    out.nodes.retain(|_| at.next().is_some_and(|at| first[at] == at));
    out.edges.retain(|edge| first[edge.from] == edge.from && first[edge.to] == edge.to);
    for edge in &mut out.edges {
        (edge.from, edge.to) = (moved[edge.from], moved[edge.to]);
    }
    out
}

pub(super) fn write(
    args: &GraphArgs,
    targets: &Targets,
    disk: Disk,
    here: &Path,
    report: &Report,
    file: &Path,
) -> Result<()> {
    let problems = graph::cycles(&targets.workspace, &targets.layers());
    let [target] = &targets.names[..] else {
        let graph = Graph::of(&targets.workspace, &targets.layers(), Level::Files, here);
        os::write(file, layers(&graph, drawn(&graph).as_deref(), &report.sources).as_bytes())?;
        return Diagnostic::join(problems.into_iter().chain(unread(targets))).map_or(Ok(()), Err);
    };
    if let Some(error) = Diagnostic::join(problems) {
        // No build of it ends.
        return Err(error);
    }
    let options = build::options(&args.flags)?;
    let (runtime, _) = Runtime::skipping(options.policy.clone());
    let session = Session::with_runtime(Arc::new(disk), report.sources.clone(), options, Arc::new(runtime));
    let (built, trace) = session.trace(target);
    let wanted = Wanted {
        target,
        home: here,
        depth: DEPTH,
        show_secrets: false,
        mask: &[],
        warnings: &session.warnings_of(target),
        failure: built.as_ref().err(),
        start: None,
    };
    os::write(file, html(&page(&trace, &report.sources, &wanted), Mode::File).as_bytes())?;
    built.map(|_| ())
}
