//! `krm schema`: JSON Schemas of the files krm reads.

use clap::{Args, ValueEnum};
use krm_engine::Result;

use crate::os;

/// Print the JSON Schema of a Component, Composition, Kptfile or kustomization, for editors
#[derive(Debug, Args)]
#[command(after_help = crate::cli::examples::SCHEMA)]
pub struct SchemaArgs {
    /// Whose schema
    #[arg(value_enum)]
    kind: FileKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FileKind {
    /// That of a kustomization, which has the same fields
    Component,
    Composition,
    Kptfile,
    Kustomization,
}

pub fn run(args: &SchemaArgs) -> Result<()> {
    os::print(match args.kind {
        FileKind::Composition => krm_engine::json_schema::COMPOSITION.as_bytes(),
        FileKind::Kptfile => krm_engine::json_schema::KPTFILE.as_bytes(),
        FileKind::Component | FileKind::Kustomization => krm_engine::json_schema::KUSTOMIZATION.as_bytes(),
    })
}
