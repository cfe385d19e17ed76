//! `krm plan`: what a build would run, without running it.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use krm_engine::runtime::Runtime;
use krm_engine::{
    BuildOptions, COMPOSITION_API_VERSION, Node, Outlined, Pipeline, Policy, Result, Session, Span, Step,
    StepField,
};

use crate::cli::{FormatArg, OutputFormat};
use crate::os::{self, Disk};
use crate::report::Report;

/// Show what a build would run, and in what order, without running it
///
/// For a Composition: the one list that its imports, overrides and order result in. For a kustomization: its fields, in the
/// order in which they act. Either way the result is a Composition that builds to the same resources when it is in the same
/// folder, and each entry says which file it comes from. With `--deep`: every step of the build as a tree, including those
/// of bases and components.
#[derive(Debug, Args)]
#[command(after_help = crate::cli::examples::PLAN)]
pub struct PlanArgs {
    /// The folder with the Composition or kustomization
    #[arg(default_value = ".", value_name = "DIR")]
    target: String,
    #[command(flatten)]
    output: FormatArg<Format>,
    /// Show every step, down into bases and components
    #[arg(long)]
    deep: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A Composition, with comments that say where each transformer comes from; with `--deep`, a tree
    Yaml,
    /// The same as data
    Json,
}

impl OutputFormat for Format {
    const DEFAULT: &'static str = "yaml";
}

pub fn run(args: PlanArgs, report: &Report) -> Result<()> {
    // A plan starts nothing, so it needs no flag that allows it.
    let (runtime, _) = Runtime::skipping(Policy::default());
    let session = Session::with_runtime(
        Arc::new(Disk::around(std::slice::from_ref(&args.target))),
        report.sources.clone(),
        BuildOptions::default(),
        Arc::new(runtime),
    );
    if args.deep {
        let steps = tree(&session.pipeline(&args.target)?, report);
        return os::print(
            match args.output.format {
                Format::Yaml => steps.iter().map(|step| step.text(0)).collect(),
                Format::Json => {
                    let steps: Vec<Node> = steps.iter().map(Branch::data).collect();
                    krm_yaml::json::pretty(&[("steps", Node::from(steps))].into_iter().collect()) + "\n"
                }
            }
            .as_bytes(),
        );
    }
    let (outline, warnings) = session.outline(&args.target)?;
    warnings.iter().for_each(|warning| report.show(warning));
    let items = outline.into_iter().map(|entry| match args.output.format {
        Format::Yaml => with_comment(entry, report),
        Format::Json => as_data(entry, report),
    });
    let mut composition = Node::map();
    composition.set("apiVersion", COMPOSITION_API_VERSION);
    composition.set("kind", "Composition");
    composition.set("transformers", Node::from(items.collect::<Vec<_>>()));
    os::print(
        match args.output.format {
            Format::Yaml => krm_yaml::emit::preserve::fresh(&composition),
            Format::Json => krm_yaml::json::pretty(&composition) + "\n",
        }
        .as_bytes(),
    )
}

/// A step, and those it is made of.
struct Branch {
    role: &'static str,
    name: String,
    folder: Arc<str>,
    place: Option<String>,
    below: Vec<Branch>,
}

/// The steps of a pipeline, those of bases, components and Compositions below the step that names them.
fn tree(pipeline: &Pipeline, report: &Report) -> Vec<Branch> {
    let mut branches: Vec<Branch> = Vec::new();
    for step in &pipeline.steps {
        let mut branch = Branch::new(step, report);
        if step.name.field == StepField::Components {
            // The steps of a component join those of the kustomization that names it, right before this one.
            let own = |branch: &Branch| branch.folder == step.name.folder;
            let from = branches.iter().rposition(own).map_or(0, |at| at + 1);
            branch.below = branches.split_off(from);
        }
        branches.push(branch);
    }
    branches
}

impl Branch {
    fn new(step: &Step, report: &Report) -> Self {
        Self {
            role: step.role.name(),
            name: step.name.to_string(),
            folder: step.name.folder.clone(),
            place: place(step.place, report),
            below: step.inner().map_or_else(Vec::new, |pipeline| tree(pipeline, report)),
        }
    }

    fn text(&self, depth: usize) -> String {
        let place = self.place.as_ref().map_or(String::new(), |place| format!("  ({place})"));
        let line = format!("{:depth$}{} {}{place}\n", "", self.role, self.name, depth = depth * 2);
        line + &self.below.iter().map(|step| step.text(depth + 1)).collect::<String>()
    }

    fn data(&self) -> Node {
        let mut data = Node::map();
        data.set("name", self.name.as_str());
        data.set("role", self.role);
        if let Some(place) = &self.place {
            data.set("from", place.as_str());
        }
        if !self.below.is_empty() {
            data.set("steps", Node::from(self.below.iter().map(Branch::data).collect::<Vec<_>>()));
        }
        data
    }
}

/// `file:line`, as people click on it.
fn place(span: Span, report: &Report) -> Option<String> {
    let source = report.sources.get(span.file)?;
    Some(format!("{}:{}", source.name(), source.position(span.start as usize).line))
}

fn with_comment(entry: Outlined, report: &Report) -> Node {
    let mut config = entry.config;
    let at = match (entry.reference, entry.revision) {
        (Some(reference), Some(revision)) if reference != revision => format!(" at {reference} ({revision})"),
        (_, Some(revision)) => format!(" at {revision}"),
        (_, None) => String::new(),
    };
    let mut lines: Vec<String> =
        place(entry.place, report).map(|place| format!("# from {place}{at}")).into_iter().collect();
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
    if let Some(revision) = entry.revision {
        data.set("revision", revision);
    }
    let overrides: Vec<Node> =
        entry.overrides.iter().filter_map(|span| place(*span, report)).map(Node::from).collect();
    if !overrides.is_empty() {
        data.set("changedBy", Node::from(overrides));
    }
    data.set("transformer", entry.config);
    data
}
