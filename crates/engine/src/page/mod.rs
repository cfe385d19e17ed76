//! A build as a page shows it: layers and steps, every resource after every step, the history of every field.
//!
//! [`page`] turns a [`Trace`] into plain data, a [`Page`]. It is made for its size: each text is kept
//! once, a version of a resource is what differs from the one before, an event that many fields share is one event. What
//! is said about a field is what [`explain`](crate::explain) says. How it looks is not decided here.
//!
//! Values of Secrets are not in the data unless they were asked for, neither in resources nor in lines of source files.

mod compact;
mod flatten;
mod hunks;
mod model;
mod resources;
mod tables;

use std::path::Path;

use krm_yaml::{Diagnostic, Sources};
use rayon::prelude::*;

use crate::explain::{FieldPath, Hidden, HistoryOptions, Labels};
use crate::pipeline::Trace;
use crate::pipeline::trace::Segment;
use crate::resource::Track;

use flatten::Flat;
pub use model::{
    Event, EventId, FileLines, Layer, LayerKind, Line, Page, PageStep, PlaceId, Resource, Start,
};
pub use model::{Field, FieldEvents, Hunk, Place, TextId, Version, Warning, Why};
use tables::Tables;

/// What a page is made from besides the trace.
pub struct Wanted<'a> {
    /// The folder, as the user names it.
    pub target: &'a str,
    /// The current folder: no path in the page begins with it.
    pub home: &'a Path,
    /// How far causes of causes are followed.
    pub depth: usize,
    /// Show the values of Secrets.
    pub show_secrets: bool,
    /// Fields whose values are not shown.
    pub mask: &'a [FieldPath],
    /// The warnings of the build.
    pub warnings: &'a [Diagnostic],
    /// Why the build stopped, if it did.
    pub failure: Option<&'a Diagnostic>,
    /// What to show first: a resource of the result, and a field of it.
    pub start: Option<(Track, Vec<Segment>)>,
}

/// Everything a page shows of a traced build.
pub fn page(trace: &Trace, sources: &Sources, wanted: &Wanted) -> Page {
    let labels = Labels::new(sources);
    let hidden = Hidden::of([trace], sources, wanted.show_secrets, wanted.mask);
    let flat = Flat::new(trace, &labels, sources, &hidden);
    let with = HistoryOptions { labels: &labels, hidden: &hidden, depth: wanted.depth, conditions: false };
    let drafts: Vec<_> = flat.chains.par_iter().map(|chain| resources::draft(chain, &flat, with)).collect();
    let mut tables = Tables::new(sources, &hidden, wanted.home, wanted.target);
    let start = wanted.start.as_ref().and_then(|(track, path)| {
        let resource = flat.chains.iter().position(|chain| chain.is_root(*track))?;
        let field = drafts[resource].field_at(path);
        Some(Start { resource: resource as u32, field })
    });
    let resources = drafts.into_iter().map(|draft| draft.interned(&mut tables)).collect();
    let warnings = wanted.warnings.iter().map(|warning| tables.warning(warning, &flat)).collect();
    let (layers, steps) = flat.rows(&mut tables);
    let failure = wanted.failure.map(|error| tables.local(&error.render(sources)));
    let target = tables.local(wanted.target);
    let here = wanted.home.file_name().filter(|_| matches!(target.as_str(), "." | "./"));
    let title = here.map_or_else(|| target.clone(), |name| tables.local(&name.to_string_lossy()));
    Page::new((target, title), layers, steps, resources, warnings, failure, start, tables)
}
