//! `krm schema`: JSON Schemas of the files krm reads.

use clap::{Args, ValueEnum};
use krm_engine::Result;

use crate::os;

/// Print the JSON Schema of a Composition or a kustomization, for editors and checkers
///
/// Example: krm schema composition > composition.schema.json
///
/// Then let an editor know it, with a first line in each file:
/// `# yaml-language-server: $schema=composition.schema.json`
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Whose schema
    #[arg(value_enum)]
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    Composition,
    Kustomization,
}

pub fn run(args: &SchemaArgs) -> Result<()> {
    os::print(match args.kind {
        Kind::Composition => krm_engine::composition::JSON_SCHEMA.as_bytes(),
        Kind::Kustomization => krm_engine::kustomization::JSON_SCHEMA.as_bytes(),
    })
}
