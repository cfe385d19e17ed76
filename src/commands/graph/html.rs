//! A graph as a page: of one target everything, of several who uses whom.

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
        os::write(file, layers(&graph, &svg::text(&graph), &report.sources).as_bytes())?;
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
