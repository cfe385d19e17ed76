//! `krm plan`: what a build would run, without running it.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use krm_engine::composition::{API_VERSION, Outlined};
use krm_engine::kustomization::{BuildOptions, Session};
use krm_engine::{Node, Result, Span};

use crate::os::{self, Disk};
use crate::report::Report;

/// Show what a build would run, and in what order, without running it
///
/// Of a Composition: the one list its imports, overrides and order come to. Of a kustomization: its fields, in the order in
/// which they act. Either way the result is a Composition that builds to the same resources when it stands in the same
/// folder, and each entry says which file it comes from.
#[derive(Debug, Args)]
#[command(after_help = crate::cli::examples::PLAN)]
pub struct PlanArgs {
    /// The folder with the Composition or kustomization
    #[arg(default_value = ".", value_name = "DIR")]
    target: String,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A Composition, with comments that say where each transformer comes from
    #[default]
    Yaml,
    /// The same as data
    Json,
}

pub fn run(args: PlanArgs, report: &Report) -> Result<()> {
    let session = Session::new(Arc::new(Disk::default()), report.sources.clone(), BuildOptions::default());
    let outline = session.outline(&args.target)?;
    session.take_warnings().iter().for_each(|warning| report.show(warning));
    let items = outline.into_iter().map(|entry| match args.output {
        Format::Yaml => with_comment(entry, report),
        Format::Json => as_data(entry, report),
    });
    let mut composition = Node::map();
    composition.set("apiVersion", API_VERSION);
    composition.set("kind", "Composition");
    composition.set("transformers", Node::from(items.collect::<Vec<_>>()));
    os::print(
        match args.output {
            Format::Yaml => krm_yaml::emit::preserve::fresh(&composition),
            Format::Json => krm_yaml::json::pretty(&composition) + "\n",
        }
        .as_bytes(),
    )
}

/// `file:line`, as people click on it.
fn place(span: Span, report: &Report) -> Option<String> {
    let source = report.sources.get(span.file)?;
    Some(format!("{}:{}", source.name(), source.position(span.start as usize).line))
}

fn with_comment(entry: Outlined, report: &Report) -> Node {
    let mut config = entry.config;
    let mut lines: Vec<String> =
        place(entry.place, report).map(|place| format!("# from {place}")).into_iter().collect();
    let overrides = entry.overrides.iter().filter_map(|span| place(*span, report));
    lines.extend(overrides.map(|place| format!("# changed by {place}")));
    config.trivia_mut().head = lines.join("\n").into();
    config
}

fn as_data(entry: Outlined, report: &Report) -> Node {
    let mut data = Node::map();
    if let Some(place) = place(entry.place, report) {
        data.set("from", place);
    }
    let overrides: Vec<Node> =
        entry.overrides.iter().filter_map(|span| place(*span, report)).map(Node::from).collect();
    if !overrides.is_empty() {
        data.set("changedBy", Node::from(overrides));
    }
    data.set("transformer", entry.config);
    data
}
