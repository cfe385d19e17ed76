//! `krm schema`: JSON Schemas of the files krm reads, and of what it prints for programs.

use clap::{Args, ValueEnum};
use krm_engine::Result;

use crate::os;

/// Print the JSON Schema of a Component, Composition, Kptfile or kustomization, or of the JSON that a command prints
#[derive(Debug, Args)]
#[command(after_help = crate::cli::examples::SCHEMA)]
pub struct SchemaArgs {
    /// The kind to print the schema of
    #[arg(value_enum)]
    kind: SchemaOf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SchemaOf {
    /// That of a kustomization, which has the same fields
    Component,
    Composition,
    Kptfile,
    Kustomization,
    /// What `krm affected --format json` prints
    Affected,
    /// What `krm diff --format json` prints
    Diff,
    /// What `krm explain --format json` prints
    Explain,
    /// What `krm graph --format json` prints
    Graph,
}

pub fn run(args: &SchemaArgs) -> Result<()> {
    use krm_engine::json_schema::{AFFECTED, COMPOSITION, DIFF, EXPLAIN, GRAPH, KPTFILE, KUSTOMIZATION};
    let text = match args.kind {
        SchemaOf::Composition => COMPOSITION,
        SchemaOf::Kptfile => KPTFILE,
        SchemaOf::Component | SchemaOf::Kustomization => KUSTOMIZATION,
        SchemaOf::Affected => AFFECTED,
        SchemaOf::Diff => DIFF,
        SchemaOf::Explain => EXPLAIN,
        SchemaOf::Graph => GRAPH,
    };
    os::print(text.as_bytes())
}
