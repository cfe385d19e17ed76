//! `krm build`.

use krm_engine::{Diagnostic, Result};

use crate::cli::BuildArgs;
use crate::report::Report;

pub fn run(args: Box<BuildArgs>, report: &Report) -> Result<()> {
    let _ = (args, report);
    Err(Diagnostic::error("not-yet", "`krm build` is not there yet"))
}
