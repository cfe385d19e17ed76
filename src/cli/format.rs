//! `--format`: the same flag in every command that prints data.

use clap::{Args, ValueEnum};

/// The forms a command can print its answer in.
pub trait OutputFormat: ValueEnum + Clone + Send + Sync + 'static {
    /// The form without the flag. A name and not a value: `default_value_t` keeps its text in a `static`, and all
    /// commands would share that of the first.
    const DEFAULT: &'static str;
}

#[derive(Debug, Args)]
pub struct FormatArg<F: OutputFormat> {
    /// How to print it
    #[arg(long, alias = "output", short_alias = 'o', value_enum, default_value = F::DEFAULT, value_name = "FORMAT")]
    pub format: F,
}
